"""What observers are told, in which order, with which numbers; and what the statistics then say."""

import asyncio
import contextvars
from collections import Counter

import pytest

from dynamap_async import (
    Attr,
    BatchPolicy,
    BatchSplit,
    Model,
    PartitionKey,
    RequestAnswered,
    RequestEnded,
    RequestQueued,
    RequestRetried,
    RequestSent,
    RetryPolicy,
    attr,
)
from dynamap_async.errors import (
    BatchError,
    ConnectionFailedError,
    DamagedResponseError,
    Outcome,
    RequestRejectedError,
    SessionClosedError,
    ThrottledError,
    UnprocessedError,
)

ONE_SECOND = RetryPolicy(base_delay_seconds=1.0, max_delay_seconds=1.0)


class Sensor(Model, table="sensors"):
    name: PartitionKey[str]
    place: Attr[str] = attr(default="")


@pytest.fixture
def events():
    return []


@pytest.fixture
def observed(open_session, events):
    """Return a function that makes a session whose events are collected."""
    return lambda **settings: open_session(observer=events.append, **settings)


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def kinds(events):
    return [type(event).__name__ for event in events]


def lost():
    return ConnectionFailedError("lost", outcome=Outcome.UNKNOWN, operation="GetItem", table="readings")


async def test_a_lone_read_is_queued_sent_answered_and_ended(transport, observed, events, model):
    transport.script({}).latency = 2.0
    async with observed() as session:
        await session.find(model, "s", 1)
    queued, sent, answered, ended = events
    assert kinds(events) == ["RequestQueued", "RequestSent", "RequestAnswered", "RequestEnded"]
    assert queued.waiter_id == ended.waiter_id
    assert sent.waiter_ids == answered.waiter_ids == (queued.waiter_id,)
    assert sent.exchange_id == answered.exchange_id
    assert (sent.operation, sent.tables, sent.attempt, sent.items) == ("GetItem", ("readings",), 1, 1)
    assert (answered.duration_seconds, answered.error) == (2.0, None)
    assert (ended.duration_seconds, ended.attempts, ended.error) == (2.0, 1, None)


async def test_a_batch_lists_who_waits_for_it_and_each_of_them_ends(transport, observed, events, service, model):
    transport.otherwise = service
    async with observed() as session, asyncio.TaskGroup() as group:
        for n in (1, 2, 2):
            group.create_task(session.find(model, "s", n))
        group.create_task(session.find(Sensor, "s"))
    (sent,) = of(RequestSent, events)
    assert (sent.operation, sent.tables, sent.items) == ("BatchGetItem", ("readings", "sensors"), 3)
    assert sorted(sent.waiter_ids) == [event.waiter_id for event in of(RequestQueued, events)] == [1, 2, 3, 4]
    assert sorted(event.waiter_id for event in of(RequestEnded, events)) == [1, 2, 3, 4]


@pytest.mark.parametrize(("shared", "told"), [(True, {None: 1}), (False, {"ada": 1, "bob": 1})], ids=["batch", "alone"])
async def test_an_event_of_a_caller_is_told_in_its_context_and_those_of_a_batch_in_none(
    transport, open_session, model, service, shared, told
):
    transport.otherwise = service
    caller = contextvars.ContextVar("caller", default=None)
    seen = []

    async def read(session, name, n):
        caller.set(name)
        await session.find(model, "s", n, coalesce=shared)

    def observe(event):
        seen.append((type(event).__name__, caller.get()))

    async with open_session(observer=observe) as session, asyncio.TaskGroup() as group:
        group.create_task(read(session, "ada", 1))
        group.create_task(read(session, "bob", 2))
    assert Counter(seen) == {
        ("RequestQueued", "ada"): 1,
        ("RequestQueued", "bob"): 1,
        ("RequestEnded", "ada"): 1,
        ("RequestEnded", "bob"): 1,
        **{("RequestSent", name): times for name, times in told.items()},
        **{("RequestAnswered", name): times for name, times in told.items()},
    }


async def test_a_retried_read_tells_of_the_failure_the_delay_and_the_next_attempt(
    transport, observed, events, throttled, model, no_jitter
):
    transport.script(throttled(), {})
    async with observed(retry=ONE_SECOND) as session:
        await session.find(model, "s", 1)
    assert kinds(events) == [
        "RequestQueued",
        *("RequestSent", "RequestAnswered", "RequestRetried"),
        *("RequestSent", "RequestAnswered"),
        "RequestEnded",
    ]
    first, second = of(RequestAnswered, events)
    assert (first.error, first.service_code, first.attempt) == (ThrottledError, "ThrottledError", 1)
    assert (second.error, second.attempt) == (None, 2)
    (retried,) = of(RequestRetried, events)
    assert (retried.error, retried.attempt, retried.delay_seconds, retried.items) == (ThrottledError, 1, 1.0, 1)
    assert (retried.exchange_id, retried.waiter_ids) == (first.exchange_id, (1,))
    assert of(RequestSent, events)[1].queued_seconds == 1.0
    assert of(RequestEnded, events)[0].attempts == 2


async def test_a_retried_page_tells_the_same(transport, observed, events, throttled, readings, no_jitter):
    transport.script(throttled(), {"Items": [], "Count": 0, "ScannedCount": 0})
    async with observed(retry=ONE_SECOND) as session:
        await readings(session)
    assert kinds(events) == [
        "RequestQueued",
        *("RequestSent", "RequestAnswered", "RequestRetried"),
        *("RequestSent", "RequestAnswered"),
        "RequestEnded",
    ]
    assert [event.attempt for event in of(RequestSent, events)] == [1, 2]
    (retried,) = of(RequestRetried, events)
    assert (retried.operation, retried.items, retried.delay_seconds) == ("Query", None, 1.0)


async def test_a_failed_request_tells_its_class_and_outcome_and_never_the_error(transport, observed, events, model):
    transport.script(lost())
    async with observed(retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(ConnectionFailedError):
            await session.find(model, "s", 1)
    answered, ended = events[-2:]
    assert (answered.error, answered.outcome, answered.service_code) == (ConnectionFailedError, Outcome.UNKNOWN, None)
    assert ended.error is ConnectionFailedError


async def test_what_a_batch_left_over_is_told_and_retried_for_those_who_wait_for_it(
    transport, observed, events, service, model
):
    service.limit = 2
    transport.otherwise = service
    async with observed(retry=ONE_SECOND) as session:
        await session.put_many([model(sensor="s", at=n) for n in range(3)])
    first, second = of(RequestAnswered, events)
    assert (first.operation, first.items, first.unprocessed) == ("BatchWriteItem", 3, 1)
    assert (second.operation, second.items, second.unprocessed) == ("PutItem", 1, 0)
    (retried,) = of(RequestRetried, events)
    assert (retried.operation, retried.error, retried.waiter_ids) == ("PutItem", UnprocessedError, second.waiter_ids)


async def test_a_refused_batch_tells_of_its_parts(transport, observed, events, refusal, service, model):
    transport.script(refusal(RequestRejectedError))
    transport.otherwise = service
    async with observed() as session:
        await session.get_many(model, [("s", n) for n in range(4)])
    assert kinds(events)[4:7] == ["RequestSent", "RequestAnswered", "BatchSplit"]
    (split,) = of(BatchSplit, events)
    assert (split.operation, split.tables, split.items, split.parts) == ("BatchGetItem", ("readings",), 4, 2)
    assert (split.error, split.waiter_ids) == (RequestRejectedError, (1, 2, 3, 4))
    assert [event.items for event in of(RequestSent, events)] == [4, 2, 2]


async def test_an_answer_that_cannot_be_read_ends_its_exchange_as_damaged(transport, observed, events, model):
    transport.script({"Responses": "nonsense"}, {"Item": 5})
    async with observed(retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(BatchError):
            await session.get_many(model, [("s", 1), ("s", 2)])
        with pytest.raises(DamagedResponseError):
            await session.find(model, "s", 3)
    answered = of(RequestAnswered, events)
    assert [event.operation for event in answered] == ["BatchGetItem", "GetItem"]
    assert {event.error for event in answered} == {DamagedResponseError}


async def test_a_cancelled_read_ends_as_cancelled_and_so_does_its_exchange(transport, observed, events, model):
    transport.latency = 60.0
    transport.script({})
    async with observed() as session:
        task = asyncio.create_task(session.find(model, "s", 1))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait((task,))
    assert [event.error for event in of(RequestEnded, events)] == [asyncio.CancelledError]
    assert [event.error for event in of(RequestAnswered, events)] == [asyncio.CancelledError]
    assert session.statistics().failures == 0


async def test_closing_the_session_ends_every_waiter_and_every_exchange(transport, observed, events, model, readings):
    transport.latency = 60.0
    transport.otherwise = {}
    session = observed(close_timeout_seconds=1.0)
    await session.__aenter__()
    calls = (session.find(model, "s", 1), session.put(model(sensor="s", at=1)), readings(session).first())
    tasks = [asyncio.create_task(call) for call in calls]
    await asyncio.sleep(1)
    await session.close()
    await asyncio.wait(tasks)
    assert Counter(kinds(events)) == dict.fromkeys(
        ("RequestQueued", "RequestSent", "RequestAnswered", "RequestEnded"), 3
    )
    assert Counter(event.error for event in of(RequestEnded, events)) == {
        SessionClosedError: 2,
        ConnectionFailedError: 1,
    }
    assert [task.exception() is not None for task in tasks] == [True] * 3


@pytest.mark.counts_turns
async def test_a_request_that_was_never_sent_ends_without_an_exchange(transport, observed, events, model):
    async with observed() as session:
        task = asyncio.create_task(session.find(model, "s", 1))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
    assert kinds(events) == ["RequestQueued", "RequestEnded"]
    assert (events[-1].attempts, events[-1].error) == (0, asyncio.CancelledError)


async def test_a_failing_observer_breaks_no_request_of_any_kind(transport, open_session, service, model, readings):
    transport.otherwise = service
    service.limit = 2

    def fail(event):
        raise RuntimeError("an observer's own fault")

    async with open_session(observer=fail) as session:
        await session.put_many([model(sensor="s", at=n) for n in range(5)])
        assert len(await session.get_many(model, [("s", n) for n in range(5)])) == 5
        assert await readings(session) == []


async def test_statistics_count_each_fact_once(transport, open_session, service, model, no_jitter):
    service.fill(4)
    transport.otherwise = service
    service.limit = 3
    async with open_session(retry=ONE_SECOND) as session:
        async with asyncio.TaskGroup() as group:
            for n in (0, 1, 2, 3, 3):
                group.create_task(session.get(model, "s", n))
        await session.get(model, "s", 0)
        statistics = session.statistics()
    assert (statistics.accepted, statistics.coalesced, statistics.requests) == (6, 5, 3)
    assert (statistics.unprocessed, statistics.retries, statistics.failures, statistics.splits) == (1, 1, 0, 0)
    assert (statistics.queued, statistics.in_flight) == (0, 0)
    asked, sent = statistics.of("GetItem", "readings"), statistics.of("BatchGetItem", "readings")
    assert (asked.accepted, asked.coalesced, asked.requests, asked.retries, asked.unprocessed) == (6, 5, 2, 1, 1)
    assert (sent.accepted, sent.requests) == (0, 1)


async def test_reads_of_one_key_are_coalesced_though_a_single_item_is_asked_for(transport, open_session, model):
    transport.script({})
    async with open_session() as session, asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(session.find(model, "s", 1))
    statistics = session.statistics()
    assert (statistics.accepted, statistics.coalesced, statistics.requests) == (3, 3, 1)


async def test_what_waits_is_queued_and_what_travels_is_in_flight(transport, open_session, model, readings):
    transport.max_connections = 1
    transport.latency = 10.0
    transport.otherwise = {"Items": []}
    async with open_session(batching=BatchPolicy(enabled=False)) as session, asyncio.TaskGroup() as group:
        group.create_task(session.put(model(sensor="s", at=1)))
        await asyncio.sleep(1)
        group.create_task(session.find(model, "s", 1))
        group.create_task(readings(session).first())
        await asyncio.sleep(1)
        statistics = session.statistics()
        assert (statistics.queued, statistics.in_flight) == (2, 1)
        assert statistics.of("PutItem", "readings").in_flight == 1
        assert statistics.of("GetItem", "readings").queued == statistics.of("Query", "readings").queued == 1


async def test_a_split_and_a_failure_are_counted_for_the_batch(transport, open_session, refusal, service, model):
    transport.script(refusal(RequestRejectedError))
    transport.otherwise = service
    async with open_session() as session:
        await session.get_many(model, [("s", n) for n in range(4)])
    sent = session.statistics().of("BatchGetItem", "readings")
    assert (sent.requests, sent.failures, sent.splits) == (3, 1, 1)
    assert session.statistics().coalesced == 4


async def test_statistics_stay_when_the_session_is_closed(transport, open_session, model):
    transport.script({})
    async with open_session() as session:
        await session.find(model, "s", 1)
        open_still = session.statistics()
    assert session.statistics() == open_still


async def test_a_bulk_load_tells_of_one_waiter_for_each_item(observed, events, transport, service, model):
    transport.otherwise = service
    async with observed() as session:
        await session.put_many(model(sensor="s", at=n) for n in range(25))
    [sent] = of(RequestSent, events)
    assert sorted(sent.waiter_ids) == [event.waiter_id for event in of(RequestQueued, events)] == [*range(1, 26)]
