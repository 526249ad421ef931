"""Shards: what a partition key is stored as, and how it reads back."""

import pickle
from datetime import date

import pytest

from dynamap_async import (
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Parts,
    Shards,
    SortKey,
    Table,
    TimeToLive,
    Unique,
    Version,
    attr,
    template,
)
from dynamap_async.errors import EncodeError, ItemValidationError, ModelDefinitionError, OperationError
from dynamap_async.models import definition_of, known


class Order(Model, table="orders"):
    order_id: PartitionKey[str]
    placed: Attr[int]
    status: Attr[str] = attr(default="open", shards=10)
    region: Attr[str] = attr(default="eu")
    lane: Attr[str | None] = attr(default=None, name="l", shards=Shards(4, by="region"))
    day: Attr[date | None] = attr(default=None, shards=Shards(20, before=10))
    by_status = GlobalIndex(partition_key="status", sort_key="placed")
    by_lane = GlobalIndex(partition_key="lane", sort_key="placed")
    by_day = GlobalIndex(partition_key="day")


class Event(Model, table="events"):
    day: PartitionKey[str] = attr(shards=5)
    number: SortKey[int]
    text: Attr[str] = attr(default="")


class Line(Model, table="lines"):
    order: Attr[str]
    line: Attr[int]
    kind: Attr[str] = attr(default="book")
    pk: PartitionKey[str] = template("kind:{kind}", shards=Shards(8, by="order"))
    sk: SortKey[str] = template("{order}#{line:03d}")


def stored(item):
    return definition_of(type(item)).items.encode(item)


def read(model, item):
    [found] = definition_of(model).items.decode([item])
    return found


# What is stored must be found by later versions too: these texts never change.
PLACES = [
    (Order(order_id="a", placed=1), "status", "open#04"),
    (Order(order_id="b", placed=2), "status", "open#09"),
    (Order(order_id="b", placed=2, status="x#01"), "status", "x#01#09"),
    (Order(order_id="b", placed=2, status="ü"), "status", "ü#09"),
    (Order(order_id="a", placed=1, lane="z"), "l", "z#03"),
    (Order(order_id="a", placed=1, lane="z", region="us"), "l", "z#01"),
    (Order(order_id="a", placed=1, day=date(2026, 11, 21)), "day", "2026-11-21#04"),
    (Event(day="mon", number=1), "day", "mon#01"),
    (Event(day="mon", number=2), "day", "mon#02"),
    (Event(day="tue", number=1), "day", "tue#01"),
    (Line(order="o1", line=1), "pk", "kind:book#03"),
    (Line(order="o1", line=2), "pk", "kind:book#03"),
    (Line(order="o2", line=1), "pk", "kind:book#05"),
]


@pytest.mark.parametrize(("item", "attribute", "text"), PLACES, ids=range(len(PLACES)))
def test_a_key_is_stored_with_the_number_of_its_shard_and_reads_back_without(item, attribute, text):
    wire = stored(item)
    assert wire[attribute] == {"S": text}
    assert read(type(item), wire) == item


def test_all_items_of_one_source_are_in_one_shard_and_those_of_several_in_several():
    shards = {
        line.sk: stored(line)["pk"]["S"] for line in (Line(order=f"o{o}", line=n) for o in range(9) for n in (1, 2))
    }
    of_order = {
        sk.split("#")[0]: {pk for key, pk in shards.items() if key.split("#")[0] == sk.split("#")[0]} for sk in shards
    }
    assert all(len(places) == 1 for places in of_order.values())
    assert len(set(shards.values())) > 1


def test_equal_numbers_have_one_shard_however_they_are_written():
    sharding = definition_of(Event).items.shards.of["day"]
    assert sharding.number({"number": {"N": "10"}}) == sharding.number({"number": {"N": "1E+1"}})


def test_a_key_is_made_in_its_shard():
    assert definition_of(Event).key(("mon", 1)) == {"day": {"S": "mon#01"}, "number": {"N": "1"}}
    assert definition_of(Event).key_of(Event(day="mon", number=1)) == definition_of(Event).key(("mon", 1))
    told = definition_of(Line).key((Parts(kind="book", order="o1", line=2),))
    assert (
        told == definition_of(Line).key(("kind:book", "o1#002")) == {"pk": {"S": "kind:book#03"}, "sk": {"S": "o1#002"}}
    )


def test_a_key_whose_sort_key_does_not_tell_the_source_is_refused():
    with pytest.raises(EncodeError, match=r"Line\.pk: .*'o1' is not a key of the template .*calculated from order"):
        definition_of(Line).key(("kind:book", "o1"))


def test_an_absent_key_has_no_shard():
    assert "l" not in stored(Order(order_id="a", placed=1))
    assert read(Order, stored(Order(order_id="a", placed=1))).lane is None


@pytest.mark.parametrize("text", ["open", "open#3", "open#003x", "open#3a", "open-03", "#1", "", "open#\u0661\u0662"])
def test_a_stored_key_without_a_shard_does_not_fit(text):
    wire = {**stored(Order(order_id="a", placed=1)), "status": {"S": text}}
    with pytest.raises(ItemValidationError, match="does not end with a shard, such as #07"):
        read(Order, wire)


def test_a_stored_key_of_another_type_is_said_to_be_of_another_type():
    with pytest.raises(ItemValidationError, match="status: str is stored as S, not as N"):
        read(Order, {**stored(Order(order_id="a", placed=1)), "status": {"N": "7"}})


def test_an_index_key_in_another_shard_reads_back_as_the_number_of_shards_may_have_been_changed():
    wire = {**stored(Order(order_id="a", placed=1)), "status": {"S": "open#99"}}
    assert read(Order, wire).status == "open"


def test_a_table_key_in_another_shard_is_refused_as_no_get_would_find_the_item():
    wire = {**stored(Event(day="mon", number=1)), "day": {"S": "mon#04"}}
    with pytest.raises(
        ItemValidationError, match=r"'mon#04' should be in shard 01 of 5, as calculated from number; it"
    ):
        read(Event, wire)


@pytest.mark.parametrize("length", [2044, 2045])
def test_a_key_is_too_long_with_its_shard(length):
    item = Order(order_id="a", placed=1, status="x" * length)
    assert len(stored(item)["status"]["S"]) == length + 3
    with pytest.raises(EncodeError, match=r"Order\.status: .*2,048"):
        stored(item.model_copy(update={"status": "x" * 2046}))


def test_an_empty_key_is_refused_though_its_shard_would_make_it_a_text():
    with pytest.raises(EncodeError, match=r"Order\.status: .*empty"):
        stored(Order(order_id="a", placed=1, status=""))


@pytest.mark.parametrize("copied", [lambda item: item, lambda item: pickle.loads(pickle.dumps(item))])
def test_what_is_remembered_of_an_item_has_the_shard(copied):
    wire = stored(Order(order_id="a", placed=1, lane="z"))
    assert known(copied(read(Order, wire)), definition_of(Order)).item == wire


def test_models_of_a_shared_table_have_shards_of_its_keys():
    shop = Table("shop", partition_key="pk", sort_key="sk", indexes=[GlobalIndex("gsi1", partition_key="g")])

    class Customer(Model, table=shop):
        id: PartitionKey[str] = attr(name="pk", shards=3)
        sk: SortKey[str] = template("profile")
        status: Attr[str] = template("status:{id}", name="g", shards=7)

    class Vip(Customer):
        level: Attr[int] = attr(default=1)

    wire = stored(Vip(id="a"))
    assert wire["pk"]["S"][:2] == "a#"
    assert wire["g"]["S"][:-2] == "status:a#"
    assert read(Customer, wire) == Vip(id="a")


@pytest.mark.parametrize("other", [attr(), attr(shards=4), attr(shards=Shards(3, by="level"))])
def test_a_subclass_with_other_shards_is_refused_as_its_base_would_not_find_its_items(other):
    shop = Table("shop", partition_key="pk", indexes=[GlobalIndex("gsi1", partition_key="g")])

    class Customer(Model, table=shop):
        pk: PartitionKey[str]
        g: Attr[str] = attr(shards=3)
        level: Attr[int]

    with pytest.raises(ModelDefinitionError, match=r"Vip\.g: has other shards than in Customer"):

        class Vip(Customer):
            g: Attr[str] = other


def made(body, **statement):
    annotations = {name: value[0] for name, value in body.items() if isinstance(value, tuple)}
    values = {name: value[1] for name, value in body.items() if isinstance(value, tuple) and len(value) > 1}
    beside = {name: value for name, value in body.items() if not isinstance(value, tuple)}
    namespace = {"__module__": __name__, "__qualname__": "Thing", "__annotations__": annotations, **values, **beside}
    return type(Model)("Thing", (Model,), namespace, **statement)


ID, SORT = (PartitionKey[str],), (SortKey[int],)
BY_STATE = GlobalIndex(partition_key="state", sort_key="at")


def state(shards, kind=str):
    return {"id": ID, "state": (Attr[kind], attr(shards=shards)), "at": (Attr[int],), "by_state": BY_STATE}


WRONG = {
    "one shard": (state(1), r"Thing\.state: has 1 shards; a key has 2 to 100"),
    "too many shards": (state(101), "has 101 shards"),
    "no number": (state("10"), "has '10' shards"),
    "True": (state(True), "has True shards"),
    "one shard before": (state(Shards(10, before=1)), "has 1 shards"),
    "numbers": (state(10, int), "holds int; the number of a shard is added to text"),
    "no key": ({"id": ID, "state": (Attr[str], attr(shards=5))}, "partition key of neither the table nor an index"),
    "a sort key": ({"id": ID, "sk": (SortKey[str], attr(shards=5))}, "is a sort key of the table, whose order"),
    "a sort key of an index": (
        {**state(5), "more": GlobalIndex(partition_key="at", sort_key="state")},
        "is a sort key of the index 'more'",
    ),
    "a sort key of a local index": (
        {**state(5), "sk": SORT, "local": LocalIndex(sort_key="state")},
        "is a sort key of the index 'local'",
    ),
    "a key that is one item": ({"id": (PartitionKey[str], attr(shards=5))}, "the table has no sort key: each key is"),
    "a table key that was moved": (
        {"id": (PartitionKey[str], attr(shards=Shards(5, before=3))), "sk": SORT},
        "has before=3, but an item of this model is looked up by its own key",
    ),
    "by no field": (state(Shards(5, by="att")), "by='att' is not a field; name one of id, at"),
    "by itself": (state(Shards(5, by="state")), "is the key itself"),
    "by what may be None": (
        {**state(Shards(5, by="lane")), "lane": (Attr[str | None], attr(default=None))},
        "by='lane' may be None",
    ),
    "by the version": (
        {**state(Shards(5, by="v")), "v": (Version[int], attr(default=0))},
        "changes with each write",
    ),
    "by a time of the write": (
        {**state(Shards(5, by="v")), "v": (Attr[int], attr(on_update=lambda: 1))},
        "changes with each write",
    ),
    "by a list": ({**state(Shards(5, by="tags")), "tags": (Attr[list[str]],)}, r"holds list\[str\]"),
    "by what is not stored": (
        {
            **state(Shards(5, by="part")),
            "part": (Attr[str], attr(stored=False)),
            "kept": (Attr[str], template("{part}")),
        },
        "is not stored; drop its",
    ),
    "a table key by what its sort key does not tell": (
        {"id": (PartitionKey[str], attr(shards=Shards(5, by="lane"))), "sk": SORT, "lane": (Attr[str],)},
        "by='lane' cannot be read from the sort key sk, so an item could not be found by its key",
    ),
    "a table key by what its sort key holds cut off": (
        {
            "lane": (Attr[str],),
            "id": (PartitionKey[str], attr(shards=Shards(5, by="lane"))),
            "sk": (SortKey[str], template("{lane:lower}")),
        },
        "cannot be read from the sort key",
    ),
    "what is unique": ({**state(5), "one": Unique("state")}, "names 'state', which has shards"),
    "a time to live": ({"id": ID, "ends": (TimeToLive[int], attr(shards=5))}, "partition key of neither"),
}


@pytest.mark.parametrize(("body", "message"), WRONG.values(), ids=list(WRONG))
def test_shards_that_cannot_be_are_refused_when_the_class_is_made(body, message):
    with pytest.raises(ModelDefinitionError, match=message):
        made(body, table="things")


def test_shards_without_a_table_are_refused():
    with pytest.raises(ModelDefinitionError, match="has shards, but the model has no table"):
        made({"state": (Attr[str], attr(shards=5))})


def test_an_abstract_base_gives_its_shards_to_others():
    class Timed(Model, abstract=True):
        day: PartitionKey[str] = attr(shards=5)
        at: SortKey[int]

    class Click(Timed, table="clicks"):
        pass

    assert stored(Click(day="mon", at=1))["day"] == {"S": "mon#01"}


def test_a_missing_sort_key_is_told_as_always():
    with pytest.raises(OperationError, match=r"Event is \(day: str, number: int\); got 'mon'"):
        definition_of(Event).key(("mon",))
