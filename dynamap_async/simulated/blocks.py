"""Keys in order: a list of short sorted lists, so that an insert moves little whatever the number of keys."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

_LONGEST = 1024


class SortedKeys:
    """A set of byte strings in order.

    Args:
        keys: what it holds at first.
    """

    __slots__ = ("_blocks", "_lasts")

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        ordered = sorted(keys)
        half = _LONGEST // 2
        self._blocks = [ordered[at : at + half] for at in range(0, len(ordered), half)]
        self._lasts = [block[-1] for block in self._blocks]

    def add(self, key: bytes) -> None:
        """Add a key that is not there."""
        if not self._blocks:
            self._blocks.append([key])
            self._lasts.append(key)
            return
        at = min(bisect_left(self._lasts, key), len(self._blocks) - 1)
        block = self._blocks[at]
        insort(block, key)
        if len(block) > _LONGEST:
            self._blocks[at : at + 1] = [block[: _LONGEST // 2], block[_LONGEST // 2 :]]
            self._lasts[at : at + 1] = [self._blocks[at][-1], self._blocks[at + 1][-1]]
        else:
            self._lasts[at] = block[-1]

    def remove(self, key: bytes) -> None:
        """Remove a key that is there."""
        at = bisect_left(self._lasts, key)
        block = self._blocks[at]
        del block[bisect_left(block, key)]
        if block:
            self._lasts[at] = block[-1]
        else:
            del self._blocks[at], self._lasts[at]

    def between(self, low: bytes, high: bytes | None) -> Iterator[bytes]:
        """Iterate over the keys from ``low`` on that are less than ``high``; None for all that follow."""
        at = bisect_left(self._lasts, low)
        begin = bisect_left(self._blocks[at], low) if at < len(self._blocks) else 0
        for number in range(at, len(self._blocks)):
            block = self._blocks[number]
            if high is not None and block[-1] >= high:
                yield from block[begin : bisect_left(block, high)]
                return
            yield from block[begin:] if begin else block
            begin = 0

    def backwards(self, low: bytes, high: bytes | None) -> Iterator[bytes]:
        """Iterate over the same keys, the last one first."""
        at = len(self._blocks) - 1 if high is None else min(bisect_left(self._lasts, high), len(self._blocks) - 1)
        while at >= 0:
            block = self._blocks[at]
            end = len(block) if high is None else bisect_left(block, high)
            begin = bisect_left(block, low)
            yield from reversed(block[begin:end])
            if begin:
                return
            at -= 1
