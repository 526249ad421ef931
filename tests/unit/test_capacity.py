"""Units from items: sizes to the byte, and what reads and writes of items take of a table and its indexes."""

import pytest

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, LocalIndex, Model, PartitionKey, SortKey, attr, include
from dynamap_async.capacity import index_entry, item_size, page_charge, read_charge, write_charge
from dynamap_async.errors import ItemTooLargeError, ModelDefinitionError
from dynamap_async.models import definition_of


class Order(Model, table="orders"):
    id: PartitionKey[str]
    number: SortKey[int]
    city: Attr[str | None] = attr(default=None)
    state: Attr[str] = attr(default="new")
    tags: Attr[set[str]] = attr(default_factory=set)
    text: Attr[str] = attr(default="", name="body")

    by_city = GlobalIndex(partition_key="city", projection=KEYS_ONLY)
    by_state = LocalIndex(sort_key="state", projection=include("tags"))


# The sizes that AWS's guide and the rules beside it give; the first is AWS's own example.
SIZES = [
    ({"shirt-color": {"S": "R"}, "shirt-size": {"S": "M"}}, 23),
    ({"pk": {"S": "user#1"}, "n": {"N": "42"}, "ok": {"BOOL": True}}, 14),
    ({"pk": {"S": "é"}, "price": {"N": "-19.99"}}, 13),
    ({"pk": {"S": "a"}, "tags": {"SS": ["x", "yy"]}}, 10),
    ({"pk": {"S": "a"}, "l": {"L": [{"S": "ab"}, {"N": "7"}]}}, 13),
    ({"pk": {"S": "a"}, "m": {"M": {"k": {"S": "v"}, "z": {"L": []}}}}, 15),
    ({"pk": {"S": "a"}, "e": {"S": ""}, "b": {"B": "AAEC"}}, 8),
    ({"pk": {"S": "k"}, "data": {"S": "x" * 1017}}, 1024),
    ({"pk": {"S": "k"}, "data": {"S": "x" * 1018}}, 1025),
    # Sizes of numbers that were measured at the service, each as the value of an attribute with a name of one byte.
    *(
        ({"n": {"N": text}}, 1 + size)
        for text, size in [
            ("0", 1),
            ("7", 2),
            ("42", 2),
            ("123", 3),
            ("12345", 4),
            ("100", 2),
            ("1010", 3),
            ("1.5", 3),
            ("3.14159", 5),
            ("100.5", 4),
            ("0.15", 2),
            ("-42", 3),
            ("1E125", 2),
            ("1" * 38, 20),
        ]
    ),
]


@pytest.mark.parametrize(("item", "size"), SIZES)
def test_size_counts_names_and_values_to_the_byte(item, size):
    assert item_size(item) == size


def test_instance_is_measured_as_it_is_stored():
    order = Order(id="o1", number=12, text="héllo", tags={"a", "bc"})
    # id 2+2, number 6+2, state 5+3, tags 4+3, body 4+6; city is None, and so absent.
    assert item_size(order) == 4 + 8 + 8 + 7 + 10
    assert item_size(order) == item_size(definition_of(Order).items.encode(order))


def test_instance_that_cannot_be_stored_has_no_size():
    with pytest.raises(ItemTooLargeError):
        item_size(Order(id="o1", number=1, text="x" * 409_600))


def test_one_byte_more_than_a_kilobyte_costs_a_unit_more():
    below, above = ({"pk": {"S": "k"}, "data": {"S": "x" * length}} for length in (1017, 1018))
    schema = definition_of(Order).table
    assert [write_charge(schema, None, item).table_units for item in (below, above)] == [1, 2]


def order(**values):
    return Order(**{"id": "o1", "number": 1, "city": "Oslo", "text": "x" * 2000, **values})


def test_index_holds_its_own_and_the_tables_keys_and_what_it_projects():
    item = order(tags={"a"})
    assert list(index_entry(Order, "by_city", item)) == ["id", "number", "city"]
    assert list(index_entry(Order, "by_state", item)) == ["id", "number", "state", "tags"]
    assert index_entry(Order, "by_city", order(city=None)) is None
    assert index_entry(Order, "by_city", None) is None
    with pytest.raises(KeyError):
        index_entry(Order, "by_colour", item)


@pytest.mark.parametrize(
    ("before", "after", "table", "indexes"),
    [
        pytest.param(None, None, 1, {}, id="delete of nothing"),
        pytest.param(None, order(), 2, {"by_city": 1, "by_state": 1}, id="new"),
        pytest.param(None, order(city=None), 2, {"by_state": 1}, id="new, not in every index"),
        pytest.param(order(), None, 2, {"by_city": 1, "by_state": 1}, id="delete"),
        pytest.param(order(), order(text="y"), 2, {}, id="only what no index projects"),
        pytest.param(order(), order(), 2, {}, id="unchanged"),
        pytest.param(order(tags={"a"}), order(tags={"b"}), 2, {"by_state": 1}, id="projected attribute"),
        pytest.param(order(), order(city="Rome"), 2, {"by_city": 2}, id="key of an index"),
        pytest.param(order(), order(city=None), 2, {"by_city": 1}, id="leaves an index"),
        pytest.param(order(city=None), order(), 2, {"by_city": 1}, id="joins an index"),
        pytest.param(order(), order(text="y" * 3000, state="sent"), 3, {"by_state": 2}, id="larger, and another key"),
    ],
)
def test_write_charges_the_table_and_each_index_whose_entry_changes(before, after, table, indexes):
    charge = write_charge(Order, before, after)
    assert (charge.table_units, charge.index_units) == (table, indexes)
    transacted = write_charge(Order, before, after, transactional=True)
    assert (transacted.table_units, transacted.index_units) == (2 * table, indexes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"SS": ["a", "b"]}, {"SS": ["b", "a"]}),
        ({"NS": ["1", "2"]}, {"NS": ["2.0", "1"]}),
        ({"N": "1"}, {"N": "1.0"}),
        ({"L": [{"M": {"x": {"BS": ["AA==", "AQ=="]}}}]}, {"L": [{"M": {"x": {"BS": ["AQ==", "AA=="]}}}]}),
    ],
)
def test_same_value_written_another_way_changes_no_index(old, new):
    key = {"id": {"S": "o"}, "number": {"N": "1"}, "state": {"S": "new"}}
    assert write_charge(Order, {**key, "tags": old}, {**key, "tags": new}).index_units == {}


@pytest.mark.parametrize(("old", "new"), [({"N": "1"}, {"BOOL": True}), ({"S": "1"}, {"N": "1"})])
def test_values_of_different_types_are_different(old, new):
    key = {"id": {"S": "o"}, "number": {"N": "1"}, "state": {"S": "new"}}
    assert write_charge(Order, {**key, "tags": old}, {**key, "tags": new}).index_units == {"by_state": 1}


def test_missing_item_takes_the_least_that_its_kind_of_read_can():
    assert read_charge(None).units == 0.5
    assert read_charge(None, consistent=True).units == 1
    assert read_charge(None, transactional=True).units == 2


def test_page_rounds_the_sum_and_a_batch_rounds_each_item():
    items = [order(number=number) for number in range(3)]
    assert page_charge(Order, items).units == 1
    assert sum(read_charge(item).units for item in items) == 1.5


def test_page_through_an_index_is_charged_to_it_for_its_entries():
    items = [order(number=number, text="x" * 5000) for number in range(3)]
    charge = page_charge(Order, items, index="by_city")
    assert (charge.table_units, charge.index_units) == (0, {"by_city": 0.5})
    assert page_charge(Order, [], index="by_city").index_units == {"by_city": 0.5}


def test_what_a_local_index_lacks_is_fetched_item_by_item():
    items = [order(number=number, text="x" * 5000) for number in range(3)]
    charge = page_charge(Order, items, index="by_state", consistent=True, fetched=True)
    assert (charge.table_units, charge.index_units) == (6, {"by_state": 1})


@pytest.mark.parametrize("settings", [{"consistent": True}, {"fetched": True}])
def test_global_index_is_never_read_consistently_and_fetches_nothing(settings):
    with pytest.raises(ValueError, match="'by_city' is a global index"):
        page_charge(Order, [], index="by_city", **settings)


def test_model_without_a_table_has_no_charges():
    class Part(Model):
        name: Attr[str]

    with pytest.raises(ModelDefinitionError, match="Part has no table"):
        write_charge(Part, None, {})
