"""A session that asks the simulated table over HTTP gets what it would get from DynamoDB."""

import asyncio

import pytest
import pytest_asyncio

from benchmarks.simulated.server import Exchange
from dynamap_async import Attr, Credentials, Model, PartitionKey, RetryPolicy, Session, SortKey
from dynamap_async.errors import ConditionalCheckFailedError, ThrottledError


class Post(Model, table="posts"):
    user: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = ""


@pytest_asyncio.fixture
async def session(service):
    server = await asyncio.get_running_loop().create_server(lambda: Exchange(service, 0.0), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    credentials = Credentials(access_key_id="id", secret_access_key="secret")
    async with Session(
        endpoint_url=f"http://127.0.0.1:{port}",
        region="eu-west-1",
        credentials=credentials,
        retry=RetryPolicy(max_attempts=1),
    ) as opened:
        await opened.tables.create(Post)
        yield opened
    server.close()
    await server.wait_closed()


@pytest.mark.asyncio
async def test_a_session_reads_what_it_wrote(session):
    posts = [Post(user="ada", number=number, text="x") for number in range(30)]
    assert await session.put_many(posts) == 30
    assert await session.get_many(Post, [("ada", 3), ("ada", 99)]) == [posts[3], None]
    assert await session.query(Post).where(Post.user == "ada", Post.number >= 28) == posts[28:]


@pytest.mark.asyncio
async def test_a_session_updates_creates_and_deletes(session):
    await session.create(Post(user="ada", number=1))
    with pytest.raises(ConditionalCheckFailedError):
        await session.create(Post(user="ada", number=1))
    assert (await session.update(Post, "ada", 1).set(Post.text, "new")).text == "new"
    await session.delete(Post, "ada", 1)
    assert await session.find(Post, "ada", 1) is None


@pytest.mark.asyncio
async def test_a_session_sees_the_errors_of_throttling(session, service, clock):
    service.spend_burst()
    with pytest.raises(ThrottledError):
        await session.put(Post(user="ada", number=1))
