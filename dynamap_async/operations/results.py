"""Results: the operations that a query or scan can end in, beside the list of its items."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from dynamap_async.errors import ItemNotFoundError, MultipleItemsFoundError, OperationError
from dynamap_async.operations.operation import Operation
from dynamap_async.planning import Context, Reading, ReadSpec, plan_reading, positive, resume, revised
from dynamap_async.request import Position

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)  # with slots too, Page[Tweet](...) raises TypeError before Python 3.13
class Page(Generic[T_co]):
    """One page of a query's result."""

    items: list[T_co]
    """The items, in the query's order."""
    cursor: str | None
    """Opaque text to go on from, for ``page(after=...)``; None after the last item."""


class Paged(Operation[R_co]):
    """An operation of one or more requests, each for the next page."""

    __slots__ = ("spec",)

    def __init__(self, spec: ReadSpec) -> None:
        self.spec: ReadSpec = spec
        """What is read."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.spec})"

    def reading(self, context: Context) -> Reading[Any]:
        """Return the planned requests."""
        return plan_reading(self.spec, context)


class PagedOperation(Paged[R_co]):
    """One whose result is made of the items of all pages."""

    __slots__ = ()

    @abstractmethod
    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R_co:
        """Return the result, made of the items that were read and the position after the last."""
        raise NotImplementedError


@final
class PageOf(PagedOperation[Page[R]], Generic[R]):
    """One page of a query."""

    __slots__ = ("_after",)

    def __init__(self, spec: ReadSpec, size: int, after: str | None) -> None:
        if spec.limit is not None:
            raise OperationError(f"page(size={size}) says how many items; drop .limit({spec.limit})")
        if spec.segments is not None:
            raise OperationError(
                f"a page has one position and a scan in segments has {spec.segments:,}; drop .segments(), or stream it "
                "and keep stream.checkpoint() for .resume()"
            )
        super().__init__(revised(spec, limit=positive(size, "page(size=...)")))
        self._after = after

    def reading(self, context: Context) -> Reading[Any]:
        """Return the requests from the cursor on.

        Raises:
            CursorError: the cursor is of another query.
        """
        return resume(plan_reading(self.spec, context), self._after)

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> Page[R]:
        """Return the page, with the cursor of the next."""
        return Page(items, reading.cursor(position))


@final
class Count(Paged[int]):
    """The number of items of a query. Its cost is that of reading them."""

    __slots__ = ()

    def reading(self, context: Context) -> Reading[Any]:
        """Return the requests, which bring back counts only."""
        return plan_reading(self.spec, context, counting=True)


@final
class First(PagedOperation[R | None], Generic[R]):
    """The first item of a query, or None."""

    __slots__ = ()

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R | None:
        """Return the first item."""
        item: R | None = items[0] if items else None
        return item


@final
class OneOrNone(PagedOperation[R | None], Generic[R]):
    """The only item of a query, or None."""

    __slots__ = ()

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R | None:
        """Return the only item.

        Raises:
            MultipleItemsFoundError: there are more.
        """
        item: R | None = _only(items, self.spec)
        return item


@final
class One(PagedOperation[R], Generic[R]):
    """The only item of a query."""

    __slots__ = ()

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> R:
        """Return the only item.

        Raises:
            ItemNotFoundError: there is none.
            MultipleItemsFoundError: there are more.
        """
        item: R | None = _only(items, self.spec)
        if item is None:
            model = self.spec.name
            raise ItemNotFoundError(f"no {model} fits the query; one_or_none() gives None instead", model=model)
        return item


def _only(items: list[Any], spec: ReadSpec) -> Any:
    if len(items) > 1:
        model = spec.name
        raise MultipleItemsFoundError(f"more than one {model} fits the query; first() gives the first", model=model)
    return items[0] if items else None
