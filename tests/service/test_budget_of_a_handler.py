"""A FastAPI handler with a budget is bounded in the first second of its process, and keeps what it paid for."""

import asyncio
from typing import Annotated
from uuid import uuid4

import httpx
import pytest
from fastapi import Depends, FastAPI

from dynamap_async import Attr, Model, PartitionKey, Scope, Session, SortKey
from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.integrations.fastapi import OpenSession, add_error_handlers, current_session, scoped
from dynamap_async.testing import NativeEngine

pytestmark = pytest.mark.asyncio

BUDGET = 50
PAGE = 16
"""Items of a page, of 4 KB each: 8 read units and a little for their keys."""
PAGE_UNITS = 8.5
ALL = 160


class Event(Model, table="events"):
    feed: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str]


@pytest.fixture
def make(running, native_executable):
    """Return a function that makes a session on the native engine, which counts units as DynamoDB does."""
    engine, prefix = running(NativeEngine, native_executable), f"t{uuid4().hex[:12]}-"
    return lambda: engine.session(table_prefix=prefix)


def application(session: Session) -> FastAPI:
    app = FastAPI()
    app.dependency_overrides[current_session] = lambda: session
    add_error_handlers(app)

    @app.get("/feed")
    async def feed(
        session: OpenSession, scope: Annotated[Scope, Depends(scoped(max_read_units=BUDGET))]
    ) -> dict[str, float | bool]:
        events, cut = session.query(Event).where(Event.feed == "f").page_size(PAGE), False
        try:
            found = len(await events)
        except CapacityBudgetExceededError as error:
            found, cut = len(error.items), True
        usage = scope.usage
        return {"found": found, "cut": cut, "units": usage.read_units + usage.estimated_read_units}

    @app.get("/few")
    async def few(session: OpenSession) -> int:
        return len(await session.query(Event).where(Event.feed == "f").limit(3))

    return app


async def test_it_is_bounded_in_the_first_second_beside_others_and_keeps_what_was_read(make):
    async with make() as session:
        await session.tables.create(Event)
        await session.put_many([Event(feed="f", number=number, text="x" * 4000) for number in range(ALL)])
    async with (
        make() as fresh,  # as of a process that knows nothing of the table yet
        httpx.AsyncClient(transport=httpx.ASGITransport(application(fresh)), base_url="http://test") as client,
        asyncio.TaskGroup() as group,
    ):
        tasks = [group.create_task(client.get("/feed" if number % 2 else "/few")) for number in range(20)]
    answers = [task.result() for task in tasks]
    assert [answer.status_code for answer in answers] == [200] * 20
    feeds = [answer.json() for answer in answers[1::2]]
    assert all(feed["cut"] for feed in feeds)
    assert all(feed["units"] <= BUDGET + PAGE_UNITS for feed in feeds)
    pages = int(BUDGET // PAGE_UNITS)
    assert all(pages * PAGE <= feed["found"] < ALL for feed in feeds)
    assert [answer.json() for answer in answers[::2]] == [3] * 10
