"""Requests to the service of streams: which streams and shards there are, and the records of a shard.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB_Streams.html
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ServiceError, TransportError
from dynamap_async.executor import Executor
from dynamap_async.request import Request
from dynamap_async.service import STREAMS
from dynamap_async.streams.shards import StreamShard
from dynamap_async.wire import Body

DESCRIPTIONS_PER_SECOND: Final = 9
"""How many DescribeStream one process sends: an account has ten a second."""
_STREAM: Final = "/stream/"
"""What stands in a stream's ARN behind that of its table."""


class StreamName(NamedTuple):
    """A stream as it is listed: of a table that may have had others, or be gone."""

    arn: str
    table: str
    """The name of the table."""
    label: str
    """When it was turned on."""


@dataclass(frozen=True, slots=True)
class StreamDescription:
    """What is known of a stream."""

    arn: str
    """The ARN of the stream, which names the table and when it was turned on."""
    table: str
    """The name of the table, as DynamoDB knows it."""
    label: str
    """When it was turned on, as text."""
    enabled: bool
    """Whether it is turned on; what is in it can be read for 24 hours after it was turned off."""
    view: str
    """What its records hold, such as ``NEW_AND_OLD_IMAGES``."""
    created: float | None
    """When it was turned on, in epoch seconds; None where that is not told."""
    shards: tuple[StreamShard, ...]
    """All of its shards that still have records, or may get some."""


def table_of_stream(arn: str) -> str:
    """Return the ARN of the table whose stream has this ARN."""
    return arn.partition(_STREAM)[0]


def may_pass(error: Exception) -> bool:
    """Return whether what failed may go well the next time."""
    return isinstance(error, TransportError) or (isinstance(error, ServiceError) and error.retryable)


class StreamRequests:
    """Asks the service of streams through an executor, which repeats what fails for a moment.

    Args:
        executor: carries the requests out.
        table: the full name, or the ARN, of the table that errors and events name. A request goes to the account that
            owns it where it is an ARN.
    """

    def __init__(self, executor: Executor, table: str) -> None:
        self.table: Final = table
        self._executor: Final = executor
        self._described = 0.0
        """When the next DescribeStream may be sent, by the event loop's clock."""

    def _request(self, operation: str, **body: Any) -> Request:
        return Request(operation=operation, body=body, table=self.table, service=STREAMS)

    async def latest(self) -> str | None:
        """Return the ARN of the table's latest stream, which may be turned off; None where it never had one."""
        request = Request(operation="DescribeTable", body={"TableName": self.table}, table=self.table)
        table: Mapping[str, Any] = (await self._executor.send(request))["Table"]
        found: str | None = table.get("LatestStreamArn")
        return found

    async def after(self, arn: str) -> str | None:
        """Return the ARN of the stream of the table that follows one; None where that is the latest.

        Between it and the latest there may have been others, which are to be read as well.

        Args:
            arn: the ARN of the stream.
        """
        latest = await self.latest()
        if latest in (None, arn):
            return None
        # ARNs of one table sort by when its streams were turned on.
        return min((each.arn for each in await self.streams() if each.arn > arn), default=latest)

    async def streams(self, *, all_tables: bool = False) -> list[StreamName]:
        """Return the streams of the table, those among them that were turned off in the last 24 hours.

        Args:
            all_tables: whether those of all tables are wanted.
        """
        asked = {} if all_tables else {"TableName": self.table}
        found: list[StreamName] = []
        start: dict[str, Any] = {}
        while True:
            answer = await self._executor.send(self._request("ListStreams", **asked, **start))
            found += (
                StreamName(each["StreamArn"], each.get("TableName") or "", each.get("StreamLabel") or "")
                for each in answer["Streams"]
            )
            if not (last := answer.get("LastEvaluatedStreamArn")):
                return found
            start = {"ExclusiveStartStreamArn": last}

    async def describe(self, arn: str) -> StreamDescription:
        """Return what is known of a stream, from all pages of its description.

        Args:
            arn: its ARN.
        """
        shards: list[StreamShard] = []
        start: dict[str, Any] = {}
        while True:
            described = await self._description(StreamArn=arn, **start)
            shards += map(StreamShard.described, described["Shards"])
            if not (last := described.get("LastEvaluatedShardId")):
                break
            start = {"ExclusiveStartShardId": last}
        enabled = described.get("StreamStatus") in ("ENABLED", "ENABLING", None)
        created: float | None = described.get("CreationRequestDateTime")
        table, label, view = (str(described.get(name) or "") for name in ("TableName", "StreamLabel", "StreamViewType"))
        return StreamDescription(arn, table, label, enabled, view, created, tuple(shards))

    async def children(self, arn: str, shard_id: str) -> list[StreamShard]:
        """Return the shards that go on from one, as far as they are shown already.

        Args:
            arn: the ARN of the stream.
            shard_id: the shard that has ended.
        """
        filtered = {"Type": "CHILD_SHARDS", "ShardId": shard_id}
        described = await self._description(StreamArn=arn, ShardFilter=filtered)
        # Engines that know no filter give all shards.
        return [each for each in map(StreamShard.described, described["Shards"]) if each.parent == shard_id]

    async def _description(self, **body: Any) -> Mapping[str, Any]:
        """Ask for a page of a description, as often as an account may."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._described)
        self._described = at + 1 / DESCRIPTIONS_PER_SECOND
        if at > now:
            await asyncio.sleep(at - now)
        answer = await self._executor.send(self._request("DescribeStream", **body))
        found: Mapping[str, Any] = answer["StreamDescription"]
        return found

    async def iterator(self, arn: str, shard_id: str, kind: str, **at: Any) -> str:
        """Return an iterator, with which the records of a shard are asked for; it can be used for 15 minutes.

        Args:
            arn: the ARN of the stream.
            shard_id: the shard.
            kind: its ``ShardIteratorType``.
            at: ``SequenceNumber`` or ``Timestamp``, for the types that need one.
        """
        request = self._request("GetShardIterator", StreamArn=arn, ShardId=shard_id, ShardIteratorType=kind, **at)
        found: str = (await self._executor.send(request))["ShardIterator"]
        return found

    async def records(self, iterator: str, limit: int | None = None) -> Body:
        """Return the answer to GetRecords: ``Records``, and ``NextShardIterator`` unless the shard has ended.

        Args:
            iterator: from where on.
            limit: how many records at most; None for as many as an answer holds.
        """
        limited = {} if limit is None else {"Limit": limit}
        return await self._executor.send(self._request("GetRecords", ShardIterator=iterator, **limited))
