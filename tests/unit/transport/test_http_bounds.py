"""What a server may cost: the size of its answers, and the time of an attempt; and names that no server has."""

import asyncio

import pytest
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.httpxsession import HttpxSession
from aiohttp.abc import AbstractResolver

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, Session, attr
from dynamap_async.config import Credentials
from dynamap_async.errors import (
    ConnectionFailedError,
    DamagedResponseError,
    Outcome,
    RequestTimeoutError,
)
from dynamap_async.transport import AioConfig, failures
from dynamap_async.transport.endpoint import to_endpoint

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.filterwarnings("ignore:aiobotocore's httpx backend:DeprecationWarning"),
]

LIMIT = 100_000


class Session2(AIOHTTPSession):
    """Another class than the usual one, so that requests go through it."""


@pytest.fixture(params=[None, Session2, HttpxSession], ids=["our own", "aiohttp session", "httpx session"])
def config(request):
    if request.param is HttpxSession:
        pytest.importorskip("httpx", reason="aiobotocore's httpx session class needs httpx")
    return None if request.param is None else {"http_session_cls": request.param}


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(failures, "ANSWER_BYTES", LIMIT)


def answer_of(size):
    return b'{"Item": {}, "x": "' + b"x" * (size - 21) + b'"}'


@pytest.mark.parametrize("chunked", [False, True], ids=["content-length", "chunked"])
async def test_an_answer_of_the_largest_size_is_read(server, connect, get_item, config, small_limit, chunked):
    server.then(answer_of(LIMIT), chunked=chunked)
    transport = await connect(config=config)
    assert "x" in await transport.send(get_item)


@pytest.mark.parametrize("chunked", [False, True], ids=["content-length", "chunked"])
async def test_a_larger_answer_is_refused_before_it_has_ended(server, connect, get_item, config, small_limit, chunked):
    # Its end never comes: who reads on waits for ever.
    server.then(answer_of(LIMIT + 1), chunked=chunked, missing_bytes=1)
    transport = await connect(config=config)
    async with asyncio.timeout(30):
        with pytest.raises(DamagedResponseError, match="more than 100,000 bytes") as raised:
            await transport.send(get_item)
    assert (raised.value.outcome, raised.value.retryable) == (Outcome.UNKNOWN, False)


async def test_an_announced_size_is_refused_before_anything_is_read(server, connect, get_item):
    server.then(b"{", missing_bytes=failures.ANSWER_BYTES)
    transport = await connect()
    async with asyncio.timeout(30):
        with pytest.raises(DamagedResponseError, match="more than 20,971,520 bytes"):
            await transport.send(get_item)


async def test_the_next_request_does_not_get_the_rest_of_a_refused_answer(server, connect, get_item, small_limit):
    server.then(answer_of(LIMIT + 1), missing_bytes=1)
    server.then(b'{"Item": {}}')
    transport = await connect(config={"max_pool_connections": 1})
    with pytest.raises(DamagedResponseError):
        await transport.send(get_item)
    assert await transport.send(get_item) == {"Item": {}}
    assert server.connections == 2


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    likes: Attr[int] = attr(default=0)


@pytest.fixture
def session_at(server):
    def make(url=None, **settings):
        credentials = Credentials(access_key_id="AKID", secret_access_key="s")
        return Session(endpoint_url=url or server.url, region="eu-west-1", credentials=credentials, **settings)

    return make


async def test_a_mute_server_ends_with_the_time_of_the_attempt(server, session_at, pass_time):
    server.then(silent=True)

    async def pass_once_asked():
        while not server.requests:  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(0.001)
        pass_time(25)

    async with session_at(retry=RetryPolicy(attempt_timeout_seconds=20, max_attempts=1)) as session:
        passing = asyncio.create_task(pass_once_asked())
        with pytest.raises(RequestTimeoutError, match="within 20 s, so it") as raised:
            await session.put(Tweet(id="a"))
        await passing
    assert raised.value.outcome is Outcome.UNKNOWN
    assert len(server.requests) == 1


async def test_a_trickling_answer_ends_with_the_time_of_the_attempt(server, session_at):
    # Each byte comes in time for the read timeout; the last one never comes.
    server.then(b'{"Item"', missing_bytes=10)
    policy = RetryPolicy(attempt_timeout_seconds=0.05, max_attempts=1)
    async with session_at(retry=policy) as session:
        with pytest.raises(RequestTimeoutError):
            await session.get(Tweet, "a")


async def test_a_batch_whose_answer_is_too_large_is_read_in_halves(server, session_at, small_limit):
    keys = ["a", "b"]
    server.then(answer_of(LIMIT + 1))
    for key in keys:
        server.then(b'{"Item": {"id": {"S": "%b"}}}' % key.encode())
    async with session_at() as session:
        found = await session.get_many(Tweet, keys)
    assert [item.id for item in found if item is not None] == keys
    assert [request.headers["x-amz-target"].rpartition(".")[2] for request in server.requests] == [
        "BatchGetItem",
        "GetItem",
        "GetItem",
    ]


NAMES = [
    "a" * 64 + ".com",
    "a..b",
    ".a",
    ".".join(["a" * 60] * 5),
    "exa mple",
    "-a",
    "a-.com",
    "a,b",
    "*",
    "ex\u2603" + "x" * 70,
    "xn--\u00e4",
    "1.2.3.4.5",
    "127.0.0.256",
    "a\\b",
]


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_that_no_host_has_is_not_sent_to_and_not_sent_again(session_at, name):
    async with session_at(f"http://{name}:8000") as session:
        with pytest.raises(ConnectionFailedError, match="not a name that a host can have") as raised:
            await session.put(Tweet(id="a"))
    assert (raised.value.outcome, raised.value.attempts) == (Outcome.NOT_SENT, 1)


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "[::1]", "my_container", "a.b-c.d1.", "ex\u00e4mple.com", "a" * 63]
)
async def test_a_name_that_a_host_can_have_is_one(name):
    assert to_endpoint(f"http://{name}:8000", "eu-west-1").can_exist


async def test_a_resolver_that_refuses_a_name_is_asked_once(server, session_at):
    class Resolver(AbstractResolver):
        asked = 0

        async def resolve(self, host, port=0, family=0):
            self.asked += 1
            raise UnicodeError("label empty or too long")

        async def close(self):
            pass

    resolver = Resolver()
    config = AioConfig(connector_args={"resolver": resolver})
    async with session_at("http://elsewhere:8000", aio_config=config) as session:
        with pytest.raises(ConnectionFailedError) as raised:
            await session.put(Tweet(id="a"))
    assert (raised.value.outcome, resolver.asked) == (Outcome.NOT_SENT, 1)
