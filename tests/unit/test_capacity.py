import pytest

from dynamap_async.capacity import index_write_units, page_read_units, read_units, write_units


@pytest.mark.parametrize(
    ("size", "eventual", "consistent", "transactional"),
    [(0, 0.5, 1, 2), (1, 0.5, 1, 2), (4096, 0.5, 1, 2), (4097, 1, 2, 4), (409_600, 50, 100, 200)],
)
def test_read_takes_its_units_for_every_4_kb_begun(size, eventual, consistent, transactional):
    assert read_units(size) == eventual
    assert read_units(size, consistent=True) == consistent
    assert read_units(size, transactional=True) == transactional


@pytest.mark.parametrize(
    ("total", "eventual", "consistent"), [(0, 0.5, 1), (4096, 0.5, 1), (8193, 1.5, 3), (1_048_576, 128, 256)]
)
def test_page_is_summed_before_it_is_rounded(total, eventual, consistent):
    assert page_read_units(total) == eventual
    assert page_read_units(total, consistent=True) == consistent


@pytest.mark.parametrize(
    ("size", "old_size", "units"),
    [(0, 0, 1), (1, 0, 1), (1024, 0, 1), (1025, 0, 2), (10, 2049, 3), (2049, 10, 3), (0, 5000, 5)],
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
