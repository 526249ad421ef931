"""What the items of a table are taken for before they are read."""

import pytest

from dynamap_async.executor.batches import UNKNOWN_BYTES, Sizes
from dynamap_async.limits import BATCH_ANSWER_BYTES, BATCH_GET_KEYS, ITEM_SIZE_BYTES


def items(*lengths):
    """Return items whose JSON has these lengths."""
    return [{"a": {"S": "x" * (length - len('{"a":{"S":""}}'))}} for length in lengths]


def learned(*reads):
    sizes = Sizes()
    for lengths in reads:
        sizes.learn("t", items(*lengths))
    return sizes.of("t")


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([], UNKNOWN_BYTES),
        ([[]], UNKNOWN_BYTES),
        ([[100]], 100),
        ([[100, 300]], 200),
        ([[100], [900]], 900),
        ([[900], [100]], 800),
        ([[900]] + [[100]] * 100, 100),
        ([[200_000] * 8 + [100] * 92], 200_000),
        ([[10**6]], ITEM_SIZE_BYTES),
    ],
    ids=[
        "nothing read",
        "nothing found",
        "one item",
        "the average",
        "rises at once",
        "falls by an eighth of the difference",
        "falls in the end",
        "a sample",
        "no item is larger than the limit",
    ],
)
def test_an_item_is_taken_for(reads, expected):
    assert learned(*reads) == expected


def test_tables_are_kept_apart():
    sizes = Sizes()
    sizes.learn("t", items(100_000))
    assert sizes.of("u") == UNKNOWN_BYTES


def test_a_full_call_of_a_table_that_was_not_read_fits():
    assert BATCH_GET_KEYS * UNKNOWN_BYTES <= BATCH_ANSWER_BYTES
