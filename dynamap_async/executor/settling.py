"""Settling: what an answer says that its request took is divided among those whom it was for.

Invariant: what is divided adds up to what was reported, to half a unit, on each table and index. Settling never raises.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from dynamap_async.executor.metering import Spending
from dynamap_async.executor.sending import Sending
from dynamap_async.limits import READ_UNIT_BYTES
from dynamap_async.request import Request
from dynamap_async.units import read_half_units, write_half_units
from dynamap_async.wire import Body, WireItem

Measure = Callable[[WireItem], int]
"""Returns the size of an item in bytes, as units count it."""


def json_size(item: WireItem) -> int:
    """Return the length of an item's JSON, which is in about the same proportion to others' as its size."""
    return len(orjson.dumps(item))


@dataclass(slots=True, eq=False)
class Settlement:
    """An exchange that is over, and what it took."""

    request: Request
    """What was sent."""
    carried: Sequence[Sending]
    """What was asked for: several requests where it was a batch."""
    spent: tuple[Spending, ...] | None
    """What it took; None where that is not known."""
    measure: Measure
    error: BaseException | None = None
    """In what it ended; None for an answer."""
    left_over: Sequence[Sending] = ()
    """What the answer did not get to."""
    throttled: Sequence[Sending] = ()
    """What was refused, or left over, for want of capacity."""
    parts: Mapping[str, Body] = field(default_factory=dict[str, Body])
    """Of a batch, what the answer says of each identity."""

    def served(self) -> Sequence[Sending]:
        """Return what the units were taken for: what was carried and not left over."""
        if not self.left_over:
            return self.carried
        left = set(self.left_over)
        return [sending for sending in self.carried if sending not in left] or self.carried

    def divided(self) -> list[tuple[Sending, list[Spending]]]:
        """Return what each of the requests that were served took, those of a table in proportion to its items' units.

        The answer speaks of a batch as a whole; the service's arithmetic says how large each one's part of it is.
        """
        served, spent = self.served(), self.spent or ()
        if len(served) == 1:
            return [(served[0], list(spent))]
        shares: dict[Sending, list[Spending]] = {sending: [] for sending in served}
        weights = {sending: self._weight(sending) for sending in served}
        for spending in spent:
            concerned = [each for each in served if each.request.table == spending.table] or served
            parts = divide(spending.halves, [weights[sending] for sending in concerned])
            for sending, halves in zip(concerned, parts, strict=True):
                if halves:
                    shares[sending].append(replace(spending, halves=halves))
        return list(shares.items())

    def _weight(self, sending: Sending) -> int:
        request = sending.request
        if request.writes:
            return write_half_units(request.target.size_bytes if request.target else 0)
        item = self.parts.get(request.target.identity, {}).get("Item") if request.target else None
        try:
            # JSON is never shorter than what the service counts, and measuring takes longer.
            size = self.measure(item) if item and json_size(item) > READ_UNIT_BYTES else 0
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            size = 0  # an item of no known form is its readers' error to report
        return read_half_units(size)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Return ``total`` in whole parts, in proportion to weights by largest remainder, the first of equal ones first."""
    weight = sum(weights)
    if not weight:
        return divide(total, [1] * len(weights)) if weights else []
    parts = [total * each // weight for each in weights]
    by_remainder = sorted(range(len(weights)), key=lambda at: -(total * weights[at] % weight))
    for at in by_remainder[: total - sum(parts)]:
        parts[at] += 1
    return parts
