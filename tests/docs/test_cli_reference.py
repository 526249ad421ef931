"""The reference of the command line has the list of commands, and of each its options, as the commands say them.

To renew it after a change: ``python tests/docs/test_cli_reference.py``, and review the difference.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dynamap_async.cli.app import command_of
from dynamap_async.cli.commands import COMMANDS, overview
from dynamap_async.cli.help import ShownParameter
from dynamap_async.cli.shared_options import SHARED_OPTIONS

FIRST = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
PAGES = sorted(FIRST.parent.glob("cli*.md"))
TABLE = re.compile(r"^\| option \| meaning \|\n\| --- \| --- \|\n(?:\|.*\n)*", re.MULTILINE)
LIST = re.compile(r"(?<=^## Commands\n\n```text\n).+?(?=^```\n)", re.MULTILINE | re.DOTALL)
HEADING = "## "


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the full name of each command, and the command."""
    for name in COMMANDS:
        found = command_of(name)
        if hasattr(found, "commands"):
            yield from ((f"dynamap {name} {own}", command) for own, command in found.commands.items())
        else:
            yield f"dynamap {name}", found


def table_of(options: list[Any]) -> str:
    shown = map(ShownParameter, options)
    lines = ["| option | meaning |", "| --- | --- |"]
    lines += [f"| {', '.join(f'`{name}`' for name in each.names.split(', '))} | {each.meaning} |" for each in shown]
    return "".join(f"{line}\n" for line in lines)


def tables() -> dict[str, str]:
    """Return the heading of each section with a table of options -> that table."""
    found = {}
    shared: list[Any] = []
    for name, command in commands():
        options = [each for each in command.params if each.param_type_name == "option"]
        own = [each for each in options if each.name not in SHARED_OPTIONS]
        shared = max(shared, [each for each in options if each.name in SHARED_OPTIONS], key=len)
        found[name] = table_of(own) if own else ""
    return {**found, "Configuration": table_of(shared)}


def sections(text: str) -> dict[str, str]:
    """Return the heading of each section -> its text."""
    return {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


def renewed(text: str) -> str:
    """Return a page with the lists that the commands say."""
    for heading, table in tables().items():
        old = sections(text).get(heading)
        if old is not None:
            text = text.replace(f"{HEADING}{old}", HEADING + TABLE.sub(lambda _, table=table: table, old, count=1))
    return LIST.sub(lambda _: overview(), text)


def test_every_command_has_a_section():
    headings = [heading for page in PAGES for heading in sections(page.read_text("utf-8"))]
    assert [headings.count(name) for name in tables()] == [1] * len(tables())


@pytest.mark.parametrize("part", PAGES, ids=lambda part: part.stem)
def test_reference_says_what_the_commands_say(part):
    assert part.read_text("utf-8") == renewed(part.read_text("utf-8"))


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(renewed(each.read_text("utf-8")), "utf-8")
