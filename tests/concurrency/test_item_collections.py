"""Observers are told of item collections that are near to the most that a table with local indexes takes."""

import pytest

from dynamap_async import (
    Attr,
    CapacityPolicy,
    LargeItemCollection,
    LocalIndex,
    Model,
    PartitionKey,
    Session,
    SortKey,
)
from dynamap_async.testing import LocalEngine

pytestmark = [pytest.mark.asyncio, pytest.mark.virtual_clock]

WATCHING = CapacityPolicy(large_collections=True)


class Visit(Model, table="visits"):
    page: PartitionKey[str]
    at: SortKey[int]
    size: Attr[int]

    largest = LocalIndex(sort_key="size")


@pytest.fixture
def items(model):
    return lambda count: [model(sensor="s", at=number) for number in range(count)]


def metrics(low, high, key="s"):
    return {"ItemCollectionKey": {"sensor": {"S": key}}, "SizeEstimateRangeGB": [low, high]}


def answer(low, high, key="s"):
    return {"ItemCollectionMetrics": metrics(low, high, key)}


async def told_by(open_session, transport, write, *answers, policy=WATCHING):
    """Return what observers are told of item collections while something is written once for each answer."""
    told = []
    transport.script(*answers)
    async with open_session(capacity=policy, observer=told.append) as session:
        for _ in answers:
            await write(session)
    return [each for each in told if isinstance(each, LargeItemCollection)]


async def test_a_collection_is_told_from_eight_gigabytes_on(open_session, transport, items):
    told = await told_by(open_session, transport, lambda s: s.put(items(1)[0]), answer(6.0, 7.0), answer(7.0, 8.0))

    [event] = told
    assert (event.table, event.partition_key, event.least_gb, event.most_gb) == ("readings", "s", 7.0, 8.0)
    assert "'s'" not in repr(event)


async def test_a_collection_is_told_again_only_when_it_has_grown(open_session, transport, items):
    sizes = (answer(8.0, 9.0), answer(8.0, 9.0), answer(8.0, 9.0, "t"), answer(9.0, 10.0))
    told = await told_by(open_session, transport, lambda s: s.put(items(1)[0]), *sizes)

    assert [(each.partition_key, each.most_gb) for each in told] == [("s", 9.0), ("t", 9.0), ("s", 10.0)]


async def test_batches_and_transactions_tell_of_the_collections_of_each_table(open_session, transport, items):
    listed = {"ItemCollectionMetrics": {"readings": [metrics(8.0, 9.0), metrics(1.0, 2.0, "t")]}}

    async def write_together(session):
        async with session.transaction() as transaction:
            for each in items(2):
                transaction.put(each)

    by_batch = await told_by(open_session, transport, lambda s: s.put_many(items(2)), listed)
    together = await told_by(open_session, transport, write_together, listed)

    assert [[each.partition_key for each in told] for told in (by_batch, together)] == [["s"], ["s"]]


@pytest.mark.parametrize(
    "damaged",
    [{}, [], "8", {"ItemCollectionKey": {}}, {"ItemCollectionKey": {"a": 1}}, metrics("x", "y"), metrics(None, 9)],
)
async def test_what_cannot_be_read_of_collections_fails_no_write(open_session, transport, items, damaged):
    answers = {"ItemCollectionMetrics": damaged}

    assert await told_by(open_session, transport, lambda s: s.put(items(1)[0]), answers) == []


@pytest.mark.parametrize(
    ("policy", "observer", "asked"),
    [(WATCHING, [print], ["SIZE"]), (WATCHING, [], [None]), (CapacityPolicy(), [print], [None])],
)
async def test_sizes_are_asked_for_only_where_somebody_is_told(open_session, transport, items, policy, observer, asked):
    transport.script({})
    async with open_session(capacity=policy, observer=observer) as session:
        await session.put(items(1)[0])

    assert [each.body.get("ReturnItemCollectionMetrics") for each in transport.requests] == asked


async def test_reads_ask_for_no_sizes(open_session, transport, model):
    transport.script({})
    async with open_session(capacity=WATCHING, observer=print) as session:
        await session.find(model, "s", 1)

    assert "ReturnItemCollectionMetrics" not in transport.requests[0].body


async def test_the_engine_answers_with_sizes_for_tables_with_local_indexes():
    class Noting:
        def __init__(self, transport):
            self.transport, self.answers = transport, []
            self.max_connections, self.open, self.close = transport.max_connections, transport.open, transport.close

        async def send(self, request):
            answer = await self.transport.send(request)
            self.answers.append((request.operation, answer.get("ItemCollectionMetrics")))
            return answer

    async with LocalEngine() as engine:
        noting = Noting(engine.transport())
        async with Session(transport=noting, capacity=WATCHING, observer=print) as session:
            await session.tables.create(Visit)
            await session.put(Visit(page="/", at=1, size=2))

    small = {"ItemCollectionKey": {"page": {"S": "/"}}, "SizeEstimateRangeGB": [0.0, 1.0]}
    assert noting.answers[-1] == ("PutItem", small)
