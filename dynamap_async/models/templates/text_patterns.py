"""Patterns of texts as values: what the regular expression of a field, a range of numbers, or a length says of texts.

Where a pattern is not exact, it takes some texts more, never fewer: what it does not take is no such text.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias


class Characters(NamedTuple):
    """One character, of these, or any but these."""

    characters: frozenset[str]
    others: bool = False

    def takes(self, character: str) -> bool:
        """Return whether a character is one of them."""
        return (character in self.characters) is not self.others

    def __or__(self, other: object) -> Characters:
        """Return the characters of both."""
        if not isinstance(other, Characters):
            return NotImplemented
        match self.others, other.others:
            case False, False:
                return Characters(self.characters | other.characters)
            case True, True:
                return Characters(self.characters & other.characters, others=True)
            case True, False:
                return Characters(self.characters - other.characters, others=True)
            case _:
                return Characters(other.characters - self.characters, others=True)

    def __and__(self, other: Characters) -> Characters:
        """Return the characters that are of both."""
        return ~(~self | ~other)

    def __invert__(self) -> Characters:
        return Characters(self.characters, not self.others)

    def __bool__(self) -> bool:
        """Return whether there is such a character."""
        return self.others or bool(self.characters)


class Joined(NamedTuple):
    """One pattern after the other."""

    parts: tuple[Pattern, ...]


class Either(NamedTuple):
    """One of some patterns."""

    choices: tuple[Pattern, ...]


class Repeated(NamedTuple):
    """A pattern several times."""

    each: Pattern
    least: int = 0
    most: int | None = None
    """None for any number of times."""


Pattern: TypeAlias = Characters | Joined | Either | Repeated

DIGITS: Final = frozenset(string.digits)
ANY: Final = Characters(frozenset(), others=True)
"""Any character."""
_ASCII: Final = frozenset(map(chr, range(128)))
_WORD: Final = frozenset(string.ascii_letters + string.digits + "_")
_SPACE: Final = frozenset(string.whitespace)
_MOST_TIMES: Final = 100
"""A pattern that is repeated more often is taken for one that is repeated at will, so that automata stay small."""
_MOST_STATES: Final = 600
_LARGEST_RANGE: Final = 256


def _beyond(ascii_ones: frozenset[str]) -> Characters:
    """Return these characters of ASCII, and all others that are not of ASCII: which of them, Unicode says."""
    return Characters(_ASCII - ascii_ones, others=True)


_CLASSES: Final = {
    "d": _beyond(DIGITS),
    "w": _beyond(_WORD),
    "s": _beyond(_SPACE),
    "D": Characters(DIGITS, others=True),
    "W": Characters(_WORD, others=True),
    "S": Characters(_SPACE, others=True),
}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
_STARTS: Final = ("^", r"\A")
_ENDS: Final = ("$", r"\z", r"\Z")


def constant(text: str) -> Joined:
    """Return the pattern of one text."""
    return Joined(tuple(Characters(frozenset(each)) for each in text))


def times(each: Pattern, least: int, most: int | None) -> Repeated:
    """Return a pattern several times, and above a hundred times at will."""
    return Repeated(each, min(least, _MOST_TIMES), most if most is None or most <= _MOST_TIMES else None)


class _UnreadableError(ValueError):
    """The pattern has something that is not understood here."""


class _Anchor(NamedTuple):
    """A place in a pattern that takes no character."""

    spelled: str


def read_pattern(text: str) -> Pattern | None:
    """Return what a regular expression of Pydantic says of a whole text; None where it is not understood.

    Pydantic searches for a pattern in the text, so one without anchors may stand anywhere in it.

    Args:
        text: the pattern, of Rust's or of Python's syntax.
    """
    try:
        choices = _PatternReader(text).read()
        found = Either(tuple(_anchored(each) for each in choices))
        return found if _size(found) <= _MOST_STATES else None
    except _UnreadableError:
        return None


def _anchored(parts: Sequence[Pattern | _Anchor]) -> Joined:
    """Return the pattern of whole texts in which these parts stand: at the beginning or the end, if anchors say so."""
    inner, before, after = [*parts], True, True
    while inner and isinstance(inner[0], _Anchor) and inner[0].spelled in _STARTS:
        del inner[0]
        before = False
    newline = False
    while inner and isinstance(last := inner[-1], _Anchor) and last.spelled in _ENDS:
        del inner[-1]
        after, newline = False, last.spelled == "$"
    found: list[Pattern] = [Repeated(ANY)] if before else []
    for each in inner:
        if isinstance(each, _Anchor):
            raise _UnreadableError
        found.append(each)
    if after:
        found.append(Repeated(ANY))
    elif newline:  # which Python lets follow, and Rust does not
        found.append(Repeated(Characters(frozenset("\n")), 0, 1))
    return Joined(tuple(found))


def _size(pattern: Pattern) -> int:
    match pattern:
        case Characters():
            return 1
        case Joined(parts=parts) | Either(choices=parts):
            return sum(map(_size, parts))
        case Repeated(each=each, least=least, most=most):
            return _size(each) * max(least + 1, most or 0)


class _PatternReader:
    """Reads a regular expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> list[list[Pattern | _Anchor]]:
        """Return the parts of each alternative."""
        choices = self._choices()
        if self._at < len(self._text):
            raise _UnreadableError
        return choices

    def _next(self, *expected: str) -> str:
        """Return what follows if it is one of these, and go past it; else the empty text."""
        for each in expected:
            if self._text.startswith(each, self._at):
                self._at += len(each)
                return each
        return ""

    def _taken(self) -> str:
        if self._at >= len(self._text):
            raise _UnreadableError
        self._at += 1
        return self._text[self._at - 1]

    def _choices(self) -> list[list[Pattern | _Anchor]]:
        choices: list[list[Pattern | _Anchor]] = [[]]
        while self._at < len(self._text) and self._text[self._at] != ")":
            if self._next("|"):
                choices.append([])
            elif anchor := self._next(*_STARTS, *_ENDS):
                choices[-1].append(_Anchor(anchor))
            else:
                choices[-1].append(self._repeated(self._atom()))
        return choices

    def _repeated(self, atom: Pattern) -> Pattern:
        match self._next("*", "+", "?", "{"):
            case "*":
                found = Repeated(atom)
            case "+":
                found = Repeated(atom, 1)
            case "?":
                found = Repeated(atom, 0, 1)
            case "{":
                found = self._counted(atom)
            case _:
                return atom
        self._next("?")  # lazy ones take the same texts
        if self._next("*", "+", "?", "{"):
            raise _UnreadableError
        return found

    def _counted(self, atom: Pattern) -> Repeated:
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at : end].partition(",")
        if end < 0 or not least.isdecimal() or not (most == "" or most.isdecimal()):
            raise _UnreadableError
        self._at = end + 1
        return times(atom, int(least), int(most) if most else None if comma else int(least))

    def _atom(self) -> Pattern:
        match self._taken():
            case "(":
                return self._group()
            case "[":
                return self._class()
            case ".":
                return Characters(frozenset("\n"), others=True)
            case "\\":
                return self._escaped()
            case "*" | "+" | "?" | "{" | ")" | "^" | "$":
                raise _UnreadableError
            case character:
                return Characters(frozenset(character))

    def _group(self) -> Pattern:
        if self._next("?:"):
            pass
        elif self._next("?P<", "?<"):
            while (character := self._taken()) != ">":
                if not (character.isalnum() or character == "_"):  # as in (?<=...)
                    raise _UnreadableError
        elif self._next("?"):
            raise _UnreadableError
        choices: list[Pattern] = []
        for parts in self._choices():
            patterns = [each for each in parts if not isinstance(each, _Anchor)]
            if len(patterns) < len(parts):
                raise _UnreadableError
            choices.append(Joined(tuple(patterns)))
        if self._taken() != ")":
            raise _UnreadableError
        return choices[0] if len(choices) == 1 else Either(tuple(choices))

    def _escaped(self) -> Characters:
        character = self._taken()
        if character in _CLASSES:
            return _CLASSES[character]
        if character.isalnum():
            if character not in _CONTROLS:
                raise _UnreadableError
            character = _CONTROLS[character]
        return Characters(frozenset(character))

    def _class(self) -> Characters:
        is_negated, found = bool(self._next("^")), Characters(frozenset())
        first = True
        while first or not self._next("]"):
            if self._next("&&", "--", "~~", "["):  # sets of sets, in Rust
                raise _UnreadableError
            each = self._escaped() if self._next("\\") else Characters(frozenset(self._taken()))
            following = self._text[self._at : self._at + 2]
            if following.startswith("-") and following != "-]":
                self._at += 1
                if self._next("["):
                    raise _UnreadableError
                last = self._escaped() if self._next("\\") else Characters(frozenset(self._taken()))
                each = _range(each, last)
            found |= each
            first = False
        if not is_negated:
            return found
        # What may be in the class is not certain to be in it, so that not all of it can be left out.
        return ~Characters(found.characters) if not found.others else _left_out(found)


def _left_out(found: Characters) -> Characters:
    """Return what a class leaves out that may have more characters than are known: of ASCII it has what it has."""
    return Characters(_ASCII - found.characters, others=True)


def _range(first: Characters, last: Characters) -> Characters:
    if first.others or last.others or len(first.characters) != 1 or len(last.characters) != 1:
        raise _UnreadableError
    [low], [high] = first.characters, last.characters
    if ord(high) < ord(low):
        raise _UnreadableError
    if ord(high) - ord(low) <= _LARGEST_RANGE:
        return Characters(frozenset(map(chr, range(ord(low), ord(high) + 1))))
    return _beyond(frozenset(each for each in _ASCII if low <= each <= high))


def whole_numbers(least: int | None, greatest: int | None) -> Pattern:
    """Return the pattern of the whole numbers in a range, without superfluous zeros.

    Args:
        least: the least of them; None without a bound.
        greatest: the greatest of them; None without a bound.
    """
    choices: list[Pattern] = []
    if greatest is None or greatest >= 0:
        choices.append(_naturals(max(least or 0, 0), greatest))
    if least is None or least < 0:
        below = _naturals(1 if greatest is None or greatest >= 0 else -greatest, None if least is None else -least)
        choices.append(Joined((constant("-"), below)))
    return Either(tuple(choices))


def _naturals(least: int, greatest: int | None) -> Pattern:
    shortest = len(str(least))
    longest = shortest if greatest is None else len(str(greatest))
    choices: list[Pattern] = []
    for digits in range(shortest, longest + 1):
        low = max(least, 10 ** (digits - 1) if digits > 1 else 0)
        high = 10**digits - 1 if greatest is None else min(greatest, 10**digits - 1)
        if low <= high:
            choices.append(texts_between(str(low), str(high), [DIGITS] * digits))
    if greatest is None:
        choices.append(Joined((Characters(DIGITS - {"0"}), Repeated(Characters(DIGITS), longest))))
    return Either(tuple(choices))


def texts_between(low: str | None, high: str | None, places: Sequence[Iterable[str]]) -> Pattern:
    """Return the pattern of the texts of one width that lie in a range by their characters.

    Args:
        low: the first of them; None without a bound.
        high: the last of them; None without a bound.
        places: the characters that each place may have.
    """
    if not places:
        return Joined(())
    if low is None and high is None:
        return Joined(tuple(Characters(frozenset(each)) for each in places))
    first, *rest = places
    at_low, at_high = low and low[0], high and high[0]
    if not rest:
        return Characters(frozenset(each for each in first if (at_low or each) <= each <= (at_high or each)))
    choices: list[Pattern] = []
    edges = {each for each in (at_low, at_high) if each is not None}
    for edge in sorted(edges):
        if (at_low is None or at_low <= edge) and (at_high is None or edge <= at_high):
            lower = low[1:] if low is not None and edge == at_low else None
            upper = high[1:] if high is not None and edge == at_high else None
            choices.append(Joined((constant(edge), texts_between(lower, upper, rest))))
    inner = frozenset(
        each for each in first if (at_low is None or each > at_low) and (at_high is None or each < at_high)
    )
    if inner:
        choices.append(Joined((Characters(inner), texts_between(None, None, rest))))
    return Either(tuple(choices))
