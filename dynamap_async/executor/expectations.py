"""Expectations: what a request is expected to take of a scope's budget, before it is sent.

Until enough answers to requests of its kind are known, that is the least that it can take, which is certain.
"""

from typing import Final

from dynamap_async.executor.budget import Estimate
from dynamap_async.executor.governor.estimates import Estimates
from dynamap_async.executor.governor.places import spent_units
from dynamap_async.executor.metering import is_metered, least
from dynamap_async.executor.settling import Settlement
from dynamap_async.request import Request

_ENOUGH: Final = 10
"""After how many answers to requests of a kind the next are expected to take the same."""


class Expectations:
    """What requests of each kind have taken, as far as they were answered."""

    def __init__(self) -> None:
        self._estimates: Final = Estimates()

    def of(self, request: Request) -> Estimate:
        """Return the read units and the write units, in halves, that a request is expected to take."""
        reads, writes = least(request)
        expected = self._estimates.of(request)
        if self._estimates.answered(expected.kind) < _ENOUGH:
            return reads, writes
        units = expected.units
        return (
            max(reads, int(2 * sum(units[place] for place in units if not place.writes))),
            max(writes, int(2 * sum(units[place] for place in units if place.writes))),
        )

    def learn(self, settlement: Settlement) -> None:
        """Take note of what an exchange took."""
        if settlement.spent is None or not is_metered(settlement.request):
            return
        served = [self._estimates.of(sending.request) for sending in settlement.served()]
        self._estimates.learn(served, spent_units(settlement.spent))
