"""Random programs against a service that fails in every known way: what was acknowledged is there, and nothing is left.

Each program runs on a virtual clock, over a fake service that applies a request in the middle of its exchange.
`nox -s tests_long` runs a hundred times as many.
"""

import asyncio
import math
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import count, pairwise, product

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dynamap_async import BatchPolicy, RetryPolicy
from dynamap_async.errors import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    ConnectionFailedError,
    DamagedResponseError,
    InternalServerError,
    Outcome,
    RequestRejectedError,
    ServiceError,
    SessionClosedError,
    ThrottledError,
    TransportError,
)
from dynamap_async.executor import Chunk, Executor
from dynamap_async.executor.batches import batch_get, batch_write
from dynamap_async.request import Request, Target, about_tables, identity_of

TABLES = ("a", "b")
FAULTS = {
    "throttle": (ThrottledError, False),
    "fail": (InternalServerError, False),
    "fail applied": (InternalServerError, True),
    "refused": (Outcome.NOT_SENT, False),
    "reset": (Outcome.UNKNOWN, False),
    "lost": (Outcome.UNKNOWN, True),
    "damaged": (DamagedResponseError, True),
    "garbled": (None, True),
    "partial": (None, True),
    "defect": (RuntimeError, False),
    "denied together": (AccessDeniedError, False),
    "rejected together": (RequestRejectedError, False),
}


def key_of(number):
    return {"id": {"N": str(number)}}


@dataclass
class Write:
    """One write of the program, and how it ended."""

    operation: str
    key: tuple
    value: int | None
    order: int
    acknowledged: bool = False
    not_done: bool = False


class Service:
    """Two tables in memory. It plays one fault for each request, until there are none left."""

    def __init__(self, faults, connections):
        self.max_connections = connections
        self.faults = list(reversed(faults))
        self.items = defaultdict(lambda: [(-1.0, None)])
        """For each key, what it held since when."""
        self.applied = defaultdict(list)
        """For each key, what was written, resent writes included."""
        self.tokens = set()
        """Those of the transactions that were carried out."""
        self.created_over = []
        self.under_way = 0
        self.writing = Counter()
        self.broken = []
        """Rules of DynamoDB or of the executor that requests broke."""

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        parts = parts_of(request)
        keys = [key for key, _, _, _ in parts]
        self.check(request, keys)
        self.under_way += 1
        writes = keys if request.writes else []
        self.writing.update(writes)
        self.broken += [f"two writes of {key} at once" for key in writes if self.writing[key] > 1]
        try:
            return await self.exchange(request, parts)
        finally:
            self.under_way -= 1
            self.writing.subtract(writes)

    def check(self, request, keys):
        most = {"BatchGetItem": 100, "BatchWriteItem": 25, "TransactWriteItems": 100}.get(request.operation, 1)
        if len(set(keys)) < len(keys):
            self.broken.append(f"duplicates in {request.operation}")
        if len(keys) > most or (len(keys) == 1) != (most == 1):
            self.broken.append(f"{len(keys)} keys in {request.operation}")
        if self.under_way >= self.max_connections:
            self.broken.append("more requests than connections")

    async def exchange(self, request, parts):
        fault = self.faults.pop() if self.faults else "none"
        await asyncio.sleep(0.5)
        failure, applies = FAULTS.get(fault, (None, True))
        batch = request.operation.startswith("Batch")
        if fault.endswith("together") and not batch:
            failure, applies = None, True
        left = parts[: (len(parts) + 1) // 2] if fault == "partial" and batch else []
        answer = self.apply(request, [part for part in parts if part not in left], left) if applies else None
        await asyncio.sleep(0.5)
        if failure is not None:
            raise error_of(failure, request)
        return garbled(answer) if fault == "garbled" and batch else answer

    def apply(self, request, parts, left):
        now = asyncio.get_running_loop().time()
        found = []
        token = request.body.get("ClientRequestToken")
        if token in self.tokens:
            return {}
        if token is not None:
            self.tokens.add(token)
        for key, operation, item, conditional in parts:
            timeline = self.items[key]
            if operation == "get":
                found.append((key, timeline[-1][1]))
                continue
            if conditional and timeline[-1][1] is not None:
                raise error_of(ConditionalCheckFailedError, request)
            value = None if operation == "delete" else int(item["v"]["N"])
            timeline.append((now, value))
            self.applied[key].append(value)
        return answer_to(request, found, left)


def parts_of(request):
    """Return (key, operation, item, conditional) of everything that a request is about."""
    body, tables = request.body, request.body.get("RequestItems", {}).items()
    match request.operation:
        case "BatchGetItem":
            return [((table, key["id"]["N"]), "get", None, False) for table, entry in tables for key in entry["Keys"]]
        case "BatchWriteItem":
            return [part_of_batch(table, entry) for table, entries in tables for entry in entries]
        case "TransactWriteItems":
            puts = [action["Put"] for action in body["TransactItems"]]
            return [((put["TableName"], put["Item"]["id"]["N"]), "put", put["Item"], False) for put in puts]
        case "PutItem":
            return [((request.table, body["Item"]["id"]["N"]), "put", body["Item"], "ConditionExpression" in body)]
        case operation:
            return [((request.table, body["Key"]["id"]["N"]), operation.removesuffix("Item").lower(), None, False)]


def part_of_batch(table, entry):
    item = entry["PutRequest"]["Item"] if "PutRequest" in entry else entry["DeleteRequest"]["Key"]
    return (table, item["id"]["N"]), "put" if "PutRequest" in entry else "delete", item, False


def answer_to(request, found, left):
    wire = [(key, {**key_of(key[1]), "v": {"N": str(value)}}) for key, value in found if value is not None]
    if request.operation == "GetItem":
        return {"Item": wire[0][1]} if wire else {}
    if request.operation == "BatchGetItem":
        responses, unread = defaultdict(list), defaultdict(lambda: {"Keys": []})
        for (table, _), item in random.sample(wire, len(wire)):
            responses[table].append(item)
        for (table, number), *_ in left:
            unread[table]["Keys"].append(key_of(number))
        return {"Responses": responses, "UnprocessedKeys": unread}
    unwritten = defaultdict(list)
    for (table, number), operation, item, _ in left:
        put = {"PutRequest": {"Item": item}}
        unwritten[table].append(put if operation == "put" else {"DeleteRequest": {"Key": key_of(number)}})
    return {"UnprocessedItems": unwritten}


def garbled(answer):
    return {**answer, "Responses": {"c": [{}]}, "UnprocessedItems": {"c": [{}]}}


def error_of(failure, request):
    if failure is RuntimeError:
        return RuntimeError("a defect of the transport")
    if isinstance(failure, Outcome):
        return ConnectionFailedError("reset", outcome=failure, operation=request.operation, table=request.table)
    if issubclass(failure, TransportError):
        return failure("damaged", outcome=Outcome.UNKNOWN, operation=request.operation, table=request.table)
    status = 500 if failure is InternalServerError else 400
    return failure("no", service_code="No", operation=request.operation, table=request.table, status=status)


class Three(Chunk):
    """Three requests of one operation on one table, as a bulk call makes chunks of them."""

    def __init__(self, requests):
        self.all = requests
        first = requests[0]
        body = {} if first.writes else {"ConsistentRead": first.body["ConsistentRead"]}
        self.asked = Request(operation=first.operation, body=body, table=first.table, writes=first.writes)
        self.size = len(requests)
        self.identities = [request.target.identity for request in requests] if first.writes else ()
        self.answer = None

    def call(self):
        return (batch_write if self.asked.writes else batch_get)(self.all)

    def requests(self):
        return self.all

    def takes(self, answer):
        self.answer = answer
        if self.asked.writes:
            return not answer.get("UnprocessedItems")
        return not answer.get("UnprocessedKeys") and answer["Responses"].keys() <= {self.asked.table}


@dataclass
class Program:
    """What is run, and what each of its operations was told."""

    service: Service
    executor: Executor
    writes: list = field(default_factory=list)
    numbers: count = field(default_factory=count)
    wrong: list = field(default_factory=list)
    errors: list = field(default_factory=list)

    async def operate(self, operation, table, number, batchable):
        try:
            if operation == "get":
                await self.read(table, number, batchable)
            elif operation == "three":
                await self.three([each for each in (1, 2, 4, 5) if each != number], reads=batchable)
            elif operation == "transact":
                await self.transact([number % 6, (number + 1) % 6, (number + 3) % 6])
            else:
                await self.write(operation, table, number, batchable)
        except (ServiceError, TransportError, SessionClosedError, RuntimeError) as error:
            self.errors.append(error)

    async def three(self, numbers, *, reads):
        begun = asyncio.get_running_loop().time()
        pairs = [(None, self.reading("a", number, True, True)) for number in numbers]
        if not reads:
            pairs = [self.writing("put", "a", number, True) for number in numbers]
            self.writes += [write for write, _ in pairs]
        chunk = Three([request for _, request in pairs])
        answers = await self.answers(chunk)
        for (write, _), number, (item, error) in zip(pairs, numbers, answers, strict=True):
            if write is not None:
                self.note([write], error)
            elif error is None:
                self.check_read("a", number, item, begun)
            if error is not None and error not in self.errors:  # of a chunk that was given up as a whole, one for all
                self.errors.append(error)

    async def answers(self, chunk):
        """Return the item and the error of each request of a chunk."""
        apart = asyncio.get_running_loop().create_future()
        whole = self.executor.submit_chunk(chunk, math.inf, None, apart.set_result)
        each = [self.executor.submit(request) for request in chunk.all] if whole is None else []
        try:
            if whole is not None:
                await asyncio.wait((whole, apart), return_when=asyncio.FIRST_COMPLETED)
                each = apart.result() if apart.done() else []
            if each:
                await asyncio.wait(each)
                return [(None if one.exception() else one.result().get("Item"), one.exception()) for one in each]
        finally:
            for future in (*each, whole or apart, *(apart.result() if apart.done() else ())):
                future.cancel()
        if whole.exception() is not None:
            return [(None, whole.exception())] * len(chunk.all)
        found = {item["id"]["N"]: item for item in (chunk.answer.get("Responses") or {}).get("a", ())}
        return [(found.get(request.target.key["id"]["N"]), None) for request in chunk.all]

    @staticmethod
    def reading(table, number, batchable, consistent):
        key = key_of(number)
        body = {"TableName": table, "Key": key, "ConsistentRead": consistent}
        target = Target(key, identity_of(table, key))
        return Request(operation="GetItem", body=body, table=table, target=target, batchable=batchable)

    async def read(self, table, number, batchable):
        begun = asyncio.get_running_loop().time()
        request = self.reading(table, number, batchable, number % 2 == 0)
        self.check_read(table, number, (await self.executor.send(request)).get("Item"), begun)

    def check_read(self, table, number, item, begun):
        value = None if item is None else int(item["v"]["N"])
        timeline = self.service.items[table, str(number)]
        held = [held for (_, held), (until, _) in pairwise(timeline) if until >= begun]
        if value not in (*held, timeline[-1][1]):
            self.wrong.append(f"read {value} of {number}, which held {timeline} since {begun}")

    async def write(self, operation, table, number, batchable):
        write, request = self.writing(operation, table, number, batchable)
        await self.send([write], request)

    def writing(self, operation, table, number, batchable):
        key, order = key_of(number), next(self.numbers)
        item = {**key, "v": {"N": str(order)}}
        conditional = operation == "create"
        body = {"TableName": table, "Key": key} if operation == "delete" else {"TableName": table, "Item": item}
        if conditional:
            body["ConditionExpression"] = "attribute_not_exists(id)"
        request = Request(
            operation="DeleteItem" if operation == "delete" else "PutItem",
            body=body,
            table=table,
            target=Target(key, identity_of(table, key), 100),
            batchable=batchable and not conditional,
            writes=True,
            conditional=conditional,
        )
        return Write(operation, (table, str(number)), None if operation == "delete" else order, order), request

    async def transact(self, numbers):
        order = next(self.numbers)
        places = [(TABLES[number % 3 == 0], number) for number in numbers]
        puts = [{"TableName": table, "Item": {**key_of(number), "v": {"N": str(order)}}} for table, number in places]
        request = Request(
            operation="TransactWriteItems",
            body={"TransactItems": [{"Put": put} for put in puts], "ClientRequestToken": str(order)},
            **about_tables("ab"),
            targets=tuple(Target(key_of(number), identity_of(table, key_of(number))) for table, number in places),
            writes=True,
            resendable_seconds=540,
        )
        await self.send([Write("transact", (table, str(number)), order, order) for table, number in places], request)

    async def send(self, writes, request):
        self.writes += writes
        try:
            await self.executor.send(request)
        except (ServiceError, TransportError, SessionClosedError) as error:
            self.note(writes, error)
            raise
        self.note(writes, None)

    @staticmethod
    def note(writes, error):
        for write in writes:
            if error is None:
                write.acknowledged = True
            elif isinstance(error, ServiceError):
                write.not_done = not error.outcome_unknown
            elif isinstance(error, TransportError):
                write.not_done = error.outcome is Outcome.NOT_SENT
            elif isinstance(error, SessionClosedError):
                write.not_done = True

    def check(self):
        assert self.wrong + self.service.broken == []
        assert len(set(map(id, self.errors))) == len(self.errors), "two callers were given one error"
        by_key = defaultdict(list)
        for write in self.writes:
            by_key[write.key].append(write)
        for key, writes in by_key.items():
            self.check_key(key, writes, self.service.applied[key])

    def check_key(self, key, writes, applied):
        puts = [value for value in applied if value is not None]
        assert puts == sorted(puts), f"writes of {key} out of order: {applied}"
        for write in writes:
            if write.value is not None:
                assert not write.acknowledged or write.value in applied, f"{write} was lost"
                assert not write.not_done or write.value not in applied, f"{write} was done"
        acknowledged = [position for position, write in enumerate(writes) if write.acknowledged]
        last = acknowledged[-1] if acknowledged else None
        possible = [write.value for write in writes[(last or 0) :] if not write.not_done]
        held = self.service.items[key][-1][1]
        assert held in possible or (last is None and held is None), f"{key} holds {held} after {writes}"


async def run(steps, faults, connections, policy, close_timeout, seed):
    loop = asyncio.get_running_loop()
    random.seed(seed)
    service = Service(faults, connections)
    retry = RetryPolicy(max_attempts=4, base_delay_seconds=1.0, budget=6)
    executor = Executor(service, retry=retry, batching=policy)
    await executor.open()
    program = Program(service, executor)
    tasks = []
    for operation, number, pause, cancel_after, batchable in steps:
        task = loop.create_task(program.operate(operation, TABLES[number % 3 == 0], number, batchable))
        tasks.append(task)
        if cancel_after is not None:
            loop.call_later(cancel_after, task.cancel)
        if pause is not None:
            await asyncio.sleep(pause)
    if close_timeout is None and tasks:
        await asyncio.wait(tasks)
    await executor.close(close_timeout or 0.0)
    if tasks:
        done, pending = await asyncio.wait(tasks, timeout=0.0)
        assert not pending
        assert [task.exception() for task in done if not task.cancelled() and task.exception()] == []
    assert asyncio.all_tasks() == {asyncio.current_task()}, "a task is left"
    assert not executor._reads.open
    assert not executor._writes.open
    await asyncio.sleep(0)
    assert executor._slots.free == connections
    left = [timer for timer in loop._scheduled if not timer.cancelled() and "cancel" not in repr(timer)]
    assert left == [], "a timer is left"
    program.check()


PHASES = [Phase.explicit, Phase.generate]
# Every step there is, so that a step takes one draw: with one for each part, most of the time goes into drawing.
STEPS = list(
    product(
        ["get", "put", "delete", "create", "put", "get", "transact", "three", "three"],
        range(6),
        [None, None, None, None, 0.0, 0.3, 2.0],
        [None, None, None, 0.0, 0.2, 0.7, 1.5],
        [True, True, True, False],
    )
)
POLICIES = [BatchPolicy(), BatchPolicy(), BatchPolicy(window_seconds=0.4, max_keys=3), BatchPolicy(enabled=False)]


@settings(max_examples=500, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True, phases=PHASES)
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=4, max_size=40),
    faults=st.lists(st.sampled_from([*FAULTS, "none", "none"]), max_size=30),
    connections=st.integers(1, 3),
    policy=st.sampled_from(POLICIES),
    close_timeout=st.sampled_from([None, None, 0.0, 3.0]),
    seed=st.integers(0, 2**16),
)
def test_whatever_fails_each_caller_is_told_the_truth(
    virtual_clock, steps, faults, connections, policy, close_timeout, seed
):
    with asyncio.Runner(loop_factory=virtual_clock) as runner:
        runner.run(run(steps, faults, connections, policy, close_timeout, seed))
