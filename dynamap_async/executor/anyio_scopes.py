"""anyio's cancel scopes, where the program uses them.

Invariant: where anyio is not loaded with its backend for asyncio, nobody can be inside of one of its scopes. So it
is not loaded to ask: that takes a tenth of the time from nothing to a first answer (benchmarks: cold_start).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Any, Final

_BACKEND: Final = "anyio._backends._asyncio"
"""The module that the first scope of a program on asyncio loads."""


def deadline_now() -> float:
    """Return when the nearest scope around the caller ends, on the event loop's clock; infinity without any."""
    if _BACKEND not in sys.modules:
        return inf
    import anyio

    return anyio.current_effective_deadline()


def deadline_source() -> Callable[[], float]:
    """Return what tells ``deadline_now`` at the least cost, on the running event loop.

    Asking anyio's backend at once takes half of what asking anyio takes, which asks it (benchmarks:
    concurrent_gets_400).
    """
    if _BACKEND not in sys.modules:
        return deadline_now
    import anyio.lowlevel

    # Before 4.11 anyio's token does not name its backend, which spares each request the look-up of it.
    backend: Any = getattr(anyio.lowlevel.current_token(), "backend_class", anyio)
    source: Callable[[], float] = backend.current_effective_deadline
    return source


def shielded() -> AbstractContextManager[object]:
    """Return a context that the cancellation of scopes does not enter; they would deliver it again and again."""
    if _BACKEND not in sys.modules:
        return nullcontext()
    import anyio

    return anyio.CancelScope(shield=True)
