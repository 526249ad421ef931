"""Upgrades on real engines: whatever reads an older item gives a present one, and saving it stores that."""

import asyncio

import pytest
import pytest_asyncio

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    Get,
    GlobalIndex,
    Model,
    PartitionKey,
    Prefix,
    Put,
    Query,
    Save,
    SortKey,
    StoredItem,
    Table,
    TransactGet,
    Update,
    Version,
    attr,
    include,
    path,
    template,
    upgrade,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ItemUpgradeError,
    ItemValidationError,
    ItemVersionError,
    TransactionCanceledError,
    VersionConflictError,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


class OldCustomer(Model, table="customers"):
    """As the first release wrote it."""

    shop: PartitionKey[str]
    number: SortKey[int]
    first: Attr[str]
    last: Attr[str]
    town: Attr[str] = attr(default="")
    memo: Attr[str] = attr(default="kept")


class Customer(Model, table="customers", schema_version=3):
    shop: PartitionKey[str]
    number: SortKey[int]
    name: Attr[str]
    city: Attr[str | None] = attr(default=None)
    visits: Attr[int] = attr(default=0)

    by_city = GlobalIndex(partition_key="city", sort_key="number", projection=include("name"))

    @upgrade(to=2, changes=("first", "last", "name"))
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"

    @upgrade(to=3, changes=("town", "city"))
    @staticmethod
    def city_for_town(item: StoredItem) -> None:
        item["city"] = item.pop("town", None)


class OldCounted(Model, table="counted"):
    key: PartitionKey[str]
    euros: Attr[int] = attr(default=1)
    version: Version[int] = attr(default=0)


class Counted(Model, table="counted", schema_version=2):
    key: PartitionKey[str]
    cents: Attr[int]
    version: Version[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def in_cents(item: StoredItem) -> None:
        item["cents"] = item.pop("euros") * 100


class OldBadge(Model, table="badges"):
    number: PartitionKey[int]
    holder: Attr[str]
    first: Attr[str]
    last: Attr[str]
    rooms: Attr[str] = attr(default="")


class NamelessBadge(Model, table="badges"):
    number: PartitionKey[int]
    holder: Attr[str]


class Badge(Model, table="badges", schema_version=2):
    number: PartitionKey[int]
    holder: Attr[str]
    name: Attr[str]
    rooms: Attr[list[str]] = attr(default_factory=list)

    by_holder = GlobalIndex(partition_key="holder", projection=KEYS_ONLY)

    @upgrade(to=2, changes=("first", "last", "name", "rooms"))
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"
        item["rooms"] = item["rooms"].split()


class NewCustomer(Customer, schema_version=4):
    """As the next release writes it."""

    @upgrade(to=4)
    @staticmethod
    def no_change(item: StoredItem) -> None:
        item["visits"] = item.get("visits", 0)


class LenientCustomer(Customer, accepts=4):
    """As a release reads that knows the next one's items to be readable as they are."""


class NamedCustomer(Customer, schema_version=4):
    """As another next release writes it."""

    @upgrade(to=4)
    @staticmethod
    def in_capitals(item: StoredItem) -> None:
        item["name"] = item["name"].upper()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def session(engine):
    async with engine.session(table_prefix="upgrades-") as opened:
        await opened.tables.create(Customer, Counted, Badge)
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def old(request, session):
    item = OldCustomer(shop=request.node.name, number=1, first="Ada", last="Lovelace", town="London")
    await session.put(item)
    return item


def present(old, **changes):
    return Customer(**{"shop": old.shop, "number": 1, "name": "Ada Lovelace", "city": "London", **changes})


async def stored(session, model, *key):
    """Return the item as it is stored, by way of a refusal."""
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.update(model, *key).set(model.visits, 1).where(model.shop.missing())
    return caught.value.wire_item


async def test_every_read_gives_the_present_version(session, old):
    grace = await session.put(Customer(shop=old.shop, number=2, name="Grace Hopper"))
    wanted = [present(old), grace]

    assert await session.get(Customer, old.shop, 1) == wanted[0]
    assert await session.get_many(Customer, [(old.shop, 1), (old.shop, 2)]) == wanted
    assert await session.query(Customer).where(Customer.shop == old.shop) == wanted
    scanned = await session.scan(Customer).where(Customer.shop == old.shop)
    assert sorted(scanned, key=lambda each: each.number) == wanted
    assert await session.execute(TransactGet(Get(Customer, old.shop, 1))) == (wanted[0],)
    visited = await session.update(Customer, old.shop, 1).set(Customer.visits, 1)
    assert visited == present(old, visits=1)


async def test_what_a_write_replaced_and_what_a_refusal_shows_is_of_the_present_version_too(session, old):
    assert await session.put(present(old), returning="old") == present(old)
    await session.put(old)
    with pytest.raises(TransactionCanceledError) as cancelled:
        async with session.transaction() as tx:
            tx.create(present(old))
    assert cancelled.value.reasons[0].item == present(old)
    assert await session.delete(Customer, old.shop, 1, returning="old") == present(old)


async def test_items_of_statements_streams_and_exports_are_of_the_present_version_too(session, old):
    select = f'SELECT * FROM "{session.table_name(Customer)}" WHERE shop = ?'
    assert await session.execute_statement(select, [old.shop], into=Customer) == [present(old)]
    image = {"shop": {"S": old.shop}, "number": {"N": "1"}, "first": {"S": "Ada"}, "last": {"S": "Lovelace"}}
    assert Customer.from_wire({**image, "town": {"S": "London"}}) == present(old)


async def test_reading_writes_nothing_and_saving_stores_the_present_version(session, old):
    found = await session.get(Customer, old.shop, 1)
    assert await session.get(OldCustomer, old.shop, 1) == old
    await session.save(found)
    assert await stored(session, Customer, old.shop, 1) == {
        "shop": {"S": old.shop},
        "number": {"N": "1"},
        "name": {"S": "Ada Lovelace"},
        "city": {"S": "London"},
        "memo": {"S": "kept"},
        "schema_version": {"N": "3"},
    }
    found.visits = 2
    await session.save(found)
    assert await session.get(Customer, old.shop, 1) == present(old, visits=2)


async def test_an_update_by_key_leaves_the_version_as_it_is(session, old):
    await session.update(Customer, old.shop, 1).set(Customer.visits, 7)
    item = await stored(session, Customer, old.shop, 1)
    assert "schema_version" not in item
    assert await session.get(Customer, old.shop, 1) == present(old, visits=7)


@pytest.mark.parametrize("known", [False, True], ids=["by key", "of an instance"])
async def test_an_update_of_what_an_upgrade_sets_is_refused_while_the_item_is_behind(session, old, known):
    found = await session.get(Customer, old.shop, 1)
    update = session.update(found) if known else session.update(Customer, old.shop, 1)
    with pytest.raises(ConditionalCheckFailedError, match=r"from version 1.*session\.save\(\)") as refused:
        await update.set(Customer.name, "Augusta")
    assert refused.value.item == present(old)
    await session.save(found)
    await session.update(Customer, old.shop, 1).set(Customer.name, "Augusta")
    await session.upgrade(Customer)
    assert (await session.get(Customer, old.shop, 1)).name == "Augusta"


class Lodger(Model, table="customers", schema_version=2):
    """As a release reads whose upgrade names nothing, in the program or beside it."""

    shop: PartitionKey[str]
    number: SortKey[int]
    name_first: Attr[str] = attr(default="")
    memo: Attr[str] = attr(default="")

    @upgrade(to=2)
    @staticmethod
    def renamed(item: StoredItem) -> None:
        for part in ("first", "last"):
            item[f"name_{part}"] = item.pop(part)


@pytest.mark.parametrize("field", ["name_first", "memo"])
async def test_an_update_is_refused_while_the_item_is_behind_where_an_upgrade_does_not_name_what_it_changes(
    session, old, field
):
    update = session.update(Lodger, old.shop, 1).set(getattr(Lodger, field), "Augusta")
    with pytest.raises(ConditionalCheckFailedError, match=r"from version 1.*renamed may change any.*changes="):
        await update
    await session.save(await session.get(Lodger, old.shop, 1))
    await session.update(Lodger, old.shop, 1).set(getattr(Lodger, field), "Augusta")
    assert getattr(await session.get(Lodger, old.shop, 1), field) == "Augusta"


async def test_an_update_of_what_an_upgrade_sets_is_refused_beside_the_version_that_is_expected(session, request):
    key = request.node.name
    await session.put(OldCounted(key=key, euros=3))
    with pytest.raises(ConditionalCheckFailedError, match="from version 1") as refused:
        await session.update(Counted, key).set(Counted.cents, 5).expect_version(1)
    assert not isinstance(refused.value, VersionConflictError)
    assert (await session.get(Counted, key)).cents == 300
    with pytest.raises(VersionConflictError):
        await session.update(Counted, key).set(Counted.cents, 5).expect_version(7)


async def test_an_upsert_of_what_an_upgrade_sets_is_refused_while_the_item_is_behind(session, old):
    await session.save(await session.get(Customer, old.shop, 1))
    with pytest.raises(ConditionalCheckFailedError, match="from version 3"):
        await session.update(NamedCustomer, old.shop, 1).set(NamedCustomer.name, "x").upsert()
    assert (await session.get(Customer, old.shop, 1)).name == "Ada Lovelace"


async def test_of_two_programs_that_save_an_older_item_one_wins(session, old):
    one, other = [await session.get(Customer, old.shop, 1) for _ in range(2)]
    one.visits, other.visits = 1, 2
    saving = [asyncio.ensure_future(session.save(each)) for each in (one, other)]
    await asyncio.wait(saving)
    [lost] = [failure for each in saving if (failure := each.exception()) is not None]
    assert isinstance(lost, ConditionalCheckFailedError)
    assert lost.item == await session.get(Customer, old.shop, 1)


async def test_a_versioned_model_keeps_its_own_version_beside_that_of_the_item(session, request):
    key = request.node.name
    await session.put(OldCounted(key=key, euros=3))
    one, other = [await session.get(Counted, key) for _ in range(2)]
    await session.save(one)
    assert (one.cents, one.version) == (300, 2)
    with pytest.raises(VersionConflictError):
        await session.save(other)
    assert (await session.get(Counted, key)).cents == 300


async def test_upsert_makes_an_item_of_the_present_version(session, request):
    key = (request.node.name, 1)
    await session.update(Customer, *key).set(Customer.name, "new").add(Customer.visits, 1).upsert()
    assert (await stored(session, Customer, *key))["schema_version"] == {"N": "3"}
    await session.update(Customer, *key).add(Customer.visits, 1).set(Customer.name, "newer").upsert()
    assert (await session.get(Customer, *key)).visits == 2


async def test_upsert_of_an_item_of_the_first_version_is_refused_and_says_what_to_do(session, old):
    with pytest.raises(ConditionalCheckFailedError, match="version 1.*upsert.*save") as refused:
        await session.update(Customer, old.shop, 1).set(Customer.name, "x").upsert()
    assert refused.value.item == present(old)
    assert await session.get(OldCustomer, old.shop, 1) == old


async def test_items_of_an_index_that_does_not_hold_all_are_completed_before_they_are_upgraded(session, request):
    city = request.node.name
    half_way = {"shop": city, "number": 1, "first": "Ada", "last": "Lovelace", "town": "London"}
    await session.put(OldCustomer(**half_way))
    await session.update(OldCustomer, city, 1).set(path("city"), city).set(path("name"), "Ada")  # so it is in the index
    [found] = await session.query(Customer).where(Customer.city == city)
    assert (found.name, found.city) == ("Ada Lovelace", "London")


async def test_an_index_of_keys_alone_does_not_take_items_without_a_version_for_the_first(session):
    await session.put(Badge(number=1, holder="ada", name="Ada Lovelace"))
    await session.put(OldBadge(number=2, holder="ada", first="Ada", last="Byron"))
    found = await session.query(Badge).where(Badge.holder == "ada")
    assert {each.number: each.name for each in found} == {1: "Ada Lovelace", 2: "Ada Byron"}


async def test_appending_to_what_an_older_item_stores_as_a_text_says_that_it_is_behind(session):
    await session.put(OldBadge(number=3, holder="ada", first="Ada", last="Byron", rooms="a"))
    with pytest.raises(ConditionalCheckFailedError, match="upgraded from version 1"):
        await session.update(Badge, 3).set(Badge.rooms, Badge.rooms.append(["b"]))


async def test_refreshing_and_replacing_work_on_older_items(session, old):
    found = await session.get(Customer, old.shop, 1)
    assert await session.refresh(found) == present(old)
    await session.replace(present(old, visits=9))
    assert await session.get(Customer, old.shop, 1) == present(old, visits=9)


async def test_a_refused_write_shows_the_present_version_of_the_stored_item(session, old):
    with pytest.raises(ConditionalCheckFailedError) as refused:
        await session.create(present(old))
    assert refused.value.item == present(old)


async def test_an_item_of_a_later_release_is_refused_and_can_be_skipped(session, request):
    key = request.node.name
    await session.put(NewCustomer(shop=key, number=1, name="new"))
    await session.put(Customer(shop=key, number=2, name="present"))
    query = session.query(Customer).where(Customer.shop == key)
    with pytest.raises(ItemVersionError, match="accepts=4") as raised:
        await query
    assert [each.number for each in raised.value.items] == [2]
    assert [each.number for each in await query.invalid("skip")] == [2]


async def test_an_explanation_says_where_conditions_may_miss_older_items():
    plan = Query(Customer).where(Customer.city == "London").explain()
    assert any("before version 3 may differ in city" in hazard for hazard in plan.hazards)
    plan = Query(Customer).where(Customer.shop == "x").explain()
    assert not any("before version" in hazard for hazard in plan.hazards)


async def test_selecting_of_an_older_item_says_that_it_is_not_upgraded_and_what_to_do(session, old):
    query = Query(Customer).where(Customer.shop == old.shop).select(Customer.name)
    assert any("select() and into() read items as they are stored: name" in each for each in query.explain().hazards)
    with pytest.raises(ItemValidationError, match=r"do not upgrade them.*before 3: read whole items, .*upgrade\(Cust"):
        await session.execute(query)
    shops = Query(Customer).where(Customer.shop == old.shop).select(Customer.number)
    assert not any("as they are stored" in each for each in shops.explain().hazards)


async def later_item(session, key):
    """Store an item that newer code has upgraded, and return it as it was read before that."""
    await session.put(Customer(shop=key, number=1, name="present"))
    found = await session.get(Customer, key, 1)
    await session.put(NewCustomer(shop=key, number=1, name="new"))
    return found


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda found: Update(Customer, found.shop, 1).add(Customer.visits, 1), id="update"),
        pytest.param(lambda found: Update(found).add(Customer.visits, 1), id="update of an instance"),
        pytest.param(
            lambda found: Update(Customer, found.shop, 1).set(Customer.name, "lost"), id="of what upgrades make"
        ),
        pytest.param(lambda found: Update(Customer, found.shop, 1).set(Customer.name, "x").upsert(), id="upsert"),
        pytest.param(Save, id="save"),
    ],
)
async def test_what_would_change_an_item_of_a_later_release_is_refused_and_nothing_is_written(session, request, change):
    found = await later_item(session, request.node.name)
    before = await stored(session, NewCustomer, found.shop, 1)
    found.visits += 1
    with pytest.raises(ItemVersionError, match=r"newer code wrote it.*accepts=4.*Nothing was written") as refused:
        await session.execute(change(found))
    assert not refused.value.written
    assert not refused.value.outcome_unknown
    assert await stored(session, NewCustomer, found.shop, 1) == before


async def test_a_transaction_that_would_change_an_item_of_a_later_release_says_so_of_it(session, request):
    found = await later_item(session, request.node.name)
    found.visits += 1
    with pytest.raises(TransactionCanceledError) as refused:
        await session.transact_write([Save(found), Put(Customer(shop=found.shop, number=2, name="other"))])
    assert [type(reason.error) for reason in refused.value.reasons] == [ItemVersionError, type(None)]


async def test_items_of_a_later_release_that_is_accepted_are_saved_and_updated(session, request):
    key = request.node.name
    await session.put(NewCustomer(shop=key, number=1, name="new"))
    found = await session.get(LenientCustomer, key, 1)
    found.visits = 1
    await session.save(found)
    await session.update(LenientCustomer, key, 1).set(LenientCustomer.name, "changed").add(LenientCustomer.visits, 1)
    changed = await session.get(NewCustomer, key, 1)
    assert (changed.name, changed.visits) == ("changed", 2)


async def test_an_update_whose_answer_holds_an_item_that_does_not_fit_says_that_it_was_carried_out(session, request):
    key = request.node.name
    await session.put(NamelessBadge(number=4, holder=key))
    with pytest.raises(ItemUpgradeError, match="the UpdateItem was carried out, so do not send it again") as failed:
        await session.update(Badge, 4).set(Badge.holder, "eve")
    assert failed.value.written
    assert (await session.get(NamelessBadge, 4)).holder == "eve"


class OldPlace(Model, table="places"):
    id: PartitionKey[str]
    town: Attr[str]


class Place(Model, table="places", schema_version=2):
    id: PartitionKey[str]
    city: Attr[str]
    place: Attr[str] = template("city#{city}")
    by_place = GlobalIndex(partition_key="place")

    @upgrade(to=2)
    @staticmethod
    def city_for_town(item: StoredItem) -> None:
        item["city"] = item.pop("town")


async def test_saving_an_older_item_stores_the_computed_keys_of_indexes(session):
    await session.tables.create(Place)
    await session.put(OldPlace(id="1", town="York"))
    await session.save(await session.get(Place, "1"))
    assert [each.id for each in await session.query(Place).where(Place.city == "York")] == ["1"]


def zoo(told_by, kinds):
    """Return the models of a shared table: a base, and of its two subclasses the one with versions, old and new."""
    tables = [Table("zoo", partition_key="id", discriminator=told_by) for _ in range(2)]

    class OldAnimal(Model, table=tables[0], abstract=True):
        id: PartitionKey[str]
        age: Attr[int] = attr(default=1)

    class OldCat(OldAnimal, kind=kinds[0]):
        pass

    class Animal(Model, table=tables[1], abstract=True):
        id: PartitionKey[str]
        age: Attr[int] = attr(default=1)
        name: Attr[str] = attr(default="")

    class Cat(Animal, kind=kinds[0], schema_version=2):
        @upgrade(to=2, changes=("age",))
        @staticmethod
        def in_months(item: StoredItem) -> None:
            item["age"] *= 12

    class Dog(Animal, kind=kinds[1]):
        pass

    class Lion(Cat, kind=kinds[2], schema_version=3):
        @upgrade(to=3, changes=())
        @staticmethod
        def no_change(item: StoredItem) -> None:
            """Change nothing."""

    return OldCat, Animal, Cat, Dog, Lion


@pytest.mark.parametrize(
    ("told_by", "kinds"),
    [("kind", ("cat", "dog", "lion")), (Prefix("id"), ("CAT#", "DOG#", "LION#"))],
    ids=["a marker", "a prefix"],
)
async def test_an_update_through_a_base_looks_at_the_versions_of_the_subclasses(engine, told_by, kinds):
    OldCat, Animal, Cat, Dog, Lion = zoo(told_by, kinds)  # noqa: N806 - they are classes
    tom, rex, leo = (
        f"{kind}{name}" for kind, name in zip(("CAT#", "DOG#", "LION#"), ("tom", "rex", "leo"), strict=True)
    )
    async with engine.session(table_prefix=f"upgrades-{type(told_by).__name__}-") as session:
        await session.tables.create(Animal)
        await session.put_many([OldCat(id=tom), Dog(id=rex), Lion(id=leo, age=40)])
        with pytest.raises(ConditionalCheckFailedError, match="upgraded from version 1"):
            await session.update(Animal, tom).add(Animal.age, 1)
        for key in (tom, rex, leo):
            await session.update(Animal, key).set(Animal.name, "known")
        for key in (rex, leo):
            await session.update(Animal, key).add(Animal.age, 1)
        await session.update(Cat, leo).add(Cat.age, 1)
        found = await session.get_many(Animal, [tom, rex, leo])
        assert [(type(each), each.age, each.name) for each in found] == [
            (Cat, 12, "known"),
            (Dog, 2, "known"),
            (Lion, 42, "known"),
        ]
