"""CreateTable, UpdateTable and DescribeTable."""

from typing import Any

from benchmarks.simulated.buckets import Capacity, Clock
from benchmarks.simulated.faults import ServiceError
from benchmarks.simulated.keys import KeySchema
from benchmarks.simulated.tables import Index, Table

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/"


def created(body: dict[str, Any], clock: Clock, burst_seconds: float) -> Table:
    """Return the table that a CreateTable asks for; it is there at once."""
    on_demand = body.get("BillingMode") == "PAY_PER_REQUEST"
    name = body["TableName"]
    types = {each["AttributeName"]: each["AttributeType"] for each in body["AttributeDefinitions"]}

    def capacity(arn: str, what: Any, given: dict[str, Any]) -> Capacity:
        provisioned = None if on_demand else given["ProvisionedThroughput"]
        most = given.get("OnDemandThroughput", {})
        return Capacity.of(
            arn,
            what,
            provisioned and float(provisioned["ReadCapacityUnits"]),
            provisioned and float(provisioned["WriteCapacityUnits"]),
            clock(),
            most_read=max(0, most.get("MaxReadRequestUnits", 0)),
            most_write=max(0, most.get("MaxWriteRequestUnits", 0)),
            burst_seconds=burst_seconds,
        )

    schema = _schema(body, types)
    table = Table(name, body, schema, capacity(ARN + name, "Table", body), on_demand)
    for each in body.get("GlobalSecondaryIndexes", ()):
        own = capacity(f"{ARN}{name}/index/{each['IndexName']}", "Index", each)
        table.indexes[each["IndexName"]] = _index(each, types, schema, own)
    for each in body.get("LocalSecondaryIndexes", ()):
        table.indexes[each["IndexName"]] = _index(each, types, schema, None)
    return table


def _schema(given: dict[str, Any], types: dict[str, str]) -> KeySchema:
    return KeySchema(tuple(each["AttributeName"] for each in given["KeySchema"]), types)


def _index(given: dict[str, Any], types: dict[str, str], table: KeySchema, capacity: Capacity | None) -> Index:
    schema = _schema(given, types)
    projection = given["Projection"]
    held = None
    if projection["ProjectionType"] != "ALL":
        held = frozenset([*schema.names, *table.names, *projection.get("NonKeyAttributes", ())])
    return Index(given["IndexName"], schema, held, capacity)


def described(table: Table) -> dict[str, Any]:
    """Return what DescribeTable tells."""
    told = {
        **{name: value for name, value in table.definition.items() if name not in ("BillingMode", "Tags")},
        "TableStatus": "ACTIVE",
        "TableArn": table.capacity.arn,
        "ItemCount": len(table),
        "ProvisionedThroughput": _throughput(table.capacity, on_demand=table.on_demand),
    }
    if table.on_demand:
        told["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST"}
    if "GlobalSecondaryIndexes" in told:
        told["GlobalSecondaryIndexes"] = [
            {**each, "IndexStatus": "ACTIVE", "ProvisionedThroughput": _throughput(own, on_demand=table.on_demand)}
            for each in told["GlobalSecondaryIndexes"]
            if (own := table.indexes[each["IndexName"]].capacity) is not None
        ]
    return told


def _throughput(capacity: Capacity, *, on_demand: bool) -> dict[str, Any]:
    read, write = (0, 0) if on_demand else (int(capacity.read.bucket.rate), int(capacity.write.bucket.rate))
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write, "NumberOfDecreasesToday": 0}


def update(table: Table, body: dict[str, Any], clock: Clock) -> None:
    """Change the provisioned units of a table and of its global indexes; they hold at once."""
    if table.on_demand:
        raise ServiceError("ValidationException", "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified")
    if "ProvisionedThroughput" in body:
        _provision(table.capacity, body["ProvisionedThroughput"], clock)
    for each in body.get("GlobalSecondaryIndexUpdates", ()):
        changed = each["Update"]
        own = table.indexes[changed["IndexName"]].capacity
        assert own is not None
        _provision(own, changed["ProvisionedThroughput"], clock)


def _provision(capacity: Capacity, given: dict[str, int], clock: Clock) -> None:
    capacity.provision(given["ReadCapacityUnits"], given["WriteCapacityUnits"], clock())
