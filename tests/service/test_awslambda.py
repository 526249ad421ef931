"""AWS Lambda: handlers are called one after the other, in a process that is frozen between."""

import asyncio
import contextlib
import contextvars
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from uuid import uuid4

import pytest

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, Session, attr
from dynamap_async.errors import (
    ConfigurationError,
    ItemNotFoundError,
    OperationError,
    ScopeTimeoutError,
    SessionClosedError,
    SessionStateError,
)
from dynamap_async.integrations.awslambda import LambdaSession
from dynamap_async.testing.engine import local_settings

CALLER = contextvars.ContextVar("CALLER", default="nobody")


class Visit(Model, table="visits"):
    page: PartitionKey[str]
    count: Attr[int] = attr(default=0)


@dataclass
class Context:
    function_name: str = "visits"
    left: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        return self.left


@pytest.fixture
def made():
    return []


@pytest.fixture
def dynamo(engine, made):
    prefix = f"t{uuid4().hex[:12]}-"

    def make():
        made.append(engine.session(table_prefix=prefix))
        return made[-1]

    with_session = LambdaSession(make)
    yield with_session
    with_session.close()


@pytest.fixture
def visit(dynamo):
    """Return a handler that counts the visits of a page."""

    @dynamo.handler
    async def visit(event, context, session):
        """Count."""
        if not await session.tables.exists(Visit):
            await session.tables.create(Visit)
        return (await session.update(Visit, event["page"]).add(Visit.count, 1).upsert()).count

    return visit


def test_the_session_survives_invocations(visit, made):
    assert [visit({"page": page}, Context()) for page in ("a", "a", "b", "a")] == [1, 2, 1, 3]
    assert len(made) == 1


def test_every_invocation_runs_on_one_loop(dynamo):
    loops = set()

    @dynamo.handler
    async def keep(event, context, session):
        loops.add(asyncio.get_running_loop())

    for _ in range(3):
        keep({}, Context())
    assert len(loops) == 1


def test_a_failed_invocation_fails_alone(dynamo, visit):
    @dynamo.handler
    async def read(event, context, session):
        return await session.get(Visit, "nowhere")

    visit({"page": "a"}, Context())
    with pytest.raises(ItemNotFoundError):
        read({}, Context())
    assert visit({"page": "a"}, Context()) == 2


def test_an_invocation_ends_before_lambda_kills_the_process(dynamo, visit):
    @dynamo.handler
    async def sleep(event, context, session):
        await asyncio.sleep(60)

    visit({"page": "a"}, Context())
    with pytest.raises(ScopeTimeoutError) as caught:
        sleep({}, Context(left=520))
    assert caught.value.scope == "visits"
    with pytest.raises(ScopeTimeoutError):
        sleep({}, Context(left=100))
    assert visit({"page": "a"}, Context()) == 2


def test_variables_do_not_pass_from_one_invocation_to_the_next(dynamo):
    @dynamo.handler
    async def note(event, context, session):
        before = CALLER.get()
        CALLER.set(event)
        return before

    assert [note("ada", Context()), note("bob", Context())] == ["nobody", "nobody"]


def test_what_an_invocation_used_is_its_scopes(dynamo, visit, made):
    visit({"page": "a"}, Context())
    assert made[0].unscoped_usage.requests == 0
    assert made[0].usage.requests >= 1


def test_a_session_can_be_opened_before_the_first_invocation(dynamo, made):
    dynamo.open()
    assert made[0].statistics().requests == 0
    dynamo.open()
    assert len(made) == 1


def test_closing_ends_the_session_and_the_next_invocation_opens_another(dynamo, visit, made):
    assert visit({"page": "a"}, Context()) == 1
    dynamo.close()
    dynamo.close()
    assert visit({"page": "a"}, Context()) == 2
    assert len(made) == 2
    with pytest.raises(SessionClosedError):
        asyncio.run(made[0].get(Visit, "a"))


def test_a_session_that_cannot_be_opened_is_tried_again(made):
    def make():
        made.append(1)
        raise ConfigurationError("no region")

    dynamo = LambdaSession(make)
    for _ in range(2):
        with pytest.raises(ConfigurationError):
            dynamo.open()
    assert len(made) == 2
    dynamo.close()


@pytest.mark.parametrize("call", ["handler", "open", "close"])
def test_inside_a_running_loop_everything_is_refused_and_the_session_stays(dynamo, visit, made, call):
    calls = {"handler": lambda: visit({"page": "a"}, Context()), "open": dynamo.open, "close": dynamo.close}

    async def inside():
        with pytest.raises(SessionStateError, match="such as a test function written with `def`"):
            calls[call]()

    assert visit({"page": "a"}, Context()) == 1
    asyncio.run(inside())
    assert visit({"page": "a"}, Context()) == 2
    assert len(made) == 1


@pytest.mark.parametrize("context", [None, {"function_name": "visits"}], ids=repr)
def test_what_is_no_context_of_lambda_is_refused_before_a_session_is_opened(visit, made, context):
    with pytest.raises(ConfigurationError, match="pass an object with function_name and get_remaining_time_in_millis"):
        visit({"page": "a"}, context)
    assert made == []


def test_a_handler_keeps_its_name_and_its_words(visit):
    assert (visit.__name__, visit.__doc__) == ("visit", "Count.")


def test_a_negative_margin_is_refused():
    with pytest.raises(ConfigurationError, match="margin_seconds"):
        LambdaSession(lambda: pytest.fail("made"), margin_seconds=-1)


PROGRAM = """
import sys
from dynamap_async import Session
from dynamap_async.integrations.awslambda import LambdaSession
from dynamap_async.testing.engine import local_settings

dynamo = LambdaSession(lambda: Session(**local_settings(sys.argv[1])))

class Context:
    function_name = "f"
    def get_remaining_time_in_millis(self):
        return 3000

@dynamo.handler
async def handler(event, context, session):
    return len(session.statistics().by_operation)

print(handler({}, Context()))
"""


def test_the_end_of_the_process_closes_the_session():
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, "http://127.0.0.1:9"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (ran.stdout.strip(), ran.stderr) == ("0", "")


class Keeper(threading.Thread):
    """A server of a table that holds one item, and closes its connections when it is told to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.connections = []
        self.accepted = self.requests = 0
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listening.accept()
                self.accepted += 1
                self.connections.append(connection)
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        body = b'{"Items": [{"page": {"S": "a"}}], "Count": 1, "ScannedCount": 1}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n" % len(body)
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                self.requests += 1
                connection.sendall(head + body)

    def drop(self):
        while self.connections:
            connection = self.connections.pop()
            with contextlib.suppress(OSError):  # the other side has closed it already
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def close(self):
        self.drop()
        self.listening.shutdown(socket.SHUT_RDWR)
        self.join()
        self.listening.close()


def test_connections_that_were_closed_while_frozen_are_not_used():
    keeper = Keeper()
    settings = local_settings(f"http://127.0.0.1:{keeper.port}")
    dynamo = LambdaSession(lambda: Session(**settings, retry=RetryPolicy(max_attempts=1)))

    @dynamo.handler
    async def read(event, context, session):
        return (await session.query(Visit).where(Visit.page == "a"))[0].page

    assert [read({}, Context()), read({}, Context())] == ["a", "a"]
    assert keeper.accepted == 1
    keeper.drop()
    assert read({}, Context()) == "a"
    assert (keeper.accepted, keeper.requests) == (2, 3)
    dynamo.close()
    keeper.close()


class Page(Model, table="pages"):
    path: PartitionKey[str]


def page_record(number, path):
    keys = {"path": {"S": path}}
    change = {"Keys": keys, "NewImage": keys, "SequenceNumber": str(number), "StreamViewType": "NEW_IMAGE"}
    return {"eventName": "INSERT", "dynamodb": change}


def pages(*paths):
    return {"Records": [page_record(number, path) for number, path in enumerate(paths, 1)]}


def test_a_stream_handler_gets_one_change_after_the_other_and_a_session(dynamo, made):
    got = []

    @dynamo.stream_handler(Page)
    async def handler(change, session):
        got.append((change.new.path, session))

    assert handler(pages("a", "b"), Context()) == {"batchItemFailures": []}
    assert got == [("a", made[0]), ("b", made[0])]


@pytest.mark.parametrize("fault", [ValueError("no"), ItemNotFoundError("no", model="Page", key={})])
def test_a_stream_handler_stops_at_the_first_failure_and_has_the_rest_sent_again(dynamo, caplog, fault):
    got = []

    @dynamo.stream_handler(Page)
    async def handler(change, session):
        got.append(change.new.path)
        if change.new.path == "b":
            raise fault

    assert handler(pages("a", "b", "c"), Context()) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert got == ["a", "b"]
    assert "the handler of change 2" in caplog.text


def test_a_stream_handler_whose_time_is_over_has_what_is_left_sent_again(dynamo, caplog):
    @dynamo.stream_handler(Page)
    async def handler(change, session):
        if change.new.path == "b":
            await asyncio.Event().wait()

    left = Context(left=600)
    assert handler(pages("a", "b", "c"), left) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert "2 of 3 changes not handled" in caplog.text


def test_a_stream_handler_refuses_wrong_models_at_once_and_other_events_when_called(dynamo):
    with pytest.raises(OperationError, match="several tables"):
        dynamo.stream_handler(Page, Visit)

    @dynamo.stream_handler(Page)
    async def handler(change, session): ...

    with pytest.raises(OperationError, match="no list of Records"):
        handler({}, Context())
