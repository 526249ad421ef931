"""A read that nothing else travels with is sent by its caller's own task; what came in its tick is not forgotten."""

import asyncio

import pytest

from dynamap_async.errors import InternalServerError, SessionClosedError


@pytest.fixture
def served(transport, service):
    service.fill(3)
    transport.otherwise = service
    return service


def operations(transport):
    return [request.operation for request in transport.requests]


async def together(*awaitables):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in awaitables]
    return [task.result() for task in tasks]


async def test_a_read_alone_starts_no_task(transport, served, open_session, model):
    sending = []

    def answer(request):
        sending.append(asyncio.current_task())
        return served(request)

    transport.script(answer)
    async with open_session() as session:
        found = await session.get(model, "s", 1)
    assert found.at == 1
    assert sending == [asyncio.current_task()]


@pytest.mark.parametrize("ticks", [0, 1, 2])
async def test_who_is_cancelled_in_the_tick_of_asking_leaves_the_others_their_answers(
    transport, served, open_session, model, ticks
):
    transport.latency = 1.0
    async with open_session() as session:
        left = asyncio.create_task(session.get(model, "s", 0))
        for _ in range(ticks):
            await asyncio.sleep(0)
        left.cancel()
        assert (await session.get(model, "s", 1)).at == 1
        assert (await session.get(model, "s", 2)).at == 2
        with pytest.raises(asyncio.CancelledError):
            await left
        assert session.statistics().queued == 0
        assert session.statistics().in_flight == 0


@pytest.mark.counts_turns
async def test_who_is_cancelled_alone_in_the_tick_of_asking_sends_nothing(transport, served, open_session, model):
    async with open_session() as session:
        left = asyncio.create_task(session.get(model, "s", 0))
        await asyncio.sleep(0)  # it has asked
        left.cancel()
        await asyncio.wait((left,))
        assert left.cancelled()
        assert session.statistics().queued == 0
    assert transport.requests == []


async def test_a_second_reader_of_the_key_in_the_same_tick_shares_the_request_of_the_first(
    transport, served, open_session, model
):
    async with open_session() as session:
        first, second = await together(session.get(model, "s", 0), session.get(model, "s", 0))
    assert operations(transport) == ["GetItem"]
    assert first == second
    assert first is not second


async def test_a_second_reader_of_the_key_keeps_its_answer_when_the_first_leaves(
    transport, served, open_session, model
):
    async with open_session() as session:
        first = asyncio.create_task(session.get(model, "s", 0))
        second = asyncio.create_task(session.get(model, "s", 0))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).at == 0
    assert first.cancelled()
    assert operations(transport) == ["GetItem"]


async def test_reads_of_two_consistencies_in_one_tick_are_both_sent(transport, served, open_session, model):
    async with open_session() as session:
        found = await together(
            session.get(model, "s", 0), session.get(model, "s", 1, consistent_read=True), session.get(model, "s", 2)
        )
    assert [item.at for item in found] == [0, 1, 2]
    assert sorted(operations(transport)) == ["BatchGetItem", "GetItem"]


async def test_a_read_alone_is_sent_again_after_a_failure(transport, served, open_session, model):
    transport.script(
        InternalServerError(
            "oops", service_code="InternalServerError", operation="GetItem", table="readings", status=500
        )
    )
    async with open_session() as session:
        assert (await session.get(model, "s", 0)).at == 0
        assert session.statistics().retries == 1
    assert operations(transport) == ["GetItem", "GetItem"]


@pytest.mark.parametrize("ticks", [0, 1, 2, 3])
async def test_closing_gives_a_read_alone_up_and_leaves_its_task_uncancelled(
    transport, served, open_session, model, ticks
):
    transport.latency = 5.0
    session = open_session()
    await session.__aenter__()
    reader = asyncio.create_task(session.get(model, "s", 0))
    for _ in range(ticks):
        await asyncio.sleep(0)
    await session.close()
    with pytest.raises(SessionClosedError):
        await reader
    assert reader.cancelling() == 0
    assert transport.under_way == 0


async def test_a_read_whose_caller_is_cancelled_before_it_is_sent_is_not_sent_with_others(
    transport, served, open_session, model
):
    async with open_session() as session:
        first, second = (asyncio.create_task(session.get(model, "s", number)) for number in range(2))
        asyncio.get_running_loop().call_soon(first.cancel)  # when both have asked, and nothing was sent
        assert (await second).at == 1
        assert first.cancelled()
    assert [request.target.key["at"] for request in transport.requests] == [{"N": "1"}]


@pytest.mark.parametrize("equal", [True, False], ids=["an equal one", "another one"])
async def test_a_read_that_is_closed_in_the_tick_of_asking_does_not_hold_up(
    transport, served, open_session, model, equal
):
    async with open_session() as session:
        left = session.get(model, "s", 0)
        left.send(None)  # it has asked
        other = asyncio.create_task(session.get(model, "s", 0 if equal else 1))
        await asyncio.sleep(0)
        left.close()
        assert (await other).at == (0 if equal else 1)
        assert (await session.get(model, "s", 2)).at == 2
        assert session.statistics().queued == 0
    assert operations(transport) == ["GetItem", "GetItem"]


async def test_a_read_that_is_closed_alone_in_the_tick_of_asking_sends_nothing(transport, served, open_session, model):
    async with open_session() as session:
        left = session.get(model, "s", 0)
        left.send(None)  # it has asked
        left.close()
        assert (await session.get(model, "s", 1)).at == 1
        assert session.statistics().queued == 0
    assert operations(transport) == ["GetItem"]


async def test_a_read_alone_that_finds_no_slot_free_shares_the_next_call(transport, served, open_session, model):
    transport.latency, transport.max_connections = 1.0, 1
    async with open_session() as session:
        before = asyncio.create_task(session.get(model, "s", 0))
        await asyncio.sleep(0.5)
        reads = [asyncio.create_task(session.get(model, "s", 1))]
        await asyncio.sleep(0.1)
        reads.append(asyncio.create_task(session.get(model, "s", 2)))
        assert [(await each).at for each in (before, *reads)] == [0, 1, 2]
    assert operations(transport) == ["GetItem", "BatchGetItem"]
