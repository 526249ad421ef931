"""Events: what an observer is told of requests, as frozen values. No event holds items or credentials.

None holds a key either, but for ``HotPartition``, ``LargeItemCollection`` and ``InvalidItemsSkipped``, which are told
only on request, and for ``ComputedAttributeDiffers``.

Two numbers tie them together. A *waiter* is one caller that waits for one request: of one item, of one page, of one
table; ``waiter_id`` is its number. An *exchange* is one HTTP request and its answer; ``exchange_id`` is its number. A
batch carries many waiters in one exchange, and ``waiter_ids`` lists them. Both numbers begin at 1 in each session.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, Protocol

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import Outcome
from dynamap_async.usage import PaceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to a request. New kinds may come: an observer ignores those that it does not know."""

    at: float
    """When, by the clock of the event loop, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestQueued(Event):
    """A request was asked for. Told in the context of whoever asks, so that its context variables can be read."""

    waiter_id: int
    """The number of the caller who waits for it."""
    operation: str
    """The API operation as it was asked for, such as ``GetItem``, also where a batch carries it in the end."""
    table: str
    """The full table name."""
    index: str | None = None
    """The index that is read, if any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeEvent(Event):
    """What ``RequestSent`` and ``RequestAnswered`` have in common."""

    exchange_id: int
    """The number of the exchange."""
    waiter_ids: tuple[int, ...]
    """Who waited for it when it was sent. The callers of joined equal reads are there one by one."""
    operation: str
    """The API operation that is sent, such as ``BatchGetItem``."""
    tables: tuple[str, ...]
    """The full names of its tables, each once."""
    index: str | None = None
    """The index that is read, if any."""
    attempt: int
    """Which attempt it is, from 1; of a batch the highest among what it carries."""
    items: int | None = None
    """How many items it is about; None for queries, scans and tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSent(ExchangeEvent):
    """A request is put on the wire."""

    queued_seconds: float
    """How long those who wait for it have waited since they asked: the longest of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswered(ExchangeEvent):
    """An exchange is over, by an answer, a refusal, a failure or a cancellation. Each ``RequestSent`` has one."""

    duration_seconds: float
    """How long the exchange took."""
    error: type[BaseException] | None = None
    """The class of the error in which it ended: CancelledError where nobody waited any more; None for an answer."""
    service_code: str | None = None
    """The service's own name of the error."""
    outcome: Outcome | None = None
    """Where no usable answer came: what is known of the request."""
    unprocessed: int = 0
    """How many of its items the answer of a batch left over."""
    count: int | None = None
    """How many items a query or scan gave."""
    scanned_count: int | None = None
    """How many items a query or scan read, before its filter."""
    consumed_capacity: tuple[Mapping[str, Any], ...] = ()
    """The ``ConsumedCapacity`` of the answer in wire form, one for each table; empty where it has none."""
    read_units: float | None = None
    """The read units that the answer reports, of all its tables and their indexes; None where it does not say."""
    write_units: float | None = None
    """The write units that the answer reports, of all its tables and their indexes; None where it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRetried(Event):
    """Requests of one operation and table failed, or were left over, and wait to be sent again."""

    exchange_id: int
    """The exchange that failed."""
    waiter_ids: tuple[int, ...]
    """The numbers of those who wait for them."""
    operation: str
    """The API operation as it was asked for."""
    table: str
    """The full table name."""
    attempt: int
    """Which attempt failed, from 1; the highest among them."""
    items: int | None = None
    """How many items they are about; None for queries, scans and tables."""
    delay_seconds: float
    """How long they wait, at least, before they are sent again."""
    error: type[Exception]
    """The class of the failure; ``UnprocessedError`` for what a batch left over."""
    service_code: str | None = None
    """The service's own name of the error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSplit(Event):
    """A batch was refused, could not be sent, or had an answer that cannot be read; its parts are sent apart."""

    exchange_id: int
    """The exchange that was refused."""
    waiter_ids: tuple[int, ...]
    """The numbers of those who wait for it."""
    operation: str
    """``BatchGetItem`` or ``BatchWriteItem``."""
    tables: tuple[str, ...]
    """The full names of its tables, each once."""
    items: int
    """How many items it was about."""
    parts: int
    """How many requests are made of it."""
    error: type[Exception]
    """The class of the error."""
    service_code: str | None
    """The service's own name of the error; None where DynamoDB gave none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestEnded(Event):
    """A waiter has its answer or its error, or waits no more. Each ``RequestQueued`` has one, told in its context."""

    waiter_id: int
    """The number of the caller."""
    operation: str
    """The API operation as it was asked for."""
    table: str
    """The full table name."""
    index: str | None = None
    """The index that is read, if any."""
    attempts: int
    """How often it was sent; 0 for never."""
    duration_seconds: float
    """How long it took since it was asked for, waits included."""
    error: type[BaseException] | None = None
    """The class of the error that the caller gets; CancelledError for a caller that was cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HotPartition(Event):
    """A partition key takes more units than ``CapacityPolicy(hot_partition_units_per_second=...)`` says.

    Told at most every ten seconds of the same one, and of no partition unless that setting is given.
    """

    table: str
    """The full table name."""
    partition_key: str = field(repr=False)
    """The partition key's value in wire form. Left out of ``repr``, as it may hold anything."""
    writes: bool
    """Whether they are write units."""
    units_per_second: float
    """How many it takes lately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeItemCollection(Event):
    """The items of one partition key, with their entries in local indexes, are near to the 10 GB that there may be.

    Told by writes to tables with local indexes, with ``CapacityPolicy(large_collections=True)``: from 8 GB on, once for
    each collection, and again when it has grown.
    """

    table: str
    """The full table name."""
    partition_key: str = field(repr=False)
    """The partition key's value in wire form. Left out of ``repr``, as it may hold anything."""
    least_gb: float
    """How large it is at least, in gigabytes, as DynamoDB estimates it."""
    most_gb: float
    """How large it is at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeldUp(Event):
    """A request has to wait before it is sent: for units of a table or index, or for the budget of its scope."""

    waiter_ids: tuple[int, ...]
    """The numbers of those who wait for it."""
    operation: str
    """The API operation as it was asked for."""
    table: str
    """The full table name; of a transaction the names of all of its tables."""
    reason: Literal["table", "index", "partition", "budget"]
    """What it waits for: units of the table, of an index, or of one partition, or the budget of a scope."""
    index: str | None = None
    """The global index whose units it waits for; where it waits for a budget, the index that it reads."""
    writes: bool
    """Whether it writes."""
    units_per_second: float | None = None
    """How fast those units come, as far as is believed; None where it waits for a budget."""
    scope: str | None = None
    """The name of the scope whose budget it waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceChanged(Event):
    """A session believes something else of the units of a table or index than before."""

    table: str
    """The full table name."""
    index: str | None = None
    """The global index; None for the table."""
    writes: bool
    """Whether write units are meant."""
    state: PaceState
    """What is believed now."""
    before: PaceState
    """What was believed before."""
    units_per_second: float | None
    """Units a second that may be spent; None for any number."""
    delivered_units_per_second: float
    """Units a second that were delivered lately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidItemsSkipped(Event):
    """Stored items did not fit their model, and a query or scan with ``.invalid("skip")`` left them out.

    Told once for each page that has such items, in the context of whoever reads it.
    """

    table: str
    """The full table name; of a read of several tables the first."""
    index: str | None = None
    """The index that was read, if any."""
    models: tuple[str, ...]
    """For each item the name of the model that it does not fit."""
    keys: tuple[Mapping[str, Any], ...] = field(repr=False)
    """The key of each, as stored attribute name -> Python value. Left out of ``repr``, as it may hold anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedAttributeDiffers(Event):
    """An item that was read has another value of a ``@computed_attr`` field than its model computes, or none.

    Told in the context of whoever reads it, each time. ``save`` of the item stores what the model computes.
    """

    table: str
    """The full table name."""
    model: str
    """The name of the model."""
    fields: tuple[str, ...]
    """The fields that differ."""
    key: Mapping[str, Any] = field(repr=False)
    """The item's key, as field name -> Python value. Left out of ``repr``, as it may hold anything."""


class Observer(Protocol):
    """What ``Session(observer=...)`` takes: a function, or an object that can be called, with one argument."""

    def __call__(self, event: Event, /) -> None:
        """Record an event, quickly: it is called on the event loop, between a request and its caller.

        What it raises is logged and goes no further.
        """
        ...
