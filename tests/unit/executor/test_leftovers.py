"""Why a batch left items over: its answer was full, or capacity was short."""

import pytest

from dynamap_async.executor.batches import unread, unwritten
from dynamap_async.request import Request, Target, identity_of

KB = 1024
TABLE = "readings"


def key(partition, sort):
    return {"sensor": {"S": partition}, "at": {"N": str(sort)}}


def request(partition, sort):
    keys = key(partition, sort)
    target = Target(keys, identity_of(TABLE, keys))
    return Request(operation="GetItem", body={"TableName": TABLE, "Key": keys}, table=TABLE, target=target)


def answer(found, left):
    """Return an answer with items, each given as partition, sort value and size, and with keys that are left over."""
    items = [{**key(partition, sort), "pad": {"S": "x" * size}} for partition, sort, size in found]
    return {"Responses": {TABLE: items}, "UnprocessedKeys": {TABLE: {"Keys": [key(*each) for each in left]}}}


def spread(count, size):
    return [(f"p{n}", n, size) for n in range(count)]


@pytest.mark.parametrize(
    ("found", "left", "cut"),
    [
        (spread(41, 399 * KB), [("q", 1), ("r", 2)], [("q", 1), ("r", 2)]),
        (spread(40, 400 * KB), [("q", 1)], [("q", 1)]),
        (spread(38, 400 * KB), [("q", 1)], []),
        ([("p", n, 399 * KB) for n in range(2)], [("p", 8), ("q", 1)], [("p", 8)]),
        ([("p", n, 64 * KB) for n in range(10)], [("p", 88), ("q", 1)], [("p", 88)]),
        ([("p", n, 64 * KB) for n in range(9)], [("p", 88), ("q", 1)], []),
        ([("p", 1, 600), ("q", 1, 600)], [("p", 8), ("q", 8)], []),
        ([], [("p", 8)], []),
    ],
    ids=[
        "near 16 MB",
        "one item below 16 MB",
        "two items below 16 MB",
        "near 1 MB of one partition",
        "one item below 1 MB of one partition",
        "further below 1 MB of one partition",
        "far from both",
        "nothing was read",
    ],
)
def test_what_a_full_answer_left_over_is_no_throttling(found, left, cut):
    asked = [request(*each[:2]) for each in [*found, *left]]
    leftovers = unread(asked, answer(found, left))
    identities = {each: identity_of(TABLE, key(*each)) for each in left}
    assert leftovers.cut == {identities[each] for each in cut}
    assert leftovers.throttled == {identities[each] for each in left if each not in cut}


def test_leftovers_are_known_by_their_keys_in_any_order_and_spelling():
    keys = {"at": {"N": "1.0"}, "sensor": {"S": "p"}}
    leftovers = unread([request("p", 1)], {"UnprocessedKeys": {TABLE: {"Keys": [keys]}}})
    assert leftovers.all == {request("p", 1).target.identity}


def test_what_a_batch_of_writes_left_over_is_throttled():
    asked = [request("p", n) for n in range(3)]
    entries = [{"PutRequest": {"Item": {**key("p", 0), "v": {"N": "1"}}}}, {"DeleteRequest": {"Key": key("p", 2)}}]
    leftovers = unwritten(asked, {"UnprocessedItems": {TABLE: entries}})
    assert leftovers.throttled == {asked[0].target.identity, asked[2].target.identity}
    assert leftovers.cut == set()
