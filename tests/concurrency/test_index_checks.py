"""Whole tables that are looked at: to their end, whatever the last page says of it, and beside other tasks."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey
from dynamap_async.errors import DamagedResponseError
from dynamap_async.models import definition_of
from dynamap_async.session import runner_of
from dynamap_async.tables.sampled_items import samples_of
from dynamap_async.tables.table_plan import TablePlan, TableStep


class Place(Model, table="places"):
    place_id: PartitionKey[str]
    city: Attr[str]

    by_city = GlobalIndex("city-index", partition_key="city")


ITEMS = [{"place_id": {"S": f"{number}"}, "city": {"S": "Rome"}} for number in range(3)]
STEP = TableStep(
    kind="create-index", table="places", index="city-index", before="none", after="there", operation="", request={}
)


def page(items, position=None):
    end = {} if position is None else {"LastEvaluatedKey": position}
    return {"Items": items, "Count": len(items), "ConsumedCapacity": {"CapacityUnits": 0.5}, **end}


async def checked(session):
    report = await session.tables.check_index(Place.by_city)
    return report.items, report.is_complete


async def counted(session):
    return await session.tables.backups._count("places"), True


async def sampled(session):
    plan, table = TablePlan(steps=(STEP,), seen={}), definition_of(Place).table
    [sample] = (await samples_of(runner_of(session).executor, plan, table, {table.name: ()}, 5)).values()
    return sample._items, sample._is_complete


@pytest.mark.parametrize("look", [checked, counted, sampled])
async def test_an_empty_position_is_the_end_as_none_is(transport, open_session, look):
    transport.script(page(ITEMS[:2], {"place_id": {"S": "1"}}), page(ITEMS[2:], {}))
    async with open_session() as session:
        assert await look(session) == (3, True)


async def test_a_check_of_an_index_lets_others_have_their_turn(transport, open_session, turns_of_others):
    transport.script(page([{"place_id": {"S": "1"}}] * 10_000))
    async with open_session() as session, turns_of_others() as turns:
        assert (await session.tables.check_index(Place.by_city)).items == 10_000
    assert len(turns) >= 20


async def test_an_item_without_its_key_is_an_answer_that_cannot_be(transport, open_session):
    transport.otherwise = page([{"city": {"S": "Rome"}}])
    async with open_session() as session:
        with pytest.raises(DamagedResponseError):
            await session.tables.check_index(Place.by_city)
