"""Events of reading streams. They are here and not with those of requests: few programs read one."""

from __future__ import annotations

from dynamap_async.dataclass import dataclass
from dynamap_async.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent(Event):
    """What the events of reading a stream have in common. Only observers of a session that reads one see them."""

    stream_arn: str
    """The ARN of the stream."""
    shard_id: str
    """The shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardOpened(StreamEvent):
    """The changes of a shard are read from now on."""

    position: str
    """From where: ``oldest``, ``latest``, ``time`` or ``after``, with the number or the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardEnded(StreamEvent):
    """The last change of a shard was read; shards that go on from it follow."""

    changes: int
    """How many changes were read of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesBehind(StreamEvent):
    """A shard is read so slowly that its changes are older than 18 hours. After 24 hours they are lost.

    Told again when it has caught up in between.
    """

    behind_seconds: float
    """How old the last change was when it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesLost(StreamEvent):
    """Changes were trimmed away before they were read, and reading goes on with the oldest one that is kept."""

    sequence_number: str | None
    """The last change that was read; None where reading was to begin at a time."""
    changed_at: float | None
    """When that change was made, or the time to begin at, in epoch seconds; None where it is not known."""
    oldest_sequence_number: str | None
    """The oldest change of the shard that is kept; None where none is."""
    oldest_changed_at: float | None
    """When that one was made, in epoch seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseEvent(StreamEvent):
    """What ``LeaseTaken`` and ``LeaseLost`` have in common."""

    group: str
    """The name of the group of workers."""
    owner: str
    """The name of this worker, as others see it."""
    fence: int
    """The number of this taking: higher than those of all before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTaken(LeaseEvent):
    """This worker of a group has a shard from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost(LeaseEvent):
    """This worker did not renew a shard in time. What it does with it is cancelled; another one may have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerCalled(StreamEvent):
    """A consumer's function is called. Told in the task that calls it, so that a span can be current in it."""

    call_id: int
    """The number of the call."""
    group: str
    """The name of the group of workers."""
    sequence_number: str
    """The first change that it gets."""
    changes: int
    """How many changes it gets."""
    attempt: int
    """Which attempt it is, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerEnded(Event):
    """A consumer's function has returned or raised. Each ``HandlerCalled`` has one, told in the same task."""

    call_id: int
    """The number of the call."""
    duration_seconds: float
    """How long it took."""
    error: type[BaseException] | None = None
    """The class of what it raised; CancelledError where it was cancelled."""
