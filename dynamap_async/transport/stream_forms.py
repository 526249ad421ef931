"""The form of the answers of streams: what DynamoDB documents of each operation. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB_Streams.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dynamap_async.request import Request
from dynamap_async.wire import Body

_CHANGES: Final = frozenset(("INSERT", "MODIFY", "REMOVE"))


def fault_of(request: Request, answer: Body) -> str | None:
    """Return what is wrong with an answer of status 200; None if its form is right.

    Args:
        request: what was asked.
        answer: the answer's JSON object.
    """
    return _JUDGES[request.operation](request, answer)


def _streams(request: Request, answer: Body) -> str | None:
    streams: Any = answer.get("Streams")
    if not _are_objects(streams) or not all(type(each.get("StreamArn")) is str for each in streams):
        return "it has no list of Streams with their ARNs"
    return _fault_of_end("LastEvaluatedStreamArn", answer, request.body.get("ExclusiveStartStreamArn"))


def _stream(request: Request, answer: Body) -> str | None:
    description: Any = answer.get("StreamDescription")
    if not _is_object(description):
        return "it has no StreamDescription"
    shards: Any = description.get("Shards")
    if not _are_objects(shards) or not all(type(each.get("ShardId")) is str for each in shards):
        return "it has no list of Shards with their IDs"
    if not all(_is_text_or_absent(each.get("ParentShardId")) for each in shards):
        return "the ParentShardId of one of its Shards is not text"
    return _fault_of_end("LastEvaluatedShardId", description, request.body.get("ExclusiveStartShardId"))


def _fault_of_end(name: str, answer: Mapping[str, Any], start: Any) -> str | None:
    end = answer.get(name)
    if not _is_text_or_absent(end):
        return f"its {name} is not text"
    return f"its {name} is the one that was asked from, so the read does not advance" if end and end == start else None


def _iterator(_request: Request, answer: Body) -> str | None:
    return None if type(answer.get("ShardIterator")) is str else "it has no ShardIterator"


def _records(_request: Request, answer: Body) -> str | None:
    records: Any = answer.get("Records")
    if not _are_objects(records):
        return "it has no list of Records"
    for record in records:
        change = record.get("dynamodb")
        if record.get("eventName") not in _CHANGES or not _is_object(change) or not _is_object(change.get("Keys")):
            return "one of its Records lacks the kind of change, or the key of the item"
        number = change.get("SequenceNumber")
        if type(number) is not str or not number.isdecimal():
            return "the SequenceNumber of one of its Records is not a number"
    following = answer.get("NextShardIterator")
    return None if _is_text_or_absent(following) else "its NextShardIterator is not text"


def _is_text_or_absent(value: Any) -> bool:
    return value is None or type(value) is str


def _is_object(value: Any) -> bool:
    return issubclass(type(value), dict)


def _are_objects(values: Any) -> bool:
    return issubclass(type(values), list) and all(map(_is_object, values))


_JUDGES: Final[Mapping[str, Callable[[Request, Body], str | None]]] = {
    "DescribeStream": _stream,
    "GetRecords": _records,
    "GetShardIterator": _iterator,
    "ListStreams": _streams,
}
