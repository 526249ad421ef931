"""What chance decides in a run of the tests can be repeated, and what was skipped is said in a few lines."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dynamap_async.testing.native_program import VERSION

DRAWING = """
import os, sys
from hypothesis import given, strategies as st

sys.path.insert(0, os.path.dirname(__file__))
drawn = []

@given(st.integers(), st.text())
def test_draws(number, text):
    if not drawn and "IMPORTING" in os.environ:
        import constants
    drawn.append((number, text))

def test_tells():
    print("drawn:", ascii(drawn))
"""
SKIPPING = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_skips(native_executable, number):
    pass

def test_skips_for_another_reason():
    pytest.skip("no browser")
"""


@pytest.fixture
def run(checkout: Path, tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a command beside a copy of tests/conftest.py, and returns what it prints."""
    (tmp_path / "conftest.py").write_text((checkout / "tests/conftest.py").read_text("utf-8"), "utf-8")
    (tmp_path / "constants.py").write_text(f"NUMBERS = {[10**30 + each for each in range(500)]}", "utf-8")
    (tmp_path / "test_drawing.py").write_text(DRAWING, "utf-8")
    (tmp_path / "test_skipping.py").write_text(SKIPPING, "utf-8")
    (tmp_path / "test_skipping_too.py").write_text(SKIPPING, "utf-8")
    chosen = ("CI", "DYNAMAP_EXAMPLES", "DYNAMAP_NATIVE_ENGINE", "PYTEST_ADDOPTS", "PYTHONHASHSEED")
    inherited = {name: value for name, value in os.environ.items() if name not in chosen}
    inherited["XDG_CACHE_HOME"] = inherited["LOCALAPPDATA"] = inherited["HOME"] = str(tmp_path)  # no engine is there

    def run_it(*command: str, **environment: str) -> str:
        finished = subprocess.run(
            command, cwd=tmp_path, env={**inherited, **environment}, capture_output=True, text=True, check=False
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    return run_it


PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")
DRAWN = (*PYTEST, "-s", "test_drawing.py")


def examples(output: str) -> str:
    return re.findall(r"drawn: (.*)", output)[0]


def commands(output: str) -> list[str]:
    return re.findall(r"^to repeat: (.*)", output, re.MULTILINE)


def test_examples_are_drawn_anew_and_the_printed_command_draws_them_again(run: Callable[..., str]) -> None:
    first, second = run(*DRAWN, PYTHONHASHSEED="7"), run(*DRAWN, PYTHONHASHSEED="7")
    assert examples(first) != examples(second)
    above, below = commands(first)
    assert above == below
    assert above.startswith("PYTHONHASHSEED=7 ")
    again = run("env", *shlex.split(below), IMPORTING="yes")  # whatever was imported before
    assert examples(again) == examples(first)
    assert commands(again) == [above, below]


def test_ci_draws_the_same_examples_each_time_as_many_as_it_is_told(run: Callable[..., str]) -> None:
    first = run(*DRAWN, CI="true", DYNAMAP_EXAMPLES="0.1")
    assert len(re.findall(r"\(-?\d+, ", examples(first))) == 10
    assert examples(run("env", *shlex.split(commands(first)[-1]))) == examples(first)


def test_each_reason_for_skipping_is_told_once_below_everything_else(run: Callable[..., str]) -> None:
    told = [line for line in run(*PYTEST, "-q", "--ignore=test_drawing.py").splitlines() if " skipped: " in line]
    assert told == [
        "6 skipped: native engine: run `dynamap engine install`, or set DYNAMAP_NATIVE_ENGINE to dynoxide's path",
        "2 skipped: no browser",
    ]


@pytest.mark.skipif(os.name != "posix", reason="POSIX only: the cache folder of a user")
def test_engine_that_a_user_has_installed_is_the_one_that_tests_run_on(run: Callable[..., str], tmp_path: Path) -> None:
    program = tmp_path / "cache" / "dynamap" / f"dynoxide-{VERSION}" / "dynoxide"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    told = run(*PYTEST, "-q", "--ignore=test_drawing.py", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert [line for line in told.splitlines() if " skipped: " in line] == ["2 skipped: no browser"]
