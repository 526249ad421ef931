"""Loaders: each key once, in order, whoever is cancelled; and none of the three faults of DataLoaders."""

import asyncio
import re

import anyio
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import (
    BatchError,
    CapacityBudgetExceededError,
    ConnectionFailedError,
    EncodeError,
    ExpressionError,
    InternalServerError,
    ItemDecodeError,
    NoIndexError,
    OperationError,
    Outcome,
    OutOfRangeError,
    SessionClosedError,
    SessionStateError,
    ThrottledError,
)

ONCE = RetryPolicy(max_attempts=1)


class Tweet(Model, table="tweets"):
    user: PartitionKey[str]
    at: SortKey[int]
    city: Attr[str | None] = attr(default=None)
    likes: Attr[int] = attr(default=0)

    by_city = GlobalIndex(partition_key="city", sort_key="likes")


def tweets_of_each_user(request):
    """Answer a query of a user with three tweets, oldest first; of a user called ``nobody`` with none."""
    values = request.body["ExpressionAttributeValues"]
    user = next(value["S"] for value in values.values() if "S" in value)
    numbers = [] if user == "nobody" else [1, 2, 3]
    if request.body.get("ScanIndexForward") is False:
        numbers.reverse()
    items = [{"user": {"S": user}, "at": {"N": str(n)}} for n in numbers[: request.body.get("Limit", 3)]]
    return {"Items": items, "Count": len(items), "ScannedCount": len(items)}


async def settled(*loads):
    tasks = [asyncio.ensure_future(load) for load in loads]
    await asyncio.wait(tasks)
    return [asyncio.CancelledError if task.cancelled() else task.exception() or task.result() for task in tasks]


def operations(transport):
    return [request.operation for request in transport.requests]


@pytest.fixture
def served(transport, service):
    service.fill(10)
    transport.otherwise = service
    return transport


# By key.


async def test_loads_that_wait_together_travel_together(served, open_session, model):
    async with open_session() as session:
        loader = session.loader(model)
        found = await settled(*(loader.load(("s", n)) for n in (3, 1, 99, 3)))
    assert [item and item.at for item in found] == [3, 1, None, 3]
    assert operations(served) == ["BatchGetItem"]


async def test_a_key_is_read_once_and_gives_one_instance(served, open_session, model):
    served.latency = 1.0
    async with open_session() as session:
        loader = session.loader(model)
        early = asyncio.create_task(loader.load(("s", 1)))
        await asyncio.sleep(0.5)
        late = await loader.load(("s", 1))
        assert late is await early
        assert late is await loader.load(("s", 1))
    assert operations(served) == ["GetItem"]


async def test_an_absent_item_is_remembered_too(served, open_session, model):
    async with open_session() as session:
        loader = session.loader(model)
        assert [await loader.load(("s", 99)), await loader.load(("s", 99))] == [None, None]
    assert len(served.requests) == 1


async def test_many_are_loaded_in_order_and_together(served, open_session, model):
    async with open_session() as session:
        loader = session.loader(model)
        await loader.load(("s", 2))
        found = await loader.load_many(("s", n) for n in (5, 2, 99, 5, 4))
        assert [item and item.at for item in found] == [5, 2, None, 5, 4]
        assert await loader.load_many([]) == []
    assert operations(served) == ["GetItem", "BatchGetItem"]
    assert len(served.requests[1].body["RequestItems"]["readings"]["Keys"]) == 3


async def test_two_loaders_remember_apart(served, open_session, model):
    async with open_session() as session:
        one, other = session.loader(model), session.loader(model)
        assert await one.load(("s", 1)) is not await other.load(("s", 1))
    assert len(served.requests) == 2


async def test_a_loader_reads_consistently_when_told(served, open_session, model):
    async with open_session() as session:
        await session.loader(model, consistent_read=True).load(("s", 1))
    assert served.requests[0].body["ConsistentRead"] is True


# What is remembered.


async def test_a_primed_value_is_not_read(served, open_session, model):
    async with open_session() as session:
        loader, item = session.loader(model), model(sensor="s", at=1, value=7)
        loader.prime(("s", 1), item)
        loader.prime(("s", 1), model(sensor="s", at=1, value=8))
        assert await loader.load(("s", 1)) is item
        loader.prime(("s", 1), None, force=True)
        assert await loader.load_many([("s", 1)]) == [None]
    assert served.requests == []


async def test_a_cleared_key_is_read_again(served, open_session, model):
    async with open_session() as session:
        loader = session.loader(model)
        first, _ = await loader.load_many([("s", 1), ("s", 2)])
        loader.clear(("s", 1))
        loader.clear(("s", 77))
        assert await loader.load(("s", 1)) is not first
        loader.clear_all()
        await loader.load_many([("s", 1), ("s", 2)])
    assert operations(served) == ["BatchGetItem", "GetItem", "BatchGetItem"]


async def test_clearing_does_not_disturb_who_waits_already(served, open_session, model):
    served.latency = 1.0
    async with open_session() as session:
        loader = session.loader(model)
        early = asyncio.create_task(loader.load(("s", 1)))
        await asyncio.sleep(0.5)
        loader.clear(("s", 1))
        late = await loader.load(("s", 1))
        assert (await early).at == 1
        assert late is not await early
    assert len(served.requests) == 2


# The three faults of DataLoaders.


async def test_a_reading_that_a_stranger_cancels_leaves_nobody_pending(served, open_session, model):
    served.latency = 60.0
    async with open_session() as session:
        loader = session.loader(model)
        waiting = [asyncio.create_task(loader.load(("s", 1))) for _ in range(3)]
        await asyncio.sleep(1)
        for task in asyncio.all_tasks() - {asyncio.current_task(), *waiting}:
            task.cancel()
        served.latency = 0.0
        found = await settled(*waiting)
    assert len({id(item) for item in found}) == 1
    assert found[0].at == 1


async def test_a_failure_is_not_remembered(served, open_session, model, refusal):
    served.script(refusal(InternalServerError))
    async with open_session(retry=ONCE) as session:
        loader = session.loader(model)
        errors = await settled(*(loader.load(("s", 1)) for _ in range(3)))
        assert {type(error) for error in errors} == {InternalServerError}
        assert len({id(error) for error in errors}) == 3
        assert (await loader.load(("s", 1))).at == 1


@pytest.mark.parametrize("how", ["load", "load_many", "load_each"])
async def test_equal_keys_never_share_a_call(served, open_session, model, how):
    keys = [("s", n) for n in (7, 7, 8, 7)]
    async with open_session() as session:
        loader = session.loader(model)
        found = await settled(*map(loader.load, keys)) if how == "load" else await getattr(loader, how)(keys)
    assert [item.at for item in found] == [7, 7, 8, 7]
    assert [key["at"]["N"] for key in served.requests[0].body["RequestItems"]["readings"]["Keys"]] == ["7", "8"]


# Cancellation.


async def test_a_cancelled_load_leaves_the_others_their_value(served, open_session, model):
    served.latency = 1.0
    async with open_session() as session:
        loader = session.loader(model)
        first, second = (asyncio.create_task(loader.load(("s", 1))) for _ in range(2))
        await asyncio.sleep(0.5)
        first.cancel()
        cancelled, item = await settled(first, second)
    assert (cancelled, item.at) == (asyncio.CancelledError, 1)
    assert len(served.requests) == 1


@pytest.mark.parametrize("many", [False, True], ids=["load", "load_many"])
async def test_a_reading_that_nobody_waits_for_is_broken_off_and_forgotten(served, open_session, model, many):
    served.latency = 60.0
    async with open_session() as session:
        loader = session.loader(model)
        waiting = asyncio.create_task(loader.load_many([("s", 1), ("s", 2)]) if many else loader.load(("s", 1)))
        await asyncio.sleep(1)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert served.under_way == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}
        served.latency = 0.0
        assert (await loader.load(("s", 1))).at == 1


async def test_a_deadline_ends_one_load_only(served, open_session, model):
    served.latency = 2.0
    async with open_session() as session:
        loader = session.loader(model)
        other = asyncio.create_task(loader.load(("s", 1)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await loader.load(("s", 1))
        assert (await other).at == 1


# Failures.


async def test_load_many_names_what_failed_and_has_the_others(served, open_session, model):
    async with open_session() as session:
        with pytest.raises(BatchError) as caught:
            await session.loader(model).load_many([("s", 1), ("s", "one"), ("s", 2)])
    assert [(each.position, each.subject, type(each.error)) for each in caught.value.failures] == [
        (1, ("s", "one"), EncodeError)
    ]
    assert [item and item.at for item in caught.value.results] == [1, None, 2]


async def test_load_each_tells_each_error_in_its_place(served, service, open_session, model):
    service.write("readings", {"sensor": {"S": "s"}, "at": {"N": "5"}, "value": {"S": "five"}})
    async with open_session() as session:
        one, wrong, misfit = await session.loader(model).load_each([("s", 1), ("s",), ("s", 5)])
    assert (one.at, type(wrong), type(misfit)) == (1, OperationError, ItemDecodeError)


async def test_load_each_remembers_nothing(served, open_session, model):
    async with open_session() as session:
        loader = session.loader(model)
        assert [item.at for _ in range(2) for item in await loader.load_each([("s", 1)])] == [1, 1]
    assert len(served.requests) == 2


@pytest.mark.parametrize("method", ["load", "load_many", "load_each"])
async def test_loaders_need_an_open_session(served, open_session, model, method):
    loader = open_session().loader(model)
    with pytest.raises(SessionStateError):
        await getattr(loader, method)(("s", 1) if method == "load" else [("s", 1)])


async def test_closing_the_session_ends_loads(served, open_session, model):
    served.latency = 60.0
    session = open_session()
    async with session:
        loading = asyncio.create_task(session.loader(model).load(("s", 1)))
        await asyncio.sleep(1)
    assert [type(error) for error in await settled(loading)] == [SessionClosedError]


# By a field.


async def test_each_parent_is_one_query_and_all_are_under_way_together(transport, open_session):
    transport.otherwise, transport.latency = tweets_of_each_user, 1.0
    async with open_session() as session:
        loader = session.loader(Tweet, by=Tweet.user)
        begun = asyncio.get_running_loop().time()
        found = await loader.load_many(["ada", "nobody", "bob", "ada"])
        assert asyncio.get_running_loop().time() - begun == pytest.approx(1)
    assert [[(tweet.user, tweet.at) for tweet in tweets] for tweets in found] == [
        [("ada", 1), ("ada", 2), ("ada", 3)],
        [],
        [("bob", 1), ("bob", 2), ("bob", 3)],
        [("ada", 1), ("ada", 2), ("ada", 3)],
    ]
    assert operations(transport) == ["Query"] * 3


async def test_each_parent_gives_at_most_the_limit_and_in_the_order_asked_for(transport, open_session):
    transport.otherwise = tweets_of_each_user
    async with open_session() as session:
        loader = session.loader(Tweet, by=Tweet.user, limit=2, descending=True, consistent_read=True)
        assert [tweet.at for tweet in await loader.load("ada")] == [3, 2]
    assert transport.requests[0].body["Limit"] == 2
    assert transport.requests[0].body["ConsistentRead"] is True


async def test_an_index_and_conditions_narrow_each_parent(transport, open_session):
    transport.otherwise = {"Items": [], "Count": 0, "ScannedCount": 0}
    async with open_session() as session:
        await session.loader(Tweet, by=Tweet.city, where=Tweet.likes > 5).load("Paris")
        await session.loader(Tweet, by=Tweet.city, where=[Tweet.likes > 5], index=Tweet.by_city).load("Paris")
    assert [request.index for request in transport.requests] == ["by_city", "by_city"]
    assert len({str(request.body) for request in transport.requests}) == 1


async def test_a_parent_without_an_index_is_refused_before_anything_is_sent(transport, open_session):
    async with open_session() as session:
        with pytest.raises(NoIndexError):
            await session.loader(Tweet, by=Tweet.likes).load(5)


async def test_a_failed_parent_leaves_the_others_alone(transport, open_session, refusal):
    transport.script(refusal(InternalServerError)).otherwise = tweets_of_each_user
    async with open_session(retry=ONCE) as session:
        loader = session.loader(Tweet, by=Tweet.user)
        ada, bob = await loader.load_each(["ada", "bob"])
        assert (type(ada), len(bob)) == (InternalServerError, 3)


async def test_a_cancelled_parent_ends_its_query(transport, open_session):
    transport.otherwise, transport.latency = tweets_of_each_user, 60.0
    async with open_session() as session:
        loading = asyncio.create_task(session.loader(Tweet, by=Tweet.user).load("ada"))
        await asyncio.sleep(1)
        loading.cancel()
        await asyncio.wait([loading])
        assert transport.under_way == 0


async def test_a_load_ends_after_the_reading_that_only_it_waited_for(served, open_session, model):
    served.latency = 60.0
    async with open_session() as session:
        loader = session.loader(model)
        with anyio.move_on_after(1):
            await loader.load(("s", 1))
        assert asyncio.all_tasks() == {asyncio.current_task()}
        with anyio.move_on_after(1):
            await loader.load_many([("s", 1), ("s", 2)])
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert served.under_way == 0


async def test_what_belongs_to_lists_is_refused_by_key(open_session, model):
    session = open_session()
    for settings in ({"limit": 5}, {"descending": True}, {"where": model.value > 1}):
        with pytest.raises(OperationError, match="are for lists"):
            session.loader(model, **settings)


async def test_settings_are_checked_when_the_loader_is_made(open_session, model):
    with pytest.raises(OutOfRangeError, match="limit"):
        open_session().loader(model, by=model.sensor, limit=0)
    with pytest.raises(OperationError):
        open_session().loader(dict)


@pytest.mark.parametrize("by", ["city", Tweet.user == "ada", len], ids=["name", "condition", "function"])
async def test_what_is_no_field_is_refused_when_the_loader_is_made(open_session, by):
    with pytest.raises(ExpressionError, match=r"is not a field of a model; write Model\.field"):
        open_session().loader(Tweet, by=by)


@pytest.mark.parametrize("method", ["load_many", "load_each"])
@pytest.mark.parametrize("given", ["ada", b"ada", None, 5], ids=repr)
async def test_one_key_in_the_place_of_several_is_refused_with_what_to_write(open_session, method, given):
    with pytest.raises(OperationError, match=re.escape(f"not an iterable of keys; write [{given!r}] for one")):
        await getattr(open_session().loader(Tweet, by=Tweet.user), method)(given)


@pytest.mark.parametrize(
    ("by", "problem"),
    [
        (Tweet.city, "Tweet.city: no item has None as a key; load only keys that are not None"),
        (Tweet.user, "Tweet.user: str expected, got None"),
    ],
    ids=["optional", "always there"],
)
async def test_none_as_a_parent_is_refused_as_what_it_is(transport, open_session, by, problem):
    async with open_session() as session:
        with pytest.raises(EncodeError) as caught:
            await session.loader(Tweet, by=by).load(None)
    assert str(caught.value) == problem
    assert transport.requests == []


async def test_a_changeable_key_is_refused(open_session, model):
    with pytest.raises((OperationError, EncodeError)):
        await open_session().loader(model, by=model.sensor).load(["s"])


async def test_a_lost_connection_is_told_to_each(transport, open_session, model):
    lost = ConnectionFailedError("gone", outcome=Outcome.UNKNOWN, operation="GetItem", table="readings")
    transport.script(lost)
    async with open_session(retry=ONCE) as session:
        loader = session.loader(model)
        errors = await settled(*(loader.load(("s", 1)) for _ in range(2)))
    assert [type(error) for error in errors] == [ConnectionFailedError] * 2


async def within(session, load, **limits):
    async with session.scope("some", **limits):
        return await load(("s", 1))


async def test_a_load_does_not_fail_for_the_budget_of_another_scope(open_session, served, model):
    async with open_session() as session:
        load = session.loader(model).load
        small, large, free = await settled(
            within(session, load, max_requests=0), within(session, load, max_requests=1), load(("s", 1))
        )
    assert isinstance(small, CapacityBudgetExceededError)
    assert large is free
    assert operations(served) == ["GetItem"]


async def test_a_load_is_sent_again_for_whoever_has_the_time(open_session, served, model, throttled, no_jitter):
    async with open_session(retry=RetryPolicy(base_delay_seconds=2)) as session:
        load = session.loader(model).load
        served.script(throttled())
        short, long = await settled(within(session, load, timeout=1), load(("s", 1)))
    assert isinstance(short, ThrottledError)
    assert long.at == 1
    assert operations(served) == ["GetItem"] * 2


async def test_a_failure_that_no_scope_made_is_everybodys(open_session, transport, model, refusal):
    transport.otherwise = lambda request: refusal(InternalServerError)
    async with open_session(retry=ONCE) as session:
        load = session.loader(model).load
        failures = await settled(load(("s", 1)), within(session, load, max_requests=9), load(("s", 1)))
    assert len({id(each) for each in failures}) == 3
    assert operations(transport) == ["GetItem"]
