"""Forums with threads and replies, beside a product catalog: the sample tables of DynamoDB's developer guide."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import ClassVar

from dynamap_async import (
    Attr,
    BoundQuery,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Session,
    SortKey,
    attr,
    include,
)
from dynamap_async.cli.demo.scenario import Scenario
from dynamap_async.cli.demo.scenarios.times import UTC_MILLISECONDS


class Forum(Model, table="Forum"):
    """A place to talk about one subject."""

    name: PartitionKey[str] = attr(name="Name")
    category: Attr[str] = attr(name="Category")
    threads: Attr[int | None] = attr(name="Threads", default=None)  # None is not stored
    messages: Attr[int | None] = attr(name="Messages", default=None)
    views: Attr[int | None] = attr(name="Views", default=None)


class Thread(Model, table="Thread"):
    """A conversation in a forum."""

    forum: PartitionKey[str] = attr(name="ForumName")
    subject: SortKey[str] = attr(name="Subject")
    last_posted_at: Attr[datetime] = attr(name="LastPostedDateTime", stored_as=UTC_MILLISECONDS)
    last_posted_by: Attr[str] = attr(name="LastPostedBy")
    message: Attr[str] = attr(name="Message")
    replies: Attr[int] = attr(name="Replies", default=0)
    views: Attr[int] = attr(name="Views", default=0)
    answered: Attr[int] = attr(name="Answered", default=0)
    tags: Attr[list[str]] = attr(name="Tags", default_factory=list)

    by_last_post: ClassVar[LocalIndex] = LocalIndex(
        "LastPostIndex", sort_key="last_posted_at", projection=include("replies")
    )


class Reply(Model, table="Reply"):
    """An answer in a thread, which is named ``forum#subject``."""

    thread: PartitionKey[str] = attr(name="Id")
    replied_at: SortKey[datetime] = attr(name="ReplyDateTime", stored_as=UTC_MILLISECONDS)
    posted_by: Attr[str] = attr(name="PostedBy")
    message: Attr[str] = attr(name="Message")

    by_author: ClassVar[GlobalIndex] = GlobalIndex(
        "PostedBy-Message-Index", partition_key="posted_by", sort_key="message"
    )


class Product(Model, table="ProductCatalog"):
    """A book or a bicycle; each has attributes that the other lacks."""

    id: PartitionKey[int] = attr(name="Id")
    title: Attr[str] = attr(name="Title")
    price: Attr[Decimal] = attr(name="Price")
    category: Attr[str] = attr(name="ProductCategory")
    isbn: Attr[str | None] = attr(name="ISBN", default=None)
    authors: Attr[list[str] | None] = attr(name="Authors", default=None)
    pages: Attr[int | None] = attr(name="PageCount", default=None)
    dimensions: Attr[str | None] = attr(name="Dimensions", default=None)
    in_print: Attr[bool | None] = attr(name="InPublication", default=None)
    bicycle_type: Attr[str | None] = attr(name="BicycleType", default=None)
    brand: Attr[str | None] = attr(name="Brand", default=None)
    colors: Attr[list[str] | None] = attr(name="Color", default=None)
    description: Attr[str | None] = attr(name="Description", default=None)


ThreadCard = tuple[str, str, datetime, int]


def threads_of_a_forum(session: Session) -> BoundQuery[Thread]:
    """Which threads are there in the forum on DynamoDB?"""
    return session.query(Thread).where(Thread.forum == "Amazon DynamoDB")


def threads_by_subject(session: Session) -> BoundQuery[Thread]:
    """Which of them have a subject that begins with "DynamoDB Thread"?"""
    return session.query(Thread).where(Thread.forum == "Amazon DynamoDB", Thread.subject.begins_with("DynamoDB Thread"))


def threads_by_last_post(session: Session) -> BoundQuery[Thread, ThreadCard]:
    """Where was the last word spoken most recently?

    No condition calls for this order, so the program names the index. It holds these four attributes and no others:
    select(...) reads just them, as typed tuples.
    """
    return (
        session.query(Thread)
        .where(Thread.forum == "Amazon DynamoDB")
        .index(Thread.by_last_post)
        .descending()
        .select(Thread.forum, Thread.subject, Thread.last_posted_at, Thread.replies)
    )


def threads_posted_to_late_in_september(session: Session) -> BoundQuery[Thread, ThreadCard]:
    """Which threads were last posted to between 20 and 30 September 2015?

    This time the condition decides: only the index orders threads by their last post.
    """
    late_september = datetime(2015, 9, 20, tzinfo=UTC), datetime(2015, 9, 30, tzinfo=UTC)
    return (
        session.query(Thread)
        .where(Thread.forum == "Amazon DynamoDB", Thread.last_posted_at.between(*late_september))
        .select(Thread.forum, Thread.subject, Thread.last_posted_at, Thread.replies)
    )


def latest_replies(session: Session) -> BoundQuery[Reply]:
    """What was replied in a thread since 20 September 2015?"""
    return session.query(Reply).where(
        Reply.thread == "Amazon DynamoDB#DynamoDB Thread 1", Reply.replied_at > datetime(2015, 9, 20, tzinfo=UTC)
    )


def replies_of_an_author(session: Session) -> BoundQuery[Reply]:
    """What has User A replied, in all threads?"""
    return session.query(Reply).where(Reply.posted_by == "User A")


def replies_of_an_author_in_a_thread(session: Session) -> BoundQuery[Reply]:
    """Which replies of User A begin with "DynamoDB Thread 2"?"""
    return session.query(Reply).where(Reply.posted_by == "User A", Reply.message.begins_with("DynamoDB Thread 2"))


def cheap_books_in_print(session: Session) -> BoundQuery[Product]:
    """Which books in print cost less than 100?

    No key answers this, and the planner never scans unasked: the program says scan(...), and pays for every item.
    """
    return session.scan(Product).where(Product.category == "Book", Product.in_print.is_(True), Product.price < 100)


def red_bicycles(session: Session) -> BoundQuery[Product]:
    """Which products come in red?"""
    return session.scan(Product).where(Product.colors.contains("Red"))


def products_by_price(session: Session) -> BoundQuery[Product]:
    """Which products cost between 100 and 400?"""
    return session.scan(Product).where(Product.price.between(Decimal(100), Decimal(400)))


def forums_without_a_count(session: Session) -> BoundQuery[Forum]:
    """Which forums do not count their threads?"""
    return session.scan(Forum).where(Forum.threads.missing())


SCENARIO = Scenario(
    name="forum",
    title="Forum and product catalog",
    source="Amazon DynamoDB Developer Guide, sample tables",
    models=(Forum, Thread, Reply, Product),
    questions=(
        threads_of_a_forum,
        threads_by_subject,
        threads_by_last_post,
        threads_posted_to_late_in_september,
        latest_replies,
        replies_of_an_author,
        replies_of_an_author_in_a_thread,
        cheap_books_in_print,
        red_bicycles,
        products_by_price,
        forums_without_a_count,
    ),
)
