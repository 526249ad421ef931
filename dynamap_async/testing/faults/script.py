"""The script: rules in order, whose turn it is, and a log of what went through. It does no I/O."""

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from random import Random
from typing import Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.testing.faults.fault_kinds import Fault, LeftOver, Slow
from dynamap_async.testing.faults.rule import Match, Rule
from dynamap_async.testing.faults.scripted_calls import OPERATIONS, UNPROCESSED, FaultyCall

_SLOWING: Final = frozenset({"delay", "drip_body"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One request that went through a script."""

    operation: str
    """The API's own name of the operation."""
    table: str
    """The full table name; those of a batch are separated by a comma and a space."""
    index: str | None = None
    """The index that is read, if any."""
    items: int = 1
    """How many items a batch or a transaction names; 1 for any other operation."""
    fault: str | None = None
    """The method of ``Rule`` that scripted what happened to it; None where nothing did."""
    delay_seconds: float = 0.0
    """How long it was held up, all delays together."""


@dataclass(frozen=True, slots=True)
class FaultDecision:
    """What a script decides to do with one request."""

    fault: Fault | None
    slow: tuple[Slow, ...]

    @property
    def before_seconds(self) -> float:
        """How long to wait before the server is asked."""
        return sum(each.seconds for each in self.slow if not each.applied)

    @property
    def after_seconds(self) -> float:
        """How long to wait before the answer begins."""
        return sum(each.seconds for each in self.slow if each.applied and not each.dripped)

    @property
    def dripped_seconds(self) -> float:
        """How many seconds the answer's body takes."""
        return sum(each.seconds for each in self.slow if each.dripped)


Pick: TypeAlias = Callable[[FaultyCall, Random], Fault]
"""Chooses what happens to a request."""


class PlayedRule:
    """A rule with its fault, and how far it has been played."""

    def __init__(self, match: Match, pick: Pick, *, name: str, operations: AbstractSet[str], random: Random) -> None:
        self.name: Final = name
        self._match: Final = match
        self._pick: Final = pick
        self._operations: Final = operations
        self._random: Final = random
        self._left = match.times or (1 if match.nth is not None else None)
        self._seen = 0
        self._applied = 0

    @property
    def unused(self) -> bool:
        """Whether it has met fewer requests than it was to apply to."""
        return self._applied == 0 if self._left is None else self._left > 0

    def counts(self, call: FaultyCall) -> bool:
        """Count a request if the rule applies to it; return whether the fault is due."""
        if call.operation not in self._operations or not self._match.fits(call):
            return False
        self._seen += 1
        # Drawn for every request that is counted, so that what other rules do never changes the sequence.
        share = self._match.share
        drawn = share is None or self._random.random() < share
        return drawn and self._left != 0 and self._seen >= (self._match.nth or 1)

    def take(self, call: FaultyCall) -> Fault:
        """Return the fault, and count that it was played."""
        self._applied += 1
        if self._left is not None:
            self._left -= 1
        return self._pick(call, self._random)

    def __str__(self) -> str:
        return f"{self._match}.{self.name}()"


class Script:
    """Rules about requests, and a log of the requests that went through.

    Args:
        seed: decides what rules with a ``share`` draw; the same requests in the same order then have the same faults.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self._seed: Final = seed
        self._parts: list[PlayedRule] = []
        self._added = 0
        self._log: list[LogEntry] = []

    def on(
        self,
        operation: str | None = None,
        /,
        *,
        table: str | None = None,
        index: str | None = None,
        nth: int | None = None,
        times: int | None = None,
        share: float | None = None,
    ) -> Rule:
        """Choose requests; a method of what is returned says what happens to them, as in ``.on("PutItem").throttle()``.

        Each rule counts every request that it is about, whatever other rules do with it. Of the rules whose turn it is,
        the first in the order of the script decides; delays go together with it.

        Args:
            operation: the API's own name, such as ``BatchGetItem``; None is any operation.
            table: the full table name, or a pattern such as ``*-tweets``.
            index: the name of the index that is read.
            nth: apply to this request, counted from 1; with ``times`` also to those after it.
            times: to how many requests to apply; without it and ``nth``, to all.
            share: to which share of the requests to apply, drawn at random.

        Raises:
            ConfigurationError: DynamoDB has no such operation, ``nth`` or ``times`` is less than 1, or ``share`` does
                not lie between 0 and 1.
        """
        return Rule(Match(operation, table, index, nth, times, share), self._add)

    def clear(self) -> None:
        """Remove all rules: from now on every request goes through. The log stays."""
        self._parts.clear()

    @property
    def log(self) -> tuple[LogEntry, ...]:
        """All requests so far, in the order in which they came."""
        return tuple(self._log)

    @property
    def requests(self) -> Counter[str]:
        """How many requests came, by operation."""
        return Counter(entry.operation for entry in self._log)

    @property
    def faulty(self) -> Counter[str]:
        """How many requests met a fault, by operation."""
        return Counter(entry.operation for entry in self._log if entry.fault is not None)

    @property
    def unused(self) -> tuple[str, ...]:
        """The rules that have not been played to their end, as text; empty once all faults have happened."""
        return tuple(str(part) for part in self._parts if part.unused)

    def decide(self, call: FaultyCall) -> FaultDecision:
        """Count and log a request, and return what is to happen to it; whatever carries requests asks once for each."""
        slow: list[Slow] = []
        fault: Fault | None = None
        for part in [part for part in self._parts if part.counts(call)]:
            if fault is None or part.name in _SLOWING:
                taken = part.take(call)
                if isinstance(taken, Slow):
                    slow.append(taken)
                else:
                    fault = taken
        name = fault.name if fault is not None else slow[0].name if slow else None
        self._log.append(
            LogEntry(
                operation=call.operation,
                table=call.table,
                index=call.index,
                items=call.items,
                fault=name,
                delay_seconds=sum(each.seconds for each in slow),
            )
        )
        return FaultDecision(fault, tuple(slow))

    def add(self, match: Match, pick: Pick, *, name: str, operations: AbstractSet[str] = OPERATIONS) -> None:
        """Add a rule whose fault is chosen request by request.

        Args:
            match: which requests are meant.
            pick: chooses the fault; the random numbers are this rule's own.
            name: what the rule is called in ``unused``.
            operations: further limits the requests to these.
        """
        self._added += 1
        random = Random(f"{self._seed}/{self._added}")  # noqa: S311 - it must repeat itself
        self._parts.append(PlayedRule(match, pick, name=name, operations=operations, random=random))

    def _add(self, match: Match, fault: Fault) -> None:
        operations = UNPROCESSED.keys() if isinstance(fault, LeftOver) else OPERATIONS
        self.add(match, lambda call, random: fault, name=fault.name, operations=operations)
