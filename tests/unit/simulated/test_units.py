"""What the engine in the process says that requests take is what AWS's guide says, and what was measured there."""

import json

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.simulated.values import admit_item


@pytest.mark.parametrize(
    ("item", "size"),
    [
        ({"shirt-color": {"S": "R"}, "shirt-size": {"S": "M"}}, 23),  # the guide's own example
        ({"pk": {"S": "user#1"}, "n": {"N": "42"}, "ok": {"BOOL": True}}, 14),
        ({"pk": {"S": "é"}, "price": {"N": "-19.99"}}, 13),
        ({"pk": {"S": "a"}, "tags": {"SS": ["x", "yy"]}}, 10),
        ({"pk": {"S": "a"}, "l": {"L": [{"S": "ab"}, {"N": "7"}]}}, 13),
        ({"pk": {"S": "a"}, "m": {"M": {"k": {"S": "v"}, "z": {"L": []}}}}, 15),
        ({"pk": {"S": "a"}, "e": {"S": ""}, "b": {"B": "AAEC"}}, 8),
        ({"pk": {"S": "k"}, "data": {"S": "x" * 1017}}, 1024),
        ({"pk": {"S": "a"}, "n": {"NULL": True}, "ns": {"NS": ["7", "123"]}, "bs": {"BS": ["AA=="]}}, 15),
    ],
    ids=["guide", "number", "umlaut", "set", "list", "map", "empty", "one-kilobyte", "sets"],
)
def test_an_item_has_the_size_of_its_names_and_values(item, size):
    assert admit_item(item) == size


@pytest.mark.parametrize(
    ("number", "size"),
    [
        ("0", 1),
        ("-0", 1),
        ("7", 2),
        ("42", 2),
        ("123", 3),
        ("12345", 4),
        ("100", 2),
        ("1010", 3),
        ("1.5", 3),
        ("3.14159", 5),
        ("100.5", 4),
        ("0.15", 2),
        ("1E125", 2),
        ("-42", 3),
        ("9" * 38, 20),
    ],
)
def test_a_number_has_the_size_that_was_measured_at_the_service(number, size):
    assert admit_item({"": {"N": number}}) == size


INDEX = {
    "IndexName": "by_city",
    "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


@pytest.fixture
def units():
    """Return what a request takes of a table, and of its index."""
    service = SimulatedDynamoDB()
    types = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "city")]
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}]
    table = {"TableName": "things", "KeySchema": keys, "AttributeDefinitions": types}

    def ask(operation, **body):
        asked = {"TableName": "things", **body, "ReturnConsumedCapacity": "INDEXES"}
        status, answer = service.execute(operation, json.dumps(asked).encode())
        assert status == 200, answer
        told = json.loads(answer)["ConsumedCapacity"]
        index = told.get("GlobalSecondaryIndexes", {}).get("by_city", {})
        return told["Table"]["CapacityUnits"], index.get("CapacityUnits", 0.0)

    body = {**table, "BillingMode": "PAY_PER_REQUEST", "GlobalSecondaryIndexes": [INDEX]}
    assert service.execute("CreateTable", json.dumps(body).encode())[0] == 200
    return ask


def item(size, **more):
    """Return an item of so many bytes."""
    short = {"pk": {"S": "a"}, **more, "text": {"S": ""}}
    return {**short, "text": {"S": "x" * (size - admit_item(short))}}


@pytest.mark.parametrize(
    ("size", "consistent", "taken"),
    [
        (None, False, 0.5),  # there is none
        (4096, False, 0.5),
        (4097, False, 1.0),
        (None, True, 1.0),
        (4096, True, 1.0),
        (8 * 1024, True, 2.0),  # the guide: 8 KB need two units
        (8 * 1024, False, 1.0),  # and one, if eventually consistent
        (int(3.5 * 1024), True, 1.0),
        (40 * 4 * 1024, False, 20.0),
    ],
)
def test_a_read_takes_half_a_unit_for_4_kilobytes(units, size, consistent, taken):
    if size is not None:
        units("PutItem", Item=item(size))
    assert units("GetItem", Key={"pk": {"S": "a"}}, ConsistentRead=consistent) == (taken, 0.0)
    assert units("Scan", ConsistentRead=consistent) == (taken, 0.0)


@pytest.mark.parametrize(
    ("new", "old", "taken"),
    [
        (100, None, 1.0),
        (1024, None, 1.0),
        (1025, None, 2.0),
        (500, 1500, 2.0),  # the larger of both
        (None, 2 * 1024, 2.0),
        (None, None, 1.0),  # deleting what is not there
        (400 * 1024, None, 400.0),
    ],
)
def test_a_write_takes_a_unit_for_each_kilobyte_of_the_larger_item(units, new, old, taken):
    assert written(units, new and item(new), old and item(old)) == (taken, 0.0)


def written(units, new, old):
    if old is not None:
        units("PutItem", Item=old)
    return units("DeleteItem", Key={"pk": {"S": "a"}}) if new is None else units("PutItem", Item=new)


ROME, OSLO = {"city": {"S": "Rome"}}, {"city": {"S": "Oslo"}}


@pytest.mark.parametrize(
    ("new", "old", "taken"),
    [
        (item(900), None, 0.0),
        (item(1500, **ROME), None, 2.0),
        (None, item(1500, **ROME), 2.0),
        (item(1500), item(1500, **ROME), 2.0),
        (item(1500, **ROME), item(1500, **ROME), 0.0),
        (item(500, **ROME), item(1500, **ROME), 2.0),
        (item(500, **OSLO), item(1500, **ROME), 3.0),
    ],
    ids=["absent", "new", "gone", "left", "unchanged", "changed", "moved"],
)
def test_an_index_takes_what_happens_to_its_entry(units, new, old, taken):
    assert written(units, new, old)[1] == taken
