"""How what an answer reports is divided among the requests that shared the call."""

import pytest

from dynamap_async.executor.calls import Call, FinishedExchange, divide
from dynamap_async.executor.consumed import Spending, TableOrIndex
from dynamap_async.request import Request, Target, about_tables


def get(name, table="a"):
    target = Target({"id": {"S": name}}, f"{table} {name}")
    return Call(Request(operation="GetItem", body={}, table=table, target=target), [])


def put(size, table="a"):
    target = Target({"id": {"S": str(size)}}, f"{table} {size}", size)
    return Call(Request(operation="PutItem", body={}, table=table, target=target, writes=True), [])


def spent(halves, table="a", index=None, *, writes=False):
    return Spending(TableOrIndex(table, index, writes), halves)


def settled(carried, *reported, sizes=(), measure=lambda item: item["size"], **more):
    """Return the shares of each request, in order: (index, halves)."""
    request = Request(operation="Batch", body={}, **about_tables("ab"))
    parts = {
        each.request.target.identity: {"Item": {"size": size, "text": "x" * size}}
        for each, size in zip(carried, sizes, strict=False)
    }
    finished = FinishedExchange(request, carried, reported, measure, parts=parts, **more)
    shares = dict(finished.divided())
    return [[(each.place.index_name, each.halves) for each in shares.get(sending, [])] for sending in carried]


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (6, [1, 2, 3], [1, 2, 3]),
        (1, [1, 1, 1], [1, 0, 0]),
        (5, [1, 1, 1], [2, 2, 1]),
        (10, [3, 3, 1], [4, 4, 2]),
        (4, [0, 0], [2, 2]),
        (0, [1, 2], [0, 0]),
        (3, [], []),
    ],
)
def test_parts_are_whole_and_those_with_the_largest_remainder_get_the_rest(total, weights, parts):
    assert divide(total, weights) == parts


def test_a_single_request_takes_everything():
    assert settled([get("x")], spent(3), spent(4, index="i")) == [[(None, 3), ("i", 4)]]


def test_reads_are_weighed_by_the_blocks_of_their_items():
    assert settled([get("x"), get("y"), get("z")], spent(6), sizes=[100, 12_289, 4096]) == [
        [(None, 1)],
        [(None, 4)],
        [(None, 1)],
    ]


def test_a_key_that_has_no_item_takes_the_least():
    assert settled([get("x"), get("y")], spent(3), sizes=[8000]) == [[(None, 2)], [(None, 1)]]


def test_writes_are_weighed_by_what_is_written_on_the_table_and_its_indexes():
    assert settled([put(1), put(3000)], spent(8, writes=True), spent(4, index="i", writes=True)) == [
        [(None, 2), ("i", 1)],
        [(None, 6), ("i", 3)],
    ]


def test_the_units_of_a_table_are_those_of_its_items():
    assert settled([get("x"), get("x", "b")], spent(1), spent(5, "b")) == [[(None, 1)], [(None, 5)]]


def test_what_was_left_over_takes_nothing():
    batch = [get("x"), get("y")]
    assert settled(batch, spent(4), left_over=batch[:1]) == [[], [(None, 4)]]


def test_units_that_nothing_was_served_for_are_still_divided():
    batch = [get("x"), get("y")]
    assert settled(batch, spent(4), left_over=batch) == [[(None, 2)], [(None, 2)]]


def test_a_table_of_another_name_is_divided_among_all():
    assert settled([get("x"), get("y", "b")], spent(2, "arn:aws:dynamodb:::table/a")) == [[(None, 1)], [(None, 1)]]


def test_an_item_that_cannot_be_measured_does_not_break_the_answer():
    assert settled([get("x"), get("y")], spent(2), sizes=[9999, 1], measure=lambda item: item["no"]) == [
        [(None, 1)],
        [(None, 1)],
    ]
