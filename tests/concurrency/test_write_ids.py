"""A write that must not be done twice asks for its item after a lost answer: when, in whose turn, and how often."""

import asyncio

import pytest

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, attr
from dynamap_async.errors import ConditionalCheckFailedError, ConnectionFailedError, Outcome, TransportError


class Page(Model, table="pages"):
    path: PartitionKey[str]
    visits: Attr[int] = attr(default=0)
    by: Attr[str | None] = attr(write_id=True)


class Plain(Model, table="plains"):
    path: PartitionKey[str]


def lost(outcome=Outcome.UNKNOWN):
    return ConnectionFailedError("lost", outcome=outcome, operation="UpdateItem", table="pages")


def stored(request, *, by=None):
    """Return the item that an update of one visit leaves, or another writer's."""
    return {"path": {"S": "/"}, "visits": {"N": "1"}, "by": {"S": by} if by else request.write_id.value}


def refused(item):
    error = ConditionalCheckFailedError(
        "refused", service_code="ConditionalCheckFailedException", operation="UpdateItem", table="pages", status=400
    )
    error.wire_item = item
    return error


def count(session):
    return session.increment(Page, "/", Page.visits)


@pytest.mark.asyncio
async def test_the_item_is_asked_for_by_an_update_that_nothing_can_fulfil(transport, open_session):
    transport.script(lost(), lambda request: refused(stored(request)))
    async with open_session() as session:
        assert await count(session) == 1
    update, look = transport.requests
    assert {name: value for name, value in look.body.items() if name != "ReturnConsumedCapacity"} == {
        "TableName": "pages",
        "Key": {"path": {"S": "/"}},
        "ConditionExpression": "attribute_exists(#k) AND attribute_not_exists(#k)",
        "ExpressionAttributeNames": {"#k": "path"},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    assert (update.operation, look.operation) == ("UpdateItem", "UpdateItem")
    assert "ADD" in update.body["UpdateExpression"]


@pytest.mark.asyncio
async def test_what_was_not_sent_is_sent_and_not_asked_for(transport, open_session):
    transport.script(lost(Outcome.NOT_SENT), lambda request: {"Attributes": stored(request)})
    async with open_session() as session:
        assert await count(session) == 1
    first, second = transport.requests
    assert first.body == second.body


@pytest.mark.asyncio
async def test_only_lost_answers_cost_another_request(transport, open_session):
    transport.script(lambda request: {"Attributes": stored(request)})
    async with open_session() as session:
        assert await count(session) == 1
    assert len(transport.requests) == 1


@pytest.mark.asyncio
async def test_a_policy_of_one_attempt_asks_nothing(transport, open_session):
    transport.script(lost())
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        with pytest.raises(TransportError) as caught:
            await count(session)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert caught.value.__notes__ == [
        "not sent again: this was attempt 1, the last that RetryPolicy(max_attempts=1) allows"
    ]


@pytest.mark.asyncio
async def test_where_nothing_answers_it_is_asked_as_often_as_the_policy_says(transport, open_session):
    transport.script(*[lost()] * 4)
    async with open_session(retry=RetryPolicy(max_attempts=4)) as session:
        with pytest.raises(TransportError) as caught:
            await count(session)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert ["UpdateExpression" in each.body for each in transport.requests] == [True, False, False, False]


@pytest.mark.asyncio
async def test_the_first_failure_is_told_where_the_item_is_anothers(transport, open_session):
    first = lost()
    transport.script(first, lambda request: refused(stored(request, by="another")))
    async with open_session() as session:
        with pytest.raises(ConnectionFailedError) as caught:
            await count(session)
    error = caught.value
    assert (str(error), error.outcome, error.attempts) == (str(first), Outcome.UNKNOWN, 2)
    assert error.__notes__ == [
        "the stored item was last written by another write: it is unknown whether this write was done before"
    ]


@pytest.mark.asyncio
@pytest.mark.parametrize("model", [Page, Plain])
async def test_a_refusal_after_no_lost_answer_leaves_nothing_unknown(transport, open_session, model):
    refusal = refused({"path": {"S": "/"}})
    transport.script(refusal)
    async with open_session() as session:
        with pytest.raises(ConditionalCheckFailedError) as caught:
            await session.create(model(path="/"))
    assert not caught.value.outcome_unknown
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.asyncio
async def test_later_writes_of_the_item_wait_until_it_is_known(transport, open_session):
    transport.script(
        lost(),
        lambda request: refused(stored(request)),
        lambda request: {"Attributes": {**stored(request), "visits": {"N": "2"}}},
    )
    async with open_session() as session:
        assert await session.gather(count(session), count(session)) == (1, 2)
    ids = [request.write_id.value["S"] for request in transport.requests]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.asyncio
async def test_a_caller_that_leaves_before_the_question_asks_nothing(transport, open_session):
    sent = asyncio.Event()
    transport.script(lambda request: sent.set() or lost())
    async with open_session() as session:
        counting = asyncio.ensure_future(count(session))
        await sent.wait()
        counting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await counting
    assert len(transport.requests) == 1


@pytest.mark.asyncio
async def test_closing_the_session_leaves_the_outcome_unknown(transport, open_session):
    sent = asyncio.Event()
    transport.script(lambda request: sent.set() or lost())
    async with open_session(close_timeout_seconds=0.0, retry=RetryPolicy(base_delay_seconds=60.0)) as session:
        counting = asyncio.ensure_future(count(session))
        await sent.wait()
    with pytest.raises(TransportError) as caught:
        await counting
    assert caught.value.outcome is Outcome.UNKNOWN


@pytest.mark.asyncio
async def test_a_write_that_is_recognised_counts_as_one_that_succeeded(transport, open_session):
    events = []
    transport.script(lost(), lambda request: refused(stored(request)))
    async with open_session(observer=events.append) as session:
        await count(session)
    last = events[-1]
    assert (type(last).__name__, last.error) == ("RequestEnded", None)
