"""Queries over several partitions of real engines: merged, filtered, paged, through the table and its indexes."""

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, attr

pytestmark = pytest.mark.asyncio


class Tweet(Model, table="tweets"):
    user_id: PartitionKey[str]
    tweet_id: SortKey[int]
    city: Attr[str] = attr(default="")
    likes: Attr[int] = attr(default=0)

    by_city = GlobalIndex(partition_key="city", sort_key="likes")


USERS = ["ada", "bob", "cyd", "dan"]
CITIES = ["Oslo", "Rome"]
TWEETS = [
    Tweet(user_id=USERS[n % 4], tweet_id=n * 7 % 101, city=CITIES[n % 3 % 2], likes=n * 31 % 97) for n in range(100)
]


@pytest_asyncio.fixture
async def tweets(session):
    """The session, with the tweets stored."""
    await session.tables.create(Tweet)
    await session.put_many(TWEETS)
    return session


def plain(users, **settings):
    return sorted((tweet for tweet in TWEETS if tweet.user_id in users), key=lambda tweet: tweet.tweet_id, **settings)


async def test_partitions_are_merged_in_the_order_of_the_sort_key(tweets):
    query = tweets.query(Tweet).where(Tweet.user_id.is_in("ada", "cyd", "nobody"))
    assert await query == plain(["ada", "cyd"])
    assert await query.descending().page_size(3) == plain(["ada", "cyd"], reverse=True)
    assert [tweet async for tweet in query.limit(7)] == plain(["ada", "cyd"])[:7]
    assert await query.count() == 50
    assert await query.first() == plain(["ada", "cyd"])[0]


async def test_sort_conditions_filters_and_selections_apply_to_each(tweets):
    query = tweets.query(Tweet).where(Tweet.user_id.is_in(*USERS), Tweet.tweet_id.between(20, 60), Tweet.likes > 40)
    want = [tweet for tweet in plain(USERS) if 20 <= tweet.tweet_id <= 60 and tweet.likes > 40]
    assert await query == want
    assert await query.select(Tweet.user_id) == [(tweet.user_id,) for tweet in want]


async def test_an_index_is_merged_by_its_own_sort_key(tweets):
    found = await tweets.query(Tweet).where(Tweet.city.is_in(*CITIES), Tweet.likes >= 10)
    assert [tweet.likes for tweet in found] == sorted(tweet.likes for tweet in TWEETS if tweet.likes >= 10)


@pytest.mark.parametrize("size", [7, 50, 100, 101])
@pytest.mark.parametrize("way", ["table", "filtered", "index"])
async def test_pages_lose_and_repeat_nothing(tweets, size, way):
    query = {
        "table": tweets.query(Tweet).where(Tweet.user_id.is_in(*USERS)),
        "filtered": tweets.query(Tweet).where(Tweet.user_id.is_in(*USERS), Tweet.likes > 40).page_size(4),
        "index": tweets.query(Tweet).where(Tweet.city.is_in(*CITIES)).descending(),
    }[way]
    found, cursor = [], None
    while True:
        page = await query.page(size=size, after=cursor)
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert found == await query


async def test_queries_are_gathered(tweets):
    ada = tweets.query(Tweet).where(Tweet.user_id == "ada")
    items, number, first = await tweets.gather(ada, ada.count(), ada.first())
    assert items == plain(["ada"])
    assert (number, first) == (25, items[0])
