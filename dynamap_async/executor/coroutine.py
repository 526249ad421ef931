"""Bound builders as coroutines, so that ``create_task``, ``TaskGroup``, ``gather`` and ``wait_for`` take them."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar, overload

R_co = TypeVar("R_co", covariant=True)


class BoundCoroutine(Coroutine[Any, Any, R_co]):
    """Something that belongs to a session and is carried out when it is awaited."""

    __slots__ = ("_running",)

    def __init__(self) -> None:
        self._running: dict[asyncio.Task[Any] | None, Coroutine[Any, Any, R_co]] = {}

    @abstractmethod
    def _run(self) -> Coroutine[Any, Any, R_co]:
        """Begin to carry it out."""

    def __await__(self) -> Generator[Any, Any, R_co]:
        return self._run().__await__()

    def send(self, value: Any, /) -> Any:
        """Advance it as a coroutine; for event loops.

        Args:
            value: what the event loop sends: None, or the result of what was waited for.
        """
        return self._step(lambda running: running.send(value))

    @overload
    def throw(
        self, typ: type[BaseException], val: BaseException | object = None, tb: TracebackType | None = None, /
    ) -> Any: ...
    @overload
    def throw(self, typ: BaseException, val: None = None, tb: TracebackType | None = None, /) -> Any: ...
    def throw(self, typ: Any, val: Any = None, tb: TracebackType | None = None, /) -> Any:
        """Raise inside it as a coroutine; for event loops.

        Args:
            typ: the exception, or its class.
            val: with a class, the exception.
            tb: the traceback, which Python takes from the exception.
        """
        return self._step(lambda running: running.throw(typ if val is None else val))

    def close(self) -> None:
        """End it as a coroutine; for event loops."""
        running = self._running.pop(_current_task(), None)
        if running is not None:
            running.close()

    def _step(self, step: Callable[[Coroutine[Any, Any, R_co]], Any]) -> Any:
        """Advance the run of the current task: one object may be run by several tasks, and again later."""
        task = _current_task()
        running = self._running.pop(task, None) or self._run()
        result = step(running)
        self._running[task] = running  # not reached once the run has ended, by its result or by an error
        return result


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
