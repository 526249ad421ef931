"""Keys that an item has on a condition: when they are made, refused, kept up to date, and used by the planner."""

from enum import Enum
from typing import Any

import pytest

from dynamap_async import (
    KEYS_ONLY,
    UNMARKED,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Query,
    Table,
    Update,
    Version,
    attr,
    template,
)
from dynamap_async.errors import ModelDefinitionError, NoIndexError, OperationError
from dynamap_async.models import definition_of
from dynamap_async.planning import Context


class Status(Enum):
    OPEN = "open"
    HELD = "held"
    PAID = "paid"


class Order(Model, table="orders"):
    id: PartitionKey[str]
    customer: Attr[str]
    status: Attr[Status] = attr(default=Status.OPEN)
    urgent: Attr[bool] = attr(default=False)
    number: Attr[int] = attr(default=0)
    working: Attr[str | None] = template("{customer}", when={"status": ["open", Status.HELD]})
    urgently: Attr[str | None] = template("URGENT", when={"urgent": True, "status": Status.OPEN})

    by_working = GlobalIndex(partition_key="working", sort_key="number")
    by_urgency = GlobalIndex(partition_key="urgently", sort_key="number", projection=KEYS_ONLY)


ORDER: Any = Order


def stored(item: Any) -> dict[str, Any]:
    return definition_of(type(item)).items.encode(item)


def test_a_key_is_there_only_when_the_fields_have_one_of_the_values():
    assert (Order(id="1", customer="ada").working, Order(id="1", customer="ada").urgently) == ("ada", None)
    assert Order(id="1", customer="ada", status="held", urgent=True).working == "ada"
    assert Order(id="1", customer="ada", status="paid", urgent=True).working is None
    assert Order(id="1", customer="ada", urgent=True).urgently == "URGENT"
    assert "working" not in stored(Order(id="1", customer="ada", status="paid"))


def test_a_key_follows_what_says_whether_there_is_one():
    order = Order(id="1", customer="ada")
    order.status = Status.PAID
    assert order.working is None
    order.status = Status.HELD
    assert order.working == "ada"
    assert order.model_copy(update={"status": Status.PAID}).working is None


def actions(update: Any) -> list[str]:
    return [str(each).replace("Order.", "") for each in update.actions]


def body(update: Any) -> str:
    request = update.request(Context()).body
    expression = request["UpdateExpression"]
    for names in (request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})):
        for name, value in names.items():
            expression = expression.replace(name, value if isinstance(value, str) else str(next(iter(value.values()))))
    return expression


def test_an_update_that_ends_the_condition_removes_the_key():
    update = Update(Order, "1").set(ORDER.status, Status.PAID)
    assert body(update) == "SET status = paid REMOVE working, urgently"


def test_an_update_that_meets_the_condition_makes_the_key_of_what_is_known():
    update = Update(Order, "1").set(ORDER.status, Status.HELD).set(ORDER.customer, "bob")
    assert body(update) == "SET status = held, customer = bob, working = bob REMOVE urgently"


def test_an_update_that_does_not_know_whether_there_is_a_key_is_refused():
    with pytest.raises(OperationError, match="changes the key working, which is also made of status; set it too"):
        Update(Order, "1").set(ORDER.customer, "bob").request(Context())
    with pytest.raises(OperationError, match="changes the key working, which is also made of customer"):
        Update(Order, "1").set(ORDER.status, Status.HELD).request(Context())


def test_an_update_of_an_instance_knows_it_and_demands_that_it_stays():
    [order] = definition_of(Order).items.decode([stored(Order(id="1", customer="ada", status="paid"))])
    update = Update(order).set(ORDER.customer, "bob")
    assert body(update) == "SET customer = bob REMOVE working"
    assert "paid" in str(update.request(Context()).body["ExpressionAttributeValues"])


PLANNED: dict[str, tuple[Any, str | None, list[str], list[str]]] = {
    # what is asked -> index, key conditions, filters
    "one of the values": (
        Query(Order).where(ORDER.customer == "ada", ORDER.status == Status.OPEN),
        "by_working",
        ["working == 'ada'"],
        ["status == 'open'"],
    ),
    "all of the values, which the index answers": (
        Query(Order).where(ORDER.customer == "ada", ORDER.status.is_in(Status.HELD, Status.OPEN), ORDER.number > 3),
        "by_working",
        ["working == 'ada'", "number > 3"],
        [],
    ),
    "a constant in an index without the attributes": (
        Query(Order).where(ORDER.urgent == True, ORDER.status == Status.OPEN),  # noqa: E712 - a condition
        "by_urgency",
        ["urgently == 'URGENT'"],
        [],
    ),
    "an index that the program decides on": (
        Query(Order).where(ORDER.customer == "ada").index(Order.by_working),
        "by_working",
        ["working == 'ada'"],
        [],
    ),
    "a condition on the key itself, which says that it is there": (
        Query(Order).where(ORDER.working == "ada").index(Order.by_working),
        "by_working",
        ["working == 'ada'"],
        [],
    ),
}


@pytest.mark.parametrize(("query", "index", "keys", "filters"), PLANNED.values(), ids=PLANNED)
def test_an_index_is_taken_where_all_that_is_asked_for_is_in_it(
    query: Any, index: str | None, keys: list[str], filters: list[str]
):
    plan = query.explain()
    assert plan.index == index
    assert [str(each).replace("Order.", "") for each in plan.key_conditions] == keys
    assert [str(each).replace("Order.", "") for each in plan.filters] == filters


REFUSED = {
    "no value": lambda: Query(Order).where(ORDER.customer == "ada"),
    "another value": lambda: Query(Order).where(ORDER.customer == "ada", ORDER.status == Status.PAID),
    "one more value": lambda: Query(Order).where(ORDER.customer == "ada", ORDER.status.is_in(Status.OPEN, Status.PAID)),
    "a condition that gives no values": lambda: Query(Order).where(
        ORDER.customer == "ada", ORDER.status != Status.PAID
    ),
}


@pytest.mark.parametrize("query", REFUSED.values(), ids=REFUSED)
def test_an_index_that_lacks_items_which_are_asked_for_is_not_taken(query: Any):
    with pytest.raises(NoIndexError, match="'by_working' needs working, which is made of customer, and status to be"):
        query().explain()


def test_a_condition_on_the_key_itself_takes_the_index():
    assert Query(Order).where(ORDER.working == "ada").explain().index == "by_working"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "the key of the table": ({"pk": (PartitionKey[str], template("x", when={"a": 1}))}, "every item needs its key"),
    "a key that is never None": (
        {"pk": (PartitionKey[str], ...), "k": (Attr[str], template("x", when={"a": 1}))},
        r"declare k as Attr\[str \| None\]",
    ),
    "no field": (
        {"pk": (PartitionKey[str], ...), "k": (Attr[str | None], template("x", when={"b": 1}))},
        "when={'b': ...}, which is not a field",
    ),
    "no value": (
        {"pk": (PartitionKey[str], ...), "k": (Attr[str | None], template("x", when={"a": []}))},
        "names no value, so there would never be a key",
    ),
    "a value of another type": (
        {"pk": (PartitionKey[str], ...), "k": (Attr[str | None], template("x", when={"a": "one"}))},
        "whose values do not fit its type: Input should be a valid integer",
    ),
    "a version": (
        {
            "pk": (PartitionKey[str], ...),
            "v": (Version[int], attr(default=0)),
            "k": (Attr[str | None], template("x", when={"v": 1})),
        },
        "changes with each write",
    ),
}


@pytest.mark.parametrize(("fields", "message"), WRONG.values(), ids=WRONG)
def test_a_condition_that_cannot_be_is_refused(fields: dict[str, Any], message: str):
    given = {"a": (Attr[int], attr(default=0)), **fields}
    namespace = {
        "__module__": __name__,
        "__qualname__": "Thing",
        "__annotations__": {name: kind for name, (kind, _) in given.items()},
        **{name: value for name, (_, value) in given.items() if value is not ...},
    }
    with pytest.raises(ModelDefinitionError, match=message):
        type(Model)("Thing", (Model,), namespace, table="things")


def test_a_subclass_with_another_condition_is_not_updated_through_its_base():
    shop = Table("shop", partition_key="pk", indexes=[GlobalIndex("gsi1", partition_key="g")])

    class Base(Model, table=shop, kind=UNMARKED):
        pk: PartitionKey[str]
        state: Attr[str] = attr(default="a")
        g: Attr[str | None] = template("G", when={"state": "a"})

    class Leaf(Base, kind="leaf"):
        g: Attr[str | None] = template("G", when={"state": "b"})

    with pytest.raises(OperationError, match="which an update of Base does not"):
        Update(Base, "1").set(Base.state, "b").request(Context())
    assert Leaf(pk="1", state="b").g == "G"


class Wired(Model, table="wired"):
    id: PartitionKey[str]
    at: Attr[str]
    wire: Attr[str | None] = attr(default=None)
    wired_at: Attr[str | None] = template("{at}", when={"wire": ...})

    by_wire = GlobalIndex(partition_key="wire", sort_key="wired_at")
    by_time = GlobalIndex(partition_key="wired_at")


def test_a_key_may_be_there_whenever_another_field_is():
    assert Wired(id="1", at="9", wire="w").wired_at == "9"
    assert Wired(id="1", at="9").wired_at is None
    item = Wired(id="1", at="9", wire="w")
    item.wire = None
    assert item.wired_at is None


@pytest.mark.parametrize("condition", [Wired.wire == "w", Wired.wire.is_in("v", "w"), Wired.wired_at == "9"])
def test_an_index_is_taken_where_the_field_that_makes_its_key_is_asked_for(condition: Any):
    assert Query(Wired).where(condition).explain().index in ("by_wire", "by_time")


@pytest.mark.parametrize("conditions", [(), (Wired.wire.exists(),), (Wired.wire != "w",), (Wired.wire.missing(),)])
def test_an_index_by_a_part_alone_is_not_taken_where_items_may_lack_its_key(conditions: Any):
    with pytest.raises(NoIndexError, match="wire not to be None"):
        Query(Wired).where(Wired.at == "9", *conditions).explain()


def test_an_index_by_a_part_is_taken_where_the_condition_is_met_too():
    plan = Query(Wired).where(Wired.at == "9", Wired.wire > "a").explain()
    assert (plan.index, len(plan.filters)) == ("by_time", 1)


def test_a_condition_on_a_field_that_is_never_none_is_refused():
    with pytest.raises(ModelDefinitionError, match="is never None, so there would always be a key"):

        class Never(Model, table="never"):
            id: PartitionKey[str]
            at: Attr[str]
            key: Attr[str | None] = template("{at}", when={"at": ...})
