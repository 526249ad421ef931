"""Event loops that are not asyncio's own, or have a task factory: whether requests can be sent on them."""

from __future__ import annotations

import asyncio
import sys
from contextvars import Context
from typing import Any, Final

from dynamap_async.errors import ConfigurationError

_UVLOOP: Final = (0, 23)
"""The first version that does not close a socket of somebody else's after one whose caller gave up."""


async def check_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Check that requests can be sent on an event loop.

    Args:
        loop: the event loop, which runs.

    Raises:
        ConfigurationError: it is of an old uvloop, or its task factory makes no tasks in a given context, or ones that
            begin at once and are not recognised as such.
    """
    uvloop = sys.modules.get("uvloop")
    if uvloop is not None and isinstance(loop, uvloop.Loop):
        version: str = uvloop.__version__
        if tuple(map(int, version.split(".")[:2])) < _UVLOOP:
            raise ConfigurationError(
                f"uvloop {version} closes sockets twice, and so those of others, where a caller gives up while its "
                "connection is made; install uvloop>=0.23"
            )
    factory = loop.get_task_factory()
    if factory is not None and not _is_eager_of_asyncio(factory):
        await _check_factory(loop, factory)


def _is_eager_of_asyncio(factory: Any) -> bool:
    """Return whether it is ``asyncio.eager_task_factory``, or made as that is; anyio knows it by the same sign."""
    eager: Any = getattr(asyncio, "eager_task_factory", None)  # came with Python 3.12
    return eager is not None and getattr(factory, "__code__", None) is eager.__code__


async def _check_factory(loop: asyncio.AbstractEventLoop, factory: Any) -> None:
    name = f"{factory.__module__}.{factory.__qualname__}" if hasattr(factory, "__qualname__") else repr(factory)
    nothing = _nothing()
    try:
        task = loop.create_task(nothing, context=Context())
    except TypeError as error:
        nothing.close()
        raise ConfigurationError(
            f"the event loop's task factory {name} cannot be called with context=...; declare it as "
            "`def factory(loop, coro, **kwargs)` and pass kwargs on to asyncio.Task"
        ) from error
    if task.done():
        raise ConfigurationError(
            f"the event loop's task factory {name} makes tasks that begin at once, which anyio's task groups take only "
            "from asyncio's own; use asyncio.eager_task_factory, or make one by asyncio.create_eager_task_factory"
        )
    await task


async def _nothing() -> None: ...
