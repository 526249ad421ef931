"""How far a call travels: the functions of this package that it enters, and the files that they are in.

A call is warm: it was made twice before. It goes through the wire transport to a server that answers at once.
`pytest -rP tests/architecture/test_distance.py` prints the figures of the code as it is. They are a report; what fails
is a call that goes a tenth farther than was written down, so that nobody splits or joins functions for their number.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest
from aiohttp import web
from pydantic_core import to_json

from dynamap_async import Credentials, Model, PartitionKey, Session, SortKey


class Message(Model, table="messages"):
    room: PartitionKey[str]
    number: SortKey[int]
    text: str


ITEMS = [{"room": {"S": "a"}, "number": {"N": str(number)}, "text": {"S": "hello"}} for number in range(20)]
ANSWERS = {
    "GetItem": {"Item": ITEMS[0]},
    "PutItem": {},
    "Query": {"Count": len(ITEMS), "ScannedCount": len(ITEMS), "Items": ITEMS},
}
CALLS: dict[str, Callable[[Session], Awaitable[object]]] = {
    "get": lambda session: session.get(Message, "a", 0),
    "query": lambda session: session.query(Message).where(Message.room == "a").limit(20),
    "put": lambda session: session.put(Message(room="a", number=0, text="hello")),
}
FUNCTIONS_AND_FILES = {"get": (76, 32), "query": (127, 43), "put": (97, 33)}
"""What was counted. Eight of the functions speak HTTP. With the native codec a get and a query enter the file that
leaves items as their JSON, in place of the one that decodes them."""
SLACK = 1.1


async def answer(request: web.Request) -> web.Response:
    operation = request.headers["X-Amz-Target"].rpartition(".")[2]
    return web.Response(body=to_json(ANSWERS[operation]), content_type="application/x-amz-json-1.0")


Noting = Callable[[Callable[[FrameType], None]], AbstractContextManager[None]]


async def entered(
    call: Callable[[Session], Awaitable[object]], package: Path, noting_calls: Noting
) -> set[tuple[str, str, int]]:
    """Return file, name and line of each function of the package that a warm call enters."""
    found: set[tuple[str, str, int]] = set()
    inside = f"{package}/"

    def note(frame: FrameType) -> None:
        code = frame.f_code
        if code.co_filename.startswith(inside):
            found.add((code.co_filename, code.co_qualname, code.co_firstlineno))

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    (_host, port) = runner.addresses[0][:2]
    try:
        async with Session(
            region="eu-west-1",
            endpoint_url=f"http://127.0.0.1:{port}",
            credentials=Credentials(access_key_id="local", secret_access_key="local"),
        ) as session:
            await call(session)
            await call(session)
            with noting_calls(note):
                await call(session)
    finally:
        await runner.cleanup()
    return found


@pytest.mark.parametrize("name", CALLS)
def test_a_warm_call_goes_hardly_farther_than_was_written_down(
    name: str, package: Path, noting_calls: Noting, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count()  # the machine's load must not make work pause
    clock = SimpleNamespace(perf_counter=lambda: next(looks) / 100_000)
    monkeypatch.setattr("dynamap_async.turns.time", clock)
    # What the requests of one second have in common is prepared for the first of them.
    monkeypatch.setattr("dynamap_async.transport.http.time", SimpleNamespace(time=lambda: 1_700_000_000.0))
    with asyncio.Runner(debug=False) as runner:
        found = runner.run(entered(CALLS[name], package, noting_calls))
    counted = (len(found), len({file for file, _name, _line in found}))
    sys.stdout.write(f"a warm {name} enters {counted[0]} functions in {counted[1]} files\n")  # the report
    assert all(now <= SLACK * before for now, before in zip(counted, FUNCTIONS_AND_FILES[name], strict=True))
