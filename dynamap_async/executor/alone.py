"""Tables whose items are refused in batches and accepted alone, as some policies of IAM have it.

Invariant: what is remembered is forgotten after five minutes, for policies change.
"""

import asyncio
import logging
from typing import Final

logger: logging.Logger = logging.getLogger("dynamap_async")

ALONE_SECONDS: Final = 300.0


class Alone:
    """The tables whose items travel alone for now; for reads or for writes."""

    def __init__(self) -> None:
        self.until: Final[dict[str, float]] = {}
        """Table -> the event loop's time until which that is remembered."""

    def remember(self, table: str) -> None:
        """Take note that an item of a table was refused in a batch and then accepted alone."""
        if table not in self:
            logger.warning("%s is refused in batches and accepted alone; it is sent alone for 5 minutes", table)
        self.until[table] = asyncio.get_running_loop().time() + ALONE_SECONDS

    def __contains__(self, table: object) -> bool:
        if not isinstance(table, str) or table not in self.until:
            return False
        if self.until[table] > asyncio.get_running_loop().time():
            return True
        del self.until[table]
        return False
