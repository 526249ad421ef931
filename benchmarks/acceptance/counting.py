"""What this library says that it took, and what its budgets allow: no peer counts or bounds units.

What is done here is judged by what the server has counted.
"""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from benchmarks.acceptance.items import plain_item, wire_item
from benchmarks.items import TEXT, instant, wire_key
from benchmarks.subjects.ours import Post
from dynamap_async import Put, Session, Update
from dynamap_async.errors import CapacityBudgetExceededError, DynamapError

CANCELLED = 0.03
"""The part of the operations whose caller leaves while they are under way."""
BUDGET = 50
"""Units of each scope: read units, and write units of the updates."""
LARGE_BYTES = 20_000
PAGE_UNITS = 128.5
"""What a page of 1 MB takes at the most."""
DEAREST = {"query": PAGE_UNITS, "gets": 2.5, "ten": PAGE_UNITS, "scan": PAGE_UNITS, "updates": 20.0}
"""What is done in a scope with a budget, by how its keys begin -> what one request of it takes at the most."""
_BOOKS = ("usage-0", "usage-1", "usage-2", "usage-3")
_PAGES = 60


def stored() -> list[dict[str, Any]]:
    """Return the items that are there beforehand, in wire form."""
    return [
        {**wire_item(book), **wire_key(book, number), "text": {"S": "x" * (number * 977 % 5000)}}
        for book in _BOOKS
        for number in range(_PAGES)
    ]


def stored_large() -> list[dict[str, Any]]:
    """Return the large items that are there beforehand, in wire form."""
    large = {"text": {"S": (TEXT * (LARGE_BYTES // len(TEXT) + 1))[: LARGE_BYTES - 500]}}
    albums = [("query-0", 60), *((f"ten-{number}", 60) for number in range(10))]
    return [
        *({**wire_item(name), **large} for name in (f"gets-{number}" for number in range(300))),
        *({**wire_item(name), **large} for name in (f"updates-{number}" for number in range(100))),
        *(
            {**wire_item(album), **wire_key(album, number), **large}
            for album, count in albums
            for number in range(count)
        ),
    ]


async def used(session: Session, tasks: int, operations: int) -> dict[str, float]:
    """Run tasks that read and write, some in vain and some given up; return the units that the session counted."""
    chance = random.Random(7)

    async def work() -> None:
        for _ in range(operations // tasks):
            await _one(session, chance)

    async with asyncio.TaskGroup() as group:
        for _ in range(tasks):
            group.create_task(work())
    usage = session.usage
    return {
        "read_units": usage.read_units + usage.estimated_read_units,
        "write_units": usage.write_units + usage.estimated_write_units,
        "estimated": usage.estimated_read_units + usage.estimated_write_units,
    }


async def _one(session: Session, chance: random.Random) -> None:
    left = 0.002 if chance.random() < CANCELLED else None
    with contextlib.suppress(DynamapError, TimeoutError):
        async with asyncio.timeout(left):
            await _operation(session, chance)


def _operation(session: Session, chance: random.Random) -> Awaitable[object]:
    book, number = chance.choice(_BOOKS), chance.randrange(_PAGES)
    when = instant(number)
    post = Post(**{**plain_item(book), "posted_at": when, "text": "x" * chance.randrange(5000)})
    match chance.choice(["get", "get", "get many", "query", "put", "add", "create", "guarded", "together"]):
        case "get":
            return session.find(Post, book, when)
        case "get many":
            return session.get_many(Post, [(book, instant(each)) for each in range(number % 20)])
        case "query":
            return session.query(Post).where(Post.user_id == book).limit(20)
        case "put":
            return session.put(post)
        case "add":
            return session.update(Post, book, when).add(Post.likes, 1)
        case "create":  # which is there already
            return session.create(post)
        case "guarded":
            return session.update(Post, book, when).add(Post.likes, 1).where(Post.likes < 0)
        case _:
            other = Post(**{**plain_item(book), "posted_at": instant(number + 1000)})
            wrong = Update(Post, book, instant(1)).set(Post.likes, 1).where(Post.likes < 0)
            return session.transact_write([Put(other), wrong])


async def spend_budgets(made: Callable[[], Session]) -> None:
    """Do each of what has a budget, in a session that has seen nothing."""
    work: dict[str, Callable[[Session], Iterator[Awaitable[object]]]] = {
        "query": lambda session: iter([_album(session, "query-0")]),
        "gets": lambda session: (session.get(Post, f"gets-{number}", instant(0)) for number in range(300)),
        "ten": lambda session: (_album(session, f"ten-{number}") for number in range(10)),
        "scan": lambda session: iter([session.scan(Post).segments(8)]),
        "updates": lambda session: (
            session.update(Post, f"updates-{number}", instant(0)).add(Post.likes, 1) for number in range(100)
        ),
    }
    for awaitables in work.values():
        async with (
            made() as session,
            session.scope("bounded", max_read_units=BUDGET, max_write_units=BUDGET),
            asyncio.TaskGroup() as group,
        ):
            for each in awaitables(session):
                group.create_task(_to_its_end(each))


async def _to_its_end(awaitable: Awaitable[object]) -> None:
    """Await work that is expected to exceed its budget."""
    with contextlib.suppress(CapacityBudgetExceededError):
        await awaitable


def _album(session: Session, name: str) -> Awaitable[object]:
    return session.query(Post).where(Post.user_id == name)
