"""Photos that are liked and commented, by users who follow each other; counters change with what they count.

The source publishes how keys are made and what it asks, but no items; the users and photos are this test's own. Nothing
is stored that says what an item is but its keys, so those tell the models.
"""

import json
import re
from pathlib import Path

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template
from dynamap_async.errors import ConditionalCheckFailedError, OutOfRangeError, TransactionCanceledError
from dynamap_async.expressions import path_of
from dynamap_async.models.templates import DeclaredTemplate

SCENARIO = "photo-sharing"
KEYS = json.loads((Path(__file__).parent / "data" / SCENARIO / "keys.json").read_text("utf-8"))

pytestmark = pytest.mark.asyncio(loop_scope="function")

INSTAGRAM = Table(
    "instagram",
    partition_key="PK",
    sort_key="SK",
    indexes=(GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),),
    discriminator=None,
)
GSI1 = INSTAGRAM.index("GSI1")


class User(Model, table=INSTAGRAM):
    name: Attr[str] = attr(name="username")
    followers: Attr[int] = attr(name="followerCount", default=0)
    following: Attr[int] = attr(name="followingCount", default=0)

    pk: PartitionKey[str] = template("USER#{name}")
    sk: SortKey[str] = template("USER#{name}")


class Photo(Model, table=INSTAGRAM):
    owner: Attr[str] = attr(name="username")
    id: Attr[str] = attr(name="photoId")
    likes: Attr[int] = attr(name="likesCount", default=0)
    comments: Attr[int] = attr(name="commentCount", default=0)

    pk: PartitionKey[str] = template("UP#{owner}")
    sk: SortKey[str] = template("PHOTO#{id}")


class Like(Model, table=INSTAGRAM):
    photo: Attr[str] = attr(name="photoId")
    user: Attr[str] = attr(name="likingUsername")
    id: Attr[str] = attr(name="likeId")

    pk: PartitionKey[str] = template("PL#{photo}")
    sk: SortKey[str] = template("LIKE#{user}")
    in_time_pk: Attr[str] = template("PL#{photo}", name="GSI1PK")
    in_time_sk: Attr[str] = template("LIKE#{id}", name="GSI1SK")


class Comment(Model, table=INSTAGRAM):
    photo: Attr[str] = attr(name="photoId")
    user: Attr[str] = attr(name="commentingUsername")
    id: Attr[str] = attr(name="commentId")
    text: Attr[str] = attr(name="content")

    pk: PartitionKey[str] = template("PC#{photo}")
    sk: SortKey[str] = template("COMMENT#{id}")


class Follow(Model, table=INSTAGRAM):
    followed: Attr[str] = attr(name="followedUsername")
    follower: Attr[str] = attr(name="followingUsername")

    pk: PartitionKey[str] = template("FOLLOW#{followed}")
    sk: SortKey[str] = template("FOLLOW#{follower}")
    reverse_pk: Attr[str] = template("FOLLOW#{follower}", name="GSI1PK")
    reverse_sk: Attr[str] = template("FOLLOW#{followed}", name="GSI1SK")


MODELS = {"instagram": INSTAGRAM}


def ulid(number: int) -> str:
    return f"01H0000000000000000000{number:04d}"


PHOTO = Photo(owner="ann", id=ulid(1))
OF_PHOTO = Parts(owner=PHOTO.owner, id=PHOTO.id)
LIKES = Like.photo == PHOTO.id


@pytest_asyncio.fixture
async def app(session):
    await session.tables.create(INSTAGRAM)
    await session.put_many([User(name=name) for name in ("ann", "bob", "cy")])
    await session.create(PHOTO)
    return session


async def like(session, user, number, photo=OF_PHOTO):
    async with session.transaction() as tx:
        tx.create(Like(photo=photo.values["id"], user=user, id=ulid(number)))
        tx.update(Photo, photo).add(Photo.likes, 1)


async def comment(session, user, number):
    async with session.transaction() as tx:
        tx.create(Comment(photo=PHOTO.id, user=user, id=ulid(number), text=f"number {number}"))
        tx.update(Photo, OF_PHOTO).add(Photo.comments, 1)


async def follow(session, follower, followed):
    async with session.transaction() as tx:
        tx.create(Follow(followed=followed, follower=follower))
        tx.update(User, Parts(name=followed)).add(User.followers, 1)
        tx.update(User, Parts(name=follower)).add(User.following, 1)


async def followers(session, user):
    follows = await session.query(Follow).where(Follow.followed == user)
    return await session.get_many(User, [Parts(name=each.follower) for each in follows])


async def followed(session, user):
    follows = await session.query(Follow).where(Follow.follower == user)
    return await session.get_many(User, [Parts(name=each.followed) for each in follows])


async def requests_of(session, call):
    """Return what a call gives, and how many requests it sent."""
    before = session.statistics().requests
    result = await call
    return result, session.statistics().requests - before


@pytest.mark.parametrize("model", [User, Photo, Like, Comment, Follow])
async def test_keys_are_made_as_the_source_says(model):
    stored = {name: path_of(getattr(model, name)).attribute for name in model.model_fields}
    made = {
        stored[name]: re.sub(r"{(\w+)}", lambda part: f"{{{stored[part[1]]}}}", declared.pattern)
        for name, info in model.model_fields.items()
        for declared in info.metadata
        if isinstance(declared, DeclaredTemplate)
    }
    assert made == KEYS[model.__name__]


@pytest.mark.asyncio(loop_scope="module")
async def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("instagram") == published.tables["instagram"]


async def test_user_name_is_taken_once(app):
    with pytest.raises(ConditionalCheckFailedError):
        await app.create(User(name="ann", followers=9))
    assert await app.get(User, Parts(name="ann")) == User(name="ann")


async def test_photo_is_read_by_its_owner_and_number(app):
    assert await app.get(Photo, OF_PHOTO) == PHOTO
    assert await app.query(Photo).where(Photo.owner == "ann") == [PHOTO]


async def test_like_counts_once_for_each_user(app):
    await like(app, "bob", 1)
    with pytest.raises(TransactionCanceledError) as caught:
        await like(app, "bob", 2)
    assert [reason.code for reason in caught.value.reasons] == ["ConditionalCheckFailed", None]
    assert caught.value.reasons[0].item == Like(photo=PHOTO.id, user="bob", id=ulid(1))
    assert (await app.get(Photo, OF_PHOTO)).likes == 1
    assert await app.query(Like).where(LIKES).count() == 1


async def test_like_of_a_photo_that_is_gone_leaves_nothing(app):
    await app.delete(PHOTO)
    with pytest.raises(TransactionCanceledError) as caught:
        await like(app, "bob", 1)
    assert [reason.code for reason in caught.value.reasons] == [None, "ConditionalCheckFailed"]
    assert caught.value.reasons[1].item is None
    assert await app.find(Like, Parts(photo=PHOTO.id, user="bob")) is None
    assert await app.find(Photo, OF_PHOTO) is None


async def test_likes_are_listed_newest_first_through_the_index_and_by_name_through_the_table(app):
    for number, user in enumerate(("cy", "ann", "bob")):
        await like(app, user, number)
    newest = app.query(Like).where(LIKES).index(GSI1).descending()
    assert [each.user for each in await newest] == ["bob", "ann", "cy"]
    assert [each.user for each in await app.query(Like).where(LIKES)] == ["ann", "bob", "cy"]
    assert (await newest.first()).user == "bob"
    # The number is part of the index's key alone, so that this one needs no ``index``.
    since = app.query(Like).where(LIKES, Like.id >= ulid(1))
    assert since.explain().index == "GSI1"
    assert [each.user for each in await since] == ["ann", "bob"]


async def test_comments_are_listed_newest_first_and_counted(app):
    for number in (3, 1, 2):
        await comment(app, "bob", number)
    found = await app.query(Comment).where(Comment.photo == PHOTO.id).descending()
    assert [each.text for each in found] == ["number 3", "number 2", "number 1"]
    assert (await app.get(Photo, OF_PHOTO)).comments == 3


async def test_follow_counts_on_both_sides_once(app):
    await follow(app, "ann", "bob")
    with pytest.raises(TransactionCanceledError) as caught:
        await follow(app, "ann", "bob")
    assert [reason.code for reason in caught.value.reasons] == ["ConditionalCheckFailed", None, None]
    with pytest.raises(TransactionCanceledError) as caught:
        await follow(app, "nobody", "bob")
    assert [reason.code for reason in caught.value.reasons] == [None, None, "ConditionalCheckFailed"]
    assert await app.get_many(User, [Parts(name=name) for name in ("ann", "bob", "nobody")]) == [
        User(name="ann", following=1),
        User(name="bob", followers=1),
        None,
    ]


async def test_nobody_follows_himself_because_one_item_would_be_written_twice(app):
    before = app.statistics().requests
    with pytest.raises(OutOfRangeError, match="the same item"):
        await follow(app, "ann", "ann")
    assert app.statistics().requests == before


async def test_followers_and_followed_are_read_with_one_batch_in_the_order_of_their_names(app):
    for follower, other in (("cy", "ann"), ("bob", "ann"), ("ann", "bob"), ("cy", "bob")):
        await follow(app, follower, other)
    found, sent = await requests_of(app, followers(app, "ann"))
    assert ([user.name for user in found], sent) == (["bob", "cy"], 2)
    found, sent = await requests_of(app, followed(app, "cy"))
    assert ([(user.name, user.followers) for user in found], sent) == ([("ann", 2), ("bob", 2)], 2)


async def test_without_followers_no_batch_is_sent(app):
    assert await requests_of(app, followers(app, "ann")) == ([], 1)
    assert await requests_of(app, followed(app, "ann")) == ([], 1)


async def test_more_followers_than_a_batch_takes_are_read_with_two(app):
    names = [f"fan{number:03d}" for number in range(110)]
    await app.put_many(User(name=name) for name in names)
    await app.put_many(Follow(followed="ann", follower=name) for name in names)
    found, sent = await requests_of(app, followers(app, "ann"))
    assert [user.name for user in found] == names
    assert sent == 3  # one for the keys, one for 100 users, one for 10
