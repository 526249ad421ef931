"""Tables and indexes: created, described, changed and deleted. Everything is done at once.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
"""

from __future__ import annotations

from collections.abc import Iterable
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
from dynamap_async.simulated.service import required
from dynamap_async.simulated.shapes import INDEX_NAME, NAME, PROJECTION, TABLE_NAME, projected_names
from dynamap_async.simulated.store import Index, Part, Table
from dynamap_async.simulated.vector_search import (
    VECTOR_INDEX,
    VECTOR_INDEX_UPDATES,
    add_vector_index,
    described_vector_index,
)

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

_UNITS = Structure({"ReadCapacityUnits!": number(1), "WriteCapacityUnits!": number(1)})
_ON_DEMAND = Structure({"MaxReadRequestUnits": number(), "MaxWriteRequestUnits": number()})
_WARM = Structure({"ReadUnitsPerSecond": number(1), "WriteUnitsPerSecond": number(1)})
_KEY_ELEMENT = Structure({"AttributeName!": text(1, 255), "KeyType!": choice("HASH", "RANGE")})
_DEFINITIONS = listing(Structure({"AttributeName!": text(1, 255), "AttributeType!": choice("B", "N", "S")}))
_GLOBAL = Structure(
    {
        "IndexName!": INDEX_NAME,
        "KeySchema!": listing(_KEY_ELEMENT, 1, INDEX_PARTITION_ATTRIBUTES + INDEX_SORT_ATTRIBUTES),
        "Projection!": PROJECTION,
        "ProvisionedThroughput": _UNITS,
        "OnDemandThroughput": _ON_DEMAND,
        "WarmThroughput": _WARM,
    }
)
_LOCAL = Structure({"IndexName!": INDEX_NAME, "KeySchema!": listing(_KEY_ELEMENT, 1, 2), "Projection!": PROJECTION})
_BILLING = choice("PROVISIONED", "PAY_PER_REQUEST")
_VIEWS = choice("NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY")
_STREAM = Structure({"StreamEnabled!": flag, "StreamViewType": _VIEWS})
_ENCRYPTION = Structure({"Enabled": flag, "SSEType": choice("AES256", "KMS"), "KMSMasterKeyId": text()})
_CLASS = choice("STANDARD", "STANDARD_INFREQUENT_ACCESS")


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
        "AttributeDefinitions!": _DEFINITIONS,
        "KeySchema!": _key_schema,
        "LocalSecondaryIndexes": listing(_LOCAL, 1),
        "GlobalSecondaryIndexes": listing(_GLOBAL, 1),
        "VectorIndexes": listing(VECTOR_INDEX),
        "BillingMode": _BILLING,
        "ProvisionedThroughput": _UNITS,
        "OnDemandThroughput": _ON_DEMAND,
        "WarmThroughput": _WARM,
        "StreamSpecification": _STREAM,
        "SSESpecification": _ENCRYPTION,
        "Tags": listing(Structure({"Key!": text(1, 128), "Value!": text(0, 256)})),
        "TableClass": _CLASS,
        "DeletionProtectionEnabled": flag,
        "ResourcePolicy": text(),
    }
)
UPDATE_TABLE = Structure(
    {
        "TableName!": TABLE_NAME,
        "AttributeDefinitions": _DEFINITIONS,
        "BillingMode": _BILLING,
        "ProvisionedThroughput": _UNITS,
        "OnDemandThroughput": _ON_DEMAND,
        "WarmThroughput": _WARM,
        "GlobalSecondaryIndexUpdates": listing(
            Structure(
                {
                    "Create": _GLOBAL,
                    "Update": Structure(
                        {
                            "IndexName!": INDEX_NAME,
                            "ProvisionedThroughput": _UNITS,
                            "OnDemandThroughput": _ON_DEMAND,
                            "WarmThroughput": _WARM,
                        }
                    ),
                    "Delete": Structure({"IndexName!": INDEX_NAME}),
                }
            )
        ),
        "VectorIndexUpdates": VECTOR_INDEX_UPDATES,
        "StreamSpecification": _STREAM,
        "SSESpecification": _ENCRYPTION,
        "TableClass": _CLASS,
        "DeletionProtectionEnabled": flag,
    }
)
DESCRIBE_TABLE = Structure({"TableName!": TABLE_NAME})
DELETE_TABLE = DESCRIBE_TABLE
LIST_TABLES = Structure({"ExclusiveStartTableName": text(3, 255, NAME), "Limit": number(1, 100)})
DESCRIBE_LIMITS = Structure({})
DESCRIBE_ENDPOINTS = Structure({})
_NO_UNITS = "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST"
_BOTH_UNITS = "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"


def create_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out CreateTable."""
    name = required(body, "TableName")
    _refuse_units(body, body.get("BillingMode", "PROVISIONED"), body.get("GlobalSecondaryIndexes", ()))
    if body.get("VectorIndexes") == []:
        raise invalid_value("List of VectorIndexes is empty")
    table = new_table(body)
    if name in service.store.tables:
        raise Refused("ResourceInUseException", f"Table already exists: {name}")
    fill_settings(service, table, body)
    service.store.add(table)
    if (stream := body.get("StreamSpecification")) and stream["StreamEnabled"]:
        service.streams.open(table, required(stream, "StreamViewType"))
    return {"TableDescription": description(service, table)}


def _refuse_units(body: dict[str, Any], mode: str, indexes: Iterable[dict[str, Any]]) -> None:
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


def new_table(body: dict[str, Any]) -> Table:
    """Return the table that a request describes, without its settings.

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
    table.build(index)
    return index


def fill_settings(service: Service, table: Table, body: dict[str, Any]) -> None:
    """Keep what DescribeTable says of a new table."""
    mode = body.get("BillingMode", "PROVISIONED")
    settings = table.settings
    settings.update(
        AttributeDefinitions=body["AttributeDefinitions"],
        KeySchema=body["KeySchema"],
        BillingMode=mode,
        ProvisionedThroughput=body.get("ProvisionedThroughput") or {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
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
        "TableStatus": "ACTIVE",
        "CreationDateTime": settings["CreationDateTime"],
        "ProvisionedThroughput": {"NumberOfDecreasesToday": 0, **settings["ProvisionedThroughput"]},
        "TableSizeBytes": table.bytes,
        "ItemCount": len(table.entries),
        "TableArn": arn,
        "TableId": settings["TableId"],
        "DeletionProtectionEnabled": settings["DeletionProtectionEnabled"],
        "WarmThroughput": _warm(settings, settings),
    }
    if "PayPerRequestSince" in settings:
        found["BillingModeSummary"] = {
            "BillingMode": settings["BillingMode"],
            "LastUpdateToPayPerRequestDateTime": settings["PayPerRequestSince"],
        }
    for name in ("OnDemandThroughput", "StreamSpecification", "LatestStreamArn", "LatestStreamLabel", "RestoreSummary"):
        if name in settings:
            found[name] = settings[name]
    if "TableClass" in settings:
        found["TableClassSummary"] = {"TableClass": settings["TableClass"]}
    encryption = settings.get("SSESpecification")
    if encryption is not None and encryption.get("Enabled", True):
        key = encryption.get("KMSMasterKeyId", "alias/aws/dynamodb")
        found["SSEDescription"] = {
            "Status": "ENABLED",
            "SSEType": "KMS",
            "KMSMasterKeyArn": key if key.startswith("arn:") else f"arn:aws:kms:{service.region}:000000000000:{key}",
        }
    for member, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
        indexes = [
            _index_description(index, settings, arn) for index in table.indexes.values() if index.is_global is is_global
        ]
        if indexes:
            found[member] = indexes
    if table.vectors:
        found["VectorIndexes"] = [
            described_vector_index(index, settings["Indexes"][name], arn) for name, index in table.vectors.items()
        ]
    return found


def _index_description(index: Index, settings: dict[str, Any], arn: str) -> dict[str, Any]:
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
        units = given.get("ProvisionedThroughput") or {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
        found["IndexStatus"] = index.status
        found["ProvisionedThroughput"] = {"NumberOfDecreasesToday": 0, **units}
        found["WarmThroughput"] = _warm(given, settings)
        if "OnDemandThroughput" in given:
            found["OnDemandThroughput"] = given["OnDemandThroughput"]
    return found


def _warm(given: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    units: dict[str, int] = given.get("ProvisionedThroughput") or {}
    on_demand = settings["BillingMode"] == "PAY_PER_REQUEST"
    return {
        "ReadUnitsPerSecond": WARM_READ_UNITS if on_demand else units.get("ReadCapacityUnits", 0),
        "WriteUnitsPerSecond": WARM_WRITE_UNITS if on_demand else units.get("WriteCapacityUnits", 0),
        **(given.get("WarmThroughput") or {}),
        "Status": "ACTIVE",
    }


def describe_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeTable."""
    return {"Table": description(service, service.described(body["TableName"]))}


def delete_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DeleteTable."""
    table = service.described(body["TableName"])
    if table.settings["DeletionProtectionEnabled"]:
        raise invalid(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    service.streams.close(table)
    service.store.drop(table.name)
    found = description(service, table)
    kept = ("TableName", "ProvisionedThroughput", "TableSizeBytes", "ItemCount", "TableArn", "TableId")
    return {"TableDescription": {**{name: found[name] for name in kept}, "TableStatus": "DELETING"}}


def list_tables(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListTables."""
    start, limit = body.get("ExclusiveStartTableName", ""), int(body.get("Limit", 100))
    names = sorted(name for name in service.store.tables if name > start)
    return {
        "TableNames": names[:limit],
        "LastEvaluatedTableName": names[limit - 1] if len(names) > limit else None,
    }


def update_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out UpdateTable."""
    table = service.described(body["TableName"])
    settings = table.settings
    changes = {name: value for name, value in body.items() if name not in {"TableName", "AttributeDefinitions"}}
    if all(value is None or value == [] for value in changes.values()):
        raise invalid(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        )
    vectors: list[dict[str, Any]] = body.get("VectorIndexUpdates") or []
    others = [each for each in body.get("GlobalSecondaryIndexUpdates") or () if not each.get("Update")]
    if vectors and len(vectors) + len(others) > 1:
        raise Refused(
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        )
    service.keep_settings(table)
    _change_units(service, table, body)
    for update in body.get("GlobalSecondaryIndexUpdates") or ():
        _change_index(table, update, body.get("AttributeDefinitions"))
    for update in vectors:
        _change_vector_index(table, update, body.get("AttributeDefinitions"))
    stream = body.get("StreamSpecification")
    if stream is not None:
        _change_stream(service, table, stream)
    for name in ("OnDemandThroughput", "WarmThroughput", "TableClass", "SSESpecification", "DeletionProtectionEnabled"):
        if body.get(name) is not None:
            both = isinstance(settings.get(name), dict) and name in {"OnDemandThroughput", "WarmThroughput"}
            settings[name] = {**settings[name], **body[name]} if both else body[name]
    if service.throttle is not None:
        service.throttle.follow(table)
    return {"TableDescription": description(service, table)}


def _change_units(service: Service, table: Table, body: dict[str, Any]) -> None:
    settings, mode, units = table.settings, body.get("BillingMode"), body.get("ProvisionedThroughput")
    if mode == "PAY_PER_REQUEST" or (mode is None and settings["BillingMode"] == "PAY_PER_REQUEST"):
        if units is not None:
            raise invalid_value(_NO_UNITS)
        if mode is not None and settings["BillingMode"] != mode:
            settings["BillingMode"] = mode
            settings["PayPerRequestSince"] = service.clock()
            settings["ProvisionedThroughput"] = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
            settings["Indexes"] = {
                name: {member: each for member, each in given.items() if member != "ProvisionedThroughput"}
                for name, given in settings["Indexes"].items()
            }
        return
    if mode == "PROVISIONED" and settings["BillingMode"] != mode:
        if table.vectors:
            raise invalid_value("Tables with vector indexes must be in PAY_PER_REQUEST mode")
        updates = [each["Update"] for each in body.get("GlobalSecondaryIndexUpdates") or () if each.get("Update")]
        named = {each["IndexName"] for each in updates if each.get("ProvisionedThroughput")}
        if units is None:
            raise invalid_value(_BOTH_UNITS)
        for index in table.indexes.values():
            if index.is_global and index.name not in named:
                raise invalid_value(f"ProvisionedThroughput must be specified for index: {index.name}")
        settings["BillingMode"] = mode
        settings.pop("OnDemandThroughput", None)
    elif units is not None and {**settings["ProvisionedThroughput"]} == units:
        raise invalid(
            "The provisioned throughput for the table will not change. The requested value equals the current value. "
            f"Current ReadCapacityUnits provisioned for the table: {units['ReadCapacityUnits']}. Requested "
            f"ReadCapacityUnits: {units['ReadCapacityUnits']}. Current WriteCapacityUnits provisioned for the table: "
            f"{units['WriteCapacityUnits']}. Requested WriteCapacityUnits: {units['WriteCapacityUnits']}. Refer to the "
            "Amazon DynamoDB Developer Guide for current limits and how to request higher limits."
        )
    if units is not None:
        settings["ProvisionedThroughput"] = units


def _change_index(table: Table, update: dict[str, Any], definitions: list[dict[str, str]] | None) -> None:
    given = {kind: each for kind, each in update.items() if each is not None}
    if len(given) != 1:
        raise invalid_value("One of GlobalSecondaryIndexUpdate Create, Update or Delete must be specified")
    [(kind, each)] = given.items()
    settings, name = table.settings, each["IndexName"]
    if kind == "Create":
        known = _definitions(settings, definitions)
        if name in table.indexes:
            raise invalid(f"Attempting to create an index which already exists: {name}")
        if settings["BillingMode"] == "PROVISIONED" and each.get("ProvisionedThroughput") is None:
            raise invalid_value(f"ProvisionedThroughput must be specified for index: {name}")
        if settings["BillingMode"] != "PROVISIONED" and each.get("ProvisionedThroughput") is not None:
            raise invalid_value(_NO_UNITS)
        add_index(table, each, {key: one["AttributeType"] for key, one in known.items()}, is_global=True)
        settings["Indexes"] = {**settings["Indexes"], name: each}
        _keep_used_definitions(table, known)
        if table.journal is not None:
            table.journal.note(partial(table.drop, name))
        return
    index = table.indexes.get(name)
    if index is None or not index.is_global:
        raise Refused("ResourceNotFoundException", f"Requested resource not found: Index {name} not found")
    if kind == "Delete":
        table.drop(name)
        settings["Indexes"] = {other: one for other, one in settings["Indexes"].items() if other != name}
        _keep_used_definitions(table, _definitions(settings, None))
        if table.journal is not None:
            table.journal.note(partial(table.build, index))
        return
    changed = {member: value for member, value in each.items() if member != "IndexName" and value is not None}
    settings["Indexes"] = {**settings["Indexes"], name: {**settings["Indexes"][name], **changed}}


def _definitions(settings: dict[str, Any], more: list[dict[str, str]] | None) -> dict[str, dict[str, str]]:
    """Return the definitions of a table's attributes, and those of a request.

    Raises:
        Refused: they define an attribute with two types.
    """
    known = {one["AttributeName"]: one for one in settings["AttributeDefinitions"]}
    for one in more or ():
        if known.setdefault(one["AttributeName"], one) != one:
            raise invalid_value(f"Attribute {one['AttributeName']} is defined with another type already")
    return known


def _change_vector_index(table: Table, update: dict[str, Any], definitions: list[dict[str, str]] | None) -> None:
    given = {kind: each for kind, each in update.items() if each is not None}
    if not given:
        raise invalid_value("One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null")
    if len(given) > 1:
        raise invalid_value("Only one vector index action is allowed per VectorIndexUpdate object")
    [(kind, each)] = given.items()
    settings, name = table.settings, each["IndexName"]
    if kind == "Create":
        if name in table.vectors:
            raise invalid("Attempting to create an index which already exists")
        known = _definitions(settings, definitions)
        types = {key: one["AttributeType"] for key, one in known.items()}
        add_vector_index(table, each, types, settings["BillingMode"])
        settings["Indexes"] = {**settings["Indexes"], name: each}
        undo = partial(table.drop, name)
    else:
        index = table.vectors.get(name)
        if index is None:
            raise Refused(
                "ResourceNotFoundException", f"Requested resource not found: Index {name} for table {table.name}"
            )
        table.drop(name)
        settings["Indexes"] = {other: one for other, one in settings["Indexes"].items() if other != name}
        known, undo = _definitions(settings, None), partial(table.build_vectors, index)
    _keep_used_definitions(table, known)
    if table.journal is not None:
        table.journal.note(undo)


def _keep_used_definitions(table: Table, known: dict[str, dict[str, str]]) -> None:
    used = table.named
    table.settings["AttributeDefinitions"] = [one for name, one in known.items() if name in used]


def _change_stream(service: Service, table: Table, stream: dict[str, Any]) -> None:
    is_on = "StreamSpecification" in table.settings
    if stream["StreamEnabled"]:
        if is_on:
            raise invalid_value("Table already has an enabled stream: TableName: " + table.name)
        service.streams.open(table, required(stream, "StreamViewType"))
    elif not is_on:
        raise invalid_value("Table has no stream to disable: TableName: " + table.name)
    else:
        service.streams.close(table)


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
