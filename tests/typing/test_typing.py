"""Each type checker accepts the right programs, and refuses exactly the marked lines of the wrong ones.

A mark is a comment: `# error` for all checkers, `# error except ty zuban` for all but these, `# error pyright` for this
one only. What is marked so that a checker misses it, or refuses what is right, stands on the page on type checkers.
"""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "how-to" / "type-check.md"
PROGRAMS = ("models.py", "right.py", "contract.py", "wrong.py", "cannot_refuse.py")
CHECKERS: tuple[str, ...] = ("mypy", "pyright", "pyrefly", "ty", "zuban")
JUDGES = (*CHECKERS, "mypy with pydantic.mypy")
MARK = re.compile(r"  # error(?P<but> except)?(?P<names>(?: (?:mypy|pyright|pyrefly|ty|zuban))*)\b")
LIST = re.compile(r"(<!-- written by tests/typing/test_typing.py: (\w+) -->\n).*?(?=<!-- end -->)", re.DOTALL)

Refused: TypeAlias = dict[str, dict[int, list[str]]]


@pytest.fixture(scope="module")
def verdicts(
    tmp_path_factory: pytest.TempPathFactory, start_checking: Callable[[str, Path], Callable[[], Refused]]
) -> Callable[[str], Refused]:
    """Run the checkers that are installed, each once over all programs, side by side."""
    running: dict[str, Callable[[], Refused]] = {}
    for judge in JUDGES:
        # A folder of their own, as a user's project is: no configuration of this checkout reaches them.
        folder = tmp_path_factory.mktemp(judge.replace(" ", "-"))
        for program in PROGRAMS:
            shutil.copy(HERE / program, folder)
        try:
            running[judge] = start_checking(judge, folder)
        except pytest.skip.Exception:
            continue
    found = {judge: refused() for judge, refused in running.items()}

    def verdict(judge: str) -> Refused:
        if judge not in found:
            pytest.skip(f"{judge.split(maxsplit=1)[0]} is not installed; the dependency group `types` has it")
        return found[judge]

    return verdict


@pytest.fixture(params=JUDGES)
def judge(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def refused(judge: str, verdicts: Callable[[str], Refused]) -> Refused:
    return verdicts(judge)


def refusing(line: str) -> set[str]:
    """Return the checkers that refuse a line, by its mark."""
    mark = MARK.search(line)
    if mark is None:
        return set()
    names = set(mark["names"].split())
    return set(CHECKERS) - names if mark["but"] or not names else names


def marked(program: str, judge: str) -> Iterator[int]:
    for number, line in enumerate((HERE / program).read_text("utf-8").splitlines(), 1):
        if judge.split(maxsplit=1)[0] in refusing(line):
            yield number


def lines(program: str, numbers: set[int], messages: dict[int, list[str]]) -> list[str]:
    """Return lines of a program with what was said of them, for the report of a failed test."""
    source = (HERE / program).read_text("utf-8").splitlines()
    return [f"{program}:{each}: {source[each - 1].strip()}  <- {messages.get(each, [])}" for each in sorted(numbers)]


def listed(program: str, misjudged: Callable[[set[str]], set[str]]) -> str:
    """Return each checker with the lines of a program that it misjudges, as the page lists them.

    Args:
        misjudged: the checkers that refuse a marked line -> those that are wrong about it.
    """
    source = (HERE / program).read_text("utf-8").splitlines()
    found = {
        checker: [MARK.split(line)[0].strip() for line in source if checker in misjudged(refusing(line))]
        for checker in CHECKERS
    }
    return "\n".join(
        "\n".join((f"{checker}:", "", "```text", *lines, "```", "")) for checker, lines in found.items() if lines
    )


def renewed(page: str) -> str:
    """Return the page with the lists that the marks say."""
    lists = {
        "accepted": listed("wrong.py", lambda refusing: set(CHECKERS) - refusing if len(refusing) > 1 else set()),
        "refused": listed("right.py", lambda refusing: refusing),
    }
    return LIST.sub(lambda match: f"{match[1]}\n{lists[match[2]]}\n", page)


@pytest.mark.parametrize("program", PROGRAMS)
def test_exactly_the_marked_lines_are_refused(program: str, judge: str, refused: Refused) -> None:
    want, got = set(marked(program, judge)), refused.get(program, {})
    assert lines(program, want - set(got), got) == [], "accepted, though marked as wrong"
    assert lines(program, set(got) - want, got) == [], "refused, though not marked as wrong"


def test_nothing_outside_the_programs_is_reported(refused: Refused) -> None:
    assert set(refused) <= set(PROGRAMS)


def test_the_page_lists_what_each_checker_misses_and_what_it_refuses_wrongly() -> None:
    """Run this module as a program to renew the page."""
    page = PAGE.read_text("utf-8")
    assert len(LIST.findall(page)) == 2
    assert page == renewed(page)


def test_the_wrong_program_is_large_enough_to_mean_something() -> None:
    assert len(list(marked("wrong.py", "mypy"))) >= 200
    assert (
        list(marked("contract.py", "pyright"))
        == list(marked("right.py", "mypy"))
        == list(marked("right.py", "pyright"))
        == []
    )


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
