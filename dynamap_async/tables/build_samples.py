"""Samples of items, for estimates of the indexes that are to be built from them. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.StorageConsiderations
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from dynamap_async.capacity import index_entry, item_size
from dynamap_async.models import Definition
from dynamap_async.operations.item_upgrade import upgrade_if_behind
from dynamap_async.schema import IndexSchema, TableSchema
from dynamap_async.tables.estimates import GB_BYTES, BuildEstimate, PlanPrices
from dynamap_async.tables.index_reports import unfit
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.table_plan import Hazard, TablePlan, TableStep
from dynamap_async.units import write_units
from dynamap_async.wire import WireItem

_ENTRY_BYTES: Final = 100
"""What DynamoDB stores for an entry besides its attributes."""
COSTLY_WRITE_UNITS: Final = 1_000_000
"""An index that takes so many write units to fill is a hazard."""

BuildSamples: TypeAlias = Mapping[tuple[str, str], "BuildSample"]
"""Full table name, index -> its sample."""


class BuildSample:
    """A sample of items, as an index that is to be built would hold them.

    Args:
        table: the table, as models declare it.
        versions: those of the table's models whose items have versions.
    """

    def __init__(self, table: TableSchema, index: IndexSchema, versions: Collection[Definition[Any]] = ()) -> None:
        self._table = table
        self._index = index
        self._versions = versions
        self._behind: Counter[str] = Counter()
        """Model -> how many of its items come into the index only when they are upgraded."""
        self._items = self._item_bytes = 0
        self._entries = self._entry_bytes = self._violations = 0
        self._write_units = 0.0
        self._is_complete = False

    def take(self, items: Iterable[WireItem]) -> None:
        """Add items to the sample."""
        for item in items:
            self._items += 1
            self._item_bytes += item_size(item)
            reason = unfit(self._index, item)
            if reason is None:
                size = item_size(index_entry(self._table, self._index.name, item) or {})
                self._entries += 1
                self._entry_bytes += size + _ENTRY_BYTES
                self._write_units += write_units(size)
            elif reason != "absent":
                self._violations += 1
            else:
                self._look_at_upgrade(item)

    def _look_at_upgrade(self, item: WireItem) -> None:
        """Count an item that is not in the index if its upgrade brings it there."""
        upgrade = upgrade_if_behind(self._versions, item)
        if upgrade is not None and unfit(self._index, upgrade.present) is None:
            self._behind[upgrade.definition.model.__name__] += 1

    def end(self) -> None:
        """Record that these were all items of the table."""
        self._is_complete = True

    def estimate(
        self, found: TableDescription, units_per_second: int | None, prices: PlanPrices | None
    ) -> BuildEstimate:
        """Return an estimate of building the index.

        Args:
            found: the table as it is; the numbers of its items and bytes are up to six hours old.
            units_per_second: the index's provisioned write units; None for on-demand.
            prices: what is paid for them; None to leave money out.
        """
        times = 1.0
        if not self._is_complete and self._items:
            by_size = found.size_bytes / (self._item_bytes / self._items) if self._item_bytes else 0.0
            times = max(found.item_count, by_size, self._items) / self._items
        units, storage = self._write_units * times, round(self._entry_bytes * times)
        return BuildEstimate(
            entries=round(self._entries * times),
            write_units=float(round(units)),
            storage_bytes=storage,
            least_seconds=None if units_per_second is None else units / units_per_second,
            sampled_items=self._items,
            is_complete=self._is_complete,
            price=None if prices is None else units / 1_000_000 * prices.write_million,
            price_per_month=None if prices is None else storage / GB_BYTES * prices.storage_gb_month,
        )

    @property
    def violation(self) -> str | None:
        """Which items do not fit into the index, as a sentence; None if there are none."""
        if not self._violations:
            return None
        keys = ", ".join(f"{each.name} ({each.type})" for each in self._index.keys.attributes)
        return (
            f"{self._violations:,} of {self._items:,} items that were looked at have a value that does not fit {keys}: "
            "the index leaves them out, and later writes of such values are refused; check_index finds them all"
        )

    @property
    def not_upgraded(self) -> str | None:
        """Which items come into the index only when they are upgraded, as a sentence; None if there are none."""
        if not self._behind:
            return None
        models = " and ".join(self._behind)
        return (
            f"{self._behind.total():,} of {self._items:,} items that were looked at are of an older version, and the "
            f"index lacks them until they are upgraded: do that first, with `dynamap upgrade {models}`"
        )


def estimated(plan: TablePlan, found: BuildSamples, tables: Mapping[str, Any], prices: PlanPrices | None) -> TablePlan:
    """Return a plan whose new indexes have an estimate, and the hazards that follow from it.

    Args:
        found: what was looked at for each of the indexes.
        tables: full table name -> its description.
        prices: what is paid for write units and storage; None to leave money out.
    """

    def with_estimate(step: TableStep) -> TableStep:
        sample = found.get((step.table, step.index or "")) if step.kind == "create-index" else None
        if sample is None:
            return step
        entry: dict[str, Any] = step.request["GlobalSecondaryIndexUpdates"][0]["Create"]
        units: dict[str, int] = entry.get("ProvisionedThroughput") or {}
        estimate = sample.estimate(tables[step.table], units.get("WriteCapacityUnits"), prices)
        hazards = [*step.hazards]
        if sample.violation is not None:
            hazards.append(_hazard("index-violations", step, sample.violation))
        if sample.not_upgraded is not None:
            hazards.append(_hazard("items-not-upgraded", step, sample.not_upgraded))
        if estimate.write_units >= COSTLY_WRITE_UNITS:
            message = f"filling it takes about {estimate.write_units:,.0f} write units, which are paid for"
            hazards.append(_hazard("backfill-cost", step, message))
        return replace(step, estimate=estimate, hazards=tuple(hazards))

    return replace(plan, steps=tuple(map(with_estimate, plan.steps)))


def _hazard(code: Any, step: TableStep, message: str) -> Hazard:
    return Hazard(code=code, table=step.table, index=step.index, message=message)
