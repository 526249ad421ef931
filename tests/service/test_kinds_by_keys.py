"""Tables whose kinds the keys tell, as DynamoDB itself answers for them."""

from typing import Annotated, Any, Literal

import pytest
import pytest_asyncio
from pydantic import Field

from dynamap_async import (
    BY_KEYS,
    UNMARKED,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Parts,
    SortKey,
    Table,
    attr,
    template,
)
from dynamap_async.errors import EncodeError, ItemKindError

pytestmark = pytest.mark.asyncio(loop_scope="module")

GAMES = Table("games", partition_key="pk", sort_key="sk", discriminator=None)


class Game(Model, table=GAMES):
    game: Attr[str]
    title: Attr[str] = attr(default="")
    pk: PartitionKey[str] = template("GAME#{game}")
    sk: SortKey[str] = template("META")


class Move(Model, table=GAMES):
    game: Attr[str] = attr(stored=False)
    number: Attr[int] = attr(stored=False)
    pk: PartitionKey[str] = template("GAME#{game}")
    sk: SortKey[str] = template("v{number:04d}")


class Notes(Model, table=GAMES):
    game: Attr[str]
    author: Attr[str]
    pk: PartitionKey[str] = template("GAME#{game}")
    sk: SortKey[str] = template("{author}#notes")


class Player(Model, table=GAMES):
    name: Attr[str]
    pk: PartitionKey[str] = template("PLAYER#{name}")
    sk: SortKey[str] = template("PLAYER#{name}")


YEARS = Table("years", partition_key="pk", sort_key="sk", discriminator=None)


class Summary(Model, table=YEARS):
    pk: PartitionKey[str]
    year: Attr[int]
    text: Attr[str]
    sk: SortKey[str] = template("{year:04d}#{text}")


class Head(Model, table=YEARS):
    pk: PartitionKey[str]
    sk: SortKey[str] = template("HEAD")


MIXED = Table("mixed", partition_key="pk", sort_key="sk", discriminator="type")


class Order(Model, table=MIXED, kind="order"):
    pk: PartitionKey[str]
    sk: SortKey[str]


class Cart(Model, table=MIXED, kind=BY_KEYS):
    user: Attr[str]
    pk: PartitionKey[str] = template("{user}")
    sk: SortKey[str] = template("CART")


class Rest(Model, table=MIXED, kind=UNMARKED):
    pk: PartitionKey[str]
    sk: SortKey[str]


ITEMS = [
    Game(game="1", title="one"),
    Move(game="1", number=1),
    Move(game="1", number=2),
    Notes(game="1", author="ann"),
    Notes(game="1", author="v0001"),
    Game(game="2"),
    Player(name="ann"),
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def filled(engine):
    async with engine.session(table_prefix="by-keys-") as session:
        await session.tables.create(GAMES, MIXED, YEARS, timeout_seconds=30)
        await session.put_many([*ITEMS, Order(pk="u", sk="1"), Cart(user="u"), Rest(pk="u", sk="2")])
        yield session
        await session.tables.delete(GAMES, MIXED, YEARS)


@pytest.mark.parametrize("model", [Game, Move, Notes, Player])
async def test_a_scan_gives_items_of_its_model_only(filled, model):
    own = [item for item in ITEMS if isinstance(item, model)]
    assert sorted(await filled.scan(model), key=repr) == sorted(own, key=repr)
    assert await filled.scan(model).count() == len(own)


@pytest.mark.parametrize("model", [Game, Move, Notes])
async def test_a_query_gives_items_of_its_model_only(filled, model):
    query = filled.query(model).where(model.game == "1")
    own = [item for item in ITEMS if isinstance(item, model) and item.game == "1"]
    assert sorted(await query, key=repr) == sorted(own, key=repr)
    assert await query.count() == len(own)
    assert await query.first() in own


async def test_selected_values_are_those_of_the_model(filled):
    assert await filled.query(Notes).where(Notes.game == "1").select(Notes.author) == [("ann",), ("v0001",)]


async def test_a_collection_gives_each_item_as_its_own_class(filled):
    found = await filled.query(Game, Move, Notes).where(Game.game == "1")
    assert [type(item).__name__ for item in found] == ["Game", "Notes", "Move", "Notes", "Move"]
    assert [type(each) for each in await filled.query(Game, Move).where(Game.game == "1")] == [Game, Move, Move]


async def test_a_key_of_another_model_is_refused_without_a_request(filled):
    before = filled.statistics().requests
    with pytest.raises(EncodeError, match="is that of a Game"):
        await filled.get(Move, "GAME#1", "META")
    assert filled.statistics().requests == before


async def test_writes_by_key_keep_to_the_model(filled):
    await filled.update(Game, Parts(game="2")).set(Game.title, "two")
    assert (await filled.get(Game, Parts(game="2"))).title == "two"
    await filled.update(Game, Parts(game="2")).set(Game.title, "")


async def test_an_item_of_no_known_kind_is_no_item_of_any_model(filled):
    strange = f"INSERT INTO \"{filled.table_name(Game)}\" VALUE {{'pk': 'GAME#9', 'sk': 'LOG'}}"
    await filled.execute_statement(strange)
    try:
        assert await filled.query(Game).where(Game.game == "9") == []
        with pytest.raises(ItemKindError, match="is of no known model"):
            await filled.query(Game, Move, Notes).where(Game.game == "9")
    finally:
        await filled.execute_statement(f"DELETE FROM \"{filled.table_name(Game)}\" WHERE pk = 'GAME#9' AND sk = 'LOG'")


async def test_a_range_in_which_no_key_can_lie_sends_no_request(filled):
    before = filled.statistics().requests
    query = filled.query(Move).where(Move.game == "1", Move.number > 9999)
    assert (await query, await query.count(), await query.first()) == ([], 0, None)
    assert (await query.page(size=2)).cursor is None
    assert filled.statistics().requests == before


async def test_marked_derived_and_unmarked_models_are_read_apart_and_together(filled):
    for model, sort in ((Order, "1"), (Cart, "CART"), (Rest, "2")):
        assert [item.sk for item in await filled.query(model).where(model.pk == "u")] == [sort]
        assert [item.sk for item in await filled.scan(model)] == [sort]
        assert await filled.scan(model).count() == 1
    found = await filled.query(Order, Cart, Rest).where(Order.pk == "u")
    assert [type(each) for each in found] == [Order, Rest, Cart]
    assert [type(each) for each in await filled.query(Order, Rest).where(Order.pk == "u")] == [Order, Rest]


async def test_a_key_that_begins_with_digits_is_told_from_one_that_does_not(filled):
    items = [Summary(pk="p", year=2026, text="x"), Head(pk="p")]
    await filled.put_many(items)
    assert await filled.scan(Summary) == items[:1]
    assert await filled.query(Summary).where(Summary.pk == "p") == items[:1]


def orders(name: str, *, order_id: Any = str, distinct: bool = False, kind: Any = None) -> tuple[Table, Any, Any]:
    """Return a table of orders and their lines, whose keys differ in what follows the order's id."""
    table = Table(name, partition_key="pk", sort_key="sk", discriminator=None)

    class Order(Model, table=table, **({} if kind is None else {"kind": kind})):
        customer: Attr[str]
        n: Attr[order_id]
        pk: PartitionKey[str] = template("C#{customer}")
        sk: SortKey[str] = template("ORDER#{n}")

    class Line(Model, table=table, **({"distinct_from": Order} if distinct else {})):
        customer: Attr[str]
        n: Attr[order_id]
        k: Attr[int]
        pk: PartitionKey[str] = template("C#{customer}")
        sk: SortKey[str] = template("ORDER#{n}#ITEM#{k}")

    return table, Order, Line


ULID = "01M8FPCXF7C77E3SF8ENVCTR1M"


@pytest.mark.parametrize(
    "declared",
    [
        {"order_id": Annotated[str, Field(pattern="^[0-9A-Z]{26}$")]},
        {"order_id": Annotated[str, Field(pattern="^[^#]+$")]},
        {"distinct": True},
        {"kind": UNMARKED},
    ],
    ids=["by the length of the id", "by an id without the separator", "declared distinct", "an unmarked parent"],
)
async def test_parents_and_children_whose_keys_begin_alike_are_told_where_they_are_written_and_read(
    declared, filled
) -> None:
    table, order_model, line_model = orders("orders", **declared)
    await filled.tables.create(table)
    try:
        order, line = order_model(customer="a", n=ULID), line_model(customer="a", n=ULID, k=1)
        await filled.put_many([order, line])
        assert await filled.query(order_model, line_model).where(order_model.customer == "a") == [order, line]
        assert await filled.query(order_model).where(order_model.customer == "a") == [order]
        assert await filled.scan(line_model) == [line]
        assert await filled.get(order_model, Parts(customer="a", n=ULID)) == order
    finally:
        await filled.tables.delete(table)


async def test_the_latest_version_and_its_history_are_told_by_the_least_number(filled) -> None:
    table = Table("versions", partition_key="pk", sort_key="sk", discriminator=None)

    class Latest(Model, table=table):
        id: Attr[str] = attr(stored=False)
        latest: Attr[int]
        pk: PartitionKey[str] = template("{id}")
        sk: SortKey[str] = template("v0")

    class Version(Model, table=table):
        id: Attr[str] = attr(stored=False)
        number: Attr[Annotated[int, Field(ge=1)]] = attr(stored=False)
        pk: PartitionKey[str] = template("{id}")
        sk: SortKey[str] = template("v{number}")

    await filled.tables.create(table)
    try:
        await filled.put_many([Latest(id="a", latest=2), Version(id="a", number=1), Version(id="a", number=2)])
        assert await filled.scan(Latest) == [Latest(id="a", latest=2)]
        found = await filled.query(Version).where(Version.id == "a")
        assert found == [Version(id="a", number=1), Version(id="a", number=2)]
        everything = await filled.query(Latest, Version).where(Latest.id == "a")
        assert [type(each) for each in everything] == [Latest, Version, Version]
    finally:
        await filled.tables.delete(table)


async def test_a_scan_finds_items_of_one_partition_key_that_is_spread_over_shards(filled) -> None:
    table = Table("spread", partition_key="pk", sort_key="sk", discriminator=None)

    class Hot(Model, table=table):
        pk: PartitionKey[Literal["hot"]] = attr(shards=4)
        sk: SortKey[str]

    class Cold(Model, table=table):
        pk: PartitionKey[Literal["cold"]]
        sk: SortKey[str]

    await filled.tables.create(table)
    try:
        hot = [Hot(pk="hot", sk=f"{number}") for number in range(8)]
        await filled.put_many([*hot, Cold(pk="cold", sk="1")])
        assert sorted(await filled.scan(Hot), key=repr) == hot
        assert await filled.scan(Cold) == [Cold(pk="cold", sk="1")]
    finally:
        await filled.tables.delete(table)


@pytest.mark.parametrize("wanted", [1, 3])
async def test_a_limit_in_a_table_that_keys_tell_asks_for_as_many_as_are_wanted_and_then_goes_on(
    filled, wanted: int
) -> None:
    table = Table(
        "limited",
        partition_key="pk",
        sort_key="sk",
        discriminator=None,
        indexes=(GlobalIndex("inverted", partition_key="sk", sort_key="pk"),),
    )

    class Bought(Model, table=table):
        number: Attr[int]
        pk: PartitionKey[str] = template("{number:04d}")
        sk: SortKey[str] = template("ORDER")

    class Contact(Model, table=table, kind=UNMARKED):
        pk: PartitionKey[str]
        sk: SortKey[str]

    await filled.tables.create(table)
    try:
        bought = [Bought(number=number) for number in range(10)]
        await filled.put_many([*bought, *(Contact(pk=f"000{number}x", sk="ORDER") for number in (0, 1))])
        asked = filled.query(Bought).index(table.index("inverted"))
        async with filled.scope("first") as scope:
            assert await asked.first() == bought[0]
        assert (scope.usage.items, scope.usage.requests) == (1, 1)
        async with filled.scope("with others between") as scope:
            assert await asked.limit(wanted) == bought[:wanted]
        assert scope.usage.requests == {1: 1, 3: 2}[wanted]
        assert [page.items for page in [await asked.page(size=3)]] == [bought[:3]]
    finally:
        await filled.tables.delete(table)
