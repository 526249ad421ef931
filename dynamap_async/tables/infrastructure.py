"""Declared tables as other tools write them: CloudFormation, CDK, Terraform, and the answer of DescribeTable. Pure.

It says what models declare, and nothing of what they are silent about, such as backups. CloudFormation has a resource
of its own for tables with replicas, which is not written: there, replicas are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast

from dynamap_async.schema import (
    IndexKind,
    IndexSchema,
    InsightsMode,
    KeySchema,
    OnDemand,
    Projection,
    TableSchema,
    Throughput,
    check_schema,
)
from dynamap_async.source_text import literal
from dynamap_async.tables.requests import create_request
from dynamap_async.tables.setting_requests import insights_mode_to_wire, recovery_to_wire

_INDENT: Final = "  "
_SHORT: Final = 72
"""The most characters that a property takes in one line."""
_CONSTRUCT: Final = """from aws_cdk import NAMES
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct


class Tables(Construct):
    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)"""
_BLOCKS: Final = {"OnDemandThroughput": "on_demand_throughput", "WarmThroughput": "warm_throughput"}
_ARGUMENTS: Final = {
    "MaxReadRequestUnits": "max_read_request_units",
    "MaxWriteRequestUnits": "max_write_request_units",
    "ReadUnitsPerSecond": "read_units_per_second",
    "WriteUnitsPerSecond": "write_units_per_second",
}
_SEVERAL: Final = "several key attributes: hashicorp/aws 6.29 or later"


def to_cloudformation(*tables: TableSchema) -> str:
    """Return a CloudFormation template, as JSON, that makes tables; deleting the stack leaves them there.

    It has no replicas in other regions.

    Args:
        tables: the tables; see ``declared_tables``.
    """
    resources: dict[str, Any] = {}
    for table in tables:
        name = _logical_name(table.name, resources)
        kept = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
        resources[name] = {"Type": "AWS::DynamoDB::Table", **kept, "Properties": _properties(table)}
    return json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}, indent=2, ensure_ascii=False)


def to_cdk(*tables: TableSchema) -> str:
    """Return a module of Python with a construct of AWS CDK 2 that makes tables; deleting the stack leaves them there.

    It has no replicas in other regions.

    Args:
        tables: the tables; see ``declared_tables``.
    """
    taken: set[str] = set()
    lines: list[str] = []
    for table in tables:
        name = _logical_name(table.name, taken)
        taken.add(name)
        members = [f"{_python_name(key)}={_python(key, value, 3)}," for key, value in _properties(table).items()]
        lines += [
            "        table = dynamodb.CfnTable(",
            *(f"            {line}" for line in ("self,", f"{literal(name)},", *members)),
            "        )",
            "        table.apply_removal_policy(RemovalPolicy.RETAIN)",
        ]
    names = "CfnTag, RemovalPolicy" if any(table.settings.tags for table in tables) else "RemovalPolicy"
    return "\n".join([_CONSTRUCT.replace("NAMES", names), *lines])


def to_terraform(*tables: TableSchema) -> str:
    """Return resources of Terraform's AWS provider that make tables.

    An index whose key has several attributes needs version 6.29 of the provider, and a comment in the text says so.

    Args:
        tables: the tables; see ``declared_tables``.
    """
    names: dict[str, Any] = {}
    blocks: list[str] = []
    for table in tables:
        name = _resource_name(table.name, names)
        names[name] = table
        blocks.append("\n".join(_resource(name, table)))
        insights = {} if table.settings.insights is None else table.settings.insights.modes()
        blocks += ["\n".join(_insights(name, *each)) for each in insights.items() if each[1] != "off"]
    return "\n\n".join(blocks)


def to_description(table: TableSchema) -> dict[str, Any]:
    """Return the answer that DescribeTable would give of a table that is as declared, and empty.

    Args:
        table: the table; see ``declared_tables``.
    """
    body = _body(table)
    mode = body.pop("BillingMode")
    body.pop("Tags", None)  # which have a call of their own
    if "TableClass" in body:
        body["TableClassSummary"] = {"TableClass": body.pop("TableClass")}
    if "SSESpecification" in body:
        key = body.pop("SSESpecification").get("KMSMasterKeyId")
        named = {} if key is None else {"KMSMasterKeyArn": key}
        body["SSEDescription"] = {"Status": "ENABLED", "SSEType": "KMS", **named}
    if table.settings.replicas:
        body["Replicas"] = [{"RegionName": each, "ReplicaStatus": "ACTIVE"} for each in sorted(table.settings.replicas)]
    for kind in IndexKind:
        for index in body.get(kind.wire_name, ()):
            index.update({"IndexStatus": "ACTIVE"} if kind.has_status else {}, ItemCount=0, IndexSizeBytes=0)
    described = {**body, "TableStatus": "ACTIVE", "BillingModeSummary": {"BillingMode": mode}}
    return {"Table": {**described, "ItemCount": 0, "TableSizeBytes": 0}}


def _properties(table: TableSchema) -> dict[str, Any]:
    """Return the properties of CloudFormation's resource, which are those of CreateTable but for some names."""
    body = _body(table)
    if "StreamSpecification" in body:
        body["StreamSpecification"] = {"StreamViewType": body["StreamSpecification"]["StreamViewType"]}
    if "SSESpecification" in body:
        encrypted = dict(body["SSESpecification"])
        body["SSESpecification"] = {"SSEEnabled": encrypted.pop("Enabled"), **encrypted}
    if table.settings.recovery:
        body["PointInTimeRecoverySpecification"] = recovery_to_wire(table.settings.recovery)
    insights = {} if table.settings.insights is None else table.settings.insights.modes()
    for part in (body, *(body.get(IndexKind.GLOBAL.wire_name) or ())):
        if (mode := insights.get(part.get("IndexName"), "off")) != "off":
            part["ContributorInsightsSpecification"] = {"Enabled": True, "Mode": insights_mode_to_wire(mode)}
    if table.ttl_attribute is not None:
        body["TimeToLiveSpecification"] = {"AttributeName": table.ttl_attribute, "Enabled": True}
    return body


def _body(table: TableSchema) -> dict[str, Any]:
    check_schema(table)  # one that no model declares may have any names
    return dict(create_request(table, throughput=table.throughput, tags={}).body)


def _logical_name(name: str, taken: Iterable[str]) -> str:
    """Return a name of letters and digits that is not taken."""
    plain = "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))
    return _free(plain, "", taken)


def _python_name(name: str) -> str:
    """Return the name that a property of CloudFormation has in CDK for Python: ``sse_enabled`` for ``SSEEnabled``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _python(name: str, value: Any, depth: int) -> str:
    """Return a property of CloudFormation as CDK for Python writes it.

    Args:
        name: the property's name.
        value: its value.
        depth: how deep the lines are indented among which it stands.
    """
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        one = re.sub("(?<=Index)es$|(?<=Definition)s$", "", name)
        kind = "CfnTag" if name == "Tags" else f"dynamodb.CfnTable.{one}Property"
        given = [f"{_python_name(key)}={_python(key, each, depth + 1)}" for key, each in members.items()]
        return _broken(f"{kind}(", given, ")", depth)
    if isinstance(value, list):
        parts = cast("list[object]", value)
        return _broken("[", [_python(name, each, depth + 1) for each in parts], "]", depth)
    return literal(value) if isinstance(value, str) else repr(value)


def _broken(opening: str, parts: Iterable[str], closing: str, depth: int) -> str:
    """Return parts between brackets, in one line where that is short enough."""
    every = [*parts]
    line = f"{opening}{', '.join(every)}{closing}"
    if len(line) <= _SHORT and "\n" not in line:
        return line
    inner = "".join(f"{' ' * 4 * (depth + 1)}{each},\n" for each in every)
    return f"{opening}\n{inner}{' ' * 4 * depth}{closing}"


def _resource_name(name: str, taken: Iterable[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return _free(plain if not plain[:1].isdigit() else f"table_{plain}", "_", taken)


def _free(name: str, separator: str, taken: Iterable[str]) -> str:
    used, number, free = set(taken), 1, name
    while free in used:
        number += 1
        free = f"{name}{separator}{number}"
    return free


def _resource(name: str, table: TableSchema) -> Iterator[str]:
    yield f'resource "aws_dynamodb_table" "{name}" {{'
    settings = {"name": table.name, "billing_mode": "PROVISIONED" if table.throughput else "PAY_PER_REQUEST"}
    yield from _settings(1, settings | _units(table.throughput) | _key(table.keys) | _arguments(table))
    for attribute, kind in table.attribute_types.items():
        yield from _block(1, "attribute", {"name": attribute, "type": kind})
    for index in table.local_indexes:
        ordered = {"range_key": index.keys.sort[0].name}
        yield from _block(1, "local_secondary_index", {"name": index.name, **ordered, **_projected(index.projection)})
    for index in table.global_indexes:
        yield from _global_index(index, table.throughput)
    if table.throughput is None and table.on_demand is not None:
        yield from _limits(1, table.on_demand)
    if table.ttl_attribute is not None:
        yield from _block(1, "ttl", {"attribute_name": table.ttl_attribute, "enabled": True})
    yield from _setting_blocks(table)
    yield "}"


def _insights(table: str, index: str | None, mode: InsightsMode) -> Iterator[str]:
    """Yield the lines of what counts the keys of a table, or of one of its indexes."""
    of_index = "" if index is None else re.sub(r"[^A-Za-z0-9_-]", "_", f"_{index}")
    yield f'resource "aws_dynamodb_contributor_insights" "{table}{of_index}" {{'
    yield f"{_INDENT}table_name = aws_dynamodb_table.{table}.name"
    named = {} if index is None else {"index_name": index}
    yield from _settings(1, {**named, "mode": insights_mode_to_wire(mode)})
    yield "}"


def _arguments(table: TableSchema) -> dict[str, Any]:
    """Return the settings that are arguments of Terraform's resource."""
    body, given = _body(table), dict[str, Any]()
    stream: dict[str, Any] = body.get("StreamSpecification") or {}
    view: str | None = stream.get("StreamViewType")
    if view is not None or table.settings.replicas:
        given = {"stream_enabled": True, "stream_view_type": view or "NEW_AND_OLD_IMAGES"}  # replicas need both
    named = {"deletion_protection_enabled": "DeletionProtectionEnabled", "table_class": "TableClass"}
    return given | {name: body[member] for name, member in named.items() if member in body}


def _setting_blocks(table: TableSchema) -> Iterator[str]:
    settings = table.settings
    if settings.recovery:
        days = {"recovery_period_in_days": settings.recovery.days}
        yield from _block(1, "point_in_time_recovery", {"enabled": True, **days})
    for region in sorted(settings.replicas or ()):
        yield from _block(1, "replica", {"region_name": region})
    encrypted: dict[str, Any] | None = _body(table).get("SSESpecification")
    if encrypted is not None:
        key = encrypted.get("KMSMasterKeyId")
        if key is not None and not key.startswith("arn:"):
            yield ""
            yield f"{_INDENT}# the provider takes the ARN of the key"
        yield from _block(1, "server_side_encryption", {"enabled": True, **({"kms_key_arn": key} if key else {})})
    if settings.tags:
        yield ""
        yield f"{_INDENT}tags = {{"
        for name, value in settings.tags.items():
            yield f"{_INDENT * 2}{_literal(name)} = {_literal(value)}"
        yield f"{_INDENT}}}"


def _global_index(index: IndexSchema, throughput: Throughput | None) -> Iterator[str]:
    units = _units(throughput and (index.throughput or throughput))
    settings = {"name": index.name, **units, **_projected(index.projection)}
    single = len(index.keys.partition) == 1 and len(index.keys.sort) < 2
    yield ""
    yield f"{_INDENT}global_secondary_index {{" + ("" if single else f" # {_SEVERAL}")
    yield from _settings(2, settings | (_key(index.keys) if single else {}))
    for element in () if single else index.keys.to_wire():
        yield from _block(2, "key_schema", {"attribute_name": element["AttributeName"], "key_type": element["KeyType"]})
    if throughput is None and index.on_demand is not None:
        yield from _limits(2, index.on_demand)
    yield f"{_INDENT}}}"


def _limits(depth: int, limits: OnDemand) -> Iterator[str]:
    """Yield the blocks of what bounds the throughput of an on-demand table, or of an index of one."""
    for member, units in limits.to_wire().items():
        yield from _block(depth, _BLOCKS[member], {_ARGUMENTS[name]: count for name, count in units.items()})


def _key(keys: KeySchema) -> dict[str, Any]:
    sort = {"range_key": keys.sort[0].name} if keys.sort else {}
    return {"hash_key": keys.partition[0].name, **sort}


def _units(throughput: Throughput | None) -> dict[str, Any]:
    return {} if throughput is None else {"read_capacity": throughput.read, "write_capacity": throughput.write}


def _projected(projection: Projection) -> dict[str, Any]:
    named = {"non_key_attributes": list(projection.attributes)} if projection.type == "INCLUDE" else {}
    return {"projection_type": projection.type, **named}


def _block(depth: int, name: str, settings: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield f"{_INDENT * depth}{name} {{"
    yield from _settings(depth + 1, settings)
    yield f"{_INDENT * depth}}}"


def _settings(depth: int, settings: dict[str, Any]) -> Iterator[str]:
    width = max(map(len, settings))
    for name, value in settings.items():
        yield f"{_INDENT * depth}{name:<{width}} = {_literal(value)}"


def _literal(value: Any) -> str:
    """Return a value as Terraform writes it, where ``${`` and ``%{`` begin an expression."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, cast('list[object]', value)))}]"
    if isinstance(value, str):
        return literal(value).replace("${", "$${").replace("%{", "%%{")
    return json.dumps(value)
