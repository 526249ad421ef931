"""The examples that the library's design promises, as a user would write them; also run against an engine."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Session,
    SortKey,
    Throughput,
    TimeToLive,
    Version,
    attr,
    include,
)
from dynamap_async.errors import ConditionalCheckFailedError, ItemNotFoundError


class Tweet(Model, table="tweets"):
    user_id: PartitionKey[str]
    tweet_id: SortKey[int]
    posted_at: Attr[datetime]
    city: Attr[str | None] = attr(default=None)  # None is not stored: sparse indexes just work
    likes: Attr[int] = attr(default=0)
    tags: Attr[set[str]] = attr(default_factory=set)
    text: Attr[str] = attr(name="body", default="")  # name = the stored attribute's name
    expires_at: TimeToLive[datetime | None] = attr(default=None)  # stored as epoch seconds; enables TTL on the table
    version: Version[int] = attr(default=0)

    by_time = LocalIndex(sort_key="posted_at")  # projection ALL, name "by_time"
    by_likes = LocalIndex("like-index", sort_key="likes", projection=include("text"))
    by_city = GlobalIndex(
        "city-index",
        partition_key="city",
        sort_key="posted_at",
        projection=KEYS_ONLY,
        throughput=Throughput(read=10, write=2),
    )


class User(Model, table="users"):
    name: PartitionKey[str]
    active: Attr[bool] = attr(default=True)


START = datetime(2026, 1, 1, tzinfo=UTC)


def tweets() -> Sequence[Tweet]:
    return [
        Tweet(user_id="ada", tweet_id=n, posted_at=START + timedelta(hours=n), city="London", likes=n, text=f"no. {n}")
        for n in range(1, 31)
    ]


async def write_and_read(session: Session, tweet: Tweet) -> None:
    await session.put(tweet)
    assert await session.get(Tweet, "ada", tweet.tweet_id) == tweet
    await session.put(tweet, where=Tweet.likes < 10)
    kept = None
    try:
        await session.create(tweet)
    except ConditionalCheckFailedError as error:
        kept = error.item
    assert kept is not None
    await session.create(User(name="ada"), where=User.name.missing())
    await session.put(User(name="ada", active=False), where=User.active.is_(True))
    await session.delete(tweet)
    await session.delete(User, "ada")
    assert await session.find(Tweet, "ada", tweet.tweet_id) is None
    missed = None
    try:
        await session.get(User, "ada")
    except ItemNotFoundError as error:
        missed = error.key
    assert missed == {"name": "ada"}


async def transact(session: Session, a: Tweet, b: Tweet) -> None:
    await session.put_many([User(name="ada"), b])
    await session.put(Tweet(user_id="ada", tweet_id=70, posted_at=START))
    async with session.transaction() as tx:
        tx.put(a)
        tx.update(Tweet, "ada", 70).add(Tweet.likes, 1)
        tx.check(User, "ada", where=User.active.is_(True))
        tx.delete(b)
    user, tweet = await session.transact_get((User, "ada"), (Tweet, "ada", 70))
    assert (user.name, tweet.likes) == ("ada", 1)
    assert await session.transact_find((Tweet, b.user_id, b.tweet_id)) == (None,)
    await session.update(Tweet, "ada", 70).add(Tweet.likes, 1).exactly_once()
    assert (await session.update(Tweet, "ada", 70).add(Tweet.likes, 1).exactly_once().then_get()).likes == 3
    await session.delete_many(Tweet, [("ada", 70), (a.user_id, a.tweet_id)])


async def query(session: Session, since: datetime) -> None:
    ada = session.query(Tweet).where(Tweet.user_id == "ada")
    recent = await ada.where(Tweet.posted_at >= since).index(Tweet.by_time).descending().limit(20)
    assert [tweet.tweet_id for tweet in recent] == list(range(30, 10, -1))
    texts = [text async for (text,) in ada.where(Tweet.tweet_id <= 3).select(Tweet.text)]
    assert texts == ["no. 1", "no. 2", "no. 3"]
    page = await ada.page(size=20)
    rest = await ada.page(size=20, after=page.cursor)
    assert [len(page.items), len(rest.items), rest.cursor] == [20, 10, None]
    assert await ada.count() == 30
    first = await ada.first()
    assert first is not None
    assert first.tweet_id == 1
    assert await ada.where(Tweet.tweet_id == 7).one() == await session.get(Tweet, "ada", 7)
    assert await ada.where(Tweet.tweet_id == 77).one_or_none() is None
    assert "city-index" in str(session.query(Tweet).where(Tweet.city == "London").select(Tweet.user_id).explain())
    liked = [tweet async for tweet in session.scan(Tweet).where(Tweet.likes > 5, ~Tweet.text.contains("2"))]
    assert {tweet.tweet_id for tweet in liked} == {n for n in range(6, 31) if "2" not in str(n)}


async def run(session: Session) -> None:
    await session.tables.create(Tweet, User, wait=True)
    await write_and_read(session, Tweet(user_id="ada", tweet_id=7, posted_at=START))
    await transact(session, *(Tweet(user_id="ada", tweet_id=n, posted_at=START) for n in (71, 72)))
    for tweet in tweets():
        await session.put(tweet)
    await query(session, START)
