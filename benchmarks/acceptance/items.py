"""What is written: the reference item, with more text, so that it has 1 KB in every library's form."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from benchmarks.items import PYNAMODB_TABLE, START, TABLE, TEXT, plain, wire

LONG = (TEXT * 2)[:810]
TABLES = (TABLE, PYNAMODB_TABLE)
"""PynamoDB's instants have another form, so it has a table of its own."""


SHELVED = "shelved"
"""The table that has an index: an item is in it if it has a shelf."""


def shelf_of(name: str) -> str:
    """Return the shelf of an item: one of ten."""
    return f"shelf {name[-1]}"


def plain_item(name: str) -> dict[str, Any]:
    """Return an item of less than 1,024 bytes, which takes one write unit."""
    return {**plain(name), "text": LONG}


def wire_item(name: str) -> dict[str, Any]:
    """Return the item in wire form."""
    return {**wire(name), "text": {"S": LONG}}


def names(group: str, count: int) -> list[str]:
    """Return partition key values; the simulated table counts together what begins with the group."""
    return [f"{group}-{number:06d}" for number in range(count)]


def sort_key() -> datetime:
    """Return the sort key's value of every item."""
    return START


def chunks(every: list[str], size: int) -> Iterator[list[str]]:
    """Cut a list into parts."""
    return (every[at : at + size] for at in range(0, len(every), size))
