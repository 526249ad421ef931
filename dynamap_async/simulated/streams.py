"""The operations of DynamoDB Streams.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any

from dynamap_async.simulated import wire
from dynamap_async.simulated.changes import FIRST_NUMBER, Stream
from dynamap_async.simulated.constraints import Structure, anything, choice, number, text
from dynamap_async.simulated.errors import Refused, invalid

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

_ARN = text(37, 1024)
LIST_STREAMS = Structure({"TableName": text(1, 1024), "Limit": number(1, 100), "ExclusiveStartStreamArn": _ARN})
DESCRIBE_STREAM = Structure(
    {
        "StreamArn!": _ARN,
        "Limit": number(1, 100),
        "ExclusiveStartShardId": text(28, 65),
        "ShardFilter": anything,
    }
)
GET_SHARD_ITERATOR = Structure(
    {
        "StreamArn!": _ARN,
        "ShardId!": text(28, 65),
        "ShardIteratorType!": choice(
            "TRIM_HORIZON", "LATEST", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "AT_TIMESTAMP"
        ),
        "SequenceNumber": text(21, 40),
        "Timestamp": anything,
    }
)
GET_RECORDS = Structure({"ShardIterator!": text(1, 2048), "Limit": number(1, 1000)})
_PAGE_BYTES = 1_048_576
_PAGE_RECORDS = 1000


def list_streams(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListStreams."""
    found = service.streams.listed(body.get("TableName"))
    start = body.get("ExclusiveStartStreamArn")
    begin = next((at + 1 for at, stream in enumerate(found) if stream.arn == start), 0)
    page = found[begin : begin + int(body.get("Limit", 100))]
    more = begin + len(page) < len(found)
    return {
        "Streams": [
            {"StreamArn": stream.arn, "TableName": stream.table, "StreamLabel": stream.label} for stream in page
        ],
        "LastEvaluatedStreamArn": page[-1].arn if more else None,
    }


def describe_stream(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeStream."""
    stream = service.streams.find(body["StreamArn"])
    numbers = {"StartingSequenceNumber": str(FIRST_NUMBER)}
    if not stream.is_open:
        numbers["EndingSequenceNumber"] = str(FIRST_NUMBER + len(stream.records))
    shards = [{"ShardId": stream.shard, "SequenceNumberRange": numbers}]
    if body.get("ExclusiveStartShardId") == stream.shard or body.get("ShardFilter", {}).get("ShardId") == stream.shard:
        shards = []
    return {
        "StreamDescription": {
            "StreamArn": stream.arn,
            "StreamLabel": stream.label,
            "StreamStatus": "ENABLED" if stream.is_open else "DISABLED",
            "StreamViewType": stream.view,
            "CreationRequestDateTime": stream.created,
            "TableName": stream.table,
            "KeySchema": stream.keys,
            "Shards": shards,
        }
    }


def get_shard_iterator(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out GetShardIterator."""
    stream = service.streams.find(body["StreamArn"])
    if body["ShardId"] != stream.shard:
        raise Refused("ResourceNotFoundException", "Requested resource not found: Shard does not exist")
    kind, sequence = body["ShardIteratorType"], body.get("SequenceNumber")
    if kind.endswith("SEQUENCE_NUMBER"):
        if sequence is None:
            raise invalid(f"SequenceNumber is required for ShardIteratorType {kind}")
        at = int(sequence) - FIRST_NUMBER + (kind == "AFTER_SEQUENCE_NUMBER")
        if not 0 <= at <= len(stream.records):
            raise invalid(f"Invalid SequenceNumber: {sequence}")
    elif kind == "AT_TIMESTAMP":
        since = body.get("Timestamp")
        if since is None:
            raise invalid("Timestamp is required for ShardIteratorType AT_TIMESTAMP")
        at = sum(1 for _record, _size, time in stream.records if time < since)
    else:
        at = 0 if kind == "TRIM_HORIZON" else len(stream.records)
    return {"ShardIterator": _iterator(stream, at)}


def _iterator(stream: Stream, at: int) -> str:
    return b64encode(wire.write([stream.arn, at])).decode()


def get_records(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out GetRecords."""
    try:
        arn, at = wire.read(b64decode(body["ShardIterator"], validate=True))
    except (Base64Error, ValueError, TypeError, Refused):
        raise invalid("Invalid ShardIterator") from None
    stream = service.streams.find(arn)
    limit, size, end = int(body.get("Limit", _PAGE_RECORDS)), 0, int(at)
    while end < len(stream.records) and end - at < limit and (end == at or size < _PAGE_BYTES):
        size += stream.records[end][1]
        end += 1
    is_over = not stream.is_open and end == len(stream.records)
    return {
        "Records": wire.listed(record for record, _size, _time in stream.records[int(at) : end]),
        "NextShardIterator": None if is_over else _iterator(stream, end),
    }
