"""Types of fields, from all values that an attribute has in the items of a kind.

What is guessed reads every value and writes it as it was, or it is not guessed: a text becomes a date only if all of
them are dates that are written in the same way.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from dynamap_async.codec import instant_text, parse_instant
from dynamap_async.dataclass import dataclass
from dynamap_async.generate.names import class_name, words_of
from dynamap_async.wire import AttributeValue

SECONDS: Final = "ISO_SECONDS"
MILLISECONDS: Final = "ISO_MILLISECONDS"
"""The names of stored forms that a generated module defines itself."""
_FIRST, _LAST = 978_307_200, 4_102_444_800
"""The epoch seconds of the years 2001 and 2100."""
_OF_TIMES: Final = frozenset(
    {
        *("at", "on", "time", "date", "ts", "timestamp", "expires", "expire", "expiry", "expiration", "created"),
        *("updated", "modified", "deleted", "since", "until", "ttl", "start", "end"),
    }
)
_MAGIC: Final = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "Zstandard"), (b"BZh", "bzip2"), (b"\x78\x9c", "zlib"))
_SECRET: Final = re.compile(r"pass(word|wd|phrase)|secret|token|credential|api_?key|private|\bpin\b|ssn", re.IGNORECASE)
_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,20})(\.\d{0,10}[1-9])?")
_FEW: Final = 12
_ENOUGH: Final = 100
_MEMBERS: Final = 60
_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class NestedDesign:
    """The class of a map in items: a nested model, or a typed dict where some members are absent and others null."""

    name: str
    members: Mapping[str, tuple[str, bool]]
    """Stored name -> type, and whether every map has it."""

    @property
    def is_model(self) -> bool:
        """Whether it is a model, with paths to its members: None is stored in one way, by NULL or by absence."""
        absent = [kind for kind, always in self.members.values() if not always]
        return "Any" not in absent and not (absent and any(is_nullable(kind) for kind, _ in self.members.values()))

    @property
    def absent_when_none(self) -> bool:
        """Whether maps leave members out that are None."""
        return not all(always for _, always in self.members.values())


def is_nullable(kind: str) -> bool:
    """Return whether None is a value of a type."""
    return kind.endswith(" | None")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuessedType:
    """The type that an attribute's values have."""

    text: str
    """The type as it is written, without None."""
    stored_as: str | None = None
    """The stored form that it needs, if one."""
    checks: tuple[str, ...] = ()
    """Doubts, each a sentence."""
    notes: tuple[str, ...] = ()
    """What a reader may want to know, without any value."""
    values: tuple[str, ...] = ()
    """All values, where they are few: they may be members of an enum."""


class NestedClasses:
    """Collects the classes of maps, so that equal maps share a class, and names are unique.

    Args:
        taken: the names of the other classes of the module.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self._taken: set[str] = set(taken)
        self.found: list[NestedDesign] = []
        """The classes, inner ones first."""

    def named(self, text: str, members: Mapping[str, tuple[str, bool]]) -> str:
        """Return the name of the class with these members, which is added if it is new.

        Args:
            text: what it is called by.
        """
        known = next((each for each in self.found if each.members == members), None)
        if known is not None:
            return known.name
        name = class_name(text, self._taken)
        self._taken.add(name)
        self.found.append(NestedDesign(name=name, members=dict(members)))
        return name


def guess_type(name: str, values: Sequence[AttributeValue], nested: NestedClasses) -> GuessedType:
    """Return the type of an attribute.

    Args:
        name: its stored name.
        values: its values in all items that have it, without NULL.
        nested: takes the classes of maps.
    """
    tags = Counter(tag for value in values for tag in value)
    if len(tags) == 1:
        [tag] = tags
        stored: list[Any] = [each for value in values for each in value.values()]
        return _OF_TAG[tag](name, stored, nested)
    counts = ", ".join(f"{tag} {number:,}" for tag, number in sorted(tags.items()))
    check = f"values of several types ({counts})"
    if not tags:
        return GuessedType(text="Any", checks=("no value was seen",))
    if tags.keys() <= _SCALARS.keys():
        numbers = [Decimal(value["N"]) for value in values if "N" in value]
        texts = [_SCALARS[tag] for tag in sorted(tags) if tag != "N"]
        texts += [_number(numbers)] if numbers else []
        return GuessedType(text=" | ".join(sorted(texts)), checks=(check,), notes=_as_numbers(values, numbers))
    return GuessedType(text="Any", checks=(check,))


def _as_numbers(values: Sequence[AttributeValue], numbers: Sequence[Decimal]) -> tuple[str, ...]:
    """Return a note for numbers that some items store as text; none if a text is no number."""
    texts = [Decimal(value["S"]) for value in values if "S" in value and _NUMBER.fullmatch(value["S"])]
    if not numbers or len(texts) + len(numbers) < len(values):
        return ()
    return (f'each text is a number: {_number([*numbers, *texts])} with attr(also_stored_as="S") reads both',)


PYNAMODB_TIME: Final = "%Y-%m-%dT%H:%M:%S.%f+0000"
"""How PynamoDB's UTCDateTimeAttribute writes a time."""
_SCALARS: Final = {"S": "str", "N": "int", "B": "bytes", "BOOL": "bool"}


def _text(values: Sequence[str]) -> GuessedType:
    for kind, stored_as, rewritten in TEXT_FORMS:
        if _all(values, rewritten):
            return GuessedType(text=kind, stored_as=stored_as)
    notes: list[str] = []
    if _all(values, _naive):
        notes.append("times without a zone: kept as text")
    if _all(values, _pynamodb_time):
        notes.append(f'PynamoDB wrote times: attr(stored_as=time_text("{PYNAMODB_TIME}")) would read them')
    if values and all(map(_ULID.fullmatch, values)):
        notes.append("ULIDs: kept as text, which sorts as they do; the type ulid.ULID of python-ulid reads them")
    if values and all(map(_is_json, values)):
        notes.append("JSON text: attr(stored_as=JSON_TEXT) would read it")
    distinct = sorted(set(values))
    few = tuple(distinct) if len(distinct) <= _FEW and len(values) >= _ENOUGH else ()
    return GuessedType(text="str", notes=tuple(notes), values=few)


def _all(values: Sequence[str], rewritten: Callable[[str], str]) -> bool:
    """Return whether every text is what its parsed value is written as."""
    try:
        return bool(values) and all(value and rewritten(value) == value for value in values)
    except (ValueError, OverflowError):
        return False


def _instant(text: str) -> str:
    return instant_text(parse_instant(text)) if text.endswith("Z") else ""


def _naive(text: str) -> str:
    return datetime.fromisoformat(text).isoformat() if "T" in text and "+" not in text and "Z" not in text else ""


def _pynamodb_time(text: str) -> str:
    return datetime.strptime(text, PYNAMODB_TIME).replace(tzinfo=UTC).strftime(PYNAMODB_TIME)


def _in_utc(text: str, timespec: str) -> str:
    if not text.endswith("Z"):
        return ""
    return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None).isoformat(timespec=timespec) + "Z"


TEXT_FORMS: Final[Sequence[tuple[str, str | None, Callable[[str], str]]]] = (
    ("UUID", None, lambda text: str(UUID(text))),
    ("date", None, lambda text: date.fromisoformat(text).isoformat()),
    ("datetime", None, _instant),
    ("datetime", SECONDS, lambda text: _in_utc(text, "seconds")),
    ("datetime", MILLISECONDS, lambda text: _in_utc(text, "milliseconds")),
)
"""Type, stored form, and what gives a text as it would be written again."""


def _is_json(text: str) -> bool:
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _numbers(name: str, values: Sequence[str]) -> GuessedType:
    numbers = [Decimal(value) for value in values]
    kind = _number(numbers)
    if kind == "int" and _OF_TIMES & {*words_of(name)}:
        if all(_FIRST <= number <= _LAST for number in numbers):
            return GuessedType(text="datetime", stored_as="EPOCH_SECONDS")
        if all(_FIRST * 1000 <= number <= _LAST * 1000 for number in numbers):
            return GuessedType(text="datetime", stored_as="EPOCH_MILLISECONDS")
    notes = ("counts the writes? Then Version[int] with a default of 0",) if {*words_of(name)} & {"version"} else ()
    return GuessedType(text=kind, notes=notes if kind == "int" else ())


def _number(numbers: Sequence[Decimal]) -> str:
    return "int" if all(number == number.to_integral_value() for number in numbers) else "Decimal"


def _binary(values: Sequence[str]) -> GuessedType:
    begun = [base64.b64decode(value[:8]) for value in values]
    for magic, format_name in _MAGIC:
        if begun and all(each.startswith(magic) for each in begun):
            return GuessedType(text="bytes", notes=(f"compressed: begins as {format_name} does",))
    if values and all(map(_is_twice_encoded, values)):
        return GuessedType(text="bytes", notes=("Base64 inside, as of PynamoDB's legacy_encoding: kept as it is",))
    return GuessedType(text="bytes")


def _is_twice_encoded(value: str) -> bool:
    """Return whether the bytes of a value are themselves the Base64 text of some bytes."""
    try:
        return bool(base64.b64decode(base64.b64decode(value), validate=True))
    except ValueError:
        return False


def _list(name: str, values: Sequence[Sequence[AttributeValue]], nested: NestedClasses) -> GuessedType:
    inner, checks = _inner(name, [each for value in values for each in value], nested)
    return GuessedType(text=f"list[{inner}]", checks=checks)


def _map(name: str, values: Sequence[Mapping[str, AttributeValue]], nested: NestedClasses) -> GuessedType:
    names = Counter(key for value in values for key in value)
    stable = names and len(names) <= _MEMBERS and sum(names.values()) >= _SHARE * len(names) * len(values)
    if not stable or any(not key for key in names):
        inner, checks = _inner(name, [each for value in values for each in value.values()], nested)
        return GuessedType(text=f"dict[str, {inner}]", checks=checks)
    members: dict[str, tuple[str, bool]] = {}
    checks = ()
    for key in names:
        inner, doubts = _inner(key, [value[key] for value in values if key in value], nested)
        members[key] = inner, names[key] == len(values)
        checks += tuple(f"{key}: {each}" for each in doubts)
    return GuessedType(text=nested.named(name, members), checks=checks)


def _inner(name: str, values: Sequence[AttributeValue], nested: NestedClasses) -> tuple[str, tuple[str, ...]]:
    """Return the type of values inside lists and maps, where times and numbers stay as they are stored."""
    filled = [value for value in values if "NULL" not in value]
    if not filled:
        return "Any", ()
    tags = {tag for value in filled for tag in value}
    if tags == {"S"}:
        guessed = GuessedType(text="str")
    elif tags == {"N"}:
        guessed = GuessedType(text=_number([Decimal(value["N"]) for value in filled if "N" in value]))
    else:
        guessed = guess_type(name, filled, nested)
    none = " | None" if len(filled) < len(values) and guessed.text != "Any" else ""
    return guessed.text + none, guessed.checks


def _number_set(values: Sequence[Sequence[str]]) -> GuessedType:
    return GuessedType(text=f"set[{_number([Decimal(each) for value in values for each in value])}]")


_OF_TAG: Final[dict[str, Callable[[str, Any, NestedClasses], GuessedType]]] = {
    "S": lambda name, values, nested: _text(values),
    "N": lambda name, values, nested: _numbers(name, values),
    "B": lambda name, values, nested: _binary(values),
    "BOOL": lambda name, values, nested: GuessedType(text="bool"),
    "NULL": lambda name, values, nested: GuessedType(text="Any", checks=("only NULL was seen",)),
    "SS": lambda name, values, nested: GuessedType(text="set[str]"),
    "NS": lambda name, values, nested: _number_set(values),
    "BS": lambda name, values, nested: GuessedType(text="set[bytes]"),
    "L": _list,
    "M": _map,
}


def is_secret(name: str) -> bool:
    """Return whether an attribute's name suggests that its values are secret."""
    return _SECRET.search(name) is not None
