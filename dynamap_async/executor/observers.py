"""Observers: who is told of events. Invariant: no observer breaks, or changes, the request that it is told of."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from dynamap_async.errors import ConfigurationError
from dynamap_async.events import Event, Observer

logger: logging.Logger = logging.getLogger("dynamap_async")


class Observers:
    """The observers of a session, in the order in which they are told."""

    def __init__(self, given: Observer | Sequence[Observer]) -> None:
        """Take one observer, or several.

        Raises:
            ConfigurationError: one of them is no plain function or object that can be called.
        """
        self._observers: Final[tuple[Observer, ...]] = _several(given)
        self._failed: set[tuple[int, type[BaseException]]] = set()
        for observer in self._observers:
            if not callable(observer) or is_async(observer):
                raise ConfigurationError(
                    f"Session(observer=...) got {name_of(observer)}: an observer is a plain function of one event, or "
                    "an object that can be called like one; it cannot be async, for no request waits for it"
                )

    def __bool__(self) -> bool:
        return bool(self._observers)

    def tell(self, event: Event) -> None:
        """Tell each observer of an event, whatever becomes of the others."""
        for number, observer in enumerate(self._observers):
            try:
                observer(event)
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - the request goes on
                self._complain(number, event, error)

    def _complain(self, number: int, event: Event, error: BaseException) -> None:
        """Log a failure, once for each observer and class of error; the message of the error may hold anything."""
        if (number, type(error)) in self._failed:
            return
        self._failed.add((number, type(error)))
        observer = self._observers[number]
        logger.warning(
            "observer %s failed with %s on %s; the request goes on, and the same error is not logged again",
            name_of(observer),
            type(error).__name__,
            type(event).__name__,
        )
        logger.debug("the traceback of the observer", exc_info=error)


def _several(given: Observer | Iterable[Observer]) -> tuple[Observer, ...]:
    return tuple(given) if isinstance(given, Iterable) and not callable(given) else (given,)


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether what a call of it returns must be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def name_of(function: object) -> str:
    """Return what a function, or an object in its place, is called; its ``repr`` may hold anything."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))
