"""Native decoding: what the decoders of a model are for the native codec, made of their forms."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from dynamap_async.codec.decoder_forms import OTHER, form_of
from dynamap_async.codec.deferred import Deferred
from dynamap_async.codec.plain import decode_any
from dynamap_async.native import NATIVE
from dynamap_async.wire import AttributeValue

NativeDecode: TypeAlias = Callable[[Sequence[Any]], tuple[list[dict[str, Any] | None], int, int]]
"""Items that are still their JSON -> of each name -> value; how many members of nested values were left out; and how
many items have the mark, those left to the decoders aside."""

Members: TypeAlias = Mapping[str, tuple[str, Callable[[Any], Any], Callable[[], Any]]]
"""Stored name -> the name in Python, the decoder, and what makes the value of a stored NULL."""

Mark: TypeAlias = tuple[str, Collection[AttributeValue]]
"""A stored name, and the values by which items with such an attribute are told from others; it is no other member."""

_DEEPEST: Final = 16
"""How many forms stand inside each other; what is deeper is decoded by a call."""
_MOST: Final = 400
"""How many forms a model has; models in models multiply."""
_WITH_NULL: Final = ("optional", "any", "other")
"""What takes NULL, or is asked whether it does."""


def native_decoder(
    members: Members,
    kept: Collection[str],
    absent: Iterable[tuple[str, Callable[[], Any]]],
    *,
    drops: bool,
    mark: Mark | None = None,
) -> NativeDecode | None:
    """Return what decodes the items of a model from their JSON; None where there is no native codec.

    It gives None in the place of an item that is unusual or not as expected, which is left to the decoders. The members
    of nested values that it left out are to be counted by ``omit``.

    Args:
        members: stored name -> the name in Python, the decoder, and what makes the value of a stored NULL.
        kept: the stored names of those whose JSON is kept beside what is decoded, in ``JsonItem.kept``.
        absent: the name in Python, and what makes the value of an item without the attribute.
        drops: whether attributes that are unknown are left out, and nobody has to know.
        mark: what items are counted by.
    """
    if NATIVE is None:
        return None
    described = (_fields(_NativeForms(), members, kept), tuple(absent), drops)
    if mark is None:
        return NATIVE.item_decoder(described).decode
    return NATIVE.item_decoder(described, (mark[0], tuple(map(orjson.dumps, mark[1])))).decode


Apart: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""Name -> value of an item, and stored name -> plain value of those of its attributes that are given apart."""


class NativeApart(NamedTuple):
    """What decodes items of which some attributes are changed before they are decoded for their fields."""

    decode: Callable[[Sequence[Any]], tuple[list[Apart | None], int]]
    """Items that are still their JSON -> what each has, None where it is left to the decoders; and how many members of
    nested values were left out."""
    put: Callable[[dict[str, Any], dict[str, Any]], bool]
    """Puts what is made of plain values among the values of an item; False where that is left to the decoders."""


def native_apart(
    members: Members,
    absent: Iterable[tuple[str, Callable[[], Any]]],
    apart: Members,
    absent_apart: Iterable[tuple[str, Callable[[], Any]]],
) -> NativeApart:
    """Return what decodes the items of a model from their JSON with the native codec, which has to be there.

    Args:
        members: as for ``native_decoder``, of the attributes that are decoded at once.
        absent: the same of those of them that an item does not have.
        apart: as ``members``, of the attributes that are given apart, as plain values; without a name in Python where
            they are no field's.
        absent_apart: the same of those of them that are absent in the end.
    """
    assert NATIVE is not None  # noqa: S101 - whoever calls it has looked
    forms = _NativeForms()
    decoder = NATIVE.item_decoder(
        (_fields(forms, members), tuple(absent), True),
        apart=(_fields(forms, apart), tuple(absent_apart), True),
        plain=forms.of(decode_any),
    )
    return NativeApart(decoder.decode_apart, decoder.put_plain)


def _fields(forms: _NativeForms, members: Members, kept: Collection[str] = ()) -> tuple[Any, ...]:
    fields: list[Any] = []
    for stored, (name, decode, of_null) in members.items():
        form = forms.of(decode)
        fields.append((stored, name, form, None if form[0] in _WITH_NULL else of_null, stored in kept))
    return tuple(fields)


class _NativeForms:
    """Describes decoders as the extension takes them."""

    def __init__(self) -> None:
        self._within: list[int] = []
        self._number = 0

    def of(self, decode: Callable[[Any], Any]) -> tuple[Any, ...]:
        """Return (kind, tag, function, inner form, fields, whether unusual numbers are kept)."""
        deferred = getattr(decode, "__self__", None)
        if isinstance(deferred, Deferred):
            decode = deferred.target.decode
        self._number += 1
        form = form_of(decode)
        # A type that contains itself is called where it does.
        if form is OTHER or id(decode) in self._within or len(self._within) >= _DEEPEST or self._number > _MOST:
            return ("other", "", decode, None, None, False)
        self._within.append(id(decode))
        try:
            inner = None if form.inner is None else self.of(form.inner)
            fields = None
            if form.kind == "fields":
                of = tuple([(stored, name, self.of(each), None) for stored, name, each in form.fields])
                fields = (of, tuple((form.absent or {}).items()), form.drops)
        finally:
            self._within.pop()
        return (form.kind, form.tag, form.function, inner, fields, form.keeps)
