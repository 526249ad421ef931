"""What users install is what is tested, and it is whole."""

import os
import re
import subprocess
import sysconfig
from importlib.metadata import version
from itertools import filterfalse
from pathlib import Path

import pytest

import dynamap_async

under_nox = pytest.mark.skipif("NOX_CURRENT_SESSION" not in os.environ, reason="only nox installs the built wheel")
# Written so that they do not match themselves.
OUTSIDE = re.compile(r"(?<![\w.~])/(?:work|root|home|Users)/\w|[.][.]/shared|[.]library\b|\bissues (?:show|list)\b")


def files_of(folder: Path) -> set[str]:
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return {name for name in found if "__pycache__" not in name}


def built_from(name: str) -> bool:
    """Return whether a file of the package is there to build its extension, or is the extension."""
    return name.startswith("native/") and name.endswith((".c", ".h", "build_hook.py", ".so", ".pyd"))


@under_nox
def test_the_tests_import_the_installed_wheel(package: Path) -> None:
    assert package.parent in {Path(sysconfig.get_path(each)) for each in ("purelib", "platlib")}


@under_nox
def test_the_wheel_holds_every_file_of_the_package(package: Path, checkout: Path) -> None:
    assert "py.typed" in files_of(package)
    sources = files_of(checkout / "dynamap_async")
    assert set(filterfalse(built_from, files_of(package))) == set(filterfalse(built_from, sources))
    assert not any(name.endswith((".c", ".h")) for name in files_of(package))


@under_nox
def test_the_package_knows_its_version() -> None:
    assert dynamap_async.__version__ == version("dynamap-async")


def test_no_file_names_a_place_outside_the_project(checkout: Path) -> None:
    git = ["git", "-C", str(checkout), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(git, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        path = checkout / name
        text = path.read_text("utf-8", errors="replace") if path.is_file() else ""
        found += [f"{name}: {line.strip()[:80]}" for line in text.splitlines() if OUTSIDE.search(line)]
    assert found == []
