"""An urgent write does not wait for units, or for a slot, because a less urgent one of its item does."""

import asyncio

import pytest

from dynamap_async import (
    Attr,
    BatchPolicy,
    CapacityPolicy,
    Model,
    PartitionKey,
    Priority,
    RetryPolicy,
    StoredItem,
    Throughput,
    attr,
    upgrade,
)
from dynamap_async.operations import Put

TEN = CapacityPolicy(limits=Throughput(read=10_000, write=10))
EXCHANGE = 0.005


class Customer(Model, table="customers", schema_version=2):
    number: PartitionKey[int]
    name: Attr[str]
    visits: Attr[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def name_it(item: StoredItem) -> None:
        item["name"] = "somebody"


def now():
    return asyncio.get_running_loop().time()


@pytest.fixture
def served(transport):
    """Let everything be served, after a while."""
    transport.otherwise, transport.latency = {"UnprocessedItems": {}}, EXCHANGE
    return transport


@pytest.fixture
def item(model):
    return lambda at, value=0: model(sensor="s", at=at, value=value)


async def waiting(session, *calls):
    """Return tasks of background calls, of which those wait that have to."""

    async def carried_out(call):
        async with session.scope("load", priority=Priority.BACKGROUND):
            await call()

    tasks = [asyncio.create_task(carried_out(call)) for call in calls]
    await asyncio.sleep(0.1)
    return tasks


def puts(session, item, numbers):
    return [lambda number=number: session.put(item(number)) for number in numbers]


def written(transport, at):
    """Return what was written to an item, in order."""
    puts = []
    for request in transport.requests:
        entries = request.body.get("RequestItems", {}).get("readings", ())
        puts += [request.body, *[entry["PutRequest"] for entry in entries]]
    found = [each["Item"] for each in puts if "Item" in each]
    return [int(each["value"]["N"]) for each in found if each["at"]["N"] == str(at)]


async def test_what_an_urgent_write_waits_for_needs_not_wait_for_its_units(served, open_session, item):
    async with open_session(capacity=TEN) as session:
        tasks = await waiting(session, *puts(session, item, range(30)))
        begin = now()
        await session.put(item(29, 1))
        assert now() - begin == pytest.approx(2 * EXCHANGE)
        assert tasks[29].done()
        assert not tasks[28].done()
        await session.gather(*tasks)
        assert now() - begin > 2  # the others kept to the rate
    assert written(served, 29) == [0, 1]


async def test_any_number_of_them_wait_for_no_units(served, open_session, item):
    async with open_session(capacity=TEN) as session:
        tasks = await waiting(session, *puts(session, item, range(60)))
        begin = now()
        await session.gather(*[session.put(item(number, 1)) for number in range(20, 60)])
        assert now() - begin == pytest.approx(2 * EXCHANGE)
        await session.gather(*tasks)


async def test_all_that_stands_in_its_line_goes_at_once(served, open_session, item):
    async with open_session(capacity=TEN) as session:
        tasks = await waiting(session, *puts(session, item, [*range(20), 50, 50, 50]))
        begin = now()
        await session.put(item(50, 1))
        assert now() - begin == pytest.approx(4 * EXCHANGE)
        assert sum(task.done() for task in tasks) < 10
        await session.gather(*tasks)
    assert written(served, 50) == [0, 0, 0, 1]


async def test_a_transaction_in_its_line_takes_the_lines_along_in_which_that_waits(served, open_session, item):
    async with open_session(capacity=TEN) as session:
        calls = puts(session, item, range(20))
        tasks = await waiting(session, *calls, lambda: session.transact_write([Put(item(19)), Put(item(50))]))
        begin = now()
        await session.put(item(50, 1))
        assert now() - begin == pytest.approx(3 * EXCHANGE)
        assert [task.done() for task in tasks[18:]] == [False, True, True]
        await session.gather(*tasks)


async def test_it_needs_not_wait_for_a_slot_behind_what_is_less_urgent(served, open_session, item):
    served.max_connections = 2
    async with open_session(batching=BatchPolicy(enabled=False), capacity=CapacityPolicy(enabled=False)) as session:
        served.latency = 1.0
        tasks = await waiting(session, *puts(session, item, range(30)))
        begin = now()
        await session.put(item(29, 1))
        assert now() - begin == pytest.approx(2.0)
        assert tasks[29].done()
        assert not tasks[28].done()
        await session.gather(*tasks)
    assert written(served, 29) == [0, 1]


async def test_a_write_that_is_as_urgent_as_others_keeps_its_turn(served, open_session, item):
    async with open_session(capacity=TEN) as session:
        tasks = await waiting(session, *puts(session, item, range(20)))
        begin = now()
        async with session.scope("load", priority=Priority.BACKGROUND):
            await session.put(item(19, 1))
        assert now() - begin > 1.5
        assert all(task.done() for task in tasks)


async def test_a_writer_beside_a_pass_waits_for_one_exchange_and_not_for_the_pace_of_the_pass(served, open_session):
    older = [{"number": {"N": str(number)}} for number in range(64)]

    def answer(request):
        if request.operation == "Scan":
            items = [] if request.body.get("ConsistentRead") else older
            return {"Items": items, "Count": len(items), "ScannedCount": len(items)}
        table = {
            "TableName": request.table,
            "TableStatus": "ACTIVE",
            "KeySchema": [{"AttributeName": "number", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "number", "AttributeType": "N"}],
            "ItemCount": 64,
        }
        return {"Table": table, "Attributes": {"visits": {"N": "1"}, **request.body.get("Key", {})}}

    served.otherwise = answer
    async with open_session(capacity=TEN) as session:
        begin = now()
        upgrading = asyncio.create_task(session.upgrade(Customer, segments=1))
        await asyncio.sleep(1.0)
        for number in (63, 62, 61):
            asked = now()
            await session.update(Customer, number).add(Customer.visits, 1)
            assert now() - asked == pytest.approx(2 * EXCHANGE)
        assert (await upgrading).upgraded == 64
        assert now() - begin > 4  # the pass as a whole kept to the rate


async def test_a_chunk_that_holds_an_item_of_an_urgent_write_goes_before_other_chunks(served, open_session, item):
    served.max_connections, served.latency = 1, 1.0
    async with open_session(capacity=CapacityPolicy(enabled=False)) as session:
        loads = [[item(number) for number in range(first, first + 25)] for first in range(0, 250, 25)]
        tasks = await waiting(session, *[lambda each=each: session.put_many(each) for each in loads])
        begin = now()
        await session.put(item(240, 1))
        assert now() - begin == pytest.approx(3.0 - 0.1)  # what was sent before, the chunk, and the write
        assert [task.done() for task in tasks] == [True, *[False] * 8, True]
        await session.gather(*tasks)
    assert written(served, 240) == [0, 1]


async def test_one_that_was_refused_before_goes_ahead_of_those_that_came_later(served, open_session, item, throttled):
    served.max_connections, served.latency = 1, 1.0
    served.script(throttled())
    settings = {"batching": BatchPolicy(enabled=False), "capacity": CapacityPolicy(enabled=False)}
    async with open_session(retry=RetryPolicy(max_delay_seconds=0.1), **settings) as session:
        background = await waiting(session, *puts(session, item, (1, 2)))
        await asyncio.sleep(1.5)  # the first was refused, and waits while the second is sent
        urgent = [asyncio.create_task(session.put(item(*each))) for each in ((3,), (4,), (1, 1))]
        await session.gather(*background, *urgent)
    assert [request.body["Item"]["at"]["N"] for request in served.requests] == ["1", "2", "1", "3", "4", "1"]


async def test_what_such_a_chunk_leaves_over_goes_on_before_other_chunks(served, open_session, item):
    served.max_connections, served.latency = 1, 1.0
    left = {"PutRequest": {"Item": {"sensor": {"S": "s"}, "at": {"N": "240"}, "value": {"N": "0"}}}}
    served.script({"UnprocessedItems": {}}, {"UnprocessedItems": {"readings": [left]}})
    settings = {"retry": RetryPolicy(max_delay_seconds=0.1), "capacity": CapacityPolicy(enabled=False)}
    async with open_session(**settings) as session:
        loads = [[item(number) for number in range(first, first + 25)] for first in range(0, 250, 25)]
        tasks = await waiting(session, *[lambda each=each: session.put_many(each) for each in loads])
        begin = now()
        await session.put(item(240, 1))
        assert now() - begin == pytest.approx(5.0 - 0.1)  # another chunk is sent while it waits to be sent again
        await session.gather(*tasks)
    assert written(served, 240) == [0, 0, 1]
