"""Updates inside a transaction, and writes that are done exactly once, as builders."""

import asyncio
import gc
import warnings

import pytest

from dynamap_async import Put, Update
from dynamap_async.errors import ExpressionError, OperationError, OutOfRangeError, SessionStateError


@pytest.fixture
def transacting(service):
    """Let the service take every transaction, and remember the actions."""
    taken = []

    def transact(body):
        taken.append(body["TransactItems"])
        return {}

    service.TransactWriteItems = transact
    return taken


async def test_update_joins_when_it_is_made_and_what_a_method_returns_takes_its_place(open_session, model, transacting):
    async with open_session() as session, session.transaction() as tx:
        tx.put(model(sensor="s", at=1))
        update = tx.update(model, "s", 2)
        assert [type(action) for action in tx.actions][1:] == [Update]
        update = update.add(model.value, 1)
        update.where(model.value < 9)
        tx.delete(model, "s", 3)
    [actions] = transacting
    assert [list(action) for action in actions] == [["Put"], ["Update"], ["Delete"]]
    update = actions[1]["Update"]
    assert update["Key"] == {"sensor": {"S": "s"}, "at": {"N": "2"}}
    assert set(update) == {
        "TableName",
        "Key",
        "UpdateExpression",
        "ConditionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ReturnValuesOnConditionCheckFailure",
    }


async def test_update_that_changes_nothing_refuses_the_transaction(open_session, model, service, transacting):
    async with open_session() as session:
        tx = await session.transaction().__aenter__()
        tx.update(model, "s", 2)
        with pytest.raises(OperationError):
            await tx.__aexit__(None, None, None)
    assert transacting == []
    assert service.requests == []


async def test_change_that_is_refused_leaves_the_update_as_it_was(open_session, model, transacting):
    async with open_session() as session, session.transaction() as tx:
        update = tx.update(model, "s", 2).add(model.value, 1)
        with pytest.raises(ExpressionError):
            update.set(model.value, 5)
    [[action]] = transacting
    assert list(action["Update"]["ExpressionAttributeValues"].values()) == [{"N": "1"}]


async def test_update_whose_place_another_has_taken_refuses_to_be_changed(open_session, model, transacting):
    async with open_session() as session, session.transaction() as tx:
        first = tx.update(model, "s", 2)
        second = first.add(model.value, 1)
        with pytest.raises(OperationError, match=r"another update has taken the place .* update = update.set\("):
            first.where(model.value < 9)
        assert str(first) != str(second)
    [[action]] = transacting
    assert "ConditionExpression" in action["Update"]
    assert "ExpressionAttributeValues" in action["Update"]


@pytest.mark.parametrize(
    "record",
    [
        lambda tx, model: tx.put(model(sensor="s", at=1)),
        lambda tx, model: tx.create(model(sensor="s", at=1)),
        lambda tx, model: tx.save(model(sensor="s", at=1)),
        lambda tx, model: tx.replace(model(sensor="s", at=1)),
        lambda tx, model: tx.delete(model, "s", 1),
        lambda tx, model: tx.check(model, "s", 1, where=model.value > 1),
        lambda tx, model: tx.add(Put(model(sensor="s", at=1))),
        lambda tx, model: tx.update(model, "s", 1).set(model.value, 1),
    ],
    ids=["put", "create", "save", "replace", "delete", "check", "add", "update"],
)
async def test_what_a_transaction_records_says_that_it_is_not_awaited(open_session, model, transacting, record):
    with pytest.raises(SessionStateError, match="a transaction records, .* without await"):
        async with open_session() as session, session.transaction() as tx:
            await record(tx, model)
    assert transacting == []


async def test_update_ends_with_its_block(open_session, model, transacting):
    async with open_session() as session:
        async with session.transaction() as tx:
            update = tx.update(model, "s", 2).add(model.value, 1)
        with pytest.raises(SessionStateError, match="only inside"):
            update.where(model.value > 3)
    assert len(transacting) == 1


async def test_hundred_and_first_action_is_refused_at_once(open_session, model, transacting):
    async with open_session() as session, session.transaction() as tx:
        for at in range(100):
            tx.delete(model, "s", at)
        with pytest.raises(OutOfRangeError, match="this one has 101"):
            tx.update(model, "s", 100)
    assert [len(actions) for actions in transacting] == [100]


async def test_write_done_exactly_once_is_a_coroutine_to_asyncio(open_session, model, transacting):
    async with open_session() as session:
        task = asyncio.create_task(session.update(model, "s", 1).add(model.value, 1).exactly_once())
        assert await task is None
        await asyncio.wait_for(session.update(model, "s", 1).add(model.value, 1).exactly_once(), 5)
    assert len(transacting) == 2


async def test_write_done_exactly_once_is_awaited_once(open_session, model, transacting):
    async with open_session() as session:
        counted = session.update(model, "s", 1).add(model.value, 1).exactly_once()
        await counted
        with pytest.raises(RuntimeError, match="awaited before"):
            await counted
    assert len(transacting) == 1


@pytest.mark.parametrize("then_get", [False, True])
async def test_write_that_is_never_awaited_warns_once(open_session, model, service, then_get):
    async with open_session() as session:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            counted = session.update(model, "s", 1).add(model.value, 1).exactly_once()
            counted = counted.then_get() if then_get else counted
            del counted
            gc.collect()
    [warning] = caught
    assert warning.category is RuntimeWarning
    assert "never awaited" in str(warning.message)
    assert service.requests == []


async def test_read_behind_a_write_gives_the_item(open_session, model, service, stored, transacting):
    stored(3)
    async with open_session() as session:
        read = await session.update(model, "s", 2).add(model.value, 1).exactly_once().then_get()
    assert read == model(sensor="s", at=2, value=2)
    assert [request.operation for request in service.requests] == ["TransactWriteItems", "GetItem"]
