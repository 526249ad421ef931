"""The runner: carries an operation through the executor. What the session and its bound queries share."""

from typing import Any, TypeVar

from dynamap_async.errors import ItemValidationError, OperationError
from dynamap_async.executor import Executor, Pages
from dynamap_async.operations import Context, Count, Operation, PagedOperation, Query, Reading, SingleRequest
from dynamap_async.session.stream import RowStream, decode_in_slices, with_rows

R = TypeVar("R")
M = TypeVar("M")
Row = TypeVar("Row")


class Runner:
    """An executor, and what a session adds to each operation."""

    def __init__(self, executor: Executor, context: Context) -> None:
        self.executor = executor
        self.context = context

    async def execute(self, operation: Operation[R], /) -> R:
        """Carry out an operation and return its result."""
        if isinstance(operation, SingleRequest):
            response = await self.executor.send(operation.request(self.context))
            return operation.result(response)
        if isinstance(operation, Count):
            return await self._count(operation)  # type: ignore[return-value]  # R is int here
        if isinstance(operation, PagedOperation):
            return await self._read(operation)
        raise OperationError(f"{operation!r} is not an operation; write Get(...), Put(...), Query(...) and so on")

    def stream(self, query: Query[M, Row]) -> RowStream[Row]:
        """Return the rows of a query as they arrive."""
        reading = query.reading(self.context)
        return RowStream(self._pages(reading), reading.decode)

    def _pages(self, reading: Reading[Any]) -> Pages:
        want = 0 if reading.exhausted else reading.want
        return self.executor.pages(reading.request, reading.position, want=want, start=reading.start)

    async def _read(self, operation: PagedOperation[R]) -> R:
        reading = operation.reading(self.context)
        pages = self._pages(reading)
        rows: list[Any] = []
        position = None
        try:
            while not pages.ended:
                page = await pages.next_page()
                rows += await decode_in_slices(reading.decode, page.items)
                position = page.position
        except ItemValidationError as error:
            raise with_rows(error, [*rows, *error.items], error.failures) from error.validation_error
        finally:
            pages.close()
        return operation.finish(rows, position, reading)

    async def _count(self, operation: Count) -> int:
        pages = self._pages(operation.reading(self.context))
        total = 0
        try:
            while not pages.ended:
                total += (await pages.next_page()).count
        finally:
            pages.close()
        return total
