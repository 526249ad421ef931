"""Back-pressure: how many changes wait to be handled, and waiting until fewer do."""

from __future__ import annotations

import asyncio
from typing import Final

MOST_BYTES: Final = 10 * 10**6
MOST_CHANGES: Final = 5_000


class Room:
    """How many changes wait: those of all pages that were fetched, until they are handled.

    Pages are asked for only while there is room. A page that is under way then may still take more than was left.

    Args:
        most_bytes: how many bytes of changes may wait, as DynamoDB counts them.
        most_changes: how many changes may wait.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, most_changes: int = MOST_CHANGES) -> None:
        self._most_bytes: Final = most_bytes
        self._most_changes: Final = most_changes
        self._left: Final[set[asyncio.Future[None]]] = set()
        self.changes: int = 0
        """How many changes wait."""
        self.size_bytes: int = 0
        """How large they are together."""

    @property
    def is_there(self) -> bool:
        """Whether another page may be asked for."""
        return self.changes < self._most_changes and self.size_bytes < self._most_bytes

    def enter(self, changes: int, size_bytes: int) -> None:
        """Note changes that wait.

        Args:
            changes: how many.
            size_bytes: how large they are together.
        """
        self.changes += changes
        self.size_bytes += size_bytes

    def leave(self, changes: int, size_bytes: int) -> None:
        """Note changes that do not wait any more.

        Args:
            changes: how many.
            size_bytes: how large they are together.
        """
        self.changes -= changes
        self.size_bytes -= size_bytes
        if self._left and self.is_there:
            for waiter in self._left:
                if not waiter.done():
                    waiter.set_result(None)

    async def until_there(self) -> None:
        """Wait until another page may be asked for."""
        while not self.is_there:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._left.add(waiter)
            try:
                await waiter
            finally:
                self._left.discard(waiter)
