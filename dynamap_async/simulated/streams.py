"""The operations of DynamoDB Streams.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import TYPE_CHECKING, Any

from dynamap_async.simulated import wire
from dynamap_async.simulated.constraints import Structure, choice, number, text
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.shards import Shard, Stream

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

_ARN = text(37, 1024)
LIST_STREAMS = Structure({"TableName": text(1, 1024), "Limit": number(1, 100), "ExclusiveStartStreamArn": _ARN})
DESCRIBE_STREAM = Structure(
    {
        "StreamArn!": _ARN,
        "Limit": number(1, 100),
        "ExclusiveStartShardId": text(28, 65),
        "ShardFilter": Structure({"Type": choice("CHILD_SHARDS"), "ShardId": text(28, 65)}),
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
        "Timestamp": number(),
    }
)
GET_RECORDS = Structure({"ShardIterator!": text(1, 2048), "Limit": number(1, 1000)})
_PAGE_RECORDS = 1000
_PAGE_SHARDS = 100


def list_streams(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListStreams."""
    _admit(service, "ListStreams")
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


def _admit(service: Service, operation: str) -> None:
    if service.streams.sharding is not None:
        service.streams.sharding.admit(operation)


def describe_stream(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeStream."""
    _admit(service, "DescribeStream")
    stream = service.streams.find(body["StreamArn"])
    sharding = service.streams.sharding
    shards = list(stream.shards.values()) if sharding is None else sharding.shown(stream)
    if (filtered := body.get("ShardFilter")) is not None:
        if None in (filtered.get("Type"), filtered.get("ShardId")):
            raise invalid("ShardFilter must have Type and ShardId")
        shards = [shard for shard in shards if shard.parent == filtered["ShardId"]]
    if (start := body.get("ExclusiveStartShardId")) is not None:
        shards = [shard for shard in shards if shard.id > start]
    page = shards[: int(body.get("Limit", _PAGE_SHARDS))]
    return {
        "StreamDescription": {
            "StreamArn": stream.arn,
            "StreamLabel": stream.label,
            "StreamStatus": "ENABLED" if stream.closed is None else "DISABLED",
            "StreamViewType": stream.view,
            "CreationRequestDateTime": stream.created,
            "TableName": stream.table,
            "KeySchema": stream.keys,
            "Shards": [_described(service, shard) for shard in page],
            **({"LastEvaluatedShardId": page[-1].id} if len(page) < len(shards) else {}),
        }
    }


def _described(service: Service, shard: Shard) -> dict[str, Any]:
    numbers = {"StartingSequenceNumber": shard.number(0)}
    sharding = service.streams.sharding
    if shard.closed is not None and (sharding is None or not sharding.seems_open(shard)):
        numbers["EndingSequenceNumber"] = shard.number(shard.end)
    parent = {} if shard.parent is None else {"ParentShardId": shard.parent}
    return {"ShardId": shard.id, "SequenceNumberRange": numbers, **parent}


def get_shard_iterator(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out GetShardIterator."""
    stream = service.streams.find(body["StreamArn"])
    shard = _shard(stream, body["ShardId"])
    sharding, reader = service.streams.sharding, 0
    if sharding is not None:
        sharding.admit("GetShardIterator", shard.id)
        reader = sharding.new_reader()
    kind, sequence = body["ShardIteratorType"], body.get("SequenceNumber")
    if kind.endswith("SEQUENCE_NUMBER"):
        if sequence is None:
            raise invalid(f"SequenceNumber is required for ShardIteratorType {kind}")
        at = _of_number(shard, sequence) + (kind == "AFTER_SEQUENCE_NUMBER")
    elif kind == "AT_TIMESTAMP":
        since = body.get("Timestamp")
        if since is None:
            raise invalid("Timestamp is required for ShardIteratorType AT_TIMESTAMP")
        at = shard.after(since)
    else:
        at = shard.trimmed if kind == "TRIM_HORIZON" else shard.end
    return {"ShardIterator": _iterator(service, stream, shard, at, reader)}


def _shard(stream: Stream, name: str) -> Shard:
    shard = stream.shards.get(name)
    if shard is None:
        raise Refused("ResourceNotFoundException", "Requested resource not found: Shard does not exist")
    return shard


def _of_number(shard: Shard, sequence: str) -> int:
    at, rest = divmod(int(sequence) - shard.first, shard.step) if sequence.isdecimal() else (-1, 0)
    if rest or not 0 <= at <= shard.end:
        raise invalid(f"Invalid SequenceNumber: {sequence}")
    _refuse_trimmed(shard, at)
    return at


def _refuse_trimmed(shard: Shard, at: int) -> None:
    if at < shard.trimmed:
        raise _trimmed()


def _trimmed() -> Refused:
    return Refused(
        "TrimmedDataAccessException", "The operation attempted to read past the oldest stream record in a shard"
    )


def _iterator(service: Service, stream: Stream, shard: Shard, at: int, reader: int) -> str:
    return b64encode(wire.write([stream.arn, shard.id, at, reader, service.clock()])).decode()


def get_records(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out GetRecords."""
    try:
        arn, name, at, reader, given = wire.read(b64decode(body["ShardIterator"], validate=True))
        at, reader, given = int(at), int(reader), float(given)
    except (Base64Error, ValueError, TypeError, OverflowError, Refused):
        raise invalid("Invalid ShardIterator") from None
    stream = service.streams.find(arn)
    shard = stream.shards.get(name)
    if shard is None:  # it was forgotten since the iterator was given
        raise _trimmed()
    sharding, texts = service.streams.sharding, list[bytes]()
    if sharding is not None:
        sharding.admit("GetRecords", shard.id, reader)
        sharding.admit_iterator(given)
        _refuse_trimmed(shard, at)
    if sharding is None or at == shard.end or not sharding.gives_nothing:
        texts = service.streams.page(stream, shard, at, int(body.get("Limit", _PAGE_RECORDS)))
    end = at + len(texts)
    is_over = shard.closed is not None and end >= shard.end
    return {
        "Records": tuple(texts),
        "NextShardIterator": None if is_over else _iterator(service, stream, shard, end, reader),
    }
