"""The reference of the command line says of each option what the command says itself.

To renew it after a change: ``python tests/docs/test_cli_reference.py``, and review the difference.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from dynamap_async.cli.app import app
from dynamap_async.cli.shared_options import SHARED_OPTIONS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
TABLE = re.compile(r"^\| option \| meaning \|\n\| --- \| --- \|\n(?:\|.*\n)*", re.MULTILINE)
HEADING = "## "


def commands_of(group: Any, name: str = "dynamap") -> Iterator[tuple[str, Any]]:
    """Yield the full name of each command, and the command."""
    for short, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{name} {short}")
        else:
            yield f"{name} {short}", command


def line_of(option: Any) -> str:
    names = [name for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]
    value = f" {option.metavar}" if option.metavar and not option.is_flag else ""
    shown = ", ".join(f"`{name}{value}`" for name in names)
    default = option.default
    is_number = isinstance(default, int | float) and not isinstance(default, bool)
    shown_default = f"{default:,g}" if is_number and default >= 10_000 else f"{default}"
    told = f" {shown_default} unless said otherwise." if is_number else ""
    return f"| {shown} | {option.help}{told} |"


def table_of(options: list[Any]) -> str:
    lines = ["| option | meaning |", "| --- | --- |", *map(line_of, options)]
    return "".join(f"{line}\n" for line in lines)


def tables() -> dict[str, str]:
    """Return the heading of each section with a table of options -> that table."""
    commands = dict(commands_of(typer.main.get_command(app)))
    found = {}
    shared: list[Any] = []
    for name, command in commands.items():
        options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
        own = [each for each in options if each.name not in SHARED_OPTIONS]
        shared = max(shared, [each for each in options if each.name in SHARED_OPTIONS], key=len)
        found[name] = table_of(own) if own else ""
    return {**found, "Configuration": table_of(shared)}


def sections(text: str) -> dict[str, str]:
    """Return the heading of each section -> its text."""
    return {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


def renewed(text: str) -> str:
    """Return the page with the tables that the commands say."""
    for heading, table in tables().items():
        old = sections(text)[heading]
        text = text.replace(f"{HEADING}{old}", HEADING + TABLE.sub(lambda _, table=table: table, old, count=1))
    return text


def test_every_command_has_a_section():
    assert tables().keys() - sections(PAGE.read_text("utf-8")).keys() == set()


def test_tables_of_options_say_what_the_commands_say():
    own = sections(PAGE.read_text("utf-8"))
    assert {name: TABLE.findall(own[name]) for name in tables()} == {
        name: [table] if table else [] for name, table in tables().items()
    }


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
