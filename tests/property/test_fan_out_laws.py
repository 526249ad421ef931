"""Queries over several partitions give what a plain sort and filter give, and their pages lose and repeat nothing.

The database is one query's answerer for each partition; what should come out is worked out apart from it.
"""

import asyncio
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Session, SortKey, attr
from dynamap_async.codec import order_key
from dynamap_async.models import definition_of


class Item(Model, table="items"):
    p: PartitionKey[str]
    s: SortKey[int]
    a: Attr[int] = attr(default=0)
    b: Attr[str] = attr(default="")

    by_b = GlobalIndex(partition_key="b", sort_key="a")
    by_both = GlobalIndex(partition_key=("b", "a"), sort_key=("s", "p"))
    by_a = GlobalIndex(partition_key="a")


class Partitions:
    """Answers the queries of any index whose key condition is one value for each partition attribute."""

    max_connections = 64

    def __init__(self, items, *, page):
        self.items = [definition_of(Item).items.encode(item) for item in items]
        self.page = page
        self.requests = []

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        body = request.body
        table = definition_of(Item).table
        keys = table.keys if request.index is None else table.index(request.index).keys
        names = tuple(dict.fromkeys((*table.keys.names, *keys.names)))
        order = [*(each.name for each in keys.sort), *names]
        values = body["ExpressionAttributeValues"]
        conditions = [each.split(" = ") for each in body["KeyConditionExpression"].split(" AND ")]
        named = body.get("ExpressionAttributeNames", {})
        wanted = {named.get(name, name): values[value] for name, value in conditions}
        assert wanted.keys() == {each.name for each in keys.partition}
        forward = body.get("ScanIndexForward", True)

        def rank(item):
            return [order_key(item[name]) for name in order]

        read = [item for item in self.items if all(item[name] == value for name, value in wanted.items())]
        read.sort(key=rank, reverse=not forward)
        start = body.get("ExclusiveStartKey")
        if start is not None:
            assert start.keys() == set(names)
            after = rank(start)
            read = [item for item in read if (rank(item) > after if forward else rank(item) < after)]
        page = read[: min(self.page, body.get("Limit", self.page))]
        kept = page
        if "FilterExpression" in body:
            kept = [item for item in page if int(item["a"]["N"]) > 0]
        answer = {"Count": len(kept), "ScannedCount": len(page)}
        if body.get("Select") != "COUNT":
            answer["Items"] = kept
        if len(page) < len(read) or (page and len(page) % 2):
            answer["LastEvaluatedKey"] = {name: page[-1][name] for name in names}
        return answer


TEXTS = ["x", "y", "z", "w"]
# Every item there is, so that an item takes one draw.
ITEMS = [Item(p=p, s=s, a=a, b=b) for p, s, a, b in product(TEXTS, range(-3, 10), range(-1, 3), TEXTS)]
tables = st.lists(st.sampled_from(ITEMS), max_size=40, unique_by=lambda item: (item.p, item.s))
ways = st.sampled_from(["table", "filtered", "index", "both", "no sort key"])
values = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5)


class Way(NamedTuple):
    """A query, and the same in plain Python."""

    conditions: Callable[[list[str]], list[Any]]
    index: Any
    chosen: Callable[[Item, list[str]], bool]
    rank: Callable[[Item], tuple[Any, ...]]


WAYS = {
    "table": Way(
        lambda asked: [Item.p.is_in(*asked)], None, lambda item, asked: item.p in asked, lambda item: (item.s,)
    ),
    "filtered": Way(
        lambda asked: [Item.p.is_in(*asked), Item.a > 0],
        None,
        lambda item, asked: item.p in asked and item.a > 0,
        lambda item: (item.s,),
    ),
    "index": Way(
        lambda asked: [Item.b.is_in(*asked)], Item.by_b, lambda item, asked: item.b in asked, lambda item: (item.a,)
    ),
    "both": Way(
        lambda asked: [Item.b.is_in(*asked), Item.a.is_in(0, 1)],
        Item.by_both,
        lambda item, asked: item.b in asked and item.a in (0, 1),
        lambda item: (item.s, item.p),
    ),
    "no sort key": Way(
        lambda asked: [Item.a.is_in(1, 0)], Item.by_a, lambda item, asked: item.a in (1, 0), lambda item: ()
    ),
}


def question(name, asked, descending):
    """Return what builds the query, and what it should give of all items."""
    way = WAYS[name]

    def build(session):
        query = session.query(Item).where(*way.conditions(asked))
        query = query if way.index is None else query.index(way.index)
        return query.descending() if descending else query

    def expected(items):
        return sorted((item for item in items if way.chosen(item, asked)), key=way.rank, reverse=descending)

    return build, expected, way.rank


def run(items, page, use, build):
    async def main():
        database = Partitions(items, page=page)
        async with Session(transport=database) as session:
            return await use(build(session))

    return asyncio.run(main())


def key(item):
    return item.p, item.s


async def listed(query):
    return await query


@given(tables, ways, values, st.booleans(), st.integers(1, 9), st.integers(1, 12))
@settings(deadline=None, max_examples=100)
def test_the_merged_result_is_that_of_a_plain_sort_and_filter(items, way, asked, descending, page, limit):
    build, expected, rank = question(way, asked, descending)
    found, want = run(items, page, listed, build), expected(items)
    assert sorted(map(key, found)) == sorted(map(key, want))
    assert list(map(rank, found)) == list(map(rank, want))
    if way == "no sort key":  # by partition, in the order given
        assert [item.a for item in found] == sorted((item.a for item in found), reverse=True)

    async def streamed(query):
        return [item async for item in query.limit(limit)]

    async def counted(query):
        return await query.count(), await query.limit(limit).count()

    assert run(items, page, streamed, build) == found[:limit]
    assert run(items, page, counted, build) == (len(want), min(limit, len(want)))
    assert run(items, page, lambda query: query.first(), build) == (found[0] if found else None)


@given(tables, ways, values, st.booleans(), st.integers(1, 9), st.lists(st.integers(1, 7), min_size=1, max_size=4))
@settings(deadline=None, max_examples=100)
def test_pages_of_every_size_lose_and_repeat_nothing(items, way, asked, descending, page, sizes):
    build, _, _ = question(way, asked, descending)

    async def walk(query):
        found, cursor, number = [], None, 0
        while True:
            size = sizes[number % len(sizes)]
            read = await query.page(size=size, after=cursor)
            assert len(read.items) == size or read.cursor is None
            found, cursor, number = found + read.items, read.cursor, number + 1
            if cursor is None:
                return found

    assert run(items, page, walk, build) == run(items, 100, listed, build)
