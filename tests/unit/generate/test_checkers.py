"""Type checkers accept the modules that are generated, in strict mode."""

import importlib.util
import json
import re
import subprocess
import sys

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
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "pythonVersion": "3.11"}))
    return folder


@pytest.mark.parametrize(
    "command", [("mypy", "--strict", "--no-error-summary", "."), ("pyright", "--pythonpath", sys.executable)]
)
def test_generated_modules_pass(command, modules, pytestconfig):
    if importlib.util.find_spec(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed; the dependency group `types` has it")
    cache = ("--cache-dir", str(pytestconfig.rootpath / ".mypy_cache" / "generated")) if command[0] == "mypy" else ()
    done = subprocess.run(
        [sys.executable, "-m", *command, *cache], cwd=modules, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
