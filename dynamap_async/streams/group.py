"""A group of workers that share a stream: which shards there are, which are done, and which one worker may have.

Invariant: a shard is read by the worker whose taking of its record is the last one. A child is read once its parent is
recorded as done, by whichever worker. Which shards there are is recorded before any is read to its end, and a shard is
forgotten only after its record was done for a day and the stream does not show it any more.

Time is measured by the event loop's clock: of the clocks of two workers, none is compared with the other.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final, NamedTuple

from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.errors import OperationError, ResourceNotFoundError
from dynamap_async.executor import gather_all
from dynamap_async.leases import LeaseWatch
from dynamap_async.streams.balance import ShardClaim, next_moves
from dynamap_async.streams.checkpoints import Checkpoints, ShardRecord
from dynamap_async.streams.discovery import DISCOVERY_SECONDS, Discovery
from dynamap_async.streams.positions import Position
from dynamap_async.streams.requests import StreamDescription, StreamRequests
from dynamap_async.streams.shards import ShardGraph, StreamShard

LOOKS: Final = 3
"""How often a worker looks at the leases in the time that a holder goes on without."""
STREAM_SECONDS: Final = 60.0
"""How often a worker looks whether its table has another stream."""
DAY_SECONDS: Final = 24 * 3600.0
"""How long records of shards are kept that are done."""


@dataclass(frozen=True)
class GroupPlace:
    """What the record of a group says: which stream is read, and which shards it has."""

    stream: str
    """The ARN of the stream."""
    shards: tuple[StreamShard, ...] = ()
    """All of its shards that somebody described and that are not forgotten."""
    known: Mapping[str, int] = field(default_factory=dict[str, int])
    """The id of each -> when it was recorded first, in epoch seconds."""
    past: tuple[str, ...] = ()
    """The names of records of the stream before, which are to be removed."""

    def __str__(self) -> str:
        """Return the text that is stored. Most of a shard's id is the same as of others, so it is compressed."""
        text = json.dumps([self.stream, self.shards, self.known, self.past], separators=(",", ":"))
        return b64encode(zlib.compress(text.encode())).decode()

    @classmethod
    def read(cls, text: str) -> GroupPlace:
        """Return the place that a text stands for.

        Args:
            text: what ``str(place)`` gave.
        """
        stream, shards, known, past = json.loads(zlib.decompress(b64decode(text)))
        return cls(stream, tuple(StreamShard(*each) for each in shards), known, tuple(past))

    def of(self, graph: ShardGraph, now: float) -> GroupPlace:
        """Return the place with these shards instead.

        Args:
            graph: the shards.
            now: the time of day, in epoch seconds.
        """
        shards = tuple(graph.shards)
        known = {shard.id: self.known.get(shard.id, int(now)) for shard in shards}
        return replace_fields(self, shards=shards, known=known)


class ShardLease(NamedTuple):
    """A shard that a worker has taken."""

    shard: str
    """Its id."""
    record: ShardRecord
    """Its record, as it was taken."""


def names_of_records(group: str, table: str, stream: str, shards: Iterable[str]) -> dict[str, str]:
    """Return the names of the records of shards, by the ids of these.

    Args:
        group: the name of the group.
        table: the full name of the table.
        stream: the ARN of the stream.
        shards: the ids of the shards.
    """
    # Streams of one table differ by the end of their ARN, which says when they were turned on.
    begin = f"{name_of_group(group, table)}#{stream.rpartition('/')[2]}#"
    return {shard: begin + shard for shard in shards}


def name_of_group(group: str, table: str) -> str:
    """Return the name of the record of a group.

    Args:
        group: the name of the group.
        table: the full name of the table.
    """
    return f"{group}#{table}"


class Group:
    """What one worker knows of its group, and what it takes of it."""

    def __init__(
        self,
        name: str,
        requests: StreamRequests,
        checkpoints: Checkpoints,
        *,
        owner: str,
        seconds: float,
        start: Position,
        clock: Callable[[], float],
    ) -> None:
        """Know nothing yet.

        Args:
            name: the name of the group.
            requests: asks the service of streams.
            checkpoints: where the group's records are.
            owner: the name of the worker, which nobody else has.
            seconds: how long a worker goes on without having renewed a shard.
            start: where the shards begin that there are when the group begins.
            clock: the time of day, in epoch seconds.
        """
        self.name: Final = name
        self.owner: Final = owner
        self.held: Final[dict[str, object]] = {}
        """The shards that this worker works at, or is giving back -> what works at each."""
        self._requests: Final = requests
        self._checkpoints: Final = checkpoints
        self._seconds: Final = seconds
        self._start: Final = start
        self._clock: Final = clock
        self._key: Final = name_of_group(name, requests.table)
        self._looks = -1, 0.0
        """How often workers have looked which shards there are, and when this one has seen that."""
        self._watches: Final[dict[str, LeaseWatch]] = {}
        self._place = GroupPlace("")
        self._graph = ShardGraph()
        self._finished: Final[dict[str, float]] = {}
        """The shards that are done -> when that was, in epoch seconds."""
        self._new: Final[dict[str, int]] = {}
        """Shard -> the fence with which this worker has recorded where it begins."""
        self._latest_looked = 0.0
        self._is_asking = False

    @property
    def stream(self) -> str:
        """The ARN of the stream that is read."""
        return self._place.stream

    @property
    def is_asking(self) -> bool:
        """Whether it waits for a shard that another worker is to give."""
        return self._is_asking

    def unfinished(self) -> list[str]:
        """Return the shards that are not known to be done."""
        return self._graph.unfinished(self._finished)

    async def begin(self, *, reset: bool = False) -> None:
        """Learn of what the group has done, or begin it if there is nothing.

        Args:
            reset: whether all shards begin anew where the group begins; other workers lose what they have.

        Raises:
            OperationError: the table has no stream.
        """
        found = await self._record()
        if found is None or found.position is None or reset:
            self._learn(await self._begin_anew(found, reset=reset))
        else:
            self._learn(found)
            await self._discover(found)

    async def _begin_anew(self, found: ShardRecord | None, *, reset: bool) -> ShardRecord:
        """Record where each shard begins that there is now, and then that the group has begun."""
        stream = await self._requests.latest()
        if stream is None:
            raise OperationError(
                f"the table {self._requests.table} has no stream; declare it with TableSettings(stream='new-and-old') "
                "and have session.tables.apply(...) turn it on"
            )
        described = await self._requests.describe(stream)
        graph = ShardGraph(described.shards)
        values = {shard.id: self._beginning(graph, shard.id) for shard in described.shards}
        names = names_of_records(self.name, self._requests.table, stream, values)
        stored = await self._checkpoints.find_all(list(names.values()))
        begins = [shard for shard, name in names.items() if (reset if name in stored else self._start.kind != "oldest")]
        records: list[ShardRecord | None] = await gather_all(
            [
                self._checkpoints.take(
                    names[each], stored.get(names[each]), owner=None, seconds=self._seconds, values=values[each]
                )
                for each in begins
            ]
        )
        self._new.update((each, one.fence) for each, one in zip(begins, records, strict=True) if one is not None)
        place = GroupPlace(stream).of(graph, self._clock())
        taken = await self._take(found, position=str(place))
        if taken is None:  # another worker was faster, so its beginning is the group's
            return await self._existing()
        return taken

    def _beginning(self, graph: ShardGraph, shard: str) -> dict[str, Any]:
        """Return what is stored of a shard that there is when the group begins."""
        if self._start.kind == "latest" and graph.has_closed(shard):  # all that it has is older
            return {"state": "done", "ended": self._clock(), "position": None, "asker": None}
        start = Position("latest", at=self._clock()) if self._start.kind == "latest" else self._start
        position = None if start.kind == "oldest" else str(start)
        return {"state": None, "ended": None, "position": position, "asker": None}

    async def _record(self) -> ShardRecord | None:
        return (await self._checkpoints.find_all([self._key])).get(self._key)

    async def _existing(self) -> ShardRecord:
        found = await self._record()
        if found is None:
            raise OperationError(f"the records of group {self.name!r} were removed while it began; run it again")
        return found

    async def _take(self, found: ShardRecord | None, **values: Any) -> ShardRecord | None:
        """Store what this worker says of the group; return None if another one was faster."""
        return await self._checkpoints.take(self._key, found, owner=self.owner, seconds=self._seconds, values=values)

    def _learn(self, record: ShardRecord) -> None:
        """Take over what the group's record says."""
        place = GroupPlace.read(record.position or "")
        if place.stream != self._place.stream:
            self._graph = ShardGraph()
            self._finished.clear()
            self._watches.clear()
        self._place = place
        self._graph.add(place.shards)

    async def look(self) -> list[ShardLease]:
        """Look at the records of the group once, and return the shards that this worker has taken.

        Raises:
            ServiceError: DynamoDB refused a request.
            TransportError: no answer came.
        """
        now = asyncio.get_running_loop().time()
        names = names_of_records(self.name, self._requests.table, self.stream, self.unfinished())
        found = await self._checkpoints.find_all([self._key, *names.values()])
        if (record := found.get(self._key)) is None:
            raise OperationError(f"the records of group {self.name!r} were removed while it runs; run it again")
        before = self.stream
        self._learn(record)
        if self.stream != before:  # what was read are records of the old one
            return []
        # Not by the record's fence: shards that end one after the other would put the whole look off for ever.
        if record.looks != self._looks[0]:
            self._looks = record.looks, now
        if (
            now - self._looks[1] >= DISCOVERY_SECONDS
            and (taken := await self._take(record, looks=record.looks + 1)) is not None
        ):
            await self._discover(taken)
        await self._next_stream(record, now)
        leases = {shard: found.get(name) for shard, name in names.items()}
        self._finished.update(
            (shard, lease.ended or self._clock())
            for shard, lease in leases.items()
            if lease is not None and lease.state == "done"
        )
        return await self._move(leases, now)

    async def _move(self, leases: Mapping[str, ShardRecord | None], now: float) -> list[ShardLease]:
        """Take shards that nobody has, or ask for one; return those that were taken."""
        readable = [shard for shard in self._graph.readable(self._finished) if shard in leases]
        claims = {shard: self._claim(shard, leases[shard], now) for shard in readable}
        moves = next_moves(self.owner, claims)
        # One that is stored as this worker's, and is not worked at, was taken by a request whose answer was lost.
        wanted = [shard for shard in moves.take if shard not in self.held]
        wanted += [shard for shard in readable if claims[shard].owner == self.owner and shard not in self.held]
        taken: list[ShardRecord | None] = await gather_all([self._take_shard(each, leases[each]) for each in wanted])
        if moves.ask is not None and (asked := leases[moves.ask]) is not None:
            await self._checkpoints.renew(asked, values={"asker": self.owner}, beats=0)
        self._is_asking = moves.ask is not None or any(claim.asker == self.owner for claim in claims.values())
        return [ShardLease(shard, record) for shard, record in zip(wanted, taken, strict=True) if record is not None]

    def _claim(self, shard: str, lease: ShardRecord | None, now: float) -> ShardClaim:
        if lease is None:
            return ShardClaim()
        watch = self._watches.setdefault(shard, LeaseWatch())
        overdue = watch.is_overdue(lease, now)
        if overdue and lease.owner != self.owner:
            return ShardClaim()
        return ShardClaim(lease.owner, lease.asker)

    async def _take_shard(self, shard: str, found: ShardRecord | None) -> ShardRecord | None:
        name = names_of_records(self.name, self._requests.table, self.stream, [shard])[shard]
        return await self._checkpoints.take(
            name, found, owner=self.owner, seconds=self._seconds, values={"asker": None}
        )

    def finish(self, shard: str) -> None:
        """Note that a shard is recorded as done.

        Args:
            shard: its id.
        """
        self._finished[shard] = self._clock()

    async def find_children(self, shard: str) -> None:
        """Look which shards go on from one that has ended, and record them for the whole group.

        Args:
            shard: the shard, which was read to its end.
        """
        stream = self.stream
        if not await Discovery(self._requests, stream, self._graph).children_of(shard):
            return
        children = [StreamShard(each, shard) for each in self._graph.children(shard)]
        while True:
            record = await self._existing()
            place = GroupPlace.read(record.position or "")
            known = ShardGraph(place.shards)
            if place.stream != stream or not known.add(children):
                return
            if await self._take(record, position=str(place.of(known, self._clock()))) is not None:
                return

    async def _discover(self, taken: ShardRecord) -> None:
        """Look which shards there are, and record it; forget those that nobody needs any more."""
        described = await self._described(self.stream)
        if described is None:
            return
        place = GroupPlace.read(taken.position or "")
        known = ShardGraph(place.shards)
        grown = known.add(described.shards)
        ids = {shard.id for shard in described.shards}
        gone = known.forgettable(ids, self._finished, self._clock() - DAY_SECONDS)
        known.forget(gone)
        self._graph.add(described.shards)
        if not grown and not gone and not place.past:
            return
        # Recorded first: a shard whose record is missing would be read again.
        after = replace_fields(place.of(known, self._clock()), past=())
        if await self._checkpoints.renew(taken, position=str(after)) is None:
            return  # another worker has looked since
        self._place = after
        self._graph.forget(gone)
        names = names_of_records(self.name, self._requests.table, self.stream, gone)
        await gather_all([self._checkpoints.remove(name) for name in (*names.values(), *place.past)])

    async def _described(self, stream: str) -> StreamDescription | None:
        """Return what there is of a stream; None if it was turned off so long ago that it is gone."""
        try:
            return await self._requests.describe(stream)
        except ResourceNotFoundError:
            return None

    async def _next_stream(self, record: ShardRecord, now: float) -> None:
        """Go on to the table's next stream, once everything of this one is done."""
        if self.unfinished() or now - self._latest_looked < STREAM_SECONDS:
            return
        self._latest_looked = now
        stream = await self._requests.after(self.stream)
        if stream is None:
            return
        described = await self._described(self.stream)
        if described is not None:
            self._graph.add(described.shards)
            if described.enabled or self.unfinished():
                return
        following = await self._described(stream)
        shards = () if following is None else following.shards
        # Their removal is left to who looks next: another worker may still be reading the records of this stream.
        past = names_of_records(self.name, self._requests.table, self.stream, (each.id for each in self._graph.shards))
        place = GroupPlace(stream, past=(*self._place.past, *past.values()))
        if await self._take(record, position=str(place.of(ShardGraph(shards), self._clock()))) is None:
            self._latest_looked = -STREAM_SECONDS

    def position(self, lease: ShardLease) -> Position:
        """Return where a shard that was taken is read on.

        Args:
            lease: the shard.
        """
        if lease.record.position is not None:
            return Position.read(lease.record.position)
        # Of one that has waited for longer than changes are kept, the first ones are gone.
        known = self._place.known.get(lease.shard)
        if known is None or self._clock() - known < DAY_SECONDS:
            return Position()
        return Position("time", at=float(known))

    def is_new(self, lease: ShardLease) -> bool:
        """Return whether nobody has had a shard since this worker recorded where it begins: "latest" is now, then.

        Args:
            lease: the shard.
        """
        return self._new.get(lease.shard) == lease.record.fence - 1
