"""A table that is named by its ARN is read, written and counted like any other."""

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey
from dynamap_async.errors import OperationError
from dynamap_async.testing import LocalEngine

pytestmark = pytest.mark.asyncio

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/visits"


class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex("by-page", partition_key="page")


@pytest_asyncio.fixture
async def db():
    with LocalEngine(models=[Visit]) as engine:
        async with engine.session(table_names={"visits": ARN}) as session:
            yield session


async def test_items_of_such_a_table_are_written_and_read_by_every_way(db):
    await db.put(Visit(visit_id="1", page="/"))
    await db.put_many([Visit(visit_id=str(number), page="/shop") for number in range(2, 30)])
    async with db.transaction() as tx:
        tx.put(Visit(visit_id="30", page="/"))
    await db.update(Visit, "1").set(Visit.page, "/new")

    assert (await db.get(Visit, "1")).page == "/new"
    assert len(await db.get_many(Visit, [str(number) for number in range(1, 31)])) == 30
    assert [visit.page for visit in await db.query(Visit).where(Visit.visit_id == "30")] == ["/"]
    assert await db.query(Visit).index(Visit.by_page).where(Visit.page == "/shop").count() == 28
    assert await db.scan(Visit).count() == 30


async def test_what_such_a_table_took_is_counted_under_its_arn(db):
    await db.put(Visit(visit_id="1", page="/"))

    assert [each.table for each in db.statistics().by_operation if each.operation == "PutItem"] == [ARN]


async def test_such_a_table_is_described_and_not_created(db):
    assert (await db.tables.describe(Visit)).schema.keys.names == ("visit_id",)
    with pytest.raises(OperationError, match="is named by its ARN"):
        await db.tables.create(Visit)
