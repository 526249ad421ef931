"""Entity collections bound to a session."""

from typing import Any, Generic, Literal, TypeVar, final, overload

from dynamap_async.operations import with_unknown
from dynamap_async.planning import Grouped, Invalid, InvalidItem, Unknown, UnknownItem, with_invalid
from dynamap_async.session.bound_reads import BoundReads

M = TypeVar("M")
ItemT = TypeVar("ItemT")


@final
class BoundCollection(BoundReads[M, ItemT], Generic[M, ItemT]):
    """A query on several models of a shared table that belongs to a session.

    Awaiting it gives a list of instances, each of its own class, in the order of the sort key; ``async for`` streams
    them with one page fetched ahead. See ``Collection``.
    """

    __slots__ = ()

    @overload
    def unknown(self, become: Literal["raw"], /) -> "BoundCollection[M, ItemT | UnknownItem]": ...
    @overload
    def unknown(self, become: Literal["error", "skip"], /) -> "BoundCollection[M, ItemT]": ...
    def unknown(self, become: Unknown, /) -> "BoundCollection[Any, Any]":
        """Return the query that does something else with items of no known model than to raise ItemKindError.

        Args:
            become: ``"skip"`` has DynamoDB leave them out, ``"raw"`` gives them as ``UnknownItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return BoundCollection[Any, Any](self._runner, with_unknown(self.spec, become))

    @overload
    def invalid(self, become: Literal["raw"], /) -> "BoundCollection[M, ItemT | InvalidItem]": ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> "BoundCollection[M, ItemT]": ...
    def invalid(self, become: Invalid, /) -> "BoundCollection[Any, Any]":
        """Return the query that does something else with items that do not fit their model than to raise an error.

        Items of a shared table that are of another model, or of none that is known, count as well.

        Args:
            become: ``"skip"`` leaves them out and tells observers their keys (``InvalidItemsSkipped``); other items are
                read in their places, so that limits and pages are full. ``"raw"`` gives each as an ``InvalidItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(with_invalid(self.spec, become))

    async def grouped(self) -> Grouped:
        """Read the items and return them by model: ``(await collection.grouped())[Order]`` is a list of orders."""
        return Grouped(await self)
