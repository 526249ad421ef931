"""Answers: an asynchronous iterator over the results of many requests, in the order in which they arrive.

Invariant: a cancelled ``__anext__`` loses nothing; nothing that is under way refers to the iterator, so that dropping
it ends it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Generic, Self, TypeVar

from dynamap_async.config import BatchPolicy
from dynamap_async.errors import BatchError, DynamapError, ItemFailure, SessionStateError
from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.operations import SingleRequest
from dynamap_async.session.flow import Asked, Flow
from dynamap_async.session.runner import Runner
from dynamap_async.session.sending import outcome
from dynamap_async.wire import Body

T = TypeVar("T")
R = TypeVar("R")

_AHEAD_BATCHES: Final = 10


class Answers(Generic[T, R]):
    """Pairs of what was asked for and what was found, as they arrive: ``async for key, item in session.each(...)``.

    It asks for more only as fast as pairs are taken: at most 10 full calls ahead. Leaving the loop early, ``aclose`` or
    the end of ``async with`` withdraws what was not sent. What fails does not stop the others: BatchError follows after
    the last pair.

    Cost: one BatchGetItem for each 100 distinct keys; read units as ``Find``.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
    """

    def __init__(
        self, runner: Runner, policy: BatchPolicy, subjects: Iterable[T], operation: Callable[[T], SingleRequest[R]]
    ) -> None:
        """Describe what to ask for; sessions make these."""
        runner.executor.check_open()
        self._answered: deque[tuple[Asked[R], asyncio.Future[Body]]] = deque()
        answered = self._answered  # the flow must not refer to this object
        self._flow: Flow[R] = Flow(
            runner.executor,
            runner.context,
            together=min(policy.max_keys, BATCH_GET_KEYS),
            done=lambda asked, future: answered.append((asked, future)),
        )
        self._subjects: Iterator[T] = iter(subjects)
        self._operation = operation
        self._hooks = runner.hooks
        self._taken = 0
        self._exhausted = False
        self._closed = False
        self._failures: list[ItemFailure] = []
        self._advancing = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[T, R]:
        """Return the next pair.

        Raises:
            BatchError: all pairs were given out, and some keys failed; it names each.
            SessionStateError: the session is closed, or another task is waiting for a pair.
        """
        if self._advancing:
            raise SessionStateError("two tasks take answers from one iterator at once; give each task its own")
        self._advancing = True
        try:
            return await self._next()
        finally:
            self._advancing = False

    async def _next(self) -> tuple[T, R]:
        while True:
            await self._fill()
            while not self._answered and self._flow.unanswered:
                await self._flow.change()
            if self._closed:  # answers may have come in the moment of aclose
                raise StopAsyncIteration
            if not self._answered:
                if self._exhausted:
                    break
                continue
            await self._flow.pace()
            asked, future = self._answered.popleft()
            try:
                return asked.subject, await self._result(asked, future)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is told at the end, and its neighbours first
                self._failures.append(ItemFailure(asked.position, asked.subject, error))
        failures, self._failures = self._failures, []
        if failures:
            raise BatchError(failures, total=self._taken)
        raise StopAsyncIteration

    async def _result(self, asked: Asked[R], future: asyncio.Future[Body]) -> R:
        try:
            result = outcome(asked.operation, future)
            await self._hooks.read(asked.operation.read(result))
        except asyncio.CancelledError:
            self._answered.appendleft((asked, future))  # in a hook: the pair was not given out
            raise
        return result

    async def _fill(self) -> None:
        """Ask for as many whole batches as the consumer leaves room for."""
        together = self._flow.together
        while not self._exhausted and self._flow.unanswered + len(self._answered) <= (_AHEAD_BATCHES - 1) * together:
            self._flow.executor.check_open()
            for subject in self._subjects:
                self._ask(subject)
                await self._flow.pace()
                if self._flow.prepared == 0:
                    break
            else:
                self._exhausted = True
        self._flow.flush()

    def _ask(self, subject: T) -> None:
        position = self._taken
        self._taken += 1
        try:
            operation = self._operation(subject)
            self._flow.add(Asked(position, subject, operation, operation.request(self._flow.context)))
        except DynamapError as error:
            self._failures.append(ItemFailure(position, subject, error))

    async def aclose(self) -> None:
        """Give out nothing more; what was not sent is withdrawn."""
        self._closed = self._exhausted = True
        self._failures = []
        self._answered.clear()
        self._flow.cancel()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        flow = getattr(self, "_flow", None)
        if flow is not None:
            flow.cancel_from_anywhere()
