"""aiohttp's server over a real socket, with an engine behind it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, SortKey, Version, attr
from dynamap_async.errors import ConfigurationError
from dynamap_async.integrations.aiohttp import (
    SCOPE,
    SESSION,
    error_middleware,
    finishing_middleware,
    page_request,
    read_body,
    respond,
    scope_middleware,
    session_context,
    session_of,
)
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio


class Note(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


@asynccontextmanager
async def serving(app) -> AsyncGenerator[aiohttp.ClientSession]:
    """Serve an application as with handler_cancellation=True."""
    async with TestServer(app) as server, aiohttp.ClientSession(server.make_url("/")) as client:
        yield client


async def create(request):
    note = await read_body(request, Note)
    return respond(await session_of(request).create(note), status=201)


async def save(request):
    return respond(await session_of(request).put(await read_body(request, Note)))


async def read(request):
    author, number = request.match_info["author"], int(request.match_info["number"])
    return respond(await request.config_dict[SESSION].get(Note, author, number))


async def index(request):
    asked = page_request(request, size=2, most=5)
    notes = session_of(request).query(Note).where(Note.author == request.match_info["author"])
    return asked.response(await notes.page(size=asked.size, after=asked.after))


async def many(request):
    for number in range(5):
        await session_of(request).find(Note, "ada", number)
    return respond({"requests": request[SCOPE].usage.requests})


async def all_of(request):
    async with asyncio.TaskGroup() as group:
        for number in (1, 2, 77):
            group.create_task(session_of(request).get(Note, "ada", number))


async def fault(request):
    return respond(await session_of(request).query(Note).where(Note.text == "no index has this"))


async def slow(request):
    await asyncio.sleep(60)


async def refuse(request):
    raise web.HTTPForbidden


async def stream(request):
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(b"one")
    await asyncio.sleep(60 if request.query.get("slow") else 0)
    await answer.write(b"two")
    return answer


def notes_app(make, **scope) -> web.Application:
    outer = [scope_middleware(**scope)] if scope else []
    app = web.Application(middlewares=[*outer, error_middleware(retry_after_seconds=3)])
    app.cleanup_ctx.append(session_context(make))
    app.add_routes(
        [
            web.post("/notes", create),
            web.put("/notes", save),
            web.get("/notes/{author}", index),
            web.get("/notes/{author}/{number}", read),
            web.get("/many", many),
            web.get("/all", all_of),
            web.get("/fault", fault),
            web.get("/slow", slow),
            web.get("/refuse", refuse),
            web.get("/stream", stream),
        ]
    )
    return app


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest_asyncio.fixture
async def make(engine, faults):
    """Return a function that makes one session after the other, all with the same five notes."""
    prefix = f"t{uuid4().hex[:12]}-"

    def make(**settings):
        return faults.session(engine, table_prefix=prefix, retry=RetryPolicy(max_attempts=1), **settings)

    async with make() as session:
        await session.tables.create(Note)
        await session.put_many([Note(author="ada", number=number) for number in range(5)])
    return make


@pytest_asyncio.fixture
async def client(make) -> AsyncIterator[aiohttp.ClientSession]:
    async with serving(notes_app(make)) as client:
        yield client


async def asked(client, method, path, **settings):
    """Return the status, the JSON body and the headers of an answer."""
    async with client.request(method, path, **settings) as answer:
        return answer.status, await answer.json(content_type=None), answer.headers


async def test_a_model_is_a_body_and_an_answer(client):
    note = {"author": "bob", "number": 1, "text": "hello", "version": 0}
    status, created, _ = await asked(client, "POST", "/notes", json=note)
    assert (status, created) == (201, {**note, "version": 1})
    assert (await asked(client, "GET", "/notes/bob/1"))[1] == created


async def test_errors_are_answered_by_their_meaning(client, faults, caplog):
    note = {"author": "ada", "number": 1, "version": 0}
    answers = [
        await asked(client, "GET", "/notes/ada/77"),
        await asked(client, "POST", "/notes", json=note),
        await asked(client, "PUT", "/notes", json={**note, "version": 9}),
        await asked(client, "POST", "/notes", json={"author": "ada"}),
        await asked(client, "POST", "/notes", data="no json"),
        await asked(client, "POST", "/notes", json={**note, "author": ""}),
        await asked(client, "GET", "/notes/ada?after=nonsense"),
        await asked(client, "GET", "/notes/ada?after="),
        await asked(client, "GET", "/notes/ada?size=6"),
    ]
    faults.on("GetItem", times=1).throttle()
    busy = await asked(client, "GET", "/notes/ada/1")
    assert [status for status, *_ in answers] == [404, 409, 409, 422, 422, 422, 400, 200, 422]
    assert answers[0][1] == {"detail": "The item does not exist.", "code": "item-not-found"}
    assert [fault["loc"] for fault in answers[3][1]["detail"]] == [["number"]]
    assert (busy[0], busy[2]["Retry-After"]) == (503, "3")
    assert "'GET /notes/{author}/{number}' was answered with 503: ProvisionedThroughputExceededError" in caplog.text


async def test_errors_of_a_task_group_are_answered_too(client):
    status, body, _ = await asked(client, "GET", "/all")
    assert (status, body["code"]) == (404, "item-not-found")


async def test_a_fault_of_the_program_stays_a_fault(client, caplog):
    async with client.get("/fault") as answer:
        assert answer.status == 500
    assert "NoIndexError" in caplog.text


async def test_a_list_is_followed_page_by_page_by_its_links(client):
    numbers, path = [], "/notes/ada"
    while path:
        _, page, headers = await asked(client, "GET", path)
        numbers.append([item["number"] for item in page["items"]])
        assert headers.get("Link") == (page["next"] and f'<{page["next"]}>; rel="next"')
        path = page["next"]
    assert [number for page in numbers for number in page] == [0, 1, 2, 3, 4]
    assert numbers[:2] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("size", ["0", "6", "x", "-1", "\u0664", "9" * 5000])
async def test_a_size_that_cannot_be_is_refused(client, size):
    status, body, _ = await asked(client, "GET", "/notes/ada", params={"size": size})
    assert (status, body["code"]) == (422, "unprocessable")


async def test_a_session_is_closed_when_the_application_ends(make):
    made = []

    def keeping():
        made.append(make())
        return made[-1]

    async with serving(notes_app(keeping)) as client:
        await asked(client, "GET", "/notes/ada/1")
    with pytest.raises(RuntimeError, match="closed"):
        await made[0].get(Note, "ada", 1)


async def test_an_application_inside_of_another_has_its_session(make):
    inner = web.Application()
    inner.add_routes([web.get("/notes/{author}/{number}", read)])
    outer = notes_app(make)
    outer.add_subapp("/inner", inner)
    async with serving(outer) as client:
        assert (await asked(client, "GET", "/inner/notes/ada/1"))[0] == 200
        assert (await asked(client, "GET", "/inner/notes/ada/77"))[0] == 404


async def test_an_application_without_a_session_says_so(caplog):
    app = web.Application()
    app.add_routes([web.get("/notes/{author}", index)])
    async with serving(app) as client, client.get("/notes/ada") as answer:
        assert answer.status == 500
    assert "app.cleanup_ctx.append(session_context(...))" in caplog.text


# Scopes.


async def test_each_request_has_an_account_of_its_own(make):
    ended = []
    async with serving(notes_app(make, server_timing=True, ended=ended.append)) as client:
        _, body, headers = await asked(client, "GET", "/many")
        *_, missing = await asked(client, "GET", "/notes/ada/77")
        async with client.get("/refuse") as answer:
            refused = answer.headers
        async with client.get("/stream") as answer:
            assert "Server-Timing" not in answer.headers
    assert body == {"requests": 5}
    assert headers["Server-Timing"].startswith('dynamodb;desc="5 requests, ')
    assert missing["Server-Timing"].startswith('dynamodb;desc="1 requests, ')
    assert refused["Server-Timing"].startswith('dynamodb;desc="0 requests, ')
    assert [(scope.name, scope.usage.requests) for scope in ended[:2]] == [
        ("GET /many", 5),
        ("GET /notes/{author}/{number}", 1),
    ]


async def test_what_a_request_costs_is_shown_only_by_choice(make):
    async with serving(notes_app(make, max_requests=50)) as client:
        assert "Server-Timing" not in (await asked(client, "GET", "/many"))[2]


async def test_a_spent_budget_is_answered(make):
    async with serving(notes_app(make, max_requests=3)) as client:
        status, body, headers = await asked(client, "GET", "/many")
        assert (status, body["code"]) == (422, "capacity-budget-exceeded")
        assert "Retry-After" not in headers  # repeated, it would spend as much again
        assert (await asked(client, "GET", "/notes/ada/1"))[0] == 200


async def test_a_request_whose_time_is_over_is_answered(make, caplog):
    async with serving(notes_app(make, timeout=0.05)) as client:
        status, body, _ = await asked(client, "GET", "/slow")
    assert (status, body["code"]) == (504, "scope-timeout")
    assert "was answered with 504: ScopeTimeoutError" in caplog.text


async def test_an_answer_that_has_begun_is_broken_off_when_its_time_is_over(make, pass_time):
    async with serving(notes_app(make, timeout=20)) as client, client.get("/stream?slow=1") as answer:
        pass_time(25)
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.read()


async def test_a_client_that_speaks_of_a_websocket_has_the_same_limits(make):
    async with serving(notes_app(make, max_requests=3)) as client:
        client.headers.update({"Connection": "Upgrade", "Upgrade": "websocket"})
        assert (await asked(client, "GET", "/many"))[0] == 422


async def test_one_path_that_is_no_collection_of_paths_is_refused():
    with pytest.raises(ConfigurationError, match=r"write \{'/socket'\}"):
        scope_middleware(unscoped="/socket")


async def test_nothing_is_said_into_an_answer_that_has_begun(make, caplog):
    async def export(request):
        answer = web.StreamResponse()
        await answer.prepare(request)
        await request.app[SESSION].get(Note, "ada", 77)

    async def talk(request):
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await socket.send_str("hello")
        await request.app[SESSION].get(Note, "ada", 77)

    app = notes_app(make)
    app.add_routes([web.get("/export", export), web.get("/talk", talk)])
    async with serving(app) as client:
        async with client.get("/export") as answer:
            with pytest.raises(aiohttp.ClientPayloadError):
                await answer.read()
        async with client.ws_connect("/talk") as socket:
            assert await socket.receive_str() == "hello"
            assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSED
    assert caplog.text.count("ItemNotFoundError: there is no Note") == 2


async def test_a_websocket_lasts_longer_than_requests_may(make):
    async def echo(request):
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for message in socket:
            await asyncio.sleep(0.1)
            await socket.send_str(f"{message.data}, {SCOPE in request}")
        return socket

    app = notes_app(make, timeout=0.05, unscoped={"/socket"})
    app.add_routes([web.get("/socket", echo)])
    async with serving(app) as client, client.ws_connect("/socket") as socket:
        await socket.send_str("hello")
        assert await socket.receive_str() == "hello, False"


# Clients that go away.


@pytest.mark.parametrize(("method", "seconds", "how"), [("GET", 60, "cancelled"), ("POST", 0.05, "done")])
async def test_only_safe_methods_are_cancelled_for_a_client_that_has_gone(method, seconds, how):
    begun, ended, seen = asyncio.Event(), asyncio.Event(), []

    async def work(request):
        begun.set()
        try:
            await asyncio.sleep(seconds)
            seen.append("done")
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        finally:
            ended.set()
        return web.Response()

    app = web.Application(middlewares=[finishing_middleware()])
    app.router.add_route("*", "/", work)
    async with TestServer(app) as server:
        async with aiohttp.ClientSession(server.make_url("/")) as client:
            asking = asyncio.create_task(client.request(method, "/"))
            await begun.wait()
            asking.cancel()
            await asyncio.wait([asking])
        async with asyncio.timeout(20):
            await ended.wait()
    assert seen == [how]


async def test_a_handler_that_is_let_finish_answers_and_fails_as_ever():
    async def work(request):
        if request.query:
            raise web.HTTPConflict
        return web.Response(text="done")

    app = web.Application(middlewares=[finishing_middleware()])
    app.router.add_route("*", "/", work)
    async with serving(app) as client:
        async with client.post("/") as answer:
            assert await answer.text() == "done"
        async with client.post("/?fail=1") as answer:
            assert answer.status == 409
