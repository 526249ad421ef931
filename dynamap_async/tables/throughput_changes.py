"""Provisioned throughput of tables and their indexes, changed by itself and at once, beside what models declare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynamap_async.executor import Executor
from dynamap_async.request import Request
from dynamap_async.schema import Throughput
from dynamap_async.tables.descriptions import Descriptions
from dynamap_async.tables.requests import TableDescription, description_of


async def update_throughput(
    executor: Executor, names: Sequence[str], throughput: Throughput | None, timeout_seconds: float | None
) -> None:
    """Set the throughput of tables and of their global indexes; nothing is sent where they have it.

    Args:
        names: the full names of the tables.
        throughput: the provisioned capacity; None makes the tables on-demand.
        timeout_seconds: how long to wait for each of them; None to wait for none.

    Raises:
        TableWaitTimeoutError: a table was not changed in time.
    """
    descriptions, answered = Descriptions(executor), dict[str, TableDescription | None]()
    for name in names:
        request = throughput_request(await descriptions.get(name), throughput)
        if request is not None:
            table = (await executor.send(request)).get("TableDescription")
            answered[name] = None if table is None else description_of(request, {"Table": table})

    async def has_it(found: TableDescription | None) -> bool:
        # For a moment after a change, descriptions still say ACTIVE, with what was before.
        return found is not None and found.is_active and _has_throughput(found, throughput, answered[found.schema.name])

    if timeout_seconds is not None:
        for name in answered:
            await descriptions.until(name, has_it, what="changed", timeout_seconds=timeout_seconds)


def throughput_request(table: TableDescription, throughput: Throughput | None) -> Request | None:
    """Return the UpdateTable request that gives a table and each of its global indexes a throughput.

    Args:
        table: the table as it is; UpdateTable refuses what would change nothing.
        throughput: the provisioned capacity; None makes the table on-demand.

    Returns:
        None where nothing changes.
    """
    name, old = table.schema.name, table.schema.throughput
    body: dict[str, Any] = {"TableName": name}
    if throughput is None:
        if table.billing == "on-demand":
            return None
        body["BillingMode"] = "PAY_PER_REQUEST"
    else:
        if table.billing == "on-demand":
            old = None
            body["BillingMode"] = "PROVISIONED"
        if old != throughput:
            body["ProvisionedThroughput"] = throughput.to_wire()
        own = [each for each in table.schema.indexes if each.kind.has_throughput]
        late = [each.name for each in own if old is None or each.throughput != throughput]
        if late:
            update = {"ProvisionedThroughput": throughput.to_wire()}
            body["GlobalSecondaryIndexUpdates"] = [{"Update": {"IndexName": index, **update}} for index in late]
        if len(body) == 1:
            return None
    return Request(operation="UpdateTable", body=body, table=name, writes=True, resendable=False)


def _has_throughput(table: TableDescription, throughput: Throughput | None, answered: TableDescription | None) -> bool:
    """Return whether a table has a throughput, as far as DynamoDB has said that it gives it.

    Args:
        table: the table as it is.
        throughput: the provisioned capacity; None for on-demand.
        answered: the table as UpdateTable's answer describes it, if it does. An index that is ACTIVE there is not being
            changed: an engine that leaves indexes as they are would be waited for without end.
    """
    rest = throughput_request(table, throughput)
    if rest is None:
        return True
    late = {each["Update"]["IndexName"] for each in rest.body.get("GlobalSecondaryIndexUpdates", ())}
    left = {name for name in late if answered is not None and answered.index_is_ready(name)}
    return rest.body.keys().isdisjoint(("BillingMode", "ProvisionedThroughput")) and late == left
