"""What is paced can be seen: why a request waits, and what is believed of each table and index, since when."""

import asyncio
import logging

import pytest

from dynamap_async import CapacityPolicy, PaceChanged, RequestHeldUp, Throughput
from dynamap_async.errors import CapacityBudgetExceededError, ThrottledError

WRITES = {"TableName": "readings", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 1.0}}


class Limited:
    """A table of so many write units a second, with nothing saved."""

    def __init__(self, rate):
        self.rate, self.tokens, self.at = rate, rate / 10, 1000.0

    def __call__(self, request):
        now = asyncio.get_running_loop().time()
        self.tokens, self.at = min(self.rate, self.tokens + (now - self.at) * self.rate), now
        if self.tokens < 1:
            raise ThrottledError("no units", service_code="T", operation="?", table="readings", status=400)
        self.tokens -= 1
        if request.operation == "BatchWriteItem":
            return {"UnprocessedItems": {}, "ConsumedCapacity": [WRITES]}
        return {"ConsumedCapacity": WRITES, "Attributes": request.body.get("Key", {})}


def held_up(told):
    return [each for each in told if isinstance(each, RequestHeldUp)]


async def test_whoever_waits_for_a_table_is_told_of_with_the_rate_that_is_believed(open_session, transport, model):
    told = []
    transport.otherwise = Limited(1000)
    policy = CapacityPolicy(limits=Throughput(read=10, write=10))
    async with open_session(capacity=policy, observer=told.append) as session:
        await session.put_many([model(sensor="s", at=0)])
        waiting = asyncio.create_task(session.put_many([model(sensor="s", at=n) for n in range(1, 4)]))
        await asyncio.sleep(0.01)
        (bucket,) = [each for each in session.statistics().buckets if each.writes]
        await waiting
    events = held_up(told)
    assert {(each.reason, each.table, each.writes, each.units_per_second) for each in events} == {
        ("table", "readings", True, 10.0)
    }
    assert bucket.waiting == 3
    assert (bucket.state, bucket.limit, bucket.units_per_second) == ("known", 10.0, 10.0)


async def test_whoever_waits_for_a_budget_is_told_of_with_the_scope(open_session, transport, model):
    told = []
    transport.otherwise = lambda request: {"ConsumedCapacity": WRITES, "Attributes": request.body["Key"]}
    transport.latency = 0.01
    async with open_session(observer=told.append) as session, session.scope("handler", max_write_units=2):
        tasks = [session.update(model, "s", n).set(model.value, 1) for n in range(3)]
        with pytest.raises(CapacityBudgetExceededError):
            await session.gather(*tasks)
    assert {(each.reason, each.scope, each.units_per_second) for each in held_up(told)} == {("budget", "handler", None)}


async def test_what_is_believed_of_a_table_is_told_when_it_changes(open_session, transport, model, caplog):
    told = []
    transport.otherwise, transport.latency = Limited(200), 0.005
    async with open_session(observer=told.append) as session:

        async def work(number):
            until = asyncio.get_running_loop().time() + 1.5
            while asyncio.get_running_loop().time() < until:
                await session.update(model, "s", number).set(model.value, 1)

        with caplog.at_level(logging.INFO, "dynamap_async"):
            tasks = [asyncio.create_task(work(number)) for number in range(16)]
            await asyncio.sleep(1.4)
            (bucket,) = [each for each in session.statistics().buckets if each.writes]
            await asyncio.wait(tasks)
        changes = [each for each in told if isinstance(each, PaceChanged)]
    states = [each.state for each in changes]
    assert "trying" in states
    assert [each.before for each in changes] == ["open", *states[:-1]]
    assert bucket.state == [each for each in changes if each.at <= bucket.since][-1].state
    assert bucket.limit is None
    assert f"readings: {states[0]} (was: open); {changes[0].units_per_second:.0f} write units" in caplog.text


async def test_a_table_of_which_nothing_is_short_is_not_listed(open_session, transport, model):
    transport.otherwise = Limited(1000)
    async with open_session() as session:
        await session.put(model(sensor="s", at=1))
        assert session.statistics().buckets == ()


async def test_a_plan_tells_what_a_page_costs_and_what_it_did_cost(open_session, transport, table, model):
    pages = table(20)
    units = {"TableName": "readings", "CapacityUnits": 2.5, "Table": {"CapacityUnits": 2.5}}
    transport.otherwise = lambda request: {**pages(request), "ConsumedCapacity": units}
    async with open_session() as session:
        query = session.query(model).where(model.sensor == "s")
        assert query.explain().average_page_units is None
        await query
        assert query.explain().average_page_units == 2.5
        assert query.explain().page_units == (0.5, 128.5)
        assert query.consistent().explain().page_units == (1.0, 257.0)
        assert "0.5 to 128.5 read units a page; 2.5 on average in this session" in str(query.explain())
