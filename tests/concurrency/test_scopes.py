"""Scopes: what is awaited inside of one is accounted for, budgeted and prioritised together."""

import asyncio

import anyio
import pytest

from dynamap_async import Priority, Put, RetryPolicy, Usage
from dynamap_async.errors import (
    BatchError,
    CapacityBudgetExceededError,
    ConfigurationError,
    ScopeTimeoutError,
    SessionStateError,
    ThrottledError,
)


class Priced:
    """A service whose every key read takes half a unit, every item written one, and every page five."""

    def __init__(self, service):
        self.service = service
        self.read, self.write, self.page = 0.5, 1.0, 5.0

    def __call__(self, request):
        answer = self.service(request)
        asked = request.body.get("RequestItems", {})
        if request.operation.startswith("Batch"):
            lists = [(table, entry["Keys"] if isinstance(entry, dict) else entry) for table, entry in asked.items()]
            price = self.write if request.writes else self.read
            return {**answer, "ConsumedCapacity": [of(table, price * len(listed)) for table, listed in lists]}
        prices = {"Query": self.page, "GetItem": self.read}
        return {**answer, "ConsumedCapacity": of(request.table, prices.get(request.operation, self.write))}


def of(table, units):
    return {"TableName": table, "CapacityUnits": units, "Table": {"CapacityUnits": units}}


@pytest.fixture
def prices(service, transport):
    """Return a service that reports what each request takes; it answers whatever is not scripted."""
    service.fill(300)
    transport.otherwise = prices = Priced(service)
    return prices


@pytest.fixture
def get(model):
    return lambda session, at=0, **options: session.get(model, "s", at, **options)


def units(usage):
    return usage.read_units, usage.write_units


async def outcomes(*awaitables):
    """Return what each gave or raised."""
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    await asyncio.wait(tasks)
    return [task.exception() or task.result() for task in tasks]


async def test_a_session_tells_what_it_used_by_operation_table_and_index(open_session, model, prices, readings, get):
    async with open_session() as session:
        await get(session)
        await session.put(model(sensor="s", at=1))
        await readings(session)
        usage = session.usage
    assert units(usage) == (5.5, 1.0)
    assert (usage.requests, usage.items, usage.retries, usage.throttles, usage.unreported_requests) == (3, 2, 0, 0, 0)
    assert units(usage.of("Query", "readings")) == (5.0, 0.0)
    assert units(usage.on("readings")) == (5.5, 1.0)
    assert usage.of("Scan", "readings").requests == usage.on("users").read_units == 0


async def test_the_usage_of_a_new_session_is_zero(open_session):
    assert open_session().usage == Usage()


async def test_a_scope_has_what_was_awaited_inside_of_it_and_the_session_all_of_it(open_session, prices, get):
    async with open_session() as session:
        await get(session)
        async with session.scope("one") as scope:
            await get(session)
            await get(session)
        await get(session)
    assert units(scope.usage) == (1.0, 0.0)
    assert units(session.unscoped_usage) == (1.0, 0.0)
    assert units(session.usage) == (2.0, 0.0)


async def test_a_scope_follows_the_tasks_that_are_begun_inside_of_it(open_session, prices, get):
    async with open_session() as session:
        async with session.scope("handler") as scope, asyncio.TaskGroup() as group:
            group.create_task(get(session, 1))
            group.create_task(get(session, 2))
        assert units(scope.usage) == (1.0, 0.0)
        assert scope.usage.requests == 1


async def test_an_outer_scope_has_what_its_inner_ones_have_and_its_own_usage_does_not(open_session, prices, get):
    async with open_session() as session, session.scope("outer") as outer:
        await get(session, 1)
        async with session.scope("inner") as inner:
            await get(session, 2)
    assert [units(scope.usage) for scope in (outer, inner)] == [(1.0, 0.0), (0.5, 0.0)]
    assert units(outer.own_usage) == (0.5, 0.0)


async def test_scopes_that_share_a_batch_each_pay_for_their_own_items(open_session, model, prices):
    async with open_session() as session:

        async def put(name, *texts):
            async with session.scope(name) as scope, asyncio.TaskGroup() as group:
                for at in texts:
                    group.create_task(session.put(model(sensor="s", at=at)))
            return scope

        one, three = await session.gather(put("one", 1), put("three", 2, 3, 4))
    assert session.usage.requests == 1
    assert (units(one.usage), units(three.usage)) == ((0.0, 1.0), (0.0, 3.0))
    assert one.usage.requests == three.usage.requests == 1, "a shared request counts for each"


async def test_a_key_that_several_scopes_wait_for_is_shared_equally(open_session, prices, get):
    prices.read = 4.0
    async with open_session() as session:

        async def read(name):
            async with session.scope(name) as scope:
                await get(session)
            return scope

        scopes = await session.gather(*[read(str(n)) for n in range(3)], read("3"))
    assert [units(scope.usage) for scope in scopes] == [(1.0, 0.0)] * 4


async def test_a_larger_item_pays_for_a_larger_part_of_a_batch(open_session, prices, model):
    text = {"S": "x" * 9_000}
    prices.service.write("readings", {"sensor": {"S": "s"}, "at": {"N": "7"}, "value": {"N": "0"}, "more": text})
    prices.read = 2.0  # of two keys: 4 in all, for a block of 4 KB and one of three blocks
    async with open_session() as session:

        async def read(at):
            async with session.scope(str(at)) as scope:
                await session.get(model, "s", at)
            return scope

        small, large = await session.gather(read(1), read(7))
    assert (units(small.usage), units(large.usage)) == ((1.0, 0.0), (3.0, 0.0))


async def test_prefetched_pages_count_for_the_scope_that_asked(open_session, transport, table, model):
    pages = table(35)
    transport.otherwise = lambda request: {**pages(request), "ConsumedCapacity": of("readings", 2.0)}
    async with open_session() as session, session.scope("list") as scope:
        assert len(await session.query(model).where(model.sensor == "s")) == 35
    assert units(scope.usage) == (8.0, 0.0)
    assert scope.usage.items == 35


async def test_parallel_scans_count_for_the_scope_that_asked(open_session, transport, table, model):
    pages = table(12)
    transport.otherwise = lambda request: {**pages(request), "ConsumedCapacity": of("readings", 2.0)}
    async with open_session() as session, session.scope("scan") as scope:
        async for _ in session.scan(model).segments(3):
            pass
    assert units(scope.usage) == (2.0 * len(transport.requests), 0.0)
    assert units(session.unscoped_usage) == (0.0, 0.0)


async def test_a_page_is_paid_by_the_scope_in_which_it_is_asked_for(open_session, transport, table, model):
    pages = table(40)
    transport.otherwise = lambda request: {**pages(request), "ConsumedCapacity": of("readings", 2.0)}
    async with open_session() as session:
        items = aiter(session.query(model).where(model.sensor == "s").limit(25))
        async with session.scope("first") as first:
            await anext(items)
        async with session.scope("second") as second:
            assert len([item async for item in items]) == 24
    # The page after the first is fetched ahead, on behalf of whoever asked for the first.
    assert (units(first.usage), units(second.usage)) == ((4.0, 0.0), (2.0, 0.0))


async def test_the_page_after_an_overrun_is_refused(open_session, transport, table, model):
    pages = table(40)
    transport.otherwise = lambda request: {**pages(request), "ConsumedCapacity": of("readings", 2.0)}
    async with open_session() as session, session.scope("list", max_read_units=3):
        with pytest.raises(CapacityBudgetExceededError, match="used 4 read units"):
            await session.query(model).where(model.sensor == "s")
    assert len(transport.requests) == 2


async def test_what_was_set_aside_for_a_page_is_free_again_once_it_is_answered(open_session, transport, table, model):
    pages = table(40)
    transport.otherwise = lambda request: {**pages(request), "ConsumedCapacity": of("readings", 1.0)}
    async with open_session() as session, session.scope("list", max_read_units=5) as scope:
        assert len(await session.query(model).where(model.sensor == "s")) == 40
    assert units(scope.usage) == (5.0, 0.0)


async def test_a_bulk_load_counts_for_the_scope_that_it_was_begun_in(open_session, prices, model):
    async with open_session() as session, session.scope("load") as scope:
        await session.put_many(model(sensor="s", at=n) for n in range(60))
    assert units(scope.usage) == (0.0, 60.0)
    assert (scope.usage.requests, scope.usage.items) == (3, 60)


async def test_an_answer_that_comes_after_its_scope_was_left_still_counts(open_session, transport, prices, model):
    transport.latency = 1.0
    async with open_session() as session:
        async with session.scope("handler") as scope:
            task = asyncio.create_task(session.put(model(sensor="s", at=1)))
            await asyncio.sleep(0.5)
        assert units(scope.usage) == (0.0, 0.0)
        await task
    assert units(scope.usage) == (0.0, 1.0)


async def test_a_write_whose_waiter_was_cancelled_still_counts(open_session, transport, prices, model):
    transport.latency = 1.0
    async with open_session() as session:
        async with session.scope("handler") as scope:
            with anyio.move_on_after(0.5):
                await session.put(model(sensor="s", at=1))
        await asyncio.sleep(1.0)
    assert units(scope.usage) == (0.0, 1.0)


async def test_requests_that_failed_or_did_not_say_are_unreported(open_session, transport, throttled, prices, get):
    transport.script(throttled(), {"Item": {"sensor": {"S": "s"}, "at": {"N": "0"}}})
    async with open_session() as session, session.scope("s") as scope:
        await get(session)
    usage = scope.usage
    assert (usage.requests, usage.unreported_requests, usage.retries, usage.throttles) == (2, 2, 1, 1)


async def test_waiting_is_told_apart_from_travelling(open_session, transport, throttled, prices, get, no_jitter):
    transport.latency = 3.0
    transport.script(throttled())
    retry = RetryPolicy(base_delay_seconds=2.0)
    async with open_session(retry=retry) as session:
        await get(session)
        assert session.usage.waiting_seconds == pytest.approx(2.0)


async def test_work_that_would_exceed_the_budget_is_not_sent(open_session, transport, prices, model):
    async with open_session() as session, session.scope("small", max_write_units=2) as scope:
        await session.put(model(sensor="s", at=1))
        with pytest.raises(CapacityBudgetExceededError) as caught:
            await session.transact_write([Put(model(sensor="s", at=2))])
        assert len(transport.requests) == 1
        await session.put(model(sensor="s", at=1))
    error = caught.value
    assert (error.scope, error.operation, error.table) == ("small", "TransactWriteItems", "readings")
    assert (error.max_write_units, error.max_read_units, error.max_requests) == (2.0, None, None)
    assert error.usage.of("PutItem", "readings").write_units == 1.0
    assert "max_write_units=2" in str(error)
    assert "(PutItem on readings: 1 write)" in str(error)
    assert units(scope.usage) == (0.0, 2.0)


async def test_a_budget_that_is_spent_tells_who_took_how_much(open_session, prices, get, readings, model):
    async with open_session() as session, session.scope("s", max_read_units=5) as scope:
        async with session.scope("inner"):
            await readings(session)
        await session.put(model(sensor="s", at=1))
        with pytest.raises(CapacityBudgetExceededError) as caught:
            await get(session)
    assert "(PutItem on readings: 1 write, Query on readings: 5 read)" in str(caught.value)
    assert caught.value.usage == scope.usage


async def test_an_answer_over_the_budget_is_returned_and_the_next_operation_is_refused(
    open_session, prices, get, readings
):
    async with open_session() as session, session.scope("s", max_read_units=1) as scope:
        assert await readings(session) == []
        assert units(scope.usage) == (5.0, 0.0)
        with pytest.raises(CapacityBudgetExceededError, match="used 5 read units"):
            await get(session)


async def test_what_requests_of_a_kind_took_before_is_expected_of_the_next(open_session, transport, prices, get):
    prices.read = 4.0
    async with open_session() as session, session.scope("s", max_read_units=50):
        for at in range(10):
            await get(session, at)
        with pytest.raises(CapacityBudgetExceededError, match="4 more are expected to be needed"):
            async with session.scope("small", max_read_units=3.5):
                await get(session)
        async with session.scope("large", max_read_units=4):
            await get(session)
    assert len(transport.requests) == 11


async def test_what_is_under_way_is_set_aside(open_session, transport, prices, get):
    transport.latency = 1.0
    async with open_session() as session, session.scope("s", max_read_units=1):
        results = await outcomes(*[get(session, n) for n in range(4)])
        refused = [each for each in results if isinstance(each, CapacityBudgetExceededError)]
    assert len(refused) == 2
    assert "1 and 0 under way" in str(refused[0])


async def test_equal_reads_that_wait_together_are_set_aside_once(open_session, prices, get):
    async with open_session() as session, session.scope("s", max_read_units=0.5) as scope:
        await session.gather(*[get(session) for _ in range(10)])
    assert units(scope.usage) == (0.5, 0.0)


async def test_a_waiter_that_is_cancelled_before_it_is_sent_returns_its_reservation(
    open_session, transport, prices, get
):
    transport.latency, transport.max_connections = 1.0, 1
    async with open_session() as session:
        other = asyncio.create_task(get(session, 0))
        await asyncio.sleep(0.1)
        async with session.scope("s", max_read_units=0.5) as scope:
            with anyio.move_on_after(0.5):
                await get(session, 1)
            await get(session, 2)
        await other
    assert units(scope.usage) == (0.5, 0.0)
    assert scope.usage.unreported_requests == 0


async def test_a_read_that_is_cancelled_under_way_counts_against_the_budget(open_session, transport, prices, get):
    transport.latency = 1.0
    async with open_session() as session, session.scope("s", max_read_units=0.5) as scope:
        with anyio.move_on_after(0.5):
            await get(session, 1)
        with pytest.raises(CapacityBudgetExceededError, match="0.5 of them estimated"):
            await get(session, 2)
    assert (scope.usage.read_units, scope.usage.estimated_read_units) == (0.0, 0.5)
    assert scope.usage.unreported_requests == 1


async def test_a_failed_request_returns_its_reservation(open_session, transport, prices, refusal, get):
    transport.script(refusal(ThrottledError))
    async with open_session(retry=RetryPolicy(max_attempts=1)) as session, session.scope("s", max_read_units=0.5):
        with pytest.raises(ThrottledError):
            await get(session)
        await get(session)


async def test_the_budget_of_an_outer_scope_holds_inside_of_inner_ones(open_session, prices, get):
    async with open_session() as session, session.scope("outer", max_read_units=1):
        async with session.scope("inner", max_read_units=100):
            await get(session, 1)
        async with session.scope("inner"):
            await get(session, 2)
            with pytest.raises(CapacityBudgetExceededError) as caught:
                await get(session, 3)
    assert caught.value.scope == "outer"


async def test_no_more_requests_are_sent_than_a_scope_may(open_session, transport, prices, get):
    async with open_session() as session, session.scope("s", max_requests=2) as scope:
        await session.gather(*[get(session, n) for n in range(100)])
        await get(session, 1)
        with pytest.raises(CapacityBudgetExceededError, match="max_requests=2"):
            await get(session, 1)
    assert len(transport.requests) == scope.usage.requests == 2


async def test_items_that_need_more_requests_than_a_scope_may_send_are_refused_at_its_limit(
    open_session, transport, prices, get
):
    async with open_session() as session, session.scope("s", max_requests=2):
        results = await outcomes(*[get(session, n) for n in range(300)])
    refused = [each for each in results if isinstance(each, CapacityBudgetExceededError)]
    assert (len(transport.requests), len(refused)) == (2, 100)


async def test_a_request_is_not_sent_again_when_no_request_is_left(open_session, transport, prices, throttled, get):
    transport.script(throttled())
    async with open_session() as session, session.scope("s", max_requests=1):
        with pytest.raises(ThrottledError) as caught:
            await get(session)
    assert "the scope's max_requests are spent" in caught.value.__notes__[0]
    assert len(transport.requests) == 1


async def test_a_query_is_not_sent_again_when_no_request_is_left(open_session, transport, prices, throttled, readings):
    transport.script(throttled())
    async with open_session() as session, session.scope("s", max_requests=1):
        with pytest.raises(ThrottledError):
            await readings(session)
    assert len(transport.requests) == 1


async def test_one_scope_that_is_out_of_requests_does_not_hold_up_another(open_session, transport, prices, get):
    async with open_session() as session:

        async def read(name, most):
            async with session.scope(name, max_requests=most):
                return await get(session)

        results = await outcomes(read("none", 0), read("some", 5))
    assert isinstance(results[0], CapacityBudgetExceededError)
    assert results[1].at == 0


async def test_the_items_of_a_bulk_load_that_exceed_the_budget_are_reported_one_by_one(open_session, prices, model):
    async with open_session() as session, session.scope("load", max_write_units=30) as scope:
        with pytest.raises(BatchError) as caught:
            await session.put_many([model(sensor="s", at=n) for n in range(50)])
    assert len(caught.value.failures) == 20
    assert {type(failure.error) for failure in caught.value.failures} == {CapacityBudgetExceededError}
    assert units(scope.usage) == (0.0, 30.0)


async def test_a_scope_with_a_timeout_cancels_what_is_awaited_in_it(open_session, transport, prices, get):
    transport.latency = 10.0
    async with open_session() as session:
        with pytest.raises(ScopeTimeoutError, match=r"scope 'slow' took longer than its timeout of 0.3 s") as caught:
            async with session.scope("slow", timeout=0.3):
                await get(session)
        assert isinstance(caught.value, TimeoutError)
        assert (caught.value.scope, caught.value.timeout, caught.value.usage.requests) == ("slow", 0.3, 1)


async def test_an_error_inside_of_a_scope_with_a_timeout_is_raised_as_itself(open_session):
    async with open_session() as session:
        with pytest.raises(KeyError):
            async with session.scope("s", timeout=1.0):
                raise KeyError


async def test_nothing_is_sent_again_after_the_deadline_of_its_scope(
    open_session, transport, prices, throttled, get, no_jitter
):
    transport.otherwise = lambda request: throttled()
    retry = RetryPolicy(base_delay_seconds=2.0)
    async with open_session(retry=retry) as session, session.scope("s", timeout=1.0):
        # A task of its own, which the timeout does not cancel.
        task = asyncio.create_task(get(session))
        with pytest.raises(ThrottledError) as caught:
            await task
    assert "deadline is too near" in caught.value.__notes__[0]
    assert len(transport.requests) == 1


async def test_a_scope_can_be_left_in_another_task(open_session, prices, get):
    async with open_session() as session:
        scope = session.scope("fixture")
        await asyncio.create_task(scope.__aenter__())
        await get(session)
        await asyncio.create_task(scope.__aexit__(None, None, None))
        assert units(session.unscoped_usage) == (0.5, 0.0)


async def test_scopes_that_are_always_left_elsewhere_do_not_pile_up(open_session):
    session = open_session()
    for _ in range(3):
        scope = session.scope("s")
        await scope.__aenter__()
        await asyncio.create_task(scope.__aexit__(None, None, None))
    assert scope._account.chain == (scope._account,)


async def test_scopes_left_out_of_order_leave_none_behind(open_session, prices, get):
    async with open_session() as session:
        first, second = session.scope("first"), session.scope("second")
        await first.__aenter__()
        await second.__aenter__()
        await first.__aexit__(None, None, None)
        await second.__aexit__(None, None, None)
        await get(session)
        assert units(session.unscoped_usage) == (0.5, 0.0)


async def test_a_scope_is_entered_once(open_session):
    session = open_session()
    async with session.scope("s") as scope:
        pass
    with pytest.raises(SessionStateError, match="can be entered once"):
        async with scope:
            pass


async def test_a_scope_of_one_session_does_not_pay_for_another(open_session, prices, get):
    async with open_session() as one, open_session() as other, one.scope("a") as a, other.scope("b") as b:
        await get(one)
        await get(one)
        await get(other)
    assert [units(each.usage) for each in (a, b)] == [(1.0, 0.0), (0.5, 0.0)]


async def test_an_inner_scope_is_as_urgent_as_the_one_around_it_unless_it_says_otherwise(open_session):
    session = open_session()
    async with (
        session.scope("job", priority=Priority.BACKGROUND) as job,
        session.scope("part") as part,
        session.scope("answer", priority=Priority.INTERACTIVE) as answer,
    ):
        pass
    assert [each.priority for each in (job, part, answer)] == [
        Priority.BACKGROUND,
        Priority.BACKGROUND,
        Priority.INTERACTIVE,
    ]


@pytest.mark.parametrize("limit", ["max_read_units", "max_write_units", "max_requests", "timeout"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "5"])
def test_a_limit_that_is_no_number_from_zero_up_is_refused(open_session, limit, value):
    with pytest.raises(ConfigurationError, match=limit):
        open_session().scope("s", **{limit: value})


@pytest.mark.parametrize("priority", ["background", 2, 3])
def test_a_priority_that_is_none_is_refused(open_session, priority):
    with pytest.raises(ConfigurationError, match=r"give one of Priority\.INTERACTIVE, "):
        open_session().scope("s", priority=priority)
