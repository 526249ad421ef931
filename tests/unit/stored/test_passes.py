"""A pass over stored items: no item is skipped, whatever ends a step, and no position passes one that is not done."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from dynamap_async import Session
from dynamap_async.errors import OperationError
from dynamap_async.executor import Limits, paying
from dynamap_async.request import Positions
from dynamap_async.session import runner_of
from dynamap_async.stored import ItemPass, StoredPages, TableScan, whole_item

PAGE = 100


def item(number):
    return {"id": {"N": str(number)}}


def number_of(stored):
    return int(stored["id"]["N"])


class Table:
    """250 items, of which a page has 100."""

    max_connections = 4

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        first = number_of(request.body.get("ExclusiveStartKey", item(-1))) + 1
        last = min(first + PAGE, 250)
        more = {"LastEvaluatedKey": item(last - 1)} if last < 250 else {}
        page = [item(number) for number in range(first, last)]
        return {"Items": page, "Count": len(page), "ScannedCount": len(page), **more}


@asynccontextmanager
async def a_pass(**options):
    """Open a pass over the table."""
    async with Session(transport=Table()) as session:
        executor = runner_of(session).executor
        pages = StoredPages(executor, TableScan("places", ("id",)), whole_item)
        going = ItemPass(executor, "pass", Limits(), pages=pages, **options)
        with paying(going.payer()):
            yield going
        await going.aclose()


def everything(stored):
    return True


async def nothing(stored):
    """Do nothing with an item."""


async def test_each_step_goes_over_a_page_and_the_last_finds_none():
    done = []
    async with a_pass() as going:

        async def work(stored):
            done.append(number_of(stored))

        assert [await going.step(everything, work) for _ in range(4)] == [True, True, True, False]
        assert sorted(done) == list(range(250))


async def test_only_what_is_chosen_is_worked_on():
    done = []
    async with a_pass() as going:

        async def work(stored):
            done.append(number_of(stored))

        while await going.step(lambda stored: number_of(stored) % 50 == 0, work):
            pass
        assert sorted(done) == [0, 50, 100, 150, 200]


async def test_items_are_worked_on_at_the_same_time_but_not_all():
    under_way, most = 0, 0
    async with a_pass() as going:

        async def work(_):
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(1)
            under_way -= 1

        await going.step(everything, work)
        assert most == 64


async def test_a_failed_step_leaves_its_items_to_the_next_and_passes_none_in_its_positions():
    done, broken = set(), {7, 70}
    async with a_pass() as going:

        async def work(stored):
            if number_of(stored) in broken:
                raise OperationError("not now")
            done.add(number_of(stored))

        with pytest.raises(OperationError):
            await going.step(everything, work)
        broken.clear()
        assert await going.step(everything, work)
        assert done == set(range(PAGE))
        assert going.pages.positions() == Positions(1, {0: item(PAGE - 1)})


async def test_a_cancelled_step_leaves_its_items_to_the_next():
    done = set()
    async with a_pass() as going:

        async def slowly(stored):
            await asyncio.sleep(1 if number_of(stored) % 2 else 1000)
            done.add(number_of(stored))

        async def work(stored):
            done.add(number_of(stored))

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await going.step(everything, slowly)
        assert 0 < len(done) < PAGE
        assert await going.step(everything, work)
        assert done == set(range(PAGE))


async def test_with_as_many_failures_as_there_may_be_nothing_more_is_begun():
    begun = []
    async with a_pass(max_failures=3) as going:

        async def work(stored):
            begun.append(stored)
            going.note_failure(stored, OperationError("never"))

        assert await going.step(everything, work)
        assert going.is_stopped
        assert going.failed == len(going.failures) == len(begun) == 3


async def test_what_it_reads_is_counted_as_its_own():
    async with a_pass() as going:
        while await going.step(lambda _: False, nothing):
            pass
        assert (going.scanned, going.usage.requests) == (250, 3)
