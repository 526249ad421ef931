"""An exchange: one HTTP request and its answer, as the context in which it is sent.

Invariant: a RequestSent is followed by one RequestAnswered, also where the exchange is cancelled.
"""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self, cast

from dynamap_async.errors import ServiceError, TransportError
from dynamap_async.events import RequestAnswered, RequestSent
from dynamap_async.executor.journal import Journal
from dynamap_async.executor.sending import Sending
from dynamap_async.request import Request
from dynamap_async.wire import Body


class Exchange:
    """Enter it to send; call ``answered`` inside of it, or leave it by an exception."""

    __slots__ = ("_carried", "_journal", "_request", "_sent")

    def __init__(self, journal: Journal, request: Request, carried: Sequence[Sending]) -> None:
        """Begin.

        Args:
            journal: takes note of it.
            request: what is put on the wire.
            carried: what was asked for: several requests where it is a batch.
        """
        self._journal: Final = journal
        self._request: Final = request
        self._carried: Final = carried
        self._sent: RequestSent | None = None

    def __enter__(self) -> Self:
        self._sent = self._journal.sent(self._request, self._carried)
        return self

    def answered(self, answer: Body, left_over: Sequence[Sending] = ()) -> None:
        """Take note of the answer, and of what it left over."""
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
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        if isinstance(error, Exception):
            self._journal.failed(self._request)
        if error is not None and self._sent is not None:
            self._tell(
                self._sent,
                error=type(error),
                service_code=error.service_code if isinstance(error, ServiceError) else None,
                outcome=error.outcome if isinstance(error, TransportError) else None,
            )

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
