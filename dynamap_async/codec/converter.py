"""The contract of a converter: one type's two-way mapping between Python values and attribute values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, auto
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Self, TypeAlias

import pydantic_core

from dynamap_async.codec.plain import decode_any
from dynamap_async.errors import DecodeError
from dynamap_async.wire import AttributeValue, Tag

ALL_TAGS: Final[frozenset[Tag]] = frozenset(("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"))
"""Every stored type: the tags of a converter that takes any value."""

DECODE_ERRORS: Final = (LookupError, ValueError, TypeError, ArithmeticError)
"""What ``Converter.decode`` raises for a stored form that is not the expected one."""

CONTAINERS: Final[frozenset[Tag]] = frozenset(("L", "M"))
"""The stored types whose values have parts."""


MISSING: Final[Any] = getattr(pydantic_core, "MISSING", object())
"""Pydantic's value of a field that has none; one that no program has, where Pydantic is older than 2.12."""


Decode: TypeAlias = Callable[[AttributeValue], Any]
"""Attribute value -> Python value."""

Kind: TypeAlias = Literal[
    "text",
    "integer",
    "decimal",
    "floating",
    "boolean",
    "binary",
    "date",
    "uuid",
    "instant",
    "texts",
    "list",
    "map",
    "fields",
    "optional",
    "either",
    "enum",
    "any",
]


class Absence(Enum):
    """The value of a field whose attribute an item does not have, or of a member that a map does not have."""

    NONE = auto()
    """None: a nullable field whose default is None, or that has no default."""
    EMPTY_SET = auto()
    """An empty set: a set field without a default, or with an empty one. DynamoDB stores no empty sets."""
    MISSING = auto()
    """Pydantic's ``MISSING``: a field that has it among its values."""
    OTHER = auto()
    """Another default."""
    ERROR = auto()
    """Nothing: the attribute is required."""


class ValuePart(NamedTuple):
    """One part of a value."""

    step: str | int
    """Its stored path element: the stored name of a member, a map key, or a position in a list."""

    converter: Converter
    """How it is stored."""

    absence: Absence | None = None
    """What it reads as where it is absent; None for a part that no type declares, such as an element of a list."""

    default: Callable[[], Any] | None = None
    """Makes what it reads as where it is absent; None where ``absence`` tells that, or nobody."""


class Description(NamedTuple):
    """What the native codec is told of a type, to store and read its usual values as ``encode`` and ``decode`` do.

    It gives all other values to these. Whoever changes one of them changes the description, too.
    """

    kind: Kind
    """How values are stored. ``texts`` is a set of text, ``fields`` an object with known members, ``enum`` a member of
    an enum, stored as its value; ``either`` is one of several types; ``any`` is anything. ``native/type.h`` has the
    stored types of these."""

    of: type[Any] | None = None
    """The type of the values that are encoded, and no subclass of it; None for no value, and where the kind takes
    values of several types. The native codec relies on it: dates have to be dates."""

    make: Callable[[Any], Any] | None = None
    """Makes the value: of the text, list or dict that is stored, or of an enum's value. None where that is the value,
    because Pydantic makes another one of it. Integers and floats are made natively, if their text is usual; the text of
    a date that Pydantic is to parse is given to ``decode``, unless it begins with a year and a hyphen."""

    inner: Sequence[Converter] = ()
    """The converter of the members, of the alternative to None, or of an enum's values; the alternatives of ``either``.
    """

    parts: Sequence[FieldEncoding] = ()
    """The members of ``fields``. They are encoded from the value's ``__dict__``, and decoded to a dict."""

    absent: Mapping[str, Callable[[], Any]] = MappingProxyType({})
    """Name of such a member -> what makes its value where it is not stored."""

    drops: bool = True
    """Whether stored members are left out, and counted, that are no such members."""

    among: frozenset[str] | None = None
    """The only texts that there are; None where any may be stored."""

    reads: bool = True
    """Whether values are decoded natively; False leaves that to ``decode``."""


class Converter:
    """How the values of one Python type are stored.

    ``encode`` and ``decode`` are plain attributes holding functions, not methods, so that a compiled model calls
    them without a lookup (for most scalar types ``decode`` is ``operator.itemgetter("S")``).
    """

    __slots__ = ("decode", "decode_parts", "description", "encode", "label", "tags", "types")

    in_one_form: bool = True
    """Whether values are found in the form only that they are written in."""

    def __init__(
        self,
        *,
        label: str,
        tags: frozenset[Tag],
        encode: Callable[[Any], AttributeValue],
        decode: Decode,
        decode_parts: Decode | None = None,
        types: tuple[type, ...] = (object,),
        description: Description | None = None,
    ) -> None:
        self.label: str = label
        """The Python type as messages name it, such as ``set[str]``."""
        self.tags: frozenset[Tag] = tags
        """Every stored type that ``encode`` can produce."""
        self.types: tuple[type, ...] = types
        """The Python types whose instances ``encode`` may take; a union asks no other member."""
        self.encode: Callable[[Any], AttributeValue] = encode
        """Python value -> attribute value; raises EncodeError, its path relative to the value."""
        self.decode: Decode = decode
        """Attribute value -> Python value; raises LookupError, ValueError, TypeError or ArithmeticError where the
        stored form is not the expected one: ``decode_or_plain`` then says what is wrong."""
        self.decode_parts: Decode | None = decode_parts
        """Gives a value that ``decode`` refused with each of its parts as ``decode_or_plain`` gives it, for Pydantic to
        judge; None where it has no parts."""
        self.description: Description | None = description
        """What the native codec is told of the type; None where it is to call ``encode`` and ``decode``."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label}>"

    def then(self, load: Callable[[Any], Any]) -> Self:
        """Apply ``load`` to what this converter decodes, and return it; for one that was just made."""
        decode = self.decode
        self.decode_by(lambda value: load(decode(value)))
        return self

    def decode_by(self, decode: Decode) -> None:
        """Decode otherwise than was described."""
        self.decode = decode
        if self.description is not None:
            self.description = self.description._replace(reads=False)

    def decode_or_plain(self, value: AttributeValue) -> Any:
        """Return the Python value, or the plain one where only its content is not as expected, for Pydantic to judge.

        A stored NULL is left to Pydantic too.

        Raises:
            DecodeError: the value, or a part of it, is stored as another type; the error says which part.
        """
        try:
            return self.decode(value)
        except DECODE_ERRORS as error:
            refusal = error
        plain = decode_any(value)
        if plain is None:
            return None
        if self.tags.isdisjoint(value):
            raise self._other_type(value)
        if self.decode_parts is not None:
            return self.decode_parts(value)
        if isinstance(refusal, DecodeError):
            raise refusal
        return plain

    def decode_final(self, value: AttributeValue) -> Any:
        """Return the Python value, where nobody judges it afterwards.

        Raises:
            ValueError: it cannot be read; a DecodeError where it, or a part of it, is stored as another type.
        """
        try:
            return self.decode(value)
        except DECODE_ERRORS as error:
            self.decode_or_plain(value)
            if isinstance(error, ValueError):
                raise
            if self.tags.isdisjoint(value):
                raise self._other_type(value) from error
            raise DecodeError(f"{self.label} cannot be read: {type(error).__name__}: {error}") from error

    def _other_type(self, value: AttributeValue) -> DecodeError:
        return DecodeError(f"{self.label} is stored as {' or '.join(sorted(self.tags))}, not as {'/'.join(value)}")

    def step(self, part: str | int) -> ValuePart | None:
        """Return one part of the value, or None if it has no such part.

        Args:
            part: a field name or key, or a position in a list.
        """
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts that have one: of a nested model its fields."""
        return ()

    @property
    def member(self) -> Converter | None:
        """The converter of a set's or list's members; None where the type has none."""
        return None

    @property
    def forms(self) -> tuple[Converter, ...]:
        """The converters of all forms in which values are found; the first is the one that they are written in."""
        return (self,)

    @property
    def ordered(self) -> bool:
        """Whether stored values are known to sort as the values do, so that they may be asked for by their order."""
        return True

    @property
    def levels(self) -> int | None:
        """How many lists and maps stand inside each other in a value at most; None where nobody knows."""
        return None if self.tags & CONTAINERS else 0

    @property
    def document(self) -> bool:
        """Whether the value is a nested model, so that class access to the field gives its fields' paths."""
        return False


class FieldEncoding(NamedTuple):
    """How one field is stored, as the native codec takes it."""

    name: str
    """Its name in Python."""
    stored: str
    """Its name in the stored map."""
    converter: Converter
    """How its values are stored."""
    encode: Callable[[Any], AttributeValue | None] | None = None
    """What encodes those that are not usual, if the converter does not; None of it leaves the part out."""
    nullable: bool = False
    """Whether None is not asked about, but stored as ``none``."""
    none: AttributeValue | None = None
    """What None is stored as; None leaves the part out."""


def deepest(converters: Iterable[Converter]) -> int | None:
    """Return the most levels that a value of any of some converters has; None where nobody knows."""
    found = 0
    for converter in converters:
        levels = converter.levels
        if levels is None:
            return None
        found = max(found, levels)
    return found


def one_deeper(converters: Iterable[Converter]) -> int | None:
    """Return the levels of a list or map of values of some converters."""
    inside = deepest(converters)
    return None if inside is None else inside + 1
