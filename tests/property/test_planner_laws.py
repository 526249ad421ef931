"""However a query is planned, paged and resumed, it gives the items that its conditions describe, each once, in order.

A small DynamoDB in Python answers: it carries out a plan's key condition and filter on a list of items, a page at a
time. What should come out is worked out apart from it, with plain Python predicates on the model's instances.
"""

import asyncio
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import event, given, reject, settings
from hypothesis import strategies as st

from dynamap_async import Attr, GlobalIndex, LocalIndex, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.codec import order_key
from dynamap_async.errors import OperationError
from dynamap_async.expressions import And, Between, Function, In, Not, Or, Path
from dynamap_async.models import definition_of


class Item(Model, table="items"):
    p: PartitionKey[str]
    s: SortKey[int]
    a: Attr[int] = attr(name="attribute a", default=0)
    b: Attr[str | None] = attr(default=None)
    c: Attr[int | None] = attr(default=None)

    by_a = LocalIndex(sort_key="a")
    by_b = GlobalIndex(partition_key="b", sort_key="c")
    by_both = GlobalIndex(partition_key=("b", "a"), sort_key=("c", "s"))


def holds(condition, item):
    """Return whether a condition is true of a wire item."""
    match condition:
        case And(parts=parts):
            return all(holds(part, item) for part in parts)
        case Or(parts=parts):
            return any(holds(part, item) for part in parts)
        case Not(part=part):
            return not holds(part, item)
        case Function(path=path):
            return function_holds(condition, item.get(path.attribute))
        case Between(operand=path, low=low, high=high):
            found = item.get(path.attribute)
            return compared("<=", low.stored, found) and compared("<=", found, high.stored)
        case In(operand=path, values=values):
            return item.get(path.attribute) in [value.stored for value in values]
    return compared(condition.comparator, operand(condition.left, item), operand(condition.right, item))


def function_holds(function, found):
    match function.name:
        case "attribute_exists":
            return found is not None
        case "attribute_not_exists":
            return found is None
        case "begins_with":
            return found is not None and found.get("S", "").startswith(function.arguments[0].stored["S"])
    raise AssertionError(function)


def operand(value, item):
    return item.get(value.attribute) if isinstance(value, Path) else value.stored


def compared(comparator, left, right):
    if left is None or right is None or left.keys() != right.keys():
        return comparator == "<>"
    first, second = order_key(left), order_key(right)
    return {
        "=": first == second,
        "<>": first != second,
        "<": first < second,
        "<=": first <= second,
        ">": first > second,
        ">=": first >= second,
    }[comparator]


class SmallDynamoDB:
    """Answers the Query and Scan requests of one plan."""

    max_connections = 64

    def __init__(self, plan, items, *, page):
        table = definition_of(Item).table
        self.keys = table.keys if plan.index is None else table.index(plan.index).keys
        self.names = tuple(dict.fromkeys((*table.keys.names, *self.keys.names)))
        entries = [item for item in items if all(name in item for name in self.keys.names)]
        self.entries = sorted(entries, key=self.order)
        self.plan, self.page = plan, page
        self.requests = []

    def order(self, item):
        sort = [name for name in self.keys.names if name not in [each.name for each in self.keys.partition]]
        return [order_key(item[name]) for name in (*sort, *self.names)]

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        forward = request.body.get("ScanIndexForward", True)
        read = [item for item in self.entries if all(holds(each, item) for each in self.plan.key_conditions)]
        read = read if forward else read[::-1]
        start = request.body.get("ExclusiveStartKey")
        if start is not None:
            assert start.keys() == set(self.names)
            after = self.order(start)
            read = [item for item in read if (self.order(item) > after if forward else self.order(item) < after)]
        page = read[: min(self.page, request.body.get("Limit", self.page))]
        kept = [item for item in page if all(holds(each, item) for each in self.plan.filters)]
        answer = {"Count": len(kept), "ScannedCount": len(page)}
        if request.body.get("Select") != "COUNT":
            answer["Items"] = kept
        if len(page) < len(read) or (page and len(page) % 2):  # sometimes after the very last item, as DynamoDB does
            answer["LastEvaluatedKey"] = {name: page[-1][name] for name in self.names}
        return answer


numbers = st.integers(-3, 3)
TEXTS = ["x", "xy", "y"]


@dataclass(frozen=True)
class Asked:
    """A condition, and the same in plain Python."""

    condition: Any
    test: Any

    def __repr__(self):
        return str(self.condition)


def number_conditions(name, n, m):
    field, low, high = getattr(Item, name), min(n, m), max(n, m)

    def on(test):
        return lambda item: (value := getattr(item, name)) is not None and test(value)

    return [
        Asked(field == n, on(lambda value: value == n)),
        Asked(field < n, on(lambda value: value < n)),
        Asked(field <= n, on(lambda value: value <= n)),
        Asked(field > n, on(lambda value: value > n)),
        Asked(field >= n, on(lambda value: value >= n)),
        Asked(field.between(low, high), on(lambda value: low <= value <= high)),
        Asked(field != n, lambda item: getattr(item, name) != n),
        Asked(field.is_in(n, m), on(lambda value: value in (n, m))),
    ]


def text_conditions(x):
    return [
        Asked(Item.p == x, lambda item: item.p == x),
        Asked(Item.b == x, lambda item: item.b == x),
        Asked(Item.b != x, lambda item: item.b != x),
        Asked(Item.b.begins_with(x), lambda item: item.b is not None and item.b.startswith(x)),
        Asked(Item.b.is_(None), lambda item: item.b is None),
        Asked(Item.b.exists(), lambda item: item.b is not None),
        Asked(Item.b.is_in(x, None), lambda item: item.b in (x, None)),
    ]


def combined(parts):
    pairs = st.tuples(parts, parts)
    return st.one_of(
        parts.map(lambda part: Asked(~part.condition, lambda item: not part.test(item))),
        pairs.map(lambda p: Asked(p[0].condition & p[1].condition, lambda item: p[0].test(item) and p[1].test(item))),
        pairs.map(lambda p: Asked(p[0].condition | p[1].condition, lambda item: p[0].test(item) or p[1].test(item))),
    )


# Every simple condition and every item there is, so that each takes one draw.
ON_NUMBERS = [each for asked in product("sac", range(-3, 4), range(-3, 4)) for each in number_conditions(*asked)]
ON_TEXTS = [each for text in TEXTS for each in text_conditions(text)]
ITEMS = [
    Item(p=p, s=s, a=a, b=b, c=c)
    for p, s, a, b, c in product(TEXTS, range(-3, 4), range(-3, 4), [*TEXTS, None], [*range(-3, 4), None])
]
simple = st.sampled_from(ON_NUMBERS) | st.sampled_from(ON_TEXTS)
conditions = simple | combined(simple)
partitions = st.sampled_from([text_conditions(text)[number] for number in (0, 1) for text in TEXTS])
tables = st.lists(st.sampled_from(ITEMS), max_size=25, unique_by=lambda item: (item.p, item.s))
asked = st.tuples(partitions, st.lists(conditions, max_size=2)).map(lambda drawn: [drawn[0], *drawn[1]])


def planned(query):
    try:
        plan = query.explain()
    except OperationError as refusal:
        event(type(refusal).__name__)
        reject()
    event(f"index {plan.index}, {len(plan.sort_conditions)} sort conditions, {len(plan.filters)} filters")
    return plan


def described(items, wanted, index=None):
    """Return what the conditions describe; an index holds only the items that have all attributes of its key."""
    needed = [] if index is None else definition_of(Item).table.index(index).keys.names
    fields = [definition_of(Item).field_names[name] for name in needed]
    held = [item for item in items if all(getattr(item, field) is not None for field in fields)]
    return [item for item in held if all(each.test(item) for each in wanted)]


def key(item):
    return item.p, item.s


async def with_session(items, build, use, *, page):
    """Return what ``use`` gives for the query that ``build`` makes, and the database that answered it."""
    stored = [definition_of(Item).items.encode(item) for item in items]
    database = SmallDynamoDB(planned(build(Session())), stored, page=page)
    async with Session(transport=database) as session:
        return await use(build(session)), database


def in_order(found, database, *, descending):
    stored = [database.order(definition_of(Item).items.encode(item)) for item in found]
    return stored == sorted(stored, reverse=descending)


def question(wanted, descending):
    def build(session):
        query = session.query(Item).where(*(each.condition for each in wanted))
        return query.descending() if descending else query

    return build


@given(tables, asked, st.booleans(), st.integers(1, 7))
@settings(deadline=None, max_examples=100)
def test_a_query_gives_what_its_conditions_describe(items, wanted, descending, page):
    found, database = asyncio.run(with_session(items, question(wanted, descending), lambda query: query, page=page))
    assert sorted(map(key, found)) == sorted(map(key, described(items, wanted, database.plan.index)))
    assert in_order(found, database, descending=descending)


@given(tables, st.lists(conditions, max_size=2), st.integers(1, 7))
@settings(deadline=None)
def test_a_scan_gives_what_its_conditions_describe(items, wanted, page):
    def build(session):
        return session.scan(Item).where(*(each.condition for each in wanted))

    found, _ = asyncio.run(with_session(items, build, lambda query: query, page=page))
    assert sorted(map(key, found)) == sorted(map(key, described(items, wanted)))


@given(tables, asked, st.booleans(), st.integers(1, 7), st.integers(1, 9), st.integers(1, 9))
@settings(deadline=None)
def test_a_limit_gives_the_first_items_and_asks_for_no_more(items, wanted, descending, page, limit, page_size):
    build = question(wanted, descending)
    everything, _ = asyncio.run(with_session(items, build, lambda query: query, page=100))

    async def streamed(query):
        return [item async for item in query.limit(limit).page_size(page_size)]

    async def counted(query):
        return await query.limit(limit).count()

    found, database = asyncio.run(with_session(items, build, streamed, page=page))
    assert found == everything[:limit]
    if not database.plan.filters:
        assert sum(request.body["Limit"] for request in database.requests) <= limit + page_size * len(database.requests)
        assert all(request.body["Limit"] <= min(limit, page_size) for request in database.requests)
    count, _ = asyncio.run(with_session(items, build, counted, page=page))
    assert count == len(everything[:limit])


@given(tables, asked, st.booleans(), st.integers(1, 7), st.lists(st.integers(1, 6), min_size=1, max_size=4))
@settings(deadline=None, max_examples=100)
def test_pages_of_any_size_lose_nothing_and_overlap_nowhere(items, wanted, descending, page, sizes):
    build = question(wanted, descending)

    async def walk(query):
        found, cursor, number = [], None, 0
        while True:
            size = sizes[number % len(sizes)]
            read = await query.page(size=size, after=cursor)
            assert len(read.items) == size or read.cursor is None
            found, cursor, number = found + read.items, read.cursor, number + 1
            if cursor is None:
                return found

    everything, _ = asyncio.run(with_session(items, build, lambda query: query, page=100))
    found, _ = asyncio.run(with_session(items, build, walk, page=page))
    assert found == everything


@given(st.sets(numbers, min_size=2), st.data(), numbers, st.booleans())
@settings(deadline=None)
def test_a_cursor_goes_on_in_a_range_that_has_moved(places, data, then, descending):
    first = data.draw(st.sampled_from(sorted(places)[:-1]), "the first page's range begins here")
    size = data.draw(st.integers(1, sum(place >= first for place in places) - 1), "and leaves something over")
    stored = [definition_of(Item).items.encode(Item(p="x", s=place)) for place in places]

    def query(session, bound):
        found = session.query(Item).where(Item.p == "x", Item.s >= bound)
        return found.descending() if descending else found

    async def main():
        async with Session(transport=SmallDynamoDB(query(Session(), first).explain(), stored, page=3)) as one:
            page = await query(one, first).page(size=size)
        database = SmallDynamoDB(query(Session(), then).explain(), stored, page=3)
        async with Session(transport=database) as two:
            rest = await query(two, then).page(size=100, after=page.cursor)
        return page.items[-1].s, rest.items, database

    last, found, database = asyncio.run(main())
    inside = [place for place in places if place >= then]
    rest = sorted((s for s in inside if (s < last if descending else s > last)), reverse=descending)
    assert [item.s for item in found] == rest
    if descending and last < then:
        assert database.requests == []
