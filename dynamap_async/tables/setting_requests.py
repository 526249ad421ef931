"""Settings of tables in wire form, in requests and in answers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from dynamap_async.request import Request
from dynamap_async.schema import (
    INSIGHTS_MODES,
    STREAM_VIEWS,
    TABLE_CLASSES,
    ContributorInsights,
    Encryption,
    InsightsMode,
    Recovery,
    StreamView,
    TableSettings,
)
from dynamap_async.wire import Body

_AWS_MANAGED_KEY: Final = "alias/aws/dynamodb"
"""The key where KMS is to be used and no key is named: the API wants it left out.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_SSESpecification.html"""

INSIGHTS_ON: Final = ("ENABLING", "ENABLED")
"""The statuses of Contributor Insights that are on, or will be."""

_OLD_GLOBAL_TABLES: Final = "2017.11.29"
"""The version of global tables whose replicas DescribeTable does not list."""


def create_members(settings: TableSettings) -> dict[str, Any]:
    """Return the members of CreateTable for some settings; tags and recovery are not among them.

    Args:
        settings: what a table has; what its absence says already is left out.
    """
    members: dict[str, Any] = {}
    if settings.stream not in (None, "off"):
        members["StreamSpecification"] = stream_to_wire(settings.stream)
    if settings.deletion_protection:
        members["DeletionProtectionEnabled"] = True
    if settings.table_class not in (None, "standard"):
        members["TableClass"] = class_to_wire(settings.table_class)
    if settings.encryption is not None and settings.encryption.kms_key is not None:
        members["SSESpecification"] = encryption_to_wire(settings.encryption)
    return members


def stream_to_wire(view: StreamView | None) -> dict[str, Any]:
    """Return the API's ``StreamSpecification`` object."""
    names = [name for name, ours in STREAM_VIEWS.items() if ours == view]
    return {"StreamEnabled": True, "StreamViewType": names[0]} if names else {"StreamEnabled": False}


def class_to_wire(table_class: str | None) -> str:
    """Return the API's name of a table class."""
    return next(name for name, ours in TABLE_CLASSES.items() if ours == table_class)


def encryption_to_wire(encryption: Encryption) -> dict[str, Any]:
    """Return the API's ``SSESpecification`` object."""
    if encryption.kms_key is None:
        return {"Enabled": False}
    named = {} if encryption.kms_key == _AWS_MANAGED_KEY else {"KMSMasterKeyId": encryption.kms_key}
    return {"Enabled": True, "SSEType": "KMS", **named}


def recovery_to_wire(recovery: Recovery | Literal[False]) -> dict[str, Any]:
    """Return the API's ``PointInTimeRecoverySpecification`` object."""
    if recovery is False:
        return {"PointInTimeRecoveryEnabled": False}
    return {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": recovery.days}


def tags_to_wire(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the API's list of tags."""
    return [{"Key": name, "Value": value} for name, value in tags.items()]


def update_request(table: str, member: str, value: Any) -> Request:
    """Return the UpdateTable request that changes one setting.

    Args:
        member: the member of the request.
        value: what it is to be, in wire form.
    """
    return update_table_request(table, {member: value})


def update_table_request(table: str, members: Mapping[str, Any]) -> Request:
    """Return an UpdateTable request.

    Args:
        members: what the request says besides.
    """
    body = {"TableName": table, **members}
    return Request(operation="UpdateTable", body=body, table=table, writes=True, resendable=False)


def recovery_request(table: str, recovery: Recovery | Literal[False]) -> Request:
    """Return the request that turns continuous backups on or off."""
    body = {"TableName": table, "PointInTimeRecoverySpecification": recovery_to_wire(recovery)}
    return Request(operation="UpdateContinuousBackups", body=body, table=table, writes=True, resendable=True)


def tag_request(table: str, arn: str, tags: Mapping[str, str]) -> Request:
    """Return the request that adds tags to a table, or changes their values."""
    body = {"ResourceArn": arn, "Tags": tags_to_wire(tags)}
    return Request(operation="TagResource", body=body, table=table, writes=True, resendable=True)


def untag_request(table: str, arn: str, names: list[str]) -> Request:
    """Return the request that removes tags from a table."""
    body = {"ResourceArn": arn, "TagKeys": names}
    return Request(operation="UntagResource", body=body, table=table, writes=True, resendable=True)


def insights_mode_to_wire(mode: InsightsMode) -> str:
    """Return the API's name of a mode of Contributor Insights that is not off."""
    return next(name for name, ours in INSIGHTS_MODES.items() if ours == mode)


def insights_request(table: str, index: str | None, mode: InsightsMode) -> Request:
    """Return the request that has the keys of a table, or of a global index, counted or no longer counted."""
    body: dict[str, Any] = {"TableName": table, **({} if index is None else {"IndexName": index})}
    if mode == "off":
        body["ContributorInsightsAction"] = "DISABLE"
    else:
        body |= {"ContributorInsightsAction": "ENABLE", "ContributorInsightsMode": insights_mode_to_wire(mode)}
    return Request(operation="UpdateContributorInsights", body=body, table=table, writes=True, resendable=True)


def read_insights(summaries: Iterable[Mapping[str, Any]]) -> ContributorInsights:
    """Return what ListContributorInsights tells of a table; what is not told is off."""
    modes: dict[str | None, InsightsMode] = {
        each.get("IndexName"): INSIGHTS_MODES.get(each.get("ContributorInsightsMode") or "", "accessed-and-throttled")
        for each in summaries
        if each.get("ContributorInsightsStatus") in INSIGHTS_ON
    }
    return ContributorInsights(
        table=modes.get(None, "off"), indexes={name: mode for name, mode in modes.items() if name is not None}
    )


def insights_on(found: ContributorInsights, declared: ContributorInsights | None = None) -> list[str]:
    """Return what is counted of a table and not declared, each in a few words."""
    known = {} if declared is None else declared.modes()
    on = [index for index, mode in found.modes().items() if mode != "off" and index not in known]
    return ["its Contributor Insights" if index is None else f"the Contributor Insights of {index}" for index in on]


def read_settings(table: Mapping[str, Any]) -> TableSettings:
    """Return the settings that DescribeTable tells; one that is left out was never made.

    Args:
        table: the ``Table`` of the answer.
    """
    stream: dict[str, Any] = table.get("StreamSpecification") or {}
    encrypted: dict[str, Any] = table.get("SSEDescription") or {}
    by_kms = encrypted.get("Status") in ("ENABLED", "ENABLING", "UPDATING")
    kept: dict[str, Any] = table.get("TableClassSummary") or {}
    view = STREAM_VIEWS.get(stream.get("StreamViewType", "")) if stream.get("StreamEnabled") else "off"
    return TableSettings(
        stream=view,
        deletion_protection=bool(table.get("DeletionProtectionEnabled")),
        table_class=TABLE_CLASSES.get(kept.get("TableClass", "STANDARD")),
        encryption=Encryption(kms_key=encrypted.get("KMSMasterKeyArn", _AWS_MANAGED_KEY) if by_kms else None),
    )


def read_others(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what DescribeTable tells that no model can declare, each in a few words.

    Args:
        table: the ``Table`` of the answer.
    """
    told = [f"the vector index {each['IndexName']}" for each in table.get("VectorIndexes") or ()]
    if table.get("GlobalTableVersion") == _OLD_GLOBAL_TABLES:
        told.append(f"its replicas, which are those of version {_OLD_GLOBAL_TABLES} of global tables")
    told += [f"a witness in {each['RegionName']}" for each in table.get("GlobalTableWitnesses") or ()]
    if table.get("MultiRegionConsistency") == "STRONG":
        told.append("strong consistency between its regions")
    if table.get("GlobalTableSettingsReplicationMode", "DISABLED") != "DISABLED":
        told.append("settings that are replicated to other regions")
    if table.get("DisassociationProtectionEnabled"):
        told.append("protection against being separated from its replicas")
    return tuple(told)


def read_recovery(answer: Body) -> Recovery | Literal[False]:
    """Return what DescribeContinuousBackups tells."""
    backups: dict[str, Any] = answer["ContinuousBackupsDescription"]
    told: dict[str, Any] = backups.get("PointInTimeRecoveryDescription") or {}
    if told.get("PointInTimeRecoveryStatus") != "ENABLED":
        return False
    days: int | None = told.get("RecoveryPeriodInDays")
    return Recovery() if days is None else Recovery(days=days)


def is_own_tag(name: str) -> bool:
    """Return whether a tag is the account's own, and not one that AWS made."""
    return not name.startswith("aws:")


def same_key(declared: str, found: str) -> bool | None:
    """Return whether two names mean one KMS key; None for an alias, which only KMS can resolve.

    Args:
        declared: an ARN, an id or an alias.
        found: the ARN of the key, as DescribeTable tells it.
    """
    if declared == found:
        return True
    if declared.startswith("alias/") or ":alias/" in declared:
        return None
    return found.rpartition("key/")[2] == declared.rpartition("key/")[2]
