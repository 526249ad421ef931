"""How an integration comes by its session: a function makes it at each start, for a session is used once."""

import gc
import pkgutil
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib import import_module

from dynamap_async import codec, executor, expressions, models, operations, planning, session
from dynamap_async.errors import ConfigurationError
from dynamap_async.executor import is_async, name_of
from dynamap_async.session import Session


def checked_make(make: Callable[[], Session], where: str) -> Callable[[], Session]:
    """Return the function that makes sessions, checked to be one.

    Raises:
        ConfigurationError: it is something else, such as a session.
    """
    if not callable(make) or is_async(make):
        raise ConfigurationError(
            f"{where} got {name_of(make)}: it needs a plain function that makes a session, because a session can be "
            f"used once; write {where}(lambda: Session(...))"
        )
    return make


@asynccontextmanager
async def opened_session(make: Callable[[], Session], *, freeze_gc: bool) -> AsyncGenerator[Session]:
    """Open a session for the life of an application.

    What calls load when they are made first is loaded before: later it would hold up the event loop in a handler.

    Args:
        freeze_gc: whether what the application has loaded is kept from the garbage collector meanwhile.
    """
    load_calls()
    async with make() as opened:
        if freeze_gc:
            with _frozen():
                yield opened
        else:
            yield opened


@cache
def load_calls() -> None:
    """Import what a session's calls need, so that the first call of each kind does not have to."""
    for room in (codec, expressions, models, planning, operations, executor, session):
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            import_module(module.name)


@contextmanager
def _frozen() -> Generator[None]:
    gc.collect()  # what is garbage now would otherwise stay for good
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
