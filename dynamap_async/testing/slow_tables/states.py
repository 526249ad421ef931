"""A table and its global indexes as the control plane knows them, and how DescribeTable shows them. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Final

from dynamap_async.dataclass import dataclass
from dynamap_async.limits import WARM_READ_UNITS, WARM_WRITE_UNITS
from dynamap_async.wire import Body

REGION: Final = "eu-west-1"
ARN: Final = f"arn:aws:dynamodb:{REGION}:000000000000:table/"
REPLICATED_VIEW: Final = "NEW_AND_OLD_IMAGES"
UNITS: Final = ("ReadCapacityUnits", "WriteCapacityUnits")
_MOST: Final = ("MaxReadRequestUnits", "MaxWriteRequestUnits")
_WARM: Final = {"ReadUnitsPerSecond": WARM_READ_UNITS, "WriteUnitsPerSecond": WARM_WRITE_UNITS}


@dataclass(slots=True, eq=False)
class SlowCapacity:
    """The throughput of a table or a global index, and how often it was lowered."""

    units: dict[str, int] | None
    """The provisioned units; None for on-demand."""
    most: dict[str, int] = field(default_factory=dict[str, int])
    """The most that on-demand requests may take."""
    warm: dict[str, int] = field(default_factory=lambda: dict(_WARM))
    """What can be served at once."""
    decreases: list[float] = field(default_factory=list[float])
    """When it was lowered."""

    @classmethod
    def of(cls, body: Body) -> "SlowCapacity":
        """Return the capacity that a request, or a description, gives to a table or an index."""
        given: Mapping[str, int] = body.get("ProvisionedThroughput") or {}
        units = {name: int(given.get(name, 0)) for name in UNITS}
        provisioned = all(units.values())
        warm = {name: units[kind] for name, kind in zip(_WARM, UNITS, strict=True)} if provisioned else dict(_WARM)
        warm |= {name: body["WarmThroughput"][name] for name in _WARM if name in (body.get("WarmThroughput") or {})}
        capacity = cls(units if provisioned else None, warm=warm)
        capacity.limit(body.get("OnDemandThroughput") or {})
        return capacity

    def limit(self, most: Mapping[str, int]) -> None:
        """Set the maximum for on-demand requests; -1 removes it."""
        self.most = {name: value for name, value in {**self.most, **most}.items() if name in _MOST and value > 0}

    def change(self, entry: Body, *, on_demand: bool) -> None:
        """Change the throughput as an UpdateTable says of the table, or of the index."""
        if on_demand:
            self.units = None
            self.warm = {name: max(units, self.warm[name]) for name, units in _WARM.items()}
        elif "ProvisionedThroughput" in entry:
            self.units, self.most = {name: entry["ProvisionedThroughput"][name] for name in UNITS}, {}
            given = zip(self.warm, self.units.values(), strict=True)
            self.warm = {name: max(units, self.warm[name]) for name, units in given}
        self.limit(entry.get("OnDemandThroughput") or {})
        self.warm = {**self.warm, **(entry.get("WarmThroughput") or {})}

    def stays(self, entry: Body) -> bool:
        """Return whether an UpdateTable asks for no other throughput than this."""
        units: Mapping[str, int] = entry.get("ProvisionedThroughput") or self.units or {}
        most: Mapping[str, int] = entry.get("OnDemandThroughput") or {}
        warm: Mapping[str, int] = entry.get("WarmThroughput") or {}
        there = dict.fromkeys(_MOST, -1) | self.most
        return units == (self.units or {}) and most.items() <= there.items() and warm.items() <= self.warm.items()

    def is_lowered(self, entry: Body) -> bool:
        """Return whether an UpdateTable lowers the provisioned units."""
        wanted: Mapping[str, int] | None = entry.get("ProvisionedThroughput")
        units = self.units
        return wanted is not None and units is not None and any(wanted[name] < units[name] for name in UNITS)

    def decreases_today(self, now: float) -> list[float]:
        """Return the times at which it was lowered on this UTC day."""
        today = datetime.fromtimestamp(now, UTC).date()
        return [at for at in self.decreases if datetime.fromtimestamp(at, UTC).date() == today]

    def described(self, now: float) -> dict[str, Any]:
        """Return its members of the table's description."""
        units = self.units or dict.fromkeys(UNITS, 0)
        throughput = {**units, "NumberOfDecreasesToday": len(self.decreases_today(now))}
        shown: dict[str, Any] = {
            "ProvisionedThroughput": throughput,
            "WarmThroughput": {**self.warm, "Status": "ACTIVE"},
        }
        if self.most:
            shown["OnDemandThroughput"] = dict.fromkeys(_MOST, -1) | self.most
        return shown


@dataclass(slots=True, eq=False)
class SlowIndex:
    """A global index."""

    name: str
    definition: Body
    """Its name, key and projection, in wire form."""
    capacity: SlowCapacity
    status: str
    backfilling: bool | None = None
    """False while it is allocated, True while it is filled; None if it was made with its table."""

    def become(self, status: str) -> None:
        """Change the status."""
        self.status = status

    def begin_backfill(self) -> None:
        """Start to fill the index."""
        self.backfilling = True

    @property
    def state(self) -> str:
        """The status, with a name of its own for the backfill."""
        return "BACKFILLING" if self.status == "CREATING" and self.backfilling else self.status

    def described(self, table: str, now: float) -> dict[str, Any]:
        """Return its entry in the table's description."""
        shown: dict[str, Any] = {
            **self.definition,
            "IndexStatus": self.status,
            "IndexArn": f"{ARN}{table}/index/{self.name}",
            "ItemCount": 0,
            "IndexSizeBytes": 0,
            **self.capacity.described(now),
        }
        if self.status == "CREATING" and self.backfilling is not None:
            shown["Backfilling"] = self.backfilling
        return shown


@dataclass(slots=True, eq=False)
class SlowTimeToLive:
    """Time to live of a table."""

    status: str = "DISABLED"
    attribute: str | None = None
    changed_at: float | None = None

    @property
    def is_on(self) -> bool:
        """Whether it is on, or being turned on."""
        return self.status in ("ENABLED", "ENABLING")

    def change(self, attribute: str, now: float, *, enabled: bool) -> None:
        """Start to turn it on or off."""
        self.changed_at, self.attribute = now, attribute
        self.status = "ENABLING" if enabled else "DISABLING"

    def settle(self) -> None:
        """Finish the change."""
        if self.status == "ENABLING":
            self.status = "ENABLED"
        else:
            self.status, self.attribute = "DISABLED", None


@dataclass(slots=True, eq=False)
class SlowTable:
    """A table."""

    name: str
    types: dict[str, str]
    """Attribute name -> type, of all attributes that keys use."""
    key_schema: list[dict[str, str]]
    local_indexes: list[Body]
    capacity: SlowCapacity
    created_at: float
    status: str
    indexes: dict[str, SlowIndex] = field(default_factory=dict[str, SlowIndex])
    items: int = 0
    size_bytes: int = 0
    protected: bool = False
    table_class: str = "STANDARD"
    class_changed_at: list[float] = field(default_factory=list[float])
    billing_changed_at: float | None = None
    stream: Body | None = None
    stream_label: str | None = None
    encryption: Body | None = None
    tags: dict[str, str] = field(default_factory=dict[str, str])
    recovery_days: int | None = None
    recovery_since: float = 0.0
    time_to_live: SlowTimeToLive = field(default_factory=SlowTimeToLive)
    replicas: dict[str, str] = field(default_factory=dict[str, str])
    """Region -> the status of the copy there."""
    policy: str | None = None
    """Its resource policy."""
    kinesis_streams: dict[str, str] = field(default_factory=dict[str, str])
    """Name of a Kinesis stream -> the status of what it gets."""
    insights: dict[str, str] = field(default_factory=dict[str, str])
    """Name of an index, or nothing for the table -> the status of its Contributor Insights."""
    restored_from: Body | None = None
    """What it was restored from, as a description says it; None for a table that was created."""
    shown_before: Body | None = None
    """What descriptions show until ``shown_until``; None for a table that is not found yet."""
    shown_until: float = 0.0

    @classmethod
    def of(cls, body: Body, now: float, status: str) -> "SlowTable":
        """Return the table that a CreateTable, or a description, describes."""
        types = {each["AttributeName"]: each["AttributeType"] for each in body["AttributeDefinitions"]}
        table = cls(
            body["TableName"],
            types,
            body["KeySchema"],
            [_definition(each) for each in body.get("LocalSecondaryIndexes") or ()],
            SlowCapacity.of(body),
            float(body.get("CreationDateTime", now)),
            status,
            items=body.get("ItemCount", 0),
            size_bytes=body.get("TableSizeBytes", 0),
            protected=bool(body.get("DeletionProtectionEnabled")),
            table_class=body.get("TableClass", "STANDARD"),
            tags={each["Key"]: each["Value"] for each in body.get("Tags") or ()},
        )
        for each in body.get("GlobalSecondaryIndexes") or ():
            index = SlowIndex(each["IndexName"], _definition(each), SlowCapacity.of(each), status)
            table.indexes[index.name] = index
        stream: Body = body.get("StreamSpecification") or {}
        if stream.get("StreamEnabled"):
            table.set_stream(stream, now)
        if body.get("SSESpecification"):
            table.encryption = body["SSESpecification"]
        return table

    def creation(self) -> Body:
        """Return the request that makes the table on an engine, without the settings that are kept here."""
        body: dict[str, Any] = {
            "TableName": self.name,
            "KeySchema": self.key_schema,
            "AttributeDefinitions": self._definitions(),
            "BillingMode": "PAY_PER_REQUEST",
        }
        if self.local_indexes:
            body["LocalSecondaryIndexes"] = self.local_indexes
        if self.indexes:
            body["GlobalSecondaryIndexes"] = [index.definition for index in self.indexes.values()]
        return body

    def restorable(self, now: float) -> Body:
        """Return what a restore makes of it, in wire form: no stream, tags, protection, recovery, time to live.

        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html
        """
        kept = ("KeySchema", "AttributeDefinitions", "LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        throughput = ("ProvisionedThroughput", "OnDemandThroughput")
        described = self.described(now)
        body = {name: described[name] for name in (*kept, *throughput) if name in described}
        encryption = {} if self.encryption is None else {"SSESpecification": self.encryption}
        return {**body, **encryption, "TableClass": self.table_class}

    def restored(self, summary: Body) -> "SlowTable":
        """Become a table that was restored."""
        self.restored_from = summary
        return self

    def become(self, status: str) -> None:
        """Change the status."""
        self.status = status

    def hide(self, before: Body | None, seconds: float, now: float) -> None:
        """Have descriptions show for some time what was before; None for a table that is not found yet."""
        if now >= self.shown_until:
            self.shown_before = before
        self.shown_until = now + seconds

    def add_index(self, index: SlowIndex, types: dict[str, str]) -> None:
        """Add an index, with the types of the attributes in all keys."""
        self.indexes[index.name], self.types = index, types

    def drop_index(self, name: str) -> None:
        """Remove an index, and the definitions of attributes that no other key uses."""
        del self.indexes[name]
        self.types = {name: kind for name, kind in self.types.items() if name in self.used()}

    def switch_billing(self, now: float) -> None:
        """Record that the billing mode was changed."""
        self.billing_changed_at = now

    def begin_class(self, now: float, since: float) -> None:
        """Record that the class was changed, and drop the records from before some time."""
        self.class_changed_at = [*(at for at in self.class_changed_at if at > since), now]

    def change(self, body: Body, now: float) -> None:
        """Change what an UpdateTable says, but for indexes and throughput."""
        self.protected = body.get("DeletionProtectionEnabled", self.protected)
        self.table_class = body.get("TableClass", self.table_class)
        self.encryption = body.get("SSESpecification", self.encryption)
        if "StreamSpecification" in body:
            self.set_stream(body["StreamSpecification"], now)

    def set_tags(self, tags: dict[str, str]) -> None:
        """Replace the tags."""
        self.tags = tags

    def set_replica(self, region: str, status: str | None) -> None:
        """Set the status of the replica in a region; None removes it."""
        self.replicas = {name: each for name, each in self.replicas.items() if name != region}
        if status is not None:
            self.replicas[region] = status

    def set_policy(self, policy: str | None) -> None:
        """Set or remove the resource policy."""
        self.policy = policy

    def set_kinesis_stream(self, stream: str, status: str) -> None:
        """Set the status of a Kinesis stream."""
        self.kinesis_streams[stream] = status

    def set_insights(self, index: str, status: str) -> None:
        """Set the status of Contributor Insights of an index, or of the table."""
        self.insights[index] = status

    @property
    def is_replicating(self) -> bool:
        """Whether a replica is made or deleted."""
        return any(status != "ACTIVE" for status in self.replicas.values())

    def set_recovery(self, days: int | None, now: float) -> None:
        """Set for how many days a history is kept; None for no history."""
        if self.recovery_days is None:
            self.recovery_since = now
        self.recovery_days = days

    @property
    def arn(self) -> str:
        """The table's Amazon Resource Name."""
        return ARN + self.name

    @property
    def on_demand(self) -> bool:
        """Whether the billing mode is on demand."""
        return self.capacity.units is None

    def used(self, *more: Body) -> set[str]:
        """Return the names of the attributes in keys of the table and its indexes, and in those of further indexes."""
        own = [index.definition for index in self.indexes.values()]
        return key_names([{"KeySchema": self.key_schema}, *self.local_indexes, *own, *more])

    def set_stream(self, specification: Body, now: float) -> None:
        """Turn the stream on or off; one that is turned on has a name of its own."""
        self.stream = None
        if specification.get("StreamEnabled"):
            self.stream = {"StreamEnabled": True, "StreamViewType": specification["StreamViewType"]}
            self.stream_label = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]

    def described(self, now: float) -> dict[str, Any]:
        """Return the table's description once it is up to date, without settings that were never made."""
        shown: dict[str, Any] = {
            "TableName": self.name,
            "TableArn": self.arn,
            "TableStatus": self.status,
            "CreationDateTime": self.created_at,
            "AttributeDefinitions": self._definitions(),
            "KeySchema": self.key_schema,
            "ItemCount": self.items,
            "TableSizeBytes": self.size_bytes,
            **self.capacity.described(now),
        }
        if self.local_indexes:
            shown["LocalSecondaryIndexes"] = self.local_indexes
        if self.indexes:
            shown["GlobalSecondaryIndexes"] = [index.described(self.name, now) for index in self.indexes.values()]
        if self.restored_from is not None:
            shown["RestoreSummary"] = {**self.restored_from, "RestoreInProgress": self.status == "CREATING"}
        return shown | self._settings()

    def _definitions(self) -> list[dict[str, str]]:
        return [{"AttributeName": name, "AttributeType": kind} for name, kind in sorted(self.types.items())]

    def _settings(self) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        if self.on_demand:
            shown["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST"}
        if self.stream is not None:
            shown["StreamSpecification"] = self.stream
        if self.stream_label is not None:
            shown["LatestStreamLabel"] = self.stream_label
            shown["LatestStreamArn"] = f"{self.arn}/stream/{self.stream_label}"
        if self.replicas:
            shown["GlobalTableVersion"] = "2019.11.21"
            shown["Replicas"] = [
                {"RegionName": region, "ReplicaStatus": status} for region, status in self.replicas.items()
            ]
        if self.protected:
            shown["DeletionProtectionEnabled"] = True
        if self.class_changed_at or self.table_class != "STANDARD":
            shown["TableClassSummary"] = {"TableClass": self.table_class}
        if self.encryption is not None and self.encryption.get("Enabled"):
            key = _key_arn(self.encryption.get("KMSMasterKeyId", "alias/aws/dynamodb"))
            shown["SSEDescription"] = {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}
        return shown


@dataclass(slots=True, eq=False)
class SlowBackup:
    """A backup of a table."""

    arn: str
    name: str
    table: str
    source: Body
    """What a restore makes, in wire form."""
    items: list[Any]
    """The items that the table had."""
    created_at: float
    status: str = "CREATING"

    def become(self, status: str) -> None:
        """Change the status."""
        self.status = status

    def described(self) -> dict[str, Any]:
        """Return its description."""
        return {
            "BackupArn": self.arn,
            "BackupName": self.name,
            "BackupStatus": self.status,
            "BackupType": "USER",
            "BackupCreationDateTime": self.created_at,
        }


def key_names(definitions: Iterable[Body]) -> set[str]:
    """Return the names of the attributes in the keys of tables or indexes in wire form."""
    return {element["AttributeName"] for each in definitions for element in each["KeySchema"]}


def _definition(index: Body) -> dict[str, Any]:
    return {name: index[name] for name in ("IndexName", "KeySchema", "Projection")}


def _key_arn(key: str) -> str:
    # An alias resolves to the key behind it, so that a comparison of the two texts shows its fault.
    return key if key.startswith("arn:") else f"arn:aws:kms:eu-west-1:000000000000:key/{key.removeprefix('alias/')}-key"
