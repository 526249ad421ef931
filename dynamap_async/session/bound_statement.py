"""PartiQL statements in a session: one to be awaited or iterated over, and several in one request."""

from __future__ import annotations

import warnings
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Final, Generic

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.errors import (
    BatchError,
    CapacityBudgetExceededError,
    ItemFailure,
    ItemValidationError,
    OperationError,
    ServiceError,
)
from dynamap_async.errors.habits import IteratedByAsyncFor
from dynamap_async.executor import BoundCoroutine, Executor, Pages
from dynamap_async.models import AfterRead, Model
from dynamap_async.operations import Statement, Statements
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.session.hooks import SessionHooks, run_on_each
from dynamap_async.session.results import decoder
from dynamap_async.session.stream import Decode, ItemStream, PageDecoding, page_pace
from dynamap_async.transport import statement_error
from dynamap_async.wire import WireItem, WireKey

ItemT = TypeVar("ItemT", default=dict[str, Any])


class BoundStatement(IteratedByAsyncFor, BoundCoroutine[list[ItemT]], Generic[ItemT]):
    """A statement that belongs to a session.

    Awaiting it gives a list of all that it brings back; ``async for`` streams it with one page fetched ahead. It is a
    coroutine to asyncio, so ``create_task``, ``TaskGroup`` and ``gather`` take it as it is. One that writes is awaited
    once, and warns when it is dropped without, as a coroutine does.
    """

    __slots__ = ("_begun", "_context", "_executor", "_hooks", "_settled", "statement")

    def __init__(self, executor: Executor, context: Context, hooks: SessionHooks, statement: Statement[ItemT]) -> None:
        """Create a statement of a session.

        Args:
            executor: sends requests.
            context: what the session adds to each operation.
            hooks: what runs after a read.
            statement: what is asked.
        """
        super().__init__()
        self._begun = False
        self._settled = not statement.writes  # nothing is lost with a read that nobody awaits
        self._executor = executor
        self._context = context
        self._hooks = hooks
        self.statement: Statement[ItemT] = statement
        """What is asked."""

    def __repr__(self) -> str:
        return f"<BoundStatement {self.statement}>"

    def _run(self) -> Coroutine[Any, Any, list[ItemT]]:
        if self._begun and self.statement.writes:
            raise RuntimeError(f"{self!r} was awaited before; write a new one")
        self._settled = self._begun = True
        return self._all()

    def close(self) -> None:
        """End it as a coroutine; for event loops."""
        self._settled = True
        super().close()

    async def _all(self) -> list[ItemT]:
        pages, decode = self._pages(), self._decode
        items: list[ItemT] = []
        pace = page_pace()
        try:
            while not pages.ended:
                decoding = PageDecoding(decode, (await pages.next_page()).items, pace)
                items += await decoding.finish()
        except ServiceError as error:
            failure = self.statement.failed(error)
            raise failure from (None if failure is error else error)
        except ItemValidationError as error:
            raise ItemValidationError.of_call(error.failures, [*items, *error.items]) from error.validation_error
        except CapacityBudgetExceededError as error:
            error.items = tuple(items)
            raise
        finally:
            await pages.aclose()
        if hooks := self._after_read():
            await run_on_each(hooks, items)
        return items

    def __aiter__(self) -> ItemStream[ItemT]:
        return self.stream()

    def stream(self) -> ItemStream[ItemT]:
        """Return the items as an asynchronous iterator that is also a context manager.

        Raises:
            OperationError: the statement writes, so it is awaited and not iterated over.
            SessionStateError: the session is not open.
        """
        if self.statement.writes:
            raise OperationError(f"{self.statement.text!r} writes, so it cannot be iterated over; await it")
        return ItemStream(self._pages(), self._decode, checkpoint=_no_checkpoint, hooks=self._after_read())

    def _pages(self) -> Pages:
        statement = self.statement
        return self._executor.pages(
            partial(statement.request, self._context),
            _no_position,
            want=statement.limit,
            start=None,
            answer_filter=statement.page_of,
        )

    @property
    def _decode(self) -> Decode[ItemT]:
        return decoder(self.statement.decode, partial(self.statement.request, self._context))

    def _after_read(self) -> Sequence[AfterRead]:
        model = self.statement.model
        return () if model is None else self._hooks.after(model)

    def __del__(self) -> None:
        if not getattr(self, "_settled", True):
            warnings.warn(f"{self!r} was never awaited", RuntimeWarning, stacklevel=1, source=self)


class StatementCalls:
    """Carries out statements, those that are not bound to a session too."""

    def __init__(self, executor: Executor, context: Context, hooks: SessionHooks, *, fenced: bool) -> None:
        """Create what carries out a session's statements.

        Args:
            executor: sends requests.
            context: what the session adds to each operation.
            hooks: what runs after reads.
            fenced: whether a fence goes with all writes, which it cannot with a statement.
        """
        self._fenced: Final = fenced
        self._executor: Final = executor
        self._context: Final = context
        self._hooks: Final = hooks

    def bound(self, statement: Statement[ItemT]) -> BoundStatement[ItemT]:
        """Return a statement that is ready to be awaited or iterated over."""
        self._check(statement)
        return BoundStatement(self._executor, self._context, self._hooks, statement)

    async def carry_out(self, operation: Statement[Any] | Statements[Any]) -> Any:
        """Carry out one statement, or several in one request."""
        if isinstance(operation, Statement):
            return await self.bound(operation)
        self._check(operation)
        if not operation.statements:
            return []
        request = operation.request(self._context)
        responses = (await self._executor.send(request))["Responses"]
        results: list[Any] = []
        failures: list[ItemFailure] = []
        for position, (statement, response) in enumerate(zip(operation.statements, responses, strict=True)):
            error, found = statement_error(request, response), None
            if error is not None:
                failures.append(ItemFailure(position, statement, statement.failed(error)))
            else:
                try:
                    found = await self._item_of(statement, request, response.get("Item"))
                except ItemValidationError as invalid:
                    failures.append(ItemFailure(position, statement, invalid))
            results.append(found)
        if failures:
            raise BatchError(failures, total=len(results), results=results)
        return results

    def _check(self, statement: Statement[Any] | Statements[Any]) -> None:
        if statement.writes and self._fenced:
            raise OperationError(f"{statement!r} writes, and a lease cannot protect it; use put, update or delete")

    async def _item_of(self, statement: Statement[Any], request: Request, item: WireItem | None) -> Any:
        """Return the item that a statement brought back, after its hooks; None if it brought none."""
        if not item:
            return None
        [found] = decoder(statement.decode, lambda: request)([item])
        if isinstance(found, Model):
            await self._hooks.read((found,))
        return found


def _no_position(_item: WireItem) -> WireKey:
    """Return nothing: where a limit ends a statement's result, nobody goes on from there."""
    return {}


def _no_checkpoint(_positions: object) -> str:
    raise OperationError("a statement has no checkpoint")
