"""Describing: DescribeTable is asked for limits in the background, and again as long as they matter.

Invariant: no request waits for an answer but those beyond what may be spent of a table of unknown limits. Where it is
denied or fails, limits are learned from refusals.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextvars import Context
from typing import Final

from dynamap_async.errors import DynamapError, ResourceNotFoundError, SessionClosedError
from dynamap_async.executor.governor.limits import Limits, described_limits
from dynamap_async.request import Request
from dynamap_async.wire import Body

logger: logging.Logger = logging.getLogger("dynamap_async")

_AGAIN_SECONDS: Final = 3.0
"""After so long a table is described again, as long as requests wait for its units."""
_REFUSED_SECONDS: Final = 0.5
"""After so long it is described again if it refuses what it should have."""
_FAILED_SECONDS: Final = 300.0
"""After so long it is described again if that failed: policies change, and tables are created."""


class Describing:
    """What DescribeTable says of the tables of a session."""

    def __init__(
        self,
        send: Callable[[Request], Awaitable[Body]],
        know: Callable[[str, Limits | None], None],
        missing: Callable[[str], None],
    ) -> None:
        """Begin with nothing known.

        Args:
            send: sends a request, with retries.
            know: called with a table and its limits; None where they could not be had.
            missing: called with a table that does not exist, after that.
        """
        self.tasks: Final[set[asyncio.Task[None]]] = set()
        """Those that are under way."""
        self._send: Final = send
        self._know: Final = know
        self._missing: Final = missing
        self._described: Final[dict[str, float]] = {}
        """Table -> the event loop's time of its description; far ahead where it failed or is under way."""

    def begin(self, table: str) -> None:
        """Ask for the limits of a table."""
        self._described[table] = asyncio.get_running_loop().time() + _FAILED_SECONDS
        # An empty context: nobody's scope pays for it.
        task = asyncio.get_running_loop().create_task(self._describe(table), context=Context())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def refresh(self, tables: Iterable[str], *, refused: bool = False) -> None:
        """Ask again for the limits of tables that requests wait for, or that refused some, if it is time to."""
        before = asyncio.get_running_loop().time() - (_REFUSED_SECONDS if refused else _AGAIN_SECONDS)
        for table in tables:
            if self._described.get(table, before) < before:
                self.begin(table)

    def forget(self, table: str) -> None:
        """Forget that a table was described."""
        self._described.pop(table, None)

    def close(self) -> None:
        """End what is under way."""
        for task in self.tasks:
            task.cancel()

    async def _describe(self, table: str) -> None:
        request = Request(operation="DescribeTable", body={"TableName": table}, table=table)
        try:
            limits = described_limits(await self._send(request))
        except SessionClosedError:
            return
        except ResourceNotFoundError:
            self._know(table, None)
            self._missing(table)
        except (DynamapError, LookupError, TypeError, ValueError, AttributeError) as error:
            logger.warning("the limits of %s are learned, for DescribeTable failed: %s", table, type(error).__name__)
            self._know(table, None)
        else:
            self._described[table] = asyncio.get_running_loop().time()
            self._know(table, limits)
