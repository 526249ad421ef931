"""When a batch fails: what is sent again, what is split, and what each caller is told."""

import asyncio
import gc
import logging
import traceback

import anyio
import pytest

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy
from dynamap_async.errors import (
    AccessDeniedError,
    ConfigurationError,
    ConnectionFailedError,
    CredentialsRejectedError,
    DamagedResponseError,
    InternalServerError,
    ItemCollectionSizeLimitExceededError,
    Outcome,
    RequestRejectedError,
    ResourceNotFoundError,
    ThrottledError,
    UnprocessedError,
)

NO_WAIT = RetryPolicy(max_attempts=4, base_delay_seconds=0.0)


class Label(Model, table="labels"):
    name: PartitionKey[str]
    words: Attr[int] = 0


def lost(outcome=Outcome.UNKNOWN):
    return ConnectionFailedError("lost", outcome=outcome, operation="Batch", table="all")


def operations(transport):
    return [request.operation for request in transport.requests]


def refused_with(service, *refused):
    """Return an answer that refuses every request about one of some keys, as DynamoDB does: as a whole."""

    def answer(request):
        for key, error in refused:
            if f"'{key}'" in str(request.body):
                return error()
        return service(request)

    return answer


@pytest.fixture
def outcomes(model):
    """Return a function that runs operations at once and returns the result or error of each."""

    async def run(*awaitables):
        tasks = [asyncio.ensure_future(each) for each in awaitables]
        await asyncio.wait(tasks)
        return [task.exception() or task.result() for task in tasks]

    return run


@pytest.fixture
def puts(model):
    return lambda session, count: [session.put(model(sensor="s", at=n)) for n in range(count)]


@pytest.fixture
def finds(model):
    return lambda session, count: [session.find(model, "s", n) for n in range(count)]


@pytest.mark.parametrize("many", ["puts", "finds"])
async def test_what_is_left_unprocessed_is_sent_again_after_a_backoff(
    transport, service, open_session, outcomes, no_jitter, request, many
):
    service.fill(10)
    service.limit, transport.otherwise = 6, service
    async with open_session(retry=RetryPolicy(base_delay_seconds=2.0)) as session:
        results = await outcomes(*request.getfixturevalue(many)(session, 10))
    assert [item.at for item in results] == list(range(10))
    assert transport.waits == [2.0]


@pytest.mark.parametrize("many", ["puts", "finds"])
async def test_what_stays_unprocessed_fails_each_caller_with_an_error_of_its_own(
    transport, service, open_session, outcomes, request, many
):
    service.limit, transport.otherwise = 0, service
    async with open_session(retry=NO_WAIT) as session:
        errors = await outcomes(*request.getfixturevalue(many)(session, 3))
    assert [type(error) for error in errors] == [UnprocessedError] * 3
    assert len(set(map(id, errors))) == 3
    assert {error.attempts for error in errors} == {4}
    assert {error.operation for error in errors} <= {"PutItem", "GetItem"}
    assert [len(error.__notes__) for error in errors] == [1, 1, 1]
    assert len(transport.requests) == 4


async def test_what_was_cut_for_its_size_is_sent_again_at_once(transport, service, open_session, outcomes, model):
    service.limit = 41

    def answer(request):
        body = service(request)
        for items in body.get("Responses", {}).values():
            items[:] = [{**item, "pad": {"S": "x" * 400_000}} for item in items]
        return body

    transport.otherwise = answer
    service.fill(100)
    policy = RetryPolicy(max_attempts=1)
    async with open_session(retry=policy) as session:
        begun = asyncio.get_running_loop().time()
        results = await outcomes(*(session.find(model, "s", n) for n in range(100)))
        assert asyncio.get_running_loop().time() == begun
    assert [item.at for item in results] == list(range(100))
    assert len(transport.requests) == 3


@pytest.mark.parametrize("failure", [ThrottledError, InternalServerError])
async def test_a_failed_batch_is_sent_again_as_a_batch(
    transport, service, open_session, outcomes, puts, refusal, failure
):
    transport.otherwise = service
    transport.script(refusal(failure))
    async with open_session(retry=NO_WAIT) as session:
        results = await outcomes(*puts(session, 5))
    assert [item.at for item in results] == list(range(5))
    assert operations(transport) == ["BatchWriteItem"] * 2


async def test_a_batch_whose_answer_was_lost_is_resent(transport, service, open_session, outcomes, puts):
    transport.otherwise = service
    transport.script(lambda request: service(request) and lost())
    async with open_session(retry=NO_WAIT) as session:
        results = await outcomes(*puts(session, 5))
    assert [item.at for item in results] == list(range(5))
    assert transport.requests[0] == transport.requests[1]


@pytest.mark.in_memory("what was not sent reaches no endpoint")
@pytest.mark.parametrize(
    ("answers", "outcome"),
    [([lost(), lost(Outcome.NOT_SENT)], Outcome.UNKNOWN), ([lost(Outcome.NOT_SENT)] * 2, Outcome.NOT_SENT)],
)
async def test_the_outcome_of_each_write_of_a_batch_is_told(transport, open_session, outcomes, puts, answers, outcome):
    transport.script(*answers)
    async with open_session(retry=RetryPolicy(max_attempts=2)) as session:
        errors = await outcomes(*puts(session, 3))
    assert [error.outcome for error in errors] == [outcome] * 3
    assert len(set(map(id, errors))) == 3
    errors[0].add_note("mine")
    assert all("mine" not in error.__notes__ for error in errors[1:])


@pytest.mark.in_memory("what was not sent reaches no endpoint")
async def test_what_one_write_did_before_is_not_told_of_another(transport, open_session, outcomes, model, no_jitter):
    transport.script(lost(), lost(Outcome.NOT_SENT), lost(Outcome.NOT_SENT))

    async def later():
        await asyncio.sleep(1)
        await session.put(model(sensor="s", at=2))

    transport.max_connections = 1
    async with open_session(retry=RetryPolicy(max_attempts=2, base_delay_seconds=1.0)) as session:
        first, second = await outcomes(session.put(model(sensor="s", at=1)), later())
    assert first.outcome is Outcome.UNKNOWN
    assert second.outcome is Outcome.NOT_SENT


@pytest.mark.parametrize("kind", [RequestRejectedError, ItemCollectionSizeLimitExceededError])
async def test_a_rejected_batch_is_split_down_to_its_culprit(
    transport, service, open_session, outcomes, puts, refusal, kind
):
    transport.otherwise = refused_with(service, (13, lambda: refusal(kind)))
    async with open_session() as session:
        results = await outcomes(*puts(session, 25))
    assert [n for n, result in enumerate(results) if isinstance(result, kind)] == [13]
    assert len(service.items) == 24
    assert len(transport.requests) <= 11


@pytest.mark.parametrize("kind", [AccessDeniedError, ResourceNotFoundError])
async def test_a_denied_table_does_not_fail_another(
    transport, service, open_session, outcomes, finds, refusal, kind, caplog
):
    transport.otherwise = lambda request: refusal(kind) if "labels" in request.table else service(request)
    async with open_session() as session:
        results = await outcomes(session.find(Label, "a"), session.find(Label, "b"), *finds(session, 3))
        assert [type(result) for result in results] == [kind, kind, *[type(None)] * 3]
        await outcomes(*finds(session, 3))
    assert operations(transport)[-1] == "BatchGetItem"
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


async def test_what_is_accepted_alone_only_is_sent_alone_for_five_minutes(
    transport, service, open_session, outcomes, finds, refusal, caplog
):
    def answer(request):
        return refusal(AccessDeniedError) if request.operation == "BatchGetItem" else service(request)

    transport.otherwise = answer
    async with open_session() as session:
        for wait in (0, 200, 99):
            await asyncio.sleep(wait)
            assert await outcomes(*finds(session, 4)) == [None] * 4
        assert operations(transport) == ["BatchGetItem"] + ["GetItem"] * 12
        assert len([each for each in caplog.records if each.levelno >= logging.WARNING]) == 1
        await asyncio.sleep(2)
        transport.otherwise = service
        await outcomes(*finds(session, 4))
    assert operations(transport)[-1] == "BatchGetItem"


async def test_writes_that_are_accepted_alone_only_are_sent_alone_and_reads_are_not(
    transport, service, open_session, outcomes, puts, finds, refusal
):
    transport.otherwise = lambda request: (
        refusal(AccessDeniedError) if request.operation == "BatchWriteItem" else service(request)
    )
    async with open_session() as session:
        for _ in range(2):
            assert [item.at for item in await outcomes(*puts(session, 3))] == [0, 1, 2]
        await outcomes(*finds(session, 3))
    assert operations(transport) == ["BatchWriteItem"] + ["PutItem"] * 6 + ["BatchGetItem"]


@pytest.mark.parametrize("kind", [CredentialsRejectedError])
async def test_rejected_credentials_are_not_multiplied(transport, open_session, outcomes, finds, refusal, kind):
    transport.otherwise = lambda request: refusal(kind)
    async with open_session() as session:
        errors = await outcomes(*finds(session, 100))
    assert len(set(map(id, errors))) == 100
    assert len(transport.requests) == 1


async def test_an_outage_is_not_multiplied(transport, open_session, outcomes, model, refusal):
    transport.otherwise = lambda request: refusal(InternalServerError)
    async with open_session(retry=RetryPolicy(budget=10)) as session:
        errors = await outcomes(*(session.find(model, "s", n, coalesce=False) for n in range(200)))
    assert {type(error) for error in errors} == {InternalServerError}
    assert len(transport.requests) == 210
    assert "budget is used up" in errors[-1].__notes__[0]


async def test_nobody_sleeps_past_its_own_deadline(
    transport, service, open_session, outcomes, model, throttled, no_jitter
):
    service.fill(2)
    transport.otherwise = service
    transport.script(throttled())
    begun = asyncio.get_running_loop().time()

    async def hurried():
        with anyio.fail_after(3):
            try:
                await session.get(model, "s", 0)
            finally:
                assert asyncio.get_running_loop().time() == begun

    async with open_session(retry=RetryPolicy(base_delay_seconds=5)) as session:
        first, second = await outcomes(hurried(), session.get(model, "s", 1))
    assert isinstance(first, ThrottledError)
    assert "deadline is too near" in first.__notes__[0]
    assert second.at == 1
    assert transport.waits == [5.0]


@pytest.mark.parametrize(
    "answer",
    [
        {"Responses": {"elsewhere": [{}]}},
        {"Responses": {"readings": [{"other": {"S": "s"}}]}},
        {"Responses": {"readings": [{"sensor": {"S": "s"}, "at": {"N": "99"}}]}},
        {"Responses": "none"},
        {"UnprocessedKeys": {"readings": {"Keys": [{"sensor": {"S": "s"}, "at": {"N": "99"}}]}}},
    ],
)
async def test_an_answer_that_cannot_be_read_is_a_damaged_one(transport, open_session, outcomes, finds, answer):
    transport.otherwise = lambda request: answer if request.operation == "BatchGetItem" else {"Item": []}
    async with open_session(retry=NO_WAIT) as session:
        errors = await outcomes(*finds(session, 3))
    assert {type(error) for error in errors} == {DamagedResponseError}
    assert {error.attempts for error in errors} == {4}


async def test_an_answer_that_is_damaged_again_hurts_only_those_whose_item_it_is(
    transport, service, open_session, outcomes, finds
):
    service.fill(4)

    def answer(request):
        if "'2'" in str(request.body):
            return (
                {"Responses": {"readings": ["damaged"]}} if request.operation == "BatchGetItem" else {"Item": "damaged"}
            )
        return service(request)

    transport.otherwise = answer
    async with open_session(retry=NO_WAIT) as session:
        *found, damaged, last = await outcomes(*finds(session, 4))
    assert [item.at for item in (*found, last)] == [0, 1, 3]
    assert isinstance(damaged, DamagedResponseError)
    assert damaged.operation == "GetItem"


async def test_an_answer_that_is_damaged_once_is_asked_for_again_as_a_whole(
    transport, service, open_session, outcomes, finds
):
    service.fill(4)
    transport.script({"Responses": "none"}).otherwise = service
    async with open_session(retry=NO_WAIT) as session:
        assert [item.at for item in await outcomes(*finds(session, 4))] == [0, 1, 2, 3]
    assert operations(transport) == ["BatchGetItem"] * 2


@pytest.mark.parametrize("many", ["puts", "finds"])
async def test_answers_that_are_all_damaged_are_asked_for_again_within_the_budget_and_after_waits(
    transport, open_session, outcomes, request, no_jitter, many
):
    transport.otherwise = lambda request: {"Responses": "none", "UnprocessedItems": "none"}
    policy = RetryPolicy(max_attempts=3, budget=12, base_delay_seconds=1)
    async with open_session(retry=policy) as session:
        errors = await outcomes(*request.getfixturevalue(many)(session, 25))
    assert {type(error) for error in errors} == {DamagedResponseError}
    assert len(transport.requests) == 1 + 12
    assert [wait for wait in transport.waits if wait] == [1.0] * 4  # the whole, its halves, theirs, and theirs
    assert any("budget is used up" in error.__notes__[0] for error in errors)


async def test_who_leaves_while_parts_of_a_damaged_batch_wait_is_not_asked_for_again(
    transport, service, open_session, model, no_jitter
):
    transport.script({"Responses": "none"}, {"Responses": "none"}).otherwise = service
    service.fill(4)
    async with open_session(retry=RetryPolicy(base_delay_seconds=1)) as session:
        finds = [asyncio.ensure_future(session.find(model, "s", n)) for n in range(4)]
        await asyncio.sleep(1.5)
        for each in finds[:3]:
            each.cancel()
        assert (await finds[3]).at == 3
    assert operations(transport) == ["BatchGetItem", "BatchGetItem", "GetItem"]


class OddError(Exception):
    def __init__(self, first, *, second):
        super().__init__("odd")


def defective(service, word):
    """Return what fails every request that has a word, as a defect would."""

    def answer(request):
        if word in str(request.body):
            raise OddError(1, second=2)
        return service(request)

    return answer


@pytest.mark.in_memory("an endpoint answers, and raises nothing")
@pytest.mark.parametrize("many", ["puts", "finds"])
async def test_a_defect_that_one_request_meets_fails_nobody_else(
    transport, service, open_session, outcomes, request, many
):
    service.fill(4)
    transport.otherwise = defective(service, "'2'")
    async with open_session() as session:
        *first, failed, last = await outcomes(*request.getfixturevalue(many)(session, 4))
    assert [item.at for item in (*first, last)] == [0, 1, 3]
    assert isinstance(failed, OddError)


@pytest.mark.in_memory("an endpoint answers, and raises nothing")
async def test_a_defect_of_the_transport_fails_those_who_wait_and_nothing_else(
    transport, open_session, outcomes, finds
):
    transport.otherwise = defective(lambda request: {}, "readings")
    async with open_session() as session:
        errors = await outcomes(*finds(session, 3))
        assert [type(error) for error in errors] == [OddError] * 3
        assert len(set(map(id, errors))) == 3
        assert await session.find(Label, "a") is None
        await asyncio.sleep(0)
        assert session._executor._slots.free == transport.max_connections


@pytest.mark.in_memory("an endpoint answers, and raises nothing")
async def test_what_no_caller_is_to_blame_for_fails_a_batch_at_once(transport, open_session, outcomes, finds):
    transport.script(ConfigurationError("the credentials cannot be refreshed"))
    async with open_session() as session:
        errors = await outcomes(*finds(session, 3))
    assert [type(error) for error in errors] == [ConfigurationError] * 3
    assert len(transport.requests) == 1


async def test_the_tracebacks_of_one_failure_do_not_grow_into_each_other(
    transport, open_session, outcomes, finds, refusal
):
    def deep(awaitable, levels):
        async def inner():
            return await (awaitable if levels == 0 else deep(awaitable, levels - 1))

        return inner()

    transport.otherwise = lambda request: refusal(InternalServerError)
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        errors = await outcomes(*(deep(each, n) for n, each in enumerate(finds(session, 4))))
    depths = [len(traceback.extract_tb(error.__traceback__)) for error in errors]
    assert depths == list(range(depths[0], depths[0] + 4))


async def test_a_failure_is_not_remembered(transport, service, open_session, outcomes, finds, refusal):
    transport.otherwise = service
    service.fill(2)
    transport.script(refusal(InternalServerError))
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        assert {type(each) for each in await outcomes(*finds(session, 2))} == {InternalServerError}
        assert [item.at for item in await outcomes(*finds(session, 2))] == [0, 1]


async def test_failed_batches_leave_no_garbage_that_speaks(transport, open_session, outcomes, finds, refusal, caplog):
    transport.otherwise = lambda request: refusal(RequestRejectedError)
    async with open_session() as session:
        await outcomes(*finds(session, 5))
    gc.collect()
    assert "never retrieved" not in caplog.text
