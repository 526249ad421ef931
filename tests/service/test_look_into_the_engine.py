"""The engine in the process can be looked into, filled, and taken back to what it was; with sockets or without."""

import asyncio

import boto3
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, attr
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import LocalEngine


class Note(Model, table="notes"):
    id: PartitionKey[str]
    city: Attr[str | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city")


@pytest.fixture
def engine():
    with LocalEngine(models=[Note]) as engine:
        yield engine


@pytest.mark.asyncio
async def test_a_snapshot_is_restored_with_its_indexes(engine):
    async with engine.session() as session:
        await session.put(Note(id="a", city="London"))
        before = engine.snapshot()
        await session.put(Note(id="b", city="London"))
        await session.delete(Note, "a")
        engine.restore(before)
        assert await session.query(Note).where(Note.city == "London") == [Note(id="a", city="London")]


def test_a_snapshot_of_another_engine_is_refused(engine):
    with LocalEngine() as other, pytest.raises(ConfigurationError, match="not of this engine"):
        engine.restore(other.snapshot())


def test_a_snapshot_is_of_no_use_after_an_earlier_one_was_restored(engine):
    first, second = engine.snapshot(), engine.snapshot()
    engine.load("notes", [{"id": {"S": "a"}}])
    third = engine.snapshot()
    engine.restore(first)
    with pytest.raises(ConfigurationError, match="an earlier one was restored"):
        engine.restore(third)
    engine.restore(second)  # which is of the same moment as the first


@pytest.mark.asyncio
async def test_what_is_loaded_is_found_and_weighed(engine):
    engine.load("notes", [{"id": {"S": "a"}, "n": {"N": "1.0"}}])
    assert engine.items("notes") == [{"id": {"S": "a"}, "n": {"N": "1"}}]
    assert engine.size() == 3 + 3
    async with engine.session() as session:
        assert await session.get(Note, "a") == Note(id="a")


def test_what_cannot_be_loaded_is_refused_with_the_reason(engine):
    with pytest.raises(ConfigurationError, match=r"into 'notes': .*Missing the key id"):
        engine.load("notes", [{"x": {"S": "a"}}])
    with pytest.raises(ConfigurationError, match="no table 'other'; it has: notes"):
        engine.load("other", [])
    with pytest.raises(ConfigurationError, match="not Note; give instances to session.put_many"):
        engine.load("notes", [Note(id="a")])


def test_it_listens_only_when_somebody_asks_for_its_address(engine):
    assert engine._server is None
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "eu-west-1"}
    client = boto3.client("dynamodb", endpoint_url=engine.endpoint_url, **keys)
    client.put_item(TableName="notes", Item={"id": {"S": "a"}})
    client.close()
    assert engine.items("notes") == [{"id": {"S": "a"}}]


@pytest.mark.asyncio
async def test_a_blocking_client_on_the_loop_s_own_thread_is_answered(engine):
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "eu-west-1"}
    client = boto3.client("dynamodb", endpoint_url=engine.endpoint_url, **keys)
    async with engine.session() as session:
        await session.put(Note(id="a"))
        assert client.get_item(TableName="notes", Key={"id": {"S": "a"}})["Item"] == {"id": {"S": "a"}}
    client.close()


@pytest.mark.asyncio
@pytest.mark.parametrize("over", ["process", "http"])
async def test_sessions_reach_it_both_ways(engine, over):
    async with engine.session(over=over) as session:
        await session.put(Note(id="a"))
        assert await session.get(Note, "a") == Note(id="a")


def test_a_way_that_there_is_not_is_refused(engine):
    with pytest.raises(ConfigurationError, match="choose 'process' or 'http'"):
        engine.session(over="carrier pigeon")


@pytest.mark.asyncio
async def test_a_write_whose_caller_is_cancelled_in_that_moment_is_carried_out(engine):
    async with engine.session() as session:
        writing = asyncio.create_task(session.put(Note(id="a")))
        while not engine.items("notes"):  # noqa: ASYNC110 - the engine tells nobody
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait([writing])
        assert await session.get(Note, "a") == Note(id="a")


@pytest.mark.asyncio
async def test_a_task_that_only_asks_the_engine_lets_others_run(engine):
    async with engine.session() as session:
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        for _ in range(10):
            await session.find(Note, "nobody")
        counting.cancel()
        assert turns >= 10
