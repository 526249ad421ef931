"""The engine in the process cuts streams into shards, as boto3 sees them."""

from contextlib import closing

import boto3
import pytest
from botocore.exceptions import ClientError

from dynamap_async import Attr, Model, PartitionKey, TableSettings
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import FrozenClock, LocalEngine, StreamShards


class Event(Model, table="events", settings=TableSettings(stream="new-and-old")):
    id: PartitionKey[str]
    number: Attr[int]


@pytest.fixture
def clock():
    return FrozenClock()


@pytest.fixture
def engine(clock):
    with LocalEngine(models=[Event], clock=clock, streams=StreamShards(shards=3, splits=(60,))) as engine:
        yield engine


@pytest.fixture
def streams(engine):
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    client = boto3.client("dynamodbstreams", region_name="eu-west-1", endpoint_url=engine.endpoint_url, **keys)
    with closing(client):
        yield client


def shards_of(streams):
    [stream] = streams.list_streams(TableName="events")["Streams"]
    where = {"StreamArn": stream["StreamArn"]}
    return where, streams.describe_stream(**where)["StreamDescription"]["Shards"]


@pytest.mark.asyncio
async def test_every_change_is_read_once_from_the_shards(engine, streams, clock):
    async with engine.session() as session:
        for moment in range(3):
            await session.put_many([Event(id=f"{moment}/{number}", number=number) for number in range(20)])
            clock.advance(40)
    where, shards = shards_of(streams)
    assert sum("ParentShardId" in shard for shard in shards) == 2
    told = []
    for shard in shards:
        begin = {**where, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator, pages = streams.get_shard_iterator(**begin)["ShardIterator"], 0
        while iterator is not None and pages < 10:
            page = streams.get_records(ShardIterator=iterator)
            told += [record["dynamodb"]["Keys"]["id"]["S"] for record in page["Records"]]
            iterator, pages = page.get("NextShardIterator"), pages + 1
            clock.advance(1)
        assert (iterator is None) == ("EndingSequenceNumber" in shard["SequenceNumberRange"])
    assert sorted(told) == sorted(f"{moment}/{number}" for moment in range(3) for number in range(20))
    reads = [calls for calls in engine.stream_calls if calls.operation == "GetRecords"]
    assert {calls.shard_id for calls in reads} == {shard["ShardId"] for shard in shards}
    assert max(calls.most_per_second for calls in reads) == 1


def test_a_sixth_read_within_a_second_is_refused(engine, streams):
    where, [shard, *_others] = shards_of(streams)
    begin = {**where, "ShardId": shard["ShardId"], "ShardIteratorType": "LATEST"}
    iterator = streams.get_shard_iterator(**begin)["ShardIterator"]
    for _ in range(5):
        iterator = streams.get_records(ShardIterator=iterator)["NextShardIterator"]
    with pytest.raises(ClientError) as caught:
        streams.get_records(ShardIterator=iterator)
    assert caught.value.response["Error"]["Code"] == "LimitExceededException"
    assert sum(calls.refused for calls in engine.stream_calls) == 1


def test_shards_that_cannot_be_are_refused():
    with pytest.raises(ConfigurationError, match="shards=0 is no whole number from 1 on"):
        LocalEngine(streams=StreamShards(shards=0))
