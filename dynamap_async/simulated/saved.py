"""Tables and their items as a text that people can read: what one engine leaves to the next.

What is kept is what is stored and set. Records of streams, backups and tokens of transactions are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import from_json, to_json

from dynamap_async.simulated.control import CREATE_TABLE, fill_settings, index_requests, new_table
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.keys import position_of_item
from dynamap_async.simulated.values import admit_item

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service
    from dynamap_async.simulated.store import Table

FORMAT: Final = "tables of a dynamap engine"
VERSION: Final = 1
_READ_APART: Final = frozenset(
    {"LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes", "StreamSpecification"}
)


def written(service: Service) -> Iterator[bytes]:
    """Yield the parts of the text of all tables: JSON, with one item in a line.

    Args:
        service: what has the tables; its turn is taken.
    """
    yield b'{\n"format": %s,\n"version": %d,\n"tables": {' % (to_json(FORMAT), VERSION)
    for number, table in enumerate(service.store.tables.values()):
        yield b'%s\n%s: {\n"settings": %s,\n"items": [' % (
            b"," if number else b"",
            to_json(table.name),
            to_json(_settings(table), indent=2),
        )
        before = b"\n"
        for key in table.keys.between(b"", None):
            yield before + table.entries[key].text
            before = b",\n"
        yield b"\n]}"
    yield b"\n}}\n"


def _settings(table: Table) -> dict[str, Any]:
    left_out = {"Indexes", "LatestStreamArn", "LatestStreamLabel"}  # a stream begins anew
    settings = {name: each for name, each in table.settings.items() if name not in left_out}
    return dict(sorted((settings | index_requests(table)).items()))  # files of two runs are easily compared


def read(service: Service, text: bytes) -> None:
    """Take the tables of a text.

    Args:
        service: what has no tables yet.
        text: what ``written`` gave.

    Raises:
        ValueError: it is something else, or damaged. The service may have some of its tables.
    """
    try:
        document: Any = from_json(text, cache_strings="keys")
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    found = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if found.get("format") != FORMAT or not isinstance(found.get("tables"), dict):
        raise ValueError("it was not written by an engine")
    if found.get("version") != VERSION:
        raise ValueError(f"its version is {found.get('version')!r}, and this release of dynamap reads {VERSION}")
    tables: dict[str, Any] = found["tables"]
    for name, saved in tables.items():
        try:
            _take(service, name, saved["settings"], saved["items"])
        except Refused as refused:
            raise ValueError(f"table {name!r}: {refused.message}") from None
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"table {name!r} is damaged: {error!r}") from None


def _take(service: Service, name: str, saved: dict[str, Any], items: list[Any]) -> None:
    body: dict[str, Any] = {
        "TableName": name,
        **{member: saved[member] for member in CREATE_TABLE.members if member in saved},
    }
    if body.get("BillingMode") == "PAY_PER_REQUEST":
        del body["ProvisionedThroughput"]  # zeros
    tags, stream = body.pop("Tags", {}), body.pop("StreamSpecification", None)
    CREATE_TABLE.admit({**body, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]})
    table = new_table(body)
    fill_settings(service, table, body)
    table.settings.update({member: each for member, each in saved.items() if member not in _READ_APART})
    for number, item in enumerate(items, 1):
        try:
            size = admit_item(item)
            position = position_of_item(table, item)
        except Refused as refused:
            raise invalid(f"item {number}: {refused.message}") from None
        if position in table.entries:
            raise invalid(f"item {number} has the key of another one")
        table.replace(position, item, size)
    service.store.add(table)
    if stream is not None:
        service.streams.open(table, stream["StreamViewType"])
