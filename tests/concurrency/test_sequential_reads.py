"""Reads that wait for each other without need are found, with the line that awaits them; others are left alone."""

import asyncio
import inspect
import warnings

import pytest

from dynamap_async.errors import ConfigurationError
from dynamap_async.session import SequentialReads, SequentialReadsWarning

HERE = __file__


@pytest.fixture
def served(transport, service):
    service.fill(20)
    transport.otherwise, transport.latency = service, 0.01
    return transport


async def one_by_one(session, model, count):
    for number in range(count):
        await session.get(model, "s", number)  # the line


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


async def test_the_awaiting_line_is_told_once(served, open_session, model):
    observer = SequentialReads(reads=3)
    async with open_session(observer=observer) as session:
        with pytest.warns(SequentialReadsWarning) as caught:
            await in_two_scopes(session, model)
    (told,) = caught
    line = line_of(one_by_one, "# the line")
    assert (told.filename, told.lineno) == (HERE, line)
    assert str(told.message).startswith("in scope 'GET /feed', 3 items of readings were read here one after the other;")
    (found,) = observer.found
    assert (found.scope, found.filename, found.line, found.table, found.reads) == (
        "GET /feed",
        HERE,
        line,
        "readings",
        3,
    )


async def in_two_scopes(session, model):
    for _ in range(2):
        async with session.scope("GET /feed"):
            await one_by_one(session, model, 5)


async def few(session, model):
    await one_by_one(session, model, 2)


async def together(session, model):
    async with asyncio.TaskGroup() as group:
        for number in range(9):
            group.create_task(session.get(model, "s", number))


async def in_tasks_of_ones_own(session, model):
    async def one(number):
        await session.get(model, "s", number)

    await one(0)
    async with asyncio.TaskGroup() as group:
        for number in range(9):
            group.create_task(one(number))


async def gathered(session, model):
    await session.gather(*(session.get(model, "s", number) for number in range(9)))


async def many(session, model):
    await session.get_many(model, [("s", number) for number in range(9)])


async def loaded(session, model):
    await session.loader(model).load_many([("s", number) for number in range(9)])


async def polling(session, model):
    for _ in range(9):
        await session.get(model, "s", 1)
        await asyncio.sleep(1)


async def different_lines(session, model):
    await session.get(model, "s", 1)
    await session.get(model, "s", 2)
    await session.get(model, "s", 3)


async def writes(session, model):
    for number in range(9):
        await session.put(model(sensor="s", at=number))


async def a_scope_for_each(session, model):
    for number in range(9):
        async with session.scope("job"):
            await session.get(model, "s", number)


INNOCENT = [
    few,
    together,
    in_tasks_of_ones_own,
    gathered,
    many,
    loaded,
    polling,
    different_lines,
    writes,
    a_scope_for_each,
]


@pytest.mark.parametrize("work", INNOCENT, ids=lambda work: work.__name__)
async def test_what_cannot_be_gathered_or_is_so_already_is_left_alone(served, open_session, model, work):
    observer = SequentialReads(reads=3)
    async with open_session(observer=observer) as session, session.scope("handler"):
        await work(session, model)
    assert observer.found == ()


async def test_outside_of_scopes_nothing_is_looked_for(served, open_session, model):
    observer = SequentialReads(reads=3)
    async with open_session(observer=observer) as session:
        await one_by_one(session, model, 9)
    assert observer.found == ()


async def test_nothing_is_kept_of_reads_that_have_ended(served, open_session, model):
    observer = SequentialReads(reads=99)
    async with open_session(observer=observer) as session, session.scope("handler"):
        await one_by_one(session, model, 3)
        task = asyncio.create_task(one_by_one(session, model, 3))
        await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.wait([task])
    assert observer._waiting == {}


async def one_by_one_elsewhere(session, model):
    for number in range(5):
        await session.get(model, "s", number)  # another line


async def test_a_warning_that_is_an_error_breaks_no_read_and_each_line_is_logged(served, open_session, model, caplog):
    observer = SequentialReads(reads=3)
    async with open_session(observer=observer) as session:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            async with session.scope("handler"):
                await one_by_one(session, model, 5)
                await one_by_one_elsewhere(session, model)
    assert [record.getMessage() for record in caplog.records] == [
        f"SequentialReadsWarning: {HERE}:{found.line} reads 3 items of readings one after the other, and waits for each"
        for found in observer.found
    ]
    assert len(observer.found) == 2


def test_one_read_follows_no_other():
    with pytest.raises(ConfigurationError, match="reads=1"):
        SequentialReads(reads=1)
