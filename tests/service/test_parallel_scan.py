"""Parallel scans of real engines: every item once, also where the work stops and another process goes on."""

import pytest
import pytest_asyncio

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, SortKey, attr
from dynamap_async.errors import CursorError

pytestmark = pytest.mark.asyncio


class Event(Model, table="events"):
    source: PartitionKey[str]
    number: SortKey[int]
    kind: Attr[str | None] = attr(default=None)
    text: Attr[str] = attr(default="")

    by_kind = GlobalIndex(partition_key="kind", sort_key="number", projection=KEYS_ONLY)


EVENTS = [
    Event(source=f"s{n % 17}", number=n, kind="rare" if n % 10 == 0 else None, text="x" * (n % 50)) for n in range(300)
]


@pytest_asyncio.fixture
async def events(session):
    """The session, with the events stored."""
    await session.tables.create(Event)
    await session.put_many(EVENTS)
    return session


def numbers(items):
    return sorted(event.number for event in items)


@pytest.mark.parametrize("segments", [1, 3, 20])
async def test_every_item_comes_once(events, segments):
    assert numbers(await events.scan(Event).segments(segments).page_size(13)) == list(range(300))
    assert await events.scan(Event).segments(segments).count() == 300


async def test_filters_selections_and_indexes_work_in_segments(events):
    long = events.scan(Event).where(Event.text.size() >= 40).segments(4)
    assert numbers(await long) == [n for n in range(300) if n % 50 >= 40]
    rare = await events.scan(Event).index(Event.by_kind).segments(4).select(Event.number)
    assert sorted(rare) == [(n,) for n in range(0, 300, 10)]
    assert len(await events.scan(Event).segments(4).limit(7)) == 7


@pytest.mark.parametrize("stop", [7, 50, 151])
async def test_a_checkpoint_goes_on_in_the_middle_of_a_page(events, stop):
    scan = events.scan(Event).segments(5).page_size(9)
    found, checkpoint = [], None
    while len(found) < 300:
        async with scan.resume(checkpoint).stream() as stream:
            async for event in stream:
                found.append(event)
                if len(found) % stop == 0:
                    break
            checkpoint = stream.checkpoint()
    assert numbers(found) == list(range(300))
    assert await scan.resume(checkpoint) == []


async def read_by_workers(events, total, after_page=None):
    """Return what workers find that read a segment each; something is done after each page but the last."""
    found = []
    for worker in range(total):
        scan, cursor = events.scan(Event).segment(worker, total), None
        while True:
            page = await scan.page(size=40, after=cursor)
            found += page.items
            if (cursor := page.cursor) is None:
                break
            if after_page is not None:
                await after_page(page)
    return found


async def test_workers_that_read_a_segment_each_read_every_item_once(events):
    assert numbers(await read_by_workers(events, 3)) == list(range(300))


@pytest.mark.engine_fault("native", "finds nothing more in a segment where the item that a page ended with is gone")
async def test_a_segment_goes_on_where_the_item_that_its_page_ended_with_is_gone(events):
    async def delete_the_last(page):
        await events.delete(page.items[-1])

    assert numbers(await read_by_workers(events, 2, delete_the_last)) == list(range(300))


async def test_a_cursor_of_one_segment_is_refused_by_another(events):
    scans = [events.scan(Event).segment(worker, 2) for worker in range(2)]
    pages = [await scan.page(size=5) for scan in scans]
    for page, other in zip(pages, reversed(scans), strict=True):
        with pytest.raises(CursorError):
            await other.page(size=5, after=page.cursor)
