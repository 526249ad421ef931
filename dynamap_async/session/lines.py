"""Lines: the writes of a bulk load that take several requests each, those of one item one after the other.

Invariant: a line is forgotten when the last in it has ended.
"""

import asyncio
from typing import Any, Final

from dynamap_async.operations import Write
from dynamap_async.request import Request
from dynamap_async.session.writing import Writing


class Lines:
    """The lines of one bulk load."""

    def __init__(self, writing: Writing) -> None:
        """Begin with nobody in any."""
        self._writing: Final = writing
        self._last: Final[dict[str, asyncio.Task[Any]]] = {}

    def begin(self, operation: Write[Any], request: Request) -> asyncio.Task[Any]:
        """Begin a write behind those of the same item; one without a number stands in nobody's line."""
        if request.target is None:
            return asyncio.create_task(self._writing.after_hooks(operation))
        identity = request.target.identity
        task = asyncio.create_task(self._behind(self._last.get(identity), operation))
        self._last[identity] = task
        task.add_done_callback(lambda _: self._last.pop(identity) if self._last.get(identity) is task else None)
        return task

    async def _behind(self, earlier: asyncio.Task[Any] | None, operation: Write[Any]) -> None:
        if earlier is not None:
            await asyncio.wait((earlier,))
        await self._writing.after_hooks(operation)
