"""Names of other mappers are refused with what to write here."""

import pytest

from dynamap_async import (
    Attr,
    Check,
    Collection,
    Create,
    Delete,
    Find,
    Get,
    GlobalIndex,
    Model,
    PartitionKey,
    Put,
    Query,
    Replace,
    Save,
    Scan,
    Session,
    SortKey,
    Table,
    Transaction,
    Update,
    attr,
    template,
)
from dynamap_async.errors import OperationError
from dynamap_async.migrations.run import MigrationScan
from dynamap_async.models import definition_of
from dynamap_async.session.bound_statement import BoundStatement
from dynamap_async.session.bulk.result_stream import Answers
from dynamap_async.session.stream import ItemStream
from dynamap_async.session.upgrade_pass import UpgradePass
from dynamap_async.tables.plan_run import PlanRun


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("get", r"await session.get\(Tweet, key\)"),
        ("query", r"session.query\(Tweet\).where"),
        ("scan", r"session.scan\(Tweet\)"),
        ("create_table", r"await session.tables.create\(Tweet, if_missing=True\)"),
        ("objects", r"session.query\(Tweet\)"),
        ("exists", r"await session.tables.exists\(Tweet\)"),
        ("count", r"await session.query\(Tweet\).where\(...\).count\(\)"),
    ],
)
def test_a_verb_on_a_model_says_the_session_s(name: str, remedy: str):
    with pytest.raises(AttributeError, match=f"Tweet has no {name!r}; write {remedy}"):
        getattr(Tweet, name)
    assert not hasattr(Tweet, name)


@pytest.mark.parametrize("name", ["save", "delete", "refresh"])
def test_a_verb_on_an_instance_says_the_session_s(name: str):
    with pytest.raises(AttributeError, match=f"Tweet has no {name!r}; write await session.{name}"):
        getattr(Tweet(id="a"), name)


@pytest.mark.parametrize("query", [Query(Tweet), Scan(Tweet)], ids=["query", "scan"])
@pytest.mark.parametrize(
    ("name", "remedy"),
    [("order_by", r"\.descending\(\)"), ("filter", r"\.where\("), ("all", "await query, or await session.execute")],
)
def test_a_method_of_other_queries_says_the_one_here(query: object, name: str, remedy: str):
    with pytest.raises(AttributeError, match=f"{type(query).__name__} has no {name!r}; write .*{remedy}"):
        getattr(query, name)


class Order(Model, table="orders-of-habits"):
    id: PartitionKey[str]


SHOP = Table("shop-of-habits", partition_key="id")
DEPOT = Table("depot-of-habits", partition_key="id")


class Sale(Model, table=SHOP):
    id: PartitionKey[str]


class Refund(Model, table=SHOP):
    id: PartitionKey[str]


class Pallet(Model, table=DEPOT):
    id: PartitionKey[str]


@pytest.mark.parametrize(
    ("table", "remedy"),
    [
        (SHOP, r"'shop-of-habits'\) is a Table, .* Sale or Refund; query and scan .*query\(Sale, Refund\)$"),
        (DEPOT, r"'depot-of-habits'\) is a Table, .*; write its model, Pallet$"),
        (Table("bare-of-habits", partition_key="id"), "no model shares it yet; import the module"),
    ],
    ids=["several", "one", "none"],
)
@pytest.mark.parametrize(
    "ask",
    [
        Query,
        Scan,
        lambda table: Get(table, "a"),
        lambda table: Query(Tweet, table),
        lambda table: Collection(Sale, table),
        definition_of,
    ],
    ids=["query", "scan", "get", "second", "collection", "definition"],
)
def test_a_table_where_a_model_stands_says_which_models_it_has(ask, table, remedy: str):
    with pytest.raises(OperationError, match=remedy):
        ask(table)


@pytest.mark.parametrize(
    ("ask", "remedy"),
    [
        (lambda: Query(Tweet, Order), r"Query takes one model; .* write Collection\(Tweet, Order\)"),
        (lambda: Scan(Tweet, Order), r"Scan takes one model; .* write session.scan\(Tweet, Order\)"),
        (lambda: Query(Tweet, Tweet.id == "a"), r"give conditions after the models: .where\(Tweet.id == 'a'\)"),
        (lambda: Query(Tweet, "a"), r"'a' is not a model; give conditions .*: .where\(Tweet.id == 'a'\)"),
    ],
    ids=["query", "scan", "condition", "key"],
)
def test_more_than_one_model_says_what_takes_several(ask, remedy: str):
    with pytest.raises(OperationError, match=remedy):
        ask()


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("startswith", "Tweet.text.begins_with(prefix)"),
        ("in_", "Tweet.text.is_in(value, ...)"),
        ("does_not_exist", "Tweet.text.missing()"),
        ("icontains", "Tweet.text.contains(part), which tells upper case from lower case"),
        ("eq", "Tweet.text == value"),
        ("set", "session.update(Tweet, key).set(Tweet.text, value)"),
    ],
)
def test_a_method_of_fields_elsewhere_says_what_to_write(name: str, remedy: str):
    with pytest.raises(AttributeError) as caught:
        getattr(Tweet.text, name)
    assert str(caught.value) == f"Tweet.text has no {name!r}; write {remedy}"


@pytest.mark.asyncio
@pytest.mark.parametrize("verb", ["query", "scan"])
async def test_a_condition_or_key_beside_the_model_says_where_conditions_stand(verb: str, dynamap_session: Session):
    for given in ("a", Tweet.id == "a"):
        with pytest.raises(OperationError, match=r"not a model; .*: \.where\(Tweet.id == 'a'\)"):
            getattr(dynamap_session, verb)(Tweet, given)


def test_the_condition_that_is_proposed_is_about_a_part_of_a_computed_key():
    class Job(Model, table="jobs"):
        tenant: Attr[str]
        pk: PartitionKey[str] = template("TENANT#{tenant}")

    with pytest.raises(OperationError, match=r"\.where\(Job.tenant == 'acme'\)"):
        Collection(Job, "acme")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_a_field_of_such_a_name_is_a_field():
    class Filter(Model, table="filters"):
        filter: PartitionKey[str]

    assert str(Filter.filter == "a") == "Filter.filter == 'a'"
    assert Filter(filter="a").filter == "a"


class Address(Model):
    city: Attr[str]


class Parcel(Model, table="parcels-of-habits"):
    id: PartitionKey[str]
    depot: Attr[str]
    address: Attr[Address | None] = attr(default=None)
    by_depot = GlobalIndex(partition_key="depot")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Parcel.depott, "Parcel has no attribute 'depott'; did you mean depot?"),
        (lambda: Parcel(id="a", depot="x").depott, "Parcel has no attribute 'depott'; did you mean depot?"),
        (lambda: Parcel.by_depo, "Parcel has no attribute 'by_depo'; did you mean by_depot?"),
        (lambda: Parcel.zzz, "Parcel has no attribute 'zzz'; its fields are id, depot, address"),
        (lambda: Address(city="x").cty, "Address has no attribute 'cty'; did you mean city?"),
        (
            lambda: Parcel.address.cty,
            "Address has no field 'cty' (reached through Parcel.address); did you mean city?",
        ),
        (
            lambda: Parcel.depot.sizes,
            "Parcel.depot holds str; its expression has no attribute 'sizes'; did you mean",
        ),
        (lambda: Query(Parcel).wher, "Query has no attribute 'wher'; did you mean where?"),
    ],
)
def test_a_misspelt_attribute_names_what_lacks_it_and_what_was_meant(ask, message: str):
    with pytest.raises(AttributeError) as caught:
        ask()
    assert str(caught.value).startswith(message)


def test_names_that_begin_with_an_underscore_are_answered_as_by_pydantic():
    with pytest.raises(AttributeError, match="^__call_me__$"):
        _ = Parcel.__call_me__


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda q: q.where(depot="york"), "where() takes no keyword 'depot'; write .where(Parcel.depot == 'york')"),
        (lambda q: q.where(depot__gt="a"), "where() takes no keyword 'depot__gt'; write .where(Parcel.depot > value)"),
        (lambda q: q.where(depot__in=["a"]), "where() takes no keyword 'depot__in'; write .where(Parcel.depot.is_in("),
        (lambda q: q.where(home__city="a"), "where() takes no keyword 'home__city'; write .where(Parcel.home.city == "),
        (lambda q: q.select(depot=1), "select() takes no keyword 'depot'; write .select(Parcel.depot)"),
        (
            lambda q: q.select(Parcel.depot, home__city=1),
            "select() takes no keyword 'home__city'; write .select(Parcel.home.city)",
        ),
        (list, "a query is read over the network; write `async for item in session.query(...)`, or `await` it"),
        (len, "a query is read over the network; write .count(), or len() of what awaiting it gives"),
        (lambda q: q[0], "a query is read over the network, and has no places; write .first(), .limit(items) or"),
    ],
)
def test_a_query_says_how_it_is_written_here(ask, message: str):
    for query in (Query(Parcel), Scan(Parcel)):
        with pytest.raises(TypeError) as caught:
            ask(query)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda u: u.set(depot="x"), "set() takes no keyword 'depot'; write .set(Parcel.depot, 'x')"),
        (
            lambda u: u.set(Parcel.depot, "x", depot="y"),
            "set() takes no keyword 'depot'; write .set(Parcel.depot, 'y')",
        ),
        (lambda u: u.set({"depot": "x"}), "set() takes a field and a value, as in .set(Parcel.field, value); several"),
        (lambda u: u.set(Parcel.depot), "set() takes a field and a value"),
        (lambda u: u.where(depot="x"), "where() takes no keyword 'depot'; write .where(Parcel.depot == 'x')"),
        (lambda u: u.add(depot=1), "add() takes no keyword 'depot'; write .add(Parcel.depot, 1)"),
        (lambda u: u.add(Parcel.depot), "add() takes a field and a value, as in .add(Parcel.field, value)"),
        (lambda u: u.remove(depot=1), "remove() takes no keyword 'depot'; write .remove(Parcel.depot)"),
        (lambda u: u.delete(depot={"x"}), "delete() takes no keyword 'depot'; write .delete(Parcel.depot, {'x'})"),
        (lambda u: u.delete(Parcel.depot), "delete() takes a field and a value, as in .delete(Parcel.field, value)"),
        (
            lambda u: u.set_fields(depot="x"),
            "set_fields() takes one mapping of names and values; write .set_fields({'depot': 'x'})",
        ),
        (
            lambda u: u.set_fields(),
            "set_fields() takes one mapping of names and values; write .set_fields({'field': 'value'})",
        ),
    ],
)
def test_an_update_says_how_it_is_written_here(ask, message: str):
    with pytest.raises(TypeError) as caught:
        ask(Update(Parcel, "a"))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("insert", "Session has no 'insert'; write put(item)"),
        ("filter", "Session has no 'filter'; write query(Model).where(...)"),
        ("qery", "Session has no attribute 'qery'; did you mean query?"),
        ("drop_many", "Session has no attribute 'drop_many'; did you mean put_many?"),
        ("save_many", "Session has no 'save_many'; write put_many(items)"),
    ],
)
def test_a_method_of_other_sessions_says_the_one_here(name: str, message: str):
    with pytest.raises(AttributeError) as caught:
        getattr(Session(region="eu-west-1"), name)
    assert str(caught.value).startswith(message)


class Shipment(Model, table="shipments"):
    depot: PartitionKey[str]
    number: SortKey[int]
    status: Attr[str] = attr(default="new")
    weight: Attr[int] = attr(default=0)


class Shelf(Model, table="shelves"):
    place: PartitionKey[str] = template("SHELF#{depot}#{row}")
    depot: Attr[str]
    row: Attr[int]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda s: s.get(Shipment, depot="york", number=1),
            "get() takes no keyword 'depot'; write get(Shipment, 'york', 1)",
        ),
        (lambda s: s.get(Shipment, "york", number=1), "get() takes no keyword 'number'; write get(Shipment, depot, 1)"),
        (
            lambda s: s.find(Shipment, hash_key="york"),
            "find() takes no keyword 'hash_key'; write find(Shipment, depot, number)",
        ),
        (
            lambda s: s.get(Shipment, Key={"depot": "york"}),
            "get() takes no keyword 'Key'; write get(Shipment, depot, number)",
        ),
        (lambda s: s.get(Shipment), "get() needs the values of the key; write get(Shipment, depot, number)"),
        (
            lambda s: s.get(Shelf, depot="york", row=1),
            "get() takes no keyword 'depot'; write get(Shelf, Parts(depot='york', row=1))",
        ),
        (
            lambda s: s.get(Shipment, "york", 1, ConsistentRead=True),
            "get() takes no keyword 'ConsistentRead'; did you mean consistent_read?",
        ),
        (
            lambda s: s.delete(Shipment, depot="york", number=1),
            "delete() takes no keyword 'depot'; write delete(Shipment, 'york', 1)",
        ),
        (
            lambda s: s.update(Shipment, depot="york", number=1),
            "update() takes no keyword 'depot'; write update(Shipment, 'york', 1)",
        ),
        (
            lambda s: s.update(Shipment, "york", 1, status="lost"),
            "update() takes no keyword 'status'; write update(Shipment, ...).set(Shipment.status, 'lost')",
        ),
        (
            lambda s: Transaction.delete(s, Shipment, depot="york"),
            "delete() takes no keyword 'depot'; write delete(Shipment, 'york', number)",
        ),
        (
            lambda s: Transaction.update(s, Shipment, depot="york"),
            "update() takes no keyword 'depot'; write update(Shipment, 'york', number)",
        ),
        (
            lambda s: s.query(Shipment, depot="york"),
            "query() takes no keyword 'depot'; write query(Shipment).where(Shipment.depot == 'york')",
        ),
        (
            lambda s: s.scan(Shipment, number__gte=5),
            "scan() takes no keyword 'number__gte'; write scan(Shipment).where(Shipment.number >= value)",
        ),
        (
            lambda s: s.increment(Shipment, depot="york", number=1),
            "increment() takes no keyword 'depot'; write increment(Shipment, 'york', 1, Shipment.field)",
        ),
        (
            lambda s: s.increment(Shipment, "york", 1, weight=5),
            "increment() takes no keyword 'weight'; write increment(Shipment, depot, number, Shipment.weight, by=5)",
        ),
        (
            lambda s: s.increment(Shelf, depot="york", row=1, weight=5),
            "increment() takes no keyword 'depot'; write increment(Shelf, Parts(depot='york', row=1), Shelf.field)",
        ),
        (
            lambda s: s.increment(Shipment),
            "increment() needs the values of the key; write increment(Shipment, depot, number, Shipment.field)",
        ),
        (
            lambda s: s.increment(Shipment, "york", 1, Shipment.weight, bye=5),
            "increment() takes no keyword 'bye'; did you mean by?",
        ),
        (
            lambda s: s.query(Shipment).select(depot=1),
            "select() takes no keyword 'depot'; write .select(Shipment.depot)",
        ),
        (
            lambda s: s.scan(Shipment).select(depot=1),
            "select() takes no keyword 'depot'; write .select(Shipment.depot)",
        ),
        (lambda s: s.query(Shipment, limit=5), "query() takes no keyword 'limit'; write query(Shipment).limit(...)"),
        (lambda s: s.scan(TableName="shipments"), "scan() takes no keyword 'TableName'; write scan(Model).where(...)"),
    ],
)
@pytest.mark.asyncio
async def test_a_session_says_how_keys_and_conditions_are_given(ask, message: str):
    async def asked():
        await ask(Session(region="eu-west-1"))

    with pytest.raises(TypeError) as caught:
        await asked()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: Get(Shipment, depot="york", number=1),
            "Get() takes no keyword 'depot'; write Get(Shipment, 'york', 1)",
        ),
        (lambda: Find(Shipment), "Find() needs the values of the key; write Find(Shipment, depot, number)"),
        (lambda: Get(Shipment, "york", 1, consistent=True), "Get() takes no keyword 'consistent'; did you mean"),
        (
            lambda: Update(Shipment, depot="york"),
            "Update() takes no keyword 'depot'; write Update(Shipment, 'york', nu",
        ),
        (
            lambda: Update(Shipment, "york", 1, status="lost"),
            "Update() takes no keyword 'status'; write Update(Shipment, ...).set(Shipment.status, 'lost')",
        ),
        (
            lambda: Delete(Shipment, depot="york", number=1),
            "delete() takes no keyword 'depot'; write delete(Shipment, 'york', 1)",
        ),
        (
            lambda: Check(Shipment, depot="york", number=1, where=Shipment.status == "new"),
            "Check() takes no keyword 'depot'; write Check(Shipment, 'york', 1)",
        ),
    ],
)
def test_an_operation_says_how_keys_are_given(ask, message: str):
    with pytest.raises(TypeError) as caught:
        ask()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kind", [Put, Create, Save, Replace])
def test_a_write_of_a_whole_item_says_what_to_write_for_a_keyword(kind):
    shipment, name = Shipment(depot="york", number=1), kind.__name__.lower()
    for item, keyword, message in (
        (Shipment, {"depot": "york"}, f"{name}() takes no keyword 'depot'; write {name}(Shipment(depot='york'))"),
        (shipment, {"status": "lost"}, f"{name}() takes no keyword 'status'; it writes the item as it is, so write "),
        (shipment, {"wher": Shipment.status == "new"}, f"{name}() takes no keyword 'wher'; did you mean where?"),
        (shipment, {"ttl": 5}, f"{name}() takes no keyword 'ttl'; it takes where"),
    ):
        with pytest.raises(TypeError) as caught:
            kind(item, **keyword)
        assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", ["put", "create", "save", "replace", "delete"])
@pytest.mark.asyncio
async def test_a_session_says_what_to_write_for_a_keyword_of_a_write(name: str):
    shipment = Shipment(depot="york", number=1)
    with pytest.raises(TypeError, match=rf"{name}\(\) takes no keyword 'wher'; did you mean where\?"):
        await getattr(Session(region="eu-west-1"), name)(shipment, wher=None)


@pytest.mark.parametrize("kind", [Create, Replace])
def test_only_a_put_and_a_delete_give_back_the_old_item(kind):
    with pytest.raises(TypeError, match="takes no keyword 'returning'; it takes where and read_first"):
        kind(Shipment(depot="york", number=1), returning="old")


@pytest.mark.parametrize("kind", [Put, Create, Save, Replace])
def test_a_class_in_the_place_of_an_item_says_so(kind):
    with pytest.raises(OperationError, match="a model class stands where an item does; give an instance"):
        kind(Parcel)


def test_a_session_is_entered_with_async_with():
    with pytest.raises(TypeError, match="Session is entered with `async with`, not with `with`"), Session():
        pass


@pytest.mark.parametrize("kind", [Answers, BoundStatement, ItemStream, MigrationScan, PlanRun, UpgradePass])
def test_what_reads_over_the_network_is_iterated_over_with_async_for(kind):
    reads = object.__new__(kind)  # the form of the loop is refused before anything is looked at

    with pytest.raises(TypeError, match=f"{kind.__name__} reads over the network; write `async for item in ...`"):
        list(reads)
