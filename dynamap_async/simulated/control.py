"""Tables and indexes: created, described, listed and deleted.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dynamap_async.limits import (
    GLOBAL_INDEXES,
    INDEX_PARTITION_ATTRIBUTES,
    INDEX_SORT_ATTRIBUTES,
    LOCAL_INDEXES,
    WARM_READ_UNITS,
    WARM_WRITE_UNITS,
)
from dynamap_async.simulated.constraints import Structure, choice, flag, listing, number, text
from dynamap_async.simulated.errors import Refused, invalid, invalid_value
from dynamap_async.simulated.keys import fits
from dynamap_async.simulated.service import ACCOUNT, required
from dynamap_async.simulated.shapes import INDEX_NAME, NAME, PROJECTION, TABLE_NAME, projected_names
from dynamap_async.simulated.states import in_use
from dynamap_async.simulated.store import Index, Part, Table
from dynamap_async.simulated.values import Item, admit_item
from dynamap_async.simulated.vector_index import VectorIndex
from dynamap_async.simulated.vector_search import VECTOR_INDEX, add_vector_index, described_vector_index

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

UNITS = Structure({"ReadCapacityUnits!": number(1), "WriteCapacityUnits!": number(1)})
ON_DEMAND = Structure({"MaxReadRequestUnits": number(), "MaxWriteRequestUnits": number()})
WARM = Structure({"ReadUnitsPerSecond": number(1), "WriteUnitsPerSecond": number(1)})
_KEY_ELEMENT = Structure({"AttributeName!": text(1, 255), "KeyType!": choice("HASH", "RANGE")})
DEFINITIONS = listing(Structure({"AttributeName!": text(1, 255), "AttributeType!": choice("B", "N", "S")}))
GLOBAL = Structure(
    {
        "IndexName!": INDEX_NAME,
        "KeySchema!": listing(_KEY_ELEMENT, 1, INDEX_PARTITION_ATTRIBUTES + INDEX_SORT_ATTRIBUTES),
        "Projection!": PROJECTION,
        "ProvisionedThroughput": UNITS,
        "OnDemandThroughput": ON_DEMAND,
        "WarmThroughput": WARM,
    }
)
LOCAL = Structure({"IndexName!": INDEX_NAME, "KeySchema!": listing(_KEY_ELEMENT, 1, 2), "Projection!": PROJECTION})
BILLING = choice("PROVISIONED", "PAY_PER_REQUEST")
_VIEWS = choice("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")
STREAM = Structure({"StreamEnabled!": flag, "StreamViewType": _VIEWS})
ENCRYPTION = Structure({"Enabled": flag, "SSEType": choice("AES256", "KMS"), "KMSMasterKeyId": text()})
TABLE_CLASS = choice("STANDARD", "STANDARD_INFREQUENT_ACCESS")


def _key_schema(value: Any, path: str, found: list[str]) -> None:
    if value.__class__ is list and len(value) > 2:
        given: list[dict[str, str]] = value
        elements = ", ".join(
            f"KeySchemaElement(attributeName={each.get('AttributeName')}, keyType={each.get('KeyType')})"
            for each in given
        )
        found.append(
            f"Value '[{elements}]' at '{path}' failed to satisfy constraint: "
            "Member must have length less than or equal to 2"
        )
        return
    listing(_KEY_ELEMENT, 1)(value, path, found)


CREATE_TABLE = Structure(
    {
        "TableName": text(3, 255, NAME),
        "AttributeDefinitions!": DEFINITIONS,
        "KeySchema!": _key_schema,
        "LocalSecondaryIndexes": listing(LOCAL, 1),
        "GlobalSecondaryIndexes": listing(GLOBAL, 1),
        "VectorIndexes": listing(VECTOR_INDEX),
        "BillingMode": BILLING,
        "ProvisionedThroughput": UNITS,
        "OnDemandThroughput": ON_DEMAND,
        "WarmThroughput": WARM,
        "StreamSpecification": STREAM,
        "SSESpecification": ENCRYPTION,
        "Tags": listing(Structure({"Key!": text(1, 128), "Value!": text(0, 256)})),
        "TableClass": TABLE_CLASS,
        "DeletionProtectionEnabled": flag,
        "ResourcePolicy": text(),
    }
)
DESCRIBE_TABLE = Structure({"TableName!": TABLE_NAME})
DELETE_TABLE = DESCRIBE_TABLE
LIST_TABLES = Structure({"ExclusiveStartTableName": text(3, 255, NAME), "Limit": number(1, 100)})
DESCRIBE_LIMITS = Structure({})
DESCRIBE_ENDPOINTS = Structure({})
_NO_UNITS = "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
_BOTH_UNITS = "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"


def create_table(service: Service, body: dict[str, Any], *, kind: str = "create_table") -> dict[str, Any]:
    """Carry out CreateTable.

    Args:
        service: the service.
        body: the request.
        kind: the duration that it takes.
    """
    name = required(body, "TableName")
    refuse_units(body, body.get("BillingMode", "PROVISIONED"), body.get("GlobalSecondaryIndexes") or ())
    if body.get("VectorIndexes") == []:
        raise invalid_value("List of VectorIndexes is empty")
    table = new_table(body)
    if name in service.store.tables:
        raise Refused("ResourceInUseException", f"Table already exists: {name}")
    service.states.refuse_many()
    fill_settings(service, table, body)
    service.states.create(kind, table)
    if (stream := body.get("StreamSpecification")) and stream["StreamEnabled"]:
        service.streams.open(table, required(stream, "StreamViewType"))
    return {"TableDescription": description(service, table)}


def refuse_units(body: dict[str, Any], mode: str, indexes: Iterable[dict[str, Any]]) -> None:
    """Refuse units of what is on demand, and maxima, or no units, of what is provisioned.

    Args:
        body: what a table is to have.
        mode: its billing mode.
        indexes: what its global indexes are to have.

    Raises:
        Refused: it is wrong.
    """
    indexes = list(indexes)
    if mode != "PAY_PER_REQUEST" and any(part.get("OnDemandThroughput") for part in (body, *indexes)):
        # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode-max-throughput.html
        raise invalid_value("OnDemandThroughput can only be specified when BillingMode is PAY_PER_REQUEST")
    given = body.get("ProvisionedThroughput")
    if mode == "PAY_PER_REQUEST":
        if given is not None:
            raise invalid_value(_NO_UNITS)
        for index in indexes:
            if index.get("ProvisionedThroughput") is not None:
                raise invalid_value(
                    "ProvisionedThroughput should not be specified for index: "
                    f"{index['IndexName']} when BillingMode is PAY_PER_REQUEST"
                )
        return
    if given is None:
        raise invalid_value(_BOTH_UNITS)
    for index in indexes:
        if index.get("ProvisionedThroughput") is None:
            raise invalid_value(f"ProvisionedThroughput must be specified for index: {index['IndexName']}")


def new_table(body: dict[str, Any], items: Iterable[Item] = ()) -> Table:
    """Return the table that a request describes, without its settings.

    Args:
        body: the request.
        items: those of a table of the same key.

    Raises:
        Refused: its key or an index is wrong.
    """
    definitions = {each["AttributeName"]: each["AttributeType"] for each in body["AttributeDefinitions"]}
    if len(definitions) != len(body["AttributeDefinitions"]):
        names = [each["AttributeName"] for each in body["AttributeDefinitions"]]
        twice = next(name for name in names if names.count(name) > 1)
        raise invalid_value(f"Cannot have duplicate attribute in AttributeDefinitions: {twice}")
    hashes, ranges = _parts(body["KeySchema"], definitions, most=1)
    table = Table(hashes, ranges, name=body["TableName"])
    for item in items:
        size = admit_item(item)
        table.replace(table.position(item), item, size)
    local, global_ = body.get("LocalSecondaryIndexes") or (), body.get("GlobalSecondaryIndexes") or ()
    if len(local) > LOCAL_INDEXES:
        raise invalid_value("Number of LocalSecondaryIndexes exceeds per-table limit of 5")
    if len(global_) > GLOBAL_INDEXES:
        raise invalid_value("GlobalSecondaryIndex count exceeds the per-table limit of 20")
    for each in local:
        if not table.range:
            raise invalid_value(
                "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex"
            )
        add_index(table, each, definitions, is_global=False)
    for each in global_:
        add_index(table, each, definitions, is_global=True)
    for each in body.get("VectorIndexes") or ():
        add_vector_index(table, each, definitions, body.get("BillingMode", "PROVISIONED"))
    if unused := set(definitions) - table.named:
        if not table.indexes:
            raise invalid_value(
                "Number of attributes in KeySchema does not exactly match number of attributes defined in "
                "AttributeDefinitions"
            )
        raise invalid_value(
            f"Some AttributeDefinitions are not used. AttributeDefinitions: [{', '.join(definitions)}], "
            f"keys used: [{', '.join(sorted(set(definitions) - unused))}]"
        )
    return table


def _parts(
    schema: list[dict[str, str]], definitions: dict[str, str], *, most: int
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Return the attributes of a partition key and of a sort key.

    Raises:
        Refused: they are not defined, or not in order.
    """
    names = [each["AttributeName"] for each in schema]
    if undefined := [name for name in names if name not in definitions]:
        raise invalid_value(
            f"Some index key attributes are not defined in AttributeDefinitions. Keys: [{', '.join(undefined)}], "
            f"AttributeDefinitions: [{', '.join(definitions)}]"
        )
    if len(set(names)) != len(names):
        raise invalid("Invalid KeySchema: Some index key attribute have no definition")
    kinds = [each["KeyType"] for each in schema]
    if kinds[0] != "HASH":
        raise invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
    if kinds != sorted(kinds):
        raise invalid("Invalid KeySchema: The HASH key types do not come first")
    if kinds.count("HASH") > most or kinds.count("RANGE") > most:
        raise invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
    found = [Part(name, definitions[name]) for name in names]
    return tuple(found[: kinds.count("HASH")]), tuple(found[kinds.count("HASH") :])


def add_index(table: Table, given: dict[str, Any], definitions: dict[str, str], *, is_global: bool) -> Index:
    """Add an index that a request describes to a table, and put the items in it that fit.

    Raises:
        Refused: it is wrong.
    """
    name = given["IndexName"]
    if name in table.indexes:
        raise invalid_value(f"Duplicate index name: {name}")
    hashes, ranges = _parts(given["KeySchema"], definitions, most=INDEX_PARTITION_ATTRIBUTES if is_global else 1)
    for part in given["KeySchema"]:
        key = part["AttributeName"]
        for vectors in table.vectors.values():
            if vectors.attribute == key:
                raise invalid_value(
                    "Attributes cannot be redefined. Please check that your attribute has the same type as previously "
                    f"defined. Existing schema: VectorIndexSchema:[VectorAttribute: key{{{key}:L:{vectors.dimensions}}}"
                    f"] New schema: Schema:[SchemaElement: key{{{key}:{definitions[key]}:{part['KeyType']}}}]"
                )
    if not is_global:
        if hashes != table.hash:
            raise invalid_value(
                f"Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. "
                f"index hash key: {hashes[0].name}, table hash key: {table.hash[0].name}"
            )
        if not ranges:
            raise invalid_value(f"Index KeySchema does not have a range key for index: {name}")
    attributes = projected_names(given["Projection"], (part.name for part in (*table.parts, *hashes, *ranges)))
    kind = given["Projection"]["ProjectionType"]
    index = Index(hashes, ranges, name=name, is_global=is_global, projection=kind, attributes=attributes)
    table.build(index, fits)
    return index


def fill_settings(service: Service, table: Table, body: dict[str, Any]) -> None:
    """Keep what DescribeTable says of a new table."""
    mode = body.get("BillingMode", "PROVISIONED")
    settings = table.settings
    settings.update(
        AttributeDefinitions=body["AttributeDefinitions"],
        KeySchema=body["KeySchema"],
        BillingMode=mode,
        ProvisionedThroughput=body.get("ProvisionedThroughput"),
        CreationDateTime=service.clock(),
        TableId=str(uuid4()),
        DeletionProtectionEnabled=body.get("DeletionProtectionEnabled", False),
        Indexes={},
        Tags={each["Key"]: each["Value"] for each in body.get("Tags") or ()},
    )
    for name in ("OnDemandThroughput", "WarmThroughput", "TableClass", "SSESpecification", "ResourcePolicy"):
        if body.get(name) is not None:
            settings[name] = body[name]
    if mode == "PAY_PER_REQUEST":
        settings["PayPerRequestSince"] = service.clock()
    for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes", "VectorIndexes"):
        settings["Indexes"].update((each["IndexName"], each) for each in body.get(member) or ())


def index_requests(table: Table) -> dict[str, list[dict[str, Any]]]:
    """Return what a CreateTable says of the indexes of a table."""
    given = table.settings["Indexes"]
    found = {
        member: [given[index.name] for index in table.indexes.values() if index.is_global is is_global]
        for member, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True))
    }
    found["VectorIndexes"] = [given[name] for name in table.vectors]
    return {member: requests for member, requests in found.items() if requests}


def description(service: Service, table: Table) -> dict[str, Any]:
    """Return what DescribeTable says of a table."""
    settings = table.settings
    arn = service.arn(table.name)
    found: dict[str, Any] = {
        "AttributeDefinitions": settings["AttributeDefinitions"],
        "TableName": table.name,
        "KeySchema": settings["KeySchema"],
        "TableStatus": table.status,
        "CreationDateTime": settings["CreationDateTime"],
        "ProvisionedThroughput": _units(service, settings),
        "TableSizeBytes": table.bytes,
        "ItemCount": len(table.entries),
        "TableArn": arn,
        "TableId": settings["TableId"],
        "DeletionProtectionEnabled": settings["DeletionProtectionEnabled"],
        "WarmThroughput": {**warm(settings, settings), "Status": "ACTIVE"},
    }
    if "PayPerRequestSince" in settings:
        found["BillingModeSummary"] = {
            "BillingMode": settings["BillingMode"],
            "LastUpdateToPayPerRequestDateTime": settings["PayPerRequestSince"],
        }
    for name in ("OnDemandThroughput", "StreamSpecification", "LatestStreamArn", "LatestStreamLabel"):
        if settings.get(name):
            found[name] = settings[name]
    if "RestoreSummary" in settings:
        found["RestoreSummary"] = {**settings["RestoreSummary"], "RestoreInProgress": table.status == "CREATING"}
    if settings.get("Replicas"):
        found["GlobalTableVersion"] = "2019.11.21"
        found["Replicas"] = [
            {"RegionName": region, "ReplicaStatus": status} for region, status in settings["Replicas"].items()
        ]
    if "TableClass" in settings:
        found["TableClassSummary"] = {"TableClass": settings["TableClass"]}
    encryption = settings.get("SSESpecification")
    if encryption is not None and encryption.get("Enabled", True):
        key = encryption.get("KMSMasterKeyId", "alias/aws/dynamodb")
        found["SSEDescription"] = {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": key if key.startswith("arn:") else f"arn:aws:kms:{service.region}:{ACCOUNT}:{key}",
        }
    for member, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
        indexes = [
            _index_description(service, index, settings, arn)
            for index in table.indexes.values()
            if index.is_global is is_global
        ]
        if indexes:
            found[member] = indexes
    if table.vectors:
        found["VectorIndexes"] = [
            described_vector_index(index, settings["Indexes"][name], arn) | _status(index)
            for name, index in table.vectors.items()
        ]
    return found


def _status(index: Index | VectorIndex) -> dict[str, Any]:
    if index.status in {"ALLOCATING", "BACKFILLING"}:
        return {"IndexStatus": "CREATING", "Backfilling": index.status == "BACKFILLING"}
    return {"IndexStatus": index.status}


def _units(service: Service, settings: dict[str, Any], index: str = "") -> dict[str, int]:
    given = settings["Indexes"][index] if index else settings
    units: dict[str, int] = given.get("ProvisionedThroughput") or {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
    return {"NumberOfDecreasesToday": len(decreases_today(service, settings, index)), **units}


def decreases_today(service: Service, settings: dict[str, Any], index: str = "") -> list[float]:
    """Return the times at which the throughput of an index, or of its table, was lowered on this UTC day."""
    decreases: list[float] = settings.get("Decreases", {}).get(index) or []
    today = datetime.fromtimestamp(service.clock(), UTC).date()
    return [at for at in decreases if datetime.fromtimestamp(at, UTC).date() == today]


def _index_description(service: Service, index: Index, settings: dict[str, Any], arn: str) -> dict[str, Any]:
    given = settings["Indexes"][index.name]
    found: dict[str, Any] = {
        "IndexName": index.name,
        "KeySchema": given["KeySchema"],
        "Projection": given["Projection"],
        "IndexSizeBytes": index.bytes,
        "ItemCount": len(index.entries),
        "IndexArn": f"{arn}/index/{index.name}",
    }
    if index.is_global:
        found |= _status(index)
        found["ProvisionedThroughput"] = _units(service, settings, index.name)
        found["WarmThroughput"] = {**warm(given, settings), "Status": "ACTIVE"}
        if given.get("OnDemandThroughput"):
            found["OnDemandThroughput"] = given["OnDemandThroughput"]
    return found


def warm(given: dict[str, Any], settings: dict[str, Any]) -> dict[str, int]:
    """Return the throughput that a table or an index can serve at once.

    Args:
        given: what the table or the index has.
        settings: those of the table.
    """
    units: dict[str, int] = given.get("ProvisionedThroughput") or {}
    on_demand = settings["BillingMode"] == "PAY_PER_REQUEST"
    return {
        "ReadUnitsPerSecond": WARM_READ_UNITS if on_demand else units.get("ReadCapacityUnits", 0),
        "WriteUnitsPerSecond": WARM_WRITE_UNITS if on_demand else units.get("WriteCapacityUnits", 0),
        **(given.get("WarmThroughput") or {}),
    }


def describe_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeTable."""
    table = service.described(body["TableName"])
    return {"Table": service.states.shown(table, partial(description, service, table))}


def delete_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DeleteTable."""
    table = service.described(body["TableName"])
    if table.status != "DELETING":
        service.states.refuse_busy(table)
        refuse_replicating(table)
        if table.settings["DeletionProtectionEnabled"]:
            raise invalid(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        for index in table.all_indexes:
            if index.status != "ACTIVE":
                raise index_in_use(table, index.name)
        service.states.refuse_many()
        before = description(service, table)
        service.streams.close(table)
        service.states.delete(table, before)
    found = description(service, table)
    kept = ("TableName", "ProvisionedThroughput", "TableSizeBytes", "ItemCount", "TableArn", "TableId")
    return {"TableDescription": {**{name: found[name] for name in kept}, "TableStatus": "DELETING"}}


def refuse_replicating(table: Table) -> None:
    """Refuse a change of a table while a replica is made or deleted.

    Raises:
        Refused: one is.
    """
    if any(status != "ACTIVE" for status in table.settings.get("Replicas", {}).values()):
        raise in_use(f"A replica is being changed: {table.name}")


def index_in_use(table: Table, name: str) -> Refused:
    """Return the refusal to change an index, or its table, that is not ready for it."""
    return in_use(f"Index is being changed: {name} of {table.name}")


def list_tables(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListTables."""
    start, limit = body.get("ExclusiveStartTableName", ""), int(body.get("Limit", 100))
    names = sorted(name for name in service.store.tables if name > start)
    return {
        "TableNames": names[:limit],
        "LastEvaluatedTableName": names[limit - 1] if len(names) > limit else None,
    }


def describe_limits(service: Service, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001 - as all operations
    """Carry out DescribeLimits."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def describe_endpoints(service: Service, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001 - as all operations
    """Carry out DescribeEndpoints."""
    return {"Endpoints": [{"Address": f"dynamodb.{service.region}.amazonaws.com", "CachePeriodInMinutes": 1440}]}
