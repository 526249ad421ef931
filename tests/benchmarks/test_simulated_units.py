"""The simulated table's arithmetic gives the figures of AWS's guide; the library's own is tested elsewhere."""

import pytest

from benchmarks.simulated import units
from benchmarks.simulated.sizes import item_bytes, number_bytes


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"shirt-color": {"S": "R"}, "shirt-size": {"S": "M"}}, 23),  # the guide's own example
        ({"pk": {"S": "user#1"}, "n": {"N": "42"}, "ok": {"BOOL": True}}, 14),
        ({"pk": {"S": "é"}, "price": {"N": "-19.99"}}, 13),
        ({"pk": {"S": "a"}, "tags": {"SS": ["x", "yy"]}}, 10),
        ({"pk": {"S": "a"}, "l": {"L": [{"S": "ab"}, {"N": "7"}]}}, 13),
        ({"pk": {"S": "a"}, "m": {"M": {"k": {"S": "v"}, "z": {"L": []}}}}, 15),
        ({"pk": {"S": "a"}, "e": {"S": ""}, "b": {"B": "AAEC"}}, 8),
        ({"pk": {"S": "k"}, "data": {"S": "x" * 1017}}, 1024),
        ({"pk": {"S": "a"}, "n": {"NULL": True}, "ns": {"NS": ["7", "123"]}, "bs": {"BS": ["AA=="]}}, 15),
    ],
    ids=["guide", "number", "umlaut", "set", "list", "map", "empty", "one-kilobyte", "sets"],
)
def test_an_item_has_the_size_of_its_names_and_values(item, size):
    assert item_bytes(item) == size


@pytest.mark.parametrize(
    ("number", "size"),
    [
        ("0", 1),
        ("-0", 1),
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
        ("1E125", 2),
        ("-42", 3),
        ("9" * 38, 20),
    ],
)
def test_a_number_has_the_size_that_was_measured_at_the_service(number, size):
    assert number_bytes(number) == size


@pytest.mark.parametrize(
    ("size", "how", "taken"),
    [
        (0, "eventual", 0.5),
        (4096, "eventual", 0.5),
        (4097, "eventual", 1.0),
        (4096, "consistent", 1.0),
        (8 * 1024, "consistent", 2.0),  # the guide: 8 KB need two units
        (8 * 1024, "eventual", 1.0),  # and one, if eventually consistent
        (int(3.5 * 1024), "consistent", 1.0),
        (40 * 4 * 1024, "eventual", 20.0),
    ],
)
def test_a_read_takes_half_a_unit_for_4_kilobytes(size, how, taken):
    assert units.read(size, how) == taken


@pytest.mark.parametrize(
    ("new", "old", "taken"),
    [
        (1, None, 1.0),
        (1024, None, 1.0),
        (1025, None, 2.0),
        (500, 1500, 2.0),  # the larger of both
        (None, 2 * 1024, 2.0),
        (None, None, 1.0),  # deleting what is not there
        (400 * 1024, None, 400.0),
    ],
)
def test_a_write_takes_a_unit_for_each_kilobyte_of_the_larger_item(new, old, taken):
    assert units.written(new, old) == taken


@pytest.mark.parametrize(
    ("new", "old", "moved", "same", "taken"),
    [
        (None, None, False, False, 0.0),
        (1500, None, False, False, 2.0),
        (None, 1500, False, False, 2.0),
        (1500, 1500, False, True, 0.0),
        (500, 1500, False, False, 2.0),
        (500, 1500, True, False, 3.0),
    ],
    ids=["absent", "new", "gone", "unchanged", "changed", "moved"],
)
def test_an_index_takes_what_happens_to_its_entry(new, old, moved, same, taken):
    assert units.entry_written(new, old, moved=moved, same=same) == taken
