"""Estimates: the units that a request will take, learned from the answers to others of its kind. Pure.

Requests of a kind ask the same operation of the same tables and index. Of each kind the average is kept for each place
that its answers have named, in proportion to what is known of a request: the size of what it writes. It follows changes
within about a hundred requests.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from dynamap_async.executor.governor.places import Place, supposed_units, weight_of
from dynamap_async.request import Request

MOST_KINDS: Final = 2_000
"""Of how many kinds of requests something is remembered: that of which nothing was learned for longest is forgotten."""
_MEMORY: Final = 64
"""Over about how many requests the averages are taken."""


class Kind(NamedTuple):
    """Requests that are expected to take units alike."""

    operation: str
    table: str
    """The full table name; of several, all of them."""
    index_name: str | None
    consistent: bool
    """Whether they read consistently."""
    limit_bits: int
    """How many binary digits their limit has; 0 for none."""


class Estimate(NamedTuple):
    """What one request is expected to take."""

    kind: Kind
    weight: float
    """How much of its kind it is."""
    units: Mapping[Place, float]


class _Average:
    """The units that a kind takes of each place, for one of weight 1."""

    __slots__ = ("_kind", "_last", "_units", "_weights", "answered")

    def __init__(self, kind: Kind) -> None:
        self._kind: Final = kind
        self._weights = 0.0
        self._units: dict[Place, float] = {}
        self._last: Estimate | None = None
        self.answered = 0
        """How many requests were learned from."""

    def of(self, weight: float) -> Estimate:
        """Return what one of a weight is expected to take; until the next answer, of equal weights the same object."""
        last = self._last
        if last is None or last.weight != weight:
            units = {place: units / self._weights * weight for place, units in self._units.items() if units}
            last = self._last = Estimate(self._kind, weight, units)
        return last

    def learn(self, units: Mapping[Place, float], weight: float, requests: int) -> None:
        self._last = None
        self.answered += requests
        kept = (1 - 1 / _MEMORY) ** requests
        self._weights = self._weights * kept + weight
        for place in self._units.keys() | units.keys():
            self._units[place] = self._units.get(place, 0.0) * kept + units.get(place, 0.0)


class Estimates:
    """What the requests of a session are expected to take."""

    def __init__(self) -> None:
        self._averages: Final[dict[Kind, _Average]] = {}

    def of(self, request: Request) -> Estimate:
        """Return what a request is expected to take."""
        body = request.body
        limit: int = body.get("Limit") or 0
        kind = Kind(
            request.operation, request.table, request.index, bool(body.get("ConsistentRead")), limit.bit_length()
        )
        weight = weight_of(request)
        average = self._averages.get(kind)
        return Estimate(kind, weight, supposed_units(request)) if average is None else average.of(weight)

    def answered(self, kind: Kind) -> int:
        """Return how many answers to requests of a kind were learned from."""
        average = self._averages.get(kind)
        return 0 if average is None else average.answered

    def learn(self, expected: Iterable[Estimate], spent: Mapping[Place, float]) -> None:
        """Take note of what requests took together, each in proportion to what was expected of it.

        Args:
            expected: the requests that one exchange carried, as far as they were carried out.
            spent: the units that it took.
        """
        groups: dict[Kind, list[float]] = {}
        for estimate in expected:
            group = groups.setdefault(estimate.kind, [0.0, 0.0, 0.0])
            group[0] += 1
            group[1] += estimate.weight
            group[2] += sum(estimate.units.values())
        for kind, (requests, weight, units) in groups.items():
            concerned = _concerning(kind, spent)
            # Where an exchange carried several kinds of requests to one table.
            together = sum(group[2] for other, group in groups.items() if other.table == kind.table)
            part = units / together if together else 1.0
            average = self._averages.pop(kind, None) or _Average(kind)
            self._averages[kind] = average  # last, for it is the newest
            if len(self._averages) > MOST_KINDS:
                del self._averages[next(iter(self._averages))]
            average.learn({place: taken * part for place, taken in concerned.items()}, weight, int(requests))


def _concerning(kind: Kind, spent: Mapping[Place, float]) -> Mapping[Place, float]:
    tables = kind.table.split(", ")
    return {place: units for place, units in spent.items() if place.table in tables}
