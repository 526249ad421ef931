"""Hot partitions: what takes much is known, in bounded memory, and held to its own limit."""

import gc
import math

import pytest

from dynamap_async import CapacityPolicy, Priority
from dynamap_async.executor.pacing.governor import Governor
from dynamap_async.executor.pacing.heat import Heat, Partition, partition_of
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
    assert len(heat) <= 2000


def test_a_rate_is_the_same_after_any_time():
    heat, at = Heat(), 1e6
    for _ in range(3):  # the sums are begun anew now and then, for they grow with the time
        at += 1e5
        assert heat.add(HOT, 10.0, at) == pytest.approx(5.0)
        assert heat.add(HOT, 0.0, at + 2.0) == pytest.approx(5.0 / math.e)
    for step in range(1000):
        rate = heat.add(HOT, 1.0, at + step)
    assert rate == pytest.approx(0.5 / (1 - math.exp(-0.5)), rel=0.01)


def test_what_is_taken_of_many_partitions_leaves_nothing_for_the_garbage_collector():
    heat = Heat()
    heat.add(HOT, 1.0, 0.0)
    gc.collect()
    before = len(gc.get_objects())
    for step in range(1500):
        heat.add(Partition("t", str(step), True), 1.0, step * 0.001)
    assert len(gc.get_objects()) - before < 50


def test_reads_and_writes_of_a_key_and_equal_keys_of_two_tables_are_apart():
    heat = Heat()
    heat.add(HOT, 100.0, 1.0)
    assert heat.add(HOT._replace(writes=False), 2.0, 1.0) == pytest.approx(1.0)
    assert heat.add(HOT._replace(table="u"), 2.0, 1.0) == pytest.approx(1.0)


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
    for _ in range(50):
        made.refuse_partition(HOT, ticket, 1.0)
    assert made.bucket(next(iter(ticket.estimate.units)), 1.0).pace.rate == 40_000
    assert len(made.ticket(put("ada"), Priority.INTERACTIVE, 1.0).draws) == 2
    assert len(made.ticket(put("bob"), Priority.INTERACTIVE, 1.0).draws) == 1
