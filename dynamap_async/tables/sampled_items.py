"""Items of tables that get new indexes, read for the estimates of what building these takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import anyio.lowlevel

from dynamap_async.errors import AccessDeniedError, ResourceNotFoundError
from dynamap_async.executor import Executor
from dynamap_async.models import Definition
from dynamap_async.native import plain
from dynamap_async.request import Request
from dynamap_async.schema import TableSchema
from dynamap_async.tables.build_samples import BuildSample, BuildSamples
from dynamap_async.tables.table_plan import TablePlan
from dynamap_async.wire import WireItem

_ITEMS_AT_A_TIME: Final = 128
"""After so many items of a sample other tasks have their turn."""


async def samples_of(
    executor: Executor,
    plan: TablePlan,
    schema: TableSchema,
    versions: Mapping[str, Collection[Definition[Any]]],
    pages: int,
) -> BuildSamples:
    """Return what each index that a plan builds makes of the first items of its table.

    Args:
        executor: sends the requests.
        plan: the plan.
        schema: the table.
        versions: full table name -> those of its models whose items have versions.
        pages: how many pages of items to look at.
    """
    built = [step.index for step in plan.steps if step.table == schema.name and step.kind == "create-index"]
    own = versions[schema.name]
    samples = {(schema.name, each): BuildSample(schema, schema.index(each), own) for each in built if each}
    start: Any = None
    for _ in range(pages if samples else 0):
        body = {"TableName": schema.name} | ({} if start is None else {"ExclusiveStartKey": start})
        try:
            answer = await executor.send(Request(operation="Scan", body=body, table=schema.name))
        except (AccessDeniedError, ResourceNotFoundError):
            return {}
        items: list[WireItem] = [plain(item) for item in answer.get("Items") or ()]
        for first in range(0, len(items), _ITEMS_AT_A_TIME):
            for sample in samples.values():
                sample.take(items[first : first + _ITEMS_AT_A_TIME])
            await anyio.lowlevel.checkpoint()  # a page of small items takes long
        start = answer.get("LastEvaluatedKey") or None  # an empty one is the end as well
        if start is None:
            for sample in samples.values():
                sample.end()
            break
    return samples
