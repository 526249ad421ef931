"""A scripted transport: nothing here sleeps, and nothing here is a real DynamoDB.

Of some files each test runs three times: with that transport, and over connections of both kinds to an endpoint that
answers what it would. The endpoint is at the other end of socket pairs, on the same event loop: what one end writes the
other can read at once, so that the clock stays virtual.
"""

import asyncio
import contextlib
import functools
import os
import re
import socket
from collections import deque

import aiohappyeyeballs
import pytest

from dynamap_async import Attr, Credentials, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.errors import (
    AccessDeniedError,
    ConnectionFailedError,
    ServiceError,
    ThrottledError,
    TransactionCanceledError,
)
from dynamap_async.executor import Executor
from dynamap_async.executor.retry import Retries
from dynamap_async.request import Request
from dynamap_async.testing.faults.exchange import read_request, reset, write_answer
from dynamap_async.testing.faults.fault_answers import error_answer, json_answer, object_of
from dynamap_async.transport import AioConfig, Connection, WireTransport
from dynamap_async.transport.translate import ERRORS

IN_MEMORY, OWN, AIOHTTP = "in memory", "own connections", "aiohttp"
OVER_CONNECTIONS = (
    "test_batch_cancellation",
    "test_batch_failures",
    "test_coalescing",
    "test_transactions",
    "test_writes_in_flight",
)
"""Files whose tests run over connections too, but for those that are marked ``in_memory``."""


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
    """Make every backoff, and every pause while a table is waited for, as long as its upper bound."""
    monkeypatch.setattr(Retries, "delay", lambda self, attempts: self.policy.longest_delay(attempts))
    monkeypatch.setattr(Executor, "pause", lambda self, seconds: seconds)


@pytest.fixture
def opened(slow):
    """Return a function that makes a session on the slow engine of a test module, with faults before it."""

    def make(faults=None):
        transport = slow.transport()
        return Session(transport=transport if faults is None else faults.wrap(transport))

    return make


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


class Line:
    """A transport that can be cut, or be denied the library's own table: what is sent arrives once it is mended."""

    def __init__(self, transport):
        self._transport = transport
        self.whole = asyncio.Event()
        self.whole.set()
        self.denied = False
        self.sent = []

    @property
    def max_connections(self):
        return self._transport.max_connections

    async def open(self):
        await self._transport.open()

    async def send(self, request):
        self.sent.append(request.operation)
        await self.whole.wait()
        if self.denied and request.table.endswith("dynamap"):
            facts = {"operation": request.operation, "table": request.table, "status": 400}
            raise AccessDeniedError("no", service_code="AccessDeniedException", **facts)
        return await self._transport.send(request)

    async def close(self):
        await self._transport.close()


@contextlib.asynccontextmanager
async def counted_turns():
    """Give a list that gets an entry whenever the loop gives another task its turn while the block runs."""
    turns = []

    async def other():
        while True:
            await asyncio.sleep(0)
            turns.append(len(turns))

    task = asyncio.create_task(other())
    try:
        yield turns
    finally:
        task.cancel()
        await asyncio.wait((task,))


@pytest.fixture
def turns_of_others():
    """Return a function whose block counts the turns of another task."""
    return counted_turns


@pytest.fixture
def line_over():
    """Return a function: a transport -> the line that leads to it."""
    return Line


@pytest.fixture
def transport():
    return ScriptedTransport()


class Endpoint:
    """What a scripted transport answers, as the other end of a session's connections."""

    def __init__(self, transport):
        self._transport = transport
        self._serving = set()

    async def connect(self, *_addresses, **_settings):
        """Return a socket that leads here: what connecting to an address gives elsewhere."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        task = asyncio.create_task(self._serve(theirs))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return ours

    async def ended(self):
        """Wait until no connection is left."""
        while self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, connected):
        reader, writer = await asyncio.open_connection(sock=connected)
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while await self._answer_one(reader, writer):
                    pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer_one(self, reader, writer):
        """Answer one request, unless its sender goes before; return whether the connection stays open."""
        received = await read_request(reader)
        body = object_of(received.body)
        table = body.get("TableName") or ", ".join(body.get("RequestItems", ()))
        answer = asyncio.create_task(
            self._transport.send(Request(operation=received.operation, body=body, table=table))
        )
        gone = asyncio.create_task(reader.read(1))
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        for task in (answer, gone):
            task.cancel()
        await asyncio.wait((answer, gone))
        if answer.cancelled():
            return False
        try:
            found = json_answer(answer.result())
        except ServiceError as error:
            found = error_answer(code_of(error), error.args[0], status=error.status, facts=facts_of(error))
        except ConnectionFailedError:
            reset(writer)
            return False
        await write_answer(writer, found)
        return True


def code_of(error):
    """Return the service's name of an error."""
    return next((code for code, kind in ERRORS.items() if kind is type(error)), error.service_code)


def facts_of(error):
    """Return what the service says of an error besides its name and message."""
    reasons = error.reasons if isinstance(error, TransactionCanceledError) else ()
    return {"CancellationReasons": [{"Code": each.code or "None"} for each in reasons]} if reasons else None


@functools.cache
def transport_of(travels, connections):
    """Return what sends over connections of a kind, settings looked up once, so that each test takes ``another()``."""
    arguments = {"use_dns_cache": True} if travels == AIOHTTP else {}
    return WireTransport(
        Connection(
            region="eu-west-1",
            endpoint_url="http://127.0.0.1:9",
            credentials=Credentials(access_key_id="AKID", secret_access_key="s"),
            aio_config=AioConfig(max_pool_connections=connections, read_timeout=10**6, connector_args=arguments),
        )
    )


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "in_memory(reason): why a test cannot run over connections, as others of its file do"
    )


def pytest_generate_tests(metafunc):
    if "travels" in metafunc.fixturenames and metafunc.module.__name__.rpartition(".")[2] in OVER_CONNECTIONS:
        stays = metafunc.definition.get_closest_marker("in_memory")
        metafunc.parametrize("travels", [IN_MEMORY] if stays else [IN_MEMORY, OWN, AIOHTTP])


@pytest.fixture
def travels():
    """Return what requests travel over."""
    return IN_MEMORY


@pytest.fixture
def open_session(transport, travels, monkeypatch):
    """Return a function that makes a session over the scripted transport; it is still to be entered."""
    if travels == IN_MEMORY:
        return lambda **settings: Session(transport=transport, **settings)

    async def here(function, *arguments):
        return function(*arguments)  # a thread would be waited for, and nothing is on a virtual clock

    endpoint = Endpoint(transport)
    monkeypatch.setattr(asyncio, "to_thread", here)
    monkeypatch.setattr(aiohappyeyeballs, "start_connection", endpoint.connect)
    for name in os.environ:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)

    def make(**settings):
        # A session leaves items as they came, and splices calls, where its transport is of this very class.
        wire = transport_of(travels, transport.max_connections).another()
        end = wire.close

        async def close():
            await end()
            await endpoint.ended()

        wire.close = close
        return Session(transport=wire, **settings)

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
