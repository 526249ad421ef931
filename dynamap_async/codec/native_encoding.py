"""Native encoding: what the converters of a model's fields are for the native codec, made of their usual values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias
from uuid import UUID

import orjson

from dynamap_async.codec.converter import Converter, FieldEncoding, UsualKind
from dynamap_async.codec.deferred import target_of
from dynamap_async.codec.encode_errors import abbreviate
from dynamap_async.codec.sizes import item_size, text_size
from dynamap_async.errors import EncodeError
from dynamap_async.limits import ATTRIBUTE_NAME_BYTES, ITEM_SIZE_BYTES, NESTING_LEVELS
from dynamap_async.native import NATIVE
from dynamap_async.wire import WireItem

NativeEncode: TypeAlias = Callable[[Mapping[str, Any]], tuple[WireItem, bytes, int] | None]
"""Name -> value, to those of an item's attributes that are kept, its JSON, and its size; None where it is unusual."""

_DEEPEST: Final = 16
"""How many types stand inside each other; what is deeper is encoded by a call."""
_MOST: Final = 400
"""How many types a model has; models in models multiply."""
_TYPES: Final[Mapping[UsualKind, type[Any]]] = {"decimal": Decimal, "uuid": UUID}
"""The types of values that the extension does not know itself."""
_TAKES_ALL: Final = ("optional", "any")
"""What takes values of every type, so that none comes after it."""


def native_encoder(parts: Sequence[FieldEncoding], *, marker: WireItem, kept: Collection[str]) -> NativeEncode | None:
    """Return what encodes the items of a model to their JSON; None where there is no native codec.

    It gives None for an item that is unusual or cannot be stored, which is left to the converters.

    Args:
        parts: the fields.
        marker: attributes that every item has beside them.
        kept: the stored names of the attributes that are asked for in wire form, because they are parts of keys. An
            item in which one of these is empty or nearly too long for a key is left to the converters too.
    """
    names = [*marker, *(part.stored for part in parts)]
    if NATIVE is None or "" in names or len(set(names)) < len(names):
        return None
    types = _Types()
    try:
        described = tuple([(*types.part(part), part.stored in kept) for part in parts])
    except EncodeError:  # the name of a part cannot be stored
        return None
    before = (orjson.dumps(marker)[:-1], item_size(marker), dict(marker))
    return NATIVE.item_encoder(described, before, (ITEM_SIZE_BYTES, NESTING_LEVELS, ATTRIBUTE_NAME_BYTES)).encode


class _Types:
    """Describes converters as the extension takes them."""

    def __init__(self) -> None:
        self._within: list[Converter] = []
        self._number = 0

    def part(self, part: FieldEncoding) -> tuple[Any, ...]:
        """Return (name, stored name, that as JSON, its size, type, whether None is not asked about, what that is).

        Raises:
            EncodeError: its name cannot be stored.
        """
        name_bytes = text_size(part.stored)
        if name_bytes > ATTRIBUTE_NAME_BYTES:
            raise EncodeError(f"the name {abbreviate(part.stored)} has {name_bytes:,} bytes")
        described = self.of(part.converter, part.encode)
        start = orjson.dumps(part.stored) + b":"
        return (part.name, part.stored, start, name_bytes, described, part.nullable, part.none)

    def of(self, converter: Converter, encode: Callable[[Any], Any] | None = None) -> tuple[Any, ...]:
        """Return (kind, type, what encodes unusual values, the only texts, inner types, parts)."""
        converter = target_of(converter)
        encode = encode or converter.encode
        usual = converter.usual
        self._number += 1
        # A type that contains itself is called where it does.
        if usual is None or converter in self._within or len(self._within) >= _DEEPEST or self._number > _MOST:
            return ("other", None, encode, None, (), ())
        self._within.append(converter)
        try:
            inner = [self.of(each) for each in usual.inner]
            parts = tuple([self.part(part) for part in usual.parts])
        finally:
            self._within.pop()
        if usual.kind == "either":
            inner = [each for each in inner if each[0] not in _TAKES_ALL]
        of = usual.of or _TYPES.get(usual.kind)
        return (usual.kind, of, encode, usual.among, tuple(inner), parts)
