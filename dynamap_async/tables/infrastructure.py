"""Declared tables as other tools write them: CloudFormation, Terraform, and the answer of DescribeTable. Pure.

It says what models declare, and nothing of what they are silent about, such as backups.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from dynamap_async.schema import IndexKind, IndexSchema, KeySchema, Projection, TableSchema, Throughput
from dynamap_async.tables.requests import create_request
from dynamap_async.tables.setting_requests import recovery_to_wire

_INDENT: Final = "  "
_SEVERAL: Final = "several key attributes: hashicorp/aws 6.29 or later"


def to_cloudformation(*tables: TableSchema) -> str:
    """Return a CloudFormation template, as JSON, that makes tables; deleting the stack leaves them there.

    Args:
        tables: the tables; see ``declared_tables``.
    """
    resources: dict[str, Any] = {}
    for table in tables:
        name = _logical_name(table.name, resources)
        properties = _properties(table)
        if table.ttl_attribute is not None:
            properties["TimeToLiveSpecification"] = {"AttributeName": table.ttl_attribute, "Enabled": True}
        kept = {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
        resources[name] = {"Type": "AWS::DynamoDB::Table", **kept, "Properties": properties}
    return json.dumps({"AWSTemplateFormatVersion": "2010-09-09", "Resources": resources}, indent=2, ensure_ascii=False)


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
    return body


def _body(table: TableSchema) -> dict[str, Any]:
    return dict(create_request(table, throughput=table.throughput, tags={}).body)


def _logical_name(name: str, taken: Iterable[str]) -> str:
    """Return a name of letters and digits that is not taken."""
    plain = "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))
    return _free(plain, "", taken)


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
    if table.ttl_attribute is not None:
        yield from _block(1, "ttl", {"attribute_name": table.ttl_attribute, "enabled": True})
    yield from _setting_blocks(table)
    yield "}"


def _arguments(table: TableSchema) -> dict[str, Any]:
    """Return the settings that are arguments of Terraform's resource."""
    body, given = _body(table), dict[str, Any]()
    if "StreamSpecification" in body:
        given = {"stream_enabled": True, "stream_view_type": body["StreamSpecification"]["StreamViewType"]}
    named = {"deletion_protection_enabled": "DeletionProtectionEnabled", "table_class": "TableClass"}
    return given | {name: body[member] for name, member in named.items() if member in body}


def _setting_blocks(table: TableSchema) -> Iterator[str]:
    settings = table.settings
    if settings.recovery:
        days = {"recovery_period_in_days": settings.recovery.days}
        yield from _block(1, "point_in_time_recovery", {"enabled": True, **days})
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
    if len(index.keys.partition) == 1 and len(index.keys.sort) < 2:
        yield from _block(1, "global_secondary_index", settings | _key(index.keys))
        return
    yield ""
    yield f"{_INDENT}global_secondary_index {{ # {_SEVERAL}"
    yield from _settings(2, settings)
    for element in index.keys.to_wire():
        yield from _block(2, "key_schema", {"attribute_name": element["AttributeName"], "key_type": element["KeyType"]})
    yield f"{_INDENT}}}"


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
    return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
