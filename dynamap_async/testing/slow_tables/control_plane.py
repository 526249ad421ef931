"""The control plane: which change is taken or refused, and when each state becomes the next.

Invariant: time passes only where ``catch_up`` is called with it, and what becomes due then happens in the order of its
own times. A change that the engine refuses leaves no trace.
"""

import heapq
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any, Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.limits import BATCH_WRITE_REQUESTS, GLOBAL_INDEXES, TAGS_PER_TABLE
from dynamap_async.testing.faults.fault_answers import throttled
from dynamap_async.testing.faults.scripted_calls import READS, WRITES, FaultyCall
from dynamap_async.testing.slow_tables import refusals
from dynamap_async.testing.slow_tables.durations import Durations
from dynamap_async.testing.slow_tables.states import (
    REGION,
    REPLICATED_VIEW,
    SlowBackup,
    SlowCapacity,
    SlowIndex,
    SlowTable,
)
from dynamap_async.transport.channel import Answer
from dynamap_async.wire import Body

Ask: TypeAlias = Callable[[str, Body], Awaitable[Body]]
"""Carries an operation out on the engine."""

OPERATIONS_AT_A_TIME: Final = 500
"""How many tables and indexes may be created, changed or deleted at a time."""

_HOUR_SECONDS: Final = 3600.0
_DAY_SECONDS: Final = 86_400.0
_CLASS_CHANGES: Final = 2
_CLASS_SECONDS: Final = 30 * _DAY_SECONDS
_DECREASES_AT_ONCE: Final = 4
_DECREASES_A_DAY: Final = 27
_LONGEST_RECOVERY_DAYS: Final = 35
_RECOVERY_LAG_SECONDS: Final = 300.0
_WARM: Final = {"ReadUnitsPerSecond", "WriteUnitsPerSecond"}
_THROUGHPUT: Final = ("ProvisionedThroughput", "OnDemandThroughput", "WarmThroughput")
_KINDS: Final[Mapping[str, str]] = {
    "BillingMode": "throughput",
    **dict.fromkeys(_THROUGHPUT, "throughput"),
    "WarmThroughput": "warm throughput",
    "StreamSpecification": "stream",
    "DeletionProtectionEnabled": "deletion protection",
    "TableClass": "table class",
    "SSESpecification": "encryption",
    **dict.fromkeys(("ReplicaUpdates", "MultiRegionConsistency", "GlobalTableWitnessUpdates"), "replicas"),
}
"""Member of UpdateTable -> the kind of change that it asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A change of the state of a table or an index."""

    at: float
    """When, in seconds since the first request."""
    table: str
    """The full table name."""
    index: str | None
    """The global index; None for the table itself."""
    before: str | None
    """Its status before; None where it was not there. An index that is filled is ``BACKFILLING``."""
    after: str | None
    """Its status from then on; None where it is gone."""
    region: str | None = None
    """The region of a replica; None for the table and its indexes."""


class ControlPlane:
    """The tables of one engine, with the changes under way on them."""

    def __init__(self, durations: Durations, seed: int, now: float) -> None:
        """Start without tables. Those of the engine are found when a request names them.

        Args:
            durations: how long changes take.
            seed: decides what is drawn.
            now: the time in epoch seconds.
        """
        self._durations: Final = durations
        self._seed: Final = seed
        self._began: Final = now
        self._now = now
        self._tables: dict[str, SlowTable] = {}
        self._backups: dict[str, SlowBackup] = {}
        self._changes: Counter[tuple[str, str]] = Counter()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers: Final = count()
        self._written: dict[tuple[str, str], tuple[float, float]] = {}
        self.log: Final[list[Transition]] = []
        self._operations: Final[Mapping[str, Callable[[Body, Ask], Awaitable[Body]]]] = {
            "CreateTable": self._create_table,
            "UpdateTable": self._update_table,
            "DeleteTable": self._delete_table,
            "DescribeTable": self._describe_table,
            "UpdateTimeToLive": self._update_time_to_live,
            "DescribeTimeToLive": self._describe_time_to_live,
            "UpdateContinuousBackups": self._update_recovery,
            "DescribeContinuousBackups": self._describe_recovery,
            "TagResource": self._tag,
            "UntagResource": self._untag,
            "ListTagsOfResource": self._tags,
            "CreateBackup": self._create_backup,
            "DescribeBackup": self._describe_backup,
            "ListBackups": self._list_backups,
            "DeleteBackup": self._delete_backup,
            "RestoreTableFromBackup": self._restore_backup,
            "RestoreTableToPointInTime": self._restore_moment,
            "PutResourcePolicy": self._put_policy,
            "GetResourcePolicy": self._get_policy,
            "DeleteResourcePolicy": self._delete_policy,
            "EnableKinesisStreamingDestination": self._enable_kinesis_stream,
            "DisableKinesisStreamingDestination": self._disable_kinesis_stream,
            "DescribeKinesisStreamingDestination": self._describe_kinesis_streams,
            "UpdateContributorInsights": self._update_insights,
            "ListContributorInsights": self._list_insights,
        }

    def catch_up(self, now: float) -> None:
        """Apply all changes that are due by now."""
        while self._due and self._due[0][0] <= now:
            self._now, _, happen = heapq.heappop(self._due)
            happen()
        self._now = max(now, self._now)

    async def answer(self, operation: str, body: Body, ask: Ask) -> Body | None:
        """Carry out an operation on tables.

        Args:
            operation: the API's name of it.
            body: the request.
            ask: carries an operation out on the engine.

        Returns:
            None for an operation that is none of the control plane's, which passes.

        Raises:
            RefusedChange: the service refuses it.
        """
        carry_out = self._operations.get(operation)
        return None if carry_out is None else await carry_out(body, ask)

    def refusal(self, call: FaultyCall) -> Answer | None:
        """Return the error for a request for items of a table or an index that is not ready; None if it is ready."""
        for name in call.tables if call.operation in READS | WRITES else ():
            table = self._tables.get(name)
            if table is None:
                continue
            if table.status in ("CREATING", "DELETING"):
                return refusals.table_not_found(name).answer
            index = table.indexes.get(call.index or "")
            if index is not None and index.status in ("CREATING", "DELETING"):
                return refusals.index_not_ready(index.name, index.status).answer
            if call.operation in WRITES:
                short = next((each for each in table.indexes.values() if self._is_short(table, each, call)), None)
                if short is not None:
                    narrowed = FaultyCall(call.operation, call.body, (name,), short.name, call.items)
                    return throttled(narrowed, "ProvisionedThroughputExceededException")
        return None

    def index(self, table: str, index: str | None) -> tuple[SlowTable, SlowIndex] | None:
        """Return an index that was filled from items, and may therefore lack some; None for any other."""
        found = self._tables.get(table)
        own = None if found is None else found.indexes.get(index or "")
        return None if found is None or own is None or own.backfilling is None else (found, own)

    def _is_short(self, table: SlowTable, index: SlowIndex, call: FaultyCall) -> bool:
        """Take units of an index that is being filled, and return whether it has too few: the backfill takes half."""
        if index.state != "BACKFILLING" or index.capacity.units is None:
            return False
        rate = index.capacity.units["WriteCapacityUnits"] / 2
        left, at = self._written.get((table.name, index.name), (max(1.0, rate), self._now))
        left = min(max(1.0, rate), left + rate * (self._now - at))
        short = left < min(call.items, max(1.0, rate))
        self._written[table.name, index.name] = (left if short else left - call.items, self._now)
        return short

    async def _table(self, name: str, ask: Ask) -> SlowTable:
        """Return a table in any state. One that the engine had before is ACTIVE."""
        table = self._tables.get(name)
        if table is None:
            described: Body = (await ask("DescribeTable", {"TableName": name}))["Table"]
            billing: Body = described.get("BillingModeSummary") or {}
            if billing.get("BillingMode") == "PAY_PER_REQUEST":
                described = _without_units(described)
            table = self._tables.setdefault(name, SlowTable.of(described, self._now, "ACTIVE"))
        return table

    async def _steady(self, name: str, ask: Ask) -> SlowTable:
        """Return a table that can be changed."""
        table = await self._table(name, ask)
        if table.status != "ACTIVE":
            raise refusals.table_in_use(name, table.status)
        return table

    async def _create_table(self, body: Body, ask: Ask) -> Body:
        name = body["TableName"]
        if name in self._tables:
            raise refusals.table_exists(name)
        indexes: list[Body] = body.get("GlobalSecondaryIndexes") or []
        if len(indexes) > GLOBAL_INDEXES:
            raise refusals.too_many_indexes(GLOBAL_INDEXES)
        _check_billing([body, *indexes], on_demand=body.get("BillingMode") == "PAY_PER_REQUEST")
        table = SlowTable.of(body, self._now, "CREATING")
        _check_definitions(table.types, table.used())
        return await self._make("create_table", table, (), ask)

    async def _make(self, what: str, table: SlowTable, items: Sequence[Any], ask: Ask) -> Body:
        """Make a table on the engine, with items. It is CREATING for as long as that is to take."""
        self._check_operations()
        self._hide(table, None)
        self._tables[table.name] = table
        try:
            await ask("CreateTable", table.creation())
            await _put_items(table.name, items, ask)
        except BaseException:  # a cancellation, too: nobody would end what was not begun
            del self._tables[table.name]
            raise
        self._note(table, None, None, "CREATING")
        for index in table.indexes.values():
            self._note(table, index, None, "CREATING")
        self._later(what, table, lambda: self._settle(table, *table.indexes.values()))
        return {"TableDescription": table.described(self._now)}

    async def _delete_table(self, body: Body, ask: Ask) -> Body:
        table = await self._table(body["TableName"], ask)
        if table.status == "DELETING":
            return {"TableDescription": table.described(self._now)}
        if table.status != "ACTIVE":
            raise refusals.table_in_use(table.name, table.status)
        if table.is_replicating:
            raise refusals.replica_in_use(table.name)
        if table.protected:
            raise refusals.protected()
        busy = next((index for index in table.indexes.values() if index.status != "ACTIVE"), None)
        if busy is not None:
            raise refusals.index_in_use(table.name, busy.name)
        self._check_operations()
        await ask("DeleteTable", {"TableName": table.name})
        self._hide(table, table.described(self._now))
        self._become(table, None, "DELETING")
        for index in table.indexes.values():
            self._become(table, index, "DELETING")
        self._later("delete_table", table, lambda: self._forget(table))
        return {"TableDescription": table.described(self._now)}

    async def _describe_table(self, body: Body, ask: Ask) -> Body:
        table = await self._table(body["TableName"], ask)
        if self._now >= table.shown_until:
            return {"Table": table.described(self._now)}
        if table.shown_before is None:
            raise refusals.table_not_found(table.name)
        return {"Table": table.shown_before}

    async def _update_table(self, body: Body, ask: Ask) -> Body:
        table = await self._table(body["TableName"], ask)
        updates: list[Body] = body.get("GlobalSecondaryIndexUpdates") or []
        online = [each for each in updates if "Update" not in each]
        kinds = {kind for member, kind in _KINDS.items() if member in body}
        kinds |= {"global indexes"} if online else {_kind_of(each["Update"]) for each in updates}
        _check_kinds(kinds, updates, online)
        if table.status in ("CREATING", "DELETING"):
            raise refusals.table_in_use(table.name, table.status)
        if table.is_replicating:
            raise refusals.replica_in_use(table.name)
        if online and "Create" in online[0]:
            await self._create_index(table, body, online[0]["Create"], ask)
        elif online:
            await self._delete_index(table, online[0]["Delete"]["IndexName"], ask)
        else:
            if table.status != "ACTIVE":
                raise refusals.table_in_use(table.name, table.status)
            self._change(table, body, updates)
        return {"TableDescription": table.described(self._now)}

    async def _create_index(self, table: SlowTable, body: Body, wanted: Body, ask: Ask) -> None:
        if any(index.status in ("CREATING", "DELETING") for index in table.indexes.values()):
            raise refusals.one_index_at_a_time()
        if table.status != "ACTIVE":
            raise refusals.table_in_use(table.name, table.status)
        if wanted["IndexName"] in table.indexes:
            raise refusals.invalid_parameter(f"Duplicate index name: {wanted['IndexName']}")
        if len(table.indexes) >= GLOBAL_INDEXES:
            raise refusals.too_many_indexes(GLOBAL_INDEXES)
        _check_billing([wanted], on_demand=table.on_demand)
        given = {each["AttributeName"]: each["AttributeType"] for each in body.get("AttributeDefinitions") or ()}
        _check_definitions(given, table.used(wanted))
        if any(given[name] != kind for name, kind in table.types.items()):
            raise refusals.invalid_parameter("The type of a key attribute cannot be changed")
        self._check_operations()
        definition = {name: wanted[name] for name in ("IndexName", "KeySchema", "Projection")}
        index = SlowIndex(wanted["IndexName"], definition, SlowCapacity.of(wanted), "CREATING", backfilling=False)
        before = table.described(self._now)
        table.add_index(index, given)
        wanted_of_engine = {
            "TableName": table.name,
            "AttributeDefinitions": body["AttributeDefinitions"],
            "GlobalSecondaryIndexUpdates": [{"Create": definition}],
        }
        try:
            await ask("UpdateTable", wanted_of_engine)
        except Exception:
            table.drop_index(index.name)
            raise
        self._hide(table, before)
        self._note(table, index, None, "CREATING")
        self._become(table, None, "UPDATING")
        filling = self._drawn("backfill", table)
        self._later("allocate_index", table, lambda: self._fill(table, index, filling))

    def _fill(self, table: SlowTable, index: SlowIndex, seconds: float) -> None:
        self._note(table, index, index.state, "BACKFILLING")
        index.begin_backfill()
        self._become(table, None, "ACTIVE")
        self._at(self._now + seconds, lambda: self._settle_index(table, index))

    def _settle_index(self, table: SlowTable, index: SlowIndex) -> None:
        if index.status == "CREATING":  # it may have been deleted while it was filled
            self._become(table, index, "ACTIVE")

    async def _delete_index(self, table: SlowTable, name: str, ask: Ask) -> None:
        index = table.indexes.get(name)
        if index is None:
            raise refusals.index_not_found(name)
        if index.state == "CREATING":
            raise refusals.index_in_use(table.name, name)
        if any(
            each.status == "DELETING" or (each.status == "CREATING" and each is not index)
            for each in table.indexes.values()
        ):
            raise refusals.one_index_at_a_time()
        if table.status != "ACTIVE":
            raise refusals.table_in_use(table.name, table.status)
        self._check_operations()
        updates = [{"Delete": {"IndexName": name}}]
        await ask("UpdateTable", {"TableName": table.name, "GlobalSecondaryIndexUpdates": updates})
        self._hide(table, table.described(self._now))
        self._become(table, index, "DELETING")
        self._become(table, None, "UPDATING")
        self._later("delete_index", table, lambda: self._drop(table, index))

    def _drop(self, table: SlowTable, index: SlowIndex) -> None:
        table.drop_index(index.name)
        self._note(table, index, index.state, None)
        self._become(table, None, "ACTIVE")

    def _change(self, table: SlowTable, body: Body, updates: Sequence[Body]) -> None:
        """Check a change of the table that is not about an index, and begin it."""
        self._check_operations()
        changed: list[SlowIndex] = []
        if "StreamSpecification" in body:
            _check_stream(table, body["StreamSpecification"])
        elif "TableClass" in body:
            self._begin_class(table, body["TableClass"])
        elif "replicas" in {_KINDS.get(member) for member in body}:
            self._check_replica(table, body)
        elif updates or any(member in body for member in (*_THROUGHPUT, "BillingMode")):
            changed = self._begin_throughput(table, body, updates)
        self._hide(table, table.described(self._now))
        for update in body.get("ReplicaUpdates") or ():
            self._begin_replica(table, update)
        self._become(table, None, "UPDATING")
        for index in changed:
            self._become(table, index, "UPDATING")
        self._later("update_table", table, lambda: self._end_change(table, body, changed))

    def _end_change(self, table: SlowTable, body: Body, changed: Sequence[SlowIndex]) -> None:
        table.change(body, self._now)
        on_demand = body.get("BillingMode") == "PAY_PER_REQUEST"
        entries = {
            each["Update"]["IndexName"]: each["Update"] for each in body.get("GlobalSecondaryIndexUpdates") or ()
        }
        table.capacity.change(body, on_demand=on_demand)
        for index in table.indexes.values():
            index.capacity.change(entries.get(index.name, {}), on_demand=on_demand)
        self._settle(table, *changed)

    def _check_replica(self, table: SlowTable, body: Body) -> None:
        """Raise unless a table can get, or lose, the one replica that is asked for."""
        updates: list[dict[str, Body]] = body.get("ReplicaUpdates") or []
        if len(updates) != 1 or body.get("MultiRegionConsistency", "EVENTUAL") != "EVENTUAL":
            raise refusals.replica_refused("One replica at a time is added or removed, with eventual consistency")
        [(action, of)] = updates[0].items()
        region = of["RegionName"]
        if action not in ("Create", "Delete") or region == REGION:
            raise refusals.replica_refused(f"{action} of a replica in {region}")
        if (action == "Create") is (region in table.replicas):
            word = "exists already" if region in table.replicas else "was not found"
            raise refusals.replica_refused(f"The replica of {table.name} in {region} {word}")
        if table.stream is not None and table.stream["StreamViewType"] != REPLICATED_VIEW:
            raise refusals.replica_refused(f"A table with replicas needs a stream of {REPLICATED_VIEW}: {table.name}")

    def _begin_replica(self, table: SlowTable, update: Mapping[str, Body]) -> None:
        [(action, of)] = update.items()
        region: str = of["RegionName"]
        if action == "Create" and table.stream is None:
            table.set_stream({"StreamEnabled": True, "StreamViewType": REPLICATED_VIEW}, self._now)
        self._become_replica(table, region, "CREATING" if action == "Create" else "DELETING")
        end = "ACTIVE" if action == "Create" else None
        self._later("replica", table, lambda: self._become_replica(table, region, end))

    def _become_replica(self, table: SlowTable, region: str, status: str | None) -> None:
        before = table.replicas.get(region)
        table.set_replica(region, status)
        at = round(self._now - self._began, 6)
        self.log.append(Transition(at=at, table=table.name, index=None, before=before, after=status, region=region))

    def _begin_class(self, table: SlowTable, wanted: str) -> None:
        if wanted == table.table_class:
            raise refusals.invalid_parameter(f"Table is already in the class {wanted}")
        since = self._now - _CLASS_SECONDS
        if sum(at > since for at in table.class_changed_at) >= _CLASS_CHANGES:
            raise refusals.class_changed_already()
        table.begin_class(self._now, since)

    def _begin_throughput(self, table: SlowTable, body: Body, updates: Sequence[Body]) -> list[SlowIndex]:
        """Check and record the change of a throughput; return the indexes that it is about."""
        entries = {each["Update"]["IndexName"]: each["Update"] for each in updates}
        unknown = sorted(entries.keys() - table.indexes.keys())
        if unknown:
            raise refusals.invalid_parameter(f"Unknown indexes: {', '.join(unknown)}")
        busy = next((name for name in entries if table.indexes[name].status != "ACTIVE"), None)
        if busy is not None:
            raise refusals.index_in_use(table.name, busy)
        switches = self._switches(table, body, entries)
        pairs = [(table.capacity, body, f"table {table.name}")]
        pairs += [(table.indexes[name].capacity, entry, f"index {name}") for name, entry in entries.items()]
        alike = [self._is_alike(*pair) for pair in pairs]
        if all(alike) and not switches:
            raise refusals.invalid(
                f"The provisioned throughput for the table {table.name} will not change. The requested value equals "
                "the current value."
            )
        if switches:
            table.switch_billing(self._now)
        for capacity, entry, _ in pairs:
            if capacity.is_lowered(entry):
                capacity.decreases.append(self._now)
        return [table.indexes[name] for name in entries]

    def _switches(self, table: SlowTable, body: Body, entries: Mapping[str, Body]) -> bool:
        """Return whether the billing mode changes. Raise if it may not, or if units are missing or superfluous."""
        mode = body.get("BillingMode")
        on_demand = table.on_demand if mode is None else mode == "PAY_PER_REQUEST"
        switches = on_demand != table.on_demand
        if switches and not on_demand:
            _check_billing([body, *(entries.get(name, {}) for name in table.indexes)], on_demand=False)
        elif on_demand:
            _check_billing([body, *entries.values()], on_demand=True)
        elif any("OnDemandThroughput" in part for part in (body, *entries.values())):
            raise refusals.maximum_of_provisioned()
        last = table.billing_changed_at
        if switches and last is not None and self._now - last < _DAY_SECONDS:
            raise refusals.billing_switched_already()
        return switches

    def _is_alike(self, capacity: SlowCapacity, entry: Body, where: str) -> bool:
        """Return whether a throughput has these units already. Raise if it may not get them."""
        warm: Mapping[str, int] = entry.get("WarmThroughput") or {}
        for name in sorted(_WARM & warm.keys()):
            if warm[name] < capacity.warm[name]:
                raise refusals.warm_throughput_lowered(name, where)
        if capacity.is_lowered(entry):
            today = capacity.decreases_today(self._now)
            late = len(today) >= _DECREASES_AT_ONCE and self._now - today[-1] < _HOUR_SECONDS
            if late or len(today) >= _DECREASES_A_DAY:
                raise refusals.too_many_decreases(len(today))
        return capacity.stays(entry)

    async def _update_time_to_live(self, body: Body, ask: Ask) -> Body:
        table = await self._steady(body["TableName"], ask)
        wanted: Body = body["TimeToLiveSpecification"]
        now, current = self._now, table.time_to_live
        if current.changed_at is not None and now - current.changed_at < _HOUR_SECONDS:
            raise refusals.time_to_live_changed_already()
        on = current.is_on
        if on and wanted["AttributeName"] != current.attribute:
            raise refusals.invalid(
                f"TimeToLive is active on a different AttributeName: current AttributeName is {current.attribute}"
            )
        if wanted["Enabled"] == on:
            raise refusals.invalid(f"TimeToLive is already {'enabled' if on else 'disabled'}")
        current.change(wanted["AttributeName"], now, enabled=wanted["Enabled"])
        self._later("time_to_live", table, current.settle)
        return {"TimeToLiveSpecification": wanted}

    async def _describe_time_to_live(self, body: Body, ask: Ask) -> Body:
        table = await self._table(body["TableName"], ask)
        current = table.time_to_live
        shown = {"TimeToLiveStatus": current.status}
        if current.attribute is not None:
            shown["AttributeName"] = current.attribute
        return {"TimeToLiveDescription": shown}

    async def _update_recovery(self, body: Body, ask: Ask) -> Body:
        table = await self._steady(body["TableName"], ask)
        wanted: Body = body["PointInTimeRecoverySpecification"]
        days = wanted.get("RecoveryPeriodInDays", _LONGEST_RECOVERY_DAYS)
        if not 1 <= days <= _LONGEST_RECOVERY_DAYS:
            raise refusals.invalid_parameter(f"RecoveryPeriodInDays must be 1 to {_LONGEST_RECOVERY_DAYS}, not {days}")
        table.set_recovery(days if wanted["PointInTimeRecoveryEnabled"] else None, self._now)
        return await self._describe_recovery(body, ask)

    async def _describe_recovery(self, body: Body, ask: Ask) -> Body:
        table = await self._table(body["TableName"], ask)
        shown: Body = {"PointInTimeRecoveryStatus": "DISABLED"}
        if table.recovery_days is not None:
            earliest = max(table.recovery_since, self._now - table.recovery_days * _DAY_SECONDS)
            shown = {
                "PointInTimeRecoveryStatus": "ENABLED",
                "RecoveryPeriodInDays": table.recovery_days,
                "EarliestRestorableDateTime": earliest,
                "LatestRestorableDateTime": max(earliest, self._now - _RECOVERY_LAG_SECONDS),
            }
        backups = {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": shown}
        return {"ContinuousBackupsDescription": backups}

    async def _tag(self, body: Body, ask: Ask) -> Body:
        table = await self._steady(_name_in(body["ResourceArn"]), ask)
        wanted = {each["Key"]: each["Value"] for each in body["Tags"]}
        if any(key.startswith("aws:") for key in wanted):
            raise refusals.invalid_parameter("Tag keys must not begin with aws:")
        tags = {**table.tags, **wanted}
        if len(tags) > TAGS_PER_TABLE:
            raise refusals.RefusedChange("LimitExceededException", f"A table has at most {TAGS_PER_TABLE} tags")
        table.set_tags(tags)
        return {}

    async def _untag(self, body: Body, ask: Ask) -> Body:
        table = await self._steady(_name_in(body["ResourceArn"]), ask)
        table.set_tags({key: value for key, value in table.tags.items() if key not in body["TagKeys"]})
        return {}

    async def _tags(self, body: Body, ask: Ask) -> Body:
        table = await self._table(_name_in(body["ResourceArn"]), ask)
        return {"Tags": [{"Key": key, "Value": value} for key, value in table.tags.items()]}

    async def _create_backup(self, body: Body, ask: Ask) -> Body:
        table = await self._steady(body["TableName"], ask)
        arn = f"{table.arn}/backup/{next(self._numbers):016}"
        items = await _items_of(table.name, ask)
        backup = SlowBackup(arn, body["BackupName"], table.name, table.restorable(self._now), items, self._now)
        self._backups[arn] = backup
        self._later("backup", table, lambda: backup.become("AVAILABLE"))
        return {"BackupDetails": backup.described()}

    async def _describe_backup(self, body: Body, ask: Ask) -> Body:
        backup = self._backup(body["BackupArn"])
        return {"BackupDescription": {"BackupDetails": backup.described()}}

    async def _list_backups(self, body: Body, ask: Ask) -> Body:
        listed = [each for each in self._backups.values() if each.table == body.get("TableName", each.table)]
        return {"BackupSummaries": [{**each.described(), "TableName": each.table} for each in listed]}

    async def _delete_backup(self, body: Body, ask: Ask) -> Body:
        backup = self._made_backup(body["BackupArn"])
        del self._backups[backup.arn]
        return {"BackupDescription": {"BackupDetails": {**backup.described(), "BackupStatus": "DELETED"}}}

    def _backup(self, arn: str) -> SlowBackup:
        """Return a backup that exists."""
        backup = self._backups.get(arn)
        if backup is None:
            raise refusals.backup_not_found(arn)
        return backup

    def _made_backup(self, arn: str) -> SlowBackup:
        """Return a backup that exists and is complete."""
        backup = self._backup(arn)
        if backup.status == "CREATING":
            raise refusals.backup_in_use(arn)
        return backup

    async def _restore_backup(self, body: Body, ask: Ask) -> Body:
        backup = self._made_backup(body["BackupArn"])
        source = {"SourceBackupArn": backup.arn, "SourceTableArn": backup.arn.partition("/backup/")[0]}
        summary = {**source, "RestoreDateTime": backup.created_at}
        return await self._restore(body["TargetTableName"], backup.source, backup.items, summary, ask)

    async def _restore_moment(self, body: Body, ask: Ask) -> Body:
        source = await self._table(body["SourceTableName"], ask)
        told = await self._describe_recovery({"TableName": source.name}, ask)
        window = told["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
        if source.recovery_days is None:
            raise refusals.no_recovery(source.name)
        earliest, latest = window["EarliestRestorableDateTime"], window["LatestRestorableDateTime"]
        moment = latest if body.get("UseLatestRestorableTime") else body["RestoreDateTime"]
        if not earliest <= moment <= latest:
            raise refusals.moment_not_restorable(source.name)
        items = await _items_of(source.name, ask)
        summary = {"SourceTableArn": source.arn, "RestoreDateTime": moment}
        return await self._restore(body["TargetTableName"], source.restorable(self._now), items, summary, ask)

    async def _restore(self, name: str, source: Body, items: Sequence[Any], summary: Body, ask: Ask) -> Body:
        """Make a table of another one, or of a backup, with its items."""
        if name in self._tables:
            raise refusals.restored_table_exists(name)
        table = SlowTable.of({**source, "TableName": name}, self._now, "CREATING").restored(summary)
        return await self._make("restore", table, items, ask)

    async def _put_policy(self, body: Body, ask: Ask) -> Body:
        table = await self._steady(_name_in(body["ResourceArn"]), ask)
        table.set_policy(body["Policy"])
        return {"RevisionId": "1"}

    async def _get_policy(self, body: Body, ask: Ask) -> Body:
        table = await self._table(_name_in(body["ResourceArn"]), ask)
        if table.policy is None:
            raise refusals.no_policy(body["ResourceArn"])
        return {"Policy": table.policy, "RevisionId": "1"}

    async def _delete_policy(self, body: Body, ask: Ask) -> Body:
        table = await self._steady(_name_in(body["ResourceArn"]), ask)
        table.set_policy(None)
        return {}

    async def _enable_kinesis_stream(self, body: Body, ask: Ask) -> Body:
        return await self._change_kinesis_stream(body, ask, "DISABLED", "ENABLING", "ACTIVE")

    async def _disable_kinesis_stream(self, body: Body, ask: Ask) -> Body:
        return await self._change_kinesis_stream(body, ask, "ACTIVE", "DISABLING", "DISABLED")

    async def _change_kinesis_stream(self, body: Body, ask: Ask, wanted: str, during: str, after: str) -> Body:
        table, stream = await self._steady(body["TableName"], ask), str(body["StreamArn"])
        status = table.kinesis_streams.get(stream, "DISABLED")
        if status != wanted:
            raise refusals.kinesis_stream_refused(table.name, status)
        table.set_kinesis_stream(stream, during)
        self._later("attachment", table, lambda: table.set_kinesis_stream(stream, after))
        return {"TableName": table.name, "StreamArn": stream, "DestinationStatus": during}

    async def _describe_kinesis_streams(self, body: Body, ask: Ask) -> Body:
        table = await self._table(body["TableName"], ask)
        listed = [{"StreamArn": arn, "DestinationStatus": each} for arn, each in table.kinesis_streams.items()]
        return {"TableName": table.name, "KinesisDataStreamDestinations": listed}

    async def _update_insights(self, body: Body, ask: Ask) -> Body:
        table, index = await self._steady(body["TableName"], ask), body.get("IndexName", "")
        if index and index not in table.indexes:
            raise refusals.index_not_found(index)
        on = body["ContributorInsightsAction"] == "ENABLE"
        table.set_insights(index, "ENABLING" if on else "DISABLING")
        self._later("attachment", table, lambda: table.set_insights(index, "ENABLED" if on else "DISABLED"))
        return _insights_of(table, index)

    async def _list_insights(self, body: Body, ask: Ask) -> Body:
        table = await self._table(body["TableName"], ask)
        return {"ContributorInsightsSummaries": [_insights_of(table, index) for index in table.insights]}

    def _check_operations(self) -> None:
        statuses = [table.status for table in self._tables.values()]
        statuses += [index.status for table in self._tables.values() for index in table.indexes.values()]
        if sum(status != "ACTIVE" for status in statuses) >= OPERATIONS_AT_A_TIME:
            raise refusals.too_many_operations(OPERATIONS_AT_A_TIME)

    def _settle(self, table: SlowTable, *indexes: SlowIndex) -> None:
        self._become(table, None, "ACTIVE")
        for index in indexes:
            self._become(table, index, "ACTIVE")

    def _forget(self, table: SlowTable) -> None:
        del self._tables[table.name]
        for index in table.indexes.values():
            self._note(table, index, index.state, None)
        self._note(table, None, table.status, None)

    def _become(self, table: SlowTable, index: SlowIndex | None, status: str) -> None:
        before = table.status if index is None else index.state
        (index or table).become(status)
        self._note(table, index, before, status)

    def _note(self, table: SlowTable, index: SlowIndex | None, before: str | None, after: str | None) -> None:
        at = round(self._now - self._began, 6)
        name = None if index is None else index.name
        self.log.append(Transition(at=at, table=table.name, index=name, before=before, after=after))

    def _hide(self, table: SlowTable, before: Body | None) -> None:
        """Have descriptions show for a moment what was before."""
        table.hide(before, self._drawn("lag", table), self._now)

    def _later(self, what: str, table: SlowTable, happen: Callable[[], None]) -> None:
        self._at(self._now + self._drawn(what, table), happen)

    def _at(self, at: float, happen: Callable[[], None]) -> None:
        heapq.heappush(self._due, (at, next(self._numbers), happen))

    def _drawn(self, what: str, table: SlowTable) -> float:
        number = self._changes[table.name, what]
        self._changes[table.name, what] += 1
        # A text as the seed: the same in each process, and no table's draws depend on another's.
        random = Random(f"{self._seed}/{table.name}/{what}/{number}")  # noqa: S311 - it must repeat itself
        return self._durations.draw(what, number, random)


def _check_definitions(types: Mapping[str, Any], used: set[str]) -> None:
    """Raise unless exactly the attributes of keys are defined.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_AttributeDefinition.html
    """
    given, keys = sorted(types), sorted(used)
    if used - types.keys():
        raise refusals.invalid_parameter(
            f"Some index key attributes are not defined in AttributeDefinitions. Keys: {keys}, AttributeDefinitions: "
            f"{given}"
        )
    if types.keys() - used:
        raise refusals.invalid_parameter(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: {given}, keys used: {keys}"
        )


def _check_kinds(kinds: set[str], updates: Sequence[Body], online: Sequence[Body]) -> None:
    """Raise unless an UpdateTable asks for one kind of change."""
    if not kinds:
        raise refusals.nothing_asked()
    if len(kinds) > 1 or (online and len(online) < len(updates)):
        raise refusals.several_kinds(sorted(kinds | {"throughput"} if len(kinds) == 1 else kinds))
    if len(online) > 1:
        raise refusals.one_index_at_a_time()


def _check_stream(table: SlowTable, wanted: Body) -> None:
    """Raise unless a stream can be turned on or off."""
    if wanted["StreamEnabled"] == (table.stream is not None):
        word = "already has an enabled" if table.stream else "has no"
        raise refusals.invalid(f"Table {word} stream: {table.name}")
    if table.replicas:
        raise refusals.replica_refused(f"The stream of {table.name} cannot be changed while it has replicas")


def _check_billing(parts: Sequence[Body], *, on_demand: bool) -> None:
    """Raise unless a table and its indexes have units where it is provisioned, and maxima only where it is not."""
    if not on_demand and any("OnDemandThroughput" in part for part in parts):
        raise refusals.maximum_of_provisioned()
    if on_demand and any("ProvisionedThroughput" in part for part in parts):
        raise refusals.invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
        )
    if not on_demand and any("ProvisionedThroughput" not in part for part in parts):
        raise refusals.invalid_parameter(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"
        )


def _kind_of(update: Body) -> str:
    """Return the kind of change that is asked for of an index."""
    return "warm throughput" if "WarmThroughput" in update else "throughput"


async def _items_of(table: str, ask: Ask) -> list[Any]:
    """Return all items that an engine has of a table."""
    items: list[Any] = []
    start: Body = {}
    while True:
        page = await ask("Scan", {"TableName": table, "ConsistentRead": True, **start})
        items += page.get("Items") or ()
        last = page.get("LastEvaluatedKey")
        if not last:
            return items
        start = {"ExclusiveStartKey": last}


async def _put_items(table: str, items: Sequence[Any], ask: Ask) -> None:
    """Store items on an engine, in batches."""
    requests: list[Body] = [{"PutRequest": {"Item": item}} for item in items]
    while requests:
        now, requests = requests[:BATCH_WRITE_REQUESTS], requests[BATCH_WRITE_REQUESTS:]
        answer = await ask("BatchWriteItem", {"RequestItems": {table: now}})
        left: dict[str, list[Body]] = answer.get("UnprocessedItems") or {}
        requests += left.get(table, [])


def _insights_of(table: SlowTable, index: str) -> Body:
    """Return the description of Contributor Insights of an index, or of the table."""
    named = {"IndexName": index} if index else {}
    return {"TableName": table.name, **named, "ContributorInsightsStatus": table.insights[index]}


def _without_units(described: Body) -> Body:
    indexes = [
        {name: value for name, value in index.items() if name != "ProvisionedThroughput"}
        for index in described.get("GlobalSecondaryIndexes") or ()
    ]
    own = {name: value for name, value in described.items() if name != "ProvisionedThroughput"}
    return {**own, "GlobalSecondaryIndexes": indexes}


def _name_in(arn: str) -> str:
    return arn.rpartition("table/")[2]
