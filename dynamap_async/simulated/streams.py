"""What changed in tables, as DynamoDB Streams tells it: one shard for each stream.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dynamap_async.simulated import wire
from dynamap_async.simulated.constraints import Structure, anything, choice, number, text
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.keys import key_of
from dynamap_async.simulated.store import Entry, Table, same_items
from dynamap_async.simulated.values import admit_item

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

_FIRST = 100_000_000_000_000_000_001
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


@dataclass(slots=True)
class _Stream:
    """A stream of a table, which may be gone, or have been turned off."""

    arn: str
    label: str
    table: str
    view: str
    keys: list[dict[str, str]]
    shard: str
    created: float
    is_open: bool = True
    records: list[tuple[bytes, int, float]] = field(default_factory=list[tuple[bytes, int, float]])
    """The JSON of each record, its size, and its time."""


class Streams:
    """The streams of all tables.

    Args:
        service: what they are of.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._streams: dict[str, _Stream] = {}

    def open(self, table: Table, view: str) -> None:
        """Begin a stream of a table, and let DescribeTable name it."""
        now = self._service.clock()
        label = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(now * 1000) % 1000:03}"
        arn = f"{self._service.arn(table.name)}/stream/{label}"
        while arn in self._streams:  # turned off and on within a thousandth of a second
            label += "0"
            arn = f"{self._service.arn(table.name)}/stream/{label}"
        shard = f"shardId-{int(now * 1000):020}-{uuid4().hex[:8]}"
        self._streams[arn] = _Stream(arn, label, table.name, view, table.settings["KeySchema"], shard, now)
        table.settings["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
        table.settings["LatestStreamArn"] = arn
        table.settings["LatestStreamLabel"] = label

    def close(self, table: Table) -> None:
        """End the stream of a table. What it has told can be read on."""
        if table.settings.pop("StreamSpecification", None) is not None:
            self._streams[table.settings["LatestStreamArn"]].is_open = False

    def note(self, table: Table, old: Entry | None, new: Entry | None, by: dict[str, str] | None = None) -> None:
        """Tell what a write changed; nothing, if it changed nothing.

        Args:
            table: the table.
            old: what was there.
            new: what is there.
            by: the service that did it, for items that have expired.
        """
        entry = new or old
        if "StreamSpecification" not in table.settings or entry is None:
            return
        if old is not None and new is not None and same_items(old, new):
            return
        stream = self._streams[table.settings["LatestStreamArn"]]
        keys = key_of(table, entry.item)
        size = admit_item(keys)
        images: dict[str, Any] = {}
        if new is not None and stream.view in {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"}:
            images["NewImage"] = new.text
            size += new.size
        if old is not None and stream.view in {"OLD_IMAGE", "NEW_AND_OLD_IMAGES"}:
            images["OldImage"] = old.text
            size += old.size
        now = self._service.clock()
        told = {
            "ApproximateCreationDateTime": int(now),
            "Keys": keys,
            **images,
            "SequenceNumber": str(_FIRST + len(stream.records)),
            "SizeBytes": size,
            "StreamViewType": stream.view,
        }
        record = {
            "eventID": uuid4().hex,
            "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._service.region,
            "dynamodb": wire.answer(told),
            "userIdentity": by,
        }
        stream.records.append((wire.answer(record), size, now))

    def find(self, arn: str) -> _Stream:
        """Return a stream.

        Raises:
            Refused: there is none.
        """
        stream = self._streams.get(arn)
        if stream is None:
            raise Refused("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found")
        return stream

    def listed(self, table: str | None) -> list[_Stream]:
        """Return all streams, or those of a table."""
        return [stream for stream in self._streams.values() if table in {None, stream.table}]


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
    numbers = {"StartingSequenceNumber": str(_FIRST)}
    if not stream.is_open:
        numbers["EndingSequenceNumber"] = str(_FIRST + len(stream.records))
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
        at = int(sequence) - _FIRST + (kind == "AFTER_SEQUENCE_NUMBER")
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


def _iterator(stream: _Stream, at: int) -> str:
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
