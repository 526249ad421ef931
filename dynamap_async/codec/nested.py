"""Converters of nested models: a map whose members have names and types of their own.

Owns no class of the user's: a nested value is described by its fields, and given back as a dict for
Pydantic to validate.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from dynamap_async.codec.containers import Decode
from dynamap_async.codec.converter import MISFITS, Converter
from dynamap_async.codec.plain import decode_any, encode_any
from dynamap_async.codec.refusals import refusal
from dynamap_async.errors import EncodeError
from dynamap_async.wire import AttributeValue, Tag

_MAP: Final[frozenset[Tag]] = frozenset(("M",))


class Unknown:
    """Counts the members of stored maps that decoding left out, because a nested model does not know them."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count: int = 0


UNKNOWN_MEMBERS: Final = Unknown()
"""Moves when decoding leaves a member out. Who looks at it before and after learns of threads' members too."""


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


class Nested(Converter):
    """The converter of a nested model, dataclass or typed dict."""

    __slots__ = ("_document", "fields", "stored_names")

    def __init__(self, fields: Sequence[Field], *, document: bool = False, **contract: Any) -> None:
        super().__init__(**contract)
        self.fields: dict[str, Field] = {field.name: field for field in fields}
        """The members, by their names in Python."""
        self.stored_names: frozenset[str] = frozenset(field.stored for field in fields)
        """Their names in the stored map."""
        self._document = document

    @property
    def document(self) -> bool:
        """Whether the value is a model of this library, whose class attributes are paths."""
        return self._document

    def step(self, part: str | int) -> tuple[str | int, Converter] | None:
        """Return the member of a field name."""
        field = self.fields.get(part) if isinstance(part, str) else None
        return None if field is None else (field.stored, field.converter)


def nested_of(
    label: str,
    fields: Sequence[Field],
    *,
    accepts: tuple[type, ...],
    extras: Callable[[Any], Mapping[str, Any] | None] | None = None,
    build: Callable[[dict[str, Any]], Any] | None = None,
    document: bool = False,
) -> Nested:
    """Return the converter of a nested model, dataclass or typed dict.

    Args:
        label: the type's name, for messages.
        fields: its members.
        accepts: the types whose instances are stored.
        extras: gives the value's members that are no fields; with it unknown stored members are kept, under their
            stored names, without it they are dropped.
        build: makes the value from the decoded dict; None gives the dict.
        document: whether class access to a field that holds the value gives the paths of the value's own fields.
    """
    decode = _decoder(fields, keep=extras is not None)
    return Nested(
        fields,
        document=document,
        label=label,
        tags=_MAP,
        encode=_encoder(label, fields, accepts, extras),
        decode=decode if build is None else _built(decode, build),
        types=accepts,
    )


class Deferred(Converter):
    """Stands for a converter that does not exist yet: how recursive types refer to themselves."""

    __slots__ = ("_resolve", "_target")

    def __init__(
        self,
        label: str,
        resolve: Callable[[], Converter],
        *,
        tags: frozenset[Tag] = _MAP,
        types: tuple[type, ...] = (object,),
    ) -> None:
        """Remember how to find the converter; ``resolve`` is called at the first use and never again."""
        super().__init__(label=label, tags=tags, encode=self._encode, decode=self._decode, types=types)
        self._resolve = resolve
        self._target: Converter | None = None

    @property
    def target(self) -> Converter:
        """The converter that this one stands for."""
        if self._target is None:
            self._target = self._resolve()
            self.encode: Callable[[Any], AttributeValue] = self._target.encode
            self.decode: Callable[[AttributeValue], Any] = self._target.decode
        return self._target

    def _encode(self, value: Any) -> AttributeValue:
        return self.target.encode(value)

    def _decode(self, value: AttributeValue) -> Any:
        return self.target.decode(value)

    def step(self, part: str | int) -> tuple[str | int, Converter] | None:
        """Return the part of the converter that this one stands for."""
        return self.target.step(part)

    @property
    def member(self) -> Converter | None:
        """The member of the converter that this one stands for."""
        return self.target.member

    @property
    def document(self) -> bool:
        """Whether the converter that this one stands for is a nested model's."""
        return self.target.document


def _encoder(
    label: str,
    fields: Sequence[Field],
    accepts: tuple[type, ...],
    extras: Callable[[Any], Mapping[str, Any] | None] | None,
) -> Callable[[Any], AttributeValue]:
    plan = [
        (field.name, field.stored, field.getter or attrgetter(field.name), field.converter.encode) for field in fields
    ]

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
                    raise EncodeError("field has no value; set it before storing") from error
                members[stored] = encode_member(member)
        except EncodeError as error:
            raise error.at(name) from error.__cause__
        if extras is not None:
            _add_extras(members, extras(value))
        return {"M": members}

    return encode


def _add_extras(members: dict[str, AttributeValue], extras: Mapping[str, Any] | None) -> None:
    for name, member in (extras or {}).items():
        try:
            members.setdefault(name, encode_any(member))
        except EncodeError as error:
            raise error.at(name) from error.__cause__


def _decoder(fields: Sequence[Field], *, keep: bool) -> Decode:
    plan = {field.stored: (field.name, field.converter.decode) for field in fields}

    def decode(value: Any) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for stored, member in value["M"].items():
            found = plan.get(stored)
            if found is None:
                if keep:
                    members[stored] = decode_any(member)
                else:
                    UNKNOWN_MEMBERS.count += 1
                continue
            try:
                members[found[0]] = found[1](member)
            except MISFITS:
                members[found[0]] = decode_any(member)
        return members

    return decode


def _built(decode: Decode, build: Callable[[dict[str, Any]], Any]) -> Decode:
    def decode_and_build(value: Any) -> Any:
        return build(decode(value))

    return decode_and_build
