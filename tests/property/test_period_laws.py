"""One table per period: the periods of a range leave no gap and repeat nothing, and reads equal a plain filter."""

import asyncio
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynamap_async import Model, PartitionKey, Session, SortKey
from dynamap_async.errors import ResourceNotFoundError
from dynamap_async.models import definition_of


class ByYear(Model, table="by-year-{at:year}"):
    at: PartitionKey[datetime]


class ByMonth(Model, table="by-month-{at:month}"):
    at: PartitionKey[datetime]


class ByDay(Model, table="by-day-{at:day}"):
    at: PartitionKey[datetime]


class ByHour(Model, table="by-hour-{at:hour}"):
    at: PartitionKey[datetime]


class Daily(Model, table="daily-{day}"):
    day: PartitionKey[date]


class Monthly(Model, table="monthly-{day:month}"):
    day: PartitionKey[date]


class Numbered(Model, table="numbered-{number}"):
    number: PartitionKey[int]


class Item(Model, table="items-{at:hour}"):
    owner: PartitionKey[str]
    at: SortKey[datetime]


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PERIODS = {model.__name__: definition_of(model).periods for model in (ByYear, ByMonth, ByDay, ByHour)}
REACH = {"ByYear": timedelta(days=9000), "ByMonth": timedelta(days=900), "ByDay": timedelta(9), "ByHour": timedelta(1)}
HOURS = 24 * 365 * 1900
moments = st.builds(
    lambda hours, seconds: EPOCH + timedelta(hours=hours, seconds=seconds),
    st.integers(-HOURS, 4 * HOURS),
    st.one_of(st.just(0.0), st.floats(0, 3600)),
)


def covered(periods, low, high, **inclusive):
    return [periods.numbered(number) for number in periods.numbers(low, high, **inclusive)]


@given(st.sampled_from(sorted(PERIODS)), moments, st.floats(0, 1), st.lists(st.floats(0, 1), max_size=20))
@settings(max_examples=100)
def test_every_moment_of_a_range_lies_in_one_of_its_periods(name, low, share, shares):
    periods, length = PERIODS[name], REACH[name] * share
    names = covered(periods, low, low + length)
    assert len(names) == len(set(names))
    assert (names[0], names[-1]) == (periods.name(low), periods.name(low + length))
    assert {periods.name(low + length * each) for each in shares} <= set(names)


@given(st.sampled_from(sorted(PERIODS)), moments, st.floats(0, 1))
@settings(max_examples=100)
def test_periods_follow_one_another_without_a_gap(name, low, share):
    periods = PERIODS[name]
    numbers = periods.numbers(low, low + REACH[name] * share)
    for number in numbers:
        first, following = periods.calendar.value(number), periods.calendar.value(number + 1)
        assert periods.name(first) == periods.name(following - timedelta(microseconds=1)) != periods.name(following)


@given(st.sampled_from(sorted(PERIODS)), moments, st.booleans(), st.booleans())
@settings(max_examples=100)
def test_an_end_that_is_left_out_takes_its_period_along_only_if_nothing_else_is_in_it(name, start, low, high):
    periods = PERIODS[name]
    number = periods.calendar.number(start)
    first, following = periods.calendar.value(number), periods.calendar.value(number + 1)
    names = covered(periods, first, following, low_inclusive=low, high_inclusive=high)
    assert names == [periods.name(first), *([periods.name(following)] if high else [])]


@given(st.dates(date(1, 1, 1), date(9990, 1, 1)), st.integers(0, 400), st.booleans(), st.booleans())
def test_dates_lie_in_the_periods_of_their_range(low, days, from_low, to_high):
    all_days = [low + timedelta(days=number) for number in range(0 if from_low else 1, days + 1 if to_high else days)]
    for model in (Daily, Monthly):
        periods = definition_of(model).periods
        names = covered(periods, low, low + timedelta(days=days), low_inclusive=from_low, high_inclusive=to_high)
        assert names == list(dict.fromkeys(map(periods.name, all_days)))


@given(st.integers(-99, 99), st.integers(-9, 99), st.booleans(), st.booleans())
def test_a_number_is_a_period_of_its_own(low, length, from_low, to_high):
    periods = definition_of(Numbered).periods
    wanted = range(low if from_low else low + 1, low + length + (1 if to_high else 0))
    names = covered(periods, low, low + length, low_inclusive=from_low, high_inclusive=to_high)
    assert names == [f"numbered-{number}" for number in wanted]


class Tables:
    """Answers queries of one table per hour, as far as the hours of its items and of ``empty`` go."""

    max_connections = 64

    def __init__(self, items, *, page, missing=frozenset()):
        self.items = items
        self.page = page
        self.missing = missing
        self.requests = []

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        body, definition = request.body, definition_of(Item)
        if request.table in self.missing:
            raise ResourceNotFoundError(
                "there is no such table",
                service_code="ResourceNotFoundException",
                operation=request.operation,
                table=request.table,
                status=400,
            )
        values = body["ExpressionAttributeValues"]
        key_condition = re.fullmatch(r"\S+ = :v0 AND \S+ BETWEEN (:v1) AND (:v\d)", body["KeyConditionExpression"])
        low, high = (values[name]["S"] for name in key_condition.groups())
        found = [
            definition.items.encode(item) for item in self.items if definition.periods.name(item.at) == request.table
        ]
        found = [each for each in found if each["owner"] == values[":v0"] and low <= each["at"]["S"] <= high]
        forward = body.get("ScanIndexForward", True)
        found.sort(key=lambda each: each["at"]["S"], reverse=not forward)
        if (start := body.get("ExclusiveStartKey")) is not None:
            after = start["at"]["S"]
            found = [each for each in found if (each["at"]["S"] > after if forward else each["at"]["S"] < after)]
        page = found[: min(self.page, body.get("Limit", self.page))]
        answer: dict[str, Any] = {"Count": len(page), "ScannedCount": len(page)}
        if body.get("Select") != "COUNT":
            answer["Items"] = page
        if len(page) < len(found) or (page and len(page) % 2):
            answer["LastEvaluatedKey"] = {name: page[-1][name] for name in ("owner", "at")}
        return answer


quarters = st.integers(0, 40)
ITEMS = [Item(owner=owner, at=EPOCH + timedelta(minutes=15 * number)) for owner in "ab" for number in range(41)]
stored = st.lists(st.sampled_from(ITEMS), max_size=40, unique_by=lambda item: (item.owner, item.at))


def run(tables, use):
    async def main():
        async with Session(transport=tables) as session:
            return await use(session)

    return asyncio.run(main())


@given(
    stored,
    quarters,
    quarters,
    st.booleans(),
    st.integers(1, 9),
    st.integers(1, 12),
    st.sets(st.integers(0, 10), max_size=3),
)
@settings(max_examples=100)
def test_what_is_read_from_several_tables_is_what_a_plain_filter_gives(items, low, high, descending, page, size, gone):
    assume(low <= high)
    start, end = (EPOCH + timedelta(minutes=15 * number) for number in (low, high))
    missing = {definition_of(Item).periods.name(EPOCH + timedelta(hours=hour)) for hour in gone}
    kept = [item for item in items if definition_of(Item).periods.name(item.at) not in missing]
    want = sorted((item for item in kept if item.owner == "a" and start <= item.at <= end), key=lambda item: item.at)
    want = want[::-1] if descending else want

    def query(session):
        asked = session.query(Item).where(Item.owner == "a", Item.at.between(start, end)).skip_missing_tables()
        return asked.descending() if descending else asked

    async def use(session):
        found, cursor = [], None
        while True:
            read = await query(session).page(size=size, after=cursor)
            found, cursor = found + read.items, read.cursor
            if cursor is None:
                break
        streamed = [item async for item in query(session).limit(size)]
        return await query(session), found, streamed, await query(session).count(), await query(session).first()

    everything, by_pages, limited, count, first = run(Tables(items, page=page, missing=missing), use)
    assert everything == by_pages == want
    assert limited == want[:size]
    assert (count, first) == (len(want), want[0] if want else None)


@pytest.mark.parametrize(("limit", "requests"), [(3, 1), (4, 1), (5, 2), (None, 11)])
def test_a_limit_asks_no_more_tables_than_it_takes(limit, requests):
    items = [Item(owner="a", at=EPOCH + timedelta(minutes=15 * number)) for number in range(41)]
    tables = Tables(items, page=100)

    async def use(session):
        query = session.query(Item).where(Item.owner == "a", Item.at.between(EPOCH, EPOCH + timedelta(hours=10)))
        return await (query if limit is None else query.limit(limit))

    assert run(tables, use) == items[:limit]
    assert len({request.table for request in tables.requests}) == requests
