"""Positions in a shard: what is stored of how far it was handled, and what of it is under way. No I/O.

Invariant: the position of a shard is its last change of which all earlier ones are done, whatever order they end in.
Sequence numbers are compared as numbers: as texts, "999" would come after "5000".
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final, Literal, TypeAlias, cast, get_args

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError

PositionKind: TypeAlias = Literal["oldest", "latest", "time", "after"]


@dataclass(frozen=True, slots=True)
class Position:
    """Where reading a shard begins."""

    kind: PositionKind = "oldest"
    """``oldest``: with all that is there. ``latest``: with what comes now; where reading has to begin again before
    there was a change, from ``at`` on, as an iterator that expires would lose what came between. ``time``: with the
    changes of ``at`` and later. ``after``: behind one change."""
    sequence_number: int | None = None
    """The number of the change that reading begins behind."""
    at: float | None = None
    """When that change was made, or the time to begin with, in epoch seconds; None where it is not known."""

    def __str__(self) -> str:
        """Return the text that is stored."""
        parts = (self.kind, self.sequence_number, None if self.at is None else repr(self.at))
        return " ".join(str(each) for each in parts if each is not None)

    @classmethod
    def read(cls, text: str) -> Position:
        """Return the position that a text stands for.

        Args:
            text: what ``str(position)`` gave.

        Raises:
            OperationError: it is no such text.
        """
        kind, *rest = text.split(" ")
        try:
            number = int(rest.pop(0)) if kind == "after" else None
            at = float(rest.pop(0)) if rest else None
        except (ValueError, IndexError):
            raise _no_position(text) from None
        is_time = math.isfinite(at) if at is not None else kind not in ("latest", "time")
        if kind not in get_args(PositionKind) or rest or not is_time:
            raise _no_position(text)
        return cls(cast("PositionKind", kind), number, at)


def _no_position(text: str) -> OperationError:
    return OperationError(f"{text!r} is no position in a shard; give what a checkpoint was stored as")


class Handled:
    """Which changes of a shard are under way, and up to which one all are done."""

    __slots__ = ("_done", "_under_way", "count", "position")

    def __init__(self, position: Position) -> None:
        """Begin behind a position.

        Args:
            position: the position that was stored.
        """
        self.position: Position = position
        """Behind the last change of which all earlier ones are done."""
        self.count: int = 0
        """How many changes the position has passed."""
        self._under_way: Final[deque[tuple[int, float | None]]] = deque()
        self._done: Final[set[int]] = set()

    @property
    def under_way(self) -> int:
        """How many changes are not behind the position: under way, or done before an earlier one is."""
        return len(self._under_way)

    def begin(self, number: int, at: float | None) -> None:
        """Note a change that is to be handled, in the order of the shard.

        Args:
            number: its sequence number.
            at: when it was made, in epoch seconds.
        """
        self._under_way.append((number, at))

    def done(self, number: int) -> bool:
        """Note that a change is done, once; return whether the position has moved.

        Args:
            number: its sequence number.
        """
        under_way, done = self._under_way, self._done
        if number != under_way[0][0]:
            done.add(number)
            return False
        last = under_way.popleft()
        passed = 1
        while under_way and under_way[0][0] in done:
            last = under_way.popleft()
            done.remove(last[0])
            passed += 1
        self.position = Position("after", last[0], last[1])
        self.count += passed
        return True

    def drop(self, number: int) -> None:
        """Forget a change and all behind it: they are not handled here.

        Args:
            number: the sequence number of the first one.
        """
        under_way = self._under_way
        while under_way and under_way[-1][0] >= number:
            self._done.discard(under_way.pop()[0])
