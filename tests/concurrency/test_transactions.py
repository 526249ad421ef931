"""Transactions take their turn among the writes of each of their items, and are done once whatever gets lost."""

import asyncio
import math

import pytest

from dynamap_async import BatchPolicy, RetryPolicy
from dynamap_async.errors import (
    CancellationReason,
    ConnectionFailedError,
    Outcome,
    RequestTimeoutError,
    SessionStateError,
    TransactionCanceledError,
    TransactionConflictError,
    TransactionInProgressError,
)
from dynamap_async.operations import Delete, Put, TransactWrite

LOST = ConnectionFailedError("lost", outcome=Outcome.UNKNOWN, operation="TransactWriteItems", table="t")


def operations(transport):
    return [request.operation for request in transport.requests]


def tokens(transport):
    return [request.body["ClientRequestToken"] for request in transport.requests]


def cancelled(*codes):
    error = TransactionCanceledError("no", service_code="x", operation="TransactWriteItems", table="t", status=400)
    reasons = []
    for position, code in enumerate(codes):
        own = code and TransactionConflictError("no", service_code=code, operation="PutItem", table="t", status=400)
        reasons.append(CancellationReason(position=position, code=code, error=own))
    error.reasons = tuple(reasons)
    error.retryable = "ConditionalCheckFailed" not in codes
    return error


@pytest.fixture
def put(model):
    return lambda at, value=0: Put(model(sensor="s", at=at, value=value))


@pytest.fixture
def slow(transport, service):
    """Let every answer take a virtual second."""
    transport.otherwise = service
    service.transact_write_items = lambda body: {}
    transport.latency = 1.0
    return transport


async def begun(*coroutines):
    """Return tasks for coroutines, each begun in order."""
    tasks = []
    for coroutine in coroutines:
        tasks.append(asyncio.get_running_loop().create_task(coroutine))
        await asyncio.sleep(0)
    return tasks


async def outcomes(tasks):
    return await asyncio.gather(*tasks, return_exceptions=True)  # noqa: TID251 - their errors are looked at


async def test_transaction_waits_for_a_write_of_one_of_its_items_and_later_writes_wait_for_it(slow, open_session, put):
    async with open_session() as session:
        tasks = await begun(
            session.execute(put(1)), session.transact_write([put(1, 2), put(2, 2)]), session.execute(put(2, 3))
        )
        await outcomes(tasks)
    assert operations(slow) == ["PutItem", "TransactWriteItems", "PutItem"]
    assert slow.waits == [1.0, 1.0]


async def test_transaction_does_not_wait_for_writes_of_other_items(slow, open_session, put):
    async with open_session() as session:
        tasks = await begun(session.execute(put(1)), session.transact_write([put(2), put(3)]), session.execute(put(4)))
        await outcomes(tasks)
    assert slow.most_under_way >= 2
    assert slow.waits[-1] == 0.0


async def test_transactions_that_overlap_go_one_after_the_other_and_never_wait_for_each_other(slow, open_session, put):
    async with open_session() as session:
        tasks = await begun(
            session.transact_write([put(1), put(2)]),
            session.transact_write([put(2), put(3)]),
            session.transact_write([put(3), put(1)]),
            session.transact_write([put(1), put(2), put(3)]),
        )
        assert await outcomes(tasks) == [None] * 4
    assert slow.waits == [1.0, 1.0, 1.0]


async def test_two_writes_that_wait_for_one_transaction_go_together_after_it(slow, open_session, put):
    async with open_session() as session:
        tasks = await begun(session.transact_write([put(1), put(2)]), session.execute(put(1)), session.execute(put(2)))
        await outcomes(tasks)
    assert operations(slow) == ["TransactWriteItems", "BatchWriteItem"]


async def test_transaction_is_sent_once_even_where_it_waited_for_two_items_of_one_other(slow, open_session, put):
    async with open_session() as session:
        await outcomes(await begun(session.transact_write([put(1), put(2)]), session.transact_write([put(1), put(2)])))
    assert operations(slow) == ["TransactWriteItems"] * 2


async def test_transaction_whose_turn_comes_waits_for_no_window(slow, open_session, put):
    async with open_session(batching=BatchPolicy(window_seconds=0.5)) as session:
        await outcomes(await begun(*[session.transact_write([put(1), put(2)]) for _ in range(3)]))
    assert slow.waits == [1.0, 1.0]


async def test_transaction_whose_turn_comes_waits_for_a_slot(slow, open_session, put):
    slow.max_connections = 1
    async with open_session() as session:
        await outcomes(
            await begun(
                session.transact_write([put(1)]), session.transact_write([put(1, 2)]), session.transact_write([put(2)])
            )
        )
    assert slow.most_under_way == 1
    assert slow.waits == [1.0, 1.0]


async def test_transactions_in_a_line_are_not_sent_when_the_session_gives_up(slow, open_session, put):
    slow.latency = 60.0
    async with open_session(close_timeout_seconds=1) as session:
        tasks = await begun(*[session.transact_write([put(1)]) for _ in range(3)])
    assert [error.outcome for error in await outcomes(tasks)] == [Outcome.UNKNOWN, Outcome.NOT_SENT, Outcome.NOT_SENT]
    assert operations(slow) == ["TransactWriteItems"]


async def test_cancelled_transaction_that_waits_is_withdrawn_and_holds_nobody_up(slow, open_session, put):
    async with open_session() as session:
        first, waiting, behind = await begun(
            session.execute(put(1)), session.transact_write([put(1), put(2)]), session.execute(put(2))
        )
        await asyncio.sleep(0.5)
        waiting.cancel()
        await behind
        assert asyncio.get_running_loop().time() == pytest.approx(1001.5)
        await first
    assert operations(slow) == ["PutItem", "PutItem"]
    assert waiting.cancelled()


async def test_cancelled_transaction_that_was_sent_completes_and_keeps_its_place(slow, open_session, put):
    async with open_session() as session:
        sent, behind = await begun(session.transact_write([put(1), put(2)]), session.execute(put(2)))
        await asyncio.sleep(0.5)
        sent.cancel()
        await behind
    assert operations(slow) == ["TransactWriteItems", "PutItem"]
    assert slow.waits == [1.0]


async def test_closing_waits_for_a_transaction_that_is_under_way(slow, open_session, put):
    async with open_session() as session:
        [task] = await begun(session.transact_write([put(1)]))
        await asyncio.sleep(0.5)
    assert task.done()
    assert await task is None


async def test_transaction_that_outlasts_the_closing_fails_with_what_is_known(slow, open_session, put):
    slow.latency = 60.0
    async with open_session(close_timeout_seconds=1.0) as session:
        sent, queued = await begun(session.transact_write([put(1), put(2)]), session.transact_write([put(2), put(3)]))
        await asyncio.sleep(0.5)
    first, second = await outcomes([sent, queued])
    assert [type(first), type(second)] == [ConnectionFailedError] * 2
    assert [first.outcome, second.outcome] == [Outcome.UNKNOWN, Outcome.NOT_SENT]


@pytest.mark.parametrize("count", [1, 3])
async def test_lost_answer_is_sent_for_again_with_the_same_bytes(transport, open_session, put, count, no_jitter):
    transport.script(*[LOST] * count, {})
    async with open_session() as session:
        await session.transact_write([put(1)])
    assert len(transport.requests) == count + 1
    assert all(request.body == transport.requests[0].body for request in transport.requests)


async def test_conflict_is_tried_again_with_backoff_and_the_same_token(transport, open_session, put, no_jitter):
    conflict = cancelled("TransactionConflict", None)
    in_progress = TransactionInProgressError("wait", service_code="x", operation="T", table="t", status=400)
    transport.script(conflict, in_progress, {})
    async with open_session() as session:
        await session.transact_write([put(1), put(2)])
    assert len(set(tokens(transport))) == 1
    assert transport.waits == [0.05, 0.1]


async def test_conflicts_without_end_are_told_with_their_attempts(transport, open_session, put):
    transport.script(*[cancelled("TransactionConflict", None)] * 3)
    async with open_session(retry=RetryPolicy(max_attempts=3)) as session:
        with pytest.raises(TransactionCanceledError, match="retries were spent") as caught:
            await session.transact_write([put(1), put(2)])
    assert caught.value.attempts == 3
    assert not caught.value.outcome_unknown


async def test_failed_condition_is_final_even_beside_a_conflict(transport, open_session, put):
    transport.script(cancelled("TransactionConflict", "ConditionalCheckFailed"))
    async with open_session() as session:
        with pytest.raises(TransactionCanceledError):
            await session.transact_write([put(1), put(2)])
    assert len(transport.requests) == 1


async def test_cancellation_after_a_lost_answer_is_certain_because_of_the_token(transport, open_session, put):
    transport.script(LOST, cancelled("ConditionalCheckFailed", None))
    async with open_session() as session:
        with pytest.raises(TransactionCanceledError) as caught:
            await session.transact_write([put(1), put(2)])
    assert not caught.value.outcome_unknown


@pytest.mark.in_memory("an endpoint that says nothing is no timeout yet")
async def test_nothing_is_sent_again_when_the_token_may_be_forgotten(transport, open_session, put, no_jitter):
    def times_out(request):
        return RequestTimeoutError("late", outcome=Outcome.UNKNOWN, operation=request.operation, table=request.table)

    transport.otherwise, transport.latency = times_out, 100.0
    async with open_session(retry=RetryPolicy(max_attempts=50, attempt_timeout_seconds=math.inf)) as session:
        with pytest.raises(RequestTimeoutError) as caught:
            await session.transact_write([put(1)])
    assert transport.times[-1] - transport.times[0] < 600
    assert len(transport.requests) == 6
    assert "token" in caught.value.__notes__[0]


async def test_reading_transaction_is_tried_again_after_a_conflict(transport, open_session, model, no_jitter):
    item = {"sensor": {"S": "s"}, "at": {"N": "1"}, "value": {"N": "5"}}
    transport.script(cancelled("TransactionConflict", None), {"Responses": [{"Item": item}, {}]})
    async with open_session() as session:
        found = await session.transact_find((model, "s", 1), (model, "s", 2))
    assert found == (model(sensor="s", at=1, value=5), None)
    assert transport.waits == [0.05]


async def test_block_sends_one_request_when_it_ends(transport, open_session, model):
    transport.script({})
    async with open_session() as session:
        async with session.transaction() as tx:
            tx.put(model(sensor="s", at=1))
            tx.create(model(sensor="s", at=2))
            tx.delete(model, "s", 3)
            tx.check(model, "s", 4, where=model.value > 0)
            assert transport.requests == []
        assert [type(action).__name__ for action in tx.actions] == ["Put", "Create", "Delete", "Check"]
    assert operations(transport) == ["TransactWriteItems"]
    assert len(transport.requests[0].body["TransactItems"]) == 4


async def put_and_raise(session, item, error):
    async with session.transaction() as tx:
        tx.put(item)
        raise error


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError(), KeyboardInterrupt()])
async def test_exception_inside_the_block_sends_nothing_and_goes_through(transport, open_session, model, error):
    async with open_session() as session:
        with pytest.raises(type(error)) as caught:
            await put_and_raise(session, model(sensor="s", at=1), error)
        assert caught.value is error
    assert transport.requests == []


async def test_nothing_is_sent_for_no_actions(transport, open_session):
    async with open_session() as session:
        async with session.transaction():
            pass
        await session.transact_write([])
        await session.execute(TransactWrite([]))
        assert await session.transact_get() == ()
        assert await session.transact_find() == ()
    assert transport.requests == []


async def test_block_is_used_once_and_takes_nothing_outside(transport, open_session, model):
    item = model(sensor="s", at=1)
    transport.script({})
    async with open_session() as session:
        transaction = session.transaction()
        with pytest.raises(SessionStateError, match="only inside"):
            transaction.put(item)
        async with transaction as tx:
            tx.put(item)
        with pytest.raises(SessionStateError, match="only inside"):
            tx.delete(item)
        with pytest.raises(SessionStateError, match="used once"):
            await transaction.__aenter__()
        assert [type(action) for action in tx.actions] == [Put]


async def test_closed_session_takes_no_transaction(open_session, model):
    async with open_session() as session:
        transaction = session.transaction()
        await transaction.__aenter__()
        await session.close()
        with pytest.raises(SessionStateError):
            transaction.put(model(sensor="s", at=1))
        with pytest.raises(SessionStateError):
            session.transaction()


async def test_given_token_is_sent(transport, open_session, model):
    transport.script({}, {})
    async with open_session() as session:
        async with session.transaction(client_request_token="order-1") as tx:
            tx.put(model(sensor="s", at=1))
        await session.transact_write([Delete(model, "s", 1)], client_request_token="order-2")
    assert tokens(transport) == ["order-1", "order-2"]


async def test_write_done_exactly_once_can_be_read_behind(transport, open_session, model):
    item = {"sensor": {"S": "s"}, "at": {"N": "1"}, "value": {"N": "5"}}
    transport.script(LOST, {}, {"Item": item})
    async with open_session() as session:
        read = await session.execute(Put(model(sensor="s", at=1, value=5)).exactly_once().then_get())
    assert read == model(sensor="s", at=1, value=5)
    assert operations(transport) == ["TransactWriteItems", "TransactWriteItems", "GetItem"]
    assert transport.requests[-1].body["ConsistentRead"] is True
