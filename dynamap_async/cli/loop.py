"""The event loop of a command, which is loaded when a command begins to wait."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop of its own, and return its result.

    The first Ctrl-C cancels it: what was sent is answered, and the session closed. The second one ends it at once.
    """
    import asyncio

    return asyncio.run(work)
