"""AWS Lambda: a session that survives invocations, on one event loop that is kept for the process. It needs no package.

What a stream's trigger hands over is read by ``streams``, whose names stand here too. See docs/how-to/lambda.md.
"""

import asyncio
import atexit
import contextvars
import functools
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol, TypeVar

from dynamap_async.errors import ConfigurationError, SessionStateError
from dynamap_async.integrations.sessions import checked_make
from dynamap_async.session import Session
from dynamap_async.streams import (
    BatchItemFailures,
    ItemChange,
    batch_item_failures,
    decode_changes,
)

__all__ = [
    "BatchItemFailures",
    "ItemChange",
    "LambdaContext",
    "LambdaSession",
    "batch_item_failures",
    "decode_changes",
]

E = TypeVar("E")
C = TypeVar("C", bound="LambdaContext")
R = TypeVar("R")
_OF_CONTEXT: Final = ("function_name", "get_remaining_time_in_millis")


class LambdaContext(Protocol):
    """What is used of the context object that Lambda passes.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
    """

    function_name: Any
    """The function's name."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left of the function's timeout."""
        ...


class LambdaSession:
    """Opens a session in the first invocation, and keeps it, its connections and its event loop for those to come.

    Make it once, at the top level of the module, and turn async handlers into those that Lambda calls::

        dynamo = LambdaSession(lambda: Session())

        @dynamo.handler
        async def handler(event, context, session):
            ...

    ``asyncio.run`` in a handler would make a new loop each time, for which a session of an earlier one is of no use.

    Args:
        make: makes the session; called again only after ``close``.
        margin_seconds: how long before the function's own timeout a handler is cancelled, so that it fails with
            ``ScopeTimeoutError`` and is logged, instead of being killed with the process and the session.
        loop_factory: makes the event loop, such as ``uvloop.new_event_loop``; asyncio's by default.

    Raises:
        ConfigurationError: the margin is negative, or ``make`` is no plain function.
    """

    def __init__(
        self,
        make: Callable[[], Session],
        /,
        *,
        margin_seconds: float = 0.5,
        loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
    ) -> None:
        if margin_seconds < 0:
            raise ConfigurationError(f"margin_seconds={margin_seconds}: give 0 or more")
        self._make: Final = checked_make(make, "LambdaSession")
        self._margin_seconds: Final = margin_seconds
        self._loop_factory: Final = loop_factory
        self._runner: asyncio.Runner | None = None
        self._session: Session | None = None

    def handler(self, function: Callable[[E, C, Session], Awaitable[R]], /) -> Callable[[E, C], R]:
        """Turn an async function of event, context and session into a handler for Lambda; a decorator.

        What it awaits belongs to a scope with the function's name, which ends ``margin_seconds`` before the function's
        timeout.

        Args:
            function: takes the event, Lambda's context and the session.

        Raises:
            ConfigurationError: by the handler: its context is none of Lambda's.
            SessionStateError: by the handler: it is called where an event loop is running.
        """

        @functools.wraps(function)
        def handle(event: E, context: C) -> R:
            if not all(hasattr(context, name) for name in _OF_CONTEXT):
                raise ConfigurationError(
                    f"{context!r} is not a Lambda context; pass an object with function_name and "
                    "get_remaining_time_in_millis()"
                )

            async def invoked() -> R:
                session = await self._opened()
                # The loop learns which connections were closed while the process was frozen, before one is used.
                for _ in range(2):
                    await asyncio.sleep(0)
                left = context.get_remaining_time_in_millis() / 1000 - self._margin_seconds
                async with session.scope(str(context.function_name), timeout=max(0.0, left)):
                    return await function(event, context, session)
                raise AssertionError("a scope raises what it does not let pass")  # for mypy: it might swallow errors

            return self._run(invoked)

        return handle

    def open(self) -> None:
        """Open the session now, at the top level of the module, where Lambda does not yet count the invocation's time.

        Raises:
            ConfigurationError: the region or the credentials are missing.
            SessionStateError: an event loop is running here.
        """
        self._run(self._opened)

    def close(self) -> None:
        """Close the session and the event loop, as the end of the process does; the next invocation opens new ones.

        Raises:
            SessionStateError: an event loop is running here; the session stays as it is.
        """
        _refuse_inside_a_loop()
        # Otherwise atexit would keep this object, and close it once more.
        atexit.unregister(self.close)
        runner, session = self._runner, self._session
        self._runner = self._session = None
        if runner is None:
            return
        with runner:
            if session is not None:
                runner.run(session.close())

    async def _opened(self) -> Session:
        if self._session is None:
            session = self._make()
            await session.__aenter__()  # left by `close`, perhaps never: Lambda ends processes as it likes
            self._session = session
        return self._session

    def _run(self, function: Callable[[], Awaitable[R]]) -> R:
        _refuse_inside_a_loop()
        if self._runner is None:
            self._runner = asyncio.Runner(loop_factory=self._loop_factory)
            atexit.register(self.close)

        async def run() -> R:
            return await function()

        # A context of its own for each invocation: a runner's own would carry variables from one to the next.
        return self._runner.run(run(), context=contextvars.copy_context())


def _refuse_inside_a_loop() -> None:
    """Raise SessionStateError where an event loop is running: a second one cannot run beside it in one thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise SessionStateError(
        "a LambdaSession runs its own event loop, and an event loop is already running here; call the handler, "
        "open() and close() from synchronous code, such as a test function written with `def`"
    )
