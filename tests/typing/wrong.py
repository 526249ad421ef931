# pyright: reportUnusedExpression=false, reportUnusedVariable=false
"""What checkers must refuse: every line with the mark `error`, which names those that do not, and no other."""

import asyncio
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Protocol, assert_type

from models import (
    SHOP,
    Address,
    Customer,
    Geo,
    Guest,
    Import,
    Lap,
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

import dynamap_async
from dynamap_async import (
    Attr,
    CapacityPolicy,
    Create,
    Delete,
    Event,
    Expr,
    Find,
    Get,
    GlobalIndex,
    LocalIndex,
    Model,
    Operation,
    Page,
    PartitionKey,
    Parts,
    Put,
    Query,
    Recovery,
    Scan,
    Session,
    Shards,
    SortKey,
    Statement,
    StoredForm,
    StoredItem,
    Table,
    TableSettings,
    Throughput,
    Unique,
    Update,
    Version,
    after_read,
    after_write,
    attr,
    before_write,
    downgrade,
    fields,
    include,
    path,
    template,
    time_text,
    to_wire,
    upgrade,
)
from dynamap_async.integrations.awslambda import batch_item_failures, decode_changes
from dynamap_async.migrations import Migration, migrate, migration

now = datetime.now(UTC)


def construct(tweet: Tweet) -> None:
    Tweet(user_id=5, tweet_id=7, posted_at=now)  # error
    Guest(id="a", name="b", loud="B")  # error except pyrefly: it is computed
    Tweet(user_id="a", tweet_id="7", posted_at=now)  # error
    Tweet(tweet_id=7, posted_at=now)  # error: the partition key is missing
    Tweet(user_id="a", tweet_id=7)  # error
    Tweet(user_id="a", tweet_id=7, posted_at=now, lykes=3)  # error except pyrefly
    Tweet(user_id="a", tweet_id=7, posted_at=now, likes=None)  # error
    Tweet(user_id="a", tweet_id=7, posted_at=now, home=Address(city=""))  # error except pyrefly zuban: homeAddress
    Tweet(user_id="a", tweet_id=1, posted_at=now, note=3)  # error: a plain annotation
    Tweet(user_id="a", tweet_id=1, posted_at=now, address="x")  # error
    Tweet(user_id="a", tweet_id=1, posted_at=now, history=[Geo(lat=Decimal(1))])  # error
    Tweet("a", 7)  # error
    Retweet(user_id="a", tweet_id=7, posted_at=now)  # error: the subclass's field is missing
    User(name="a")  # error: the base's field is missing
    Thing(id="x")  # error: the generic base's argument is UUID


def assign(tweet: Tweet) -> None:
    tweet.likes = "many"  # error
    tweet.likes = None  # error
    tweet.city = 3  # error
    tweet.tags = ["a"]  # error
    tweet.expires_at = 5  # error
    tweet.version = "1"  # error
    tweet.limited = "1"  # error
    tweet.address.city  # error: it may be None
    tweet.lykes  # error
    tweet.by_city.nam  # error


def endpoint(body: Tweet) -> User:
    return body.model_copy()  # error


def comparisons() -> None:
    Tweet.likes > "x"  # error
    Guest.loud > 7  # error
    Guest.loud.nothing  # error
    Tweet.likes <= Decimal(3)  # error
    Tweet.posted_at < 5  # error
    Tweet.likes < Tweet.text  # error
    Tweet.version > "1"  # error
    Tweet.limited > "1"  # error
    Tweet.price > "3"  # error
    Tweet.tags.size() > "x"  # error
    Retweet.original < "x"  # error
    User.created_at > 3  # error
    fields(Thing).id > "x"  # error
    Tweet.lykes  # error
    Tweet.likes.betwen(1, 2)  # error


def operators() -> None:
    Tweet.user_id.between(1, 2)  # error
    Tweet.likes.between(1, "2")  # error
    Tweet.user_id.is_in(1, 2)  # error
    Tweet.user_id.is_in(["a", "b"])  # error: values, not one list
    Tweet.user_id.is_in(Tweet.likes)  # error
    User.active.is_("yes")  # error
    Tweet.text.begins_with(3)  # error
    Tweet.likes.begins_with("x")  # error
    Tweet.tags.begins_with("x")  # error
    Tweet.tags.contains(3)  # error except pyrefly ty
    Tweet.words.contains(3)  # error
    Tweet.words.contains(Tweet.likes)  # error
    Tweet.text.contains(Tweet.likes)  # error
    Tweet.likes.contains(3)  # error
    Tweet.text.contains(3)  # error
    Tweet.text.has_type("X")  # error
    Tweet.likes(3)  # error
    for _ in Tweet.words[0]:  # error
        pass
    [*Tweet.words]  # error


def nested_paths() -> None:
    Tweet.home.cty  # error
    Tweet.address.cty  # error
    Tweet.address.city > 3  # error
    Tweet.address.geo.lat > "x"  # error
    Tweet.address.geo.lon  # error
    Tweet.address.exists()  # error: path(Tweet.address).exists()
    Tweet.history[0].zap  # error
    Tweet.history[0].city.begins_with(3)  # error
    Tweet.history["x"]  # error
    Tweet.places[0]  # error
    Tweet.places["home"].city < 3  # error
    Tweet.words[0] > 3  # error
    Tweet.words["a"]  # error
    Tweet.counts["a"] > "b"  # error
    Tweet.counts[0]  # error
    Tweet.plain[0]  # error
    Tweet.boxed[0]  # error
    Tweet.likes[0]  # error
    path(Tweet.likes)  # error: it is no document
    wrong: Expr[Geo] = path(Tweet.address)  # error


def wheres(session: Session) -> None:
    query = session.query(Tweet)
    query.where(True)  # error
    query.where(Tweet.posted_at == 5)  # error
    query.where(Tweet.address.city != 5)  # error
    query.where(path(Tweet.address) == Geo(lat=Decimal(1)))  # error
    query.where(not (Tweet.likes > 3))  # error
    query.where("ada" == Tweet.user_id)  # error: the field stands on the left
    query.where(Tweet.likes)  # error
    query.where((Tweet.posted_at == 5) & (Tweet.likes > 3))  # error
    query.where((Tweet.likes > 3) & True)  # error
    query.where((Tweet.likes > 3) | (Tweet.posted_at == 5))  # error
    query.where(Tweet.text in ["a", "b"])  # error
    query.where("a" in Tweet.tags)  # error
    query.where(Tweet.city is None)  # error
    query.where("likes > 3")  # error
    Query(Tweet).where(True)  # error


def indexes(session: Session) -> None:
    query = session.query(Tweet)
    query.index(User.by_name)  # error
    query.index(User.by_created)  # error
    query.index("city-index")  # error
    query.index(Tweet.by_ctiy)  # error
    query.index(Tweet.city)  # error
    query.select(Tweet.text).index(User.by_name)  # error
    session.scan(User).index(Tweet.by_city)  # error
    Query(User).index(Tweet.by_city)  # error
    Scan(User).index(Tweet.by_city)  # error


def builders(session: Session) -> None:
    session.query(Plain)  # error: no Model
    session.query(Address.city)  # error
    session.query("tweets")  # error
    session.query()  # error
    session.scan(Plain)  # error
    query = session.query(Tweet)
    query.limit("5")  # error
    query.page_size(None)  # error
    query.select()  # error
    query.select("text")  # error
    query.select(3, Tweet.text)  # error
    query.descending(True)  # error
    query.explain().indx  # error
    Query(Plain)  # error
    Query(Tweet, "ada")  # error


async def items(session: Session, tweet: Tweet) -> None:
    wrong_user: User = await session.get(Tweet, "ada", 7)  # error
    wrong_find: Tweet = await session.find(Tweet, "ada", 7)  # error: it may be None
    wrong_put: User = await session.put(tweet)  # error
    await session.get(Tweet, ["a"])  # error: no key is a list
    await session.get(Tweet, None)  # error
    await session.get(Tweet)  # error
    await session.get(Tweet, {"id": 5})  # error
    await session.get(Tweet, "a", 7, 8)  # error
    await session.get(Plain, "a")  # error
    await session.get(Tweet, "a", consistent=True)  # error
    await session.put("x")  # error
    await session.put(Plain(colour="red"))  # error
    await session.put(Tweet)  # error: the class
    await session.put(await session.find(Tweet, "a", 7))  # error
    await session.put(tweet, where=True)  # error
    await session.put(tweet, where=Tweet.posted_at == 5)  # error
    await session.put(tweet, Tweet.likes > 3)  # error
    await session.create(tweet, where="x")  # error
    await session.delete(tweet, "a")  # error
    await session.delete(Tweet)  # error: no key
    await session.delete(Tweet, ["a"])  # error
    await session.delete(tweet, where=Tweet.likes)  # error
    nothing: Tweet = await session.delete(tweet)  # error


async def executes(session: Session, tweet: Tweet) -> None:
    user: User = await session.execute(Get(Tweet, "ada", 7))  # error
    found: Tweet = await session.execute(Find(Tweet, "ada", 7))  # error
    users: list[User] = await session.execute(Query(Tweet))  # error except zuban
    number: str = await session.execute(Query(Tweet).count())  # error
    page: Page[User] = await session.execute(Query(Tweet).page(size=3))  # error
    first: Tweet = await session.execute(Query(Tweet).first())  # error
    operation: Operation[User] = Put(tweet)  # error
    await session.execute(tweet)  # error
    await session.execute(session.query(Tweet))  # error: it is bound already
    await Query(Tweet)  # error: it has no session
    await Get(Tweet, "ada", 7)  # error
    Get(Tweet)  # error
    Put("x")  # error
    Create(tweet, where=True)  # error
    Delete(Tweet)  # error
    Query(Tweet).page()  # error
    Query(Tweet).page(size="3")  # error
    await session.tables.create("tweets")  # error
    await session.tables.create(tweet)  # error
    await session.tables.tags("tweets")  # error
    await session.tables.tag(Tweet, {"team": 1})  # error
    await session.tables.tag(Tweet)  # error
    await session.tables.untag(Tweet, 1)  # error
    await session.tables.truncate("tweets")  # error
    await session.tables.truncate(Tweet, Tweet)  # error


async def results(session: Session) -> None:
    query = session.query(Tweet)
    not_awaited: list[Tweet] = query  # error
    users: list[User] = await query  # error
    number: str = await query.count()  # error
    first: Tweet = await query.first()  # error
    one: User = await query.one()  # error
    one_or_none: Tweet = await query.one_or_none()  # error
    page: Page[User] = await query.page(size=3)  # error
    items: list[Tweet] = await query.page(size=3)  # error
    cursor: str = (await query.page(size=3)).cursor  # error: None after the last page
    await query.page(3)  # error
    await query.page(size=3, after=page)  # error
    async for each in query:
        each.name  # error
    for _ in query:  # error
        pass
    async with query.stream() as stream:
        async for each in stream:
            each.name  # error


async def selections(session: Session) -> None:
    query = session.query(Tweet)
    rows: list[tuple[str, str]] = await query.select(Tweet.text, Tweet.likes)  # error
    documents: list[tuple[Geo]] = await query.select(Tweet.address)  # error
    whole: list[Tweet] = await query.select(Tweet.text)  # error
    a, b, c = await query.select(Tweet.text, Tweet.likes).one()  # error
    page: Page[tuple[int]] = await query.select(Tweet.text).page(size=3)  # error
    async for text, likes in query.select(Tweet.text, Tweet.likes):
        likes.upper()  # error
    async for row in query.select(Tweet.text):
        row.text  # error
    first: tuple[str] = await query.select(Tweet.text).first()  # error


async def cards(session: Session) -> None:
    query = session.query(Tweet)
    query.into()  # error
    query.into(int)  # error: no Pydantic model
    query.into("Plain")  # error
    query.into(Plain(colour="red"))  # error: an instance
    query.into(Plain, Thing)  # error: one model
    query.into(Plain).index(User.by_name)  # error
    whole: list[Tweet] = await query.into(Plain)  # error
    plain: Plain = await query.into(Plain).first()  # error
    async for each in query.into(Plain):
        each.text  # error


async def forgotten(session: Session, tweet: Tweet) -> None:
    session.put(tweet)  # error except zuban: never awaited
    session.create(tweet)  # error
    session.delete(tweet)  # error except zuban
    session.get(Tweet, "ada", 7)  # error except zuban
    session.find(Tweet, "ada", 7)  # error except zuban
    session.execute(Put(tweet))  # error
    session.query(Tweet).count()  # error
    session.query(Tweet).first()  # error
    session.query(Tweet).one()  # error
    session.query(Tweet).page(size=3)  # error
    session.tables.create(Tweet)  # error
    session.close()  # error
    session.get_many(Tweet, [("ada", 7)])  # error except zuban
    session.put_many([tweet])  # error
    session.delete_many([tweet])  # error except zuban


async def many_items(session: Session, tweet: Tweet) -> None:
    await session.get_many(Tweet, "ada", 7)  # error: the keys of a model are an iterable
    await session.get_many(Tweet)  # error
    await session.get_many(Tweet, [None])  # error
    await session.get_many([Get(Tweet, "ada", 7)])  # error: only Find gives None
    tweets: list[Tweet] = await session.get_many(Tweet, [("ada", 7)])  # error: None where absent
    await session.put_many(5)  # error
    await session.put_many(["ada"])  # error
    await session.put_many([tweet], progress=5)  # error
    await session.delete_many(Tweet)  # error
    await session.delete_many([("ada", 7)])  # error
    session.each(Tweet)  # error
    for pair in session.each(Tweet, [("ada", 7)]):  # error
        pass
    async with session.batch() as batch:
        batch.put(tweet)  # error except ty zuban: never awaited
        await batch.put(Tweet)  # error
        await batch.delete("ada")  # error
    await session.get(Tweet, "ada", 7, coalesce="no")  # error


async def concurrently(session: Session) -> None:
    query = session.query(Tweet)
    task: asyncio.Task[list[User]] = asyncio.create_task(query)  # error
    asyncio.create_task(Query(Tweet))  # error: it has no session
    x, y = await asyncio.gather(query, query.first(), query.one())  # error  # noqa: TID251
    waited: list[User] = await asyncio.wait_for(query, 3)  # error
    one, two = await session.gather(query, query.first(), query.one())  # error
    users: tuple[list[User], int] = await session.gather(query, query.count())  # error
    await session.gather(Query(Tweet))  # error: it has no session
    session.scan(Tweet).segments("8")  # error
    session.scan(Tweet).segments(8).resume(5)  # error
    session.scan(Tweet).segment(8)  # error
    query.segment(0, 8)  # error: only a scan has them
    query.segments(8)  # error: only a scan has them
    query.resume(None)  # error
    query.select(Tweet.text).segments(8)  # error
    Query(Tweet).segments(8)  # error
    Query(Tweet).resume(None)  # error
    session.gather(query, query)  # error except zuban


async def old_items(session: Session, tweet: Tweet) -> None:
    await session.put(tweet, returning="new")  # error
    await session.create(tweet, returning="old")  # error: there is none
    replaced = await session.put(tweet, returning="old")
    replaced.likes  # error: there may have been none
    await session.put(tweet, returning="old", read_first=True)  # error: a transaction gives nothing back
    session.delete(tweet, returning="old")  # error except zuban


async def transactions(session: Session, tweet: Tweet) -> None:
    async with session.transaction() as tx:
        tx.put(Tweet)  # error
        tx.put("ada")  # error
        tx.check(User, "ada")  # error: a check needs a condition
        tx.check(User, "ada", where="active")  # error
        tx.delete("ada")  # error
        tx.update(Tweet, "ada", 7).add(Tweet.likes, "x")  # error
        tx.update(Tweet, "ada", 7).set(Tweet.text, 5)  # error
        tx.update(Tweet, "ada", 7).returning("new")  # error: a transaction gives nothing back
        await tx.update(Tweet, "ada", 7)  # error
        tx.add(Get(Tweet, "ada", 7))  # error
        nothing: Tweet = tx.put(tweet)  # error
    with session.transaction() as tx:  # error
        pass
    session.transact_write([Put(tweet)])  # error
    session.transact_get((User, "ada"))  # error except zuban
    await session.transact_write([Get(Tweet, "ada", 7)])  # error
    await session.transact_write(Put(tweet))  # error
    await session.transact_write([Put(tweet)], client_request_token=5)  # error
    user: User
    found: Tweet
    found, user = await session.transact_get((User, "ada"), (Tweet, "ada", 7))  # error
    user, found = await session.transact_find((User, "ada"), (Tweet, "ada", 7))  # error: either may be None
    await session.transact_get((Tweet, [1]))  # error
    await session.transact_get((Tweet,))  # error
    await session.transact_get(Tweet, "ada", 7)  # error
    await session.transact_get(Find(Tweet, "ada", 7))  # error: it gives an item, or raises


async def exactly_once(session: Session, tweet: Tweet) -> None:
    session.update(Tweet, "ada", 7).add(Tweet.likes, 1).exactly_once().then_get().likes  # error
    result: Tweet = await session.update(Tweet, "ada", 7).add(Tweet.likes, 1).exactly_once()  # error
    user: User = await session.execute(Put(tweet).exactly_once().then_get())  # error
    await Put(tweet).exactly_once()  # error: it has no session


def changes() -> None:
    Tweet.likes + 1.5  # error
    Tweet.likes + "x"  # error
    Tweet.text + "x"  # error except mypy
    Tweet.likes + Tweet.price  # error
    Tweet.price + 1.5  # error
    Tweet.posted_at + 1  # error except mypy
    1.5 + Tweet.likes  # error
    Tweet.likes.if_not_exists("x")  # error
    Tweet.text.if_not_exists(None)  # error
    Tweet.likes.append([1])  # error
    Tweet.tags.append(["x"])  # error
    Tweet.words.append("x")  # error
    Tweet.words.append([1])  # error
    Tweet.words.append(Tweet.history)  # error
    Tweet.words.append(Tweet.text)  # error
    Session(table_names=["users"])  # error
    attr(frozen="yes", default="")  # error
    Tweet.words.prepend({"x"})  # error


def updates(tweet: Tweet) -> None:
    update = Update(Tweet, "ada", 7)
    update.set(Tweet.likes, "x")  # error
    update.set(Tweet.text, None)  # error
    update.set(Tweet.city, 3)  # error
    update.set(Tweet.address, Geo(lat=Decimal(1)))  # error
    update.set(Tweet.home.city, 3)  # error
    update.set(Tweet.words[0], 3)  # error
    update.set(Tweet.history[0], Geo(lat=Decimal(1)))  # error
    update.set(Tweet.counts["a"], "x")  # error
    update.set(Tweet.likes, Tweet.text)  # error
    update.set(Tweet.text, Tweet.likes + 1)  # error
    update.set(Tweet.words, Tweet.history.append([Address(city="x")]))  # error
    update.set("likes", 3)  # error
    update.set(Tweet.likes)  # error
    update.set(Tweet.likes == 3)  # error
    update.add(Tweet.text, 1)  # error
    update.add(Tweet.likes, "x")  # error
    update.add(Tweet.likes, 1.5)  # error
    update.add(Tweet.tags, {1})  # error
    update.add(Tweet.tags, "a")  # error
    update.add(Tweet.words, ["x"])  # error
    update.delete(Tweet.likes, {1})  # error
    update.delete(Tweet.tags, ["a"])  # error
    update.delete(Tweet.tags, {1})  # error
    update.remove("likes")  # error
    update.where(True)  # error
    update.returning("all")  # error
    update.expect_version("1")  # error
    update.upsert(True)  # error
    Update(Tweet)  # error: no key
    Update(tweet, "ada")  # error
    Update(Tweet, ["ada"], 7)  # error
    Update("tweets", "ada", 7)  # error
    Update(Tweet, "ada", 7).likes  # error


def updates_of_wider_types() -> None:
    Update(Parcel, "p").set(Parcel.status, "lost")  # error
    Update(Parcel, "p").set(Parcel.weights, ["a"])  # error
    Update(Parcel, "p").set(Parcel.made_at, Parcel.sent_at)  # error
    Update(Parcel, "p").set(Parcel.status, Parcel.before)  # error
    Update(Parcel, "p").add(Parcel.marks, {"wet"})  # error
    Update(Parcel, "p").add(Parcel.labels, {1})  # error
    Parcel.names.contains(1)  # error except pyrefly ty


async def bound_updates(session: Session, tweet: Tweet) -> None:
    session.update(Tweet, "ada", 7).set(Tweet.likes, "x")  # error
    session.update(Tweet)  # error
    session.update(tweet, "ada")  # error
    user: User = await session.update(Tweet, "ada", 7).set(Tweet.likes, 3)  # error
    old: Tweet = await session.update(Tweet, "ada", 7).set(Tweet.likes, 3).returning("old")  # error
    new: Tweet = await session.update(Tweet, "ada", 7).set(Tweet.likes, 3).returning("changed")  # error
    await Update(Tweet, "ada", 7).set(Tweet.likes, 3)  # error: it has no session
    await session.execute(session.update(Tweet, "ada", 7).set(Tweet.likes, 3))  # error: it is to be awaited itself


async def numbers(session: Session) -> None:
    Ticket()  # error
    Ticket(title="a", number=5)  # error except pyrefly zuban: it takes default=... beside autoincrement
    Import(number=5)  # error
    Import(title="a", number="x")  # error
    await session.reserve(Ticket, "5")  # error
    await session.reserve(Ticket)  # error
    await session.increment(Tweet, "ada", 7)  # error
    await session.increment(Tweet, "ada", 7, Tweet.text)  # error
    await session.increment(Tweet, "ada", 7, Tweet.likes, by="x")  # error
    session.increment(Tweet, "ada", 7, Tweet.likes)  # error except zuban


class Assigned(Model, table="assigned"):
    id: PartitionKey[str] = attr(autoincrement=True)  # error except ty
    text: Attr[str] = attr(on_create=int)  # error except ty
    takes: Attr[str] = attr(on_create=str.lower)  # error except ty
    both: Attr[int] = attr(autoincrement=True, default=5)  # error except ty
    two: Attr[str] = attr(on_create=str, on_update=str)  # error except ty
    never: Attr[int] = attr(autoincrement=False)  # error except ty
    certain: Attr[str] = attr(write_id=True)  # error except ty: items of other programs have none
    counted: Attr[int | None] = attr(write_id=True)  # error except ty


class Subclass(Tweet, table="subclass"):
    likes: Attr[str] = attr(default="")  # error: another type than the base's


class Plainly(Model, table="plainly"):
    id: PartitionKey[str]
    number: Attr[int] = 0
    text: Attr[str | None] = None
    tags: Attr[list[str]] = []  # noqa: RUF012 - Pydantic copies it


class PlainlyAgain(Plainly, table="again"):
    number: Attr[str] = ""  # error: another type than the base's


def defaults_written_plainly(item: Plainly) -> None:
    item.number.upper()  # error
    Plainly(number=1)  # error
    Plainly(id="a", number="many")  # error
    Plainly(id="a", text=5)  # error
    Plainly(id="a", tags=[5])  # error
    item.number = "many"  # error
    item.text = 5  # error
    Query(Plainly).where(Plainly.number > "x")  # error
    Query(Plainly).where(Plainly.number == "x")  # error
    Query(Plainly).where(Plainly.number.begins_with("x"))  # error


class Defaults(Model, table="defaults"):
    id: PartitionKey[str]
    number: SortKey[int]
    count: Attr[int] = attr(default="x")  # error except ty
    nothing: Attr[int] = attr(default=None)  # error except ty
    made: Attr[set[str]] = attr(default_factory=list)  # error except ty
    called: Attr[set[str]] = attr(default_factory=set[str]())  # error except ty
    written: Version[int] = attr(default="x")  # error except ty
    optional: Attr[str | None] = attr(default=3)  # error except ty
    plain: int = "x"  # error
    document: Attr[Address] = attr(default_factory=lambda: Geo(lat=Decimal(1)))  # error except ty
    named: Attr[int] = attr(name=3, default=0)  # error
    stored: Attr[int] = attr(stored_as="json", default=0)  # error
    found: Attr[int] = attr(also_stored_as="json", default=0)  # error
    founds: Attr[int] = attr(also_stored_as=["S"], default=0)  # error
    both: Attr[int] = attr(default=0, default_factory=int)  # error except ty
    unknown: Attr[int] = attr(default=0, ge=0)  # error except ty
    bare: Attr = attr(default=0)  # error except ty
    by_key = GlobalIndex(key="id")  # error
    by_number = GlobalIndex(partition_key=3)  # error
    by_two = LocalIndex(partition_key="id", sort_key="number")  # error
    by_none = LocalIndex()  # error
    by_projection = GlobalIndex(partition_key="id", projection="ALL")  # error
    by_units = GlobalIndex(partition_key="id", throughput=10)  # error
    by_field = GlobalIndex(partition_key="id", projection=include(3))  # error


async def observe_later(event: Event) -> None:
    pass


def observe_text(event: str) -> None:
    pass


def observing(session: Session) -> None:
    Session(observer=3)  # error
    Session(observer=observe_later)  # error
    Session(observer=observe_text)  # error
    Session(observer=[observe_later])  # error
    session.statistics().requests = 3  # error
    session.statistics().of("GetItem")  # error
    session.statistics().hits  # error


async def statements(session: Session) -> None:
    session.execute_statement(3)  # error
    session.execute_statement("SELECT * FROM tweets", 3)  # error
    session.execute_statement("SELECT * FROM tweets", into=Plain)  # error
    session.execute_statement("SELECT * FROM tweets", into="Tweet")  # error
    session.execute_statement("SELECT * FROM tweets", limits=3)  # error
    await session.batch_execute_statement(["SELECT * FROM tweets"])  # error
    await session.execute_transaction([Statement("x")], token="x")  # error
    session.table_name("tweets")  # error
    await session.tables.update_time_to_live("tweets")  # error


def expiring(tweet: Tweet) -> None:
    Tweet(user_id="ada", tweet_id=1, posted_at=now, expires_at="tomorrow")  # error
    tweet.expires_at = 5  # error
    Tweet.expires_at > 5  # error


def values() -> None:
    Throughput(10, 2)  # error
    Throughput(read="10", write=2)  # error
    form: StoredForm = "json"  # error
    Session(regoin="eu-west-1")  # error
    Session(region=3)  # error
    Session("eu-west-1")  # error
    Model.fields  # error


class Misused(Model, table="misused"):
    id: PartitionKey[str]
    by_id = Unique(3)  # error

    @before_write  # error
    def no_kind(self) -> None: ...
    @after_write  # error
    def no_kind_after(self) -> None: ...
    @before_write  # error
    def another_kind(self, write: int) -> None: ...
    @after_read  # error
    def two_arguments(self, item: Model) -> None: ...


def no_hook(item: Model) -> None: ...


async def hooks(session: Session, user: User) -> None:
    Session(region="eu-west-1", before_write=[no_hook])  # error
    Session(region="eu-west-1", after_read=no_hook)  # error
    await session.put(user, read_first="yes")  # error
    await session.create(user, read_first=True)  # error
    session.without_hooks().puts(user)  # error


async def saving(session: Session, tweet: Tweet) -> None:
    await session.save(Tweet)  # error
    await session.save(tweet, where="likes < 10")  # error
    session.save(tweet)  # error
    await session.refresh("ada")  # error
    await session.retry_on_conflict(tweet)  # error
    await session.retry_on_conflict(lambda: tweet)  # error
    await session.retry_on_conflict(lambda: session.save(tweet), attempts="3")  # error


async def shared_tables(session: Session) -> None:
    both = session.query(Customer, Order)
    both.segments(8)  # error: only a scan has them
    orders: list[Order] = await both  # error
    (await both)[0].total  # error
    both.select(Order.total)  # error
    both.unknown("drop")  # error
    both.invalid("drop")  # error
    session.query(Order).invalid("drop")  # error
    session.scan(Order).invalid(True)  # error
    Query(Order).invalid("drop")  # error
    raw: list[Order] = await session.query(Order).invalid("raw")  # error
    both.where("pk = 7")  # error
    (await both.grouped())["Order"]  # error
    both.grouped()[Order]  # error
    session.query()  # error
    session.query(Customer, "Order")  # error
    session.query(Order).unknown("skip")  # error
    SHOP.index(1)  # error
    await session.tables.create("shop")  # error


async def templated_keys(session: Session, store: Store) -> None:
    Store(country="GB", region="London", number=7, pk="country:GB")  # error except pyrefly zuban: it is computed
    Store(country="GB", number=7)  # error except pyrefly zuban
    Store(country="GB", region="London", number="7")  # error
    store.pk = 7  # error
    store.in_city = 7  # error
    Parts("GB")  # error
    template(7)  # error
    template("{country}", init=True)  # error
    template("{country}", escape="#")  # error
    template("{country}", when="status")  # error
    template("{country}", when=...)  # error
    template("{country}", when={7: ...})  # error
    time_text(7)  # error
    time_text("%Y", zone="Europe/Berlin")  # error
    Table("ledger", partition_key="pk", discriminator=5)  # error
    attr(stored="no")  # error
    Store.number.begins_with("0")  # error
    await session.get(Store, {"country": "GB"})  # error


class Job(Model, table="jobs"):
    day: PartitionKey[str] = attr(shards="10")  # error
    number: SortKey[int]
    state: Attr[str] = attr(default=5, shards=10)  # error except ty
    queue: Attr[str] = attr(shards=Shards("10"))  # error
    lane: Attr[str] = attr(shards=Shards(10, "number"))  # error
    key: Attr[str] = template("{number}", shards=2.5)  # error
    made: Attr[str] = attr(on_create=str, shards=10)  # error except ty


async def loaders(session: Session) -> None:
    users = session.loader(User)
    await users.load({"name": "ada"})  # error
    users.prime("ada", 7)  # error
    name: str = await users.load("ada")  # error
    session.loader(Tweet, limit=5)  # error
    session.loader(Tweet, by="user_id")  # error
    await session.loader(Tweet, by=Tweet.user_id).load(7)  # error
    tweet: Tweet = await session.loader(Tweet, by=Tweet.user_id).load("ada")  # error


async def periods(session: Session) -> None:
    await session.tables.create(Tweet, period=[datetime.now(UTC)])  # error
    session.query(Tweet).period(None)  # error
    await session.query(Tweet).skip_missing_tables(missing=True)  # error


async def scopes(session: Session) -> None:
    session.scope()  # error
    session.scope(7)  # error
    session.scope("s", 50)  # error
    session.scope("s", max_read_units="50")  # error
    session.scope("s", max_requests=2.5)  # error
    session.scope("s", priority=2)  # error
    session.scope("s", read_units=2)  # error
    with session.scope("s"):  # error
        pass
    session.usage = None  # error
    session.usage.read_units = 5  # error


def policies() -> None:
    CapacityPolicy("describe")  # error
    CapacityPolicy(limits="guess")  # error
    CapacityPolicy(limits=100)  # error
    CapacityPolicy(share="1/8")  # error
    Session(capacity="describe")  # error
    CapacityPolicy().share = 0.5  # error
    dynamap_async.Sesion()  # error: misspelt; names are looked up at run time, but not by checkers


async def keys_and_parts_of_other_types(session: Session) -> None:
    await session.get(Lap, None, time(8))  # error
    await session.get(Lap, [timedelta(0)], time(8))  # error
    await session.get(Lap, {"length": timedelta(0)})  # error
    await session.get(Lap, object())  # error
    await session.get_many(Part, [[Serial("a")]])  # error
    assert_type(Part.stock["s"], Expr[int])  # error
    assert_type(Part.shelves["3"].city, Expr[str])  # error
    assert_type(Part.codes["a"], Expr[str])  # error
    Query(Part).where(Part.stock[Size.SMALL] > "x")  # error
    Query(Part).where(Part.codes.contains(3))  # error
    Query(Part).where(Part.notes.contains("x"))  # error
    Update(Part, Serial("a")).set(Part.stock[Size.SMALL], "x")  # error
    Update(Part, Serial("a")).set(Part.price, "5")  # error
    Update(Part, Serial("a")).set(Part.price, 1.5)  # error
    Update(Part, Serial("a")).set(Part.price, None)  # error
    Update(Part, Serial("a")).set(Part.weight, Decimal(5))  # error
    _ = Tweet.text[0]  # error: no part of a text can be named


async def attributes_and_images(session: Session) -> None:
    path(5)  # error
    Tweet.from_wire({"user_id": {"S": "ada"}}).nope  # error
    Tweet.from_wire("{}")  # error
    to_wire(Tweet)  # error
    to_wire({"user_id": "ada"})  # error
    decode_changes({}, "Tweet")  # error
    decode_changes({})  # error
    batch_item_failures("1")  # error
    await session.query(Tweet).page(size=5, max_pages="3")  # error
    session.query(Tweet).with_expired(True)  # error
    await session.update(Tweet, "ada", 7).set_fields(["text"])  # error


def takes_text(item: str) -> None: ...
def returns_it(item: StoredItem) -> StoredItem:
    return item


async def waits(item: StoredItem) -> None: ...
async def takes_no_run(session: Session) -> None: ...
def does_not_wait(session: Session, run: Migration) -> None: ...


async def upgrades_and_migrations(session: Session, run: Migration) -> None:
    upgrade(to=2)(takes_text)  # error
    upgrade(to=2)(returns_it)  # error
    upgrade(to=2)(waits)  # error
    downgrade(to=1)(takes_text)  # error
    upgrade(to="2")  # error
    migration("2026-01-a")(takes_no_run)  # error
    migration("2026-01-a")(does_not_wait)  # error
    migration("2026-01-a", undo=takes_no_run)  # error
    migration(1)  # error
    run.scan("Tweet")  # error
    run.scan(Tweet).where(Tweet.likes)  # error
    await migrate(session, takes_no_run)  # error


class HasTitle(Protocol):
    title: str


def shouted(item: HasTitle) -> str:
    return item.title.upper()


def a_protocol_with_a_plain_attribute(ticket: Ticket) -> str:
    return shouted(ticket)  # error pyright: type-check.md says why, and what to write


TableSettings(stream="both")  # error
TableSettings(recovery=7)  # error
TableSettings(tags=["team"])  # error
Recovery("7")  # error
Table("orders", partition_key="id", settings={"stream": "keys"})  # error
