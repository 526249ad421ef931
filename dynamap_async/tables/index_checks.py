"""Checks of indexes: the items of a table are read, page after page, and those counted that an index leaves out."""

from __future__ import annotations

from typing import Final

from dynamap_async.executor import Executor, reported_units
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.tables.index_reports import IndexReport, Unfit, unfit
from dynamap_async.tables.requests import key_scan_request
from dynamap_async.transport import UNREADABLE, unreadable
from dynamap_async.turns import WorkPace
from dynamap_async.wire import WireKey

_EXAMPLES: Final = 20


async def check_index(
    executor: Executor, table: TableSchema, index: IndexSchema, max_read_units: float | None
) -> IndexReport:
    """Return which items an index leaves out, or would.

    Args:
        executor: sends the requests.
        table: the table, by its full name.
        index: the index, which the table need not have yet.
        max_read_units: how many read units to spend; the last page may exceed it. None for no bound.
    """
    items, read_units = 0, 0.0
    start: WireKey | None = None
    left_out: dict[Unfit, int] = {}
    examples: dict[Unfit, list[WireKey]] = {}
    pace = WorkPace(1)
    while True:
        request = key_scan_request(table, start, others=index.keys.names, ReturnConsumedCapacity="TOTAL")
        answer = await executor.send(request)
        pace.begin()
        for item in answer["Items"]:
            items += 1
            try:
                reason = unfit(index, item)
            except UNREADABLE as error:
                unreadable(error, request, (item,))
            if reason is not None:
                left_out[reason] = left_out.get(reason, 0) + 1
                if len(kept := examples.setdefault(reason, [])) < _EXAMPLES:
                    kept.append(table.keys.key_of(item))
            if pace.is_over(1):  # a page of small items takes long
                await pace.pause()
        read_units += reported_units(answer) or 0.0
        start = answer.get("LastEvaluatedKey") or None  # an empty one is the end as well
        if start is None or (max_read_units is not None and read_units >= max_read_units):
            return IndexReport(
                table=table.name,
                index=index.name,
                items=items,
                fits=items - sum(left_out.values()),
                left_out=left_out,
                examples={why: tuple(keys) for why, keys in examples.items()},
                read_units=read_units,
                is_complete=start is None,
            )
