"""A session gets from the server of the acceptance run what it would get from DynamoDB, and everything is counted."""

import asyncio
import json

import aiohttp
import pytest
import pytest_asyncio

from benchmarks.acceptance.server import Disturbance, Exchange
from benchmarks.acceptance.service import CountingService
from dynamap_async import Attr, Credentials, Model, PartitionKey, RetryPolicy, Session, SortKey
from dynamap_async.errors import ConnectionFailedError, ServiceError, ThrottledError


class Post(Model, table="posts"):
    user: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = ""


class StillClock:
    """A clock that only a test moves."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return StillClock()


@pytest.fixture
def service(clock):
    """A service with one table, of 10 write units and 10 read units."""
    made = CountingService(clock)
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 10}
    keys = [{"AttributeName": "user", "KeyType": "HASH"}, {"AttributeName": "number", "KeyType": "RANGE"}]
    types = [{"AttributeName": name, "AttributeType": kind} for name, kind in (("user", "S"), ("number", "N"))]
    body = {"TableName": "posts", "KeySchema": keys, "AttributeDefinitions": types, "ProvisionedThroughput": units}
    made.answer("CreateTable", body)
    made.counts.reset()
    return made


@pytest_asyncio.fixture
async def url(service):
    disturbance = Disturbance(service)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Exchange(service, 0.0, disturbance), "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()


@pytest_asyncio.fixture
async def session(url):
    credentials = Credentials(access_key_id="id", secret_access_key="secret")
    once = RetryPolicy(max_attempts=1)
    async with Session(endpoint_url=url, region="eu-west-1", credentials=credentials, retry=once) as opened:
        yield opened


async def control(url, path):
    async with aiohttp.ClientSession() as http, http.post(url + path) as answer:
        return await answer.json(content_type=None)


@pytest.mark.asyncio
async def test_a_session_reads_what_it_wrote(session):
    posts = [Post(user="ada", number=number, text="x") for number in range(30)]
    assert await session.put_many(posts) == 30
    assert await session.get_many(Post, [("ada", 3), ("ada", 99)]) == [posts[3], None]
    assert await session.query(Post).where(Post.user == "ada", Post.number >= 28) == posts[28:]


@pytest.mark.asyncio
async def test_a_session_sees_the_errors_of_throttling(session, url):
    await control(url, "/spend")
    with pytest.raises(ThrottledError):
        await session.put(Post(user="ada", number=1))


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "error", "is_done"),
    [
        ("/refuse?1", ThrottledError, False),
        ("/fail?1", ServiceError, False),
        ("/lose?1", ConnectionFailedError, True),
    ],
)
async def test_all_requests_can_be_refused_failed_or_left_without_an_answer(
    session, url, service, path, error, is_done
):
    await control(url, path)
    with pytest.raises(error):
        await session.put(Post(user="ada", number=1))
    await control(url, path.replace("1", "0"))
    assert (await session.find(Post, "ada", 1) is not None) is is_done


def batch(number):
    items = [{"user": {"S": f"load-{each}"}, "number": {"N": "1"}, "text": {"S": "x" * 900}} for each in range(number)]
    return {"RequestItems": {"posts": [{"PutRequest": {"Item": item}} for item in items]}}


def asked(service, operation, body):
    status, answer = service.execute(operation, json.dumps(body).encode())
    return status, json.loads(answer)


def test_refusals_are_counted_by_request_and_by_item(service, clock):
    service.spend_burst()
    assert asked(service, "BatchWriteItem", batch(2))[0] == 400
    clock.now += 1.0
    assert len(asked(service, "BatchWriteItem", batch(12))[1]["UnprocessedItems"]["posts"]) == 2
    counts = service.counts.told()
    assert (counts["requests"], counts["refused"]) == (2, 1)
    assert (counts["total"]["attempts"], counts["total"]["throttled"]) == (14, 4)
    assert counts["groups"]["load"]["write_units"] == 10.0
    assert [slot["throttled"] for slot in counts["slots"]] == [2, 0, 0, 0, 2]
    assert counts["reasons"] == {"TableWriteProvisionedThroughputExceeded": 4}


def test_a_transaction_that_is_refused_counts_all_of_its_actions(service, clock):
    service.spend_burst()
    clock.now += 0.5
    puts = [{"Put": {"TableName": "posts", **each["PutRequest"]}} for each in batch(4)["RequestItems"]["posts"]]
    assert asked(service, "TransactWriteItems", {"TransactItems": puts})[0] == 400
    counts = service.counts.told()
    assert (counts["refused"], counts["total"]["attempts"], counts["total"]["throttled"]) == (1, 4, 4)
    assert counts["total"]["write_units"] == 0.0


def test_a_failed_condition_is_counted_with_the_units_that_it_takes(service):
    [request] = batch(1)["RequestItems"]["posts"]
    body = {"TableName": "posts", **request["PutRequest"], "ConditionExpression": "attribute_exists(#u)"}
    assert asked(service, "PutItem", {**body, "ExpressionAttributeNames": {"#u": "user"}})[0] == 400
    counts = service.counts.told()
    assert (counts["refused"], counts["total"]["throttled"], counts["total"]["write_units"]) == (0, 0, 1.0)


def test_pages_are_counted_by_the_key_of_a_query_and_all_scans_together(service):
    service.execute("BatchWriteItem", json.dumps(batch(3)).encode())
    query = {"KeyConditionExpression": "#u = :u", "ExpressionAttributeNames": {"#u": "user"}}
    service.answer("Query", {"TableName": "posts", **query, "ExpressionAttributeValues": {":u": {"S": "load-1"}}})
    for segment in range(2):
        service.answer("Scan", {"TableName": "posts", "Segment": segment, "TotalSegments": 2})
    groups = service.counts.told()["groups"]
    assert groups["load"]["read_units"] == 0.5
    assert groups["scan"]["read_units"] == 1.0


def test_a_part_is_refused_whatever_the_rate_where_that_is_asked_for(service):
    service.refused_part = 0.25
    body = {"TableName": "posts", "Key": {"user": {"S": "a"}, "number": {"N": "1"}}}
    answers = [asked(service, "GetItem", body) for _ in range(400)]
    refused = sum(status == 400 for status, _ in answers)
    assert refused == service.counts.refused
    assert 70 < refused < 130
    assert "Table" in service.answer("DescribeTable", {"TableName": "posts"})


def test_a_client_that_nobody_counts_takes_units_and_leaves_no_trace(service, clock):
    service.spend_burst()
    clock.now += 1.0
    service.push(1_000)
    assert asked(service, "BatchWriteItem", batch(1))[0] == 400
    assert service.counts.total.attempts == 1
