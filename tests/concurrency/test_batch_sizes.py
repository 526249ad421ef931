"""No call asks for more than its answer can hold, and none sends more than a request can hold."""

import asyncio
import contextlib
import itertools

import pytest
from pydantic_core import to_json

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, attr
from dynamap_async.errors import SessionClosedError
from dynamap_async.limits import BATCH_ANSWER_BYTES, BATCH_WRITE_BYTES

ONCE = RetryPolicy(max_attempts=1)
MOST_OF_A_PARTITION = 1_048_576


class Blob(Model, table="blobs"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")


async def together(*awaitables):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in awaitables]
    return [task.result() for task in tasks]


def asked(transport):
    """Return how many items each request is about."""
    return [
        sum(len(entry["Keys"] if isinstance(entry, dict) else entry) for entry in tables.values()) if tables else 1
        for tables in (request.body.get("RequestItems") for request in transport.requests)
    ]


class Padded:
    """Gives the items of a service a size, and ends answers at 16 MB, as DynamoDB does."""

    def __init__(self, service, sizes, *, most=BATCH_ANSWER_BYTES, partition="s"):
        self.service, self.sizes, self.most, self.partition = service, sizes, most, partition
        self.cut = 0

    def __call__(self, request):
        answer = self.service(request)
        if "Item" in answer:
            return {"Item": self.padded(request.table, answer["Item"])}
        total = 0
        for table, items in answer.get("Responses", {}).items():
            kept = []
            for item in items:
                total += self.sizes[table]
                if total > self.most:
                    keys = {name: item[name] for name in ("sensor", "at", "name") if name in item}
                    answer["UnprocessedKeys"].setdefault(table, {"Keys": []})["Keys"].append(keys)
                    self.cut += 1
                else:
                    kept.append(self.padded(table, item))
            items[:] = kept
        return answer

    def padded(self, table, item):
        return {**item, "pad": {"S": "x" * (self.sizes[table] - 100)}}


@pytest.fixture
def padded(transport, service):
    """Return a function that fills the service and makes its items large."""

    def play(sizes, **settings):
        service.fill(200)
        for n in range(200):
            service.write("blobs", {"name": {"S": str(n)}})
        transport.otherwise = Padded(service, sizes, **settings)
        return transport.otherwise

    return play


async def test_reads_ask_for_no_more_than_an_answer_holds(transport, padded, open_session, model):
    answers = padded({"readings": 300_000})
    async with open_session(retry=ONCE) as session:
        await session.get(model, "s", 0)
        found = await together(*(session.get(model, "s", n) for n in range(100, 200)))
    assert [item.at for item in found] == list(range(100, 200))
    assert answers.cut == 0
    assert asked(transport) == [1, 55, 45]


async def test_a_cut_answer_teaches_the_size_of_a_table(transport, padded, open_session, model):
    answers = padded({"readings": 300_000})
    async with open_session(retry=ONCE) as session:
        await together(*(session.get(model, "s", n) for n in range(100)))
        assert answers.cut == 45
        assert asked(transport) == [100, 45]
        await together(*(session.get(model, "s", n) for n in range(100, 200)))
    assert answers.cut == 45
    assert asked(transport)[2:] == [55, 45]


async def test_the_size_of_a_table_stays_known_while_others_are_read(transport, padded, open_session, model):
    answers = padded({"readings": 300_000, "blobs": 200})
    async with open_session(retry=ONCE) as session:
        await session.get(model, "s", 0)
        await session.get(Blob, "0")
        await together(*(session.get(model, "s", n) for n in range(100, 200)))
    assert answers.cut == 0
    assert asked(transport) == [1, 1, 55, 45]


async def test_small_items_of_another_table_still_fill_their_calls(transport, padded, open_session, model):
    padded({"readings": 300_000, "blobs": 200})
    async with open_session(retry=ONCE) as session:
        await together(session.get(model, "s", 0), session.get(Blob, "0"))
        await together(*(session.get(Blob, str(n)) for n in range(100)))
        assert asked(transport)[-1] == 100
        await together(
            *(session.get(model, "s", n) for n in range(50)), *(session.get(Blob, str(n)) for n in range(100, 150))
        )
    assert asked(transport)[-1] == 100


async def test_what_one_partition_cut_is_asked_for_again_at_once(transport, padded, open_session, model):
    answers = padded({"readings": 300_000}, most=MOST_OF_A_PARTITION)
    async with open_session(retry=ONCE) as session:
        begun = asyncio.get_running_loop().time()
        found = await together(*(session.get(model, "s", n) for n in range(7)))
        assert asyncio.get_running_loop().time() == begun
    assert [item.at for item in found] == list(range(7))
    assert answers.cut == 4 + 1
    assert asked(transport) == [7, 4, 1]


async def test_of_one_answer_what_was_cut_goes_at_once_and_what_was_throttled_waits(
    transport, padded, open_session, model, no_jitter
):
    answers = padded({"readings": 300_000})
    other = {"sensor": {"S": "q"}, "at": {"N": "0"}}

    def first(request):
        answer = answers(request)
        [items] = answer["Responses"].values()
        left = [{name: item[name] for name in ("sensor", "at")} for item in items[3:]]
        return {"Responses": {"readings": items[:3]}, "UnprocessedKeys": {"readings": {"Keys": [*left, other]}}}

    transport.script(first)
    async with open_session(retry=RetryPolicy(base_delay_seconds=4.0)) as session:
        await together(*(session.get(model, "s", n) for n in range(5)), session.find(model, "q", 0))
    assert asked(transport) == [6, 2, 1]
    assert transport.waits == [0.0, 4.0]


async def test_large_answers_are_given_out_in_slices_with_a_turn_for_others_between(
    transport, padded, open_session, model
):
    padded({"readings": 40_000})
    turns, decoded = [], []

    async def watch():
        while True:
            turns.append(len(decoded))
            await asyncio.sleep(0)

    async def read(session, n):
        item = await session.get(model, "s", n)
        decoded.append(item.at)

    async with open_session() as session:
        await session.get(model, "s", 0)
        watching = asyncio.create_task(watch())
        await together(*(read(session, n) for n in range(100)))
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
    assert decoded == list(range(100))
    assert max(later - earlier for earlier, later in itertools.pairwise(turns)) <= 3
    assert asked(transport) == [1, 100]


async def test_small_answers_are_given_out_at_once(transport, padded, open_session, model):
    padded({"readings": 300})
    async with open_session() as session:
        await session.get(model, "s", 0)
        tasks = [asyncio.create_task(session.get(model, "s", n)) for n in range(100)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert all(task.done() for task in tasks)


async def test_closing_in_the_middle_of_an_answer_leaves_nobody_waiting(transport, padded, open_session, model):
    padded({"readings": 40_000})
    async with open_session() as session:
        await session.get(model, "s", 0)
        tasks = [asyncio.create_task(session.get(model, "s", n)) for n in range(100)]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait(tasks)
    kinds = [type(task.exception()) for task in tasks]
    assert set(kinds) == {type(None), SessionClosedError}
    assert kinds == sorted(kinds, key=lambda kind: kind is SessionClosedError)


async def test_a_batch_of_writes_is_no_larger_on_the_wire_than_a_request_may_be(transport, service, open_session):
    transport.otherwise = service
    # A stored control character is 1 byte, and 6 in JSON: 120 KB become 720 KB.
    text = "\x01" * 120_000
    async with open_session() as session:
        await together(*(session.put(Blob(name=str(n), text=text)) for n in range(25)))
    sizes = [len(to_json(request.body)) for request in transport.requests]
    assert max(sizes) <= BATCH_WRITE_BYTES
    assert len(sizes) == 2
    assert len(service.items) == 25
