"""Both transports, and the three kinds of connections of the first, each connected to moto."""

import asyncio
import contextlib
import os
import uuid

import pytest
import pytest_asyncio
from aiobotocore.httpsession import AIOHTTPSession
from moto.server import ThreadedMotoServer

from dynamap_async.config import Credentials
from dynamap_async.request import Request
from dynamap_async.transport import AioConfig, AioSession, ClientTransport, Connection, WireTransport

REGION = "eu-west-1"


@pytest.fixture(scope="session")
def moto_url():
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@contextlib.asynccontextmanager
async def over_the_wire(url, config=None):
    credentials = Credentials(access_key_id="AKID", secret_access_key="s")
    connection = Connection(region=REGION, endpoint_url=url, credentials=credentials, aio_config=config)
    transport = WireTransport(connection)
    await transport.open()
    try:
        yield transport
    finally:
        await transport.close()


def over_aiohttp(url):
    return over_the_wire(url, AioConfig(connector_args={"use_dns_cache": True}))


class AnotherSession(AIOHTTPSession):
    """A class of the user's own, so that requests go through it."""


def over_a_session_class(url):
    return over_the_wire(url, AioConfig(http_session_cls=AnotherSession))


@contextlib.asynccontextmanager
async def over_a_client(url):
    config = AioConfig(retries={"total_max_attempts": 1})
    keys = {"aws_access_key_id": "AKID", "aws_secret_access_key": "s"}
    async with AioSession().create_client(
        "dynamodb", region_name=REGION, endpoint_url=url, config=config, **keys
    ) as client:
        transport = ClientTransport(client)
        await transport.open()
        yield transport
        await transport.close()


WAYS = {
    "wire": over_the_wire,
    "aiohttp": over_aiohttp,
    "session class": over_a_session_class,
    "client": over_a_client,
}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """The name of a way to reach a server; ``WAYS`` has what opens a transport."""
    for name in os.environ:
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    return request.param


@pytest_asyncio.fixture
async def transport(way, moto_url):
    async with WAYS[way](moto_url) as opened:
        yield opened


@pytest_asyncio.fixture
async def to_server(way):
    """Open a transport to a server that serves each connection by a function of the test's."""
    async with contextlib.AsyncExitStack() as stack:

        async def open_transport(serve):
            serving = set()

            async def accept(reader, writer):
                task = asyncio.current_task()
                serving.add(task)
                try:
                    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                        await serve(reader, writer)
                finally:
                    writer.close()
                    with contextlib.suppress(ConnectionError):
                        await writer.wait_closed()
                    serving.discard(task)

            async def stop():
                server.close()
                while serving:
                    await asyncio.wait(serving)

            server = await asyncio.start_server(accept, "127.0.0.1", 0)
            stack.push_async_callback(stop)
            host, port = server.sockets[0].getsockname()
            return await stack.enter_async_context(WAYS[way](f"http://{host}:{port}"))

        yield open_transport


@pytest.fixture
def ask(transport):
    """Send an operation on a table."""

    async def send(operation, table, **body):
        return await transport.send(Request(operation=operation, body={"TableName": table, **body}, table=table))

    return send


@pytest_asyncio.fixture
async def table(ask):
    name = f"tweets-{uuid.uuid4().hex}"
    await ask(
        "CreateTable",
        name,
        AttributeDefinitions=[
            {"AttributeName": "user", "AttributeType": "S"},
            {"AttributeName": "id", "AttributeType": "N"},
        ],
        KeySchema=[{"AttributeName": "user", "KeyType": "HASH"}, {"AttributeName": "id", "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name
