"""Limits are read from DescribeTable: provisioned, or the maximum of an on-demand table."""

import pytest

from dynamap_async.executor.pacing.governor import described_limits


def units(read, write):
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


@pytest.mark.parametrize(
    ("table", "limits"),
    [
        ({"ProvisionedThroughput": units(10, 5)}, {(None, False): 10.0, (None, True): 5.0}),
        (
            {
                "ProvisionedThroughput": units(10, 5),
                "GlobalSecondaryIndexes": [{"IndexName": "i", "ProvisionedThroughput": units(2, 1)}],
                "LocalSecondaryIndexes": [{"IndexName": "l"}],
            },
            {(None, False): 10.0, (None, True): 5.0, ("i", False): 2.0, ("i", True): 1.0},
        ),
        (
            {
                "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
                "ProvisionedThroughput": units(0, 0),
            },
            {(None, False): None, (None, True): None},
        ),
        (
            {
                "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
                "OnDemandThroughput": {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 400},
            },
            {(None, False): None, (None, True): 400.0},
        ),
    ],
    ids=["provisioned", "with indexes", "on-demand", "on-demand with a maximum"],
)
def test_limits_are_those_that_the_table_has(table, limits):
    assert described_limits({"Table": table}) == limits
