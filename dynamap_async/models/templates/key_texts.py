"""The shapes of keys: which texts a key attribute of a model may have, and which text two of them have in common.

A shape holds every text that is ever written, and few others: it knows constants, separators, how wide numbers and
times are and of which characters, the values of enums, and what fields allow; not that there is no 13th month. So two
shapes without a common text prove that no key is of both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.models.templates.automata import Automaton, Both, Described, UpTo, common_text_of, reads_all_of
from dynamap_async.models.templates.template import KeyTemplate, TemplatePart
from dynamap_async.models.templates.text_patterns import (
    ANY,
    DIGITS,
    Characters,
    Either,
    Joined,
    Pattern,
    Repeated,
    constant,
    whole_numbers,
)


@dataclass(frozen=True, slots=True)
class Places:
    """A text with a few possible characters at each place; a constant where there is one for each."""

    characters: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, text: str) -> Places:
        """Return the piece that is this text."""
        return cls(tuple(map(frozenset, text)))

    @property
    def is_constant(self) -> bool:
        """Whether it is one text."""
        return all(len(each) == 1 for each in self.characters)

    @property
    def regex(self) -> str:
        """The pattern of the texts, for ``re``."""
        return "".join(f"[{''.join(map(re.escape, sorted(each)))}]" for each in self.characters)

    @property
    def described(self) -> Described:
        """The texts, for an automaton."""
        return Joined(tuple(map(Characters, self.characters)))


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few texts."""

    texts: frozenset[str]

    @property
    def regex(self) -> str:
        """The pattern of the texts, for ``re``."""
        return f"(?:{'|'.join(map(re.escape, sorted(self.texts)))})"

    @property
    def described(self) -> Described:
        """The texts, for an automaton."""
        return Either(tuple(map(constant, sorted(self.texts))))


_WHOLE: Final = whole_numbers(None, None)
_DIGITS: Final = Characters(DIGITS)
_FRACTION: Final = Joined((constant("."), Repeated(_DIGITS), Characters(DIGITS - {"0"})))
_DECIMAL: Final = Either(
    (_WHOLE, Joined((Repeated(constant("-"), 0, 1), whole_numbers(0, None), _FRACTION)))  # as -0.5
)
_WRITTEN: Final = (re.compile("0|-?[1-9][0-9]*"), re.compile(r"0|-?[1-9][0-9]*|-?(?:0|[1-9][0-9]*)\.[0-9]*[1-9]"))
"""How whole numbers and others are written: without superfluous zeros."""


@dataclass(frozen=True, slots=True)
class PlainNumber:
    """A number as it is, with as many digits as it has."""

    fraction: bool

    @property
    def regex(self) -> str:
        """The pattern of the texts, for ``re``, and of those that other programs may have written."""
        return r"(-?[0-9]+(?:\.[0-9]+)?)" if self.fraction else "(-?[0-9]+)"

    @property
    def described(self) -> Described:
        """The texts, for an automaton."""
        return _DECIMAL if self.fraction else _WHOLE

    def allows(self, text: str) -> bool:
        """Return whether a text is one of a number as this library writes it."""
        return _WRITTEN[self.fraction].fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class FreeText:
    """Any text up to the first place where what ends it stands."""

    end: str = ""
    """What ends it; empty for the end of the key."""
    lacks: str = ""
    """A character that is escaped in it."""
    filled: bool = False
    """Whether it has a character at least, before what ends it."""

    @property
    def regex(self) -> str:
        """The pattern of the texts, for ``re``."""
        return f"{self.before_end}{re.escape(self.end)}"

    @property
    def before_end(self) -> str:
        """The pattern of what stands before the end, for ``re``."""
        if self.lacks:
            return f"[^{re.escape(self.lacks)}]*"
        return f"(?:(?!{re.escape(self.end)}).)*" if self.end else ".*"

    @property
    def described(self) -> Described:
        """The texts, for an automaton."""
        least = int(self.filled)
        if self.lacks or not self.end:
            lacks = Characters(frozenset(self.lacks), others=True)
            return Joined((Repeated(lacks, least), constant(self.end)))
        if not least:
            return UpTo(self.end)
        return Both((UpTo(self.end), Joined((Repeated(ANY, least), constant(self.end)))))


@dataclass(frozen=True, slots=True)
class Limited:
    """A text of which the field allows only some."""

    piece: Places | PlainNumber | FreeText
    patterns: tuple[Pattern, ...]
    """What is known of the texts, without what ends them."""
    allows: Callable[[str], bool]
    """Returns whether a text, without what ends it, is one that the field allows."""

    @property
    def regex(self) -> str:
        """The pattern of the texts, for ``re``, and of those that the field does not allow."""
        match self.piece:
            case FreeText(end=end) as piece:
                return f"({piece.before_end}){re.escape(end)}"
            case Places() as piece:
                return f"({piece.regex})"
            case PlainNumber() as piece:
                return piece.regex

    @property
    def described(self) -> Described:
        """The texts, for an automaton."""
        end = constant(self.piece.end if isinstance(self.piece, FreeText) else "")
        return Both((self.piece.described, *(Joined((each, end)) for each in self.patterns)))


Piece: TypeAlias = Places | OneOf | PlainNumber | FreeText | Limited


@dataclass(frozen=True)  # without slots, for the pattern that is compiled once
class Shape:
    """The texts that a key attribute may have."""

    pieces: tuple[Piece, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression that matches texts of the shape, whatever the fields allow."""
        return re.compile("".join(each.regex for each in self.pieces), re.DOTALL)

    @cached_property
    def checks(self) -> tuple[Callable[[str], bool], ...]:
        """What judges the groups of the pattern."""
        return tuple(each.allows for each in self.pieces if isinstance(each, PlainNumber | Limited))

    def holds(self, text: str) -> bool:
        """Return whether a text has the shape."""
        found = self.pattern.fullmatch(text)
        if found is None or not self.checks:
            return found is not None
        return all([allows(group) for allows, group in zip(self.checks, found.groups(), strict=True)])  # noqa: C419 - a list is faster, and items are read by it

    def may_hold(self, text: str) -> bool:
        """Return whether a text has the shape, or would if the fields allowed their values."""
        return self.pattern.fullmatch(text) is not None

    @property
    def is_limited(self) -> bool:
        """Whether fields allow only some of the texts."""
        return any(isinstance(each, Limited) for each in self.pieces)

    @property
    def unlimited(self) -> Shape:
        """The shape without what the fields allow."""
        return Shape(tuple(each.piece if isinstance(each, Limited) else each for each in self.pieces))

    def is_within(self, other: Shape) -> bool:
        """Return whether every text of this shape is one of another, too."""
        return reads_all_of(_automaton(other.pieces), _automaton(self.pieces))


ANY_TEXT: Final = Shape((FreeText(),))
"""The shape of a key of which nothing is known but that it is text."""

LimitsOf: TypeAlias = Callable[[TemplatePart, Places | PlainNumber | FreeText], Piece]
"""Part, and its piece -> the piece with what the part's field allows."""


def shape_of(
    template: KeyTemplate,
    *,
    known: Mapping[str, str] | None = None,
    suffix: Sequence[Piece] = (),
    limited: LimitsOf | None = None,
) -> Shape:
    """Return the shape of the keys that a template makes.

    Args:
        known: field name -> text, of parts whose text is known.
        suffix: what follows the key as it is stored.
        limited: adds what the fields allow, where that is known.
    """
    if not template.parts:
        return Shape((Places.of(template.tail), *suffix))
    pieces: list[Piece] = [Places.of(template.parts[0].before)]
    for part in template.parts:
        text = None if known is None else known.get(part.name)
        pieces += _pieces(part, limited) if text is None else [Places.of(text + part.closing)]
    return Shape((*pieces, *suffix))


def _pieces(part: TemplatePart, limited: LimitsOf | None) -> Iterable[Piece]:
    """Return the pieces of a part, with what ends it."""
    form = part.format
    if form.texts is not None:
        return OneOf(form.texts), Places.of(part.closing)
    after: tuple[Piece, ...] = (Places.of(part.closing),)
    if form.places is not None:
        piece: Places | PlainNumber | FreeText = Places(tuple(map(frozenset, form.places)))
    elif form.alphabet is not None:
        piece = PlainNumber("." in form.alphabet)
    else:
        piece, after = FreeText(part.closing, "" if part.escaping is None else part.escaping.first), ()
    return (piece if limited is None else limited(part, piece)), *after


def _automaton(pieces: Iterable[Piece]) -> Automaton:
    return Automaton(each.described for each in pieces)


def common_text(one: Shape, other: Shape) -> str | None:
    """Return a short text that has both shapes, preferably with values in it; None if there is none."""
    filled = common_text_of(_automaton(map(_filled, one.pieces)), _automaton(map(_filled, other.pieces)))
    return filled or common_text_of(_automaton(one.pieces), _automaton(other.pieces))


def _filled(piece: Piece) -> Piece:
    match piece:
        case FreeText(end=end, lacks=lacks):
            return FreeText(end, lacks, filled=True)
        case Limited(piece=FreeText() as inner, patterns=patterns, allows=allows):
            return Limited(FreeText(inner.end, inner.lacks, filled=True), patterns, allows)
        case _:
            return piece
