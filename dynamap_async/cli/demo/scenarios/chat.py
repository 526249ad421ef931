"""Chat rooms and the comments in them, two kinds of item in one table."""

from datetime import UTC, datetime
from typing import ClassVar

from dynamap_async import Attr, BoundQuery, GlobalIndex, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.cli.demo.scenario import Scenario
from dynamap_async.cli.demo.scenarios.times import UTC_MILLISECONDS


class Comment(Model, table="Chat"):
    """What a user (``User:UserA``) said in a room."""

    author: PartitionKey[str] = attr(name="PK")
    sent_at: SortKey[datetime] = attr(name="SK", stored_as=UTC_MILLISECONDS)
    room: Attr[str] = attr(name="RoomID")
    created_at: Attr[datetime] = attr(name="CreatedAt", stored_as=UTC_MILLISECONDS)
    text: Attr[str] = attr(name="Comment")

    by_room: ClassVar[GlobalIndex] = GlobalIndex("RoomID_Comment_IDX", partition_key="room", sort_key="created_at")


class Room(Model, table="Chat", distinct_from=Comment):
    """A room (``Room:Art``). It has no RoomID, so it never appears in the index of comments."""

    name: PartitionKey[str] = attr(name="PK")
    kind: SortKey[str] = attr(name="SK", default="meta")
    created_by: Attr[str] = attr(name="CreatedBy")


NOON = datetime(2023, 4, 1, 12, tzinfo=UTC)


def comments_in_a_room(session: Session) -> BoundQuery[Comment]:
    """What was said in the room on music, from the beginning?"""
    return session.query(Comment).where(Comment.room == "Music")


def latest_comments(session: Session) -> BoundQuery[Comment]:
    """What are the ten latest comments on art?"""
    return session.query(Comment).where(Comment.room == "Art").descending().limit(10)


def comments_since(session: Session) -> BoundQuery[Comment]:
    """What was said on art after the comment that was read last?"""
    last_read = NOON.replace(second=5, microsecond=1000)
    return session.query(Comment).where(Comment.room == "Art", Comment.created_at > last_read)


def comments_of_half_a_minute(session: Session) -> BoundQuery[Comment]:
    """What was said on music in the half minute after noon?"""
    return session.query(Comment).where(
        Comment.room == "Music", Comment.created_at >= NOON, Comment.created_at <= NOON.replace(second=30)
    )


def comments_of_a_user(session: Session) -> BoundQuery[Comment]:
    """What did User A say, in all rooms?"""
    return session.query(Comment).where(Comment.author == "User:UserA")


def creator_of_a_room(session: Session) -> BoundQuery[Room]:
    """Who created the room on art?"""
    return session.query(Room).where(Room.name == "Room:Art", Room.kind == "meta")


SCENARIO = Scenario(
    name="chat",
    title="Chat",
    source="AWS DynamoDB examples, ChatSystem",
    models=(Comment, Room),
    questions=(
        comments_in_a_room,
        latest_comments,
        comments_since,
        comments_of_half_a_minute,
        comments_of_a_user,
        creator_of_a_room,
    ),
)
