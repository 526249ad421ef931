"""What changed in tables, as DynamoDB Streams tells it: one shard for each stream.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from dynamap_async.simulated import wire
from dynamap_async.simulated.errors import Refused
from dynamap_async.simulated.keys import key_of
from dynamap_async.simulated.store import Entry, Table, same_items
from dynamap_async.simulated.values import admit_item

FIRST_NUMBER: Final = 100_000_000_000_000_000_001
"""The sequence number of a shard's first record."""


@dataclass(slots=True)
class Stream:
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
        clock: what the time is, in seconds since the epoch.
        region: the region that records name.
        arn: the name of a table -> its ARN.
    """

    def __init__(self, clock: Callable[[], float], region: str, arn: Callable[[str], str]) -> None:
        self._clock = clock
        self._region = region
        self._arn = arn
        self._streams: dict[str, Stream] = {}

    def open(self, table: Table, view: str) -> None:
        """Begin a stream of a table, and let DescribeTable name it."""
        now = self._clock()
        label = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(now * 1000) % 1000:03}"
        arn = f"{self._arn(table.name)}/stream/{label}"
        while arn in self._streams:  # turned off and on within a thousandth of a second
            label += "0"
            arn = f"{self._arn(table.name)}/stream/{label}"
        shard = f"shardId-{int(now * 1000):020}-{uuid4().hex[:8]}"
        self._streams[arn] = Stream(arn, label, table.name, view, table.settings["KeySchema"], shard, now)
        table.settings["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
        table.settings["LatestStreamArn"] = arn
        table.settings["LatestStreamLabel"] = label

    def close(self, table: Table) -> None:
        """End the stream of a table. What it has told can be read on."""
        if table.settings.pop("StreamSpecification", None) is not None:
            self._streams[table.settings["LatestStreamArn"]].is_open = False

    def note(
        self, table: Table, old: Entry | None, new: Entry | None, by: dict[str, str] | None = None
    ) -> Stream | None:
        """Tell what a write changed, and return the stream that tells it; None, if it changed nothing or there is none.

        Args:
            table: the table.
            old: what was there.
            new: what is there.
            by: the service that did it, for items that have expired.
        """
        entry = new or old
        if "StreamSpecification" not in table.settings or entry is None:
            return None
        if old is not None and new is not None and same_items(old, new):
            return None
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
        now = self._clock()
        told = {
            "ApproximateCreationDateTime": int(now),
            "Keys": keys,
            **images,
            "SequenceNumber": str(FIRST_NUMBER + len(stream.records)),
            "SizeBytes": size,
            "StreamViewType": stream.view,
        }
        record = {
            "eventID": uuid4().hex,
            "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._region,
            "dynamodb": wire.answer(told),
            "userIdentity": by,
        }
        stream.records.append((wire.answer(record), size, now))
        return stream

    def find(self, arn: str) -> Stream:
        """Return a stream.

        Raises:
            Refused: there is none.
        """
        stream = self._streams.get(arn)
        if stream is None:
            raise Refused("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found")
        return stream

    def listed(self, table: str | None) -> list[Stream]:
        """Return all streams, or those of a table."""
        return [stream for stream in self._streams.values() if table in {None, stream.table}]
