"""A DynamoDB that gives out capacity, counts what arrives, and can be made to refuse or to fail a part of it."""

import json
import random
from collections.abc import Callable
from typing import Any

from benchmarks.acceptance.counts import Counts
from dynamap_async.simulated import Capacity, SimulatedDynamoDB

BURST_SECONDS = 300.0
"""How long unused capacity of a table is kept."""
_HASH_BYTES = 8
_REFUSED = b"""{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message":
"The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level
with the UpdateTable API.", "ThrottlingReasons": []}""".replace(b"\n", b" ")
_FAILED = b"""{"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "It failed."}"""
_THROTTLED = (b"ThroughputExceeded", b"Throttling")


class CountingService(SimulatedDynamoDB):
    """The engine in the process with capacity, seen by who judges.

    Args:
        clock: what the time is, in seconds.
        burst_seconds: how long unused capacity is kept.
    """

    def __init__(self, clock: Callable[[], float], burst_seconds: float = BURST_SECONDS) -> None:
        super().__init__(clock, capacity=Capacity(burst_seconds=burst_seconds))
        assert self.throttle is not None
        self.throttle.hear = self._hear
        self._sale = self.throttle
        self._operation = ""
        self.refused_part: float = 0.0
        """The part of all requests for items that is refused whatever the rate, for reasons of the table's own."""
        self.failed_part: float = 0.0
        """The part of all requests for items that is answered with an internal error, and not carried out."""
        self.chance: random.Random = random.Random(1)
        self.counts: Counts = Counts(clock)
        self.counts.reset()

    def execute(self, operation: str, body: bytes) -> tuple[int, bytes]:
        """Carry out a request, and return the status and the body of its answer."""
        self.counts.requests[operation] += 1
        if (self.refused_part or self.failed_part) and "Table" not in operation:
            drawn = self.chance.random()
            if drawn < self.refused_part:
                self.counts.refused += 1
                return 400, _REFUSED
            if drawn < self.refused_part + self.failed_part:
                return 500, _FAILED
        self._operation = operation
        status, answer = super().execute(operation, body)
        if status == 400 and any(text in answer for text in _THROTTLED):
            self.counts.refused += 1
        return status, answer

    def answer(self, operation: str, body: dict[str, Any]) -> Any:
        """Carry out a request that is expected to succeed, and return its answer."""
        status, answer = self.execute(operation, json.dumps(body).encode())
        assert status == 200, answer
        return json.loads(answer)

    def spend_burst(self) -> None:
        """Drop what is left of the burst of all tables and indexes."""
        self._sale.spend(self.store.tables.values())

    def push(self, requests: int) -> None:
        """Take units to write from each table for a client that is not counted, one at a time, as far as there are."""
        now = self.clock()
        for table in self.store.tables.values():
            supply = self._sale.supply(table)
            for _ in range(requests):
                supply.take("Write", self.chance.randbytes(_HASH_BYTES), 1.0, now)

    def _hear(self, position: bytes, reasons: list[dict[str, str]], kind: str, units: float) -> None:
        # Pages of scans lie in no partition key: they are counted together.
        group = "scan" if self._operation == "Scan" else _group(position)
        self.counts.attempt(group, reasons, **{kind.lower(): units})


def _group(position: bytes) -> str:
    """Return the beginning of a partition key, up to the first ``-``: who is counted together."""
    return position[_HASH_BYTES : position.find(b"\0", _HASH_BYTES)].partition(b"-")[0].decode(errors="replace")
