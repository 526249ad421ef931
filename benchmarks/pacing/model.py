"""A table, the processes that use it, and what refuses them, on a clock that jumps; every run of a seed is the same.

Nothing of the executor runs here but the law that is asked how fast to go, so what is shown is the law's.
"""

import heapq
import itertools
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

LATENCY_SECONDS: Final = (0.004, 0.010)
_BASE_SECONDS: Final = 0.05
_MOST_SECONDS: Final = 5.0
_ATTEMPTS: Final = 8


class Law(Protocol):
    """How many units a second one process asks of one table."""

    rate: float | None
    """Units a second; None for any number."""

    def served(self, units: float, sent_at: float, now: float) -> None:
        """Record an answer."""

    def refused(self, units: float, sent_at: float, now: float) -> None:
        """Record a refusal for want of capacity."""

    def waited(self, seconds: float, now: float) -> None:
        """Record that requests wait for the rate, and for how long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """A table, who uses it, and what happens to it."""

    rate: float
    """Units a second that the table has."""
    seconds: float = 10.0
    burst_seconds: float = 0.0
    """How many seconds' worth of units are there at the beginning; as many are kept, but never less than one's."""
    unrelated: float = 0.0
    """Which part of the requests is refused for reasons that have nothing to do with the rate."""
    tasks: int = 64
    """How many requests each process has under way, or waiting, at the same time."""
    items: int | None = None
    """How many each process sends; None for as many as it can in the time."""
    processes: int = 1
    stranger: float = 0.0
    """How many units a second a client that is not ours asks for, whatever it is answered."""
    outage: tuple[float, float] | None = None
    """From when to when everything is refused."""
    changes: tuple[tuple[float, float], ...] = ()
    """When the rate becomes which other one."""
    patient: bool = False
    """Whether requests wait for their units for ever, as a load does; otherwise no longer than a backoff."""


@dataclass(slots=True)
class Outcome:
    """The result of a situation."""

    served: float = 0.0
    attempts: int = 0
    refused: int = 0
    failed: int = 0
    ended_at: float = 0.0
    by_process: list[float] = field(default_factory=list[float])
    by_slot: dict[int, float] = field(default_factory=lambda: defaultdict[int, float](float))
    """Tenth of a second -> units served in it."""

    def between(self, begin: float, end: float) -> float:
        """Return the units a second that were served from one time to another."""
        return sum(self.by_slot[slot] for slot in range(round(begin * 10), round(end * 10))) / (end - begin)

    @property
    def throttled(self) -> float:
        """The part of all attempts that was refused."""
        return self.refused / max(1, self.attempts)


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers: Iterator[int] = itertools.count()

    def at(self, time: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (max(time, self.now), next(self._numbers), happens))

    def run(self, until: float) -> None:
        while self._queue and self._queue[0][0] < until:
            self.now, _, happens = heapq.heappop(self._queue)
            happens()


class _Table:
    def __init__(self, situation: Situation, clock: _Clock, chance: random.Random) -> None:
        self._situation, self._clock, self._chance = situation, clock, chance
        self.rate = situation.rate
        self._tokens = situation.rate * situation.burst_seconds
        self._at = 0.0

    def serves(self) -> bool:
        """Serve one unit, or refuse it."""
        situation, now = self._situation, self._clock.now
        kept = self.rate * max(1.0, situation.burst_seconds)
        self._tokens = min(kept, self._tokens + (now - self._at) * self.rate)
        self._at = now
        if situation.outage is not None and situation.outage[0] <= now < situation.outage[1]:
            self._tokens = 0.0
            return False
        if self._tokens < 1 or self._chance.random() < situation.unrelated:
            return False
        self._tokens -= 1
        return True


class _Process:
    """One session: its tasks ask, wait for units where the law says so, back off and ask again."""

    def __init__(
        self, law: Law, table: _Table, clock: _Clock, situation: Situation, outcome: Outcome, number: int, seed: int
    ) -> None:
        self._law, self._table, self._clock = law, table, clock
        self._situation, self._outcome, self._number = situation, outcome, number
        self._chance = random.Random(seed)
        self._left = situation.items
        self._tokens = 0.0
        self._at = 0.0
        self._line: deque[list[float]] = deque()
        """Each that waits: refusals until now, until when it waits at most, whether it was let go."""
        self._waking = False

    def begin(self) -> None:
        for _ in range(self._situation.tasks):
            self._next()

    def _next(self) -> None:
        if self._left is not None:
            if self._left == 0:
                return
            self._left -= 1
        self._ask(0)

    def _backoff(self, refusals: int) -> float:
        return min(_MOST_SECONDS, _BASE_SECONDS * 2 ** max(0, refusals - 1)) * self._chance.random()

    def _ask(self, refusals: int) -> None:
        if self._law.rate is None and refusals:
            self._clock.at(self._clock.now + self._backoff(refusals), partial(self._join, refusals))
        else:
            self._join(refusals)

    def _join(self, refusals: int) -> None:
        clock = self._clock
        if self._law.rate is None:
            self._send(refusals)
            return
        patience = float("inf") if self._situation.patient else self._backoff(refusals + 1)
        entry = [float(refusals), clock.now + patience, 0.0]
        self._line.append(entry)
        if patience < float("inf"):
            clock.at(clock.now + patience, partial(self._impatient, entry))
        self._look()

    def _impatient(self, entry: list[float]) -> None:
        if not entry[2]:
            entry[2] = 1.0
            self._line.remove(entry)
            self._tokens -= 1
            self._send(int(entry[0]))

    def _look(self) -> None:
        """Release the requests that have a unit, and schedule the next look."""
        now, seconds = self._clock.now, self._clock.now - self._at
        self._at = now
        if seconds > 0 and self._line:
            self._law.waited(seconds, now)
        rate = self._law.rate
        if rate is not None:
            self._tokens = min(max(1.0, rate * 0.1), self._tokens + seconds * rate)
        while self._line and (rate is None or self._tokens >= 1):
            entry = self._line.popleft()
            entry[2] = 1.0
            self._tokens -= 1 if rate is not None else 0
            self._send(int(entry[0]))
        if self._line and not self._waking and rate is not None:
            self._waking = True
            self._clock.at(now + max(0.001, min(0.1, (1 - self._tokens) / rate)), self._wake)

    def _wake(self) -> None:
        self._waking = False
        self._look()

    def _send(self, refusals: int) -> None:
        half = self._chance.uniform(*LATENCY_SECONDS) / 2
        self._clock.at(self._clock.now + half, partial(self._arrive, refusals, self._clock.now, half))

    def _arrive(self, refusals: int, sent_at: float, half: float) -> None:
        served = self._table.serves()
        self._clock.at(self._clock.now + half, partial(self._answered, refusals, sent_at, served))

    def _answered(self, refusals: int, sent_at: float, served: bool) -> None:
        now, outcome = self._clock.now, self._outcome
        outcome.attempts += 1
        outcome.ended_at = now
        if served:
            outcome.served += 1
            outcome.by_process[self._number] += 1
            outcome.by_slot[int(now * 10)] += 1
            self._law.served(1.0, sent_at, now)
            self._next()
            return
        outcome.refused += 1
        self._law.refused(1.0, sent_at, now)
        self._tokens = min(self._tokens, 0.0) if self._law.rate is not None else 0.0
        self._ask(refusals + 1)


def run(situation: Situation, law: Callable[[], Law], seed: int = 1) -> Outcome:
    """Simulate processes with one law in a situation; return the outcome."""
    clock, outcome = _Clock(), Outcome(by_process=[0.0] * situation.processes)
    table = _Table(situation, clock, random.Random(seed))
    for at, rate in situation.changes:
        clock.at(at, partial(setattr, table, "rate", rate))
    if situation.stranger:
        _let_push(situation, table, clock, random.Random(-seed))
    for number in range(situation.processes):
        process = _Process(law(), table, clock, situation, outcome, number, seed * 100 + number)
        clock.at(number * 0.01, process.begin)
    clock.run(situation.seconds)
    return outcome


def _let_push(situation: Situation, table: _Table, clock: _Clock, chance: random.Random) -> None:
    def push() -> None:
        table.serves()
        clock.at(clock.now + chance.expovariate(situation.stranger), push)

    clock.at(0.0, push)


def share_of(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> float:
    """Return what was served to a process, as a share of what others were served."""
    return sum(each.served for each in outcomes) / max(1.0, sum(each.served for each in others))
