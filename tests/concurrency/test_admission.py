"""Requests wait for units: who is held up, who goes first, and what becomes of those who give up waiting."""

import asyncio
from collections import Counter
from types import SimpleNamespace

import pytest

from dynamap_async import (
    Attr,
    CapacityPolicy,
    HotPartition,
    Model,
    PartitionKey,
    Priority,
    RetryPolicy,
    SortKey,
    Throughput,
    attr,
)
from dynamap_async.errors import AccessDeniedError, ModelDefinitionError, ThrottledError
from dynamap_async.executor.admission import Admission

TEN = CapacityPolicy(limits=Throughput(read=10, write=10))
TABLE = {
    "TableName": "readings",
    "TableStatus": "ACTIVE",
    "KeySchema": [{"AttributeName": "sensor", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "sensor", "AttributeType": "S"}],
}


class Metered:
    """A table of so many write units a second, which keeps nothing; a put takes one."""

    def __init__(self, rate=None, kept_seconds=1.0):
        self.rate, self.kept_seconds = rate, kept_seconds
        self.tokens = 0.0
        self.at = None
        self.denied = False
        self.counts = Counter()
        self.described = []
        self.puts = []

    def __call__(self, request):
        now = asyncio.get_running_loop().time()
        if request.operation == "DescribeTable":
            self.described.append(now)
            if self.denied:
                raise refusal(AccessDeniedError)
            units = {"ReadCapacityUnits": 1000, "WriteCapacityUnits": self.rate}
            return {"Table": {**TABLE, "ProvisionedThroughput": units}}
        if self.rate is not None:
            since = 0.0 if self.at is None else now - self.at
            self.tokens = min(self.rate * self.kept_seconds, self.tokens + since * self.rate)
            self.at = now
        answers = {"PutItem": self.put_item, "BatchWriteItem": self.batch_write_item}
        return answers.get(request.operation, self.read)(request.body)

    def take(self):
        if self.rate is not None and self.tokens < 1:
            self.counts["throttled"] += 1
            return False
        self.tokens -= 1
        self.counts["taken"] += 1
        return True

    def read(self, body):
        keys = body["RequestItems"]["readings"]["Keys"] if "RequestItems" in body else None
        spent = capacity("readings", 0.5 * len(keys or [0]))
        found = {"Items": [], "Count": 0} if keys is None else {"Responses": {}}
        return {"ConsumedCapacity": spent if keys is None else [spent], **found}

    def put_item(self, body):
        if not self.take():
            raise refusal(ThrottledError)
        self.puts.append(int(body["Item"]["at"]["N"]))
        return {"ConsumedCapacity": capacity("readings", 1.0)}

    def batch_write_item(self, body):
        ((table, entries),) = body["RequestItems"].items()
        left = [entry for entry in entries if not self.take()]
        if len(left) == len(entries):
            raise refusal(ThrottledError)
        taken = [entry["PutRequest"]["Item"] for entry in entries if entry not in left]
        self.puts += [int(item["at"]["N"]) for item in taken if "at" in item]
        spent = capacity(table, float(len(taken)))
        return {"UnprocessedItems": {table: left} if left else {}, "ConsumedCapacity": [spent]}


def capacity(table, units):
    return {"TableName": table, "CapacityUnits": units, "Table": {"CapacityUnits": units}}


def refusal(kind):
    return kind(kind.__name__, service_code=kind.__name__, operation="PutItem", table="readings", status=400)


@pytest.fixture
def metered(transport):
    table = Metered()
    transport.otherwise, transport.latency = table, 0.005
    return table


@pytest.fixture
def items(model):
    return lambda count, first=0: [model(sensor="s", at=number) for number in range(first, first + count)]


@pytest.fixture
def declared():
    class Declared(Model, table="readings", throughput=Throughput(read=10, write=10)):
        sensor: PartitionKey[str]
        at: SortKey[int]
        value: Attr[int] = attr(default=0)

    return Declared


def now():
    return asyncio.get_running_loop().time()


async def test_a_table_that_never_refused_anything_is_not_paced(metered, transport, open_session, items):
    async with open_session() as session:
        begin = now()
        await session.put_many(items(100))
        assert now() - begin < 0.02
        assert len(transport.requests) == 4


async def test_a_known_limit_is_kept_and_used_up(metered, open_session, items):
    async with open_session(capacity=TEN) as session:
        begin = now()
        await session.put_many(items(30))
        assert now() - begin == pytest.approx(3.0, abs=0.1)


async def test_what_waits_together_travels_together(metered, transport, open_session, items):
    policy = CapacityPolicy(limits=Throughput(read=1000, write=1000))
    async with open_session(capacity=policy) as session:
        await session.put_many(items(100))
        assert len(transport.requests) == 4


async def test_a_load_that_waits_for_units_is_prepared_a_few_calls_ahead(metered, open_session, items):
    async with open_session(capacity=TEN) as session:
        taken = []

        def source():
            for item in items(400):
                taken.append(len(metered.puts))
                yield item

        await session.put_many(source())
    assert len(metered.puts) == 400
    ahead = [place - written for place, written in enumerate(taken)]
    assert 25 <= max(ahead) <= 5 * 25


async def test_without_pacing_only_refusals_hold_anything_up(metered, open_session, items):
    async with open_session(capacity=CapacityPolicy(limits=Throughput(read=1, write=1), enabled=False)) as session:
        begin = now()
        await session.put_many(items(100))
        assert now() - begin < 0.1


async def test_what_is_more_urgent_goes_first_and_a_background_load_goes_on(metered, open_session, items):
    async with open_session(capacity=TEN) as session:

        async def load():
            async with session.scope("load", priority=Priority.BACKGROUND):
                await session.put_many(items(30))

        async with asyncio.TaskGroup() as group:
            group.create_task(load())
            await asyncio.sleep(2.0)
            begin = now()
            await session.put(items(1, first=1000)[0])
            assert now() - begin < 0.05
        assert len(metered.puts) == 31


async def test_a_cancelled_waiter_gives_its_units_back(metered, open_session, items):
    first, second = items(2)
    async with open_session(capacity=TEN) as session, session.scope("load", priority=Priority.BATCH):
        waiting = asyncio.create_task(session.put(first))
        await asyncio.sleep(0.05)
        waiting.cancel()
        begin = now()
        await session.put(second)
        assert now() - begin == pytest.approx(0.105)  # a tenth of a second's worth, and half of that for handlers
        assert metered.puts == [second.at]


async def test_nobody_waits_for_units_past_the_own_deadline(metered, open_session, items):
    async with open_session(capacity=CapacityPolicy(limits=Throughput(read=1, write=1))) as session:
        begin = now()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.25):
                await session.put_many(items(10))
        assert now() - begin == pytest.approx(0.25)
        await asyncio.sleep(0.01)
        assert not session._executor._admission.governor.waiting


async def test_closing_waits_for_writes_that_wait_for_units_and_leaves_no_timer(metered, open_session, items):
    async with open_session(capacity=TEN, close_timeout_seconds=5) as session:
        put = asyncio.create_task(session.put(items(1)[0]))
        await asyncio.sleep(0)
    assert (await put).at == 0
    assert session._executor._admission._timer is None or session._executor._admission._timer.cancelled()


async def test_queries_wait_for_units_too(transport, open_session, readings):
    spent = {"Items": [], "Count": 0, "ConsumedCapacity": capacity("readings", 5.0)}
    transport.otherwise = spent
    async with open_session(capacity=TEN) as session, session.scope("load", priority=Priority.BATCH):
        begin = now()
        for _ in range(10):
            await readings(session)
        assert now() - begin == pytest.approx(4.5 + 1.3, abs=1.0)


async def test_equal_reads_take_their_units_once(metered, open_session, model):
    policy = CapacityPolicy(limits=Throughput(read=1, write=1))
    async with open_session(capacity=policy) as session, session.scope("load", priority=Priority.BATCH):
        begin = now()
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(session.find(model, "s", 1))
        assert now() - begin == pytest.approx(0.555)


async def test_a_read_that_an_urgent_one_joins_becomes_urgent(metered, open_session, model):
    async with open_session(capacity=CapacityPolicy(limits=Throughput(read=1, write=1))) as session:

        async def background(number):
            async with session.scope("load", priority=Priority.BACKGROUND):
                await session.find(model, "s", number)
            return now()

        tasks = [asyncio.create_task(background(number)) for number in range(5)]
        await asyncio.sleep(0.1)
        begin = now()
        await session.find(model, "s", 4)
        assert now() - begin < 0.5
        assert min([await task for task in tasks]) == await tasks[4]


class TestLearning:
    async def test_a_refused_load_finds_the_rate(self, metered, transport, open_session, items):
        metered.rate = 200
        async with open_session(retry=RetryPolicy(budget=1e9, max_attempts=50)) as session:
            begin = now()
            await session.put_many(items(600))
            seconds = now() - begin
        assert metered.counts["taken"] == 600
        assert 600 / seconds == pytest.approx(200, rel=0.2)

    async def test_what_is_queued_when_the_first_is_refused_waits_after_all(
        self, metered, transport, open_session, items
    ):
        metered.rate, transport.max_connections = 100, 2
        async with open_session(retry=RetryPolicy(budget=1e9, max_attempts=50)) as session:
            await session.put_many(items(300))
        # Two calls of 25 were on their way; of everything behind them, hardly anything was refused.
        assert 50 <= metered.counts["throttled"] < 100

    async def test_cancelled_writes_that_were_queued_then_hold_up_no_others_of_their_keys(
        self, metered, transport, open_session, items
    ):
        metered.rate, transport.max_connections = 100, 2
        many, few = items(300), items(20, first=300)
        async with open_session(retry=RetryPolicy(budget=1e9, max_attempts=50)) as session:
            load = asyncio.create_task(session.put_many(many))
            await asyncio.sleep(0.001)  # both connections are taken
            cancelled = [asyncio.create_task(session.put(item)) for item in few]
            await asyncio.sleep(0.001)
            for task in cancelled:
                task.cancel()
            begin = now()
            await session.gather(*[session.put(item) for item in few])
            assert now() - begin < 1
            assert not load.done()
            await load

    async def test_one_refusal_holds_up_a_few_requests_by_nothing_but_their_backoff(
        self, metered, transport, open_session, model, no_jitter
    ):
        transport.script(refusal(ThrottledError))
        async with open_session() as session:
            begin = now()
            await session.find(model, "s", 1)
            assert now() - begin == pytest.approx(0.05 + 2 * 0.005)

    async def test_writes_of_a_load_hold_up_urgent_ones_by_nothing_but_a_backoff_each(
        self, metered, open_session, items, no_jitter
    ):
        metered.rate = 20
        async with open_session(retry=RetryPolicy(budget=1e9, max_attempts=50)) as session:
            await session.put_many(items(100))  # that finds the rate

            async def background(item):
                async with session.scope("load", priority=Priority.BACKGROUND):
                    await session.put(item)

            tasks = [asyncio.create_task(background(item)) for item in items(60)]
            await asyncio.sleep(0.1)
            metered.rate, begin = None, now()
            await session.gather(*[session.put(item) for item in items(40, first=20)])
            assert 2 * 0.005 < now() - begin < 2 * (0.05 + 0.005) + 0.001
            await session.gather(*tasks)


class TestDescribing:
    async def test_the_first_request_does_not_wait_for_the_description(self, metered, open_session, items):
        metered.rate = 100
        metered.tokens = 100
        async with open_session(capacity=CapacityPolicy(limits="describe")) as session:
            begin = now()
            await session.put(items(1)[0])
            assert now() - begin == pytest.approx(0.005)
            assert len(metered.described) == 1

    async def test_a_described_limit_is_kept(self, metered, open_session, items):
        metered.rate = 200
        async with open_session(capacity=CapacityPolicy(limits="describe")) as session:
            begin = now()
            await session.put_many(items(600))
            assert now() - begin == pytest.approx(3, rel=0.06)
        assert metered.counts["throttled"] <= 30

    async def test_a_new_limit_is_noticed_while_requests_wait(self, metered, open_session, items):
        metered.rate = 100
        async with open_session(capacity=CapacityPolicy(limits="describe")) as session:
            load = asyncio.create_task(session.put_many(items(700)))
            await asyncio.sleep(1)
            metered.rate = 200
            await asyncio.sleep(3)
            before = metered.counts["taken"]
            await asyncio.sleep(1)
            assert metered.counts["taken"] - before == pytest.approx(200, abs=25)
            await load

    async def test_where_it_is_denied_limits_are_learned(self, metered, open_session, items, caplog):
        metered.denied = True
        async with open_session(capacity=CapacityPolicy(limits="describe")) as session:
            begin = now()
            await session.put_many(items(200))
            assert now() - begin < 1
        assert "learned" in caplog.text

    async def test_a_closed_session_describes_nothing_more(self, metered, open_session, items):
        metered.rate, metered.tokens = 100, 100
        async with open_session(capacity=CapacityPolicy(limits="describe")) as session:
            await session.put(items(1)[0])
        assert isinstance(session._executor._admission, Admission)
        assert session._executor._admission.describing.tasks == set()


class TestDeclaring:
    async def test_what_models_declare_is_kept(self, metered, open_session, declared):
        async with open_session(capacity=CapacityPolicy(limits="declared")) as session:
            begin = now()
            await session.put_many(declared(sensor="s", at=number) for number in range(30))
            assert now() - begin == pytest.approx(3.0, abs=0.1)

    async def test_what_models_declare_is_kept_by_the_table_of_each_period(self, metered, open_session):
        class Monthly(Model, table="readings_{month}", throughput=Throughput(read=10, write=10)):
            sensor: PartitionKey[str]
            month: SortKey[int]

        async with open_session(capacity=CapacityPolicy(limits="declared"), table_prefix="dev_") as session:
            begin = now()
            await session.put_many(Monthly(sensor=f"s{number}", month=4) for number in range(30))
            assert now() - begin == pytest.approx(3.0, abs=0.1)

    async def test_what_models_declare_is_kept_by_a_table_of_another_name(self, metered, open_session, declared):
        names = {"readings": "METERED", "readings_x": "unused"}

        class Unused(Model, table="readings_x"):
            id: PartitionKey[str]

        policy = CapacityPolicy(limits="declared")
        async with open_session(capacity=policy, table_prefix="dev_", table_names=names) as session:
            begin = now()
            await session.put_many(declared(sensor="s", at=number) for number in range(30))
            assert now() - begin == pytest.approx(3.0, abs=0.1)

    async def test_a_class_that_is_wrong_does_not_disturb_others(self, metered, open_session, declared):
        with pytest.raises(ModelDefinitionError) as refused:

            class Broken(Model, table="readings"):
                sensor: SortKey[str]

        assert "Broken" in {each.__name__ for each in Model.__subclasses__()}
        async with open_session(capacity=CapacityPolicy(limits="declared")) as session:
            begin = now()
            await session.put_many(declared(sensor="s", at=number) for number in range(30))
            assert now() - begin == pytest.approx(3.0, abs=0.1)
        assert refused.value.model == "Broken"

    async def test_a_table_of_which_nothing_is_declared_is_not_paced(self, metered, open_session):
        class Plain(Model, table="plain"):
            sensor: PartitionKey[str]

        async with open_session(capacity=CapacityPolicy(limits="declared")) as session:
            begin = now()
            await session.find(Plain, "s")
            assert now() - begin == pytest.approx(0.005)


class TestHotPartitions:
    async def test_the_observer_is_told_of_a_partition_that_takes_much_and_not_too_often(
        self, metered, open_session, items
    ):
        told = []
        policy = CapacityPolicy(hot_partition_units_per_second=50)
        async with open_session(capacity=policy, observer=told.append) as session:
            for _ in range(3):
                await session.put_many(items(200))
        (event,) = [each for each in told if isinstance(each, HotPartition)]
        assert (event.table, event.partition_key, event.writes) == ("readings", "s", True)
        assert event.units_per_second >= 50
        assert "'s'" not in repr(event)

    async def test_no_event_holds_a_key_unless_it_is_asked_for(self, metered, open_session, items):
        told = []
        async with open_session(observer=told.append) as session:
            await session.put_many(items(200))
        assert not any(isinstance(each, HotPartition) for each in told)

    async def test_a_refused_partition_leaves_the_others_alone(self, metered, transport, open_session, model):
        hot = refusal(ThrottledError)
        hot.reasons = ("TableReadKeyRangeThroughputExceeded arn:aws:dynamodb:::table/readings",)
        transport.script(hot)
        async with open_session() as session, asyncio.TaskGroup() as group:
            group.create_task(session.find(model, "s", 1))
            await asyncio.sleep(0.006)
            begin = now()
            async with asyncio.TaskGroup() as others:
                for number in range(100):
                    others.create_task(session.find(model, f"other {number}", 1))
            assert now() - begin == pytest.approx(0.005)


async def test_pacing_asks_no_timer_for_its_time(transport, metered, open_session, items, monkeypatch):
    # uvloop's handle has none, where less than a millisecond is left.
    loop = asyncio.get_running_loop()
    usual, timers, told = loop.call_at, [], []

    def call_at(*arguments, **options):
        timers.append(usual(*arguments, **options))
        return SimpleNamespace(cancel=timers[-1].cancel, _source_traceback=None)

    monkeypatch.setattr(loop, "call_at", call_at)
    loop.set_exception_handler(lambda loop, context: told.append(context))
    async with open_session(capacity=TEN) as session:
        first = asyncio.create_task(session.put_many(items(30)))
        await asyncio.sleep(0.5)
        await session.put_many(items(30, 30))
        await first
    assert metered.counts["taken"] == 60
    assert timers
    assert told == []
