"""Waiting for a table: until it and its indexes can be used, or until the deadline, without haste."""

import asyncio
import random
from collections import Counter
from datetime import datetime

import anyio
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, TimeToLive, attr
from dynamap_async.errors import RequestRejectedError, ResourceInUseError, ResourceNotFoundError, TableWaitTimeoutError
from dynamap_async.executor import gather_all


class Note(Model, table="notes"):
    id: PartitionKey[str]
    group: Attr[str]
    by_group = GlobalIndex(partition_key="group")


class Fading(Model, table="fading"):
    id: PartitionKey[str]
    until: TimeToLive[datetime | None] = attr(default=None)


def described(status, index=None):
    table = {
        "TableName": "notes",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "TableStatus": status,
    }
    if index is not None:
        found = {"IndexName": "by_group", "KeySchema": table["KeySchema"], "Projection": {"ProjectionType": "ALL"}}
        table["GlobalSecondaryIndexes"] = [found | {"IndexStatus": index}]
    return {"Table": table}


def refused(kind, code="X"):
    return kind("refused", service_code=code, operation="DescribeTable", table="notes", status=400)


def operations(transport):
    return [request.operation for request in transport.requests]


async def test_creating_waits_for_the_table_and_its_indexes(transport, open_session, no_jitter):
    transport.script(
        {},
        refused(ResourceNotFoundError),
        described("CREATING"),
        described("ACTIVE", "CREATING"),
        described("ACTIVE", "ACTIVE"),
    )
    async with open_session() as session:
        await session.tables.create(Note)
    assert operations(transport) == ["CreateTable", *["DescribeTable"] * 4]
    assert transport.waits == [0, 0.02, 0.04, 0.08]


@pytest.mark.parametrize(("status", "looks"), [("CREATING", 1), ("ACTIVE", 0)])
async def test_a_table_that_is_active_at_once_is_not_waited_for(transport, open_session, status, looks):
    transport.script({"TableDescription": described(status)["Table"]}, described("ACTIVE"))
    async with open_session() as session:
        await session.tables.create(Note)
    assert operations(transport) == ["CreateTable", *["DescribeTable"] * looks]


async def test_the_pauses_between_looks_grow_to_five_seconds(transport, open_session, no_jitter):
    transport.script({}, *[described("CREATING")] * 12, described("ACTIVE"))
    async with open_session() as session:
        await session.tables.create(Note)
    assert max(transport.waits) == 5
    assert transport.waits == sorted(transport.waits)


async def test_the_pauses_between_looks_are_drawn_from_half_of_them_to_all_of_them(transport, open_session):
    random.seed(7)
    transport.script({}, *[described("CREATING")] * 12, described("ACTIVE"))
    async with open_session() as session:
        await session.tables.create(Note)
    longest = [min(0.02 * 2**n, 5.0) for n in range(12)]
    drawn = [wait / most for wait, most in zip(transport.waits[1:], longest, strict=True)]
    assert all(0.5 <= each <= 1 for each in drawn), drawn
    assert max(drawn) - min(drawn) > 0.1


async def test_many_processes_that_wait_for_one_table_do_not_ask_together(transport, open_session):
    random.seed(7)
    transport.otherwise = described("CREATING")

    async def boot():
        async with open_session() as session:
            with pytest.raises(TableWaitTimeoutError):
                await session.tables.create(Note, if_missing=True, timeout_seconds=60)

    await gather_all([boot() for _ in range(100)])
    late = [at for at in transport.times if at >= transport.times[0] + 30]
    at_once = Counter(int(at * 10) for at in late)  # in each tenth of a second
    assert len(late) > 600
    assert max(at_once.values()) < 20


async def test_creating_gives_up_at_its_deadline(transport, open_session):
    transport.script({})
    transport.otherwise = described("CREATING")
    async with open_session() as session:
        begun = asyncio.get_running_loop().time()
        with pytest.raises(TableWaitTimeoutError, match="notes was not active.*within 30 s.*CREATING") as caught:
            await session.tables.create(Note, timeout_seconds=30)
        assert asyncio.get_running_loop().time() - begun == pytest.approx(30)
    assert (caught.value.table, caught.value.status, caught.value.timeout_seconds) == ("notes", "CREATING", 30)


async def test_an_answer_that_does_not_come_is_not_waited_for_past_the_deadline(transport, open_session):
    transport.script({})
    transport.otherwise = described("ACTIVE")
    async with open_session() as session:
        transport.latency = 20
        with pytest.raises(TableWaitTimeoutError, match="last status: None"):
            await session.tables.create(Note, timeout_seconds=10)
    assert transport.under_way == 0


async def test_the_callers_own_deadline_is_its_own_error(transport, open_session):
    transport.script({})
    transport.otherwise = described("CREATING")
    async with open_session() as session:
        with pytest.raises(TimeoutError) as caught, anyio.fail_after(3):
            await session.tables.create(Note)
    assert not isinstance(caught.value, TableWaitTimeoutError)


async def test_without_waiting_nothing_is_looked_at(transport, open_session):
    transport.script({})
    async with open_session() as session:
        await session.tables.create(Note, wait=False)
    assert operations(transport) == ["CreateTable"]


async def test_time_to_live_is_turned_on_once_the_table_is_active(transport, open_session):
    transport.script({}, described("CREATING"), described("ACTIVE"), {})
    async with open_session(table_prefix="dev-") as session:
        await session.tables.create(Fading)
    assert operations(transport) == ["CreateTable", "DescribeTable", "DescribeTable", "UpdateTimeToLive"]
    assert transport.requests[-1].body == {
        "TableName": "dev-fading",
        "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"},
    }


async def test_every_table_is_asked_for_before_any_is_waited_for(transport, open_session):
    transport.script({}, {}, described("ACTIVE"), described("ACTIVE"), {})
    async with open_session() as session:
        await session.tables.create(Note, Fading)
    assert operations(transport)[:2] == ["CreateTable", "CreateTable"]


async def test_a_table_that_exists_is_not_waited_for(transport, open_session):
    transport.script(refused(ResourceInUseError))
    async with open_session() as session:
        with pytest.raises(ResourceInUseError):
            await session.tables.create(Note)
    assert operations(transport) == ["CreateTable"]


async def test_deleting_waits_until_the_table_is_gone(transport, open_session):
    transport.script({}, described("DELETING"), described("DELETING"), refused(ResourceNotFoundError))
    async with open_session() as session:
        await session.tables.delete(Note)
    assert operations(transport) == ["DeleteTable", *["DescribeTable"] * 3]


async def test_deleting_gives_up_at_its_deadline(transport, open_session):
    transport.script({})
    transport.otherwise = described("DELETING")
    async with open_session() as session:
        with pytest.raises(TableWaitTimeoutError, match="was not gone within 7 s") as caught:
            await session.tables.delete(Note, timeout_seconds=7)
    assert caught.value.status == "DELETING"


async def test_deleting_without_waiting_looks_at_nothing(transport, open_session):
    transport.script({})
    async with open_session() as session:
        await session.tables.delete(Note, wait=False)
    assert operations(transport) == ["DeleteTable"]


async def test_an_engine_without_time_to_live_is_described_all_the_same(transport, open_session):
    transport.script(described("ACTIVE"), refused(RequestRejectedError, "UnknownOperationException"))
    async with open_session() as session:
        assert (await session.tables.describe(Note)).ttl_status is None


async def test_a_description_that_is_refused_is_an_error(transport, open_session):
    transport.script(described("ACTIVE"), refused(RequestRejectedError, "ValidationException"))
    async with open_session() as session:
        with pytest.raises(RequestRejectedError):
            await session.tables.describe(Note)
