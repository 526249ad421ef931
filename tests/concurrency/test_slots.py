"""Slots: the more urgent first, and never all for what can wait."""

import asyncio

import pytest

from dynamap_async import Priority
from dynamap_async.executor.slots import Slots

INTERACTIVE, BATCH, BACKGROUND = Priority


def opened(total):
    slots = Slots()
    slots.open(total)
    return slots


def taken(slots, priority):
    """Take as many slots as there are for a priority; return how many."""
    number = 0
    while slots.try_take(priority):
        number += 1
    return number


def under_way(slots):
    """Let background work go on until it holds as many slots as it may; return how many."""
    held = taken(slots, BACKGROUND)
    line = [slots.reserve(BACKGROUND) for _ in range(100)]
    for _ in range(50):
        slots.release(BACKGROUND)
    for each in line:
        each.cancel()
    return held + sum(each.done() and not each.cancelled() for each in line) - 50


@pytest.mark.parametrize(
    ("total", "most"),
    [
        (1, {INTERACTIVE: 1, BATCH: 1, BACKGROUND: 1}),
        (2, {INTERACTIVE: 2, BATCH: 1, BACKGROUND: 1}),
        (10, {INTERACTIVE: 10, BATCH: 8, BACKGROUND: 5}),
        (64, {INTERACTIVE: 64, BATCH: 56, BACKGROUND: 32}),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "",
)
@pytest.mark.parametrize("priority", Priority)
async def test_what_is_less_urgent_never_holds_all_slots_unless_there_is_one(total, most, priority):
    slots = opened(total)
    held = under_way(slots) if priority is BACKGROUND else taken(slots, priority)
    assert held == most[priority]
    assert slots.try_take(INTERACTIVE) is (most[priority] < total)


async def test_batch_and_background_work_together_leave_slots_too():
    slots = opened(64)
    under_way(slots)
    assert taken(slots, BATCH) == 24
    assert slots.free == 8


async def test_background_work_begins_with_one_request_and_doubles_while_more_waits():
    slots = opened(64)
    assert taken(slots, BACKGROUND) == 1
    line = [slots.reserve(BACKGROUND) for _ in range(40)]
    at_once = [1]
    while at_once[-1] < 16:
        before = sum(each.done() for each in line)
        for _ in range(at_once[-1]):
            slots.release(BACKGROUND)
        at_once.append(sum(each.done() for each in line) - before)
    assert at_once == [1, 2, 4, 8, 16]


async def test_background_work_that_paused_begins_with_one_request_again():
    slots = opened(64)
    for _ in range(under_way(slots)):
        slots.release(BACKGROUND)
    assert taken(slots, BACKGROUND) == 1


async def test_what_is_more_urgent_gets_the_next_slot_whenever_it_came():
    slots = opened(1)
    assert slots.try_take()
    low, high = slots.reserve(BACKGROUND), slots.reserve(INTERACTIVE)
    slots.release()
    assert (low.done(), high.done()) == (False, True)
    slots.release()
    assert low.done()


async def test_what_waits_is_not_starved_by_what_is_more_urgent():
    slots = opened(1)
    slots.try_take()
    low = slots.reserve(BACKGROUND)
    for _ in range(10):
        urgent = slots.reserve()
        slots.release(BACKGROUND if low.done() else INTERACTIVE)
        if low.done():
            break
        assert urgent.done()
    assert low.done()


async def test_nobody_takes_a_slot_before_those_who_wait_for_one():
    slots = opened(2)
    slots.try_take()
    slots.try_take()
    waiting = slots.reserve()
    slots.release()
    assert waiting.done()
    assert not slots.try_take()


async def test_a_cancelled_wait_takes_no_slot():
    slots = opened(1)
    slots.try_take(BATCH)
    waiting = asyncio.create_task(slots.take(BATCH))
    await asyncio.sleep(0)
    slots.release(BATCH)
    waiting.cancel()
    await asyncio.wait((waiting,))
    assert slots.free == 1
    assert slots.try_take(BATCH)
