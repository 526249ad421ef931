"""What checkers must accept, with the types that they must find; what one refuses is marked. The synchronous parts are
also run."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address
from typing import Any, Literal, Protocol, TypeVar, assert_type, cast
from uuid import UUID, uuid4

from aiohttp import web
from models import (
    SHOP,
    Address,
    Audited,
    Customer,
    Geo,
    Gift,
    Guest,
    Host,
    Import,
    Lap,
    Link,
    Order,
    Parcel,
    Part,
    Plain,
    Retweet,
    Serial,
    Size,
    Store,
    Thing,
    Ticket,
    Tweet,
    User,
)
from pydantic import AnyUrl, Field, TypeAdapter

from dynamap_async import (
    BY_KEYS,
    EPOCH_SECONDS,
    JSON_TEXT,
    Answers,
    Attr,
    Batch,
    BatchExecuteStatement,
    BoundCollection,
    BoundCollectionScan,
    BoundExactlyOnce,
    BoundQuery,
    BoundScan,
    BoundStatement,
    BoundUpdate,
    CapacityPolicy,
    Change,
    Collection,
    Condition,
    Create,
    Delete,
    Encryption,
    Event,
    Expr,
    Find,
    Get,
    GlobalIndex,
    Grouped,
    HotPartition,
    Index,
    IndexUsage,
    InvalidItem,
    ItemChanges,
    ItemStream,
    Key,
    KeyValue,
    Loader,
    Model,
    Observer,
    Old,
    Operation,
    OperationStatistics,
    OperationUsage,
    Page,
    PartitionKey,
    Parts,
    Plan,
    Priority,
    Put,
    Query,
    Recovery,
    RequestAnswered,
    RequestEnded,
    RequestSent,
    Reserve,
    Save,
    Scan,
    Scope,
    SequentialReads,
    Session,
    Shards,
    SortKey,
    Statement,
    Statistics,
    StoredForm,
    StreamDescription,
    Table,
    TableSettings,
    Throughput,
    TimeToLive,
    TransactFind,
    TransactGet,
    Transaction,
    TransactionUpdate,
    TransactWrite,
    Unique,
    UnknownItem,
    Update,
    Usage,
    Version,
    WriteKind,
    after_read,
    after_write,
    attr,
    before_write,
    fields,
    path,
    template,
    time_text,
    to_wire,
)
from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.integrations.aiohttp import SCOPE, SESSION, page_request, read_body
from dynamap_async.integrations.asgi import Connection, Receive, Send
from dynamap_async.integrations.awslambda import (
    BatchItemFailures,
    ItemChange,
    LambdaContext,
    LambdaSession,
    batch_item_failures,
    decode_changes,
)
from dynamap_async.integrations.disconnects import CancelOnDisconnect
from dynamap_async.integrations.otel import OpenTelemetryObserver
from dynamap_async.integrations.scopes import ScopeRequests
from dynamap_async.migrations import DeclaredMigration, Migration, Migrations, MigrationStatus, migrate, migration
from dynamap_async.tables import AppliedPlan, BuildEstimate, PlanPrices, Truncation

M = TypeVar("M", bound=Model)
R = TypeVar("R")
now = datetime.now(UTC)


def keys_of_any_type() -> None:
    Get(Lap, timedelta(minutes=3), time(8))
    Find(Host, IPv4Address("10.0.0.1"), datetime(2026, 1, 1, tzinfo=UTC))
    Delete(Link, AnyUrl("https://example.org"), Size.SMALL)
    Update(Part, Serial("a")).set(Part.weight, 1.5)
    addresses: list[tuple[IPv4Address, datetime]] = []
    keys: list[Key] = [*addresses, Serial("a"), (timedelta(0), time(8))]
    key: KeyValue = Serial("a")
    assert keys[0] == key or len(keys) == 2


async def keys_of_any_type_in_a_session(session: Session) -> None:
    serials = [Serial("a"), Serial("b")]
    assert_type(await session.get(Lap, timedelta(minutes=3), time(8)), Lap)
    assert_type(await session.find(Part, Serial("a")), Part | None)
    assert_type(await session.get_many(Part, serials), list[Part | None])
    assert_type(await session.get_many(Host, [(IPv4Address("10.0.0.1"), datetime.now(UTC))]), list[Host | None])
    assert_type(await session.update(Part, Serial("a")).add(Part.price, 1), Part)
    assert_type(await session.transact_get((Part, Serial("a"))), tuple[Part])
    await session.delete(Link, AnyUrl("https://example.org"), Size.SMALL)
    await session.delete_many(Part, serials)
    assert_type(await session.increment(Part, Serial("a"), Part.weight), float)


def parts_of_maps_and_sequences() -> None:
    assert_type(Part.stock[Size.SMALL], Expr[int])
    assert_type(Guest.loud, Expr[str])
    assert_type(Guest.regular, Expr[int | None])
    assert_type(Guest(id="a", name="b").loud, str)
    assert_type(Guest.loud.begins_with("B") & (Guest.regular > 9), Condition)
    assert_type(Part.shelves[3].city, Expr[str])
    assert_type(Part.checked[date(2026, 1, 1)], Expr[float])
    assert_type(Part.codes[0], Expr[str])
    assert_type(Part.notes[0], Expr[int])
    Query(Part).where(Part.serial == Serial("a"), Part.stock[Size.SMALL] > 3, Part.shelves[3].city == "York")
    Query(Part).where(
        Part.serial == Serial("a"), Part.codes.contains("x"), Part.notes.contains(3), Part.codes[0] == "x"
    )
    update = Update(Part, Serial("a")).set(Part.stock[Size.SMALL], 3).set(Part.codes[0], "x").remove(Part.shelves[3])
    update.set(Part.notes[0], 5).add(Part.checked[date(2026, 1, 1)], 1)


def whole_numbers_for_other_numbers() -> None:
    Update(Part, Serial("a")).set(Part.price, 5).set(Part.was, 5).set(Part.weight, 5)
    Update(Part, Serial("a")).set(Part.was, None).set(Part.price, Decimal("1.5"))


class Headed(Protocol):
    def headline(self) -> str: ...


class Article(Audited, table="articles"):
    title: PartitionKey[str]

    def headline(self) -> str:
        return self.title.upper()


def models_as_types_of_what_functions_take() -> None:
    def headlines(item: Headed, base: Audited) -> tuple[str, datetime]:
        return item.headline(), base.created_at

    article = Article(title="a", created_at=datetime.now(UTC))
    assert_type(headlines(article, article), tuple[str, datetime])


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
    Retweet(user_id="a", tweet_id=1, posted_at=now, original=3, pair=(1, "a"))
    Retweet(user_id="a", tweet_id=1, posted_at=now, original=3, homeAddress=Address(city="x"))  # error zuban
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
    assert_type(fields(Thing).id, Expr[UUID])  # error zuban
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
    assert_type(Tweet.boxed["colour"] == "red", Condition)


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
    assert_type(Tweet.user_id.is_in(Tweet.text, Tweet.city, "b"), Condition)
    assert_type(Tweet.tags.contains(Tweet.text), Condition)
    assert_type(Tweet.words.contains(Tweet.city), Condition)
    assert_type(Tweet.text.contains(Tweet.city), Condition)
    assert_type(Tweet.likes == Retweet.original, Condition)
    assert_type(Tweet.city == None, Condition)  # noqa: E711
    assert_type(Tweet.city.is_(None), Condition)
    assert_type(User.active == True, Condition)  # noqa: E712
    assert_type(User.active.is_(True), Condition)
    assert_type(Tweet.text.has_type("S"), Condition)
    assert_type(fields(Thing).id == uuid4(), Condition)  # error zuban
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
    assert_type(await session.execute(Put(tweet)), Tweet)  # error zuban
    assert_type(await session.execute(Create(tweet)), Tweet)
    assert_type(await session.execute(Query(Tweet).where(Tweet.likes > 3)), list[Tweet])
    assert_type(await session.execute(Scan(Tweet).select(Tweet.text)), list[tuple[str]])
    assert_type(await session.execute(Query(Tweet).select(Tweet.text, Tweet.likes).one()), tuple[str, int])
    assert_type(await session.execute(Query(Tweet).page(size=3)), Page[Tweet])
    assert_type(await session.execute(Query(Tweet).count()), int)
    await session.execute(Delete(tweet))
    await session.tables.create(Tweet, User, wait=True)
    assert_type(await session.tables.exists(Tweet), bool)
    assert_type(await session.tables.tags(Tweet), dict[str, str])
    await session.tables.tag(SHOP, {"team": "shop"})
    await session.tables.untag(Tweet, ["team"], period=None)
    assert_type(await session.tables.truncate(SHOP, force=True), Truncation)
    assert_type((await session.tables.truncate(Tweet)).write_units, float)
    plan = await session.tables.plan(Tweet, prices=PlanPrices(write_million=0.7))
    assert_type(plan.estimate, BuildEstimate | None)
    assert_type(await session.tables.apply(plan, allow={"index-replaced"}), AppliedPlan)
    async with session.tables.apply(plan) as events:
        async for event in events:
            assert_type(event.items_done, int | None)


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


async def cards(session: Session) -> None:
    feed = session.query(Tweet).where(Tweet.user_id == "ada")
    assert_type(feed.into(Plain), BoundQuery[Tweet, Plain])
    assert_type(await feed.into(Thing).index(Tweet.by_likes).descending().limit(3), list[Thing])
    assert_type(await feed.into(Plain).where(Tweet.likes > 3).first(), Plain | None)
    assert_type(await feed.into(Plain).one(), Plain)
    assert_type(await feed.into(Plain).one_or_none(), Plain | None)
    assert_type(await feed.into(Plain).page(size=3), Page[Plain])
    assert_type(await feed.into(Plain).count(), int)
    assert_type(feed.into(Plain).stream(), ItemStream[Plain])
    assert_type(feed.into(Plain).select(Tweet.text), BoundQuery[Tweet, tuple[str]])
    async for plain in session.scan(Tweet).segments(8).into(Plain):
        assert_type(plain.colour, str)
    async for plain in session.scan(Tweet).into(Plain).segments(8).resume(None):
        assert_type(plain.colour, str)
    assert_type(Query(Tweet).into(Plain), Query[Tweet, Plain])
    assert_type(Scan(Tweet).into(Plain).segments(8), Scan[Tweet, Plain])
    assert_type(await session.execute(Query(Tweet).into(Plain).page(size=3)), Page[Plain])
    assert_type(await session.gather(feed, feed.into(Plain)), tuple[list[Tweet], list[Plain]])


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
    assert_type(session.scan(Tweet).segment(0, 8), BoundScan[Tweet, Tweet])
    parallel = session.scan(Tweet).segments(8).resume(None)
    assert_type(parallel, BoundScan[Tweet])
    assert_type(await parallel, list[Tweet])
    assert_type(session.scan(Tweet).select(Tweet.text).segments(8), BoundScan[Tweet, tuple[str]])
    assert_type(Scan(Tweet).select(Tweet.text, Tweet.likes).segments(8), Scan[Tweet, tuple[str, int]])
    assert_type(await parallel.select(Tweet.text), list[tuple[str]])
    assert_type(parallel.stream().checkpoint(), str)
    assert_type(await session.query(Tweet).where(Tweet.user_id.is_in("ada", "bob")).first(), Tweet | None)
    assert_type(await asyncio.wait_for(feed, 3), list[Tweet])
    assert_type(await asyncio.shield(feed), list[Tweet])
    assert_type(asyncio.run_coroutine_threadsafe(feed, asyncio.get_running_loop()).result(), list[Tweet])


async def statements(session: Session) -> None:
    found = session.execute_statement("SELECT * FROM tweets", into=Tweet)
    assert_type(found, BoundStatement[Tweet])
    assert_type(await found, list[Tweet])
    assert_type([tweet async for tweet in found], list[Tweet])
    assert_type(await asyncio.wait_for(found, 3), list[Tweet])
    assert_type(await session.execute_statement("SELECT * FROM tweets", [1, "x"], limit=3), list[dict[str, Any]])
    one = Statement("SELECT * FROM tweets WHERE id = ?", (3,), into=Tweet, consistent_read=True)
    assert_type(one, Statement[Tweet])
    assert_type(await session.execute(one), list[Tweet])
    assert_type(await session.batch_execute_statement([one, one]), list[Tweet | None])
    assert_type(await session.execute(BatchExecuteStatement([one])), list[Tweet | None])
    plain = Statement("SELECT * FROM tweets WHERE id = ?", [3])
    assert_type(await session.execute_transaction([plain], client_request_token="x"), list[dict[str, Any] | None])
    assert_type(session.table_name(Tweet), str)
    assert_type(session.table_name(SHOP), str)


def expiring() -> None:
    tweet = Tweet(user_id="ada", tweet_id=1, posted_at=now, expires_at=timedelta(days=30))
    assert_type(tweet.expires_at, datetime | None)
    tweet.expires_at = now + timedelta(days=1)
    tweet.expires_at = None
    assert_type(Tweet.expires_at, Expr[datetime | None])


LEDGER = Table("ledger", partition_key="pk", sort_key="sk", discriminator=None)


class Entry(Model, table=LEDGER):
    account: Attr[str]
    at: Attr[datetime] = attr(stored=False, stored_as=time_text("%Y-%m-%dT%H:%M:%S", zone=UTC))
    state: Attr[str] = attr(default="open")
    pk: PartitionKey[str] = template("A#{account}")
    sk: SortKey[str] = template("{at}")
    holder: Attr[str | None] = attr(default=None)
    waiting: Attr[str | None] = template("{account}", when={"state": ["open", "held"]})
    held: Attr[str | None] = template("{account}", when={"holder": ..., "state": "held"})


class Root(Model, table=LEDGER, kind=BY_KEYS, distinct_from=Entry):
    account: Attr[str]
    pk: PartitionKey[str] = template("A#{account}")
    sk: SortKey[str] = template("{account}")


class Leaf(Model, table=LEDGER, distinct_from=(Entry, Root)):
    pk: PartitionKey[str]
    sk: SortKey[str]


async def kinds_by_keys(session: Session) -> None:
    assert_type(Entry(account="a", at=now).waiting, str | None)
    assert_type(await session.scan(Root), list[Root])
    assert_type(await session.query(Entry, Root).where(Entry.account == "a"), list[Entry | Root])


class Fading(Model, table="fading", hide_expired=True):
    id: PartitionKey[str]
    ends: TimeToLive[datetime] = attr(default_factory=lambda: now)


class Plainly(Model, table="plainly"):
    """A model whose defaults are written as Python's dataclasses write them."""

    id: PartitionKey[str] = "main"
    part: SortKey[int] = 0
    ends: TimeToLive[int | None] = None
    version: Version[int] = 0
    text: Attr[str] = ""
    state: Attr[Literal["new", "done"]] = "new"
    price: Attr[Decimal] = Decimal(1)
    tags: Attr[list[str]] = []  # noqa: RUF012 - Pydantic copies it
    counts: Attr[dict[str, int]] = {}  # noqa: RUF012
    names: Attr[set[str]] = set[str]()  # noqa: RUF012
    address: Attr[Address | None] = None
    of_pydantic: Attr[int] = Field(default=3, ge=0)


def defaults_written_plainly() -> None:
    item = Plainly(text="a", tags=["b"])
    assert_type(item.part, int)
    assert_type(item.ends, int | None)
    assert_type(item.tags, list[str])
    assert_type(item.of_pydantic, int)
    assert_type(Plainly.part, Expr[int])
    assert_type(Plainly.tags, Expr[list[str]])
    assert_type(Plainly.address.city, Expr[str])
    item.ends = timedelta(days=1)
    Query(Plainly).where(Plainly.id == "main", Plainly.part > 3, Plainly.text.begins_with("a"))


class Counting:
    """An observer with a state."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, event: Event, /) -> None:
        self.seen += 1


def observing() -> None:
    def observe(event: Event) -> None:
        match event:
            case RequestSent():
                assert_type(event.waiter_ids, tuple[int, ...])
                assert_type(event.queued_seconds, float)
            case RequestAnswered(error=None):
                assert_type(event.exchange_id, int)
            case RequestEnded():
                assert_type(event.error, type[BaseException] | None)
            case _:
                assert_type(event.at, float)

    seen: list[Event] = []
    one: Observer = seen.append
    Session(region="eu-west-1", observer=one)
    Session(region="eu-west-1", observer=observe)
    session = Session(region="eu-west-1", observer=[Counting(), observe, seen.append])
    statistics = session.statistics()
    assert_type(statistics, Statistics)
    assert_type(statistics.in_flight, int)
    assert_type(statistics.of("GetItem", "tweets"), OperationStatistics)
    assert_type(statistics.by_operation, tuple[OperationStatistics, ...])


async def old_items(session: Session, tweet: Tweet) -> None:
    assert_type(await session.put(tweet, returning="old"), Tweet | None)
    assert_type(await session.put(tweet, where=Tweet.likes < 3, returning="old"), Tweet | None)
    assert_type(await session.delete(tweet, returning="old"), Tweet | None)
    assert_type(await session.delete(Tweet, "ada", 7, returning="old"), Tweet | None)
    assert_type(await session.execute(Old(Put(tweet))), Tweet | None)  # error zuban
    assert_type(await session.execute(Old[Tweet](Delete(Tweet, "ada", 7))), Tweet | None)
    await session.transact_write([Old(Put(tweet))])


async def transactions(session: Session, tweet: Tweet, user: User, actions: list[Put[Tweet] | Delete]) -> None:
    async with session.transaction(client_request_token="t") as tx:
        assert_type(tx, Transaction)
        tx.put(tweet, where=Tweet.likes < 3)
        tx.create(user)
        tx.save(tweet)
        tx.delete(tweet)
        tx.delete(Tweet, "ada", 7)
        tx.check(User, "ada", where=User.active.is_(True))
        tx.add(Put(tweet))
        assert_type(tx.update(Tweet, "ada", 7), TransactionUpdate[Tweet])
        assert_type(tx.update(tweet).add(Tweet.likes, 1).where(Tweet.likes < 9), TransactionUpdate[Tweet])
        tx.update(Tweet, "ada", 7).set(Tweet.text, "x").remove(Tweet.city).upsert()
    await session.transact_write([Put(tweet), Update(Tweet, "ada", 7).add(Tweet.likes, 1), Delete(user)])
    await session.transact_write(actions, client_request_token="t")
    await session.execute(TransactWrite(Put(each) for each in (tweet, user)))
    a, b = await session.transact_get((User, "ada"), (Tweet, "ada", 7))
    assert_type(a, User)
    assert_type(b, Tweet)
    assert_type(await session.transact_get(Get(User, "ada")), tuple[User])
    assert_type(await session.transact_get(Get(User, "ada"), (Tweet, "a", 1)), tuple[User, Tweet])
    assert_type(await session.transact_find((User, "ada"), Find(Tweet, "a", 1)), tuple[User | None, Tweet | None])
    assert_type(await session.transact_get(*((User, name) for name in "ab")), tuple[User, ...])
    finds = [Find(User, "a")]
    assert_type(await session.transact_find(*finds), tuple[User | None, ...])
    assert_type(TransactGet((User, "a"), (Tweet, "a", 1), (User, "b")), TransactGet[tuple[User, Tweet, User]])
    assert_type(await session.execute(TransactGet((User, "a"), (Tweet, "a", 1))), tuple[User, Tweet])  # error zuban
    assert_type(await session.execute(TransactFind((User, "a"))), tuple[User | None])  # error zuban


async def exactly_once(session: Session, tweet: Tweet) -> None:
    counted = session.update(Tweet, "ada", 7).add(Tweet.likes, 1).exactly_once()
    assert_type(counted, BoundExactlyOnce[Tweet, None])
    assert_type(await counted.then_get(), Tweet)
    assert_type(asyncio.create_task(counted.then_get()), asyncio.Task[Tweet])
    assert_type(await session.execute(Put(tweet).exactly_once().then_get()), Tweet)
    update = Update(Tweet, "ada", 7).add(Tweet.likes, 1).exactly_once(client_request_token="t")
    assert_type(await session.execute(update.then_get()), Tweet)
    await session.execute(update)
    await session.execute(Delete(tweet).exactly_once())


def changes() -> None:
    assert_type(Tweet.likes + 1, Change[int])
    assert_type(1 + Tweet.likes, Change[int])
    assert_type(10 - Tweet.likes, Change[int])
    assert_type(Tweet.likes - Tweet.limited, Change[int])
    assert_type(Tweet.price + 1, Change[Decimal])
    assert_type(Tweet.price - Decimal("0.5"), Change[Decimal])
    assert_type(Tweet.counts["a"] + 1, Change[int])
    assert_type(Tweet.home.geo.lat + 1, Change[Decimal])
    assert_type(Tweet.likes.if_not_exists(0), Change[int])
    assert_type(Tweet.likes.if_not_exists(0) + 1, Change[int])
    assert_type(1 - Tweet.likes.if_not_exists(0), Change[int])
    assert_type(Tweet.city.if_not_exists("x"), Change[str | None])
    assert_type(Tweet.words.append(["x"]), Change[list[str]])
    assert_type(Tweet.words.prepend(("x",)).append(["y"]), Change[list[str]])
    assert_type(Tweet.history.append([Address(city="x")]), Change[list[Address]])
    assert_type(Tweet.words.append(Tweet.words), Change[list[str]])
    assert_type(Tweet.words.prepend(Tweet.words.if_not_exists(["a"])).append(Tweet.words), Change[list[str]])
    assert_type(path(Tweet.home).if_not_exists(Address(city="x")), Change[Address])


def updates(tweet: Tweet) -> None:
    update = Update(Tweet, "ada", 7)
    assert_type(update, Update[Tweet, Tweet])
    assert_type(Update(tweet), Update[Tweet, Tweet])
    assert_type(Update(Thing, UUID(int=1)), Update[Thing, Thing])
    update.set(Tweet.likes, 3).set(Tweet.text, "x").set(Tweet.city, None).set(Tweet.price, Decimal(3))
    update.set(Tweet.likes, Tweet.limited).set(Tweet.posted_at, now).set(Tweet.tags, {"a"})
    update.set(Tweet.address, Address(city="x")).set(Tweet.home, Address(city="x")).set(
        Tweet.plain, Plain(colour="red")
    )
    Update(Tweet, "a", 1).set(Tweet.home.city, "x").set(Tweet.home.zip, None).set(Tweet.home.geo, Geo(lat=Decimal(1)))
    Update(Tweet, "a", 1).set(Tweet.words[0], "x").set(Tweet.history[0], Address(city="x"))
    Update(Tweet, "a", 1).set(Tweet.history[0].city, "x").set(Tweet.counts["a"], 3).set(Tweet.places["x"].city, "x")
    update.set(path(Tweet.home), Address(city="x"))
    update.set(Tweet.likes, Tweet.likes + 1).set(Tweet.price, Tweet.price.if_not_exists(Decimal(0)) - 1)
    update.set(Tweet.words, Tweet.words.append(["x"])).set(Tweet.counts["a"], Tweet.counts["a"].if_not_exists(0))
    update.set(Tweet.city, Tweet.city.if_not_exists("x")).set(Tweet.history, Tweet.history.append([Address(city="x")]))
    update.add(Tweet.likes, 1).add(Tweet.price, Decimal("0.5")).add(Tweet.tags, {"a"}).add(Tweet.counts["a"], 1)
    update.delete(Tweet.tags, {"a"})
    update.remove(Tweet.city, Tweet.address, Tweet.words[0], Tweet.counts["a"], Tweet.home.zip)
    same: Update[Tweet, Tweet] = update.set(Tweet.likes, 3).where(Tweet.likes < 3).upsert().expect_version(3)
    assert_type(same.returning("new"), Update[Tweet, Tweet])
    assert_type(same.returning("old"), Update[Tweet, Tweet | None])
    assert_type(same.returning("changed"), Update[Tweet, dict[str, Any]])
    assert_type(same.returning("nothing"), Update[Tweet, None])


def updates_of_wider_types() -> None:
    update = Update(Parcel, "p")
    status: Literal["new", "sent"] = "new"
    update.set(Parcel.status, "sent").set(Parcel.before, "sent")
    update.set(Parcel.before, None)
    update.set(Parcel.status, status).set(Parcel.before, Parcel.status)
    update.set(Parcel.status, Parcel.status.if_not_exists("new"))
    update.set(Parcel.weights, [1, 2]).set(Parcel.prices, {"a": 1}).set(Parcel.mixed, {"a": 1})  # error ty
    update.set(Parcel.notes, ["a"]).set(Parcel.stops, {"a": Address(city="x")})  # error ty
    update.set(Parcel.stops["a"], None)
    update.set(Parcel.weights, Parcel.weights.if_not_exists([1]))
    update.set(Parcel.marks, {"heavy"}).add(Parcel.labels, {"x"})  # error ty
    update.add(Parcel.marks, {"heavy"}).delete(Parcel.labels, frozenset({"x"}))  # error ty
    update.set(Parcel.sent_at, Parcel.made_at)
    Update(Tweet, "ada", 7).set(Tweet.address, None)


def an_update_of_a_nested_model_that_may_be_none(body: Tweet) -> None:
    Update(Tweet, "ada", 7).set(Tweet.address, body.address)


def comparisons_of_fields_that_may_be_none() -> None:
    conditions: list[Condition] = [
        Parcel.sent_at > Parcel.made_at,
        Parcel.made_at <= Parcel.sent_at,
        Parcel.sent_at == Parcel.made_at,
        Parcel.names.contains("x"),
    ]
    assert len(conditions) == 4


async def bound_updates(session: Session, tweet: Tweet) -> None:
    update = session.update(Tweet, "ada", 7)
    assert_type(update, BoundUpdate[Tweet, Tweet])
    assert_type(await update.set(Tweet.likes, 3), Tweet)
    assert_type(await session.update(tweet).add(Tweet.likes, 1).where(Tweet.likes < 3), Tweet)
    assert_type(await session.update(Retweet, "a", 1).add(Tweet.likes, 1), Retweet)
    assert_type(await session.update(Tweet, "ada", 7).set(Tweet.likes, 3).upsert().returning("old"), Tweet | None)
    assert_type(await session.update(Tweet, "ada", 7).set(Tweet.likes, 3).returning("changed"), dict[str, Any])
    await session.update(Tweet, "ada", 7).set(Tweet.likes, 3).returning("nothing")
    assert_type(await session.execute(Update(Tweet, "ada", 7).set(Tweet.likes, 3)), Tweet)
    assert_type(await session.execute(Update(tweet).set(Tweet.likes, 3).returning("old")), Tweet | None)
    assert_type(asyncio.create_task(update), asyncio.Task[Tweet])
    assert_type(await session.gather(update, session.get(User, "a")), tuple[Tweet, User])
    coroutine: Coroutine[Any, Any, Tweet] = update
    _ = coroutine


async def numbered(session: Session) -> None:
    ticket = await session.create(Ticket(title="a"))
    assert_type(ticket.number, int)
    assert_type(ticket.updated_at, datetime | None)
    assert_type(Ticket.number, Expr[int])
    assert_type(Ticket.written_by, Expr[str | None])
    assert_type(ticket.written_by, str | None)
    ticket.number = 5
    Import(title="a")
    Import(title="a", number=5, created_at=now, updated_at=None, written_by=None)
    assert_type(await session.reserve(Ticket, 5), range)
    assert_type(await session.execute(Reserve(Ticket, 5)), range)


async def incremented(session: Session) -> None:
    assert_type(await session.increment(Tweet, "ada", 7, Tweet.likes), int)
    assert_type(await session.increment(Tweet, "ada", 7, Tweet.counts["x"], by=-2, upsert=True), int)
    assert_type(await session.increment(Tweet, "ada", 7, Tweet.price, by=Decimal("0.5")), Decimal)
    assert_type(await session.increment(Tweet, "ada", 7, Tweet.price, by=1), Decimal)
    assert_type(await session.increment(Ticket, 5, Ticket.weight, by=0.5), float)


class Subclassed(User, table="more"):
    by_name = GlobalIndex(partition_key="name")
    rank: Attr[int] = attr(default=1)


def subclassed() -> None:
    Subclassed(name="a", created_at=now, rank=3)
    assert_type(Subclassed.by_name, Index[Subclassed])
    assert_type(Subclassed.rank, Expr[int])


class Timed(Model, abstract=True, times_stored_as=EPOCH_SECONDS):
    made: Attr[datetime]


class Sparse(Model, absent_when_none=True):
    street: Attr[str | None] = attr(default=None)


class Account(Model, table="accounts"):
    id: PartitionKey[str]
    email: Attr[str | None] = attr(default=None)

    by_email = Unique("email")

    @before_write
    def tidy(self, write: WriteKind) -> None:
        self.email = None if write == "delete" else self.email

    @before_write
    async def check(self, write: str) -> None: ...

    @after_write
    async def tell(self, write: WriteKind) -> None: ...

    @after_read
    async def seen(self) -> None: ...


def on_write(item: Model, write: WriteKind) -> None: ...
async def on_read(item: Model) -> None: ...


def hooks() -> None:
    session = Session(region="eu-west-1", before_write=[on_write], after_write=[on_write], after_read=[on_read, print])
    assert_type(session.without_hooks(), Session)
    assert_type(Account.by_email.fields, tuple[str, ...])


async def unique_values(session: Session, account: Account) -> None:
    await account.check("put")
    assert_type(await session.put(account, read_first=True), Account)
    assert_type(await session.update(Account, "a").set(Account.email, "b").read_first(), Account)
    await session.delete(Account, "a", read_first=True)
    assert_type(await session.put_many([account], read_first=True), int)


async def saving(session: Session, tweet: Tweet) -> None:
    assert_type(await session.save(tweet), Tweet)
    assert_type(await session.save(tweet, where=Tweet.likes < 10), Tweet)
    assert_type(await session.replace(tweet), Tweet)
    assert_type(await session.refresh(tweet), Tweet)
    assert_type(await session.execute(Save(tweet)), Tweet)

    async def edit() -> Tweet:
        return await session.save(await session.get(Tweet, "ada", 7))

    assert_type(await session.retry_on_conflict(edit), Tweet)
    assert_type(await session.retry_on_conflict(lambda: session.save(tweet), attempts=3), Tweet)


async def shared_tables(session: Session) -> None:
    assert_type(SHOP.index("gsi1"), Index[Any])
    await session.tables.create(SHOP, Tweet)
    assert_type(await session.get(Order, "7", "1"), Order)
    assert_type(await session.query(Order).index(SHOP.index("gsi1")), list[Order])
    both = session.query(Customer, Order).where(Customer.customer_id == "7")
    assert_type(both, BoundCollection[Customer | Order, Customer | Order])
    assert_type(await both, list[Customer | Order])
    assert_type(await both.descending().limit(3).index(SHOP.index("gsi1")), list[Customer | Order])
    assert_type(await both.page(size=2), Page[Customer | Order])
    assert_type(await both.first(), Customer | Order | None)
    assert_type(await both.count(), int)
    assert_type(await both.unknown("raw"), list[Customer | Order | UnknownItem])
    assert_type(await both.unknown("skip"), list[Customer | Order])
    assert_type(await both.invalid("skip"), list[Customer | Order])
    assert_type(await both.invalid("raw"), list[Customer | Order | InvalidItem])
    orders = session.query(Order)
    assert_type(await orders.invalid("skip"), list[Order])
    assert_type(await orders.invalid("raw").page(size=2), Page[Order | InvalidItem])
    assert_type(await session.scan(Order).select(Order.total).invalid("skip").first(), tuple[Decimal] | None)
    assert_type(await session.execute(Query(Order).invalid("raw")), list[Order | InvalidItem])
    assert_type(await session.execute(Collection(Customer, Order).invalid("skip")), list[Customer | Order])
    everything = session.scan(Customer, Order)
    assert_type(everything, BoundCollectionScan[Customer | Order, Customer | Order])
    assert_type(await everything.segments(4), list[Customer | Order])
    assert_type(await everything.unknown("raw").segment(0, 4), list[Customer | Order | UnknownItem])
    assert_type(await everything.invalid("raw"), list[Customer | Order | InvalidItem])
    assert_type(await session.query(Customer, Store, Gift), list[Customer | Store | Gift])
    assert_type(await session.query(Customer, Store, Gift, User), list[Customer | Store | Gift | User])
    assert_type(await session.query(Customer, Store, Gift, User, Tweet), list[Customer | Store | Gift | User | Tweet])
    assert_type((await both.grouped())[Order], list[Order])
    assert_type(Grouped(await both)[Customer], list[Customer])
    async for item in both:
        assert_type(item, Customer | Order)
    assert_type(await session.execute(Collection(Customer, Order)), list[Customer | Order])  # error zuban


async def templated_keys(session: Session) -> None:
    store = Store(country="GB", region="London", number=7, city="Camden")
    assert_type(store.pk, str)
    assert_type(store.in_city, str | None)
    assert_type(store.region, str)
    assert_type(Store.sk, Expr[str])
    assert_type(Store.in_city, Expr[str | None])
    assert_type(Parts(country="GB", region="London", number=7), Parts)
    assert_type(await session.get(Store, Parts(country="GB", region="London", number=7)), Store)
    assert_type(await session.find(Store, "country:GB", Parts(region="London", number=7)), Store | None)
    assert_type(await session.get_many(Store, [Parts(country="GB", region="x", number=7)]), list[Store | None])
    assert_type(await session.update(Store, Parts(country="GB")).set(Store.city, "Ely"), Store)
    await session.delete(Store, Parts(country="GB", region="London", number=7))
    assert_type(await session.query(Store).where(Store.sk.begins_with("London#")), list[Store])


class Job(Model, table="jobs"):
    day: PartitionKey[str] = attr(shards=10)
    number: SortKey[int]
    state: Attr[str] = attr(default="new", shards=Shards(20, by="number", before=10))
    queue: Attr[str | None] = attr(default=None, shards=3, name="q")
    key: Attr[str] = template("{state}", shards=4)
    more: Attr[str] = template("{state}#{number}", shards=Shards(4, by="number"))
    by_state = GlobalIndex(partition_key="state")
    by_queue = GlobalIndex(partition_key=("queue", "key", "more"))


async def shards(session: Session) -> None:
    job = Job(day="mon", number=1)
    assert_type(job.state, str)
    assert_type(await session.query(Job).where(Job.day == "mon", Job.state.is_in("new")), list[Job])
    await session.update(job).set(Job.queue, "mail")


async def loaders(session: Session) -> None:
    users = session.loader(User)
    assert_type(users, Loader[Key, User | None])
    assert_type(await users.load("ada"), User | None)
    assert_type(await session.loader(Tweet, consistent_read=True).load(("ada", 7)), Tweet | None)
    assert_type(await users.load_many(["ada", "bob"]), list[User | None])
    assert_type(await users.load_each(["ada"]), list[User | Exception | None])
    users.prime("ada", await users.load("ada"), force=True)
    users.prime("bob", None)
    users.clear("ada")
    users.clear_all()
    by_user = session.loader(Tweet, by=Tweet.user_id, where=Tweet.likes > 3, limit=5, descending=True)
    assert_type(by_user, Loader[str, list[Tweet]])
    assert_type(await by_user.load("ada"), list[Tweet])
    assert_type(await by_user.load_each(["ada"]), list[list[Tweet] | Exception])


class Reading(Model, table="readings_{at:day}"):
    device: PartitionKey[str]
    at: SortKey[datetime]


async def periods(session: Session) -> None:
    today = datetime.now(UTC)
    await session.tables.create(Reading, period=today)
    assert_type(await session.tables.exists(Reading, period=today.date()), bool)
    assert_type(session.table_name(Reading, period=today), str)
    readings = session.query(Reading).where(Reading.device == "roof", Reading.at.between(today, today))
    assert_type(await readings.skip_missing_tables(), list[Reading])
    assert_type(session.scan(Reading).period(today, today.date()), BoundScan[Reading, Reading])
    assert_type(Query(Reading).period(today).select(Reading.device), Query[Reading, tuple[str]])


async def scopes(session: Session) -> None:
    assert_type(session.usage, Usage)
    assert_type(session.usage.read_units, float)
    assert_type(session.unscoped_usage.by_operation, tuple[OperationUsage, ...])
    assert_type(session.usage.by_index, tuple[IndexUsage, ...])
    assert_type(session.usage.of("Query", "tweets").requests, int)
    assert_type(session.usage.on("tweets", "by-city").index, str | None)
    async with session.scope("GET /feed", max_read_units=50, max_requests=5, timeout=0.3) as scope:
        assert_type(scope, Scope)
        assert_type(await session.query(Tweet).where(Tweet.user_id == "ada"), list[Tweet])
    assert_type(scope.usage, Usage)
    assert_type(scope.own_usage.write_halves, int)
    async with session.scope("job", priority=Priority.BACKGROUND, max_write_units=2.5):
        pass
    try:
        await session.get(Tweet, "ada", 7)
    except CapacityBudgetExceededError as error:
        assert_type(error.usage, Usage)
        assert_type(error.max_requests, int | None)


async def integrations(app: web.Application, request: web.Request, session: Session) -> None:
    assert_type(app[SESSION], Session)
    assert_type(request[SCOPE], Scope)
    assert_type(await read_body(request, Thing), Thing)
    assert_type(page_request(request, size=5).response(await session.query(Tweet).page(size=5)), web.Response)

    async def handle(event: dict[str, str], context: LambdaContext, opened: Session) -> int:
        assert_type(opened, Session)
        return len(event)

    assert_type(LambdaSession(Session).handler(handle)({}, cast("LambdaContext", None)), int)
    Session(observer=[OpenTelemetryObserver(callers=False), SequentialReads()])
    CancelOnDisconnect(ScopeRequests(CancelOnDisconnect(_application), max_requests=5))


async def _application(scope: Connection, receive: Receive, send: Send) -> None: ...


def policies() -> None:
    Session(capacity=CapacityPolicy())
    Session(capacity=CapacityPolicy(limits="describe", share=1 / 8))
    policy = CapacityPolicy(limits=Throughput(read=10, write=2), hot_partition_units_per_second=500, enabled=False)
    assert_type(policy.share, float)
    assert_type(policy.hot_partition_units_per_second, float | None)


async def hot(event: HotPartition) -> None:
    assert_type((event.table, event.partition_key, event.units_per_second), tuple[str, str, float])


async def attributes_that_no_model_declares(session: Session) -> None:
    assert_type(path("old"), Expr[Any])
    assert_type(path(Tweet.address), Expr[Address])
    old = path("old")
    query = session.query(Tweet).where(Tweet.user_id == "ada", old == 5, old["a"][0].exists(), ~old.is_in("a", 1))
    assert_type(await query.select(Tweet.text, old), list[tuple[str, Any]])
    update = session.update(Tweet, "ada", 7).set(Tweet.text, old).set(path("new"), Tweet.text).remove(old)
    assert_type(await update.add(path("number"), 1).delete(path("words"), {"a"}).where(old.missing()), Tweet)


async def images(session: Session, event: dict[str, Any]) -> BatchItemFailures:
    assert_type(Tweet.from_wire({"user_id": {"S": "ada"}}), Tweet)
    assert_type(Tweet.from_wire(to_wire(construct())), Tweet)
    SHOP.from_wire({"pk": {"S": "a"}})
    assert_type(decode_changes(event, Tweet), list[ItemChange[Tweet]])
    assert_type(decode_changes(event, Order, Customer), list[ItemChange[Order | Customer]])
    assert_type(decode_changes(event, Order, unknown="keep"), list[ItemChange[Order | UnknownItem]])
    async with session.changes(Order, Customer, start="latest") as changes:
        assert_type(changes, ItemChanges[Order | Customer])
        async for each in changes:
            assert_type(each, ItemChange[Order | Customer])
            changes.done(each)
        assert_type(changes.checkpoint(), str)
    assert_type(session.changes(Tweet), ItemChanges[Tweet])
    assert_type(session.changes(SHOP, unknown="keep"), ItemChanges[Any])
    assert_type(await session.tables.streams(), tuple[StreamDescription, ...])
    assert_type(session.changes(Order, unknown="keep", until_idle=True), ItemChanges[Order | UnknownItem])
    dynamo = LambdaSession(lambda: session)

    @dynamo.stream_handler(Order, Customer)
    async def handler(change: ItemChange[Order | Customer], session: Session) -> None: ...

    assert_type(handler(event, None), BatchItemFailures)
    for change in decode_changes(event, Order, Customer):
        assert_type(change.new, Order | Customer | None)
        assert_type((change.event, change.key), tuple[Literal["INSERT", "MODIFY", "REMOVE"], dict[str, Any]])
        if change.expired:
            return batch_item_failures(change)
    return batch_item_failures()


class SeveralForms(Model, table="several-forms"):
    id: PartitionKey[str]
    count: Attr[int] = attr(also_stored_as="S", default=0)
    made: Attr[str] = attr(frozen=True, default="")
    at: Attr[datetime | None] = attr(also_stored_as=(EPOCH_SECONDS, "N"), default=None)
    required: Attr[bool] = attr(also_stored_as=("S", "N"))


async def bounded_pages(session: Session) -> None:
    query = session.query(Tweet).where(Tweet.user_id == "ada")
    assert_type(await query.page(size=5, max_pages=3, max_read_units=2.5), Page[Tweet])
    assert_type(Query(Tweet).page(size=5, max_pages=3), Operation[Page[Tweet]])
    assert_type(await query.with_expired(), list[Tweet])
    assert_type(await session.update(Tweet, "ada", 7).set_fields({"text": "x"}), Tweet)


async def take_back(session: Session, run: Migration) -> None:
    await session.get(Tweet, "ada", 7)


@migration("2026-01-likes", undo=take_back, fenced=True)
async def likes(session: Session, run: Migration) -> None:
    async for tweet in run.scan(Tweet).where(Tweet.likes > 3).segments(4).page_size(100):
        assert_type(tweet, Tweet)
        await session.delete(tweet)


async def run_migrations(session: Session) -> None:
    assert_type(likes, DeclaredMigration)
    assert_type(await migrate(session, likes), tuple[MigrationStatus, ...])
    assert_type(await Migrations(session, [likes], wait=False).redo("2026-01-likes"), MigrationStatus)


class KeptOrder(
    Model,
    table="kept-orders",
    settings=TableSettings(
        stream="new-and-old",
        recovery=Recovery(days=7),
        deletion_protection=True,
        table_class="infrequent-access",
        encryption=Encryption(kms_key="alias/shop"),
        tags={"team": "shop"},
    ),
):
    id: PartitionKey[str]


KEPT = Table("kept", partition_key="pk", settings=TableSettings(recovery=False, stream="off", autoscaled=True))
