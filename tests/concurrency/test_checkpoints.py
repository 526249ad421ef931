"""Checkpoints: whoever keeps them, in the library's own table or in memory, keeps them by the same rules."""

from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from dynamap_async import Session
from dynamap_async.session import runner_of
from dynamap_async.streams.checkpoints import MemoryCheckpoints, ShardRecord, in_own_table
from dynamap_async.testing import LocalEngine


@pytest.fixture(scope="module")
def engine(running):
    return running(LocalEngine)


@pytest.fixture(params=["own table", "memory"])
def kept(request, engine):
    """Return a function that opens what keeps checkpoints."""

    @asynccontextmanager
    async def opened():
        if request.param == "memory":
            yield MemoryCheckpoints()
            return
        async with Session(transport=engine.transport(), table_prefix=f"t{uuid4().hex[:12]}-") as session:
            await session.tables.create(ShardRecord)
            runner = runner_of(session)
            yield in_own_table(runner.executor, runner.context)

    return opened


async def taken(checkpoints, name="a", owner="one", **values):
    found = await checkpoints.find_all([name])
    record = await checkpoints.take(name, found.get(name), owner=owner, seconds=10, values=values)
    assert record is not None
    return record


async def test_a_record_is_found_by_its_name_and_others_are_left_out(kept):
    async with kept() as checkpoints:
        await taken(checkpoints, "a")
        await taken(checkpoints, "b", owner=None, state="done", ended=5.0)
        found = await checkpoints.find_all(["a", "missing", "b"])
        assert {name: (each.owner, each.state, each.ended) for name, each in found.items()} == {
            "a": ("one", None, None),
            "b": (None, "done", 5.0),
        }


async def test_of_two_that_take_a_record_as_both_found_it_one_has_it(kept):
    async with kept() as checkpoints:
        first = await checkpoints.take("a", None, owner="one", seconds=10)
        second = await checkpoints.take("a", None, owner="two", seconds=10)
        assert (first.owner, first.fence, second) == ("one", 1, None)


async def test_a_record_that_was_renewed_since_it_was_found_is_not_taken(kept):
    async with kept() as checkpoints:
        held = await taken(checkpoints)
        found = (await checkpoints.find_all(["a"]))["a"]
        await checkpoints.renew(held)
        assert await checkpoints.take("a", found, owner="two", seconds=10) is None


async def test_the_position_of_a_worker_that_lost_its_shard_is_refused(kept):
    async with kept() as checkpoints:
        held = await taken(checkpoints)
        await checkpoints.renew(held, position="after 5")
        await taken(checkpoints, owner="two")
        assert await checkpoints.renew(held, position="after 9") is None
        found = (await checkpoints.find_all(["a"]))["a"]
        assert (found.owner, found.fence, found.position) == ("two", 2, "after 5")


async def test_who_asks_is_stored_beside_the_renewals_of_the_owner(kept):
    async with kept() as checkpoints:
        held = await taken(checkpoints)
        asked = await checkpoints.renew((await checkpoints.find_all(["a"]))["a"], values={"asker": "two"}, beats=0)
        assert asked is not None
        assert asked.beat == held.beat  # so that it does not look as if the owner were there
        renewed = await checkpoints.renew(held, position="after 7")
        assert (renewed.owner, renewed.asker, renewed.position, renewed.beat) == ("one", "two", "after 7", 1)


async def test_a_record_that_was_given_back_keeps_its_position_and_its_fence(kept):
    async with kept() as checkpoints:
        held = await taken(checkpoints)
        await checkpoints.renew(held, position="after 7", values={"owner": None})
        again = await taken(checkpoints, owner="two", asker=None)
        assert (again.fence, again.position, again.owner) == (2, "after 7", "two")


async def test_a_removed_record_is_gone(kept):
    async with kept() as checkpoints:
        await taken(checkpoints)
        await checkpoints.remove("a")
        await checkpoints.remove("a")
        assert await checkpoints.find_all(["a"]) == {}
