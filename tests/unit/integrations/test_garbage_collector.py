"""Applications may keep what they have loaded from the garbage collector."""

import gc
from collections.abc import Iterator

import pytest
from aiohttp import web

from dynamap_async import Session
from dynamap_async.integrations.aiohttp import session_context
from dynamap_async.integrations.fastapi import lifespan


class Silent:
    max_connections = 1

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        pytest.fail("sent")


class Node:
    """Part of a cycle, which nothing but the garbage collector frees."""

    freed = 0

    def __init__(self):
        self.itself = self

    def __del__(self):
        Node.freed += 1


def make():
    return Session(transport=Silent())


@pytest.fixture(autouse=True)
def nothing_frozen() -> Iterator[None]:
    gc.unfreeze()  # Python 3.12 starts with some objects frozen
    yield
    gc.freeze()  # as tests/conftest.py has done


@pytest.fixture(params=[lifespan, session_context], ids=["fastapi", "aiohttp"])
def context(request):
    return lambda **settings: request.param(make, **settings)(web.Application())


@pytest.mark.asyncio
async def test_what_is_loaded_is_frozen_while_the_application_runs_and_given_back(context):
    async with context(freeze_gc=True):
        assert gc.get_freeze_count() > 1000
    assert gc.get_freeze_count() == 0


@pytest.mark.asyncio
async def test_the_collector_is_left_alone_unless_it_is_asked_for(context):
    async with context():
        assert gc.get_freeze_count() == 0


@pytest.mark.asyncio
async def test_garbage_is_collected_before_it_would_be_kept_for_good(context):
    gc.collect()
    Node.freed = 0
    Node()
    async with context(freeze_gc=True):
        assert Node.freed == 1


@pytest.mark.asyncio
async def test_an_application_that_fails_gives_all_back_too(context):
    with pytest.raises(RuntimeError, match="over"):
        async with context(freeze_gc=True):
            raise RuntimeError("over")
    assert gc.get_freeze_count() == 0
