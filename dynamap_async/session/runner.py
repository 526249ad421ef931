"""The runner: carries an operation through the executor. What the session and its bound queries share."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

from dynamap_async.errors import (
    BatchError,
    CapacityBudgetExceededError,
    ItemFailure,
    ItemValidationError,
    OperationError,
    ServiceError,
)
from dynamap_async.executor import CompletedPages, Executor, MergedPages, Pages, SegmentPages
from dynamap_async.models import AfterRead, Model, definition_of
from dynamap_async.operations import (
    Count,
    Operation,
    PagedOperation,
    PageOf,
    Reads,
    SingleRequest,
    Statement,
    Statements,
    ThenGet,
    Transact,
    TransactWrite,
    Write,
)
from dynamap_async.planning import Context, InvalidItem, Reading, ReadSpec, both_filters
from dynamap_async.request import Position, Request
from dynamap_async.session.bound_statement import BoundStatement
from dynamap_async.session.counter_numbers import Numbers
from dynamap_async.session.hooks import SessionHooks, run_on_each
from dynamap_async.session.results import decoder, explain, readable, result_of
from dynamap_async.session.stream import ItemStream, PageDecoding, page_pace
from dynamap_async.session.writes import Fence, FencedWrites, Writes
from dynamap_async.transport import statement_error
from dynamap_async.wire import Body, WireItem, WireKey

R = TypeVar("R")
M = TypeVar("M")
ItemT = TypeVar("ItemT")


AnyPages: TypeAlias = Pages | MergedPages | SegmentPages | CompletedPages

Way: TypeAlias = Callable[[Any], Coroutine[Any, Any, Any]]
"""How operations of one class are carried out."""


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
        """Join what operations need.

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
        self.writes: Writes = (
            Writes(executor, context, hooks, numbers)
            if fence is None
            else FencedWrites(executor, context, hooks, numbers, fence)
        )
        self._numbers: Final = numbers
        self._fence: Final = fence
        self._ways: Final[dict[type, Way]] = {}

    def without_hooks(self) -> Runner:
        """Return a runner that shares everything with this one and runs no hooks."""
        return Runner(self.executor, self.context, SessionHooks(off=True), self._numbers, self._fence)

    def execute(self, operation: Operation[R], /) -> Coroutine[Any, Any, R]:
        """Carry out an operation and return its result."""
        way = self._ways.get(type(operation)) or self._way_of(operation)
        return way(operation)

    def _way_of(self, operation: Operation[Any]) -> Way:
        """Return how operations of a class are carried out; that is found out once for each class."""
        ways: tuple[tuple[Any, Way], ...] = (
            (Write, self.writes.write),
            ((Transact, ThenGet), self._transact),
            (SingleRequest, self._single),
            ((Statement, Statements), self._state),
            (Count, self._count),
            (PagedOperation, self._read),
        )
        for kinds, way in ways:
            if isinstance(operation, kinds):
                self._ways[type(operation)] = way
                return way
        raise OperationError(f"{operation!r} is not an operation; write Get(...), Put(...), Query(...) and so on")

    def statement(self, statement: Statement[ItemT]) -> BoundStatement[ItemT]:
        """Return a statement that is ready to be awaited or iterated over."""
        self._check_statement(statement)
        return BoundStatement(self.executor, self.context, self.hooks, statement)

    async def _state(self, operation: Statement[Any] | Statements[Any]) -> Any:
        if isinstance(operation, Statement):
            return await self.statement(operation)
        self._check_statement(operation)
        if not operation.statements:
            return []
        request = operation.request(self.context)
        responses = (await self.executor.send(request))["Responses"]
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

    def _check_statement(self, statement: Statement[Any] | Statements[Any]) -> None:
        if statement.writes and not self.writes.shares_calls:
            raise OperationError(f"{statement!r} writes, and no fence can go with it; write put, update or delete")

    async def _item_of(self, statement: Statement[Any], request: Request, item: WireItem | None) -> Any:
        """Return the item that a statement brought back, after its hooks; None if it brought none."""
        if not item:
            return None
        [found] = decoder(statement.decode, lambda: request)([item])
        if isinstance(found, Model):
            await self.hooks.read((found,))
        return found

    async def _single(self, operation: SingleRequest[R]) -> R:
        # What ``send`` does, at one call less for each read (benchmarks: get_one).
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
        if isinstance(operation, ThenGet):
            await self._transact(operation.write)
            return await self.execute(operation.get())
        if not operation.parts:
            return operation.nothing()
        if isinstance(operation, TransactWrite):
            return await self.writes.transact(operation)
        return await self._single(operation)

    def stream(self, query: Reads[M, ItemT]) -> ItemStream[ItemT]:
        """Return the items of a query as they arrive."""
        reading = query.reading(self.context)
        hooks = self._after_read(query.spec)
        pages = self._pages(reading, eager=False)
        skip = partial(self._skip, pages, reading) if query.spec.invalid == "skip" else None
        decode = decoder(reading.decode, _request_of(reading))
        return ItemStream(pages, decode, checkpoint=reading.checkpoint, hooks=hooks, skip=skip)

    def _skip(self, pages: AnyPages, reading: Reading[Any], items: Sequence[Any]) -> list[Any]:
        """Return the valid items of a page; as many more are read as were left out."""
        skipped = [item for item in items if isinstance(item, InvalidItem)]
        if not skipped:
            return list(items)
        pages.want_more(len(skipped))
        plan, keys = reading.plan, [(item.error.model, item.key) for item in skipped]
        self.executor.skipped(plan.table, plan.index, keys)
        return [item for item in items if not isinstance(item, InvalidItem)]

    def _pages(self, reading: Reading[Any], *, eager: bool) -> AnyPages:
        """Return the pages of a read; ``eager`` if all of its items are certain to be taken."""
        pages = self._plain_pages(reading)
        completion = reading.completion
        if completion is None:
            return pages
        read = _request_of(reading)
        return CompletedPages(
            pages,
            self.executor.submit,
            readable(completion.request, read, lambda entry: (entry,)),
            readable(completion.item, read, lambda answer: filter(None, (answer.get("Item"),))),
            unwanted_ended=self.executor.unwanted_ended,
            eager=eager,
        )

    def _plain_pages(self, reading: Reading[Any], *, counting: bool = False) -> Pages | MergedPages | SegmentPages:
        filters: dict[str, Any] = {"answer_filter": reading.answer_filter, "missing": reading.missing}
        want = 0 if reading.exhausted else reading.want
        if reading.branches and not counting:
            in_turn = reading.plan.in_turn and want is not None
            return self.executor.merged_pages(reading, want=want, begin=reading.begin, in_turn=in_turn, **filters)
        if reading.total:
            return self.executor.segment_pages(reading, want=want, begin=reading.begin, **filters)
        return self.executor.pages(reading.request, reading.position, want=want, start=reading.start, **filters)

    def _after_read(self, spec: ReadSpec) -> tuple[AfterRead, ...]:
        """Return the hooks that follow a read; none where it gives out no instances of a ``Model``."""
        given = spec.model if spec.selected is None else spec.target
        if given is None or not issubclass(given, Model):
            return ()
        # Those that look at each item's own model pass over items that are none.
        if given is spec.model and (spec.invalid == "raw" or definition_of(spec.model).kinds is not None):
            return self.hooks.after_each(spec.read_models)
        return self.hooks.after_each((given,)) if spec.invalid == "raw" else self.hooks.after(given)

    async def _read(self, operation: PagedOperation[R]) -> R:
        reading, skips = operation.reading(self.context), operation.spec.invalid == "skip"
        bounds, asked = None, cast("object", operation)  # or checkers would narrow the type of the result, too
        if isinstance(asked, PageOf) and asked.is_bounded:
            bounds = ReadBounds(asked.max_pages, asked.max_read_units)
            reading = replace(reading, answer_filter=both_filters(reading.answer_filter, bounds))
        pages = self._pages(reading, eager=True)
        decode, items = decoder(reading.decode, _request_of(reading)), list[Any]()
        position: Position | None = None
        pace = page_pace()
        try:
            while not pages.ended:
                page = await pages.next_page()
                position, decoding = page.position, PageDecoding(decode, page.items, pace)
                del page  # so that its items go as they are decoded
                found = await decoding.finish()
                items += self._skip(pages, reading, found) if skips else found
        except ItemValidationError as error:
            raise ItemValidationError.of_call(error.failures, [*items, *error.items]) from error.validation_error
        except CapacityBudgetExceededError as error:
            if isinstance(pages, MergedPages):
                found = await PageDecoding(decode, pages.unsorted(), pace).finish()
                items += self._skip(pages, reading, found) if skips else found
            error.items = tuple(items)
            raise
        finally:
            await pages.aclose()
        if hooks := self._after_read(operation.spec):
            await run_on_each(hooks, items)
        if bounds is not None and position is None:
            position = bounds.position
        return operation.finish(items, position, reading)

    async def _count(self, operation: Count) -> int:
        pages = self._plain_pages(operation.reading(self.context), counting=True)  # a count has no order
        total = 0
        try:
            while not pages.ended:
                total += (await pages.next_page()).count
        finally:
            await pages.aclose()
        return total


def _request_of(reading: Reading[Any]) -> Callable[[], Request]:
    """Return what makes the first request of a read, for errors that name it."""
    return partial(reading.request, None, None)


class ReadBounds:
    """Counts the answers of one read, and takes the last one that is allowed for the end of the data.

    No request is under way then that nobody will pay for: the page after an answer is asked for only where it has one.
    """

    def __init__(self, max_pages: int | None, max_read_units: float | None) -> None:
        """Count from here on.

        Args:
            max_pages: how many requests there may be; None for any number.
            max_read_units: how many read units may be spent before another request is sent; None for any number.
        """
        self._pages_left: float = math.inf if max_pages is None else max_pages
        self._units_left: float = math.inf if max_read_units is None else max_read_units
        self._counts_units: Final = max_read_units is not None
        self.position: WireKey | None = None
        """Where the data goes on, if the read ended before that."""

    def __call__(self, answer: Body) -> Body:
        """Return an answer, without the position of the next page where no further one is allowed.

        Args:
            answer: it.
        """
        self._pages_left -= 1
        if self._counts_units:
            report: object = answer.get("ConsumedCapacity")
            consumed = cast("dict[str, Any]", report) if isinstance(report, dict) else {}
            # What an engine does not report may be anything, so that nothing more is spent.
            self._units_left -= consumed.get("CapacityUnits", math.inf)
        if self._pages_left > 0 and self._units_left > 0:
            return answer
        self.position = answer.get("LastEvaluatedKey") or None
        return {name: value for name, value in answer.items() if name != "LastEvaluatedKey"}
