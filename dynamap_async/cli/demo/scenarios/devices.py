"""The states of devices, in three designs of one table: each makes the same question cheaper, or answers a new one."""

from datetime import UTC, datetime
from typing import ClassVar

from dynamap_async import Attr, BoundQuery, GlobalIndex, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.cli.demo.scenario import Scenario
from dynamap_async.cli.demo.scenarios.times import UTC_SECONDS


class StateByTime(Model, table="DeviceStateLog_step2"):
    """The first design: what happened to a device, in order of time."""

    device: PartitionKey[str] = attr(name="DeviceID")
    time: SortKey[datetime] = attr(name="Date", stored_as=UTC_SECONDS)
    state: Attr[str] = attr(name="State")
    detail: Attr[dict[str, str] | None] = attr(name="Detail", default=None)


class StateByKind(Model, table="DeviceStateLog_step3"):
    """The second design: the sort key begins with the state, as in ``WARNING1#2020-04-24T14:40:00``."""

    device: PartitionKey[str] = attr(name="DeviceID")
    state_and_time: SortKey[str] = attr(name="State#Date")
    time: Attr[datetime] = attr(name="Date", stored_as=UTC_SECONDS)
    state: Attr[str] = attr(name="State")
    detail: Attr[dict[str, str] | None] = attr(name="Detail", default=None)


class DeviceState(Model, table="DeviceStateLog"):
    """The last design: two indexes more, for who is in charge and for what was handed on."""

    device: PartitionKey[str] = attr(name="DeviceID")
    state_and_time: SortKey[str] = attr(name="State#Date")
    time: Attr[datetime] = attr(name="Date", stored_as=UTC_SECONDS)
    state: Attr[str] = attr(name="State")
    operator: Attr[str] = attr(name="Operator")
    escalated_to: Attr[str | None] = attr(name="EscalatedTo", default=None)

    by_operator: ClassVar[GlobalIndex] = GlobalIndex("GSI1", partition_key="operator", sort_key="time")
    by_escalation: ClassVar[GlobalIndex] = GlobalIndex("GSI2", partition_key="escalated_to", sort_key="state_and_time")


def warnings_by_filter(session: Session) -> BoundQuery[StateByTime]:
    """Which warnings of the first level did device 12345 give, latest first?

    The state is no part of the key, so all states of the device are read, and a large one among them is paid for
    before the filter drops it.
    """
    return (
        session.query(StateByTime).where(StateByTime.device == "d#12345", StateByTime.state == "WARNING1").descending()
    )


def warnings_by_key(session: Session) -> BoundQuery[StateByKind]:
    """The same, where the sort key begins with the state?

    A third of the read units: only what was asked for is read.
    """
    return (
        session.query(StateByKind)
        .where(StateByKind.device == "d#12345", StateByKind.state_and_time.begins_with("WARNING1#"))
        .descending()
    )


def states_of_an_operator(session: Session) -> BoundQuery[DeviceState]:
    """What happened from 20 to 25 April 2020 while Liz was in charge?"""
    days = datetime(2020, 4, 20, tzinfo=UTC), datetime(2020, 4, 25, tzinfo=UTC)
    return session.query(DeviceState).where(DeviceState.operator == "Liz", DeviceState.time.between(*days))


def escalations(session: Session) -> BoundQuery[DeviceState]:
    """What was escalated to Sara?

    Only items with an escalated_to are in this index. It is sparse: one entry, where the table has eleven items.
    """
    return session.query(DeviceState).where(DeviceState.escalated_to == "Sara")


def escalations_of_a_day(session: Session) -> BoundQuery[DeviceState]:
    """Which warnings of the fourth level were escalated to her on 27 April 2020?"""
    return session.query(DeviceState).where(
        DeviceState.escalated_to == "Sara", DeviceState.state_and_time.begins_with("WARNING4#2020-04-27")
    )


def escalations_of_another_level(session: Session) -> BoundQuery[DeviceState]:
    """And which of the third level, on any day?"""
    return session.query(DeviceState).where(
        DeviceState.escalated_to == "Sara", DeviceState.state_and_time.begins_with("WARNING3#")
    )


SCENARIO = Scenario(
    name="devices",
    title="Device state log",
    source="Amazon DynamoDB design patterns, device-state-log",
    models=(StateByTime, StateByKind, DeviceState),
    questions=(
        warnings_by_filter,
        warnings_by_key,
        states_of_an_operator,
        escalations,
        escalations_of_a_day,
        escalations_of_another_level,
    ),
)
