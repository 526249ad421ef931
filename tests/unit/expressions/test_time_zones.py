"""Datetimes with and without a time zone: two stored forms that no comparison takes for each other."""

import json
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import AwareDatetime, BaseModel, NaiveDatetime

from dynamap_async import (
    Attr,
    Create,
    GlobalIndex,
    Model,
    PartitionKey,
    Put,
    Query,
    Replace,
    Save,
    SortKey,
    Update,
    attr,
    to_wire,
)
from dynamap_async.errors import EncodeError
from dynamap_async.models import definition_of
from dynamap_async.planning import Context

AWARE = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAIVE = AWARE.replace(tzinfo=None)


class Visit(BaseModel):
    at: datetime
    more: "list[Visit]" = []


class Event(Model, table="events"):
    room: PartitionKey[str]
    at: SortKey[datetime]
    made: Attr[datetime]
    seen: Attr[datetime | None] = attr(default=None)
    either: Attr[datetime | int] = attr(default=0)
    visit: Attr[Visit | None] = attr(default=None)
    counts: Attr[dict[datetime, int]] = attr(default_factory=dict)
    number: Attr[int] = attr(default=0)
    days: Attr[list[datetime]] = attr(default_factory=list)
    marks: Attr[set[datetime]] = attr(default_factory=set)
    due: Attr[AwareDatetime] = attr(default=AWARE)
    local: Attr[NaiveDatetime] = attr(default=NAIVE)
    locals: Attr[list[NaiveDatetime]] = attr(default_factory=list)
    anything: Attr[Any] = attr(default=None)
    by_made = GlobalIndex(partition_key="room", sort_key="seen")


REFUSED: list[Any] = [
    pytest.param(lambda value: Event.made == value, "Event.made", id="equal"),
    pytest.param(lambda value: Event.made != value, "Event.made", id="unequal"),
    pytest.param(lambda value: Event.made < value, "Event.made", id="less"),
    pytest.param(lambda value: Event.made >= value, "Event.made", id="at least"),
    pytest.param(lambda value: Event.made.between(value, AWARE), "Event.made", id="between"),
    pytest.param(lambda value: Event.made.is_in(AWARE, value), "Event.made", id="in"),
    pytest.param(lambda value: Event.due == value, "Event.due", id="declared with a zone"),
    pytest.param(lambda value: Event.either == value, "Event.either", id="union"),
    pytest.param(Event.days.contains, r"Event.days.contains\(\)", id="member of a list"),
    pytest.param(Event.marks.contains, r"Event.marks.contains\(\)", id="member of a set"),
    pytest.param(lambda value: Event.days[0] == value, r"Event.days\[0\]", id="element"),
    pytest.param(lambda value: Event.at >= value, "Event.at", id="key"),
    pytest.param(lambda value: Event.seen >= value, "Event.seen", id="key of an index"),
]


@pytest.mark.parametrize(("make", "field"), REFUSED)
def test_datetime_without_a_zone_is_not_compared_with_those_that_have_one(make: Any, field: str) -> None:
    make(AWARE)
    with pytest.raises(EncodeError, match=rf"^{field}: datetime with a time zone expected, got .*[;:] add tzinfo=UTC"):
        make(NAIVE)


def test_the_error_names_the_annotation_of_fields_without_a_zone() -> None:
    with pytest.raises(EncodeError, match="or annotate the field NaiveDatetime"):
        _ = Event.made == NAIVE


@pytest.mark.parametrize(
    "make",
    [
        lambda value: Event.local == value,
        lambda value: Event.local.between(value, value),
        Event.locals.contains,
        lambda value: Event.locals[0] < value,
    ],
)
def test_datetime_with_a_zone_is_not_compared_with_those_declared_without_one(make: Any) -> None:
    make(NAIVE)
    with pytest.raises(EncodeError, match="datetime without a time zone expected, got .*AwareDatetime"):
        make(AWARE)


def test_fields_of_any_value_compare_with_both() -> None:
    assert str(Event.anything == NAIVE) != str(Event.anything == AWARE)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Update(Event, "r", AWARE).set(Event.due, NAIVE),
        lambda: Update(Event, "r", AWARE).set(Event.due, Event.due.if_not_exists(NAIVE)),
        lambda: Update(Event, "r", AWARE).set(Event.local, AWARE),
        lambda: Update(Event, "r", AWARE).set(Event.locals, Event.locals.append([AWARE])),
        lambda: Update(Event, "r", AWARE).where(Event.made == NAIVE),
        lambda: Query(Event).where(Event.room == "r", Event.at > NAIVE),
        lambda: Update(Event, "r", NAIVE),
    ],
)
def test_updates_and_keys_refuse_the_other_form(make: Any) -> None:
    with pytest.raises(EncodeError, match=r"Event\.(due|local|locals|made|at)"):
        make()


NEW: list[Any] = [
    pytest.param({"made": NAIVE}, "made", id="plain"),
    pytest.param({"seen": NAIVE}, "seen", id="nullable, in an index"),
    pytest.param({"either": NAIVE}, "either", id="union"),
    pytest.param({"days": [AWARE, NAIVE]}, r"days\[1\]", id="list"),
    pytest.param({"marks": {NAIVE}}, "marks", id="set"),
    pytest.param({"counts": {NAIVE: 1}}, "counts", id="key of a dict"),
    pytest.param({"visit": Visit(at=NAIVE)}, "visit.at", id="nested"),
    pytest.param({"visit": Visit(at=AWARE, more=[Visit(at=NAIVE)])}, r"visit.more\[0\].at", id="deeper"),
]


@pytest.mark.parametrize(("values", "path"), NEW)
def test_a_new_datetime_without_a_zone_is_refused_on_every_write(values: dict[str, Any], path: str) -> None:
    refused = rf"^Event\.{path}: datetime with a time zone expected.*add tzinfo=UTC.*NaiveDatetime"
    item = Event(**{"room": "r", "at": AWARE, "made": AWARE, **values})
    for write in (Put, Create, Replace, Save, to_wire):
        with pytest.raises(EncodeError, match=refused):
            write(item)
    [name] = values
    with pytest.raises(EncodeError, match=refused):
        Update(Event, "r", AWARE).set(getattr(Event, name), values[name])


READ: dict[str, Any] = {
    "made": AWARE,
    "seen": AWARE,
    "either": AWARE,
    "days": [AWARE, AWARE],
    "marks": {AWARE},
    "counts": {AWARE: 1},
    "visit": Visit(at=AWARE, more=[Visit(at=AWARE)]),
}


def without_zones(name: str) -> Any:
    """Return a stored item that has times without a zone in one field."""
    item = to_wire(Event(**{"room": "r", "at": AWARE, "made": AWARE, name: READ[name]}))
    return {**item, name: json.loads(json.dumps(item[name]).replace('000Z"', '000"'))}


@pytest.mark.parametrize("name", READ)
def test_what_was_read_without_a_zone_may_be_written_as_it_is(name: str) -> None:
    stored = without_zones(name)
    [item] = definition_of(Event).items.decode([stored])
    for read in (item, item.model_copy(), pickle.loads(pickle.dumps(item))):
        assert to_wire(read) == stored
        for write in (Put, Replace):
            write(read)
        read.number = 7
        assert Save(read).request(Context()).body["ExpressionAttributeValues"] == {":v0": {"N": "7"}}


@pytest.mark.parametrize("name", ["made", "seen", "days"])
def test_beside_what_was_read_without_a_zone_new_values_have_one(name: str) -> None:
    [item] = definition_of(Event).items.decode([without_zones(name)])
    item.days = [*item.days, AWARE]
    later = NAIVE + timedelta(1)
    to_wire(item)
    for field, value in ((name, [*item.days, later] if name == "days" else later), ("locals", [AWARE]), ("due", NAIVE)):
        new = item.model_copy(update={field: value})
        for write in (Put, Save, Replace):
            with pytest.raises(EncodeError, match=f"Event.{field}"):
                write(new)
    with pytest.raises(EncodeError, match=r"Event\.either: datetime with a time zone expected"):
        Put(item.model_copy(update={"either": NAIVE}))  # of another field


def test_value_that_was_never_validated_is_not_stored_in_the_other_form() -> None:
    item = Event(room="r", at=AWARE, made=AWARE)
    item.due = NAIVE
    with pytest.raises(EncodeError, match="Event.due: datetime with a time zone expected"):
        definition_of(Event).items.encode(item)
    item.due, item.local = AWARE, AWARE
    with pytest.raises(EncodeError, match="Event.local: datetime without a time zone expected"):
        definition_of(Event).items.encode(item)
