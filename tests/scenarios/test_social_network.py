"""A social network in one table without a marker: what an item is stands at the end of its partition key.

``u#12345`` has a profile and counts, told by sort keys in quotation marks; ``u#12345#follower``, ``u#12345#post`` and
others begin alike and are partitions of other kinds.
"""

import pytest

from dynamap_async import Attr, Model, PartitionKey, Parts, SortKey, Table, TimeToLive, attr, template
from dynamap_async.errors import TransactionCanceledError

SCENARIO = "social-network"

SNS = Table("SNS", partition_key="PK", sort_key="SK", discriminator=None, time_to_live="ttl")


class OfUser(Model, table=SNS, abstract=True):
    user: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("u#{user}")


class Profile(OfUser):
    name: Attr[str]
    content: Attr[str]
    image: Attr[str] = attr(name="imageUrl")
    etc: Attr[str]

    sk: SortKey[str] = template('"info"')


class Counts(OfUser):
    followers: Attr[int] = attr(name="follower#")
    following: Attr[int] = attr(name="following#")
    posts: Attr[int] = attr(name="post#")

    sk: SortKey[str] = template('"count"')


class Follower(Model, table=SNS):
    user: Attr[str] = attr(stored=False)
    follower: Attr[str] = attr(stored=False)

    pk: PartitionKey[str] = template("u#{user}#follower")
    sk: SortKey[str] = template("u#{follower}")


class Followed(Model, table=SNS):
    user: Attr[str] = attr(stored=False)
    followed: Attr[str] = attr(stored=False)

    pk: PartitionKey[str] = template("u#{user}#following")
    sk: SortKey[str] = template("u#{followed}")


class Post(Model, table=SNS):
    user: Attr[str] = attr(stored=False)
    number: Attr[str] = attr(stored=False)
    content: Attr[str]
    image: Attr[str] = attr(name="imageUrl")
    timestamp: Attr[str]

    pk: PartitionKey[str] = template("u#{user}#post")
    sk: SortKey[str] = template("p#{number}")


class Like(Model, table=SNS):
    post: Attr[str] = attr(stored=False)
    user: Attr[str] = attr(stored=False)

    pk: PartitionKey[str] = template("p#{post}#likelist")
    sk: SortKey[str] = template("u#{user}")


class LikeCount(Model, table=SNS):
    post: Attr[str] = attr(stored=False)
    count: Attr[str] = attr(name="etc")

    pk: PartitionKey[str] = template("p#{post}#likecount")
    sk: SortKey[str] = template('"count"')


class TimelineEntry(Model, table=SNS):
    user: Attr[str] = attr(stored=False)
    post: Attr[str] = attr(stored=False)
    author: Attr[str] = attr(stored=False)
    ttl: TimeToLive[int]

    pk: PartitionKey[str] = template("u#{user}#timeline")
    sk: SortKey[str] = template("p#{post}#u#{author}")


MODELS = {"SNS": SNS}
KINDS = {Profile: 1, Counts: 1, Follower: 3, Followed: 3, Post: 2, Like: 3, LikeCount: 1, TimelineEntry: 3}

REQUESTS = {
    "profile": lambda session: session.query(Profile).where(Profile.user == "12345"),
    "profile-and-counts": lambda session: session.query(Profile, Counts).where(Profile.user == "12345"),
    "followers": lambda session: session.query(Follower).where(Follower.user == "12345"),
    "following": lambda session: session.query(Followed).where(Followed.user == "12345"),
    "posts": lambda session: session.query(Post).where(Post.user == "12345").descending(),
    "likes": lambda session: session.query(Like).where(Like.post == "12345"),
    "like-count": lambda session: session.query(LikeCount).where(LikeCount.post == "12345"),
    "timeline": lambda session: session.query(TimelineEntry).where(TimelineEntry.user == "12345"),
    "timeline-since": lambda session: session.query(TimelineEntry).where(
        TimelineEntry.user == "12345", TimelineEntry.post == "45678"
    ),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("SNS") == published.tables["SNS"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    assert by_key("SNS", stored("SNS")) == by_key("SNS", wire_items["SNS"])


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("model", KINDS)
async def test_a_scan_of_one_kind_gives_that_kind_alone(model, filled):
    found = await filled.scan(model)
    assert {type(each) for each in found} == {model}
    assert len(found) == KINDS[model]


@pytest.mark.asyncio(loop_scope="function")
async def test_a_second_follow_counts_nothing(session, items):
    await session.tables.create(SNS)
    await session.put_many(items)

    async def follow(user, follower):
        async with session.transaction() as tx:
            tx.create(Follower(user=user, follower=follower))
            tx.update(Counts, Parts(user=user)).add(Counts.followers, 1)

    await follow("12345", "99999")
    with pytest.raises(TransactionCanceledError):
        await follow("12345", "99999")
    assert (await session.get(Counts, Parts(user="12345"))).followers == 3_000_000_001
    assert await session.query(Follower).where(Follower.user == "12345").count() == 4
