"""FastAPI over a real socket: uvicorn serves, httpx asks, an engine answers."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
import uvicorn
from fastapi import BackgroundTasks, Depends, FastAPI, Request
from fastapi.responses import StreamingResponse

from dynamap_async import (
    Attr,
    Model,
    PartitionKey,
    RequestEnded,
    RequestSent,
    RetryPolicy,
    Scope,
    SortKey,
    Version,
    attr,
)
from dynamap_async.errors import ConfigurationError, SessionClosedError, TableMismatchError
from dynamap_async.integrations.fastapi import (
    CancelOnDisconnect,
    CursorPage,
    OpenSession,
    PageRequest,
    RequestScope,
    ScopeRequests,
    add_error_handlers,
    current_session,
    error_responses,
    lifespan,
    paging,
    scoped,
)
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio


class Note(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


class Server(uvicorn.Server):
    """uvicorn in the test's own loop."""

    def __init__(self, app) -> None:
        super().__init__(uvicorn.Config(app, port=0, log_config=None, ws="none"))
        self.ready, self.leaving = asyncio.Event(), asyncio.Event()

    async def startup(self, sockets=None) -> None:
        try:
            await super().startup(sockets=sockets)
        finally:
            self.ready.set()

    async def main_loop(self) -> None:
        await self.leaving.wait()

    @contextlib.contextmanager
    def capture_signals(self):
        yield

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"


@asynccontextmanager
async def serving(app) -> AsyncGenerator[httpx.AsyncClient]:
    server = Server(app)
    task = asyncio.create_task(server.serve())
    try:
        await server.ready.wait()
        async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=300) as client:
            yield client
    finally:
        server.leaving.set()
        await task


def notes_app(make) -> FastAPI:
    app = FastAPI(lifespan=lifespan(make))
    add_error_handlers(app, retry_after_seconds=3)

    @app.post("/notes", status_code=201, responses=error_responses(409, 503))
    async def create(note: Note, session: OpenSession) -> Note:
        return await session.create(note)

    @app.put("/notes")
    async def save(note: Note, session: OpenSession) -> Note:
        return await session.put(note)

    @app.get("/notes/{author}/{number}", responses=error_responses(404))
    async def read(author: str, number: int, session: OpenSession) -> Note:
        return await session.get(Note, author, number)

    @app.get("/notes/{author}")
    async def index(
        author: str, session: OpenSession, asked: Annotated[PageRequest, Depends(paging(size=2, most=5))]
    ) -> CursorPage[Note]:
        notes = session.query(Note).where(Note.author == author)
        return asked.response(await notes.page(size=asked.size, after=asked.after))

    @app.get("/all")
    async def all_of(session: OpenSession) -> list[Note]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(session.get(Note, "ada", number)) for number in (1, 2, 77)]
        return [task.result() for task in tasks]

    @app.get("/fault")
    async def fault(session: OpenSession) -> list[Note]:
        return await session.query(Note).where(Note.text == "no index has this")

    return app


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def make(engine, faults):
    """Return a function that makes one session after the other, all with the same tables."""
    prefix = f"t{uuid4().hex[:12]}-"

    def make(**settings):
        return faults.session(engine, table_prefix=prefix, retry=RetryPolicy(max_attempts=1), **settings)

    return make


@pytest_asyncio.fixture
async def client(make) -> AsyncIterator[httpx.AsyncClient]:
    async with make() as session:
        await session.tables.create(Note)
        await session.put_many([Note(author="ada", number=number) for number in range(5)])
    async with serving(notes_app(make)) as client:
        yield client


async def test_a_model_is_a_body_and_a_response(client):
    note = {"author": "bob", "number": 1, "text": "hello", "version": 0}
    created = await client.post("/notes", json=note)
    assert (created.status_code, created.json()) == (201, {**note, "version": 1})
    assert (await client.get("/notes/bob/1")).json() == {**note, "version": 1}


async def test_errors_are_answered_by_their_meaning(client, faults, caplog):
    note = {"author": "ada", "number": 1, "version": 0}
    missing = await client.get("/notes/ada/77")
    again = await client.post("/notes", json=note)
    stale = await client.put("/notes", json={**note, "version": 9})
    wrong = await client.post("/notes", json={"author": "ada"})
    empty = await client.post("/notes", json={**note, "author": ""})
    cursor = await client.get("/notes/ada", params={"after": "nonsense"})
    faults.on("GetItem", times=1).throttle()
    busy = await client.get("/notes/ada/1")
    answers = (missing, again, stale, wrong, empty, cursor, busy)
    assert [answer.status_code for answer in answers] == [404, 409, 409, 422, 422, 400, 503]
    assert missing.json() == {"detail": "The item does not exist.", "code": "item-not-found"}
    assert (stale.json()["expected"], stale.json()["stored"]) == (9, 1)
    assert empty.json()["path"] == ["author"]
    assert (busy.headers["Retry-After"], "Retry-After" in missing.headers) == ("3", False)
    assert warnings_in(caplog) == [
        "'GET /notes/{author}/{number}' was answered with 503: ProvisionedThroughputExceededError"
    ]


def warnings_in(caplog):
    """Return how the lines begin that the library has logged as warnings."""
    own = [each for each in caplog.records if (each.name, each.levelname) == ("dynamap_async", "WARNING")]
    return [":".join(each.getMessage().split(":", 2)[:2]) for each in own]


async def test_errors_of_a_task_group_are_answered_too(client):
    answer = await client.get("/all")
    assert (answer.status_code, answer.json()["code"]) == (404, "item-not-found")


async def test_a_fault_of_the_program_stays_a_fault(client, caplog):
    answer = await client.get("/fault")
    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    assert "NoIndexError" in caplog.text


async def test_a_list_is_followed_page_by_page_by_its_links(client):
    numbers, path = [], "/notes/ada"
    while path:
        answer = await client.get(path)
        page = answer.json()
        numbers.append([item["number"] for item in page["items"]])
        assert answer.headers.get("Link") == (page["next"] and f'<{page["next"]}>; rel="next"')
        path = page["next"]
    assert [number for page in numbers for number in page] == [0, 1, 2, 3, 4]
    assert numbers[:2] == [[0, 1], [2, 3]]


async def test_the_size_of_a_page_is_bounded_and_kept_by_its_link(client):
    page = (await client.get("/notes/ada", params={"size": 3})).json()
    assert len(page["items"]) == 3
    assert "size=3" in page["next"]
    assert (await client.get("/notes/ada", params={"size": 6})).status_code == 422
    assert (await client.get("/notes/ada", params={"size": 0})).status_code == 422


async def test_the_schema_lists_models_pages_and_errors(client):
    schema = (await client.get("/openapi.json")).json()
    assert {"Note", "CursorPage_Note_", "ErrorBody"} <= set(schema["components"]["schemas"])
    assert {"404", "200", "422"} == set(schema["paths"]["/notes/{author}/{number}"]["get"]["responses"])


async def test_concurrent_requests_share_calls(client, faults):
    # The first read is on its way, and while it is, the others gather behind it.
    faults.on("GetItem", times=1).delay(0.3)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(client.get(f"/notes/ada/{number % 5}")) for number in range(20)]
    assert {task.result().status_code for task in tasks} == {200}
    reads = [entry for entry in faults.log if entry.operation in {"GetItem", "BatchGetItem"}]
    assert len(reads) < 20


async def test_an_application_starts_again_with_a_new_session(make):
    async with make() as session:
        await session.tables.create(Note)
    app = notes_app(make)
    for _ in range(2):
        async with serving(app) as client:
            assert (await client.get("/notes/ada/1")).status_code == 404


async def test_a_session_is_closed_when_the_application_ends(make):
    made = []

    def keeping():
        made.append(make())
        return made[-1]

    async with serving(notes_app(keeping)) as client:
        assert (await client.get("/openapi.json")).status_code == 200
    with pytest.raises(RuntimeError, match="closed"):
        await made[0].get(Note, "ada", 1)


async def test_a_lifespan_of_ones_own_has_the_session_beside_its_own_state(make):
    @asynccontextmanager
    async def own(app):
        async with lifespan(make)(app) as state:
            yield {**state, "greeting": "hello"}

    app = FastAPI(lifespan=own)

    @app.get("/")
    async def show(request: Request, session: OpenSession) -> str:
        return f"{request.state.greeting} {type(session).__name__}"

    async with serving(app) as client:
        assert (await client.get("/")).json() == "hello Session"


async def test_what_is_to_be_done_at_the_start_has_the_open_session(make):
    seen = []

    async def begin(session):
        seen.append(await session.tables.exists(Note))

    async with lifespan(make, on_start=begin)(FastAPI()):
        assert seen == [False]


async def test_a_start_that_fails_ends_the_application_and_closes_the_session(make):
    opened = []

    def made():
        opened.append(make())
        return opened[-1]

    with pytest.raises(TableMismatchError, match="notes"):
        async with lifespan(made, on_start=lambda session: session.tables.verify(Note))(FastAPI()):
            pytest.fail("it must not start")
    with pytest.raises(SessionClosedError):
        await opened[0].tables.exists(Note)


async def test_an_application_without_a_lifespan_says_so(caplog):
    app = FastAPI()

    @app.get("/")
    async def show(session: OpenSession) -> None: ...

    async with serving(app) as client:
        assert (await client.get("/")).status_code == 500
    assert "FastAPI(lifespan=lifespan(...))" in caplog.text


async def test_a_test_puts_its_own_session_in_place(session):
    await session.tables.create(Note)
    app = notes_app(lambda: pytest.fail("no session was to be made"))
    app.dependency_overrides[current_session] = lambda: session
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.get("/notes/ada/1")).status_code == 404


async def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ConfigurationError, match="size"):
        paging(size=200, most=100)
    with pytest.raises(ConfigurationError, match="418"):
        error_responses(404, 418)


# Scopes.


def scoped_app(make, **settings) -> FastAPI:
    app = notes_app(make)
    app.add_middleware(ScopeRequests, **settings)

    @app.get("/many/{author}")
    async def many(author: str, session: OpenSession, scope: RequestScope) -> str:
        for number in range(5):
            await session.find(Note, author, number)
        return f"{scope.name}: {scope.usage.requests}"

    @app.get("/narrow/{author}", dependencies=[Depends(scoped(max_requests=2))])
    async def narrow(author: str, session: OpenSession) -> list[Note | None]:
        return [await session.find(Note, author, number) for number in range(3)]

    @app.get("/own")
    async def own(session: OpenSession, scope: Annotated[Scope, Depends(scoped(timeout=0.05))]) -> str:
        await asyncio.sleep(60)
        return scope.name

    @app.get("/slow")
    async def slow() -> None:
        await asyncio.sleep(60)

    @app.get("/slow-stream")
    async def slow_stream() -> StreamingResponse:
        async def parts():
            yield b"one"
            await asyncio.sleep(60)

        return StreamingResponse(parts())

    return app


@pytest_asyncio.fixture
async def filled(make):
    async with make() as session:
        await session.tables.create(Note)
        await session.put_many([Note(author="ada", number=number) for number in range(5)])
    return make


async def test_each_request_has_an_account_of_its_own(filled):
    ended = []
    async with serving(scoped_app(filled, server_timing=True, ended=ended.append)) as client:
        answer = await client.get("/many/ada")
        await client.get("/notes/ada/1")
        missing = await client.get("/notes/ada/77")
    assert answer.json() == "GET /many/ada: 5"
    assert answer.headers["Server-Timing"].startswith('dynamodb;desc="5 requests, ')
    assert missing.headers["Server-Timing"].startswith('dynamodb;desc="1 requests, ')
    assert [(scope.name, scope.usage.requests) for scope in ended] == [
        ("GET /many/ada", 5),
        ("GET /notes/ada/1", 1),
        ("GET /notes/ada/77", 1),
    ]


async def test_what_a_request_costs_is_shown_only_by_choice(filled):
    async with serving(scoped_app(filled)) as client:
        assert "Server-Timing" not in (await client.get("/many/ada")).headers


@pytest.mark.parametrize("path", ["/many/ada", "/narrow/ada"])
async def test_a_spent_budget_is_answered(filled, path):
    async with serving(scoped_app(filled, max_requests=4)) as client:
        answer = await client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (422, "capacity-budget-exceeded")
        assert "Retry-After" not in answer.headers  # repeated, it would spend as much again
        assert (await client.get("/notes/ada/1")).status_code == 200


@pytest.mark.parametrize(("path", "settings"), [("/slow", {"timeout": 0.05}), ("/own", {})])
async def test_a_request_whose_time_is_over_is_answered(filled, path, settings, caplog):
    async with serving(scoped_app(filled, **settings)) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()) == (
        504,
        {"detail": "The request took too long.", "code": "scope-timeout"},
    )
    assert warnings_in(caplog) == [f"'GET {path}' was answered with 504: ScopeTimeoutError"]


async def test_an_answer_that_has_begun_is_broken_off_when_its_time_is_over(filled, pass_time):
    async with serving(scoped_app(filled, timeout=20)) as client, client.stream("GET", "/slow-stream") as answer:
        pass_time(25)
        with pytest.raises(httpx.RemoteProtocolError):
            await answer.aread()


async def test_a_request_without_a_scope_says_what_is_missing(filled, caplog):
    app = notes_app(filled)

    @app.get("/scope")
    async def show(scope: RequestScope) -> None: ...

    async with serving(app) as client:
        assert (await client.get("/scope")).status_code == 500
    assert "app.add_middleware(ScopeRequests)" in caplog.text


# Clients that go away.


class Work:
    """What one handler did."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()
        self.how = ""

    async def run(self, seconds: float) -> None:
        self.begun.set()
        try:
            await asyncio.sleep(seconds)
            self.how = "done"
        except asyncio.CancelledError:
            self.how = "cancelled"
            raise
        finally:
            self.ended.set()


def working_app(work: Work, seconds: float, **settings) -> FastAPI:
    app = FastAPI()
    app.add_middleware(CancelOnDisconnect, **settings)

    @app.api_route("/", methods=["GET", "POST"])
    async def handle(request: Request) -> dict:
        body = await request.body()
        await work.run(seconds)
        return {"body": body.decode(), "gone": await request.is_disconnected()}

    @app.get("/after")
    async def answer_first(background: BackgroundTasks) -> str:
        background.add_task(work.run, seconds)
        return "done"

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        async def parts():
            yield b"one"
            await work.run(seconds)
            yield b"two"

        return StreamingResponse(parts())

    return app


async def left_early(client: httpx.AsyncClient, method: str, path: str = "/") -> asyncio.StreamWriter:
    """Ask, and return the connection without waiting for the answer's end."""
    url = client.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi".encode())
    await writer.drain()
    if path == "/after":
        await reader.readuntil(b'"done"')
    return writer


LEAVING = [
    ("GET", "/", {}, 60, "cancelled"),
    ("POST", "/", {}, 0.05, "done"),
    ("POST", "/", {"methods": ["POST"]}, 60, "cancelled"),
    ("GET", "/", {"methods": ["POST"]}, 0.05, "done"),
    ("GET", "/stream", {}, 60, "cancelled"),
    ("GET", "/after", {}, 0.05, "done"),
]


@pytest.mark.parametrize(("method", "path", "settings", "seconds", "how"), LEAVING)
async def test_work_for_a_client_that_has_gone_ends_if_its_method_is_safe(method, path, settings, seconds, how):
    work = Work()
    async with serving(working_app(work, seconds, **settings)) as client:
        writer = await left_early(client, method, path)
        await work.begun.wait()
        writer.close()
        await writer.wait_closed()
        async with asyncio.timeout(20):
            await work.ended.wait()
    assert work.how == how


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_client_that_stays_gets_its_answer(method):
    work = Work()
    async with serving(working_app(work, 0.01)) as client:
        answer = await client.request(method, "/", content="hello")
        assert answer.json() == {"body": "hello", "gone": False}
        assert (await client.get("/stream")).text == "onetwo"


async def test_a_large_body_is_read_as_it_is_wanted():
    async with serving(working_app(Work(), 0)) as client:
        answer = await client.request("GET", "/", content=b"x" * 3_000_000)
        assert len(answer.json()["body"]) == 3_000_000


async def test_what_a_server_raises_is_not_lost():
    async def receive():
        raise OSError("broken")

    async def app(scope, receive, send):
        await receive()

    async def send(message): ...

    with pytest.raises(OSError, match="broken"):
        await CancelOnDisconnect(app)({"type": "http", "method": "GET"}, receive, send)


async def test_other_connections_pass_through():
    seen = []

    async def app(scope, receive, send):
        seen.append((scope["type"], receive, send))

    await CancelOnDisconnect(app)({"type": "lifespan"}, "receive", "send")
    assert seen == [("lifespan", "receive", "send")]


async def test_a_query_that_nobody_waits_for_is_broken_off(make, faults):
    async with make() as session:
        await session.tables.create(Note)
    sent, ended = asyncio.Event(), asyncio.Event()

    def observe(event):
        if isinstance(event, RequestSent) and event.operation == "GetItem":
            sent.set()
        if isinstance(event, RequestEnded) and event.error is asyncio.CancelledError:
            ended.set()

    app = notes_app(lambda: make(observer=observe))
    app.add_middleware(CancelOnDisconnect)
    async with serving(app) as client:
        faults.on("GetItem").delay(60)
        writer = await left_early(client, "GET", "/notes/ada/1")
        async with asyncio.timeout(20):
            await sent.wait()
            writer.close()
            await writer.wait_closed()
            await ended.wait()
    assert [entry.operation for entry in faults.log].count("GetItem") == 1
