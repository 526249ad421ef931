import contextlib

import botocore.session
import pytest
import pytest_asyncio
from pydantic_core import from_json, to_json

from dynamap_async import Session
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ConfigurationError,
    ConnectionFailedError,
    DamagedResponseError,
    EncodeError,
    InternalServerError,
    Outcome,
    RequestRejectedError,
    RequestTimeoutError,
)
from dynamap_async.request import Request
from dynamap_async.service import STREAMS
from dynamap_async.transport import AioConfig, AioSession, ClientTransport

ONCE = {"total_max_attempts": 1}
KEYS = {"aws_access_key_id": "AKID", "aws_secret_access_key": "s"}


@pytest_asyncio.fixture
async def connect_client(server):
    """Make a user's client for the scripted server, and a transport over it; closes the client."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_transport(*, service="dynamodb", endpoint_url=server.url, keys=KEYS, **config):
            client = await stack.enter_async_context(
                AioSession().create_client(
                    service,
                    region_name="eu-west-1",
                    endpoint_url=endpoint_url,
                    config=AioConfig(**{"retries": ONCE, **config}),
                    **keys,
                )
            )
            transport = ClientTransport(client)
            await transport.open()
            stack.push_async_callback(transport.close)
            return transport

        yield open_transport


@pytest.mark.asyncio
async def test_answer_is_in_wire_form(server, connect_client, get_item):
    server.then(b'{"Item": {"raw": {"B": "AAE="}}}')
    transport = await connect_client()
    assert await transport.send(get_item) == {"Item": {"raw": {"B": "AAE="}}}
    assert from_json(server.requests[0].body) == get_item.body


@pytest.mark.asyncio
@pytest.mark.parametrize("retries", [None, {"max_attempts": 2}, {"mode": "standard"}, {"total_max_attempts": 3}])
async def test_client_that_resends_is_refused_with_the_config_to_use(connect_client, retries):
    with pytest.raises(ConfigurationError) as raised:
        await connect_client(retries=retries)
    assert 'AioConfig(retries={"total_max_attempts": 1})' in str(raised.value)


@pytest.mark.asyncio
@pytest.mark.parametrize("retries", [{"max_attempts": 0}, {"mode": "standard", **ONCE}, {"mode": "adaptive", **ONCE}])
async def test_client_that_sends_once_is_accepted_and_does(server, connect_client, get_item, retries):
    server.then(b"{}", status=500)
    transport = await connect_client(retries=retries)
    with pytest.raises(InternalServerError):
        await transport.send(get_item)
    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_client_of_another_service_is_refused(connect_client):
    with pytest.raises(ConfigurationError, match="'sqs'"):
        await connect_client(service="sqs")


@pytest.mark.parametrize(
    "make", [AioSession().create_client, botocore.session.get_session().create_client], ids=["not open", "synchronous"]
)
def test_what_is_no_open_client_of_aiobotocore_is_refused(make):
    client = make("dynamodb", region_name="eu-west-1", **KEYS)
    with contextlib.closing(getattr(client, "_coro", client)), pytest.raises(ConfigurationError, match="async with"):
        Session(client=client)


@pytest.mark.asyncio
async def test_users_client_stays_open(server, connect_client, get_item):
    transport = await connect_client()
    await transport.close()
    assert await transport.send(get_item) == {}


@pytest.mark.asyncio
async def test_pool_is_the_clients(connect_client):
    transport = await connect_client(max_pool_connections=3)
    assert transport.max_connections == 3


@pytest.mark.asyncio
async def test_refused_connection_was_not_sent(connect_client, get_item, refused_url):
    transport = await connect_client(endpoint_url=refused_url)
    with pytest.raises(ConnectionFailedError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.NOT_SENT


@pytest.mark.asyncio
async def test_reset_leaves_the_outcome_unknown(server, connect_client, get_item):
    server.then(then="reset")
    transport = await connect_client()
    with pytest.raises(ConnectionFailedError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.asyncio
async def test_reset_stays_unknown_while_the_program_handles_a_refusal(server, connect_client, get_item, refused_url):
    server.then(then="reset")
    refused, lost = await connect_client(endpoint_url=refused_url), await connect_client()
    try:
        await refused.send(get_item)
    except ConnectionFailedError:
        with pytest.raises(ConnectionFailedError) as raised:
            await lost.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.asyncio
async def test_slow_answer_times_out_with_an_unknown_outcome(server, connect_client, get_item):
    server.then(silent=True)
    transport = await connect_client(read_timeout=0.03)
    with pytest.raises(RequestTimeoutError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "reply",
    [
        {"body": b'{"Item"', "missing_bytes": 20, "then": "close"},
        {"body": b"{}", "headers": {"x-amz-crc32": "1"}},
        {"body": b"<html>sign in</html>", "headers": {"Content-Type": "text/html"}},
    ],
    ids=["truncated", "checksum", "html"],
)
async def test_damaged_answer_leaves_the_outcome_unknown(server, connect_client, get_item, reply):
    server.then(**reply)
    transport = await connect_client()
    with pytest.raises(DamagedResponseError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.asyncio
@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b""])
async def test_server_failure_without_json_is_an_internal_server_error(server, connect_client, get_item, body):
    server.then(body, status=502)
    transport = await connect_client()
    with pytest.raises(InternalServerError) as raised:
        await transport.send(get_item)
    assert raised.value.status == 502


@pytest.mark.asyncio
async def test_item_of_a_failed_condition_is_in_wire_form(server, connect_client, get_item):
    body = {"__type": "x#ConditionalCheckFailedException", "message": "no", "Item": {"raw": {"B": "AAE="}}}
    server.then(to_json(body), status=400)
    transport = await connect_client()
    with pytest.raises(ConditionalCheckFailedError) as raised:
        await transport.send(get_item)
    assert raised.value.wire_item == {"raw": {"B": "AAE="}}
    assert (raised.value.request_id, raised.value.status) == ("request-1", 400)


@pytest.mark.asyncio
async def test_parameters_that_botocore_refuses_are_a_rejected_request(server, connect_client):
    transport = await connect_client()
    with pytest.raises(RequestRejectedError, match="TableName"):
        await transport.send(Request(operation="GetItem", body={"Key": {}}, table="tweets"))
    assert server.requests == []


@pytest.mark.asyncio
async def test_half_of_a_surrogate_pair_is_refused_before_it_is_sent(server, connect_client, get_item):
    transport = await connect_client()
    get_item.body = {**get_item.body, "Key": {"id": {"S": "\ud800"}}}
    with pytest.raises(EncodeError, match="surrogates"):
        await transport.send(get_item)
    assert server.requests == []


@pytest.mark.asyncio
async def test_operation_that_botocore_does_not_know_is_a_configuration_error(connect_client):
    transport = await connect_client()
    with pytest.raises(ConfigurationError, match="upgrade aiobotocore"):
        await transport.send(Request(operation="GetFuture", body={}, table="tweets"))


@pytest.mark.asyncio
async def test_missing_credentials_are_a_configuration_error(connect_client, get_item):
    transport = await connect_client(keys={})
    with pytest.raises(ConfigurationError, match="credentials"):
        await transport.send(get_item)


@pytest.mark.asyncio
async def test_it_shows_what_it_sends_over(server, connect_client):
    transport = await connect_client()
    assert repr(transport) == f"<ClientTransport to {server.url} over a client of aiobotocore>"


@pytest_asyncio.fixture
async def make_client(server):
    """Make a user's client of a service for the scripted server; closes it."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_client(service, **config):
            return await stack.enter_async_context(
                AioSession().create_client(
                    service,
                    region_name="eu-west-1",
                    endpoint_url=server.url,
                    config=AioConfig(**{"retries": ONCE, **config}),
                    **KEYS,
                )
            )

        yield open_client


LIST_STREAMS = Request(operation="ListStreams", body={"TableName": "tweets"}, table="tweets", service=STREAMS)


@pytest.mark.asyncio
async def test_requests_to_streams_go_through_the_client_for_them(server, make_client, get_item):
    server.then(b'{"Streams": []}')
    server.then(b"{}")
    transport = ClientTransport(await make_client("dynamodb"), await make_client("dynamodbstreams"))
    await transport.open()
    assert await transport.send(LIST_STREAMS) == {"Streams": []}
    await transport.send(get_item)
    targets = [request.headers["x-amz-target"] for request in server.requests]
    assert targets == ["DynamoDBStreams_20120810.ListStreams", "DynamoDB_20120810.GetItem"]


@pytest.mark.asyncio
async def test_without_a_client_for_streams_the_error_says_how_to_give_one(make_client):
    transport = ClientTransport(await make_client("dynamodb"))
    with pytest.raises(ConfigurationError, match=r'streams_client=, made with create_client\("dynamodbstreams"'):
        await transport.send(LIST_STREAMS)


@pytest.mark.asyncio
async def test_a_client_for_streams_is_for_streams_and_sends_once(make_client):
    client = await make_client("dynamodb")
    with pytest.raises(ConfigurationError, match="for 'dynamodb', not for DynamoDB Streams"):
        await ClientTransport(client, client).open()
    with pytest.raises(ConfigurationError, match=r'create_client\("dynamodbstreams", config=AioConfig'):
        await ClientTransport(client, await make_client("dynamodbstreams", retries={"max_attempts": 3})).open()
    with pytest.raises(ConfigurationError, match="streams_client= must be an open aiobotocore client"):
        ClientTransport(client, object())


def test_a_client_for_streams_alone_is_refused():
    with pytest.raises(ConfigurationError, match="streams_client= stands beside client="):
        Session(streams_client=object())
