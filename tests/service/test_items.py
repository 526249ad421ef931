"""Single items on real engines: what is written is what is read, and what fails says why."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from uuid import UUID, uuid4

import pytest
import pytest_asyncio
from pydantic import NaiveDatetime

from dynamap_async import (
    EPOCH_SECONDS,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredForm,
    TimeToLive,
    attr,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    EncodeError,
    ItemExistsError,
    ItemNotFoundError,
    ResourceNotFoundError,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOW = datetime(2024, 6, 1, 12, 30, 15, 123456, tzinfo=UTC)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(Model):
    city: Attr[str]
    lines: Attr[list[str]] = attr(default_factory=list)


@dataclass(frozen=True)
class Money:
    cents: int


MONEY = StoredForm(name="cents", tag="N", encode=lambda money: money.cents, decode=lambda n: Money(int(n)))


class Everything(Model, table="everything"):
    id: PartitionKey[str] = attr(name="pk with a space")
    at: SortKey[Decimal] = attr(name="sk#")
    text: Attr[str] = attr(default="")
    number: Attr[int] = attr(default=0)
    price: Attr[Decimal] = attr(default=Decimal(0))
    ratio: Attr[float] = attr(default=0.0)
    flag: Attr[bool] = attr(default=False)
    blob: Attr[bytes] = attr(default=b"")
    nothing: Attr[str | None] = attr(default=None)
    items: Attr[list[int | str]] = attr(default_factory=list)
    options: Attr[dict[str, int]] = attr(default_factory=dict)
    address: Attr[Address | None] = attr(default=None)
    texts: Attr[set[str]] = attr(default_factory=set)
    numbers: Attr[set[Decimal]] = attr(default_factory=set)
    blobs: Attr[set[bytes]] = attr(default_factory=set)
    colours: Attr[set[Colour]] = attr(default_factory=set)
    colour: Attr[Colour] = attr(default=Colour.RED)
    moment: Attr[datetime] = attr(default=NOW)
    local: Attr[NaiveDatetime | None] = attr(default=None)
    day: Attr[date] = attr(default=date(2024, 2, 29))
    span: Attr[timedelta] = attr(default=timedelta(0))
    token: Attr[UUID] = attr(default=UUID(int=0))
    seconds: Attr[datetime] = attr(default=NOW.replace(microsecond=0), stored_as=EPOCH_SECONDS)
    expires: TimeToLive[datetime | None] = attr(default=None)


class Priced(Model, table="priced"):
    price: PartitionKey[Money] = attr(stored_as=MONEY)
    other: Attr[Money] = attr(stored_as=MONEY, default=Money(0))


FULL = Everything(
    id="ключ 🦊",
    at=Decimal("-1.5"),
    text="x",
    number=10**37,
    price=Decimal("0.00000000000000000000000000000000000001"),
    ratio=0.1,
    flag=True,
    blob=b"\x00\xff\x80",
    nothing="something",
    items=[1, "x", 2],
    options={"a.b": 1, "status": 2},
    address=Address(city="x", lines=["", "y"]),
    texts={"a", "ä"},
    numbers={Decimal(1), Decimal("2.5")},
    blobs={b"\x00", b"\xff\xfe"},
    colours={Colour.RED, Colour.BLUE},
    colour=Colour.BLUE,
    local=datetime(2024, 1, 1, 12),  # noqa: DTZ001 - naive on purpose
    span=timedelta(days=1, microseconds=5),
    token=UUID(int=5),
    expires=NOW.replace(microsecond=0),
)
BARE = Everything(id="bare", at=Decimal(0))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tables(engine):
    async with engine.session(table_prefix=f"i{uuid4().hex[:12]}-") as session:
        await session.tables.create(Everything, Priced)
        yield session


@pytest.mark.parametrize("item", [FULL, BARE], ids=["full", "bare"])
@pytest.mark.parametrize("consistent", [False, True])
async def test_an_item_of_every_type_reads_back_equal(tables, item, consistent):
    await tables.put(item)
    found = await tables.get(Everything, item.id, item.at, consistent_read=consistent)
    assert found == item
    assert [type(value) for value in dict(found).values()] == [type(value) for value in dict(item).values()]
    assert await tables.query(Everything).where(Everything.id == item.id) == [item]


async def test_what_is_empty_replaces_what_was_not(tables):
    await tables.put(FULL)
    emptied = FULL.model_copy(
        update={"text": "", "items": [], "options": {}, "texts": set(), "blob": b"", "nothing": None}
    )
    await tables.put(emptied)
    assert await tables.get(Everything, FULL.id, FULL.at) == emptied


async def test_an_aware_datetime_reads_back_as_the_same_instant(tables):
    moment = datetime(2024, 6, 1, 14, 30, tzinfo=timezone(timedelta(hours=2)))
    await tables.put(Everything(id="zone", at=Decimal(0), moment=moment))
    found = (await tables.get(Everything, "zone", Decimal(0))).moment
    assert (found, found.utcoffset()) == (moment, timedelta(0))


async def test_epoch_seconds_drop_what_is_finer(tables):
    await tables.put(Everything(id="seconds", at=Decimal(0), seconds=NOW))
    assert (await tables.get(Everything, "seconds", Decimal(0))).seconds == NOW.replace(microsecond=0)


async def test_equal_numbers_are_one_key(tables):
    await tables.put(Everything(id="n", at=Decimal("1.00")))
    assert (await tables.get(Everything, "n", Decimal(1))).at == 1
    assert await tables.query(Everything).where(Everything.id == "n").count() == 1


async def test_a_type_with_a_stored_form_of_its_own_is_a_field_and_a_key(tables):
    priced = Priced(price=Money(5), other=Money(7))
    await tables.put(priced)
    assert await tables.get(Priced, Money(5)) == priced
    assert await tables.query(Priced).where(Priced.price == Money(5), Priced.other > Money(6)) == [priced]


async def test_an_empty_key_is_refused_before_it_is_sent(tables):
    with pytest.raises(EncodeError, match="Everything.id: a partition key cannot be empty"):
        await tables.put(Everything(id="", at=Decimal(0)))


async def test_a_missing_item_is_none_to_find_and_an_error_to_get(tables):
    assert await tables.find(Everything, "absent", Decimal(0)) is None
    with pytest.raises(ItemNotFoundError) as caught:
        await tables.get(Everything, "absent", Decimal(0))
    assert caught.value.key == {"id": "absent", "at": Decimal(0)}


async def test_create_refuses_what_exists_and_brings_it_along(tables):
    first = Everything(id="create", at=Decimal(0), text="first")
    await tables.create(first)
    with pytest.raises(ItemExistsError, match="the item exists already") as caught:
        await tables.create(Everything(id="create", at=Decimal(0), text="second"))
    assert isinstance(caught.value, ConditionalCheckFailedError)
    assert caught.value.item == first
    assert caught.value.wire_item["text"] == {"S": "first"}
    assert not caught.value.outcome_unknown
    assert await tables.get(Everything, "create", Decimal(0)) == first
    await tables.put(Everything(id="create", at=Decimal(0), text="second"))
    assert (await tables.get(Everything, "create", Decimal(0))).text == "second"


async def test_a_failed_condition_on_a_missing_item_brings_none(tables):
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await tables.put(Everything(id="nobody", at=Decimal(0)), where=Everything.text == "x")
    assert caught.value.item is None


async def test_delete_takes_an_instance_or_a_key_and_does_not_mind_what_is_missing(tables):
    item = Everything(id="delete", at=Decimal(0))
    await tables.put(item)
    await tables.delete(item)
    assert await tables.find(Everything, "delete", Decimal(0)) is None
    await tables.delete(item)
    await tables.put(item)
    with pytest.raises(ConditionalCheckFailedError):
        await tables.delete(Everything, "delete", Decimal(0), where=Everything.flag.is_(True))
    await tables.delete(Everything, "delete", Decimal(0), where=Everything.flag.is_(False))
    assert await tables.find(Everything, "delete", Decimal(0)) is None


async def test_a_missing_table_is_named(engine):
    async with engine.session(table_prefix="absent-") as session:
        for use in (
            session.find(Everything, "x", Decimal(0)),
            session.put(BARE),
            session.delete(BARE),
            session.scan(Everything).count(),
        ):
            with pytest.raises(ResourceNotFoundError, match="absent-everything") as caught:
                await use
            assert caught.value.table == "absent-everything"


async def test_an_index_key_that_is_none_leaves_the_item_out_of_the_index(tables):
    class Sparse(Model, table="sparse"):
        id: PartitionKey[str]
        city: Attr[str | None] = attr(default=None)
        by_city = GlobalIndex(partition_key="city")

    await tables.tables.create(Sparse)
    await tables.put(Sparse(id="in", city="x"))
    await tables.put(Sparse(id="out"))
    assert [item.id for item in await tables.scan(Sparse).index(Sparse.by_city)] == ["in"]
    await tables.put(Sparse(id="in"))
    assert await tables.scan(Sparse).index(Sparse.by_city) == []
    assert (await tables.get(Sparse, "in")).city is None
