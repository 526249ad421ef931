"""Reading any number of items into a list: each key is asked for once, each place has an instance of its own."""

import asyncio
import copy
from collections.abc import Callable, Iterable
from typing import Any

from dynamap_async.config import BatchPolicy
from dynamap_async.errors import BatchError, DynamapError, ItemFailure
from dynamap_async.limits import BATCH_GET_KEYS
from dynamap_async.operations import SingleRequest
from dynamap_async.request import Request
from dynamap_async.session.flow import Asked, Flow
from dynamap_async.session.runner import Runner
from dynamap_async.session.sending import outcome
from dynamap_async.wire import Body

Place = tuple[str, bool, bool]
"""Identity, consistency and coalescing: what makes two reads one."""


class ManyReads:
    """Reads any number of items into a list."""

    def __init__(self, runner: Runner, policy: BatchPolicy) -> None:
        self._executor = runner.executor
        self._hooks = runner.hooks
        self._answered: list[tuple[Asked[Any], asyncio.Future[Body]]] = []
        answered = self._answered  # not `self`: in a cycle, all that was read would wait for the garbage collector
        self._flow: Flow[Any] = Flow(
            runner.executor,
            runner.context,
            together=min(policy.max_keys, BATCH_GET_KEYS),
            done=lambda asked, future: answered.append((asked, future)),
        )
        self._results: list[Any] = []
        self._failures: list[ItemFailure] = []
        self._places: dict[Place, list[Asked[Any]]] = {}

    async def all(self, subjects: Iterable[Any], operation: Callable[[Any], SingleRequest[Any]]) -> list[Any]:
        """Return one result per subject, in order.

        Raises:
            BatchError: some failed; it carries the results of the others.
        """
        self._executor.check_open()
        for position, subject in enumerate(subjects):
            self._results.append(None)
            self._prepare(position, subject, operation)
            if self._flow.paces:
                await self._flow.pace()
        try:
            for same in self._places.values():
                if self._flow.full:
                    await self._flow.room()
                self._flow.add(same[0])
                if self._answered:
                    await self._take()
            self._flow.flush()
            while self._flow.unanswered:
                await self._flow.change()
                await self._take()
            await self._take()
        finally:
            self._flow.cancel()
        if self._failures:
            raise BatchError(self._failures, total=len(self._results), results=self._results)
        return self._results

    def _prepare(self, position: int, subject: Any, operation: Callable[[Any], SingleRequest[Any]]) -> None:
        try:
            find = operation(subject)
            request = find.request(self._flow.context)
        except DynamapError as error:
            self._failures.append(ItemFailure(position, subject, error))
            return
        self._places.setdefault(_place(request), []).append(Asked(position, subject, find, request))

    async def _take(self) -> None:
        """Read what has been answered, for each place an instance of its own."""
        while self._answered:
            first, future = self._answered.pop()
            for asked in self._places[_place(first.request)]:
                try:
                    self._results[asked.position] = await self._given(outcome(asked.operation, future), asked)
                except Exception as error:  # noqa: BLE001 - whatever it is, the others are read all the same
                    own = error if asked is first else copy.copy(error)
                    self._failures.append(ItemFailure(asked.position, asked.subject, own))
                if self._flow.paces:
                    await self._flow.pace()

    async def _given(self, result: Any, asked: Asked[Any]) -> Any:
        """Return a result after the hooks on what was read, if there are any."""
        if self._hooks.follow(read := asked.operation.read(result)):
            await self._flow.hold(self._hooks.read(read))
        return result


def _place(request: Request) -> Place:
    identity = request.target.identity if request.target is not None else ""
    return identity, bool(request.body.get("ConsistentRead")), request.batchable
