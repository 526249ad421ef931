"""The runner: carries an operation through the executor. What the session and its bound queries share.

A read of one item is carried out here. What other operations need is loaded with the first of them.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from dynamap_async import operations
from dynamap_async.errors import OperationError, ServiceError
from dynamap_async.executor import Executor
from dynamap_async.operations import Find, Get, SingleRequest
from dynamap_async.planning import Context
from dynamap_async.session.hooks import SessionHooks
from dynamap_async.session.results import explain, result_of

if TYPE_CHECKING:
    from dynamap_async.operations import Operation, ThenGet, Transact
    from dynamap_async.session.bound_statement import StatementCalls
    from dynamap_async.session.counter_numbers import Numbers
    from dynamap_async.session.stream import PageReads
    from dynamap_async.session.writes import Fence, Writes

R = TypeVar("R")


class Runner:
    """An executor, and what a session adds to each operation."""

    def __init__(
        self,
        executor: Executor,
        context: Context,
        hooks: SessionHooks,
        numbers: Numbers,
        fence: Fence | None = None,
    ) -> None:
        """Create what carries out the operations of a session.

        Args:
            executor: sends requests.
            context: what the session adds to each operation.
            hooks: what runs before writes and after reads.
            numbers: where items that lack a number get one.
            fence: returns the check of a lease that goes with each write; None where none does.
        """
        self.executor = executor
        self.context = context
        self.hooks = hooks
        self._numbers: Final = numbers
        self._fence: Final = fence

    @cached_property
    def writes(self) -> Writes:
        """Carries out writes."""
        from dynamap_async.session.writes import FencedWrites, Writes

        joined = (self.executor, self.context, self.hooks, self._numbers)
        return Writes(*joined) if self._fence is None else FencedWrites(*joined, self._fence)

    @cached_property
    def reads(self) -> PageReads:
        """Reads pages."""
        from dynamap_async.session.stream import PageReads

        return PageReads(self.executor, self.context, self.hooks)

    @cached_property
    def statements(self) -> StatementCalls:
        """Carries out statements."""
        from dynamap_async.session.bound_statement import StatementCalls

        return StatementCalls(self.executor, self.context, self.hooks, fenced=self._fence is not None)

    def without_hooks(self) -> Runner:
        """Return a runner that shares everything with this one and runs no hooks."""
        return Runner(self.executor, self.context, SessionHooks(off=True), self._numbers, self._fence)

    def execute(self, operation: Operation[R], /) -> Coroutine[Any, Any, R]:
        """Carry out an operation and return its result.

        Args:
            operation: what to do.
        """
        asked: Any = operation  # whose result is what its class says
        match cast("object", operation):
            case Get() | Find():  # first, so that a program that only reads loads no other class
                return self._single(asked)
            case operations.Write():
                return self.writes.write(asked)
            case operations.Transact() | operations.ThenGet():
                return self._transact(asked)
            case SingleRequest():
                return self._single(asked)
            case operations.Statement() | operations.Statements():
                return self.statements.carry_out(asked)
            case operations.Count():
                return cast("Coroutine[Any, Any, R]", self.reads.count(asked))
            case operations.PagedOperation():
                return self.reads.read(asked)
            case _:
                raise OperationError(f"{asked!r} is not an operation; write Get(...), Put(...), Query(...) and so on")

    async def _single(self, operation: SingleRequest[R]) -> R:
        # What ``results.send`` does, at one call less for each read (benchmarks: get_one).
        request = operation.request(self.context)
        try:
            response = await self.executor.send(request)
        except ServiceError as error:
            explain(operation, error)
        result = result_of(operation, request, response, self.context)
        if self.hooks.follow(read := operation.read(result)):
            await self.hooks.read(read)
        return result

    async def _transact(self, operation: Transact[Any] | ThenGet[Any]) -> Any:
        if isinstance(operation, operations.ThenGet):
            await self._transact(operation.write)
            return await self.execute(operation.get())
        if not operation.parts:
            return operation.nothing()
        if isinstance(operation, operations.TransactWrite):
            return await self.writes.transact(operation)
        return await self._single(operation)
