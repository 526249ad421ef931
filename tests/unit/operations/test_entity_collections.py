"""Kinds in operations: what a read of a shared table asks of DynamoDB, what a write requires, and what is refused."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import pytest

from dynamap_async import (
    KEYS_ONLY,
    UNMARKED,
    Attr,
    Collection,
    GlobalIndex,
    Grouped,
    Model,
    PartitionKey,
    Prefix,
    Query,
    Scan,
    SortKey,
    Table,
    TimeToLive,
    UnknownItem,
    Update,
    attr,
    path,
)
from dynamap_async.errors import CursorError, ExpressionError, OperationError, UnprojectedAttributeError
from dynamap_async.planning import Context

SHOP = Table(
    "shop",
    partition_key="pk",
    sort_key="sk",
    indexes=(
        GlobalIndex("by_kind", partition_key="kind", sort_key="pk"),
        GlobalIndex("by_city", partition_key="city", projection=KEYS_ONLY),
        GlobalIndex("by_owner", partition_key="owner", sort_key="kind"),
    ),
    time_to_live="ttl",
)


class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    city: Attr[str | None] = attr(default=None)
    ttl: TimeToLive[datetime | None] = attr(default=None)
    size: Attr[str] = attr(default="")


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    kind: Literal["order"] = "order"
    city: Attr[str | None] = attr(default=None)
    owner: Attr[str | None] = attr(default=None)
    size: Attr[int] = attr(default=0)
    status: Attr[str] = attr(default="open")


class Note(Model, table=SHOP, kind=UNMARKED):
    pk: PartitionKey[str]
    sk: SortKey[str]


class Session(Model, table=SHOP, kind="session", hide_expired=True):
    pk: PartitionKey[str]
    sk: SortKey[str]
    ttl: TimeToLive[datetime | None] = attr(default=None)


class Other(Model, table="others"):
    pk: PartitionKey[str]
    sk: SortKey[str]


GAME = Table("games", partition_key="pk", sort_key="sk", discriminator=Prefix("sk"))


class Item(Model, table=GAME, kind="ITEM#"):
    pk: PartitionKey[str]
    sk: SortKey[str]


class Sword(Item, kind="SWORD#"):
    pass


class Task(Model, table=GAME, kind="TASK#"):
    pk: PartitionKey[str]
    sk: SortKey[str]


def asked(query: Any) -> dict[str, str]:
    """Return the expressions of a query's request, with its names and values in their places."""
    body = query.explain().body
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    found: dict[str, str] = {}
    for part in ("KeyConditionExpression", "FilterExpression"):
        text = body.get(part, "")
        for name, attribute in names.items():
            text = text.replace(name, attribute)
        for name, value in values.items():
            text = text.replace(name, next(iter(value.values())))
        found[part] = text
    return found


FILTERS: dict[str, tuple[Callable[[], Any], str]] = {
    "one model": (lambda: Query(Order).where(Order.pk == "7"), "kind = order"),
    "unmarked items": (lambda: Query(Note).where(Note.pk == "7"), "attribute_not_exists(kind)"),
    "a scan": (lambda: Scan(Order), "kind = order"),
    "a family by prefix, scanned": (lambda: Scan(Item), "begins_with(sk, ITEM#) OR begins_with(sk, SWORD#)"),
    "a collection: what it does not name": (
        lambda: Collection(Order, Customer).where(Order.pk == "7"),
        "NOT (kind = session OR attribute_not_exists(kind))",
    ),
    "a collection that skips": (
        lambda: Collection(Order, Customer).unknown("skip").where(Order.pk == "7"),
        "kind IN (order, customer)",
    ),
    "a collection with unmarked items that skips": (
        lambda: Collection(Order, Note).unknown("skip").where(Order.pk == "7"),
        "kind = order OR attribute_not_exists(kind)",
    ),
}


@pytest.mark.parametrize(("query", "wanted"), FILTERS.values(), ids=FILTERS)
def test_a_filter_leaves_other_kinds_out(query: Callable[[], Any], wanted: str):
    assert asked(query())["FilterExpression"] == wanted


def test_a_prefix_of_the_sort_key_is_part_of_the_key_condition():
    assert asked(Query(Sword).where(Sword.pk == "p")) == {
        "KeyConditionExpression": "pk = p AND begins_with(sk, SWORD#)",
        "FilterExpression": "",
    }


@pytest.mark.parametrize(
    "condition",
    [Sword.sk == "SWORD#1", Sword.sk.begins_with("SWORD#1"), Sword.sk.between("SWORD#1", "SWORD#2")],
    ids=str,
)
def test_a_condition_that_holds_of_the_prefix_only_needs_nothing_more(condition: Any):
    plan = Query(Sword).where(Sword.pk == "p", condition).explain()
    assert (plan.filters, plan.hazards) == ((), ())


def test_a_condition_that_other_kinds_meet_is_sifted_and_says_so():
    text = str(Query(Sword).where(Sword.pk == "p", Sword.sk > "SWORD#1").explain())
    assert "items of other models are read, paid for and sent, and left out here: sk is part of the key" in text


INVERTED = Table(
    "inverted",
    partition_key="pk",
    sort_key="sk",
    indexes=(GlobalIndex("inverse", partition_key="sk", sort_key="pk"),),
    discriminator=Prefix("sk"),
)


class Login(Model, table=INVERTED, kind="LOGIN#"):
    pk: PartitionKey[str]
    sk: SortKey[str]


class Child(Model, table=INVERTED, kind="CHILD#"):
    pk: PartitionKey[str]
    sk: SortKey[str]


@pytest.mark.parametrize("condition", [Login.sk == "LOGIN#1", Login.sk.is_in("LOGIN#1", "LOGIN#2")], ids=str)
def test_a_partition_whose_key_begins_with_the_kind_holds_no_other_models(condition: Any):
    plan = Query(Login).where(condition).explain()
    assert (plan.index, plan.filters) == ("inverse", ())
    assert [hazard for hazard in plan.hazards if "other models" in hazard] == []


def test_a_partition_of_another_kind_is_sifted():
    text = str(Query(Login).where(Login.sk.is_in("LOGIN#1", "CHILD#1")).explain())
    assert "items of other models are read, paid for and sent, and left out here: sk is part of the key" in text


def limit(query: Any) -> int | None:
    return query.reading(Context()).request(None, 1).body.get("Limit")


def test_an_index_that_no_other_model_is_in_is_read_no_further_than_wanted():
    boxes, towns = (GlobalIndex(name, partition_key=name) for name in ("box", "town"))
    post = Table("post", partition_key="pk", indexes=(boxes, towns))

    class Letter(Model, table=post):
        pk: PartitionKey[str]
        box: Attr[str]
        town: Attr[str]
        read: Attr[bool] = attr(default=False)

    assert limit(Query(Letter).where(Letter.box == "7")) is None  # there may be models that nobody imported

    class Parcel(Model, table=post):
        pk: PartitionKey[str]
        town: Attr[str]

    assert limit(Query(Letter).where(Letter.box == "7")) == 1
    assert limit(Query(Letter).where(Letter.box == "7", Letter.read.is_(False))) is None
    assert limit(Query(Letter).where(Letter.town == "Bow")) is None


def test_an_index_by_kind_needs_no_filter():
    plan = Query(Order).where(Order.kind == "order").explain()
    assert (plan.index, plan.filters, plan.hazards[0][:14]) == ("by_kind", (), "a global index")


def test_the_kind_in_the_key_of_an_index_is_sifted_where_no_condition_asks_for_it():
    reading = Query(Order).where(Order.owner == "ada").reading(Context())
    assert reading.plan.filters == ()
    assert reading.answer_filter is not None
    items = [{"kind": {"S": "order"}}, {"kind": {"S": "customer"}}]
    assert reading.answer_filter({"Items": items, "Count": 2}) == {"Items": items[:1], "Count": 1}


def test_an_index_without_the_kind_is_completed_and_cannot_be_counted():
    assert Query(Order).where(Order.city == "London").explain().completion is not None
    with pytest.raises(UnprojectedAttributeError, match="'kind', which tells what an item is"):
        Query(Order).where(Order.city == "London").count().reading(Context())  # type: ignore[attr-defined] # its plan


def test_a_cursor_of_one_model_is_not_one_of_another():
    reading = Query(Order).where(Order.pk == "7").reading(Context())
    cursor = reading.cursor({"pk": {"S": "7"}, "sk": {"S": "1"}})
    with pytest.raises(CursorError):
        Query(Customer).where(Customer.pk == "7").page(size=2, after=cursor).reading(Context())  # type: ignore[attr-defined] # its plan


def update(operation: Any) -> tuple[str, str]:
    body = operation.request(Context()).body
    return body["UpdateExpression"], body["ConditionExpression"]


def test_an_update_is_of_its_own_kind_only_and_an_upsert_stores_it():
    expression, condition = update(Update(Order, "7", "1").set(Order.status, "paid"))
    assert (expression, condition) == ("SET #n0 = :v0", "#n1 = :v1")
    expression, condition = update(Update(Customer, "7", "1").set(Customer.size, "L").upsert())
    assert "if_not_exists" in expression
    assert condition.startswith("attribute_not_exists(")


def stored(kind: str | None) -> dict[str, Any]:
    item = {"pk": {"S": "7"}, "sk": {"S": "1"}}
    return item if kind is None else {**item, "kind": {"S": kind}}


@pytest.mark.parametrize("kind", ["refund", None, "session"])
def test_an_item_of_no_model_that_is_asked_for_is_given_as_it_is_stored(answered: Any, kind: str | None):
    page = {"Items": [stored("order"), stored(kind)], "Count": 2}
    found = answered(lambda session: session.query(Order, Customer).where(Order.pk == "7").unknown("raw"), page)
    assert found == [Order(pk="7", sk="1"), UnknownItem(kind, stored(kind))]


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "one model": (lambda: Collection(Order), OperationError, r"least two; write Query\(Model\) for one"),
    "no table in common": (lambda: Collection(Order, Other), OperationError, "do not share a Table"),
    "two tables": (lambda: Collection(Order, Item), OperationError, "do not share a Table"),
    "a model twice": (lambda: Collection(Order, Order), OperationError, "names a model twice"),
    "hidden and not": (lambda: Collection(Order, Session), OperationError, "hide expired items and others do not"),
    "no choice": (lambda: Collection(Order, Customer).unknown("drop"), OperationError, '"error", "skip" or "raw"'),
    "a field of one only": (
        lambda: Collection(Order, Customer).where(Order.status == "open"),
        ExpressionError,
        "Customer has no field stored as 'status', so no Customer would",
    ),
    "another type": (
        lambda: Collection(Order, Customer).where(Order.size == 1),
        ExpressionError,
        "Customer stores size as another type",
    ),
    "a foreign model": (
        lambda: Collection(Order, Customer).where(Item.pk == "7"),
        ExpressionError,
        "Item.pk is a field of Item",
    ),
    "no condition": (lambda: Collection(Order, Customer).where("pk"), ExpressionError, "is not a condition"),
    "an index of another table": (
        lambda: Query(Item).index(SHOP.index("by_kind")),
        OperationError,
        "Table\\('shop'\\)'s index 'by_kind' cannot answer a query on Item",
    ),
    "an index that one cannot be in": (
        lambda: Collection(Order, Customer).index(SHOP.index("by_owner")),
        OperationError,
        "lacks fields of that index's key",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_together_is_refused(make: Callable[[], Any], error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        make()


def test_an_attribute_that_models_store_as_several_types_is_asked_for_by_its_stored_name():
    with pytest.raises(ExpressionError, match=r"Order stores size as another type.*: path\('size'\)"):
        asked(Collection(Customer, Order).where(Customer.pk == "7", Customer.size == "x"))
    found = asked(Collection(Customer, Order).where(Customer.pk == "7", path("size") == 1))
    assert found["FilterExpression"].startswith("size = 1 AND ")
    with pytest.raises(ExpressionError, match=r"path\('city'\) is the field Customer.city; write that instead"):
        asked(Collection(Customer, Order).where(Customer.pk == "7", path("city") == "x"))


def test_a_group_keeps_the_order_and_shows_what_is_in_it():
    items = [Order(pk="1", sk="2"), Note(pk="1", sk="3"), Order(pk="1", sk="1")]
    grouped = Grouped(items)
    assert (grouped[Order], grouped[Note], grouped[Customer]) == ([items[0], items[2]], [items[1]], [])
    assert repr(grouped) == "Grouped(Order: 2, Note: 1)"
