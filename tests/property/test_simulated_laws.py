"""Laws of the engine in the process: order, indexes, snapshots and streams."""

import json
from base64 import b64encode
from bisect import bisect_left
from decimal import Decimal

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dynamap_async.simulated import SimulatedDynamoDB, numbers
from dynamap_async.simulated.blocks import SortedKeys
from dynamap_async.simulated.errors import Refused
from dynamap_async.simulated.store import exact, prefix_bounds
from dynamap_async.simulated.values import admit_item

KEYS = st.binary(min_size=1, max_size=3)
DIGITS = st.integers(-(10**38) + 1, 10**38 - 1)
NUMBERS = st.builds(lambda digits, exponent: f"{digits}e{exponent}", DIGITS, st.integers(-80, 80))


@given(st.lists(KEYS, unique=True, max_size=60), st.data())
def test_keys_are_in_order_whatever_was_added_and_removed(keys, data):
    found, expected = SortedKeys(keys[:20]), set(keys[:20])
    for key in keys[20:]:
        found.add(key)
        expected.add(key)
    for key in data.draw(st.lists(st.sampled_from(sorted(expected)), unique=True) if expected else st.just([])):
        found.remove(key)
        expected.remove(key)
    low, high = data.draw(KEYS), data.draw(st.none() | KEYS)
    wanted = [key for key in sorted(expected) if key >= low and (high is None or key < high)]
    assert list(found.between(low, high)) == wanted
    assert list(found.backwards(low, high)) == wanted[::-1]


def test_many_keys_stay_in_order():
    keys = SortedKeys()
    for number in range(5000):
        keys.add((number * 7919 % 5000).to_bytes(2, "big"))
    for number in range(0, 5000, 3):
        keys.remove(number.to_bytes(2, "big"))
    assert list(keys.between(b"", None)) == [n.to_bytes(2, "big") for n in range(5000) if n % 3]


@given(NUMBERS, NUMBERS)
def test_the_bytes_of_numbers_sort_as_the_numbers(one, other):
    first, second = numbers.canonical(one), numbers.canonical(other)
    assert Decimal(first) == Decimal(one)
    assert numbers.canonical(first) == first
    assert (numbers.ordered(first) < numbers.ordered(second)) is (Decimal(one) < Decimal(other))
    assert (first == second) is (Decimal(one) == Decimal(other))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(st.lists(TEXTS, max_size=12), TEXTS)
def test_positions_sort_as_texts_do_and_a_prefix_bounds_those_that_begin_with_it(texts, prefix):
    positions = sorted(exact(b"p", {"S": text}) for text in texts)
    in_order = sorted(texts, key=str.encode)
    assert positions == [exact(b"p", {"S": text}) for text in in_order]
    low, high = prefix_bounds(b"p", {"S": prefix})
    begin, end = bisect_left(positions, low), len(positions) if high is None else bisect_left(positions, high)
    assert [text for text in in_order if text.startswith(prefix)] == in_order[begin:end]


TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "N"},
        {"AttributeName": "g", "AttributeType": "S"},
        {"AttributeName": "n", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
        }
    ],
}


def asked(service, operation, **body):
    status, answer = service.execute(operation, json.dumps(body).encode())
    assert status == 200, answer
    return json.loads(answer)


def with_table():
    service = SimulatedDynamoDB()
    asked(service, "CreateTable", **TABLE)
    return service


ATTRIBUTES = st.fixed_dictionaries(
    {},
    optional={
        "g": st.sampled_from([{"S": "a"}, {"S": "b"}]),
        "n": st.sampled_from([{"N": "1"}, {"N": "-2.5"}]),
        "x": st.sampled_from([{"S": ""}, {"SS": ["p", "q"]}]),
        "y": st.sampled_from([{"BOOL": True}, {"M": {"z": {"N": "1"}}}]),
    },
)
ITEMS = st.builds(
    lambda pk, sk, more: {"pk": {"S": pk}, "sk": {"N": sk}, **more},
    st.sampled_from(["a", "b"]),
    st.sampled_from(["1", "2", "-1"]),
    ATTRIBUTES,
)


def key_of(item):
    return {"pk": item["pk"], "sk": item["sk"]}


def put(item):
    return "PutItem", {"TableName": "things", "Item": item}


def delete(item):
    return "DeleteItem", {"TableName": "things", "Key": key_of(item)}


def update(item):
    text, values = "REMOVE g", {}
    if "n" in item:
        text, values = "SET n = :n REMOVE y", {"ExpressionAttributeValues": {":n": item["n"]}}
    return "UpdateItem", {"TableName": "things", "Key": key_of(item), "UpdateExpression": text, **values}


WRITES = st.lists(st.one_of(st.builds(put, ITEMS), st.builds(delete, ITEMS), st.builds(update, ITEMS)), max_size=20)


def state_of(service):
    """Return everything that can be read: items, entries of indexes, settings, and what the stream tells."""
    places = ({}, {"IndexName": "local"}, {"IndexName": "global"})
    scans = [asked(service, "Scan", TableName="things", **place) for place in places]
    settings = (
        asked(service, "DescribeTable", TableName="things"),
        asked(service, "DescribeTimeToLive", TableName="things"),
        [
            asked(service, "DescribeStream", StreamArn=each["StreamArn"])
            for each in asked(service, "ListStreams")["Streams"]
        ],
    )
    return [[sorted(item.items(), key=str) for item in scan["Items"]] for scan in scans], settings, records_of(service)


def records_of(service):
    """Return what the stream tells, from its beginning."""
    [stream] = asked(service, "ListStreams", TableName="things")["Streams"]
    [shard] = asked(service, "DescribeStream", StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    where = {"StreamArn": stream["StreamArn"], "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = asked(service, "GetShardIterator", **where)["ShardIterator"]
    return asked(service, "GetRecords", ShardIterator=iterator)["Records"]


def items_of(service):
    return asked(service, "Scan", TableName="things")["Items"]


@given(WRITES)
def test_an_index_has_exactly_the_items_that_have_its_keys(writes):
    service = with_table()
    for operation, body in writes:
        asked(service, operation, **body)
    items = items_of(service)
    for name, needed, kept in (
        ("local", {"n"}, {"pk", "sk", "n"}),
        ("global", {"g"}, {"pk", "sk", "g", "x"}),
    ):
        found = asked(service, "Scan", TableName="things", IndexName=name)["Items"]
        expected = [
            {attribute: value for attribute, value in item.items() if attribute in kept}
            for item in items
            if needed <= item.keys()
        ]
        assert sorted(found, key=str) == sorted(expected, key=str)


@given(WRITES)
def test_a_table_weighs_what_its_items_weigh_whatever_wrote_them(writes):
    service = with_table()
    for operation, body in writes:
        asked(service, operation, **body)
    assert service.size() == sum(map(admit_item, items_of(service)))


@given(WRITES, WRITES, WRITES)
def test_a_snapshot_is_restored_exactly_and_as_often_as_one_likes(before, after, again):
    service = with_table()
    for operation, body in before:
        asked(service, operation, **body)
    expected, snapshot = state_of(service), service.snapshot()
    for writes in (after, again):
        for operation, body in writes:
            asked(service, operation, **body)
        asked(service, "CreateTable", **{**TABLE, "TableName": "others"})
        time_to_live = {"Enabled": True, "AttributeName": "n"}
        asked(service, "UpdateTimeToLive", TableName="things", TimeToLiveSpecification=time_to_live)
        gone = [{"Delete": {"IndexName": "global"}}]
        asked(service, "UpdateTable", TableName="things", GlobalSecondaryIndexUpdates=gone)
        for stream in ({"StreamEnabled": False}, {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}):
            asked(service, "UpdateTable", TableName="things", StreamSpecification=stream)
        asked(service, "DeleteTable", TableName="things")
        service.restore(snapshot)
        assert state_of(service) == expected
        assert asked(service, "ListTables")["TableNames"] == ["things"]


@given(WRITES)
@settings(max_examples=50)
def test_a_stream_tells_what_leads_to_the_table(writes):
    service = with_table()
    for operation, body in writes:
        asked(service, operation, **body)
    records = records_of(service)
    replayed = {}
    for record in records:
        told = record["dynamodb"]
        key = json.dumps(told["Keys"], sort_keys=True)
        assert replayed.get(key) == told.get("OldImage")
        assert record["eventName"] == (
            "REMOVE" if "NewImage" not in told else "MODIFY" if key in replayed else "INSERT"
        )
        if "NewImage" in told:
            replayed[key] = told["NewImage"]
        else:
            del replayed[key]
    assert sorted(replayed.values(), key=str) == sorted(items_of(service), key=str)


@given(st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_a_number_is_weighed_as_its_one_spelling_is(text):
    try:
        spelled = numbers.canonical(text)
    except Refused:
        assume(False)  # more than 38 digits
    assert numbers.weighed(text) == numbers.weighed(spelled) == (spelled, numbers.size(spelled))


VALUES = st.recursive(
    st.one_of(
        st.builds(lambda text: {"S": text}, TEXTS),
        st.builds(lambda number: {"N": str(number)}, st.integers(-(10**6), 10**6)),
        st.builds(lambda content: {"B": b64encode(content).decode()}, st.binary(max_size=4)),
        st.sampled_from([{"BOOL": True}, {"NULL": True}, {"SS": ["a", ""]}, {"NS": ["1", "2.5"]}]),
    ),
    lambda values: st.one_of(
        st.builds(lambda members: {"M": members}, st.dictionaries(TEXTS, values, max_size=2)),
        st.builds(lambda members: {"L": members}, st.lists(values, max_size=2)),
    ),
    max_leaves=4,
)


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.dictionaries(TEXTS, VALUES, max_size=3), max_size=4))
def test_what_one_engine_saves_another_has(contents):
    service, again = SimulatedDynamoDB(), SimulatedDynamoDB()
    table = {
        "TableName": "things",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert service.execute("CreateTable", json.dumps(table).encode())[0] == 200
    service.load("things", [{**item, "pk": {"S": key}} for key, item in contents.items()])
    text = b"".join(service.written())
    again.read(text)
    assert again.items("things") == service.items("things")
    assert again.size() == service.size()
    assert b"".join(again.written()) == text
