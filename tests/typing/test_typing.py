"""Both type checkers accept the right programs, and refuse exactly the marked lines of the wrong ones."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeAlias

import pytest

HERE = Path(__file__).parent
PROGRAMS = ("models.py", "right.py", "contract.py", "wrong.py", "cannot_refuse.py")
MARK = re.compile(r"# error(?: (mypy|pyright))?\b")
MYPY_ERROR = re.compile(r"^(\w+\.py):(\d+): error: (.*)$", re.MULTILINE)

MYPY = """
[mypy]
strict = true
python_version = 3.11
"""
MYPY_WITH_PYDANTIC = f"""{MYPY}
plugins = dynamap_async.mypy, pydantic.mypy
[pydantic-mypy]
init_typed = true
init_forbid_extra = true
"""
PYRIGHT = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": list(PROGRAMS)}

Refused: TypeAlias = dict[str, dict[int, list[str]]]


class Judge(NamedTuple):
    """A checker in one configuration."""

    checker: str
    options: tuple[str, ...]

    def start(self, folder: Path) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", self.checker, *self.options]
        # Output goes to files, so that checkers that run at the same time never wait for a reader.
        with (folder / "out").open("w") as out, (folder / "errors").open("w") as errors:
            return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, text=True)

    def refused(self, folder: Path) -> Refused:
        """Return what it reported: file -> line -> messages."""
        output, errors = (folder / "out").read_text("utf-8"), (folder / "errors").read_text("utf-8")
        found: Refused = defaultdict(lambda: defaultdict(list))
        if self.checker == "mypy":
            assert not errors, errors
            for file, line, message in MYPY_ERROR.findall(output):
                found[file][int(line)].append(message)
        else:
            for each in json.loads(output)["generalDiagnostics"]:
                found[Path(each["file"]).name][each["range"]["start"]["line"] + 1].append(each["message"])
        return found


def judges(cache: Path) -> dict[str, Judge]:
    mypy = ("--no-error-summary", "--hide-error-context", "--no-color-output", "--cache-dir")
    return {
        "mypy": Judge("mypy", (*mypy, str(cache / "mypy"), *PROGRAMS)),
        "mypy with pydantic.mypy": Judge("mypy", (*mypy, str(cache / "mypy-with-pydantic"), *PROGRAMS)),
        "pyright": Judge("pyright", ("--outputjson", "--pythonpath", sys.executable)),
    }


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> dict[str, Refused]:
    """Run the checkers that are installed, each once over all programs, side by side."""
    running: dict[str, tuple[Judge, Path, subprocess.Popen[str]]] = {}
    try:
        for name, judge in judges(pytestconfig.rootpath / ".mypy_cache" / "tests-typing").items():
            if importlib.util.find_spec(judge.checker) is None:
                continue
            # A folder of their own, as a user's project is: no configuration of this checkout reaches them.
            folder = tmp_path_factory.mktemp(judge.checker)
            for program in PROGRAMS:
                shutil.copy(HERE / program, folder)
            (folder / "mypy.ini").write_text(MYPY_WITH_PYDANTIC if "pydantic" in name else MYPY, "utf-8")
            (folder / "pyrightconfig.json").write_text(json.dumps(PYRIGHT), "utf-8")
            running[name] = (judge, folder, judge.start(folder))
        for _, _, process in running.values():
            process.wait(timeout=1200)
    finally:
        for _, _, process in running.values():
            process.kill()
            process.wait()
    return {name: judge.refused(folder) for name, (judge, folder, _) in running.items()}


@pytest.fixture(params=["mypy", "mypy with pydantic.mypy", "pyright"])
def judge(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def refused(judge: str, verdicts: dict[str, Refused]) -> Refused:
    if judge not in verdicts:
        pytest.skip(f"{judge.split(maxsplit=1)[0]} is not installed; the dependency group `types` has it")
    return verdicts[judge]


def marked(program: str, judge: str) -> Iterator[int]:
    for number, line in enumerate((HERE / program).read_text("utf-8").splitlines(), 1):
        mark = MARK.search(line)
        if mark and mark[1] in (None, judge.split(maxsplit=1)[0]):
            yield number


def lines(program: str, numbers: set[int], messages: dict[int, list[str]]) -> list[str]:
    """Return lines of a program with what was said of them, for the report of a failed test."""
    source = (HERE / program).read_text("utf-8").splitlines()
    return [f"{program}:{each}: {source[each - 1].strip()}  <- {messages.get(each, [])}" for each in sorted(numbers)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_exactly_the_marked_lines_are_refused(program: str, judge: str, refused: Refused) -> None:
    want, got = set(marked(program, judge)), refused.get(program, {})
    assert lines(program, want - set(got), got) == [], "accepted, though marked as wrong"
    assert lines(program, set(got) - want, got) == [], "refused, though not marked as wrong"


def test_nothing_outside_the_programs_is_reported(refused: Refused) -> None:
    assert set(refused) <= set(PROGRAMS)


def test_the_wrong_program_is_large_enough_to_mean_something() -> None:
    assert len(list(marked("wrong.py", "mypy"))) >= 200
    assert list(marked("right.py", "mypy")) == list(marked("contract.py", "pyright")) == []
