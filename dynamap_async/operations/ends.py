"""What queries, scans and entity collections have in common: the results that they can end in."""

from typing import Any, Generic, Self

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.operations.operation import Operation
from dynamap_async.operations.refining import Refinable
from dynamap_async.operations.results import Count, First, One, OneOrNone, Page, PagedOperation, PageOf
from dynamap_async.planning import Context, Reading, ReadSpec, revised
from dynamap_async.request import Position

M = TypeVar("M")
ItemT = TypeVar("ItemT", default=M)


class Reads(Refinable[M], PagedOperation[list[ItemT]], Generic[M, ItemT]):
    """What queries and scans have in common: the results that they can end in."""

    __slots__ = ()

    spec: ReadSpec

    @property
    def _spec(self) -> ReadSpec:
        return self.spec

    @property
    def _context(self) -> Context:
        return Context()

    def _with(self, spec: ReadSpec) -> Self:
        return type(self).of(spec)

    @classmethod
    def of(cls, spec: ReadSpec) -> Self:
        """Return the query that asks what a spec says."""
        query = object.__new__(cls)
        query.spec = spec
        return query

    def finish(self, items: list[Any], position: Position | None, reading: Reading[Any]) -> list[ItemT]:
        """Return the items."""
        return items

    def page(self, *, size: int, after: str | None = None) -> Operation[Page[ItemT]]:
        """Return the operation that reads one page of exactly ``size`` items, or fewer at the end."""
        page: PageOf[ItemT] = PageOf(self.spec, size, after)
        return page

    def count(self) -> Operation[int]:
        """Return the operation that counts the items, up to the limit if there is one."""
        return Count(self.spec)

    def first(self) -> Operation[ItemT | None]:
        """Return the operation that reads the first item, or None."""
        return First(revised(self.spec, limit=1))

    def one(self) -> Operation[ItemT]:
        """Return the operation that reads the only item, and raises if there is none or more than one."""
        return One(revised(self.spec, limit=min(self.spec.limit or 2, 2)))

    def one_or_none(self) -> Operation[ItemT | None]:
        """Return the operation that reads the only item or None, and raises if there is more than one."""
        return OneOrNone(revised(self.spec, limit=min(self.spec.limit or 2, 2)))
