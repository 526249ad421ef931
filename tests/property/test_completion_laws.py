"""What an index of keys gives, completed from the table, is what a plain filter and sort of all items gives.

A small DynamoDB in Python answers; its index holds keys only, also where the item has changed or gone since. What
should come out is worked out apart from it, with plain Python predicates on the model's instances.
"""

import asyncio
from dataclasses import dataclass
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, LocalIndex, Model, PartitionKey, Session, SortKey, attr, include
from dynamap_async.codec import order_key
from dynamap_async.models import definition_of


class Item(Model, table="items"):
    p: PartitionKey[str]
    s: SortKey[int]
    a: Attr[int] = attr(name="attribute a", default=0)
    b: Attr[str | None] = attr(default=None)
    c: Attr[str] = attr(default="")
    tags: Attr[set[str]] = attr(default_factory=set)

    by_a = LocalIndex(sort_key="a", projection=include("b"))
    by_b = GlobalIndex(partition_key="b", sort_key="a", projection=KEYS_ONLY)


class Card(BaseModel):
    s: int
    a: int
    b: str | None


TABLE = definition_of(Item).table


class SmallDynamoDB:
    """Answers the reads of one index, whose conditions are given as predicates, and of the table's items."""

    max_connections = 64

    def __init__(self, items, asked, *, page, gone):
        self.asked, self.page = asked, page
        stored = [(item, definition_of(Item).items.encode(item)) for item in items]
        self.items = {self.key(wire): wire for item, wire in stored if (item.p, item.s) not in gone}
        keys = TABLE.index(asked.index).keys
        self.names = tuple(dict.fromkeys((*TABLE.keys.names, *keys.names)))
        self.sort = [*(each.name for each in keys.sort), *self.names]
        held = {*self.names, *TABLE.index(asked.index).projection.attributes}
        self.entries = sorted(
            (
                (item, {name: value for name, value in wire.items() if name in held})
                for item, wire in stored
                if all(name in wire for name in self.names)
            ),
            key=lambda entry: self.order(entry[1]),
        )

    @staticmethod
    def key(wire):
        return wire["p"]["S"], wire["s"]["N"]

    def order(self, wire):
        return [order_key(wire[name]) for name in self.sort]

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        body = request.body
        if request.operation == "GetItem":
            item = self.items.get(self.key(body["Key"]))
            return {"Item": item} if item else {}
        if request.operation == "BatchGetItem":
            found = [self.items.get(self.key(each)) for each in body["RequestItems"]["items"]["Keys"]]
            return {"Responses": {"items": [each for each in reversed(found) if each]}, "UnprocessedKeys": {}}
        return self.query(body)

    def query(self, body):
        forward = body.get("ScanIndexForward", True)
        partition = next(iter(body["ExpressionAttributeValues"].values()))["S"]
        read = [each for each in self.entries if self.asked.reads(each[0], partition)]
        read = read if forward else read[::-1]
        if (start := body.get("ExclusiveStartKey")) is not None:
            after = self.order(start)
            read = [each for each in read if (self.order(each[1]) > after) == forward and self.order(each[1]) != after]
        page = read[: min(self.page, body.get("Limit", self.page))]
        kept = [wire for item, wire in page if self.asked.keeps(item)]
        answer = {"Items": kept, "Count": len(kept), "ScannedCount": len(page)}
        if len(page) < len(read) or (page and len(page) % 2):
            answer["LastEvaluatedKey"] = {name: page[-1][1][name] for name in self.names}
        return answer


@dataclass(frozen=True)
class Asked:
    """A question, and the same in plain Python."""

    index: str
    conditions: tuple[Any, ...]
    partitions: tuple[str, ...]
    reads: Any
    """Whether an item is in the key condition of one partition."""
    keeps: Any
    """Whether it passes the filter."""

    def query(self, session, *, descending):
        index = {"by_a": Item.by_a, "by_b": Item.by_b}[self.index]
        query = session.query(Item).where(*self.conditions).index(index)
        return query.descending() if descending else query

    def expected(self, items, *, descending, gone):
        chosen = [
            item
            for item in items
            if any(self.reads(item, partition) for partition in self.partitions)
            and self.keeps(item)
            and (item.p, item.s) not in gone
        ]
        return sorted(chosen, key=lambda item: item.a, reverse=descending)


texts, numbers = st.sampled_from(["x", "y"]), st.integers(-2, 4)


@st.composite
def questions(draw):
    index = draw(st.sampled_from(["by_a", "by_b"]))
    field, name = (Item.p, "p") if index == "by_a" else (Item.b, "b")
    partitions = tuple(draw(st.lists(texts, min_size=1, max_size=2, unique=True)))
    conditions = [field == partitions[0] if len(partitions) == 1 else field.is_in(*partitions)]
    low = draw(st.none() | numbers)
    if low is not None:
        conditions.append(Item.a >= low)
    least = draw(st.none() | numbers)
    by_b = index == "by_a" and draw(st.booleans())  # by_a holds b beside its keys, and by_b holds s
    if by_b:
        conditions.append(Item.b.exists())
    elif least is not None and index == "by_b":
        conditions.append(Item.s >= least)

    def reads(item, partition):
        return getattr(item, name) == partition and (low is None or item.a >= low)

    def keeps(item):
        if by_b:
            return item.b is not None
        return index == "by_a" or least is None or item.s >= least

    return Asked(index, tuple(conditions), partitions, reads, keeps)


TAGS = [set(), {"x"}, {"y"}, {"x", "y"}]
# Every item there is, so that an item takes one draw.
ITEMS = [
    Item(p=p, s=s, a=a, b=b, c=c, tags=tags)
    for p, s, a, b, c, tags in product("xy", range(-2, 5), range(-2, 5), [None, *"xy"], "xy", TAGS)
]
tables = st.lists(st.sampled_from(ITEMS), max_size=25, unique_by=lambda item: (item.p, item.s))
missing = st.sets(st.sampled_from(list(product("xy", range(-2, 5)))), max_size=6)


def run(items, asked, page, gone, use):
    async def main():
        database = SmallDynamoDB(items, asked, page=page, gone=gone)
        async with Session(transport=database) as session:
            return await use(session)

    return asyncio.run(main())


def identity(items):
    return sorted((item.p, item.s) for item in items)


@given(tables, questions(), st.booleans(), st.integers(1, 8), missing, st.integers(1, 12))
@settings(deadline=None, max_examples=100)
def test_the_completed_result_is_that_of_a_plain_filter_and_sort(items, asked, descending, page, gone, limit):
    want = asked.expected(items, descending=descending, gone=gone)

    async def use(session):
        query = asked.query(session, descending=descending)
        return await query, [item async for item in query], await query.limit(limit), await query.first()

    found, streamed, limited, first = run(items, asked, page, gone, use)
    assert [item.a for item in found] == [item.a for item in want]
    assert sorted(found, key=lambda item: (item.p, item.s)) == sorted(want, key=lambda item: (item.p, item.s))
    assert (streamed, limited, first) == (found, found[:limit], found[0] if found else None)


@given(tables, questions(), st.booleans(), st.integers(1, 8), missing, st.lists(st.integers(1, 6), min_size=1))
@settings(deadline=None, max_examples=100)
def test_pages_of_every_size_lose_and_repeat_nothing(items, asked, descending, page, gone, sizes):
    async def walk(session):
        found, cursor, number = [], None, 0
        while True:
            size = sizes[number % len(sizes)]
            read = await asked.query(session, descending=descending).page(size=size, after=cursor)
            assert len(read.items) == size or read.cursor is None
            found, cursor, number = found + read.items, read.cursor, number + 1
            if cursor is None:
                return found

    async def whole(session):
        return await asked.query(session, descending=descending)

    assert run(items, asked, page, gone, walk) == run(items, asked, page, gone, whole)


@given(tables, questions(), st.booleans(), st.integers(1, 8), st.integers(1, 12))
@settings(deadline=None, max_examples=100)
def test_a_card_has_of_every_item_what_the_item_has(items, asked, descending, page, limit):
    async def use(session):
        query = asked.query(session, descending=descending).limit(limit)
        return await query.into(Card), await query

    cards, whole = run(items, asked, page, (), use)
    assert cards == [Card(s=item.s, a=item.a, b=item.b) for item in whole]
