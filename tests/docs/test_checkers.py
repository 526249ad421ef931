"""Each type checker accepts, in strict mode, each whole program of the documentation."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory, whole_programs: dict[str, str]) -> Path:
    """Return a folder with each program."""
    folder = tmp_path_factory.mktemp("whole_programs")
    assert len(whole_programs) >= 65
    for name, code in whole_programs.items():
        # Clients of boto3 have no types unless a package for each service is installed.
        unknown = "# pyright: standard\n" if "import boto3" in code else ""
        (folder / f"{name}.py").write_text(f"{unknown}{code}", "utf-8")
    return folder


def test_whole_programs_of_the_documentation_pass(
    checker: str, modules: Path, strictly_checked: Callable[[str, Path], list[str]]
) -> None:
    assert strictly_checked(checker, modules) == []
