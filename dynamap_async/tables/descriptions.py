"""Descriptions of tables, read once or until they are as wanted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from dynamap_async.errors import ResourceNotFoundError, TableWaitTimeoutError
from dynamap_async.executor import Executor
from dynamap_async.tables.requests import TableDescription, description_of, table_request

_FIRST_POLL_SECONDS: Final = 0.02
_LONGEST_POLL_SECONDS: Final = 5.0


class Descriptions:
    """Reads descriptions of tables by their full names."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def get(self, name: str) -> TableDescription:
        """Return the description of a table.

        Raises:
            ResourceNotFoundError: there is no such table.
        """
        request = table_request("DescribeTable", name)
        return description_of(request, await self._executor.send(request))

    async def find(self, name: str) -> TableDescription | None:
        """Return the description of a table; None if there is no such table, or not yet."""
        try:
            return await self.get(name)
        except ResourceNotFoundError:
            return None

    async def until(
        self,
        name: str,
        reached: Callable[[TableDescription | None], Awaitable[bool]],
        *,
        what: str,
        timeout_seconds: float,
        longest_poll_seconds: float = _LONGEST_POLL_SECONDS,
    ) -> None:
        """Poll a table, ever more seldom, until it is as wanted.

        The pauses are drawn, so that many processes which wait for one table do not all ask at the same moment.

        Args:
            reached: tells whether it is; None is no table, or one that is not known yet: descriptions are late.
            what: how the table should be, for the message.
            timeout_seconds: how long to wait.
            longest_poll_seconds: the longest time between two looks.

        Raises:
            TableWaitTimeoutError: it was not in time.
        """
        status: str | None = None
        with anyio.move_on_after(timeout_seconds):
            delay = _FIRST_POLL_SECONDS
            while True:
                description = await self.find(name)
                status = None if description is None else description.status
                if await reached(description):
                    return
                await anyio.sleep(self._executor.pause(delay))
                delay = min(delay * 2, longest_poll_seconds)
        raise TableWaitTimeoutError(
            f"the table {name} was not {what} within {timeout_seconds:g} s (last status: {status}); wait longer with "
            "timeout_seconds",
            table=name,
            status=status,
            timeout_seconds=timeout_seconds,
        )

    async def until_active(self, name: str, timeout_seconds: float) -> None:
        """Wait until a table and all its indexes can be used."""

        async def is_active(found: TableDescription | None) -> bool:
            return found is not None and found.is_active

        await self.until(name, is_active, what="active, with all its indexes,", timeout_seconds=timeout_seconds)

    async def until_gone(self, name: str, timeout_seconds: float) -> None:
        """Wait until a table is gone."""

        async def is_gone(found: TableDescription | None) -> bool:
            return found is None

        await self.until(name, is_gone, what="gone", timeout_seconds=timeout_seconds)
