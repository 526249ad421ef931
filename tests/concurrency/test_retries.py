"""Which failures are sent again, how often and how late, and what the last error then says."""

import asyncio

import anyio
import pytest

from dynamap_async import BatchPolicy, Put, RetryPolicy
from dynamap_async.errors import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    ConnectionFailedError,
    DamagedResponseError,
    DynamapError,
    InternalServerError,
    Outcome,
    ProvisionedThroughputExceededError,
    RequestRejectedError,
    RequestTimeoutError,
    ResourceNotFoundError,
    ThrottledError,
    TransactionConflictError,
)
from dynamap_async.executor import Executor
from dynamap_async.request import Request

GET = Request(operation="GetItem", body={}, table="t")
PUT = Request(operation="PutItem", body={}, table="t", writes=True)
CONDITIONAL_PUT = Request(operation="PutItem", body={}, table="t", writes=True, conditional=True)
CREATE_TABLE = Request(operation="CreateTable", body={}, table="t", writes=True, resendable=False)
NO_WAIT = RetryPolicy(max_attempts=4, base_delay_seconds=0.0)
OK = {"answer": 1}


def service(kind, **facts):
    error = kind(kind.__name__, service_code=kind.__name__, operation="PutItem", table="t", status=400)
    for name, value in facts.items():
        setattr(error, name, value)
    return error


def lost(kind=ConnectionFailedError, outcome=Outcome.UNKNOWN):
    return kind("lost", outcome=outcome, operation="PutItem", table="t")


def not_sent():
    return lost(outcome=Outcome.NOT_SENT)


async def sent(transport, request, policy=NO_WAIT, **options):
    executor = Executor(transport, retry=policy, batching=BatchPolicy(enabled=False), **options)
    await executor.open()
    try:
        return await executor.send(request)
    finally:
        await executor.close(0.0)


@pytest.mark.parametrize(
    ("request_", "failure", "again"),
    [
        (GET, service(ThrottledError), True),
        (GET, service(ProvisionedThroughputExceededError), True),
        (GET, service(InternalServerError), True),
        (GET, service(RequestRejectedError), False),
        (GET, service(ResourceNotFoundError), False),
        (GET, service(AccessDeniedError), False),
        (GET, not_sent(), True),
        (GET, lost(), True),
        (GET, lost(RequestTimeoutError), True),
        (GET, lost(DamagedResponseError), True),
        (PUT, service(ThrottledError), True),
        (PUT, service(InternalServerError), True),
        (PUT, service(TransactionConflictError), True),
        (PUT, service(ConditionalCheckFailedError), False),
        (PUT, not_sent(), True),
        (PUT, lost(), True),
        (CONDITIONAL_PUT, lost(), True),
        (CONDITIONAL_PUT, service(ConditionalCheckFailedError), False),
        (CREATE_TABLE, service(ThrottledError), True),
        (CREATE_TABLE, not_sent(), True),
        (CREATE_TABLE, lost(), False),
        (CREATE_TABLE, lost(RequestTimeoutError), False),
        (CREATE_TABLE, service(InternalServerError), False),
    ],
    ids=lambda value: getattr(value, "operation", None) or str(value),
)
async def test_a_failure_is_sent_again_only_where_that_can_help_and_cannot_harm(transport, request_, failure, again):
    transport.script(failure, OK)
    if again:
        assert await sent(transport, request_) == OK
    else:
        with pytest.raises(type(failure)) as caught:
            await sent(transport, request_)
        assert caught.value.args == failure.args
        assert caught.value is not failure  # it is the caller's own
    assert len(transport.requests) == 1 + again


async def test_the_request_is_sent_as_often_as_the_policy_allows_and_the_last_error_is_raised(transport):
    failures = [service(ThrottledError, request_id=f"request {number}") for number in range(4)]
    with pytest.raises(ThrottledError) as caught:
        await sent(transport.script(*failures), GET)
    assert caught.value.request_id == "request 3"
    assert caught.value.attempts == 4
    assert caught.value.__notes__ == [
        "not sent again: this was attempt 4, the last that RetryPolicy(max_attempts=4) allows"
    ]


async def test_one_attempt_turns_retries_off(transport):
    with pytest.raises(ThrottledError) as caught:
        await sent(transport.script(service(ThrottledError)), GET, RetryPolicy(max_attempts=1))
    assert caught.value.attempts == 1


@pytest.mark.parametrize(
    ("jitter", "waits"), [(1.0, [1.0, 2.0, 4.0, 5.0, 5.0]), (0.5, [0.5, 1.0, 2.0, 2.5, 2.5]), (0, [0] * 5)]
)
async def test_waits_grow_from_zero_to_a_bound_that_doubles(transport, jitter, waits):
    policy = RetryPolicy(max_attempts=6, base_delay_seconds=1.0, max_delay_seconds=5.0)
    transport.script(*(service(ThrottledError) for _ in range(5)), OK)
    await sent(transport, GET, policy, jitter=lambda: jitter)
    assert transport.waits == waits


async def test_the_jitter_of_a_session_stays_within_its_bounds(transport, open_session, model):
    policy = RetryPolicy(max_attempts=9, base_delay_seconds=1.0, max_delay_seconds=8.0)
    transport.script(*(service(ThrottledError) for _ in range(8)), {})
    async with open_session(retry=policy) as session:
        await session.find(model, "s", 1)
    assert all(0 <= wait <= bound for wait, bound in zip(transport.waits, [1, 2, 4, 8, 8, 8, 8, 8], strict=True))
    assert len(set(transport.waits)) > 1


async def test_a_thousand_attempts_do_not_overflow():
    assert RetryPolicy(max_attempts=5000).longest_delay(4000) == 5.0


async def test_no_wait_goes_past_the_callers_deadline(transport):
    policy = RetryPolicy(base_delay_seconds=10.0, max_delay_seconds=10.0)
    transport.script(service(ThrottledError), OK)
    started = anyio.current_time()
    with pytest.raises(ThrottledError) as caught, anyio.fail_after(3):
        await sent(transport, GET, policy, jitter=lambda: 1.0)
    assert anyio.current_time() == started
    assert caught.value.__notes__ == ["not sent again: the caller's deadline is too near"]


async def test_a_deadline_far_enough_lets_the_request_be_sent_again(transport):
    policy = RetryPolicy(base_delay_seconds=2.0)
    with anyio.fail_after(3):
        assert await sent(transport.script(service(ThrottledError), OK), GET, policy, jitter=lambda: 1.0) == OK


async def test_a_deadline_during_the_exchange_ends_it(transport):
    transport.latency = 60
    with pytest.raises(TimeoutError), anyio.fail_after(3):
        await sent(transport.script(OK), GET)
    assert transport.under_way == 0


@pytest.mark.parametrize("moment", [0.5, 1.5], ids=["during the exchange", "during the backoff"])
async def test_a_cancelled_request_leaves_nothing(transport, open_session, model, moment):
    transport.latency = 1.0
    transport.script(service(ThrottledError), {})
    async with open_session(retry=RetryPolicy(base_delay_seconds=1e9, max_delay_seconds=1e9)) as session:
        task = asyncio.create_task(session.find(model, "s", 1))
        await asyncio.sleep(moment)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert transport.under_way == 0
        assert len(transport.requests) == 1
        assert session._executor._reads.open == set()


async def test_a_condition_that_fails_after_a_lost_answer_says_that_it_may_be_its_own_success(
    transport, model, open_session
):
    stored = {"sensor": {"S": "s"}, "at": {"N": "1"}}
    transport.script(lost(), service(ConditionalCheckFailedError, wire_item=stored))
    async with open_session(retry=NO_WAIT) as session:
        with pytest.raises(ConditionalCheckFailedError) as caught:
            await session.create(model(sensor="s", at=1))
    assert caught.value.outcome_unknown
    assert caught.value.wire_item == stored
    assert caught.value.attempts == 2
    assert transport.requests[0] == transport.requests[1]


async def test_a_condition_that_fails_at_once_is_known_to_have_failed(transport):
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await sent(transport.script(service(ConditionalCheckFailedError)), CONDITIONAL_PUT)
    assert not caught.value.outcome_unknown


@pytest.mark.parametrize("first", [service(ThrottledError), not_sent()], ids=["throttled", "not sent"])
async def test_a_condition_that_fails_after_an_attempt_that_did_nothing_is_known_to_have_failed(transport, first):
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await sent(transport.script(first, service(ConditionalCheckFailedError)), CONDITIONAL_PUT)
    assert not caught.value.outcome_unknown


async def test_an_error_of_dynamodb_itself_leaves_the_outcome_of_a_write_unknown(transport):
    transport.script(service(InternalServerError), service(ConditionalCheckFailedError))
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await sent(transport, CONDITIONAL_PUT)
    assert caught.value.outcome_unknown


async def test_a_write_that_ends_throttled_after_a_lost_answer_still_says_that_it_may_be_done(transport):
    transport.script(lost(), *(service(ThrottledError) for _ in range(3)))
    with pytest.raises(ThrottledError) as caught:
        await sent(transport, PUT)
    assert caught.value.outcome_unknown


async def test_a_write_that_was_never_sent_after_a_lost_answer_has_an_unknown_outcome(transport):
    with pytest.raises(ConnectionFailedError) as caught:
        await sent(transport.script(lost(), not_sent(), not_sent(), not_sent()), PUT)
    assert caught.value.outcome is Outcome.UNKNOWN


async def test_a_read_has_no_outcome_to_be_unknown(transport):
    with pytest.raises(ThrottledError) as caught:
        await sent(transport.script(lost(), *(service(ThrottledError) for _ in range(3))), GET)
    assert not caught.value.outcome_unknown


async def test_an_answer_to_a_second_attempt_pays_back_what_the_attempt_cost(
    open_session, transport, service, throttled, model
):
    service.fill(1)
    transport.otherwise = service
    async with open_session(retry=RetryPolicy(budget=1)) as session:
        for _ in range(3):
            transport.script(throttled())
            await session.get(model, "s", 0)
            transport.script(throttled())
            await session.put(model(sensor="s", at=0))
    assert len(transport.requests) == 12


CALLS = {
    "a get": lambda session, model: session.get(model, "s", 0),
    "gets that share a call": lambda session, model: session.get_many(model, [("s", 0), ("s", 1)]),
    "a put": lambda session, model: session.put(model(sensor="s", at=0)),
    "puts that share a call": lambda session, model: session.put_many([model(sensor="s", at=at) for at in (0, 1)]),
    "a delete": lambda session, model: session.delete(model, "s", 0),
    "a transaction": lambda session, model: session.transact_write([Put(model(sensor="s", at=0))]),
}


@pytest.mark.parametrize("reason", [{"timeout": 3.0}, {"max_requests": 1}], ids=["deadline", "request budget"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_what_is_not_sent_again_takes_nothing_from_the_retry_budget(
    open_session, transport, service, refusal, model, no_jitter, call, reason
):
    service.fill(2)
    transport.otherwise = lambda request: {} if request.operation == "TransactWriteItems" else service(request)
    async with open_session(retry=RetryPolicy(budget=1, base_delay_seconds=10.0)) as session:
        for _ in range(3):
            transport.script(refusal(InternalServerError))
            with pytest.raises(DynamapError) as caught:
                async with session.scope("not twice", **reason):
                    await call(session, model)
            errors = [caught.value, *getattr(caught.value, "errors", ())]
            assert not any("retry budget" in note for error in errors for note in getattr(error, "__notes__", ()))
        transport.script(refusal(InternalServerError))
        await call(session, model)
    assert len(transport.requests) == 3 + 2
