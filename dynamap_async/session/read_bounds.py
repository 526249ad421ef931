"""The bounds of one page's cost: after how many requests, or read units, it ends, wherever it is then."""

from __future__ import annotations

import math
from typing import Any, Final, cast

from dynamap_async.operations import PagedOperation, PageOf
from dynamap_async.wire import Body, WireKey


class ReadBounds:
    """Counts the answers of one read, and takes the last one that is allowed for the end of the data.

    No request is under way then that nobody will pay for: the page after an answer is asked for only where it has one.
    """

    def __init__(self, max_pages: int | None, max_read_units: float | None) -> None:
        """Begin to count.

        Args:
            max_pages: how many requests there may be; None for any number.
            max_read_units: how many read units may be spent before another request is sent; None for any number.
        """
        self._pages_left: float = math.inf if max_pages is None else max_pages
        self._units_left: float = math.inf if max_read_units is None else max_read_units
        self._counts_units: Final = max_read_units is not None
        self.position: WireKey | None = None
        """Where the data goes on, if the read ended before that."""

    @classmethod
    def of(cls, operation: PagedOperation[Any]) -> ReadBounds | None:
        """Return the bounds of a read; None where it has none, as all but pages.

        Args:
            operation: what is asked.
        """
        if isinstance(operation, PageOf) and operation.is_bounded:
            return cls(operation.max_pages, operation.max_read_units)
        return None

    def __call__(self, answer: Body) -> Body:
        """Return an answer, without the position of the next page where no further one is allowed.

        Args:
            answer: it.
        """
        self._pages_left -= 1
        if self._counts_units:
            report: object = answer.get("ConsumedCapacity")
            consumed = cast("dict[str, Any]", report) if isinstance(report, dict) else {}
            # What an engine does not report may be anything, so that nothing more is spent.
            self._units_left -= consumed.get("CapacityUnits", math.inf)
        if self._pages_left > 0 and self._units_left > 0:
            return answer
        self.position = answer.get("LastEvaluatedKey") or None
        return {name: value for name, value in answer.items() if name != "LastEvaluatedKey"}
