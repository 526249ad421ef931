"""Shared tables on real engines: kinds of item, families and entity collections."""

from decimal import Decimal
from typing import Any

import pytest
import pytest_asyncio

from dynamap_async import (
    KEYS_ONLY,
    UNMARKED,
    Attr,
    GlobalIndex,
    Grouped,
    Model,
    PartitionKey,
    Parts,
    Prefix,
    SortKey,
    Table,
    UnknownItem,
    after_read,
    attr,
    include,
    template,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ItemKindError,
    ItemNotFoundError,
    MultipleItemsFoundError,
    OperationError,
    UnprojectedAttributeError,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHOP = Table(
    "shop",
    partition_key="pk",
    sort_key="sk",
    indexes=(
        GlobalIndex("by_status", partition_key="status", sort_key="at", projection=include("kind")),
        GlobalIndex("by_day", partition_key="day", projection=KEYS_ONLY),
    ),
    types={"at": "N"},
)


class Customer(Model, table=SHOP, kind="customer"):
    customer_id: PartitionKey[str]
    sk: SortKey[str] = "0"
    name: Attr[str]


class Order(Model, table=SHOP, kind="order"):
    customer_id: PartitionKey[str]
    number: SortKey[str]
    status: Attr[str | None] = attr(default=None)
    at: Attr[int] = attr(default=0)
    day: Attr[str | None] = attr(default=None)
    total: Attr[Decimal] = attr(default=Decimal(0))


class Line(Model, table=SHOP, kind="line"):
    customer_id: PartitionKey[str]
    sk: SortKey[str]
    amount: Attr[int] = attr(default=1)
    status: Attr[str | None] = attr(default=None)
    at: Attr[int] = attr(default=0)
    day: Attr[str | None] = attr(default=None)


BANK = Table("bank", partition_key="id", discriminator="_type")


class Account(Model, table=BANK, kind=UNMARKED):
    id: PartitionKey[str]
    owner: Attr[str] = attr(default="")
    balance: Attr[int] = attr(default=0)


class Savings(Account, kind="savings"):
    rate: Attr[Decimal] = attr(default=Decimal(1))


class Checking(Account, kind="checking"):
    overdraft: Attr[int] = attr(default=0)
    seen: bool = False

    @after_read
    def see(self) -> None:
        self.seen = True


CLUB = Table("club", partition_key="pk", sort_key="sk")


class Club(Model, table=CLUB, kind="club"):
    club: Attr[str]
    name: Attr[str]
    pk: PartitionKey[str] = template("club#{club}")
    sk: SortKey[str] = template("!")


class Player(Model, table=CLUB, kind="player"):
    club: Attr[str]
    number: Attr[int]
    name: Attr[str]
    pk: PartitionKey[str] = template("club#{club}")
    sk: SortKey[str] = template("player#{number:03d}")


GAME = Table("games", partition_key="PK", sort_key="SK", discriminator=Prefix("SK"))


class Item(Model, table=GAME, kind="ITEM#"):
    player: PartitionKey[str]
    sk: SortKey[str]
    power: Attr[int] = attr(default=1)


class Task(Model, table=GAME, kind="TASK#"):
    player: PartitionKey[str]
    sk: SortKey[str]
    done: Attr[bool] = attr(default=False)


ADA = [
    Customer(customer_id="7", name="Ada"),
    Order(customer_id="7", number="1", status="open", at=1, day="mon"),
    Line(customer_id="7", sk="1#1", amount=3, status="open", at=2, day="mon"),
    Line(customer_id="7", sk="1#2", amount=5),
    Order(customer_id="7", number="2", status="open", at=3),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(engine):
    async with engine.session(table_prefix="shared-") as opened:
        await opened.tables.create(SHOP, Order, Account, Savings, GAME, CLUB, timeout_seconds=30)
        await opened.put_many(ADA)
        await opened.put_many([Customer(customer_id="8", name="Bob"), Order(customer_id="8", number="1")])
        await opened.put_many([Account(id="a"), Savings(id="s", rate=Decimal(2)), Checking(id="c", overdraft=5)])
        await opened.put_many([Item(player="p", sk=f"ITEM#{n}", power=n) for n in (1, 2, 3)])
        await opened.put_many([Task(player="p", sk="TASK#1")])
        yield opened
        await opened.tables.delete(SHOP, BANK, GAME, CLUB)


async def test_one_table_is_made_for_all_of_its_models_with_all_indexes(session):
    for each in (SHOP, Customer, Order):
        description = await session.tables.describe(each)
        assert description.schema.name == "shared-shop"
        assert {index.name for index in description.schema.indexes} == {"by_status", "by_day"}


async def test_a_query_on_one_model_gives_none_of_the_others(session):
    assert await session.query(Order).where(Order.customer_id == "7") == [ADA[1], ADA[4]]
    assert await session.query(Customer).where(Customer.customer_id == "7").one() == ADA[0]
    assert await session.query(Line).where(Line.customer_id == "7").count() == 2


async def test_a_scan_of_one_model_gives_none_of_the_others(session):
    found = await session.scan(Customer)
    assert sorted(each.name for each in found) == ["Ada", "Bob"]


async def test_a_key_of_another_kind_is_an_error_that_names_both(session):
    with pytest.raises(ItemKindError, match="is of the model Customer, not Order") as caught:
        await session.get(Order, "7", "0")
    assert (caught.value.kind, caught.value.key) == ("customer", {"pk": "7", "sk": "0"})
    with pytest.raises(ItemKindError, match="of the model Customer"):
        await session.find(Order, "7", "0")


async def test_an_update_of_another_kind_is_refused_and_says_so(session):
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.update(Order, "7", "0").set(Order.status, "paid")
    assert "is of the model Customer, not Order" in str(caught.value.__notes__)
    with pytest.raises(ConditionalCheckFailedError):
        await session.update(Order, "7", "0").set(Order.status, "paid").upsert()
    assert (await session.get(Customer, "7", "0")).name == "Ada"


async def test_an_update_of_an_absent_item_finds_none_and_an_upsert_stores_the_kind(session):
    with pytest.raises(ItemNotFoundError):
        await session.update(Order, "9", "1").set(Order.status, "paid")
    made = await session.update(Order, "9", "1").set(Order.status, "paid").upsert()
    again = await session.update(Order, "9", "1").set(Order.at, 4).upsert()
    assert (made.status, again.status, again.at) == ("paid", "paid", 4)
    assert await session.query(Order).where(Order.customer_id == "9") == [again]
    await session.delete(again)


async def test_a_read_item_is_saved_by_its_changes_only(session):
    made = await session.create(Order(customer_id="9", number="5"))
    read = await session.get(Order, "9", "5")
    for order in (made, read):
        assert not await unsaved(order)
        order.total += 1
        assert await unsaved(order) == {"total"}
    await session.save(read)
    assert (await session.get(Order, "9", "5")).total == 1
    await session.delete(read)


async def unsaved(item):
    from dynamap_async.models import changes, definition_of

    return set(changes(item, definition_of(type(item))))


async def test_a_transaction_writes_and_reads_several_kinds(session):
    async with session.transaction() as tx:
        tx.put(Customer(customer_id="10", name="Eve"))
        tx.update(Order, "10", "1").set(Order.status, "new").upsert()
    customer, order = await session.transact_get((Customer, "10", "0"), (Order, "10", "1"))
    assert (customer.name, order.status) == ("Eve", "new")
    await session.delete_many([customer, order])


async def test_a_base_reads_its_whole_family_each_item_as_its_own_class(session):
    found = await session.scan(Account)
    assert {type(each) for each in found} == {Account, Savings, Checking}
    assert type(await session.get(Account, "s")) is Savings
    several = await session.get_many(Account, ["a", "c", "s", "none"])
    assert [type(each) for each in several] == [Account, Checking, Savings, type(None)]
    assert [each.id for each in await session.scan(Savings)] == ["s"]


async def test_a_family_member_does_not_read_its_base_or_siblings(session):
    with pytest.raises(ItemKindError, match="is of the model Account, not Savings"):
        await session.get(Savings, "a")
    with pytest.raises(ItemKindError, match="is of the model Checking, not Savings"):
        await session.get(Savings, "c")


async def test_a_base_updates_a_member_which_stays_what_it_is(session):
    updated = await session.update(Account, "s").add(Account.balance, 5).upsert()
    assert (type(updated), updated.balance) == (Savings, 5)
    assert type(await session.get(Account, "s")) is Savings


async def test_hooks_of_a_member_follow_a_read_of_its_base(session):
    assert {each.id: getattr(each, "seen", None) for each in await session.scan(Account)}["c"] is True
    assert (await session.get(Account, "c")).seen is True
    streamed = [each async for each in session.scan(Account)]
    assert {each.id: getattr(each, "seen", None) for each in streamed}["c"] is True


async def test_a_collection_gives_every_model_in_the_order_of_the_key(session):
    query = session.query(Customer, Order, Line).where(Customer.customer_id == "7")
    assert await query == ADA
    assert await query.descending() == ADA[::-1]
    assert [each async for each in query] == ADA
    assert await query.count() == len(ADA)
    assert await query.first() == ADA[0]
    assert await query.limit(3) == ADA[:3]
    with pytest.raises(MultipleItemsFoundError, match="Customer, Order, Line"):
        await query.one()


async def test_a_collection_of_all_models_needs_no_filter_and_one_request(session):
    plan = session.query(Customer, Order, Line).where(Order.customer_id == "7").explain()
    assert (plan.model, plan.filters) == ("Customer, Order, Line", ())
    before = session.statistics()
    await session.query(Customer, Order, Line).where(Order.customer_id == "7")
    assert session.statistics().requests - before.requests == 1


async def test_a_collection_leaves_out_the_models_that_it_does_not_name(session):
    query = session.query(Customer, Line).where(Line.customer_id == "7")
    assert await query == [ADA[0], ADA[2], ADA[3]]
    assert await query.count() == 3


async def test_pages_of_a_collection_go_on_in_the_middle(session):
    query = session.query(Customer, Order, Line).where(Customer.customer_id == "7")
    read: list[Any] = []
    cursor = None
    for size in (2, 2, 1):
        page = await query.page(size=size, after=cursor)
        assert len(page.items) == size
        read += page.items
        cursor = page.cursor
    assert read == ADA


async def test_a_collection_is_grouped_by_class(session):
    grouped = await session.query(Customer, Order, Line).where(Customer.customer_id == "7").grouped()
    assert (grouped[Customer], grouped[Order], grouped[Line]) == ([ADA[0]], [ADA[1], ADA[4]], [ADA[2], ADA[3]])
    page = await session.query(Customer, Order, Line).where(Customer.customer_id == "7").page(size=2)
    assert Grouped(page.items)[Line] == []


async def test_a_scan_of_several_models_gives_each_item_as_its_own_class(session):
    found = await session.scan(Customer, Order)
    assert sorted(map(repr, found)) == sorted(
        map(repr, [*ADA[:2], ADA[4], Customer(customer_id="8", name="Bob"), Order(customer_id="8", number="1")])
    )
    assert await session.scan(Customer, Order).segments(3).count() == 5
    halves = [await session.scan(Customer, Order).segment(number, 2) for number in range(2)]
    assert sorted(repr(item) for half in halves for item in half) == sorted(map(repr, found))
    assert {type(item) for item in await session.scan(Customer, Line).where(Customer.customer_id == "7")} == {
        Customer,
        Line,
    }


async def test_a_scan_of_several_models_is_read_by_page_and_grouped(session):
    scan, cursor, found = session.scan(Customer, Order, Line), None, []
    while True:
        page = await scan.page(size=3, after=cursor)
        found += page.items
        if (cursor := page.cursor) is None:
            break
    assert len(found) == 7
    assert len((await scan.grouped())[Line]) == 2


async def test_a_condition_on_a_common_attribute_filters_all_models(session):
    query = session.query(Order, Line).where(Order.customer_id == "7", Line.status == "open")
    assert await query == [ADA[1], ADA[2], ADA[4]]


async def test_an_index_is_read_through_its_table_and_completed(session):
    query = session.query(Order, Line).where(Order.status == "open").index(SHOP.index("by_status"))
    assert await query == [ADA[1], ADA[2], ADA[4]]
    assert await session.query(Order).where(Order.status == "open", Order.at > 1) == [ADA[4]]


async def test_an_index_without_the_kind_is_completed_before_other_kinds_are_left_out(session):
    query = session.query(Order).where(Order.day == "mon").index(SHOP.index("by_day"))
    assert await query == [ADA[1]]
    assert await query.limit(1) == [ADA[1]]
    with pytest.raises(UnprojectedAttributeError, match="'kind'"):
        await query.count()


async def test_an_index_that_a_model_cannot_be_in_is_refused(session):
    with pytest.raises(OperationError, match="lacks fields of that index's key"):
        session.query(Customer).where(Customer.customer_id == "7").index(SHOP.index("by_status"))


@pytest_asyncio.fixture(loop_scope="module")
async def stranger(session):
    """Store an item of a kind that no model has."""
    raw = Table("shop", partition_key="pk", sort_key="sk")

    class Refund(Model, table=raw, kind="refund"):
        pk: PartitionKey[str]
        sk: SortKey[str]

    await session.put(Refund(pk="7", sk="9"))
    yield
    await session.delete(Refund, "7", "9")


async def test_an_item_of_an_unknown_kind_is_an_error_that_carries_the_others(session, stranger):
    query = session.query(Customer, Order, Line).where(Customer.customer_id == "7")
    with pytest.raises(ItemKindError, match="is of no known model") as caught:
        await query
    assert (caught.value.kind, list(caught.value.items)) == ("refund", ADA)


async def test_an_item_of_an_unknown_kind_is_skipped_or_raw_on_request(session, stranger):
    query = session.query(Customer, Order, Line).where(Customer.customer_id == "7")
    assert await query.unknown("skip") == ADA
    raw = await query.unknown("raw")
    assert raw[:-1] == ADA
    assert raw[-1] == UnknownItem("refund", {"pk": {"S": "7"}, "sk": {"S": "9"}, "kind": {"S": "refund"}})


async def test_a_scan_of_several_models_tells_an_unknown_kind_as_a_query_does(session, stranger):
    with pytest.raises(ItemKindError):
        await session.scan(Customer, Order)
    assert len(await session.scan(Customer, Order).unknown("skip")) == 5
    raw = await session.scan(Customer, Order).unknown("raw").segments(2)
    assert sum(isinstance(item, UnknownItem) for item in raw) == 1


async def test_a_single_model_never_sees_an_unknown_kind(session, stranger):
    assert await session.query(Order).where(Order.customer_id == "7") == [ADA[1], ADA[4]]


async def test_a_prefix_of_the_sort_key_becomes_part_of_the_key_condition(session):
    query = session.query(Item).where(Item.player == "p")
    assert [each.power for each in await query] == [1, 2, 3]
    assert "begins_with" in query.explain().body["KeyConditionExpression"]
    assert query.explain().filters == ()


async def test_a_condition_beside_the_prefix_keeps_other_kinds_out(session):
    assert await session.query(Item).where(Item.player == "p", Item.sk >= "ITEM#3") == [
        Item(player="p", sk="ITEM#3", power=3)
    ]
    query = session.query(Item).where(Item.player == "p", Item.sk.between("ITEM#2", "ITEM#9"))
    assert await query.count() == 2
    assert await session.query(Item).where(Item.player == "p", Item.sk >= "ITEM#1").limit(2).count() == 2


async def test_kinds_by_prefix_are_read_together_and_scanned(session):
    found = await session.query(Item, Task).where(Item.player == "p")
    assert [type(each) for each in found] == [Item, Item, Item, Task]
    assert [type(each) for each in await session.scan(Task)] == [Task]


async def test_computed_keys_and_kinds_go_together(session):
    club = Club(club="a", name="Ajax")
    players = [Player(club="a", number=number, name=f"no. {number}") for number in (7, 10, 101)]
    await session.put_many([*players, club])
    assert await session.query(Club, Player).where(Club.pk == club.pk) == [club, *players]
    assert await session.query(Player).where(Player.pk == "club#a") == players
    read = await session.get(Player, Parts(club="a", number=10))
    read.name = "Ten"
    await session.save(read)
    assert (await session.get(Player, Parts(club="a", number=10))).name == "Ten"
    with pytest.raises(ItemKindError, match="of the model Player, not Club"):
        await session.get(Club, "club#a", "player#007")
