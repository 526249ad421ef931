"""Items at hand: of an older item, those attributes whose names stand in its upgrades, as plain values.

Where an upgrade asks for any other, it is stopped, and the whole item is upgraded in its place.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Never, TypeAlias, cast

from dynamap_async.models.upgrades import StoredItem
from dynamap_async.native import NATIVE
from dynamap_async.wire import WireItem


class LooksFurtherError(BaseException):
    """An upgrade asked for an attribute that is not at hand; no ``except Exception`` of its own must catch it."""


class _ItemAtHand(StoredItem):
    """A stored item of which only some attributes are at hand."""

    __slots__ = ()

    def __init__(self, values: dict[str, Any], names: frozenset[str]) -> None:
        self._wire = {}
        self._held = names
        self._values = values

    def __repr__(self) -> str:
        raise LooksFurtherError

    def wire(self) -> WireItem:
        raise LooksFurtherError

    def _refused(self, name: object = None) -> BaseException:
        return LooksFurtherError()


ItemAtHand: TypeAlias = Callable[[dict[str, Any], frozenset[str]], StoredItem]
"""Makes the item of its attributes at hand, name -> plain value, which are changed; and of the names that are at hand:
what is not among the values, the item does not have."""

if NATIVE is None:
    item_at_hand: ItemAtHand = _ItemAtHand
else:
    from dynamap_async.native import _codec

    class _NativeItemAtHand(_codec.AttributesAtHand, MutableMapping[str, Any]):
        """The same; a look at it takes a fifth of the time, and upgrades consist of little else."""

        __slots__ = ()

        def missing(self, name: str) -> Never:
            raise LooksFurtherError

        def __iter__(self) -> Iterator[str]:
            raise LooksFurtherError

        def __len__(self) -> int:
            raise LooksFurtherError

        def __repr__(self) -> str:
            raise LooksFurtherError

        def wire(self) -> WireItem:
            raise LooksFurtherError

    cast("ABCMeta", StoredItem).register(_NativeItemAtHand)
    item_at_hand = cast("ItemAtHand", _NativeItemAtHand)
