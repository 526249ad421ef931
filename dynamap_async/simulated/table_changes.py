"""UpdateTable: throughput, billing, indexes, streams, replicas, and what else can be changed of a table.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.limits import GLOBAL_INDEXES
from dynamap_async.simulated.constraints import Structure, choice, flag, listing, text
from dynamap_async.simulated.control import (
    BILLING,
    DEFINITIONS,
    ENCRYPTION,
    GLOBAL,
    ON_DEMAND,
    STREAM,
    TABLE_CLASS,
    UNITS,
    WARM,
    add_index,
    decreases_today,
    description,
    index_in_use,
    refuse_replicating,
    refuse_units,
    warm,
)
from dynamap_async.simulated.errors import Refused, invalid, invalid_value
from dynamap_async.simulated.keys import fits, is_ready
from dynamap_async.simulated.service import required
from dynamap_async.simulated.shapes import INDEX_NAME, TABLE_NAME
from dynamap_async.simulated.states import limit
from dynamap_async.simulated.store import Index, Table
from dynamap_async.simulated.vector_index import VectorIndex
from dynamap_async.simulated.vector_search import VECTOR_INDEX_UPDATES, add_vector_index

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

_REPLICA = Structure({"RegionName!": text()})
UPDATE_TABLE = Structure(
    {
        "TableName!": TABLE_NAME,
        "AttributeDefinitions": DEFINITIONS,
        "BillingMode": BILLING,
        "ProvisionedThroughput": UNITS,
        "OnDemandThroughput": ON_DEMAND,
        "WarmThroughput": WARM,
        "GlobalSecondaryIndexUpdates": listing(
            Structure(
                {
                    "Create": GLOBAL,
                    "Update": Structure(
                        {
                            "IndexName!": INDEX_NAME,
                            "ProvisionedThroughput": UNITS,
                            "OnDemandThroughput": ON_DEMAND,
                            "WarmThroughput": WARM,
                        }
                    ),
                    "Delete": Structure({"IndexName!": INDEX_NAME}),
                }
            )
        ),
        "VectorIndexUpdates": VECTOR_INDEX_UPDATES,
        "StreamSpecification": STREAM,
        "SSESpecification": ENCRYPTION,
        "TableClass": TABLE_CLASS,
        "DeletionProtectionEnabled": flag,
        "ReplicaUpdates": listing(Structure({"Create": _REPLICA, "Update": _REPLICA, "Delete": _REPLICA}), 1),
        "MultiRegionConsistency": choice("EVENTUAL", "STRONG"),
    }
)
_THROUGHPUT: Final = ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
_KINDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("BillingMode", *_THROUGHPUT), "throughput"),
    "WarmThroughput": "warm throughput",
    "StreamSpecification": "stream",
    "DeletionProtectionEnabled": "deletion protection",
    "TableClass": "table class",
    "SSESpecification": "encryption",
    **dict.fromkeys(("ReplicaUpdates", "MultiRegionConsistency"), "replicas"),
}
"""Member of UpdateTable -> the kind of change that it asks for."""

_HOUR_SECONDS: Final = 3600
_DAY_SECONDS: Final = 86_400
_DECREASES_AT_ONCE: Final = 4
_DECREASES_A_DAY: Final = 27
_CLASS_CHANGES: Final = 2
_CLASS_SECONDS: Final = 30 * _DAY_SECONDS
_REPLICATED_VIEW: Final = "NEW_AND_OLD_IMAGES"


def update_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out UpdateTable."""
    table = service.described(body["TableName"])
    asked = {name: value for name, value in body.items() if value is not None and value != []}
    if asked.keys() <= {"TableName", "AttributeDefinitions"}:
        raise invalid(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        )
    actions = [
        _action(update, vector=member == "VectorIndexUpdates")
        for member in ("GlobalSecondaryIndexUpdates", "VectorIndexUpdates")
        for update in asked.get(member, ())
    ]
    entries = {each["IndexName"]: each for kind, each, _vector in actions if kind == "Update"}
    online = [action for action in actions if action[0] != "Update"]
    if len(online) > 1 and (service.states.takes_time or any(vector for _kind, _each, vector in online)):
        raise _one_at_a_time()
    if service.states.takes_time:
        _refuse_several(asked, entries, online=bool(online))
    if table.status != "UPDATING":
        service.states.refuse_busy(table)
    refuse_replicating(table)
    undo = service.store.journal.snapshot()
    try:
        for kind, each, vector in online:
            if kind == "Create":
                _create_index(service, table, each, asked.get("AttributeDefinitions", ()), vector=vector)
            else:
                _delete_index(service, table, each["IndexName"], vector=vector)
        if entries or asked.keys() & _KINDS.keys():
            _change(service, table, asked, entries)
    except Refused:
        service.store.journal.restore(undo)
        raise
    return {"TableDescription": description(service, table)}


def _action(update: dict[str, Any], *, vector: bool) -> tuple[str, dict[str, Any], bool]:
    """Return what is to be done with an index: the kind of action, its body, and whether it is a vector index."""
    given = [(kind, each) for kind, each in update.items() if each is not None]
    if len(given) != 1:
        if not vector:
            raise invalid_value("One of GlobalSecondaryIndexUpdate Create, Update or Delete must be specified")
        if given:
            raise invalid_value("Only one vector index action is allowed per VectorIndexUpdate object")
        raise invalid_value("One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null")
    [(kind, each)] = given
    return kind, each, vector


def _refuse_several(asked: dict[str, Any], entries: dict[str, dict[str, Any]], *, online: bool) -> None:
    """Refuse a call that asks for several kinds of changes, as the stricter reading of its page says."""
    kinds = {kind for member, kind in _KINDS.items() if member in asked}
    kinds |= {_KINDS[member] for entry in entries.values() for member in entry.keys() & _KINDS.keys()}
    if online:
        kinds.add("indexes")
    if len(kinds) > 1:
        asked_for = ", ".join(sorted(kinds))
        raise invalid_value(f"Only one kind of change can be made by one UpdateTable call, not {asked_for}")


def _one_at_a_time() -> Refused:
    return limit("Only 1 online index can be created or deleted simultaneously per table")


def _refuse_building(table: Table, but: str = "") -> None:
    """Refuse a further index that is built or deleted while one is.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
    """
    if any(not is_ready(index) and index.name != but for index in table.all_indexes):
        raise _one_at_a_time()


def _create_index(
    service: Service, table: Table, wanted: dict[str, Any], given: Iterable[dict[str, str]], *, vector: bool
) -> None:
    settings, name = table.settings, wanted["IndexName"]
    _refuse_building(table)
    service.states.refuse_busy(table)
    known = {one["AttributeName"]: one for one in settings["AttributeDefinitions"]}
    for one in given:
        if known.setdefault(one["AttributeName"], one) != one:
            raise invalid_value(f"Attribute {one['AttributeName']} is defined with another type already")
    if name in table.indexes or name in table.vectors:
        raise invalid("Attempting to create an index which already exists" + ("" if vector else f": {name}"))
    if not vector:
        if sum(index.is_global for index in table.indexes.values()) >= GLOBAL_INDEXES:
            raise limit(f"GlobalSecondaryIndex count exceeds the per-table limit of {GLOBAL_INDEXES}")
        refuse_units(settings, settings["BillingMode"], [wanted])
    schema: list[dict[str, str]] = wanted.get("SearchSchema" if vector else "KeySchema") or []
    used = table.named | {part["AttributeName"] for part in schema}
    if unused := known.keys() - used:
        raise invalid_value(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(known)}], "
            f"keys used: [{', '.join(sorted(known.keys() - unused))}]"
        )
    service.states.refuse_many()
    before = description(service, table)
    types = {key: one["AttributeType"] for key, one in known.items()}
    index: Index | VectorIndex
    if vector:
        index = add_vector_index(table, wanted, types, settings["BillingMode"])
    else:
        index = add_index(table, wanted, types, is_global=True)
    service.store.journal.note(partial(table.drop, name))
    service.keep_settings(table)
    settings["Indexes"] = {**settings["Indexes"], name: wanted}
    settings["AttributeDefinitions"] = list(known.values())
    service.states.build(table, index, before)


def _delete_index(service: Service, table: Table, name: str, *, vector: bool) -> None:
    index = table.vectors.get(name) if vector else table.indexes.get(name)
    if index is None or (isinstance(index, Index) and not index.is_global):
        missing = f"Index {name} for table {table.name}" if vector else f"Index {name} not found"
        raise Refused("ResourceNotFoundException", f"Requested resource not found: {missing}")
    if index.status == "ALLOCATING":
        raise index_in_use(table, name)
    _refuse_building(table, name if index.status == "BACKFILLING" else "")
    service.states.refuse_busy(table)
    service.states.refuse_many()
    service.states.drop(table, index, description(service, table), partial(_drop, service, table, index))


def _drop(service: Service, table: Table, index: Index | VectorIndex) -> None:
    number = [*table.indexes, *table.vectors].index(index.name)
    table.drop(index.name)
    if isinstance(index, Index):
        service.store.journal.note(partial(table.build, index, fits, number))
    else:
        service.store.journal.note(partial(table.build_vectors, index))
    service.keep_settings(table)
    settings, used = table.settings, table.named
    settings["Indexes"] = {name: one for name, one in settings["Indexes"].items() if name != index.name}
    settings["AttributeDefinitions"] = [one for one in settings["AttributeDefinitions"] if one["AttributeName"] in used]


def _change(service: Service, table: Table, asked: dict[str, Any], entries: dict[str, dict[str, Any]]) -> None:
    """Begin a change that is not about the existence of an index."""
    service.states.refuse_busy(table)
    service.states.refuse_many()
    changes: dict[str, Any] = {
        name: asked[name] for name in ("SSESpecification", "DeletionProtectionEnabled") if name in asked
    }
    if entries or any(_KINDS.get(name, "").endswith("throughput") for name in asked):
        changes |= _throughput(service, table, asked, entries)
    if "TableClass" in asked:
        changes |= _table_class(service, table, asked["TableClass"])
    stream = asked.get("StreamSpecification")
    if stream is not None:
        _refuse_stream(table, stream)
    replicas = asked.get("ReplicaUpdates")
    if replicas is not None or "MultiRegionConsistency" in asked:
        _refuse_replicas(service, table, replicas or (), asked.get("MultiRegionConsistency"))
    before = description(service, table)

    def done() -> None:
        service.keep_settings(table)
        table.settings.update(changes)
        if stream is not None and stream["StreamEnabled"]:
            service.streams.open(table, stream["StreamViewType"])
        elif stream is not None:
            service.streams.close(table)
        if service.throttle is not None:
            service.throttle.follow(table)

    for update in replicas or ():
        _begin_replica(service, table, update)
    service.states.update(table, [table.indexes[name] for name in entries], before, done)


def _throughput(
    service: Service, table: Table, asked: dict[str, Any], entries: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """Return the settings that a change of the throughput, or of the billing mode, leads to."""
    settings = table.settings
    mode = asked.get("BillingMode", settings["BillingMode"])
    switches = mode != settings["BillingMode"]
    indexes = [index.name for index in table.indexes.values() if index.is_global]
    for name in entries:
        if name not in indexes:
            raise Refused("ResourceNotFoundException", f"Requested resource not found: Index {name} not found")
        if table.indexes[name].status != "ACTIVE":
            raise index_in_use(table, name)
    units = asked.get("ProvisionedThroughput")
    if mode == "PAY_PER_REQUEST":
        refuse_units(asked, mode, entries.values())
    elif switches:
        if table.vectors:
            raise invalid_value("Tables with vector indexes must be in PAY_PER_REQUEST mode")
        refuse_units(asked, mode, [entries.get(name, {"IndexName": name}) for name in indexes])
    else:
        refuse_units({**settings, **asked}, mode, [{**settings["Indexes"][name], **entries[name]} for name in entries])
        if units is not None and units == settings["ProvisionedThroughput"]:
            read, write = units["ReadCapacityUnits"], units["WriteCapacityUnits"]
            raise invalid(
                "The provisioned throughput for the table will not change. The requested value equals the current "
                f"value. Current ReadCapacityUnits provisioned for the table: {read}. Requested ReadCapacityUnits: "
                f"{read}. Current WriteCapacityUnits provisioned for the table: {write}. Requested WriteCapacityUnits: "
                f"{write}. Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher "
                "limits."
            )
    now, since = service.clock(), settings.get("BillingChangedAt")
    if switches and service.states.takes_time and since is not None and now - since < _DAY_SECONDS:
        # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/switching.capacitymode.html
        raise limit("Update to PayPerRequest mode are limited to once in 1 day(s)")
    changed = {"BillingMode": mode} | _capacity(settings, asked, settings, mode, f"table {table.name}")
    lowered = {
        index: [*_admitted_decreases(service, settings, index), now]
        for index, given, entry in [
            ("", settings, asked),
            *((name, settings["Indexes"][name], entry) for name, entry in entries.items()),
        ]
        if _is_lower(given, entry)
    }
    changed["Decreases"] = settings.get("Decreases", {}) | lowered
    if switches:
        changed["BillingChangedAt"] = now
        if mode == "PAY_PER_REQUEST":
            changed["PayPerRequestSince"] = now
    changed["Indexes"] = dict(settings["Indexes"])
    for name in indexes if switches else entries:
        given, entry = settings["Indexes"][name], entries.get(name, {})
        changed["Indexes"][name] = given | _capacity(given, entry, settings, mode, f"index {name}")
    return changed


def _is_lower(given: dict[str, Any], entry: dict[str, Any]) -> bool:
    before: dict[str, int] = given.get("ProvisionedThroughput") or {}
    units: dict[str, int] = entry.get("ProvisionedThroughput") or {}
    return any(units[name] < before[name] for name in units if name in before)


def _capacity(
    given: dict[str, Any], entry: dict[str, Any], settings: dict[str, Any], mode: str, where: str
) -> dict[str, Any]:
    """Return what a table or an index has in another throughput.

    Args:
        given: what the table or the index has.
        entry: what is asked for.
        settings: those of the table.
        mode: the billing mode from now on.
        where: the table or the index, for the message.
    """
    current = warm(given, settings)
    asked: dict[str, int] = entry.get("WarmThroughput") or {}
    if lower := sorted(name for name, units in asked.items() if units < current[name]):
        # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
        raise invalid_value(
            f"Requested {lower[0]} for WarmThroughput for {where} is lower than the current one; decreasing "
            "WarmThroughput is not supported"
        )
    found: dict[str, Any] = {}
    if mode == "PAY_PER_REQUEST":
        found["ProvisionedThroughput"] = None
        found["OnDemandThroughput"] = {**(given.get("OnDemandThroughput") or {}), **entry.get("OnDemandThroughput", {})}
    elif "ProvisionedThroughput" in entry:
        found["ProvisionedThroughput"], found["OnDemandThroughput"] = entry["ProvisionedThroughput"], None
    after = warm({**given, **found, "WarmThroughput": None}, {"BillingMode": mode})
    most = {name: max(units, current[name], asked.get(name, 0)) for name, units in after.items()}
    return {**found, "WarmThroughput": most if most != after else None}


def _admitted_decreases(service: Service, settings: dict[str, Any], index: str) -> list[float]:
    """Return the times at which a throughput was lowered today, if it may be lowered once more.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html

    Raises:
        Refused: it may not be lowered once more.
    """
    now, today = service.clock(), decreases_today(service, settings, index)
    late = len(today) >= _DECREASES_AT_ONCE and now - today[-1] < _HOUR_SECONDS
    if service.states.takes_time and (late or len(today) >= _DECREASES_A_DAY):
        raise limit(
            "Provisioned throughput decreases are limited within a given UTC day. After the first 4 decreases, each "
            "subsequent decrease in the same UTC day can be performed at most once every 3600 seconds. Number of "
            f"decreases today: {len(today)}"
        )
    return today


def _table_class(service: Service, table: Table, wanted: str) -> dict[str, Any]:
    """Return the settings that a change of the class leads to.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.TableClasses.html
    """
    now = service.clock()
    changed = [at for at in table.settings.get("ClassChangedAt", ()) if now - at < _CLASS_SECONDS]
    if service.states.takes_time:
        if wanted == table.settings.get("TableClass", "STANDARD"):
            raise invalid_value(f"Table is already in the class {wanted}")
        if len(changed) >= _CLASS_CHANGES:
            raise limit("Table class can be changed 2 times in 30 days")
    return {"TableClass": wanted, "ClassChangedAt": [*changed, now]}


def _refuse_stream(table: Table, stream: dict[str, Any]) -> None:
    is_on = "StreamSpecification" in table.settings
    if stream["StreamEnabled"]:
        required(stream, "StreamViewType")
        if is_on:
            raise invalid_value("Table already has an enabled stream: TableName: " + table.name)
    elif not is_on:
        raise invalid_value("Table has no stream to disable: TableName: " + table.name)
    if table.settings.get("Replicas"):
        raise invalid_value(f"The stream of {table.name} cannot be changed while it has replicas")


def _refuse_replicas(
    service: Service, table: Table, updates: Iterable[dict[str, Any]], consistency: str | None
) -> None:
    """Refuse all but one replica that is added or removed.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_reqs_bestpractices.html
    """
    asked = [(action, of["RegionName"]) for update in updates for action, of in update.items() if of is not None]
    if len(asked) != 1 or consistency == "STRONG":
        raise invalid_value("One replica at a time is added or removed, with eventual consistency")
    [(action, region)] = asked
    if action == "Update" or region == service.region:
        raise invalid_value(f"{action} of a replica in {region}")
    if (action == "Create") is (region in table.settings.get("Replicas", {})):
        word = "exists already" if action == "Create" else "was not found"
        raise invalid_value(f"The replica of {table.name} in {region} {word}")
    stream = table.settings.get("StreamSpecification")
    if stream is not None and stream["StreamViewType"] != _REPLICATED_VIEW:
        raise invalid_value(f"A table with replicas needs a stream of {_REPLICATED_VIEW}: {table.name}")


def _begin_replica(service: Service, table: Table, update: dict[str, Any]) -> None:
    [(action, region)] = [(action, of["RegionName"]) for action, of in update.items() if of is not None]
    service.keep_settings(table)
    if action == "Create" and "StreamSpecification" not in table.settings:
        service.streams.open(table, _REPLICATED_VIEW)
    _set_replica(service, table, region, "CREATING" if action == "Create" else "DELETING")
    end = "ACTIVE" if action == "Create" else None
    service.states.later("replica", table, partial(_set_replica, service, table, region, end))


def _set_replica(service: Service, table: Table, region: str, status: str | None) -> None:
    service.keep_settings(table)
    replicas: dict[str, str | None] = table.settings.get("Replicas", {})
    service.states.note(table, None, replicas.get(region), status, region)
    table.settings["Replicas"] = {name: each for name, each in {**replicas, region: status}.items() if each is not None}
