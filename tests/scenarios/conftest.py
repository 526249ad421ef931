"""What all scenarios share: the published data, a session filled with it, and a look at what is really stored.

A scenario's test module gives ``SCENARIO``, the folder of its data; ``MODELS``, published table -> model, or the
``Table`` that several share; and ``REQUESTS``, published identifier of a request -> function (session) -> query or
scan.
"""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import boto3
import pytest
import pytest_asyncio
from boto3.dynamodb.types import TypeDeserializer

from dynamap_async import Model, Session, Table
from dynamap_async.capacity import Charge, page_charge, read_charge, write_charge
from dynamap_async.executor.consumed import is_metered, spendings
from dynamap_async.expressions import path_of
from dynamap_async.models.templates import DeclaredTemplate
from dynamap_async.request import Request, identity_of
from dynamap_async.schema import IndexKind, IndexSchema, KeySchema, Projection, TableSchema
from dynamap_async.testing import Engine, NativeEngine
from dynamap_async.testing.engine import local_settings
from dynamap_async.transport import Connection, WireTransport

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
        given = {_paths(model)[name][0]: deserialize(value) for name, value in wire.items()}
        values = {**given, **_parts(model, given)}
        return model(**{name: _with_zone(model, name, value) for name, value in values.items()})

    return read


def _with_zone(model: type[Model], name: str, value: Any) -> Any:
    """Return a value, as a moment in UTC where its field is a time and its text names no zone."""
    if isinstance(value, str) and model.model_fields[name].annotation is datetime:
        moment = datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return value


def _parts(model: type[Model], given: Mapping[str, Any]) -> dict[str, str]:
    """Return the parts of templated keys that are stored nowhere else, taken out of the keys by regular expressions."""
    parts: dict[str, str] = {}
    for field, info in model.model_fields.items():
        for declared in info.metadata:
            if isinstance(declared, DeclaredTemplate) and field in given:
                pattern = re.sub(r"\\{(\w+)[^}]*\\}", r"(?P<\1>.*?)", re.escape(declared.pattern))
                found = re.fullmatch(pattern, given[field])
                assert found, f"{given[field]!r} is not {declared.pattern!r}"
                parts |= found.groupdict()
    return {part: text for part, text in parts.items() if part not in given}


def _of_kind(place: type[Model] | Table, wire: Wire) -> tuple[type[Model], Wire]:
    """Return the model of an item, and the item without the marker that told it."""
    if not isinstance(place, Table):
        return place, wire
    kind = place.kind_of(wire)
    assert kind is not None, wire
    marker = place.marker(kind)
    return place.models[kind], {name: value for name, value in wire.items() if name not in marker}


@pytest.fixture(scope="module")
def items(
    request: pytest.FixtureRequest,
    wire_items: Mapping[str, list[Wire]],
    read_item: Callable[[type[Model], Wire], Model],
) -> list[Model]:
    """Return everything to be put, in order."""
    places = request.module.MODELS
    return [read_item(*_of_kind(places[table], wire)) for table, wires in wire_items.items() for wire in wires]


@pytest.fixture(scope="module")
def prefix() -> str:
    return f"s{uuid4().hex[:12]}-"


class Audited:
    """A transport that compares what the engine says a request took with this library's arithmetic, request by request.

    It remembers what is stored, so that each write is known with the item before and after it.
    """

    def __init__(self, transport: WireTransport) -> None:
        self.transport = transport
        self.schemas: dict[str, TableSchema] = {}
        self.stored: dict[str, Wire | None] = {}
        self.tokens: set[str] = set()
        self.open, self.close = transport.open, transport.close

    @property
    def max_connections(self) -> int:
        return self.transport.max_connections

    async def send(self, request: Request) -> Wire:
        before = [self.stored.get(identity_of(table, key)) for table, key, *_ in self.writes(request)]
        answer = await self.transport.send(request)
        if request.operation == "CreateTable":
            self.schemas[request.table] = schema_of(request.body)
        if is_metered(request):
            expected = await self.charges(request, before)
            reported: Counter[Any] = Counter()
            for each in spendings(request, answer) or ():
                table, index, writes = each.place
                reported[table, index or each.local_index, writes] += each.halves
            assert reported == +expected, request
        return answer

    def writes(self, request: Request) -> list[tuple[str, Wire, str, Wire | None]]:
        """Return (table, key, kind, item that is put) of everything that a request writes or checks."""
        body = request.body
        match request.operation:
            case "BatchWriteItem":
                entries = [(table, entry) for table, several in body["RequestItems"].items() for entry in several]
                actions = [(table, *next(iter(entry.items()))) for table, entry in entries]
            case "TransactWriteItems":
                parts = [next(iter(action.items())) for action in body["TransactItems"]]
                actions = [(part["TableName"], kind, part) for kind, part in parts]
            case "PutItem" | "UpdateItem" | "DeleteItem":
                actions = [(request.table, request.operation, body)]
            case _:
                return []
        return [
            (table, action.get("Key") or self.schemas[table].keys.key_of(action["Item"]), kind, action.get("Item"))
            for table, kind, action in actions
        ]

    async def charges(self, request: Request, before: list[Wire | None]) -> Counter[Any]:
        """Return (table, index, whether written) -> halves of a unit."""
        body, charged = request.body, Counter[Any]()
        token = body.get("ClientRequestToken")
        together = request.operation.startswith("Transact")
        for (table, key, kind, item), old in zip(self.writes(request), before, strict=True):
            if token is not None and token in self.tokens:
                charged += of_table(table, read_charge(old, transactional=True), writes=False)
                continue
            new = item or (None if kind.startswith("Delete") else await self.read(table, key))
            self.stored[identity_of(table, key)] = new
            charged += of_table(table, write_charge(self.schemas[table], old, new, transactional=together), writes=True)
        self.tokens |= {token} - {None}
        for table, key, options in reads_of(request):
            item = await self.known(table, key)
            charged += of_table(table, read_charge(item, transactional=together, **options), writes=False)
        if request.operation in ("Query", "Scan"):
            charged += of_table(request.table, await self.page(request), writes=False)
        assert charged, f"{request.operation} is not audited"
        return charged

    async def page(self, request: Request) -> Charge:
        """Return the charge of a page: its items are asked for again, without a filter."""
        names = ("TableName", "IndexName", "Limit", "ExclusiveStartKey", "ScanIndexForward", "ConsistentRead")
        names = (*names, "KeyConditionExpression", "ExpressionAttributeValues", "Segment", "TotalSegments")
        body = {name: request.body[name] for name in names if name in request.body}
        condition = body.get("KeyConditionExpression")
        body.pop("ExpressionAttributeValues", None)
        for kind in ("ExpressionAttributeNames", "ExpressionAttributeValues") if condition else ():
            used = {
                name: value
                for name, value in request.body.get(kind, {}).items()
                if name in re.findall(r"[#:]\w+", condition)
            }
            body |= {kind: used} if used else {}
        plain = Request(operation=request.operation, table=request.table, body=body)
        keys = self.schemas[request.table].keys
        found = (await self.transport.send(plain))["Items"]
        items = [await self.known(request.table, keys.key_of(item)) for item in found]
        consistent = bool(body.get("ConsistentRead"))
        return page_charge(self.schemas[request.table], items, index=request.index, consistent=consistent)

    async def known(self, table: str, key: Wire) -> Wire | None:
        identity = identity_of(table, key)
        if identity not in self.stored:
            self.stored[identity] = await self.read(table, key)
        return self.stored[identity]

    async def read(self, table: str, key: Wire) -> Wire | None:
        body = {"TableName": table, "Key": key, "ConsistentRead": True}
        return (await self.transport.send(Request(operation="GetItem", table=table, body=body))).get("Item")


def reads_of(request: Request) -> list[tuple[str, Wire, dict[str, bool]]]:
    """Return (table, key, whether consistent) of everything that a request reads by its key."""
    body = request.body
    match request.operation:
        case "GetItem":
            return [(request.table, body["Key"], {"consistent": bool(body.get("ConsistentRead"))})]
        case "TransactGetItems":
            return [(each["Get"]["TableName"], each["Get"]["Key"], {}) for each in body["TransactItems"]]
        case "BatchGetItem":
            return [
                (table, key, {"consistent": bool(entry.get("ConsistentRead"))})
                for table, entry in body["RequestItems"].items()
                for key in entry["Keys"]
            ]
    return []


def of_table(table: str, charge: Charge, *, writes: bool) -> "Counter[Any]":
    indexes = {(table, index, writes): halves for index, halves in charge.index_halves.items()}
    return Counter({(table, None, writes): charge.table_halves, **indexes})


def schema_of(body: Wire) -> TableSchema:
    """Return the schema of a table that is being created."""
    types = {each["AttributeName"]: each["AttributeType"] for each in body["AttributeDefinitions"]}
    indexes = [
        IndexSchema(
            name=each["IndexName"],
            kind=kind,
            keys=KeySchema.from_wire(each["KeySchema"], types),
            projection=Projection(
                each["Projection"]["ProjectionType"], tuple(each["Projection"].get("NonKeyAttributes", ()))
            ),
        )
        for kind in IndexKind
        for each in body.get(f"{kind.value.title()}SecondaryIndexes", [])
    ]
    keys = KeySchema.from_wire(body["KeySchema"], types)
    return TableSchema(name=body["TableName"], keys=keys, indexes=tuple(indexes))


def audited(engine: Engine, **settings: Any) -> Session:
    """Return a session whose requests are audited, where the engine's figures follow the service's rules at all."""
    if not isinstance(engine, NativeEngine):
        return engine.session(**settings)
    connection = Connection(**local_settings(engine.endpoint_url))
    return Session(transport=Audited(WireTransport(connection)), **settings)


@pytest_asyncio.fixture(loop_scope="function")
async def session(engine: Engine) -> AsyncIterator[Session]:
    """Return an open session whose tables no other test sees, audited like that of the scenario's own data."""
    async with audited(engine, table_prefix=f"t{uuid4().hex[:12]}-") as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(
    request: pytest.FixtureRequest, engine: Engine, prefix: str, items: list[Model]
) -> AsyncIterator[Session]:
    """Return a session whose tables hold the scenario's items, put one by one, many at a time."""
    limiter = anyio.CapacityLimiter(CONCURRENT_PUTS)
    async with audited(engine, table_prefix=prefix) as session:

        async def put(item: Model) -> None:
            async with limiter:
                await session.put(item)

        await session.tables.create(*request.module.MODELS.values(), timeout_seconds=30)
        async with anyio.create_task_group() as tasks:
            for item in items:
                tasks.start_soon(put, item)
        yield session


@pytest.fixture(scope="module")
def ask(
    request: pytest.FixtureRequest, filled: Session, published: Published, client: Any
) -> Callable[[str], Awaitable[list[Any]]]:
    """Return a function that sends one of ``REQUESTS`` and compares what it gives and reads with what was published.

    Where the service leaves the order open, among equal sort values of an index and in scans, keys are compared as
    sets; a global order by the index's sort key is demanded all the same.
    """

    async def asked(name: str) -> list[Any]:
        said = published.requests[name]
        expect = said["expect"]
        query = request.module.REQUESTS[name](filled)
        plan = query.explain()
        assert plan.index == said["index"]
        body = {name: value for name, value in plan.body.items() if name != "Limit"}
        answer = client.query(**body) if said["op"] == "Query" else client.scan(**body)
        assert answer["ScannedCount"] == expect.get("scanned", expect.get("scanned_without_limit"))
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
