"""The control plane's requests, made of table schemas, and its answers read into values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ModelDefinitionError, OperationError
from dynamap_async.limits import TAGS_PER_TABLE
from dynamap_async.request import Request
from dynamap_async.schema import (
    IndexKind,
    IndexSchema,
    KeySchema,
    Projection,
    TableSchema,
    TableSettings,
    Throughput,
)
from dynamap_async.tables.setting_requests import create_members, read_settings, tags_to_wire
from dynamap_async.transport import UNREADABLE, damaged
from dynamap_async.wire import Body

BillingMode: TypeAlias = Literal["on-demand", "provisioned"]


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
    """``ENABLED``, ``DISABLED``, or in between; None where the engine does not say."""
    backfilling: frozenset[str] = frozenset()
    """The names of the global indexes that are being filled from the items of the table."""
    is_protected: bool = False
    """Whether DynamoDB refuses to delete the table."""
    settings: TableSettings = TableSettings()
    """What else it has; recovery and tags are None where they were not asked for, or nobody knows."""
    decreases_today: Mapping[str | None, int] = field(default_factory=dict[str | None, int])
    """Name of a global index, or None for the table -> how often its throughput was lowered on this day (UTC)."""

    @property
    def is_active(self) -> bool:
        """Whether the table and all its indexes can be used."""
        return self.status == "ACTIVE" and all(map(self.index_is_ready, self.index_statuses))

    def index_is_ready(self, name: str) -> bool:
        """Return whether the table has a global index of that name that can be read.

        Args:
            name: the index's name in DynamoDB.
        """
        return self.index_statuses.get(name) == "ACTIVE" and name not in self.backfilling


def create_request(schema: TableSchema, *, throughput: Throughput | None, tags: Mapping[str, str]) -> Request:
    """Return the CreateTable request of a table.

    Args:
        schema: the table.
        throughput: its provisioned capacity, also that of global indexes that declare none; None makes it on-demand.
        tags: its tags, besides those that it declares.

    Raises:
        OperationError: there are too many tags.
    """
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
    for kind in IndexKind:
        if indexes := schema.indexes_of(kind):
            body[kind.wire_name] = [index.to_wire(throughput) for index in indexes]
    body |= create_members(schema.settings)
    if tags:
        body["Tags"] = tags_to_wire(tags)
    # Sent again after a lost answer it would fail with ResourceInUseException by its own success.
    return Request(operation="CreateTable", body=body, table=schema.name, writes=True, resendable=False)


def throughput_request(table: TableDescription, throughput: Throughput | None) -> Request | None:
    """Return the UpdateTable request that gives a table and each of its global indexes a throughput.

    Args:
        table: the table as it is; UpdateTable refuses what would change nothing.
        throughput: the provisioned capacity; None makes the table on-demand.

    Returns:
        None where nothing changes.
    """
    name, old = table.schema.name, table.schema.throughput
    body: dict[str, Any] = {"TableName": name}
    if throughput is None:
        if table.billing == "on-demand":
            return None
        body["BillingMode"] = "PAY_PER_REQUEST"
    else:
        if table.billing == "on-demand":
            old = None
            body["BillingMode"] = "PROVISIONED"
        if old != throughput:
            body["ProvisionedThroughput"] = throughput.to_wire()
        own = [each for each in table.schema.indexes if each.kind.has_throughput]
        late = [each.name for each in own if old is None or each.throughput != throughput]
        if late:
            update = {"ProvisionedThroughput": throughput.to_wire()}
            body["GlobalSecondaryIndexUpdates"] = [{"Update": {"IndexName": index, **update}} for index in late]
        if len(body) == 1:
            return None
    return Request(operation="UpdateTable", body=body, table=name, writes=True, resendable=False)


def has_throughput(table: TableDescription, throughput: Throughput | None, answered: TableDescription | None) -> bool:
    """Return whether a table has a throughput, as far as DynamoDB has said that it gives it.

    Args:
        table: the table as it is.
        throughput: the provisioned capacity; None for on-demand.
        answered: the table as UpdateTable's answer describes it, if it does. An index that is ACTIVE there is not being
            changed: an engine that leaves indexes as they are would be waited for without end.
    """
    rest = throughput_request(table, throughput)
    if rest is None:
        return True
    late = {each["Update"]["IndexName"] for each in rest.body.get("GlobalSecondaryIndexUpdates", ())}
    left = {name for name in late if answered is not None and answered.index_is_ready(name)}
    return rest.body.keys().isdisjoint(("BillingMode", "ProvisionedThroughput")) and late == left


def create_index_request(table: TableSchema, index: IndexSchema) -> Request:
    """Return the UpdateTable request that adds a global index to a table.

    Args:
        table: the table as it is: its definitions are sent once more, with those of the index, and no others.
        index: what is added; on a provisioned table it has its own throughput, or the table's.
    """
    body: dict[str, Any] = {
        "TableName": table.name,
        "AttributeDefinitions": definitions(replace(table, indexes=(*table.indexes, index)).attribute_types),
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
    """Return a request that takes nothing but the table's name."""
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
    created = table.get("CreationDateTime")
    billing: dict[str, Any] = table.get("BillingModeSummary") or {}
    on_demand = billing.get("BillingMode") == "PAY_PER_REQUEST"
    return TableDescription(
        schema=TableSchema(
            name=table["TableName"],
            keys=KeySchema.from_wire(table["KeySchema"], types),
            indexes=tuple(indexes),
            ttl_attribute=time_to_live.get("AttributeName"),
            throughput=None if on_demand else _read_throughput(table),
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
        created_at=None if created is None else datetime.fromtimestamp(float(created), UTC),
        ttl_status=time_to_live.get("TimeToLiveStatus"),
        backfilling=frozenset(
            each["IndexName"]
            for kind in IndexKind
            if kind.has_status
            for each in listed[kind]
            if each.get("Backfilling")
        ),
        is_protected=bool(table.get("DeletionProtectionEnabled")),
        settings=read_settings(table),
        decreases_today=_read_decreases(table),
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
            request, "the answer is not of the form that DynamoDB documents: it describes no table", foreign=True
        ) from error


def is_made(request: Request, answer: Body) -> bool:
    """Return whether CreateTable's answer says that the table can be used at once, as that of local engines does."""
    table = answer.get("TableDescription")
    return table is not None and description_of(request, {"Table": table}).is_active


def merged(schemas: list[TableSchema]) -> TableSchema:
    """Return the table that several models share: their common key, and all their indexes.

    Raises:
        ModelDefinitionError: they disagree on the key, on an index, on the type of a key attribute, on time to live or
            on throughput.
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
    if None not in (one.throughput, other.throughput) and one.throughput != other.throughput:
        return "its throughput"
    setting = one.settings.clash(other.settings)
    return None if setting is None else f"its setting {setting!r}"


def _read_index(index: dict[str, Any], kind: IndexKind, types: Mapping[str, Any]) -> IndexSchema:
    projection = index["Projection"]
    return IndexSchema(
        name=index["IndexName"],
        kind=kind,
        keys=KeySchema.from_wire(index["KeySchema"], types),
        projection=Projection(projection["ProjectionType"], tuple(projection.get("NonKeyAttributes") or ())),
        throughput=_read_throughput(index),
    )


def _read_decreases(table: Mapping[str, Any]) -> dict[str | None, int]:
    """Return how often the table, and each of its global indexes, was lowered today, where that was."""
    found: dict[str | None, int] = {}
    described: list[dict[str, Any]] = [dict(table), *(table.get(IndexKind.GLOBAL.wire_name) or ())]
    for each in described:
        units: dict[str, Any] = each.get("ProvisionedThroughput") or {}
        if count := units.get("NumberOfDecreasesToday", 0):
            found[each.get("IndexName")] = count
    return found


def _read_throughput(described: Mapping[str, Any]) -> Throughput | None:
    units: dict[str, Any] = described.get("ProvisionedThroughput") or {}
    read, write = units.get("ReadCapacityUnits", 0), units.get("WriteCapacityUnits", 0)
    return Throughput(read=read, write=write) if read and write else None
