"""What requests are asked for, and what is read out of answers of every form."""

import pytest

from dynamap_async.executor.consumed import Spending, TableOrIndex, least, metered, spendings
from dynamap_async.request import Request, Target


def request_of(operation, *, writes=False, size=0, **body):
    target = Target({"id": {"S": "a"}}, "users\0Sa", size) if operation.endswith("Item") else None
    return Request(operation=operation, body=body, table="users", writes=writes, target=target)


def part(units, **more):
    return {"CapacityUnits": units, **more}


READ = request_of("Query")
WRITE = request_of("PutItem", writes=True)
TRANSACTION = request_of("TransactWriteItems", writes=True)
READS, WRITES, INDEX_WRITES = (
    TableOrIndex("t", None, False),
    TableOrIndex("t", None, True),
    TableOrIndex("t", "g", True),
)


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        ("GetItem", "INDEXES"),
        ("BatchWriteItem", "INDEXES"),
        ("ExecuteTransaction", "INDEXES"),
        ("TransactGetItems", "TOTAL"),
        ("CreateTable", None),
        ("DescribeTable", None),
    ],
)
def test_a_request_asks_what_it_takes_if_it_takes_anything(operation, asked):
    request = request_of(operation, TableName="users")
    body = request.body
    assert metered(request).body.get("ReturnConsumedCapacity") == asked
    assert body == {"TableName": "users"}, "the operation's own body is left alone"


def test_a_request_is_asked_once_however_often_it_is_sent():
    request = metered(request_of("GetItem", TableName="users"))
    body = request.body
    assert metered(request) is request
    assert request.body is body


def test_a_request_that_asks_by_itself_is_left_as_it_is():
    request = request_of("GetItem", ReturnConsumedCapacity="TOTAL")
    assert metered(request).body == {"ReturnConsumedCapacity": "TOTAL"}


def test_a_metered_request_is_the_same_in_all_else():
    request = Request(
        operation="PutItem",
        body={"Item": {}},
        table="users",
        index="i",
        target=WRITE.target,
        targets=(WRITE.target,),
        batchable=True,
        writes=True,
        conditional=True,
        resendable=False,
        resendable_seconds=1.0,
    )
    changed = {"body": {"Item": {}, "ReturnConsumedCapacity": "INDEXES"}}
    facts = {name: getattr(request, name) for name in Request.__slots__} | changed
    assert {name: getattr(metered(request), name) for name in Request.__slots__} == facts


@pytest.mark.parametrize(
    ("request_", "given", "expected"),
    [
        pytest.param(READ, {"TableName": "t", **part(0.5)}, [Spending(READS, 1)], id="a sum only"),
        pytest.param(
            READ,
            {"TableName": "t", **part(1.5), "Table": part(1.5)},
            [Spending(READS, 3)],
            id="a table",
        ),
        pytest.param(
            WRITE,
            {
                "TableName": "t",
                **part(6.0),
                "Table": part(1.0),
                "GlobalSecondaryIndexes": {"g": part(2.0)},
                "LocalSecondaryIndexes": {"l": part(3.0)},
            },
            [
                Spending(WRITES, 2),
                Spending(INDEX_WRITES, 4),
                Spending(WRITES, 6, "l"),
            ],
            id="a table and its indexes",
        ),
        pytest.param(
            WRITE,
            {"TableName": "t", **part(3.0), "GlobalSecondaryIndexes": {"g": part(2.0)}},
            [Spending(WRITES, 2), Spending(INDEX_WRITES, 4)],
            id="a sum and an index",
        ),
        pytest.param(
            READ,
            {"TableName": "t", **part(0.5), "Table": part(0.0), "GlobalSecondaryIndexes": {"g": part(0.5)}},
            [Spending(TableOrIndex("t", "g", False), 1)],
            id="an index that is read",
        ),
        pytest.param(
            READ,
            [{"TableName": "a", **part(1.0)}, {"TableName": "b", **part(2.0)}],
            [Spending(TableOrIndex("a", None, False), 2), Spending(TableOrIndex("b", None, False), 4)],
            id="several tables",
        ),
        pytest.param(
            TRANSACTION,
            [{"TableName": "t", **part(2.0, WriteCapacityUnits=2.0), "Table": part(2.0, WriteCapacityUnits=2.0)}],
            [Spending(WRITES, 4)],
            id="a transaction",
        ),
        pytest.param(
            TRANSACTION,
            [{"TableName": "t", **part(2.0, ReadCapacityUnits=2.0)}],
            [Spending(READS, 4)],
            id="a transaction that is repeated with its token, which only reads",
        ),
        pytest.param(READ, {"TableName": "t", **part(0.0), "Table": part(0.0)}, [], id="nothing"),
    ],
)
def test_what_an_answer_reports_is_read_by_table_and_index(request_, given, expected):
    assert spendings(request_, {"ConsumedCapacity": given}) == tuple(expected)


@pytest.mark.parametrize(
    "given",
    [None, {}, [], "damaged", 7, {"CapacityUnits": 1.0}, {"TableName": "t"}, [{"TableName": "t", "Table": None}]],
    ids=repr,
)
def test_an_answer_that_does_not_say_or_says_it_in_no_known_form_is_no_report(given):
    assert spendings(READ, {"ConsumedCapacity": given}) is None


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (request_of("GetItem"), (1, 0)),
        (request_of("GetItem", ConsistentRead=True), (2, 0)),
        (request_of("Query"), (1, 0)),
        (request_of("Scan", ConsistentRead=True), (2, 0)),
        (request_of("PutItem", writes=True, size=2049), (0, 6)),
        (request_of("DeleteItem", writes=True), (0, 2)),
        (request_of("UpdateItem", writes=True, size=5000), (0, 2)),
        (request_of("TransactGetItems", TransactItems=[{}, {}]), (8, 0)),
        (request_of("TransactWriteItems", writes=True, TransactItems=[{}, {}, {}]), (0, 12)),
        (request_of("ExecuteStatement"), (1, 0)),
        (request_of("ExecuteStatement", writes=True), (0, 2)),
        (request_of("BatchExecuteStatement", Statements=[{}, {}]), (2, 0)),
        (request_of("ExecuteTransaction", writes=True, TransactStatements=[{}]), (0, 4)),
        (request_of("CreateTable", writes=True), (0, 0)),
    ],
    ids=lambda each: each.operation if isinstance(each, Request) else "",
)
def test_the_least_that_a_request_takes(request_, expected):
    assert least(request_) == expected
