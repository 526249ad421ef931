"""Refusals: what the end of an exchange says of the capacity that was short, and of units that were not spent. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    InternalServerError,
    Outcome,
    ServiceError,
    ThrottledError,
    TransactionCanceledError,
    TransportError,
)
from dynamap_async.executor.governor.heat import Partition, partition_of
from dynamap_async.executor.governor.places import Place
from dynamap_async.executor.sending import Sending
from dynamap_async.executor.settling import Settlement
from dynamap_async.request import Request, tables_of

_REASON: Final = re.compile(r"(?:Table|Index)(Read|Write)\w+(?: \S*:table/([^/\s]+)(?:/index/([^/\s]+))?)?")
_SHORT: Final = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError"})
"""What stands in the reasons of a cancelled transaction for an action that found no capacity."""


@dataclass(slots=True)
class Verdict:
    """What became of what an exchange carried."""

    spent: Sequence[Sending] = ()
    """What was carried out, or may have been: it took units."""
    returned: Sequence[Sending] = ()
    """What took no units."""
    refused: Sequence[Sending] = ()
    """What took no units because there were none."""
    short: list[Place] = field(default_factory=list[Place])
    """Where there were none."""
    hot: Partition | None = None
    """The partition that had none, where its table may have had some."""


def verdict_of(settlement: Settlement) -> Verdict:
    """Return what became of what an exchange carried."""
    carried, error = settlement.carried, settlement.error
    if error is None:
        return _answered(settlement)
    if isinstance(error, ThrottledError):
        partition = partition_of(settlement.request)
        if partition is not None and error.reasons and all("KeyRange" in reason for reason in error.reasons):
            return Verdict(refused=carried, hot=partition)
        return Verdict(refused=carried, short=_short(settlement.request, error.reasons))
    if isinstance(error, TransactionCanceledError):
        # DynamoDB does not say what a cancelled transaction took; it charges those too.
        tables = {reason.table for reason in error.reasons if reason.code in _SHORT}
        return Verdict(
            spent=carried, short=[Place(table, None, settlement.request.writes) for table in tables if table]
        )
    if isinstance(error, TransportError):
        sent = error.outcome is not Outcome.NOT_SENT
    else:
        sent = isinstance(error, ConditionalCheckFailedError | InternalServerError)
        sent = sent or not isinstance(error, ServiceError)
    return Verdict(spent=carried) if sent else Verdict(returned=carried)


def _answered(settlement: Settlement) -> Verdict:
    if not settlement.left_over:
        return Verdict(spent=settlement.carried)
    refused = set(settlement.throttled)
    left = set(settlement.left_over)
    writes = settlement.request.writes
    return Verdict(
        spent=[each for each in settlement.carried if each not in left],
        returned=[each for each in settlement.left_over if each not in refused],
        refused=settlement.throttled,
        short=[Place(table, None, writes) for table in {each.request.table for each in refused}],
    )


def _short(request: Request, reasons: Sequence[str]) -> list[Place]:
    """Return where capacity was short: where the reasons say, otherwise wherever the request goes."""
    named: list[Place] = []
    for reason in reasons:
        if (found := _REASON.match(reason)) is not None:
            kind, table, index = found.groups()
            named.append(Place(table or tables_of(request)[0], index, kind == "Write"))
    if named:
        return named
    tables = tables_of(request)
    return [Place(table, request.index if len(tables) == 1 else None, request.writes) for table in tables]
