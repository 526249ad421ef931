"""Items at hand: of an older item, those attributes that its upgrades are known to look at, as plain values.

Where an upgrade asks for any other, it is stopped, and the whole item is upgraded in its place. For the native codec.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Final, Never, cast

from dynamap_async.models.upgrades import StoredItem
from dynamap_async.native import _codec
from dynamap_async.wire import WireItem


class LooksFurtherError(BaseException):
    """An upgrade asked for an attribute that is not at hand; no ``except Exception`` of its own must catch it."""


class _ItemOfSome(_codec.AttributesAtHand, MutableMapping[str, Any]):
    """A stored item of which only some attributes are at hand: those of these that are not there, it does not have.

    A look takes a fifth of the time of one at a StoredItem
    in Python, and upgrades consist of little else.
    """

    __slots__ = ()

    def missing(self, name: str) -> Never:
        """Stop an upgrade that looks at another attribute."""
        raise LooksFurtherError

    def __iter__(self) -> Iterator[str]:
        raise LooksFurtherError

    def __len__(self) -> int:
        raise LooksFurtherError

    def __repr__(self) -> str:
        raise LooksFurtherError

    def wire(self) -> WireItem:
        """Stop an upgrade that wants all attributes."""
        raise LooksFurtherError


cast("ABCMeta", StoredItem).register(_ItemOfSome)
item_at_hand: Final = cast("Callable[[dict[str, Any], frozenset[str]], StoredItem]", _ItemOfSome)
"""Makes an item of its attributes at hand, name -> plain value, which are changed, and of all names at hand."""
