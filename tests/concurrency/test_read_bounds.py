"""Pages whose cost is bounded: they end with a cursor, and no request is sent beyond the bound."""

import pytest

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, Query, SortKey, attr
from dynamap_async.errors import OperationError, OutOfRangeError

KEY = ("sensor", "at")


class Reading(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[int] = attr(default=0)
    unit: Attr[str] = attr(default="C")

    by_value = GlobalIndex(partition_key="value", projection=KEYS_ONLY)


def filtered(table, units=None):
    """Answer as a table whose filter keeps every tenth item."""

    def answer(request):
        whole = table(request)
        kept = [item for item in whole["Items"] if int(item["at"]["N"]) % 10 == 9]
        report = {} if units is None else {"ConsumedCapacity": {"TableName": "readings", "CapacityUnits": units}}
        return {**whole, "Items": kept, "Count": len(kept), **report}

    return answer


def query(session):
    return session.query(Reading).where(Reading.sensor == "s", Reading.value == 0)


def numbers(page):
    return [item.at for item in page.items]


async def test_a_page_ends_after_so_many_requests_and_sends_no_further_one(transport, table, open_session):
    transport.otherwise = filtered(table(100))
    async with open_session() as session:
        page = await query(session).page(size=50, max_pages=3)
        assert (numbers(page), len(transport.requests)) == ([9, 19, 29], 3)
        rest = await query(session).page(size=50, after=page.cursor)
        assert numbers(rest) == [39, 49, 59, 69, 79, 89, 99]
        assert rest.cursor is None


async def test_a_page_that_is_full_before_its_bound_ends_there(transport, table, open_session):
    transport.otherwise = filtered(table(100))
    async with open_session() as session:
        page = await query(session).page(size=2, max_pages=2)
        assert numbers(page) == [9, 19]
        assert numbers(await query(session).page(size=1, after=page.cursor)) == [29]


async def test_the_end_of_the_data_has_no_cursor(transport, table, open_session):
    transport.otherwise = filtered(table(15))
    async with open_session() as session:
        page = await query(session).page(size=50, max_pages=2)
        assert (numbers(page), page.cursor) == ([9], None)


async def test_an_empty_page_has_a_cursor_to_go_on_from(transport, table, open_session):
    transport.otherwise = filtered(table(30, page=5))
    async with open_session() as session:
        page = await query(session).page(size=50, max_pages=1)
        assert numbers(page) == []
        assert numbers(await query(session).page(size=50, after=page.cursor)) == [9, 19, 29]


@pytest.mark.parametrize(("most", "sent"), [(0.5, 1), (1.5, 1), (2, 2), (4.5, 3), (1000, 11)])
async def test_a_page_ends_once_its_read_units_are_spent(transport, table, open_session, most, sent):
    transport.otherwise = filtered(table(100), units=1.5)
    async with open_session() as session:
        page = await query(session).page(size=50, max_read_units=most)
        assert len(transport.requests) == sent
        assert (page.cursor is None) is (sent == 11)


async def test_units_that_are_not_reported_end_a_page(transport, table, open_session):
    transport.otherwise = filtered(table(100))
    async with open_session() as session:
        assert numbers(await query(session).page(size=50, max_read_units=1000)) == [9]


async def test_a_scan_is_bounded_in_the_same_way(transport, table, open_session):
    transport.otherwise = filtered(table(100))
    async with open_session() as session:
        page = await session.scan(Reading).page(size=50, max_pages=2)
        assert (numbers(page), len(transport.requests)) == ([9, 19], 2)


async def test_what_cannot_be_bounded_is_refused(transport, open_session):
    async with open_session() as session:
        with pytest.raises(OperationError, match="the query needs 2 queries"):
            await session.query(Reading).where(Reading.sensor.is_in("a", "b")).page(size=1, max_pages=1)
        with pytest.raises(OperationError, match="max_read_units cannot limit a query that fetches whole items"):
            await session.query(Reading).where(Reading.value == 0).page(size=1, max_read_units=1)
    assert not transport.requests


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        ({"max_pages": 0}, OutOfRangeError),
        ({"max_pages": True}, OperationError),
        ({"max_read_units": 0}, OutOfRangeError),
        ({"max_read_units": "1"}, OperationError),
    ],
)
async def test_bounds_out_of_range_are_refused(bounds, error):
    with pytest.raises(error, match="page\\(max_"):
        Query(Reading).where(Reading.sensor == "s").page(size=1, **bounds)
