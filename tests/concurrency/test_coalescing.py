"""What waits together travels together, and each caller sees what it would have seen alone."""

import asyncio
import contextvars
import gc
import math
from decimal import Decimal

import anyio
import pytest

from dynamap_async import Attr, BatchPolicy, Model, PartitionKey, RetryPolicy, attr
from dynamap_async.errors import EncodeError, ItemTooLargeError


class Label(Model, table="labels"):
    name: PartitionKey[str]
    words: Attr[list[str]] = attr(default_factory=list)


class Level(Model, table="levels"):
    height: PartitionKey[Decimal]
    order: Attr[int] = 0


async def together(*awaitables):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in awaitables]
    return [task.result() for task in tasks]


def operations(transport):
    return [request.operation for request in transport.requests]


def sizes(transport):
    """Return how many items each request is about."""
    return [
        sum(len(entry.get("Keys", ()) if isinstance(entry, dict) else entry) for entry in tables.values()) or 1
        for tables in (request.body.get("RequestItems", {"": [None]}) for request in transport.requests)
    ]


@pytest.fixture
def served(transport, service):
    transport.otherwise = service
    return service


async def test_a_thousand_gets_of_distinct_keys_are_ten_batches(transport, served, open_session, model):
    served.fill(1000)
    async with open_session() as session:
        found = await together(*(session.get(model, "s", n) for n in range(1000)))
    assert [item.at for item in found] == list(range(1000))
    assert operations(transport) == ["BatchGetItem"] * 10
    assert sizes(transport) == [100] * 10
    assert set(transport.times) == {transport.times[0]}


async def test_a_thousand_gets_of_one_key_are_one_get(transport, served, open_session, model):
    served.fill(1)
    async with open_session() as session:
        found = await together(*(session.get(model, "s", 0) for _ in range(1000)))
    assert operations(transport) == ["GetItem"]
    assert len(set(map(id, found))) == 1000


async def test_a_thousand_puts_are_forty_batches(transport, served, open_session, model):
    async with open_session() as session:
        await together(*(session.put(model(sensor="s", at=n)) for n in range(1000)))
    assert operations(transport) == ["BatchWriteItem"] * 40
    assert len(served.items) == 1000


@pytest.mark.in_memory("a connection has a timer of its own")
async def test_a_lone_get_is_sent_at_once_and_without_a_timer(transport, served, open_session, model):
    async with open_session(retry=RetryPolicy(attempt_timeout_seconds=math.inf)) as session:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        assert await session.find(model, "s", 1) is None
        assert loop.time() == begun
        assert not loop._scheduled
    assert operations(transport) == ["GetItem"]


async def test_models_of_several_tables_share_a_call(transport, served, open_session, model):
    served.fill(1)
    async with open_session() as session:
        await session.put(Label(name="s", words=["a"]))
        reading, label = await together(session.get(model, "s", 0), session.get(Label, "s"))
    assert (reading.at, label.words) == (0, ["a"])
    assert operations(transport) == ["PutItem", "BatchGetItem"]


async def test_those_who_asked_for_one_item_share_nothing_of_it(transport, served, open_session):
    async with open_session() as session:
        await session.put(Label(name="s", words=["a"]))
        first, second = await together(session.get(Label, "s"), session.get(Label, "s"))
        first.words.append("b")
    assert second.words == ["a"]


async def test_consistent_and_eventual_reads_do_not_share_a_call(transport, served, open_session, model):
    async with open_session() as session:
        await together(*(session.find(model, "s", n // 2, consistent_read=n % 2 == 0) for n in range(8)))
    asked = [
        [entry.get("ConsistentRead", False) for entry in r.body["RequestItems"].values()] for r in transport.requests
    ]
    assert sorted(asked) == [[False], [True]]
    assert sizes(transport) == [4, 4]


async def test_keys_with_separators_inside_are_not_confused(transport, served, open_session):
    async with open_session() as session:
        await session.put(Label(name="a\0Sb", words=["x"]))
        assert await together(session.find(Label, "a"), session.find(Label, "a\0Sb")) == [
            None,
            Label(name="a\0Sb", words=["x"]),
        ]


async def test_a_window_lets_later_reads_join(transport, served, open_session, model):
    async with open_session(batching=BatchPolicy(window_seconds=1.0)) as session, asyncio.TaskGroup() as group:
        for n in range(3):
            group.create_task(session.find(model, "s", n))
            await asyncio.sleep(0.3)
    assert sizes(transport) == [3]


async def test_a_full_call_does_not_wait_for_its_window(transport, served, open_session, model):
    async with open_session(batching=BatchPolicy(window_seconds=1.0, max_keys=4)) as session:
        begun = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as group:
            for n in range(6):
                group.create_task(session.find(model, "s", n))
                await asyncio.sleep(0.1)
    assert sizes(transport) == [4, 2]
    assert transport.times[0] - begun == pytest.approx(0.3)


async def test_a_conditional_write_does_not_wait_for_a_window(transport, served, open_session, model):
    async with open_session(batching=BatchPolicy(window_seconds=1.0)) as session:
        begun = asyncio.get_running_loop().time()
        await session.create(model(sensor="s", at=1))
        assert asyncio.get_running_loop().time() == begun


async def test_with_coalescing_off_each_read_travels_alone(transport, served, open_session, model):
    async with open_session(batching=BatchPolicy(enabled=False, window_seconds=9)) as session:
        begun = asyncio.get_running_loop().time()
        await together(*(session.find(model, "s", 1) for _ in range(3)), session.put(model(sensor="s", at=1)))
        assert asyncio.get_running_loop().time() == begun
    assert sorted(operations(transport)) == ["GetItem"] * 3 + ["PutItem"]


async def test_while_all_slots_are_busy_keys_accumulate(transport, served, open_session, model):
    transport.max_connections, transport.latency = 2, 1.0
    async with open_session() as session, asyncio.TaskGroup() as group:
        for n in range(50):
            group.create_task(session.find(model, "s", n))
            await asyncio.sleep(0.05)
    assert transport.most_under_way == 2
    assert sum(sizes(transport)) == 50
    assert len(transport.requests) <= 8


async def test_slots_go_round_between_reads_writes_and_pages(transport, served, table, open_session, model, readings):
    transport.max_connections, transport.latency = 1, 1.0
    async with open_session() as session, asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(session.query(model).where(model.sensor == "s").page(size=5))
        await asyncio.sleep(0.1)
        group.create_task(session.put(model(sensor="s", at=1)))
        group.create_task(session.find(model, "s", 1, consistent_read=True))
        group.create_task(session.find(model, "s", 2))
    assert transport.most_under_way == 1
    assert len(transport.requests) == 13


async def test_no_slot_is_held_during_a_backoff(transport, served, open_session, model, throttled):
    transport.max_connections = 1
    transport.script(throttled())
    async with open_session(retry=RetryPolicy(base_delay_seconds=1e3, max_delay_seconds=1e3)) as session:
        slow = asyncio.create_task(session.put(model(sensor="s", at=1)))
        await asyncio.sleep(0.001)
        begun = asyncio.get_running_loop().time()
        await session.put(model(sensor="s", at=2))
        assert asyncio.get_running_loop().time() == begun
        await slow


@pytest.mark.parametrize("latency", [0.0, 1.0])
async def test_writes_of_one_key_keep_their_order_and_are_never_merged(transport, served, open_session, model, latency):
    transport.latency = latency
    async with open_session() as session:
        await together(
            session.put(model(sensor="s", at=1, value=1)),
            session.put(model(sensor="s", at=1, value=2)),
            session.delete(model, "s", 1),
            session.create(model(sensor="s", at=1, value=3)),
            session.put(model(sensor="s", at=1, value=4), where=model.value == 3),
            session.put(model(sensor="s", at=2)),
        )
    assert sum(sizes(transport)) == 6
    assert served.values(1) == [1, 2, None, 3, 4]


async def test_the_context_of_a_caller_does_not_reach_the_batch(transport, open_session, model):
    span = contextvars.ContextVar("span", default=None)
    seen = []
    transport.otherwise = lambda request: seen.append(span.get()) or {}

    async def ask(n):
        span.set(n)
        await session.find(model, "s", 1, consistent_read=n % 2 == 0)

    async with open_session() as session:
        await together(*map(ask, range(3)))
    assert seen == [None, None]


async def test_a_batch_has_no_deadline_of_its_own(transport, served, open_session, model):
    served.fill(2)
    transport.latency = 2.0

    async def hurried():
        with anyio.move_on_after(1):
            await session.get(model, "s", 0)

    async with open_session() as session:
        _, found = await together(hurried(), session.get(model, "s", 1))
    assert found.at == 1


async def test_a_read_joins_another_only_until_that_one_is_sent(transport, served, open_session, model):
    served.fill(1)
    transport.latency = 2.0
    async with open_session() as session:
        early = asyncio.create_task(session.get(model, "s", 0))
        await asyncio.sleep(1)
        late = asyncio.create_task(session.get(model, "s", 0))
        await asyncio.sleep(1.5)
        assert (early.done(), late.done()) == (True, False)
        await late
    assert operations(transport) == ["GetItem"] * 2


async def test_equal_numbers_are_one_key(transport, served, open_session):
    async with open_session() as session:
        keys = [Decimal(1), Decimal("1.0"), Decimal("10e-1"), Decimal("-0"), Decimal("0.00")]
        await together(*(session.find(Level, key) for key in keys))
        assert sizes(transport) == [2]
        await together(*(session.put(Level(height=key, order=n)) for n, key in enumerate(keys)))
    written = [item["order"]["N"] for _, item in served.history]
    assert written.index("0") < written.index("1") < written.index("2")
    assert written.index("3") < written.index("4")


async def test_each_write_returns_when_it_was_acknowledged_itself(transport, served, open_session, model, no_jitter):
    served.limit = 6
    begun = asyncio.get_running_loop().time()

    async def put(n):
        await session.put(model(sensor="s", at=n))
        assert served.values(n) == [0]
        return asyncio.get_running_loop().time() - begun

    async with open_session(retry=RetryPolicy(base_delay_seconds=4.0)) as session:
        assert await together(*map(put, range(10))) == [0.0] * 6 + [4.0] * 4


async def test_a_write_that_is_sent_again_keeps_its_place(transport, served, open_session, model, throttled, no_jitter):
    transport.script(throttled(), {"UnprocessedItems": {}}, throttled())
    async with open_session(retry=RetryPolicy(base_delay_seconds=4.0)) as session:
        await together(*(session.put(model(sensor="s", at=1, value=n)) for n in range(3)))
    assert [request.body["Item"]["value"]["N"] for request in transport.requests] == ["0", "0", "1", "1", "2"]


async def test_what_is_written_is_the_item_as_it_was_when_its_operation_began(
    transport, served, open_session, model, throttled
):
    transport.max_connections, transport.latency = 1, 1.0
    transport.script(throttled())
    async with open_session() as session:
        item = model(sensor="s", at=1, value=1)
        busy = asyncio.create_task(session.find(model, "s", 9))
        await asyncio.sleep(0.5)
        writing = asyncio.create_task(session.put(item))
        await asyncio.sleep(0)
        item.value = 2
        await asyncio.wait((busy, writing))
    assert served.values(1) == [1]


@pytest.mark.parametrize("many", [False, True], ids=["one by one", "at once"])
async def test_conditional_writes_are_never_batched(transport, served, open_session, model, many):
    async with open_session() as session:
        writes = [session.create(model(sensor="s", at=n)) for n in range(3)]
        writes += [session.put(model(sensor="s", at=9), where=model.value == 1), session.delete(model, "s", 1)]
        if many:
            await together(*writes)
        else:
            for each in writes:
                await each
    assert sorted(operations(transport)) == ["DeleteItem"] + ["PutItem"] * 4


@pytest.mark.parametrize("bad", [5, "", "x" * 2049, None], ids=["of another type", "empty", "too long", "none"])
async def test_a_bad_key_does_not_fail_its_neighbours(transport, served, open_session, model, bad):
    served.fill(3)
    async with open_session() as session:
        tasks = [asyncio.create_task(session.get(model, key, n)) for n, key in enumerate(["s", bad, "s"])]
        await asyncio.wait(tasks)
    assert isinstance(tasks.pop(1).exception(), EncodeError)
    assert [task.result().at for task in tasks] == [0, 2]
    assert sizes(transport) == [2]


async def test_a_bad_item_does_not_fail_its_neighbours(transport, served, open_session, model):
    async with open_session() as session:
        items = [Label(name="a"), Label(name="b", words=["x" * 500_000]), Label(name="c")]
        tasks = [asyncio.create_task(session.put(item)) for item in items]
        await asyncio.wait(tasks)
    assert [type(task.exception()) for task in tasks] == [type(None), ItemTooLargeError, type(None)]
    assert sizes(transport) == [2]


async def test_no_slot_is_held_between_the_pages_of_a_query(transport, served, table, open_session, model, readings):
    transport.max_connections = 1
    pages = table(30)
    transport.otherwise = lambda request: (pages if request.operation == "Query" else served)(request)
    async with open_session() as session, asyncio.timeout(10):
        async for item in readings(session):
            await session.put(item)
            assert await session.get(model, "s", item.at) == item
    assert len(served.items) == 30


async def test_what_carries_a_batch_is_not_collected_as_garbage(transport, served, open_session, model):
    served.fill(2)
    transport.latency = 1.0
    async with open_session() as session:
        tasks = [asyncio.create_task(session.get(model, "s", n)) for n in range(2)]
        await asyncio.sleep(0.5)
        gc.collect()
        assert [(await task).at for task in tasks] == [0, 1]


@pytest.mark.parametrize("busy", [1, 3])
async def test_nothing_waits_for_more_than_what_came_before_it(transport, served, open_session, model, busy):
    served.fill(100)
    transport.max_connections, transport.latency = busy, 1.0

    async def crowd(session, *, consistent_read):
        for _ in range(200):
            crowd_ = [
                asyncio.create_task(session.find(model, "s", n, consistent_read=consistent_read)) for n in range(10, 20)
            ]
            await asyncio.wait(crowd_)

    async with open_session() as session:
        crowds = [asyncio.create_task(crowd(session, consistent_read=flag)) for flag in (True, False)]
        crowds += [asyncio.create_task(crowd(session, consistent_read=True)) for _ in range(busy)]
        await asyncio.sleep(5.5)
        for ask in (
            session.find(model, "s", 1),
            session.find(model, "s", 1, consistent_read=True),
            session.find(model, "s", 1, coalesce=False),
            session.put(model(sensor="s", at=1)),
            session.query(model).where(model.sensor == "s"),
        ):
            begun = asyncio.get_running_loop().time()
            await ask
            # At most each kind of request once, and its own: coalesced, consistent, single, written, a page.
            assert asyncio.get_running_loop().time() - begun <= 6.0
        for task in crowds:
            task.cancel()
        await asyncio.wait(crowds)
