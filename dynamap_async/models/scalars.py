"""Converters of types without parts: text, numbers, bytes, dates, UUIDs, enums, literals, secrets, anything."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any, Final, Literal, cast, get_args, get_origin
from uuid import UUID

from pydantic import (
    AwareDatetime,
    ByteSize,
    FutureDate,
    FutureDatetime,
    JsonValue,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    Secret,
    SecretBytes,
    SecretStr,
)

from dynamap_async import codec
from dynamap_async.codec import Converter
from dynamap_async.models.annotations import is_kind_of
from dynamap_async.models.compiling import Compiler, then
from dynamap_async.wire import AttributeValue, Tag

_INSTANTS: Final = (datetime, AwareDatetime, NaiveDatetime, PastDatetime, FutureDatetime)
_ZONED: Final[dict[Any, bool]] = {AwareDatetime: True, NaiveDatetime: False}
_ANYTHING: Final = (Any, object)

_SCALARS: Final[dict[Any, Callable[[bool], Converter]]] = {
    str: lambda exact: codec.text(),
    int: lambda exact: codec.integer(exact=exact),
    float: lambda exact: codec.floating(exact=exact),
    Decimal: lambda exact: codec.decimal(exact=exact),
    bool: lambda exact: codec.boolean(),
    bytes: lambda exact: codec.binary(),
    bytearray: lambda exact: codec.binary(bytearray),
    None: lambda exact: codec.null(),
    NoneType: lambda exact: codec.null(),
    date: lambda exact: codec.date(exact=exact),
    PastDate: lambda exact: codec.date(exact=exact),
    FutureDate: lambda exact: codec.date(exact=exact),
    time: lambda exact: codec.time(exact=exact),
    timedelta: lambda exact: codec.duration(),
    UUID: lambda exact: codec.uuid(exact=exact),
    ByteSize: lambda exact: then(codec.integer(), ByteSize) if exact else codec.integer(exact=False),
}


def scalar(compiler: Compiler, annotation: Any, *, key: bool) -> Converter | None:
    """Return the converter of a type without parts, or None for any other type.

    Args:
        compiler: makes the converters of an enum's values.
        annotation: the type, unwrapped.
        key: whether the value is part of a key of the table or of an index.
    """
    if annotation in _INSTANTS:
        return codec.instant(exact=compiler.exact, key=key, zoned=_ZONED.get(annotation))
    if annotation in _ANYTHING:
        return codec.anything()
    if annotation is JsonValue:
        return then(codec.anything(), _as_json)
    make = _SCALARS.get(annotation)
    if make is not None:
        return make(compiler.exact)
    if get_origin(annotation) is Literal:
        return codec.literal_of(get_args(annotation))
    return _class(compiler, annotation)


def _class(compiler: Compiler, annotation: Any) -> Converter | None:
    kind: Any = get_origin(annotation) or annotation
    if is_kind_of(kind, SecretStr):
        return codec.secret(codec.text(), kind)
    if is_kind_of(kind, SecretBytes):
        return codec.secret(codec.binary(), kind)
    if is_kind_of(kind, Secret):
        return codec.secret(compiler.exactly.of(_revealed(annotation)), kind)
    if is_kind_of(kind, Enum) and list(kind):
        return _enum(compiler, kind)
    return None


def _enum(compiler: Compiler, kind: type[Enum]) -> Converter:
    kinds: list[type[Any]] = list({type(member.value): None for member in kind})
    if len(kinds) == 1:
        return codec.enum_of(kind, compiler.exactly.of(kinds[0]), exact=compiler.exact)
    stored = {member: compiler.exactly.of(type(member.value)).encode(member.value) for member in kind}
    members = {repr(value): member for member, value in stored.items()}
    if len(members) < len(stored):
        compiler.note_ambiguous(kind.__name__)

    def encode(member: Any) -> AttributeValue:
        try:
            return stored[kind(member)]
        except ValueError:
            raise codec.refusal(kind.__name__, member, f"use a member of {kind.__name__}, or its value") from None

    return Converter(
        label=kind.__name__,
        tags=frozenset(tag for value in stored.values() for tag in cast("dict[Tag, Any]", value)),
        encode=encode,
        decode=lambda value: members[repr(value)],
        types=(kind, *kinds),
    )


def _revealed(annotation: Any) -> Any:
    """Return the type inside ``Secret[...]`` or a subclass of it."""
    for kind in (annotation, *getattr(annotation, "__orig_bases__", ())):
        if get_args(kind):
            return get_args(kind)[0]
    return Any


def _as_json(value: Any) -> Any:
    """Return a plain value as JSON knows it: a number with a fraction is a float."""
    match value:
        case Decimal():
            return float(value)
        case [*elements]:
            return list(map(_as_json, elements))
        case {**members}:
            return {name: _as_json(member) for name, member in members.items()}
        case _:
            return value
