"""Converters of types with a fixed number of values: enums and literals."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, Flag
from typing import Any, cast

from dynamap_async.codec.converter import Converter, Description
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.plain import encode_any
from dynamap_async.wire import AttributeValue, Tag


def enum_of(kind: type[Enum], value: Converter, *, exact: bool = True) -> Converter:
    """Return the converter of an enum, stored as its members' values.

    Args:
        kind: the enum.
        value: the converter of its values, exact.
        exact: give back the member, not its value.
    """
    encode_value, decode_value = value.encode, value.decode

    def encode(member: Any) -> AttributeValue:
        if isinstance(member, kind):
            return encode_value(member.value)
        try:
            found = kind(member)
        except ValueError:
            raise refusal(kind.__name__, member, f"use a member of {kind.__name__}, or its value") from None
        # True == 1, yet True is not the value of a member that is 1.
        if isinstance(member, bool) is not isinstance(found.value, bool):
            raise refusal(kind.__name__, member)
        return encode_value(found.value)

    def decode(stored: Any) -> Any:
        return kind(decode_value(stored))

    return Converter(
        label=kind.__name__,
        tags=value.tags,
        encode=encode,
        decode=decode if exact else decode_value,
        types=(kind, *_types_of(member.value for member in kind)),
        # Combinations of flags are members too.
        description=Description(
            "enum", None if issubclass(kind, Flag) else kind, kind if exact else None, inner=(value,)
        ),
    )


def literal_of(values: Iterable[Any]) -> Converter:
    """Return the converter of a Literal type.

    Args:
        values: its values: str, int, bool, bytes, None or enum members, whose own values are taken for them.
    """
    choices = tuple(values)
    label = f"Literal[{', '.join(map(repr, choices))}]"
    # The type is part of the key, because True == 1.
    stored: dict[tuple[type, object], tuple[str, object]] = {
        (type(choice), choice): next(iter(encode_any(choice).items())) for choice in choices
    }
    loaded: dict[tuple[str, object], Any] = {}
    for (_kind, choice), pair in stored.items():
        loaded.setdefault(pair, choice)
    of_values: dict[tuple[type, object], tuple[str, object]] = {
        (type(member.value), member.value): stored[type(member), member]
        for member in choices
        if isinstance(member, Enum)
    }
    stored = {**of_values, **stored}  # models with use_enum_values hold the value of a member

    def encode(value: Any) -> AttributeValue:
        try:
            tag, content = stored[type(value), value]
        except (LookupError, TypeError):
            raise refusal(label, value) from None
        return cast("AttributeValue", {tag: content})

    def decode(value: Any) -> Any:
        [pair] = value.items()
        return loaded[pair]

    return Converter(
        label=label,
        tags=frozenset(cast("Tag", tag) for tag, _content in stored.values()),
        encode=encode,
        decode=decode,
        types=tuple({kind for kind, _choice in stored}),
        description=Description("text", str, among=frozenset(choices)) if _types_of(choices) == {str} else None,
    )


def _types_of(values: Iterable[object]) -> set[type]:
    return {type(value) for value in values}
