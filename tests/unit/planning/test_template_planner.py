"""What conditions on the parts of templated keys become: key conditions, filters, hazards, several queries, errors."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    Collection,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Prefix,
    Query,
    Scan,
    SortKey,
    Table,
    Update,
    attr,
    template,
)
from dynamap_async.errors import (
    AmbiguousIndexError,
    CursorError,
    EncodeError,
    ExpressionError,
    NoIndexError,
    OperationError,
    OutOfRangeError,
    UnprojectedAttributeError,
)
from dynamap_async.planning import Context
from dynamap_async.planning.plan import partition_of

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


class Size(StrEnum):
    SMALL = "s"
    EXTRA = "xl"


class Store(Model, table="stores"):
    country: Attr[str]
    region: Attr[str]
    city: Attr[str]
    number: Attr[int]
    manager: Attr[str | None] = attr(default=None)
    opened: Attr[datetime] = attr(default=NOON)
    size: Attr[Size] = attr(default=Size.SMALL)
    pk: PartitionKey[str] = template("country:{country}")
    sk: SortKey[str] = template("{region}#{city}#{number:06d}")
    managed: Attr[str | None] = template("manager:{manager:lower}", name="gsi1pk")
    history: Attr[str] = template("{opened:day}#{size}", name="gsi1sk")
    everywhere: Attr[str] = template("STORES")

    by_manager = GlobalIndex(partition_key="managed", sort_key="history")
    by_number = GlobalIndex(partition_key="everywhere", sort_key="number")


class Reading(Model, table="readings"):
    sensor: Attr[str] = attr(stored=False)
    degrees: Attr[int] = attr(stored=False)
    note: Attr[str] = attr(default="")
    pk: PartitionKey[str] = template("sensor:{sensor}")
    sk: SortKey[str] = template("{degrees:+04d}")


class Path(Model, table="paths"):
    drive: PartitionKey[str]
    folder: Attr[str]
    name: Attr[str]
    label: Attr[str] = attr(default="")
    sk: SortKey[str] = template("{folder}//{name}", escape=True)
    shown: Attr[str] = template("{folder:upper}##{label}")
    by_shown = LocalIndex(sort_key="shown")


class Lines(Model, table="lines"):
    page: PartitionKey[str]
    word: Attr[str]
    number: Attr[int]
    sk: SortKey[str] = template("{word}##{number}")
    constant: Attr[str] = template("LINE")
    by_number = GlobalIndex(partition_key="page", sort_key=("constant", "number"))


class Log(Model, table="logs"):
    day: PartitionKey[str]
    at: Attr[str]
    number: Attr[int]
    sk: SortKey[str] = template("E#{at}#{number}")


class Price(Model, table="prices"):
    shop: PartitionKey[str]
    price: Attr[Decimal]
    sk: SortKey[str] = template("P#{price:05.2f}")


class Setting(Model, table="settings"):
    user: Attr[str]
    theme: Attr[str] = attr(default="")
    pk: PartitionKey[str] = template("SETTINGS")
    sk: SortKey[str] = template("{user}")


S: Any = Store


def shown(conditions: tuple[Any, ...], model: str) -> list[str]:
    return [str(each).replace(f"{model}.", "") for each in conditions]


PLANNED: dict[str, tuple[Any, list[str], list[str]]] = {
    # what is asked of whom -> key conditions, filters
    "equality on the partition's part": (
        Query(Store).where(S.country == "GB"),
        ["pk == 'country:GB'"],
        [],
    ),
    "equality on a leading part is closed by the separator": (
        Query(Store).where(S.country == "GB", S.region == "London"),
        ["pk == 'country:GB'", "sk.begins_with('London#')"],
        [],
    ),
    "equality on two leading parts": (
        Query(Store).where(S.country == "GB", S.city == "Bow", S.region == "London"),
        ["pk == 'country:GB'", "sk.begins_with('London#Bow#')"],
        [],
    ),
    "equality on every part": (
        Query(Store).where(S.country == "GB", S.region == "London", S.city == "Bow", S.number == 7),
        ["pk == 'country:GB'", "sk == 'London#Bow#000007'"],
        [],
    ),
    "a range on the next part stays inside the namespace": (
        Query(Store).where(S.country == "GB", S.region == "London", S.city == "Bow", S.number > 5),
        ["pk == 'country:GB'", "sk.between('London#Bow#000006', 'London#Bow$')"],
        [],
    ),
    "two bounds on the next part": (
        Query(Store).where(S.country == "GB", S.region == "London", S.city == "Bow", S.number >= 5, S.number <= 9),
        ["pk == 'country:GB'", "sk.between('London#Bow#000005', 'London#Bow#000009')"],
        [],
    ),
    "the open one of two equal bounds": (
        Query(Path).where(Path.drive == "c", Path.folder == "a", Path.name >= "b", Path.name > "b"),
        ["drive == 'c'", "sk.between('a//b\\x00', 'a/0')"],
        [],
    ),
    "the tighter of two bounds": (
        Query(Store).where(
            S.country == "GB", S.region == "London", S.city == "Bow", S.number.between(1, 9), S.number >= 5
        ),
        ["pk == 'country:GB'", "sk.between('London#Bow#000005', 'London#Bow#000009')"],
        [],
    ),
    "the beginning of the next part": (
        Query(Store).where(S.country == "GB", S.region == "London", S.city.begins_with("Bo")),
        ["pk == 'country:GB'", "sk.begins_with('London#Bo')"],
        [],
    ),
    "the beginning of the first part": (
        Query(Store).where(S.country == "GB", S.region.begins_with("Lon")),
        ["pk == 'country:GB'", "sk.begins_with('Lon')"],
        [],
    ),
    "a beginning that could reach into the separator is checked as well": (
        Query(Lines).where(Lines.page == "p", Lines.word.begins_with("a#")),
        ["page == 'p'", "sk.begins_with('a#')"],
        ["word.begins_with('a#')"],
    ),
    "an escaped beginning": (
        Query(Path).where(Path.drive == "c", Path.folder.begins_with("a/b%")),
        ["drive == 'c'", "sk.begins_with('a%2Fb%25')"],
        [],
    ),
    "an escaped equality": (
        Query(Path).where(Path.drive == "c", Path.folder == "a/b"),
        ["drive == 'c'", "sk.begins_with('a%2Fb//')"],
        [],
    ),
    "any text in the last part": (
        Query(Path).where(Path.drive == "c", Path.folder == "a", Path.name >= "b"),
        ["drive == 'c'", "sk.between('a//b', 'a/0')"],
        [],
    ),
    "a part behind one that is not fixed": (
        Query(Store).where(S.country == "GB", S.city == "Bow"),
        ["pk == 'country:GB'"],
        ["city == 'Bow'"],
    ),
    "a lower bound of a text that others follow is narrowed, and checked again": (
        Query(Store).where(S.country == "GB", S.region >= "London"),
        ["pk == 'country:GB'", "sk >= 'London'"],
        ["region >= 'London'"],
    ),
    "an upper bound without a character before the separator too": (
        Query(Store).where(S.country == "GB", S.region <= "London"),
        ["pk == 'country:GB'", "sk <= 'London$'"],
        ["region <= 'London'"],
    ),
    "an upper bound that does not belong to the range": (
        Query(Store).where(S.country == "GB", S.region < "London"),
        ["pk == 'country:GB'", "sk <= 'London'"],
        ["region < 'London'"],
    ),
    "an upper bound as far as no character stands before the separator": (
        Query(Store).where(S.country == "GB", S.region == "x", S.city.between("Bow", "St Ives")),
        ["pk == 'country:GB'", "sk.between('x#Bow', 'x#Su')"],
        ["city.between('Bow', 'St Ives')"],
    ),
    "an upper bound that begins with what stands before the separator": (
        Query(Store).where(S.country == "GB", S.region <= " x"),
        ["pk == 'country:GB'"],
        ["region <= ' x'"],
    ),
    "the tightest of several bounds of a text": (
        Query(Log).where(Log.day == "d", Log.at >= "2024-01", Log.at > "2024-02", Log.at < "2024-03", Log.at <= "2025"),
        ["day == 'd'", "sk.between('E#2024-02', 'E#2024-03')"],
        ["at >= '2024-01'", "at > '2024-02'", "at < '2024-03'", "at <= '2025'"],
    ),
    "a text whose separators are escaped does not sort": (
        Query(Path).where(Path.drive == "c", Path.folder >= "a"),
        ["drive == 'c'"],
        ["folder >= 'a'"],
    ),
    "a bound above all that a padded number has room for": (
        Query(Reading).where(Reading.sensor == "a", Reading.degrees <= 5000),
        ["pk == 'sensor:a'", "sk <= '1999'"],
        [],
    ),
    "a bound below all that a padded number has room for": (
        Query(Reading).where(Reading.sensor == "a", Reading.degrees > -5000, Reading.degrees <= 7),
        ["pk == 'sensor:a'", "sk.between('0000', '1007')"],
        [],
    ),
    "a bound between the numbers of a form": (
        Query(Price).where(Price.shop == "s", Price.price > Decimal("1.234"), Price.price < Decimal("2.345")),
        ["shop == 's'", "sk.between('P#01.24', 'P#02.34')"],
        [],
    ),
    "what no key answers": (
        Query(Store).where(S.country == "GB", S.region != "London"),
        ["pk == 'country:GB'"],
        ["region != 'London'"],
    ),
    "a part in one case is checked as it is stored": (
        Query(Store).where(S.manager == "Ann"),
        ["managed == 'manager:ann'"],
        ["manager == 'Ann'"],
    ),
    "a time that is cut off is checked as well": (
        Query(Store).where(S.managed == "manager:ann", S.opened > NOON),
        ["managed == 'manager:ann'", "history >= '2024-06-01#'"],
        ["opened > '2024-06-01T12:00:00.000000Z'"],
    ),
    "a condition on the key itself goes before those on its parts": (
        Query(Store).where(S.country == "GB", S.sk.begins_with("L"), S.region == "London"),
        ["pk == 'country:GB'", "sk.begins_with('L')"],
        ["region == 'London'"],
    ),
    "the partition key itself with parts of the sort key": (
        Query(Store).where(S.pk == "country:GB", S.region == "London"),
        ["pk == 'country:GB'", "sk.begins_with('London#')"],
        [],
    ),
    "parts that are stored in the key only": (
        Query(Reading).where(Reading.sensor == "a", Reading.degrees < 0),
        ["pk == 'sensor:a'", "sk <= '0999'"],
        [],
    ),
    "a constant key needs no condition": (
        Query(Setting),
        ["pk == 'SETTINGS'"],
        [],
    ),
    "a constant key with a sort condition": (
        Query(Setting).where(Setting.user == "ada"),
        ["pk == 'SETTINGS'", "sk == 'ada'"],
        [],
    ),
    "a constant key of an index that serves the most": (
        Query(Store).where(S.number > 5),
        ["everywhere == 'STORES'", "number > 5"],
        [],
    ),
    "a local index whose template takes more of the conditions": (
        Query(Path).where(Path.drive == "c", Path.folder == "a", Path.label.begins_with("x")),
        ["drive == 'c'", "shown.begins_with('A##x')"],
        ["folder == 'a'"],
    ),
    "a constant before the part that is asked, in an index with several sort attributes": (
        Query(Lines).where(Lines.page == "p", Lines.number > 5, Lines.word == "x").index(Lines.by_number),
        ["page == 'p'", "constant == 'LINE'", "number > 5"],
        ["word == 'x'"],
    ),
    "a constant behind which nothing is asked": (
        Query(Lines).where(Lines.page == "p").index(Lines.by_number),
        ["page == 'p'"],
        [],
    ),
    "what is absent is not a part of a key": (
        Query(Store).where(S.country == "GB", S.manager.is_(None)),
        ["pk == 'country:GB'"],
        ["(manager.missing()) | (manager == None)"],
    ),
    "several values of the partition's part": (
        Query(Store).where(S.country.is_in("GB", "FR", "GB"), S.region == "x"),
        ["pk.is_in('country:GB', 'country:FR')", "sk.begins_with('x#')"],
        [],
    ),
    "several values of a leading part": (
        Query(Store).where(S.country == "GB", S.region.is_in("x", "y")),
        ["pk == 'country:GB'", "(sk.begins_with('x#')) | (sk.begins_with('y#'))"],
        [],
    ),
    "several values of two leading parts and a range": (
        Query(Store).where(S.country == "GB", S.region == "x", S.city.is_in("a", "b"), S.number > 1),
        ["pk == 'country:GB'", "(sk.between('x#a#000002', 'x#a$')) | (sk.between('x#b#000002', 'x#b$'))"],
        [],
    ),
}


@pytest.mark.parametrize(("query", "keys", "filters"), PLANNED.values(), ids=PLANNED)
def test_conditions_on_parts_become(query: Any, keys: list[str], filters: list[str]) -> None:
    plan = query.explain()
    assert shown(plan.key_conditions, plan.model) == keys
    assert shown(plan.filters, plan.model) == filters


HAZARDS: dict[str, tuple[Any, list[str]]] = {
    "texts of any length before other parts": (
        Query(Store).where(S.country == "GB"),
        ["order across region, city is by the bytes of Store.sk, not by the values"],
    ),
    "not those that are fixed": (
        Query(Store).where(S.country == "GB", S.region == "x", S.city == "y"),
        [],
    ),
    "but those of which there are several": (
        Query(Store).where(S.country == "GB", S.region.is_in("x", "y"), S.city == "y"),
        ["order across region, city is by the bytes of Store.sk, not by the values"],
    ),
    "a filter behind a part that is not fixed": (
        Query(Store).where(S.country == "GB", S.city == "y"),
        [
            "order across region, city is by the bytes of Store.sk, not by the values",
            "(Store.city == 'y') does not narrow what is read: in Store.sk, region before it is not fixed",
        ],
    ),
    "a range on a part that does not sort": (
        Query(Store).where(S.country == "GB", S.region > "y"),
        [
            "order across region, city is by the bytes of Store.sk, not by the values",
            "(Store.region > 'y') is narrowed, checked again: Store.sk answers it only roughly, so the filter stays",
        ],
    ),
    "a filter beside a condition on the key itself": (
        Query(Store).where(S.country == "GB", S.sk > "L", S.region == "London"),
        [
            "order across region, city is by the bytes of Store.sk, not by the values",
            "Store.sk has a condition itself, so (Store.region == 'London') only filters",
        ],
    ),
    "one key has no order": (
        Query(Store).where(S.country == "GB", S.sk == "London#Bow#000001"),
        [],
    ),
    "a comparison that no key takes": (
        Query(Setting).where(Setting.user != "y"),
        [
            "Setting.pk is constant, and nothing else is asked of the key: all that it holds is read",
            "(Setting.user != 'y') does not narrow what is read: Setting.sk does not answer it",
        ],
    ),
    "what is checked again": (
        Query(Store).where(S.manager == "Ann"),
        [
            (
                "(Store.manager == 'Ann') is narrowed, checked again: Store.managed answers it only roughly, so the "
                "filter stays"
            ),
        ],
    ),
}


@pytest.mark.parametrize(("query", "hazards"), HAZARDS.values(), ids=HAZARDS)
def test_a_plan_names_what_may_surprise_about_its_key(query: Any, hazards: list[str]) -> None:
    others = ("the filter drops", "a global index", "items without")
    assert [each for each in query.explain().hazards if not each.startswith(others)] == hazards


def test_a_plan_shows_what_its_key_conditions_are_made_of() -> None:
    text = str(Query(Store).where(S.country == "GB", S.region == "London", S.manager == "Ann").explain())
    assert "key condition  Store.pk == 'country:GB' and Store.sk.begins_with('London#')\n" in text
    assert "made of        Store.country == 'GB' and Store.region == 'London'\n" in text
    assert "filter         Store.manager == 'Ann'\n" in text


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a separator in a value": (
        lambda: Query(Store).where(S.country == "GB", S.region == "a#b"),
        EncodeError,
        r"Store\.region: 'a#b' contains '#'",
    ),
    "a number that does not fit": (
        lambda: Query(Reading).where(Reading.sensor == "a", Reading.degrees == 5000),
        EncodeError,
        r"Reading\.degrees: 5000 does not fit",
    ),
    "a part that only the key holds, and the key does not answer": (
        lambda: Query(Reading).where(Reading.sensor == "a", Reading.degrees != 5),
        ExpressionError,
        r"Reading\.degrees is stored in the key sk only",
    ),
    "a part that only the key holds, beside a condition on the key": (
        lambda: Query(Reading).where(Reading.sensor == "a", Reading.sk > "1", Reading.degrees > 5),
        ExpressionError,
        r"Reading\.degrees is stored in the key sk only",
    ),
    "a part that only the key holds, in a scan": (
        lambda: Scan(Reading).where(Reading.degrees > 5),
        ExpressionError,
        "is stored in the key sk only",
    ),
    "a part that only the key holds, in a write": (
        lambda: Update(Reading, "sensor:a", "1005").set(Reading.note, "x").where(Reading.degrees > 5),
        ExpressionError,
        "is stored in the key sk only",
    ),
    "some parts of a partition key": (
        lambda: Query(Reading).where(Reading.degrees > 5),
        NoIndexError,
        "the table needs pk, which is made of sensor",
    ),
    "too many combinations": (
        lambda: Query(Store).where(
            S.country.is_in(*map(str, range(11))), S.region.is_in(*map(str, range(10))), S.city == "x"
        ),
        OutOfRangeError,
        "has 110 combinations of values",
    ),
    "too many combinations of one key": (
        lambda: Query(Store).where(
            S.country == "GB", S.region.is_in(*map(str, range(11))), S.city.is_in(*map(str, range(10)))
        ),
        OutOfRangeError,
        "has 110 combinations of values",
    ),
}


@pytest.mark.parametrize(("query", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_query_is_refused_for(query: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        query().explain()


def test_the_error_of_a_condition_in_an_index_that_is_not_taken_does_not_matter() -> None:
    class Note(Model, table="notes"):
        id: PartitionKey[str]
        topic: Attr[str]
        day: Attr[str] = template("{topic}#{id}")
        by_day = GlobalIndex(partition_key="topic", sort_key="day")

    assert Query(Note).where(Note.id == "x", Note.topic == "a#b").explain().index is None


def test_indexes_that_answer_different_parts_equally_well_are_ambiguous() -> None:
    class Task(Model, table="tasks"):
        id: PartitionKey[str]
        team: Attr[str]
        due: Attr[int]
        cost: Attr[int]
        a: Attr[str] = template("due:{due:06d}")
        b: Attr[str] = template("cost:{cost:06d}")
        by_due = GlobalIndex(partition_key="team", sort_key="a")
        by_cost = GlobalIndex(partition_key="team", sort_key="b")

    query = Query(Task).where(Task.team == "x")
    assert query.where(Task.due > 5).explain().index == "by_due"
    assert query.where(Task.cost > 5).explain().index == "by_cost"
    with pytest.raises(AmbiguousIndexError):
        query.where(Task.due > 5, Task.cost > 5).explain()


def test_an_index_that_does_not_hold_a_part_that_has_to_be_checked_is_refused() -> None:
    class Person(Model, table="people"):
        id: PartitionKey[str]
        name: Attr[str]
        key: Attr[str] = template("{name:lower}")
        by_name = GlobalIndex(partition_key="key", projection=KEYS_ONLY)

    with pytest.raises(UnprojectedAttributeError, match="does not hold 'name'"):
        Query(Person).where(Person.name == "Ann").explain()
    assert Query(Person).where(Person.key == "ann").explain().index == "by_name"


def resumed(first: Any, then: Any) -> Any:
    """Return the reading of one query that goes on where a page of another ended."""
    reading = first.page(size=1).reading(Context())
    position = {name: {"S": "x"} for name in reading.key_names} | partition_of(reading.plan)
    return then.page(size=1, after=reading.cursor(position)).reading(Context())


def test_a_cursor_is_bound_to_the_partition_that_parts_make() -> None:
    assert resumed(Query(Store).where(S.country == "GB"), Query(Store).where(S.country == "GB")).start
    with pytest.raises(CursorError):
        resumed(Query(Store).where(S.country == "GB"), Query(Store).where(S.country == "FR"))


def test_conditions_that_make_the_same_shape_of_key_have_cursors_of_their_own() -> None:
    query = Query(Store).where(S.country == "GB")
    with pytest.raises(CursorError):
        resumed(query.where(S.region == "x"), query.where(S.region.begins_with("x")))
    with pytest.raises(CursorError):
        resumed(query.where(S.region == "x"), query.where(S.sk.begins_with("x#")))


def test_a_start_outside_of_the_namespace_is_answered_here() -> None:
    query = Query(Store).where(S.country == "GB")
    assert resumed(query.where(S.region == "a"), query.where(S.region == "b")).exhausted
    assert resumed(query.where(S.region == "a"), query.where(S.region == "z")).start is None


SHOP = Table(
    "shop", partition_key="pk", sort_key="sk", indexes=(GlobalIndex("inverted", partition_key="sk", sort_key="pk"),)
)


class Customer(Model, table=SHOP, kind="customer"):
    customer_id: Attr[str]
    name: Attr[str] = attr(default="")
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("PROFILE")


class Order(Model, table=SHOP, kind="order"):
    customer_id: Attr[str]
    year: Attr[int]
    number: Attr[int]
    status: Attr[str] = attr(default="open")
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("ORDER#{year:04d}#{number:06d}")


class Refund(Model, table=SHOP, kind="refund"):
    customer_id: Attr[str]
    year: Attr[int]
    number: Attr[int]
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("ORDER#{year:04d}#REFUND#{number:06d}")


class Product(Model, table=SHOP, kind="product"):
    customer_id: Attr[str]
    pk: PartitionKey[str] = template("PRODUCT#{customer_id}")
    sk: SortKey[str] = template("PROFILE#")


SHARED: dict[str, tuple[Any, list[str], list[str]]] = {
    "a constant namespace of its own": (
        Query(Order).where(Order.customer_id == "7"),
        ["pk == 'CUSTOMER#7'", "sk.begins_with('ORDER#')"],
        ["kind == 'order'"],
    ),
    "a constant sort key": (
        Query(Customer).where(Customer.customer_id == "7"),
        ["pk == 'CUSTOMER#7'", "sk == 'PROFILE'"],
        ["kind == 'customer'"],
    ),
    "several models in one partition": (
        Collection(Customer, Order).where(Customer.customer_id == "7"),
        ["pk == 'CUSTOMER#7'", "sk.between('ORDER#', 'PROFILE')"],
        ["~(kind.is_in('refund', 'product'))"],
    ),
    "several models with one beginning of their keys": (
        Collection(Order, Refund).where(Order.customer_id == "7", Order.year == 2024),
        ["pk == 'CUSTOMER#7'", "sk.begins_with('ORDER#2024#')"],
        ["~(kind.is_in('customer', 'product'))"],
    ),
    "a range over the keys of several models": (
        Collection(Order, Refund).where(Order.customer_id == "7", Order.year.between(2023, 2024)),
        ["pk == 'CUSTOMER#7'", "sk.between('ORDER#2023#', 'ORDER#2024$')"],
        ["~(kind.is_in('customer', 'product'))"],
    ),
    "several models that skip what is unknown": (
        Collection(Order, Refund).unknown("skip").where(Order.customer_id == "7"),
        ["pk == 'CUSTOMER#7'", "sk.begins_with('ORDER#')"],
        ["kind.is_in('order', 'refund')"],
    ),
    "several models of which no part of the sort key is asked": (
        Collection(Order, Refund).where(Order.customer_id == "7", Order.number == 5),
        ["pk == 'CUSTOMER#7'", "sk.begins_with('ORDER#')"],
        ["number == 5", "~(kind.is_in('customer', 'product'))"],
    ),
}


@pytest.mark.parametrize(("query", "keys", "filters"), SHARED.values(), ids=SHARED)
def test_in_a_shared_table_conditions_on_parts_become(query: Any, keys: list[str], filters: list[str]) -> None:
    plan = query.explain()
    owner = plan.model.partition(",")[0]
    assert shown(plan.key_conditions, owner) == keys
    assert shown(plan.filters, owner) == filters


IMPOSSIBLE = {
    "above all numbers": lambda: Query(Reading).where(Reading.sensor == "a", Reading.degrees > 999),
    "below all numbers": lambda: Query(Reading).where(Reading.sensor == "a", Reading.degrees < -1000),
    "between none and none": lambda: Query(Reading).where(Reading.sensor == "a", Reading.degrees.between(5000, 6000)),
    "behind a constant": lambda: Query(Price).where(Price.shop == "s", Price.price < 0),
}


@pytest.mark.parametrize("query", IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_range_in_which_no_key_can_lie_is_answered_without_a_request(query: Callable[[], Any]) -> None:
    reading = query().reading(Context())
    assert reading.exhausted
    assert "so nothing is read, and no request is sent" in reading.plan.hazards[0]
    assert "filter         none\n" in str(reading.plan)


EVENTS = Table("events", partition_key="pk", sort_key="sk", discriminator=None)


class Event(Model, table=EVENTS):
    team: Attr[str]
    number: Attr[int]
    pk: PartitionKey[str] = template("T#{team}")
    sk: SortKey[str] = template("e#{number:04d}")


class Guest(Model, table=EVENTS):
    group: Attr[str] = attr(stored=False)
    event: Attr[int] = attr(stored=False)
    name: Attr[str] = attr(stored=False)
    pk: PartitionKey[str] = template("T#{group}")
    sk: SortKey[str] = template("e#{event:04d}#{name}")


class Room(Model, table=EVENTS):
    team: Attr[str]
    number: Attr[int] = attr(default=0)
    pk: PartitionKey[str] = template("T#{team}")
    sk: SortKey[str] = template("room#{number:04d}")


PLACES: dict[str, tuple[Any, list[str], list[str]]] = {
    "one value": (
        Collection(Event, Guest).where(Event.team == "x", Event.number == 7),
        ["pk == 'T#x'", "sk.begins_with('e#0007')"],
        [],
    ),
    "one value, by the name that the other model has": (
        Collection(Event, Guest).where(Guest.group == "x", Guest.event == 7),
        ["pk == 'T#x'", "sk.begins_with('e#0007')"],
        [],
    ),
    "a range": (
        Collection(Guest, Event).where(Event.team == "x", Event.number >= 7),
        ["pk == 'T#x'", "sk.between('e#0007', 'e$')"],
        [],
    ),
    "a range without its end": (
        Collection(Guest, Event).where(Event.team == "x", Event.number < 7),
        ["pk == 'T#x'", "sk.between('e#', 'e#0006$')"],
        [],
    ),
    "nothing but the partition": (
        Collection(Event, Guest).where(Event.team == "x"),
        ["pk == 'T#x'", "sk.begins_with('e#')"],
        [],
    ),
    "what keys begin with differently": (
        Collection(Event, Room).where(Event.team == "x", Event.number == 7),
        ["pk == 'T#x'", "sk.between('e#0007', 'room#0007')"],
        ["number == 7"],
    ),
}


@pytest.mark.parametrize(("query", "keys", "filters"), PLACES.values(), ids=PLACES)
def test_conditions_on_several_models_go_by_the_place_in_the_key(
    query: Any, keys: list[str], filters: list[str]
) -> None:
    plan = query.explain()
    assert [re.sub(r"(Event|Guest|Room)\.", "", str(each)) for each in plan.key_conditions] == keys
    assert [str(each).replace("Event.", "") for each in plan.filters] == filters


def parents(name: str, separator: str = "#", *, kind: Any = int, stored: bool = False) -> tuple[Any, Any]:
    """Return a model and one whose keys go on behind its keys; the number may be in the key only."""
    table = Table(name, partition_key="pk", sort_key="sk", discriminator=None)

    class Parent(Model, table=table):
        team: Attr[str] = attr(stored=False)
        number: Attr[kind] = attr(stored=stored)
        pk: PartitionKey[str] = template("T#{team}")
        sk: SortKey[str] = template("e#{number}")

    class Child(Model, table=table):
        team: Attr[str] = attr(stored=False)
        number: Attr[kind] = attr(stored=stored)
        name: Attr[str] = attr(stored=False)
        pk: PartitionKey[str] = template("T#{team}")
        sk: SortKey[str] = template(f"e#{{number}}{separator}child{separator}{{name}}")

    return Parent, Child


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(
    ("kind", "separator", "number", "wanted"),
    [
        (int, "#", 5, "sk.between('e#5', 'e#5#child$')"),
        (int, "/", -5, "sk.between('e#-5', 'e#-5/child0')"),
        (Decimal, "#", Decimal("0.5"), "sk.between('e#0.5', 'e#0.5#child$')"),
        (Size, "#", Size.SMALL, "sk.between('e#s', 'e#s#child$')"),
    ],
)
def test_a_key_and_what_goes_on_behind_it_are_one_range_without_longer_numbers(
    kind: Any, separator: str, number: Any, wanted: str, *, stored: bool
) -> None:
    parent, child = parents("siblings", separator, kind=kind, stored=stored)
    plan = Collection(parent, child).where(parent.team == "x", parent.number == number).explain()
    assert [str(each).partition(".")[2] for each in plan.key_conditions] == ["pk == 'T#x'", wanted]
    assert plan.filters == ()


def test_a_separator_that_sorts_behind_digits_leaves_a_number_in_the_key_unanswered() -> None:
    parent, child = parents("siblings", "_")
    with pytest.raises(ExpressionError, match="is stored in the key sk only, which DynamoDB cannot look into"):
        Collection(parent, child).where(parent.team == "x", parent.number == 5).explain()


def adjacent(*, stored: bool) -> tuple[Any, Any]:
    """Return users, and who follows whom: one part of a user's keys stands at the places of two of the other."""
    table = Table("adjacent", partition_key="pk", sort_key="sk", discriminator="type")

    class User(Model, table=table, kind="user"):
        user: Attr[str] = attr(stored=stored)
        pk: PartitionKey[str] = template("USER#{user}")
        sk: SortKey[str] = template("USER#{user}")

    class Follow(Model, table=table, kind="follow", distinct_from=User):
        of: Attr[str] = attr(stored=stored)
        friend: Attr[str] = attr(stored=stored)
        pk: PartitionKey[str] = template("USER#{of}")
        sk: SortKey[str] = template("USER#{friend}")

    return User, Follow


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("name", ["user", "of"])
def test_a_part_that_stands_in_both_keys_selects_the_partition_and_leaves_out_no_kind(
    name: str, *, stored: bool
) -> None:
    user, follow = adjacent(stored=stored)
    asked = user.user if name == "user" else follow.of
    plan = Collection(user, follow).where(asked == "a").explain()
    assert shown(plan.key_conditions, "User") == ["pk == 'USER#a'", "sk.begins_with('USER#')"]
    assert plan.filters == ()


def test_a_part_at_the_place_of_another_narrows_both_models() -> None:
    user, follow = adjacent(stored=False)
    plan = Collection(user, follow).where(follow.of == "a", follow.friend == "b").explain()
    assert shown(plan.key_conditions, "User") == ["pk == 'USER#a'", "sk == 'USER#b'"]
    with pytest.raises(ExpressionError, match="User has no field stored as 'friend', and its key does not answer it"):
        Collection(user, follow).where(user.user == "a", follow.friend == "b").explain()


class Account(Model, table="accounts"):
    bank: PartitionKey[str]
    name: Attr[str]
    id: Attr[int]
    sk: SortKey[str] = template("account#{name}{id:04d}")


ONLY_THE_END_TELLS: dict[str, tuple[list[Any], str, list[str]]] = {
    "one value": ([Account.name == "ann"], "sk.begins_with('account#ann')", ["name == 'ann'"]),
    "both values": ([Account.name == "ann", Account.id == 7], "sk == 'account#ann0007'", []),
    "a beginning": ([Account.name.begins_with("a")], "sk.begins_with('account#a')", ["name.begins_with('a')"]),
    "a range behind one value": (
        [Account.name == "ann", Account.id >= 7],
        "sk.between('account#ann0007', 'account#ano')",
        ["name == 'ann'", "id >= 7"],
    ),
    "a range": ([Account.name >= "b"], "sk.begins_with('account#')", ["name >= 'b'"]),
}


@pytest.mark.parametrize(("conditions", "key", "filters"), ONLY_THE_END_TELLS.values(), ids=ONLY_THE_END_TELLS)
def test_a_part_that_only_the_end_of_the_key_closes_narrows_and_is_checked_again(
    conditions: list[Any], key: str, filters: list[str]
) -> None:
    plan = Query(Account).where(Account.bank == "b", *conditions).explain()
    assert shown(plan.key_conditions, "Account")[1:] in ([key], [])
    assert shown(plan.filters, "Account") == filters


NO_PLACE: dict[str, tuple[Callable[[], Any], str]] = {
    "a field that the other model does not have": (
        lambda: Collection(Event, Guest).where(Event.team == "x", Guest.name == "ann"),
        "Event has no field stored as 'name', so no Event would",
    ),
    "a place that the key does not answer exactly": (
        lambda: Collection(Event, Guest).where(Event.team == "x", Event.number != 7).explain(),
        "Guest has no field stored as 'number', and its key does not answer it",
    ),
    "another place of the key": (
        lambda: Collection(Event, Guest, Room).where(Event.team == "x", Event.number == 7).explain(),
        "Guest has no field stored as 'number', and its key does not answer it",
    ),
}


@pytest.mark.parametrize(("query", "message"), NO_PLACE.values(), ids=NO_PLACE)
def test_a_condition_that_not_all_of_several_models_can_meet_is_refused(query: Callable[[], Any], message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        query()


def test_a_part_without_a_width_says_that_it_does_not_sort_as_a_number() -> None:
    class Page(Model, table="pages"):
        book: PartitionKey[str]
        number: Attr[int] = attr(stored=False)
        sk: SortKey[str] = template("{number}")

    with pytest.raises(ExpressionError) as caught:
        Query(Page).where(Page.book == "b", Page.number >= 5).explain()
    assert (
        "its text there does not sort as its values do: int without a width, in which 10 stands before 9; give it a "
        "width, such as {number:06d}, where the keys have one, ask for single values with == or is_in, or write a "
        "condition on Page.sk, or drop its stored=False"
    ) in str(caught.value)


def test_models_that_make_different_partitions_of_the_same_values_are_named() -> None:
    query = Collection(Customer, Product).where(Customer.customer_id == "7")
    with pytest.raises(
        OperationError,
        match="Customer and Product make different keys from the same values, 'CUSTOMER#7' and 'PRODUCT#7'",
    ):
        query.explain()


GAMES = Table("games", partition_key="pk", sort_key="sk", discriminator=Prefix("sk"))


class Sword(Model, table=GAMES, kind="SWORD#"):
    player: Attr[str]
    level: Attr[int]
    pk: PartitionKey[str] = template("{player}")
    sk: SortKey[str] = template("SWORD#{level:03d}")


class Task(Model, table=GAMES, kind="TASK#"):
    pk: PartitionKey[str]
    sk: SortKey[str]


def test_a_template_that_begins_with_the_kind_leaves_other_models_out() -> None:
    everything = Query(Sword).where(Sword.player == "p").explain()
    assert shown(everything.key_conditions, "Sword") == ["pk == 'p'", "sk.begins_with('SWORD#')"]
    some = Query(Sword).where(Sword.player == "p", Sword.level.between(3, 5)).explain()
    assert shown(some.key_conditions, "Sword") == ["pk == 'p'", "sk.between('SWORD#003', 'SWORD#005')"]
    assert (everything.filters, everything.hazards, some.filters, some.hazards) == ((), (), (), ())


ZOO = Table("zoo", partition_key="pk", sort_key="sk")


class Animal(Model, table=ZOO, abstract=True):
    keeper: Attr[str]
    name: Attr[str]
    pk: PartitionKey[str] = template("KEEPER#{keeper}")
    sk: SortKey[str] = template("NOBODY#{name}")


class Dog(Animal, kind="dog"):
    sk: SortKey[str] = template("ANIMAL#DOG#{name}")


class Puppy(Dog, kind="puppy"):
    sk: SortKey[str] = template("ANIMAL#PUPPY#{name}")


def test_a_family_reads_what_the_keys_of_all_its_members_begin_with() -> None:
    for model in (Animal, Dog):
        plan = Query(model).where(Animal.keeper == "x").explain()
        assert shown(plan.key_conditions, model.__name__) == ["pk == 'KEEPER#x'", "sk.begins_with('ANIMAL#')"]
    plan = Query(Puppy).where(Puppy.keeper == "x", Puppy.name == "Rex").explain()
    assert shown(plan.key_conditions, "Puppy") == ["pk == 'KEEPER#x'", "sk == 'ANIMAL#PUPPY#Rex'"]


LISTS = Table("lists", partition_key="pk", sort_key="sk")


class Cart(Model, table=LISTS, kind="cart"):
    customer_id: Attr[str]
    number: Attr[int]
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("CART#{number:03d}")


class Wish(Model, table=LISTS, kind="wish"):
    customer_id: Attr[str]
    name: Attr[str]
    pk: PartitionKey[str] = template("CUSTOMER#{customer_id}")
    sk: SortKey[str] = template("WISH#{name}")


def limits(query: Any) -> list[int | None]:
    reading = query.reading(Context())
    return [reading.request(None, remaining).body.get("Limit") for remaining in (1, None)]


def test_a_model_alone_in_its_namespace_reads_no_more_than_is_wanted() -> None:
    query = Query(Cart).where(Cart.customer_id == "7")
    assert limits(query) == [1, None]
    assert limits(query.where(Cart.number > 5)) == [1, None]
    assert limits(query.where(Cart.sk.begins_with("CART#00"))) == [1, None]
    assert limits(query.where(Cart.sk > "A")) == [None, None]
    assert limits(Query(Customer).where(Customer.customer_id == "7")) == [1, None]


def test_models_that_share_a_namespace_read_on_until_enough_are_found() -> None:
    assert limits(Query(Order).where(Order.customer_id == "7")) == [None, None]


def test_a_model_alone_in_its_partitions_reads_no_more_than_is_wanted() -> None:
    bank = Table("bank", partition_key="id", indexes=(GlobalIndex("by_owner", partition_key="owner"),))

    class Account(Model, table=bank, kind="account"):
        number: Attr[int]
        name: Attr[str]
        id: PartitionKey[str] = template("account:{number}")
        owner: Attr[str] = template("owner:{name}")

    class Card(Model, table=bank, kind="card"):
        number: Attr[int]
        name: Attr[str]
        id: PartitionKey[str] = template("card:{number}")
        owner: Attr[str] = template("owner:{name}")

    assert limits(Query(Account).where(Account.number == 7)) == [1, None]
    assert limits(Query(Account).where(Account.number.is_in(7, 8))) == [1, None]
    assert limits(Query(Account).where(Account.name == "x")) == [None, None]


def test_a_filter_of_the_program_leaves_the_limit_out_too() -> None:
    query = Query(Wish).where(Wish.customer_id == "7")
    assert limits(query) == [1, None]
    assert query.explain().hazards == ()
    assert limits(query.where(Wish.name != "x")) == [None, None]


@pytest.mark.parametrize(
    "conditions",
    [
        (Reading.sensor == "a", Reading.degrees > 5, Reading.degrees < 6),
        (Reading.sensor == "a", Reading.degrees.between(6, 5)),
        (Reading.sensor == "a", Reading.degrees.is_in()),
        (Reading.sensor == "a", Reading.degrees == 5, Reading.degrees == 6),
        (Reading.sensor == "a", Reading.sensor == "b"),
        (Reading.sensor.is_in(),),
    ],
)
def test_parts_that_no_item_can_have_are_answered_without_a_request(conditions) -> None:
    assert Query(Reading).where(*conditions).reading(Context()).exhausted
