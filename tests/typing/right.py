"""What both checkers must accept, with the types that they must find. The synchronous parts are also run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeVar, assert_type
from uuid import UUID, uuid4

from models import Address, Geo, Plain, Retweet, Thing, Tweet, User
from pydantic import TypeAdapter

from dynamap_async import (
    JSON_TEXT,
    Answers,
    Attr,
    Batch,
    BoundQuery,
    Condition,
    Create,
    Delete,
    Expr,
    Find,
    Get,
    GlobalIndex,
    Index,
    ItemStream,
    Key,
    KeyValue,
    Model,
    Operation,
    Page,
    Plan,
    Put,
    Query,
    Scan,
    Session,
    StoredForm,
    attr,
    fields,
    path,
)

M = TypeVar("M", bound=Model)
R = TypeVar("R")
now = datetime.now(UTC)


async def load(session: Session, model: type[M], key: str) -> M:
    return await session.get(model, key)


async def every(session: Session, model: type[M]) -> list[M]:
    return await session.scan(model)


async def run(session: Session, operation: Operation[R]) -> R:
    return await session.execute(operation)


def endpoint(body: Tweet) -> Tweet:
    return body.model_copy(update={"likes": 2})


def construct() -> Tweet:
    Retweet(user_id="a", tweet_id=1, posted_at=now, original=3, address=Address(city="x"), words=["a"], note="n")
    Retweet(user_id="a", tweet_id=1, posted_at=now, original=3, homeAddress=Address(city="x"), pair=(1, "a"))
    User(name="a", created_at=now)
    Thing(id=uuid4())
    return Tweet(user_id="a", tweet_id=1, posted_at=now)


def pydantic_features(tweet: Tweet) -> None:
    stored = tweet.model_dump(mode="json", by_alias=True)
    assert_type(Tweet.model_validate(stored), Tweet)
    assert_type(tweet.shout, str)
    assert_type(TypeAdapter(list[Tweet]).validate_python([]), list[Tweet])
    assert_type(tweet.note, str)
    assert_type(tweet.city, str | None)
    assert_type(tweet.address, Address | None)
    assert_type(tweet.expires_at, datetime | None)
    assert_type(tweet.pair, tuple[int, str] | None)
    tweet.city = None
    tweet.tags.add("x")
    tweet.likes += 1
    tweet.note = "n"
    if tweet.address is not None:
        assert_type(tweet.address.city, str)


def field_types() -> None:
    assert_type(Tweet.user_id, Expr[str])
    assert_type(Tweet.tweet_id, Expr[int])
    assert_type(Tweet.expires_at, Expr[datetime | None])
    assert_type(Tweet.version, Expr[int])
    assert_type(Tweet.limited, Expr[int])
    assert_type(Tweet.tags, Expr[set[str]])
    assert_type(Tweet.plain, Expr[Plain | None])
    assert_type(Retweet.tweet_id, Expr[int])
    assert_type(fields(Thing).id, Expr[UUID])
    assert_type(User.created_at, Expr[datetime])


def nested_paths() -> None:
    assert_type(Tweet.home.city, Expr[str])
    assert_type(Tweet.address.city, Expr[str])
    assert_type(Tweet.address.geo.lat, Expr[Decimal])
    assert_type(Tweet.address.zip.begins_with("N"), Condition)
    assert_type(path(Tweet.address), Expr[Address])
    assert_type(path(Tweet.address).exists(), Condition)
    assert_type(path(Tweet.address) == Address(city="x"), Condition)
    assert_type(path(Tweet.address.geo) != Geo(lat=Decimal(1)), Condition)
    assert_type(Tweet.history[0].city == "London", Condition)
    assert_type(Tweet.history[0].geo.lat > Decimal(3), Condition)
    assert_type(path(Tweet.history[0]).exists(), Condition)
    assert_type(Tweet.places["home"].city, Expr[str])
    assert_type(Tweet.words[1], Expr[str])
    assert_type(Tweet.words[1].begins_with("x"), Condition)
    assert_type(Tweet.counts["a"] > 4, Condition)
    assert_type(Tweet.pair[0] == 3, Condition)
    assert_type(Tweet.plain["colour"] == "red", Condition)


def conditions() -> None:
    assert_type((Tweet.likes > 3) & ~(Tweet.text.contains("x")) | Tweet.city.missing(), Condition)
    assert_type(5 < Tweet.likes, Condition)
    assert_type(Tweet.likes <= 3, Condition)
    assert_type(Tweet.likes >= Tweet.tweet_id, Condition)
    assert_type(Tweet.version == 3, Condition)
    assert_type(Tweet.price > 3, Condition)
    assert_type(Tweet.price < Decimal("3.5"), Condition)
    assert_type(Tweet.tags.contains("a"), Condition)
    assert_type(Tweet.words.contains("a"), Condition)
    assert_type(Tweet.city.contains("a"), Condition)
    assert_type(Tweet.tags.size() > 3, Condition)
    assert_type(Tweet.likes.between(1, 3), Condition)
    assert_type(Tweet.user_id.is_in("a", "b"), Condition)
    assert_type(Tweet.likes == Retweet.original, Condition)
    assert_type(Tweet.city == None, Condition)  # noqa: E711
    assert_type(Tweet.city.is_(None), Condition)
    assert_type(User.active == True, Condition)  # noqa: E712
    assert_type(User.active.is_(True), Condition)
    assert_type(Tweet.text.has_type("S"), Condition)
    assert_type(fields(Thing).id == uuid4(), Condition)
    assert_type(Thing.id == uuid4(), Condition)  # type: ignore[misc]  # mypy's rule on generic bases; fields() avoids it
    assert_type(Thing.size > 3, Condition)
    assert_type(Thing.label != "x", Condition)
    assert_type(User.created_at < now, Condition)


def indexes() -> None:
    assert_type(User.by_created, Index[User])
    assert_type(User.by_active, Index[User])
    assert_type(Tweet.by_city, Index[Tweet])
    assert_type(Tweet.by_time, Index[Tweet])
    assert_type(Retweet.by_city, Index[Retweet])
    assert_type(Tweet.by_city.name, str)


def operations(tweet: Tweet) -> None:
    get: Operation[Tweet] = Get(Tweet, "ada", 7)
    find: Operation[Tweet | None] = Find(Tweet, "ada", 7, consistent_read=True)
    put: Operation[Tweet] = Put(tweet, where=Tweet.likes < 3)
    create: Operation[Tweet] = Create(tweet)
    by_item: Operation[None] = Delete(tweet, where=Tweet.likes < 3)
    by_key: Operation[None] = Delete(Tweet, "ada", 7)
    rows: Operation[list[Tweet]] = Query(Tweet).where(Tweet.user_id == "ada")
    everything: Operation[list[User]] = Scan(User)
    _ = (get, find, put, create, by_item, by_key, rows, everything)
    assert_type(Query(Tweet), Query[Tweet])
    assert_type(Query(Tweet), Query[Tweet, Tweet])
    assert_type(Scan(Tweet), Scan[Tweet])
    assert_type(Query(Tweet).first(), Operation[Tweet | None])
    assert_type(Query(Tweet).one(), Operation[Tweet])
    assert_type(Query(Tweet).one_or_none(), Operation[Tweet | None])
    assert_type(Query(Tweet).count(), Operation[int])
    assert_type(Query(Tweet).page(size=3), Operation[Page[Tweet]])
    assert_type(Query(Tweet).select(Tweet.text, Tweet.likes), Query[Tweet, tuple[str, int]])
    assert_type(Query(Tweet).select(Tweet.text).descending(), Query[Tweet, tuple[str]])
    assert_type(Query(Tweet).select(Tweet.text, Tweet.likes).first(), Operation[tuple[str, int] | None])
    assert_type(Query(Tweet).where(Tweet.user_id == "ada").index(Tweet.by_time).explain(), Plan)
    key: Key = ("ada", 7)
    values: list[KeyValue] = ["ada", 7, b"x", Decimal(1), now, uuid4()]
    forms: list[StoredForm] = [JSON_TEXT]
    _ = (key, values, forms)


def annotate(query: Query[Tweet]) -> Query[Tweet]:
    return query.where(Tweet.likes > 3).ascending().page_size(10).consistent()


def narrowed(page: Page[Retweet]) -> Page[Tweet]:
    return page


async def items(session: Session, tweet: Tweet) -> None:
    assert_type(await session.put(tweet), Tweet)
    assert_type(await session.put(tweet, where=Tweet.likes < 3), Tweet)
    assert_type(await session.create(tweet), Tweet)
    assert_type(await session.get(Tweet, "ada", 7), Tweet)
    assert_type(await session.get(Thing, UUID(int=1), consistent_read=True), Thing)
    assert_type(await session.find(Tweet, "ada", 7), Tweet | None)
    await session.delete(tweet, where=Tweet.version == 3)
    await session.delete(Tweet, "ada", 7)
    assert_type(await session.execute(Get(Tweet, "ada", 7)), Tweet)
    assert_type(await session.execute(Find(Tweet, "ada", 7)), Tweet | None)
    assert_type(await session.execute(Put(tweet)), Tweet)
    assert_type(await session.execute(Create(tweet)), Tweet)
    assert_type(await session.execute(Query(Tweet).where(Tweet.likes > 3)), list[Tweet])
    assert_type(await session.execute(Scan(Tweet).select(Tweet.text)), list[tuple[str]])
    assert_type(await session.execute(Query(Tweet).select(Tweet.text, Tweet.likes).one()), tuple[str, int])
    assert_type(await session.execute(Query(Tweet).page(size=3)), Page[Tweet])
    assert_type(await session.execute(Query(Tweet).count()), int)
    await session.execute(Delete(tweet))
    await session.tables.create(Tweet, User, wait=True)
    assert_type(await session.tables.exists(Tweet), bool)


async def many_items(session: Session, tweet: Tweet, user: User, arriving: AsyncIterator[Tweet]) -> None:
    assert_type(await session.get(Tweet, "ada", 7, coalesce=False), Tweet)
    assert_type(await session.find(Tweet, "ada", 7, coalesce=False), Tweet | None)
    assert_type(await session.get_many(Tweet, [("ada", 7), ("ada", 8)]), list[Tweet | None])
    assert_type(await session.get_many(Thing, {UUID(int=1)}, consistent_read=True), list[Thing | None])
    assert_type(await session.get_many(User, (name for name in "ab")), list[User | None])
    assert_type(await session.get_many([Find(Tweet, "ada", 7), Find(Tweet, "ada", 8)]), list[Tweet | None])
    finds: list[Find[User] | Find[Tweet]] = [Find(User, "ada"), Find(Tweet, "ada", 7)]
    for found in await session.get_many(finds):
        if isinstance(found, User):
            assert_type(found.name, str)
    await session.get_many([Find(User, "ada"), Find(Tweet, "ada", 7)])
    pairs = session.each(User, ["ada", "bob"])
    assert_type(pairs, Answers[str, User | None])
    async with pairs:
        async for key, item in pairs:
            assert_type(key, str)
            assert_type(item, User | None)
    async for find, item in session.each([Find(User, "ada")]):
        assert_type(find, Find[User])
        assert_type(item, User | None)
    assert_type(await session.put_many([tweet, user]), int)
    assert_type(await session.put_many(arriving, progress=print), int)
    assert_type(await session.delete_many({"a": tweet}.values()), int)
    assert_type(await session.delete_many(Tweet, [("ada", 7)], progress=lambda done: None), int)
    assert_type(session.batch(), Batch)
    async with session.batch() as batch:
        await batch.put(tweet)
        await batch.delete(user)
        await batch.delete(Tweet, "ada", 7)
        assert_type(batch.done, int)


async def queries(session: Session, since: datetime) -> None:
    feed = session.query(Tweet).where(Tweet.user_id == "ada", Tweet.posted_at >= since).descending().limit(20)
    assert_type(feed, BoundQuery[Tweet])
    assert_type(await feed, list[Tweet])
    async for tweet in feed:
        assert_type(tweet, Tweet)
    assert_type(feed.stream(), ItemStream[Tweet])
    async with feed.stream() as stream:
        async for tweet in stream:
            assert_type(tweet, Tweet)
    page = await feed.page(size=20, after=None)
    assert_type(page, Page[Tweet])
    assert_type(page.items, list[Tweet])
    assert_type(page.cursor, str | None)
    assert_type(await feed.count(), int)
    assert_type(await feed.first(), Tweet | None)
    assert_type(await feed.one(), Tweet)
    assert_type(await feed.one_or_none(), Tweet | None)
    assert_type(feed.explain(), Plan)
    assert_type(feed.explain().index, str | None)
    assert_type(await session.query(Tweet).index(Tweet.by_city).count(), int)
    assert_type(await session.query(Retweet).index(Retweet.by_city), list[Retweet])
    assert_type(await session.query(User).index(User.by_created).consistent(), list[User])
    assert_type(await session.scan(Thing).page_size(10).limit(3), list[Thing])


async def selections(session: Session) -> None:
    feed = session.query(Tweet).where(Tweet.user_id == "ada")
    rows = await feed.select(Tweet.text, Tweet.city, Tweet.address.city, Tweet.address)
    assert_type(rows, list[tuple[str, str | None, str, Address]])
    async for text, likes in feed.select(Tweet.text, Tweet.likes).index(Tweet.by_time):
        assert_type(text, str)
        assert_type(likes, int)
    five = feed.select(Tweet.text, Tweet.likes, Tweet.tags, Tweet.home, Tweet.price)
    assert_type(await five.one(), tuple[str, int, set[str], Address, Decimal])
    assert_type(await five.page(size=3), Page[tuple[str, int, set[str], Address, Decimal]])
    six = feed.select(Tweet.text, Tweet.likes, Tweet.tags, Tweet.home, Tweet.price, Tweet.city)
    assert_type(await six, list[tuple[Any, ...]])


async def concurrently(session: Session) -> None:
    feed = session.query(Tweet).where(Tweet.user_id == "ada")
    coroutine: Coroutine[Any, Any, list[Tweet]] = feed
    awaitable: Awaitable[Sequence[Tweet]] = feed
    _ = (coroutine, awaitable)
    assert_type(asyncio.create_task(feed), asyncio.Task[list[Tweet]])
    async with asyncio.TaskGroup() as group:
        first = group.create_task(session.get(Tweet, "ada", 7))
        second = group.create_task(feed.select(Tweet.text))
        third = group.create_task(session.scan(User))
    assert_type(first.result(), Tweet)
    assert_type(second.result(), list[tuple[str]])
    assert_type(third.result(), list[User])
    a, b, c = await asyncio.gather(feed, feed.first(), session.get(Thing, UUID(int=1)))  # noqa: TID251 - users do
    assert_type(a, list[Tweet])
    assert_type(b, Tweet | None)
    assert_type(c, Thing)
    gathered = await session.gather(feed, feed.first(), session.get(Thing, UUID(int=1)), feed.count(), feed.one())
    assert_type(gathered, tuple[list[Tweet], Tweet | None, Thing, int, Tweet])
    assert_type(await session.gather(feed, feed.select(Tweet.text)), tuple[list[Tweet], list[tuple[str]]])
    assert_type(await session.gather(*(session.get(Tweet, "ada", n) for n in range(9))), tuple[Tweet, ...])
    parallel = session.scan(Tweet).segments(8).resume(None)
    assert_type(await parallel, list[Tweet])
    assert_type(await parallel.select(Tweet.text), list[tuple[str]])
    assert_type(parallel.stream().checkpoint(), str)
    assert_type(await session.query(Tweet).where(Tweet.user_id.is_in("ada", "bob")).first(), Tweet | None)
    assert_type(await asyncio.wait_for(feed, 3), list[Tweet])
    assert_type(await asyncio.shield(feed), list[Tweet])
    assert_type(asyncio.run_coroutine_threadsafe(feed, asyncio.get_running_loop()).result(), list[Tweet])


class Subclassed(User, table="more"):
    by_name = GlobalIndex(partition_key="name")
    rank: Attr[int] = attr(default=1)


def subclassed() -> None:
    Subclassed(name="a", created_at=now, rank=3)
    assert_type(Subclassed.by_name, Index[Subclassed])
    assert_type(Subclassed.rank, Expr[int])
