"""Operations are values: executing one twice, and in two sessions at once, leaves it as it was."""

import pickle

import pytest

from dynamap_async import (
    Attr,
    BatchExecuteStatement,
    Create,
    Delete,
    ExactlyOnce,
    ExecuteTransaction,
    Find,
    Get,
    Model,
    Old,
    PartitionKey,
    Put,
    Query,
    Replace,
    Reserve,
    Save,
    Scan,
    Session,
    SortKey,
    Statement,
    TransactFind,
    TransactGet,
    TransactWrite,
    Update,
    attr,
)


class Home(Model):
    rooms: Attr[list[int]]


class Person(Model, table="people"):
    name: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")
    many: Attr[list[int]] = attr(default_factory=list)
    homes: Attr[list[Home]] = attr(default_factory=list)


class Counted(Model, table="counted"):
    name: PartitionKey[str]
    number: SortKey[int] = attr(autoincrement=True)


SELECT = 'SELECT * FROM "people" WHERE name = ?'


def ada():
    return Person(name="ada", number=1)


STORED = {"name": {"S": "ada"}, "number": {"N": "1"}}
ANSWERS = {
    "GetItem": {"Item": STORED},
    "PutItem": {"Attributes": STORED},
    "DeleteItem": {"Attributes": STORED},
    "UpdateItem": {"Attributes": {**STORED, "n": {"N": "3"}, "version": {"N": "1"}}},
    "Query": {"Items": [STORED], "Count": 1},
    "Scan": {"Items": [STORED], "Count": 1},
    "ExecuteStatement": {"Items": [STORED]},
    "BatchExecuteStatement": {"Responses": [{"TableName": "people", "Item": STORED}]},
    "ExecuteTransaction": {"Responses": [{"Item": STORED}]},
    "TransactWriteItems": {},
}


class Answers:
    """A transport that answers everything alike, and keeps all requests."""

    max_connections = 8

    def __init__(self):
        self.requests = []

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        if request.operation == "TransactGetItems":
            return {"Responses": [{"Item": each["Get"]["Key"]} for each in request.body["TransactItems"]]}
        return ANSWERS[request.operation]


CARRIED_OUT = [
    Get(Person, "ada", 1),
    Find(Person, "ada", 1),
    Put(ada()),
    Create(ada()),
    Save(ada()),
    Replace(ada()),
    Delete(ada()),
    Delete(Person, "ada", 1, where=Person.many[0] > 1),
    Delete(Person, "ada", 1, where=Person.homes[0].rooms[1] > 1),
    Old(Put(ada())),
    Old(Delete(Person, "ada", 1)),
    Update(Person, "ada", 1).set(Person.text, "x"),
    Update(Person, "ada", 1).set(Person.text, "x").returning("old"),
    Reserve(Counted, 3, "ada"),
    Query(Person).where(Person.name == "ada"),
    Query(Person).where(Person.name == "ada").count(),
    Query(Person).where(Person.name == "ada").page(size=1),
    Scan(Person),
    Statement(SELECT, ["ada"], into=Person),
    BatchExecuteStatement([Statement(SELECT, ["ada"])]),
    ExecuteTransaction([Statement(SELECT, ["ada"])]),
    TransactGet(Get(Person, "ada", 1), (Person, "bob", 2)),
    TransactFind(Find(Person, "ada", 1)),
    TransactWrite([Put(ada()), Update(Person, "bob", 2).set(Person.text, "x")]),
    ExactlyOnce(Put(ada())),
    Put(ada()).exactly_once().then_get(),
]


@pytest.mark.parametrize("operation", CARRIED_OUT, ids=lambda operation: type(operation).__name__)
async def test_an_operation_is_unchanged_by_executing_it_twice_and_in_two_sessions_at_once(operation):
    before = pickle.dumps(operation)
    one, other = Answers(), Answers()
    async with (
        Session(transport=one, table_prefix="one-") as first,
        Session(transport=other, table_prefix="other-") as second,
    ):
        results = await first.gather(first.execute(operation), second.execute(operation), first.execute(operation))
    assert pickle.loads(before) == operation
    assert results[0] == results[1] == results[2]
    if not isinstance(operation, Statement | BatchExecuteStatement | ExecuteTransaction):  # no prefix is put into text
        assert all("one-" in repr(request.body) and "other-" not in repr(request.body) for request in one.requests)
        assert all("other-" in repr(request.body) for request in other.requests)
