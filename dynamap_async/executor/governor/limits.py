"""Limits: how many units a second a table and its global indexes have, as DescribeTable says. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from dynamap_async.config import Throughput
from dynamap_async.wire import Body

Limits: TypeAlias = Mapping[tuple[str | None, bool], float | None]
"""(global index, or None for the table; whether write units are meant) -> units a second; None for no limit."""


def described_limits(answer: Body) -> Limits:
    """Return the limits in an answer of DescribeTable, provisioned or as the maximum of an on-demand table.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: the answer is not of the form that DynamoDB documents.
    """
    table: Mapping[str, Any] = answer["Table"]
    billing: Mapping[str, Any] = table.get("BillingModeSummary") or {}
    on_demand = billing.get("BillingMode") == "PAY_PER_REQUEST"
    limits = _limits_of(None, table, on_demand=on_demand)
    for index in table.get("GlobalSecondaryIndexes") or ():
        limits |= _limits_of(index["IndexName"], index, on_demand=on_demand)
    return limits


def same_limits(throughput: Throughput, index: str | None) -> Limits:
    """Return the limits of a table or of a global index whose throughput is known."""
    return {(index, False): float(throughput.read), (index, True): float(throughput.write)}


def _limits_of(
    index: str | None, described: Mapping[str, Any], *, on_demand: bool
) -> dict[tuple[str | None, bool], float | None]:
    units: Mapping[str, Any] = described.get("OnDemandThroughput" if on_demand else "ProvisionedThroughput") or {}
    names = (
        ("MaxReadRequestUnits", "MaxWriteRequestUnits") if on_demand else ("ReadCapacityUnits", "WriteCapacityUnits")
    )
    # -1 stands for an on-demand table without a maximum; local engines give 0.
    return {
        (index, writes): limit if (limit := float(units.get(names[writes], 0))) > 0 else None
        for writes in (False, True)
    }
