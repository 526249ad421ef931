"""Shared tables: what a Table and the models that share it are, and every way in which they can be wrong."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import pytest

from dynamap_async import (
    KEYS_ONLY,
    UNMARKED,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Prefix,
    SortKey,
    Table,
    Throughput,
    TimeToLive,
    attr,
    include,
    template,
)
from dynamap_async.errors import (
    EncodeError,
    ItemDecodeError,
    ItemKindError,
    ItemValidationError,
    ModelDefinitionError,
)
from dynamap_async.models import definition_of


def shop(**more: Any) -> Table:
    """Return a table that no other test knows."""
    return Table("shop", **{"partition_key": "pk", "sort_key": "sk", **more})


def test_a_table_is_what_dynamodb_has_to_create():
    table = shop(
        indexes=(
            LocalIndex("by_at", sort_key="at"),
            GlobalIndex("gsi1", partition_key="gsi1pk", sort_key="gsi1sk", projection=include("kind", "body")),
        ),
        types={"at": "N"},
        time_to_live="ttl",
        throughput=Throughput(read=2, write=1),
    )
    schema = table.schema
    assert (schema.name, schema.keys.names, schema.ttl_attribute) == ("shop", ("pk", "sk"), "ttl")
    assert schema.attribute_types == {"pk": "S", "sk": "S", "at": "N", "gsi1pk": "S", "gsi1sk": "S"}
    assert schema.index("by_at").keys.names == ("pk", "at")
    assert schema.index("gsi1").projection.attributes == ("kind", "body")
    assert schema.throughput == Throughput(read=2, write=1)


def test_a_marked_key_is_stored_under_the_name_that_the_table_says():
    table = shop()

    class Order(Model, table=table, kind="order"):
        customer_id: PartitionKey[str]
        number: SortKey[str] = attr(name="sk")

    definition = definition_of(Order)
    assert definition.table is table.schema
    stored = definition.items.encode(Order(customer_id="7", number="1"))
    assert stored == {"pk": {"S": "7"}, "sk": {"S": "1"}, "kind": {"S": "order"}}
    assert Order.model_json_schema()["required"] == ["customer_id", "number"]


def test_the_name_of_the_class_is_its_kind_unless_it_says_another():
    table = shop()

    class Order(Model, table=table):
        pk: PartitionKey[str]
        sk: SortKey[str]

    class Refund(Order):
        pass

    assert [definition_of(each).kind for each in (Order, Refund)] == ["Order", "Refund"]
    assert dict(table.models) == {"Order": Order, "Refund": Refund}


def test_unmarked_items_are_stored_without_a_marker_and_read_back():
    table = shop(discriminator="_type")

    class Order(Model, table=table, kind=UNMARKED):
        pk: PartitionKey[str]
        sk: SortKey[str]

    items = definition_of(Order).items
    stored = items.encode(Order(pk="7", sk="1"))
    assert stored == {"pk": {"S": "7"}, "sk": {"S": "1"}}
    assert items.decode([stored]) == [Order(pk="7", sk="1")]
    with pytest.raises(ItemKindError, match="'_type' 'x', and Table\\('shop'\\) knows the kinds UNMARKED"):
        items.decode([{**stored, "_type": {"S": "x"}}])


def test_a_field_may_show_the_kind_if_it_has_no_other_value():
    table = shop()

    class Order(Model, table=table, kind="order"):
        pk: PartitionKey[str]
        sk: SortKey[str]
        kind: Literal["order"] = "order"

    items = definition_of(Order).items
    stored = items.encode(Order(pk="7", sk="1"))
    assert stored["kind"] == {"S": "order"}
    assert items.decode([stored])[0].kind == "order"


@pytest.mark.parametrize("extra", ["allow", "forbid"])
def test_the_marker_is_no_extra_attribute(extra: Literal["allow", "forbid"]):
    table = shop()

    class Order(Model, table=table, kind="order", extra=extra):
        pk: PartitionKey[str]
        sk: SortKey[str]

    items = definition_of(Order).items
    order = Order(pk="7", sk="1")
    [read] = items.decode([items.encode(order)])
    assert (read, read.__pydantic_extra__ or {}) == (order, {})


def test_an_extra_attribute_cannot_take_the_place_of_the_marker():
    table = shop()

    class Order(Model, table=table, kind="order", extra="allow"):
        pk: PartitionKey[str]
        sk: SortKey[str]

    with pytest.raises(EncodeError, match="that holds the kind"):
        definition_of(Order).items.encode(Order(pk="7", sk="1", kind="customer"))  # type: ignore[call-arg] # an extra


def test_an_abstract_base_reads_its_family_and_has_no_items():
    table = shop()

    class Animal(Model, table=table, abstract=True):
        pk: PartitionKey[str]
        sk: SortKey[str] = "0"

    class Dog(Animal, kind="dog"):
        pass

    class Cat(Animal, kind="cat"):
        lives: int = 9

    stored = [definition_of(type(each)).items.encode(each) for each in (Cat(pk="1"), Dog(pk="2"), Cat(pk="3"))]
    assert definition_of(Animal).items.decode(stored) == [Cat(pk="1"), Dog(pk="2"), Cat(pk="3")]
    assert definition_of(Animal).family == {"dog": Dog, "cat": Cat}
    assert definition_of(Animal).kind is None


def test_what_does_not_fit_is_told_in_order_with_what_does():
    table = shop()

    class Order(Model, table=table, kind="order"):
        pk: PartitionKey[str]
        sk: SortKey[str]
        total: Attr[int] = attr(default=0)

    class Gift(Order, kind="gift"):
        pass

    items = definition_of(Order).items
    good = [items.encode(Order(pk="1", sk="1")), definition_of(Gift).items.encode(Gift(pk="2", sk="1"))]
    bad = [{**good[0], "total": {"S": "many"}}, {**good[1], "kind": {"S": "loan"}}, {**good[1], "total": {"S": "x"}}]
    with pytest.raises(ItemValidationError) as caught:
        items.decode([bad[0], good[1], bad[1], good[0], bad[2]])
    assert list(caught.value.items) == [Gift(pk="2", sk="1"), Order(pk="1", sk="1")]
    assert [failure.item for failure in caught.value.failures] == bad
    assert [type(failure) for failure in caught.value.failures] == [
        ItemDecodeError,
        ItemKindError,
        ItemDecodeError,
    ]


def test_a_key_that_begins_otherwise_is_of_no_item_of_the_model():
    class Item(Model, table=shop(discriminator=Prefix("sk")), kind="ITEM#"):
        pk: PartitionKey[str]
        sk: SortKey[str]

    for wrong in (lambda: definition_of(Item).key(("p", "TASK#1")), lambda: encoded(Item(pk="p", sk="TASK#1"))):
        with pytest.raises(EncodeError, match="begin with 'ITEM#' in every Item"):
            wrong()
    assert encoded(Item(pk="p", sk="ITEM#1")) == {"pk": {"S": "p"}, "sk": {"S": "ITEM#1"}}


def encoded(item: Model) -> dict[str, Any]:
    return definition_of(type(item)).items.encode(item)


def test_a_model_that_is_defined_again_replaces_itself():
    table = shop()

    def define() -> type[Model]:
        class Order(Model, table=table, kind="order"):
            pk: PartitionKey[str]
            sk: SortKey[str]

        return Order

    define()
    again = define()
    assert dict(table.models) == {"order": again}


def of(table: Table, **body: Any) -> Callable[[], type[Model]]:
    """Return what defines a model of a table."""
    keywords = {name: body.pop(name) for name in ("kind", "abstract", "throughput", "hide_expired") if name in body}
    annotations = {name: value for name, value in body.items() if not isinstance(value, GlobalIndex)}
    indexes = {name: value for name, value in body.items() if isinstance(value, GlobalIndex)}
    fields = {name: value[1] for name, value in annotations.items() if isinstance(value, tuple)}
    types = {name: value[0] if isinstance(value, tuple) else value for name, value in annotations.items()}
    namespace = {"__module__": __name__, "__annotations__": types, **fields, **indexes}
    return lambda: type(Model)("Order", (Model,), namespace, table=table, **keywords)


KEY = {"pk": PartitionKey[str], "sk": SortKey[str]}
BY_AT = GlobalIndex("by_at", partition_key="city", sort_key="at")

WRONG_MODELS: dict[str, tuple[Callable[[], type[Model]], str]] = {
    "no partition key": (of(shop(), sk=SortKey[str]), r"the partition key of Table\('shop'\).*PartitionKey"),
    "no sort key": (of(shop(), pk=PartitionKey[str]), "for the sort key.* stored as 'sk'; .*sk: SortKey"),
    "a sort key too many": (of(shop(sort_key=None), **KEY), "Order.sk: is the sort key.* has none"),
    "another stored name": (
        of(shop(), pk=(PartitionKey[str], attr(name="id")), sk=SortKey[str]),
        "Order.pk: is the partition key and stored as 'id', but .* is 'pk'",
    ),
    "another type of the key": (
        of(shop(), pk=PartitionKey[int], sk=SortKey[str]),
        "Order.pk: is stored as N, and the partition key .* holds S",
    ),
    "an unmarked key": (
        of(shop(sort_key=None), id=PartitionKey[str], pk=Attr[str]),
        "Order.pk: is stored as 'pk', and so is 'id'",
    ),
    "another type of an index's key": (
        of(shop(indexes=(BY_AT,)), **KEY, city=Attr[str], at=Attr[Decimal]),
        "Order.at: is stored as N, and in the key of the index 'by_at' .* it is S",
    ),
    "an index of its own": (
        of(shop(), **KEY, city=Attr[str], by_city=GlobalIndex(partition_key="city")),
        r"Order.by_city: is an index, but Table\('shop'\) is.*belong to the Table",
    ),
    "another time to live": (
        of(shop(), **KEY, ends=(TimeToLive[datetime | None], attr(default=None))),
        "Order.ends: is a TimeToLive stored as 'ends', but that of.* is None",
    ),
    "hiding without a time to live": (
        of(shop(), **KEY, hide_expired=True),
        "has no TimeToLive field; declare one, such as expires_at:",
    ),
    "a field in place of the kind": (
        of(shop(), **KEY, kind="order", type=(Attr[str], attr(name="kind"))),
        "Order.type: is stored as 'kind', where .* keeps the kind .*Literal\\['order'\\]",
    ),
    "a kind that is not text": (of(shop(), **KEY, kind=5), "kind=5 is not a string"),
    "an empty kind": (of(shop(), **KEY, kind=""), "kind='' is not a string"),
    "a kind of an abstract base": (
        of(shop(), **KEY, kind="x", abstract=True),
        "is abstract, so no item has the kind",
    ),
    "a throughput of its own": (
        of(shop(), **KEY, throughput=Throughput(read=1, write=1)),
        "give the throughput to the Table",
    ),
    "a prefix without a kind": (of(shop(discriminator=Prefix("sk")), **KEY), 'give the beginning: kind="ORDER#"'),
    "a prefix of an attribute that it does not have": (
        of(shop(discriminator=Prefix("type")), **KEY, kind="ORDER#"),
        "Order: has the kind 'ORDER#', .*by how 'type' begins, but has no field that is stored as 'type'; add one",
    ),
    "a template that begins otherwise than its kind": (
        of(
            shop(discriminator=Prefix("sk")), pk=PartitionKey[str], sk=(SortKey[str], template("ITEM#x")), kind="ORDER#"
        ),
        "Order.sk: begins with 'ITEM#x', but.*the kind 'ORDER#' by this beginning.*'ORDER#ITEM#x'",
    ),
}


@pytest.mark.parametrize(("define", "message"), WRONG_MODELS.values(), ids=WRONG_MODELS)
def test_a_model_that_does_not_fit_its_table_is_refused_with_the_remedy(
    define: Callable[[], type[Model]], message: str
):
    with pytest.raises(ModelDefinitionError, match=message):
        define()


def test_a_kind_needs_a_table_to_share():
    with pytest.raises(ModelDefinitionError, match="has the kind 'order', but shares no Table; write"):

        class Order(Model, table="orders", kind="order"):
            pk: PartitionKey[str]


@pytest.mark.parametrize(
    ("discriminator", "first", "second", "message"),
    [
        ("kind", "order", "order", "both take the kind 'order' of the table 'shop'"),
        ("kind", UNMARKED, UNMARKED, "are told apart by their keys .*, and both could have the key"),
        (Prefix("sk"), "A#", "A#", "both take the kind 'A#'"),
        (Prefix("sk"), "A#", "A#B#", "one begins with the other"),
        (Prefix("sk"), "A#B#", "A#", "one begins with the other"),
    ],
)
def test_two_models_that_could_not_be_told_apart_are_refused(discriminator: Any, first: Any, second: Any, message: str):
    table = shop(discriminator=discriminator)

    class Order(Model, table=table, kind=first):
        pk: PartitionKey[str]
        sk: SortKey[str]

    with pytest.raises(ModelDefinitionError, match=message):

        class Refund(Model, table=table, kind=second):
            pk: PartitionKey[str]
            sk: SortKey[str]

    assert [*table.models.values()] == [Order]


WRONG_TABLES: dict[str, tuple[dict[str, Any], str]] = {
    "an index without a name": ({"indexes": (GlobalIndex(partition_key="a"),)}, "has an index without a name"),
    "two indexes of one name": (
        {"indexes": (GlobalIndex("gsi", partition_key="a"), GlobalIndex("gsi", partition_key="b"))},
        "two indexes of one name",
    ),
    "a local index without a sort key": (
        {"sort_key": None, "indexes": (LocalIndex("lsi", sort_key="a", projection=KEYS_ONLY),)},
        "needs a table with a sort key",
    ),
    "six local indexes": ({"indexes": [LocalIndex(f"lsi{n}", sort_key="a") for n in range(6)]}, "DynamoDB allows 5"),
    "a type of what is not a key": ({"types": {"name": "S"}}, "name a key attribute"),
    "a type that is none of a key": ({"types": {"pk": "BOOL"}}, '"S", "N" or "B"'),
    "a kind in the key": ({"discriminator": "sk"}, "discriminator=Prefix\\('sk'\\)"),
    "a prefix of a number": ({"discriminator": Prefix("sk"), "types": {"sk": "N"}}, "which is not text"),
    "an empty name": ({"partition_key": ""}, "names an attribute of 1 to 255 bytes"),
    "a name of half a character": ({"partition_key": "\ud800"}, "names an attribute of 1 to 255 bytes"),
}


@pytest.mark.parametrize(("settings", "message"), WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_a_table_that_dynamodb_does_not_have_is_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ModelDefinitionError, match=f"Table\\('shop'\\): .*{message}"):
        shop(**settings)


def test_an_index_that_the_table_does_not_have_is_refused():
    with pytest.raises(ModelDefinitionError, match="has no index 'x'; its indexes are gsi1"):
        shop(indexes=(GlobalIndex("gsi1", partition_key="a"),)).index("x")


def keyed(table: Table, name: str, pk: str, sk: str, base: type[Model] = Model) -> type[Model]:
    """Return a model of a table whose keys are made by these templates."""
    types = {
        "id": Attr[str],
        "number": Attr[int],
        "size": Attr[Literal["S", "M"]],
        "pk": PartitionKey[str],
        "sk": SortKey[str],
    }
    fields = {"pk": template(pk), "sk": template(sk)}
    namespace = {"__module__": __name__, "__qualname__": name, "__annotations__": types, **fields}
    return type(Model)(name, (base,), namespace, table=table, kind=name)


COLLIDING = {
    "constants": ("customer#{id}", "profile", True),
    "parts of the same kind": ("customer#{id}", "{number:06d}", True),
    "text that could look like the number": ("customer#{id}", "{id}", True),
    "another constant": ("customer#{id}", "order#{number:06d}", False),
    "numbers of another width": ("customer#{id}", "{number:08d}", False),
    "one of a few texts, none of them a number": ("customer#{id}", "{size}", False),
}


@pytest.mark.parametrize(("pk", "sk", "alike"), COLLIDING.values(), ids=COLLIDING)
def test_models_whose_keys_are_made_alike_are_refused(pk: str, sk: str, alike: bool):
    table = shop()
    keyed(table, "First", "customer#{id}", sk if sk == "profile" else "{number:06d}")
    if alike:
        with pytest.raises(ModelDefinitionError, match='Second.sk: can make the same keys.*as First.*"second#'):
            keyed(table, "Second", pk, sk)
    keyed(table, "Third", pk, "third#{id}" if alike else sk)
    assert [*table.models] == ["First", "Third"]


def test_a_family_may_have_its_keys_in_common():
    table = shop()
    base = keyed(table, "First", "customer#{id}", "profile")
    for name in ("Second", "Third"):
        assert keyed(table, name, "customer#{id}", "profile", base) is table.models[name]
