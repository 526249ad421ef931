"""A model with every kind of index, and ways to plan a query without a session and to execute without a service."""

import asyncio
from datetime import datetime

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Query,
    Session,
    SortKey,
    attr,
    include,
)


class Tweet(Model, table="tweets"):
    user_id: PartitionKey[str]
    tweet_id: SortKey[int]
    posted_at: Attr[datetime]
    city: Attr[str | None] = attr(default=None)
    likes: Attr[int] = attr(default=0)
    reads: Attr[int] = attr(default=0)
    tags: Attr[set[str]] = attr(default_factory=set)
    text: Attr[str] = attr(name="body", default="")

    by_time = LocalIndex(sort_key="posted_at")
    by_likes = LocalIndex("like-index", sort_key="likes", projection=include("text"))
    by_reads = LocalIndex(sort_key="reads")
    by_city = GlobalIndex("city-index", partition_key="city", sort_key="posted_at", projection=KEYS_ONLY)
    by_city_likes = GlobalIndex(partition_key="city", sort_key="likes")


class Match(Model, table="matches"):
    match_id: PartitionKey[str]
    tournament: Attr[str]
    region: Attr[str]
    round: Attr[int]
    bracket: Attr[str]
    player: Attr[str] = attr(default="")

    by_round = GlobalIndex(partition_key=("tournament", "region"), sort_key=("round", "bracket", "player"))


class Plain(Model, table="plains"):
    id: PartitionKey[str]
    value: Attr[int] = attr(default=0)


@pytest.fixture
def tweet():
    return Tweet


@pytest.fixture
def match():
    return Match


@pytest.fixture
def plain():
    return Plain


@pytest.fixture
def planned():
    """Return a function: model and conditions -> plan."""
    return lambda model, *conditions: Query(model).where(*conditions).explain()


class Scripted:
    """A transport that gives one answer after the other, and raises those that are errors."""

    max_connections = 8

    def __init__(self, requests, answers):
        self.requests, self.answers = requests, list(answers)

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def requests():
    """Return a list of the requests that were sent."""
    return []


@pytest.fixture
def answered(requests):
    """Return a function: what to await of a session, and DynamoDB's answers, one for each request -> result."""

    async def run(call, answers):
        transport = Scripted(requests, answers)
        async with Session(transport=transport) as session:
            result = await call(session)
        assert not transport.answers
        return result

    return lambda call, *answers: asyncio.run(run(call, answers))


@pytest.fixture
def executed(answered):
    """Return a function: operation, and DynamoDB's answers, one for each request -> result."""
    return lambda operation, *answers: answered(lambda session: session.execute(operation), *answers)
