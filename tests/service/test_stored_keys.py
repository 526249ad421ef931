"""Items whose keys other programs wrote in forms of their own: what was read is written and deleted where it is."""

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import pytest
import pytest_asyncio
from pydantic import AnyUrl, BeforeValidator, StringConstraints, field_validator, model_validator

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Put,
    SortKey,
    Unique,
    Version,
    attr,
    template,
)
from dynamap_async.errors import (
    BatchError,
    ItemExistsError,
    OperationError,
    UniqueViolationError,
    VersionConflictError,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Color(StrEnum):
    RED = "red"

    @classmethod
    def _missing_(cls, value):
        return cls.RED if isinstance(value, str) and value.lower() == "red" else None


class Raw(Model, table="spelled"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    n: Attr[int] = attr(default=0)
    mail: Attr[str | None] = attr(default=None)
    version: Attr[int | None] = attr(default=None)
    who: Attr[str] = attr(default="B0A9C3F2-1111-4222-8333-ABCDEFABCDEF")
    by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)


def kept_by(kind, **settings):
    """Return a model of the table whose sort key is of a type."""

    class Kept(Model, table="spelled", **settings):
        pk: PartitionKey[str]
        sk: SortKey[kind]
        n: Attr[int] = attr(default=0)
        tags: Attr[list[str]] = attr(default_factory=list)
        mail: Attr[str | None] = attr(default=None)
        by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)

    return Kept


class AfterModel(Model, table="spelled"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    n: Attr[int] = attr(default=0)
    mail: Attr[str | None] = attr(default=None)
    by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)

    @model_validator(mode="after")
    def lower(self):
        self.__dict__["sk"] = self.sk.lower()
        return self


class AfterField(Model, table="spelled"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    n: Attr[int] = attr(default=0)
    mail: Attr[str | None] = attr(default=None)
    by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)

    @field_validator("sk")
    @classmethod
    def lower(cls, value):
        return value.lower()


class Templated(Model, table="spelled"):
    who: Attr[UUID]
    pk: PartitionKey[str]
    sk: SortKey[str] = template("{who}")
    n: Attr[int] = attr(default=0)
    mail: Attr[str | None] = attr(default=None)
    by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)


class Moment(Model, table="spelled"):
    pk: PartitionKey[str]
    sk: SortKey[datetime]
    n: Attr[int] = attr(default=0)
    tags: Attr[list[str]] = attr(default_factory=list)
    mail: Attr[str | None] = attr(default=None)
    by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)


class Counted(Model, table="spelled"):
    pk: PartitionKey[str]
    sk: SortKey[datetime]
    n: Attr[int] = attr(default=0)
    mail: Attr[str | None] = attr(default=None)
    version: Version[int] = attr(default=0)
    by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)


class Owned(Model, table="spelled"):
    pk: PartitionKey[str]
    sk: SortKey[datetime]
    n: Attr[int] = attr(default=0)
    mail: Attr[str] = attr(default="m")
    only = Unique("mail")
    by_mail = GlobalIndex("by_mail", partition_key="mail", sort_key="sk", projection=KEYS_ONLY)


OFFSET = "2022-05-01T12:00:00+00:00"
NOON = datetime(2022, 5, 1, 12, tzinfo=UTC)
FORMS = {
    "offset": (Moment, "2022-05-01T12:00:00+00:00"),
    "zone": (Moment, "2022-05-01T14:00:00.000000+02:00"),
    "milliseconds": (Moment, "2022-05-01T12:00:00.000Z"),
    "space": (Moment, "2022-05-01 12:00:00.000000Z"),
    "day": (kept_by(date), "2022-05-01T00:00:00"),
    "capitals": (kept_by(UUID), "B0A9C3F2-1111-4222-8333-ABCDEFABCDEF"),
    "bare UUID": (kept_by(UUID), "b0a9c3f2111142228333abcdefabcdef"),
    "lower case": (kept_by(Annotated[str, StringConstraints(to_lower=True)]), "ADA"),
    "stripped": (kept_by(Annotated[str, StringConstraints(strip_whitespace=True)]), " ada "),
    "before": (kept_by(Annotated[str, BeforeValidator(str.lower)]), "ADA"),
    "URL": (kept_by(AnyUrl), "https://example.org"),
    "enum": (kept_by(Color), "RED"),
    "template": (Templated, "B0A9C3F2-1111-4222-8333-ABCDEFABCDEF"),
    "model validator": (AfterModel, "ADA"),
    "field validator": (AfterField, "ADA"),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def session(engine):
    async with engine.session() as session:
        await session.tables.create(Owned)
        yield session


@pytest_asyncio.fixture(loop_scope="module")
async def stored(session):
    """Store an item in a form of its own, and leave none behind."""

    async def store(key, **values):
        await session.put(Raw(pk="a", sk=key, mail="m", **values))

    yield store
    await session.delete_many(await session.query(Raw).where(Raw.pk == "a"))


async def left(session):
    return [(item.sk, item.n) for item in await session.query(Raw).where(Raw.pk == "a")]


async def one(session, model):
    [item] = await session.query(model).where(model.pk == "a")
    return item


forms = pytest.mark.parametrize(("model", "key"), FORMS.values(), ids=FORMS)


@forms
async def test_an_item_that_was_read_is_deleted_under_its_stored_key(session, stored, model, key):
    await stored(key)
    await session.delete(await one(session, model))
    assert await left(session) == []


@forms
async def test_an_item_that_was_read_is_put_under_its_stored_key(session, stored, model, key):
    await stored(key)
    item = await one(session, model)
    for number in (1, 2):
        item.n = number
        await session.put(item)
    assert await left(session) == [(key, 2)]


@forms
async def test_an_item_that_was_read_is_saved_under_its_stored_key(session, stored, model, key):
    await stored(key)
    item = await one(session, model)
    for number in (1, 2):
        item.n = number
        await session.save(item)
    assert await left(session) == [(key, 2)]


@forms
async def test_an_item_that_was_read_is_updated_under_its_stored_key(session, stored, model, key):
    await stored(key)
    item = await one(session, model)
    for _ in range(2):
        await session.update(item).set(model.n, model.n + 1)
    assert await left(session) == [(key, 2)]
    await session.delete(item)
    assert await left(session) == []


@forms
async def test_many_items_that_were_read_are_written_and_deleted_under_their_stored_keys(session, stored, model, key):
    await stored(key)
    assert await session.put_many(await session.query(model).where(model.pk == "a")) == 1
    assert await left(session) == [(key, 0)]
    assert await session.delete_many(session.query(model).where(model.pk == "a")) == 1
    assert await left(session) == []


@forms
async def test_a_batch_takes_items_under_their_stored_keys(session, stored, model, key):
    await stored(key)
    item = await one(session, model)
    item.n = 1
    async with session.batch() as batch:
        await batch.put(item)
    assert await left(session) == [(key, 1)]
    async with session.batch() as batch:
        await batch.delete(item)
    assert await left(session) == []


@forms
async def test_transactions_take_items_under_their_stored_keys(session, stored, model, key):
    await stored(key)
    item = await one(session, model)
    async with session.transaction() as tx:
        tx.update(item).set(model.n, 5)
    item.n = 6
    async with session.transaction() as tx:
        tx.put(item)
    item.n = 7
    async with session.transaction() as tx:
        tx.save(item)
    assert await left(session) == [(key, 7)]
    async with session.transaction() as tx:
        tx.delete(item)
    assert await left(session) == []


@forms
async def test_an_item_that_was_read_exists_under_its_stored_key(session, stored, model, key):
    await stored(key)
    item = await one(session, model)
    with pytest.raises(ItemExistsError):
        await session.create(item)
    assert await left(session) == [(key, 0)]


@forms
async def test_an_item_is_read_anew_under_its_stored_key(session, stored, model, key):
    await stored(key)
    item = await one(session, model)
    await stored(key, n=3)
    assert (await session.refresh(item)).n == 3


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "model_copy": lambda item: item.model_copy(update={"n": 4}),
    "pickle": lambda item: pickle.loads(pickle.dumps(item)),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
async def test_a_copy_is_written_under_the_stored_key(session, stored, copied):
    await stored(OFFSET)
    item = copied(await one(session, Moment))
    await session.put(item)
    assert await left(session) == [(OFFSET, item.n)]
    await session.delete(item)
    assert await left(session) == []


async def test_the_time_of_a_key_assigned_in_another_zone_is_the_same_key(session, stored):
    await stored(OFFSET)
    item = await one(session, Moment)
    item.sk = NOON.astimezone(timezone(timedelta(hours=2)))
    await session.delete(item)
    assert await left(session) == []


async def test_an_item_that_was_written_again_exactly_once_is_read_under_its_stored_key(session, stored):
    await stored(OFFSET)
    item = await one(session, Moment)
    item.n = 1
    assert (await session.execute(Put(item).exactly_once().then_get())).n == 1
    assert await left(session) == [(OFFSET, 1)]


async def test_a_replaced_item_keeps_its_stored_key(session, stored):
    await stored(OFFSET)
    item = await one(session, Moment)
    item.n = 1
    await session.replace(item)
    assert await left(session) == [(OFFSET, 1)]


async def test_an_item_that_was_read_through_an_index_is_deleted_under_its_stored_key(session, stored):
    await stored(OFFSET)
    assert await session.delete_many(session.query(Moment).where(Moment.mail == "m")) == 1
    assert await left(session) == []


async def test_an_item_that_was_read_in_a_transaction_is_deleted_under_its_stored_key(session, stored):
    await stored(OFFSET)
    scanned = await one(session, Moment)
    await session.delete(await session.refresh(scanned))
    assert await left(session) == []


async def test_an_item_of_a_statement_is_deleted_under_its_stored_key(session, stored):
    await stored(OFFSET)
    [item] = await session.execute_statement("SELECT * FROM spelled WHERE pk = ?", ["a"], into=Moment)
    await session.delete(item)
    assert await left(session) == []


async def test_an_image_is_deleted_under_its_stored_key(session, stored):
    await stored(OFFSET)
    await session.delete(Moment.from_wire({"pk": {"S": "a"}, "sk": {"S": OFFSET}}))
    assert await left(session) == []


async def test_a_part_of_an_item_is_deleted_and_updated_under_its_stored_key(session, stored):
    await stored(OFFSET)
    [item] = await session.query(Moment).where(Moment.pk == "a").into(Moment)
    await session.update(item).set(Moment.n, 3).returning("nothing")
    assert await left(session) == [(OFFSET, 3)]
    await session.delete(item)
    assert await left(session) == []


async def test_a_versioned_item_is_written_and_deleted_under_its_stored_key(session, stored):
    await stored(OFFSET, version=1)
    item, other = await one(session, Counted), await one(session, Counted)
    for number in (1, 2):
        item.n = number
        await session.put(item)
    with pytest.raises(VersionConflictError):
        await session.delete(other)
    assert (await left(session), item.version) == ([(OFFSET, 2)], 3)
    await session.delete_many([item])
    assert await left(session) == []


async def test_an_item_with_unique_values_is_written_and_deleted_under_its_stored_key(session, stored):
    await stored(OFFSET)
    item = await one(session, Owned)
    item.mail = "new"
    await session.save(item)
    item.n = 2
    await session.put(item, read_first=True)
    assert await left(session) == [(OFFSET, 2)]
    with pytest.raises(UniqueViolationError):
        await session.create(Owned(pk="a", sk=NOON + timedelta(1), mail="new"))
    await session.delete(item)
    assert await left(session) == []
    await session.create(Owned(pk="a", sk=NOON + timedelta(1), mail="new"))
    await session.delete(await one(session, Owned))


@pytest.mark.parametrize("model", [Raw, Moment, Counted])
async def test_a_write_of_an_item_whose_key_was_changed_is_refused(session, stored, model):
    await stored("2022-05-01T12:00:00.000000Z", version=1)
    writes = [
        session.delete,
        lambda item: session.delete_many([item]),
        session.save,
        lambda item: session.update(item).set(model.n, 1),
        session.refresh,
    ]
    for write in writes:
        item = await one(session, model)
        item.pk = "b"
        with pytest.raises((OperationError, BatchError), match=f"{model.__name__}.pk is part of the item's key"):
            await write(item)
        with pytest.raises((OperationError, BatchError), match="part of the item's key"):
            await write((await one(session, model)).model_copy(update={"pk": "b"}))
    assert await left(session) == [("2022-05-01T12:00:00.000000Z", 0)]


async def test_a_write_of_an_item_whose_key_was_changed_after_a_put_is_refused(session, stored):
    item = await session.put(Moment(pk="a", sk=NOON))
    item.sk += timedelta(1)
    with pytest.raises(OperationError, match=r"Moment.sk is part of the item's key and was changed"):
        await session.delete(item)


async def test_a_transaction_refuses_to_delete_an_item_whose_key_was_changed(session, stored):
    await stored(OFFSET)
    item = await one(session, Moment)
    item.sk += timedelta(1)
    async with session.transaction() as tx:
        with pytest.raises(OperationError, match=r"Moment.sk is part of the item's key"):
            tx.delete(item)
        with pytest.raises(OperationError, match=r"Moment.sk is part of the item's key"):
            tx.update(item)


@pytest.mark.parametrize("write", ["put", "create", "put_many"])
async def test_an_item_with_a_new_key_is_written_under_that(session, stored, write):
    await stored(OFFSET)
    item = await one(session, Moment)
    item.sk += timedelta(hours=1)
    await (session.put_many([item]) if write == "put_many" else getattr(session, write)(item))
    assert [key for key, _ in await left(session)] == [OFFSET, "2022-05-01T13:00:00.000000Z"]
    await session.delete(item)
    assert [key for key, _ in await left(session)] == [OFFSET]
