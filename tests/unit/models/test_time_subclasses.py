"""Times of subclasses of datetime and date, as freezegun and pendulum have them: each is stored as that of its base."""

from datetime import UTC, date, datetime, time, timedelta
from datetime import timezone as fixed

import freezegun
import pendulum
import pytest
from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from dynamap_async import (
    EPOCH_MILLISECONDS,
    EPOCH_SECONDS,
    Attr,
    Model,
    PartitionKey,
    SortKey,
    TimeToLive,
    attr,
    template,
    time_text,
)
from dynamap_async.models import definition_of


class OwnTime(datetime):
    """A subclass that does everything in a way of its own, and tells Pydantic how it is read."""

    def isoformat(self, sep="T", timespec="auto"):
        return "soon"

    def astimezone(self, tz=None):
        raise NotImplementedError

    def __sub__(self, other):
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type, handler: GetCoreSchemaHandler):
        made = core_schema.no_info_plain_validator_function(cls.read)
        return core_schema.json_or_python_schema(
            made, made, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def read(cls, value):
        value = datetime.fromisoformat(value) if isinstance(value, str) else value
        return cls(*value.timetuple()[:6], value.microsecond, value.tzinfo)


class OwnDay(date):
    def isoformat(self):
        return "today"


class Visit(Model, table="visits"):
    place: PartitionKey[str]
    at: SortKey[datetime] = attr(default=datetime(2020, 1, 1, tzinfo=UTC))
    key: Attr[str | None] = template("{hour:hour}#{day}")
    hour: Attr[datetime | None] = attr(default=None)
    day: Attr[date | None] = attr(default=None)
    clock: Attr[time | None] = attr(default=None)
    lasts: Attr[timedelta | None] = attr(default=None)
    anything: Attr[object] = attr(default=None)
    by_time: Attr[dict[datetime, int]] = attr(default_factory=dict)
    by_day: Attr[dict[date, int]] = attr(default_factory=dict)
    times: Attr[list[datetime]] = attr(default_factory=list)
    days: Attr[set[date]] = attr(default_factory=set)
    either: Attr[datetime | int | None] = attr(default=None)
    seconds: Attr[datetime | None] = attr(default=None, stored_as=EPOCH_SECONDS)
    milliseconds: Attr[datetime | None] = attr(default=None, stored_as=EPOCH_MILLISECONDS)
    text: Attr[datetime | None] = attr(default=None, stored_as=time_text("%Y-%m-%dT%H:%M:%S"))
    day_text: Attr[date | None] = attr(default=None, stored_as=time_text("%Y/%m/%d"))
    ends: TimeToLive[datetime | None] = attr(default=None)


NOON = datetime(2020, 1, 2, 12, 30, 15, 250_000, tzinfo=UTC)
IN_PARIS = NOON.astimezone(fixed(timedelta(hours=1)))


def frozen_time():
    return datetime.now(UTC)  # freezegun has put a class of its own in the place of the name


KINDS = {
    "base": lambda: (NOON, NOON.date(), NOON.time(), timedelta(days=31, microseconds=5)),
    "freezegun": lambda: (
        frozen_time(),
        frozen_time().date(),
        frozen_time().time(),
        timedelta(days=31, microseconds=5),
    ),
    "pendulum": lambda: (
        pendulum.instance(NOON).in_timezone("Europe/Paris"),
        pendulum.instance(NOON).date(),
        pendulum.instance(NOON).time(),
        pendulum.duration(days=1, months=1, microseconds=5),
    ),
    "of one's own": lambda: (
        OwnTime(*NOON.timetuple()[:6], NOON.microsecond, UTC),
        OwnDay(2020, 1, 2),
        NOON.time(),
        timedelta(days=31, microseconds=5),
    ),
    "in another zone": lambda: (IN_PARIS, NOON.date(), NOON.time(), timedelta(days=31, microseconds=5)),
}


def values_of(at, day, clock, lasts):
    return {
        "at": at,
        "hour": at,
        "day": day,
        "clock": clock,
        "lasts": lasts,
        "anything": {"times": [at, day]},
        "by_time": {at: 1},
        "by_day": {day: 1},
        "times": [at],
        "days": {day},
        "either": at,
        "seconds": at,
        "milliseconds": at,
        "text": at,
        "day_text": day,
        "ends": at,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_of_a_subclass_is_stored_and_read_as_one_of_its_base(kind):
    items = definition_of(Visit).items
    expected = items.encode(Visit(place="a", **values_of(*KINDS["base"]())))
    with freezegun.freeze_time(NOON):
        visit = Visit(place="a", **values_of(*KINDS[kind]()))
        assert items.encode(visit) == expected
        assert items.encoded(visit)[1] == items.encoded(items.decode([expected])[0])[1]
        [read] = items.decode([expected])
        assert items.encode(read) == expected
    assert read == items.decode([expected])[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", ["at", "day", "clock", "lasts", "by_time", "times", "seconds", "text", "ends"])
def test_a_time_of_a_subclass_is_compared_as_one_of_its_base(kind, field):
    expected = getattr(Visit, field) == values_of(*KINDS["base"]())[field]
    with freezegun.freeze_time(NOON):
        assert str(getattr(Visit, field) == values_of(*KINDS[kind]())[field]) == str(expected)


def test_dates_that_are_written_by_a_pattern_are_read_while_the_clock_is_stopped():
    items = definition_of(Visit).items
    stored = items.encode(Visit(place="a", day_text=date(2020, 1, 2)))
    with freezegun.freeze_time(NOON):
        assert items.decode([stored])[0].day_text == date(2020, 1, 2)


class Log(Model, table="logs"):
    place: PartitionKey[str]
    at: SortKey[OwnTime]


def test_a_field_of_a_subclass_that_pydantic_knows_is_stored_as_its_base():
    items = definition_of(Log).items
    log = Log(place="a", at=NOON)
    stored = items.encode(log)
    assert stored["at"] == {"S": "2020-01-02T12:30:15.250000Z"}
    [read] = items.decode([stored])
    assert (type(read.at), read) == (OwnTime, log)
    assert str(Log.at > NOON) == str(Visit.at > NOON).replace("Visit", "Log")
