"""Operations are values: alike if they ask the same, also after pickling, and nobody assigns their attributes."""

import ast
import pickle
from datetime import datetime
from pathlib import Path

import pytest

import dynamap_async
from dynamap_async import (
    Attr,
    BatchExecuteStatement,
    Check,
    Collection,
    Create,
    Delete,
    ExactlyOnce,
    ExecuteTransaction,
    Find,
    Get,
    GlobalIndex,
    Model,
    Old,
    Operation,
    PartitionKey,
    Put,
    Query,
    Refresh,
    Replace,
    Reserve,
    Save,
    Scan,
    SortKey,
    Statement,
    Table,
    TimeToLive,
    TransactFind,
    TransactGet,
    TransactWrite,
    Update,
    Version,
    attr,
)
from dynamap_async.errors import OperationError


class Home(Model):
    city: Attr[str]
    tags: Attr[dict[str, int]] = attr(default_factory=dict)


class Person(Model, table="people", hide_expired=True):
    name: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")
    words: Attr[set[str]] = attr(default_factory=set)
    home: Attr[Home | None] = attr(default=None)
    many: Attr[list[int]] = attr(default_factory=list)
    ends: TimeToLive[datetime | None] = attr(default=None)
    place: Attr[str | None] = attr(default=None)
    by_place = GlobalIndex(partition_key="place")


class Counted(Model, table="counted"):
    name: PartitionKey[str]
    number: SortKey[int] = attr(autoincrement=True)
    version: Version[int] = attr(default=0)


shop = Table("shop", partition_key="pk", sort_key="sk")


class Customer(Model, table=shop):
    pk: PartitionKey[str]
    sk: SortKey[str]


class Order(Model, table=shop):
    pk: PartitionKey[str]
    sk: SortKey[str]
    cents: Attr[int] = attr(default=0)


def ada(**fields):
    return Person(name="ada", number=1, words={"a"}, **fields)


SELECT = 'SELECT * FROM "people" WHERE name = ?'
MAKERS = [
    lambda: Get(Person, "ada", 1),
    lambda: Get(Person, "ada", 1, consistent_read=True, coalesce=False),
    lambda: Find(Person, "ada", 1),
    lambda: Put(ada()),
    lambda: Put(ada(), where=Person.words.contains("a") & ~Person.text.exists()),
    lambda: Put(Counted(name="ada", number=3)),
    lambda: Put(Counted(name="ada")),
    lambda: Create(ada()),
    lambda: Save(ada(), where=Person.home["city"] == "Rome"),
    lambda: Replace(ada()),
    lambda: Delete(ada()),
    lambda: Delete(Person, "ada", 1, where=Person.many[0] > 1),
    lambda: Put(ada(), returning="old"),
    lambda: Delete(Person, "ada", 1, returning="old"),
    lambda: Update(Person, "ada", 1),
    lambda: Update(ada()).set(Person.text, "x").returning("old"),
    lambda: Update(Person, "ada", 1).add(Person.words, {"c"}).set(Person.home["tags"]["a b"], 1).remove(Person.many[2]),
    lambda: Update(Person, "ada", 1).set(Person.text, Person.text.if_not_exists("y")).where(Person.number.exists()),
    lambda: Check(Person, "ada", 1, where=Person.home["tags"]["a"].exists()),
    lambda: Refresh(ada()),
    lambda: Reserve(Counted, 3, "ada"),
    lambda: Query(Person).where(Person.name == "ada", Person.number.between(1, 5)).descending().limit(3),
    lambda: Query(Person).where(Person.place == "x").index(Person.by_place).select(Person.home["city"], Person.name),
    lambda: Query(Person).page(size=3),
    lambda: Query(Person).count(),
    lambda: Query(Person).first(),
    lambda: Query(Person).one(),
    lambda: Query(Person).one_or_none(),
    lambda: Scan(Person).segments(3),
    lambda: Collection(Customer, Order).where(Customer.pk == "c").unknown("skip"),
    lambda: Statement(SELECT, ["ada"], into=Person, limit=3),
    lambda: BatchExecuteStatement([Statement(SELECT, ["ada"])]),
    lambda: ExecuteTransaction([Statement(SELECT, ["ada"])], client_request_token="t"),
    lambda: TransactGet(Get(Person, "ada", 1), (Person, "bob", 2)),
    lambda: TransactFind(Find(Person, "ada", 1)),
    lambda: TransactWrite([Put(ada()), Update(Person, "bob", 2).set(Person.text, "x")]),
    lambda: ExactlyOnce(Put(ada()), client_request_token="t"),
    lambda: Put(ada()).exactly_once().then_get(),
]
every = pytest.mark.parametrize("make", MAKERS, ids=lambda make: type(make()).__name__)


def test_every_public_operation_is_among_those_that_are_tested():
    public = {getattr(dynamap_async, name) for name in dynamap_async.__all__}
    operations = {each for each in public if isinstance(each, type) and issubclass(each, Operation)}
    assert operations - {Operation, Old} <= {type(make()) for make in MAKERS}


def test_old_is_another_spelling_of_returning():
    assert Old(Put(ada())) == Put(ada(), returning="old")
    assert Old[Person](Delete(ada())) == Delete(ada(), returning="old")
    with pytest.raises(OperationError, match="returning='new' is not possible; put and delete return \"old\" only"):
        Put(ada(), returning="new")


@every
def test_operations_made_alike_are_equal_and_hash_alike(make):
    assert make() == make()
    assert hash(make()) == hash(make())


def test_operations_that_ask_something_else_are_not_equal():
    made = [make() for make in MAKERS]
    assert [[one == other for other in made] for one in made] == [[one is other for other in made] for one in made]
    assert Get(Person, "ada", 1) != ("ada", 1)


def test_writes_of_an_instance_are_equal_if_they_write_the_same():
    item = ada()
    before = Put(item)
    item.text = "new"
    assert Put(item) == Put(item)
    assert before != Put(item)


@every
def test_an_operation_is_the_same_after_pickling(make):
    operation = make()
    again = pickle.loads(pickle.dumps(operation))
    assert again == operation
    assert hash(again) == hash(operation)
    assert repr(again) == repr(operation)


@every
def test_the_attributes_of_an_operation_cannot_be_assigned(make):
    operation = make()
    for name in (*(each for each in dir(operation) if not each.startswith("_")), "another"):
        with pytest.raises(AttributeError):
            setattr(operation, name, None)
        with pytest.raises(AttributeError):
            delattr(operation, name)


def assigned_to_self(function):
    """Return the attributes of its own object that a function assigns."""
    return [
        node.attr
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store | ast.Del)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]


def test_an_operation_is_written_while_it_is_made_and_not_afterwards():
    making = {"__init__", "_take", "_take_options", "_encode"}
    modules = (Path(dynamap_async.__file__).parent / "operations").glob("*.py")
    nodes = [node for module in modules for node in ast.walk(ast.parse(module.read_text("utf-8")))]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name not in making]
    assert len(functions) > 100
    assert {each.name: assigned_to_self(each) for each in functions if assigned_to_self(each)} == {}
