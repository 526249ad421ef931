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
    taken = 0
    while slots.try_take(priority):
        taken += 1
    assert taken == most[priority]
    assert slots.try_take(INTERACTIVE) is (taken < total)


async def test_batch_and_background_work_together_leave_slots_too():
    slots = opened(64)
    while slots.try_take(BACKGROUND):
        pass
    while slots.try_take(BATCH):
        pass
    assert slots.free == 8


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
