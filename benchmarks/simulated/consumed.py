"""What a request took, in the form that ``ReturnConsumedCapacity`` asks for."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from benchmarks.simulated.tables import Table


@dataclass(slots=True)
class Consumed:
    """The units of one request, by table and index."""

    units: dict[str, dict[str | None, float]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(float)))
    """Table -> index, None for the table itself -> units."""
    tables: dict[str, Table] = field(default_factory=dict[str, Table])

    def add(self, table: Table, index: str | None, units: float) -> None:
        """Add units."""
        self.tables[table.name] = table
        self.units[table.name][index] += units

    def told(self, body: dict[str, Any], *, transaction: str = "") -> list[dict[str, Any]]:
        """Return one entry for each table; none unless the request asks for them.

        Args:
            transaction: ``Read`` or ``Write`` for a transaction, whose answer names the kind.
        """
        how = body.get("ReturnConsumedCapacity", "NONE")
        if how == "NONE":
            return []
        return [self._entry(name, parts, how, transaction) for name, parts in self.units.items()]

    def _entry(self, name: str, parts: dict[str | None, float], how: str, transaction: str) -> dict[str, Any]:
        entry: dict[str, Any] = {"TableName": name, **_units(sum(parts.values()), transaction)}
        if how == "INDEXES":
            entry["Table"] = _units(parts.get(None, 0.0), transaction)
            for index, units in parts.items():
                if index is not None:
                    local = self.tables[name].indexes[index].capacity is None
                    member = "LocalSecondaryIndexes" if local else "GlobalSecondaryIndexes"
                    entry.setdefault(member, {})[index] = _units(units, transaction)
        return entry


def _units(units: float, transaction: str) -> dict[str, float]:
    named = {f"{transaction}CapacityUnits": units} if transaction else {}
    return {"CapacityUnits": units, **named}
