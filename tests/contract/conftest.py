"""Both transports, and both kinds of connections of the first, each connected to moto."""

import contextlib
import os
import uuid

import pytest
import pytest_asyncio
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


@pytest_asyncio.fixture(params=[over_the_wire, over_aiohttp, over_a_client], ids=["wire", "aiohttp", "client"])
async def transport(request, moto_url, monkeypatch):
    for name in os.environ:
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    async with request.param(moto_url) as opened:
        yield opened


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
