"""What keys and indexes are: tweets with three local and three global indexes, one of each projection."""

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
import pytest_asyncio

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    Throughput,
    attr,
    include,
)
from dynamap_async.errors import ConditionalCheckFailedError, NoIndexError, OperationError

pytestmark = pytest.mark.asyncio

TEN_TWO = Throughput(read=10, write=2)
NOON = datetime(2013, 9, 24, 12, tzinfo=UTC)


class Tweet(Model, table="tweet"):
    userid: PartitionKey[str]
    id: SortKey[str]
    city: Attr[str | None] = attr(default=None)
    ts: Attr[datetime] = attr(default=NOON)
    retweets: Attr[int] = attr(default=0)
    likes: Attr[int] = attr(default=0)
    text: Attr[str] = attr(default="hello")

    own_by_ts = LocalIndex("own-ts-index", sort_key="ts")
    own_by_retweets = LocalIndex("own-rt-index", sort_key="retweets", projection=KEYS_ONLY)
    own_by_likes = LocalIndex("own-like-index", sort_key="likes", projection=include("text"))
    by_city = GlobalIndex("city-index", partition_key="city")
    by_retweets = GlobalIndex("rt-index", partition_key="city", sort_key="retweets", projection=KEYS_ONLY)
    by_likes = GlobalIndex("like-index", partition_key="city", sort_key="likes", projection=include("text"))


EVERYTHING = {"userid", "id", "city", "ts", "retweets", "likes", "text"}


@pytest_asyncio.fixture
async def tweets(session):
    await session.tables.create(Tweet)
    await session.put_many(
        [
            Tweet(userid="ada", id="1", city="London", likes=5),
            Tweet(userid="ada", id="2", likes=5),
            Tweet(userid="bob", id="1", city="London", likes=9),
        ]
    )
    return session


async def test_partition_and_sort_key_together_make_an_item_unique(tweets):
    with pytest.raises(ConditionalCheckFailedError):
        await tweets.create(Tweet(userid="ada", id="1"))
    await tweets.create(Tweet(userid="ada", id="3"))
    await tweets.create(Tweet(userid="bob", id="3"))
    assert await tweets.scan(Tweet).count() == 5


async def test_a_table_may_have_no_sort_key(session):
    class User(Model, table="user"):
        userid: PartitionKey[str]
        name: Attr[str]

    await session.tables.create(User)
    await session.put(User(userid="ada", name="Ada"))
    await session.put(User(userid="ada", name="Ada Lovelace"))
    assert [user.name for user in await session.query(User).where(User.userid == "ada")] == ["Ada Lovelace"]


async def test_sort_key_and_local_indexes_are_queried_within_one_partition(tweets):
    assert [each.id for each in await tweets.query(Tweet).where(Tweet.userid == "ada", Tweet.id > "1")] == ["2"]
    assert [each.id for each in await tweets.query(Tweet).where(Tweet.userid == "ada", Tweet.likes >= 5)] == ["1", "2"]
    with pytest.raises(NoIndexError):
        await tweets.query(Tweet).where(Tweet.id == "1")


async def test_keys_of_an_index_need_not_be_unique(tweets):
    own = tweets.query(Tweet).where(Tweet.userid == "ada", Tweet.likes == 5)
    assert (own.explain().index, await own.count()) == ("own-like-index", 2)
    assert await tweets.query(Tweet).where(Tweet.city == "London").count() == 2


async def test_a_global_index_has_a_partition_key_of_its_own_and_may_have_no_sort_key(tweets):
    query = tweets.query(Tweet).where(Tweet.city == "London").index(Tweet.by_city)
    assert {(each.userid, each.id) for each in await query} == {("ada", "1"), ("bob", "1")}
    assert query.explain().order == ()


async def test_an_index_holds_only_items_that_have_its_keys(tweets):
    assert await tweets.scan(Tweet).count() == 3
    for index in (Tweet.by_city, Tweet.by_retweets, Tweet.by_likes):
        assert await tweets.scan(Tweet).index(index).count() == 2


@pytest.mark.parametrize(
    ("name", "held"),
    [
        pytest.param("own-ts-index", EVERYTHING, id="all, the default"),
        pytest.param("own-rt-index", {"userid", "id", "retweets"}, id="local keys only"),
        pytest.param("own-like-index", {"userid", "id", "likes", "text"}, id="local include"),
        pytest.param("city-index", EVERYTHING, id="global all, the default"),
        pytest.param("rt-index", {"userid", "id", "city", "retweets"}, id="global keys only"),
        pytest.param("like-index", {"userid", "id", "city", "likes", "text"}, id="global include"),
    ],
)
async def test_an_index_holds_what_it_projects(tweets, name, held):
    described = (await tweets.tables.describe(Tweet)).schema
    index = described.index(name)
    assert {attribute for attribute in EVERYTHING if described.projects(index, attribute)} == held


async def test_a_local_index_gives_attributes_that_it_does_not_hold_and_a_global_one_only_whole_items(tweets):
    own = tweets.query(Tweet).where(Tweet.userid == "ada", Tweet.likes == 5).index(Tweet.own_by_likes)
    wide = tweets.query(Tweet).where(Tweet.city == "London", Tweet.likes >= 5).index(Tweet.by_likes)
    assert [each.ts for each in await own] == [NOON, NOON]
    assert [each.userid for each in await wide] == ["ada", "bob"]
    assert wide.explain().completion is not None
    assert await wide.select(Tweet.userid, Tweet.text) == [("ada", "hello"), ("bob", "hello")]
    with pytest.raises(OperationError, match="does not hold 'ts'"):
        await wide.select(Tweet.ts)


async def test_a_global_index_has_its_own_throughput(session):
    class Busy(Model, table="busy", throughput=Throughput(read=5, write=4)):
        userid: PartitionKey[str]
        city: Attr[str]
        by_city = GlobalIndex("city-index", partition_key="city", throughput=TEN_TWO)

    await session.tables.create(Busy)
    schema = (await session.tables.describe(Busy)).schema
    assert (schema.throughput, schema.index("city-index").throughput) == (Throughput(read=5, write=4), TEN_TWO)


async def test_a_global_index_can_be_added_to_a_table_with_items(session, engine):
    class Before(Model, table="places"):
        name: PartitionKey[str]
        city: Attr[str]

    class After(Before, table="places"):
        by_city = GlobalIndex("city-index", partition_key="city")

    await session.tables.create(Before)
    await session.put(Before(name="Kew Gardens", city="London"))
    with pytest.raises(NoIndexError):
        await session.query(Before).where(Before.city == "London")
    add_index(engine, session.table_name(Before))
    assert [each.name for each in await session.query(After).where(After.city == "London")] == ["Kew Gardens"]


def add_index(engine, table):
    """Add the index without this library, which does not change tables yet."""
    connection: Any = boto3.client(
        "dynamodb",
        region_name="eu-west-1",
        endpoint_url=engine.endpoint_url,
        aws_access_key_id="local",
        aws_secret_access_key="local",
    )
    index = {
        "IndexName": "city-index",
        "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    with closing(connection):
        connection.update_table(
            TableName=table,
            AttributeDefinitions=[{"AttributeName": "city", "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": index}],
        )


async def test_a_table_has_more_than_five_global_indexes_and_at_first_up_to_twenty(session):
    indexes = {f"by_{number}": GlobalIndex(f"index-{number}", partition_key=f"f{number}") for number in range(20)}
    fields = {f"f{number}": (Attr[str], "x") for number in range(20)}
    namespace = {
        "__module__": __name__,
        "__annotations__": {"id": PartitionKey[str]} | {name: annotation for name, (annotation, _) in fields.items()},
        **{name: default for name, (_, default) in fields.items()},
        **indexes,
    }
    many: Any = type(Model)("Many", (Model,), namespace, table="many")
    await session.tables.create(many)
    await session.put(many(id="a"))
    assert len((await session.tables.describe(many)).schema.indexes) == 20
    assert [each.id for each in await session.query(many).where(many.f19 == "x")] == ["a"]
