"""Requests to another service than DynamoDB: its name in headers and signatures, and an endpoint of its own."""

import asyncio
import re

import pytest
import pytest_asyncio

from dynamap_async.config import Credentials
from dynamap_async.errors import SessionStateError
from dynamap_async.request import Request
from dynamap_async.service import DYNAMODB, STREAMS
from dynamap_async.transport import Connection, WireTransport, http
from dynamap_async.transport.lookup import resolve_settings

CREDENTIALS = Credentials(access_key_id="AKIDEXAMPLE", secret_access_key="secret")
IN_IRELAND = {"region": "eu-west-1", "credentials": CREDENTIALS}
GET_RECORDS = Request(operation="GetRecords", body={"ShardIterator": "s"}, table="tweets", service=STREAMS)


def host(service):
    return resolve_settings(Connection(**IN_IRELAND), service).endpoint.host


@pytest_asyncio.fixture
async def of_streams(server, monkeypatch):
    """A second server, which the environment names for the other service."""
    other = type(server)()
    await other.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", other.url)
    yield other
    await other.stop()


@pytest_asyncio.fixture
async def transport(of_streams):
    opened = WireTransport(Connection(**IN_IRELAND))
    await opened.open()
    yield opened
    await opened.close()


def test_each_service_has_a_host_of_its_own():
    assert host(DYNAMODB) == "dynamodb.eu-west-1.amazonaws.com"
    assert host(STREAMS) == "streams.dynamodb.eu-west-1.amazonaws.com"


def test_an_endpoint_that_the_environment_names_for_one_service_is_not_that_of_another(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://own:1")
    assert host(STREAMS) == "streams.dynamodb.eu-west-1.amazonaws.com"
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://any:2")
    assert host(STREAMS) == "any:2"
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", "http://own:3")
    assert host(STREAMS) == "own:3"


def test_an_endpoint_that_the_profile_names_for_one_service_is_not_that_of_another(aws_config_file):
    aws_config_file("[default]\nservices = s\n[services s]\ndynamodb_streams =\n  endpoint_url = http://own:5\n")
    assert (host(STREAMS), host(DYNAMODB)) == ("own:5", "dynamodb.eu-west-1.amazonaws.com")


@pytest.mark.asyncio
async def test_an_endpoint_that_is_given_serves_every_service(server, connect, get_item):
    transport = await connect()
    await transport.send(get_item)
    await transport.send(GET_RECORDS)
    assert [each.headers["x-amz-target"] for each in server.requests] == [
        "DynamoDB_20120810.GetItem",
        "DynamoDBStreams_20120810.GetRecords",
    ]


@pytest.mark.asyncio
async def test_a_request_goes_to_the_endpoint_of_its_service(server, of_streams, transport, get_item):
    of_streams.then(b'{"Records": []}')
    assert await transport.send(GET_RECORDS) == {"Records": []}
    assert await transport.send(get_item) == {}
    assert [len(server.requests), len(of_streams.requests)] == [1, 1]


@pytest.mark.asyncio
async def test_a_request_is_signed_for_its_service(of_streams, transport):
    await transport.send(GET_RECORDS)
    signed = of_streams.requests[0].headers["authorization"]
    assert re.search(r"Credential=AKIDEXAMPLE/\d{8}/eu-west-1/dynamodb/aws4_request", signed)


@pytest.mark.asyncio
async def test_the_endpoint_of_a_service_is_looked_up_once_for_all_who_ask(of_streams, transport, monkeypatch):
    looked_up, look_up = [], http.look_up

    def noted(connection, service, complete):
        looked_up.append(service)
        return look_up(connection, service, complete)

    monkeypatch.setattr(http, "look_up", noted)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(transport.send(GET_RECORDS))
    await transport.send(GET_RECORDS)
    assert (len(of_streams.requests), looked_up) == (4, [STREAMS])


@pytest.mark.asyncio
async def test_closing_ends_the_connections_to_every_service(server, of_streams, get_item):
    transport = WireTransport(Connection(**IN_IRELAND))
    await transport.open()
    await transport.send(get_item)
    await transport.send(GET_RECORDS)
    await transport.close()
    await asyncio.wait_for(server.stop(), 10)  # which waits for the end of each connection
    await asyncio.wait_for(of_streams.stop(), 10)


@pytest.mark.asyncio
async def test_a_service_that_is_opened_while_the_transport_closes_is_closed_too(of_streams):
    transport = WireTransport(Connection(**IN_IRELAND))
    await transport.open()
    sending = asyncio.create_task(transport.send(GET_RECORDS))
    await asyncio.sleep(0)  # its endpoint is being looked up
    await transport.close()
    with pytest.raises(SessionStateError, match="closed before the request was sent"):
        await sending
    assert not of_streams.requests
