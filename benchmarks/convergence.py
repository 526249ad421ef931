"""How several processes come to share a table's limit: governors before one bucket, on a clock that jumps.

    python -m benchmarks.convergence

Each process has more to write than it may, in batches of 25 items of one unit, and knows nothing of the others. The
table keeps what is not used, as DynamoDB does, and serves a batch as far as its units go. Nothing of the executor runs
but the governor, so what is shown is the algorithm, and the figures are the same on every machine.
"""

import heapq
import itertools
import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from dynamap_async.config import CapacityPolicy, Priority
from dynamap_async.executor.consumed import TableOrIndex
from dynamap_async.executor.pacing.governor import Governor
from dynamap_async.executor.pacing.tickets import Ticket
from dynamap_async.request import Request

PLACE = TableOrIndex("t", None, writes=True)
PUT = Request(operation="PutItem", body={}, table="t", writes=True, batchable=True)
RATE = 1000.0
LATENCY_SECONDS = (0.004, 0.010)
BACKOFF_SECONDS = (0.0, 0.05)
BATCH = 25
SLOTS = 8
AHEAD = 1000
"""How many items each process asks for ahead."""


@dataclass
class Table:
    """A token bucket: refilled all the time, it keeps what is not used."""

    rate: float = RATE
    kept_seconds: float = 300.0
    tokens: float = 0.0
    at: float = 0.0

    def serve(self, units: int, now: float) -> int:
        """Return how many of the units are served."""
        self.tokens = min(self.rate * self.kept_seconds, self.tokens + (now - self.at) * self.rate)
        self.at = now
        served = min(units, int(self.tokens))
        self.tokens -= served
        return served


@dataclass
class Events:
    """Calls in the order of their times."""

    now: float = 0.0
    queue: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def at(self, time: float, happens: Callable[[], None]) -> None:
        """Schedule a call."""
        heapq.heappush(self.queue, (max(time, self.now), next(self.numbers), happens))

    def run(self, until: float) -> None:
        """Make all calls that are due before a time."""
        while self.queue and self.queue[0][0] < until:
            self.now, _, happens = heapq.heappop(self.queue)
            happens()
        self.now = until


class Process:
    """A session that always has something to write."""

    def __init__(self, table: Table, events: Events, policy: CapacityPolicy, seed: int) -> None:
        self.table, self.events = table, events
        self.governor = Governor(policy)
        self.random = random.Random(seed)
        self.ready: list[Ticket] = []
        self.under_way = self.served = self.tried = 0
        self.wakes_at = float("inf")

    def begin(self) -> None:
        """Ask for as many items as fit in memory."""
        for _ in range(AHEAD):
            self.ask(self.governor.ticket(PUT, Priority.BATCH, self.events.now))
        self.send()

    def know(self, limit: float) -> None:
        """Learn the table's limit."""
        self.governor.know("t", {(None, True): limit}, self.events.now)

    def ask(self, ticket: Ticket) -> None:
        """Ask for one item."""
        if self.governor.governs(["t"]):
            self.ready += self.governor.ask(ticket, self.events.now)
        else:
            self.ready.append(ticket)

    def ask_again(self, tickets: list[Ticket]) -> None:
        """Ask for several, and send what may be sent."""
        for ticket in tickets:
            self.ask(ticket)
        self.send()

    def send(self) -> None:
        """Send what is ready, and schedule a look at what waits."""
        while self.ready and self.under_way < SLOTS:
            batch, self.ready = self.ready[:BATCH], self.ready[BATCH:]
            self.under_way += 1
            half = self.random.uniform(*LATENCY_SECONDS) / 2
            self.events.at(self.events.now + half, partial(self.arrive, batch, half))
        soonest = self.governor.next_at(self.events.now)
        if soonest is not None and soonest < self.wakes_at:
            self.wakes_at = max(soonest, self.events.now + 0.001)
            self.events.at(self.wakes_at, self.wake)

    def wake(self) -> None:
        """Admit the items whose units have come."""
        if self.events.now >= self.wakes_at:
            self.wakes_at = float("inf")
            self.ready += self.governor.admit(self.events.now)
            self.send()

    def arrive(self, batch: list[Ticket], half: float) -> None:
        """Let the table serve a batch."""
        served = self.table.serve(len(batch), self.events.now)
        self.tried += len(batch)
        self.served += served
        self.events.at(self.events.now + half, partial(self.answered, batch[:served], batch[served:]))

    def answered(self, served: list[Ticket], left: list[Ticket]) -> None:
        """Settle an answer, and ask for what comes next."""
        now = self.events.now
        self.under_way -= 1
        self.governor.record_spent(
            [each for each in served if each.number],
            {PLACE: float(len(served))},
            len(served),
            now,
            left_over={PLACE: len(left)},
        )
        if left:
            tickets = [each for each in left if each.number]
            if self.governor.refuse(tickets, [PLACE], len(left), now, size=len(served) + len(left)):
                queued, self.ready = self.ready, []
                self.ask_again(queued)
            self.events.at(now + self.random.uniform(*BACKOFF_SECONDS), partial(self.ask_again, left))
        self.ask_again([self.governor.ticket(PUT, Priority.BATCH, now) for _ in served])


class Second(NamedTuple):
    """What happened within a second."""

    served: list[int]
    """The units that each process was served."""
    throttled: float
    """Which part of all item attempts was refused."""


def simulate(
    processes: int,
    policy: CapacityPolicy,
    *,
    limit: float | None = None,
    changes: dict[int, float] | None = None,
    seconds: int = 30,
) -> list[Second]:
    """Return what happened in each second.

    Args:
        processes: how many there are; each begins within the first 50 ms.
        limit: what each knows of the table.
        changes: second -> the table's rate from then on.
    """
    events, table = Events(), Table()
    everyone = [Process(table, events, policy, seed) for seed in range(processes)]
    for each in everyone:
        if limit is not None:
            each.know(limit)
        events.at(each.random.uniform(0, 0.05), each.begin)
    history: list[Second] = []
    served, tried = [0] * processes, 0
    for second in range(seconds):
        table.serve(0, events.now)
        table.rate = (changes or {}).get(second, table.rate)
        events.run(second + 1)
        gained = [each.served - before for each, before in zip(everyone, served, strict=True)]
        attempts = sum(each.tried for each in everyone) - tried
        served, tried = [each.served for each in everyone], tried + attempts
        history.append(Second(gained, 1 - sum(gained) / attempts if attempts else 0.0))
    return history


def lines() -> list[str]:
    """Return the rows of the table in docs/explanation/pacing.md."""
    cases = {
        "one, learning": (1, CapacityPolicy(), None),
        "eight, learning": (8, CapacityPolicy(), None),
        "eight, each knows the table's limit": (8, CapacityPolicy(), RATE),
        "eight, each knows its share": (8, CapacityPolicy(share=1 / 8), RATE),
    }
    found: list[str] = []
    for name, (processes, policy, limit) in cases.items():
        history = simulate(processes, policy, limit=limit)
        cells = (name, *(_described(history[begin:end]) for begin, end in ((0, 1), (1, 5), (5, 30))))
        found.append(f"| {' | '.join(cells)} |")
    return found


def _described(seconds: list[Second]) -> str:
    served = [sum(each) for each in zip(*(second.served for second in seconds), strict=True)]
    rate = sum(served) / len(seconds) / RATE
    throttled = statistics.fmean(second.throttled for second in seconds)
    return f"{rate:.0%}, {throttled:.0%}, {min(served) / statistics.fmean(served):.0%}"


if __name__ == "__main__":
    for line in lines():
        print(line)
