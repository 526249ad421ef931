"""Sizes: how large the items of each table have been, so that a call asks for no more than one answer may hold.

What was learned is an estimate: a call that asks for too much costs another call, never an item. It rises at once and
falls slowly, for items of one table differ, and asking for too little costs less than asking twice.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Final

import orjson

from dynamap_async.limits import ITEM_SIZE_BYTES
from dynamap_async.wire import WireItem

UNKNOWN_BYTES: Final = 4_096
"""What an item of a table is taken for that was not read yet: 100 of them share a call."""
MOST_TABLES: Final = 1_000
"""Of how many tables sizes are known."""
_SAMPLE: Final = 8
_FALL: Final = 8


class Sizes:
    """The sizes of the items of each table, as they were last read."""

    def __init__(self) -> None:
        self.known: Final[dict[str, int]] = {}
        """Table -> how many bytes an item of it is taken for, where one was read."""

    def of(self, table: str) -> int:
        """Return how many bytes an item of a table is taken for."""
        return self.known.get(table, UNKNOWN_BYTES)

    def learn(self, table: str, items: Sequence[WireItem]) -> None:
        """Take note of items that were read, of some of them where there are many."""
        # Their JSON is never shorter than what the service counts, and no item is over its limit.
        sizes = [_json_bytes(item) for item in islice(items, _SAMPLE)]
        if not sizes:
            return
        average = sum(sizes) / len(sizes)
        if table not in self.known and len(self.known) >= MOST_TABLES:
            self.known.clear()  # the next answers tell
        known = self.known.get(table, 0)
        self.known[table] = int(max(average, known + (average - known) / _FALL))


def _json_bytes(item: WireItem) -> int:
    try:
        return min(len(orjson.dumps(item)), ITEM_SIZE_BYTES)
    except TypeError:  # it is nested so deep that its readers will refuse it
        return ITEM_SIZE_BYTES
