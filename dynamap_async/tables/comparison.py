"""Steps that make a table what its models declare: a declared table and a description -> steps. Pure.

A model claims only what it declares: throughput and time to live that it does not name are left as they are, and so are
indexes of which no model knows, unless they are to be deleted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from dynamap_async.errors import TableDifference
from dynamap_async.request import Request
from dynamap_async.schema import IndexSchema, TableSchema, TableSettings
from dynamap_async.tables.capacity_steps import (
    CapacityChanges,
    billed,
    bounds_of,
    seen_maxima,
    unmanaged_capacity,
    warm_hazards,
)
from dynamap_async.tables.replica_steps import blocked_by_replicas, other_regions, replicas_added, replicas_removed
from dynamap_async.tables.requests import TableDescription, create_index_request, create_request, ttl_request
from dynamap_async.tables.setting_steps import (
    SETTING_KINDS,
    creation_steps,
    hidden_settings,
    other_settings,
    protections_off,
    protections_on,
    seen_settings,
    undeclared_settings,
    unknown_settings,
)
from dynamap_async.tables.table_plan import Hazard, HazardCode, StepKind, TablePlan, TableStep, request_step

TTL_ON: Final = ("ENABLED", "ENABLING")
"""The statuses of time to live that is on, or will be."""

TTL_KNOWN: Final = (*TTL_ON, "DISABLED", "DISABLING")
"""All of them; any other means that nobody knows."""

NEVER_CHANGES: Final = (
    "DynamoDB never changes these: correct the models, give an index another name, or copy the items into another table"
)
"""What to do about differences in keys and projections."""

_DIFFERING: Final[Mapping[StepKind, str]] = {
    "create-table": "definition",
    "await-table": "status",
    "create-index": "definition",
    "await-index": "status",
    "delete-index": "definition",
    "update-billing": "billing",
    "update-throughput": "throughput",
    "set-time-to-live": "setting",
    **dict.fromkeys(SETTING_KINDS, "setting"),
    "blocked": "form",
}
"""The subject of a step, as errors name it."""


def unchangeable_differences(declared: TableSchema, found: TableSchema) -> tuple[TableDifference, ...]:
    """Return the differences that DynamoDB cannot change: keys, projections, local indexes.

    The order of an INCLUDE projection makes no difference, nor do indexes that no model declares.

    Args:
        declared: the table as models declare it.
        found: the table as it is.
    """
    there = {index.name: index for index in found.indexes}
    differing: list[tuple[str | None, str, str, str]] = []
    differing += [(None, "key", _key(declared), _key(found))] if declared.keys != found.keys else []
    differing += [(index.name, *_changed(index, there.get(index.name))) for index in declared.indexes]
    return tuple(
        TableDifference(table=declared.name, index=index, what=what, declared=wanted, found=instead)
        for index, what, wanted, instead in differing
        if wanted != instead
    )


def missing_indexes(declared: TableSchema, found: TableSchema) -> tuple[IndexSchema, ...]:
    """Return the global indexes that models declare and a table does not have, in the order of their declaration."""
    there = {index.name for index in found.indexes}
    return tuple(index for index in declared.global_indexes if index.name not in there)


def unknown_indexes(declared: TableSchema, found: TableSchema) -> tuple[IndexSchema, ...]:
    """Return the global indexes of a table that no model declares."""
    known = {index.name for index in declared.indexes}
    return tuple(index for index in found.global_indexes if index.name not in known)


def replaced_indexes(declared: TableSchema, found: TableSchema) -> tuple[tuple[str, IndexSchema], ...]:
    """Return the global indexes of a table that others replace, each after the name of the one that replaces it."""
    there = {index.name: index for index in unknown_indexes(declared, found)}
    pairs = [(index.name, there.get(index.replaces or "")) for index in declared.global_indexes]
    return tuple((name, old) for name, old in pairs if old is not None)


def _unwanted(declared: TableSchema, found: TableSchema, *, delete_unknown_indexes: bool) -> tuple[IndexSchema, ...]:
    """Return the global indexes to delete: those that others replace, or all that no model declares."""
    if delete_unknown_indexes:
        return unknown_indexes(declared, found)
    return tuple(old for _, old in replaced_indexes(declared, found))


def _renamed(declared: TableSchema, found: TableSchema, index: IndexSchema) -> str | None:
    """Return the name of the index that a model declares and is missing, where it is the same as one that is there."""
    same = [each for each in missing_indexes(declared, found) if each.keys == index.keys and each.replaces is None]
    return next((each.name for each in same if _projected(each) == _projected(index)), None)


def ttl_attribute_of(found: TableDescription) -> str | None:
    """Return the attribute that time to live is on for, or is being turned on for."""
    return found.schema.ttl_attribute if found.ttl_status in TTL_ON else None


def seen_of(found: TableDescription | None) -> dict[str, str]:
    """Return what a plan is based on: a part of the table -> how it is, as text; neither figures nor statuses."""
    if found is None:
        return {}
    parts = {"key": _key(found.schema), "billing": found.billing, "time to live": str(ttl_attribute_of(found))}
    parts["throughput"] = str(found.schema.throughput)
    parts["maxima"] = seen_maxima(found.settings.billing)
    parts |= seen_settings(found)
    for index in found.schema.indexes:
        if found.index_statuses.get(index.name) != "DELETING":
            units = None if index.throughput is None else billed(index.throughput)
            shown = (index.kind.value, _key(index), _projected(index), units, bounds_of(index.on_demand))
            parts[f"index {index.name}"] = ", ".join(each for each in shown if each)
    return parts


def parts_of(step: TableStep) -> frozenset[str]:
    """Return the parts of a table, as ``seen_of`` names them, on which a step is based."""
    index = frozenset((f"index {step.index}",)) if step.index else frozenset[str]()
    match step.kind:
        case "create-index":
            return index | {"key", "billing"}
        case "delete-index" | "await-index" | "blocked":
            return index
        case "set-time-to-live":
            return frozenset(("time to live",))
        case "create-table" | "await-table":
            return frozenset(("key",))
        case "update-billing" | "update-throughput":
            updates: list[dict[str, Any]] = step.request.get("GlobalSecondaryIndexUpdates") or []
            own = ("billing", "throughput", "maxima")
            return frozenset((*own, *(f"index {each['Update']['IndexName']}" for each in updates)))
        case _:
            return frozenset((SETTING_KINDS[step.kind],))


def steps_of(
    declared: TableSchema, found: TableDescription | None, *, delete_unknown_indexes: bool = False
) -> tuple[TableStep, ...]:
    """Return the steps that make a table what its models declare, in their order.

    Args:
        declared: the table as models declare it, with its full name.
        found: the table as it is; None where there is none.
        delete_unknown_indexes: whether global indexes that no model declares are deleted.
    """
    if found is None:
        return _creation(declared)
    # An index that is being deleted is as good as gone: changes wait until it is.
    leaving = {name for name, status in found.index_statuses.items() if status == "DELETING"}
    there = replace(found.schema, indexes=tuple(index for index in found.schema.indexes if index.name not in leaving))
    blocked = unchangeable_differences(declared, there)
    # A plan with a blocked step is not carried out; the others are there to be seen.
    changeable = tuple(index for index in declared.indexes if index.name not in {each.index for each in blocked})
    capacity = CapacityChanges(declared, there, found)
    steps = [_await(declared.name, before="being created")] if found.status == "CREATING" else []
    steps += [*map(_blocked, blocked), *blocked_by_replicas(declared, found), *protections_on(declared, found)]
    steps += [*capacity.switched(), *capacity.raised()]
    steps += _index_creations(replace(declared, indexes=changeable), there, found)
    if found.ttl_status in TTL_KNOWN and not found.is_strong:
        steps += _time_to_live(declared, ttl_attribute_of(found))
    steps += [*replicas_removed(declared, found), *other_settings(declared, found), *replicas_added(declared, found)]
    by_successor = replaced_indexes(declared, there)
    steps += [_index_deletion(declared.name, old, successor) for successor, old in by_successor]
    if delete_unknown_indexes:
        gone = [old for _, old in by_successor]
        steps += [_index_deletion(declared.name, each) for each in unknown_indexes(declared, there) if each not in gone]
    steps += [
        _await(declared.name, each.name, before="being deleted", after="none", adds=False)
        for each in _unwanted(declared, found.schema, delete_unknown_indexes=delete_unknown_indexes)
        if each.name in leaving
    ]
    return (*steps, *capacity.lowered(), *protections_off(declared, found))


def plan_of(
    declared: Sequence[TableSchema],
    found: Sequence[TableDescription | None],
    *,
    delete_unknown_indexes: bool = False,
) -> TablePlan:
    """Return what would change if tables became what models declare.

    Args:
        declared: the tables as models declare them, with their full names; see ``declared_tables``.
        found: each of them as it is, in the same order; None where there is none.
        delete_unknown_indexes: whether global indexes that no model declares are deleted.
    """
    steps: list[TableStep] = []
    unmanaged: list[str] = []
    for schema, table in zip(declared, found, strict=True):
        steps += steps_of(schema, table, delete_unknown_indexes=delete_unknown_indexes)
        unmanaged += not_managed(schema, table, delete_unknown_indexes=delete_unknown_indexes)
    seen = {schema.name: seen_of(table) for schema, table in zip(declared, found, strict=True)}
    return TablePlan(steps=tuple(steps), seen=seen, not_managed=tuple(unmanaged))


def not_managed(
    declared: TableSchema, found: TableDescription | None, *, delete_unknown_indexes: bool
) -> tuple[str, ...]:
    """Return what a table has that no model declares, and that is left as it is, as sentences.

    Args:
        declared: the table as models declare it.
        found: the table as it is; None where there is none.
        delete_unknown_indexes: whether such indexes are to be deleted.
    """
    if found is None:
        return ()
    told: list[str] = []
    if not delete_unknown_indexes:
        replaced = [old for _, old in replaced_indexes(declared, found.schema)]
        for index in unknown_indexes(declared, found.schema):
            if index in replaced:
                continue
            renamed = _renamed(declared, found.schema, index)
            more = (
                f"; {renamed} has the same key and projection: if it is only another name for it, declare it as "
                f"{index.name}, for DynamoDB renames no index, and builds another one"
            )
            told.append(
                f"{declared.name}: the index {index.name}, which no model declares{more if renamed is not None else ''}"
            )
    told += unmanaged_capacity(declared, found)
    told += [*undeclared_settings(declared, found), *other_regions(declared, found)]
    told += unknown_settings(declared, found)
    active = ttl_attribute_of(found)
    if found.ttl_status not in TTL_KNOWN:
        told.append(_unknown_time_to_live(declared))
    elif declared.ttl_attribute is None and active is not None:
        told.append(f"{declared.name}: time to live on {active}")
    return tuple(told)


def not_compared(declared: TableSchema, found: TableDescription | None) -> tuple[str, ...]:
    """Return what models declare and the policy or the engine does not show, as sentences.

    Args:
        declared: the table as models declare it.
        found: the table as it is; None where there is none.
    """
    if found is None:
        return ()
    is_hidden = declared.ttl_attribute is not None and found.ttl_status not in TTL_KNOWN
    return (*([_unknown_time_to_live(declared)] if is_hidden else []), *hidden_settings(declared, found))


def _unknown_time_to_live(declared: TableSchema) -> str:
    return (
        f"{declared.name}: time to live, which is unknown: the policy does not allow to ask for it, or the engine "
        "does not know it"
    )


def difference_of(step: TableStep) -> TableDifference:
    """Return what a step would change as a difference of the table from its models."""
    what = _DIFFERING[step.kind]
    return TableDifference(table=step.table, index=step.index, what=what, declared=step.after, found=step.before)


def _creation(declared: TableSchema) -> tuple[TableStep, ...]:
    request = create_request(declared, throughput=declared.throughput, tags={})
    names = ", ".join(index.name for index in declared.indexes)
    after = f"{_key(declared)}, {billed(declared.throughput)}" + (f", with {names}" if names else "")
    hazards = () if declared.throughput is not None else warm_hazards(declared)
    made = request_step("create-table", request, before="none", after=after, hazards=hazards)
    # Nothing can have expired in a table that is new.
    expiry = (replace(step, hazards=()) for step in _time_to_live(declared, None))
    return (made, *expiry, *creation_steps(declared), *replicas_added(declared, None))


def _blocked(difference: TableDifference) -> TableStep:
    before = f"{difference.what} {difference.found}"
    if difference.index is None:
        recipe = "copy the items into a new table"
    else:
        recipe = (
            "declare it under another name that replaces this one, as in "
            f'GlobalIndex("{_next_name(difference.index)}", ..., replaces="{difference.index}"): `expand` builds it '
            "beside the old one, `contract` deletes that"
        )
    after = f"{difference.declared}; DynamoDB never changes that: {recipe}"
    return TableStep(kind="blocked", table=difference.table, index=difference.index, before=before, after=after)


def _next_name(name: str) -> str:
    """Return the name that follows a name: ``city-index-v2``, and ``city-index-v3`` after that."""
    stem, found, number = name.rpartition("-v")
    return f"{stem}-v{int(number) + 1}" if found and number.isdecimal() else f"{name}-v2"


def _index_creations(declared: TableSchema, there: TableSchema, found: TableDescription) -> list[TableStep]:
    table, own = declared.name, declared.throughput
    stays = found.billing == "provisioned" and declared.on_demand is None
    provisioned = own or (there.throughput if stays else None)
    current = replace(there, throughput=provisioned)
    steps: list[TableStep] = []
    for index in declared.global_indexes:
        if index.name in found.index_statuses and index.name in {each.name for each in there.indexes}:
            if found.index_statuses[index.name] == "CREATING":
                steps.append(_await(table, index.name, before="being built"))
            continue
        hazards: tuple[Hazard, ...] = ()
        units = index.throughput or provisioned
        if provisioned is not None and units is not None and units.write < provisioned.write:
            message = f"writes to {table} are throttled where {index.name} has no units left for them"
            hazards = (Hazard(code="index-throttles-writes", table=table, index=index.name, message=message),)
        elif provisioned is None:
            hazards = warm_hazards(replace(declared, settings=TableSettings(), indexes=(index,)))
        request = create_index_request(current, index, found.vector_keys)
        after = f"{_key(index)}, {_projected(index)}"
        steps.append(
            request_step("create-index", request, index=index.name, before="none", after=after, hazards=hazards)
        )
        current = replace(current, indexes=(*current.indexes, index))
    return steps


def _await(table: str, index: str | None = None, *, before: str, after: str = "ready", adds: bool = True) -> TableStep:
    """Return the step that waits for a change under way, and sends nothing."""
    kind: StepKind = "await-table" if index is None else "await-index"
    return TableStep(kind=kind, table=table, index=index, before=before, after=after, operation="", adds=adds)


def _index_deletion(table: str, index: IndexSchema, successor: str | None = None) -> TableStep:
    """Return the step that deletes an index, once its replacement, if any, can be used."""
    body = {"TableName": table, "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": index.name}}]}
    request = Request(operation="UpdateTable", body=body, table=table, writes=True, resendable=False)
    if successor is None:
        code: HazardCode = "index-deleted"
        message = "queries on it fail from then on, and making it again takes as long as it did at first"
    else:
        code = "index-replaced"
        message = f"{successor} takes its place, and queries of older code that name {index.name} fail from then on"
    step = request_step(
        "delete-index",
        request,
        index=index.name,
        before=f"{_key(index)}, {_projected(index)}",
        after="none" if successor is None else f"replaced by {successor}",
        hazards=(Hazard(code=code, table=table, index=index.name, message=message),),
        adds=False,
    )
    return replace(step, waits_for=successor)


def _time_to_live(declared: TableSchema, active: str | None) -> list[TableStep]:
    table, wanted = declared.name, declared.ttl_attribute
    if wanted is None or wanted == active:
        return []
    steps: list[TableStep] = []
    before = "time to live off"
    code: HazardCode = "ttl-deletes-now"
    message = f"items whose {wanted} is past are deleted from now on"
    if active is not None:
        code, before = "ttl-attribute-changed", f"time to live on {active}"
        message = f"it takes two changes, an hour apart; items whose {wanted} is past are deleted from then on"
        request = ttl_request(table, active, enabled=False)
        steps.append(request_step("set-time-to-live", request, before=before, after="time to live off"))
        before = "time to live off"
    request = ttl_request(table, wanted, enabled=True)
    hazards = (Hazard(code=code, table=table, message=message),)
    after = f"time to live on {wanted}"
    steps.append(request_step("set-time-to-live", request, before=before, after=after, hazards=hazards))
    return steps


def _changed(declared: IndexSchema, found: IndexSchema | None) -> tuple[str, str, str]:
    """Return what of an index differs, how it is declared, and how it is; the last two are equal if nothing differs."""
    if found is None:
        instead = declared.kind.value if declared.kind.has_status else "none: it can only be made with its table"
        return "kind", declared.kind.value, instead
    if declared.kind is not found.kind:
        return "kind", declared.kind.value, found.kind.value
    if declared.keys != found.keys:
        return "key", _key(declared), _key(found)
    return "projection", _projected(declared), _projected(found)


def _key(schema: TableSchema | IndexSchema) -> str:
    return ", ".join(f"{each.name} ({each.type})" for each in schema.keys.attributes)


def _projected(index: IndexSchema) -> str:
    return " ".join([index.projection.type, *sorted(index.projection.attributes)])
