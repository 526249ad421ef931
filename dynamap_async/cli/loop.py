"""The event loop of a command, which is loaded when a command begins to wait."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine gives, on a loop of its own.

    The first Ctrl-C cancels it: what was sent is answered, and the session closed. The second one ends it at once.

    Args:
        work: the coroutine.
    """
    import asyncio

    return asyncio.run(work)
