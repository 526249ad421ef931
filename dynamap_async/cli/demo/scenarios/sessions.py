"""Logins and the sessions they began, found from either end: an inverted index swaps partition key and sort key."""

from datetime import datetime
from typing import ClassVar

from dynamap_async import Attr, BoundQuery, GlobalIndex, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.cli.demo.scenario import Scenario
from dynamap_async.cli.demo.scenarios.times import UTC_SECONDS


class SessionEntry(Model, table="session_store"):
    """A session with one of its members: the customer (``c#ABC``), or a child session (``child#suuid#...``)."""

    session: PartitionKey[str] = attr(name="PK")
    member: SortKey[str] = attr(name="SK")
    state: Attr[str] = attr(name="session_state")
    access_token: Attr[str]
    last_login: Attr[datetime | None] = attr(name="last_login_time", stored_as=UTC_SECONDS, default=None)

    by_member: ClassVar[GlobalIndex] = GlobalIndex("GSI1_inverse", partition_key="member", sort_key="session")


def children_of_a_session(session: Session) -> BoundQuery[SessionEntry]:
    """Which child sessions did a session begin?"""
    return session.query(SessionEntry).where(
        SessionEntry.session == "suuid#c342etj3", SessionEntry.member.begins_with("child#")
    )


def parent_of_a_child(session: Session) -> BoundQuery[SessionEntry]:
    """Which session began this child session?"""
    return session.query(SessionEntry).where(SessionEntry.member == "child#suuid#ljy22tf0")


def sessions_of_a_customer(session: Session) -> BoundQuery[SessionEntry]:
    """Which sessions does a customer have?"""
    return session.query(SessionEntry).where(SessionEntry.member == "c#ABC")


def one_session_of_a_customer(session: Session) -> BoundQuery[SessionEntry]:
    """Does this session belong to that customer?

    Both keys are given, so the table and the index could each answer; the table does.
    """
    return session.query(SessionEntry).where(SessionEntry.session == "suuid#d0004tj2", SessionEntry.member == "c#ABC")


def first_session_of_a_customer(session: Session) -> BoundQuery[SessionEntry]:
    """Which of the customer's sessions comes first?

    limit(1) counts items returned; without a filter no more than that are read either.
    """
    return session.query(SessionEntry).where(SessionEntry.member == "c#ABC").limit(1)


SCENARIO = Scenario(
    name="sessions",
    title="Session management",
    source="AWS DynamoDB examples, SessionManagement",
    models=(SessionEntry,),
    questions=(
        children_of_a_session,
        parent_of_a_child,
        sessions_of_a_customer,
        one_session_of_a_customer,
        first_session_of_a_customer,
    ),
)
