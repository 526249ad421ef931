"""The documentation and the code say the same."""

import re
from collections.abc import Iterator
from pathlib import Path

from dynamap_async.errors import DynamapError

SHELL_BLOCK = re.compile(r"^```sh\n(.*?)\n```$", re.DOTALL | re.MULTILINE)


def codes(error: type[DynamapError]) -> Iterator[str]:
    yield error.code
    for kind in error.__subclasses__():
        if kind.__module__.startswith("dynamap_async."):  # not those that other tests derive
            yield from codes(kind)


def headings(page: Path) -> list[str]:
    return re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)


def test_every_error_code_has_a_section_and_every_section_a_code(checkout: Path) -> None:
    pages = [headings(page)[1:] for page in sorted((checkout / "docs/reference").glob("*errors.md"))]
    sections = [section for page in pages for section in page]
    assert sorted(sections) == sorted(set(codes(DynamapError)))


def test_the_readme_begins_with_two_commands_of_one_line(checkout: Path) -> None:
    first, second = SHELL_BLOCK.findall((checkout / "README.md").read_text("utf-8"))
    assert "\n" not in first
    assert "\n" not in second
    assert "dynamap demo" in first
    assert "nox" in second
