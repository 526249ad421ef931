"""One table per period in operations: where writes and gets go, and what the tables are called."""

from datetime import UTC, datetime

import pytest

from dynamap_async import (
    Attr,
    Create,
    Delete,
    Find,
    Get,
    Model,
    PartitionKey,
    Put,
    Replace,
    Save,
    SortKey,
    TransactGet,
    TransactWrite,
    Update,
    Version,
    attr,
)
from dynamap_async.operations import Check
from dynamap_async.planning import Context, TableNames

NIGHT = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
CONTEXT = Context(tables=TableNames("dev-"))


class Reading(Model, table="readings_{at:day}"):
    device_id: PartitionKey[str]
    at: SortKey[datetime]
    value: Attr[float] = attr(default=0.0)
    version: Version[int] = attr(default=0)


@pytest.fixture
def reading():
    return Reading(device_id="d1", at=NIGHT)


@pytest.mark.parametrize("kind", [Put, Create, Save, Replace, Delete])
def test_a_write_of_an_item_goes_to_the_table_of_its_period(kind, reading):
    request = kind(reading).request(CONTEXT)
    assert (request.table, request.body["TableName"]) == ("dev-readings_2026-11-21",) * 2
    assert request.target.identity.startswith("dev-readings_2026-11-21\0")


@pytest.mark.parametrize(
    "operation",
    [
        Get(Reading, "d1", NIGHT),
        Find(Reading, "d1", NIGHT),
        Delete(Reading, "d1", NIGHT),
        Update(Reading, "d1", NIGHT).set(Reading.value, 2.0),
        Check(Reading, "d1", NIGHT, where=Reading.value > 1.0),
    ],
    ids=["get", "find", "delete", "update", "check"],
)
def test_what_is_asked_by_key_goes_to_the_table_of_the_keys_period(operation):
    request = operation.request(CONTEXT)
    assert (request.table, request.body["TableName"]) == ("dev-readings_2026-11-21",) * 2


def test_one_transaction_writes_to_tables_of_several_periods(reading):
    later = Reading(device_id="d1", at=NIGHT.replace(day=22))
    parts = TransactWrite([Put(reading), Put(later)]).request(CONTEXT).body["TransactItems"]
    assert [part["Put"]["TableName"] for part in parts] == ["dev-readings_2026-11-21", "dev-readings_2026-11-22"]


def test_one_transaction_reads_from_tables_of_several_periods():
    keys = [(Reading, "d1", NIGHT), (Reading, "d1", NIGHT.replace(day=22))]
    parts = TransactGet(*keys).request(CONTEXT).body["TransactItems"]
    assert [part["Get"]["TableName"] for part in parts] == ["dev-readings_2026-11-21", "dev-readings_2026-11-22"]
