"""The requests of streams mean the same over both transports, connected to the engine's server."""

import contextlib

import botocore.session
import pytest
import pytest_asyncio

from dynamap_async.config import BatchPolicy, Credentials, RetryPolicy
from dynamap_async.errors import (
    RequestRejectedError,
    ResourceNotFoundError,
)
from dynamap_async.executor import Executor
from dynamap_async.request import Request
from dynamap_async.simulated import StreamShards
from dynamap_async.streams.requests import StreamRequests
from dynamap_async.testing import LocalEngine
from dynamap_async.transport import AioConfig, AioSession, ClientTransport, Connection, WireTransport

TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "B"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}
ITEM = {"pk": {"B": "YWI="}, "n": {"N": "1"}, "bs": {"BS": ["AQ=="]}}


@contextlib.asynccontextmanager
async def over_clients(url):
    config = AioConfig(retries={"total_max_attempts": 1})
    keys = {"aws_access_key_id": "AKID", "aws_secret_access_key": "s"}
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                AioSession().create_client(service, region_name="eu-west-1", endpoint_url=url, config=config, **keys)
            )
            for service in ("dynamodb", "dynamodbstreams")
        ]
        yield ClientTransport(*clients)


@contextlib.asynccontextmanager
async def over_the_wire(url):
    credentials = Credentials(access_key_id="AKID", secret_access_key="s")
    yield WireTransport(Connection(region="eu-west-1", endpoint_url=url, credentials=credentials))


@pytest_asyncio.fixture(params=[over_the_wire, over_clients], ids=["wire", "client"])
async def executor(request):
    """An executor over a transport to an engine with shards, and a table with a stream."""
    rules = StreamShards(shards=2, reads_per_second=None, descriptions_per_second=None, empty_pages=0.0)
    with LocalEngine(streams=rules) as engine:
        async with request.param(engine.endpoint_url) as transport:
            opened = Executor(transport, retry=RetryPolicy(), batching=BatchPolicy())
            await opened.open()
            try:
                await opened.send(Request(operation="CreateTable", body=TABLE, table="things", writes=True))
                yield opened
            finally:
                await opened.close(1.0)


@pytest.fixture
def streams(executor):
    return StreamRequests(executor, "things")


async def put(executor):
    await executor.send(
        Request(operation="PutItem", body={"TableName": "things", "Item": ITEM}, table="things", writes=True)
    )


@pytest.mark.asyncio
async def test_a_stream_is_found_described_and_listed(streams):
    arn = await streams.latest()
    assert [(each.arn, each.table) for each in await streams.streams()] == [(arn, "things")]
    assert await streams.streams(all_tables=True) == await streams.streams()
    described = await streams.describe(arn)
    assert (described.enabled, described.view) == (True, "NEW_AND_OLD_IMAGES")
    assert [shard.parent for shard in described.shards] == [None, None]
    assert await streams.children(arn, described.shards[0].id) == []


@pytest.mark.asyncio
async def test_records_are_in_wire_form(streams, executor):
    arn = await streams.latest()
    shards = (await streams.describe(arn)).shards
    await put(executor)
    iterators = [await streams.iterator(arn, shard.id, "TRIM_HORIZON") for shard in shards]
    answers = [await streams.records(iterator) for iterator in iterators]
    [record] = [record for answer in answers for record in answer["Records"]]
    assert record["dynamodb"]["NewImage"] == ITEM
    assert record["dynamodb"]["Keys"] == {"pk": ITEM["pk"]}
    assert isinstance(record["dynamodb"]["ApproximateCreationDateTime"], int | float)
    assert all(answer["NextShardIterator"] for answer in answers)


def knows_timestamps():
    """Return whether botocore is new enough to send the time of a position; a reader goes on without."""
    service = botocore.session.get_session().get_service_model("dynamodbstreams")
    return "Timestamp" in service.operation_model("GetShardIterator").input_shape.members


@pytest.mark.asyncio
async def test_every_kind_of_position_can_be_asked_for(streams, executor, request):
    arn = await streams.latest()
    shards = [shard.id for shard in (await streams.describe(arn)).shards]
    await put(executor)

    async def read(shard, kind, **at):
        return (await streams.records(await streams.iterator(arn, shard, kind, **at)))["Records"]

    found = {shard: await read(shard, "TRIM_HORIZON") for shard in shards}
    [(shard, [record])] = [(shard, records) for shard, records in found.items() if records]
    number = record["dynamodb"]["SequenceNumber"]
    time = record["dynamodb"]["ApproximateCreationDateTime"]
    assert await read(shard, "AT_SEQUENCE_NUMBER", SequenceNumber=number) == [record]
    assert await read(shard, "AFTER_SEQUENCE_NUMBER", SequenceNumber=number) == []
    assert await read(shard, "LATEST") == []
    if request.node.callspec.id == "client" and not knows_timestamps():
        with pytest.raises(RequestRejectedError, match='Unknown parameter in input: "Timestamp"'):
            await read(shard, "AT_TIMESTAMP", Timestamp=time - 1)
        return
    assert await read(shard, "AT_TIMESTAMP", Timestamp=time - 1) == [record]
    assert await read(shard, "AT_TIMESTAMP", Timestamp=time + 10) == []


@pytest.mark.asyncio
async def test_refusals_have_their_classes(streams):
    arn = await streams.latest()
    with pytest.raises(ResourceNotFoundError):
        await streams.describe(arn + "0")
    with pytest.raises(ResourceNotFoundError):
        await streams.iterator(arn, "shardId-00000000000000000000-00000000", "LATEST")
    with pytest.raises(RequestRejectedError):
        await streams.records("none")
