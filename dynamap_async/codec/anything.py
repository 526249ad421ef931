"""Converters of values that nothing is known of: anything at all, and what only Pydantic knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dynamap_async.codec.converter import ALL_TAGS, Converter, Decode, Description, ValuePart
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.forms import OwnText
from dynamap_async.codec.plain import decode_any, encode_any
from dynamap_async.codec.scalars import STORED_TEXT
from dynamap_async.wire import AttributeValue, Tag

_TEXT: Final[frozenset[Tag]] = frozenset(("S",))


class _Anything(Converter):
    __slots__ = ()

    def step(self, part: str | int) -> ValuePart | None:
        """Return the part itself: anything may have any part."""
        return None if isinstance(part, bool) else ValuePart(part, self)

    @property
    def member(self) -> Converter:
        """The converter of members: anything may have any."""
        return self


class _Through(_Anything):
    """The converter of a type that only Pydantic knows."""

    __slots__ = ("_ordered", "own_text")

    def __init__(self, *, ordered: bool, own_text: OwnText | None, **contract: Any) -> None:
        super().__init__(**contract)
        self._ordered = ordered
        self.own_text: OwnText | None = own_text

    @property
    def ordered(self) -> bool:
        """Whether stored values are known to sort as the values do: as text, 10.0.0.10 stands before 10.0.0.9."""
        return self._ordered


def anything() -> Converter:
    """Return the converter of Any and object: see ``encode_any`` and ``decode_any``."""
    return _Anything(label="Any", tags=ALL_TAGS, encode=encode_any, decode=decode_any, description=Description("any"))


def through(
    label: str,
    to_plain: Callable[[Any], Any],
    from_plain: Callable[[Any], Any] | None = None,
    *,
    types: tuple[type, ...] = (object,),
    tags: frozenset[Tag] = ALL_TAGS,
    ordered: bool = False,
    places: tuple[str, ...] | None = None,
) -> Converter:
    """Return the converter of a type that only Pydantic knows, stored as the JSON-like data it is dumped to.

    Args:
        label: the type's name.
        to_plain: dumps a value to text, numbers, lists and dicts.
        from_plain: loads it again; None gives the plain data.
        types: the Python types that are stored.
        tags: the stored types that can result, if known.
        ordered: whether what is stored is known to sort as the values do.
        places: the characters that each place of the texts may have, where that is known.
    """

    def encode(value: Any) -> AttributeValue:
        try:
            plain = to_plain(value)
        except Exception as error:
            raise refusal(label, value, str(error)) from error
        return encode_any(plain)

    def of_tags(value: Any) -> Any:
        if tags.isdisjoint(value):
            raise KeyError(label)
        return decode_any(value)

    plain: Decode = decode_any if tags == ALL_TAGS else STORED_TEXT if tags == _TEXT else of_tags
    return _Through(
        ordered=ordered,
        own_text=None
        if tags != _TEXT
        else OwnText(name=label, tag="S", encode=to_plain, decode=from_plain or str, sorts=ordered, places=places),
        label=label,
        tags=tags,
        encode=encode,
        decode=plain if from_plain is None else _loading(plain, from_plain),
        types=types,
    )


def own_text(converter: Converter) -> OwnText | None:
    """Return the text that a type makes of its values itself; None for types that do not, or that are known here."""
    return converter.own_text if isinstance(converter, _Through) else None


def _loading(plain: Decode, load: Callable[[Any], Any]) -> Decode:
    return lambda value: load(plain(value))
