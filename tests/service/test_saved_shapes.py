"""Saving instances of models of special shapes: frozen, with extra attributes, older than a version, partly text."""

import pytest
import pytest_asyncio

from dynamap_async import JSON_TEXT, Attr, Model, PartitionKey, Version, attr
from dynamap_async.errors import EncodeError, VersionConflictError

pytestmark = pytest.mark.asyncio


class Frozen(Model, table="frozen", frozen=True):
    id: PartitionKey[str]
    label: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


class Open(Model, table="open", extra="allow"):
    id: PartitionKey[str]
    label: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


class Settings(Model, table="settings"):
    id: PartitionKey[str]
    choices: Attr[dict[str, list[int]]] = attr(stored_as=JSON_TEXT, default_factory=dict)
    count: Attr[int] = attr(default=0)
    words: Attr[list[str]] = attr(default_factory=list)


@pytest_asyncio.fixture(autouse=True)
async def tables(session):
    await session.tables.create(Frozen, Open, Settings)


async def test_a_frozen_item_gets_its_version(session):
    frozen = await session.create(Frozen(id="a"))
    assert frozen.version == 1
    changed = frozen.model_copy(update={"label": "x"})
    await session.save(changed)
    assert (changed.version, frozen.version) == (2, 1)
    assert await session.get(Frozen, "a") == changed
    with pytest.raises(VersionConflictError):
        await session.save(frozen.model_copy(update={"label": "y"}))
    updated = await session.update(changed).set(Frozen.label, "z")
    assert (updated.label, updated.version) == ("z", 3)
    assert (changed.label, changed.version) == ("x", 2)
    async with session.transaction() as tx:
        tx.save(updated.model_copy(update={"label": "w"}))
    assert (await session.get(Frozen, "a")).version == 4


async def test_an_item_with_extra_attributes_is_saved(session):
    item = await session.create(Open(id="a", color="red", sizes=[1]))
    item.sizes.append(2)
    item.label = "x"
    item.weight = 3
    del item.color
    await session.save(item)
    found = await session.get(Open, "a")
    assert found == item
    assert found.model_extra == {"sizes": [1, 2], "weight": 3}
    assert found.version == 2


async def test_an_item_from_before_its_model_had_a_version_is_refused_by_put_and_taken_by_save(session):
    prefix = session._runner.context.tables.prefix
    await session.execute_statement(f"INSERT INTO \"{prefix}open\" VALUE {{'id': 'a', 'label': 'old'}}")
    found = await session.get(Open, "a")
    with pytest.raises(VersionConflictError, match="it is for a new item, of version 0, but the stored one has no"):
        await session.put(found)
    found.label = "new"
    await session.save(found)
    assert (found.version, (await session.get(Open, "a")).version) == (1, 1)


@pytest.mark.parametrize(
    "make",
    [Open.model_validate_json, lambda _: Open(id="a", version=2)],
    ids=["JSON", "constructor"],
)
async def test_a_save_of_what_no_session_has_read_says_so_and_that_put_checks_its_version(session, make):
    item = await session.create(Open(id="a", label="old"))
    await session.put(item)
    made = make(item.model_dump_json())
    made.label = "new"
    with pytest.raises(VersionConflictError, match=r"no session has read or written.*put\(\) it.*version 2") as refused:
        await session.save(made)
    assert (refused.value.stored, refused.value.item) == (2, item)
    await session.put(made)
    assert (made.version, (await session.get(Open, "a")).label) == (3, "new")
    with pytest.raises(VersionConflictError, match=r"no session has read or written.*written; read the item"):
        await session.save(Open(id="a"))


async def test_what_is_stored_as_text_and_changed_in_place_is_saved(session):
    await session.put(Settings(id="a", choices={"x": [1]}))
    found = await session.get(Settings, "a")
    found.choices["x"].append(2)
    await session.save(found)
    assert await session.get(Settings, "a") == Settings(id="a", choices={"x": [1, 2]})


async def test_an_upsert_in_a_transaction_begins_counting_and_listing(session):
    for _ in range(2):
        async with session.transaction() as tx:
            (
                tx.update(Settings, "a")
                .set(Settings.count, Settings.count.if_not_exists(10) + 1)
                .set(Settings.words, Settings.words.append(["x"]))
                .upsert()
            )
    assert await session.get(Settings, "a") == Settings(id="a", count=12, words=["x", "x"])


async def test_an_instance_that_lacks_a_field_is_not_saved(session):
    found = await session.put(Settings(id="a", count=5))
    del found.count
    with pytest.raises(EncodeError, match="count"):
        await session.save(found)
    assert (await session.get(Settings, "a")).count == 5
