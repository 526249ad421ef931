"""Which requests make up a call: in the order in which they came, no item twice, and no more than it may hold."""

import random

import pytest

from dynamap_async.executor.batches import Ready
from dynamap_async.executor.calls import Call, Waiter
from dynamap_async.request import Request, Target


class Gone:
    """A future of a waiter that has left, or of one that still waits."""

    def __init__(self, *, done=False):
        self._done = done

    def done(self):
        return self._done


def pending(number, *, weight=1, shares=True, wanted=True):
    target = Target({"id": {"N": str(number)}}, str(number), weight)
    request = Request(operation="GetItem", body={}, table="t", target=target, batchable=shares)
    return Call(request, [Waiter(Gone(done=not wanted), 0.0)])


def queued(*requests):
    ready = Ready()
    for each in requests:
        ready.append(each)
    return ready


def calls(ready, *, most=100, most_bytes=1000, alone=()):
    """Return the identities of each call, until the queue is empty."""
    taken = []
    while ready:
        call = ready.take(most, most_bytes, alone, lambda each: each.request.target.size_bytes)
        assert call.batch or call.withdrawn, "nothing was taken of a queue that is not empty"
        if call.batch:
            taken.append([int(each.identity) for each in call.batch])
    return taken


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([pending(n) for n in range(7)], [[0, 1, 2], [3, 4, 5], [6]]),
        ([pending(n, weight=400) for n in range(5)], [[0, 1], [2, 3], [4]]),
        ([pending(n, weight=500) for n in range(3)], [[0, 1], [2]]),
        ([pending(0, weight=400), pending(1, weight=700), pending(2, weight=1)], [[0], [1, 2]]),
        ([pending(0), pending(1, weight=5000), pending(2)], [[0], [1], [2]]),
        ([pending(0, weight=5000), pending(0, weight=5000)], [[0], [0]]),
        ([pending(0), pending(0), pending(1), pending(0)], [[0, 1], [0], [0]]),
        ([pending(0), pending(1, shares=False), pending(2)], [[0, 2], [1]]),
        ([pending(0, shares=False), pending(1), pending(2)], [[0], [1, 2]]),
        ([pending(0), pending(1, wanted=False), pending(2)], [[0, 2]]),
        ([pending(0, wanted=False)], []),
    ],
    ids=[
        "by number",
        "by weight",
        "as much as it may weigh",
        "a light one does not overtake a heavy one",
        "one alone is sent whatever it weighs",
        "also the same item twice",
        "of equal items each goes in a call of its own",
        "one that shares with none",
        "one that shares with none, first",
        "one that nobody wants",
        "nothing but what nobody wants",
    ],
)
def test_a_call_holds(requests, expected):
    assert calls(queued(*requests), most=3) == expected


@pytest.mark.parametrize("seed", range(30))
def test_the_first_in_line_is_in_the_next_call_whatever_comes_later(seed):
    chance = random.Random(seed)
    ready, later = queued(*(pending(n % 3) for n in range(6))), iter(range(6, 200))
    while ready:
        first = ready[0]
        call = ready.take(3, 1000, (), lambda each: each.request.target.size_bytes)
        assert call.batch[0] is first
        for number in (next(later, None) for _ in range(chance.randrange(4))):
            if number is not None:
                ready.append(pending(chance.choice([number, 1]), weight=chance.choice([1, 900, 2000])))


def test_what_is_sent_again_goes_before_what_came_later():
    ready = queued(pending(1), pending(2))
    ready.appendleft(pending(0))
    assert calls(ready) == [[0, 1, 2]]


def test_requests_to_a_table_that_is_sent_alone_share_no_call():
    assert calls(queued(pending(0), pending(1)), alone={"t"}) == [[0], [1]]
