"""Entity collections: the items of several models, read together from one partition of a shared table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from dynamap_async.errors import OperationError
from dynamap_async.models import Model, Table, Unmarked, decode_mixed, definition_of, kind_error
from dynamap_async.wire import WireItem

E = TypeVar("E")

Unknown: TypeAlias = Literal["error", "skip", "raw"]
"""What becomes of an item of no known model: it is an error, left out, or given as it is stored."""


@dataclass(frozen=True, slots=True)
class UnknownItem:
    """An item of a shared table that is of no known model, as it is stored."""

    kind: str | None
    """The kind that is stored with it; None where there is none, or it is no text."""
    wire_item: WireItem
    """The item, in wire form."""


class Grouped:
    """The items of an entity collection by model, each group in the order in which they came.

    ``Grouped(page.items)[Order]`` is a list of orders, empty where there is none; that of a base class has the items
    of its subclasses too.
    """

    __slots__ = ("items",)

    def __init__(self, items: Iterable[Any], /) -> None:
        self.items: tuple[Any, ...] = tuple(items)
        """All items, in order."""

    def __repr__(self) -> str:
        counts: dict[str, int] = {}
        for item in self.items:
            name = type(item).__name__
            counts[name] = counts.get(name, 0) + 1
        return f"Grouped({', '.join(f'{name}: {count}' for name, count in counts.items())})"

    def __getitem__(self, model: type[E], /) -> list[E]:
        """Return the items that are instances of a class."""
        return [item for item in self.items if isinstance(item, model)]


def checked_collection(models: Sequence[type[Model]]) -> tuple[type[Model], ...]:
    """Return the models of an entity collection.

    Raises:
        OperationError: they do not share one table, one is named twice, or they disagree on hiding expired items.
    """
    names = ", ".join(model.__name__ for model in models)
    definitions = [definition_of(model) for model in models]
    tables = {None if each.kinds is None else each.kinds.table for each in definitions}
    if len(tables) > 1 or None in tables:
        raise OperationError(
            f"{names} do not share one Table, so no query reads them together; declare SHOP = Table(...) and "
            "class ...(Model, table=SHOP) for each, or send a query for each with session.gather(...)"
        )
    if len(set(models)) < len(models):
        raise OperationError(f"the query on {names} names a model twice; name each once")
    if len({None if each.expiry is None else each.expiry.stored for each in definitions}) > 1:
        raise OperationError(
            f"some of {names} hide expired items and others do not, and one query does either; give all of them "
            "hide_expired=True, or query them apart"
        )
    return tuple(models)


class CollectionDecoder:
    """Decodes items of several models of a shared table, each as its own."""

    def __init__(self, models: Sequence[type[Model]], unknown: Unknown) -> None:
        first = definition_of(models[0])
        assert first.kinds is not None, f"{models[0]} shares no table"  # noqa: S101 - checked_collection was asked
        self._table: Table = first.kinds.table
        self._models = tuple(models)
        self._unknown = unknown
        self._key = first.items.shown_key

    def __call__(self, items: Sequence[WireItem]) -> list[Any]:
        """Return the instances of wire items.

        Raises:
            ItemKindError: an item is of none of the models; the error carries the others.
            ItemValidationError: an item does not fit its model; the error carries those that do.
        """
        return decode_mixed(items, [self._way(item) for item in items])

    def _way(self, item: WireItem) -> Any:
        kind = self._table.kind_of(item)
        model = None if kind is None else self._table.models.get(kind)
        if model is not None and issubclass(model, self._models):
            return definition_of(model).items
        if self._unknown == "raw":
            return UnknownItem(None if kind is None or isinstance(kind, Unmarked) else kind, item)
        return kind_error(self._table, item, self._key(item), [each.__name__ for each in self._models])
