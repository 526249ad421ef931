"""Samples of the items of tables that get new indexes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dynamap_async.errors import AccessDeniedError, ResourceNotFoundError
from dynamap_async.executor import Executor
from dynamap_async.models import Definition
from dynamap_async.schema import TableSchema
from dynamap_async.stored import StoredPages, TableScan, whole_item
from dynamap_async.tables.build_samples import BuildSample, BuildSamples
from dynamap_async.tables.table_plan import TablePlan
from dynamap_async.wire import Body


async def samples_of(
    executor: Executor,
    plan: TablePlan,
    schema: TableSchema,
    versions: Mapping[str, Collection[Definition[Any]]],
    pages: int,
) -> BuildSamples:
    """Return a sample of items for each index that a plan builds.

    Args:
        versions: full table name -> those of its models whose items have versions.
        pages: how many pages of items to look at, at least 1.
    """
    built = [step.index for step in plan.steps if step.table == schema.name and step.kind == "create-index"]
    own = versions[schema.name]
    samples = {(schema.name, each): BuildSample(schema, schema.index(each), own) for each in built if each}
    if not samples:
        return {}
    read = 0

    def is_enough(_: Body) -> bool:
        nonlocal read
        read += 1
        return read == pages

    scan = TableScan(schema.name, schema.keys.names)
    try:
        async with StoredPages(executor, scan, whole_item, is_enough=is_enough) as found:
            while await found.next_page():
                async for item in found:
                    for sample in samples.values():
                        sample.take((item,))
    except (AccessDeniedError, ResourceNotFoundError):
        return {}
    if found.is_complete:
        for sample in samples.values():
            sample.end()
    return samples
