"""What tests of engines and of other servers share."""

import os
import socket
from contextlib import asynccontextmanager

import pytest

from dynamap_async.testing.faults import FaultyServer
from dynamap_async.transport import AioConfig


@pytest.fixture
def free_port() -> int:
    """Return a port that nobody has, of those that no system gives to whoever asks for any."""
    first = 10_000 + os.getpid() % 20_000  # tests run in several processes
    for port in range(first, first + 100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    pytest.fail(f"the ports from {first} on are taken", pytrace=False)


@asynccontextmanager
async def by_transport(engine, faults, **settings):
    async with faults.session(engine, **settings) as session:
        yield session


@asynccontextmanager
async def by_server(engine, faults, **settings):
    async with FaultyServer(engine.endpoint_url, faults) as server, server.session(**settings) as session:
        yield session


@asynccontextmanager
async def by_server_over_aiohttp(engine, faults, *, aio_config=None, **settings):
    over_aiohttp = AioConfig(connector_args={"use_dns_cache": True}).merge(aio_config or AioConfig())
    async with by_server(engine, faults, aio_config=over_aiohttp, **settings) as session:
        yield session


WAYS = {"transport": by_transport, "own connections": by_server, "aiohttp": by_server_over_aiohttp}


@pytest.fixture(params=WAYS)
def faulty_session(request):
    """Return what opens a session on an engine, given a script that its requests go through.

    The transport plays the script, or a server does so, for connections of both kinds.
    """
    return WAYS[request.param]


@pytest.fixture
def over_connections(faulty_session) -> bool:
    """Return whether such a session has connections, whose read timeout ends what is never answered."""
    return faulty_session is not by_transport
