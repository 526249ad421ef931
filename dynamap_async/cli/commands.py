"""The commands of ``dynamap``: what each does, in a line, and where it is defined.

To list them, or to say that a name is none of them, takes neither Typer nor any of their modules.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Entry(NamedTuple):
    """One command, or a group of them."""

    summary: str
    """What it does: the first line of its own help."""
    home: str
    """Its module below ``dynamap_async.cli``, a colon, and its name there."""


_SECTIONS: Final = {
    "Start": {
        "demo": Entry("Show in five steps what the library does, on a local DynamoDB.", "demo.command:demo"),
        "guide": Entry("Print ten rules and a program for each common task, as Markdown.", "guide:guide"),
        "local": Entry("Run a DynamoDB on this machine, with your tables, until Ctrl-C.", "served_engine:local"),
        "engine": Entry("Install the native engine, a fast local DynamoDB.", "engine_install:engine"),
        "config": Entry("Print the settings of the commands, and where each comes from.", "effective_settings:config"),
    },
    "Tables": {
        "tables": Entry("List the tables that exist, and the models of each.", "tables.listing:tables"),
        "describe": Entry("Show one table, and how it differs from its models.", "tables.listing:describe"),
        "plan": Entry("Print what would change to make the tables match the models.", "tables.changes:plan"),
        "apply": Entry("Change the tables to match the models, step by step.", "tables.changes:apply"),
        "diff": Entry("Print the differences between the tables and the models.", "tables.changes:diff"),
        "verify": Entry("Check that the tables match the models, for CI.", "tables.changes:verify"),
        "streams": Entry("List the streams that tell the changes of the tables' items.", "streams:streams"),
        "check-index": Entry("Count the items that an index leaves out, by reason.", "tables.index_check:check_index"),
        "schema": Entry("Write the declared tables for other tools, such as Terraform.", "tables.schema:schema"),
    },
    "Items": {
        "check-items": Entry("Report the stored items that do not fit a model.", "generate.command:check_items"),
        "tail": Entry("Print the changes of a table's items as they are made.", "streams:tail"),
        "consumers": Entry("Print how far the workers of a group have handled changes.", "consumers:consumers"),
        "truncate": Entry("Delete all items of a table; the table stays.", "tables.truncation:truncate"),
        "upgrade": Entry("Upgrade all stored items of a model to its present version.", "upgrade:upgrade"),
        "migrate": Entry("Run the migrations that have not run yet, each once.", "migrate:migrate"),
    },
    "Models and costs": {
        "generate": Entry("Write models for a table that exists.", "generate.command:generate"),
        "capacity": Entry("Compute what reads and writes of an item cost.", "capacity.command:capacity"),
    },
}
"""Heading -> name of a command -> the command, in the order in which they are listed."""

_OPTIONS: Final = {
    "--version": "Print the version and exit.",
    "--install-completion": "Let your shell complete commands, options and models.",
    "--show-completion": "Print what --install-completion would install.",
    "--help": "Print this text and exit.",
}

COMMANDS: Final = {name: entry for section in _SECTIONS.values() for name, entry in section.items()}
"""Name of a command -> the command."""


def overview() -> str:
    """Return the help of ``dynamap`` itself: its commands and options, in lines of at most 80 characters."""
    lines = ["Usage: dynamap COMMAND [OPTIONS]", "", "Amazon DynamoDB with your own models, from the command line."]
    for heading, entries in _SECTIONS.items():
        lines += ["", f"{heading}:", *(f"  {name:<12} {entry.summary}" for name, entry in entries.items())]
    lines += ["", "Options:", *(f"  {name:<22} {meaning}" for name, meaning in _OPTIONS.items())]
    return "\n".join([*lines, "", "`dynamap COMMAND --help` explains a command.", ""])


def unknown(name: str) -> str:
    """Return the message for a name that no command has."""
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, 1)
    return f"There is no command {name!r}; {f'did you mean {near[0]!r}?' if near else '`dynamap --help` lists all.'}\n"
