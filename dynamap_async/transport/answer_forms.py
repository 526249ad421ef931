"""The form of answers: what DynamoDB documents of each operation, judged where an answer meets its request. Pure.

``stream_forms`` has those of streams.

The values inside of items are not looked at while all goes well, for that costs as much as decoding them. Where an item
cannot be read, ``unreadable`` finds out whether the answer is at fault.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB.html
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import repeat
from operator import contains
from typing import Any, Final, NoReturn

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DamagedResponseError,
    ServiceError,
    TransactionCanceledError,
)
from dynamap_async.limits import NESTING_LEVELS
from dynamap_async.native import JSON_ITEM
from dynamap_async.request import Request, canonical
from dynamap_async.service import DYNAMODB, STREAMS, Service
from dynamap_async.transport.failures import damaged
from dynamap_async.wire import Body

UNREADABLE: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, StopIteration)
"""What reading an item raises whose values are of no known form. Errors of data, and of users' validators, are among
them: see ``unreadable``."""

_OBJECTS: Final = {dict, JSON_ITEM}
"""The types of the items of an answer."""

_LARGEST_EXPONENT: Final = 1_000
"""No number of DynamoDB's comes near it, and Python's arithmetic is far from its limits."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([Ee][+-]?[0-9]+)?")


def damage_of(request: Request, answer: Body) -> DamagedResponseError | None:
    """Return the error for an answer of status 200 that has a wrong form; None if the form is right.

    Args:
        request: what was asked.
        answer: the answer's JSON object.
    """
    if "__type" in answer:
        return _damaged(request, "it is an error, with the status of a success")
    if request.service is STREAMS:
        from dynamap_async.transport.stream_forms import fault_of  # for programs that read one

        fault = fault_of(request, answer)
    else:
        fault = _JUDGES[request.service].get(request.operation, _documented)(request, answer)
    return None if fault is None else _damaged(request, fault)


def damage_of_refusal(request: Request, error: ServiceError) -> DamagedResponseError | None:
    """Return the error for a refusal whose stored items are malformed; None if they are not."""
    items: list[Any] = []
    if isinstance(error, ConditionalCheckFailedError):
        items = [error.wire_item]
    elif isinstance(error, TransactionCanceledError):
        items = [reason.wire_item for reason in error.reasons]
    return damage_of_values(request, filter(None, items))


def damage_of_values(request: Request, items: Iterable[Mapping[str, Any]]) -> DamagedResponseError | None:
    """Return the error for items of which one lacks its key or holds a malformed value; None if none does.

    Args:
        request: what brought the items.
        items: attribute name -> what should be an attribute value.
    """
    judged = list(items)
    fault = fault_of_values(judged)
    if fault is None and request.operation in ("Query", "Scan"):
        fault = _fault_of_keys(request, judged)
    return None if fault is None else _damaged(request, fault)


def unreadable(error: Exception, request: Request, items: Iterable[Mapping[str, Any]]) -> NoReturn:
    """Raise the error for items that could not be decoded: ``error`` itself, unless the answer is at fault.

    Args:
        error: what was raised, one of ``UNREADABLE``.
        request: what brought the items.
        items: the items.

    Raises:
        DamagedResponseError: one of them holds what is no value of DynamoDB's.
    """
    damage = damage_of_values(request, items)
    if damage is None:
        raise error
    raise damage from error


def _damaged(request: Request, fault: str) -> DamagedResponseError:
    return damaged(request, f"the answer does not have the form that DynamoDB documents: {fault}", foreign=True)


def _get(request: Request, answer: Body) -> str | None:
    item = answer.get("Item")
    if item is None:
        return None
    key: Mapping[str, Any] = {} if "ProjectionExpression" in request.body else request.body["Key"]
    return _fault_of_item("Item", item, key)


def _fault_of_item(name: str, item: Any, key: Mapping[str, Any]) -> str | None:
    """Return what is wrong with an item that must have this key."""
    if not _is_object(item):
        return f"its {name} is not a JSON object"
    # At one go, as it is on the way of every get; nearly all are right (benchmarks: get_one).
    if type(item) is JSON_ITEM and item.holds(key):
        return None
    if all(_same_value(item.get(each), value) for each, value in key.items()):
        return None
    return f"its {name} has another key than the one asked for"


def _same_value(given: Any, value: Any) -> bool:
    """Return whether two key values are equal: ``1`` and ``1.0`` are one number."""
    if given == value:
        return True
    try:
        return canonical("N", given["N"]) == canonical("N", value["N"])
    except UNREADABLE:
        return False


def _write(request: Request, answer: Body) -> str | None:
    attributes = answer.get("Attributes")
    returned = request.body.get("ReturnValues")
    if attributes is None:
        return "it has no Attributes" if request.required or returned == "ALL_NEW" else None
    if not _is_object(attributes):
        return "its Attributes are not a JSON object"
    if not attributes.keys() >= request.required:
        return f"its Attributes lack {_listed(request.required - attributes.keys())}"
    if returned == "ALL_NEW" or (returned == "ALL_OLD" and attributes):  # of no item some engines return an empty one
        return _fault_of_item("Attributes", attributes, request.target.key if request.target else {})
    return None


def _page(request: Request, answer: Body) -> str | None:
    count = answer.get("Count")
    if count is not None and (type(count) is not int or count < 0):
        return "its Count is not a number of items"
    items, counting = answer.get("Items"), request.body.get("Select") == "COUNT"
    if counting and count is None:
        return "it has no Count"
    if not (counting and items is None) and (fault := _fault_of_items(request, items, count)) is not None:
        return fault
    position: Any = answer.get("LastEvaluatedKey")
    if position is None or position == {}:
        return None
    if not _is_object(position) or not all(map(_is_key_value, position.values())):
        return "its LastEvaluatedKey is not a key"
    if not position.keys() >= request.required:
        return f"its LastEvaluatedKey lacks {_listed(request.required - position.keys())}"
    start: Mapping[str, Any] | None = request.body.get("ExclusiveStartKey")
    if start is not None and all(_same_value(position.get(name), value) for name, value in start.items()):
        return "its LastEvaluatedKey is the position that was asked from, so the read does not advance"
    return None


def _fault_of_items(request: Request, items: Any, count: int | None) -> str | None:
    if not _is_list(items):
        return "it has no list of Items"
    if not set(map(type, items)) <= _OBJECTS:
        return "one of its Items is not a JSON object"
    if count is not None and count != len(items):
        return f"its Count is {count}, and it has {len(items)} Items"
    # What lacks its key lacks a field, as its reader finds out, unless only some are selected. The last one tells where
    # the page ends. To look at all of them takes a tenth of decoding them (benchmarks: query_100).
    looked_at = items if "ProjectionExpression" in request.body else items[-1:]
    return _fault_of_keys(request, looked_at)


def _fault_of_keys(request: Request, items: Sequence[Mapping[str, Any]]) -> str | None:
    # A name after the other: of 20,000 items at a third of the time that ``issubset`` takes.
    for name in request.required:
        if not all(map(contains, items, repeat(name))):
            return f"one of its Items lacks {_listed(request.required)}, in part or whole"
    return None


def _is_key_value(value: Any) -> bool:
    return (
        _is_object(value)
        and len(value) == 1
        and all(tag in ("S", "N", "B") and type(content) is str for tag, content in value.items())
    )


def _statement(request: Request, answer: Body) -> str | None:
    items, token = answer.get("Items"), answer.get("NextToken")
    if (items is not None or not request.writes) and not _are_objects(items):
        return "it has no list of Items"
    if token is not None and type(token) is not str:
        return "its NextToken is not text"
    if token and token == request.body.get("NextToken"):
        return "its NextToken is the one that was asked from, so the read does not advance"
    return None


def _batch_get(request: Request, answer: Body) -> str | None:
    """Return what is wrong with a batch as a whole. The executor, which knows its requests, looks at each item."""
    responses: Any = answer.get("Responses")
    left: Any = answer.get("UnprocessedKeys")
    if not _is_object(responses) or not all(map(_are_objects, responses.values())):
        return "it has no Responses"
    if left is not None and not _is_object(left):
        return "its UnprocessedKeys are not a JSON object"
    asked = request.body["RequestItems"].keys()
    return None if asked >= responses.keys() | (left or {}).keys() else "it is about a table that was not asked for"


def _batch_write(request: Request, answer: Body) -> str | None:
    left: Any = answer.get("UnprocessedItems")
    if left is None:
        return None
    if not _is_object(left):
        return "its UnprocessedItems are not a JSON object"
    return None if request.body["RequestItems"].keys() >= left.keys() else "it is about a table that was not asked for"


def _transact_get(request: Request, answer: Body) -> str | None:
    gets: Sequence[Any] = request.body["TransactItems"]
    if (fault := _fault_of_responses(len(gets), answer)) is not None:
        return fault
    for get, response in zip(gets, answer["Responses"], strict=True):
        item = response.get("Item")
        if item not in (None, {}) and (fault := _fault_of_item("Item", item, get["Get"]["Key"])) is not None:
            return fault
    return None


def _statements(request: Request, answer: Body) -> str | None:
    asked = request.body.get("Statements") or request.body.get("TransactStatements") or ()
    if (fault := _fault_of_responses(len(asked), answer)) is not None:
        return fault
    for response in answer["Responses"]:
        failure: Any = response.get("Error") or {}
        if not _is_object(failure):
            return "the Error of one of its Responses is not a JSON object"
        stored = failure.get("Item")
        if not all(each is None or _is_object(each) for each in (response.get("Item"), stored)):
            return "the Item of one of its Responses is not a JSON object"
        if stored and (fault := fault_of_values((stored,))) is not None:
            return fault
    return None


def _fault_of_responses(number: int, answer: Body) -> str | None:
    responses: Any = answer.get("Responses")
    if not _are_objects(responses):
        return "it has no list of Responses"
    return None if len(responses) == number else f"it has {len(responses)} Responses for {number} parts"


def _items_written(_request: Request, _answer: Body) -> str | None:
    """Return None: only ConsumedCapacity is read of such an answer, and that may have any form."""
    return None


def _described(member: str) -> Judge:
    def judge(request: Request, answer: Body) -> str | None:
        return f"it has no {member}" if answer.get(member) is None else _documented(request, answer)

    return judge


def _documented(_request: Request, answer: Body) -> str | None:
    """Return what is wrong with an answer about tables. A member has the same form wherever it stands."""
    for name, value in answer.items():
        if value is not None and (fault := _fault_of_member(name, value)) is not None:
            return fault
    return None


def _fault_of_member(name: str, value: Any) -> str | None:
    if name in _TEXTS:
        return None if type(value) is str else f"its {name} is not text"
    if name in _NUMBERS:
        return None if type(value) in (int, float) else f"its {name} is not a number"
    if name in _LISTS_OF_TEXT:
        texts = _is_list(value) and set(map(type, value)) <= {str}
        return None if texts else f"its {name} are not a list of texts"
    if name in _OBJECTS_IN_LISTS:
        parts: Any = value
        if not _are_objects(value):
            return f"its {name} are not a list of JSON objects"
    elif name in _MEMBERS:
        parts = (value,)
        if not _is_object(value):
            return f"its {name} is not a JSON object"
    else:
        return None
    for part in parts:
        if lacking := _MEMBERS[name] - {each for each, inner in part.items() if inner is not None}:
            whose = "one of its" if name in _OBJECTS_IN_LISTS else "its"
            return f"{whose} {name} lacks {_listed(lacking)}"
        for each, inner in part.items():
            if inner is not None and (fault := _fault_of_member(each, inner)) is not None:
                return fault
    return None


_INDEX: Final = frozenset(("IndexName", "KeySchema", "Projection"))
_TABLE: Final = frozenset(("AttributeDefinitions", "KeySchema", "TableName", "TableStatus"))
_NOTHING: Final = frozenset[str]()
_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "ArchivalSummary": _NOTHING,
    "AttributeDefinitions": frozenset(("AttributeName", "AttributeType")),
    "BackupDescription": frozenset(("BackupDetails",)),
    "BackupDetails": frozenset(("BackupArn", "BackupName")),
    "BackupSummaries": frozenset(("BackupArn", "BackupName")),
    "BillingModeSummary": _NOTHING,
    "ContinuousBackupsDescription": _NOTHING,
    "ContributorInsightsSummaries": _NOTHING,
    "GlobalSecondaryIndexes": _INDEX,
    "KeySchema": frozenset(("AttributeName", "KeyType")),
    "KinesisDataStreamDestinations": frozenset(("StreamArn",)),
    "LocalSecondaryIndexes": _INDEX,
    "OnDemandThroughput": _NOTHING,
    "PointInTimeRecoveryDescription": _NOTHING,
    "Projection": frozenset(("ProjectionType",)),
    "ProvisionedThroughput": _NOTHING,
    "Replicas": frozenset(("RegionName",)),
    "RestoreSummary": _NOTHING,
    "SSEDescription": _NOTHING,
    "SearchSchema": frozenset(("AttributeName",)),
    "StreamSpecification": _NOTHING,
    "Table": _TABLE,
    "TableClassSummary": _NOTHING,
    "TableDescription": frozenset(("TableName",)),
    "Tags": frozenset(("Key", "Value")),
    "TimeToLiveDescription": _NOTHING,
    "VectorIndexes": frozenset(("IndexName",)),
    "WarmThroughput": _NOTHING,
}
"""JSON objects, each with the members that it needs; see ``_OBJECTS_IN_LISTS``."""
_OBJECTS_IN_LISTS: Final = frozenset(
    (
        "AttributeDefinitions",
        "BackupSummaries",
        "ContributorInsightsSummaries",
        "GlobalSecondaryIndexes",
        "KeySchema",
        "KinesisDataStreamDestinations",
        "LocalSecondaryIndexes",
        "Replicas",
        "SearchSchema",
        "Tags",
        "VectorIndexes",
    )
)
"""Those that stand in lists."""
_LISTS_OF_TEXT: Final = frozenset(("NonKeyAttributes", "TableNames"))
_TEXTS: Final = frozenset(
    (
        "AttributeName",
        "AttributeType",
        "BackupArn",
        "BackupName",
        "BackupStatus",
        "BackupType",
        "BillingMode",
        "ContinuousBackupsStatus",
        "ContributorInsightsStatus",
        "DestinationStatus",
        "IndexName",
        "IndexStatus",
        "KMSMasterKeyArn",
        "Key",
        "KeyType",
        "LastEvaluatedBackupArn",
        "LastEvaluatedTableName",
        "MultiRegionConsistency",
        "NextToken",
        "PointInTimeRecoveryStatus",
        "Policy",
        "ProjectionType",
        "RegionName",
        "ReplicaStatus",
        "SSEType",
        "Status",
        "StreamArn",
        "StreamViewType",
        "TableArn",
        "TableClass",
        "TableName",
        "TableStatus",
        "TimeToLiveStatus",
        "Value",
    )
)
_NUMBERS: Final = frozenset(
    (
        "BackupSizeBytes",
        "ItemCount",
        "MaxReadRequestUnits",
        "MaxWriteRequestUnits",
        "NumberOfDecreasesToday",
        "ReadCapacityUnits",
        "ReadUnitsPerSecond",
        "RecoveryPeriodInDays",
        "TableSizeBytes",
        "WriteCapacityUnits",
        "WriteUnitsPerSecond",
    )
)


def _is_object(value: Any) -> bool:
    return issubclass(type(value), dict) or type(value) is JSON_ITEM


def _is_list(value: Any) -> bool:
    return issubclass(type(value), list)


def _are_objects(values: Any) -> bool:
    return _is_list(values) and set(map(type, values)) <= _OBJECTS


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


Judge = Callable[[Request, Body], str | None]

_JUDGES: Final[Mapping[Service, Mapping[str, Judge]]] = {
    DYNAMODB: {
        "BatchExecuteStatement": _statements,
        "BatchGetItem": _batch_get,
        "BatchWriteItem": _batch_write,
        "CreateBackup": _described("BackupDetails"),
        "DeleteItem": _write,
        "DescribeBackup": _described("BackupDescription"),
        "DescribeContinuousBackups": _described("ContinuousBackupsDescription"),
        "DescribeTable": _described("Table"),
        "ExecuteStatement": _statement,
        "ExecuteTransaction": _statements,
        "GetItem": _get,
        "PutItem": _write,
        "Query": _page,
        "Scan": _page,
        "TransactGetItems": _transact_get,
        "TransactWriteItems": _items_written,
        "UpdateItem": _write,
    },
}
"""Of operations on items, and of those whose answers need some member; ``_documented`` judges all others."""


def fault_of_values(items: Iterable[Mapping[str, Any]]) -> str | None:
    """Return what is wrong with the values of items in wire form; None where each is a value of DynamoDB's.

    Args:
        items: attribute name -> what should be an attribute value.
    """
    for item in items:
        for name, value in item.items():
            if not _is_value(value, NESTING_LEVELS):
                return f"its attribute {name!r} holds no value of DynamoDB's"
    return None


def _is_scalar(tag: str, content: Any) -> bool:
    if type(content) is not str:
        return False
    if tag == "N":
        return _NUMBER.fullmatch(content) is not None and abs(Decimal(content).adjusted()) < _LARGEST_EXPONENT
    if tag == "B":
        try:
            b64decode(content, validate=True)
        except ValueError:
            return False
    return True


def _is_value(value: Any, levels: int) -> bool:
    if not _is_object(value) or len(value) != 1:
        return False
    [(tag, content)] = value.items()
    match tag:
        case "S" | "N" | "B":
            return _is_scalar(tag, content)
        case "BOOL" | "NULL":
            return type(content) is bool
        case "SS" | "NS" | "BS":
            return _is_list(content) and all(_is_scalar(tag[0], each) for each in content)
        case "L":
            return _is_list(content) and levels > 0 and all(_is_value(each, levels - 1) for each in content)
        case "M":
            return _is_object(content) and levels > 0 and all(_is_value(each, levels - 1) for each in content.values())
        case _:
            return False
