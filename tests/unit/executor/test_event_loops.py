"""Event loops that requests cannot be sent on are refused when a session opens, with what to do."""

import asyncio
import functools
import sys
from types import SimpleNamespace

import pytest

from dynamap_async.errors import ConfigurationError
from dynamap_async.executor.event_loops import check_loop

pytestmark = pytest.mark.asyncio
needs_eager_tasks = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="asyncio.eager_task_factory came with Python 3.12"
)


async def check_with(factory):
    """Check the running loop with a task factory, which is taken away again."""
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()
    loop.set_task_factory(factory)
    try:
        await check_loop(loop)
    finally:
        loop.set_task_factory(before)


@pytest.mark.parametrize("version", ["0.21.0", "0.22.1", "0.22.0.dev1"])
async def test_an_old_uvloop_is_refused(monkeypatch, version):
    loop = asyncio.get_running_loop()
    monkeypatch.setitem(sys.modules, "uvloop", SimpleNamespace(Loop=type(loop), __version__=version))
    with pytest.raises(ConfigurationError, match=rf"uvloop {version} closes sockets.*install uvloop>=0\.23"):
        await check_loop(loop)


@pytest.mark.parametrize("version", ["0.23.0", "0.23.1.dev0", "1.0"])
async def test_a_new_uvloop_is_taken(monkeypatch, version):
    loop = asyncio.get_running_loop()
    monkeypatch.setitem(sys.modules, "uvloop", SimpleNamespace(Loop=type(loop), __version__=version))
    await check_loop(loop)


async def test_an_old_uvloop_that_the_loop_is_not_of_does_not_matter(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvloop", SimpleNamespace(Loop=dict, __version__="0.21.0"))
    await check_loop(asyncio.get_running_loop())


def without_context(loop, coro):
    return asyncio.Task(coro, loop=loop)


def begins_at_once(loop, coro, **options):
    return asyncio.eager_task_factory(loop, coro, **options)


def begins_later(loop, coro, **options):
    return asyncio.Task(coro, loop=loop, **options)


class Factory:
    def __call__(self, loop, coro):
        return asyncio.Task(coro, loop=loop)

    def __repr__(self):
        return "<Factory>"


@pytest.mark.parametrize(
    ("factory", "name"),
    [
        (without_context, f"{__name__}.without_context"),
        (functools.partial(without_context), "functools.partial"),
        (Factory(), "<Factory>"),
    ],
)
async def test_a_task_factory_that_takes_no_context_is_refused_by_its_name(factory, name):
    with pytest.raises(ConfigurationError, match=rf"{name}.* cannot be called with context=.*kwargs"):
        await check_with(factory)


@needs_eager_tasks
async def test_a_task_factory_that_begins_tasks_at_once_is_refused_by_its_name():
    with pytest.raises(ConfigurationError, match="begins_at_once makes tasks that begin at once.*eager_task_factory"):
        await check_with(begins_at_once)


async def test_a_task_factory_of_ones_own_is_taken_and_leaves_no_task():
    await check_with(begins_later)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@needs_eager_tasks
async def test_those_that_asyncio_makes_are_taken():
    class Task(asyncio.Task): ...

    await check_with(asyncio.eager_task_factory)
    await check_with(asyncio.create_eager_task_factory(Task))
