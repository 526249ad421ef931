"""Tables whose names in DynamoDB follow no rule: ``Session(table_names={"users": "legacy_users"})``."""

import re
from datetime import UTC, datetime
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Session,
    SortKey,
    Table,
    Unique,
    attr,
)
from dynamap_async.errors import ConfigurationError, ResourceNotFoundError
from dynamap_async.tables import declared_tables

pytestmark = pytest.mark.asyncio


class Reader(Model, table="readers"):
    name: PartitionKey[str]
    city: Attr[str] = ""
    visits: Attr[int] = 0
    by_city = GlobalIndex("by-city", partition_key="city")


class Loan(Model, table="loans"):
    number: PartitionKey[int] = attr(autoincrement=True)
    card: Attr[str]
    one_card = Unique("card")


class Reading(Model, table="readings_{at:month}"):
    station: PartitionKey[str]
    at: SortKey[datetime]


SHELF = Table("shelves", partition_key="pk")


class Book(Model, table=SHELF, kind="book"):
    pk: PartitionKey[str]


JUNE, JULY = datetime(2024, 6, 1, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC)


@pytest_asyncio.fixture(loop_scope="function")
async def library(engine):
    """Return an open session that renames tables, and how."""
    end = uuid4().hex[:12]
    names = {
        "readers": f"Old.Readers-{end}",
        "dynamap": f"bookkeeping-{end}",
        "readings_2024-06": f"juneReadings-{end}",
        "shelves": f"SHELF_{end}",
    }
    async with engine.session(table_prefix=f"t{end}-", table_names=names) as session:
        yield session, names


async def test_all_that_is_written_and_read_goes_to_the_table_of_the_given_name(library, engine):
    session, names = library
    await session.tables.create(Reader)
    await session.put(Reader(name="ann", city="Rome"))
    await session.put_many([Reader(name=f"r{number}", city="Oslo") for number in range(30)])
    await session.update(Reader, "ann").add(Reader.visits, 2)
    async with session.transaction() as transaction:
        transaction.put(Reader(name="bob", city="Rome"))
    ann = await session.get(Reader, "ann")
    ann.city = "Bari"
    await session.save(ann)
    await session.delete(Reader, "r0")
    assert [each.name for each in await session.query(Reader).where(Reader.city == "Bari")] == ["ann"]
    assert len(await session.get_many(Reader, ["ann", "bob", "r1"])) == 3
    async with engine.session() as other:
        found = await other.execute_statement(f'SELECT * FROM "{names["readers"]}"')
    assert len(found) == 31
    assert session.table_name(Reader) == names["readers"]


async def test_tables_are_made_described_listed_and_deleted_under_the_given_names(library):
    session, names = library
    await session.tables.ensure(Reader, Loan, SHELF)
    loans = session.table_name(Loan)
    assert (await session.tables.describe(Reader)).schema.name == names["readers"]
    assert await session.tables.names() == tuple(sorted([names["readers"], names["shelves"], names["dynamap"], loans]))
    assert await session.tables.names(prefix="read") == (names["readers"],)
    assert (await session.tables.plan(Reader, SHELF)).is_empty
    await session.tables.delete(Reader)
    with pytest.raises(ResourceNotFoundError, match=re.escape(names["readers"])):
        await session.get(Reader, "ann")


async def test_table_of_one_period_and_the_librarys_own_can_be_renamed(library):
    session, names = library
    await session.tables.create(Loan)
    await session.tables.create(Reading, period=JUNE)
    await session.tables.create(Reading, period=JULY)
    await session.put(Reading(station="a", at=JUNE))
    await session.put(Reading(station="a", at=JULY))
    both = session.query(Reading).where(Reading.station == "a", Reading.at.between(JUNE, JULY))
    assert [each.at for each in await both] == [JUNE, JULY]
    assert session.table_name(Reading, period=JUNE) == names["readings_2024-06"]
    assert (await session.put(Loan(card="c1"))).number == 1
    assert (await session.tables.describe_name(names["dynamap"])).is_active


async def test_shared_table_can_be_renamed(library):
    session, _ = library
    await session.tables.create(SHELF)
    await session.put(Book(pk="b"))
    assert await session.scan(Book) == [Book(pk="b")]
    assert session.table_name(SHELF) == session.table_name(Book)


async def test_name_that_no_model_declares_is_refused_when_the_session_is_opened(engine):
    message = "table_names: no model declares the table 'raeders'; did you mean 'readers'?"
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        async with engine.session(table_names={"raeders": "old_readers"}):
            pytest.fail("it was opened")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["readers"], 'table_names=[\'readers\'] is not a mapping; write table_names={"users": "legacy_users"}'),
        ({"readers": "a"}, "table_names={'readers': 'a'}: 'a' is no table; write its name, of 3 to 255 characters"),
        ({"readers": 5}, "table_names={'readers': 5}: 5 is no table; write its name, of 3 to 255 characters"),
        ({"readers": "old", "loans": "old"}, "table_names gives 'readers' and 'loans' the same name, 'old'"),
    ],
    ids=["no mapping", "too short", "no text", "two of one name"],
)
async def test_names_that_cannot_work_are_refused_when_the_session_is_made(names, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        Session(table_names=names)
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        declared_tables(Reader, table_names=names)


async def test_tables_are_declared_under_the_given_names_without_a_session():
    names = {"loans": "LOANS", "dynamap": "COUNTERS"}
    assert [each.name for each in declared_tables(Loan, Reader, table_prefix="dev-", table_names=names)] == [
        "LOANS",
        "dev-readers",
        "COUNTERS",
    ]
