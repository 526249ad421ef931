"""Two writers of one item, of whom one loses answers and requests: what it is told is true, and no count is doubled."""

import asyncio
import re
from collections import Counter
from itertools import count, product

from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, Session, attr
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ConnectionFailedError,
    InternalServerError,
    ItemNotFoundError,
    Outcome,
    ProvisionedThroughputExceededError,
    TransportError,
)

KEY = {"id": {"S": "a"}}


class Box(Model, table="boxes"):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="free")
    n: Attr[int] = attr(default=0)
    by: Attr[str | None] = attr(write_id=True)


WRITES = {
    "create": lambda s: s.create(Box(id="a")),
    "put where": lambda s: s.put(Box(id="a", text="taken"), where=Box.text == "free"),
    "update where": lambda s: s.update(Box, "a").set(Box.text, "taken").where(Box.text == "free"),
    "count": lambda s: s.update(Box, "a").add(Box.n, 1),
    "count or make": lambda s: s.update(Box, "a").add(Box.n, 1).upsert(),
    "count below 3": lambda s: s.update(Box, "a").add(Box.n, 1).where(Box.n < 3),
}
COUNTS = {name for name in WRITES if name.startswith("count")}
FAULTS = ["none", "lose", "reset", "late", "fail", "fail applied", "throttle"]
OTHERS = ["none", "count", "put", "delete", "count without an id"]

MOST_LOSSES = 6
PATIENT = RetryPolicy(max_attempts=MOST_LOSSES + 1, budget=1_000)
EXCHANGES = st.lists(st.sampled_from(list(product(FAULTS, OTHERS))), max_size=MOST_LOSSES)
STEPS = st.lists(st.tuples(st.sampled_from(sorted(WRITES)), EXCHANGES), max_size=5)


class Service:
    """One item, two writers: before each request of the first one the other may write."""

    max_connections = 1

    def __init__(self):
        self.item = None
        self.script = []
        self.applied = Counter()
        """Write id -> how often the write was carried out."""
        self.late = []
        """Requests that are still on their way, though nobody waits for them."""
        self.ids = []
        """The write ids of the requests of the step."""
        self.faults = []
        self.others = count()

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        self.ids.append(request.write_id.value["S"])
        fault, other = self.script.pop(0) if self.script else ("none", "none")
        self.faults.append((fault, other))
        self.write_as_other(other)
        if fault == "throttle":
            raise refusal(ProvisionedThroughputExceededError, request)
        if fault == "late":
            self.late.append(request)
        answer = None if fault in {"reset", "fail", "late"} else self.answer(request)
        if fault.startswith("fail"):
            raise refusal(InternalServerError, request)
        if fault in {"lose", "reset", "late"}:
            raise ConnectionFailedError(fault, outcome=Outcome.UNKNOWN, operation=request.operation, table="boxes")
        self.arrive()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def arrive(self):
        """Carry out what was late."""
        while self.late:
            self.answer(self.late.pop(0))

    def write_as_other(self, kind):
        own = {"by": {"S": f"other {next(self.others)}"}}
        if kind == "delete":
            self.item = None
        elif kind == "put":
            self.item = {**KEY, "text": {"S": "free"}, "n": {"N": "0"}, **own}
        elif kind == "count" and self.item is not None:
            self.item = {**self.item, "n": {"N": str(int(self.item["n"]["N"]) + 1)}, **own}
        elif kind == "count without an id" and self.item is not None:
            self.item = {**self.item, "n": {"N": str(int(self.item["n"]["N"]) + 1)}}

    def answer(self, request):
        """Carry a request out; return the answer, or the refusal."""
        if not self.holds(request.body):
            failed = refusal(ConditionalCheckFailedError, request)
            failed.wire_item = self.item
            return failed
        self.applied[request.write_id.value["S"]] += 1
        if request.operation == "PutItem":
            self.item = dict(request.body["Item"])
            return {}
        self.item = updated(self.item or KEY, request.body)
        return {"Attributes": self.item}

    def holds(self, body):
        conditions = body["ConditionExpression"].split(" AND ") if "ConditionExpression" in body else []
        return all(holds(self.item or {}, condition, body) for condition in conditions)


def holds(item, condition, body):
    names = body["ExpressionAttributeNames"]
    if exists := re.fullmatch(r"attribute_(not_)?exists\((#\w+)\)", condition):
        return (names[exists[2]] in item) != bool(exists[1])
    path, operator, value = condition.split()
    stored, wanted = item.get(names[path]), body["ExpressionAttributeValues"][value]
    if stored is None:
        return False
    return stored == wanted if operator == "=" else int(stored["N"]) < int(wanted["N"])


def updated(item, body):
    names, values, made = body["ExpressionAttributeNames"], body["ExpressionAttributeValues"], dict(item)
    sets, _, adds = body["UpdateExpression"].removeprefix("SET ").partition(" ADD ")
    for path, value in re.findall(r"(#\w+) = (:\w+)", sets):
        made[names[path]] = values[value]
    for path, value in re.findall(r"(#\w+) = if_not_exists\(#\w+, (:\w+)\)", sets):
        made.setdefault(names[path], values[value])
    for path, value in re.findall(r"(#\w+) (:\w+)", adds):
        before = made.get(names[path], {"N": "0"})["N"]
        made[names[path]] = {"N": str(int(before) + int(values[value]["N"]))}
    return made


def refusal(kind, request):
    return kind("refused", service_code=kind.__name__, operation=request.operation, table="boxes", status=400)


async def run(steps, service):
    """Carry out the steps of the first writer; return the name, write id, end and faults of each."""
    ends = []
    async with Session(transport=service, retry=PATIENT) as session:
        for name, script in steps:
            service.script, service.ids, service.faults = list(script), [], []
            try:
                result = await WRITES[name](session)
            except (TransportError, InternalServerError, ConditionalCheckFailedError, ItemNotFoundError) as error:
                unknown = (
                    error.outcome is Outcome.UNKNOWN if isinstance(error, TransportError) else error.outcome_unknown
                )
                end = "unknown" if unknown else "refused"
            else:
                assert result.by == service.ids[0]
                end = "done"
            assert len(set(service.ids)) == 1
            ends.append((name, service.ids[0], end, service.faults))
    service.arrive()
    return ends


def ends_of(steps, virtual_clock):
    service = Service()
    with asyncio.Runner(loop_factory=virtual_clock) as runner:
        return runner.run(run(steps, service)), service


@given(steps=STEPS)
def test_a_success_was_done_and_a_refusal_was_not(virtual_clock, steps):
    ends, service = ends_of(steps, virtual_clock)
    for _, write_id, end, _ in ends:
        assert end == "unknown" or (end == "done") == (service.applied[write_id] > 0)


@given(steps=STEPS)
def test_no_count_is_done_twice_whoever_else_writes_and_whatever_arrives_late(virtual_clock, steps):
    ends, service = ends_of(steps, virtual_clock)
    assert all(service.applied[write_id] <= 1 for name, write_id, _, _ in ends if name in COUNTS)


@given(steps=STEPS)
def test_what_was_done_and_left_alone_is_a_success(virtual_clock, steps):
    ends, service = ends_of(steps, virtual_clock)
    for _, write_id, end, faults in ends:
        alone = all(fault != "late" and other in {"none", "count without an id"} for fault, other in faults)
        assert not (alone and end == "unknown" and service.applied[write_id])


@given(steps=STEPS)
def test_nothing_is_unknown_where_every_answer_comes(virtual_clock, steps):
    answered = [(name, [(f if f == "throttle" else "none", other) for f, other in script]) for name, script in steps]
    ends, _ = ends_of(answered, virtual_clock)
    assert "unknown" not in {end for _, _, end, _ in ends}
