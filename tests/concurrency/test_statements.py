"""PartiQL through a session: pages, early ends, lost answers, and what becomes of each statement of several."""

import asyncio
import gc
import warnings

import pytest

from dynamap_async import Attr, BatchExecuteStatement, Model, PartitionKey, RetryPolicy, SortKey, Statement, attr
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    ConnectionFailedError,
    DamagedResponseError,
    DuplicateItemError,
    ItemValidationError,
    OperationError,
    Outcome,
    ThrottledError,
    TransactionCanceledError,
)

SELECT = "SELECT * FROM readings WHERE sensor = 's'"
INSERT = "INSERT INTO readings VALUE {'sensor': 's', 'at': 1}"
QUICK = RetryPolicy(base_delay_seconds=0.001)


class Reading(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[int] = attr(default=0)


def item(number):
    return {"sensor": {"S": "s"}, "at": {"N": str(number)}}


def numbers(items):
    return [each.at for each in items]


def pages(count, size=10):
    """Answer ExecuteStatement with readings 0 to count, a token at the end of each page but the last."""

    def answer(request):
        first = int(request.body.get("NextToken", 0))
        answered = {"Items": [item(n) for n in range(first, min(first + size, count))]}
        return answered | ({"NextToken": str(first + size)} if first + size < count else {})

    return answer


def lost(outcome=Outcome.UNKNOWN):
    return ConnectionFailedError("lost", outcome=outcome, operation="ExecuteStatement", table="readings")


async def test_a_list_holds_every_page(transport, open_session):
    transport.otherwise = pages(35)
    async with open_session() as session:
        assert numbers(await session.execute_statement(SELECT, into=Reading)) == list(range(35))
    assert [request.body.get("NextToken") for request in transport.requests] == [None, "10", "20", "30"]


async def test_an_empty_page_is_not_the_end(transport, open_session):
    transport.script({"Items": [], "NextToken": "1"}, {"NextToken": "2"}, {"Items": [item(1)]})
    async with open_session() as session:
        assert numbers(await session.execute_statement(SELECT, into=Reading)) == [1]


async def test_items_stream_with_one_page_ahead(transport, open_session):
    transport.otherwise = pages(50)
    async with open_session() as session:
        async for each in session.execute_statement(SELECT, into=Reading):
            await asyncio.sleep(1)
            assert len(transport.requests) == min(each.at // 10 + 2, 5)
    assert transport.most_under_way == 1


async def test_leaving_early_ends_the_request_that_is_under_way(transport, open_session):
    transport.otherwise, transport.latency = pages(50), 5.0
    async with open_session() as session:
        async for _ in session.execute_statement(SELECT):
            await asyncio.sleep(0)
            break
        gc.collect()
        await asyncio.sleep(1)
        assert transport.under_way == 0
        assert len(transport.requests) == 2


async def test_a_limit_is_of_items_and_ends_the_requests(transport, open_session):
    transport.otherwise = pages(50)
    async with open_session() as session:
        assert numbers(await session.execute_statement(SELECT, into=Reading, limit=12)) == list(range(12))
        assert [n.at async for n in session.execute_statement(SELECT, into=Reading, limit=10)] == list(range(10))
    assert len(transport.requests) == 3


async def test_a_statement_is_awaited_again_and_in_tasks(transport, open_session):
    transport.otherwise = pages(5)
    async with open_session() as session:
        statement = session.execute_statement(SELECT, into=Reading)
        task = asyncio.create_task(statement)
        assert numbers(await statement) == numbers(await task) == numbers(await statement)
    assert len(transport.requests) == 3


async def test_a_statement_is_an_operation_as_well(transport, open_session):
    transport.otherwise = pages(2)
    async with open_session() as session:
        assert numbers(await session.execute(Statement(SELECT, into=Reading))) == [0, 1]


async def test_an_item_that_does_not_fit_brings_those_that_do(transport, open_session):
    wrong = {"sensor": {"S": "s"}, "at": {"N": "7"}, "value": {"S": "x"}}
    transport.script({"Items": [item(1)], "NextToken": "a"}, {"Items": [item(2), wrong, item(3)]})
    async with open_session() as session:
        with pytest.raises(ItemValidationError) as caught:
            await session.execute_statement(SELECT, into=Reading)
    assert numbers(caught.value.items) == [1, 2, 3]


async def test_a_read_is_sent_again_after_a_lost_answer(transport, open_session):
    transport.script(lost(), {"Items": [item(1)]})
    async with open_session(retry=QUICK) as session:
        assert len(await session.execute_statement(SELECT)) == 1


async def test_a_write_is_not_sent_again_after_a_lost_answer(transport, open_session):
    transport.script(lost())
    async with open_session(retry=QUICK) as session:
        with pytest.raises(ConnectionFailedError) as caught:
            await session.execute_statement(INSERT)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert len(transport.requests) == 1


@pytest.mark.parametrize("failure", ["throttled", "not sent"])
async def test_a_write_that_was_certainly_not_done_is_sent_again(transport, open_session, throttled, failure):
    transport.script(throttled() if failure == "throttled" else lost(Outcome.NOT_SENT), {})
    async with open_session(retry=QUICK) as session:
        assert await session.execute_statement(INSERT) == []
    assert len(transport.requests) == 2


async def test_a_transaction_is_sent_again_after_a_lost_answer_with_the_same_token(transport, open_session):
    transport.script(lost(), {"Responses": [{}]})
    async with open_session(retry=QUICK) as session:
        assert await session.execute_transaction([Statement(INSERT)]) == [None]
    tokens = [request.body["ClientRequestToken"] for request in transport.requests]
    assert tokens[0] == tokens[1]


async def test_a_batch_of_writes_is_not_sent_again_after_a_lost_answer(transport, open_session):
    transport.script(lost())
    async with open_session(retry=QUICK) as session:
        with pytest.raises(ConnectionFailedError):
            await session.batch_execute_statement([Statement(INSERT)])
    assert len(transport.requests) == 1


async def test_a_write_that_is_dropped_without_being_awaited_warns(open_session):
    async with open_session() as session:
        with pytest.warns(RuntimeWarning, match="BoundStatement.*INSERT.*was never awaited"):
            session.execute_statement(INSERT)


async def test_a_read_may_be_dropped(open_session):
    async with open_session() as session:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.execute_statement(SELECT)


async def test_a_write_is_awaited_once(transport, open_session):
    transport.otherwise = {}
    async with open_session() as session:
        statement = session.execute_statement(INSERT)
        await statement
        with pytest.raises(RuntimeError, match="was awaited before"):
            await statement
    assert len(transport.requests) == 1


async def test_a_write_is_not_iterated_over(transport, open_session):
    transport.otherwise = {}
    async with open_session() as session:
        statement = session.execute_statement(INSERT)
        with pytest.raises(OperationError, match="writes, so it cannot be iterated over; await it"):
            aiter(statement)
        await statement


async def test_a_stream_of_a_statement_has_no_checkpoint(transport, open_session):
    transport.otherwise = pages(2)
    async with open_session() as session, session.execute_statement(SELECT).stream() as items:
        with pytest.raises(OperationError, match="checkpoint"):
            items.checkpoint()


async def test_a_failed_condition_brings_the_stored_item_as_an_instance(transport, open_session, refusal):
    error = refusal(ConditionalCheckFailedError)
    error.wire_item = item(5)
    transport.script(error)
    async with open_session() as session:
        with pytest.raises(ConditionalCheckFailedError) as caught:
            await session.execute_statement("UPDATE readings SET value = 1 WHERE sensor = 's'", into=Reading)
    assert caught.value.item == Reading(sensor="s", at=5)


async def test_the_statements_of_a_batch_succeed_and_fail_each_for_itself(transport, open_session):
    transport.script(
        {
            "Responses": [
                {"Item": item(0)},
                {"Error": {"Code": "ThrottlingError", "Message": "slow down"}, "TableName": "readings"},
                {},
                {"Item": {"sensor": {"S": "s"}}},
            ]
        }
    )
    statements = [Statement(SELECT, into=Reading)] * 4
    async with open_session() as session:
        with pytest.raises(BatchError) as caught:
            await session.batch_execute_statement(statements)
    assert [(each.position, type(each.error)) for each in caught.value.failures] == [
        (1, ThrottledError),
        (3, ItemValidationError),
    ]
    assert caught.value.failures[0].subject is statements[1]
    assert caught.value.results == (Reading(sensor="s", at=0), None, None, None)


async def test_the_results_of_a_batch_stand_in_the_order_of_its_statements(transport, open_session):
    transport.script({"Responses": [{"Item": item(3)}, {"TableName": "readings"}, {"Item": item(1)}]})
    async with open_session() as session:
        found = await session.execute(BatchExecuteStatement([Statement(SELECT, into=Reading)] * 3))
    assert found == [Reading(sensor="s", at=3), None, Reading(sensor="s", at=1)]


@pytest.mark.parametrize("verb", ["batch_execute_statement", "execute_transaction"])
async def test_no_statements_are_no_request(transport, open_session, verb):
    async with open_session() as session:
        assert await getattr(session, verb)([]) == []
    assert transport.requests == []


async def test_an_answer_that_does_not_speak_of_each_statement_is_no_result(transport, open_session):
    transport.script({"Responses": [{}]})
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(DamagedResponseError):
            await session.batch_execute_statement([Statement(SELECT)] * 2)


async def test_a_cancelled_transaction_is_one_error(transport, open_session, refusal):
    transport.script(refusal(TransactionCanceledError))
    async with open_session() as session:
        with pytest.raises(TransactionCanceledError):
            await session.execute_transaction([Statement(INSERT)])


async def test_a_duplicate_item_is_an_error_of_its_own(transport, open_session, refusal):
    transport.script(refusal(DuplicateItemError))
    async with open_session() as session:
        with pytest.raises(DuplicateItemError):
            await session.execute_statement(INSERT)


async def test_the_prefix_is_in_the_name_that_statements_spell(open_session):
    async with open_session(table_prefix="dev-") as session:
        assert session.table_name(Reading) == "dev-readings"
