"""The runner: carries an operation through the executor. What the session and its bound queries share."""

from typing import Any, TypeVar, cast

from dynamap_async.errors import ItemValidationError, OperationError
from dynamap_async.executor import Executor, MergedPages, Pages, SegmentPages
from dynamap_async.operations import Context, Count, Operation, PagedOperation, Query, Reading, SingleRequest, Write
from dynamap_async.request import Position
from dynamap_async.session.stream import ItemStream, PageDecoding
from dynamap_async.session.writing import Writing, send

R = TypeVar("R")
M = TypeVar("M")
ItemT = TypeVar("ItemT")


class Runner:
    """An executor, and what a session adds to each operation."""

    def __init__(self, executor: Executor, context: Context) -> None:
        self.executor = executor
        self.context = context
        self.writing = Writing(executor, context)

    async def execute(self, operation: Operation[R], /) -> R:
        """Carry out an operation and return its result."""
        if isinstance(operation, Write):
            return await self.writing.write(operation)
        if isinstance(operation, SingleRequest):
            return await send(self.executor, self.context, operation)
        if isinstance(operation, Count):
            return cast("R", await self._count(operation))  # R is int here, which no checker concludes
        if isinstance(operation, PagedOperation):
            return await self._read(operation)
        raise OperationError(f"{operation!r} is not an operation; write Get(...), Put(...), Query(...) and so on")

    def stream(self, query: Query[M, ItemT]) -> ItemStream[ItemT]:
        """Return the items of a query as they arrive."""
        reading = query.reading(self.context)
        return ItemStream(self._pages(reading), reading.decode, checkpoint=reading.checkpoint)

    def _pages(self, reading: Reading[Any], *, counting: bool = False) -> Pages | MergedPages | SegmentPages:
        if reading.branches and not counting:
            return self.executor.merged_pages(reading, want=reading.want, begin=reading.begin)
        if reading.total:
            return self.executor.segment_pages(reading, want=reading.want, begin=reading.begin)
        want = 0 if reading.exhausted else reading.want
        return self.executor.pages(reading.request, reading.position, want=want, start=reading.start)

    async def _read(self, operation: PagedOperation[R]) -> R:
        reading = operation.reading(self.context)
        pages = self._pages(reading)
        items: list[Any] = []
        position: Position | None = None
        try:
            while not pages.ended:
                page = await pages.next_page()
                items += await PageDecoding(reading.decode, page.items).finish()
                position = page.position
        except ItemValidationError as error:
            raise ItemValidationError.of_call(error.failures, [*items, *error.items]) from error.validation_error
        finally:
            await pages.aclose()
        return operation.finish(items, position, reading)

    async def _count(self, operation: Count) -> int:
        pages = self._pages(operation.reading(self.context), counting=True)  # a count has no order
        total = 0
        try:
            while not pages.ended:
                total += (await pages.next_page()).count
        finally:
            await pages.aclose()
        return total
