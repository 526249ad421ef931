"""Many items at once on real engines, with the requests counted on their way."""

import asyncio
from collections import Counter
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Find, Model, PartitionKey, SortKey, attr
from dynamap_async.errors import BatchError, EncodeError, ItemTooLargeError
from dynamap_async.testing import NativeEngine
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio


class Tweet(Model, table="tweets"):
    user_id: PartitionKey[str]
    tweet_id: SortKey[int]
    text: Attr[str] = attr(default="")


class User(Model, table="users"):
    name: PartitionKey[str]


def tweets(count):
    return (Tweet(user_id=f"user{n % 97}", tweet_id=n, text=f"text {n}") for n in range(count))


def keys(count):
    return [(f"user{n % 97}", n) for n in range(count)]


@pytest_asyncio.fixture
async def counted(engine):
    """Return a session whose tables no other test sees, and the counts of its requests by operation."""
    faults = Faults()
    async with faults.session(engine, table_prefix=f"t{uuid4().hex[:12]}-") as session:
        await session.tables.create(Tweet, User)
        yield session, lambda: dict(Counter(entry.operation for entry in faults.log if "Batch" in entry.operation))


async def test_a_thousand_items_are_written_read_and_deleted_in_full_batches(counted):
    session, counts = counted
    told = []
    assert await session.put_many(tweets(1000), progress=told.append) == 1000
    assert told[-1] == 1000
    found = await session.get_many(Tweet, keys(1000))
    assert [item and item.tweet_id for item in found] == list(range(1000))
    assert await session.delete_many(Tweet, keys(1000)) == 1000
    assert counts() == {"BatchWriteItem": 80, "BatchGetItem": 10}
    assert await session.scan(Tweet).count() == 0


async def test_several_models_are_read_in_one_call(counted):
    session, counts = counted
    await session.put_many([User(name="ada"), Tweet(user_id="ada", tweet_id=7, text="hi")])
    found = await session.get_many([Find(Tweet, "ada", 7), Find(User, "ada"), Find(User, "bob"), Find(Tweet, "ada", 7)])
    assert found == [Tweet(user_id="ada", tweet_id=7, text="hi"), User(name="ada"), None, found[0]]
    assert found[0] is not found[3]
    assert counts() == {"BatchWriteItem": 1, "BatchGetItem": 1}


async def test_each_gives_out_every_pair(counted):
    session, counts = counted
    await session.put_many(tweets(250))
    async with session.each(Tweet, keys(251), consistent_read=True) as pairs:
        found = {key: item async for key, item in pairs}
    assert [found[key] and found[key].text for key in keys(251)] == [*(f"text {n}" for n in range(250)), None]
    assert counts()["BatchGetItem"] == 3


async def test_bad_items_do_not_stop_their_neighbours(counted):
    session, _counts = counted
    items = [*tweets(30), Tweet(user_id="ada", tweet_id=0, text="x" * 450_000), Tweet(user_id="", tweet_id=1)]
    with pytest.raises(BatchError) as caught:
        await session.put_many(items)
    assert [(each.position, type(each.error)) for each in caught.value.failures] == [
        (30, ItemTooLargeError),
        (31, EncodeError),
    ]
    assert await session.scan(Tweet).count() == 30


async def test_a_bulk_load_of_large_items_is_complete(counted):
    session, _counts = counted
    async with session.batch() as batch:
        for n in range(60):
            await batch.put(Tweet(user_id="ada", tweet_id=n, text=str(n % 10) * 300_000))
        await batch.delete(Tweet, "ada", 0)
    found = await session.get_many(Tweet, [("ada", n) for n in range(60)], consistent_read=True)
    assert [item and item.text[:1] for item in found] == [None, *(str(n % 10) for n in range(1, 60))]


async def test_thousands_of_items_pass_through_the_native_engine(native_executable):
    with NativeEngine(native_executable) as engine:
        async with engine.session() as session:
            await session.tables.create(Tweet)
            assert await session.put_many(tweets(3_000)) == 3_000
            found = await session.get_many(Tweet, keys(3_000))
            assert [item and item.text for item in found] == [f"text {n}" for n in range(3_000)]
            assert await session.scan(Tweet).count() == 3_000


async def test_leaving_early_leaves_no_task(counted):
    session, _counts = counted
    await session.put_many(tweets(300))
    before = asyncio.all_tasks()
    async with session.each(Tweet, keys(300)) as pairs:
        async for _ in pairs:
            break
    await session.find(Tweet, "user0", 0)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() <= before


HALF = "a\ud800"
"""It ends with half of a surrogate pair: a client may spell it in JSON, and UTF-8 cannot."""
CALLS = {
    "find": lambda session: session.find(User, HALF),
    "get_many": lambda session: session.get_many(User, ["ada", HALF]),
    "delete": lambda session: session.delete(User, HALF),
    "put": lambda session: session.put(User(name=HALF)),
    "put_many": lambda session: session.put_many([User(name="ada"), User(name=HALF)]),
    "delete_many": lambda session: session.delete_many(User, ["cyd", HALF]),
    "transact_find": lambda session: session.transact_find((User, "ada"), (User, HALF)),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_a_text_that_is_not_unicode_hurts_nobody_else(counted, call):
    session, _counts = counted
    await session.put_many([User(name="ada"), *tweets(3)])

    async def fails():
        with pytest.raises((EncodeError, BatchError)) as caught:
            await call(session)
        return caught.value

    async with asyncio.TaskGroup() as tasks:
        user = tasks.create_task(session.find(User, "ada"))
        failing = tasks.create_task(fails())
        tweet = tasks.create_task(session.find(Tweet, "user1", 1))
        tasks.create_task(session.put(User(name="bob")))
    assert (user.result().name, tweet.result().text) == ("ada", "text 1")
    error = failing.result()
    if isinstance(error, BatchError):
        [failure] = error.failures
        assert failure.position == 1
        error = failure.error
    assert str(error).startswith("User.name: the text")
