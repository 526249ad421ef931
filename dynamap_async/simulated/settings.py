"""What belongs to a table besides its items: time to live, tags, backups, and a policy."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dynamap_async.limits import RECOVERY_DAYS, TAGS_PER_TABLE
from dynamap_async.simulated import wire
from dynamap_async.simulated.constraints import Check, Structure, anything, choice, flag, listing, number, text
from dynamap_async.simulated.control import (
    BILLING,
    ENCRYPTION,
    GLOBAL,
    LOCAL,
    ON_DEMAND,
    UNITS,
    description,
    fill_settings,
    index_requests,
    new_table,
    refuse_units,
)
from dynamap_async.simulated.errors import Refused, invalid, invalid_value
from dynamap_async.simulated.expiry import NEVER
from dynamap_async.simulated.service import denied
from dynamap_async.simulated.shapes import INDEX_NAME, NAME, TABLE_NAME
from dynamap_async.simulated.store import Table
from dynamap_async.simulated.vector_search import VECTOR_INDEX

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

_TABLE = {"TableName!": TABLE_NAME}
_ARN = text(1, 1283)
_BACKUP_ARN = text(37, 1024)
_OF_INDEXES = ("IndexName", "KeySchema", "Projection", "ProvisionedThroughput", "OnDemandThroughput")
"""What a backup tells of the indexes of its table."""
_HOUR_SECONDS = 3600
_DAY_SECONDS = 86_400
_RECOVERY_LAG_SECONDS = 300
_KINESIS = ("DISABLED", "ACTIVE")
_INSIGHTS = ("DISABLED", "ENABLED")
_ALL_KEYS = "ACCESSED_AND_THROTTLED_KEYS"
DESCRIBE_TIME_TO_LIVE = Structure(_TABLE)
UPDATE_TIME_TO_LIVE = Structure(
    {
        **_TABLE,
        "TimeToLiveSpecification!": Structure({"Enabled!": flag, "AttributeName!": text(1, 255)}),
    }
)
TAG_RESOURCE = Structure(
    {
        "ResourceArn!": _ARN,
        "Tags!": listing(Structure({"Key!": text(1, 128), "Value!": text(0, 256)})),
    }
)
UNTAG_RESOURCE = Structure({"ResourceArn!": _ARN, "TagKeys!": listing(text(1, 128))})
LIST_TAGS_OF_RESOURCE = Structure({"ResourceArn!": _ARN, "NextToken": text()})
DESCRIBE_CONTINUOUS_BACKUPS = Structure(_TABLE)
UPDATE_CONTINUOUS_BACKUPS = Structure(
    {
        **_TABLE,
        "PointInTimeRecoverySpecification!": Structure(
            {
                "PointInTimeRecoveryEnabled!": flag,
                "RecoveryPeriodInDays": number(1, RECOVERY_DAYS),
            }
        ),
    }
)
CREATE_BACKUP = Structure({**_TABLE, "BackupName!": text(3, 255, NAME)})
DESCRIBE_BACKUP = Structure({"BackupArn!": _BACKUP_ARN})
DELETE_BACKUP = DESCRIBE_BACKUP
LIST_BACKUPS = Structure(
    {
        "TableName": TABLE_NAME,
        "Limit": number(1, 100),
        "TimeRangeLowerBound": anything,
        "TimeRangeUpperBound": anything,
        "ExclusiveStartBackupArn": _BACKUP_ARN,
        "BackupType": choice("USER", "SYSTEM", "AWS_BACKUP", "ALL"),
    }
)
_INDEX_OVERRIDES = {
    "LocalSecondaryIndexes": "LocalSecondaryIndexOverride",
    "GlobalSecondaryIndexes": "GlobalSecondaryIndexOverride",
    "VectorIndexes": "VectorIndexOverride",
}
_OVERRIDES: dict[str, Check] = {
    "BillingModeOverride": BILLING,
    "GlobalSecondaryIndexOverride": listing(GLOBAL),
    "LocalSecondaryIndexOverride": listing(LOCAL),
    "VectorIndexOverride": listing(VECTOR_INDEX),
    "ProvisionedThroughputOverride": UNITS,
    "OnDemandThroughputOverride": ON_DEMAND,
    "SSESpecificationOverride": ENCRYPTION,
}
RESTORE_TABLE_FROM_BACKUP = Structure(
    {
        "TargetTableName!": text(3, 255, NAME),
        "BackupArn!": _BACKUP_ARN,
        **_OVERRIDES,
    }
)
RESTORE_TABLE_TO_POINT_IN_TIME = Structure(
    {
        "SourceTableName": TABLE_NAME,
        "SourceTableArn": text(1, 1024),
        "TargetTableName!": text(3, 255, NAME),
        "UseLatestRestorableTime": flag,
        "RestoreDateTime": anything,
        **_OVERRIDES,
    }
)
PUT_RESOURCE_POLICY = Structure(
    {
        "ResourceArn!": _ARN,
        "Policy!": text(),
        "ExpectedRevisionId": text(1, 255),
        "ConfirmRemoveSelfResourceAccess": flag,
    }
)
GET_RESOURCE_POLICY = Structure({"ResourceArn!": _ARN})
DELETE_RESOURCE_POLICY = Structure({"ResourceArn!": _ARN, "ExpectedRevisionId": text(1, 255)})
DESCRIBE_KINESIS = Structure(_TABLE)
CHANGE_KINESIS = Structure({**_TABLE, "StreamArn!": text(37, 1024), "EnableKinesisStreamingConfiguration": anything})
UPDATE_CONTRIBUTOR_INSIGHTS = Structure(
    {
        **_TABLE,
        "IndexName": INDEX_NAME,
        "ContributorInsightsAction!": choice("ENABLE", "DISABLE"),
        "ContributorInsightsMode": choice("ACCESSED_AND_THROTTLED_KEYS", "THROTTLED_KEYS"),
    }
)
DESCRIBE_CONTRIBUTOR_INSIGHTS = Structure({**_TABLE, "IndexName": INDEX_NAME})
LIST_CONTRIBUTOR_INSIGHTS = Structure({"TableName": TABLE_NAME, "NextToken": text(), "MaxResults": number()})


def describe_time_to_live(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeTimeToLive."""
    settings = service.described(body["TableName"]).settings
    name = settings.get("TimeToLive")
    changed, _at, until = settings.get("TimeToLiveChange", NEVER)
    status = {"TimeToLiveStatus": "DISABLED" if name is None else "ENABLED"}
    if service.clock() < until:
        name, status = changed, {"TimeToLiveStatus": "DISABLING" if name is None else "ENABLING"}
    return {"TimeToLiveDescription": status if name is None else {**status, "AttributeName": name}}


def update_time_to_live(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out UpdateTimeToLive.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
    """
    table = service.changeable(body["TableName"])
    service.keep_settings(table)
    settings = table.settings
    asked = body["TimeToLiveSpecification"]
    before, now = settings.get("TimeToLive"), service.clock()
    _name, at, _until = settings.get("TimeToLiveChange", NEVER)
    if service.states.takes_time and now - at < _HOUR_SECONDS:
        raise invalid("Time to live has been modified multiple times within a fixed interval")
    if asked["Enabled"]:
        if before == asked["AttributeName"]:
            raise invalid("TimeToLive is already enabled")
        if before is not None:
            raise invalid(f"TimeToLive is active on a different AttributeName: current AttributeName is {before}")
        settings["TimeToLive"] = asked["AttributeName"]
    else:
        if before is None:
            raise invalid("TimeToLive is already disabled")
        if before != asked["AttributeName"]:
            raise invalid(f"TimeToLive is active on a different AttributeName: current AttributeName is {before}")
        del settings["TimeToLive"]
    until = now + service.states.seconds("time_to_live", table.name)
    settings["TimeToLiveChange"] = (asked["AttributeName"], now, until)
    return {"TimeToLiveSpecification": asked}


def _of_arn(service: Service, arn: str) -> Table:
    """Return the table of an ARN.

    Raises:
        Refused: it is no ARN of a table, or there is no such table.
    """
    head, _slash, name = arn.partition(":table/")
    if not head.startswith("arn:aws:dynamodb:") or not name:
        raise invalid(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = service.store.tables.get(name)
    if table is None or service.arn(name) != arn:
        raise denied(arn)
    return table


def _changed(service: Service, arn: str) -> dict[str, Any]:
    """Return the settings of the table of an ARN, which are about to change."""
    table = _of_arn(service, arn)
    service.states.refuse_busy(table)
    service.keep_settings(table)
    return table.settings


def tag_resource(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out TagResource."""
    settings = _changed(service, body["ResourceArn"])
    tags = {**settings["Tags"], **{each["Key"]: each["Value"] for each in body["Tags"]}}
    if any(each["Key"].startswith("aws:") for each in body["Tags"]):
        raise invalid_value("Tag keys must not begin with aws:")
    if len(tags) > TAGS_PER_TABLE:
        raise Refused("LimitExceededException", "Subscriber limit exceeded: Too many tags for this resource")
    settings["Tags"] = tags
    return {}


def untag_resource(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out UntagResource."""
    settings = _changed(service, body["ResourceArn"])
    settings["Tags"] = {key: value for key, value in settings["Tags"].items() if key not in body["TagKeys"]}
    return {}


def list_tags_of_resource(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListTagsOfResource."""
    tags = _of_arn(service, body["ResourceArn"]).settings["Tags"]
    return {"Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}


def _recovery(service: Service, table: Table) -> dict[str, Any]:
    days = table.settings.get("RecoveryDays")
    found: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED" if days is None else "ENABLED"}
    if days is not None:
        earliest, latest = restorable(service, table)
        found["RecoveryPeriodInDays"] = days
        found["EarliestRestorableDateTime"] = earliest
        found["LatestRestorableDateTime"] = latest
    return {
        "ContinuousBackupsDescription": {"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": found}
    }


def recoverable(service: Service, name: str) -> Table:
    """Return a table that can be recovered to a moment.

    Raises:
        Refused: there is none, or it cannot.
    """
    table = _or_table_not_found(service, name)
    if "RecoveryDays" not in table.settings:
        raise Refused("PointInTimeRecoveryUnavailableException", "Point in time recovery is not enabled for table")
    return table


def restorable(service: Service, table: Table) -> tuple[float, float]:
    """Return the earliest and the latest moment to which a table can be restored.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html
    """
    now = service.clock()
    earliest = max(table.settings["RecoverySince"], now - table.settings["RecoveryDays"] * _DAY_SECONDS)
    return earliest, max(earliest, now - _RECOVERY_LAG_SECONDS) if service.states.takes_time else now


def describe_continuous_backups(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeContinuousBackups."""
    return _recovery(service, _or_table_not_found(service, body["TableName"]))


def update_continuous_backups(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out UpdateContinuousBackups."""
    table = _or_table_not_found(service, body["TableName"])
    service.states.refuse_busy(table)
    asked = body["PointInTimeRecoverySpecification"]
    service.keep_settings(table)
    if asked["PointInTimeRecoveryEnabled"]:
        table.settings["RecoveryDays"] = asked.get(
            "RecoveryPeriodInDays", table.settings.get("RecoveryDays", RECOVERY_DAYS)
        )
        table.settings.setdefault("RecoverySince", service.clock())
    else:
        table.settings.pop("RecoveryDays", None)
        table.settings.pop("RecoverySince", None)
    return _recovery(service, table)


def _or_table_not_found(service: Service, name: str) -> Table:
    table = service.find(name)
    if table is None:
        raise Refused("TableNotFoundException", f"Table not found: {name}")
    return table


def create_backup(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out CreateBackup."""
    table = _or_table_not_found(service, body["TableName"])
    service.states.refuse_busy(table)
    now = service.clock()
    arn = f"{service.arn(table.name)}/backup/{int(now * 1000):014}-{uuid4().hex[:8]}"
    details = {
        "BackupArn": arn,
        "BackupName": body["BackupName"],
        "BackupSizeBytes": table.bytes,
        "BackupType": "USER",
        "BackupCreationDateTime": now,
    }
    until = now + service.states.seconds("backup", table.name)
    service.backups[arn] = (details, description(service, table), _copied(table), until)
    service.store.journal.note(partial(service.backups.pop, arn, None))
    return {"BackupDetails": {**details, "BackupStatus": "CREATING"}}


def _copied(table: Table, at: float | None = None) -> tuple[dict[str, Any], list[bytes]]:
    """Return what a table is made anew of: its settings, and the JSON of its items, now or at a moment before."""
    settings = deepcopy(
        {
            name: table.settings[name]
            for name in ("AttributeDefinitions", "KeySchema", "BillingMode", "ProvisionedThroughput")
        }
    )
    settings |= deepcopy(index_requests(table))
    for name in ("OnDemandThroughput", "SSESpecification", "TableClass"):
        if name in table.settings:
            settings[name] = deepcopy(table.settings[name])
    return settings, [entry.text for entry in (table.entries if at is None else table.entries_at(at)).values()]


def _backup(service: Service, arn: str) -> Any:
    if arn not in service.backups:
        raise Refused("BackupNotFoundException", f"Backup not found: {arn}")
    return service.backups[arn]


def _made_backup(service: Service, arn: str) -> Any:
    """Return a backup that is complete.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteBackup.html

    Raises:
        Refused: there is none, or it is not complete yet.
    """
    backup = _backup(service, arn)
    if _details(service, backup)["BackupStatus"] == "CREATING":
        raise Refused("BackupInUseException", f"Backup is being created: {arn}")
    return backup


def _details(service: Service, backup: Any) -> dict[str, Any]:
    details, _table, _copy, until = backup
    return {**details, "BackupStatus": "CREATING" if service.clock() < until else "AVAILABLE"}


def _backup_description(service: Service, arn: str) -> dict[str, Any]:
    backup = _backup(service, arn)
    table = backup[1]
    source = {
        "TableName": table["TableName"],
        "TableId": table["TableId"],
        "TableArn": table["TableArn"],
        "TableSizeBytes": table["TableSizeBytes"],
        "KeySchema": table["KeySchema"],
        "TableCreationDateTime": table["CreationDateTime"],
        "ProvisionedThroughput": table["ProvisionedThroughput"],
        "ItemCount": table["ItemCount"],
        "BillingMode": table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
    }
    features = {
        kind: [{member: each[member] for member in _OF_INDEXES if member in each} for each in table[kind]]
        for kind in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
        if kind in table
    }
    return {
        "BackupDetails": _details(service, backup),
        "SourceTableDetails": source,
        "SourceTableFeatureDetails": features,
    }


def describe_backup(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeBackup."""
    return {"BackupDescription": _backup_description(service, body["BackupArn"])}


def delete_backup(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DeleteBackup."""
    _made_backup(service, body["BackupArn"])
    found = _backup_description(service, body["BackupArn"])
    gone = service.backups.pop(body["BackupArn"])
    service.store.journal.note(partial(service.backups.__setitem__, body["BackupArn"], gone))
    return {"BackupDescription": {**found, "BackupDetails": {**found["BackupDetails"], "BackupStatus": "DELETED"}}}


def list_backups(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListBackups."""
    name, limit = body.get("TableName"), int(body.get("Limit", 100))
    low, high = body.get("TimeRangeLowerBound", 0), body.get("TimeRangeUpperBound", float("inf"))
    found = [
        {
            "TableName": table["TableName"],
            "TableId": table["TableId"],
            "TableArn": table["TableArn"],
            **_details(service, backup),
        }
        for backup in service.backups.values()
        for details, table, *_ in [backup]
        if name in {None, table["TableName"], table["TableArn"]} and low <= details["BackupCreationDateTime"] < high
    ]
    start = body.get("ExclusiveStartBackupArn")
    begin = next((at + 1 for at, each in enumerate(found) if each["BackupArn"] == start), 0)
    page = found[begin : begin + limit]
    more = begin + len(page) < len(found)
    return {"BackupSummaries": page, "LastEvaluatedBackupArn": page[-1]["BackupArn"] if more else None}


def _refuse_taken(service: Service, name: str) -> None:
    if name in service.store.tables:
        raise Refused("TableAlreadyExistsException", f"Table already exists: {name}")


def _override(settings: dict[str, Any], body: dict[str, Any]) -> None:
    """Change what a restored table is made of to what a request says.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html

    Raises:
        Refused: an index is none of the source, or the units do not fit the billing mode.
    """
    mode = body.get("BillingModeOverride") or settings["BillingMode"]
    if mode != settings["BillingMode"]:
        unfit = "ProvisionedThroughput" if mode == "PAY_PER_REQUEST" else "OnDemandThroughput"
        for part in (settings, *(settings.get("GlobalSecondaryIndexes") or ())):
            part.pop(unfit, None)
        settings["BillingMode"] = mode
    for member, override in _INDEX_OVERRIDES.items():
        if body.get(override) is not None:
            there = {each["IndexName"]: each for each in settings.get(member) or ()}
            for each in body[override]:
                one = there.get(each["IndexName"])
                if one is None or any(one[part] != each.get(part, one[part]) for part in ("KeySchema", "Projection")):
                    raise invalid_value(f"{override}: the index {each['IndexName']} is not one of the source table")
            settings[member] = [{**there[each["IndexName"]], **each} for each in body[override]]
    for member in ("ProvisionedThroughput", "OnDemandThroughput", "SSESpecification"):
        if body.get(f"{member}Override") is not None:
            settings[member] = body[f"{member}Override"]
    refuse_units(settings, mode, settings.get("GlobalSecondaryIndexes") or ())


def _restore(
    service: Service, body: dict[str, Any], copy: tuple[dict[str, Any], list[bytes]], summary: dict[str, Any]
) -> dict[str, Any]:
    settings, texts = deepcopy(copy[0]), copy[1]
    name = body["TargetTableName"]
    _refuse_taken(service, name)
    settings["TableName"] = name
    _override(settings, body)
    kept = {each["AttributeName"] for each in settings["KeySchema"]}
    for each in (*(settings.get("LocalSecondaryIndexes") or ()), *(settings.get("GlobalSecondaryIndexes") or ())):
        kept |= {part["AttributeName"] for part in each["KeySchema"]}
    for each in settings.get("VectorIndexes") or ():
        kept |= {part["AttributeName"] for part in each.get("SearchSchema") or ()}
    settings["AttributeDefinitions"] = [
        each for each in settings["AttributeDefinitions"] if each["AttributeName"] in kept
    ]
    service.states.refuse_many()
    table = new_table(settings, map(wire.read, texts))
    fill_settings(service, table, settings)
    table.settings["RestoreSummary"] = summary
    service.states.create("restore", table)
    return {"TableDescription": description(service, table)}


def restore_table_from_backup(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out RestoreTableFromBackup."""
    details, table, copy, _until = _made_backup(service, body["BackupArn"])
    summary = {
        "SourceBackupArn": body["BackupArn"],
        "SourceTableArn": table["TableArn"],
        "RestoreDateTime": details["BackupCreationDateTime"],
    }
    return _restore(service, body, copy, summary)


def restore_table_to_point_in_time(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out RestoreTableToPointInTime."""
    name = body.get("SourceTableName") or body.get("SourceTableArn")
    if name is None:
        raise invalid_value("SourceTableName or SourceTableArn must be specified")
    _or_table_not_found(service, name)
    _refuse_taken(service, body["TargetTableName"])
    table = recoverable(service, name)
    at = body.get("RestoreDateTime")
    if (at is None) is (not body.get("UseLatestRestorableTime")):
        raise invalid_value("Exactly one of RestoreDateTime and UseLatestRestorableTime must be specified")
    earliest, latest = restorable(service, table)
    if at is not None and not earliest <= at <= latest:
        raise Refused(
            "InvalidRestoreTimeException",
            "RestoreDateTime is not between EarliestRestorableDateTime and LatestRestorableDateTime: " + table.name,
        )
    moment = latest if at is None else at
    summary = {"SourceTableArn": service.arn(table.name), "RestoreDateTime": moment}
    return _restore(service, body, _copied(table, moment), summary)


def put_resource_policy(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out PutResourcePolicy."""
    settings = _changed(service, body["ResourceArn"])
    _expected(settings, body)
    settings["ResourcePolicy"] = body["Policy"]
    settings["PolicyRevision"] = revision = str(int(service.clock() * 1000))
    return {"RevisionId": revision}


def _expected(settings: dict[str, Any], body: dict[str, Any]) -> None:
    expected = body.get("ExpectedRevisionId")
    now = settings.get("PolicyRevision", "NO_POLICY")
    if expected is not None and expected != now:
        raise Refused("PolicyNotFoundException", "Resource-based policy not found for the provided revision")


def get_resource_policy(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out GetResourcePolicy."""
    settings = _of_arn(service, body["ResourceArn"]).settings
    if "ResourcePolicy" not in settings:
        raise Refused(
            "PolicyNotFoundException",
            f"Resource-based policy not found for the provided ResourceArn: {body['ResourceArn']}",
        )
    return {"Policy": settings["ResourcePolicy"], "RevisionId": settings.get("PolicyRevision", "1")}


def delete_resource_policy(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DeleteResourcePolicy."""
    settings = _changed(service, body["ResourceArn"])
    _expected(settings, body)
    settings.pop("ResourcePolicy", None)
    return {"RevisionId": settings.pop("PolicyRevision", None)}


def change_kinesis_streaming_destination(service: Service, body: dict[str, Any], *, enable: bool) -> dict[str, Any]:
    """Carry out EnableKinesisStreamingDestination, or DisableKinesisStreamingDestination. Nothing is sent there.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_EnableKinesisStreamingDestination.html
    """
    table, arn = service.changeable(body["TableName"]), body["StreamArn"]
    status = _attached(service, table, "Kinesis", _KINESIS).get(arn, "DISABLED")
    if status != ("DISABLED" if enable else "ACTIVE"):
        raise invalid(f"Table is not in a valid state: the Kinesis streaming destination of {table.name} is {status}")
    _attach(service, table, "Kinesis", arn, enable=enable)
    return {
        "TableName": table.name,
        "StreamArn": arn,
        "DestinationStatus": "ENABLING" if enable else "DISABLING",
    }


def describe_kinesis_streaming_destination(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeKinesisStreamingDestination."""
    table = service.described(body["TableName"])
    listed = _attached(service, table, "Kinesis", _KINESIS).items()
    destinations = [{"StreamArn": arn, "DestinationStatus": status} for arn, status in listed]
    return {"TableName": table.name, "KinesisDataStreamDestinations": destinations}


def update_contributor_insights(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out UpdateContributorInsights. Nothing is counted."""
    table = service.changeable(body["TableName"])
    index, enable = _index_of(table, body), body["ContributorInsightsAction"] == "ENABLE"
    mode = body.get("ContributorInsightsMode")
    if mode is not None and not enable:
        raise invalid_value("ContributorInsightsMode can only be specified when ContributorInsightsAction is ENABLE")
    _attach(service, table, "Insights", index, enable=enable)
    if enable:
        table.settings["InsightsModes"] = {**table.settings.get("InsightsModes", {}), index: mode or _ALL_KEYS}
    return _insights(table, index, "ENABLING" if enable else "DISABLING")


def describe_contributor_insights(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeContributorInsights."""
    table = service.described(body["TableName"])
    index = _index_of(table, body)
    return _insights(table, index, _attached(service, table, "Insights", _INSIGHTS).get(index, "DISABLED"))


def _index_of(table: Table, body: dict[str, Any]) -> str:
    """Return the name of the global index that a request is about; nothing where it is about the table.

    Raises:
        Refused: there is none of this name.
    """
    index: str = body.get("IndexName") or ""
    if index and (index not in table.indexes or not table.indexes[index].is_global):
        raise Refused("ResourceNotFoundException", f"Requested resource not found: Index: {index}")
    return index


def list_contributor_insights(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListContributorInsights."""
    name = body.get("TableName")
    tables = service.store.tables.values() if name is None else [service.described(name)]
    found = [
        _insights(table, index, status)
        for table in tables
        for index, status in _attached(service, table, "Insights", _INSIGHTS).items()
    ]
    return {"ContributorInsightsSummaries": found}


def _insights(table: Table, index: str, status: str) -> dict[str, Any]:
    named = {"IndexName": index} if index else {}
    mode = table.settings.get("InsightsModes", {}).get(index)
    told = {} if mode is None or status in {"DISABLING", "DISABLED"} else {"ContributorInsightsMode": mode}
    return {"TableName": table.name, **named, "ContributorInsightsStatus": status, **told}


def _attach(service: Service, table: Table, setting: str, name: str, *, enable: bool) -> None:
    service.keep_settings(table)
    until = service.clock() + service.states.seconds("attachment", table.name)
    table.settings[setting] = {**table.settings.get(setting, {}), name: (enable, until)}


def _attached(service: Service, table: Table, setting: str, statuses: tuple[str, str]) -> dict[str, str]:
    """Return the status of all that another service has attached to a table."""
    now = service.clock()
    return {
        name: ("ENABLING" if enabled else "DISABLING") if now < until else statuses[enabled]
        for name, (enabled, until) in table.settings.get(setting, {}).items()
    }
