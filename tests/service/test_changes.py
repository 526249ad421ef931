"""The changes of items are followed: all of them, those of each item in order, from any place, over all splits."""

import asyncio
import functools
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from dynamap_async import Attr, Model, PartitionKey, Table, TableSettings, UnknownItem
from dynamap_async.errors import (
    ChangesLostError,
    ConnectionFailedError,
    ExpiredIteratorError,
    InternalServerError,
    ItemKindError,
    LimitExceededError,
    OperationError,
    Outcome,
    ResourceNotFoundError,
    SessionClosedError,
    SessionStateError,
    ThrottledError,
)
from dynamap_async.request import Request
from dynamap_async.service import STREAMS
from dynamap_async.streams.events import ChangesLost, ShardEnded, ShardOpened
from dynamap_async.testing import FrozenClock, LocalEngine, NativeEngine, StreamShards, VirtualClockLoop

BEGIN = 1_700_000_000.0


class Event(Model, table="events", settings=TableSettings(stream="new-and-old")):
    id: PartitionKey[str]
    number: Attr[int]


class Silent(Model, table="silent"):
    id: PartitionKey[str]


SHOP = Table("shop", partition_key="pk", settings=TableSettings(stream="new-and-old"))


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]


class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str]


def virtually(test):
    """Run an async test on a loop whose waits take no time."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        with asyncio.Runner(loop_factory=VirtualClockLoop) as runner:
            runner.run(test(*args, **kwargs))

    return run


def engine_of(*models, seed=1, **rules):
    """Return an engine with shards, which keeps the time of the loop."""
    return LocalEngine(models=models or [Event], clock=FrozenClock(BEGIN), seed=seed, streams=StreamShards(**rules))


async def ask(engine, operation, **body):
    """Send a request of which models know nothing."""
    transport = engine.transport()
    await transport.open()
    await transport.send(Request(operation=operation, body=body, table=body["TableName"]))
    await transport.close()


def by_key(changes):
    numbers = defaultdict(list)
    for change in changes:
        numbers[change.key["id"]].append(change.new.number)
    return numbers


async def all_of(session, *models, **more):
    """Return all changes that there are until now."""
    async with session.changes(*(models or [Event]), until_idle=True, **more) as changes:
        return [change async for change in changes]


@virtually
async def test_each_change_comes_once_with_its_images_and_facts():
    async with engine_of() as engine, engine.session() as session:
        await session.put(Event(id="a", number=1))
        await session.put(Event(id="a", number=2))
        await session.delete(Event, "a")
        found = await all_of(session)
        assert [(change.event, change.changed) for change in found] == [
            ("INSERT", {"id", "number"}),
            ("MODIFY", {"number"}),
            ("REMOVE", {"id", "number"}),
        ]
        assert found[1].old == Event(id="a", number=1)
        assert found[1].new == Event(id="a", number=2)
        assert len({change.event_id for change in found}) == 3
        assert {change.at for change in found} == {datetime.fromtimestamp(BEGIN, UTC)}
        assert {change.shard_id for change in found} < {shard.shard_id for shard in engine.stream_calls}


@pytest.mark.parametrize("seed", range(3))
@virtually
async def test_no_change_is_missed_and_the_order_of_each_item_is_kept_over_splits_and_the_ends_of_shards(seed):
    random = Random(seed)
    rules = {"splits": [random.uniform(0, 3 * 3600) for _ in range(8)], "lifetime": 3600.0, "empty_pages": 0.3}
    async with engine_of(seed=seed, **rules) as engine, engine.session() as session:
        found = []

        async def follow():
            async with session.changes(Event, idle_seconds=60) as changes:
                async for change in changes:
                    found.append(change)
                    if len(found) == 300:
                        break

        following = asyncio.create_task(follow())
        for number in range(300):
            await session.put(Event(id=str(random.randrange(40)), number=number))
            await asyncio.sleep(random.uniform(0, 80))
        async with asyncio.timeout(600):
            await following
        assert sorted(change.new.number for change in found) == list(range(300))
        assert all(numbers == sorted(numbers) for numbers in by_key(found).values())
        assert len({change.shard_id for change in found}) > 20
        assert sum(calls.refused for calls in engine.stream_calls) == 0


@virtually
async def test_latest_gives_what_is_written_from_then_on_also_after_a_long_silence():
    async with engine_of(lifetime=600.0) as engine, engine.session() as session:
        await session.put(Event(id="before", number=0))
        async with session.changes(Event, start="latest", idle_seconds=5) as changes:
            waiting = asyncio.create_task(anext(changes))
            await asyncio.sleep(20 * 60)
            for number in range(10):
                await session.put(Event(id=str(number), number=number))
            found = [await waiting] + [await anext(changes) for _ in range(9)]
        assert sorted(change.new.number for change in found) == list(range(10))


@virtually
async def test_what_is_written_once_latest_is_entered_is_seen():
    async with (
        engine_of(empty_pages=0.0) as engine,
        engine.session() as session,
        session.changes(Event, start="latest", until_idle=True) as changes,
    ):
        await session.put(Event(id="a", number=1))
        assert [change.new.number async for change in changes] == [1]


@virtually
async def test_a_time_begins_with_the_changes_of_that_second():
    async with engine_of() as engine, engine.session() as session:
        for number in range(6):
            await session.put(Event(id=str(number), number=number))
            await asyncio.sleep(600)
        start = datetime.fromtimestamp(BEGIN, UTC) + timedelta(minutes=30)
        found = await all_of(session, start=start)
        assert sorted(change.new.number for change in found) == [3, 4, 5]


@virtually
async def test_following_goes_on_from_a_checkpoint_behind_what_was_handled():
    async with engine_of(splits=(60, 90), lifetime=200.0) as engine, engine.session() as session:
        for number in range(100):
            await session.put(Event(id=str(number % 10), number=number))
            await asyncio.sleep(5)
        found, checkpoint = [], "oldest"
        while True:
            async with session.changes(Event, start=checkpoint, until_idle=True) as changes:
                before = len(found)
                async for change in changes:
                    found.append(change)
                    if len(found) - before == 7:
                        changes.done(change)
                        break
                checkpoint = changes.checkpoint()
            if len(found) == before:
                break
        assert sorted(change.new.number for change in found) == list(range(100))
        assert all(numbers == sorted(numbers) for numbers in by_key(found).values())


@virtually
async def test_a_change_that_was_given_out_last_is_not_behind_a_checkpoint_until_it_is_done():
    async with engine_of(shards=1) as engine, engine.session() as session:
        for number in range(3):
            await session.put(Event(id="a", number=number))
        async with session.changes(Event) as changes:
            assert (await anext(changes)).new.number == 0
            change = await anext(changes)
            before = changes.checkpoint()
            changes.done(change)
            after = changes.checkpoint()
            changes.done(change)
            assert changes.checkpoint() == after
        assert [change.new.number for change in await all_of(session, start=before)] == [1, 2]
        assert [change.new.number for change in await all_of(session, start=after)] == [2]


@virtually
async def test_a_checkpoint_of_latest_without_any_change_misses_nothing():
    async with engine_of() as engine, engine.session() as session:
        await session.put(Event(id="before", number=0))
        await asyncio.sleep(60)
        async with session.changes(Event, start="latest") as changes:
            checkpoint = changes.checkpoint()
        await session.put(Event(id="a", number=1))
        assert [change.new.number for change in await all_of(session, start=checkpoint)] == [1]


@virtually
async def test_leaving_early_leaves_no_task():
    async with engine_of() as engine, engine.session() as session:
        await session.put_many([Event(id=str(number), number=number) for number in range(50)])
        async with session.changes(Event) as changes:
            async for _change in changes:
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}


class Unsteady:
    """Sends through another transport, and has a share of the requests to streams fail in each way."""

    def __init__(self, inner, seed, share=0.2):
        self._inner, self._random, self._share = inner, Random(seed), share
        self.failures = 0

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def send(self, request):
        if request.service is not STREAMS or self._random.random() >= self._share:
            return await self._inner.send(request)
        self.failures += 1
        kind = self._random.choice([ConnectionFailedError, *REFUSALS[: 4 if request.operation == "GetRecords" else 3]])
        if kind is ConnectionFailedError:  # the answer is lost
            await self._inner.send(request)
            raise kind("lost", outcome=Outcome.UNKNOWN, operation=request.operation, table=request.table)
        raise kind("no", service_code="No", operation=request.operation, table=request.table, status=400)


REFUSALS = [InternalServerError, LimitExceededError, ThrottledError, ExpiredIteratorError]
"""What the service refuses a request with for a moment; the last one GetRecords alone."""


@pytest.mark.parametrize("seed", range(2))
@virtually
async def test_a_fifth_of_failures_loses_no_change_and_no_order_also_where_following_begins_again(seed):
    async with engine_of(seed=seed, splits=(30, 60, 90, 120), lifetime=300.0) as engine:
        async with engine.session() as session:
            for number in range(200):
                await session.put(Event(id=str(number % 7), number=number))
                await asyncio.sleep(2)
        transport = Unsteady(engine.transport(), seed)
        async with engine.session(transport=transport) as session:
            found, checkpoint = [], "oldest"
            while len(found) < 200:
                async with session.changes(Event, start=checkpoint) as changes:
                    for _ in range(min(20, 200 - len(found))):
                        found.append(await anext(changes))  # noqa: PERF401 - as above
                    changes.done(found[-1])
                    checkpoint = changes.checkpoint()
        assert transport.failures > 20
        assert sorted(change.new.number for change in found) == list(range(200))
        assert all(numbers == sorted(numbers) for numbers in by_key(found).values())


@virtually
async def test_they_may_be_entered_in_one_task_and_closed_in_another_which_ends_the_loop():
    async with engine_of() as engine, engine.session() as session:
        changes = await asyncio.create_task(session.changes(Event).__aenter__())
        waiting = asyncio.create_task(anext(changes, None))
        await asyncio.sleep(10)
        await asyncio.create_task(changes.aclose())
        assert await waiting is None
        assert asyncio.all_tasks() == {asyncio.current_task()}


@virtually
async def test_a_deadline_ends_the_wait_and_loses_nothing():
    async with engine_of() as engine, engine.session() as session, session.changes(Event) as changes:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await anext(changes)
        await session.put(Event(id="a", number=1))
        assert (await anext(changes)).new.number == 1


@virtually
async def test_another_stream_of_the_table_begins_when_the_old_one_was_read_to_its_end():
    async with engine_of() as engine, engine.session() as session:
        found = []

        async def follow():
            async with session.changes(Event) as changes:
                async for change in changes:
                    found.append(change)  # noqa: PERF401 - they are looked at before the loop ends

        following = asyncio.create_task(follow())
        for number in range(5):
            await session.put(Event(id="a", number=2 * number))
            for enabled in (False, True):
                specification = {"StreamEnabled": enabled}
                if enabled:
                    specification["StreamViewType"] = "NEW_AND_OLD_IMAGES"
                await ask(engine, "UpdateTable", TableName="events", StreamSpecification=specification)
            await session.put(Event(id="a", number=2 * number + 1))
            await asyncio.sleep(150)
        following.cancel()
        assert [change.new.number for change in found] == list(range(10))


@virtually
async def test_streams_that_came_and_went_between_the_first_and_the_latest_are_read_as_well():
    async with engine_of() as engine, engine.session() as session:
        found = []

        async def follow():
            async with session.changes(Event) as changes:
                async for change in changes:
                    found.append(change.new.number)
                    if change.new.number == 0:
                        await again.wait()

        again = asyncio.Event()
        following = asyncio.create_task(follow())
        for number in range(4):
            await session.put(Event(id="a", number=number))
            await ask(engine, "UpdateTable", TableName="events", StreamSpecification={"StreamEnabled": False})
            specification = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
            await ask(engine, "UpdateTable", TableName="events", StreamSpecification=specification)
            await asyncio.sleep(5)
        again.set()
        await asyncio.sleep(300)
        following.cancel()
        assert found == list(range(4))


@virtually
async def test_a_checkpoint_of_another_stream_is_refused():
    async with engine_of(Event, Order) as engine, engine.session() as session:
        async with session.changes(Order) as changes:
            checkpoint = changes.checkpoint()
        with pytest.raises(OperationError, match=r"the checkpoint is of the stream \S+/shop/stream/\S+, and what is"):
            await session.changes(Event, start=checkpoint).__aenter__()
        assert asyncio.all_tasks() == {asyncio.current_task()}


@virtually
async def test_a_position_that_is_trimmed_away_is_an_error_or_passed_over_where_that_is_said():
    async with engine_of(lifetime=3600.0) as engine:
        events = []
        async with engine.session(observer=events.append) as session:
            await session.put(Event(id="a", number=0))
            async with session.changes(Event) as changes:
                changes.done(await anext(changes))
                checkpoint = changes.checkpoint()
            kept = []
            for number in range(1, 60):
                await session.put(Event(id="a", number=number))
                kept.append((engine.clock(), number))
                await asyncio.sleep(1800)
            with pytest.raises(ChangesLostError):
                await all_of(session, start=checkpoint)
            found = await all_of(session, start=checkpoint, on_gap="oldest")
            horizon = engine.clock() - 86_400
            assert [change.new.number for change in found] == [number for at, number in kept if at > horizon]
            assert any(isinstance(event, ChangesLost) for event in events)


@virtually
async def test_the_limits_of_the_service_are_kept_and_idle_shards_are_asked_once_a_second():
    async with engine_of(empty_pages=0.0) as engine, engine.session() as session:
        await session.put_many([Event(id=str(number), number=number) for number in range(3000)])
        async with session.changes(Event) as changes:
            for _ in range(3000):
                await anext(changes)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(30):
                    await anext(changes)
            before = {calls.shard_id: calls.calls for calls in engine.stream_calls if calls.operation == "GetRecords"}
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(100):
                    await anext(changes)
        after = [calls for calls in engine.stream_calls if calls.operation == "GetRecords"]
        assert all(99 <= calls.calls - before[calls.shard_id] <= 101 for calls in after)
        assert {calls.refused for calls in engine.stream_calls} == {0}
        assert {calls.most_readers for calls in after} == {1}


@virtually
async def test_of_a_shared_table_the_changes_of_other_models_are_left_out_and_unknown_items_kept():
    async with engine_of(SHOP) as engine, engine.session() as session:
        await session.put(Order(pk="a"))
        await session.put(Customer(pk="b"))
        await ask(engine, "PutItem", TableName="shop", Item={"pk": {"S": "c"}, "kind": {"S": "parcel"}})
        found = await all_of(session, Order, unknown="keep")
        assert sorted(change.key["pk"] for change in found) == ["a", "c"]
        assert {type(change.new) for change in found} == {Order, UnknownItem}
        [unknown] = [change for change in await all_of(session, Order, Customer) if change.model is None]
        with pytest.raises(ItemKindError):
            _ = unknown.new


@virtually
async def test_a_table_stands_for_all_models_that_share_it():
    async with engine_of(SHOP) as engine, engine.session() as session:
        await session.put(Order(pk="a"))
        await session.put(Customer(pk="b"))
        assert {type(change.new) for change in await all_of(session, SHOP)} == {Order, Customer}


@virtually
async def test_observers_are_told_which_shards_are_read():
    async with engine_of(shards=1, splits=(60,)) as engine:
        events = []
        async with engine.session(observer=events.append) as session:
            await session.put(Event(id="a", number=0))
            await asyncio.sleep(100)
            await all_of(session)
        told = [event for event in events if isinstance(event, ShardOpened | ShardEnded)]
        assert [type(event) for event in told] == [ShardOpened, ShardEnded, ShardOpened, ShardOpened]
        assert told[1].changes == 1


@virtually
async def test_a_table_without_a_stream_is_an_error_that_says_how_to_turn_it_on():
    async with engine_of(Silent) as engine, engine.session() as session:
        with pytest.raises(OperationError, match=r'settings=TableSettings\(stream="new-and-old"\)'):
            await session.changes(Silent).__aenter__()
        with pytest.raises(ResourceNotFoundError):
            await session.changes(Event).__aenter__()
        assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"start": "oldset"}, "start='oldset' is no checkpoint; write 'oldest', 'latest'"),
        ({"start": 5}, "start=5: write 'oldest'"),
        ({"start": datetime(2026, 1, 1)}, "has no time zone"),  # noqa: DTZ001 - on purpose
        ({"on_gap": "skip"}, "on_gap='skip': write 'raise' or 'oldest'"),
        ({"unknown": "skip"}, "unknown='skip': write 'raise' or 'keep'"),
        ({"idle_seconds": 0.1}, "idle_seconds=0.1: give seconds from 0.25 to 300"),
    ],
)
@virtually
async def test_what_cannot_be_asked_for_is_refused(more, problem):
    async with engine_of() as engine, engine.session() as session:
        with pytest.raises(OperationError, match=problem):
            session.changes(Event, **more)


@virtually
async def test_they_are_followed_inside_of_async_with_by_one_task_and_once():
    async with engine_of() as engine, engine.session() as session:
        changes = session.changes(Event)
        with pytest.raises(SessionStateError, match="async with session.changes"):
            await anext(changes)
        async with changes:
            waiting = asyncio.create_task(anext(changes, None))
            await asyncio.sleep(1)
            with pytest.raises(SessionStateError, match="two tasks ask for changes at once"):
                await anext(changes)
        assert await waiting is None
        with pytest.raises(SessionStateError, match="entered before"):
            await changes.__aenter__()


@virtually
async def test_a_session_that_is_closed_ends_them_with_an_error():
    async with engine_of() as engine:
        session = await engine.session().__aenter__()
        async with session.changes(Event) as changes:
            waiting = asyncio.create_task(anext(changes))
            await asyncio.sleep(1)
            await session.close()
            with pytest.raises(SessionClosedError):
                await waiting


@pytest.mark.asyncio
async def test_the_native_engine_whose_one_shard_seems_closed_and_has_a_short_id_is_followed(native_executable):
    options = {"until_idle": True, "idle_seconds": 0.25}
    with NativeEngine() as engine:
        async with engine.session() as session:
            await session.tables.create(Event)
            async with session.changes(Event, start="latest", **options) as changes:
                for number in range(12):  # the end that the engine shows of its shard is one of a digit less
                    await session.put(Event(id=str(number % 3), number=number))
                found = [change async for change in changes]
                checkpoint = changes.checkpoint()
            assert [change.new.number for change in found] == list(range(12))
            await session.put(Event(id="a", number=12))
            assert [change.new.number for change in await all_of(session, start=checkpoint, idle_seconds=0.25)] == [12]
            since = datetime.now(UTC) - timedelta(hours=1)
            assert len(await all_of(session, start=since, idle_seconds=0.25)) == 13
