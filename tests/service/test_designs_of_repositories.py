"""Tables as programs in public repositories keep them: declared as they are, asked, and written back to the letter.

The forms of the keys and the names of the attributes are theirs; the values are made up.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, NamedTuple

import pytest
import pytest_asyncio
from pydantic import Field

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Parts,
    Session,
    SortKey,
    Table,
    attr,
    template,
    time_text,
    to_wire,
)
from dynamap_async.errors import EncodeError, ModelDefinitionError
from dynamap_async.wire import WireItem

pytestmark = pytest.mark.asyncio(loop_scope="module")

MILLISECONDS = time_text("%Y-%m-%dT%H:%M:%S.%3fZ")
"""The form of ``Date.toISOString()``."""
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def wire(**values: Any) -> WireItem:
    """Return an item in wire form, of texts, numbers, flags, lists and maps."""
    return {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, dict):
        return {"M": {name: _value(member) for name, member in value.items()}}
    if isinstance(value, list):
        return {"L": [_value(member) for member in value]}
    return {"S": value} if isinstance(value, str) else {"N": str(value)}


# Documents of investment funds: the latest of each kind beside those of earlier days, and what belongs to positions.

FUNDS = Table(
    "investment_fund",
    partition_key="PK",
    sort_key="SK",
    discriminator=None,
    indexes=(
        GlobalIndex("GSI_Entity_Document", partition_key="GSI_PK", sort_key="GSI_SK"),
        GlobalIndex("GSI_Position_Document", partition_key="GSI2_PK", sort_key="GSI2_SK"),
    ),
)


class OfDocument(Model, table=FUNDS, abstract=True):
    document: Attr[str] = attr(stored=False)
    status: Attr[str] = attr(name="Status")
    version: Attr[str] = attr(name="Version")
    pk: PartitionKey[str] = template("{document}")
    sk: SortKey[str]


class LatestDocument(OfDocument):
    entity: Literal["Document"] = attr(name="EntityType", default="Document")
    sk: SortKey[str] = template("DOCUMENT#LATEST")
    found: Attr[str] = template("DOCUMENT#LATEST#{document}", name="GSI_PK")
    what: Attr[str] = template("METADATA", name="GSI_SK")


class EarlierDocument(OfDocument):
    entity: Literal["Document"] = attr(name="EntityType", default="Document")
    day: Attr[date] = attr(stored=False)
    sk: SortKey[str] = template("DOCUMENT#{day}")


class LatestActivity(OfDocument):
    entity: Literal["CapitalActivity"] = attr(name="EntityType", default="CapitalActivity")
    amount: Attr[int] = attr(name="Amount")
    sk: SortKey[str] = template("CAPITAL_ACTIVITY#LATEST")


class EarlierActivity(OfDocument):
    entity: Literal["CapitalActivity"] = attr(name="EntityType", default="CapitalActivity")
    amount: Attr[int] = attr(name="Amount")
    day: Attr[date] = attr(stored=False)
    sk: SortKey[str] = template("CAPITAL_ACTIVITY#{day}")


class OfPosition(OfDocument, abstract=True):
    amount: Attr[int] = attr(name="Amount")
    position: Attr[str] = attr(name="PositionId")
    what: Attr[str] = template("LATEST", name="GSI_SK")
    of_position: Attr[str] = template("{position}", name="GSI2_PK")


class CapitalCall(OfPosition):
    entity: Literal["CapitalCall"] = attr(name="EntityType", default="CapitalCall")
    sk: SortKey[str] = template("CAPITAL_CALL#{position}")
    found: Attr[str] = template("CAPITAL_CALL#{position}#{document}", name="GSI_PK")
    in_document: Attr[str] = template("CAPITAL_CALL#{document}", name="GSI2_SK")


class Distribution(OfPosition):
    entity: Literal["Distribution"] = attr(name="EntityType", default="Distribution")
    sk: SortKey[str] = template("DISTRIBUTION#{position}")
    found: Attr[str] = template("DISTRIBUTION#{position}#{document}", name="GSI_PK")
    in_document: Attr[str] = template("DISTRIBUTION#{document}", name="GSI2_SK")


def _of_position(document: str, kind: str, entity: str, position: str, amount: int) -> WireItem:
    return wire(
        PK=document,
        SK=f"{kind}#{position}",
        EntityType=entity,
        Amount=amount,
        Status="Pending",
        Version="Latest",
        PositionId=position,
        GSI_PK=f"{kind}#{position}#{document}",
        GSI_SK="LATEST",
        GSI2_PK=position,
        GSI2_SK=f"{kind}#{document}",
    )


FUND_ITEMS = [
    wire(
        PK="D1",
        SK="CAPITAL_ACTIVITY#2025-08-15",
        EntityType="CapitalActivity",
        Amount=45,
        Status="Completed",
        Version="H",
    ),
    wire(
        PK="D1",
        SK="CAPITAL_ACTIVITY#LATEST",
        EntityType="CapitalActivity",
        Amount=50,
        Status="Pending",
        Version="Latest",
    ),
    _of_position("D1", "CAPITAL_CALL", "CapitalCall", "POSITION_1", 500),
    _of_position("D1", "CAPITAL_CALL", "CapitalCall", "POSITION_2", 300),
    _of_position("D1", "DISTRIBUTION", "Distribution", "POSITION_1", 75),
    wire(PK="D1", SK="DOCUMENT#2025-09-01", EntityType="Document", Status="Historical", Version="Historical"),
    wire(
        PK="D1",
        SK="DOCUMENT#LATEST",
        EntityType="Document",
        Status="Active",
        Version="Latest",
        GSI_PK="DOCUMENT#LATEST#D1",
        GSI_SK="METADATA",
    ),
    _of_position("D2", "CAPITAL_CALL", "CapitalCall", "POSITION_1", 750),
]
FUND_KINDS = [EarlierActivity, LatestActivity, CapitalCall, CapitalCall, Distribution, EarlierDocument, LatestDocument]
FUND_KINDS += [CapitalCall]


# A shop: an order stands in its customer's partition, its items in partitions of their own that begin with its key.

ORDERS = Table(
    "ecommerce",
    partition_key="PK",
    sort_key="SK",
    discriminator=None,
    indexes=(GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),),
)
Ksuid = Annotated[str, Field(pattern="^[0-9A-Za-z]{27}$")]


class Customer(Model, table=ORDERS):
    name: Attr[str] = attr(stored=False)
    email: Attr[str] = attr(name="Email")
    addresses: Attr[dict[str, str]] = attr(name="Addresses", default_factory=dict)
    pk: PartitionKey[str] = template("CUSTOMER#{name}")
    sk: SortKey[str] = template("CUSTOMER#{name}")


class CustomerEmail(Model, table=ORDERS):
    email: Attr[str] = attr(stored=False)
    pk: PartitionKey[str] = template("CUSTOMEREMAIL#{email}")
    sk: SortKey[str] = template("CUSTOMEREMAIL#{email}")


class Order(Model, table=ORDERS):
    customer: Attr[str] = attr(stored=False)
    id: Attr[Ksuid] = attr(name="OrderId")
    amount: Attr[str] = attr(name="Amount")
    items: Attr[int] = attr(name="NumberItems")
    pk: PartitionKey[str] = template("CUSTOMER#{customer}")
    sk: SortKey[str] = template("#ORDER#{id}")
    found: Attr[str] = template("ORDER#{id}", name="GSI1PK")
    itself: Attr[str] = template("ORDER#{id}", name="GSI1SK")


class OrderItem(Model, table=ORDERS):
    order: Attr[Ksuid] = attr(name="OrderId")
    id: Attr[Ksuid] = attr(name="ItemId")
    price: Attr[int] = attr(name="Price")
    pk: PartitionKey[str] = template("ORDER#{order}#ITEM#{id}")
    sk: SortKey[str] = template("ORDER#{order}#ITEM#{id}")
    of_order: Attr[str] = template("ORDER#{order}", name="GSI1PK")
    in_order: Attr[str] = template("ITEM#{id}", name="GSI1SK")


FIRST, SECOND = "1VrgXBQ0VCshuQUnh1HrDIHQNwY", "1VrgXkT9sEQ3WmZ6zU1mTAbRi3M"
ORDER_ITEMS = [
    wire(PK="CUSTOMER#ann", SK="#ORDER#" + FIRST, OrderId=FIRST, Amount="12.50", NumberItems=1)
    | wire(GSI1PK="ORDER#" + FIRST, GSI1SK="ORDER#" + FIRST),
    wire(PK="CUSTOMER#ann", SK="CUSTOMER#ann", Email="ann@example.org", Addresses={"home": "Kent"}),
    wire(PK="CUSTOMEREMAIL#ann@example.org", SK="CUSTOMEREMAIL#ann@example.org"),
    wire(PK=f"ORDER#{FIRST}#ITEM#{SECOND}", SK=f"ORDER#{FIRST}#ITEM#{SECOND}", OrderId=FIRST, ItemId=SECOND, Price=9)
    | wire(GSI1PK="ORDER#" + FIRST, GSI1SK="ITEM#" + SECOND),
]


# Agents in versions: a pointer to the latest one has a word where the others have their number.

AGENTS = Table(
    "agents",
    partition_key="PK",
    sort_key="SK",
    discriminator=None,
    indexes=(GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),),
)


class Agent(Model, table=AGENTS, abstract=True):
    id: Attr[str] = attr(name="agentId")
    role: Attr[str]
    name: Attr[str]
    tools: Attr[list[str]] = attr(default_factory=list)
    active: Attr[bool] = attr(name="isActive", default=True)
    created: Attr[datetime] = attr(name="createdAt", stored_as=MILLISECONDS)
    pk: PartitionKey[str] = template("AGENT#{id}")
    sk: SortKey[str]
    of_role: Attr[str] = template("ROLE#{role}", name="GSI1PK")


class LatestAgent(Agent):
    version: Attr[str]
    entity: Literal["AGENT_LATEST"] = attr(name="entityType", default="AGENT_LATEST")
    sk: SortKey[str] = template("VERSION#latest")
    newest: Attr[str] = template("VERSION#latest", name="GSI1SK")


class AgentVersion(Agent):
    version: Attr[Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]]
    entity: Literal["AGENT"] = attr(name="entityType", default="AGENT")
    sk: SortKey[str] = template("VERSION#{version}")
    in_role: Attr[str] = template("VERSION#{version}", name="GSI1SK")


def _agent(version: str, key: str, entity: str) -> WireItem:
    return wire(
        PK="AGENT#cfo",
        SK=f"VERSION#{key}",
        GSI1PK="ROLE#finance",
        GSI1SK=f"VERSION#{key}",
        entityType=entity,
        agentId="cfo",
        role="finance",
        name="Fin",
        version=version,
        tools=["ledger"],
        isActive=True,
        createdAt="2026-03-01T12:00:00.000Z",
    )


AGENT_ITEMS = [
    _agent("1.0.0", "1.0.0", "AGENT"),
    _agent("1.1.0", "1.1.0", "AGENT"),
    _agent("1.1.0", "latest", "AGENT_LATEST"),
]


# Songs that people work on together: feeds of one partition in an index, and names in small letters that sort them.

SONGS = Table(
    "songs",
    partition_key="pk",
    sort_key="sk",
    discriminator="entityType",
    indexes=(
        GlobalIndex("GSI1", partition_key="gsi1pk", sort_key="gsi1sk"),
        GlobalIndex("GSI2", partition_key="gsi2pk", sort_key="gsi2sk"),
    ),
)


class Profile(Model, table=SONGS, kind="PROFILE"):
    user: Attr[str] = attr(name="userId")
    username: Attr[str]
    roles: Attr[list[str]]
    pk: PartitionKey[str] = template("USER#{user}")
    sk: SortKey[str] = template("PROFILE")
    feed: Attr[str] = template("PROFILE", name="gsi1pk")
    by_name: Attr[str] = template("{username:lower}#{user}", name="gsi1sk")


class Song(Model, table=SONGS, kind="SONG"):
    id: Attr[str] = attr(name="songId")
    created: Attr[datetime] = attr(name="createdAt", stored_as=MILLISECONDS)
    genre: Attr[str]
    open: Attr[bool]
    artist: Attr[str] = attr(name="artist_id")
    pk: PartitionKey[str] = template("SONG#{id}")
    sk: SortKey[str] = template("METADATA")
    feed: Attr[str] = template("SONG_FEED", name="gsi1pk")
    at: Attr[str] = template("{created}", name="gsi1sk")
    of_user: Attr[str] = template("USER#{artist}", name="gsi2pk")
    made: Attr[str] = template("SONG#{created}#{id}", name="gsi2sk")


class Comment(Model, table=SONGS, kind="COMMENT"):
    id: Attr[str] = attr(name="commentId")
    song: Attr[str] = attr(name="song_id")
    created: Attr[datetime] = attr(name="createdAt", stored_as=MILLISECONDS)
    user: Attr[str]
    comment: Attr[str]
    position: Attr[int] = attr(name="commentPosition")
    pk: PartitionKey[str] = template("SONG#{song}")
    sk: SortKey[str] = template("COMMENT#{created}#{id}")
    feed: Attr[str] = template("COMMENTS_FEED", name="gsi1pk")
    at: Attr[str] = template("{created}", name="gsi1sk")
    of_user: Attr[str] = template("USER#{user}", name="gsi2pk")
    made: Attr[str] = template("COMMENT#{created}#{id}", name="gsi2sk")


class Membership(Model, table=SONGS, kind="CHANNEL_MEMBER"):
    user: Attr[str] = attr(stored=False)
    channel: Attr[str] = attr(name="channelId")
    updated: Attr[datetime] = attr(name="updatedAt", stored_as=MILLISECONDS)
    pk: PartitionKey[str] = template("USER#{user}")
    sk: SortKey[str] = template("CHANNEL#{channel}")


SONG_ITEMS = [
    wire(pk="SONG#s1", sk="COMMENT#2026-03-01T12:00:01.500Z#c1", entityType="COMMENT", commentId="c1", song_id="s1")
    | wire(createdAt="2026-03-01T12:00:01.500Z", user="u1", comment="More bass", commentPosition=31)
    | wire(gsi1pk="COMMENTS_FEED", gsi1sk="2026-03-01T12:00:01.500Z", gsi2pk="USER#u1")
    | wire(gsi2sk="COMMENT#2026-03-01T12:00:01.500Z#c1"),
    wire(pk="SONG#s1", sk="METADATA", entityType="SONG", songId="s1", createdAt="2026-03-01T12:00:00.000Z", genre="dub")
    | wire(open=True, artist_id="u1", gsi1pk="SONG_FEED", gsi1sk="2026-03-01T12:00:00.000Z", gsi2pk="USER#u1")
    | wire(gsi2sk="SONG#2026-03-01T12:00:00.000Z#s1"),
    wire(
        pk="USER#u1", sk="CHANNEL#x", entityType="CHANNEL_MEMBER", channelId="x", updatedAt="2026-03-02T08:00:00.000Z"
    ),
    wire(pk="USER#u1", sk="PROFILE", entityType="PROFILE", userId="u1", username="Ann", roles=["user"])
    | wire(gsi1pk="PROFILE", gsi1sk="ann#u1"),
]


# Shops of several tenants in one table: an order and its numbered items in the tenant's partition.

TENANTS = Table(
    "shop-management",
    partition_key="PK",
    sort_key="SK",
    discriminator=None,
    indexes=(
        GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),
        GlobalIndex("GSI4", partition_key="GSI4PK", sort_key="GSI4SK"),
    ),
)


class Bought(Model, absent_when_none=True):
    id: Attr[str]
    order_id: Attr[str | None] = attr(default=None)
    product_id: Attr[str | None] = attr(default=None)
    quantity: Attr[int | None] = attr(default=None)


class TenantOrder(Model, table=TENANTS):
    tenant: Attr[str] = attr(stored=False)
    order: Attr[str] = attr(stored=False)
    total: Attr[int] = attr(stored=False)
    day: Attr[date] = attr(stored=False)
    entity: Literal["ORDER"] = attr(name="entity_type", default="ORDER")
    data: Attr[Bought]
    pk: PartitionKey[str] = template("TENANT#{tenant}")
    sk: SortKey[str] = template("ORDER#{order}")
    sales: Attr[str] = template("ANALYTICS#{tenant}#{day}", name="GSI4PK")
    sold: Attr[str] = template("SALES#{total}#{order}", name="GSI4SK")


class TenantItem(Model, table=TENANTS, distinct_from=TenantOrder):
    tenant: Attr[str] = attr(stored=False)
    order: Attr[str] = attr(stored=False)
    number: Attr[int] = attr(stored=False)
    product: Attr[str] = attr(stored=False)
    day: Attr[date] = attr(stored=False)
    quantity: Attr[int] = attr(stored=False)
    newest: Attr[str] = attr(name="GSI1SK")
    entity: Literal["ORDER_ITEM"] = attr(name="entity_type", default="ORDER_ITEM")
    data: Attr[Bought]
    pk: PartitionKey[str] = template("TENANT#{tenant}")
    sk: SortKey[str] = template("ORDER#{order}#ITEM#{number:03d}")
    items: Attr[str] = template("TENANT#{tenant}#ORDER_ITEM", name="GSI1PK")
    of_product: Attr[str] = template("PRODUCT#{product}", name="GSI4PK")
    sold: Attr[str] = template("SOLD#{day}#{quantity}", name="GSI4SK")


TENANT_ITEMS = [
    wire(PK="TENANT#t1", SK="ORDER#o-7", entity_type="ORDER", data={"id": "o-7"})
    | wire(GSI4PK="ANALYTICS#t1#2026-03-01", GSI4SK="SALES#25#o-7"),
    wire(PK="TENANT#t1", SK="ORDER#o-7#ITEM#001", entity_type="ORDER_ITEM", GSI1PK="TENANT#t1#ORDER_ITEM")
    | wire(GSI1SK="8228#o-7#ITEM#001", GSI4PK="PRODUCT#p1", GSI4SK="SOLD#2026-03-01#2")
    | wire(data={"id": "o-7#ITEM#001", "order_id": "o-7", "product_id": "p1", "quantity": 2}),
    wire(PK="TENANT#t1", SK="ORDER#o-70", entity_type="ORDER", data={"id": "o-70"})
    | wire(GSI4PK="ANALYTICS#t1#2026-03-01", GSI4SK="SALES#5#o-70"),
]


class Design(NamedTuple):
    """A table, and what is in it, in the order of its keys."""

    table: Table
    items: list[WireItem]
    kinds: list[type[Model]]


DESIGNS = {
    "funds": Design(FUNDS, FUND_ITEMS, FUND_KINDS),
    "orders": Design(ORDERS, ORDER_ITEMS, [Order, Customer, CustomerEmail, OrderItem]),
    "agents": Design(AGENTS, AGENT_ITEMS, [AgentVersion, AgentVersion, LatestAgent]),
    "songs": Design(SONGS, SONG_ITEMS, [Comment, Song, Membership, Profile]),
    "tenants": Design(TENANTS, TENANT_ITEMS, [TenantOrder, TenantItem, TenantOrder]),
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def filled(engine):
    tables = [design.table for design in DESIGNS.values()]
    async with engine.session(table_prefix="of-repositories-") as session:
        await session.tables.create(*tables, timeout_seconds=30)
        await session.put_many([each.table.from_wire(item) for each in DESIGNS.values() for item in each.items])
        yield session
        await session.tables.delete(*tables)


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
async def test_each_item_is_of_its_kind_and_written_back_to_the_letter(design: Design) -> None:
    found = [design.table.from_wire(item) for item in design.items]
    assert [type(each) for each in found] == design.kinds
    assert [to_wire(each) for each in found] == design.items


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
async def test_a_scan_of_all_kinds_gives_the_items_as_they_were(filled: Session, design: Design) -> None:
    models = [*dict.fromkeys(design.kinds)]
    found = await filled.scan(*models)
    keys = design.table.schema.keys.names
    assert sorted(map(to_wire, found), key=lambda item: [item[name]["S"] for name in keys]) == design.items
    for model in models:
        assert {type(each) for each in await filled.scan(model)} == {model}


def items(design: str, *places: int) -> list[WireItem]:
    return [DESIGNS[design].items[place] for place in places]


ASKED: dict[str, tuple[Callable[[Session], Any], list[WireItem], int]] = {
    "all of a document": (
        lambda session: session.query(
            LatestDocument, EarlierDocument, LatestActivity, EarlierActivity, CapitalCall, Distribution
        ).where(LatestDocument.document == "D1"),
        items("funds", 0, 1, 2, 3, 4, 5, 6),
        7,
    ),
    "the latest document": (
        lambda session: session.query(LatestDocument).where(LatestDocument.document == "D1"),
        items("funds", 6),
        1,
    ),
    "documents of some days": (
        lambda session: session.query(EarlierDocument).where(
            EarlierDocument.document == "D1", EarlierDocument.day.between(date(2025, 1, 1), date(2025, 12, 31))
        ),
        items("funds", 5),
        1,
    ),
    "what a position has in all documents": (
        lambda session: session.query(CapitalCall, Distribution).where(CapitalCall.position == "POSITION_1"),
        items("funds", 2, 7, 4),
        3,
    ),
    "a customer and the orders": (
        lambda session: session.query(Customer, Order).where(Customer.name == "ann"),
        items("orders", 0, 1),
        2,
    ),
    "an order and its items": (
        lambda session: session.query(Order, OrderItem).where(Order.id == FIRST),
        items("orders", 3, 0),
        2,
    ),
    "all versions of an agent": (
        lambda session: session.query(LatestAgent, AgentVersion).where(AgentVersion.id == "cfo"),
        items("agents", 0, 1, 2),
        3,
    ),
    "the latest agent of a role": (
        lambda session: session.query(LatestAgent).where(LatestAgent.role == "finance"),
        items("agents", 2),
        1,
    ),
    "a song and its comments": (
        lambda session: session.query(Song, Comment).where(Song.id == "s1"),
        items("songs", 0, 1),
        2,
    ),
    "the feed of songs": (lambda session: session.query(Song).index(SONGS.index("GSI1")), items("songs", 1), 1),
    "profiles by name": (
        lambda session: session.query(Profile).index(SONGS.index("GSI1")),
        items("songs", 3),
        1,
    ),
    "what a user made": (
        lambda session: session.query(Song, Comment).where(Song.artist == "u1"),
        items("songs", 0, 1),
        2,
    ),
    "the sales of a day": (
        lambda session: session.query(TenantOrder).where(
            TenantOrder.tenant == "t1", TenantOrder.day == date(2026, 3, 1)
        ),
        items("tenants", 0, 2),
        2,
    ),
    "what a product sold": (
        lambda session: session.query(TenantItem).where(TenantItem.product == "p1"),
        items("tenants", 1),
        1,
    ),
    "the items of an order": (
        lambda session: session.query(TenantItem).where(TenantItem.tenant == "t1", TenantItem.order == "o-7"),
        items("tenants", 1),
        1,
    ),
}


@pytest.mark.parametrize(("ask", "wanted", "evaluated"), ASKED.values(), ids=ASKED)
async def test_a_question_gives_these_items_and_looks_at_no_others(
    filled: Session, ask: Callable[[Session], Any], wanted: list[WireItem], evaluated: int
) -> None:
    async with filled.scope("asked") as scope:
        found = await ask(filled)
    assert [to_wire(each) for each in found] == wanted
    assert scope.usage.items == evaluated


async def test_what_would_be_taken_for_another_kind_is_not_written(filled: Session) -> None:
    order = await filled.get(TenantOrder, Parts(tenant="t1", order="o-7"))
    with pytest.raises(EncodeError, match="is that of a TenantItem"):
        await filled.put(order.model_copy(update={"order": "o-7#ITEM#002"}))
    with pytest.raises(ValueError, match="should match pattern"):
        AgentVersion(id="cfo", role="finance", name="Fin", version="latest", created=NOON)


async def test_without_what_the_fields_allow_the_kinds_are_refused_with_the_key_of_both() -> None:
    with pytest.raises(
        ModelDefinitionError, match=r"both could have the key {'PK': 'AGENT#x', 'SK': 'VERSION#latest'}"
    ):

        class AnyVersion(Agent):
            version: Attr[str]
            sk: SortKey[str] = template("VERSION#{version}")
