"""The control plane's requests, made of table schemas, and its answers read into values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ModelDefinitionError, OperationError, ServiceError
from dynamap_async.limits import TAGS_PER_TABLE
from dynamap_async.request import Request
from dynamap_async.schema import (
    IndexKind,
    IndexSchema,
    KeySchema,
    OnDemand,
    Projection,
    TableSchema,
    TableSettings,
    Throughput,
)
from dynamap_async.service import table_arn
from dynamap_async.tables.setting_requests import create_members, read_others, read_settings, tags_to_wire
from dynamap_async.transport import UNREADABLE, damaged
from dynamap_async.wire import Body

BillingMode: TypeAlias = Literal["on-demand", "provisioned"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """A copy of a table in another region."""

    region: str
    """The region."""
    status: str
    """``CREATING``, ``ACTIVE``, ``DELETING`` and some more."""
    progress_percent: float | None = None
    """How far it has got in being made, changed or deleted; None where DynamoDB does not tell."""
    arn: str | None = None
    """The Amazon Resource Name of the copy; None where DynamoDB does not tell."""
    problem: str | None = None
    """What DynamoDB says of the status, as of a key of encryption that it may not use."""
    inaccessible_since: datetime | None = None
    """Since when its region has not been reached by DynamoDB; None while it is."""
    encryption_key: str | None = None
    """The key of KMS that it is encrypted with; None for DynamoDB's own."""
    table_class: str | None = None
    """The class of its storage, where that is its own."""
    read_units: int | None = None
    """Its provisioned read units, where they are its own."""
    max_read_units: int | None = None
    """The most read units a second that it takes on demand, where that is its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorIndexDescription:
    """A vector index as DynamoDB describes it; what is None it does not tell.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_SearchVectors.html
    """

    name: str
    """Its name."""
    attribute: str | None
    """The attribute that holds the vectors."""
    dimensions: int | None
    """How many numbers a vector has."""
    distance: str | None
    """How the distance of two vectors is computed: ``cosine``, ``euclidean`` or ``dot-product``."""
    partition_key: str | None
    """The attribute that each search has to name; None for an index without one."""
    filters: tuple[str, ...]
    """The attributes that a search may name besides."""
    projection: Projection | None
    """Which attributes a search gives."""
    status: str
    """``CREATING``, ``ACTIVE`` or ``DELETING``."""
    is_backfilling: bool
    """Whether it is being filled from the items of the table."""
    item_count: int
    """Number of items, brought up to date about every six hours."""
    size_bytes: int
    """Its size, brought up to date about every six hours."""
    arn: str | None
    """Its Amazon Resource Name."""

    @property
    def is_ready(self) -> bool:
        """Whether all items of the table are found by it."""
        return self.status == "ACTIVE" and not self.is_backfilling


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDescription:
    """A table as DynamoDB describes it."""

    schema: TableSchema
    """Keys, indexes, time to live and throughput, with the full table name."""
    status: str
    """``CREATING``, ``UPDATING``, ``DELETING``, ``ACTIVE`` and some more."""
    index_statuses: Mapping[str, str]
    """Name of each global index -> its status."""
    billing: BillingMode
    """How capacity is paid for: on demand, or provisioned."""
    item_count: int
    """Number of items, brought up to date about every six hours: not a count."""
    size_bytes: int
    """Size of the table, brought up to date about every six hours."""
    arn: str
    """The Amazon Resource Name of the table."""
    created_at: datetime | None
    """When the table was created; None where the engine does not say."""
    ttl_status: str | None
    """``ENABLED``, ``DISABLED``, or in between; None where the engine does not say, or the policy denies to ask."""
    backfilling: frozenset[str] = frozenset()
    """The names of the global indexes that are being filled from the items of the table."""
    is_protected: bool = False
    """Whether DynamoDB refuses to delete the table."""
    settings: TableSettings = TableSettings()
    """What else it has; recovery and tags are None where they were not asked for, or nobody knows, and replicas always:
    they are in ``replicas``."""
    on_demand: OnDemand = OnDemand()
    """Its maxima, and its warm throughput, which a provisioned table has, too; that is None where the engine does not
    tell it."""
    decreases_today: Mapping[str | None, int] = field(default_factory=dict[str | None, int])
    """Name of a global index, or None for the table -> how often its throughput was lowered on this day (UTC)."""
    replicas: tuple[Replica, ...] = ()
    """Its copies in other regions, in the order of their names."""
    table_id: str | None = None
    """What tells it from a table of the same name that was there before; None where the engine does not say."""
    stream_arn: str | None = None
    """The Amazon Resource Name of its latest stream, which may be off by now; None without any."""
    stream_label: str | None = None
    """When that stream was switched on, as its name says it."""
    index_arns: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name of each index -> its Amazon Resource Name."""
    increased_at: Mapping[str | None, datetime] = field(default_factory=dict[str | None, datetime])
    """Name of a global index, or None for the table -> when its throughput was last raised."""
    decreased_at: Mapping[str | None, datetime] = field(default_factory=dict[str | None, datetime])
    """The same of when it was last lowered."""
    is_strong: bool = False
    """Whether reads and writes are strongly consistent between its regions (MRSC)."""
    others: tuple[str, ...] = ()
    """What else it has that no model can declare, such as vector indexes, each in a few words."""
    vector_indexes: tuple[VectorIndexDescription, ...] = ()
    """Its vector indexes, in the order of their names."""
    vector_keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """Attributes by which vector indexes are searched -> their types."""

    @property
    def is_active(self) -> bool:
        """Whether the table and all its indexes can be used."""
        return self.status == "ACTIVE" and all(map(self.index_is_ready, self.index_statuses))

    @property
    def is_replicating(self) -> bool:
        """Whether a replica is being made, changed or deleted; meanwhile DynamoDB takes no other change."""
        return any(each.status in ("CREATING", "UPDATING", "DELETING") for each in self.replicas)

    def index_is_ready(self, name: str) -> bool:
        """Return whether the table has a global index of that name that can be read.

        Args:
            name: the index's name in DynamoDB.
        """
        return self.index_statuses.get(name) == "ACTIVE" and name not in self.backfilling


def create_request(schema: TableSchema, *, throughput: Throughput | None, tags: Mapping[str, str]) -> Request:
    """Return the CreateTable request of a table.

    Args:
        throughput: its provisioned capacity, also that of global indexes that declare none; None makes it on-demand.
        tags: its tags, besides those that it declares.

    Raises:
        OperationError: there are too many tags, or the table is named by its ARN.
    """
    if table_arn(schema.name) is not None:
        raise OperationError(
            f"{schema.name} is named by its ARN, and DynamoDB makes a table in the caller's own account only; create "
            "it by its name, in a session of the account that is to own it"
        )
    tags = {**(schema.settings.tags or {}), **tags}
    if len(tags) > TAGS_PER_TABLE:
        raise OperationError(f"{len(tags)} tags for {schema.name}; DynamoDB allows {TAGS_PER_TABLE}")
    body: dict[str, Any] = {
        "TableName": schema.name,
        "KeySchema": schema.keys.to_wire(),
        "AttributeDefinitions": definitions(schema.attribute_types),
        # Said outright: the API's default, PROVISIONED, differs from that of AWS's console.
        "BillingMode": "PAY_PER_REQUEST" if throughput is None else "PROVISIONED",
    }
    if throughput is not None:
        body["ProvisionedThroughput"] = throughput.to_wire()
    elif schema.on_demand is not None:
        body |= schema.on_demand.to_wire()
    for kind in IndexKind:
        if indexes := schema.indexes_of(kind):
            body[kind.wire_name] = [index.to_wire(throughput) for index in indexes]
    body |= create_members(schema.settings)
    if tags:
        body["Tags"] = tags_to_wire(tags)
    # Sent again after a lost answer it would fail with ResourceInUseException by its own success.
    return Request(operation="CreateTable", body=body, table=schema.name, writes=True, resendable=False)


def create_index_request(table: TableSchema, index: IndexSchema, vector_keys: Mapping[str, str]) -> Request:
    """Return the UpdateTable request that adds a global index to a table.

    Args:
        table: the table as it is: its definitions are sent once more, with those of the index, and no others.
        index: what is added; on a provisioned table it has its own throughput, or the table's.
        vector_keys: attributes by which vector indexes of the table are searched, with their types.
    """
    types = replace(table, indexes=(*table.indexes, index)).attribute_types
    body: dict[str, Any] = {
        "TableName": table.name,
        "AttributeDefinitions": definitions({**vector_keys, **types}),
        "GlobalSecondaryIndexUpdates": [{"Create": index.to_wire(table.throughput)}],
    }
    return Request(operation="UpdateTable", body=body, table=table.name, writes=True, resendable=False)


def protection_request(table: str, *, protected: bool) -> Request:
    """Return the UpdateTable request that turns deletion protection on or off."""
    body = {"TableName": table, "DeletionProtectionEnabled": protected}
    return Request(operation="UpdateTable", body=body, table=table, writes=True, resendable=False)


def list_request(after: str | None) -> Request:
    """Return the ListTables request of a page.

    Args:
        after: the last name of the page before; None for the first page.
    """
    body: dict[str, Any] = {} if after is None else {"ExclusiveStartTableName": after}
    return Request(operation="ListTables", body=body, table="", resendable=True)


def definitions(types: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the API's ``AttributeDefinitions`` of attribute names and their types."""
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def table_request(operation: str, table: str, *, writes: bool = False) -> Request:
    """Return a request whose only member is the table's name."""
    return Request(operation=operation, body={"TableName": table}, table=table, writes=writes, resendable=not writes)


def ttl_request(table: str, attribute: str, *, enabled: bool = True) -> Request:
    """Return the request that turns time to live on or off."""
    specification = {"Enabled": enabled, "AttributeName": attribute}
    body = {"TableName": table, "TimeToLiveSpecification": specification}
    return Request(operation="UpdateTimeToLive", body=body, table=table, writes=True, resendable=False)


def read_description(answer: Body, ttl: Body | None = None) -> TableDescription:
    """Return what DescribeTable, and DescribeTimeToLive if it was asked, say of a table.

    Args:
        answer: the answer to DescribeTable, as ``aws dynamodb describe-table`` prints it too.
        ttl: the answer to DescribeTimeToLive; without it, time to live is unknown.
    """
    table: dict[str, Any] = answer["Table"]
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    listed: dict[IndexKind, list[dict[str, Any]]] = {kind: table.get(kind.wire_name) or [] for kind in IndexKind}
    indexes = [_read_index(each, kind, types) for kind in IndexKind for each in listed[kind]]
    time_to_live: dict[str, Any] = (ttl or {}).get("TimeToLiveDescription") or {}
    billing: dict[str, Any] = table.get("BillingModeSummary") or {}
    on_demand = billing.get("BillingMode") == "PAY_PER_REQUEST"
    throughput = None if on_demand else _read_throughput(table)
    limits = OnDemand.from_wire(table)
    return TableDescription(
        schema=TableSchema(
            name=table["TableName"],
            keys=KeySchema.from_wire(table["KeySchema"], types),
            indexes=tuple(indexes),
            ttl_attribute=time_to_live.get("AttributeName"),
            throughput=throughput,
        ),
        status=table["TableStatus"],
        index_statuses={
            each["IndexName"]: each.get("IndexStatus", "ACTIVE")
            for kind in IndexKind
            if kind.has_status
            for each in listed[kind]
        },
        billing="on-demand" if on_demand else "provisioned",
        item_count=table.get("ItemCount", 0),
        size_bytes=table.get("TableSizeBytes", 0),
        arn=table.get("TableArn", ""),
        created_at=_read_time(table.get("CreationDateTime")),
        ttl_status=time_to_live.get("TimeToLiveStatus"),
        backfilling=frozenset(
            each["IndexName"]
            for kind in IndexKind
            if kind.has_status
            for each in listed[kind]
            if each.get("Backfilling")
        ),
        is_protected=bool(table.get("DeletionProtectionEnabled")),
        settings=replace(read_settings(table), billing=limits if on_demand else throughput),
        on_demand=limits,
        decreases_today={
            name: count for name, units in _read_units(table) if (count := units.get("NumberOfDecreasesToday"))
        },
        table_id=table.get("TableId"),
        stream_arn=table.get("LatestStreamArn"),
        stream_label=table.get("LatestStreamLabel"),
        index_arns={
            each["IndexName"]: each["IndexArn"] for kind in IndexKind for each in listed[kind] if "IndexArn" in each
        },
        increased_at=_read_times(table, "LastIncreaseDateTime"),
        decreased_at=_read_times(table, "LastDecreaseDateTime"),
        replicas=_read_replicas(table),
        is_strong=table.get("MultiRegionConsistency") == "STRONG",
        others=read_others(table),
        vector_indexes=_read_vector_indexes(table),
        vector_keys=_read_vector_keys(table, types),
    )


def description_of(request: Request, answer: Body, ttl: Body | None = None) -> TableDescription:
    """Return what the answer to a request about a table says of it; see ``read_description``.

    Raises:
        DamagedResponseError: the answer is not of DynamoDB's form.
    """
    try:
        return read_description(answer, ttl)
    except UNREADABLE as error:
        raise damaged(
            request, "the answer does not have the form that DynamoDB documents: it describes no table", foreign=True
        ) from error


def is_made(request: Request, answer: Body) -> bool:
    """Return whether CreateTable's answer says that the table can be used at once, as that of local engines does."""
    table = answer.get("TableDescription")
    return table is not None and description_of(request, {"Table": table}).is_active


def is_unknown_operation(error: ServiceError) -> bool:
    """Return whether a request was refused because an engine does not know its operation."""
    return error.service_code == "UnknownOperationException"


def merged(schemas: list[TableSchema]) -> TableSchema:
    """Return the table that several models share: their common key, and all their indexes.

    Raises:
        ModelDefinitionError: they disagree on the key, on an index, on the type of a key attribute, on time to live or
            on throughput; or Contributor Insights are declared for an index that there is not.
    """
    table = schemas[0]
    for other in schemas[1:]:
        clash = _clash(table, other)
        if clash is not None:
            raise ModelDefinitionError(f"models of the table {table.name!r} disagree on {clash}", model=table.name)
        known = {index.name for index in table.indexes}
        table = replace(
            table,
            indexes=(*table.indexes, *(index for index in other.indexes if index.name not in known)),
            ttl_attribute=table.ttl_attribute or other.ttl_attribute,
            throughput=table.throughput or other.throughput,
            settings=table.settings.completed(other.settings),
        )
    indexes = [index.name for index in table.global_indexes]
    for watched in () if table.settings.insights is None else table.settings.insights.indexes:
        if watched not in indexes:
            there = f"they are {', '.join(indexes)}" if indexes else "it has none"
            raise ModelDefinitionError(
                f"the Contributor Insights of {table.name!r} name {watched!r}, which is no global index of it; {there}",
                model=table.name,
            )
    return table


def _clash(one: TableSchema, other: TableSchema) -> str | None:
    if one.keys != other.keys:
        return "its key"
    indexes = {index.name: index for index in one.indexes}
    for index in other.indexes:
        if indexes.get(index.name, index) != index:
            return f"the index {index.name!r}"
    types = one.attribute_types
    for name, kind in other.attribute_types.items():
        if types.get(name, kind) != kind:
            return f"the key attribute {name!r}, which is stored as {types[name]} and as {kind}"
    if None not in (one.ttl_attribute, other.ttl_attribute) and one.ttl_attribute != other.ttl_attribute:
        return "its time to live"
    paid = [each.throughput or each.on_demand for each in (one, other)]
    if None not in paid and paid[0] != paid[1]:
        return "its throughput"
    setting = one.settings.clash(other.settings)
    return None if setting is None else f"its setting {setting!r}"


def _read_index(index: dict[str, Any], kind: IndexKind, types: Mapping[str, Any]) -> IndexSchema:
    return IndexSchema(
        name=index["IndexName"],
        kind=kind,
        keys=KeySchema.from_wire(index["KeySchema"], types),
        projection=_read_projection(index["Projection"]),
        throughput=_read_throughput(index),
        on_demand=OnDemand.from_wire(index) if kind.has_throughput else None,
    )


def _read_projection(projection: Mapping[str, Any]) -> Projection:
    return Projection(projection["ProjectionType"], tuple(projection.get("NonKeyAttributes") or ()))


def _read_replicas(table: Mapping[str, Any]) -> tuple[Replica, ...]:
    """Return the copies of a table in other regions; its own may be listed among them."""
    own = str(table.get("TableArn")).split(":")[3:4]
    listed: list[dict[str, Any]] = table.get("Replicas") or []
    found = [_read_replica(each) for each in listed if each["RegionName"] not in own]
    return tuple(sorted(found, key=lambda each: each.region))


def _read_replica(replica: Mapping[str, Any]) -> Replica:
    progress: float | str | None = replica.get("ReplicaStatusPercentProgress")
    of_its_own: list[dict[str, Any]] = [
        replica.get(member) or {}
        for member in ("ReplicaTableClassSummary", "ProvisionedThroughputOverride", "OnDemandThroughputOverride")
    ]
    table_class, provisioned, on_demand = of_its_own
    return Replica(
        region=replica["RegionName"],
        status=replica.get("ReplicaStatus", "ACTIVE"),
        progress_percent=None if progress is None else float(progress),
        arn=replica.get("ReplicaArn"),
        problem=replica.get("ReplicaStatusDescription"),
        inaccessible_since=_read_time(replica.get("ReplicaInaccessibleDateTime")),
        encryption_key=replica.get("KMSMasterKeyId"),
        table_class=table_class.get("TableClass"),
        read_units=provisioned.get("ReadCapacityUnits"),
        max_read_units=on_demand.get("MaxReadRequestUnits"),
    )


def _read_vector_indexes(table: Mapping[str, Any]) -> tuple[VectorIndexDescription, ...]:
    listed: list[dict[str, Any]] = table.get("VectorIndexes") or []
    return tuple(sorted(map(_read_vector_index, listed), key=lambda each: each.name))


def _read_vector_index(index: Mapping[str, Any]) -> VectorIndexDescription:
    searched: list[Mapping[str, str]] = index.get("SearchSchema") or []
    parts = [(each["AttributeName"], each.get("SearchSchemaElementType")) for each in searched]
    distance: str | None = index.get("DistanceFunction")
    projection: Mapping[str, Any] = index.get("Projection") or {}
    vector: Mapping[str, str] = index.get("VectorAttribute") or {}
    return VectorIndexDescription(
        name=index["IndexName"],
        attribute=vector.get("AttributeName"),
        dimensions=index.get("Dimensions"),
        distance=None if distance is None else distance.lower().replace("_", "-"),
        partition_key=next((name for name, kind in parts if kind == "HASH"), None),
        filters=tuple(name for name, kind in parts if kind == "INLINE_FILTER"),
        projection=_read_projection(projection) if projection else None,
        status=index.get("IndexStatus", "ACTIVE"),
        is_backfilling=bool(index.get("Backfilling")),
        item_count=index.get("ItemCount", 0),
        size_bytes=index.get("IndexSizeBytes", 0),
        arn=index.get("IndexArn"),
    )


def _read_vector_keys(table: Mapping[str, Any], types: Mapping[str, str]) -> dict[str, str]:
    """Return the attributes by which vector indexes are searched, with their types."""
    indexes: list[dict[str, Any]] = table.get("VectorIndexes") or []
    names = [each["AttributeName"] for index in indexes for each in index.get("SearchSchema") or ()]
    return {name: types[name] for name in names if name in types}


def _read_units(table: Mapping[str, Any]) -> list[tuple[str | None, dict[str, Any]]]:
    """Return what is told of the throughput of a table, whose name is None, and of each of its global indexes."""
    described: list[dict[str, Any]] = [dict(table), *(table.get(IndexKind.GLOBAL.wire_name) or ())]
    return [(each.get("IndexName"), each.get("ProvisionedThroughput") or {}) for each in described]


def _read_times(table: Mapping[str, Any], member: str) -> dict[str | None, datetime]:
    return {name: at for name, units in _read_units(table) if (at := _read_time(units.get(member))) is not None}


def _read_time(told: float | None) -> datetime | None:
    return None if told is None else datetime.fromtimestamp(float(told), UTC)


def _read_throughput(described: Mapping[str, Any]) -> Throughput | None:
    units: dict[str, Any] = described.get("ProvisionedThroughput") or {}
    read, write = units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)
    return Throughput(read=read, write=write) if read and write else None
