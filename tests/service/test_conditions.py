"""Conditions as DynamoDB itself evaluates them, against plain Python on the same items."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Model, PartitionKey, attr, path
from dynamap_async.errors import ConditionalCheckFailedError

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Address(Model):
    city: Attr[str] = attr(name="c.t y#")
    number: Attr[int | None] = attr(default=None)


class Thing(Model, table="things"):
    id: PartitionKey[str]
    name: Attr[str] = attr(default="")
    note: Attr[str | None] = attr(default=None)
    count: Attr[int] = attr(default=0)
    price: Attr[Decimal] = attr(default=Decimal(0))
    active: Attr[bool] = attr(default=False)
    blob: Attr[bytes] = attr(default=b"")
    at: Attr[datetime] = attr(default=NOON)
    colour: Attr[Colour] = attr(default=Colour.RED)
    tags: Attr[set[str]] = attr(default_factory=set)
    numbers: Attr[set[int]] = attr(default_factory=set)
    tags_or_none: Attr[set[str] | None] = attr(default=None)
    tags_or_default: Attr[set[str] | None] = attr(default_factory=lambda: {"x"})
    history: Attr[list[str]] = attr(default_factory=list)
    options: Attr[dict[str, int]] = attr(default_factory=dict)
    address: Attr[Address | None] = attr(default=None)
    status: Attr[str] = attr(default="new")
    other: Attr[int] = attr(default=0)


ITEMS = [
    Thing(id="bare"),
    Thing(
        id="full",
        name="fullness",
        note="n",
        count=5,
        price=Decimal("1.50"),
        active=True,
        blob=b"\x00\xff\x01",
        at=NOON + timedelta(days=1),
        colour=Colour.BLUE,
        tags={"a", "b"},
        numbers={1, 2},
        tags_or_none={"a"},
        tags_or_default={"a"},
        history=["first", "second"],
        options={"a.b": 1, "status": 2},
        address=Address(city="London", number=7),
        status="done",
        other=5,
    ),
    Thing(id="empty", note="", tags_or_none=set(), tags_or_default=set(), history=[""], address=Address(city="")),
    Thing(id="none", tags_or_default=None, count=-1, other=-2, address=Address(city="Paris"), name="full"),
]


CONDITIONS = [
    (Thing.name == "fullness", lambda t: t.name == "fullness"),
    (Thing.name == "", lambda t: t.name == ""),
    (Thing.name != "", lambda t: t.name != ""),
    (Thing.name > "a", lambda t: t.name > "a"),
    (Thing.count == 0, lambda t: t.count == 0),
    (Thing.count < 0, lambda t: t.count < 0),
    (Thing.count <= 0, lambda t: t.count <= 0),
    (Thing.count > 0, lambda t: t.count > 0),
    (Thing.count >= 5, lambda t: t.count >= 5),
    (Thing.count.between(-1, 0), lambda t: -1 <= t.count <= 0),
    (Thing.count.is_in(0, 5), lambda t: t.count in (0, 5)),
    (~Thing.count.is_in(0, 5), lambda t: t.count not in (0, 5)),
    (Thing.count.is_in(*range(5, 305)), lambda t: t.count in range(5, 305)),
    (~Thing.count.is_in(*range(5, 305)), lambda t: t.count not in range(5, 305)),
    ((Thing.name != "") & Thing.count.is_in(*range(5, 305)), lambda t: t.name and t.count in range(5, 305)),
    (Thing.count.is_in(), lambda t: False),
    (~Thing.count.is_in(), lambda t: True),
    (Thing.count.is_in() | (Thing.count == 5), lambda t: t.count == 5),
    (Thing.count.between(5, 0), lambda t: False),
    (~Thing.count.between(5, 0) & (Thing.count == 5), lambda t: t.count == 5),
    (Thing.name.size().between(5, 0) | (Thing.count == 5), lambda t: t.count == 5),
    (Thing.name.size().is_in(), lambda t: False),
    (Thing.price == Decimal("1.5"), lambda t: t.price == Decimal("1.5")),
    (Thing.price >= 1, lambda t: t.price >= 1),
    (Thing.active.is_(False), lambda t: t.active is False),
    (Thing.active.is_(True), lambda t: t.active is True),
    (Thing.blob == b"", lambda t: t.blob == b""),
    (Thing.blob > b"\x00", lambda t: t.blob > b"\x00"),
    (Thing.blob.begins_with(b"\x00\xff"), lambda t: t.blob.startswith(b"\x00\xff")),
    (Thing.blob.contains(b"\xff"), lambda t: b"\xff" in t.blob),
    (Thing.at > NOON, lambda t: t.at > NOON),
    (Thing.colour == Colour.BLUE, lambda t: t.colour is Colour.BLUE),
    (Thing.colour.is_in(*Colour), lambda t: True),
    (Thing.note.is_(None), lambda t: t.note is None),
    (~Thing.note.is_(None), lambda t: t.note is not None),
    (Thing.note.exists(), lambda t: t.note is not None),
    (Thing.note.missing(), lambda t: t.note is None),
    (Thing.note == "", lambda t: t.note == ""),
    (Thing.note != "n", lambda t: t.note != "n"),
    (Thing.note.is_in("", None), lambda t: t.note in ("", None)),
    (Thing.tags == set(), lambda t: t.tags == set()),
    (Thing.tags != set(), lambda t: t.tags != set()),
    (Thing.tags == {"b", "a"}, lambda t: t.tags == {"a", "b"}),
    (Thing.tags.contains("a"), lambda t: "a" in t.tags),
    (Thing.numbers.contains(2), lambda t: 2 in t.numbers),
    (Thing.tags_or_none.is_(None), lambda t: t.tags_or_none is None),
    (Thing.tags_or_none == set(), lambda t: t.tags_or_none == set()),
    (Thing.tags_or_default.is_(None), lambda t: t.tags_or_default is None),
    (Thing.tags_or_default == set(), lambda t: t.tags_or_default == set()),
    (Thing.tags_or_default == {"x"}, lambda t: t.tags_or_default == {"x"}),
    (Thing.history == [], lambda t: t.history == []),
    (Thing.history.contains("second"), lambda t: "second" in t.history),
    (Thing.history[0] == "first", lambda t: t.history[:1] == ["first"]),
    (Thing.history[1].exists(), lambda t: len(t.history) > 1),
    (Thing.history.size() == 2, lambda t: len(t.history) == 2),
    (Thing.options == {}, lambda t: t.options == {}),
    (Thing.options["a.b"] == 1, lambda t: t.options.get("a.b") == 1),
    (Thing.options["status"] > 1, lambda t: t.options.get("status", 0) > 1),
    (path(Thing.address).is_(None), lambda t: t.address is None),
    (Thing.address == Address(city="Paris"), lambda t: t.address == Address(city="Paris")),
    (Thing.address.city == "London", lambda t: t.address is not None and t.address.city == "London"),
    (Thing.address.city.begins_with("P"), lambda t: t.address is not None and t.address.city.startswith("P")),
    (Thing.address.number.is_(None), lambda t: t.address is None or t.address.number is None),
    (Thing.address.number > 5, lambda t: t.address is not None and (t.address.number or 0) > 5),
    (Thing.status == "done", lambda t: t.status == "done"),
    (Thing.name.begins_with("full"), lambda t: t.name.startswith("full")),
    (Thing.name.contains("ness"), lambda t: "ness" in t.name),
    (Thing.name.size() > 4, lambda t: len(t.name) > 4),
    (Thing.name.size().between(4, 8), lambda t: 4 <= len(t.name) <= 8),
    (Thing.count == Thing.other, lambda t: t.count == t.other),
    (Thing.count > Thing.other, lambda t: t.count > t.other),
    (Thing.name.size() > Thing.count, lambda t: len(t.name) > t.count),
    (Thing.note.has_type("S"), lambda t: t.note is not None),
    (Thing.tags_or_default.has_type("NULL"), lambda t: t.tags_or_default is None),
    (~(Thing.count == 0) & Thing.active.is_(True), lambda t: t.count != 0 and t.active),
    ((Thing.count == 0) | (Thing.count == 5), lambda t: t.count in (0, 5)),
    (
        (Thing.count < 0) | (Thing.count > 0) & (Thing.name == ""),
        lambda t: t.count < 0 or (t.count > 0 and t.name == ""),
    ),
    (((Thing.count < 0) | (Thing.count > 0)) & (Thing.name == ""), lambda t: t.count != 0 and t.name == ""),
    (~((Thing.count < 0) | (Thing.active == True)), lambda t: not (t.count < 0 or t.active)),  # noqa: E712 - as a program may write it
    (~(~(Thing.count == 5) & (Thing.name != "full")), lambda t: not (t.count != 5 and t.name != "full")),
]
CONDITIONS = [each if hasattr(each, "marks") else pytest.param(*each, id=str(each[0])) for each in CONDITIONS]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(engine):
    async with engine.session(table_prefix=f"c{uuid4().hex[:12]}-") as session:
        await session.tables.create(Thing)
        for item in ITEMS:
            await session.put(item)
        yield session


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("condition", "test"), CONDITIONS)
async def test_a_filter_means_to_dynamodb_what_it_means_to_python(filled, condition, test):
    found = {item.id for item in await filled.scan(Thing).where(condition)}
    assert found == {item.id for item in ITEMS if test(item)}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("condition", "test"), CONDITIONS[::3])
async def test_the_condition_of_a_write_means_what_it_means_to_python(filled, condition, test):
    for item in ITEMS:
        if test(item):
            await filled.put(item, where=condition)
        else:
            with pytest.raises(ConditionalCheckFailedError) as caught:
                await filled.put(item, where=condition)
            assert caught.value.item == item


@pytest.mark.asyncio(loop_scope="module")
async def test_one_condition_serves_many_operations(filled):
    condition = Thing.count == 5
    assert [item.id for item in await filled.scan(Thing).where(condition)] == ["full"]
    assert await filled.scan(Thing).where(condition).count() == 1
    await filled.put(ITEMS[1], where=condition)
    with pytest.raises(ConditionalCheckFailedError):
        await filled.delete(ITEMS[0], where=condition)
