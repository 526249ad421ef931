"""Bulk calls go out as chunks: one request, one future, one task for as many items as a call holds."""

import asyncio
from collections import Counter

import pytest

from dynamap_async import (
    BatchPolicy,
    CapacityPolicy,
    Model,
    PartitionKey,
    RetryPolicy,
    Throughput,
    TimeToLive,
    Version,
    attr,
)
from dynamap_async.errors import (
    BatchError,
    DamagedResponseError,
    InternalServerError,
    ItemDecodeError,
    RequestRejectedError,
    SessionClosedError,
)
from dynamap_async.events import RequestEnded, RequestQueued, RequestSent
from dynamap_async.executor.lanes import Lane
from dynamap_async.models import definition_of

AT_ONCE = RetryPolicy(base_delay_seconds=0)


def keys(*numbers):
    return [("s", number) for number in numbers]


def sizes(service, operation):
    """Return how many items each call of an operation was about."""
    found = []
    for request in service.requests:
        if request.operation == operation:
            [listed] = request.body["RequestItems"].values()
            found.append(len(listed["Keys"] if isinstance(listed, dict) else listed))
    return found


def error(kind, request):
    status = 500 if kind is InternalServerError else 400
    return kind("no", service_code=kind.__name__, operation=request.operation, table="readings", status=status)


@pytest.fixture
def readings(model):
    return lambda *numbers: [model(sensor="s", at=at, value=at) for at in numbers]


@pytest.fixture
def counted(monkeypatch):
    """Count the futures and tasks that are made, and the requests that are submitted one by one."""
    counts = Counter()
    make_future, make_task = asyncio.BaseEventLoop.create_future, asyncio.BaseEventLoop.create_task
    submit = Lane.submit

    def create_future(self):
        counts["futures"] += 1
        return make_future(self)

    def create_task(self, *args, **kwargs):
        counts["tasks"] += 1
        return make_task(self, *args, **kwargs)

    def submit_one(self, *args, **kwargs):
        counts["submitted"] += 1
        return submit(self, *args, **kwargs)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_future", create_future)
    monkeypatch.setattr(asyncio.BaseEventLoop, "create_task", create_task)
    monkeypatch.setattr(Lane, "submit", submit_one)
    return counts


class TestCounts:
    async def test_a_thousand_keys_make_ten_requests_ten_tasks_and_few_futures(
        self, open_session, service, stored, model, counted
    ):
        stored(1000)
        async with open_session() as session:
            counted.clear()
            found = await session.get_many(model, keys(*range(1000)))
        assert [item.at for item in found] == list(range(1000))
        assert sizes(service, "BatchGetItem") == [100] * 10
        assert counted["submitted"] == 0
        assert counted["tasks"] <= 12
        assert counted["futures"] <= 40

    @pytest.mark.parametrize("what", ["put", "delete", "delete by key"])
    async def test_a_thousand_writes_make_forty_requests_forty_tasks_and_few_futures(
        self, open_session, service, readings, model, counted, what
    ):
        items = readings(*range(1000))
        async with open_session() as session:
            counted.clear()
            if what == "put":
                assert await session.put_many(items) == 1000
            elif what == "delete":
                assert await session.delete_many(items) == 1000
            else:
                assert await session.delete_many(model, keys(*range(1000))) == 1000
        assert sizes(service, "BatchWriteItem") == [25] * 40
        assert counted["submitted"] == 0
        assert counted["tasks"] <= 42
        assert counted["futures"] <= 160

    async def test_what_fills_no_call_goes_by_single_requests_that_others_can_join(
        self, open_session, service, stored, model
    ):
        stored(120)
        async with open_session() as session, asyncio.TaskGroup() as group:
            many = group.create_task(session.get_many(model, keys(*range(110))))
            one = group.create_task(session.get(model, "s", 115))
        assert (many.result()[109].at, one.result().at) == (109, 115)
        assert sorted(sizes(service, "BatchGetItem")) == [11, 100]

    async def test_items_are_validated_a_slice_at_a_time(self, open_session, stored, model, monkeypatch):
        stored(100)
        codec, calls = type(definition_of(model).items), []
        decode = codec.decode
        monkeypatch.setattr(codec, "decode", lambda self, items: calls.append(len(items)) or decode(self, items))
        async with open_session() as session:
            await session.get_many(model, keys(*range(100)))
        assert sum(calls) == 100
        assert len(calls) <= 10  # few at first, while nobody knows how long they take; later a call's at once


class TestReads:
    async def test_keys_that_are_left_over_are_asked_for_again_alone(self, open_session, service, stored, model):
        stored(100)
        answer, left = service.BatchGetItem, keys(3, 4)

        def partial(body):
            service.BatchGetItem = answer
            given = answer(body)
            places = [{"sensor": {"S": sensor}, "at": {"N": str(at)}} for sensor, at in left]
            listed = [item for item in given["Responses"]["readings"] if item["at"]["N"] not in ("3", "4")]
            return {"Responses": {"readings": listed}, "UnprocessedKeys": {"readings": {"Keys": places}}}

        service.BatchGetItem = partial
        async with open_session(retry=AT_ONCE) as session:
            found = await session.get_many(model, keys(*range(100)))
            statistics = session.statistics()
        assert [item.at for item in found] == list(range(100))
        assert sizes(service, "BatchGetItem") == [100, 2]
        assert (statistics.accepted, statistics.unprocessed, statistics.retries, statistics.requests) == (100, 2, 2, 2)

    @pytest.mark.parametrize(
        "answer",
        [
            {"Responses": {"readings": [{"sensor": {"S": "s"}, "at": {"N": "777"}}]}},
            {"Responses": {"readings": [{"sensor": {"S": "s"}}]}},
            {"Responses": {"readings": [None]}},
            {"UnprocessedKeys": {"readings": {"Keys": [{"sensor": {"S": "s"}, "at": {"N": "777"}}]}}},
        ],
        ids=["of another key", "without a key", "no item", "left over what nobody asked for"],
    )
    async def test_an_answer_that_does_not_fit_is_a_damaged_one(self, open_session, service, model, answer):
        service.BatchGetItem = lambda body: answer
        service.GetItem = lambda body: {"Item": 5}  # what is damaged is asked for apart in the end
        async with open_session(retry=RetryPolicy(max_attempts=1)) as session:
            with pytest.raises(BatchError) as caught:
                await session.get_many(model, keys(*range(100)))
        assert {type(failure.error) for failure in caught.value.failures} == {DamagedResponseError}
        assert len({id(failure.error) for failure in caught.value.failures}) == 100

    async def test_a_rejected_key_is_found_by_splitting_and_fails_alone(self, open_session, service, stored, model):
        stored(100)
        service.fault = lambda r: error(RequestRejectedError, r) if "'at': {'N': '42'}" in str(r.body) else None
        async with open_session() as session:
            with pytest.raises(BatchError) as caught:
                await session.get_many(model, keys(*range(100)))
        assert [failure.position for failure in caught.value.failures] == [42]
        assert sum(item is None for item in caught.value.results) == 1

    async def test_an_item_that_does_not_fit_fails_alone(self, open_session, service, stored, model):
        stored(100)
        service.items["readings", "s", "7"]["value"] = {"S": "many"}
        async with open_session() as session:
            with pytest.raises(BatchError) as caught:
                await session.get_many(model, [*keys(*range(100)), ("s", 7)])
        assert [failure.position for failure in caught.value.failures] == [7, 100]
        assert {type(failure.error) for failure in caught.value.failures} == {ItemDecodeError}
        assert [item and item.at for item in caught.value.results[:9]] == [0, 1, 2, 3, 4, 5, 6, None, 8]

    async def test_equal_keys_are_sent_once_and_each_place_has_its_own_instance(
        self, open_session, service, stored, model
    ):
        stored(100)
        async with open_session() as session:
            found = await session.get_many(model, [*keys(*range(100)), ("s", 5), ("none", 1)])
        assert found[5] == found[100] is not found[5]
        assert found[101] is None
        assert sizes(service, "BatchGetItem") == [100]

    async def test_absent_and_expired_items_are_none(self, open_session, service):
        class Lease(Model, table="sensors", hide_expired=True):
            name: PartitionKey[str]
            until: TimeToLive[int] = attr(default=0)

        for number in range(100):
            if number % 3:
                item = {"name": {"S": f"{number}"}, "until": {"N": "50" if number % 2 else "150"}}
                service.items["sensors", f"{number}"] = item
        async with open_session(clock=lambda: 100.0) as session:
            found = await session.get_many(Lease, [f"{number}" for number in range(100)])
        there = [number for number in range(100) if number % 3 and not number % 2]
        assert [number for number in range(100) if found[number] is not None] == there

    async def test_closing_the_session_fails_each_key(self, open_session, service, model):
        service.gate = asyncio.Event()
        session = open_session()
        async with session:
            reading = asyncio.create_task(session.get_many(model, keys(*range(300))))
            await asyncio.sleep(1)
            await session.close()
            with pytest.raises(BatchError) as caught:
                await reading
        assert {type(failure.error) for failure in caught.value.failures} == {SessionClosedError}
        assert len({id(failure.error) for failure in caught.value.failures}) == 300

    async def test_nothing_is_shared_where_batches_are_off(self, open_session, service, stored, model):
        stored(4)
        async with open_session(batching=BatchPolicy(enabled=False)) as session:
            assert len(await session.get_many(model, keys(*range(100)))) == 100
        assert service.counts == {"GetItem": 100}


class TestEach:
    async def test_a_thousand_pairs_come_of_ten_requests_and_few_futures(
        self, open_session, service, stored, model, counted
    ):
        stored(990)
        async with open_session() as session:
            counted.clear()
            found = {key: item async for key, item in session.each(model, keys(*range(1000)))}
        assert {key: item and item.at for key, item in found.items()} == {
            ("s", at): at if at < 990 else None for at in range(1000)
        }
        assert sizes(service, "BatchGetItem") == [100] * 10
        assert counted["submitted"] == 0
        assert counted["futures"] <= 60

    async def test_what_fails_is_told_after_the_last_pair(self, open_session, service, stored, model):
        stored(100)
        service.items["readings", "s", "7"]["value"] = {"S": "many"}
        seen = []

        async def take(pairs):
            async for key, _item in pairs:
                seen.append(key)

        async with open_session() as session:
            with pytest.raises(BatchError) as caught:
                await take(session.each(model, [*keys(*range(100)), ("s", "x")]))
        assert sorted(seen) == [key for key in keys(*range(100)) if key != ("s", 7)]
        assert [failure.position for failure in caught.value.failures] == [7, 100]

    async def test_closing_the_session_fails_each_key(self, open_session, service, model):
        service.gate = asyncio.Event()
        session = open_session()
        async with session:
            pairs = session.each(model, keys(*range(100)))
            reading = asyncio.create_task(anext(pairs))
            await asyncio.sleep(1)
            await session.close()
            with pytest.raises(BatchError) as caught:
                await reading
        assert len({id(failure.error) for failure in caught.value.failures}) == 100


class TestTurns:
    """Writes of one item keep their order, whether they go in a chunk or alone."""

    @staticmethod
    def values(service, at):
        return [
            item and int(item["value"]["N"]) for place, item in service.writes if place == ("readings", "s", str(at))
        ]

    async def test_a_write_behind_a_chunk_waits_for_it(self, open_session, service, readings, model):
        service.latency = 1.0
        async with open_session() as session, asyncio.TaskGroup() as group:
            group.create_task(session.put_many(readings(*range(25))))
            await asyncio.sleep(0.5)
            group.create_task(session.put(model(sensor="s", at=3, value=1003)))
            await asyncio.sleep(0.1)
            assert service.counts == {"BatchWriteItem": 1}
        assert self.values(service, 3) == [3, 1003]

    async def test_a_chunk_does_not_overtake_a_write_of_one_of_its_items(self, open_session, service, readings, model):
        service.latency = 1.0
        async with open_session() as session, asyncio.TaskGroup() as group:
            group.create_task(session.put(model(sensor="s", at=3, value=1003), where=model.value < 5))
            await asyncio.sleep(0.5)
            group.create_task(session.put_many(readings(*range(25))))
        assert self.values(service, 3) == [1003, 3]
        assert sizes(service, "BatchWriteItem") == [24]

    async def test_chunks_of_the_same_items_go_one_after_the_other(self, open_session, service, model):
        service.latency = 1.0
        async with open_session() as session:
            await session.put_many(model(sensor="s", at=n % 25, value=n) for n in range(100))
        assert self.values(service, 3) == [3, 28, 53, 78]

    async def test_what_a_chunk_left_over_keeps_its_place_before_later_writes(
        self, open_session, service, readings, model
    ):
        service.latency = 1.0
        carry_out = service.BatchWriteItem

        def partial(body):
            service.BatchWriteItem = carry_out
            listed = body["RequestItems"]["readings"]
            carry_out({"RequestItems": {"readings": listed[5:]}})
            return {"UnprocessedItems": {"readings": listed[:5]}}

        service.BatchWriteItem = partial
        async with open_session() as session, asyncio.TaskGroup() as group:
            loading = group.create_task(session.put_many(readings(*range(25))))
            await asyncio.sleep(0.5)
            group.create_task(session.put(model(sensor="s", at=3, value=1003)))
        assert loading.result() == 25
        assert self.values(service, 3) == [3, 1003]

    async def test_a_withdrawn_chunk_lets_those_behind_it_go(self, open_session, service, readings, model):
        service.max_connections, service.latency = 1, 1.0
        async with open_session() as session:
            busy = asyncio.create_task(session.get_many(model, keys(*range(100))))
            await asyncio.sleep(0.5)
            loading = asyncio.create_task(session.put_many(readings(*range(25))))
            await asyncio.sleep(0.1)
            later = asyncio.create_task(session.put(model(sensor="s", at=3, value=1003)))
            await asyncio.sleep(0.1)
            loading.cancel()
            await asyncio.wait((busy, later))
        assert service.counts == {"BatchGetItem": 1, "PutItem": 1}
        assert self.values(service, 3) == [1003]

    async def test_a_chunk_is_written_as_it_was_when_it_was_given(self, open_session, service, readings):
        service.max_connections = 1
        items = readings(*range(75))
        async with open_session() as session, session.batch() as batch:
            for item in items:
                await batch.put(item)
                item.value = -1
        assert [int(item["value"]["N"]) for _place, item in service.writes] == list(range(75))

    async def test_a_failed_chunk_is_sent_again_with_its_items_together(self, open_session, service, readings):
        faults = [InternalServerError]
        service.fault = lambda r: error(faults.pop(), r) if faults else None
        async with open_session(retry=AT_ONCE) as session:
            assert await session.put_many(readings(*range(25))) == 25
            statistics = session.statistics()
        assert sizes(service, "BatchWriteItem") == [25, 25]
        assert (statistics.accepted, statistics.retries, statistics.failures) == (25, 25, 1)


class TestWhatTakesTheLongerWay:
    """What is not plain is sent by single requests, which the executor brings together again where it may."""

    async def test_items_of_several_models_share_their_calls(self, open_session, service, readings, other_model):
        mixed = [each for item in readings(*range(25)) for each in (item, other_model(name=f"{item.at}"))]
        async with open_session() as session:
            assert await session.put_many(mixed) == 50
        assert service.counts == {"BatchWriteItem": 2}
        assert len(service.items) == 50

    async def test_a_versioned_item_is_written_on_its_version(self, open_session, service):
        class Versioned(Model, table="sensors"):
            name: PartitionKey[str]
            version: Version[int] = attr(default=0)

        items = [Versioned(name=f"{number}") for number in range(25)]
        async with open_session() as session:
            await session.put_many(items)
        assert service.counts == {"PutItem": 25}
        assert {item.version for item in items} == {1}

    @pytest.mark.parametrize(("write_units", "one_by_one"), [(1000, 0), (100, 50)], ids=["fast", "slow"])
    async def test_items_wait_for_units_one_by_one_where_those_of_a_call_come_late(
        self, open_session, readings, counted, write_units, one_by_one
    ):
        policy = CapacityPolicy(limits=Throughput(read=1000, write=write_units))
        async with open_session(capacity=policy) as session:
            await session.put_many(readings(*range(50)))
        assert counted["submitted"] == one_by_one

    async def test_a_limited_scope_pays_item_by_item(self, open_session, readings, counted):
        async with open_session() as session, session.scope("load", max_write_units=1000):
            await session.put_many(readings(*range(50)))
        assert counted["submitted"] == 50


class TestAccounts:
    async def test_every_item_of_a_chunk_is_counted(self, open_session, stored, readings, model):
        stored(100)
        async with open_session() as session:
            async with session.scope("load") as scope:
                await session.get_many(model, keys(*range(100)))
                await session.put_many(readings(*range(25)))
            statistics = session.statistics()
        assert (statistics.accepted, statistics.coalesced, statistics.requests) == (125, 125, 2)
        assert statistics.of("GetItem", "readings").accepted == 100
        assert statistics.of("BatchGetItem", "readings").requests == 1
        assert (scope.usage.items, scope.usage.requests) == (125, 2)
        assert session.usage.items == 125

    async def test_a_scope_pays_what_the_service_reports_of_its_chunks(self, open_session, service, stored, model):
        stored(100)
        answer = service.BatchGetItem
        report = [{"TableName": "readings", "CapacityUnits": 50.5, "Table": {"CapacityUnits": 50.5}}]
        service.BatchGetItem = lambda body: {**answer(body), "ConsumedCapacity": report}
        async with open_session() as session, session.scope("one") as one, session.scope("two") as two:
            await session.get_many(model, keys(*range(100)))
        assert (one.usage.read_units, two.usage.read_units, session.usage.read_units) == (50.5, 50.5, 50.5)

    async def test_what_waits_for_units_is_told_item_by_item(self, open_session, readings):
        policy = CapacityPolicy(limits=Throughput(read=1000, write=250))
        async with open_session(capacity=policy) as session:
            load = asyncio.create_task(session.put_many(readings(*range(200))))
            await asyncio.sleep(0.01)
            waiting = {each.waiting for each in session.statistics().buckets if each.writes}
            load.cancel()
            await asyncio.wait([load])
            left = {each.waiting for each in session.statistics().buckets if each.writes}
        assert (waiting, left) == ({50}, {0})

    async def test_what_waits_and_what_is_under_way_is_told_item_by_item(self, open_session, service, readings):
        service.max_connections, service.latency = 1, 1.0
        async with open_session() as session:
            loading = asyncio.create_task(session.put_many(readings(*range(75))))
            await asyncio.sleep(0.5)
            statistics = session.statistics()
            await loading
        assert (statistics.in_flight, statistics.queued) == (25, 50)

    @pytest.mark.parametrize("fails", [False, True])
    async def test_observers_are_told_of_each_item(self, open_session, service, readings, fails):
        events = []
        faults = [InternalServerError] if fails else []
        service.fault = lambda r: error(faults.pop(), r) if faults else None
        async with open_session(observer=events.append, retry=AT_ONCE) as session:
            await session.put_many(readings(*range(25)))
        queued = [event.waiter_id for event in events if isinstance(event, RequestQueued)]
        ended = [event for event in events if isinstance(event, RequestEnded)]
        sent = [event for event in events if isinstance(event, RequestSent)]
        assert queued == list(range(1, 26))
        assert sorted(event.waiter_id for event in ended) == queued
        assert {(event.operation, event.attempts, event.error) for event in ended} == {("PutItem", 1 + fails, None)}
        assert [(event.items, event.waiter_ids) for event in sent] == [(25, tuple(queued))] * (1 + fails)
