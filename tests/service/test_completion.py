"""Indexes that hold a part of each item, on real engines: completed from the table, or read into what they hold."""

from typing import ClassVar

import pytest
import pytest_asyncio
from pydantic import BaseModel

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    TimeToLive,
    after_read,
    attr,
    include,
)
from dynamap_async.errors import OperationError

pytestmark = pytest.mark.asyncio


class Song(Model, table="songs", hide_expired=True):
    artist: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(name="songTitle")
    genre: Attr[str] = attr(default="")
    plays: Attr[int] = attr(default=0)
    tags: Attr[set[str]] = attr(default_factory=set)
    until: TimeToLive[int | None] = attr(default=None)

    by_plays = LocalIndex(sort_key="plays", projection=include("title", "until"))
    by_number = LocalIndex(sort_key="genre", projection=KEYS_ONLY)
    by_genre = GlobalIndex(partition_key="genre", sort_key="plays", projection=KEYS_ONLY)

    read: ClassVar[list[int]] = []

    @after_read
    def note(self) -> None:
        self.read.append(self.number)


class Title(BaseModel):
    title: str
    plays: int


class Part(Model, table="songs"):
    artist: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str]

    seen: ClassVar[list[int]] = []

    @after_read
    def note(self) -> None:
        self.seen.append(self.number)


GENRES = ["folk", "jazz"]
SONGS = [
    Song(
        artist=f"a{n % 3}",
        number=n,
        title=f"no. {n}",
        genre=GENRES[n % 2],
        plays=n * 37 % 131,
        tags={"x", str(n)},
        until=1 if n % 10 == 7 else None,
    )
    for n in range(130)
]


def plain(test, *, reverse=False):
    return sorted(
        (song for song in SONGS if test(song) and song.until is None), key=lambda song: song.plays, reverse=reverse
    )


@pytest_asyncio.fixture
async def songs(session):
    """The session, with the songs stored."""
    await session.tables.create(Song)
    await session.put_many(SONGS)
    Song.read.clear()
    Part.seen.clear()
    return session


def jazz(session):
    return session.query(Song).where(Song.genre == "jazz").index(Song.by_genre)


def of_a1(session):
    return session.query(Song).where(Song.artist == "a1").index(Song.by_plays)


class Requests:
    """Counts the requests that a session sends inside a ``with`` block."""

    def __init__(self, session):
        self.session = session

    def __enter__(self):
        self.before = self.session.statistics()
        return self

    def __exit__(self, *exc_info):
        after = self.session.statistics()
        self.counts = {
            each.operation: each.requests - self.before.of(each.operation, each.table).requests
            for each in after.by_operation
            if each.requests > self.before.of(each.operation, each.table).requests
        }


@pytest.mark.parametrize("reverse", [False, True])
async def test_a_global_index_of_keys_gives_whole_items_in_its_order(songs, reverse):
    query = jazz(songs).descending() if reverse else jazz(songs)
    assert await query == plain(lambda song: song.genre == "jazz", reverse=reverse)


async def test_a_page_of_the_index_takes_one_request_and_its_items_one_more(songs):
    with Requests(songs) as requests:
        await jazz(songs)
    assert requests.counts == {"Query": 1, "BatchGetItem": 1}
    with Requests(songs) as requests:
        await jazz(songs).first()
    assert requests.counts == {"Query": 1, "GetItem": 1}
    with Requests(songs) as requests:
        await of_a1(songs).count()
    assert requests.counts == {"Query": 1}


@pytest.mark.parametrize("consistent", [False, True])
async def test_local_indexes_are_completed_too(songs, consistent):
    query = of_a1(songs).consistent() if consistent else of_a1(songs)
    assert await query == plain(lambda song: song.artist == "a1")
    keys = songs.query(Song).where(Song.artist == "a1").index(Song.by_number)
    keys = keys.consistent() if consistent else keys
    found = await keys
    assert [song.genre for song in found] == sorted(song.genre for song in found)
    assert sorted(found, key=lambda song: song.plays) == plain(lambda song: song.artist == "a1")


async def test_sort_conditions_filters_and_limits_apply_to_the_index(songs):
    query = of_a1(songs).where(Song.plays.between(20, 90), Song.title != "no. 13")
    want = plain(lambda song: song.artist == "a1" and 20 <= song.plays <= 90 and song.number != 13)
    assert await query == want
    assert await query.limit(3) == want[:3]
    assert [song async for song in query.page_size(4).limit(7)] == want[:7]


async def test_several_partitions_are_merged_and_completed(songs):
    query = songs.query(Song).where(Song.genre.is_in(*GENRES)).index(Song.by_genre)
    assert await query == plain(lambda song: True)
    assert await query.descending().limit(9) == plain(lambda song: True, reverse=True)[:9]


@pytest.mark.parametrize("size", [1, 10, 59, 100])
async def test_pages_are_full_and_lose_and_repeat_nothing(songs, size):
    found, cursor = [], None
    while True:
        page = await jazz(songs).page(size=size, after=cursor)
        assert len(page.items) == size or page.cursor is None
        found += page.items
        cursor = page.cursor
        if cursor is None:
            break
    assert found == plain(lambda song: song.genre == "jazz")


async def test_a_scan_of_an_index_is_completed_in_segments_too(songs):
    scan = songs.scan(Song).index(Song.by_genre)
    every = plain(lambda song: True)
    assert sorted(await scan, key=lambda song: song.plays) == every
    assert sorted([song async for song in scan.segments(4)], key=lambda song: song.plays) == every


async def test_hooks_run_once_for_each_whole_item(songs):
    found = await jazz(songs).limit(5)
    assert Song.read == [song.number for song in found]


async def test_an_index_is_read_into_what_it_holds(songs):
    want = [Title(title=song.title, plays=song.plays) for song in plain(lambda song: song.artist == "a1")]
    with Requests(songs) as requests:
        assert await of_a1(songs).into(Title) == want
    assert requests.counts == {"Query": 1}
    assert [card async for card in of_a1(songs).into(Title).descending().limit(4)] == want[::-1][:4]
    assert await of_a1(songs).into(Title).first() == want[0]
    page = await of_a1(songs).into(Title).page(size=10)
    rest = await of_a1(songs).page(size=100, after=page.cursor)  # cursors are of the query, whatever it is read into
    assert page.items == want[:10]
    assert [song.title for song in rest.items] == [card.title for card in want[10:]]
    assert Song.read == [song.number for song in rest.items]


async def test_a_table_and_segments_are_read_into_a_card(songs):
    cards = await songs.scan(Song).segments(3).into(Title)
    assert sorted(card.plays for card in cards) == [song.plays for song in plain(lambda song: True)]
    both = songs.query(Song).where(Song.artist.is_in("a1", "a2")).into(Title)
    want = sorted((song for song in SONGS if song.artist != "a0" and not song.until), key=lambda song: song.number)
    assert [card.title for card in await both] == [song.title for song in want]


async def test_a_card_that_is_a_model_runs_its_own_hooks_and_is_not_written(songs):
    part = await of_a1(songs).into(Part).first()
    assert (Part.seen, Song.read) == ([part.number], [])
    with pytest.raises(OperationError, match="read without some of its attributes"):
        await songs.put(part)
    with pytest.raises(OperationError, match="read without some of its attributes"):
        await songs.save(part)
