"""AWS Lambda: a session that survives invocations, on one event loop that is kept for the process. It needs no package.

What a stream's trigger hands over is read by ``streams``, whose names stand here too. See docs/how-to/lambda.md.
"""

import asyncio
import atexit
import contextvars
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar, overload

from dynamap_async.errors import ConfigurationError, ScopeTimeoutError, SessionStateError
from dynamap_async.integrations.sessions import checked_make
from dynamap_async.models import Model
from dynamap_async.planning import UnknownItem
from dynamap_async.session import Session
from dynamap_async.streams import (
    BatchItemFailures,
    ChangeDecoder,
    ItemChange,
    UnknownKinds,
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
MA = TypeVar("MA", bound=Model)
MB = TypeVar("MB", bound=Model)
MC = TypeVar("MC", bound=Model)
M = TypeVar("M", bound=Model | UnknownItem)
HandlesChange: TypeAlias = Callable[[ItemChange[M], Session], Awaitable[None]]
StreamHandler: TypeAlias = Callable[[Mapping[str, Any], Any], BatchItemFailures]
_logger: Final = logging.getLogger("dynamap_async")
_FAILED: Final = "the handler of change %s of shard %s failed; Lambda sends it again, with those that follow it"
_LATE: Final = "the time of the function was over with %d of %d changes not handled; Lambda sends them again"
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

    @overload
    def stream_handler(self, a: type[MA], b: type[MB], /) -> Callable[[HandlesChange[MA | MB]], StreamHandler]: ...
    @overload
    def stream_handler(
        self, a: type[MA], b: type[MB], c: type[MC], /
    ) -> Callable[[HandlesChange[MA | MB | MC]], StreamHandler]: ...
    @overload
    def stream_handler(self, /, *models: type[MA]) -> Callable[[HandlesChange[MA]], StreamHandler]: ...
    @overload
    def stream_handler(
        self, /, *models: type[MA], unknown: UnknownKinds
    ) -> Callable[[HandlesChange[MA | UnknownItem]], StreamHandler]: ...
    def stream_handler(
        self, /, *models: type[Model], unknown: UnknownKinds = "raise"
    ) -> Callable[[HandlesChange[Any]], StreamHandler]:
        """Turn an async function of one change and the session into a handler for the trigger of a stream.

        It is a decorator::

            @dynamo.stream_handler(Tweet)
            async def handler(change, session): ...

        It is called with one change after the other. Where it raises, the error is logged, and Lambda is told to send
        the change again with all that follow it in the shard; those before it are done. So it is where the time is
        over, ``margin_seconds`` before the function's timeout.

        The trigger needs ``ReportBatchItemFailures`` among its ``FunctionResponseTypes``: without it Lambda takes the
        answer for success.

        Args:
            models: the model of the table, or models that share it; of a shared table, changes of others are left out.
            unknown: what an item of no known model becomes: ``"raise"`` raises when an image is looked at, ``"keep"``
                gives it as an ``UnknownItem``.

        Raises:
            OperationError: the models are of several tables; by the handler: the event is none of a stream.
            ModelDefinitionError: a model has no table.
            ConfigurationError: by the handler: its context is none of Lambda's.
            SessionStateError: by the handler: it is called where an event loop is running.
        """
        decoder = ChangeDecoder(models, unknown)

        def decorate(function: HandlesChange[Any]) -> StreamHandler:
            @functools.wraps(function)
            def handle(event: Mapping[str, Any], context: Any) -> BatchItemFailures:
                changes = decoder.of_event(event)
                done = 0

                async def handle_each(_event: Any, _context: Any, session: Session) -> None:
                    nonlocal done
                    for change in changes:
                        try:
                            await function(change, session)
                        except Exception:
                            _logger.exception(_FAILED, change.sequence_number, change.shard_id)
                            return
                        done += 1

                try:
                    self.handler(handle_each)(event, context)
                except ScopeTimeoutError:
                    _logger.exception(_LATE, len(changes) - done, len(changes))
                return batch_item_failures(*changes[done : done + 1])

            return handle

        return decorate

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
