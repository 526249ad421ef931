"""Versions of items: older ones are upgraded when they are read, and what the model says of it is checked."""

import asyncio
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import model_validator

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Query,
    Replace,
    Scan,
    StoredItem,
    Table,
    Unique,
    Update,
    attr,
    downgrade,
    include,
    path,
    upgrade,
)
from dynamap_async.codec import decode_any, encode_any
from dynamap_async.errors import (
    EncodeError,
    ExpressionError,
    ItemUpgradeError,
    ItemValidationError,
    ItemVersionError,
    ModelDefinitionError,
    OperationError,
)
from dynamap_async.models import changes, definition_of, known, remember
from dynamap_async.models.upgrades import WatchedItem
from dynamap_async.planning import Context


class Customer(Model, table="customers", schema_version=3):
    customer_id: PartitionKey[str]
    name: Attr[str]
    city: Attr[str | None] = attr(default=None)

    @upgrade(to=2)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"

    @upgrade(to=3)
    @staticmethod
    def city_of_address(item: StoredItem) -> None:
        item["city"] = item.get("address", {}).get("city")


OLD = {
    "customer_id": {"S": "7"},
    "first": {"S": "Ada"},
    "last": {"S": "Lovelace"},
    "address": {"M": {"city": {"S": "London"}}},
    "note": {"S": "unknown to the model"},
}
MIDDLE = {"customer_id": {"S": "8"}, "name": {"S": "Alan"}, "schema_version": {"N": "2"}}
PRESENT = {"customer_id": {"S": "9"}, "name": {"S": "Grace"}, "city": {"S": "York"}, "schema_version": {"N": "3"}}


def read(model: type[Any], *items: Any) -> list[Any]:
    return definition_of(model).items.decode(items)


def test_a_page_without_items_is_empty_whatever_was_read_before() -> None:
    class Labelled(Model, table="labelled", schema_version=2):
        key: PartitionKey[str]
        labels: Attr[dict[str, Any]] = attr(default_factory=dict)

        @upgrade(to=2)
        @staticmethod
        def forward(item: StoredItem) -> None:
            item["labels"] = {}

    assert read(Labelled) == []
    assert read(Labelled, {"key": {"S": "a"}}) == [Labelled(key="a")]
    assert read(Labelled) == read(Labelled) == []


def test_older_items_are_read_as_present_ones_each_from_its_version() -> None:
    assert read(Customer, OLD, MIDDLE, PRESENT) == [
        Customer(customer_id="7", name="Ada Lovelace", city="London"),
        Customer(customer_id="8", name="Alan", city=None),
        Customer(customer_id="9", name="Grace", city="York"),
    ]


def test_pages_of_older_and_of_present_items_may_come_in_any_order() -> None:
    pages = [[OLD], [PRESENT], [OLD, PRESENT], [PRESENT, MIDDLE], [PRESENT], [MIDDLE]]
    alone = {each["customer_id"]["S"]: read(Customer, each)[0] for each in (OLD, MIDDLE, PRESENT)}
    for page in [*pages, *reversed(pages)]:
        found = read(Customer, *page)
        assert found == [alone[each["customer_id"]["S"]] for each in page]
        behind = [changes(each, definition_of(Customer)) != {} for each in found]
        assert behind == [each is not PRESENT for each in page]


def test_every_item_is_written_with_the_present_version() -> None:
    stored = definition_of(Customer).items.encode(Customer(customer_id="1", name="x"))
    assert stored["schema_version"] == {"N": "3"}


def test_reading_changes_nothing_of_the_answer() -> None:
    before = repr(OLD)
    read(Customer, OLD)
    assert repr(OLD) == before


def test_saving_an_older_item_changes_what_the_upgrades_changed_and_keeps_the_rest() -> None:
    [customer] = read(Customer, OLD)
    found = changes(customer, definition_of(Customer))
    removed = {name for name, value in found.items() if not isinstance(value, dict)}
    assert removed == {"first", "last"}
    assert {name: value for name, value in found.items() if name not in removed} == {
        "name": {"S": "Ada Lovelace"},
        "city": {"S": "London"},
        "schema_version": {"N": "3"},
    }


def test_saving_an_item_of_the_present_version_changes_nothing() -> None:
    [customer] = read(Customer, PRESENT)
    assert changes(customer, definition_of(Customer)) == {}


def test_what_a_program_changed_is_saved_with_the_upgrade() -> None:
    [customer] = read(Customer, OLD)
    customer.city = None
    found = changes(customer, definition_of(Customer))
    assert found["name"] == {"S": "Ada Lovelace"}
    assert "city" not in found or found["city"] == {"NULL": True}


class Tagged(Model, table="tagged", schema_version=2):
    key: PartitionKey[str]
    tags: Attr[set[str]] = attr(default_factory=set)
    price: Attr[Decimal] = attr(default=Decimal(0))
    members: Attr[dict[str, int]] = attr(default_factory=dict)

    @upgrade(to=2)
    @staticmethod
    def changed_in_place(item: StoredItem) -> None:
        item["tags"].discard("old")
        item["members"]["one"] = 1
        assert item["price"] == Decimal("1.50")


def test_values_that_are_changed_in_place_are_stored_and_an_empty_set_is_removed() -> None:
    old = {
        "key": {"S": "k"},
        "tags": {"SS": ["old"]},
        "price": {"N": "1.50"},
        "members": {"M": {}},
    }
    [tagged] = read(Tagged, old)
    assert (tagged.tags, tagged.members) == (set(), {"one": 1})
    found = changes(tagged, definition_of(Tagged))
    assert "price" not in found, "a number that was only looked at stays spelled as it was"
    assert found["members"] == {"M": {"one": {"N": "1"}}}
    assert not isinstance(found["tags"], dict)


def test_an_item_of_a_later_version_is_refused_by_name_and_the_others_are_kept() -> None:
    later = {**PRESENT, "schema_version": {"N": "4"}}
    with pytest.raises(
        ItemVersionError, match=r"'customer_id': '9'.*version is 4.*Customer knows 3.*accepts=4"
    ) as raised:
        read(Customer, OLD, later)
    assert [customer.name for customer in raised.value.items] == ["Ada Lovelace"]


def test_an_item_of_a_later_version_with_a_malformed_key_is_refused_by_its_version() -> None:
    later = {**PRESENT, "customer_id": {"N": "x"}, "schema_version": {"N": "4"}}
    with pytest.raises(ItemVersionError, match="version is 4") as raised:
        read(Customer, later)
    assert raised.value.key == {"customer_id": {"N": "x"}}


def test_an_item_of_a_version_that_is_accepted_is_read_as_it_is_and_keeps_it() -> None:
    class Lenient(Model, table="customers", schema_version=1, accepts=2):
        customer_id: PartitionKey[str]
        name: Attr[str]

    [found] = read(Lenient, {**MIDDLE, "more": {"S": "of the new code"}})
    found.name = "changed"
    assert changes(found, definition_of(Lenient)) == {"name": {"S": "changed"}}


def test_replacing_items_of_a_model_that_accepts_later_versions_is_refused() -> None:
    class Lenient(Model, table="customers", schema_version=1, accepts=2):
        customer_id: PartitionKey[str]

    with pytest.raises(OperationError, match=r"Lenient accepts items of later versions.*save\(\)"):
        Replace(Lenient(customer_id="7"))


@pytest.mark.parametrize("stored", [{"S": "3"}, {"N": "0"}, {"N": "1.5"}, {"NULL": True}])
def test_what_is_no_version_is_refused(stored: Any) -> None:
    with pytest.raises(ItemVersionError, match="schema_version"):
        read(Customer, {**PRESENT, "schema_version": stored})


def test_an_upgrade_that_raises_is_named_with_the_key_and_the_cause() -> None:
    broken = {"customer_id": {"S": "7"}, "first": {"S": "Ada"}}
    with pytest.raises(ItemUpgradeError, match=r"'customer_id': '7'.*version 2, one_name, raised KeyError") as raised:
        read(Customer, broken, PRESENT)
    assert isinstance(raised.value, ItemValidationError)
    assert [customer.name for customer in raised.value.items] == ["Grace"]
    assert raised.value.item == broken


def make(body: Any, **settings: Any) -> type[Any]:
    class Made(Model, table="made", **{"schema_version": 2, **settings}):
        key: PartitionKey[str]

        change = upgrade(to=2)(staticmethod(body))

    return Made


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda item: item.update(key="other"), "changed 'key', which is part of the key"),
        (lambda item: item.update(price=1.5), "price: 1.5 is a float"),
        (lambda item: item.update(prices={"a": [1.5]}), r"prices\.a\[0\]: 1.5 is a float"),
        (lambda item: item.update(thing=object()), "thing"),
        (lambda item: {**item}, "version 2, .*, returned dict; it has to change the item in place"),
    ],
    ids=["key", "float", "nested float", "object", "a new item"],
)
def test_what_an_upgrade_must_not_leave_is_refused(body: Any, message: str) -> None:
    with pytest.raises(ItemUpgradeError, match=message):
        read(make(body), {"key": {"S": "k"}})


def test_upgrades_are_functions_that_can_be_called() -> None:
    item = StoredItem({"first": {"S": "Ada"}, "last": {"S": "Lovelace"}})
    Customer.one_name(item)
    assert dict(item) == {"name": "Ada Lovelace"}
    assert item.wire() == {"name": {"S": "Ada Lovelace"}}


class Card(Model, table="cards", schema_version=3):
    number: PartitionKey[int]
    name: Attr[str]
    city: Attr[str | None] = attr(default=None)

    @upgrade(to=2, needs=("first", "last"))
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"

    @upgrade(to=3, needs=())
    @staticmethod
    def city_of_name(item: StoredItem) -> None:
        item["city"] = item["name"] if "city" in item else item.get("name")


def test_an_upgrade_may_look_at_fields_and_at_what_an_upgrade_needs() -> None:
    upgrades = definition_of(Card).items.upgrades
    assert upgrades is not None
    assert upgrades.needs == {"first", "last"}
    [card] = read(Card, {"number": {"N": "1"}, "first": {"S": "Ada"}, "last": {"S": "L"}, "other": {"S": "x"}})
    assert (card.name, card.city) == ("Ada L", "Ada L")


def test_what_one_upgrade_does_not_name_may_be_needed_by_it() -> None:
    upgrades = definition_of(Customer).items.upgrades
    assert upgrades is not None
    assert upgrades.needs is None


@pytest.mark.parametrize(
    "look",
    [
        lambda item: item["note"],
        lambda item: item.get("note"),
        lambda item: item.pop("note", None),
        lambda item: item.__delitem__("note"),
        lambda item: "note" in item,
        list,
        len,
        dict,
    ],
    ids=["item", "get", "pop", "del", "in", "list", "len", "dict"],
)
def test_an_upgrade_that_looks_at_more_than_it_needs_is_an_error_also_where_the_item_has_it(look: Any) -> None:
    class Looking(Model, table="cards", schema_version=2):
        number: PartitionKey[int]

        @upgrade(to=2, needs=("first",))
        @staticmethod
        def looks(item: StoredItem) -> None:
            look(item)

    for item in ({"number": {"N": "1"}}, {"number": {"N": "1"}, "note": {"S": "x"}}):
        with pytest.raises(ItemUpgradeError, match="looked at, and not among its needs="):
            read(Looking, item)


def test_an_upgrade_may_look_at_what_it_has_set() -> None:
    class Setting(Model, table="cards", schema_version=2):
        number: PartitionKey[int]

        @upgrade(to=2, needs=())
        @staticmethod
        def sets(item: StoredItem) -> None:
            item["note"] = "x"
            assert item["note"] == item.get("note") == item.pop("note")

    assert read(Setting, {"number": {"N": "1"}}) == [Setting(number=1)]


@pytest.mark.parametrize("keyword", ["needs", "changes"])
def test_names_are_no_single_text(keyword: str) -> None:
    with pytest.raises(ModelDefinitionError, match=rf"write {keyword}=\('first',\)"):
        upgrade(to=2, **{keyword: "first"})


def test_an_index_may_hold_what_upgrades_need_and_nothing_else_that_is_no_field() -> None:
    class Held(Card, table="held"):
        by_city = GlobalIndex(partition_key="city", projection=include("name", "schema_version", "first", "last"))

    [index] = definition_of(Held).require_table("read").indexes
    assert index.projection.attributes == ("name", "schema_version", "first", "last")
    with pytest.raises(ModelDefinitionError, match="'note'"):

        class Other(Card, table="held"):
            by_city = GlobalIndex(partition_key="city", projection=include("name", "note"))


def test_an_index_that_holds_what_upgrades_need_is_read_without_a_look_into_the_table() -> None:
    class Held(Card, table="held"):
        by_city = GlobalIndex(partition_key="city", projection=include("name", "schema_version", "first", "last"))

    class Lacking(Card, table="held"):
        by_city = GlobalIndex(partition_key="city", projection=include("name", "schema_version", "first"))

    assert Query(Held).where(Held.city == "York").explain().completion is None
    assert Query(Lacking).where(Lacking.city == "York").explain().completion is not None


def test_a_subclass_goes_on_where_its_base_ends() -> None:
    class Vip(Customer, schema_version=4):
        level: Attr[int] = attr(default=0)

        @upgrade(to=4)
        @staticmethod
        def level_of_note(item: StoredItem) -> None:
            item["level"] = len(item.get("note", ""))

    [vip] = read(Vip, OLD)
    assert (vip.name, vip.level) == ("Ada Lovelace", 20)


def test_each_kind_of_a_shared_table_has_versions_of_its_own() -> None:
    shop = Table("shop", partition_key="pk", discriminator="kind")

    class Order(Model, table=shop, schema_version=2):
        pk: PartitionKey[str]
        total: Attr[int]

        @upgrade(to=2)
        @staticmethod
        def cents(item: StoredItem) -> None:
            item["total"] = item.pop("euros") * 100

    class Invoice(Model, table=shop):
        pk: PartitionKey[str]

    [order] = read(Order, {"pk": {"S": "o"}, "kind": {"S": "Order"}, "euros": {"N": "3"}})
    [invoice] = read(Invoice, {"pk": {"S": "i"}, "kind": {"S": "Invoice"}})
    assert (order.total, invoice.pk) == (300, "i")
    assert definition_of(Order).items.encode(order) == {
        "kind": {"S": "Order"},
        "schema_version": {"N": "2"},
        "pk": {"S": "o"},
        "total": {"N": "300"},
    }


def test_updates_and_hazards_of_a_base_are_those_of_its_subclasses() -> None:
    class Paper(Model, table=Table("paper", partition_key="pk", discriminator="kind")):
        pk: PartitionKey[str]
        total: Attr[int] = attr(default=0)

    class Bill(Paper, schema_version=2, writes=1):
        @upgrade(to=2, changes=("total",))
        @staticmethod
        def cents(item: StoredItem) -> None:
            item["total"] *= 100

        @downgrade(to=1)
        @staticmethod
        def euros(item: StoredItem) -> None:
            item["total"] //= 100

    with pytest.raises(ExpressionError, match=r"Paper\.total of a Bill is stored in another form"):
        Update(Paper, "k").set(Paper.total, 1).request(Context())
    hazards = Scan(Paper).where(Paper.total == 1).explain().hazards
    assert any("Bill before version 2 may differ in total" in each for each in hazards)


def define(name: str, body: dict[str, Any], **settings: Any) -> None:
    settings = {"table": "made", **settings}
    type(Model)(
        name, (Model,), {"__annotations__": {"key": PartitionKey[str]}, "__module__": __name__, **body}, **settings
    )


def step(to: int) -> Any:
    def change(item: StoredItem) -> None:
        """Change nothing."""

    return upgrade(to=to)(staticmethod(change))


async def wait(item: StoredItem) -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("body", "settings", "message"),
    [
        ({}, {"schema_version": 2}, r"no upgrade to version 2; add a function with @upgrade\(to=2\)"),
        ({"a": step(2)}, {"schema_version": 4}, "no upgrade to version 3 and 4"),
        ({"a": step(2)}, {}, r"Made\.a: is an upgrade, but the model has no schema_version"),
        ({"a": step(3)}, {"schema_version": 2}, r"Made\.a: leads to version 3; those of Made go from 2 to 2"),
        ({"a": step(2), "b": step(2)}, {"schema_version": 2}, r"Made.b: leads to version 2, like change; drop"),
        ({"a": upgrade(to=2)(staticmethod(wait))}, {"schema_version": 2}, r"Made.a: .*without `async`"),
        (
            {"a": upgrade(to=2)(staticmethod(lambda: None))},
            {"schema_version": 2},
            r"take \(item: StoredItem\), not \(\)",
        ),
        ({}, {"schema_version": 0}, "schema_version=0 is not a version"),
        ({}, {"schema_version": True}, "schema_version=True is not a version"),
        ({}, {"schema_version": 1, "accepts": 1}, "accepts=1 is not later than schema_version=1"),
        ({}, {"accepts": 2}, "has accepts, but no schema_version"),
        ({}, {"complete_since": 2}, "has complete_since, but no schema_version"),
        ({}, {"schema_version": 1, "complete_since": 2}, "complete_since=2 is later than schema_version=1"),
        ({}, {"schema_version": 1, "schema_attribute": "key"}, "stores a field as 'key', where the version"),
        ({}, {"schema_version": 1, "schema_attribute": ""}, "schema_attribute='' is not the name"),
        (
            {"a": step(2), "__annotations__": {"text": str}},
            {"schema_version": 2, "table": None},
            "has a schema_version, but no table",
        ),
    ],
)
def test_a_class_that_says_what_does_not_go_together_is_refused(body: Any, settings: Any, message: str) -> None:
    with pytest.raises(ModelDefinitionError, match=message):
        define("Made", body, **settings)


def test_an_abstract_base_leaves_the_version_to_its_subclasses() -> None:
    class Base(Model, abstract=True):
        key: PartitionKey[str]
        text: Attr[str]

        @upgrade(to=2)
        @staticmethod
        def upper(item: StoredItem) -> None:
            item["text"] = item["text"].upper()

    class Made(Base, table="made", schema_version=2):
        pass

    assert read(Made, {"key": {"S": "k"}, "text": {"S": "a"}}) == [Made(key="k", text="A")]


def test_upgrade_marks_functions_only() -> None:
    with pytest.raises(ModelDefinitionError, match="@upgrade marks a function"):
        upgrade(to=2)(print)


def test_a_remembered_older_item_is_known_as_it_is_stored() -> None:
    [customer] = read(Customer, OLD)
    assert known(customer, definition_of(Customer)).stored == OLD
    remember(customer, definition_of(Customer).items.encode(customer))
    assert changes(customer, definition_of(Customer)) == {}


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.text()
    | st.binary()
    | st.decimals(-99, 99, places=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.dictionaries(st.text(min_size=1), PLAIN, max_size=5).map(
    lambda item: {k: encode_any(v) for k, v in item.items()}
)


@given(ITEMS, st.dictionaries(st.text(min_size=1), PLAIN, max_size=3), st.data())
def test_a_stored_item_is_a_mapping_whose_wire_form_has_what_was_set_and_nothing_else_changed(
    item: Any, new: dict[str, Any], data: st.DataObject
) -> None:
    view, expected = StoredItem(item), {name: decode_any(value) for name, value in item.items()}
    assert dict(view) == expected
    removed = data.draw(st.sets(st.sampled_from(sorted(expected)))) if expected else set()
    for name in removed:
        del view[name], expected[name]
    view.update(new)
    expected.update({name: decode_any(encode_any(value)) for name, value in new.items()})
    stored = view.wire()
    assert {name: decode_any(value) for name, value in stored.items()} == expected
    assert all(stored[name] == item[name] for name in item if name not in removed | new.keys())
    assert len(view) == len(expected)
    assert set(view) == set(expected)


@given(ITEMS, st.lists(st.tuples(st.sampled_from(("get", "pop", "in", "set")), st.text(min_size=1, max_size=1))))
def test_a_stored_item_does_what_a_dict_does_and_watching_it_records_every_name(item: Any, steps: Any) -> None:
    view, expected = WatchedItem(item), {name: decode_any(value) for name, value in item.items()}
    for step, name in steps:
        if step == "set":
            view[name] = expected[name] = "set"
        elif step == "in":
            assert (name in view) == (name in expected)
        else:
            assert getattr(view, step)(name, "absent") == getattr(expected, step)(name, "absent")
    assert view.looked_at == {name for step, name in steps if step != "set"}
    assert dict(view) == expected
    assert {name: decode_any(value) for name, value in view.wire().items()} == {
        name: decode_any(encode_any(value)) for name, value in expected.items()
    }


def test_taking_out_what_is_not_there_is_the_error_of_a_dict() -> None:
    with pytest.raises(KeyError, match="last"):
        StoredItem(OLD).pop("none of them, but last")


@given(st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=2), max_leaves=3), PLAIN)
def test_a_number_or_a_part_that_is_set_to_another_type_is_another_value(value: Any, other: Any) -> None:
    view = StoredItem({"part": {"L": [encode_any(value)]}})
    view["part"][0] = other
    assert view.wire()["part"] == encode_any([other]) or encode_any([value]) == encode_any([other])


@given(st.integers(1, 6), st.integers(1, 6))
def test_upgrades_in_one_go_are_those_one_by_one(first: int, last: int) -> None:
    first, last = sorted((first, last))

    def appended(number: int) -> Any:
        def change(item: StoredItem) -> None:
            item["log"] = [*item.get("log", []), number]

        return upgrade(to=number)(staticmethod(change))

    def model(version: int) -> Any:
        body = {f"to_{number}": appended(number) for number in range(2, version + 1)}
        annotations = {"key": PartitionKey[str], "log": Attr[list[int]]}
        return type(Model)(
            f"Made{version}",
            (Model,),
            {"__annotations__": annotations, "__module__": __name__, "log": attr(default_factory=list), **body},
            table="made",
            schema_version=version,
        )

    item: Any = {"key": {"S": "k"}, "schema_version": {"N": str(first)}}
    stepwise = item
    for version in range(first, last + 1):
        stepwise = definition_of(model(version)).items.upgrades.upgraded(stepwise)
    assert definition_of(model(last)).items.upgrades.upgraded(item) == stepwise


def append(item: StoredItem, name: str) -> None:
    if isinstance(item.get(name), list):
        item[name].append(len(item))


def swap(item: StoredItem, name: str) -> None:
    item["a"], item[name] = item.pop(name, None), item.get("a")


CHANGES: list[Callable[[StoredItem, str], object]] = [
    append,
    swap,
    lambda item, name: item.pop(name, None),
    lambda item, name: item.update({name: {"was": item.get(name)}}),
    lambda item, name: item.update({name: sorted(each for each in item if each in "abc")}),
    lambda item, name: item.setdefault(name, Decimal("1.50")),
]
STEPS = st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from("abc")), max_size=3)


def changing(to: int, steps: Any) -> Any:
    def change(item: StoredItem) -> None:
        for function, name in steps:
            function(item, name)

    return upgrade(to=to)(staticmethod(change))


@given(
    st.lists(STEPS, min_size=1, max_size=4),
    st.dictionaries(st.sampled_from("abc"), PLAIN.map(encode_any), max_size=3),
    st.data(),
)
def test_any_chain_of_upgrades_in_one_go_gives_what_its_upgrades_give_one_by_one(
    chain: Any, stored: Any, data: st.DataObject
) -> None:
    def upgraded(version: int, item: Any) -> Any:
        body = {f"to_{to}": changing(to, steps) for to, steps in enumerate(chain[: version - 1], 2)}
        annotations = {"key": PartitionKey[str]}
        made = type(Model)(
            f"Chained{version}",
            (Model,),
            {"__annotations__": annotations, "__module__": __name__, **body},
            table="made",
            schema_version=version,
        )
        return definition_of(made).items.upgrades.upgraded(item)

    first = data.draw(st.integers(1, len(chain)))
    item = {"key": {"S": "k"}, "schema_version": {"N": str(first)}, **stored}
    stepwise = item
    for version in range(first + 1, len(chain) + 2):
        stepwise = upgraded(version, stepwise)
    assert upgraded(len(chain) + 1, item) == stepwise


class Both(Model, table="both", schema_version=3, writes=1):
    key: PartitionKey[str]
    cents: Attr[int]
    tags: Attr[set[str]] = attr(default_factory=set)
    other: Attr[str] = attr(default="")

    @upgrade(to=2, changes=("cents", "euros", "rest"))
    @staticmethod
    def in_cents(item: StoredItem) -> None:
        item["cents"] = item.pop("euros") * 100 + item.pop("rest", 0)

    @upgrade(to=3, changes=("tags", "tag"))
    @staticmethod
    def tags_of_text(item: StoredItem) -> None:
        item["tags"] = {each for each in item.pop("tag", "").split(",") if each}

    @downgrade(to=2)
    @staticmethod
    def text_of_tags(item: StoredItem) -> None:
        item["tag"] = ",".join(sorted(item.pop("tags", ())))

    @downgrade(to=1)
    @staticmethod
    def in_euros(item: StoredItem) -> None:
        item["euros"], item["rest"] = divmod(item.pop("cents"), 100)


@given(st.integers(0, 10**9), st.sets(st.text("abc", min_size=1)), st.text(max_size=3))
def test_an_item_that_is_written_in_an_older_version_reads_back_as_it_was(cents: int, tags: set[str], key: str) -> None:
    item = Both(key=f"k{key}", cents=cents, tags=tags)
    stored = definition_of(Both).items.encoded(item)[0]
    assert stored.keys() == {"key", "euros", "rest", "tag", "other", "schema_version"}
    assert stored["schema_version"] == {"N": "1"}
    assert read(Both, stored) == [item]


def test_an_older_item_that_did_not_change_is_not_written() -> None:
    stored = definition_of(Both).items.encoded(Both(key="k", cents=250, tags={"b", "a"}))[0]
    [item] = read(Both, stored)
    assert changes(item, definition_of(Both)) == {}
    item.cents += 1
    assert changes(item, definition_of(Both)) == {"rest": {"N": "51"}}


def test_updates_of_what_an_older_version_stores_otherwise_are_refused() -> None:
    with pytest.raises(ExpressionError, match=r"Both.cents is stored in another form.*version 1.*save\(\)"):
        Update(Both, "k").set(Both.cents, 1)
    Update(Both, "k").set(Both.other, "x")


@pytest.mark.parametrize("writes", [1, None], ids=["writes the older version", "writes the present version"])
def test_what_an_upgrade_changes_is_what_it_names(writes: int | None) -> None:
    class Person(Model, table="people", schema_version=2, writes=writes):
        key: PartitionKey[str]
        home_street: Attr[str] = attr(default="")
        home_city: Attr[str] = attr(name="city", default="")
        other: Attr[int] = attr(default=0)

        @upgrade(to=2, changes=("home", "home_street", "city"))
        @staticmethod
        def split(item: StoredItem) -> None:
            for name, value in zip(("home_" + "street", "city"), item.pop("home", ",").split(","), strict=True):
                item[name] = value

        @downgrade(to=1)
        @staticmethod
        def join(item: StoredItem) -> None:
            item["home"] = ",".join(item.pop(name, "") for name in ("home_" + "street", "city"))

    upgrades = definition_of(Person).items.upgrades
    assert upgrades is not None
    assert upgrades.touched == {"home", "home_street", "city"}
    changed = (Person.home_street, Person.home_city, path("home"))
    for each in changed if writes else ():
        with pytest.raises(ExpressionError, match=r"is stored in another form while items are written in version 1"):
            Update(Person, "k").set(each, "x")
    for each in (*(() if writes else changed), Person.other):
        condition = str(Update(Person, "k").set(each, "1" if each is not Person.other else 1).request(Context()).body)
        assert ("BETWEEN" in condition) is (each is not Person.other)  # the present version is required, or not


def swap_parts(item: StoredItem) -> None:
    """Change what only the run tells."""
    for part in ("street", "city"):
        item[f"home_{part}"] = item.pop(f"home_{part}", "") + "!"


def swap_back(item: StoredItem) -> None:
    swap_parts(item)


def made_names(**settings: Any) -> type[Any]:
    body = {
        "__annotations__": {"key": PartitionKey[str], "home_city": Attr[str], "other": Attr[int]},
        "__module__": __name__,
        "home_city": attr(default=""),
        "other": attr(default=0),
        "split": upgrade(to=2)(staticmethod(swap_parts)),
        "join": downgrade(to=1)(staticmethod(swap_back)),
    }
    made: type[Any] = type(Model)("Made", (Model,), body, table="made", schema_version=2, **settings)
    return made


def test_while_an_older_version_is_written_updates_need_upgrades_that_name_what_they_change() -> None:
    with pytest.warns(FutureWarning, match=r"Made writes items in version 1.*swap_parts.*changes=") as told:
        model = made_names(writes=1)
    assert told[0].filename == __file__
    changes_: list[Callable[[Any], Any]] = [
        lambda update: update.set(model.home_city, "Rome"),
        lambda update: update.set(model.other, 1),
        lambda update: update.add(model.other, 1),
        lambda update: update.remove(model.other),
        lambda update: update.set(path("unknown"), 1),
    ]
    for change in changes_:
        with pytest.raises(ExpressionError, match=r"swap_parts may change any.*changes=\(.*save\(\)"):
            change(Update(model, "k"))
    item = model(key="k", home_city="Rome", other=2)
    assert read(model, definition_of(model).items.encoded(item)[0])[0].other == 2  # all else works


def test_an_update_is_for_present_items_alone_where_an_upgrade_does_not_name_what_it_changes() -> None:
    model = made_names()
    assert "BETWEEN" in str(Update(model, "k").set(model.other, 1).request(Context()).body)
    since = made_names(complete_since=2)
    assert "BETWEEN" not in str(Update(since, "k").set(since.other, 1).request(Context()).body)


def test_what_an_update_stamps_counts_as_what_it_changes() -> None:
    class Stamped(Model, table="stamped", schema_version=2):
        key: PartitionKey[str]
        note: Attr[str]
        changed: Attr[int] = attr(on_update=lambda: 7)

        @upgrade(to=2, changes=("changed",))
        @staticmethod
        def to_number(item: StoredItem) -> None:
            item["changed"] = int(item.get("changed", "0"))

        @downgrade(to=1)
        @staticmethod
        def to_text(item: StoredItem) -> None:
            item["changed"] = str(item.get("changed", 0))

    class Older(Stamped, table="stamped", writes=1):
        pass

    assert "BETWEEN" in str(Update(Stamped, "k").set(Stamped.note, "x").request(Context()).body)
    with pytest.raises(ExpressionError, match=r"Older\.changed is stored in another form"):
        Update(Older, "k").set(Older.note, "x").request(Context())


class Priced(Model, table="priced", schema_version=2):
    key: PartitionKey[str]
    price: Attr[int]
    total: Attr[int] = attr(default=0)
    number: Attr[int] = attr(default=0)

    @upgrade(to=2, changes=("price",))
    @staticmethod
    def in_cents(item: StoredItem) -> None:
        item["price"] *= 100

    @downgrade(to=1)
    @staticmethod
    def in_euros(item: StoredItem) -> None:
        item["price"] //= 100


class OlderPriced(Priced, table="priced", writes=1):
    pass


@pytest.mark.parametrize("take", [lambda price: price, lambda price: price + 1, lambda price: price.if_not_exists(0)])
def test_an_update_that_takes_what_an_upgrade_changes_is_for_present_items_alone(take: Any) -> None:
    assert "BETWEEN" in str(Update(Priced, "k").set(Priced.total, take(Priced.price)).request(Context()).body)
    assert "BETWEEN" not in str(Update(Priced, "k").set(Priced.total, take(Priced.number)).request(Context()).body)
    with pytest.raises(ExpressionError, match=r"OlderPriced\.price is stored in another form.*take another value"):
        Update(OlderPriced, "k").set(OlderPriced.total, take(OlderPriced.price)).request(Context())


def test_upgrades_before_which_all_items_are_need_no_names() -> None:
    class Late(Model, table="late", schema_version=3, complete_since=2, writes=2):
        key: PartitionKey[str]
        note: Attr[str] = attr(default="")
        other: Attr[str] = attr(default="")

        @upgrade(to=2)
        @staticmethod
        def long_ago(item: StoredItem) -> None:
            item["other"] = "x"

        @upgrade(to=3, changes=("note",))
        @staticmethod
        def today(item: StoredItem) -> None:
            item["note"] = item.pop("note", "").upper()

        @downgrade(to=2)
        @staticmethod
        def back(item: StoredItem) -> None:
            item["note"] = item.pop("note", "").lower()

    Update(Late, "k").set(Late.other, "y")
    with pytest.raises(ExpressionError, match="Late.note is stored in another form"):
        Update(Late, "k").set(Late.note, "y")


class Partly(Model, table="partly", schema_version=2):
    key: PartitionKey[str]
    city: Attr[str] = attr(default="")
    parts: Attr[list[str]] = attr(default_factory=list)

    @upgrade(to=2, changes=("town",))
    @staticmethod
    def move(item: StoredItem) -> None:
        parts, _ = item["parts"], item["city"]  # so that both are at hand on later pages
        match item.pop("town", None):
            case "set":
                item["city"] = "b"
            case "in place":
                parts.append("new")
            case "remove":
                del item["city"]


def from_town(town: str) -> dict[str, Any]:
    return {"key": {"S": "k"}, "town": {"S": town}, "parts": {"L": []}, "city": {"S": "a"}}


UNNAMED = pytest.mark.parametrize(("town", "name"), [("set", "city"), ("in place", "parts"), ("remove", "city")])


@UNNAMED
def test_an_upgrade_that_changes_what_it_does_not_name_is_an_error(town: str, name: str) -> None:
    with pytest.raises(ItemUpgradeError, match=rf"from version 1 changed '{name}', which none names.*changes="):
        read(Partly, from_town(town))


@UNNAMED
def test_an_upgrade_that_changes_what_it_does_not_name_is_an_error_on_later_pages_too(
    answered: Any, town: str, name: str
) -> None:
    for _ in range(3):
        assert [each.city for each in read(Partly, *answered([from_town("x"), from_town("y")]))] == ["a", "a"]
    with pytest.raises(ItemUpgradeError, match=f"changed '{name}', which none names"):
        read(Partly, *answered([from_town("x"), from_town(town)]))


def test_a_downgrade_that_changes_what_no_upgrade_names_is_an_error() -> None:
    class Unlike(Model, table="unlike", schema_version=2, writes=1):
        key: PartitionKey[str]
        city: Attr[str] = attr(default="")

        @upgrade(to=2, changes=("town",))
        @staticmethod
        def forward(item: StoredItem) -> None:
            item.pop("town", None)

        @downgrade(to=1)
        @staticmethod
        def back(item: StoredItem) -> None:
            item["town"] = item.pop("city")

    with pytest.raises(EncodeError, match=r"downgrade to version 1, back,.*changed 'city', which no upgrade.*changes="):
        definition_of(Unlike).items.encoded(Unlike(key="k", city="York"))


def test_explain_names_what_older_items_may_differ_in_and_says_where_that_cannot_be_told() -> None:
    model = made_names()
    [hazard] = [each for each in Scan(model).where(model.other == 1).explain().hazards if "before version 2" in each]
    assert re.search(r"may differ in other.*swap_parts may change any attribute.*changes=", hazard)
    hazards = Scan(Both).where(Both.key == "k", Both.cents == 1, Both.other == "x").explain().hazards
    [hazard] = [each for each in hazards if "before version 3" in each]
    assert "may differ in cents, and be missed" in hazard
    assert not any("version" in each for each in Scan(Both).where(Both.other == "x").explain().hazards)


def test_a_downgrade_that_raises_names_itself_and_the_cause() -> None:
    class Broken(Model, table="broken", schema_version=2, writes=1):
        key: PartitionKey[str]

        @upgrade(to=2, changes=())
        @staticmethod
        def forward(item: StoredItem) -> None:
            pass

        @downgrade(to=1)
        @staticmethod
        def back(item: StoredItem) -> None:
            raise LookupError(f"no way to {item['key']}")

    with pytest.raises(EncodeError, match="Broken.*downgrade to version 1, back, raised LookupError: no way to k"):
        definition_of(Broken).items.encoded(Broken(key="k"))


def test_writing_an_older_version_needs_every_downgrade_to_it() -> None:
    with pytest.raises(ModelDefinitionError, match=r"writes=1.*no downgrade to version 1.*@downgrade\(to=1\)"):

        class Gap(Model, table="gap", schema_version=3, writes=1):
            key: PartitionKey[str]

            @upgrade(to=2, changes=())
            @staticmethod
            def two(item: StoredItem) -> None:
                pass

            @upgrade(to=3, changes=())
            @staticmethod
            def three(item: StoredItem) -> None:
                pass

            @downgrade(to=2)
            @staticmethod
            def back(item: StoredItem) -> None:
                pass


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"writes": 2}, "writes=2 is not older than schema_version=2"),
        ({"writes": 0}, "writes=0 is not a version"),
        ({"writes": 1, "complete_since": 2}, "complete_since=2 is later than writes=1"),
        ({"schema_version": 1}, "leads to version 1; Wrong has only one version"),
    ],
)
def test_what_contradicts_an_older_version_is_refused(settings: dict[str, int], problem: str) -> None:
    with pytest.raises(ModelDefinitionError, match=problem):

        class Wrong(Model, table="wrong", **{"schema_version": 2, **settings}):
            key: PartitionKey[str]
            if settings.get("schema_version") != 1:

                @upgrade(to=2, changes=())
                @staticmethod
                def forward(item: StoredItem) -> None:
                    pass

            @downgrade(to=1)
            @staticmethod
            def back(item: StoredItem) -> None:
                pass


def test_writing_an_older_version_does_not_go_with_unique_values() -> None:
    with pytest.raises(ModelDefinitionError, match="unique values"):

        class Claimed(Model, table="claimed", schema_version=2, writes=1):
            key: PartitionKey[str]
            email: Attr[str]
            by_email = Unique("email")

            @upgrade(to=2, changes=())
            @staticmethod
            def forward(item: StoredItem) -> None:
                pass

            @downgrade(to=1)
            @staticmethod
            def back(item: StoredItem) -> None:
                pass


class Shelf(Model, table="shelves", schema_version=4):
    key: PartitionKey[str]
    cents: Attr[int]
    tags: Attr[set[str]] = attr(default_factory=set[str])
    parts: Attr[list[str]] = attr(default_factory=list[str])
    note: Attr[str | None] = attr(default=None)
    other: Attr[str]

    @upgrade(to=2)
    @staticmethod
    def another_type(item: StoredItem) -> None:
        """Upgrade the price, which was a text."""
        if isinstance(item.get("cents"), str):
            item["cents"] = int(item["cents"])

    @upgrade(to=3)
    @staticmethod
    def changed_in_place(item: StoredItem) -> None:
        if "parts" in item:
            item["parts"].append("new")
        item.setdefault("tags", {"none"}).discard("old")

    @upgrade(to=4)
    @staticmethod
    def legacy(item: StoredItem) -> None:
        item["legacy"] = item.pop("note", None)
        if isinstance(item["legacy"], Decimal):
            item["ratio"] = float(item["legacy"])  # an error, though no field reads it
        del item["odd"]


SHELVES = st.lists(
    st.fixed_dictionaries(
        {"key": st.just({"S": "k"}), "other": st.sampled_from([{"S": "x"}, {"N": "1"}]), "odd": st.just({"S": "x"})},
        optional={
            "cents": st.sampled_from([{"N": "1"}, {"N": "1.0"}, {"S": "7"}, {"S": "no"}, {"NULL": True}]),
            "tags": st.sampled_from([{"SS": ["old"]}, {"SS": ["old", "a"]}, {"S": "a"}]),
            "parts": st.sampled_from([{"L": [{"S": "a"}]}, {"L": []}, {"NULL": True}, {"SS": ["a"]}]),
            "note": st.sampled_from([{"S": "a"}, {"NULL": True}, {"N": "3"}, {"N": "3.5"}]),
            "legacy": st.just({"M": {"a": {"N": "1"}}}),
            "unknown": st.just({"BOOL": True}),
            "schema_version": st.sampled_from([{"N": each} for each in "12345"] + [{"S": "2"}]),
        },
    ),
    min_size=1,
    max_size=3,
)


def outcome(codec: Any, page: Any) -> Any:
    try:
        found = codec.decode(page)
    except ItemValidationError as error:
        return [str(each) for each in error.failures], list(error.items), None
    return found, [known(each, definition_of(Shelf)) for each in found], [type(each) for each in found]


@given(SHELVES)
def test_a_page_that_is_upgraded_while_it_is_decoded_is_what_its_whole_items_are_upgraded_to(
    answered: Any, page: Any
) -> None:
    codec: Any = definition_of(Shelf).items
    codec._met_older = False
    first = outcome(codec, page)
    for items in (page, answered(page)):
        codec._met_older = True
        assert str(outcome(codec, items)) == str(first)


def test_a_frozen_model_and_one_with_validators_see_what_the_upgrade_left() -> None:
    class Fixed(Model, table="fixed", schema_version=2, frozen=True):
        key: PartitionKey[str]
        rooms: Attr[tuple[str, ...]]

        @model_validator(mode="before")
        @classmethod
        def of_text(cls, values: Any) -> Any:
            """Take the old form too, as the model did before it had versions."""
            return {**values, "rooms": ["a text"]} if isinstance(values.get("rooms"), str) else values

        @upgrade(to=2)
        @staticmethod
        def split(item: StoredItem) -> None:
            item["rooms"] = item["rooms"].split()

    old = {"key": {"S": "k"}, "rooms": {"S": "b c"}}
    assert [read(Fixed, old)[0].rooms for _ in range(2)] == [("b", "c")] * 2


def test_an_upgrade_that_computes_names_is_given_whole_items() -> None:
    class Computing(Model, table="computing", schema_version=2):
        key: PartitionKey[str]
        total: Attr[int]

        @upgrade(to=2)
        @staticmethod
        def sums(item: StoredItem) -> None:
            try:
                item["total"] = sum(item.pop("n" + str(each)) for each in range(2))
            except Exception:  # noqa: BLE001 - as programs do
                item["total"] = -1

    old = {"key": {"S": "k"}, "n0": {"N": "1"}, "n1": {"N": "2"}}
    assert [read(Computing, old)[0].total for _ in range(3)] == [3, 3, 3]


def test_an_upgrade_may_set_a_field_whose_name_stands_elsewhere() -> None:
    new_name = "city"

    class Renamed(Model, table="renamed", schema_version=2):
        key: PartitionKey[str]
        city: Attr[str | None] = attr(default=None)

        @upgrade(to=2)
        @staticmethod
        def renames(item: StoredItem) -> None:
            item[new_name] = item.pop("town")

    old = {"key": {"S": "k"}, "town": {"S": "York"}}
    assert [read(Renamed, old)[0].city for _ in range(3)] == ["York", "York", "York"]


def test_an_upgrade_that_goes_through_all_attributes_is_given_whole_items() -> None:
    class Going(Model, table="going", schema_version=2):
        key: PartitionKey[str]
        total: Attr[int]

        @upgrade(to=2)
        @staticmethod
        def counts(item: StoredItem) -> None:
            item["total"] = len(item) + len(list(item)) + len(dict(item))

    old = {"key": {"S": "k"}, "n0": {"N": "1"}, "n1": {"N": "2"}}
    assert [read(Going, old)[0].total for _ in range(3)] == [9, 9, 9]
