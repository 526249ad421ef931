"""Converters of values that are stored in one form and found in several, for tables that mix forms.

Values are written in the first form. One that is stored in another is read by that, and conditions ask for each form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias, cast

from dynamap_async.codec.converter import DECODE_ERRORS, Converter, ValuePart
from dynamap_async.codec.numbers import number_text
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.wire import AttributeValue, Tag

_Turn: TypeAlias = Callable[[Any], AttributeValue]
"""Stored value -> the same in another type."""
_TRUTHS: Final = {True: "true", False: "false"}
_EMPTY: Final[frozenset[Tag]] = frozenset(("L", "NULL"))
"""What stands for an empty set, or for None."""


class SeveralForms(Converter):
    """The converter of a field whose items are stored in different forms."""

    __slots__ = ("_by_tag", "_forms")

    in_one_form = False

    def __init__(self, forms: Sequence[Converter]) -> None:
        """Make the converter of some forms.

        Args:
            forms: the form that is written, and then the others, all exact.
        """
        first, self._forms = forms[0], tuple(forms)
        by_tag: dict[str, list[Converter]] = {}
        for form in forms:
            for tag in form.tags:
                by_tag.setdefault(tag, []).append(form)
        self._by_tag = by_tag
        super().__init__(label=first.label, tags=first.tags, encode=first.encode, decode=self._read, types=first.types)

    @property
    def forms(self) -> tuple[Converter, ...]:
        """The converters of all forms; the first is the one that is written."""
        return self._forms

    @property
    def member(self) -> Converter | None:
        """The members of a set or list in the first form."""
        return self._forms[0].member

    @property
    def levels(self) -> int | None:
        """How many lists and maps stand inside each other in the first form."""
        return self._forms[0].levels

    @property
    def document(self) -> bool:
        """Whether the first form is that of a nested model."""
        return self._forms[0].document

    def step(self, part: str | int) -> ValuePart | None:
        """Return the part of a value in the first form."""
        return self._forms[0].step(part)

    def decode_or_plain(self, value: AttributeValue) -> Any:
        """Return what the form gives that stores such values."""
        [tag] = value
        able = self._by_tag.get(tag) or [*self._forms]
        if tag not in (*self._by_tag, "NULL"):
            tags = " or ".join(sorted(self._by_tag))
            raise DecodeError(f"{self.label} is stored as {tags}, not as {tag}")
        if len(able) > 1:
            try:
                return self._read(value)
            except DECODE_ERRORS:
                pass
        return able[0].decode_or_plain(value)

    def _read(self, value: AttributeValue) -> Any:
        """Return the value as the form reads it that would store it so; else as the first does that can read it."""
        [tag] = value
        able = self._by_tag[tag]
        if len(able) == 1:
            return able[0].decode(value)
        found: list[Any] = []
        for form in able:
            try:
                read = form.decode(value)
                found.append(read)
                if form.encode(read) == value:
                    return read
            except DECODE_ERRORS:
                continue
        if not found:
            raise ValueError("in none of its stored forms")
        return found[0]


class InType(Converter):
    """The converter of values in another stored type than their own: numbers as text, say."""

    __slots__ = ("_member",)

    def __init__(self, usual: Converter, tag: Tag, there: _Turn, back: _Turn, member: Converter | None) -> None:
        def encode(value: Any) -> AttributeValue:
            stored = usual.encode(value)
            try:
                return there(stored)
            except (LookupError, ArithmeticError, ValueError):
                raise EncodeError(f"{usual.label} has no form of type {tag} for this value") from None

        def decode(value: AttributeValue) -> Any:
            try:
                own = back(value)
                found = usual.decode(own)
            except DECODE_ERRORS:
                raise _unlike(usual, value) from None
            # What is stored otherwise would be read, and found by no condition.
            if usual.encode(found) != own:
                raise _unlike(usual, value)
            return found

        super().__init__(label=usual.label, tags=frozenset((tag,)), encode=encode, decode=decode, types=usual.types)
        self._member = member

    @property
    def ordered(self) -> bool:
        """False: as text, "10" stands before "9"."""
        return False

    @property
    def member(self) -> Converter | None:
        """The members of a set, in the other type."""
        return self._member


def in_type(usual: Converter, tag: Tag) -> Converter | None:
    """Return the converter of values in another stored type; None where they have no form in it.

    Numbers become text, text that is a number becomes one, and so in sets; a bool becomes 1 or 0, or true or false.

    Args:
        usual: the converter of the values in their own type, exact.
        tag: the other type.
    """
    own = usual.tags - _EMPTY
    turns = _TURNS.get((next(iter(own)), tag)) if len(own) == 1 else None
    if turns is None:
        return None
    inner = usual.member
    member = None if inner is None else in_type(inner, cast("Tag", tag[0]))
    return InType(usual, tag, *turns, member)


def _unlike(usual: Converter, value: AttributeValue) -> DecodeError:
    [(tag, content)] = value.items()
    return DecodeError(
        f"{content!r} is not how {usual.label} is written as {tag}, so conditions would not find it; give "
        "also_stored_as a StoredForm that writes it like this"
    )


def _number(text: str) -> str:
    """Return a text that is a number as DynamoDB gives it back."""
    if number_text(Decimal(text)) != text:
        raise ValueError(text)
    return text


_TURNS: Final[dict[tuple[str, str], tuple[_Turn, _Turn]]] = {
    ("N", "S"): (lambda stored: {"S": stored["N"]}, lambda stored: {"N": stored["S"]}),
    ("S", "N"): (lambda stored: {"N": _number(stored["S"])}, lambda stored: {"S": stored["N"]}),
    ("BOOL", "N"): (
        lambda stored: {"N": str(int(stored["BOOL"]))},
        lambda stored: {"BOOL": {"1": True, "0": False}[stored["N"]]},
    ),
    ("BOOL", "S"): (
        lambda stored: {"S": _TRUTHS[stored["BOOL"]]},
        lambda stored: {"BOOL": {"true": True, "false": False}[stored["S"]]},
    ),
    ("NS", "SS"): (lambda stored: {"SS": stored["NS"]}, lambda stored: {"NS": sorted(stored["SS"])}),
    ("SS", "NS"): (
        lambda stored: {"NS": sorted(map(_number, stored["SS"]))},
        lambda stored: {"SS": sorted(stored["NS"])},
    ),
}
"""The type of its own, another -> what turns a stored value into that, and back; a LookupError, ArithmeticError or
ValueError where it has no such form."""
