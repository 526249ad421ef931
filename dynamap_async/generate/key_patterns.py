"""Patterns of keys: of which fields and constants the texts of a key attribute are made.

Every pattern that is found was proven: built from its parts it gives each text of the sample, and read back each part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any, Final
from uuid import UUID

from dynamap_async.codec import instant_text
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DynamapError
from dynamap_async.generate.field_types import TEXT_FORMS
from dynamap_async.generate.item_kinds import SEPARATORS, STRONG, VERSIONS
from dynamap_async.generate.names import field_name, words_of
from dynamap_async.models.templates import DeclaredTemplate, KeyTemplate, PatternError, format_of, make_template
from dynamap_async.source_text import literal

ENOUGH_ITEMS: Final = 20
ENOUGH_PARTITIONS: Final = 3
"""From so many items in so many partitions on, a text that never differs is taken for a constant, without a doubt."""
_TYPES: Final[Mapping[str, Any]] = {
    "str": str, "int": int, "Decimal": Decimal, "UUID": UUID, "date": date, "datetime": datetime,
}  # fmt: skip
_TIME_FORMS: Final = (
    *("%Y%m%d", "%Y%m", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y"),
    *("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y%m%dT%H%M%S", "%Y%m%d%H%M%S", "%Y-%m-%dT%H", "%Y-%m-%dT%H:%M"),
)
_UNITS: Final = {"year": 4, "month": 7, "day": 10, "hour": 13, "minute": 16, "second": 19, "millisecond": 23}
_MOST_SEPARATORS: Final = 4
_MOST_PIECES: Final = 8
"""Bounds for the ways in which a key is split, which grow with the power of the number of separators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldTexts:
    """The values of one field, as keys may hold them, in all items that have the key."""

    field: str
    """The field's name."""
    type: str
    """Its type, as it is written."""
    stored_as: str | None
    """Its stored form, if it is not the usual one."""
    texts: tuple[str, ...]
    """The stored texts, those of numbers too."""
    is_number: bool = False
    """Whether it is stored as a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternPart:
    """One piece of a pattern: a constant, or a field."""

    constant: str = ""
    """The text; empty for a field."""
    field: str = ""
    """The field's name; empty for a constant."""
    form: str = ""
    """What stands behind the colon."""
    type: str = "str"
    """The type that the field has to have."""
    is_new: bool = False
    """Whether the field lives in the key alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCondition:
    """What a field has to be so that an item has a key."""

    field: str
    """The field's name."""
    values: tuple[str, ...] = ()
    """Its values as they are written in Python; none where any value but None will do."""

    def __str__(self) -> str:
        """Return it as ``template`` takes it, without the braces."""
        shown = ", ".join(self.values) or "..."
        return f"{literal(self.field)}: {f'[{shown}]' if len(self.values) > 1 else shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPattern:
    """How the texts of a key attribute are made from fields."""

    parts: tuple[PatternPart, ...]
    """The pieces in order, separators among the constants."""
    when: KeyCondition | None = None
    """What an item has to be so that it has the key."""
    checks: tuple[str, ...] = ()
    """Doubts, each a sentence."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """What ``template`` takes, the pattern first."""
        return (literal(self.text), *(() if self.when is None else (f"when={{{self.when}}}",)))

    @property
    def names(self) -> frozenset[str]:
        """The names of the fields that it needs."""
        return frozenset((*(part.field for part in self.fields), *(() if self.when is None else (self.when.field,))))

    def renamed(self, names: Mapping[str, str]) -> KeyPattern:
        """Return the pattern with other names of its fields."""
        parts = tuple(replace(part, field=names[part.field]) if part.field else part for part in self.parts)
        when = None if self.when is None else replace(self.when, field=names[self.when.field])
        return replace(self, parts=parts, when=when)

    def only_when(self, condition: KeyCondition) -> KeyPattern:
        """Return the pattern with a condition."""
        return replace(self, when=condition)

    @property
    def text(self) -> str:
        """The pattern as ``template`` takes it."""
        return "".join(map(_written, self.parts))

    @property
    def fields(self) -> tuple[PatternPart, ...]:
        """The pieces that are fields."""
        return tuple(part for part in self.parts if part.field)

    def doubt_beside(self, models: Sequence[str]) -> str:
        """Return the doubt to write about a key left without this pattern, because two such classes would be refused.

        Args:
            models: the names of the classes that may make the same keys.
        """
        names = ", ".join(models)
        return (
            f"template({self.text!r}) is left out, because the keys may then be those of {names}: write it, with "
            f"distinct_from=({names},) in the class statement, if no item of one ever has a key of the other"
        )


def _written(part: PatternPart) -> str:
    if not part.field:
        return part.constant.replace("{", "{{").replace("}", "}}")
    return f"{{{part.field}:{part.form}}}" if part.form else f"{{{part.field}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTexts:
    """The texts of one key attribute in the items of one kind."""

    attribute: str
    texts: tuple[str, ...]
    partitions: tuple[str, ...]
    """The partition of each item, to see how various they are."""
    word: str
    """The constant that all begin with; empty for none."""
    end: str = ""
    """The constant that all end with; empty for none."""
    middles: tuple[str, ...] = ()
    """The constants that stand between values in all, in order."""
    kind: str
    """The name of the kind."""
    candidates: tuple[FieldTexts, ...]
    """The fields that may be parts."""
    may_add: bool
    """Whether a piece may be a field of its own."""
    taken: frozenset[str]
    """The names of all fields of the model."""

    @property
    def is_various(self) -> bool:
        """Whether there are enough different texts to take what they have in common for a constant."""
        return len(self.texts) >= ENOUGH_ITEMS and len(set(self.partitions)) >= ENOUGH_PARTITIONS


def find_pattern(key: KeyTexts) -> KeyPattern | None:
    """Return the pattern that explains most of a key's texts; None where none does."""
    found = [pattern for split in _splits(key) if (pattern := _classified(key, split)) is not None]
    if not key.is_various:  # few texts of two names with an "@" between them are e-mail addresses
        found = [each for each in found if not any("@" in part.constant for part in each.parts)]
    # Proving is dear: it builds and parses every text, so the most promising patterns are tried first.
    best = next((pattern for pattern in sorted(found, key=_merit) if _is_proven(key, pattern)), None)
    if best is None or (len(best.parts) == 1 and best.parts[0].is_new):
        return None  # a text of its own
    return best


def _merit(pattern: KeyPattern) -> tuple[int, int, int]:
    new = sum(part.is_new for part in pattern.parts)
    explained = len(pattern.fields) - new
    # Few fields that only the key stores, then many that the item has too, then few pieces.
    return new, -explained, len(pattern.parts)


def new_texts(pattern: KeyPattern, part: PatternPart, texts: Sequence[str]) -> FieldTexts:
    """Return the values of a field that only a key stores."""
    template = template_of(pattern)
    form = template.part(part.field).format
    values = [template.parse(text)[part.field] for text in texts]
    return FieldTexts(
        field=part.field,
        type=part.type,
        stored_as=None,
        texts=tuple(str(value) if part.type == "int" else form.write(value) for value in values),
        is_number=part.type == "int",
    )


def template_of(pattern: KeyPattern) -> KeyTemplate:
    """Return the template that a pattern declares; raises PatternError if it cannot be one."""
    return make_template(DeclaredTemplate(pattern.text), {each.field: _TYPES[each.type] for each in pattern.fields})


# Where texts are split: each split is a list of pieces for each text, separators at the odd places.


def _splits(key: KeyTexts) -> Iterator[list[list[str]]]:
    rests = [text.removeprefix(key.word).removesuffix(key.end) for text in key.texts]
    middles = [*map(re.escape, key.middles)]
    values = [re.sub("|".join(middles), "", rest) for rest in rests] if middles else rests
    present = [each for each in SEPARATORS if all(each in value for value in values)]
    strong = {each for each in present if each in STRONG}
    for count in range(min(len(present), _MOST_SEPARATORS), -1, -1):
        for chosen in combinations(present, count):
            # "#" and "|" are always separators; the others may also be part of a value.
            if not strong <= {*chosen}:
                continue
            constants = "|".join([*middles, *([f"[{re.escape(''.join(chosen))}]+"] if chosen else [])])
            pieces = [re.split(f"({constants})", rest) if constants else [rest] for rest in rests]
            separators = {tuple(each[1::2]) for each in pieces}
            if len(separators) == 1 and len(pieces[0]) <= 2 * _MOST_PIECES:
                yield pieces
    if all(text.startswith("$") for text in key.texts) and (labelled := _labelled(rests)) is not None:
        yield labelled
    counts = {sum(value.count(each) for each in strong) for value in values}
    if strong and len(counts) > 1:  # values of the last piece hold separators: split at the first one only
        first = re.escape("".join(strong))
        pattern = f"({'|'.join([*middles, f'[{first}]'])})"
        pieces = [re.split(pattern, rest, maxsplit=1 + len(middles)) for rest in rests]
        if len({tuple(each[1::2]) for each in pieces}) == 1:
            yield pieces


def _labelled(rests: Sequence[str]) -> list[list[str]] | None:
    """Return texts in ElectroDB's form, split behind the label that each value has: ``$shop_1#order_a_7#line_3``."""
    found = [re.split(r"((?:^|#)\$?[A-Za-z][A-Za-z0-9]*_)", rest) for rest in rests]
    separators = {tuple(each[1::2]) for each in found}
    return found if len(separators) == 1 and len(found[0]) > 1 else None


def _classified(key: KeyTexts, split: Sequence[Sequence[str]]) -> KeyPattern | None:
    parts = [PatternPart(constant=key.word)] if key.word else []
    checks: list[str] = []
    if key.word and not key.is_various:
        checks.append(f"{key.attribute}: {_constant_doubt(key)}")
    used: set[str] = set()
    before = key.word
    names = re.split(r"[^A-Za-z0-9]+", key.attribute)
    count = (len(split[0]) + 1) // 2
    for place, pieces in enumerate(zip(*split, strict=True)):
        if place % 2:
            parts.append(PatternPart(constant=pieces[0]))
            before = pieces[0] if pieces[0] in key.middles else before
            continue
        if not any(pieces):
            continue  # nothing follows the word
        own = names[place // 2] if len(names) == count > 1 else None
        part, doubts = _piece(key, pieces, used, before, own, place // 2 + 1)
        if part is None:
            return None
        used.add(part.field)
        before = part.constant
        parts.append(part)
        checks += doubts
    if key.end:
        parts.append(PatternPart(constant=key.end))
    return KeyPattern(parts=tuple(parts), checks=tuple(checks)) if parts else None


def _constant_doubt(key: KeyTexts) -> str:
    items, partitions = len(key.texts), len(set(key.partitions))
    return (
        f"constants and parts were seen in {items:,} {'item' if items == 1 else 'items'} of {partitions:,} "
        f"{'partition' if partitions == 1 else 'partitions'} only"
    )


def _piece(
    key: KeyTexts, pieces: Sequence[str], used: set[str], before: str, own: str | None, place: int
) -> tuple[PatternPart | None, tuple[str, ...]]:
    equal = _equal(key, pieces, used, before)
    names = [candidate.field for candidate, _, _ in equal]
    if len(set(pieces)) == 1 and key.is_various and pieces[0]:
        doubt = f"{pieces[0]!r} in {key.attribute} could be {', '.join(names)}, which never differs"
        return PatternPart(constant=pieces[0]), (doubt,) if equal else ()
    if not equal:
        return _free(key, pieces, used, before, own, place)
    candidate, form, kind = equal[0]
    part = PatternPart(field=candidate.field, form=form, type=kind)
    alike = any(set(other.texts) == set(candidate.texts) for other, _, _ in equal[1:])
    if len(equal) > 1 and (alike or not key.is_various):
        return part, (f"{candidate.field} in {key.attribute} could also be {', '.join(names[1:])}",)
    return part, () if key.is_various else (f"{key.attribute}: {_constant_doubt(key)}",)


def _equal(key: KeyTexts, pieces: Sequence[str], used: set[str], before: str) -> list[tuple[FieldTexts, str, str]]:
    """Return (field, form, type) of the fields that equal a piece, the likeliest first."""
    found = [
        (candidate, form, kind)
        for candidate in key.candidates
        if candidate.field not in used and all(pieces)
        for form, kind in _forms(candidate, pieces)
    ]
    # A field called customer is likelier behind "CUSTOMER#" than one that happens to have the same values.
    named = {*words_of(before)}
    return sorted(
        found,
        key=lambda each: (
            bool(each[1]),
            -len(set(each[0].texts)),
            not named & {*words_of(each[0].field)},
            key.candidates.index(each[0]),
        ),
    )


def _forms(candidate: FieldTexts, pieces: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the forms in which a field writes a piece, each with the type that the field then needs."""
    if candidate.type not in _TYPES:
        return
    if [*pieces] == [*candidate.texts]:
        yield from _equal_forms(candidate)
    elif candidate.is_number:
        yield from _number_forms(candidate, pieces)
    elif candidate.type in ("date", "datetime"):
        yield from _cut_forms(candidate, pieces, candidate.texts)
        yield from _forms_that_write(candidate, pieces, candidate.type, _TIME_FORMS)
    elif candidate.type == "str":
        yield from (
            (form, "str")
            for form, change in (("lower", str.lower), ("upper", str.upper))
            if [*map(change, candidate.texts)] == [*pieces]
        )


def _equal_forms(candidate: FieldTexts) -> Iterator[tuple[str, str]]:
    if not candidate.is_number:
        yield "", candidate.type if candidate.stored_as is None else "str"
    elif all(re.fullmatch(r"-?\d+", text) for text in candidate.texts):
        yield "", "int"


def _number_forms(candidate: FieldTexts, pieces: Sequence[str]) -> Iterator[tuple[str, str]]:
    widths = {len(piece) for piece in pieces}
    whole = all(text.isdecimal() for text in candidate.texts)
    if candidate.type == "datetime" and whole:
        scale = 1000 if candidate.stored_as == "EPOCH_MILLISECONDS" else 1
        yield from _cut_forms(
            candidate,
            pieces,
            [instant_text(datetime.fromtimestamp(int(text) / scale, UTC)) for text in candidate.texts],
        )
    if len(widths) != 1 or not all(re.fullmatch(r"\d+(\.\d+)?", piece) for piece in pieces):
        return
    [width] = widths
    if all(re.fullmatch(r"-?\d+", text) for text in candidate.texts) and pieces[0].isdecimal():
        yield from _forms_that_write(candidate, pieces, "int", (f"0{width}d", f"+0{width}d", "ordered"))
    elif candidate.type == "Decimal":
        decimals = len(pieces[0].partition(".")[2])
        yield from _forms_that_write(
            candidate, pieces, "Decimal", (f"0{width}.{decimals}f", f"+0{width}.{decimals}f", "ordered")
        )


def _forms_that_write(
    candidate: FieldTexts, pieces: Sequence[str], kind: str, forms: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield those forms in which every value of a field is written as its piece."""
    for form in forms:
        try:
            write = format_of(_TYPES[kind], form).write
            if all(write(value_of(candidate, number, kind)) == piece for number, piece in enumerate(pieces)):
                yield form, kind
        except (PatternError, DynamapError, ValueError, ArithmeticError):
            continue


def _cut_forms(candidate: FieldTexts, pieces: Sequence[str], texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    units = _UNITS if candidate.type == "datetime" else {"year": 4, "month": 7}
    for unit, width in units.items():
        zone = "Z" if unit in ("second", "millisecond") else ""
        full = all(len(text) > width for text in texts)
        if full and all(text[:width] + zone == piece for text, piece in zip(texts, pieces, strict=True)):
            yield unit, candidate.type


def _free(
    key: KeyTexts, pieces: Sequence[str], used: set[str], before: str, own: str | None, place: int
) -> tuple[PatternPart | None, tuple[str, ...]]:
    """Return a field that only the key stores, if the piece can be one."""
    if not key.may_add or not all(pieces):
        return None, ()
    word = own or before
    called = "_".join(words_of(word))
    is_version = before in VERSIONS and own is None
    if is_version:
        called = "version_number"
    kind = "_".join(words_of(key.kind))
    taken = key.taken | used
    # "CUSTOMER#17" in an item of the kind customer holds the customer's own id.
    if called and called == kind and own is None:
        name = field_name(f"{called}_id", taken)
    else:
        name = field_name(called or f"{key.attribute}_{place}", taken)
    doubts: list[str] = []
    if len(set(pieces)) == 1:
        doubts.append(f"{name} in {key.attribute} may be a constant: it never differs, but {_constant_doubt(key)}")
    elif not called:
        doubts.append(f"{name} is a piece of {key.attribute} that nothing names")
    if _are_shards(key, pieces):
        doubts.append(f"{name} in {key.attribute} may be the number of a shard: see shards= of template")
    form, type_ = _own_form(pieces)
    if is_version and all(piece.isdecimal() and piece == str(int(piece)) for piece in pieces):
        form, type_ = "", "int"
    return PatternPart(field=name, form=form, type=type_, is_new=True), tuple(doubts)


def _are_shards(key: KeyTexts, pieces: Sequence[str]) -> bool:
    numbers = {*pieces}
    return key.is_various and 2 <= len(numbers) <= 64 and all(each.isdecimal() and int(each) < 64 for each in numbers)


def _own_form(pieces: Sequence[str]) -> tuple[str, str]:
    for kind, stored_as, rewritten in TEXT_FORMS:
        try:
            if stored_as is None and all(rewritten(piece) == piece for piece in pieces):
                return "", kind
        except (ValueError, OverflowError):
            continue
    widths = {len(piece) for piece in pieces}
    digits = all(piece.isascii() and piece.isdecimal() for piece in pieces)
    # Padded to one width, as numbers are that have to sort.
    if digits and len(widths) == 1 and any(piece.startswith("0") and piece != "0" for piece in pieces):
        return f"0{widths.pop()}d", "int"
    return "", "str"


def _is_proven(key: KeyTexts, pattern: KeyPattern) -> bool:
    candidates = {candidate.field: candidate for candidate in key.candidates}
    try:
        template = template_of(pattern)
        for number, text in enumerate(key.texts):
            read = template.parse(text)
            values = {
                part.field: read[part.field] if part.is_new else value_of(candidates[part.field], number, part.type)
                for part in pattern.fields
            }
            if template.build(values) != text or not read.items() <= values.items():
                return False
    except (PatternError, DynamapError, ValueError, LookupError, ArithmeticError):
        return False
    return True


def value_of(candidate: FieldTexts, number: int, kind: str) -> Any:
    """Return a field's value, as the library reads it.

    Args:
        number: the place of the item.
        kind: the type that the field gets.
    """
    text = candidate.texts[number]
    if kind == "datetime":
        if candidate.is_number:
            scale = 1000 if candidate.stored_as == "EPOCH_MILLISECONDS" else 1
            return datetime.fromtimestamp(int(text) / scale, UTC)
        return datetime.fromisoformat(text)
    if kind == "date":
        return date.fromisoformat(text)
    return _TYPES[kind](text)
