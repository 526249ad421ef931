"""Row streams: a query's rows one by one, one page ahead, ended by ``aclose``, by ``async with``, or by dropping it."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, Self, TypeVar

import anyio

from dynamap_async.errors import ItemValidationError, SessionStateError
from dynamap_async.executor import Pages
from dynamap_async.wire import WireItem

Row = TypeVar("Row")

_SLICE_ITEMS: Final = 32
_SLICE_SECONDS: Final = 0.002


async def decode_in_slices(
    decode: Callable[[Sequence[WireItem]], list[Row]], items: Sequence[WireItem]
) -> list[Row]:
    """Return the rows of a page, letting other tasks run about every 2 ms: a 1 MB page takes ten times that.

    Raises:
        ItemValidationError: items do not fit; the error carries all rows of the page that do.
    """
    if len(items) <= _SLICE_ITEMS:
        return decode(items)
    rows: list[Row] = []
    failures: list[ItemValidationError] = []
    since = time.perf_counter()
    for begin in range(0, len(items), _SLICE_ITEMS):
        if time.perf_counter() - since > _SLICE_SECONDS:
            await anyio.sleep(0)
            since = time.perf_counter()
        try:
            rows += decode(items[begin : begin + _SLICE_ITEMS])
        except ItemValidationError as error:
            rows += error.items
            failures += error.failures
    if failures:
        raise with_rows(failures[0], rows, failures)
    return rows


def with_rows(
    error: ItemValidationError, rows: Sequence[Any], failures: Sequence[ItemValidationError]
) -> ItemValidationError:
    """Return the error with everything that its call did read."""
    return ItemValidationError(
        str(error),
        model=error.model,
        key=error.key,
        item=error.item,
        validation_error=error.validation_error,
        items=rows,
        failures=failures,
    )


class RowStream(Generic[Row]):
    """An asynchronous iterator over the rows of a query.

    It is an object and not a generator: leaving a loop early drops it, which ends the request that is under way at
    once. ``async with query.stream() as rows`` ends it at a place that you can see.
    """

    def __init__(self, pages: Pages, decode: Callable[[Sequence[WireItem]], list[Row]]) -> None:
        self._pages = pages
        self._decode = decode
        self._rows: deque[Row] = deque()
        self._advancing = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Row:
        """Return the next row.

        Raises:
            ItemValidationError: an item does not fit the model. The error carries the rest of its page, and the next
                call goes on with the page after it.
            ServiceError: DynamoDB refused the request of a page; the next call asks for the same page again.
            TransportError: no answer came; the next call asks for the same page again.
        """
        if self._advancing:
            raise SessionStateError("two tasks take rows from one stream at once; give each task a stream of its own")
        self._advancing = True
        try:
            while not self._rows:
                if self._pages.ended:
                    raise StopAsyncIteration
                page = await self._pages.next_page()
                self._rows.extend(await decode_in_slices(self._decode, page.items))
            return self._rows.popleft()
        finally:
            self._advancing = False

    async def aclose(self) -> None:
        """End the stream; no request is under way afterwards."""
        self._rows.clear()
        self._pages.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()
