"""Which items an index leaves out, and why."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey
from dynamap_async.errors import OperationError
from dynamap_async.generate.sampling import TableRequest
from dynamap_async.models import definition_of
from dynamap_async.tables.index_reports import unfit


class Stored(Model, table="index-reports"):
    item_id: PartitionKey[str]


class Place(Model, table="index-reports"):
    item_id: PartitionKey[str]
    city: Attr[str]
    number: Attr[int]

    by_city = GlobalIndex("city-index", partition_key="city", sort_key="number")
    by_name = GlobalIndex("name-index", partition_key="number", sort_key="city")


def entry(city, number="7"):
    values = {"city": city, "number": None if number is None else {"N": number}}
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (entry({"S": "Rome"}), None),
        (entry({"S": "x" * 2048}), None),
        (entry(None), "absent"),
        (entry({"S": "Rome"}, number=None), "absent"),
        (entry({"N": "1"}), "wrong type"),
        (entry({"NULL": True}), "wrong type"),
        (entry({"S": ""}), "empty"),
        (entry({"S": "x" * 2049}), "too long"),
        (entry({"S": "ü" * 1025}), "too long"),
    ],
)
def test_item_is_left_out_for_a_reason(item, reason):
    assert unfit(definition_of(Place).table.index("city-index"), item) == reason


def test_sort_key_may_be_half_as_long():
    index = definition_of(Place).table.index("name-index")
    assert unfit(index, entry({"S": "x" * 1024})) is None
    assert unfit(index, entry({"S": "x" * 1025})) == "too long"


@pytest.fixture
def put(session):
    """Return a function that stores an item as it is, whatever the models say."""

    async def stored(position, **attributes):
        item = {"item_id": {"S": f"{position:04d}"}, **attributes}
        await session.execute(TableRequest("PutItem", "index-reports", Item=item))

    return stored


@pytest.mark.asyncio
async def test_every_item_of_a_table_is_counted_by_reason(session, put):
    await session.tables.create(Stored)
    wrong = [{"city": {"N": "1"}}, {"city": {"S": "x" * 2049}}, {}]
    for number in range(60):
        city = wrong[number % 3] if number % 10 == 0 else {"city": {"S": "Rome"}}
        await put(number, number={"N": "1"}, **city)
    report = await session.tables.check_index(Place.by_city)
    assert (report.items, report.fits, report.violations, report.is_complete) == (60, 54, 4, True)
    assert report.left_out == {"wrong type": 2, "too long": 2, "absent": 2}
    assert [key["item_id"]["S"] for key in sorted(report.examples["wrong type"], key=str)] == ["0000", "0030"]
    assert report.read_units > 0
    await session.tables.delete(Stored)


@pytest.mark.asyncio
async def test_check_ends_where_its_units_are_spent(session, put):
    await session.tables.create(Stored)
    for number in range(8):
        await put(number, number={"N": "1"}, city={"S": "Rome"}, text={"S": "x" * 390_000})
    report = await session.tables.check_index(Place.by_city, max_read_units=0.5)
    assert 0 < report.items < 8
    assert not report.is_complete
    await session.tables.delete(Stored)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("index", "units", "problem"),
    [(Place, None, "is not an index"), (Place.by_city, 0, "give a number of units above 0")],
)
async def test_what_is_no_index_or_no_bound_is_refused(session, index, units, problem):
    with pytest.raises(OperationError, match=problem):
        await session.tables.check_index(index, max_read_units=units)
