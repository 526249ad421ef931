"""OpenTelemetry: spans of what callers wait for, of the requests that they share, and metrics. An observer, no more.

Needs the extra ``otel``. See docs/how-to/opentelemetry.md.

Invariant: every span that is begun is ended by the event that ends what it stands for.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Token
from typing import Any, Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.events import (
    BatchSplit,
    Event,
    HotPartition,
    RequestAnswered,
    RequestEnded,
    RequestQueued,
    RequestRetried,
    RequestSent,
)
from dynamap_async.integrations.missing_packages import missing_extra
from dynamap_async.streams.events import HandlerCalled, HandlerEnded

try:
    from opentelemetry.context import (
        _SUPPRESS_HTTP_INSTRUMENTATION_KEY,
        _SUPPRESS_INSTRUMENTATION_KEY,
        Context,
        attach,
        detach,
        get_current,
        set_value,
    )
    from opentelemetry.metrics import MeterProvider, get_meter
    from opentelemetry.trace import (
        Link,
        Span,
        SpanKind,
        StatusCode,
        TracerProvider,
        get_current_span,
        get_tracer,
        set_span_in_context,
    )
except ModuleNotFoundError as _missing:
    raise missing_extra("otel", _missing) from None

__all__ = ["OpenTelemetryObserver"]

_NAME: Final = "dynamap_async"
_SYSTEM: Final = {"db.system.name": "aws.dynamodb"}
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
Attributes: TypeAlias = dict[str, str | int | float | bool | Sequence[str]]


@dataclass(frozen=True, slots=True)
class _Caller:
    """A waiting caller, and the span that stands for it: its own, or the current one."""

    context: Context
    span: Span
    own: bool


class OpenTelemetryObserver:
    """Makes spans and metrics of a session's requests: ``Session(observer=OpenTelemetryObserver())``.

    Give each session one of its own. Instrumentations of aiohttp and botocore make no spans of their own for these
    requests.

    Source: https://opentelemetry.io/docs/specs/semconv/database/dynamodb/

    Args:
        tracer_provider: makes the spans; the global one by default.
        meter_provider: makes the metrics; the global one by default.
        callers: whether each caller has a span, from asking until its answer. Without, there are spans of HTTP
            requests only, which suits programs that read or write thousands of items in one call.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        callers: bool = True,
    ) -> None:
        self._tracer: Final = get_tracer(_NAME, tracer_provider=tracer_provider)
        self._callers: Final[dict[int, _Caller]] = {}
        self._exchanges: Final[dict[int, tuple[Span, Token[Context]]]] = {}
        self._handlings: Final[dict[int, tuple[Span, Token[Context]]]] = {}
        self._with_callers: Final = callers
        meter = get_meter(_NAME, meter_provider=meter_provider)
        self._durations: Final = meter.create_histogram(
            "db.client.operation.duration", "s", "Duration of requests.", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._waits: Final = meter.create_histogram(
            "dynamap.request.wait.duration",
            "s",
            "How long callers waited before their request was sent.",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._units: Final = meter.create_counter("dynamap.consumed_capacity", "{unit}", "Capacity units taken.")
        self._retries: Final = meter.create_counter("dynamap.retries", "{item}", "What had to be sent again.")
        self._coalesced: Final = meter.create_counter("dynamap.coalesced", "{caller}", "Callers who shared a request.")
        self._hot: Final = meter.create_counter(
            "dynamap.hot_partitions", "{report}", "Reports of partition keys that take more units than expected."
        )
        self._methods: Final[Mapping[type[Event], Callable[[Any], None]]] = {
            RequestQueued: self._queued,
            RequestSent: self._sent,
            RequestAnswered: self._answered,
            RequestRetried: self._retried,
            BatchSplit: self._split,
            RequestEnded: self._ended,
            HotPartition: self._heated,
            HandlerCalled: self._handler_called,
            HandlerEnded: self._handler_ended,
        }

    def __call__(self, event: Event, /) -> None:
        """Record an event."""
        method = self._methods.get(type(event))
        if method is not None:
            method(event)

    def _queued(self, event: RequestQueued) -> None:
        context = get_current()
        # The caller's current span is the parent of its request then.
        if not self._with_callers:
            self._callers[event.waiter_id] = _Caller(context, get_current_span(context), own=False)
            return
        span = self._tracer.start_span(
            f"{event.operation} {event.table}",
            context,
            kind=SpanKind.INTERNAL,
            attributes=_described(event.operation, (event.table,), event.index),
        )
        self._callers[event.waiter_id] = _Caller(set_span_in_context(span, context), span, own=True)

    def _sent(self, event: RequestSent) -> None:
        callers = self._waiting(event.waiter_ids)
        context = callers[0].context if callers else get_current()
        attributes = _described(event.operation, event.tables, event.index)
        attributes |= {"rpc.system": "aws-api", "rpc.service": "DynamoDB", "rpc.method": event.operation}
        attributes |= {"dynamap.attempt": event.attempt, "dynamap.callers": len(event.waiter_ids)}
        if event.items is not None and event.items > 1:
            attributes["db.operation.batch.size"] = event.items
        span = self._tracer.start_span(
            f"{event.operation} {', '.join(event.tables)}",
            context,
            kind=SpanKind.CLIENT,
            attributes=attributes,
            links=_links(callers),
        )
        # A span has one parent, so the other callers of a shared request are linked to it.
        for caller in callers[1:]:
            if caller.own:
                caller.span.add_link(span.get_span_context())
        # Instrumentations of aiohttp and botocore would else make a second span of the same exchange.
        quiet = set_value(_SUPPRESS_HTTP_INSTRUMENTATION_KEY, value=True, context=set_span_in_context(span, context))
        token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, value=True, context=quiet))
        self._exchanges[event.exchange_id] = span, token
        measured = _measured(event.operation, event.tables)
        self._waits.record(event.queued_seconds, measured)
        if len(event.waiter_ids) > 1:
            self._coalesced.add(len(event.waiter_ids), measured)

    def _answered(self, event: RequestAnswered) -> None:
        begun = self._exchanges.pop(event.exchange_id, None)
        if begun is None:
            return
        span, token = begun
        detach(token)  # the event comes where the request was sent, so it is the same context
        measured = _measured(event.operation, event.tables)
        for mode, units in (("read", event.read_units), ("write", event.write_units)):
            if units:
                self._units.add(units, {**measured, "dynamap.capacity.mode": mode})
        self._durations.record(event.duration_seconds, {**measured, **_failure(event.error, event.service_code)})
        span.set_attributes(_facts(event))
        _finish(span, event.error, event.service_code)

    def _retried(self, event: RequestRetried) -> None:
        self._retries.add(event.items or 1, _measured(event.operation, (event.table,)))
        facts: Attributes = {"dynamap.attempt": event.attempt, "dynamap.delay_seconds": event.delay_seconds}
        self._note(event.waiter_ids, "dynamap.retry", {**facts, **_failure(event.error, event.service_code)})

    def _split(self, event: BatchSplit) -> None:
        facts: Attributes = {"dynamap.parts": event.parts, **_failure(event.error, event.service_code)}
        self._note(event.waiter_ids, "dynamap.split", facts)

    def _ended(self, event: RequestEnded) -> None:
        caller = self._callers.pop(event.waiter_id, None)
        if caller is not None and caller.own:
            caller.span.set_attribute("dynamap.attempts", event.attempts)
            _finish(caller.span, event.error, None)

    def _heated(self, event: HotPartition) -> None:
        # Without the key: it may hold anything, and would make a series of each.
        mode = "write" if event.writes else "read"
        self._hot.add(1, {**_SYSTEM, "db.collection.name": event.table, "dynamap.capacity.mode": mode})

    def _handler_called(self, event: HandlerCalled) -> None:
        facts: Attributes = {
            "messaging.system": "aws.dynamodb.streams",
            "messaging.operation.type": "process",
            "messaging.consumer.group.name": event.group,
            "messaging.destination.partition.id": event.shard_id,
            "messaging.batch.message_count": event.changes,
            "dynamap.sequence_number": event.sequence_number,
            "dynamap.attempt": event.attempt,
        }
        span = self._tracer.start_span(f"process {event.group}", kind=SpanKind.CONSUMER, attributes=facts)
        # What the function asks for is inside of its span: the event is told in the task that calls it.
        self._handlings[event.call_id] = span, attach(set_span_in_context(span))

    def _handler_ended(self, event: HandlerEnded) -> None:
        begun = self._handlings.pop(event.call_id, None)
        if begun is not None:
            span, token = begun
            detach(token)
            _finish(span, event.error, None)

    def _note(self, waiter_ids: Iterable[int], name: str, facts: Attributes) -> None:
        for caller in self._waiting(waiter_ids):
            if caller.own:
                caller.span.add_event(name, facts)

    def _waiting(self, waiter_ids: Iterable[int]) -> list[_Caller]:
        return [self._callers[each] for each in waiter_ids if each in self._callers]


def _links(callers: Sequence[_Caller]) -> list[Link]:
    """Return links to the spans of all callers but the first, whose child the request is; each span once."""
    contexts = {context.span_id: context for context in (caller.span.get_span_context() for caller in callers)}
    first = callers[0].span.get_span_context().span_id if callers else None
    return [Link(context) for span_id, context in contexts.items() if context.is_valid and span_id != first]


def _measured(operation: str, tables: Sequence[str]) -> Attributes:
    """Return the attributes of metrics; a request of several tables has no collection's name."""
    attributes: Attributes = {**_SYSTEM, "db.operation.name": operation}
    if len(tables) == 1:
        attributes["db.collection.name"] = tables[0]
    return attributes


def _described(operation: str, tables: Sequence[str], index: str | None) -> Attributes:
    attributes = {**_measured(operation, tables), "aws.dynamodb.table_names": tuple(tables)}
    if index is not None:
        attributes["aws.dynamodb.index_name"] = index
    return attributes


def _facts(event: RequestAnswered) -> Attributes:
    """Return the attributes of a response, without those that it does not have."""
    facts: dict[str, Any] = {
        "aws.dynamodb.count": event.count,
        "aws.dynamodb.scanned_count": event.scanned_count,
        "aws.dynamodb.consumed_capacity": [json.dumps(entry) for entry in event.consumed_capacity] or None,
        "dynamap.read_units": event.read_units,
        "dynamap.write_units": event.write_units,
        "dynamap.unprocessed": event.unprocessed or None,
        "dynamap.outcome": None if event.outcome is None else event.outcome.value,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _failure(kind: type[BaseException] | None, code: str | None) -> Attributes:
    if kind is None:
        return {}
    coded: Attributes = {} if code is None else {"db.response.status_code": code}
    return {"error.type": code or kind.__qualname__, **coded}


def _finish(span: Span, kind: type[BaseException] | None, code: str | None) -> None:
    """End a span. A cancellation is no error: nobody waits for the answer any more."""
    if kind is not None:
        span.set_attributes(_failure(kind, code))
        if not issubclass(kind, asyncio.CancelledError):
            span.set_status(StatusCode.ERROR, kind.__qualname__)
    span.end()
