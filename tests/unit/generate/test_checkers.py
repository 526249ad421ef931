"""Type checkers accept the modules that are generated, in strict mode."""

import re

import pytest

from dynamap_async.generate import design_of


@pytest.fixture(scope="module")
def modules(tmp_path_factory, all_samples):
    """Return a folder with the module of each table here."""
    folder = tmp_path_factory.mktemp("generated")
    for name, sample in all_samples.items():
        text = design_of(sample).source(values=True, enums=len(name) % 2 == 0)
        (folder / f"{re.sub(r'[^a-z0-9]', '_', name.lower())}.py").write_text(text, "utf-8")
    assert len(list(folder.iterdir())) == len(all_samples)
    return folder


def test_generated_modules_pass(checker, modules, strictly_checked):
    assert strictly_checked(checker, modules) == []
