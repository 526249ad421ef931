"""What all scenarios share: the published data, a session filled with it, and a look at what is really stored.

A scenario's test module gives ``SCENARIO``, the folder of its data; ``MODELS``, published table -> model; and
``REQUESTS``, published identifier of a request -> function (session) -> query or scan.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import boto3
import pytest
import pytest_asyncio
from boto3.dynamodb.types import TypeDeserializer

from dynamap_async import Model, Session
from dynamap_async.expressions import path_of
from dynamap_async.testing import Engine

DATA = Path(__file__).parent / "data"
CONCURRENT_PUTS = 16
Wire = dict[str, Any]


@dataclass(frozen=True)
class Published:
    """One scenario as its source published it."""

    items: Mapping[str, list[Wire]]
    """Table -> items in wire form; empty where the source gives plain rows instead."""
    rows: list[list[str]]
    requests: Mapping[str, Wire]
    """Identifier -> request and what it must give, or a published figure."""
    tables: Mapping[str, Wire]
    """Table -> its keys, attribute types and indexes."""

    def key_names(self, table: str, index: str | None = None, kinds: Sequence[str] = ("HASH", "RANGE")) -> list[str]:
        """Return the stored names of a table's or an index's key attributes."""
        description = self.tables[table]
        indexes = description.get("LocalSecondaryIndexes", []) + description.get("GlobalSecondaryIndexes", [])
        found = description if index is None else next(each for each in indexes if each["IndexName"] == index)
        return [element["AttributeName"] for element in found["KeySchema"] if element["KeyType"] in kinds]


@pytest.fixture(scope="module")
def published(request: pytest.FixtureRequest) -> Published:
    folder = DATA / request.module.SCENARIO

    def read(name: str, default: Any) -> Any:
        file = folder / f"{name}.json"
        return json.loads(file.read_text("utf-8")) if file.exists() else default

    return Published(
        items=read("items", {}),
        rows=read("rows", {"rows": []})["rows"],
        requests={entry["id"]: entry for entry in read("expected", [])},
        tables={table["TableName"]: table for table in read("schema", [])},
    )


@pytest.fixture(scope="module")
def wire_items(published: Published) -> Mapping[str, list[Wire]]:
    """Return table -> items in wire form; scenarios that are published as plain rows make them from these."""
    return published.items


@pytest.fixture(scope="session")
def read_item() -> Callable[[type[Model], Wire], Model]:
    """Return a function that makes an instance of a model from an item in wire form, without this library's codec."""
    deserialize = TypeDeserializer().deserialize

    def read(model: type[Model], wire: Wire) -> Model:
        return model(**{_paths(model)[name][0]: deserialize(value) for name, value in wire.items()})

    return read


@pytest.fixture(scope="module")
def items(
    request: pytest.FixtureRequest,
    wire_items: Mapping[str, list[Wire]],
    read_item: Callable[[type[Model], Wire], Model],
) -> list[Model]:
    """Return everything to be put, in order."""
    return [read_item(request.module.MODELS[table], wire) for table, wires in wire_items.items() for wire in wires]


@pytest.fixture(scope="module")
def prefix() -> str:
    return f"s{uuid4().hex[:12]}-"


@contextmanager
def _without_debug_mode() -> Iterator[None]:
    """Keep the event loop from recording a traceback for every callback: thousands of puts take eight times as long."""
    loop = asyncio.get_running_loop()
    debug = loop.get_debug()
    loop.set_debug(False)
    try:
        yield
    finally:
        loop.set_debug(debug)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(
    request: pytest.FixtureRequest, engine: Engine, prefix: str, items: list[Model]
) -> AsyncIterator[Session]:
    """Return a session whose tables hold the scenario's items, put one by one, many at a time."""
    limiter = anyio.CapacityLimiter(CONCURRENT_PUTS)
    async with engine.session(table_prefix=prefix) as session:

        async def put(item: Model) -> None:
            async with limiter:
                await session.put(item)

        await session.tables.create(*request.module.MODELS.values(), timeout_seconds=30)
        with _without_debug_mode():
            async with anyio.create_task_group() as tasks:
                for item in items:
                    tasks.start_soon(put, item)
        yield session


@pytest.fixture(scope="module")
def ask(request: pytest.FixtureRequest, filled: Session, published: Published) -> Callable[[str], Awaitable[list[Any]]]:
    """Return a function that sends one of ``REQUESTS`` and compares what it gives with what was published.

    Where the service leaves the order open, among equal sort values of an index and in scans, keys are compared as
    sets; a global order by the index's sort key is demanded all the same.
    """

    async def asked(name: str) -> list[Any]:
        said = published.requests[name]
        expect = said["expect"]
        query = request.module.REQUESTS[name](filled)
        assert query.explain().index == said["index"]
        results = await query
        model, key_names = request.module.MODELS[said["table"]], published.key_names(said["table"])
        keys = [_stored(result, key_names, model) for result in results]
        wanted = expect["primary_keys"]
        assert len(keys) == expect["count"]
        if "..." in wanted:
            assert [key for key in wanted if key != "..." and key not in keys] == []
        elif expect["order"] == "exact":
            assert keys == wanted
        else:
            assert sorted(keys) == sorted(wanted)
        if expect["order"] == "undefined among equal index keys":
            sort_names = published.key_names(said["table"], said["index"], ("RANGE",))
            values = [_values(result, sort_names) for result in results]
            assert values == sorted(values, reverse=not said["forward"])
        return list(results)

    return asked


def _paths(model: type[Model]) -> dict[str, tuple[str, Any]]:
    """Return stored name -> field and its path."""
    paths = {field: path_of(getattr(model, field)) for field in model.model_fields}
    return {path.attribute: (field, path) for field, path in paths.items()}


def _values(item: Model, names: Sequence[str]) -> list[Any]:
    return [getattr(item, _paths(type(item))[name][0]) for name in names]


def _stored(result: Any, names: Sequence[str], model: type[Model]) -> list[str]:
    """Return the values of the named attributes as they are stored; a selected tuple begins with them."""
    if isinstance(result, Model):
        model, values = type(result), _values(result, names)
    else:
        values = result[: len(names)]
    paths = [_paths(model)[name][1] for name in names]
    return [next(iter(path.encode(value).values())) for path, value in zip(paths, values, strict=True)]


@pytest.fixture(scope="module")
def client(engine: Engine) -> Iterator[Any]:
    """Return boto3's client of the engine, to see what is stored without this library's help."""
    connection: Any = boto3.client(
        "dynamodb",
        region_name="eu-west-1",
        endpoint_url=engine.endpoint_url,
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    with closing(connection):
        yield connection


@pytest.fixture(scope="module")
def stored(client: Any, prefix: str, filled: Session) -> Callable[[str], list[Wire]]:
    """Return a function table -> all its items in wire form, as boto3 reads them."""

    def scan(table: str) -> list[Wire]:
        pages = client.get_paginator("scan").paginate(TableName=prefix + table)
        return [item for page in pages for item in page["Items"]]

    return scan


@pytest.fixture(scope="module")
def by_key(published: Published) -> Callable[[str, list[Wire]], list[Wire]]:
    """Return a function (table, items) -> the items sorted by primary key, for comparisons where order is free."""

    def sort(table: str, items: list[Wire]) -> list[Wire]:
        names = published.key_names(table)
        return sorted(items, key=lambda item: [next(iter(item[name].values())) for name in names])

    return sort


@pytest.fixture(scope="module")
def described(client: Any, prefix: str, filled: Session) -> Callable[[str], Wire]:
    """Return a function table -> its description by the service, in the form of the published schemas."""

    def index(description: Wire) -> Wire:
        return {part: description[part] for part in ("IndexName", "KeySchema", "Projection")}

    def describe(table: str) -> Wire:
        found = client.describe_table(TableName=prefix + table)["Table"]
        description = {
            "TableName": table,
            "KeySchema": found["KeySchema"],
            "AttributeDefinitions": sorted(found["AttributeDefinitions"], key=lambda each: each["AttributeName"]),
        }
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes"):
            if found.get(kind):
                description[kind] = sorted(map(index, found[kind]), key=lambda each: each["IndexName"])
        return description

    return describe
