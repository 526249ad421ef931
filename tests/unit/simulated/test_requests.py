"""What the engine in the process refuses, and that it names what it does not know."""

import json
import tracemalloc

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.simulated.operations import OPERATIONS


@pytest.fixture
def service():
    service = SimulatedDynamoDB()
    key = [{"AttributeName": "pk", "KeyType": "HASH"}]
    types = [{"AttributeName": "pk", "AttributeType": "S"}]
    body = {"TableName": "things", "KeySchema": key, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"}
    assert service.execute("CreateTable", json.dumps(body).encode())[0] == 200
    return service


def refusal(service, operation, **body):
    status, answer = service.execute(operation, json.dumps(body).encode())
    found = json.loads(answer)
    assert status == 400
    return found["__type"].rpartition("#")[2], found["message"]


def put(service, item, **more):
    return service.execute("PutItem", json.dumps({"TableName": "things", "Item": item, **more}).encode())


def test_an_operation_that_it_does_not_know_is_named(service):
    code, message = refusal(service, "MakeCoffee")
    assert (code, message) == (
        "UnknownOperationException",
        "the simulated DynamoDB does not know the operation MakeCoffee",
    )


def test_a_member_that_it_does_not_know_is_named_and_not_ignored(service):
    code, message = refusal(service, "GetItem", TableName="things", Key={"pk": {"S": "a"}}, Consistent=True)
    assert (code, message) == ("ValidationException", "the simulated DynamoDB does not know the member Consistent")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b'{"TableName": "\\ud800"}'])
def test_what_is_no_request_is_refused(service, body):
    status, answer = service.execute("GetItem", body)
    assert status == 400
    assert json.loads(answer)["__type"].endswith("#SerializationException")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"S": 1}, "SerializationException"),
        ({"N": 1}, "SerializationException"),
        ({"BOOL": "true"}, "SerializationException"),
        ({"B": "?"}, "SerializationException"),
        ({"L": {}}, "SerializationException"),
        ({"M": []}, "SerializationException"),
        ({"SS": "a"}, "SerializationException"),
        ("a", "SerializationException"),
        ({}, "ValidationException"),
        ({"X": "a"}, "ValidationException"),
        ({"S": "a", "N": "1"}, "ValidationException"),
        ({"N": "one"}, "ValidationException"),
        ({"N": "1e126"}, "ValidationException"),
        ({"N": "1" * 39}, "ValidationException"),
        ({"NS": ["1", "1.0"]}, "ValidationException"),
        ({"NULL": False}, "ValidationException"),
    ],
)
def test_what_is_no_value_is_refused_wherever_it_lies(service, value, code):
    for item in ({"pk": {"S": "a"}, "x": value}, {"pk": {"S": "a"}, "x": {"L": [{"M": {"y": value}}]}}):
        assert refusal(service, "PutItem", TableName="things", Item=item)[0] == code


def test_thirty_two_levels_are_stored_and_no_more(service):
    value = {"S": "x"}
    for _ in range(31):
        value = {"L": [value]}
    assert put(service, {"pk": {"S": "a"}, "x": value})[0] == 200
    assert put(service, {"pk": {"S": "a"}, "x": {"L": [value]}})[0] == 400


def test_sort_keys_of_several_attributes_are_weighed_together(service):
    key = [{"AttributeName": "pk", "KeyType": "HASH"}, *({"AttributeName": n, "KeyType": "RANGE"} for n in "abcd")]
    index = {"IndexName": "by-all", "KeySchema": key, "Projection": {"ProjectionType": "ALL"}}
    types = [{"AttributeName": each["AttributeName"], "AttributeType": "S"} for each in key]
    changes = [{"Create": index}]
    body = {"TableName": "things", "AttributeDefinitions": types, "GlobalSecondaryIndexUpdates": changes}
    assert service.execute("UpdateTable", json.dumps(body).encode())[0] == 200
    item = {"pk": {"S": "a"}} | {name: {"S": "é" * 128} for name in "abcd"}
    assert put(service, item)[0] == 200
    code, message = refusal(service, "PutItem", TableName="things", Item=item | {"d": {"S": "é" * 129}})
    assert (code, "Aggregated size of all range keys has exceeded" in message) == ("ValidationException", True)


def test_a_whole_number_of_more_than_64_bits_is_taken_as_it_is(service):
    most = {"MaxReadRequestUnits": 2**70}
    body = {"TableName": "things", "OnDemandThroughput": most}
    status, answer = service.execute("UpdateTable", json.dumps(body).encode())
    assert (status, json.loads(answer)["TableDescription"]["OnDemandThroughput"]) == (200, most)


def test_an_item_takes_the_memory_of_its_text(service):
    items = [{"pk": {"S": f"{number:04}"}, "x": {"S": "x" * 1000}} for number in range(200)]
    tracemalloc.start()
    try:
        service.load("things", items)
        kept, _most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 200 * 2000


def test_an_update_sees_the_item_as_it_was(service):
    put(service, {"pk": {"S": "a"}, "l": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}, "x": {"N": "1"}, "y": {"N": "2"}})
    body = {
        "TableName": "things",
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": "SET x = y, y = x, l[9] = :n, l[8] = :m REMOVE l[0], l[1]",
        "ExpressionAttributeValues": {":n": {"N": "9"}, ":m": {"N": "8"}},
        "ReturnValues": "ALL_NEW",
    }
    _status, answer = service.execute("UpdateItem", json.dumps(body).encode())
    found = json.loads(answer)["Attributes"]
    assert (found["x"], found["y"]) == ({"N": "2"}, {"N": "1"})
    assert found["l"] == {"L": [{"N": "2"}, {"N": "8"}, {"N": "9"}]}


def test_what_an_update_assigns_twice_is_not_one_value(service):
    put(service, {"pk": {"S": "a"}, "m": {"M": {"x": {"N": "1"}}}})
    for text in ("SET n = m", "SET m.x = :two"):
        body = {"TableName": "things", "Key": {"pk": {"S": "a"}}, "UpdateExpression": text, "ReturnValues": "ALL_NEW"}
        if ":two" in text:
            body["ExpressionAttributeValues"] = {":two": {"N": "2"}}
        _status, answer = service.execute("UpdateItem", json.dumps(body).encode())
    assert json.loads(answer)["Attributes"]["n"] == {"M": {"x": {"N": "1"}}}


def test_a_token_is_good_for_ten_minutes():
    now = [1000.0]
    service = SimulatedDynamoDB(clock=lambda: now[0])
    key = [{"AttributeName": "pk", "KeyType": "HASH"}]
    types = [{"AttributeName": "pk", "AttributeType": "S"}]
    table = {"TableName": "things", "KeySchema": key, "AttributeDefinitions": types, "BillingMode": "PAY_PER_REQUEST"}
    service.execute("CreateTable", json.dumps(table).encode())
    add = {
        "TableName": "things",
        "Key": {"pk": {"S": "a"}},
        "UpdateExpression": "ADD n :one",
        "ExpressionAttributeValues": {":one": {"N": "1"}},
    }
    counts = []
    for seconds in (0, 599, 2):
        now[0] += seconds
        body = {"TransactItems": [{"Update": add}], "ClientRequestToken": "t"}
        assert service.execute("TransactWriteItems", json.dumps(body).encode())[0] == 200
        counts.append(service.items("things")[0]["n"])
    assert counts == [{"N": "1"}, {"N": "1"}, {"N": "2"}]


WRONG = [
    5,
    True,
    "x",
    [],
    [5],
    [[]],
    [{}],
    {},
    {"things": 5},
    {"things": [5]},
    {"things": {"Keys": [5]}},
    {"pk": {"S": "a"}},
]


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_whatever_stands_in_a_member_is_answered(service, operation):
    members = OPERATIONS[operation][0].members
    asked = [{"TableName": "things"} if "TableName" in members else {}]
    bodies = [{**body, member: wrong} for body in asked for member in members for wrong in WRONG]

    for body in bodies:
        status, answer = service.execute(operation, json.dumps(body).encode())
        assert (status == 200) is ("__type" not in json.loads(answer)), body
