"""What bounds the throughput of a table, or of a global index, that is paid for by request."""

from __future__ import annotations

from typing import Final

from dynamap_async.dataclass import dataclass
from dynamap_async.limits import WARM_READ_UNITS, WARM_WRITE_UNITS

NO_MAXIMUM: Final = -1
"""What the API says for no maximum."""

NEW_WARM: Final = {"ReadUnitsPerSecond": WARM_READ_UNITS, "WriteUnitsPerSecond": WARM_WRITE_UNITS}
"""The warm throughput of a new table, in wire form."""

_MAXIMA: Final = {"MaxReadRequestUnits": "max_read", "MaxWriteRequestUnits": "max_write"}
_WARM: Final = {"ReadUnitsPerSecond": "warm_read", "WriteUnitsPerSecond": "warm_write"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDemand:
    """Payment by request, and what bounds it; what is None is not managed.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode-max-throughput.html
    """

    max_read: int | None = None
    """The most read units per second, from 1 on, over which requests are throttled; -1 for no maximum."""
    max_write: int | None = None
    """The most write units per second, from 1 on, over which requests are throttled; -1 for no maximum."""
    warm_read: int | None = None
    """The read units per second that can be served at once, at least: 12,000 at first. It is paid for once where it is
    raised, and never falls."""
    warm_write: int | None = None
    """The write units per second that can be served at once, at least: 4,000 at first."""

    def __post_init__(self) -> None:
        for name in (*_MAXIMA.values(), *_WARM.values()):
            units: object = getattr(self, name)
            lowest = NO_MAXIMUM if name in _MAXIMA.values() else 1
            if units is not None and (type(units) is not int or units < lowest or units == 0):
                more = ", or -1 for no maximum" if lowest < 0 else ""
                raise ValueError(f"{name}={units!r}: write a number of units per second from 1 on{more}")

    @property
    def maxima(self) -> dict[str, int]:
        """The declared maxima, in wire form."""
        return self._declared(_MAXIMA)

    @property
    def warm(self) -> dict[str, int]:
        """The declared warm throughput over that which every new table has, in wire form."""
        # Warm throughput never falls, so that less than a new table has means nothing.
        return {member: units for member, units in self._declared(_WARM).items() if units > NEW_WARM[member]}

    def to_wire(self) -> dict[str, dict[str, int]]:
        """Return the members of CreateTable, or of an index in it; a missing maximum stands for none."""
        # -1 removes a maximum with UpdateTable; a new table has none.
        maxima = {member: units for member, units in self.maxima.items() if units != NO_MAXIMUM}
        members = {"OnDemandThroughput": maxima, "WarmThroughput": self.warm}
        return {name: units for name, units in members.items() if units}

    @classmethod
    def from_wire(cls, described: dict[str, dict[str, int]]) -> OnDemand:
        """Read a description: an absent maximum means none; an absent warm throughput, that it is not known.

        Args:
            described: the ``Table`` of the answer, or an index there.
        """
        most = described.get("OnDemandThroughput") or {}
        warm = described.get("WarmThroughput") or {}
        found = {name: most.get(member) or NO_MAXIMUM for member, name in _MAXIMA.items()}
        return cls(**found, **{name: warm.get(member) or None for member, name in _WARM.items()})

    def _declared(self, names: dict[str, str]) -> dict[str, int]:
        told: dict[str, int | None] = {member: getattr(self, name) for member, name in names.items()}
        return {member: units for member, units in told.items() if units is not None}
