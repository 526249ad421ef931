"""Spans and metrics: what each caller waited for, the request that it shared, and what that took."""

import asyncio

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, RetryPolicy, TableSettings, attr
from dynamap_async.errors import ItemNotFoundError, ThrottledError
from dynamap_async.integrations.otel import OpenTelemetryObserver
from dynamap_async.testing import LocalEngine

ONCE = RetryPolicy(max_attempts=1)


class Telescope:
    """A session's spans and metrics, in memory."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider(shutdown_on_exit=False)
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        self.tracer = self.tracers.get_tracer("test")

    def observer(self, **settings) -> OpenTelemetryObserver:
        return OpenTelemetryObserver(tracer_provider=self.tracers, meter_provider=self.meters, **settings)

    def spans(self, kind=None):
        return [span for span in self.exporter.get_finished_spans() if kind in (None, span.kind)]

    def metric(self, name):
        """Return the points of a metric."""
        found = self.reader.get_metrics_data()
        metrics = [
            each
            for resource in found.resource_metrics
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == name
        ]
        return [point for metric in metrics for point in metric.data.data_points]


@pytest.fixture
def telescope():
    return Telescope()


@pytest.fixture
def served(transport, service):
    service.fill(10)
    transport.otherwise = service
    return transport


async def settled(*awaitables):
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    await asyncio.wait(tasks)
    return [task.exception() for task in tasks]


async def test_a_lone_request_is_a_span_inside_of_its_callers(served, telescope, open_session, model):
    with telescope.tracer.start_as_current_span("handler") as handler:
        async with open_session(observer=telescope.observer()) as session:
            await session.get(model, "s", 1)
    request, caller, _ = telescope.spans()
    assert (caller.name, caller.kind, caller.parent.span_id) == (
        "GetItem readings",
        SpanKind.INTERNAL,
        handler.get_span_context().span_id,
    )
    assert (request.name, request.kind, request.parent.span_id) == (
        "GetItem readings",
        SpanKind.CLIENT,
        caller.context.span_id,
    )
    assert dict(request.attributes) == {
        "db.system.name": "aws.dynamodb",
        "db.operation.name": "GetItem",
        "db.collection.name": "readings",
        "aws.dynamodb.table_names": ("readings",),
        "rpc.system": "aws-api",
        "rpc.service": "DynamoDB",
        "rpc.method": "GetItem",
        "dynamap.attempt": 1,
        "dynamap.callers": 1,
    }
    assert caller.attributes["dynamap.attempts"] == 1


async def test_every_caller_is_linked_to_the_batch_that_it_shared(served, telescope, open_session, model):
    async def handle(name, n):
        with telescope.tracer.start_as_current_span(name):
            await session.get(model, "s", n)

    async with open_session(observer=telescope.observer()) as session:
        await settled(*(handle(f"handler {n}", n) for n in (1, 2, 2)))
    (batch,) = telescope.spans(SpanKind.CLIENT)
    first, *others = [span for span in telescope.spans() if span.name == "GetItem readings"]
    assert (batch.name, batch.attributes["db.operation.batch.size"], batch.attributes["dynamap.callers"]) == (
        "BatchGetItem readings",
        2,
        3,
    )
    assert batch.parent.span_id == first.context.span_id
    assert [link.context.span_id for link in batch.links] == [span.context.span_id for span in others]
    assert [[link.context.span_id for link in span.links] for span in (first, *others)] == [
        [],
        [batch.context.span_id],
        [batch.context.span_id],
    ]
    assert len({span.context.trace_id for span in telescope.spans()}) == 3


async def test_each_attempt_is_a_span_and_each_retry_is_noted(served, telescope, open_session, model, throttled):
    served.script(throttled())
    async with open_session(observer=telescope.observer()) as session:
        await session.get(model, "s", 1)
    first, second = telescope.spans(SpanKind.CLIENT)
    (caller,) = telescope.spans(SpanKind.INTERNAL)
    assert (first.status.status_code, first.attributes["error.type"], first.attributes["db.response.status_code"]) == (
        StatusCode.ERROR,
        "ThrottledError",
        "ThrottledError",
    )
    assert (second.status.status_code, second.attributes["dynamap.attempt"]) == (StatusCode.UNSET, 2)
    assert [(event.name, event.attributes["error.type"]) for event in caller.events] == [
        ("dynamap.retry", "ThrottledError")
    ]
    assert (caller.status.status_code, caller.attributes["dynamap.attempts"]) == (StatusCode.UNSET, 2)
    assert [point.value for point in telescope.metric("dynamap.retries")] == [1]


async def test_a_failure_is_the_callers_too(served, telescope, open_session, model, throttled):
    served.script(throttled())
    async with open_session(observer=telescope.observer(), retry=ONCE) as session:
        with pytest.raises(ThrottledError):
            await session.get(model, "s", 1)
    (caller,) = telescope.spans(SpanKind.INTERNAL)
    assert (caller.status.status_code, caller.status.description) == (StatusCode.ERROR, "ThrottledError")


async def test_an_absent_item_is_no_failed_request(served, telescope, open_session, model):
    async with open_session(observer=telescope.observer()) as session:
        with pytest.raises(ItemNotFoundError):
            await session.get(model, "s", 99)
    assert {span.status.status_code for span in telescope.spans()} == {StatusCode.UNSET}


async def test_a_cancelled_caller_ends_its_span_without_an_error(served, telescope, open_session, model):
    served.latency = 60.0
    async with open_session(observer=telescope.observer()) as session:
        task = asyncio.create_task(session.get(model, "s", 1))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])
    assert [(span.status.status_code, span.attributes["error.type"]) for span in telescope.spans()] == [
        (StatusCode.UNSET, "CancelledError"),
        (StatusCode.UNSET, "CancelledError"),
    ]


async def test_pages_are_requests_of_their_own(transport, table, telescope, open_session, readings):
    transport.otherwise = table(15)
    async with open_session(observer=telescope.observer()) as session:
        await readings(session)
    assert [
        (span.name, span.attributes["aws.dynamodb.count"], span.attributes["aws.dynamodb.scanned_count"])
        for span in telescope.spans(SpanKind.CLIENT)
    ] == [("Query readings", 10, 10), ("Query readings", 5, 5)]


async def test_units_are_counted_and_shown(transport, telescope, open_session, model):
    consumed = {"TableName": "readings", "CapacityUnits": 0.5, "Table": {"CapacityUnits": 0.5}}
    transport.script({"Item": {"sensor": {"S": "s"}, "at": {"N": "1"}}, "ConsumedCapacity": consumed})
    transport.script({"ConsumedCapacity": {**consumed, "CapacityUnits": 3.0, "Table": {"CapacityUnits": 3.0}}})
    async with open_session(observer=telescope.observer()) as session:
        await session.put(await session.get(model, "s", 1))
    read, written = telescope.spans(SpanKind.CLIENT)
    assert (read.attributes["dynamap.read_units"], written.attributes["dynamap.write_units"]) == (0.5, 3.0)
    assert '"CapacityUnits": 0.5' in read.attributes["aws.dynamodb.consumed_capacity"][0]
    assert {
        (point.attributes["db.operation.name"], point.attributes["dynamap.capacity.mode"], point.value)
        for point in telescope.metric("dynamap.consumed_capacity")
    } == {("GetItem", "read", 0.5), ("PutItem", "write", 3.0)}


async def test_reports_of_hot_partitions_are_counted_without_their_keys(transport, telescope, open_session, model):
    consumed = {"TableName": "readings", "CapacityUnits": 500.0, "Table": {"CapacityUnits": 500.0}}
    transport.script({"ConsumedCapacity": consumed})
    policy = CapacityPolicy(hot_partition_units_per_second=5)
    async with open_session(observer=telescope.observer(), capacity=policy) as session:
        await session.find(model, "s", 1)
    (point,) = telescope.metric("dynamap.hot_partitions")
    assert point.value == 1
    assert point.attributes == {
        "db.system.name": "aws.dynamodb",
        "db.collection.name": "readings",
        "dynamap.capacity.mode": "read",
    }


async def test_durations_and_waits_are_measured(served, telescope, open_session, model):
    served.latency, served.max_connections = 2.0, 1
    async with open_session(observer=telescope.observer()) as session:
        await settled(*(session.get(model, "s", n) for n in range(2)), session.put(model(sensor="s", at=5)))
    durations = {
        point.attributes["db.operation.name"]: point.sum for point in telescope.metric("db.client.operation.duration")
    }
    assert durations == {"BatchGetItem": 2.0, "PutItem": 2.0}
    waits = telescope.metric("dynamap.request.wait.duration")
    assert sum(point.sum for point in waits) == pytest.approx(2.0)
    assert [point.value for point in telescope.metric("dynamap.coalesced")] == [2]


async def test_without_callers_there_are_spans_of_requests_only(served, telescope, open_session, model):
    with telescope.tracer.start_as_current_span("handler") as handler:
        async with open_session(observer=telescope.observer(callers=False)) as session:
            await session.get_many(model, [("s", n) for n in range(5)])
    (batch, _) = telescope.spans()
    assert batch.parent.span_id == handler.get_span_context().span_id
    assert batch.links == ()  # all five asked in the handler


async def test_other_instrumentations_are_silent_while_a_request_is_sent_and_only_then(
    transport, telescope, open_session, model
):
    seen = []

    def answer(request):
        current = otel_context.get_current()
        seen.append((current.get(otel_context._SUPPRESS_HTTP_INSTRUMENTATION_KEY), trace.get_current_span().name))
        return {"Item": {"sensor": {"S": "s"}, "at": {"N": "1"}}}

    transport.otherwise = answer
    async with open_session(observer=telescope.observer()) as session:
        await session.get(model, "s", 1)
        await session.put(model(sensor="s", at=1), where=model.value == 1)
        current = otel_context.get_current()
    assert seen == [(True, "GetItem readings"), (True, "PutItem readings")]
    assert current.get(otel_context._SUPPRESS_HTTP_INSTRUMENTATION_KEY) is None


async def test_nothing_is_kept_of_what_has_ended(served, telescope, open_session, model, throttled):
    observer = telescope.observer()
    served.script(throttled())
    async with open_session(observer=observer, retry=ONCE) as session:
        await settled(*(session.get(model, "s", n) for n in range(5)))
        await session.put(model(sensor="s", at=1))
    assert (observer._callers, observer._exchanges) == ({}, {})


async def test_without_a_sdk_it_does_nothing(served, open_session, model):
    async with open_session(observer=OpenTelemetryObserver()) as session:
        assert (await session.get(model, "s", 1)).at == 1


class Visit(Model, table="visits", settings=TableSettings(stream="new-and-old")):
    number: PartitionKey[int]
    seen: Attr[bool] = attr(default=False)


async def test_each_call_of_a_consumers_function_is_a_span_around_what_it_asks_for(telescope):
    called = asyncio.Event()
    with LocalEngine() as engine:
        async with engine.session(observer=telescope.observer()) as session:
            await session.tables.create(Visit)
            await session.put(Visit(number=1))

            async def handle(change):
                if called.is_set():
                    return
                called.set()
                await session.find(Visit, 7)
                raise ValueError("once")

            task = asyncio.create_task(session.consumer(Visit, group="counts").run(handle))
            await asyncio.sleep(10)
            task.cancel()
            await asyncio.wait((task,))
    first, again = telescope.spans(SpanKind.CONSUMER)
    assert first.name == again.name == "process counts"
    assert (first.attributes["dynamap.attempt"], again.attributes["dynamap.attempt"]) == (1, 2)
    assert (first.attributes["error.type"], first.status.status_code) == ("ValueError", StatusCode.ERROR)
    assert again.status.status_code == StatusCode.UNSET
    inside = [
        span for span in telescope.spans() if span.parent and span.parent.span_id == first.get_span_context().span_id
    ]
    assert [span.name for span in inside] == ["GetItem visits"]
