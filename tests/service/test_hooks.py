"""Hooks on real engines: around every write, and once for each instance that is given out."""

import asyncio
from typing import ClassVar
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Create, Model, PartitionKey, SortKey, WriteKind, after_read, attr, before_write

pytestmark = pytest.mark.asyncio


class RefusedError(Exception):
    """What hooks refuse with."""


class Song(Model, table="songs"):
    artist: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(default="")
    plays: Attr[int] = attr(default=0)

    read: ClassVar[list[int]] = []
    written: ClassVar[list[str]] = []

    @before_write
    async def tidy(self, write: WriteKind) -> None:
        await asyncio.sleep(0)
        self.written.append(f"{write} {self.number}")
        if self.title == "refused":
            raise RefusedError
        if write != "delete":
            self.title = self.title.strip()

    @after_read
    async def note(self) -> None:
        await asyncio.sleep(0)
        self.read.append(self.number)


@pytest_asyncio.fixture
async def songs(engine):
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as session:
        await session.tables.create(Song)
        await session.put_many([Song(artist="a", number=number) for number in range(5)])
        Song.read.clear()
        Song.written.clear()
        yield session


def all_of(session):
    return session.query(Song).where(Song.artist == "a")


async def streamed(query):
    return [song async for song in query]


async def update_an_instance(session):
    song = await session.without_hooks().get(Song, "a", 2)
    return await session.update(song).add(Song.plays, 1)


READS = [
    (lambda s: s.get(Song, "a", 3), [3]),
    (lambda s: s.find(Song, "a", 9), []),
    (lambda s: s.get_many(Song, [("a", 1), ("a", 9)]), [1]),
    (lambda s: s.gather(all_of(s)), [0, 1, 2, 3, 4]),
    (lambda s: all_of(s).page(size=2), [0, 1]),
    (lambda s: all_of(s).first(), [0]),
    (lambda s: all_of(s).where(Song.number == 4).one(), [4]),
    (lambda s: all_of(s).count(), []),
    (lambda s: s.gather(all_of(s).select(Song.title)), []),
    (lambda s: streamed(all_of(s).page_size(2)), [0, 1, 2, 3, 4]),
    (lambda s: streamed(s.scan(Song).segments(2)), [0, 1, 2, 3, 4]),
    (lambda s: streamed(s.query(Song).where(Song.artist.is_in("a", "b")).descending()), [4, 3, 2, 1, 0]),
    (lambda s: s.transact_get((Song, "a", 1), (Song, "a", 2)), [1, 2]),
    (lambda s: s.transact_find((Song, "a", 1), (Song, "a", 9)), [1]),
    (lambda s: s.update(Song, "a", 1).set(Song.plays, 3), [1]),
    (lambda s: s.update(Song, "a", 1).set(Song.plays, 3).returning("old"), [1]),
    (lambda s: s.update(Song, "a", 1).set(Song.plays, 3).returning("changed"), []),
    (update_an_instance, [2]),
    (lambda s: s.refresh(Song(artist="a", number=4)), [4]),
]


@pytest.mark.parametrize(("read", "seen"), READS)
async def test_hooks_run_once_for_each_instance_that_is_given_out_in_its_order(songs, read, seen):
    await read(songs)
    assert Song.read == seen


async def test_an_item_of_a_stream_is_seen_by_its_hooks_just_before_it_is_given_out(songs):
    async for song in all_of(songs):
        assert Song.read[-1] == song.number
        assert len(Song.read) == song.number + 1


async def test_an_error_of_a_hook_ends_a_loop_and_the_stream_goes_on_behind_the_item(engine, songs):
    def refuse(song):
        if song.number == 1:
            raise RefusedError

    async with engine.session(table_prefix=songs._runner.context.tables.prefix, after_read=[refuse]) as strict:
        async with all_of(strict).stream() as stream:
            assert (await anext(stream)).number == 0
            with pytest.raises(RefusedError):
                await anext(stream)
            assert [song.number async for song in stream] == [2, 3, 4]
        with pytest.raises(RefusedError):
            await all_of(strict)


async def test_a_cancelled_hook_loses_no_item_of_a_stream(engine, songs):
    entered = asyncio.Event()

    async def pause(song):
        if not entered.is_set():
            entered.set()
            await asyncio.Event().wait()

    async with engine.session(table_prefix=songs._runner.context.tables.prefix, after_read=[pause]) as session:
        stream = all_of(session).stream()
        first = asyncio.create_task(anext(stream))
        await entered.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert [song.number async for song in stream] == [0, 1, 2, 3, 4]


async def saved(session, title):
    song = await session.get(Song, "a", 1)
    song.title = title
    await session.save(song)


async def in_a_transaction(session, title):
    async with session.transaction() as tx:
        tx.put(Song(artist="a", number=1, title=title))


WRITES = [
    (lambda s, title: s.put(Song(artist="a", number=1, title=title)), "put"),
    (saved, "save"),
    (in_a_transaction, "put"),
    (lambda s, title: s.put_many([Song(artist="a", number=1, title=title)]), "put"),
]


@pytest.mark.parametrize(("write", "kind"), WRITES)
async def test_what_a_hook_changes_is_written(songs, write, kind):
    await write(songs, "  new ")
    assert Song.written == [f"{kind} 1"]
    assert (await songs.get(Song, "a", 1)).title == "new"


@pytest.mark.parametrize("write", [WRITES[0][0], saved, in_a_transaction])
async def test_what_a_hook_raises_reaches_the_caller_and_nothing_is_written(songs, write):
    with pytest.raises(RefusedError):
        await write(songs, "refused")
    assert (await songs.get(Song, "a", 1)).title == ""


async def test_one_refusal_sends_nothing_of_a_transaction(songs):
    items = [Song(artist="a", number=7), Song(artist="a", number=8, title="refused")]
    with pytest.raises(RefusedError):
        await songs.transact_write([Create(item) for item in items])
    assert await songs.find(Song, "a", 7) is None


async def test_an_update_of_an_instance_can_be_refused_and_one_by_key_cannot(songs):
    song = await songs.get(Song, "a", 1)
    song.title = "refused"
    with pytest.raises(RefusedError):
        await songs.update(song).add(Song.plays, 1)
    await songs.update(Song, "a", 1).add(Song.plays, 1)
    assert Song.written == ["update 1"]
