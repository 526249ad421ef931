"""A bound query is a coroutine to whatever runs coroutines, as often as it is asked."""

import asyncio
import inspect
from collections.abc import Coroutine
from importlib.metadata import version

import anyio
import pytest


@pytest.fixture
def ten(transport, table):
    transport.otherwise = table(10)
    return list(range(10))


async def _itself(query):
    return await query


async def _task(query):
    return await asyncio.create_task(query)


async def _task_group(query):
    async with asyncio.TaskGroup() as group:
        task = group.create_task(query)
    return task.result()


async def _gather(query):
    [result] = await asyncio.gather(query)  # noqa: TID251 - programs use it
    return result


async def _wait_for(query):
    return await asyncio.wait_for(query, 10)


async def _wait(query):
    done, _ = await asyncio.wait((asyncio.ensure_future(query),))
    return done.pop().result()


async def _shield(query):
    return await asyncio.shield(query)


async def _anyio(query):
    results = []

    async def run():
        results.append(await query)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
    return results[0]


async def _anyio_start_soon(query):
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: query)
    return await query


BEFORE_4_14 = tuple(int(part) for part in version("anyio").split(".")[:2]) < (4, 14)
FROM_4_14 = pytest.mark.skipif(BEFORE_4_14, reason="before anyio 4.14, task groups refuse a query as a coroutine")
WAYS = [_itself, _task, _task_group, _gather, _wait_for, _wait, _shield, _anyio]
WAYS += [pytest.param(_anyio_start_soon, marks=FROM_4_14)]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__.strip("_"))
async def test_a_query_is_taken_by_everything_that_runs_coroutines(open_session, readings, ten, way):
    async with open_session() as session:
        assert [item.at for item in await way(readings(session))] == ten


@pytest.mark.parametrize("first", WAYS, ids=lambda way: way.__name__.strip("_"))
@pytest.mark.parametrize("second", [_itself, _task, _wait_for], ids=lambda way: way.__name__.strip("_"))
async def test_a_query_can_be_awaited_again_in_any_way(open_session, readings, ten, first, second):
    async with open_session() as session:
        query = readings(session)
        assert [item.at for item in await first(query)] == [item.at for item in await second(query)] == ten


async def test_two_tasks_can_run_one_query_object_at_once(transport, open_session, readings, ten):
    transport.latency = 1.0
    async with open_session() as session:
        query = readings(session)
        tasks = [asyncio.create_task(query) for _ in range(3)]
        results = [await task for task in tasks]
    assert [[item.at for item in result] for result in results] == [ten] * 3


async def test_a_query_is_an_awaitable_coroutine_for_asyncio(open_session, readings):
    query = readings(open_session())
    assert isinstance(query, Coroutine)
    assert asyncio.iscoroutine(query)
    assert inspect.isawaitable(query)


async def test_a_query_that_is_dropped_warns_of_nothing(open_session, readings):
    async with open_session() as session:
        readings(session)


@pytest.mark.counts_turns
async def test_a_query_task_cancelled_before_it_runs_sends_nothing(transport, open_session, readings, ten):
    async with open_session() as session:
        query = readings(session)
        task = asyncio.create_task(query)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert transport.requests == []
        assert len(await query) == 10


async def test_a_query_task_cancelled_while_it_runs_leaves_nothing_under_way(transport, open_session, readings, ten):
    transport.latency = 1.0
    async with open_session() as session:
        query = readings(session)
        task = asyncio.create_task(query)
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert transport.under_way == 0
        assert len(await query) == 10


async def test_the_error_of_a_query_reaches_the_task_that_runs_it(transport, open_session, readings):
    transport.script(LookupError("broken"))
    async with open_session() as session:
        with pytest.raises(LookupError):
            await asyncio.create_task(readings(session))


def test_closing_a_query_that_never_ran_does_nothing(open_session, readings):
    readings(open_session()).close()


def test_run_coroutine_threadsafe_takes_a_query(transport, table, open_session, readings):
    transport.otherwise = table(10)

    async def main():
        async with open_session() as session:
            loop = asyncio.get_running_loop()
            query = readings(session)
            return await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(query, loop).result(10))

    assert len(asyncio.run(main())) == 10
