"""An exchange: one HTTP request and its answer, as the context in which it is sent.

Invariant: a RequestSent is followed by one RequestAnswered, also where the exchange is cancelled.
"""

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, cast

from dynamap_async.errors import ResourceNotFoundError, ServiceError, ThrottledError, TransportError
from dynamap_async.events import RequestAnswered, RequestSent
from dynamap_async.executor.journal import Journal
from dynamap_async.executor.ledger import Payers
from dynamap_async.executor.metering import Spending, spendings
from dynamap_async.executor.meters import Meters
from dynamap_async.executor.sending import Sending
from dynamap_async.executor.settling import Settlement
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Exchange:
    """Enter it to send; call ``answered`` inside of it, or leave it by an exception."""

    __slots__ = ("_carried", "_journal", "_meter", "_payers", "_request", "_sent")

    def __init__(
        self, journal: Journal, request: Request, carried: Sequence[Sending], meter: Meters | None = None
    ) -> None:
        """Begin.

        Args:
            journal: takes note of it.
            request: what is put on the wire.
            carried: what was asked for: several requests where it is a batch.
            meter: where it is counted; None where somebody watches it.
        """
        self._meter: Final = meter
        self._journal: Final = journal
        self._request: Final = request
        self._carried: Final = carried
        self._sent: RequestSent | None = None
        self._payers: Mapping[Sending, Payers] | None = None

    def __enter__(self) -> Self:
        if self._meter is not None:
            self._meter.sent(self._request, self._carried, asyncio.get_running_loop().time())
            return self
        self._payers = self._journal.ledger.sent(self._request, self._carried)
        self._sent = self._journal.sent(self._request, self._carried)
        return self

    def answered(
        self,
        answer: Body,
        left_over: Sequence[Sending] = (),
        throttled: Sequence[Sending] = (),
        parts: Mapping[str, Body] | None = None,
    ) -> None:
        """Take note of the answer.

        Args:
            answer: it.
            left_over: what it did not get to.
            throttled: what of that it left over for want of capacity.
            parts: of a batch, what it says of each identity.
        """
        meter = None if left_over else self._meter
        if meter is not None:
            now = asyncio.get_running_loop().time()
            if meter.answered(self._request, self._carried, answer, now):
                return
        spent = spendings(self._request, answer)
        self._settle(answer, spent, left_over, throttled, parts or {})
        if left_over:
            self._journal.left_over(left_over)
        if self._sent is None:
            return
        self._tell(
            self._sent,
            unprocessed=len(left_over),
            count=answer.get("Count"),
            scanned_count=answer.get("ScannedCount"),
            consumed_capacity=_consumed_capacity(answer),
            read_units=_units(spent, writes=False),
            write_units=_units(spent, writes=True),
        )

    def taken_apart(self, whole: Sending) -> None:
        """Take note that what was carried is now what the one thing that it was stands for."""
        if self._payers is not None:
            self._payers = dict.fromkeys(self._carried, self._payers[whole])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        if error is None:
            return
        if isinstance(error, Exception):
            self._journal.failed(self._request)
        self._settle(None, None, (), self._carried if isinstance(error, ThrottledError) else (), {}, error)
        if self._sent is not None:
            self._tell(
                self._sent,
                error=type(error),
                service_code=error.service_code if isinstance(error, ServiceError) else None,
                outcome=error.outcome if isinstance(error, TransportError) else None,
            )
        if isinstance(error, ResourceNotFoundError):
            self._journal.missing(self._request, self._carried)

    def _settle(
        self,
        answer: Body | None,
        spent: tuple[Spending, ...] | None,
        left_over: Sequence[Sending],
        throttled: Sequence[Sending],
        parts: Mapping[str, Body],
        error: BaseException | None = None,
    ) -> None:
        ledger = self._journal.ledger
        settlement = Settlement(self._request, self._carried, spent, ledger.measure, error, left_over, throttled, parts)
        ledger.settle(settlement, self._payers, answer)

    def _tell(self, sent: RequestSent, **facts: Any) -> None:
        now = asyncio.get_running_loop().time()
        self._journal.tell(
            RequestAnswered(
                at=now,
                exchange_id=sent.exchange_id,
                waiter_ids=sent.waiter_ids,
                operation=sent.operation,
                tables=sent.tables,
                index=sent.index,
                attempt=sent.attempt,
                items=sent.items,
                duration_seconds=now - sent.at,
                **facts,
            )
        )


def _consumed_capacity(answer: Body) -> tuple[dict[str, Any], ...]:
    """Return an entry for each table: of a single operation there is one, of a batch or transaction a list."""
    given: Any = answer.get("ConsumedCapacity")
    if isinstance(given, dict):
        return (cast("dict[str, Any]", given),)
    return tuple(cast("list[dict[str, Any]]", given)) if isinstance(given, list) else ()


def _units(spent: Sequence[Spending] | None, *, writes: bool) -> float | None:
    return None if spent is None else sum(each.halves for each in spent if each.writes is writes) / 2
