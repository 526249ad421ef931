"""Checks of indexes: the items of a table are read, page after page, and those counted that an index leaves out."""

from __future__ import annotations

from typing import Final

from dynamap_async.executor import Executor, reported_units
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.stored import StoredPages, TableScan
from dynamap_async.tables.index_reports import IndexReport, Unfit, unfit
from dynamap_async.wire import Body, WireItem, WireKey

_EXAMPLES: Final = 20


async def check_index(
    executor: Executor, table: TableSchema, index: IndexSchema, max_read_units: float | None
) -> IndexReport:
    """Return which items an index leaves out, or would.

    Args:
        index: the index, which the table need not have yet.
        max_read_units: how many read units to spend; the last page may exceed it. None for no bound.
    """
    read_units = 0.0
    left_out: dict[Unfit, int] = {}
    examples: dict[Unfit, list[WireKey]] = {}

    def is_enough(answer: Body) -> bool:
        nonlocal read_units
        read_units += reported_units(answer) or 0.0
        return max_read_units is not None and read_units >= max_read_units

    def look(item: WireItem) -> tuple[Unfit | None, WireItem]:
        return unfit(index, item), item

    others = index.keys.names
    scan = TableScan.of_keys(table.name, table.keys.names, others=others, ReturnConsumedCapacity="TOTAL")
    async with StoredPages(executor, scan, look, is_enough=is_enough) as pages:
        while await pages.next_page():
            async for reason, item in pages:
                if reason is not None:
                    left_out[reason] = left_out.get(reason, 0) + 1
                    if len(kept := examples.setdefault(reason, [])) < _EXAMPLES:
                        kept.append(table.keys.key_of(item))
    return IndexReport(
        table=table.name,
        index=index.name,
        items=pages.count,
        fits=pages.count - sum(left_out.values()),
        left_out=left_out,
        examples={why: tuple(keys) for why, keys in examples.items()},
        read_units=read_units,
        is_complete=pages.is_complete,
    )
