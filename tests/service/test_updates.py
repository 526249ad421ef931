"""Updates as DynamoDB itself carries them out, and the promises of other mappers' tests about them."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any

import pytest
import pytest_asyncio
from pydantic import Field

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Update, Version, attr, path
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ItemNotFoundError,
    ItemValidationError,
    RequestRejectedError,
    TransactionCanceledError,
    VersionConflictError,
)


class Street(Model):
    name: Attr[str]
    number: Attr[int | None] = attr(default=None)


class Address(Model):
    city: Attr[str] = attr(name="c.t y#")
    zip: Attr[str | None] = attr(default=None)
    street: Attr[Street | None] = attr(default=None)


class Shelf(Model):
    tags: Attr[set[str]] = attr(default_factory=set)
    numbers: Attr[set[int]]


class Thing(Model, table="things"):
    id: PartitionKey[str]
    rank: SortKey[int] = attr(name="the rank")
    name: Attr[str] = attr(name="n", default="")
    note: Attr[str | None] = attr(default=None)
    note_or_dash: Attr[str | None] = attr(default="-")
    count: Attr[int] = attr(name="c#1 ü.x", default=0)
    limited: Attr[Annotated[int, Field(ge=0)]] = attr(default=10)
    ratio: Attr[float] = attr(default=0.0)
    price: Attr[Decimal] = attr(default=Decimal(0))
    active: Attr[bool] = attr(default=False)
    blob: Attr[bytes] = attr(default=b"")
    blobs: Attr[set[bytes]] = attr(default_factory=set)
    tags: Attr[set[str]] = attr(default_factory=set)
    numbers: Attr[set[int]] = attr(default_factory=set)
    words: Attr[list[str]] = attr(default_factory=list)
    maybe_words: Attr[list[str] | None] = attr(default=None)
    options: Attr[dict[str, int]] = attr(default_factory=dict)
    address: Attr[Address | None] = attr(default=None)
    places: Attr[list[Address]] = attr(default_factory=list)
    anything: Attr[Any] = attr(default=None)
    shelf: Attr[Shelf | None] = attr(default=None)
    tags_or_none: Attr[set[str] | None] = attr(default=None)
    tags_by_name: Attr[dict[str, set[str]]] = attr(default_factory=dict)
    number_or_none: Attr[int | None] = attr(default=1)
    words_or_none: Attr[list[str] | None] = attr(default_factory=lambda: ["x"])
    status: Attr[str] = attr(default="new")
    by_status = GlobalIndex(partition_key="status")


class Job(Model, table="jobs"):
    id: PartitionKey[str]
    state: Attr[str] = attr(default="new")
    tries: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)


class Stamped(Model, table="stampeds"):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")
    created: Attr[datetime] = attr(on_create=lambda: datetime.now(UTC))
    updated: Attr[datetime] = attr(on_update=lambda: datetime.now(UTC))


class Visited(Model):
    visits: Attr[int] = attr(default=0)
    log: Attr[list[str]] = attr(default_factory=list)


class Lacking(Model, table="lackings"):
    id: PartitionKey[str]
    count: Attr[int] = attr(default=0)
    other: Attr[int] = attr(default=0)
    words: Attr[list[str]] = attr(default_factory=list)
    options: Attr[dict[str, int]] = attr(default_factory=dict)
    deep: Attr[dict[str, dict[str, int]]] = attr(default_factory=dict)
    address: Attr[Visited | None] = attr(default=None)


class Bare(Model, table="lackings"):
    """The same items, as another program writes them: without attributes."""

    id: PartitionKey[str]


@pytest_asyncio.fixture
async def things(session):
    await session.tables.create(Thing)
    await session.put(Thing(id="a", rank=1))
    return session


@pytest_asyncio.fixture
async def jobs(session):
    await session.tables.create(Job)
    return session


def update(session):
    return session.update(Thing, "a", 1)


async def stored(session, key=("a", 1)):
    """Return the item as it is stored, by way of a refusal."""
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.update(Thing, *key).remove(Thing.note).where(Thing.id.missing())
    return caught.value.wire_item


@pytest.mark.asyncio
async def test_one_update_does_everything_at_once(things):
    await things.put(Thing(id="a", rank=1, tags={"old", "kept"}, note="x", words=["b"], count=5, numbers={1}))
    found = await (
        update(things)
        .set(Thing.name, "new")
        .add(Thing.count, 3)
        .set(Thing.words, Thing.words.append(["c"]))
        .add(Thing.numbers, {2})
        .delete(Thing.tags, {"old"})
        .remove(Thing.note)
    )
    assert found == Thing(id="a", rank=1, name="new", count=8, words=["b", "c"], numbers={1, 2}, tags={"kept"})
    assert await things.get(Thing, "a", 1) == found


@pytest.mark.asyncio
async def test_an_update_that_adds_no_members_needs_an_item_and_keeps_its_conditions(things):
    with pytest.raises(ItemNotFoundError):
        await things.update(Thing, "b", 1).add(Thing.tags, set())
    with pytest.raises(ConditionalCheckFailedError):
        await update(things).add(Thing.tags, set()).where(Thing.count == 5)
    assert await update(things).add(Thing.tags, set()).returning("changed") == {}
    assert await things.update(Thing, "c", 1).add(Thing.tags, set()).upsert() == Thing(id="c", rank=1)


@pytest.mark.asyncio
async def test_an_update_that_adds_no_members_may_be_a_part_of_a_transaction(things):
    async with things.transaction() as tx:
        tx.update(Thing, "a", 1).delete(Thing.tags, set())
        tx.update(Thing, "b", 1).add(Thing.tags, set()).upsert()
    assert await things.get(Thing, "a", 1) == Thing(id="a", rank=1)
    assert await things.get(Thing, "b", 1) == Thing(id="b", rank=1)


@pytest.mark.asyncio
async def test_an_update_that_adds_no_members_counts_the_version_as_others_do(jobs):
    await jobs.put(Job(id="a"))
    assert await jobs.update(Job, "a").set_fields({}) == Job(id="a", version=2)


CHANGES = [
    (lambda u: u.add(Thing.count, 4), {"count": 4}),
    (lambda u: u.add(Thing.count, -4), {"count": -4}),
    (lambda u: u.add(Thing.count, -25), {"count": -25}),
    (lambda u: u.add(Thing.ratio, 0.25), {"ratio": 0.25}),
    (lambda u: u.add(Thing.price, Decimal("1.10")), {"price": Decimal("1.1")}),
    (lambda u: u.add(Thing.price, 2), {"price": Decimal(2)}),
    (lambda u: u.set(Thing.count, Thing.count + 2), {"count": 2}),
    (lambda u: u.set(Thing.count, 7 - Thing.count), {"count": 7}),
    (lambda u: u.set(Thing.count, Thing.count - Thing.limited), {"count": -10}),
    (lambda u: u.set(Thing.count, Thing.count.if_not_exists(9)), {}),
    (lambda u: u.set(Thing.note, Thing.note.if_not_exists("first")), {"note": "first"}),
    (lambda u: u.set(Thing.note, Thing.name), {"note": ""}),
    (lambda u: u.set(Thing.count, Thing.limited).set(Thing.limited, Thing.count), {"count": 10, "limited": 0}),
    (lambda u: u.set(Thing.words, Thing.words.append(["b", "c"]).prepend(["a"])), {"words": ["a", "b", "c"]}),
    (lambda u: u.set(Thing.words, Thing.words.append(["a"]).append(["b"])), {"words": ["a", "b"]}),
    (lambda u: u.set(Thing.maybe_words, Thing.maybe_words.append(["a"])), {"maybe_words": ["a"]}),
    (lambda u: u.set(Thing.words, Thing.words.append([])), {}),
    (lambda u: u.set(Thing.words, Thing.words.prepend([]).append(["a"])), {"words": ["a"]}),
    (lambda u: u.add(Thing.tags, set()), {}),
    (lambda u: u.add(Thing.tags, set()).set(Thing.note, "n"), {"note": "n"}),
    (lambda u: u.add(Thing.tags, frozenset()).delete(Thing.numbers, set()), {}),
    (lambda u: u.add(Thing.tags_by_name["x"], set()), {}),
    (lambda u: u.set_fields({}), {}),
    (lambda u: u.set(Thing.maybe_words, Thing.maybe_words.prepend(["a"])), {"maybe_words": ["a"]}),
    (
        lambda u: u.set(Thing.maybe_words, Thing.maybe_words.if_not_exists(["x"]).append(["a"])),
        {"maybe_words": ["x", "a"]},
    ),
    (lambda u: u.set(Thing.words[0], "first"), {"words": ["first"]}),
    (lambda u: u.set(Thing.options["a.b"], 5).set(Thing.options["status"], 6), {"options": {"a.b": 5, "status": 6}}),
    (lambda u: u.set(Thing.options["n"], Thing.options["n"].if_not_exists(1) + 1), {"options": {"n": 2}}),
    (lambda u: u.add(Thing.options["n"], 3), {"options": {"n": 3}}),
    (lambda u: u.set(Thing.places, Thing.places.append([Address(city="x")])), {"places": [Address(city="x")]}),
    (lambda u: u.set(Thing.address, Address(city="x")), {"address": Address(city="x")}),
    (lambda u: u.set(Thing.anything, {"a": [1, None]}), {"anything": {"a": [1, None]}}),
    (lambda u: u.set(Thing.blob, b"\x00\xff\x00"), {"blob": b"\x00\xff\x00"}),
    (lambda u: u.add(Thing.blobs, {b"\x00\xff", b"\xfe"}), {"blobs": {b"\x00\xff", b"\xfe"}}),
    (lambda u: u.set(Thing.blobs, {b"\x00"}), {"blobs": {b"\x00"}}),
    (lambda u: u.set(Thing.tags, set()), {}),
    (lambda u: u.set(Thing.note_or_dash, None), {"note_or_dash": None}),
    (lambda u: u.set(Thing.active, True).set(Thing.name, ""), {"active": True}),
    (lambda u: u.delete(Thing.tags, {"absent"}).remove(Thing.note), {}),
]


@pytest.mark.parametrize(("make", "changed"), CHANGES)
@pytest.mark.asyncio
async def test_a_change_means_to_dynamodb_what_it_says(things, make, changed):
    expected = Thing(id="a", rank=1).model_copy(update=changed)
    assert await make(update(things)) == expected
    assert await things.get(Thing, "a", 1) == expected


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [
        (lambda u: u.add(Thing.count, 5), "count", 5),
        (lambda u: u.add(Thing.limited, 5), "limited", 15),
        (lambda u: u.set(Thing.count, Thing.count.if_not_exists(100) - 1), "count", 99),
        (lambda u: u.set(Thing.words, Thing.words.append(["x"])), "words", ["x"]),
        (lambda u: u.add(Thing.tags, {"x"}), "tags", {"x"}),
        (lambda u: u.set(Thing.note, "x"), "note", "x"),
    ],
)
@pytest.mark.asyncio
async def test_what_is_missing_begins_where_it_reads(things, make, name, value):
    """On an item that is made by the update, and on one without the attributes."""
    found = await make(things.update(Thing, "new", 1).upsert())
    assert getattr(found, name) == value
    found = await make(update(things).upsert())
    await update(things).remove(*(getattr(Thing, each) for each in ("count", "limited", "words", "tags", "note")))
    assert getattr(await make(update(things)), name) == value


@pytest.mark.asyncio
async def test_arithmetic_on_a_missing_number_is_refused_by_dynamodb(things):
    await update(things).remove(Thing.count)
    with pytest.raises(RequestRejectedError):
        await update(things).set(Thing.count, Thing.count + 1)


OTHER_WORDS = pytest.mark.engine_fault("native", "says otherwise than the service that an operand is of a wrong type")


@pytest.mark.asyncio
async def test_members_are_added_to_the_empty_set_of_a_nested_model_and_taken_from_it(things):
    await things.put(Thing(id="a", rank=1, shelf=Shelf(numbers=set())))
    assert (await things.get(Thing, "a", 1)).shelf == Shelf(numbers=set())
    grown = await update(things).add(Thing.shelf.tags, {"x"}).delete(Thing.shelf.numbers, {1})
    assert grown.shelf == Shelf(tags={"x"}, numbers=set())
    emptied = await update(things).set(Thing.shelf.tags, set()).add(Thing.shelf.numbers, {1})
    assert emptied.shelf == Shelf(numbers={1})
    again = await update(things).add(Thing.shelf.tags, {"y"}).delete(Thing.shelf.numbers, {1})
    assert again.shelf == Shelf(tags={"y"}, numbers=set())
    assert await things.query(Thing).where(Thing.id == "a", Thing.shelf.numbers == set()).count() == 1
    [found] = await things.query(Thing).where(Thing.id == "a").select(Thing.shelf.tags, Thing.shelf.numbers)
    assert found == ({"y"}, set())


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda u: u.add(Thing.tags_or_none, {"x"}), "tags_or_none"),
        (lambda u: u.delete(Thing.tags_or_none, {"x"}), "tags_or_none"),
        (lambda u: u.add(Thing.tags_by_name["a"], {"x"}), r"tags_by_name\['a'\]"),
        pytest.param(lambda u: u.add(Thing.number_or_none, 1), "number_or_none", marks=OTHER_WORDS),
        pytest.param(
            lambda u: u.set(Thing.words_or_none, Thing.words_or_none.append(["x"])), "words_or_none", marks=OTHER_WORDS
        ),
    ],
)
@pytest.mark.asyncio
async def test_adding_to_what_is_stored_as_null_or_as_a_list_is_refused_with_the_remedy(things, make, name):
    nothing = {"tags_or_none": set(), "number_or_none": None, "words_or_none": None}
    await things.put(Thing(id="a", rank=1, tags_by_name={"a": set()}, **nothing))
    with pytest.raises(RequestRejectedError) as caught:
        await make(update(things))
    assert re.search(rf"Thing\.{name} holds something else: .* Set a value first: \.set\(", str(caught.value))


@pytest.mark.asyncio
async def test_a_leaf_of_a_nested_model_is_changed_and_its_siblings_stay(things):
    home = Address(city="London", zip="N1", street=Street(name="High", number=1))
    await update(things).set(Thing.address, home).set(Thing.places, [home, home])
    found = await (
        update(things)
        .set(Thing.address.city, "Paris")
        .remove(Thing.address.street.number)
        .set(Thing.places[1].city, "Rome")
    )
    assert found.address == Address(city="Paris", zip="N1", street=Street(name="High"))
    assert found.places == [home, home.model_copy(update={"city": "Rome"})]
    assert (await update(things).set(Thing.address, Address(city="Oslo"))).address == Address(city="Oslo")
    assert (await update(things).set(path(Thing.address), None)).address is None


@pytest.mark.engine_fault("native", "positions are those after the removal before, not those of the stored list")
@pytest.mark.asyncio
async def test_elements_of_a_list_go_by_their_places_before_the_update(things):
    await update(things).set(Thing.words, ["a", "b", "c", "d"])
    assert (await update(things).remove(Thing.words[0], Thing.words[2])).words == ["b", "d"]


@pytest.mark.engine_fault("native", "the list is filled up with NULL until there", raises=ItemValidationError)
@pytest.mark.asyncio
async def test_an_element_behind_the_end_of_a_list_is_appended(things):
    await update(things).set(Thing.words, ["a", "b"])
    assert (await update(things).set(Thing.words[0], "x").set(Thing.words[9], "y")).words == ["x", "b", "y"]


@pytest.mark.asyncio
async def test_none_and_the_empty_set_leave_the_item(things):
    await update(things).set(Thing.note, "x").add(Thing.tags, {"a"}).set(Thing.numbers, {1})
    assert {"note", "tags", "numbers"} <= (await stored(things)).keys()
    await update(things).set(Thing.note, None).delete(Thing.tags, {"a"}).set(Thing.numbers, set())
    assert (await stored(things)).keys().isdisjoint({"note", "tags", "numbers"})
    await update(things).set(Thing.note_or_dash, None)
    assert (await stored(things))["note_or_dash"] == {"NULL": True}


@pytest.mark.asyncio
async def test_stored_names_are_used_for_values_conditions_and_results(things):
    changed = await update(things).set(Thing.name, "x").add(Thing.count, 1).where(Thing.count == 0).returning("changed")
    assert changed == {"name": "x", "count": 1}
    found = await stored(things)
    assert (found["n"], found["c#1 ü.x"], found["the rank"]) == ({"S": "x"}, {"N": "1"}, {"N": "1"})


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (lambda: Thing.active.is_(False), True),
        (lambda: Thing.active.is_(True), False),
        (lambda: Thing.count == 0, True),
        (lambda: Thing.count != 0, False),
        (lambda: Thing.name == "", True),
        (lambda: Thing.note.is_(None), True),
        (lambda: ~Thing.note.is_(None), False),
        (lambda: (Thing.count == 0) & (Thing.count < 1) & ((Thing.count == 0) | (Thing.name == "x")), True),
    ],
)
@pytest.mark.asyncio
async def test_conditions_guard_an_update(things, condition, holds):
    guarded = update(things).set(Thing.count, 0).set(Thing.status, "done").where(condition())
    if holds:
        assert (await guarded).status == "done"
        return
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await guarded
    assert caught.value.item == Thing(id="a", rank=1) == await things.get(Thing, "a", 1)


@pytest.mark.asyncio
async def test_one_nested_path_may_be_set_read_and_tested(things):
    await update(things).set(Thing.address, Address(city="x", street=Street(name="s", number=1)))
    number = Thing.address.street.number
    found = await update(things).set(number, number.if_not_exists(1) + 1).where(number == 1, number < 2, number > 0)
    assert found.address.street.number == 2


@pytest.mark.asyncio
async def test_an_update_of_a_missing_item_is_refused_unless_it_upserts(things):
    with pytest.raises(ItemNotFoundError) as caught:
        await things.update(Thing, "new", 1).set(Thing.name, "x")
    assert caught.value.key == {"id": "new", "rank": 1}
    assert isinstance(caught.value.__cause__, ConditionalCheckFailedError)
    assert await things.find(Thing, "new", 1) is None
    found = await things.update(Thing, "new", 1).set(Thing.name, "x").upsert()
    assert found == Thing(id="new", rank=1, name="x") == await things.get(Thing, "new", 1)


@pytest.mark.asyncio
async def test_an_upsert_stores_what_create_stores(things):
    await things.create(Thing(id="created", rank=1, name="x"))
    await things.update(Thing, "upserted", 1).set(Thing.name, "x").upsert()
    created, upserted = await stored(things, ("created", 1)), await stored(things, ("upserted", 1))
    assert {**created, "id": {"S": "upserted"}} == upserted
    ids = {item.id async for item in things.query(Thing).where(Thing.status == "new")}
    assert ids == {"a", "created", "upserted"}


@pytest.mark.asyncio
async def test_an_upsert_leaves_a_stored_item_as_it_is(things):
    await update(things).set(Thing.status, "done").set(Thing.count, 4)
    assert await update(things).set(Thing.name, "x").upsert() == Thing(id="a", rank=1, status="done", count=4, name="x")


@pytest.mark.asyncio
async def test_an_update_gives_back_what_is_asked_for(things):
    before = await things.get(Thing, "a", 1)
    assert await update(things).set(Thing.count, 1).returning("old") == before
    assert await update(things).set(Thing.count, 2).returning("nothing") is None
    assert await update(things).set(Thing.count, 3).returning("changed") == {"count": 3}
    assert (await update(things).set(Thing.count, 4).returning("new")).count == 4


@pytest.mark.engine_fault("native", "the old values of an item that did not exist are its key")
@pytest.mark.asyncio
async def test_the_old_item_of_one_that_was_made_is_none(things):
    assert await things.update(Thing, "new", 1).set(Thing.count, 1).upsert().returning("old") is None


@pytest.mark.asyncio
async def test_changed_parts_come_as_plain_values(things):
    await update(things).set(Thing.address, Address(city="x", zip="N1"))
    changed = await update(things).set(Thing.address.city, "y").add(Thing.tags, {"a"}).returning("changed")
    assert changed == {"address": {"c.t y#": "y"}, "tags": {"a"}}


@pytest.mark.asyncio
async def test_the_same_value_can_be_carried_out_again(things):
    operation = Update(Thing, "a", 1).add(Thing.count, 1)
    assert [(await things.execute(operation)).count for _ in range(3)] == [1, 2, 3]


@pytest.mark.asyncio
async def test_unknown_attributes_survive_an_update(things):
    class Narrow(Model, table="things"):
        id: PartitionKey[str]
        rank: SortKey[int] = attr(name="the rank")
        status: Attr[str] = attr(default="new")

    await update(things).set(Thing.name, "kept")
    await things.update(Narrow, "a", 1).set(Narrow.status, "done")
    found = await things.get(Thing, "a", 1)
    assert (found.name, found.status) == ("kept", "done")


# Many at once.


@pytest.mark.asyncio
async def test_200_tasks_count_exactly(things):
    async with asyncio.TaskGroup() as group:
        for number in range(200):
            group.create_task(update(things).add(Thing.count, 1).add(Thing.numbers, {number % 50}))
    found = await things.get(Thing, "a", 1, consistent_read=True)
    assert found.count == 200
    assert found.numbers == set(range(50))


@pytest.mark.asyncio
@pytest.mark.parametrize("engine", ["native"], indirect=True)  # moto takes one request at a time
async def test_200_tasks_make_one_item_and_count_exactly(things):
    async with asyncio.TaskGroup() as group:
        for _ in range(200):
            group.create_task(things.update(Thing, "new", 1).add(Thing.count, 1).upsert())
    assert (await things.get(Thing, "new", 1)).count == 200


@pytest.mark.asyncio
async def test_two_sessions_count_exactly(engine, things):
    async with engine.session(table_prefix=things._runner.context.tables.prefix) as other, asyncio.TaskGroup() as group:
        for number in range(100):
            group.create_task(update((things, other)[number % 2]).set(Thing.count, Thing.count + 1))
    assert (await things.get(Thing, "a", 1)).count == 100


@pytest.mark.asyncio
async def test_writers_of_different_fields_and_parts_do_not_disturb_each_other(things):
    await update(things).set(Thing.address, Address(city="x", street=Street(name="s")))
    await things.gather(
        update(things).set(Thing.name, "n"),
        update(things).set(Thing.count, 3),
        update(things).set(Thing.address.city, "y"),
        update(things).set(Thing.address.street.number, 4),
    )
    found = await things.get(Thing, "a", 1)
    assert (found.name, found.count) == ("n", 3)
    assert found.address == Address(city="y", street=Street(name="s", number=4))


# Versions.


@pytest.mark.asyncio
async def test_updates_by_key_count_the_version(jobs):
    await jobs.create(Job(id="a"))
    first = await jobs.get(Job, "a")
    found = await jobs.update(Job, "a").set(Job.state, "x")
    assert found.version == first.version + 1
    with pytest.raises(VersionConflictError) as caught:
        await jobs.update(Job, "a").set(Job.state, "y").expect_version(first.version)
    assert (caught.value.expected, caught.value.stored) == (first.version, found.version)
    assert caught.value.item == found
    assert (await jobs.update(Job, "a").set(Job.state, "y").expect_version(found.version)).state == "y"


@pytest.mark.asyncio
async def test_updates_of_an_item_check_its_version_and_move_it_on(jobs):
    await jobs.create(Job(id="a"))
    mine, theirs = await jobs.get(Job, "a"), await jobs.get(Job, "a")
    assert await jobs.update(mine).add(Job.tries, 1) is mine
    assert (mine.tries, mine.version) == (1, theirs.version + 1)
    assert mine == await jobs.get(Job, "a")
    with pytest.raises(VersionConflictError):
        await jobs.update(theirs).add(Job.tries, 1)
    assert theirs.version == mine.version - 1
    await jobs.update(mine).set(Job.state, "x")
    await jobs.put(mine)
    assert (await jobs.get(Job, "a")).state == "x"


@pytest.mark.asyncio
async def test_an_item_from_before_its_model_had_a_version_gets_one(jobs):
    class Old(Model, table="jobs"):
        id: PartitionKey[str]
        state: Attr[str] = attr(default="new")

    await jobs.put(Old(id="a"))
    item = await jobs.get(Job, "a")
    assert item.version == 0
    assert (await jobs.update(item).set(Job.state, "x")).version == 1
    await jobs.put(Old(id="b"))
    assert (await jobs.update(Job, "b").set(Job.state, "x")).version == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("engine", ["native"], indirect=True)  # moto takes one request at a time
async def test_200_tasks_with_one_version_change_it_once(jobs):
    await jobs.create(Job(id="a"))
    version = (await jobs.get(Job, "a")).version

    async def attempt(number):
        try:
            await jobs.update(Job, "a").set(Job.tries, number).expect_version(version)
        except VersionConflictError:
            return 0
        return 1

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(attempt(number)) for number in range(200)]
    assert sum(task.result() for task in tasks) == 1
    assert (await jobs.get(Job, "a")).version == version + 1


# Times of writing.


@pytest.mark.asyncio
async def test_the_time_of_creation_is_kept_and_that_of_change_is_renewed(session):
    await session.tables.create(Stamped)
    first = await session.update(Stamped, "a").set(Stamped.text, "x").upsert()
    second = await session.update(Stamped, "a").set(Stamped.text, "y").upsert()
    assert first.created == second.created
    assert second.updated >= first.updated >= first.created - timedelta(seconds=1)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("change", "remedies"),
    [
        (
            lambda u: u.add(Lacking.options["x"], 1),
            ["Lacking.options, in which", ".set(Lacking.options, Lacking.options.if_not_exists({}))"],
        ),
        (lambda u: u.set(Lacking.options["x"], 1), ["the update changes Lacking.options['x']"]),
        (
            lambda u: u.set(Lacking.deep["a"]["b"], 1),
            [
                "Lacking.deep or Lacking.deep['a'], in which the update changes Lacking.deep['a']['b']",
                ".set(Lacking.deep, Lacking.deep.if_not_exists({})), then .set(Lacking.deep['a'], Lacking.deep['a'].if",
            ],
        ),
        (
            lambda u: u.add(Lacking.address.visits, 1),
            [".set(path(Lacking.address), path(Lacking.address).if_not_exists(Visited(...)))"],
        ),
        (
            lambda u: u.set(Lacking.address.log, Lacking.address.log.append(["a"])),
            ["does not have Lacking.address, in"],
        ),
        (lambda u: u.set(Lacking.words[0], "x"), [".set(Lacking.words, Lacking.words.if_not_exists([]))"]),
        (lambda u: u.set(path("unknown")["x"], 1), ["does not have path('unknown'), in which"]),
    ],
)
async def test_a_change_inside_of_what_the_item_lacks_says_what_to_make_first(session, change, remedies):
    await session.tables.create(Lacking)
    await session.put(Bare(id="a"))
    with pytest.raises(RequestRejectedError, match="document path") as caught:
        await change(session.update(Lacking, "a"))
    for remedy in remedies:
        assert remedy in str(caught.value)


@pytest.mark.asyncio
async def test_what_is_made_first_can_then_be_changed(session):
    await session.tables.create(Lacking)
    await session.put(Bare(id="a"))
    await session.update(Lacking, "a").set(Lacking.deep, Lacking.deep.if_not_exists({}))
    await session.update(Lacking, "a").set(Lacking.deep["a"], Lacking.deep["a"].if_not_exists({}))
    found = await session.update(Lacking, "a").add(Lacking.deep["a"]["b"], 2)
    assert found.deep == {"a": {"b": 2}}


@pytest.mark.asyncio
async def test_a_value_that_the_item_lacks_says_how_to_begin(session):
    await session.tables.create(Lacking)
    await session.put(Bare(id="a"))
    with pytest.raises(RequestRejectedError, match=r"not have Lacking.count, whose .*: Lacking.count.if_not_exists"):
        await session.update(Lacking, "a").set(Lacking.count, Lacking.count + 1)
    with pytest.raises(RequestRejectedError, match=r"does not have Lacking.other, .*: Lacking.other.if_not_exists"):
        await session.update(Lacking, "a").set(Lacking.count, Lacking.other)


@pytest.mark.asyncio
async def test_a_transaction_says_what_to_make_first(session):
    await session.tables.create(Lacking)
    await session.put(Bare(id="a"))
    made = re.escape(".set(Lacking.options, Lacking.options.if_not_exists({}))")
    with pytest.raises(TransactionCanceledError, match=made):
        async with session.transaction() as tx:
            tx.update(Lacking, "a").add(Lacking.options["x"], 1)
