"""What waits together travels together, and each caller sees what it would have seen alone."""

import asyncio
import contextvars

import anyio
import pytest

from dynamap_async import Attr, BatchPolicy, Model, PartitionKey, RetryPolicy, attr


class Label(Model, table="labels"):
    name: PartitionKey[str]
    words: Attr[list[str]] = attr(default_factory=list)


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


async def test_a_lone_get_is_sent_at_once_and_without_a_timer(transport, served, open_session, model):
    async with open_session() as session:
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
