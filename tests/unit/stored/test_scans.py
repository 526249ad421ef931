"""Pages of stored items: nothing that was read is lost, and nothing is read that is not wanted."""

import asyncio

import pytest

from dynamap_async.errors import DamagedResponseError
from dynamap_async.executor import SegmentPages
from dynamap_async.request import Positions
from dynamap_async.stored import StoredPages, TableScan, whole_item

KEYS = TableScan("places", ("id",))


def item(number):
    return {"id": {"N": str(number)}}


class Table:
    """Ten items, of which a page has four."""

    def __init__(self, make=item):
        self.items = [make(number) for number in range(10)]
        self.requests = []

    async def send(self, request):
        self.requests.append(request)
        await asyncio.sleep(0)
        first = int(request.body.get("ExclusiveStartKey", item(-1))["id"]["N"]) + 1
        page = self.items[first : first + 4]
        more = {"LastEvaluatedKey": item(first + 3)} if first + 4 < len(self.items) else {}
        return {"Items": page, "Count": len(page), **more}

    def segment_pages(self, parts, *, want, begin, answer_filter, missing):
        async def send(request):
            answer = await self.send(request)
            return answer if answer_filter is None else answer_filter(answer)

        assert missing is None
        return SegmentPages(send, parts, want=want, begin=begin, width=1, spawned=set())


def number_of(stored):
    return int(stored["id"]["N"])


async def rest(pages):
    """Return the numbers of the items of the page at hand, and of all pages after it."""
    found = [number async for number in pages]
    while await pages.next_page():
        found += [number async for number in pages]
    return found


async def test_each_item_is_given_once_and_counted():
    async with StoredPages(Table(), KEYS, number_of) as pages:
        assert await rest(pages) == list(range(10))
        assert (pages.count, pages.is_complete) == (10, True)


async def test_an_item_that_was_not_taken_is_given_next_and_no_position_passes_it():
    async with StoredPages(Table(), KEYS, number_of) as pages:
        await pages.next_page()
        async for number in pages:
            if number == 1:
                break
        assert pages.untaken == 2
        assert pages.positions() == Positions(1, {0: item(1)})
        assert await rest(pages) == list(range(2, 10))


async def test_reading_goes_on_where_positions_tell():
    async with StoredPages(Table(), KEYS, number_of, begin=Positions(1, {0: item(6)})) as pages:
        assert await rest(pages) == [7, 8, 9]


async def test_cancelled_in_a_pause_it_loses_no_item(monkeypatch):
    monkeypatch.setattr("dynamap_async.turns.SLICE_SECONDS", -1.0)  # other tasks have their turn before each item
    async with StoredPages(Table(), KEYS, number_of) as pages:
        await pages.next_page()
        found = []

        async def take():
            async for number in pages:
                found.append(number)  # noqa: PERF401 - it is cancelled in between

        while pages.untaken:
            task = asyncio.create_task(take())
            for _ in range(3):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        assert found == [0, 1, 2, 3]


@pytest.mark.parametrize("most", [1, 2])
async def test_where_a_page_is_enough_the_one_after_it_is_not_asked_for(most):
    table, seen = Table(), []

    def is_enough(answer):
        seen.append(answer)
        return len(seen) == most

    async with StoredPages(table, KEYS, number_of, is_enough=is_enough) as pages:
        assert await rest(pages) == list(range(4 * most))
        assert not pages.is_complete
    assert len(table.requests) == most


async def test_the_last_page_is_the_end_also_where_it_is_enough():
    async with StoredPages(Table(), KEYS, number_of, is_enough=lambda page: page["Count"] < 4) as pages:
        await rest(pages)
        assert pages.is_complete


async def test_an_item_without_its_key_is_damage():
    table = Table(lambda number: {"other": {"N": str(number)}})
    async with StoredPages(table, KEYS, number_of) as pages:
        await pages.next_page()
        with pytest.raises(DamagedResponseError):
            await anext(aiter(pages))


async def test_left_early_it_leaves_no_task():
    before = asyncio.all_tasks()
    async with StoredPages(Table(), KEYS, whole_item) as pages:
        await pages.next_page()
        assert asyncio.all_tasks() > before
    assert asyncio.all_tasks() == before
