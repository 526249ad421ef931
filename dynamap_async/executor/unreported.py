"""What requests took whose answers do not say so, as far as it can be supposed. Pure.

The service carries out a request whose answer nobody waits for any more, or got lost, and takes its units. It takes
units for a write whose condition fails, and for a cancelled transaction, and reports neither.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    Outcome,
    ServiceError,
    TransactionCanceledError,
    TransportError,
)
from dynamap_async.executor.accounts import TableOperation, Tally
from dynamap_async.executor.calls import Call, FinishedExchange, Measure
from dynamap_async.executor.consumed import Spending, TableOrIndex, is_metered, least
from dynamap_async.request import Request, tables_of
from dynamap_async.units import read_half_units, write_half_units
from dynamap_async.wire import WireItem

_ALIKE: Final[Mapping[str, tuple[str, ...]]] = {
    "BatchGetItem": ("GetItem", "BatchGetItem"),
    "BatchWriteItem": ("PutItem", "DeleteItem", "BatchWriteItem"),
    "DeleteItem": ("DeleteItem", "BatchWriteItem"),
    "GetItem": ("GetItem", "BatchGetItem"),
    "PutItem": ("PutItem", "BatchWriteItem"),
}
"""Operations on items -> those whose items take about as much."""
_PAGES: Final = frozenset({"Query", "Scan", "ExecuteStatement"})
"""Operations that take units page by page."""
_NOTHING_TAKEN: Final = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError", "ValidationError"})
"""Reasons of a cancelled transaction for which the service has not begun to carry it out."""


def supposed(finished: FinishedExchange, counts: Mapping[TableOperation, Tally]) -> Iterator[tuple[Call, Spending]]:
    """Yield what was taken of each table for each of the requests of an exchange that ended in an error.

    Args:
        finished: the exchange.
        counts: what was counted until now, by operation and table.
    """
    error, measure = finished.error, finished.measure
    if error is None or not is_metered(finished.request):
        return
    for call in finished.carried:
        request = call.request
        if isinstance(error, ConditionalCheckFailedError):
            yield call, _failed_write(request, error.wire_item, measure)
        elif isinstance(error, TransactionCanceledError):
            yield from ((call, each) for each in _cancelled(request, error, measure))
        elif is_lost(error):
            yield from ((call, each) for each in _unknown(call, counts))


def is_lost(error: BaseException | None) -> bool:
    """Return whether a request ended without an answer, and may have been carried out."""
    if isinstance(error, TransportError):
        return error.outcome is not Outcome.NOT_SENT
    return error is not None and not isinstance(error, ServiceError)


def _failed_write(request: Request, stored: WireItem | None, measure: Measure) -> Spending:
    """Return what a write took whose condition failed: that of the larger item, and nothing of indexes."""
    written = request.target.size_bytes if request.target is not None else 0
    return Spending(TableOrIndex(request.table, None, True), write_half_units(written, _size(stored, measure)))


def _cancelled(request: Request, error: TransactionCanceledError, measure: Measure) -> Iterator[Spending]:
    """Yield what each action of a cancelled transaction took, of tables alone."""
    if not _NOTHING_TAKEN.isdisjoint(reason.code or "" for reason in error.reasons):
        return
    actions: list[dict[str, dict[str, Any]]] = request.body.get("TransactItems") or []
    reasons = error.reasons if len(error.reasons) == len(actions) else [None] * len(actions)
    targets = request.targets if len(request.targets) == len(actions) else [None] * len(actions)
    for action, reason, target in zip(actions, reasons, targets, strict=True):
        [part] = action.values()
        stored = _size(None if reason is None else reason.wire_item, measure)
        written = 0 if target is None else target.size_bytes
        halves = (
            write_half_units(written, stored, transactional=True)
            if request.writes
            else read_half_units(stored, transactional=True)
        )
        yield Spending(TableOrIndex(part["TableName"], None, request.writes), halves)


def _size(item: WireItem | None, measure: Measure) -> int:
    try:
        return 0 if item is None else measure(item)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return 0  # an item of no known form is its readers' error to report


def _unknown(call: Call, counts: Mapping[TableOperation, Tally]) -> Iterator[Spending]:
    """Yield what a request takes that was sent: as much as others on average, and not less than it must."""
    request, writes = call.request, call.request.writes
    tables = tables_of(request)
    fewest = max(least(request)) * call.parts
    for table in tables:
        halves = answered = 0
        for operation in _ALIKE.get(request.operation, (request.operation,)):
            tally = counts.get((operation, table))
            if tally is not None:
                halves += tally.halves[writes]
                answered += tally.reported_requests if operation in _PAGES else tally.items
        number = 1 if request.operation in _PAGES else max(call.parts, len(request.targets) // len(tables))
        average = round(halves / answered * number) if answered > 0 else 0
        if (taken := max(average, fewest // len(tables))) > 0:
            yield Spending(TableOrIndex(table, None, writes), taken)
