"""Keys with shards: spread evenly, never mistaken for one another, and read as if they had none.

The database is one query's answerer for each partition; what should come out is worked out apart from it.
"""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Session, Shards, SortKey, attr, template
from dynamap_async.codec import order_key
from dynamap_async.models import definition_of


class Entry(Model, table="entries"):
    p: PartitionKey[str] = attr(shards=4)
    s: SortKey[int]
    a: Attr[int] = attr(default=0)
    b: Attr[str | None] = attr(default=None, shards=3)
    r: Attr[str] = attr(default="")
    c: Attr[str] = template("c:{r}", shards=Shards(5, by="a", before=2))

    by_b = GlobalIndex(partition_key="b", sort_key="a")
    by_c = GlobalIndex(partition_key="c", sort_key="s")


class Place(Model, table="places"):
    name: PartitionKey[str] = attr(shards=7)
    city: SortKey[str]
    kind: Attr[str] = attr(default="x", shards=Shards(100, by="city"))
    by_kind = GlobalIndex(partition_key="kind")


NUMBERS = range(10_000)
SOURCES = {
    "numbers": [{"N": str(n)} for n in NUMBERS],
    "hundreds": [{"N": str(n * 100)} for n in NUMBERS],
    "times": [{"S": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n)).isoformat()} for n in NUMBERS],
    "texts": [{"S": f"user#{n:08d}"} for n in NUMBERS],
    "random": [{"S": str(UUID(int=n * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128))} for n in NUMBERS],
}


@pytest.mark.parametrize("source", list(SOURCES))
@pytest.mark.parametrize("attribute", ["name", "kind"])
def test_keys_are_spread_evenly_over_the_shards(source, attribute):
    sharding = definition_of(Place).items.shards.of[attribute]
    found = Counter(sharding.number({"city": value}) for value in SOURCES[source])
    fair = len(NUMBERS) / sharding.total
    assert sorted(found) == list(range(sharding.total))
    # Five standard deviations of what chance would do.
    assert all(abs(count - fair) < 5 * fair**0.5 for count in found.values())


keys = st.text(st.sampled_from("ab#01é\0"), min_size=1, max_size=5)
places = st.builds(Place, name=keys, city=keys, kind=keys)


@given(places, places)
@settings(deadline=None)
def test_what_is_stored_reads_back_and_two_keys_are_never_one(one, other):
    codec = definition_of(Place).items
    stored, more = codec.encode(one), codec.encode(other)
    assert codec.decode([stored, more]) == [one, other]
    assert definition_of(Place).key_of(one) == {name: stored[name] for name in ("name", "city")}
    same = (one.name, one.city) == (other.name, other.city)
    assert same == (definition_of(Place).key_of(one) == definition_of(Place).key_of(other))
    assert (stored["kind"] == more["kind"]) <= (one.kind == other.kind)


class Partitions:
    """Answers the queries of the table and its indexes, of one partition each."""

    max_connections = 64

    def __init__(self, items, *, page):
        self.items = [definition_of(Entry).items.encode(item) for item in items]
        self.page = page
        self.queried = []

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        body = request.body
        table = definition_of(Entry).table
        keys = table.keys if request.index is None else table.index(request.index).keys
        names = tuple(dict.fromkeys((*table.keys.names, *keys.names)))
        values, named = body["ExpressionAttributeValues"], body.get("ExpressionAttributeNames", {})
        conditions = [each.split(" = ") for each in body["KeyConditionExpression"].split(" AND ")]
        wanted = {named.get(name, name): values[value] for name, value in conditions}
        self.queried.append(wanted)
        forward = body.get("ScanIndexForward", True)

        def rank(item):
            return [order_key(item[name]) for name in (*(each.name for each in keys.sort), *names)]

        read = [item for item in self.items if all(item.get(name) == value for name, value in wanted.items())]
        read.sort(key=rank, reverse=not forward)
        start = body.get("ExclusiveStartKey")
        if start is not None:
            assert start.keys() == set(names)
            read = [item for item in read if (rank(item) > rank(start) if forward else rank(item) < rank(start))]
        page = read[: min(self.page, body.get("Limit", self.page))]
        kept = [item for item in page if int(item["a"]["N"]) > 0] if "FilterExpression" in body else page
        answer = {"Count": len(kept), "ScannedCount": len(page)}
        if body.get("Select") != "COUNT":
            answer["Items"] = kept
        if len(page) < len(read):
            answer["LastEvaluatedKey"] = {name: page[-1][name] for name in names}
        return answer


TEXTS = ["x", "y", "x#01"]
texts = st.sampled_from(TEXTS)
# Every entry there is, so that an entry takes one draw.
ENTRIES = [
    Entry(p=p, s=s, a=a, b=b, r=r)
    for p, s, a, b, r in product(TEXTS, range(-3, 10), range(-1, 3), [None, *TEXTS], TEXTS)
]
tables = st.lists(st.sampled_from(ENTRIES), max_size=40, unique_by=lambda item: (item.p, item.s))
WAYS = {
    "table": (lambda v: [Entry.p == v], lambda item, v: item.p == v, lambda item: (item.s,), 4),
    "filtered": (
        lambda v: [Entry.p == v, Entry.a > 0],
        lambda item, v: item.p == v and item.a > 0,
        lambda item: (item.s,),
        4,
    ),
    "one item": (
        lambda v: [Entry.p == v, Entry.s == 3],
        lambda item, v: item.p == v and item.s == 3,
        lambda item: (item.s,),
        1,
    ),
    "index": (lambda v: [Entry.b == v], lambda item, v: item.b == v, lambda item: (item.a,), 3),
    "several": (lambda v: [Entry.b.is_in(v, "y")], lambda item, v: item.b in (v, "y"), lambda item: (item.a,), 6),
    "template": (lambda v: [Entry.r == v], lambda item, v: item.r == v, lambda item: (item.s,), 5),
}


def run(items, page, use, conditions, *, descending):
    async def main():
        database = Partitions(items, page=page)
        async with Session(transport=database) as session:
            query = session.query(Entry).where(*conditions)
            return await use(query.descending() if descending else query), database.queried

    return asyncio.run(main())


async def listed(query):
    return await query


@given(tables, st.sampled_from(list(WAYS)), texts, st.booleans(), st.integers(1, 9), st.integers(1, 12))
@settings(deadline=None, max_examples=100)
def test_shards_read_as_one_partition_would(items, way, value, descending, page, limit):
    conditions, chosen, rank, queries = WAYS[way]
    asked = conditions(value)
    want = sorted((item for item in items if chosen(item, value)), key=rank, reverse=descending)
    found, queried = run(items, page, listed, asked, descending=descending)
    assert sorted((item.p, item.s) for item in found) == sorted((item.p, item.s) for item in want)
    assert list(map(rank, found)) == list(map(rank, want))
    assert len({str(each) for each in queried}) == (3 if way == "several" and value == "y" else queries)

    async def streamed(query):
        return [item async for item in query.limit(limit)]

    async def counted(query):
        return await query.count()

    assert run(items, page, streamed, asked, descending=descending)[0] == found[:limit]
    assert run(items, page, counted, asked, descending=descending)[0] == len(want)


@given(tables, st.sampled_from(list(WAYS)), texts, st.booleans(), st.integers(1, 9), st.integers(1, 7))
@settings(deadline=None, max_examples=100)
def test_pages_of_shards_lose_and_repeat_nothing(items, way, value, descending, page, size):
    asked = WAYS[way][0](value)

    async def walk(query):
        found, cursor = [], None
        while True:
            read = await query.page(size=size, after=cursor)
            found, cursor = found + read.items, read.cursor
            if cursor is None:
                return found

    found, _ = run(items, page, walk, asked, descending=descending)
    assert found == run(items, 100, listed, asked, descending=descending)[0]
