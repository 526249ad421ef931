"""The native codec of a model: made of what the converters of its fields say of their types."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dynamap_async.codec.anything import anything
from dynamap_async.codec.converter import Converter, FieldEncoding
from dynamap_async.codec.deferred import target_of
from dynamap_async.codec.sizes import item_size
from dynamap_async.limits import ATTRIBUTE_NAME_BYTES, ITEM_SIZE_BYTES, NESTING_LEVELS
from dynamap_async.native import NATIVE
from dynamap_async.native.json_text import write_json
from dynamap_async.wire import AttributeValue, WireItem

NativeEncode: TypeAlias = Callable[[Mapping[str, Any]], tuple[WireItem, bytes, int] | None]
"""Name -> value, to those of an item's attributes that are kept, its JSON, and its size; None where it is unusual."""

NativeDecode: TypeAlias = Callable[[Sequence[Any]], tuple[list[dict[str, Any] | None], int, int]]
"""Items that are still their JSON -> of each name -> value; how many members of nested values were left out; and how
many items have the mark, those left to the decoders aside."""

Members: TypeAlias = Mapping[str, tuple[str, Converter, Callable[[], Any]]]
"""Stored name -> the name in Python, the converter, and what makes the value of a stored NULL."""

Absent: TypeAlias = Iterable[tuple[str, Callable[[], Any]]]
"""Name in Python, and what makes the value of an item without the attribute."""

Mark: TypeAlias = tuple[str, Collection[AttributeValue]]
"""A stored name, and the values by which items with such an attribute are told from others; it is no other member."""

_DEEPEST: Final = 16
"""How many types stand inside each other; values that are deeper are converted by a call."""
_MOST: Final = 400
"""How many types a model has; models in models multiply."""
_WITH_NULL: Final = ("optional", "any", "either", "other")
"""What takes NULL, or is asked whether it does."""
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
    described = _object([types.part(part, kept=part.stored in kept) for part in parts])
    before = (write_json(marker)[:-1], item_size(marker), dict(marker))
    try:
        made = NATIVE.item_encoder(described, before, (ITEM_SIZE_BYTES, NESTING_LEVELS, ATTRIBUTE_NAME_BYTES))
    except UnicodeEncodeError:  # the name of a part has no form in UTF-8, so it cannot be stored
        return None
    return made.encode


def native_decoder(
    members: Members, kept: Collection[str], absent: Absent, *, drops: bool, mark: Mark | None = None
) -> NativeDecode | None:
    """Return what decodes the items of a model from their JSON; None where there is no native codec.

    It gives None in the place of an item that is unusual or not as expected, which is left to the decoders. The members
    of nested values that it left out are to be counted by ``omit``.

    Args:
        members: stored name -> the name in Python, the converter, and what makes the value of a stored NULL.
        kept: the stored names of those whose JSON is kept beside what is decoded, in ``JsonItem.kept``.
        absent: the name in Python, and what makes the value of an item without the attribute.
        drops: whether attributes that are unknown are left out, and nobody has to know.
        mark: what items are counted by.
    """
    if NATIVE is None:
        return None
    described = _object(_members(_Types(), members, kept), absent, drops=drops)
    if mark is None:
        return NATIVE.item_decoder(described).decode
    return NATIVE.item_decoder(described, (mark[0], tuple(map(write_json, mark[1])))).decode


Apart: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""Name -> value of an item, and stored name -> plain value of those of its attributes that are given apart."""


class NativeApart(NamedTuple):
    """What decodes items of which some attributes are changed before they are decoded for their fields."""

    decode: Callable[[Sequence[Any]], tuple[list[Apart | None], int]]
    """Items that are still their JSON -> what each has, None where it is left to the decoders; and how many members of
    nested values were left out."""
    put: Callable[[dict[str, Any], dict[str, Any]], bool]
    """Puts what is made of plain values among the values of an item; False where that is left to the decoders."""


def native_apart(members: Members, absent: Absent, apart: Members, absent_apart: Absent) -> NativeApart:
    """Return what decodes the items of a model from their JSON with the native codec, which has to be there.

    Args:
        members: as for ``native_decoder``, of the attributes that are decoded at once.
        absent: the same of those of them that an item does not have.
        apart: as ``members``, of the attributes that are given apart, as plain values; without a name in Python where
            they are no field's.
        absent_apart: the same of those of them that are absent in the end.
    """
    assert NATIVE is not None  # noqa: S101 - whoever calls it has looked
    types = _Types()
    decoder = NATIVE.item_decoder(
        _object(_members(types, members), absent),
        apart=_object(_members(types, apart), absent_apart),
        plain=types.of(anything()),
    )
    return NativeApart(decoder.decode_apart, decoder.put_plain)


def _object(parts: Iterable[tuple[Any, ...]], absent: Absent = (), *, drops: bool = True) -> tuple[Any, ...]:
    """Return the type of whole items, which nothing else converts."""
    return ("fields", None, None, None, None, None, True, (), tuple(parts), tuple(absent), drops)


def _members(types: _Types, members: Members, kept: Collection[str] = ()) -> list[tuple[Any, ...]]:
    return [
        types.part(FieldEncoding(name, stored, converter), of_null=of_null, kept=stored in kept)
        for stored, (name, converter, of_null) in members.items()
    ]


class _Types:
    """Describes converters as the extension takes them."""

    def __init__(self) -> None:
        self._within: list[Converter] = []
        self._number = 0

    def part(
        self, part: FieldEncoding, *, of_null: Callable[[], Any] | None = None, kept: bool = False
    ) -> tuple[Any, ...]:
        """Return (name, stored name, type, whether None is not asked about, what that is, what NULL is, if kept)."""
        described = self.of(part.converter, part.encode)
        of_null = None if described[0] in _WITH_NULL or not described[6] else of_null
        return (part.name, part.stored, described, part.nullable, part.none, of_null, kept)

    def of(self, converter: Converter, encode: Callable[[Any], Any] | None = None) -> tuple[Any, ...]:
        """Return what ``native/type.h`` says of a type.

        Args:
            converter: the converter of the type.
            encode: what encodes unusual values; None for what the converter does.
        """
        converter = target_of(converter)
        encode, decode = encode or converter.encode, converter.decode
        found = converter.description
        self._number += 1
        # A type that contains itself is called where it does.
        if found is None or converter in self._within or len(self._within) >= _DEEPEST or self._number > _MOST:
            return ("other", None, encode, decode, None, None, True, (), (), (), True)
        self._within.append(converter)
        try:
            inner = [self.of(each) for each in found.inner]
            parts = tuple(map(self.part, found.parts))
        finally:
            self._within.pop()
        if found.kind == "either":
            inner = [each for each in inner if each[0] not in _TAKES_ALL]
        absent = tuple(found.absent.items())
        what = (found.kind, found.of, encode, decode, found.make, found.among, found.reads)
        return (*what, tuple(inner), parts, absent, found.drops)
