"""Steps that give a table and its indexes the capacity that models declare: two values -> steps. Pure.

Declared are either provisioned units, or payment by request, with its maxima and the warm throughput.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from dynamap_async.schema import NEW_WARM, NO_MAXIMUM, OnDemand, TableSchema, Throughput
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.setting_requests import update_table_request
from dynamap_async.tables.table_plan import Hazard, TableStep, request_step

_DECREASES_AT_ONCE: Final = 4
"""How often a throughput may be lowered before DynamoDB asks for an hour between.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html"""

_Where: TypeAlias = str | None
"""The name of an index, or None for the table."""

_Units: TypeAlias = dict[str, int]
"""Member of the API -> units a second."""

_PROVISIONED: Final = "ProvisionedThroughput"
_MAXIMA: Final = "OnDemandThroughput"
_WARM: Final = "WarmThroughput"
_NAMES: Final = {
    "ReadCapacityUnits": "read",
    "WriteCapacityUnits": "write",
    "MaxReadRequestUnits": "read",
    "MaxWriteRequestUnits": "write",
    "ReadUnitsPerSecond": "read",
    "WriteUnitsPerSecond": "write",
}


class CapacityChanges:
    """How the capacity of a table and its indexes differs from what models declare.

    Args:
        declared: the table as models declare it.
        there: the table as it is, without indexes that are on their way out.
        found: what is described of it.
    """

    def __init__(self, declared: TableSchema, there: TableSchema, found: TableDescription) -> None:
        self._declared = declared
        self._there = there
        self._found = found
        self._indexes = {index.name: index for index in declared.global_indexes}

    def switched(self) -> list[TableStep]:
        """Return the step that changes the billing mode, if it changes."""
        declared, found = self._declared, self._found
        if declared.throughput is not None and found.billing == "on-demand":
            units: dict[_Where, _Units] = {None: declared.throughput.to_wire()}
            for index in self._there.global_indexes:
                own = self._indexes[index.name].throughput if index.name in self._indexes else None
                units[index.name] = (own or declared.throughput).to_wire()
            body = {"BillingMode": "PROVISIONED", **_body(_PROVISIONED, units)}
            message = "the billing mode changes once in 24 hours, and requests over the units are throttled"
        elif declared.on_demand is not None and found.billing == "provisioned":
            body = {"BillingMode": "PAY_PER_REQUEST"}
            message = "the billing mode changes once in 24 hours, and each request is paid for from then on"
        else:
            return []
        hazards = (Hazard(code="billing-switched", table=declared.name, message=message),)
        request = update_table_request(declared.name, body)
        before, after = billed(found.schema.throughput), billed(declared.throughput)
        return [request_step("update-billing", request, before=before, after=after, hazards=hazards)]

    def raised(self) -> list[TableStep]:
        """Return the steps that raise what is to be raised."""
        wanted, now = self._provisioned()
        higher = {
            where: {name: max(count, now[where][name]) for name, count in units.items()}
            for where, units in wanted.items()
        }
        steps = self._steps(_PROVISIONED, higher, now)
        wanted, now = self._maxima()
        steps += self._steps(_MAXIMA, _chosen(wanted, now, lambda one, other: _height(one) > _height(other)), now)
        wanted, now = self._warm()
        higher = _chosen(wanted, now, lambda one, other: one > other)
        hazards = [self._warm_hazard(where, units, now[where]) for where, units in higher.items()]
        return steps + self._steps(_WARM, higher, now, hazards)

    def lowered(self) -> list[TableStep]:
        """Return the steps that lower what is to be lowered, once everything is raised."""
        wanted, now = self._provisioned()
        lower = {where: each for where, each in wanted.items() if any(each[name] < now[where][name] for name in each)}
        message = "requests over the units are throttled, and DynamoDB lowers a throughput 4 to 27 times a day"
        hazards = [Hazard(code="throughput-lowered", table=self._declared.name, message=message)]
        for where in lower:
            count = self._found.decreases_today.get(where, 0)
            if count >= _DECREASES_AT_ONCE:
                message = (
                    f"it was lowered {count} times today, so DynamoDB may refuse for an hour, and after 27 times until "
                    "the next day (UTC); it is tried again meanwhile"
                )
                hazards.append(Hazard(code="decrease-quota", table=self._declared.name, index=where, message=message))
        steps = self._steps(_PROVISIONED, lower, now, hazards, adds=False)
        wanted, now = self._maxima()
        lower = _chosen(wanted, now, lambda one, other: _height(one) < _height(other))
        message = "requests over the maximum are throttled"
        hazards = [
            Hazard(code="throughput-lowered", table=self._declared.name, index=where, message=message)
            for where in lower
        ]
        return steps + self._steps(_MAXIMA, lower, now, hazards, adds=False)

    def _provisioned(self) -> tuple[dict[_Where, _Units], dict[_Where, _Units]]:
        """Return the units that models declare, and those that are there, of all that stays provisioned."""
        declared, own = self._declared, self._declared.throughput
        if self._found.billing == "on-demand" or declared.on_demand is not None or declared.settings.autoscaled:
            return {}, {}
        now: dict[_Where, Throughput | None] = {None: self._there.throughput}
        now |= {index.name: index.throughput for index in self._there.global_indexes}
        wanted: dict[_Where, Throughput | None] = {None: own}
        wanted |= {name: index.throughput or own for name, index in self._indexes.items() if name in now}
        known = {where: units.to_wire() for where, units in now.items() if units is not None}
        return {where: each.to_wire() for where, each in wanted.items() if each is not None and where in known}, known

    def _on_demand(self) -> tuple[dict[_Where, OnDemand], dict[_Where, OnDemand]]:
        """Return what models declare, and what is there, of all that is on-demand, or will be."""
        declared, found = self._declared, self._found
        if declared.throughput is not None or (found.billing == "provisioned" and declared.on_demand is None):
            return {}, {}
        now = _found_on_demand(self._there, found)
        wanted = {None: declared.on_demand} | {name: index.on_demand for name, index in self._indexes.items()}
        return {where: each for where, each in wanted.items() if each is not None and where in now}, now

    def _maxima(self) -> tuple[dict[_Where, _Units], dict[_Where, _Units]]:
        wanted, now = self._on_demand()
        return {where: each.maxima for where, each in wanted.items()}, {
            where: each.maxima for where, each in now.items()
        }

    def _warm(self) -> tuple[dict[_Where, _Units], dict[_Where, _Units]]:
        wanted, now = self._on_demand()
        return {where: each.warm for where, each in wanted.items()}, {
            where: self._warm_then(warm_of(each)) for where, each in now.items()
        }

    def _warm_then(self, units: _Units) -> _Units:
        """Return a warm throughput as it is once the table is on-demand, which gives it no less than a new one has."""
        if self._found.billing == "on-demand":
            return units
        return {name: max(count, NEW_WARM[name]) for name, count in units.items()}

    def _warm_hazard(self, where: _Where, units: _Units, now: _Units) -> Hazard:
        more = " and ".join(f"{count - now[name]:,} {_NAMES[name]}" for name, count in units.items())
        message = f"{more} units a second more are paid for once, and a warm throughput never falls"
        return Hazard(code="warm-throughput-cost", table=self._declared.name, index=where, message=message)

    def _steps(
        self,
        member: str,
        wanted: dict[_Where, _Units],
        now: dict[_Where, _Units],
        hazards: list[Hazard] | None = None,
        *,
        adds: bool = True,
    ) -> list[TableStep]:
        changed = {where: units for where, units in wanted.items() if units.items() - now[where].items()}
        if not changed:
            return []
        there = {where: {name: now[where][name] for name in units} for where, units in changed.items()}
        request = update_table_request(self._declared.name, _body(member, changed))
        before, after, own = _listed(member, there), _listed(member, changed), tuple(hazards or ())
        return [request_step("update-throughput", request, before=before, after=after, hazards=own, adds=adds)]


def capacity_is_reached(body: Mapping[str, Any], found: TableDescription) -> bool:
    """Return whether a table and its indexes have the capacity that a request asks for.

    Args:
        found: the table as it is described.
    """
    mode = body.get("BillingMode")
    if mode is not None and (mode == "PAY_PER_REQUEST") is not (found.billing == "on-demand"):
        return False
    provisioned: dict[_Where, Throughput | None] = {None: found.schema.throughput}
    provisioned |= {index.name: index.throughput for index in found.schema.global_indexes}
    on_demand = _found_on_demand(found.schema, found)
    entries = [each["Update"] for each in body.get("GlobalSecondaryIndexUpdates") or ()]
    for where, entry in [(None, body), *((each["IndexName"], each) for each in entries)]:
        units, limits = provisioned.get(where), on_demand.get(where)
        # Where an engine shows no units of an index, there is nothing to compare, here and in the next plan.
        is_shown = units is not None or where is None or where not in provisioned
        if _PROVISIONED in entry and is_shown and (units is None or units.to_wire() != entry[_PROVISIONED]):
            return False
        if _MAXIMA in entry and (limits is None or entry[_MAXIMA].items() - limits.maxima.items()):
            return False
        warm = {} if limits is None else warm_of(limits)
        if any(warm.get(name, 0) < count for name, count in entry.get(_WARM, {}).items()):
            return False
    return True


def seen_maxima(billing: OnDemand | Throughput | None) -> str:
    """Return the maxima on which a plan is based, as text."""
    return _told(_MAXIMA, billing.maxima) if isinstance(billing, OnDemand) else "none"


def bounds_of(limits: OnDemand | None) -> str:
    """Return the maxima that bound an index, as text; nothing where none does."""
    most = {} if limits is None else {name: units for name, units in limits.maxima.items() if units != NO_MAXIMUM}
    return _told(_MAXIMA, most) if most else ""


def warm_hazards(declared: TableSchema) -> tuple[Hazard, ...]:
    """Return the hazard of each warm throughput that a new on-demand table, or a new index, is made with.

    Args:
        declared: the table, with the indexes that are new.
    """
    limits = {None: declared.on_demand} | {index.name: index.on_demand for index in declared.global_indexes}
    found: list[Hazard] = []
    for where, each in limits.items():
        if each is not None and each.warm:
            more = " and ".join(f"{count - NEW_WARM[name]:,} {_NAMES[name]}" for name, count in each.warm.items())
            message = f"{more} units a second more than the first are paid for once, and a warm throughput never falls"
            found.append(Hazard(code="warm-throughput-cost", table=declared.name, index=where, message=message))
    return tuple(found)


def unmanaged_capacity(declared: TableSchema, found: TableDescription) -> list[str]:
    """Return what a table has of capacity that no model declares, or that nobody can compare, as sentences.

    Args:
        declared: the table as models declare it.
        found: the table as it is.
    """
    own, there, told = declared.on_demand, found.schema.throughput, list[str]()
    if (declared.throughput is None or declared.settings.autoscaled) and there is not None and own is None:
        told.append(f"{declared.name}: its throughput of {billed(there)}")
    if found.billing == "provisioned" or declared.throughput is not None:
        return told
    wanted = {None: own} | {index.name: index.on_demand for index in declared.global_indexes}
    for where, now in _found_on_demand(found.schema, found).items():
        if where not in wanted:
            continue  # an index that no model declares is told by its name
        limits = wanted[where] or OnDemand()
        most = {name: n for name, n in now.maxima.items() if n != NO_MAXIMUM and name not in limits.maxima}
        if most:
            told.append(f"{declared.name}: {_named(where)}, {_told(_MAXIMA, most)}")
        if limits.warm.keys() - warm_of(now).keys():
            told.append(
                f"{declared.name}: {_named(where)}, warm throughput, which is unknown: the engine does not tell it"
            )
    return told


def billed(units: Throughput | None) -> str:
    """Return how capacity is paid for, in a few words.

    Args:
        units: the provisioned capacity; None for on-demand.
    """
    return "on-demand" if units is None else f"{units.read:,} read, {units.write:,} write"


def warm_of(limits: OnDemand) -> _Units:
    """Return the warm throughput that a description tells, in wire form; none where it tells none."""
    told = {"ReadUnitsPerSecond": limits.warm_read, "WriteUnitsPerSecond": limits.warm_write}
    return {name: units for name, units in told.items() if units is not None}


def _found_on_demand(there: TableSchema, found: TableDescription) -> dict[_Where, OnDemand]:
    now: dict[_Where, OnDemand] = {None: found.on_demand}
    return now | {index.name: index.on_demand for index in there.global_indexes if index.on_demand is not None}


def _body(member: str, units: Mapping[_Where, _Units]) -> dict[str, Any]:
    body: dict[str, Any] = {member: units[None]} if None in units else {}
    updates = [{"Update": {"IndexName": where, member: each}} for where, each in units.items() if where is not None]
    return body | ({"GlobalSecondaryIndexUpdates": updates} if updates else {})


def _chosen(
    wanted: dict[_Where, _Units], now: dict[_Where, _Units], choose: Callable[[int, int], bool]
) -> dict[_Where, _Units]:
    """Return those of the wanted units that are known, and chosen by what they are now."""
    chosen = {
        where: {name: n for name, n in units.items() if name in now[where] and choose(n, now[where][name])}
        for where, units in wanted.items()
    }
    return {where: units for where, units in chosen.items() if units}


def _height(most: int) -> float:
    return float("inf") if most == NO_MAXIMUM else most


def _listed(member: str, units: Mapping[_Where, _Units]) -> str:
    return "; ".join(f"{_named(where)} {_told(member, each)}" for where, each in units.items())


def _told(member: str, units: _Units) -> str:
    parts = ", ".join(
        f"{'any' if count == NO_MAXIMUM else f'{count:,}'} {_NAMES[name]}" for name, count in sorted(units.items())
    )
    return {_PROVISIONED: "", _MAXIMA: "at most ", _WARM: "warm for "}[member] + parts


def _named(where: _Where) -> str:
    return where or "table"
