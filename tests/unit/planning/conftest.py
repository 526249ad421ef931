"""Models with every kind of index, and a way to plan a query without a session."""

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
