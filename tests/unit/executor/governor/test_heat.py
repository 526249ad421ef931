"""Hot partitions: what takes much is known, in bounded memory, and held to its own limit."""

import pytest

from dynamap_async import CapacityPolicy, Priority
from dynamap_async.executor.governor.governor import Governor
from dynamap_async.executor.governor.heat import Heat, Partition, partition_of
from dynamap_async.request import Request, Target

HOT = Partition("t", "ada", True)


def put(key, size=1000):
    wire = {"user": {"S": key}, "n": {"N": "1"}}
    return Request(operation="PutItem", body={}, table="t", target=Target(wire, key, size), writes=True)


@pytest.mark.parametrize(
    ("request_", "partition"),
    [
        (put("ada"), HOT),
        (Request(operation="Query", body={}, table="t"), None),
        (Request(operation="PutItem", body={}, table="t", target=Target({}, "")), None),
    ],
    ids=["an item", "a page", "no key yet"],
)
def test_a_partition_is_that_of_the_item(request_, partition):
    assert partition_of(request_) == partition


def test_a_steady_rate_is_told_and_forgotten_afterwards():
    heat = Heat()
    for step in range(2000):
        rate = heat.add(HOT, 5.0, step * 0.01)
    assert rate == pytest.approx(500, rel=0.05)
    assert heat.add(HOT, 0.0, 40.0) < 1


def test_of_many_partitions_the_hot_ones_are_remembered():
    heat = Heat()
    for step in range(10_000):
        heat.add(Partition("t", str(step), True), 1.0, step * 0.001)
        rate = heat.add(HOT, 1.0, step * 0.001)
    assert rate == pytest.approx(1000, rel=0.05)
    assert len(heat._rates) <= 2000


def governed():
    made = Governor(CapacityPolicy())
    made.know("t", {(None, True): 40_000.0}, 0.0)
    return made


def test_one_partition_gets_no_more_than_it_serves_and_others_what_the_table_has():
    made = governed()
    hot, cold = [], []
    for step in range(500):
        now = 1 + step * 0.005
        made.admit(now)
        for key, tickets in (*[("ada", hot)] * 10, (f"user {step}", cold)):
            tickets.append(made.ticket(put(key), Priority.INTERACTIVE, now))
            made.ask(tickets[-1], now)
    assert all(ticket.admitted_at is not None for ticket in cold)
    assert 2500 < sum(ticket.admitted_at is not None for ticket in hot) < 3700


def test_a_refused_partition_does_not_slow_the_table_down():
    made = governed()
    ticket = made.ticket(put("ada"), Priority.INTERACTIVE, 1.0)
    made.ask(ticket, 1.0)
    made.refuse_partition(HOT, ticket, 1.0)
    assert made.bucket(next(iter(ticket.estimate.units)), 1.0).pace.rate == 40_000
    assert len(made.ticket(put("ada"), Priority.INTERACTIVE, 1.0).needs) == 2
    assert len(made.ticket(put("bob"), Priority.INTERACTIVE, 1.0).needs) == 1
