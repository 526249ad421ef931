"""Operations are values: nothing of an execution stays in them, whoever executes them, and how often."""

import copy
from datetime import datetime
from uuid import UUID, uuid4

import pytest

from dynamap_async import (
    Attr,
    Check,
    Create,
    Delete,
    ExactlyOnce,
    Find,
    Get,
    Model,
    Old,
    PartitionKey,
    Put,
    Refresh,
    Replace,
    Save,
    TimeToLive,
    TransactFind,
    TransactGet,
    TransactWrite,
    Update,
    Version,
    attr,
)
from dynamap_async.errors import ItemNotFoundError
from dynamap_async.operations import Operation, Reserve
from dynamap_async.planning import Context, TableNames

NOW = 1_800_000_000
STORED = {"id": {"S": "a"}, "text": {"S": "x"}, "edited": {"S": "e"}, "version": {"N": "1"}, "ends": {"N": str(NOW)}}


class Note(Model, table="notes", hide_expired=True):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")
    edited: Attr[str] = attr(on_update=lambda: uuid4().hex)
    ends: TimeToLive[datetime | None] = attr(default=None)
    version: Version[int] = attr(default=0)


class Login(Model, table="logins"):
    id: PartitionKey[str]
    code: Attr[UUID] = attr(default_factory=uuid4)
    seen: Attr[int] = attr(default=0)


class Counted(Model, table="counted"):
    id: PartitionKey[int] = attr(autoincrement=True)


def note():
    return Note(id="a", text="y")


OPERATIONS = {
    "find": lambda: Find(Note, "a"),
    "get": lambda: Get(Note, "a"),
    "refresh": lambda: Refresh(note()),
    "put": lambda: Put(note()),
    "put of a model without a version": lambda: Put(Login(id="a")),
    "create": lambda: Create(note()),
    "replace": lambda: Replace(note()),
    "save of a new item": lambda: Save(note()),
    "delete": lambda: Delete(note()),
    "delete by key": lambda: Delete(Note, "a"),
    "check": lambda: Check(Note, "a", where=Note.text == "x"),
    "update": lambda: Update(Note, "a").set(Note.text, "z"),
    "update of an instance": lambda: Update(note()).set(Note.text, "z").returning("nothing"),
    "update of what is changed": lambda: Update(Note, "a").set(Note.text, "z").returning("changed"),
    "upsert": lambda: Update(Note, "a").set(Note.text, "z").upsert(),
    "old": lambda: Old(Put(note())),
    "reserve": lambda: Reserve(Counted, 3),
    "transaction of reads": lambda: TransactFind((Note, "a")),
    "transaction of reads that must exist": lambda: TransactGet((Note, "a")),
    "transaction": lambda: TransactWrite([Put(note()), Update(Note, "b").set(Note.text, "z")]),
    "exactly once": lambda: ExactlyOnce(Update(note()).set(Note.text, "z")),
}

ANSWER = {"Item": STORED, "Attributes": STORED, "Responses": [{"Item": STORED}]}
ANSWERS = {"reserve": {"Attributes": {"n": {"N": "3"}}}}


def state_of(value):
    """Return all that an operation consists of, and the operations in it; instances as themselves."""
    if isinstance(value, tuple):
        return tuple(map(state_of, value))
    if not isinstance(value, Operation):
        return copy.deepcopy(value) if isinstance(value, dict | list) else value
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return type(value), {name: state_of(getattr(value, name)) for name in slots if hasattr(value, name)}


@pytest.mark.parametrize("splices", [False, True])
@pytest.mark.parametrize("kind", OPERATIONS)
def test_an_operation_is_unchanged_by_being_executed(kind, splices):
    operation = OPERATIONS[kind]()
    before = state_of(operation)
    for now in (NOW - 1, NOW + 1):
        context = Context(tables=TableNames(f"at-{now}-"), clock=lambda now=now: now, splices=splices)
        operation.request(context)
        try:
            operation.result(ANSWERS.get(kind, ANSWER), context)
        except ItemNotFoundError:
            assert now > NOW
        assert state_of(operation) == before


@pytest.mark.parametrize("kind", ["find", "get", "transaction of reads", "refresh"])
def test_each_execution_answers_by_its_own_clock(kind):
    operation = OPERATIONS[kind]()
    alive, expired = Context(clock=lambda: NOW - 1), Context(clock=lambda: NOW + 1)
    operation.request(alive)
    operation.request(expired)

    def outcome(context):
        try:
            return operation.result(ANSWER, context) not in (None, (None,))
        except ItemNotFoundError:
            return False

    assert (outcome(alive), outcome(expired)) == (True, False)
