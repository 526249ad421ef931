"""Laws of capacity units: larger never costs less, pages never more than their items, indexes only what changes."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, attr
from dynamap_async.capacity import index_entry, item_size, page_charge, read_charge, write_charge
from dynamap_async.codec import encode_any, number_size, value_size
from dynamap_async.units import (
    index_write_half_units,
    items_per_page,
    query_half_units,
    read_half_units,
    write_half_units,
)

SIZES = st.integers(0, 409_600)
ANY_CONSISTENCY = st.fixed_dictionaries({"consistent": st.booleans(), "transactional": st.booleans()})
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
CITIES = st.sampled_from([None, "Oslo", "Rome"])


class Place(Model, table="places"):
    id: PartitionKey[str]
    city: Attr[str | None] = attr(default=None)
    kind: Attr[str | None] = attr(default=None)
    text: Attr[str] = attr(default="")

    by_city = GlobalIndex(partition_key="city", projection=KEYS_ONLY)
    by_kind = GlobalIndex(partition_key="kind")


PLACES = st.builds(
    lambda city, kind, text, times: Place(id="p", city=city, kind=kind, text=text * times),
    CITIES,
    CITIES,
    TEXTS,
    st.sampled_from([1, 30, 300]),
)


@given(SIZES, SIZES, ANY_CONSISTENCY)
def test_larger_item_never_costs_less(one, other, consistency):
    small, large = sorted([one, other])
    assert read_half_units(small, **consistency) <= read_half_units(large, **consistency)
    assert write_half_units(small) <= write_half_units(large)


@given(SIZES)
def test_kinds_of_reads_and_writes_differ_by_their_factors(size):
    assert read_half_units(size, consistent=True) == 2 * read_half_units(size)
    assert read_half_units(size, transactional=True) == 2 * read_half_units(size, consistent=True)
    assert write_half_units(size, transactional=True) == 2 * write_half_units(size)


@given(SIZES, SIZES)
def test_write_costs_the_larger_of_the_items_before_and_after(old, new):
    assert write_half_units(new, old) == write_half_units(old, new)
    assert write_half_units(new, old) == max(write_half_units(old), write_half_units(new))


@given(st.lists(SIZES, min_size=1, max_size=20), st.booleans())
def test_page_never_costs_more_than_its_items_read_one_by_one(sizes, consistent):
    page = read_half_units(sum(sizes), consistent=consistent)
    alone = sum(read_half_units(size, consistent=consistent) for size in sizes)
    assert page <= alone < page + 2 * len(sizes)


@given(st.integers(1, 409_600), st.integers(0, 5000), st.booleans())
def test_query_costs_what_its_pages_cost(size, items, consistent):
    pages = [items_per_page(size)] * (items // items_per_page(size))
    if items % items_per_page(size) or not items:
        pages.append(items % items_per_page(size))
    total = sum(read_half_units(page * size, consistent=consistent) for page in pages)
    assert query_half_units(size, items, consistent=consistent) == total


@given(st.none() | SIZES, st.none() | SIZES, st.booleans(), st.booleans())
def test_index_is_never_charged_more_than_for_a_delete_and_a_put(new, old, key_changed, changed):
    halves = index_write_half_units(new, old, key_changed=key_changed, changed=changed)
    most = sum(write_half_units(size) for size in (new, old) if size is not None)
    assert 0 <= halves <= most


@given(st.none() | PLACES, st.none() | PLACES)
def test_write_and_its_reverse_cost_the_same(before, after):
    assert write_charge(Place, before, after) == write_charge(Place, after, before)


@given(PLACES)
def test_write_that_changes_nothing_costs_the_table_alone(place):
    charge = write_charge(Place, place, place)
    assert charge.index_halves == {}
    assert charge.halves == write_half_units(item_size(place))


@given(st.none() | PLACES, st.none() | PLACES)
def test_transaction_doubles_the_table_and_no_index(before, after):
    single, transacted = (write_charge(Place, before, after, transactional=each) for each in (False, True))
    assert transacted.table_halves == 2 * single.table_halves
    assert transacted.index_halves == single.index_halves


@given(PLACES)
def test_index_entry_is_never_larger_than_its_item(place):
    for index in ("by_city", "by_kind"):
        entry = index_entry(Place, index, place)
        assert entry is None or item_size(entry) <= item_size(place)


@given(st.lists(PLACES, max_size=5), st.booleans())
def test_page_costs_as_much_as_one_item_of_its_size(places, consistent):
    total = sum(map(item_size, places))
    assert page_charge(Place, places, consistent=consistent).halves == read_half_units(total, consistent=consistent)


@given(PLACES, ANY_CONSISTENCY)
def test_instance_and_wire_item_cost_the_same(place, consistency):
    wire = {name: encode_any(value) for name, value in place.model_dump().items() if value is not None}
    assert read_charge(place, **consistency) == read_charge(wire, **consistency)


@given(TEXTS, TEXTS)
def test_text_has_the_size_of_its_utf_8_form(one, other):
    size = value_size({"S": one + other})
    assert size == len((one + other).encode()) == value_size({"S": one}) + value_size({"S": other})


@given(st.integers(0, 10**38 - 1))
def test_sign_of_a_number_costs_a_byte_and_a_power_of_ten_none(number):
    assert number_size(str(-number)) == number_size(str(number)) + (number != 0)
    assert number_size(str(number * 1000)) == number_size(str(number))
    assert number_size(str(Decimal(number))) <= 21
