"""A scripted transport: nothing here sleeps, and nothing here is a real DynamoDB."""

import asyncio
import re
from collections import deque

import pytest

from dynamap_async import Attr, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.errors import ThrottledError
from dynamap_async.executor.retry import Retries


class ScriptedTransport:
    """Answers requests in order from ``answers``: bodies, errors to raise, or functions of the request."""

    max_connections = 64

    def __init__(self):
        self.answers = deque()
        self.otherwise = None
        """Answers what the script does not; None makes such a request fail the test."""
        self.latency = 0.0
        """How long each answer takes, in virtual seconds."""
        self.requests = []
        self.times = []
        self.under_way = 0
        self.most_under_way = 0
        self.opened = self.closed = 0

    def script(self, *answers):
        self.answers.extend(answers)
        return self

    async def open(self):
        self.opened += 1

    async def close(self):
        self.closed += 1

    async def send(self, request):
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        answer = self.answers.popleft() if self.answers else self.otherwise
        assert answer is not None, f"no answer is scripted for {request}"
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            answer = answer(request) if callable(answer) else answer
            if isinstance(answer, BaseException):
                raise answer
            return answer
        finally:
            self.under_way -= 1

    @property
    def waits(self):
        """The virtual seconds between requests."""
        return [round(later - earlier, 6) for earlier, later in zip(self.times, self.times[1:], strict=False)]


@pytest.fixture
def no_jitter(monkeypatch):
    """Make every backoff as long as its upper bound."""
    monkeypatch.setattr(Retries, "delay", lambda self, attempts: self.policy.longest_delay(attempts))


class Reading(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[int] = attr(default=0)


class Table:
    """The readings of one sensor, answered a page at a time as DynamoDB does, filters aside."""

    def __init__(self, count, *, page=10, value=0):
        self.items = [{"sensor": {"S": "s"}, "at": {"N": str(n)}, "value": {"N": str(value)}} for n in range(count)]
        self.page = page

    def __call__(self, request):
        start = request.body.get("ExclusiveStartKey")
        first = 0 if start is None else int(start["at"]["N"]) + 1
        size = min(self.page, request.body.get("Limit", self.page))
        items = self.items[first : first + size]
        answer = {"Items": items, "Count": len(items), "ScannedCount": len(items)}
        if items and len(items) == size:
            answer["LastEvaluatedKey"] = {name: items[-1][name] for name in ("sensor", "at")}
        if request.body.get("Select") == "COUNT":
            del answer["Items"]
        return answer


class Service:
    """Tables in memory, for requests of single items and their batches; ``limit`` items of a batch are served."""

    def __init__(self):
        self.items = {}
        self.history = []
        self.limit = None

    def fill(self, count):
        for n in range(count):
            self.write("readings", {"sensor": {"S": "s"}, "at": {"N": str(n)}, "value": {"N": "0"}})

    def write(self, table, item, *, delete=False):
        key = self.key(table, item)
        self.items.pop(key, None) if delete else self.items.update({key: item})
        self.history.append((key, None if delete else item))

    def values(self, at):
        """Return what was written to one reading: its values, None for a deletion."""
        written = [item for (_, *key), item in self.history if str(at) in key]
        return [item and int(item["value"]["N"]) for item in written]

    @staticmethod
    def key(table, item):
        return table, *(item[name].get("S", item[name].get("N")) for name in ("sensor", "at", "name") if name in item)

    def __call__(self, request):
        method = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", request.operation).lower()
        return getattr(self, method)(request.body)

    def query(self, body):
        return {"Items": [], "Count": 0, "ScannedCount": 0}

    def get_item(self, body):
        item = self.items.get(self.key(body["TableName"], body["Key"]))
        return {} if item is None else {"Item": item}

    def put_item(self, body):
        self.write(body["TableName"], body["Item"])
        return {}

    def delete_item(self, body):
        self.write(body["TableName"], body["Key"], delete=True)
        return {}

    def batch_get_item(self, body):
        asked = [(table, key) for table, entry in body["RequestItems"].items() for key in entry["Keys"]]
        served = asked[: self.limit]
        responses, left = {}, {}
        for table, key in reversed(served):
            if item := self.items.get(self.key(table, key)):
                responses.setdefault(table, []).append(item)
        for table, key in asked[len(served) :]:
            left.setdefault(table, {"Keys": []})["Keys"].append(key)
        return {"Responses": responses, "UnprocessedKeys": left}

    def batch_write_item(self, body):
        asked = [(table, entry) for table, entries in body["RequestItems"].items() for entry in entries]
        served = asked[: self.limit]
        left = {}
        for table, entry in served:
            put = "PutRequest" in entry
            self.write(table, entry["PutRequest"]["Item"] if put else entry["DeleteRequest"]["Key"], delete=not put)
        for table, entry in asked[len(served) :]:
            left.setdefault(table, []).append(entry)
        return {"UnprocessedItems": left}


def _refusal(kind):
    def make(**facts):
        error = kind(kind.__name__, service_code=kind.__name__, operation="Batch", table="all", status=400)
        error.__dict__.update(facts)
        return error

    return make


@pytest.fixture
def service():
    """Return an empty service for single items and batches; play it with ``transport.otherwise``."""
    return Service()


@pytest.fixture
def throttled():
    return _refusal(ThrottledError)


@pytest.fixture
def refusal():
    """Return a function that makes an error of DynamoDB of a kind."""
    return lambda kind: _refusal(kind)()


@pytest.fixture
def transport():
    return ScriptedTransport()


@pytest.fixture
def open_session(transport):
    """Return a function that makes a session over the scripted transport; it is still to be entered."""

    def make(**settings):
        return Session(transport=transport, **settings)

    return make


@pytest.fixture
def model():
    return Reading


@pytest.fixture
def table():
    """Return the class of scripted tables."""
    return Table


@pytest.fixture
def readings(open_session, model):
    """Return a function that begins the query of all readings of a session."""
    return lambda session: session.query(model).where(model.sensor == "s")
