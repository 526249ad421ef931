"""One table per period, read in turn or at the same time: what is asked, waited for, given up and asked again."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import ResourceNotFoundError, ThrottledError
from dynamap_async.models import definition_of

START = datetime(2026, 11, 1, tzinfo=UTC)
END = START + timedelta(days=4, hours=23)


class Reading(Model, table="readings_{at:day}"):
    device: PartitionKey[str]
    at: SortKey[datetime]
    place: Attr[str] = attr(default="lab")
    value: Attr[int] = attr(default=0)

    by_place = GlobalIndex(partition_key="place", sort_key="at", projection=KEYS_ONLY)


READINGS = [Reading(device="d", at=START + timedelta(hours=6 * number), value=number) for number in range(20)]


class Tables:
    """Answers queries and batch gets of the tables of five days."""

    def __init__(self, *, page=3, missing=(), gone=()):
        self.page, self.missing, self.gone = page, missing, gone
        self.asked = []

    def __call__(self, request):
        if request.operation in ("GetItem", "BatchGetItem"):
            return self.got(request)
        body, number = request.body, int(request.table[-2:])
        self.asked.append(number)
        if number in self.missing:
            return missing(request)
        found = [each for each in READINGS if each.at.day == number]
        found = found if body.get("ScanIndexForward", True) else found[::-1]
        if "ExclusiveStartKey" in body:
            after = [wire(each)["at"] for each in found].index(body["ExclusiveStartKey"]["at"])
            found = found[after + 1 :]
        page = found[: min(self.page, body.get("Limit", self.page))]
        answer = {"Items": [wire(each) for each in page], "Count": len(page), "ScannedCount": len(page)}
        if len(page) < len(found):
            answer["LastEvaluatedKey"] = {name: wire(page[-1])[name] for name in ("device", "at", "place")}
            if request.index is None:
                del answer["LastEvaluatedKey"]["place"]
        return answer

    def got(self, request):
        body = request.body
        tables = body.get("RequestItems") or {body["TableName"]: {"Keys": [body["Key"]]}}
        found = {
            table: [
                wire(each)
                for each in READINGS
                if each.value not in self.gone
                and {"device": wire(each)["device"], "at": wire(each)["at"]} in asked["Keys"]
            ]
            for table, asked in tables.items()
        }
        if "RequestItems" in body:
            return {"Responses": found, "UnprocessedKeys": {}}
        [items] = found.values()
        return {"Item": items[0]} if items else {}


def wire(item):
    return definition_of(Reading).items.encode(item)


def missing(request):
    return ResourceNotFoundError(
        "there is no such table",
        service_code="ResourceNotFoundException",
        operation=request.operation,
        table=request.table,
        status=400,
    )


def query(session):
    return session.query(Reading).where(Reading.device == "d", Reading.at.between(START, END))


async def test_with_a_limit_each_table_waits_for_its_turn(transport, open_session):
    transport.otherwise, transport.latency = Tables(), 1.0
    async with open_session() as session:
        assert await query(session).limit(6) == READINGS[:6]
        assert set(transport.otherwise.asked) == {1, 2}
        assert await query(session).descending().first() == READINGS[-1]
        assert set(transport.otherwise.asked) == {1, 2, 5}
    assert transport.most_under_way == 1


async def test_without_a_limit_all_tables_are_read_at_the_same_time(transport, open_session):
    transport.otherwise, transport.latency = Tables(page=9), 1.0
    async with open_session() as session:
        assert await query(session) == READINGS
    assert transport.most_under_way == 5


async def test_a_missing_table_is_passed_over_in_its_turn(transport, open_session):
    transport.otherwise = Tables(missing=(1, 3))
    async with open_session() as session:
        found = await query(session).skip_missing_tables().limit(6)
        with pytest.raises(ResourceNotFoundError, match="there is no such table"):
            await query(session).limit(1)
    assert found == [*READINGS[4:8], *READINGS[12:14]]


async def test_a_failed_turn_is_asked_again_and_loses_nothing(transport, open_session):
    answers, failures = Tables(), iter([False, False, True])

    def sometimes(request):
        if next(failures, False):
            return ThrottledError(
                "slower", service_code="ThrottlingException", operation="Query", table=request.table, status=400
            )
        return answers(request)

    transport.otherwise = sometimes
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
        stream = query(session).limit(10).stream()
        found = []
        for _ in range(11):
            try:
                found.append(await anext(stream))
            except ThrottledError:
                continue
            except StopAsyncIteration:
                break
    assert found == READINGS[:10]


async def test_leaving_early_leaves_nothing_under_way(transport, open_session):
    transport.otherwise, transport.latency = Tables(), 1.0
    async with open_session() as session:
        async with query(session).limit(15).stream() as readings:
            assert await anext(readings) == READINGS[0]
        asked = len(transport.otherwise.asked)
        await asyncio.sleep(100)
        assert len(transport.otherwise.asked) == asked


async def test_for_items_that_are_gone_others_are_taken_from_later_tables(transport, open_session):
    transport.otherwise = Tables(gone=(1, 2, 3, 6))
    async with open_session() as session:
        asked = session.query(Reading).where(Reading.place == "lab", Reading.at.between(START, END)).limit(4)
        assert asked.explain().in_turn
        found = await asked
        everything = await asked.limit(18)
    assert [reading.value for reading in found] == [0, 4, 5, 7]
    assert [reading.value for reading in everything] == [0, 4, 5, *range(7, 20)]
