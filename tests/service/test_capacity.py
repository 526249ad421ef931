"""Our arithmetic against the capacity that engines report: random items, and every operation that reads or writes."""

import random
from functools import reduce
from operator import add

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, LocalIndex, Model, PartitionKey, SortKey, attr, include
from dynamap_async.capacity import Charge, page_charge, read_charge, write_charge
from dynamap_async.models import definition_of
from dynamap_async.operations import SingleRequest
from dynamap_async.request import Request

pytestmark = [
    pytest.mark.asyncio,
]


class Thing(Model, table="things"):
    owner: PartitionKey[str]
    number: SortKey[int]
    city: Attr[str | None] = attr(default=None)
    rank: Attr[int | None] = attr(default=None)
    name: Attr[str] = attr(default="")
    tags: Attr[set[str]] = attr(default_factory=set)
    parts: Attr[dict[str, list[int | str]]] = attr(default_factory=dict)
    blob: Attr[bytes] = attr(default=b"")

    by_city = GlobalIndex(partition_key="city", sort_key="rank")
    by_name = LocalIndex(sort_key="name", projection=include("tags"))


OWNER = "ada"
# The attributes that are not part of the table's key.
PLACEHOLDERS = {name: f"#{name}" for name in ("city", "rank", "name", "tags", "parts", "blob")}


def things(seed, count=12):
    """Return items of sizes from a few bytes to over 8 KB, in and out of the indexes."""
    chance = random.Random(seed)

    def text(most):
        return "".join(chance.choices("aé🦊 ", k=chance.randrange(1, most)))

    return [
        Thing(
            owner=OWNER,
            number=chance.choice([number, 10 ** (number + 2), -number - 1]),
            city=chance.choice([None, "Oslo", "Rome"]),
            rank=chance.choice([None, 7, -1200, 10**30]),
            name=text(20),
            tags={text(9) for _ in range(chance.randrange(4))},
            parts={text(6): [1, "x", -25_000] for _ in range(chance.randrange(4))},
            blob=bytes(chance.choice([0, 10, 900, 1100, 4000, 8300])),
        )
        for number in range(count)
    ]


class Call(SingleRequest[dict]):
    """Any request, which asks for the capacity that it takes."""

    def __init__(self, operation, **body):
        self.operation = operation
        self.body = body

    def request(self, context):
        body = {"ReturnConsumedCapacity": "INDEXES", **self.body}
        writes = self.body.get("Statement", "SELECT").split()[0] != "SELECT"
        return Request(operation=self.operation, table=definition_of(Thing).table.name, body=body, writes=writes)

    def result(self, response, context):
        return response


def reported(response):
    """Return the capacity that an answer reports for the one table that it is about; the engine's sum must be one."""
    consumed = response.get("ConsumedCapacity", [])
    entries = consumed if isinstance(consumed, list) else [consumed]
    assert len(entries) == 1
    entry = entries[0]
    indexes = {**entry.get("GlobalSecondaryIndexes", {}), **entry.get("LocalSecondaryIndexes", {})}
    charge = Charge(
        table_halves=round(2 * entry.get("Table", {}).get("CapacityUnits", 0)),
        index_halves={name: round(2 * index["CapacityUnits"]) for name, index in indexes.items()},
    )
    assert charge.units == entry["CapacityUnits"]
    return charge


def total(charges):
    return reduce(add, charges, Charge())


def wire(item):
    return definition_of(Thing).items.encode(item)


def key(item):
    return definition_of(Thing).key_of(item)


@pytest_asyncio.fixture
async def call(session):
    """Return a coroutine function (operation, body) -> what the engine reports; the table is the session's."""
    await session.tables.create(Thing)
    table = session.table_name(Thing)

    async def send(operation, *, own_table=True, **body):
        named = {"TableName": table} if own_table else {}
        return reported(await session.execute(Call(operation, **named, **body)))

    send.table = table
    return send


@pytest_asyncio.fixture
async def stored(session, call):
    """Return items that are in the table."""
    items = things(1, 25)
    await session.put_many(items)
    return sorted(items, key=lambda item: item.number)


def changed(item, chance):
    """Return the item with some other values, larger or smaller."""
    some = [name for name in PLACEHOLDERS if chance.random() < 0.3]
    other = things(chance.random(), 1)[0]
    return item.model_copy(update={name: getattr(other, name) for name in some})


@pytest.mark.parametrize("seed", range(3))
async def test_puts_and_deletes_take_what_the_arithmetic_says(call, seed):
    chance = random.Random(seed)
    for item in things(seed):
        before = None
        for after in (item, changed(item, chance), changed(item, chance), None, None):
            if after is None:
                took = await call("DeleteItem", Key=key(item))
            else:
                took = await call("PutItem", Item=wire(after))
            assert took == write_charge(Thing, before, after)
            before = after


@pytest.mark.parametrize("seed", range(3))
async def test_updates_take_what_the_arithmetic_says(call, seed):
    chance = random.Random(seed)
    for item in things(seed):
        before = None
        for after in (item, changed(item, chance), changed(item, chance)):
            sets = {name: value for name, value in wire(after).items() if name not in key(item)}
            gone = [name for name in PLACEHOLDERS if name not in sets]
            removes = " REMOVE " + ", ".join(PLACEHOLDERS[name] for name in gone) if gone else ""
            took = await call(
                "UpdateItem",
                Key=key(item),
                UpdateExpression="SET " + ", ".join(f"{PLACEHOLDERS[name]} = :{name}" for name in sets) + removes,
                ExpressionAttributeNames={value: name for name, value in PLACEHOLDERS.items()},
                ExpressionAttributeValues={f":{name}": value for name, value in sets.items()},
            )
            assert took == write_charge(Thing, before, after)
            before = after


@pytest.mark.parametrize("consistent", [False, True])
async def test_gets_round_each_item(call, stored, consistent):
    for item in stored:
        took = await call("GetItem", Key=key(item), ConsistentRead=consistent)
        assert took == read_charge(item, consistent=consistent)
    missing = await call("GetItem", Key=key(Thing(owner="nobody", number=0)), ConsistentRead=consistent)
    assert missing == read_charge(None, consistent=consistent)


@pytest.mark.engine_fault("native", "a projected get is charged for what it returns, not for the item")
async def test_projection_of_a_get_saves_nothing(call, stored):
    large = max(stored, key=lambda item: len(item.blob))
    took = await call("GetItem", Key=key(large), ProjectionExpression="#n", ExpressionAttributeNames={"#n": "number"})
    assert took == read_charge(large)


@pytest.mark.parametrize("consistent", [False, True])
async def test_batch_get_is_the_sum_of_its_items(call, stored, consistent):
    keys = [*map(key, stored), key(Thing(owner="nobody", number=0))]
    items = {call.table: {"Keys": keys, "ConsistentRead": consistent}}
    took = await call("BatchGetItem", own_table=False, RequestItems=items)
    assert took == total(read_charge(item, consistent=consistent) for item in [*stored, None])


async def test_batch_write_is_the_sum_of_its_writes(call, stored):
    chance = random.Random(5)
    put = [changed(item, chance) for item in stored[:8]]
    new = [item.model_copy(update={"owner": "bob"}) for item in stored[8:12]]
    requests = [
        *({"PutRequest": {"Item": wire(item)}} for item in [*put, *new]),
        *({"DeleteRequest": {"Key": key(item)}} for item in [*stored[12:18], Thing(owner="nobody", number=0)]),
    ]
    took = await call("BatchWriteItem", own_table=False, RequestItems={call.table: requests})
    before = [*stored[:8], *[None] * 4, *stored[12:18], None]
    after = [*put, *new, *[None] * 7]
    assert took == total(write_charge(Thing, old, new) for old, new in zip(before, after, strict=True))


async def test_transactional_reads_take_twice_a_consistent_one(call, stored):
    some = stored[:20]  # moto takes no more than 25
    keys = [*map(key, some), key(Thing(owner="nobody", number=0))]
    gets = [{"Get": {"TableName": call.table, "Key": each}} for each in keys]
    took = await call("TransactGetItems", own_table=False, TransactItems=gets)
    assert took == total(read_charge(item, transactional=True) for item in [*some, None])


def actions(table, stored, chance):
    """Return the actions of a transaction of every kind, with the items before and after each."""
    put = changed(stored[0], chance)
    new = stored[1].model_copy(update={"owner": "bob"})
    grown = stored[2].model_copy(update={"blob": b"x" * 3000})
    exists = {"ConditionExpression": "attribute_exists(#o)", "ExpressionAttributeNames": {"#o": "owner"}}
    update = {
        "UpdateExpression": "SET #b = :b",
        "ExpressionAttributeNames": {"#b": "blob"},
        "ExpressionAttributeValues": {":b": wire(grown)["blob"]},
    }
    return [
        ({"Put": {"TableName": table, "Item": wire(put)}}, stored[0], put),
        ({"Put": {"TableName": table, "Item": wire(new)}}, None, new),
        ({"Update": {"TableName": table, "Key": key(grown), **update}}, stored[2], grown),
        ({"Delete": {"TableName": table, "Key": key(stored[3])}}, stored[3], None),
        ({"ConditionCheck": {"TableName": table, "Key": key(stored[4]), **exists}}, stored[4], stored[4]),
    ]


async def test_transactional_writes_double_the_table_and_no_index(call, stored):
    done = actions(call.table, stored, random.Random(7))
    took = await call("TransactWriteItems", own_table=False, TransactItems=[action for action, _, _ in done])
    assert took == total(write_charge(Thing, before, after, transactional=True) for _, before, after in done)


async def test_repeated_token_is_charged_as_transactional_reads(call, stored):
    done = [each for each in actions(call.table, stored, random.Random(7)) if each[2] is not None]
    body = {"TransactItems": [action for action, _, _ in done], "ClientRequestToken": "the same token twice"}
    await call("TransactWriteItems", own_table=False, **body)
    took = await call("TransactWriteItems", own_table=False, **body)
    assert took == total(read_charge(after, transactional=True) for _, _, after in done)


OWNED = {
    "KeyConditionExpression": "#o = :o",
    "ExpressionAttributeNames": {"#o": "owner"},
    "ExpressionAttributeValues": {":o": {"S": OWNER}},
}


@pytest.mark.parametrize("consistent", [False, True])
async def test_query_page_rounds_the_sum_of_what_it_evaluates(call, stored, consistent):
    for limit in (1, 3, 10, 100):
        took = await call("Query", **OWNED, Limit=limit, ConsistentRead=consistent)
        assert took == page_charge(Thing, stored[:limit], consistent=consistent)


async def test_filter_projection_and_count_save_nothing(call, stored):
    everything = page_charge(Thing, stored)
    names = {**OWNED["ExpressionAttributeNames"], "#n": "number"}
    values = OWNED["ExpressionAttributeValues"]
    nobody = {**OWNED, "ExpressionAttributeValues": {**values, ":x": {"S": "x"}}}
    assert await call("Query", **OWNED, Select="COUNT") == everything
    assert await call("Query", **{**OWNED, "ExpressionAttributeNames": names}, ProjectionExpression="#n") == everything
    filtered = {**nobody, "ExpressionAttributeNames": {**names, "#n": "name"}, "FilterExpression": "#n = :x"}
    assert await call("Query", **filtered) == everything


async def test_query_without_items_takes_the_least(call, stored):
    nobody = {**OWNED, "ExpressionAttributeValues": {":o": {"S": "nobody"}}}
    assert await call("Query", **nobody) == page_charge(Thing, [])
    assert await call("Query", **nobody, ConsistentRead=True) == page_charge(Thing, [], consistent=True)


@pytest.mark.parametrize("consistent", [False, True])
async def test_scan_page_rounds_the_sum_of_what_it_evaluates(call, stored, consistent):
    assert await call("Scan", ConsistentRead=consistent) == page_charge(Thing, stored, consistent=consistent)


async def test_index_is_read_by_the_size_of_its_entries(call, stored):
    for city in ("Oslo", "Rome"):
        took = await call(
            "Query",
            IndexName="by_city",
            KeyConditionExpression="city = :c",
            ExpressionAttributeValues={":c": {"S": city}},
        )
        assert took == page_charge(Thing, [item for item in stored if item.city == city], index="by_city")
    assert await call("Scan", IndexName="by_city") == page_charge(Thing, stored, index="by_city")


@pytest.mark.parametrize("consistent", [False, True])
async def test_local_index_is_read_by_the_size_of_its_entries(call, stored, consistent):
    took = await call("Query", **OWNED, IndexName="by_name", ConsistentRead=consistent)
    assert took == page_charge(Thing, stored, index="by_name", consistent=consistent)


@pytest.mark.engine_fault("native", "fetched items are summed before they are rounded; AWS's guide rounds each")
@pytest.mark.parametrize("consistent", [False, True])
async def test_local_index_fetches_whole_items_for_what_it_lacks(call, stored, consistent):
    took = await call("Query", **OWNED, IndexName="by_name", ConsistentRead=consistent, Select="ALL_ATTRIBUTES")
    assert took == page_charge(Thing, stored, index="by_name", consistent=consistent, fetched=True)


async def test_statements_take_what_the_operations_take_that_they_stand_for(call, stored):
    item = stored[0]
    mine = f'FROM "{call.table}" WHERE owner = ? AND number = ?'
    parameters = list(key(item).values())
    for consistent in (False, True):
        body = {"Statement": f"SELECT * {mine}", "Parameters": parameters, "ConsistentRead": consistent}
        assert await call("ExecuteStatement", own_table=False, **body) == read_charge(item, consistent=consistent)
    deleted = await call("ExecuteStatement", own_table=False, Statement=f"DELETE {mine}", Parameters=parameters)
    assert deleted == write_charge(Thing, item, None)
