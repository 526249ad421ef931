"""The developer guide's sample tables: a product catalog of unlike items, and a forum with threads and replies."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import BaseModel

from dynamap_async import (
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredForm,
    attr,
    include,
    template,
)
from dynamap_async.errors import UnprojectedAttributeError
from dynamap_async.expressions import path_of

SCENARIO = "forum-product-catalog"


def iso_milliseconds(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# The tables exist already, with times in milliseconds: our own form has microseconds.
ISO_MILLISECONDS = StoredForm(
    name="ISO 8601 with milliseconds", tag="S", encode=iso_milliseconds, decode=datetime.fromisoformat
)


class Product(Model, table="ProductCatalog"):
    id: PartitionKey[int] = attr(name="Id")
    title: Attr[str] = attr(name="Title")
    price: Attr[Decimal] = attr(name="Price")
    category: Attr[str] = attr(name="ProductCategory")
    isbn: Attr[str | None] = attr(name="ISBN", default=None)
    authors: Attr[list[str] | None] = attr(name="Authors", default=None)
    dimensions: Attr[str | None] = attr(name="Dimensions", default=None)
    pages: Attr[int | None] = attr(name="PageCount", default=None)
    in_print: Attr[bool | None] = attr(name="InPublication", default=None)
    description: Attr[str | None] = attr(name="Description", default=None)
    bicycle_type: Attr[str | None] = attr(name="BicycleType", default=None)
    brand: Attr[str | None] = attr(name="Brand", default=None)
    colors: Attr[list[str] | None] = attr(name="Color", default=None)


class Forum(Model, table="Forum"):
    name: PartitionKey[str] = attr(name="Name")
    category: Attr[str] = attr(name="Category")
    threads: Attr[int | None] = attr(name="Threads", default=None)
    messages: Attr[int | None] = attr(name="Messages", default=None)
    views: Attr[int | None] = attr(name="Views", default=None)


class Thread(Model, table="Thread"):
    forum: PartitionKey[str] = attr(name="ForumName")
    subject: SortKey[str] = attr(name="Subject")
    message: Attr[str] = attr(name="Message")
    last_posted_by: Attr[str] = attr(name="LastPostedBy")
    last_posted_at: Attr[datetime] = attr(name="LastPostedDateTime", stored_as=ISO_MILLISECONDS)
    views: Attr[int] = attr(name="Views")
    replies: Attr[int] = attr(name="Replies")
    answered: Attr[int] = attr(name="Answered")
    tags: Attr[list[str]] = attr(name="Tags")

    by_last_post = LocalIndex("LastPostIndex", sort_key="last_posted_at", projection=include("replies"))


class Reply(Model, table="Reply"):
    forum: Attr[str] = attr(stored=False)
    subject: Attr[str] = attr(stored=False)
    replied_at: SortKey[datetime] = attr(name="ReplyDateTime", stored_as=ISO_MILLISECONDS)
    message: Attr[str] = attr(name="Message")
    posted_by: Attr[str] = attr(name="PostedBy")

    thread: PartitionKey[str] = template("{forum}#{subject}", name="Id")

    by_author = GlobalIndex("PostedBy-Message-Index", partition_key="posted_by", sort_key="message")


MODELS = {"ProductCatalog": Product, "Forum": Forum, "Thread": Thread, "Reply": Reply}

BEFORE_OCTOBER = datetime(2015, 9, 20, tzinfo=UTC), datetime(2015, 9, 30, tzinfo=UTC)
# All that LastPostIndex holds; a selection of anything else is refused, and whole items are completed.
THREAD_CARD = (Thread.forum, Thread.subject, Thread.last_posted_at, Thread.replies)

REQUESTS = {
    "threads-in-forum": lambda session: session.query(Thread).where(Thread.forum == "Amazon DynamoDB"),
    "thread-subject-prefix": lambda session: session.query(Thread).where(
        Thread.forum == "Amazon DynamoDB", Thread.subject.begins_with("DynamoDB Thread")
    ),
    "lsi-recent-first": lambda session: (
        session.query(Thread)
        .where(Thread.forum == "Amazon DynamoDB")
        .index(Thread.by_last_post)
        .descending()
        .select(*THREAD_CARD)
    ),
    "lsi-between": lambda session: (
        session.query(Thread)
        .where(Thread.forum == "Amazon DynamoDB", Thread.last_posted_at.between(*BEFORE_OCTOBER))
        .select(*THREAD_CARD)
    ),
    "replies-of-thread-after": lambda session: session.query(Reply).where(
        Reply.forum == "Amazon DynamoDB",
        Reply.subject == "DynamoDB Thread 1",
        Reply.replied_at > datetime(2015, 9, 20, tzinfo=UTC),
    ),
    "replies-by-user": lambda session: session.query(Reply).where(Reply.posted_by == "User A"),
    "replies-by-user-prefix": lambda session: session.query(Reply).where(
        Reply.posted_by == "User A", Reply.message.begins_with("DynamoDB Thread 2")
    ),
    "books-in-print-under-100": lambda session: session.scan(Product).where(
        Product.category == "Book", Product.in_print.is_(True), Product.price < 100
    ),
    "red-bikes": lambda session: session.scan(Product).where(Product.colors.contains("Red")),
    "price-between-100-400": lambda session: session.scan(Product).where(
        Product.price.between(Decimal(100), Decimal(400))
    ),
    "no-threads-counter": lambda session: session.scan(Forum).where(Forum.threads.missing()),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


@pytest.mark.parametrize("table", MODELS)
def test_created_table_has_the_published_keys_and_indexes(table, published, described):
    assert described(table) == published.tables[table]


@pytest.mark.parametrize("table", MODELS)
def test_stored_items_are_the_published_ones_to_the_letter(table, wire_items, stored, by_key):
    assert by_key(table, stored(table)) == by_key(table, wire_items[table])


@pytest.mark.asyncio(loop_scope="module")
async def test_scans_read_the_published_number_of_items(filled, published):
    scans = [said for said in published.requests.values() if said["op"] == "Scan"]
    assert scans
    for said in scans:
        assert await filled.scan(MODELS[said["table"]]).count() == said["expect"]["scanned"]


@pytest.mark.asyncio(loop_scope="module")
async def test_index_gives_exactly_the_attributes_that_it_projects(ask, filled, published):
    held = published.requests["lsi-recent-first"]["expect"]["attributes_union"]
    newest, older = await ask("lsi-recent-first")
    assert newest == ("Amazon DynamoDB", "DynamoDB Thread 1", datetime(2015, 9, 22, 19, 58, 22, 514000, tzinfo=UTC), 0)
    assert older == ("Amazon DynamoDB", "DynamoDB Thread 2", datetime(2015, 9, 15, 19, 58, 22, 514000, tzinfo=UTC), 0)

    for field in Thread.model_fields:
        expression = getattr(Thread, field)
        query = filled.query(Thread).where(Thread.forum == "Amazon DynamoDB").index(Thread.by_last_post)
        if path_of(expression).attribute in held:
            assert len(await query.select(expression)) == 2
        else:
            with pytest.raises(UnprojectedAttributeError):
                await query.select(expression)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("consistent", [False, True])
async def test_whole_items_of_an_index_without_all_fields_come_from_the_table_in_its_order(ask, filled, consistent):
    query = filled.query(Thread).where(Thread.forum == "Amazon DynamoDB").index(Thread.by_last_post).descending()
    query = query.consistent() if consistent else query
    before = filled.statistics()
    threads = await query
    after = filled.statistics()
    assert [(each.forum, each.subject, each.last_posted_at, each.replies) for each in threads] == await ask(
        "lsi-recent-first"
    )
    assert threads == [await filled.get(Thread, each.forum, each.subject) for each in threads]
    assert after.requests - before.requests == 2  # one for the index, one for its two items


class ThreadCard(BaseModel):
    subject: str
    last_posted_at: datetime
    replies: int


@pytest.mark.asyncio(loop_scope="module")
async def test_index_is_read_into_a_card_of_what_it_holds(filled):
    query = filled.query(Thread).where(Thread.forum == "Amazon DynamoDB").index(Thread.by_last_post)
    before = filled.statistics()
    cards = await query.into(ThreadCard)
    assert filled.statistics().requests - before.requests == 1
    assert cards == [
        ThreadCard(subject=each.subject, last_posted_at=each.last_posted_at, replies=each.replies)
        for each in await query
    ]
