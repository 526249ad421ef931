"""Units from sizes: the rules of AWS's guide, and the examples that are published with their figures."""

import pytest

from dynamap_async.units import (
    Charge,
    index_write_units,
    items_per_page,
    page_read_units,
    query_read_units,
    read_units,
    write_units,
)

KB = 1024


@pytest.mark.parametrize(
    ("size", "eventual", "consistent", "transactional"),
    [
        (0, 0.5, 1, 2),
        (1, 0.5, 1, 2),
        (4096, 0.5, 1, 2),
        (4097, 1, 2, 4),
        (3.5 * KB, 0.5, 1, 2),
        (8 * KB, 1, 2, 4),
        (21 * KB, 3, 6, 12),
        (409_600, 50, 100, 200),
    ],
)
def test_read_takes_its_units_for_every_4_kb_begun(size, eventual, consistent, transactional):
    assert read_units(int(size)) == eventual
    assert read_units(int(size), consistent=True) == consistent
    assert read_units(int(size), transactional=True) == transactional


@pytest.mark.parametrize(
    ("total", "eventual", "consistent"),
    [(0, 0.5, 1), (4096, 0.5, 1), (8193, 1.5, 3), (2 * 21 * KB, 5.5, 11), (1_048_576, 128, 256)],
)
def test_page_is_summed_before_it_is_rounded(total, eventual, consistent):
    assert page_read_units(total) == eventual
    assert page_read_units(total, consistent=True) == consistent


@pytest.mark.parametrize(
    ("size", "items", "requests", "units"),
    [
        (100, 0, 1, 0.5),
        (100, 40, 1, 0.5),
        (100, 41, 1, 1),
        (KB, 1024, 1, 128),
        (KB, 1025, 2, 128.5),
        (409_600, 2, 1, 100),
        (409_600, 3, 2, 150),
        (3000, 700, 3, 257),
    ],
)
def test_query_is_charged_page_by_page(size, items, requests, units):
    assert max(1, -(-items // items_per_page(size))) == requests
    assert query_read_units(size, items) == units
    assert query_read_units(size, items, consistent=True) == 2 * units


@pytest.mark.parametrize(
    ("size", "old_size", "units"),
    [
        (0, 0, 1),
        (1, 0, 1),
        (1024, 0, 1),
        (1025, 0, 2),
        (10, 2049, 3),
        (2049, 10, 3),
        (0, 5000, 5),
        (21 * KB, 0, 21),
        (21 * KB + 1, 0, 22),
        (10, 21 * KB, 21),
        (0, 21 * KB, 21),
    ],
)
def test_write_takes_a_unit_for_every_kb_begun_of_the_larger_item(size, old_size, units):
    assert write_units(size, old_size) == units
    assert write_units(size, old_size, transactional=True) == 2 * units


@pytest.mark.parametrize(
    ("new", "old", "flags", "units"),
    [
        (None, None, {}, 0),
        (1500, None, {}, 2),
        (None, 2500, {}, 3),
        (1500, 1500, {"changed": False}, 0),
        (1500, 2500, {}, 3),
        (2500, 1500, {}, 3),
        (1500, 2500, {"key_changed": True}, 5),
    ],
)
def test_index_is_charged_for_how_its_entry_changes(new, old, flags, units):
    assert index_write_units(new, old, **flags) == units


# An article on DynamoDB works out how many items of 21 KB 150 units serve each second. It does not round up the blocks
# that a read takes, and calls transactional writes strongly consistent.
@pytest.mark.parametrize(
    ("units_of_one", "published", "served"),
    [
        (write_units(21 * KB, transactional=True), 3, 3),
        (write_units(21 * KB), 7, 7),
        (read_units(21 * KB, consistent=True), 28, 25),
        (read_units(21 * KB), 57, 50),
    ],
    ids=["transactional writes", "writes", "consistent reads", "eventually consistent reads"],
)
def test_published_example_of_21_kb_is_worked_out_as_the_service_charges(units_of_one, published, served):
    assert 150 // units_of_one == served
    assert served <= published


def test_charges_add_up_for_the_table_and_for_each_index():
    charge = Charge(table_halves=3, index_halves={"a": 2}) + Charge(table_halves=2, index_halves={"a": 2, "b": 1})
    assert charge == Charge(table_halves=5, index_halves={"a": 4, "b": 1})
    assert (charge.table_units, charge.index_units, charge.units) == (2.5, {"a": 2, "b": 0.5}, 5)
    assert sum([charge, charge], Charge()).halves == 2 * charge.halves


def test_bytes_of_vector_indexes_are_added_and_are_no_units():
    charge = Charge(table_halves=2, vector_bytes={"a": 1024}) + Charge(vector_bytes={"a": 1, "b": 2})
    assert charge == Charge(table_halves=2, vector_bytes={"a": 1025, "b": 2})
    assert charge.units == 1
