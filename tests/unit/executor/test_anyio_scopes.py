"""anyio's scopes are obeyed, also where a program loads anyio after its session was opened."""

import asyncio
import subprocess
import sys
from math import inf

import anyio
import pytest

from dynamap_async.executor.anyio_scopes import deadline_now, deadline_source, shielded

BACKEND = "anyio._backends._asyncio"
LOADED_LATE = """
import asyncio
import sys
from dynamap_async import Session

class Silent:
    max_connections = 1
    async def open(self): ...
    async def close(self): ...
    async def send(self, request): ...

async def main():
    async with Session(transport=Silent()) as session:
        assert "anyio" not in sys.modules
        import anyio
        with anyio.move_on_after(100) as scope:
            assert session._executor._reads._deadline() == scope.deadline

asyncio.run(main())
"""


@pytest.fixture
def not_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, BACKEND, raising=False)


@pytest.mark.asyncio
async def test_the_nearest_end_of_a_scope_is_told():
    assert deadline_now() == deadline_source()() == inf
    with anyio.move_on_after(100) as scope:
        await asyncio.sleep(0)
        assert deadline_now() == deadline_source()() == scope.deadline


@pytest.mark.asyncio
async def test_without_anyio_nothing_ends_and_nothing_is_loaded(not_loaded):
    assert deadline_source() is deadline_now
    assert deadline_now() == inf
    with shielded():
        await asyncio.sleep(0)
    assert BACKEND not in sys.modules


@pytest.mark.asyncio
async def test_what_was_found_without_anyio_tells_the_scopes_that_come_later(monkeypatch):
    with monkeypatch.context() as before:
        before.delitem(sys.modules, BACKEND, raising=False)
        source = deadline_source()
    with anyio.move_on_after(100) as scope:
        await asyncio.sleep(0)
        assert source() == scope.deadline


@pytest.mark.asyncio
async def test_a_scope_that_is_cancelled_does_not_end_what_is_shielded():
    ended = False
    with anyio.CancelScope() as scope:
        scope.cancel()
        with shielded():
            await asyncio.sleep(0)
            ended = True
    assert ended


def test_a_scope_of_anyio_that_was_loaded_late_is_obeyed():
    subprocess.run([sys.executable, "-c", LOADED_LATE], check=True)
