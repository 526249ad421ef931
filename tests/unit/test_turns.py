"""Large work goes on in slices, one in a turn of the event loop, whoever does it. The clock is the work's own."""

import asyncio
import contextvars
import gc
import weakref
from types import SimpleNamespace

import pytest

from dynamap_async.turns import WorkPace, in_turns, new_task, next_turn

pytestmark = pytest.mark.virtual_clock


class Work:
    """A clock that only work moves, and how much of it was done between two turns."""

    def __init__(self):
        self.now = 0.0
        self.turns = []

    def do(self, seconds):
        self.now += seconds

    async def watch(self):
        while True:
            begun = self.now
            await asyncio.sleep(0)
            self.turns.append(self.now - begun)


@pytest.fixture
def work(monkeypatch):
    work = Work()
    monkeypatch.setattr("dynamap_async.turns.time", SimpleNamespace(perf_counter=lambda: work.now))
    return work


async def longest_turn(work, *tasks):
    """Return the most work between two turns of a task that does nothing."""
    watching = asyncio.create_task(work.watch())
    await asyncio.sleep(0)
    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(task)
    await asyncio.sleep(0)
    watching.cancel()
    await asyncio.wait((watching,))
    return max(work.turns)


def steps(work, number, seconds):
    for _ in range(number):
        work.do(seconds)
        yield
    return number


async def test_work_in_turns_returns_its_result_and_raises_its_errors(work):
    def failing():
        yield
        raise ValueError("its own")

    assert await in_turns(steps(work, 50, 0.001)) == 50
    with pytest.raises(ValueError, match="its own"):
        await in_turns(failing())


@pytest.mark.parametrize("tasks", [1, 8])
async def test_between_two_turns_there_is_one_slice_of_work_whoever_does_it(work, tasks):
    longest = await longest_turn(work, *(in_turns(steps(work, 40, 0.0009)) for _ in range(tasks)))
    assert longest == pytest.approx(0.0027)
    assert work.now == pytest.approx(tasks * 40 * 0.0009)


async def test_work_that_is_not_long_takes_one_turn(work):
    await longest_turn(work, in_turns(steps(work, 3, 0.0006)))
    assert [each for each in work.turns if each] == [pytest.approx(0.0018)]


async def test_who_paused_first_goes_on_first_and_one_in_each_turn(work):
    order = []

    async def pausing(name):
        for _ in range(3):
            await next_turn()
            work.do(1)
            order.append(name)

    assert await longest_turn(work, *map(pausing, "abc")) == 1
    assert order == [*"abcabcabc"]


async def test_who_is_cancelled_in_line_holds_nobody_up():
    order = []

    async def pausing(name):
        await next_turn()
        order.append(name)

    tasks = [asyncio.create_task(pausing(name)) for name in "abcd"]
    await asyncio.sleep(0)
    for number in (0, 2, 3):
        tasks[number].cancel()
    await asyncio.wait(tasks)
    await next_turn()
    assert order == ["b"]


async def test_who_is_cancelled_in_the_moment_of_its_turn_holds_nobody_up():
    first = asyncio.create_task(next_turn())
    second = asyncio.create_task(next_turn())
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # its turn has come, and it has not run
    first.cancel()
    await asyncio.wait((first, second))
    assert first.cancelled()
    assert not second.cancelled()


@pytest.mark.parametrize("factory", [None, getattr(asyncio, "eager_task_factory", None)])
def test_a_new_task_begins_in_the_next_turn_whatever_tasks_the_loop_makes(virtual_clock, factory):
    seen = []

    async def work():
        seen.append(variable.get("none"))

    async def program():
        asyncio.get_running_loop().set_task_factory(factory)
        variable.set("the caller's")
        tasks = [new_task(work()), new_task(work(), contextvars.Context())]
        assert seen == []
        await asyncio.sleep(0)
        assert all(task.done() for task in tasks)

    variable = contextvars.ContextVar("variable")
    with asyncio.Runner(loop_factory=virtual_clock) as runner:
        runner.run(program())
    assert seen == ["the caller's", "none"]


def test_an_event_loop_is_not_kept_alive(virtual_clock):
    loop = virtual_clock()
    loop.run_until_complete(next_turn())
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("seconds", "sizes"),
    [
        (0.00001, [1, 8, 32, 32]),
        (0.00013, [1, 7, 7, 7]),
        (0.0004, [1, 2, 2, 2]),
        (0.05, [1, 1, 1, 1]),
    ],
)
async def test_so_many_items_are_done_at_once_as_take_about_1_ms(work, seconds, sizes):
    pace, seen = WorkPace(32), []
    pace.begin()
    for _ in sizes:
        seen.append(pace.items)
        work.do(seconds * pace.items)
        if pace.is_over(pace.items):
            await pace.pause()
    assert seen == sizes


async def test_a_rest_that_is_quick_says_nothing_of_more_items(work):
    pace = WorkPace(32)
    pace.begin()
    assert not pace.is_over(1)
    assert pace.items == 8
    assert not pace.is_over(1)
    assert pace.items == 8


async def test_a_wait_is_no_work(work):
    pace = WorkPace(1)
    pace.begin()
    work.do(1)
    pace.begin()
    work.do(0.001)
    assert not pace.is_over(1)
    work.do(0.0011)
    assert pace.is_over(1)


async def test_what_follows_in_the_same_turn_goes_on_with_the_same_slice(work):
    pace = WorkPace(32)
    for _ in range(2):
        pace.go_on()
        work.do(0.0011)
        over = pace.is_over(1)
        pace.rest()
    assert over


async def test_of_other_items_as_many_are_done_at_once_as_of_those_before_but_no_more_than_16(work):
    pace = WorkPace(32)
    for first in (1, 16):
        pace.go_on()
        assert pace.items == first
        for _ in range(3):
            pace.is_over(pace.items)
        assert pace.items == 32
        pace.rest()


async def test_what_follows_in_a_later_turn_begins_a_slice_of_its_own(work):
    pace = WorkPace(32)
    for _ in range(2):
        pace.go_on()
        assert pace.items == 1
        work.do(0.0011)
        assert not pace.is_over(1)
        pace.rest()
        await asyncio.sleep(0)
        work.do(1)  # of others


async def test_a_wait_before_the_first_items_is_no_work(work):
    pace = WorkPace(32)
    work.do(1)  # of others
    pace.go_on()
    work.do(0.0011)
    assert not pace.is_over(1)


async def test_what_becomes_of_a_result_is_not_in_the_turn_of_the_work(work):
    async def reading():
        await in_turns(steps(work, 2, 0.0009))
        work.do(0.002)

    assert await longest_turn(work, reading()) == pytest.approx(0.002)
