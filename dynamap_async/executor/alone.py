"""Tables whose items are refused in batches and accepted alone, as some policies of IAM have it.

Invariant: what is remembered is forgotten after five minutes, for policies change.
"""

import asyncio
import logging
from typing import Final

logger: logging.Logger = logging.getLogger("dynamap_async")

ALONE_SECONDS: Final = 300.0
MOST_TABLES: Final = 1_000
"""How many tables are remembered; another one that is refused again is found out again."""


class Alone:
    """The tables whose items travel alone for now; for reads or for writes."""

    def __init__(self) -> None:
        self.until: Final[dict[str, float]] = {}
        """Table -> the event loop's time until which that is remembered."""

    def remember(self, table: str) -> None:
        """Take note that an item of a table was refused in a batch and then accepted alone."""
        if table not in self:
            logger.warning("%s is refused in batches and accepted alone; it is sent alone for 5 minutes", table)
        now = asyncio.get_running_loop().time()
        self.until.pop(table, None)  # so that those come first that are forgotten first
        if len(self.until) >= MOST_TABLES:
            for each in list(self.until)[: MOST_TABLES // 2]:
                del self.until[each]
        self.until[table] = now + ALONE_SECONDS

    def __contains__(self, table: object) -> bool:
        if not isinstance(table, str) or table not in self.until:
            return False
        if self.until[table] > asyncio.get_running_loop().time():
            return True
        del self.until[table]
        return False
