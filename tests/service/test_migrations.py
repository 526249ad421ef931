"""Migrations on real engines: they run once, go on where they were killed, and a frozen process writes no more."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from uuid import uuid4

import pytest

from dynamap_async import Attr, Model, PartitionKey, Unique, attr
from dynamap_async.errors import CursorError, MigrationFailedError, OperationError
from dynamap_async.migrations import Migrations, find_migrations, migrate, migration
from dynamap_async.migrations.record import MigrationRecord
from dynamap_async.testing import NativeEngine

pytestmark = pytest.mark.asyncio

TOTAL = 350


@pytest.fixture(autouse=True)
def stored_after_items_only(monkeypatch):
    """Have places stored after every 100 items, however slow the machine is."""
    monkeypatch.setattr("dynamap_async.migrations.run.STORED_ITEMS", 100)
    monkeypatch.setattr("dynamap_async.migrations.run.STORED_SECONDS", float("inf"))


class Note(Model, table="notes"):
    number: PartitionKey[int]
    done: Attr[int] = attr(default=0)
    by: Attr[str] = attr(default="")


class Named(Model, table="named"):
    number: PartitionKey[int]
    name: Attr[str]
    by_name = Unique("name")


async def filled(session, total=TOTAL):
    await session.tables.create(Note)
    await session.put_many(Note(number=number) for number in range(total))


async def counts(session):
    return [note.done for note in await session.scan(Note).consistent()]


def counting(fail_after, **settings):
    """Return a migration that counts up each note, and fails once when it has done so many."""
    seen = 0

    @migration("2026-01-count", **settings)
    async def count(session, run):
        nonlocal seen
        async for note in run.scan(Note).page_size(30):
            await session.update(note).add(Note.done, 1)
            seen += 1
            if seen == fail_after:
                raise ValueError("mend me")

    return count


async def test_each_runs_once_in_the_order_of_ids_and_is_recorded(session):
    ran = []

    def named(name):
        @migration(name)
        async def run_it(session, run):
            ran.append(run.id)

        return run_it

    declared = [named("b"), named("a"), named("c")]
    first = await migrate(session, *declared)
    assert [each.id for each in first] == ran == ["a", "b", "c"]
    assert await migrate(session, *declared) == ()
    assert {each.state for each in await Migrations(session, declared).status()} == {"done"}


async def test_a_run_that_failed_goes_on_where_its_place_was_stored_last(session):
    await filled(session)
    count = counting(230)
    with pytest.raises(MigrationFailedError, match="raised ValueError: mend me") as failed:
        await migrate(session, count)
    assert isinstance(failed.value.__cause__, ValueError)
    [before] = await Migrations(session, [count]).status()
    assert (before.state, before.items, before.error) == ("failed", {"Note": 200}, "ValueError: mend me")
    [after] = await migrate(session, count)
    assert (after.state, after.items) == ("done", {"Note": TOTAL})
    assert sorted(await counts(session)) == [1] * (TOTAL - 30) + [2] * 30


async def test_redo_begins_anew(session):
    await filled(session, 20)
    count = counting(0)
    await migrate(session, count)
    await Migrations(session, [count]).redo("2026-01-count")
    assert set(await counts(session)) == {2}


async def test_a_scan_that_was_over_is_not_repeated_by_the_next_run(session):
    await filled(session, 20)
    failing = True

    @migration("2026-01-two")
    async def two(session, run):
        async for note in run.scan(Note, name="first"):
            await session.update(note).add(Note.done, 1)
        if failing:
            raise ValueError
        async for note in run.scan(Note, name="second").where(Note.number < 10).segments(3):
            await session.update(note).add(Note.done, 10)

    with pytest.raises(MigrationFailedError):
        await migrate(session, two)
    failing = False
    await migrate(session, two)
    assert sorted(await counts(session)) == [1] * 10 + [11] * 10


async def test_two_scans_of_one_name_are_refused(session):
    @migration("2026-01-twice")
    async def twice(session, run):
        run.scan(Note)
        run.scan(Note)

    with pytest.raises(MigrationFailedError, match=r"has two scans named 'Note'.*run\.scan\(Note, name=\.\.\.\)"):
        await migrate(session, twice)


async def test_a_scan_that_asks_for_something_else_than_before_says_what_to_do(session):
    await filled(session, 120)
    failing = True

    @migration("2026-01-other")
    async def other(session, run):
        scan = run.scan(Note) if failing else run.scan(Note).where(Note.number < 10)
        async for _ in scan.page_size(10):
            if failing and run.items > 110:
                raise ValueError

    with pytest.raises(MigrationFailedError):
        await migrate(session, other)
    failing = False
    with pytest.raises(MigrationFailedError) as failed:
        await migrate(session, other)
    assert isinstance(failed.value.__cause__, CursorError)
    assert "--redo 2026-01-other" in failed.value.__cause__.__notes__[0]


async def test_what_takes_it_back_makes_it_one_that_is_to_run(session):
    await filled(session, 5)

    async def back(session, run):
        async for note in run.scan(Note):
            await session.update(note).add(Note.done, -1)

    count = counting(0, undo=back)
    runner = Migrations(session, [count])
    with pytest.raises(OperationError, match="has not run, so there is nothing to undo"):
        await runner.undo("2026-01-count")
    await runner.run()
    assert (await runner.undo("2026-01-count")).state == "undone"
    assert set(await counts(session)) == {0}
    await runner.run()
    assert set(await counts(session)) == {1}


async def test_a_record_that_somebody_with_a_later_fence_has_written_stays(session):
    @migration("2026-01-late")
    async def late(session, run):
        await outside.update(MigrationRecord, "migration#2026-01-late").set(MigrationRecord.fence, 99)

    outside = session
    with pytest.raises(Exception, match="another process has run '2026-01-late' since"):
        await migrate(session, late)
    assert (await session.get(MigrationRecord, "migration#2026-01-late", consistent_read=True)).fence == 99


async def test_units_and_the_library_are_recorded(session):
    await filled(session, 10)
    [status] = await migrate(session, counting(0))
    assert (status.write_units > 0, status.read_units > 0, status.error) == (True, True, None)
    assert status.library_version
    assert status.begun <= status.ended


async def test_unique_values_keep_their_guards_behind_a_fence(session):
    await session.tables.create(Named)

    @migration("2026-01-names", fenced=True)
    async def names(session, run):
        await session.create(Named(number=1, name="ada"))
        named = await session.get(Named, 1)
        named.name = "grace"
        await session.save(named)
        await session.put_many([Named(number=2, name="ada")], read_first=True)

    await migrate(session, names)
    assert {each.name for each in await session.scan(Named).consistent()} == {"ada", "grace"}


async def test_the_modules_of_a_package_are_looked_through(tmp_path, monkeypatch):
    package = tmp_path / "some_migrations"
    package.mkdir()
    text = "from dynamap_async.migrations import migration\n@migration('{}')\nasync def f(session, run): pass\n"
    (package / "__init__.py").write_text(text.format("b"), "utf-8")
    (package / "more.py").write_text(text.format("a"), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    import some_migrations

    assert [each.id for each in find_migrations(some_migrations)] == ["a", "b"]


@pytest.mark.parametrize("name", ["", "a#b", "-a", "a b", "x" * 201])
async def test_ids_that_cannot_be_recorded_are_refused(name):
    with pytest.raises(OperationError, match="cannot be the id of a migration"):
        migration(name)


async def test_functions_of_another_form_are_refused():
    def plain(session, run):
        pass

    async def short(session):
        pass

    with pytest.raises(OperationError, match="is no coroutine function"):
        migration("a")(plain)
    with pytest.raises(OperationError, match=r"cannot be called with \(session, run\)"):
        migration("a")(short)
    with pytest.raises(OperationError, match="is no coroutine function"):
        migration("a", undo=plain)


# A process that is frozen

FROZEN = """
import asyncio, sys
from dynamap_async import Attr, Model, PartitionKey, Session, attr
from dynamap_async.errors import LeaseLostError
from dynamap_async.migrations import Migrations, migration
from dynamap_async.testing.engine import local_settings

class Note(Model, table="notes"):
    number: PartitionKey[int]
    done: Attr[int] = attr(default=0)
    by: Attr[str] = attr(default="")

url, prefix, fenced = sys.argv[1], sys.argv[2], sys.argv[3] == "fenced"

@migration("2026-01-frozen", fenced=fenced)
async def frozen(session, run):
    await session.put(Note(number=1, by="first"))
    print("ready", flush=True)
    if not fenced:
        await asyncio.to_thread(sys.stdin.readline)
    for _ in range(100_000):
        await session.put(Note(number=1, by="first"))

async def main():
    async with Session(**local_settings(url), table_prefix=prefix) as session:
        await session.put(Note(number=2))  # loads what writes need, which takes long on a busy machine
        try:
            await Migrations(session, [frozen], lease_seconds=1.0).run()
        except LeaseLostError as error:
            print(f"lost: {error}", flush=True)

asyncio.run(main())
"""


TRIES = 5


@pytest.mark.parametrize("kind", ["fenced", "unfenced"])
async def test_a_process_that_was_stopped_for_twice_the_lease_writes_no_more(running, native_executable, kind):
    """A fenced one is stopped wherever it is, also in the middle of a write; the other one between two writes."""
    engine, prefix = running(NativeEngine, native_executable), f"t{uuid4().hex[:12]}-"

    @migration("2026-01-frozen")
    async def second(session, run):
        await session.put(Note(number=1, by="second"))
        await asyncio.sleep(0.3)

    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    async with engine.session(table_prefix=prefix) as session:
        await session.tables.create(Note)
        for _ in range(TRIES):
            child = await asyncio.create_subprocess_exec(
                sys.executable, "-c", FROZEN, engine.endpoint_url, prefix, kind, env={**os.environ}, **pipes
            )
            line = await asyncio.wait_for(child.stdout.readline(), 300)
            if line == b"ready\n":
                break
            assert line.startswith(b"lost"), line  # the machine gave it no time for as long as the lease
            child.kill()
            await child.communicate()
        else:
            pytest.fail(f"the machine gave a process no time for a second, {TRIES} times")
        try:
            child.send_signal(signal.SIGSTOP)
            [status] = await asyncio.wait_for(Migrations(session, [second]).run(), 300)
            with suppress(ConnectionError):  # it was so slow that it had lost the lease before
                child.stdin.write(b"\n")
            child.send_signal(signal.SIGCONT)
            told, _ = await asyncio.wait_for(child.communicate(), 300)
        finally:
            with suppress(ProcessLookupError):
                child.kill()
        assert told.startswith(b"lost: the lease 'migrations' was lost"), told
        assert status.state == "done"
        assert (await session.get(Note, 1, consistent_read=True)).by == "second"


KILLED = """
import asyncio, sys
from dynamap_async import Attr, Model, PartitionKey, Session, attr
from dynamap_async.migrations import Migrations, migration, run
from dynamap_async.testing.engine import local_settings

run.STORED_ITEMS, run.STORED_SECONDS = 100, 1e9

class Note(Model, table="notes"):
    number: PartitionKey[int]
    done: Attr[int] = attr(default=0)
    by: Attr[str] = attr(default="")

@migration("2026-01-killed")
async def killed(session, run):
    async for note in run.scan(Note).page_size(30):
        await session.update(note).add(Note.done, 1)
        if run.items == 150:
            print("ready", flush=True)
            await asyncio.sleep(1_000)

async def main():
    async with Session(**local_settings(sys.argv[1]), table_prefix=sys.argv[2]) as session:
        await Migrations(session, [killed], lease_seconds=3.0).run()  # it must not lose it on a busy machine

asyncio.run(main())
"""


async def test_a_process_that_was_killed_is_gone_on_with_by_the_next(running, native_executable):
    engine, prefix = running(NativeEngine, native_executable), f"t{uuid4().hex[:12]}-"

    @migration("2026-01-killed")
    async def again(session, run):
        async for note in run.scan(Note).page_size(30):
            await session.update(note).add(Note.done, 1)

    async with engine.session(table_prefix=prefix) as session:
        await filled(session, 200)
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, engine.endpoint_url, prefix, stdout=asyncio.subprocess.PIPE
        )
        assert await asyncio.wait_for(child.stdout.readline(), 300) == b"ready\n"
        child.kill()
        await child.wait()
        [begun] = await Migrations(session, [again]).status()
        assert (begun.state, begun.items) == ("begun", {"Note": 100})
        [done] = await asyncio.wait_for(Migrations(session, [again]).run(), 300)
        assert (done.state, done.items) == ("done", {"Note": 200})
        assert sorted(await counts(session)) == [1] * 150 + [2] * 50
