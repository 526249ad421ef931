"""Estimates: the units that a request will take, learned from the answers to others of its kind. Pure.

Requests of a kind ask the same operation of the same tables and index. Of each kind the average is kept for each place
that its answers have named, in proportion to what is known of a request: the size of what it writes. It follows changes
within about a hundred requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from dynamap_async.executor.consumed import Spending, TableOrIndex, least
from dynamap_async.request import Request, tables_of
from dynamap_async.units import items_per_page, read_half_units

_PAGE_ITEM_BYTES: Final = 1_024
"""What an item of a query with a limit is taken for until its answers are known."""
_PAGE_ITEMS: Final = 100
"""How many items a query without a limit is taken to read until its answers are known."""


@lru_cache(maxsize=4096)
def spent_units(spent: tuple[Spending, ...]) -> Mapping[TableOrIndex, float]:
    """Return the units that an answer reported, of each place. It is cached, since most answers report the same."""
    units: dict[TableOrIndex, float] = {}
    for spending in spent:
        units[spending.place] = units.get(spending.place, 0.0) + spending.halves / 2
    return units


def supposed_units(request: Request) -> dict[TableOrIndex, float]:
    """Return what a request is taken for until the answers to others of its kind are known."""
    reads, writes = least(request)
    tables = tables_of(request)
    if len(tables) > 1:
        counts = _actions(request.body, tables)
        total = sum(counts.values())
        return {
            TableOrIndex(table, None, request.writes): max(reads, writes) / 2 * count / total
            for table, count in counts.items()
        }
    if request.operation in ("Query", "Scan"):
        return {TableOrIndex(request.table, request.index, writes=False): _page_units(request)}
    return {TableOrIndex(request.table, None, request.writes): max(reads, writes) / 2}


def weight_of(request: Request) -> float:
    """Return how much a request is of its kind, in proportion to which it takes units: what it is known to write."""
    reads, writes = least(request)
    sizes = [target.size_bytes for target in request.targets]
    return max(1.0, reads / 2, writes / 2, sum(-(-size // 1024) for size in sizes) * 2.0)


def _page_units(request: Request) -> float:
    body: Any = request.body
    items = min(body.get("Limit") or _PAGE_ITEMS, items_per_page(_PAGE_ITEM_BYTES))
    return read_half_units(items * _PAGE_ITEM_BYTES, consistent=bool(body.get("ConsistentRead"))) / 2


def _actions(body: Mapping[str, Any], tables: tuple[str, ...]) -> dict[str, int]:
    """Return how many of a transaction's actions are about each table; statements are taken to be spread evenly."""
    counts = dict.fromkeys(tables, 0)
    for action in body.get("TransactItems") or ():
        for part in action.values():
            counts[part["TableName"]] += 1
    return counts if sum(counts.values()) else dict.fromkeys(tables, 1)


MOST_KINDS: Final = 2_000
"""Of how many kinds of requests something is remembered: that of which nothing was learned for longest is forgotten."""
_MEMORY: Final = 64
"""Over about how many requests the averages are taken."""
_DOUBT: Final = 16.0
"""How many times more than ever seen another request may take, where one was answered; less, the more there were."""


class RequestKind(NamedTuple):
    """Requests that are expected to take units alike."""

    operation: str
    table: str
    """The full table name."""
    index_name: str | None
    consistent: bool
    """Whether they read consistently."""
    limit_bits: int
    """How many binary digits their limit has; 0 for none."""
    tables: tuple[str, ...] = ()
    """The tables, where there are several."""
    unindexed: tuple[str, ...] = ()
    """The global indexes in which what is put has no entry."""

    def concerns(self, place: TableOrIndex) -> bool:
        """Return whether such a request may take units there."""
        return place.table in (self.tables or (self.table,)) and place.index_name not in self.unindexed


class Estimate(NamedTuple):
    """What one request is expected to take."""

    kind: RequestKind
    weight: float
    """How much of its kind it is."""
    units: Mapping[TableOrIndex, float]
    requests: int = 1
    """For how many requests it stands."""


class _Average:
    """The units that a kind takes of each place, for one of weight 1."""

    __slots__ = ("_kind", "_last", "_units", "_weights", "answered", "most")

    def __init__(self, kind: RequestKind) -> None:
        self._kind: Final = kind
        self._weights = 0.0
        self._units: dict[TableOrIndex, float] = {}
        self._last: Estimate | None = None
        self.answered = 0
        """How many requests were learned from."""
        self.most = 0.0
        """The most units that one of weight 1 has taken lately."""

    def of(self, weight: float, requests: int = 1) -> Estimate:
        """Return what some of a weight are expected to take; of equal ones the same object, until that changes."""
        last = self._last
        if last is None or last.weight != weight or last.requests != requests:
            units = {place: units / self._weights * weight for place, units in self._units.items() if units}
            last = self._last = Estimate(self._kind, weight, units, requests)
        return last

    def learn(self, units: Mapping[TableOrIndex, float], weight: float, requests: int) -> None:
        last = self._last
        if last is not None and (last.weight != weight or last.units != units):
            self._last = None
        self.answered += requests
        kept = (1 - 1 / _MEMORY) ** requests
        self._weights = self._weights * kept + weight
        self.most = max(self.most * kept, sum(units.values()) / weight)
        for place in self._units.keys() | units.keys():
            self._units[place] = self._units.get(place, 0.0) * kept + units.get(place, 0.0)


def _part_of(estimates: Sequence[Estimate], others: Iterable[Sequence[Estimate]], place: TableOrIndex) -> float:
    """Return the part that some have of what several took of a place: as was expected, otherwise by weight."""
    together = sum([estimate.units.get(place, 0.0) for group in others for estimate in group])
    if together:
        return sum([estimate.units.get(place, 0.0) for estimate in estimates]) / together
    return _weight(estimates) / sum([_weight(group) for group in others])


def _weight(estimates: Iterable[Estimate]) -> float:
    return sum([estimate.weight for estimate in estimates])


@lru_cache(maxsize=MOST_KINDS)
def _kind_of_chunks(operation: str, table: str) -> RequestKind:
    return RequestKind(f"{operation} together", table, None, False, 0)


class Estimates:
    """What the requests of a session are expected to take."""

    def __init__(self) -> None:
        self._averages: Final[dict[RequestKind, _Average]] = {}

    def of(self, request: Request) -> Estimate:
        """Return what a request is expected to take."""
        body = request.body
        limit: int = body.get("Limit") or 0
        kind = RequestKind(
            request.operation,
            request.table,
            request.index,
            bool(body.get("ConsistentRead")),
            limit.bit_length(),
            request.tables,
            () if request.unindexed is None else request.unindexed(),
        )
        weight = weight_of(request)
        average = self._averages.get(kind)
        return Estimate(kind, weight, supposed_units(request)) if average is None else average.of(weight)

    def of_chunk(self, request: Request, requests: int, json_bytes: int) -> Estimate:
        """Return what requests are expected to take that travel together, and are not looked at one by one.

        Args:
            request: what each of them is, but for its item.
            requests: how many they are.
            json_bytes: the length of the JSON of what they write.
        """
        kind = _kind_of_chunks(request.operation, request.table)
        weight = requests * max(1.0, 2.0 * -(-json_bytes // (1024 * requests)))
        average = self._averages.get(kind)
        if average is not None:
            return average.of(weight, requests)
        units = weight / 2 if request.writes else requests / 2
        return Estimate(kind, weight, {TableOrIndex(request.table, None, request.writes): units}, requests)

    def most_of(self, expected: Estimate) -> float | None:
        """Return the most units that a request may take, by what others of its kind took; None if none was answered."""
        average = self._averages.get(expected.kind)
        if average is None:
            return None
        return expected.weight * average.most * (1 + _DOUBT / average.answered)

    def answered(self, kind: RequestKind) -> int:
        """Return how many answers to requests of a kind were learned from."""
        average = self._averages.get(kind)
        return 0 if average is None else average.answered

    def learn(self, expected: Iterable[Estimate], spent: Mapping[TableOrIndex, float]) -> None:
        """Learn what requests took together, each in proportion to what was expected of it.

        Args:
            expected: the requests that one exchange carried, as far as they were carried out.
            spent: the units that it took.
        """
        groups: dict[RequestKind, list[Estimate]] = {}
        for estimate in expected:
            groups.setdefault(estimate.kind, []).append(estimate)
        for kind, estimates in groups.items():
            taken = {place: units for place, units in spent.items() if kind.concerns(place)}
            if len(groups) > 1:  # several kinds of requests, some of them perhaps to one table
                for place in taken:
                    concerned = [others for each, others in groups.items() if each.concerns(place)]
                    taken[place] *= _part_of(estimates, concerned, place)
            average = self._averages.pop(kind, None) or _Average(kind)
            self._averages[kind] = average  # last, for it is the newest
            if len(self._averages) > MOST_KINDS:
                del self._averages[next(iter(self._averages))]
            average.learn(taken, _weight(estimates), sum([estimate.requests for estimate in estimates]))
