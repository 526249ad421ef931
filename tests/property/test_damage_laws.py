"""Whatever an answer holds, and however it is read, every outcome is a result or an error of ours, and none is silent.

The answers are what DynamoDB gives to each operation, changed in one place, or in several. They pass the checks of the
transport, and are decoded, as those of a server are: with the items left as their JSON, and as dicts.
"""

import asyncio
import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    Check,
    GlobalIndex,
    Model,
    PartitionKey,
    Put,
    RetryPolicy,
    Session,
    SortKey,
    Statement,
    StoredItem,
    Unique,
    Version,
    attr,
    upgrade,
)
from dynamap_async.errors import BatchError, DynamapError
from dynamap_async.executor import gather_all
from dynamap_async.native import ACTIVE
from dynamap_async.transport.answers import read_answer

laws = settings(deadline=None, max_examples=400, suppress_health_check=[HealthCheck.too_slow])


class Doc(Model, table="docs"):
    pk: PartitionKey[str]
    sk: SortKey[int]
    n: Attr[int] = attr(default=0)
    g: Attr[str] = attr(default="g")
    tags: Attr[list[str]] = attr(default_factory=list)
    by_g = GlobalIndex("by-g", partition_key="g", projection=KEYS_ONLY)


class Versioned(Model, table="versioned"):
    pk: PartitionKey[str]
    version: Version[int] = attr(default=0)


class User(Model, table="users"):
    pk: PartitionKey[str]
    email: Attr[str]
    by_email = Unique("email")


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)


class Newer(Model, table="newer", schema_version=2):
    pk: PartitionKey[str]
    b: Attr[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def from_a(item: StoredItem) -> None:
        item["b"] = item.pop("a", 0)


KEYS = {"docs": {"pk": "S", "sk": "N"}, "tickets": {"number": "N"}}
CONSUMED = {"TableName": "docs", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}}
TABLE = {
    "TableName": "docs",
    "TableStatus": "ACTIVE",
    "TableArn": "arn:aws:dynamodb:eu-west-1:1:table/docs",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "g", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "IndexStatus": "ACTIVE",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        }
    ],
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0},
    "CreationDateTime": 1.7e9,
    "ItemCount": 2,
    "TableSizeBytes": 100,
    "DeletionProtectionEnabled": False,
}
BACKUP = {"BackupArn": "arn", "BackupName": "b", "BackupStatus": "AVAILABLE", "BackupCreationDateTime": 1.7e9}
OF_TABLES = {
    "DescribeTable": {"Table": TABLE},
    "CreateTable": {"TableDescription": TABLE},
    "UpdateTable": {"TableDescription": TABLE},
    "DeleteTable": {"TableDescription": TABLE},
    "ListTables": {"TableNames": ["docs", "users"]},
    "ListTagsOfResource": {"Tags": [{"Key": "team", "Value": "a"}]},
    "DescribeTimeToLive": {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}},
    "ListBackups": {"BackupSummaries": [{**BACKUP, "TableName": "docs"}]},
    "CreateBackup": {"BackupDetails": BACKUP},
    "DescribeBackup": {"BackupDescription": {"BackupDetails": BACKUP, "SourceTableDetails": {"TableName": "docs"}}},
    "DescribeContinuousBackups": {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {
                "PointInTimeRecoveryStatus": "ENABLED",
                "EarliestRestorableDateTime": 1.7e9,
                "LatestRestorableDateTime": 1.8e9,
            },
        }
    },
    "DescribeKinesisStreamingDestination": {
        "KinesisDataStreamDestinations": [{"StreamArn": "arn", "DestinationStatus": "ACTIVE"}]
    },
    "ListContributorInsights": {"ContributorInsightsSummaries": [{"ContributorInsightsStatus": "ENABLED"}]},
    "GetResourcePolicy": {"Policy": "{}"},
}


def stored(table: str, key: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an item of a table."""
    item = key or {name: {kind: "1" if kind == "N" else "a"} for name, kind in KEYS.get(table, {"pk": "S"}).items()}
    more: dict[str, Any] = {"g": {"S": "g"}, "n": {"N": "1"}, "tags": {"L": [{"S": "x"}]}, "more": {"S": "kept"}}
    if table == "versioned":
        more = {"version": {"N": "1"}}
    if table == "newer":
        more = {"a": {"N": "1"}, "more": {"M": {"x": {"S": "y"}}}}
    return {**item, **more, "email": {"S": "taken"}}


def answer_of(request: Any, *, refuses: bool) -> tuple[int, dict[str, Any]]:
    """Return the status and the answer of DynamoDB; of a conditional write, where it refuses, the refusal."""
    body, table = request.body, request.table
    found = stored(table, body.get("Key") or None)
    match request.operation:
        case "PutItem" | "DeleteItem" | "UpdateItem" if refuses and request.conditional:
            error = {"__type": "x#ConditionalCheckFailedException", "message": "no", "Item": found}
            return 400, error
        case "TransactWriteItems" if refuses:
            reason = {"Code": "ConditionalCheckFailed", "Message": "no", "Item": found}
            reasons = [reason] * len(body["TransactItems"])
            return 400, {"__type": "x#TransactionCanceledException", "message": "no", "CancellationReasons": reasons}
        case "GetItem":
            return 200, {"Item": found, "ConsumedCapacity": CONSUMED}
        case "PutItem" | "DeleteItem" | "UpdateItem":
            given = {"Attributes": found} if body.get("ReturnValues", "NONE") != "NONE" else {}
            return 200, {**given, "ConsumedCapacity": CONSUMED}
        case "Query" | "Scan":
            items = [found, {**found, **({"sk": {"N": "2"}} if "sk" in found else {})}]
            return 200, {"Items": items, "Count": 2, "ScannedCount": 2, "ConsumedCapacity": CONSUMED}
        case "ExecuteStatement":
            return 200, {"Items": [found], "ConsumedCapacity": CONSUMED}
        case "BatchGetItem":
            asked = body["RequestItems"].items()
            responses = {name: [stored(name, key) for key in each["Keys"]] for name, each in asked}
            return 200, {"Responses": responses, "UnprocessedKeys": {}, "ConsumedCapacity": [CONSUMED]}
        case "BatchWriteItem":
            return 200, {"UnprocessedItems": {}, "ConsumedCapacity": [CONSUMED]}
        case "TransactGetItems":
            gets = [each["Get"] for each in body["TransactItems"]]
            return 200, {"Responses": [{"Item": stored(each["TableName"], each["Key"])} for each in gets]}
        case "BatchExecuteStatement" | "ExecuteTransaction":
            parts = body.get("Statements") or body["TransactStatements"]
            return 200, {"Responses": [{"Item": found, "TableName": "docs"} for _ in parts]}
        case operation:
            return 200, copy.deepcopy(OF_TABLES.get(operation, {}))


async def awaited(builder: Any) -> Any:
    return await builder


async def listed(items: Any) -> list[Any]:
    return [item async for item in items]


async def saved(session: Session) -> None:
    doc = await session.get(Doc, "a", 1)
    doc.n += 1
    doc.tags.append("y")
    await session.save(doc)


async def together(session: Session) -> list[Any]:
    return await gather_all([session.find(Doc, "a", 1), session.find(Doc, "a", 2), session.find(User, "a")])


ADA: Any = lambda session: session.query(Doc).where(Doc.pk == "a")  # noqa: E731 - one of many beside it
CALLS: dict[str, Callable[[Any], Any]] = {
    "get": lambda s: s.get(Doc, "a", 1),
    "find together": together,
    "get_many": lambda s: s.get_many(Doc, [("a", 1), ("a", 2)]),
    "each": lambda s: listed(s.each(Doc, [("a", 1), ("a", 2)])),
    "query": lambda s: awaited(ADA(s)),
    "page": lambda s: ADA(s).page(size=1),
    "page bounded": lambda s: ADA(s).page(size=1, max_pages=2, max_read_units=5),
    "count": lambda s: ADA(s).count(),
    "one": lambda s: ADA(s).one(),
    "select": lambda s: awaited(ADA(s).select(Doc.n, Doc.tags[0])),
    "skip": lambda s: awaited(ADA(s).invalid("skip")),
    "raw": lambda s: listed(ADA(s).invalid("raw")),
    "completed": lambda s: awaited(s.query(Doc).where(Doc.g == "g").index(Doc.by_g)),
    "merged": lambda s: awaited(s.query(Doc).where(Doc.pk.is_in("a", "b"))),
    "merged down": lambda s: awaited(s.query(Doc).where(Doc.pk.is_in("a", "b")).descending()),
    "segments": lambda s: listed(s.scan(Doc).segments(2)),
    "put": lambda s: s.put(Doc(pk="a", sk=1)),
    "put old": lambda s: s.put(Doc(pk="a", sk=1), returning="old"),
    "put where": lambda s: s.put(Doc(pk="a", sk=1), where=Doc.n == 1),
    "put_many": lambda s: s.put_many([Doc(pk="a", sk=1), Doc(pk="a", sk=2)]),
    "create": lambda s: s.create(Doc(pk="a", sk=1)),
    "update": lambda s: awaited(s.update(Doc, "a", 1).set(Doc.g, "x")),
    "update old": lambda s: awaited(s.update(Doc, "a", 1).set(Doc.g, "x").returning("old")),
    "update changed": lambda s: awaited(s.update(Doc, "a", 1).set(Doc.g, "x").returning("changed")),
    "increment": lambda s: s.increment(Doc, "a", 1, Doc.n),
    "delete old": lambda s: s.delete(Doc, "a", 1, returning="old"),
    "delete_many": lambda s: s.delete_many(Doc, [("a", 1), ("a", 2)]),
    "save": saved,
    "versioned": lambda s: s.put(Versioned(pk="a", version=1)),
    "unique": lambda s: s.create(User(pk="a", email="taken")),
    "unique read first": lambda s: s.put(User(pk="a", email="other"), read_first=True),
    "number": lambda s: s.create(Ticket()),
    "reserve": lambda s: s.reserve(Ticket, 3),
    "transact_get": lambda s: s.transact_get((Doc, "a", 1), (User, "a")),
    "transact_find": lambda s: s.transact_find((Doc, "a", 1), (User, "a")),
    "transact_write": lambda s: s.transact_write([Put(Doc(pk="a", sk=1)), Check(User, "a", where=User.pk.exists())]),
    "then_get": lambda s: awaited(s.update(Doc, "a", 1).add(Doc.n, 1).exactly_once().then_get()),
    "statement": lambda s: awaited(s.execute_statement("SELECT * FROM docs")),
    "statement into": lambda s: awaited(s.execute_statement("SELECT * FROM docs", into=Doc)),
    "statements": lambda s: s.batch_execute_statement([Statement("SELECT * FROM docs", into=Doc)] * 2),
    "transaction": lambda s: s.execute_transaction([Statement("SELECT * FROM docs")] * 2),
    "read older": lambda s: s.get(Newer, "a"),
    "upgrade": lambda s: s.upgrade(Newer),
    "complete_since": lambda s: s.complete_since(Newer),
    "describe": lambda s: s.tables.describe(Doc),
    "exists": lambda s: s.tables.exists(Doc),
    "names": lambda s: s.tables.names(),
    "plan": lambda s: s.tables.plan(Doc),
    "verify": lambda s: s.tables.verify(Doc),
    "tags": lambda s: s.tables.tags(Doc),
    "ensure": lambda s: s.tables.ensure(Doc),
    "create table": lambda s: s.tables.create(Doc, wait=False),
    "check_index": lambda s: s.tables.check_index(Doc.by_g),
    "truncate": lambda s: s.tables.truncate(Versioned),
    "backups": lambda s: s.tables.backups.of(Doc),
}

ODD: list[Any] = [
    *(None, True, False, 0, -1, 5, 1.5, 10**30, "", "x", "2026", [], {}, [None], [1], [[]], {"": ""}, {"x": 1}),
    *({"S": "x"}, {"N": "7"}, {"N": "seven"}, {"N": 5}, {"S": 5}, {"S": None}, {"L": [{}]}, {"M": {"a": 1}}, {"Q": 1}),
    *({"BOOL": "true"}, {"B": "%%%"}, {"NS": ["a"]}, {"SS": "abc"}, {"NULL": False}, {"S": "a", "N": "1"}),
    *({"N": "1e999999999"}, {"N": "NaN"}, {"N": "Infinity"}, {"S": "20260102"}, {"M": {"pk": {"S": 1}}}),
]


def places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to each part of an answer, its whole first."""
    inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [path, *(place for name, each in inner for place in places(each, (*path, name)))]


class Changed:
    """A transport whose answers are changed in one place, the one of a certain number, or all."""

    max_connections = 8

    def __init__(self, change: tuple[int, int, str, int], *, refuses: bool, leaves_items: bool) -> None:
        self._which, self._place, self._how, self._odd = change
        self._refuses, self._leaves_items = refuses, leaves_items
        self._asked = 0

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    async def send(self, request: Any) -> Any:
        self._asked += 1
        assert self._asked < 200, "an answer must not be asked for without end"
        status, answer = answer_of(request, refuses=self._refuses)
        if self._which in (0, self._asked):
            answer = self._changed(copy.deepcopy(answer))
        given: Any = SimpleNamespace(status=status, headers={"content-type": "json"}, body=to_json(answer))
        return read_answer(request, given, leaves_items=self._leaves_items)

    def _changed(self, answer: Any) -> Any:
        found = places(answer)
        *way, last = found[self._place % len(found)] or (None,)
        odd = ODD[self._odd % len(ODD)]
        if last is None:
            return odd
        part = answer
        for step in way:
            part = part[step]
        match self._how:
            case "dropped":
                del part[last]
            case "renamed" if isinstance(part, dict):
                part[f"{last}x"] = part.pop(last)
            case "twice" if isinstance(part, list):
                part.insert(last, part[last])
            case _:
                part[last] = odd
        return answer


async def outcome_of(call: Callable[[Any], Any], transport: Any) -> None:
    """Carry out a call; whatever it raises that is no error of ours fails the law."""
    async with Session(transport=transport, retry=RetryPolicy(max_attempts=2, base_delay_seconds=0)) as session:
        try:
            await call(session)
        except BatchError as error:
            for failure in error.failures:
                if not isinstance(failure.error, DynamapError):
                    raise failure.error from None
        except DynamapError as error:
            str(error)


CHANGES = st.tuples(
    st.sampled_from([0, 1, 1, 1, 2, 3]),
    st.integers(0, 2**16),
    st.sampled_from(["odd", "odd", "odd", "odd", "dropped", "renamed", "twice"]),
    st.integers(0, 2**16),
)


@pytest.mark.parametrize("leaves_items", [False, True] if ACTIVE else [False])
@laws
@given(name=st.sampled_from(list(CALLS)), change=CHANGES, refuses=st.booleans())
def test_whatever_an_answer_holds_every_error_is_one_of_ours(leaves_items, name, change, refuses):
    transport = Changed(change, refuses=refuses, leaves_items=leaves_items)
    asyncio.run(outcome_of(CALLS[name], transport))


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_answers_that_are_right_are_no_damage(name, refuses):
    transport = Changed((-1, 0, "odd", 0), refuses=refuses, leaves_items=ACTIVE)
    asyncio.run(outcome_of(CALLS[name], transport))
    assert transport._asked
