"""What becomes of stored items that do not fit their model: they are an error, left out, or given as they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dynamap_async.errors import ItemValidationError
from dynamap_async.wire import WireItem

Invalid: TypeAlias = Literal["error", "skip", "raw"]
"""What becomes of an item that does not fit its model: it is an error, left out, or given as an ``InvalidItem``."""

Decode: TypeAlias = Callable[[Sequence[WireItem]], list[Any]]


@dataclass(frozen=True, slots=True)
class InvalidItem:
    """A stored item that does not fit its model."""

    key: dict[str, Any]
    """The item's key: stored attribute name -> Python value."""
    wire_item: WireItem
    """The item, in wire form."""
    error: ItemValidationError
    """Why it does not fit."""


def collecting(decode: Decode) -> Decode:
    """Return what decodes as before and gives an ``InvalidItem`` in the place of each item that does not fit."""

    def decoded(items: Sequence[WireItem]) -> list[Any]:
        try:
            return decode(items)
        except ItemValidationError as error:
            failed = {id(failure.item): failure for failure in error.failures}
            fitting = iter(error.items)
            return [next(fitting) if (failure := failed.get(id(item))) is None else _invalid(failure) for item in items]

    return decoded


def _invalid(failure: ItemValidationError) -> InvalidItem:
    return InvalidItem(failure.key, failure.item, failure)
