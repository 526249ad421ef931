"""Converters of nested models: a map whose members have names and types of their own.

Owns no class of the user's: a nested value is described by its fields, and given back as a dict for
Pydantic to validate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, Final, NamedTuple

from dynamap_async.codec.converter import (
    MISSING,
    Absence,
    Converter,
    Decode,
    Description,
    FieldEncoding,
    ValuePart,
    one_deeper,
)
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.plain import decode_any, encode_any
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.wire import AttributeValue, Tag

_MAP: Final[frozenset[Tag]] = frozenset(("M",))


class Omissions:
    """Counts the members of stored maps that one decoding left out, because a nested model does not know them."""

    number: int = 0


OMISSIONS: Final[ContextVar[Omissions | None]] = ContextVar("dynamap_async_omissions", default=None)
"""Those of the decoding that is under way; None where nobody asks. A decoder returns a value and nothing else."""


def omit(number: int) -> None:
    """Count members that are left out of what is decoded now.

    Args:
        number: how many.
    """
    omissions = OMISSIONS.get()
    if omissions is not None:
        omissions.number += number


class Field(NamedTuple):
    """One named member of a nested value."""

    name: str
    """Its name in Python: what ``decode`` calls it, and what paths say."""

    stored: str
    """Its name in the stored map."""

    converter: Converter
    """How its values are stored; None values need ``optional``."""

    getter: Callable[[Any], Any] | None = None
    """Takes the member out of the value; None takes the attribute ``name``. A LookupError leaves the member out."""

    absence: Absence | None = None
    """What it reads as where the map lacks it; None where it is then no member of the value, or an error."""

    left_out: AttributeValue | None = None
    """The stored form that is left out, because absence reads back as the same: NULL, or that of an empty set."""

    default: Callable[[], Any] | None = None
    """Makes what it reads as where the map lacks it; None where ``absence`` tells that."""


class Nested(Converter):
    """The converter of a nested model, dataclass or typed dict."""

    __slots__ = ("_document", "_keeps", "fields", "stored_names", "whole")

    def __init__(
        self,
        fields: Sequence[Field],
        *,
        keeps: bool,
        document: bool = False,
        whole: Nested | None = None,
        **contract: Any,
    ) -> None:
        super().__init__(**contract)
        self.fields: dict[str, Field] = {field.name: field for field in fields}
        """The members, by their names in Python."""
        self.stored_names: frozenset[str] = frozenset(field.stored for field in fields)
        """Their names in the stored map."""
        self.whole: Nested = whole or self
        """The converter that stores every member, for unions whose values are told apart by what members they have."""
        self._document = document
        self._keeps = keeps

    @property
    def document(self) -> bool:
        """Whether the value is a model of this library, whose class attributes are paths."""
        return self._document

    @property
    def levels(self) -> int | None:
        """One level more than its deepest field has; unknown where it keeps members that are no fields."""
        return None if self._keeps else one_deeper(field.converter for field in self.fields.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.fields)

    def step(self, part: str | int) -> ValuePart | None:
        """Return the member of a field name."""
        field = self.fields.get(part) if isinstance(part, str) else None
        return None if field is None else ValuePart(field.stored, field.converter, field.absence, field.default)


def nested_of(
    label: str,
    fields: Sequence[Field],
    *,
    accepts: tuple[type, ...],
    extras: Callable[[Any], Mapping[str, Any] | None] | None = None,
    build: Callable[[dict[str, Any]], Any] | None = None,
    absent: Mapping[str, Callable[[], Any]] | None = None,
    document: bool = False,
    in_dict: bool = False,
) -> Nested:
    """Return the converter of a nested model, dataclass or typed dict.

    Args:
        label: the type's name, for messages.
        fields: its members.
        accepts: the types whose instances are stored.
        extras: gives the value's members that are no fields; with it unknown stored members are kept, under their
            stored names, without it they are dropped.
        build: makes the value from the decoded dict; None gives the dict.
        absent: name in Python -> what makes the value of a member that is absent, where decoding is to say so.
        document: whether class access to a field that holds the value gives the paths of the value's own fields.
        in_dict: whether a value's ``__dict__`` holds its members under their names.
    """
    encode = _encoder(label, fields, accepts, extras)
    if in_dict and extras is None:
        encode = _of_dict(fields, accepts[0], encode)
    whole: Nested | None = None
    left_out = {field.stored: form for field in fields if (form := _left_out(field)) is not None}
    if left_out:
        encode = _without(encode, left_out)
    if any(field.left_out is not None for field in fields):
        whole = nested_of(
            label,
            [field._replace(left_out=None) for field in fields],
            accepts=accepts,
            extras=extras,
            build=build,
            absent=absent,
            document=document,
            in_dict=in_dict,
        )
    decode = _decoder({each.stored: (each.name, each.converter.decode) for each in fields}, keep=extras is not None)
    decode_parts = _decoder({each.stored: (each.name, _placed(each)) for each in fields}, keep=extras is not None)
    if absent:
        decode, decode_parts = _filled(decode, absent), _filled(decode_parts, absent)
    if build is not None:
        decode = _built(decode, build)
    description = Description(
        "fields",
        accepts[0] if in_dict and extras is None else None,
        build,
        parts=list(map(_part, fields)),
        absent=absent or {},
        drops=extras is None,
    )
    return Nested(
        fields,
        document=document,
        keeps=extras is not None,
        whole=whole,
        label=label,
        tags=_MAP,
        encode=encode,
        decode=decode,
        description=description,
        decode_parts=decode_parts,
        types=accepts,
    )


def _encoder(
    label: str,
    fields: Sequence[Field],
    accepts: tuple[type, ...],
    extras: Callable[[Any], Mapping[str, Any] | None] | None,
) -> Callable[[Any], AttributeValue]:
    plan = [
        (field.name, field.stored, field.getter or attrgetter(field.name), _member_encoder(field)) for field in fields
    ]
    of_fields = {field.stored: field.name for field in fields}

    def encode(value: Any) -> AttributeValue:
        if not isinstance(value, accepts):
            raise refusal(label, value)
        members: dict[str, AttributeValue] = {}
        name = ""
        try:
            for name, stored, get, encode_member in plan:  # noqa: B007 - the error names it
                try:
                    member = get(value)
                except LookupError:
                    continue
                except AttributeError as error:
                    raise EncodeError("the field has no value; set it before you store the item") from error
                members[stored] = encode_member(member)
        except EncodeError as error:
            raise error.at(name) from error.__cause__
        if extras is not None:
            _add_extras(members, extras(value), of_fields)
        return {"M": members}

    return encode


def _of_dict(
    fields: Sequence[Field], kind: type, encode_each: Callable[[Any], AttributeValue]
) -> Callable[[Any], AttributeValue]:
    """Return the encoder that takes the members out of a value's ``__dict__``; others are left to ``encode_each``."""
    plan = [(field.name, field.stored, _member_encoder(field)) for field in fields]

    def encode(value: Any) -> AttributeValue:
        if type(value) is not kind:
            return encode_each(value)
        values: Mapping[str, Any] = value.__dict__
        members: dict[str, AttributeValue] = {}
        name = ""
        try:
            for name, stored, encode_member in plan:
                members[stored] = encode_member(values[name])
        except EncodeError as error:
            raise error.at(name) from error.__cause__
        except KeyError:
            return encode_each(value)  # it says that the value is missing
        return {"M": members}

    return encode


def _left_out(field: Field) -> AttributeValue | None:
    """Return the stored form that is left out of a member, or what stands for one that it has none of."""
    return _NO_FORM if field.absence is Absence.MISSING else field.left_out


def _member_encoder(field: Field) -> Callable[[Any], AttributeValue]:
    encode = field.converter.encode
    if field.absence is not Absence.MISSING:
        return encode
    return lambda value: _NO_FORM if value is MISSING else encode(value)


def unless_missing(encode: Callable[[Any], AttributeValue | None]) -> Callable[[Any], AttributeValue | None]:
    """Return the encoder of a field that may be ``MISSING``, which is stored by its absence: it gives None for that.

    Args:
        encode: encodes the other values.
    """
    return lambda value: None if value is MISSING else encode(value)


def _part(field: Field) -> FieldEncoding:
    encode = _or_nothing(field.converter.encode) if field.left_out == EMPTY_SET else None
    if field.absence is Absence.MISSING:
        encode = unless_missing(field.converter.encode)
    return FieldEncoding(field.name, field.stored, field.converter, encode, nullable=field.left_out == NULL)


def _add_extras(
    members: dict[str, AttributeValue], extras: Mapping[str, Any] | None, of_fields: Mapping[str, str]
) -> None:
    for name, member in (extras or {}).items():
        if name in of_fields:
            raise EncodeError(f"the extra attribute has the stored name of the field {of_fields[name]!r}").at(name)
        try:
            members[name] = encode_any(member)
        except EncodeError as error:
            raise error.at(name) from error.__cause__


def _placed(field: Field) -> Decode:
    """Return what decodes a member that may not be as expected; errors name the field."""
    decode_member = field.converter.decode_or_plain

    def decode(value: Any) -> Any:
        try:
            return decode_member(value)
        except DecodeError as error:
            raise error.at(field.name) from error.__cause__

    return decode


def _decoder(plan: Mapping[str, tuple[str, Decode]], *, keep: bool) -> Decode:
    """Return what decodes a map to a dict.

    Args:
        plan: stored name -> name in Python, and decoder.
        keep: whether unknown members are kept, under their stored names.
    """
    names = frozenset(name for name, _ in plan.values())

    def decode(value: Any) -> dict[str, Any]:
        members: dict[str, Any] = {}
        extras: dict[str, Any] = {}
        for stored, member in value["M"].items():
            found = plan.get(stored)
            if found is not None:
                members[found[0]] = found[1](member)
            elif keep:
                extras[stored] = decode_any(member)
            else:
                omit(1)
        if not names.isdisjoint(extras):
            name = next(each for each in extras if each in names)
            raise DecodeError(f"the attribute {name!r} has the name of a field that is stored under another name")
        return {**members, **extras} if extras else members

    return decode


def _filled(decode: Decode, absent: Mapping[str, Callable[[], Any]]) -> Decode:
    def decode_and_fill(value: Any) -> Any:
        values = decode(value)
        for name, make in absent.items():
            if name not in values:
                values[name] = make()
        return values

    return decode_and_fill


def _built(decode: Decode, build: Callable[[dict[str, Any]], Any]) -> Decode:
    def decode_and_build(value: Any) -> Any:
        return build(decode(value))

    return decode_and_build


EMPTY_SET: Final[AttributeValue] = {"L": []}
"""What stands for an empty set where it is not left out. What is encoded gets one of its own, which may be changed."""


_NO_FORM: Final[AttributeValue] = {}
"""What stands for ``MISSING`` until it is left out."""

NULL: Final[AttributeValue] = {"NULL": True}
"""What stands for None where it is not left out."""


def _without(
    encode_all: Callable[[Any], AttributeValue], left_out: Mapping[str, AttributeValue]
) -> Callable[[Any], AttributeValue]:
    """Return the encoder of a nested value that leaves out empty sets, or None.

    Args:
        encode_all: encodes the value with all of its members.
        left_out: stored name -> the stored form that is left out, of those members of which one is.
    """

    def encode(value: Any) -> AttributeValue:
        stored = encode_all(value)
        members: Any = stored.get("M", {})
        for name, form in left_out.items():
            if members.get(name) == form:
                del members[name]
        return stored

    return encode


def _or_nothing(encode_set: Callable[[Any], AttributeValue]) -> Callable[[Any], AttributeValue | None]:
    """Return the encoder of a set that gives None for an empty one."""

    def encode(value: Any) -> AttributeValue | None:
        stored = encode_set(value)
        return None if stored == EMPTY_SET else stored

    return encode
