"""Steps that give a table the replicas in other regions that its models declare: two values -> steps. Pure.

Replicas are those of version 2019.11.21 of global tables. A plan adds and removes them, and compares nothing else of
them: what a replica has of its own, a session of its region sees.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GlobalTables.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dynamap_async.request import Request
from dynamap_async.schema import TableSchema
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.setting_requests import update_table_request
from dynamap_async.tables.table_plan import Hazard, TableStep, request_step

_ON_ITS_WAY: Final = ("CREATING", "CREATION_FAILED", "DELETING")
"""The statuses of a replica that is not there yet, or no longer."""
_VIEW: Final = "new-and-old"
_STRONG: Final = "a table with strong consistency between regions (MRSC)"
"""What DynamoDB can make of an empty table only; no model declares it.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html"""


def replicas_added(declared: TableSchema, found: TableDescription | None) -> list[TableStep]:
    """Return the steps that add replicas, or wait for one that is being made: one after the other.

    Args:
        declared: the table as models declare it.
        found: the table as it is; None where there is none.
    """
    if found is not None and found.is_strong:
        return []
    there = {} if found is None else {each.region: each.status for each in found.replicas}
    stream = declared.settings.stream if found is None else found.settings.stream
    # A stream of another view has to be replaced before.
    adds = stream in (None, "off", _VIEW)
    late = [each for each in _wanted(declared) if there.get(each, "CREATING") in _ON_ITS_WAY]
    return [
        request_step(
            "set-replicas",
            _request(declared.name, "Create", region),
            before=f"replica in {region} {there[region]}" if region in there else f"no replica in {region}",
            after=f"replica in {region}",
            adds=adds,
        )
        for region in late
    ]


def replicas_removed(declared: TableSchema, found: TableDescription) -> list[TableStep]:
    """Return the steps that remove replicas; they come before the stream is turned off that replicas need."""
    if declared.settings.replicas is None or found.is_strong:
        return []
    wanted = _wanted(declared)
    gone = [each.region for each in found.replicas if each.region not in wanted and each.status != "DELETING"]
    return [
        request_step(
            "set-replicas",
            _request(declared.name, "Delete", region),
            before=f"replica in {region}",
            after=f"no replica in {region}",
            hazards=(
                Hazard(
                    code="replica-removed",
                    table=declared.name,
                    message=f"the copy in {region} is deleted with its items, and programs there find no table",
                ),
            ),
            adds=False,
        )
        for region in gone
    ]


def blocked_by_replicas(declared: TableSchema, found: TableDescription) -> list[TableStep]:
    """Return what models declare and a table with replicas cannot have, as blocked steps."""
    wanted, there = declared.settings, [each.region for each in found.replicas]
    stay = there if wanted.replicas is None else _wanted(declared)
    blocked: list[tuple[str, str]] = []
    if found.is_strong:
        regions = ", ".join(there)
        if declared.ttl_attribute not in (None, found.schema.ttl_attribute):
            reason = f"{_STRONG} has none: take the TimeToLive out of the models"
            blocked.append(("no time to live", f"time to live on {declared.ttl_attribute}; {reason}"))
        if wanted.replicas is not None and stay != there:
            reason = (
                f"{_STRONG} has the regions that it got while it was empty: declare replicas={there}, or leave them "
                "out, or copy the items into a new table"
            )
            blocked.append((f"replicas in {regions}", f"replicas in {', '.join(stay) or 'no region'}; {reason}"))
    else:
        view = wanted.stream or found.settings.stream
        if stay and view not in (None, _VIEW) and (wanted.stream is not None or view != "off"):
            after = f'stream of {view}; replicas need a stream of {_VIEW}: declare stream="{_VIEW}"'
            blocked.append((f"replicas in {', '.join(stay)}", after))
    return [TableStep(kind="blocked", table=declared.name, before=before, after=after) for before, after in blocked]


def other_regions(declared: TableSchema, found: TableDescription) -> list[str]:
    """Return what a plan does not compare of replicas, as sentences."""
    regions = ", ".join(each.region for each in found.replicas)
    if declared.settings.replicas is None:
        return [f"{declared.name}: its replicas in {regions}"] if regions else []
    kept = ", ".join(each.region for each in found.replicas if each.region in _wanted(declared))
    if not kept:
        return []
    return [f"{declared.name}: what its replicas in {kept} have of their own, which a session of their region compares"]


def replica_is_reached(body: Mapping[str, Any], found: TableDescription) -> bool:
    """Return whether a table has the replica that a request adds, or no longer has the one that it removes."""
    [update] = body["ReplicaUpdates"]
    [(action, of)] = update.items()
    status = {each.region: each.status for each in found.replicas}.get(of["RegionName"])
    return status is None if action == "Delete" else status is not None and status not in _ON_ITS_WAY


def _wanted(declared: TableSchema) -> list[str]:
    return sorted({*(declared.settings.replicas or ())})


def _request(table: str, action: str, region: str) -> Request:
    """Return the request that adds a replica in a region (``Create``), or removes it (``Delete``)."""
    return update_table_request(table, {"ReplicaUpdates": [{action: {"RegionName": region}}]})
