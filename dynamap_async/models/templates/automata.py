"""Automata that read texts character by character: which text two of them have in common, and whether one reads all."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain, count, product
from typing import Final, NamedTuple, TypeAlias

from dynamap_async.models.templates.text_patterns import Characters, Either, Joined, Pattern, Repeated


class UpTo(NamedTuple):
    """Any text up to the first place where what ends it stands, and that."""

    end: str
    """What ends it; empty for the end of the text."""


class Both(NamedTuple):
    """A text that several patterns describe."""

    patterns: tuple[Described, ...]


Described: TypeAlias = Pattern | UpTo | Both


class _Step(NamedTuple):
    characters: Characters
    target: int


class Automaton:
    """Reads the texts that are described one after the other."""

    def __init__(self, pieces: Iterable[Described] = ()) -> None:
        """Make it.

        Args:
            pieces: what the texts consist of.
        """
        self.steps: Final[list[list[_Step]]] = [[]]
        self.free: Final[list[list[int]]] = [[]]
        """Steps that take no character."""
        self.end: int = 0
        for piece in pieces:
            self.end = self._add(self.end, piece)

    def reached(self, states: Iterable[int]) -> frozenset[int]:
        """Return the states with those that are reached from them without a character."""
        found, waiting = set[int](), [*states]
        while waiting:
            state = waiting.pop()
            if state not in found:
                found.add(state)
                waiting += self.free[state]
        return frozenset(found)

    def after(self, states: Iterable[int], character: str) -> frozenset[int]:
        """Return the states in which it may be when it has read a character."""
        steps = chain.from_iterable(self.steps[state] for state in states)
        return self.reached(step.target for step in steps if step.characters.takes(character))

    def _state(self) -> int:
        self.steps.append([])
        self.free.append([])
        return len(self.steps) - 1

    def _step(self, source: int, characters: Characters, target: int | None = None) -> int:
        target = self._state() if target is None else target
        self.steps[source].append(_Step(characters, target))
        return target

    def _add(self, state: int, piece: Described) -> int:
        match piece:
            case Characters():
                return self._step(state, piece)
            case Joined(parts=parts):
                return reduce(self._add, parts, state)
            case Either(choices=choices):
                end = self._state()
                for choice in choices:
                    self.free[self._add(state, choice)].append(end)
                return end
            case Repeated():
                return self._repeat(state, piece)
            case UpTo(end=end):
                return self._up_to(state, end)
            case Both(patterns=patterns):
                return self._embed(state, reduce(_both, (Automaton((each,)) for each in patterns)))

    def _repeat(self, state: int, piece: Repeated) -> int:
        for _ in range(piece.least):
            state = self._add(state, piece.each)
        end = self._state()
        self.free[state].append(end)
        if piece.most is None:
            # From the end, so that what stands before it is not entered again from inside.
            self.free[self._add(end, piece.each)].append(end)
        for _ in range((piece.most or 0) - piece.least):
            state = self._add(state, piece.each)
            self.free[state].append(end)
        return end

    def _up_to(self, state: int, ending: str) -> int:
        start = self._state()
        self.free[state].append(start)
        # As in a search for the ending: each state says how much of it was read last.
        read = [start, *(self._state() for _ in ending)]
        named = frozenset(ending)
        for length in range(len(ending)):
            for character in named:
                now = ending[:length] + character
                kept = next(size for size in range(len(now), -1, -1) if now.endswith(ending[:size]))
                self._step(read[length], Characters(frozenset(character)), read[kept])
            self._step(read[length], Characters(named, others=True), start)
        if not ending:
            self._step(start, Characters(named, others=True), start)
        return read[-1]

    def _embed(self, state: int, other: Automaton) -> int:
        """Add the states of another automaton behind a state."""
        first = len(self.steps)
        for steps, free in zip(other.steps, other.free, strict=True):
            self.steps.append([_Step(step.characters, step.target + first) for step in steps])
            self.free.append([target + first for target in free])
        self.free[state].append(first)
        return other.end + first


def _both(one: Automaton, other: Automaton) -> Automaton:
    """Return the automaton of the texts that two read."""
    made = Automaton()
    states = {(0, 0): 0}

    def state_of(pair: tuple[int, int]) -> int:
        if pair not in states:
            states[pair] = made._state()  # noqa: SLF001 - its own class makes it
            waiting.append(pair)
        return states[pair]

    waiting = deque(states)
    while waiting:
        left, right = pair = waiting.popleft()
        free = [(target, right) for target in one.free[left]] + [(left, target) for target in other.free[right]]
        made.free[states[pair]].extend(map(state_of, free))
        for step, also in product(one.steps[left], other.steps[right]):
            if characters := step.characters & also.characters:
                made.steps[states[pair]].append(_Step(characters, state_of((step.target, also.target))))
    made.end = state_of((one.end, other.end))
    return made


_StatePair: TypeAlias = tuple[int, int, bool]
"""A state of each of two automata, and whether anything was read."""


def common_text_of(first: Automaton, second: Automaton) -> str | None:
    """Return a shortest text, not empty, that two automata read; None if there is none."""
    rank = {letter: place for place, letter in enumerate(_letters(first, second))}
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
            both = step.characters & also.characters
            letters = (each for each in rank if each not in both.characters) if both.others else both.characters
            letter = min(letters, key=rank.__getitem__, default=None)
            if letter is not None:
                found.append(((step.target, also.target, True), letter))
        for following, letter in sorted(found, key=lambda each: rank.get(each[1], -1)):
            if following not in origins:
                origins[following] = (place, letter)
                # A step without a character makes the text no longer, so that it goes first.
                (waiting.append if letter else waiting.appendleft)(following)
    return None


def _letters(first: Automaton, second: Automaton) -> Sequence[str]:
    """Return the characters that steps name and one that none names, as messages had better show them."""
    steps = chain.from_iterable((*first.steps, *second.steps))
    # All characters that no step names take the same steps, so one of them is tried for all.
    named = frozenset(chain.from_iterable(step.characters.characters for step in steps))
    unnamed = next(each for each in chain("xyz1A", map(chr, count(ord("a")))) if each not in named)
    return sorted({*named, unnamed}, key=lambda each: (each != "x", each != "1", not each.isalnum(), each))


def _text_to(place: _StatePair, origins: Mapping[_StatePair, tuple[_StatePair, str] | None]) -> str:
    text = ""
    while (origin := origins[place]) is not None:
        place, letter = origin
        text = letter + text
    return text


def reads_all_of(reader: Automaton, other: Automaton) -> bool:
    """Return whether an automaton reads every text that another one reads."""
    letters = _letters(reader, other)
    start = (other.reached((0,)), reader.reached((0,)))
    seen, waiting = {start}, [start]
    while waiting:
        theirs, mine = waiting.pop()
        if other.end in theirs and reader.end not in mine:
            return False
        for letter in letters:
            following = (other.after(theirs, letter), reader.after(mine, letter))
            if following[0] and following not in seen:
                seen.add(following)
                waiting.append(following)
    return True
