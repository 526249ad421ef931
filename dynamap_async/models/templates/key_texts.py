"""The shapes of keys: which texts a key attribute of a model may have, and which text two of them have in common.

A shape holds every text that is ever written, and few others: it knows constants, separators, how wide numbers and
times are and of which characters, and the values of enums; not that there is no 13th month. So two shapes without a
common text prove that no key is of both.
"""

from __future__ import annotations

import re
import string
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, count, product
from typing import Final, NamedTuple, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.models.templates.template import KeyTemplate, TemplatePart

_DIGITS: Final = frozenset(string.digits)


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


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few texts."""

    texts: frozenset[str]

    @property
    def regex(self) -> str:
        """The pattern of the texts, for ``re``."""
        return f"(?:{'|'.join(map(re.escape, sorted(self.texts)))})"


@dataclass(frozen=True, slots=True)
class PlainNumber:
    """A number as it is, with as many digits as it has."""

    fraction: bool

    @property
    def regex(self) -> str:
        """The pattern of the texts, for ``re``."""
        return r"-?[0-9]+(?:\.[0-9]+)?" if self.fraction else "-?[0-9]+"


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
        if self.lacks:
            return f"[^{re.escape(self.lacks)}]*{re.escape(self.end)}"
        return f"(?:(?!{re.escape(self.end)}).)*{re.escape(self.end)}" if self.end else ".*"


Piece: TypeAlias = Places | OneOf | PlainNumber | FreeText


@dataclass(frozen=True)  # without slots, for the pattern that is compiled once
class Shape:
    """The texts that a key attribute may have."""

    pieces: tuple[Piece, ...]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression that matches texts of the shape."""
        return re.compile("".join(each.regex for each in self.pieces), re.DOTALL)

    def holds(self, text: str) -> bool:
        """Return whether a text has the shape."""
        return self.pattern.fullmatch(text) is not None


ANY_TEXT: Final = Shape((FreeText(),))
"""The shape of a key of which nothing is known but that it is text."""


def shape_of(template: KeyTemplate, *, known: Mapping[str, str] | None = None, suffix: Sequence[Piece] = ()) -> Shape:
    """Return the shape of the keys that a template makes.

    Args:
        known: field name -> text, of parts whose text is known.
        suffix: what follows the key as it is stored.
    """
    if not template.parts:
        return Shape((Places.of(template.tail), *suffix))
    pieces: list[Piece] = [Places.of(template.parts[0].before)]
    for part in template.parts:
        text = None if known is None else known.get(part.name)
        pieces += _pieces(part) if text is None else [Places.of(text + part.closing)]
    return Shape((*pieces, *suffix))


def _pieces(part: TemplatePart) -> Iterable[Piece]:
    """Return the pieces of a part, with what ends it."""
    form = part.format
    if form.texts is not None:
        return OneOf(form.texts), Places.of(part.closing)
    if form.places is not None:
        return Places(tuple(map(frozenset, form.places))), Places.of(part.closing)
    if form.alphabet is not None:
        return PlainNumber("." in form.alphabet), Places.of(part.closing)
    return (FreeText(part.closing, "" if part.escaping is None else part.escaping.first),)


class _Step(NamedTuple):
    """A transition between two states of an automaton: on some characters, or on all but these."""

    characters: frozenset[str]
    others: bool
    target: int

    def takes(self, character: str) -> bool:
        """Return whether a character takes the transition."""
        return (character in self.characters) is not self.others


class _Automaton:
    """Reads the texts of a shape, character by character."""

    def __init__(self, pieces: Iterable[Piece]) -> None:
        self.steps: list[list[_Step]] = [[]]
        self.free: list[list[int]] = [[]]
        """Steps that take no character."""
        self.end = 0
        for piece in pieces:
            self.end = self._add(piece)

    def _state(self) -> int:
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def _step(self, source: int, characters: frozenset[str], target: int | None = None, *, others: bool = False) -> int:
        target = self._state() if target is None else target
        self.steps[source].append(_Step(characters, others, target))
        return target

    def _add(self, piece: Piece) -> int:
        state = self.end
        match piece:
            case Places(characters=places):
                for characters in places:
                    state = self._step(state, characters)
                return state
            case OneOf(texts=texts):
                end = self._state()
                for text in texts:
                    last = state
                    for character in text:
                        last = self._step(last, frozenset(character))
                    self.free[last].append(end)
                return end
            case PlainNumber(fraction=fraction):
                return self._number(state, fraction=fraction)
            case FreeText():
                return self._text(state, piece)

    def _number(self, state: int, *, fraction: bool) -> int:
        first = self._step(state, frozenset("-"))
        self.free[state].append(first)
        digits = self._step(first, _DIGITS)
        self._step(digits, _DIGITS, digits)
        if fraction:
            decimals = self._step(self._step(digits, frozenset(".")), _DIGITS)
            self._step(decimals, _DIGITS, decimals)
            self.free[decimals].append(digits)
        return digits

    def _text(self, state: int, piece: FreeText) -> int:
        ending, start = piece.end, self._state()
        if piece.lacks or not ending:
            lacks = frozenset(piece.lacks)
            if piece.filled:
                self._step(state, lacks, start, others=True)
            else:
                self.free[state].append(start)
            self._step(start, lacks, start, others=True)
            return self._add_constant(start, ending)
        # As in a search for the ending: each state says how much of it was read last.
        read = [start, *(self._state() for _ in ending)]
        begun = [state, *(self._state() for _ in ending)] if piece.filled else read
        if not piece.filled:
            self.free[state].append(start)
        for length in range(len(ending)):
            for character in set(ending):
                now = ending[:length] + character
                kept = next(size for size in range(len(now), -1, -1) if now.endswith(ending[:size]))
                self._step(read[length], frozenset(character), read[kept])
                if piece.filled:
                    self._step(
                        begun[length], frozenset(character), (begun if now == ending[: len(now)] else read)[kept]
                    )
            for source in {read[length], begun[length]}:
                self._step(source, frozenset(ending), start, others=True)
        return read[-1]

    def _add_constant(self, state: int, text: str) -> int:
        for character in text:
            state = self._step(state, frozenset(character))
        return state


def common_text(one: Shape, other: Shape) -> str | None:
    """Return a short text that has both shapes, preferably with values in it; None if there is none."""
    return _common(map(_filled, one.pieces), map(_filled, other.pieces)) or _common(one.pieces, other.pieces)


def _filled(piece: Piece) -> Piece:
    return FreeText(piece.end, piece.lacks, filled=True) if isinstance(piece, FreeText) else piece


_StatePair: TypeAlias = tuple[int, int, bool]
"""A state of each of two automata, and whether anything was read."""


def _common(one: Iterable[Piece], other: Iterable[Piece]) -> str | None:
    first, second = _Automaton(one), _Automaton(other)
    steps = chain.from_iterable((*first.steps, *second.steps))
    # All characters that no step names take the same steps, so one of them is tried for all.
    named = frozenset(chain.from_iterable(step.characters for step in steps))
    unnamed = next(each for each in chain("xyz", map(chr, count(ord("a")))) if each not in named)
    letters = sorted({*named, unnamed}, key=lambda each: (each != "x", each != "1", not each.isalnum(), each))
    origins: dict[_StatePair, tuple[_StatePair, str] | None] = {(0, 0, False): None}
    # Breadth first, over pairs of states: the first pair at both ends has the shortest text.
    waiting = deque(origins)
    while waiting:
        place = waiting.popleft()
        left, right, begun = place
        if begun and left == first.end and right == second.end:
            return _text_to(place, origins)
        found = [((target, right, begun), "") for target in first.free[left]]
        found += [((left, target, begun), "") for target in second.free[right]]
        for step, also in product(first.steps[left], second.steps[right]):
            letter = next((each for each in letters if step.takes(each) and also.takes(each)), None)
            if letter is not None:
                found.append(((step.target, also.target, True), letter))
        for following, letter in found:
            if following not in origins:
                origins[following] = (place, letter)
                # A step without a character makes the text no longer, so that it goes first.
                (waiting.append if letter else waiting.appendleft)(following)
    return None


def _text_to(place: _StatePair, origins: Mapping[_StatePair, tuple[_StatePair, str] | None]) -> str:
    text = ""
    while (origin := origins[place]) is not None:
        place, letter = origin
        text = letter + text
    return text
