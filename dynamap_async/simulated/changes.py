"""What changed in tables, as DynamoDB Streams tells it: in one shard for each stream, or in many.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import Final
from uuid import uuid4

from dynamap_async.simulated import wire
from dynamap_async.simulated.errors import Refused
from dynamap_async.simulated.sharding import Sharding
from dynamap_async.simulated.shards import Record, Shard, Stream, shard_id
from dynamap_async.simulated.store import Change, Table, same_items
from dynamap_async.simulated.values import admit_item

_PAGE_BYTES: Final = 1_048_576


class Streams:
    """The streams of all tables.

    Args:
        clock: what the time is, in seconds since the epoch.
        region: the region that records name.
        arn: the name of a table -> its ARN.
        sharding: what cuts streams into shards; None for one shard that stays.
        note_undo: keeps how a change is undone.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        region: str,
        arn: Callable[[str], str],
        sharding: Sharding | None,
        note_undo: Callable[[Callable[[], object]], None],
    ) -> None:
        self._clock = clock
        self._region = region
        self._arn = arn
        self._streams: dict[str, Stream] = {}
        self.sharding: Sharding | None = sharding
        self._note_undo = note_undo

    def open(self, table: Table, view: str) -> None:
        """Begin a stream of a table, and let DescribeTable name it."""
        now = self._clock()
        label = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(now * 1000) % 1000:03}"
        arn = f"{self._arn(table.name)}/stream/{label}"
        while arn in self._streams:  # turned off and on within a thousandth of a second
            label += "0"
            arn = f"{self._arn(table.name)}/stream/{label}"
        stream = self._streams[arn] = Stream(arn, label, table.name, view, table.settings["KeySchema"], now)
        if self.sharding is None:
            stream.add(Shard(shard_id(now, uuid4().hex), now))
        else:
            self.sharding.begin(stream)
        table.settings["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": view}
        table.settings["LatestStreamArn"] = arn
        table.settings["LatestStreamLabel"] = label
        self._note_undo(partial(self._streams.pop, arn, None))

    def arns(self) -> list[str]:
        """Return the ARNs of all streams."""
        return list(self._streams)

    def forget(self, tables: Collection[str]) -> None:
        """Forget the streams of tables.

        Args:
            tables: their names.
        """
        for arn, stream in list(self._streams.items()):
            if stream.table in tables:
                self._note_undo(partial(self._streams.__setitem__, arn, self._streams.pop(arn)))

    def close(self, table: Table) -> None:
        """End the stream of a table. What it has told can be read on."""
        told = table.settings.pop("StreamSpecification", None)
        if told is not None:
            stream = self.find(table.settings["LatestStreamArn"])
            self._note_undo(partial(table.settings.__setitem__, "StreamSpecification", told))
            self._note_undo(partial(stream.reopen, stream.open, stream.due))
            stream.close(self._clock())

    def note(self, change: Change, by: dict[str, str] | None = None) -> Shard | None:
        """Tell what a write changed, and return the shard that tells it; None, if it changed nothing or there is none.

        Args:
            change: the write.
            by: the service that did it, for items that have expired.
        """
        settings, old, new = change.table.settings, change.old, change.new
        if "StreamSpecification" not in settings or old is new:
            return None
        if old is not None and new is not None and same_items(old, new):
            return None
        stream, now = self._streams[settings["LatestStreamArn"]], self._clock()
        shard = stream.open[0] if self.sharding is None else self.sharding.place(stream, change.position, now)
        shard.records.append(Record(old, new, now, by))
        return shard

    def page(self, stream: Stream, shard: Shard, at: int, limit: int) -> list[bytes]:
        """Return the JSON of records from one on: at most 1 MB, but one at least.

        Args:
            stream: the stream.
            shard: one of its shards.
            at: which record is the first.
            limit: how many there may be.
        """
        begin = at - shard.trimmed
        texts, room = list[bytes](), _PAGE_BYTES
        for number, record in enumerate(islice(shard.records, begin, begin + limit), at):
            text, size = self._told(stream, shard, record, shard.number(number))
            room -= size
            if texts and room < 0:
                break
            texts.append(text)
        return texts

    def _told(self, stream: Stream, shard: Shard, record: Record, number: str) -> tuple[bytes, int]:
        """Return the JSON of a record, and its size. Records are kept as what they are made of, since few are read."""
        old, new, time, by = record
        entry = new or old
        item = {} if entry is None else entry.item
        keys = {each["AttributeName"]: item[each["AttributeName"]] for each in stream.keys}
        size = admit_item(keys)
        images: dict[str, bytes] = {}
        if new is not None and stream.view in {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"}:
            images["NewImage"] = new.text
            size += new.size
        if old is not None and stream.view in {"OLD_IMAGE", "NEW_AND_OLD_IMAGES"}:
            images["OldImage"] = old.text
            size += old.size
        told = {
            "ApproximateCreationDateTime": int(time),
            "Keys": keys,
            **images,
            "SequenceNumber": number,
            "SizeBytes": size,
            "StreamViewType": stream.view,
        }
        whole = {
            "eventID": blake2b(f"{shard.id}/{number}".encode(), digest_size=16).hexdigest(),
            "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": self._region,
            "dynamodb": wire.answer(told),
            "userIdentity": by,
        }
        return wire.answer(whole), size

    def find(self, arn: str) -> Stream:
        """Return a stream as it is now.

        Raises:
            Refused: there is none.
        """
        stream = self._streams.get(arn)
        if stream is not None and self.sharding is not None and not self.sharding.keep(stream, self._clock()):
            stream = None
        if stream is None:
            raise Refused("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found")
        return stream

    def listed(self, table: str | None) -> list[Stream]:
        """Return all streams, or those of a table."""
        now = self._clock()
        return [
            stream
            for stream in self._streams.values()
            if table in {None, stream.table} and (self.sharding is None or self.sharding.keep(stream, now))
        ]
