"""The request that changes the throughput of a table that exists: only what differs, and nothing where nothing does."""

from typing import Any

import pytest

from dynamap_async import Throughput
from dynamap_async.tables.requests import read_description
from dynamap_async.tables.throughput_changes import throughput_request

LOW, HIGH = Throughput(read=5, write=1), Throughput(read=50, write=100)
ON_DEMAND = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}


def units(throughput: Throughput) -> dict[str, Any]:
    return {"ProvisionedThroughput": throughput.to_wire()}


def described(table: dict[str, Any], *indexes: dict[str, Any]) -> Any:
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}]
    projected = {"KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
    return read_description(
        {
            "Table": {
                "TableName": "readings",
                "KeySchema": keys,
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "TableStatus": "ACTIVE",
                "GlobalSecondaryIndexes": [
                    {"IndexName": f"by-{number}", **projected, **index} for number, index in enumerate(indexes)
                ],
                **table,
            }
        }
    )


@pytest.mark.parametrize(
    ("table", "wanted"),
    [(described(units(LOW)), LOW), (described(units(LOW), units(LOW)), LOW), (described(ON_DEMAND, {}), None)],
    ids=["table", "with an index", "on-demand"],
)
def test_nothing_is_asked_where_nothing_changes(table, wanted):
    assert throughput_request(table, wanted) is None


def test_a_table_and_those_of_its_indexes_that_differ_are_changed():
    request = throughput_request(described(units(HIGH), units(HIGH), units(LOW)), LOW)
    assert request.body == {
        "TableName": "readings",
        **units(LOW),
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-0", **units(LOW)}}],
    }
    assert (request.operation, request.table, request.writes, request.resendable) == (
        "UpdateTable",
        "readings",
        True,
        False,
    )


def test_an_index_alone_may_differ():
    request = throughput_request(described(units(LOW), units(HIGH)), LOW)
    assert "ProvisionedThroughput" not in request.body
    assert request.body["GlobalSecondaryIndexUpdates"] == [{"Update": {"IndexName": "by-0", **units(LOW)}}]


def test_an_on_demand_table_becomes_provisioned_with_all_its_indexes():
    request = throughput_request(described(ON_DEMAND, {}), LOW)
    assert request.body == {
        "TableName": "readings",
        "BillingMode": "PROVISIONED",
        **units(LOW),
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by-0", **units(LOW)}}],
    }


def test_a_provisioned_table_becomes_on_demand():
    request = throughput_request(described(units(LOW), units(LOW)), None)
    assert request.body == {"TableName": "readings", "BillingMode": "PAY_PER_REQUEST"}
