"""Conditions on the parts of keys give what they describe, whatever a template makes of them: each item once, in order.

A small DynamoDB in Python answers each query of a plan by its key condition and filter. What should come out is worked
out apart from it, with plain Python predicates on the model's instances.
"""

import asyncio
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import cache
from itertools import product
from math import prod
from typing import Any

import pytest
from hypothesis import assume, event, given, reject, settings
from hypothesis import strategies as st

from dynamap_async import (
    Attr,
    Collection,
    GlobalIndex,
    Model,
    PartitionKey,
    Query,
    Session,
    SortKey,
    Table,
    attr,
    template,
)
from dynamap_async.codec import order_key
from dynamap_async.errors import EncodeError, ExpressionError, OperationError
from dynamap_async.expressions import Between, Comparison, Function, In, Not, Or
from dynamap_async.models import definition_of
from dynamap_async.planning import Context


class Size(StrEnum):
    SMALL = "s"
    MEDIUM = "m"
    LARGE = "xl"


TABLES = [
    ("{a}", "{b}#{n:03d}#{id:03d}"),
    ("a:{a}", "{n:03d}{size}#{b}#{id:03d}"),
    ("ALL", "{a}#{b}#{id:03d}"),
    ("{a:upper}", "x:{size}##{n}#{id:03d}"),
    ("{size}#{a}", "{b:lower}##{id:03d}"),
    ("{n:03d}{a}", "{id:03d}/{b}"),
    ("{a}", "{n:+04d}{a}\0{b}##{id:03d}"),
    ("{day:month}{flag}", "{day}#{price:ordered}{id:03d}"),
]
INDEXES = [
    ("{c}", "{n:03d}#{b}"),
    ("{c:lower}", "{size}#{b}"),
    ("{c}#{n}", "{a}"),
    ("ALL", "{c}#{id:03d}"),
    ("{c}", "{day:month}{flag}#{b}"),
]


@cache
def model_of(table: tuple[str, str], index: tuple[str, str], escape: bool, stored: bool) -> Any:
    """Return a model with these templates, whose ``n`` is stored beside the key or not."""

    class Item(Model, table="items"):
        id: Attr[int]
        a: Attr[str]
        b: Attr[str]
        n: Attr[int] = attr(stored=stored or not any("{n" in pattern for pattern in table))
        size: Attr[Size]
        day: Attr[date]
        price: Attr[Decimal]
        flag: Attr[bool]
        c: Attr[str | None] = attr(default=None)
        pk: PartitionKey[str] = template(table[0], escape=escape)
        sk: SortKey[str] = template(table[1], escape=escape)
        ipk: Attr[str | None] = template(index[0], escape=escape)
        isk: Attr[str | None] = template(index[1], escape=escape)
        by_c = GlobalIndex(partition_key="ipk", sort_key="isk")

    return Item


def holds(condition: Any, item: dict[str, Any]) -> bool:
    """Return whether a condition is true of a wire item."""
    match condition:
        case Not(part=part):
            return not holds(part, item)
        case Or(parts=parts):
            return any(holds(part, item) for part in parts)
        case Function(name="attribute_not_exists", path=path):
            return path.attribute not in item
        case Comparison(comparator="<>", left=path, right=right):
            return item.get(path.attribute) != right.stored
        case Function(path=path) | Between(operand=path) | In(operand=path) | Comparison(left=path):
            return path.attribute in item and holds_of(condition, item[path.attribute])
    raise AssertionError(condition)


def holds_of(condition: Any, found: Any) -> bool:
    """Return whether a condition is true of a stored value."""
    match condition:
        case Function(name="begins_with", arguments=(prefix,)):
            return bool(found["S"].startswith(prefix.stored["S"]))
        case Between(low=low, high=high):
            return order_key(low.stored) <= order_key(found) <= order_key(high.stored)
        case In(values=values):
            return found in [value.stored for value in values]
        case Comparison(comparator="=", right=right) if "BOOL" in found:
            return bool(found == right.stored)
        case Comparison(comparator=comparator, right=right):
            left, wanted = order_key(found), order_key(right.stored)
            results = {"=": left == wanted, "<": left < wanted, "<=": left <= wanted}
            return {**results, ">": left > wanted, ">=": left >= wanted}[comparator]
    raise AssertionError(condition)


class SmallDynamoDB:
    """Answers the queries of one plan."""

    max_connections = 64

    def __init__(self, query: Any, items: list[Any], *, page: int) -> None:
        definition = definition_of(query.spec.model)
        reading = query.reading(Context())
        self.plan, self.plans = reading.plan, reading.branches or (reading.plan,)
        keys = definition.table.keys if self.plan.index is None else definition.table.index(self.plan.index).keys
        self.keys, self.page = keys, page
        self.names = tuple(dict.fromkeys((*definition.table.keys.names, *keys.names)))
        stored = [item if isinstance(item, dict) else definition_of(type(item)).items.encode(item) for item in items]
        self.entries = sorted((item for item in stored if all(name in item for name in keys.names)), key=self.order)
        self.requests: list[Any] = []

    def order(self, item: Any) -> list[Any]:
        return [order_key(item[name]) for name in (self.keys.sort[0].name, *self.names)]

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def send(self, request: Any) -> Any:
        self.requests.append(request)
        body = request.body
        asked = {name: value for name, value in body.items() if name.startswith(("Key", "Filter", "Expression"))}
        plan = next(each for each in self.plans if asked.items() <= each.body.items())
        forward, start = body.get("ScanIndexForward", True), body.get("ExclusiveStartKey")
        read = [item for item in self.entries if all(holds(each, item) for each in plan.key_conditions)]
        read = read if forward else read[::-1]
        if start is not None:
            assert start.keys() == set(self.names)
            assert all(holds(each, start) for each in plan.key_conditions), "DynamoDB refuses such a start"
            after = self.order(start)
            read = [item for item in read if (self.order(item) > after if forward else self.order(item) < after)]
        page = read[: min(self.page, body.get("Limit", self.page))]
        kept = [item for item in page if all(holds(each, item) for each in plan.filters)]
        answer = {"Count": len(kept), "ScannedCount": len(page)}
        if body.get("Select") != "COUNT":
            answer["Items"] = kept
        if len(page) < len(read) or (page and len(page) % 2):
            answer["LastEvaluatedKey"] = {name: page[-1][name] for name in self.names}
        return answer


TEXTS = ("", "x", "xy", "X", "y#", "x ", "#z", "y\0", "%")
NUMBERS = st.integers(0, 12)
VALUES: dict[str, tuple[Any, ...]] = {
    "id": tuple(range(13)),
    "a": TEXTS,
    "b": TEXTS,
    "n": tuple(range(13)),
    "size": tuple(Size),
    "day": (date(2024, 2, 28), date(2024, 2, 29), date(2024, 3, 1), date(2024, 12, 1)),
    "price": (Decimal("-10.5"), Decimal(-9), Decimal(0), Decimal("0.5"), Decimal(90)),
    "flag": (False, True),
    "c": TEXTS,
}


def item_numbered(number: int) -> dict[str, Any]:
    """Return one of all items there are: to draw its number is one draw, to draw its parts nine."""
    item = {}
    for name, values in {**VALUES, "c": (*TEXTS, None)}.items():
        number, place = divmod(number, len(values))
        item[name] = values[place]
    return item


ITEMS = st.integers(0, prod(map(len, VALUES.values())) // 9 * 10 - 1).map(item_numbered)


@dataclass(frozen=True)
class Asked:
    """A condition, and the same in plain Python."""

    condition: Any
    test: Any

    def __repr__(self) -> str:
        return str(self.condition)


FIXING: list[Any] = [
    *[(lambda field, one, other: field == one, lambda value, one, other: value == one)] * 4,
    (lambda field, one, other: field.is_in(one, other), lambda value, one, other: value in (one, other)),
]
ON_VALUES: list[Any] = [
    *FIXING,
    (lambda field, one, other: field < one, lambda value, one, other: value < one),
    (lambda field, one, other: field <= one, lambda value, one, other: value <= one),
    (lambda field, one, other: field > one, lambda value, one, other: value > one),
    (lambda field, one, other: field >= one, lambda value, one, other: value >= one),
    (
        lambda field, one, other: field.between(min(one, other), max(one, other)),
        lambda value, one, other: min(one, other) <= value <= max(one, other),
    ),
    (lambda field, one, other: field != one, None),
]
ON_TEXTS: list[Any] = [
    *ON_VALUES,
    *[(lambda field, one, other: field.begins_with(one), lambda value, one, other: value.startswith(one))] * 3,
]


@cache
def choices(name: str, fixing: bool) -> Any:
    """Return what draws a kind of condition on a field, two of its values, and whether a given item's is taken."""
    kinds = FIXING if fixing or name == "flag" else ON_TEXTS if VALUES[name] is TEXTS else ON_VALUES
    return st.sampled_from(list(product(kinds, VALUES[name], VALUES[name], (False, True))))


def conditions(draw: st.DrawFn, model: Any, name: str, like: Any, *, fixing: bool = False) -> Asked:
    """Draw a condition on a field, with the value of a given item now and then."""
    (make, test), one, other, likewise = draw(choices(name, fixing))
    held = getattr(like, name, None)
    one = held if held is not None and likewise else one

    def tested(item: Any) -> bool:
        value = getattr(item, name)
        return bool(value != one) if test is None else value is not None and test(value, one, other)

    return Asked(make(getattr(model, name), one, other), tested)


@dataclass(frozen=True)
class Case:
    """A model, its items, and a question."""

    model: Any
    items: list[Any]
    asked: list[Asked]
    descending: bool

    def query(self, session: Session | None = None) -> Any:
        begin = Query(self.model) if session is None else session.query(self.model)
        query = begin.where(*(each.condition for each in self.asked))
        return query.descending() if self.descending else query

    def described(self, index: str | None) -> list[Any]:
        held = [item for item in self.items if index is None or (item.ipk is not None and item.isk is not None)]
        return [item for item in held if all(each.test(item) for each in self.asked)]

    def run(self, use: Any, *, page: int) -> tuple[Any, SmallDynamoDB]:
        try:
            database = SmallDynamoDB(self.query(), self.items, page=page)
        except (OperationError, EncodeError, ExpressionError) as refusal:
            event(type(refusal).__name__)
            reject()

        async def main() -> Any:
            async with Session(transport=database) as session:
                return await use(self.query(session))

        return asyncio.run(main()), database


@st.composite
def cases(draw: st.DrawFn) -> Case:
    table, index = draw(st.sampled_from(TABLES)), draw(st.sampled_from(INDEXES))
    model = model_of(table, index, draw(st.booleans()), draw(st.sampled_from([True, True, False])))
    found: dict[Any, Any] = {}
    for values in draw(st.lists(ITEMS, max_size=20)):
        try:
            item = model(**values)
        except ValueError:  # a separator inside a value
            continue
        if item.pk and item.sk and item.ipk != "" and item.isk != "":
            found.setdefault((item.pk, item.sk), item)
    like = draw(st.sampled_from([*found.values(), None]))
    definition = definition_of(model)
    key = draw(st.sampled_from(["pk", "pk", "ipk"]))
    names = list(definition.computed.templates[key].names)
    asked = [conditions(draw, model, name, like, fixing=True) for name in names]
    sort = definition.computed.templates["sk" if key == "pk" else "isk"].names
    asked += [
        conditions(draw, model, name, like, fixing=draw(st.booleans())) for name in sort[: draw(st.integers(0, 3))]
    ]
    asked += [conditions(draw, model, name, like) for name in draw(st.lists(st.sampled_from("abcn"), max_size=2))]
    if draw(st.integers(0, 5)) == 5:  # a condition on the key itself goes before those on its parts
        text = draw(st.sampled_from(TEXTS[1:]))
        asked.append(Asked(model.sk >= text, lambda item: item.sk.encode() >= text.encode()))
    assume(asked)
    return Case(model, list(found.values()), draw(st.permutations(asked)), draw(st.booleans()))


def identity(item: Any) -> tuple[str, str]:
    return item.pk, item.sk


async def listed(query: Any) -> Any:
    return await query


@pytest.mark.parametrize("flag", [True, False])
def test_the_small_dynamodb_keeps_true_and_false_apart(flag: bool) -> None:
    condition = model_of(TABLES[0], INDEXES[0], escape=False, stored=True).flag == flag
    assert [value for value in (True, False) if holds(condition, {"flag": {"BOOL": value}})] == [flag]


@given(cases(), st.integers(1, 7))
@settings(deadline=None, max_examples=100)
def test_conditions_on_parts_give_what_they_describe(case: Case, page: int) -> None:
    found, database = case.run(listed, page=page)
    plan = database.plan
    event(f"index {plan.index}, {len(plan.sort_conditions)} sort, {len(plan.filters)} filters, {plan.queries} queries")
    assert sorted(map(identity, found)) == sorted(map(identity, case.described(plan.index)))
    keys = [(item.sk if plan.index is None else item.isk).encode() for item in found]
    assert keys == sorted(keys, reverse=case.descending)
    if not any("by the bytes" in hazard for hazard in plan.hazards):
        names = definition_of(case.model).computed.templates["sk" if plan.index is None else "isk"].names
        parts = [[_comparable(getattr(item, name)) for name in names] for item in found]
        assert parts == sorted(parts, reverse=case.descending)


def _comparable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@given(cases(), st.integers(1, 7), st.integers(1, 9))
@settings(deadline=None, max_examples=80)
def test_a_limit_and_a_count_agree_with_the_whole(case: Case, page: int, limit: int) -> None:
    everything, _ = case.run(listed, page=100)

    async def limited(query: Any) -> Any:
        return await query.limit(limit), await query.count(), await query.limit(limit).count(), await query.first()

    found, _ = case.run(limited, page=page)
    whole = len(everything)
    assert found == (everything[:limit], whole, min(limit, whole), everything[0] if everything else None)


@given(cases(), st.integers(1, 7), st.lists(st.integers(1, 6), min_size=1, max_size=4))
@settings(deadline=None, max_examples=80)
def test_pages_lose_nothing_and_overlap_nowhere(case: Case, page: int, sizes: list[int]) -> None:
    async def walk(query: Any) -> Any:
        found: list[Any] = []
        cursor, number = None, 0
        while True:
            size = sizes[number % len(sizes)]
            read = await query.page(size=size, after=cursor)
            assert len(read.items) == size or read.cursor is None
            found, cursor, number = found + read.items, read.cursor, number + 1
            if cursor is None:
                return found

    everything, _ = case.run(listed, page=100)
    assert case.run(walk, page=page)[0] == everything


class Word(Model, table="words"):
    book: PartitionKey[str]
    kind: Attr[str]
    number: Attr[int]
    sk: SortKey[str] = template("{kind}:{number:03d}")


@given(st.sets(st.sampled_from(list(product("abc", range(13)))), min_size=3), st.data(), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=80)
def test_a_cursor_goes_on_in_a_range_of_a_part_that_has_moved(
    places: set[tuple[str, int]], data: st.DataObject, descending: bool, several: bool
) -> None:
    first = data.draw(NUMBERS)
    # A query of several that was read to its end is not asked again, where the range has become wider.
    then = data.draw(st.integers(first if several else 0, 12))
    kinds = ("c", "a") if several else ("b",)
    items = [Word(book="x", kind=kind, number=number) for kind, number in sorted(places)]

    def asked(bound: int) -> Any:
        query = Query(Word).where(Word.book == "x", Word.kind.is_in(*kinds), Word.number >= bound)
        return query.descending() if descending else query

    def held(bound: int) -> list[Any]:
        found = [item for item in items if item.kind in kinds and item.number >= bound]
        return sorted(found, key=lambda item: item.sk, reverse=descending)

    before = held(first)
    assume(len(before) > 1)
    size = data.draw(st.integers(1, len(before) - 1))

    async def page(bound: int, size: int, cursor: str | None) -> Any:
        async with Session(transport=SmallDynamoDB(asked(bound), items, page=2)) as session:
            return await session.execute(asked(bound).page(size=size, after=cursor))

    one = asyncio.run(page(first, size, None))
    assert one.items == before[:size]
    two = asyncio.run(page(then, 100, one.cursor))
    last = one.items[-1].sk
    assert two.items == [item for item in held(then) if (item.sk < last if descending else item.sk > last)]


SHOP = Table(
    "shop", partition_key="pk", sort_key="sk", indexes=(GlobalIndex("by_tag", partition_key="ip", sort_key="is"),)
)


class Order(Model, table=SHOP, kind="order"):
    owner: Attr[str]
    n: Attr[int]
    tag: Attr[str | None] = attr(default=None)
    pk: PartitionKey[str] = template("owner:{owner}")
    sk: SortKey[str] = template("ORDER#{n:03d}")
    ip: Attr[str | None] = template("{tag}")
    i_s: Attr[str | None] = template("{n:03d}#{tag}", name="is")


class Line(Model, table=SHOP, kind="line"):
    owner: Attr[str]
    n: Attr[int]
    line: Attr[int]
    pk: PartitionKey[str] = template("owner:{owner}")
    sk: SortKey[str] = template("ORDER#{n:03d}#{line:02d}")


class Visit(Model, table=SHOP, kind="visit"):
    owner: Attr[str]
    n: Attr[int]
    tag: Attr[str | None] = attr(default=None)
    pk: PartitionKey[str] = template("owner:{owner}")
    sk: SortKey[str] = template("VISIT#{n:03d}")
    ip: Attr[str | None] = template("{tag}")
    i_s: Attr[str | None] = template("visit#{n:03d}", name="is")


ALIENS = [
    {"pk": {"S": "owner:x"}, "sk": {"S": sk}, "kind": {"S": "alien"}} for sk in ("A", "ORDER#002#", "VISIT#003#", "Z")
]
FEW = st.integers(0, 6)
OWNERS = st.sampled_from(["x", "x", "y"])
TAGS = st.sampled_from(["t", "u"])
KINDS: list[Any] = [
    [Order(owner=owner, n=n, tag=tag) for owner, n, tag in product("xxy", range(7), ("t", "u", None))],
    [Line(owner=owner, n=n, line=line) for owner, n, line in product("xxy", range(7), range(7))],
    [Visit(owner=owner, n=n, tag=tag) for owner, n, tag in product("xxy", range(7), ("t", "u", None))],
]
STOCK = st.lists(st.one_of(*map(st.sampled_from, KINDS)), max_size=25, unique_by=identity)
READS: list[tuple[Any, tuple[type[Any], ...]]] = [
    (lambda: Query(Order), (Order,)),
    (lambda: Query(Line), (Line,)),
    (lambda: Query(Visit), (Visit,)),
    (lambda: Collection(Order, Line), (Order, Line)),
    (lambda: Collection(Visit, Order), (Visit, Order)),
    (lambda: Collection(Order, Line, Visit), (Order, Line, Visit)),
    (lambda: Collection(Line, Order).unknown("skip"), (Order, Line)),
]


@given(STOCK, st.sampled_from(READS), st.data(), st.integers(1, 7), st.integers(1, 4), st.booleans())
@settings(deadline=None, max_examples=100)
def test_a_shared_table_gives_those_models_that_are_asked_for(
    stock: list[Any], read: Any, data: st.DataObject, page: int, size: int, descending: bool
) -> None:
    begin, models = read
    first = models[0]
    tagged = Line not in models and data.draw(st.booleans())
    if tagged:
        tag = data.draw(TAGS)
        asked = [Asked(first.tag == tag, lambda item: item.tag == tag)]
    else:
        owners = data.draw(st.lists(OWNERS, min_size=1, max_size=2))
        field = first.owner
        asked = [Asked(field.is_in(*owners) if len(owners) > 1 else field == owners[0], lambda i: i.owner in owners)]
    bound = data.draw(FEW)
    choices = [
        Asked(first.n == bound, lambda item: item.n == bound),
        Asked(first.n >= bound, lambda item: item.n >= bound),
        Asked(first.n.is_in(bound, 2), lambda item: item.n in (bound, 2)),
    ]
    asked += data.draw(st.lists(st.sampled_from(choices), max_size=1))
    query = begin().where(*(each.condition for each in asked))
    query = query.descending() if descending else query
    everything = stock if query.spec.sees_unknown else [*stock, *ALIENS]
    wanted = [item for item in stock if isinstance(item, models) and all(each.test(item) for each in asked)]

    async def main() -> Any:
        async with Session(transport=SmallDynamoDB(query, everything, page=page)) as session:
            found, cursor = [], None
            while True:
                read = await session.execute(query.page(size=size, after=cursor))
                found, cursor = found + read.items, read.cursor
                if cursor is None:
                    break
            return await session.execute(query), found, await session.execute(query.first())

    found, paged, one = asyncio.run(main())
    assert sorted(map(identity, found)) == sorted(map(identity, wanted))
    assert (paged, one) == (found, found[0] if found else None)
