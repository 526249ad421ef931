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


THINGS = "arn:aws:dynamodb:eu-west-1:000000000000:table/things"


@pytest.mark.parametrize("owner", ["eu-west-1:000000000000", "eu-west-1:111122223333", "us-east-1:000000000000"])
def test_a_table_is_read_by_its_arn_whose_region_and_account_say_nothing(service, owner):
    put(service, {"pk": {"S": "a"}})
    body = {"TableName": THINGS.replace("eu-west-1:000000000000", owner), "Key": {"pk": {"S": "a"}}}
    assert service.execute("GetItem", json.dumps(body).encode()) == (200, b'{"Item":{"pk":{"S":"a"}}}')


@pytest.mark.parametrize(
    "arn",
    [
        THINGS.replace("things", "others/index/things"),
        f"{THINGS}/stream/2026-01-01T00:00:00.000",
        "arn:aws:s3:eu-west-1:000000000000:table/things",
        "arn:things",
        "arn:/things",
    ],
)
@pytest.mark.parametrize(
    ("operation", "more"), [("GetItem", {"Key": {"pk": {"S": "a"}}}), ("DescribeTable", {}), ("DeleteTable", {})]
)
def test_an_arn_of_anything_but_a_table_is_refused(service, operation, more, arn):
    code, message = refusal(service, operation, TableName=arn, **more)
    assert (code, message) == ("ValidationException", f"1 validation error detected: Invalid resource type in '{arn}'")


@pytest.mark.parametrize(
    "statement",
    [
        """SELECT * FROM "{}" WHERE pk = 'a'""",
        """INSERT INTO "{}" VALUE {{'pk': 'b'}}""",
        """UPDATE "{}" SET n = 1 WHERE pk = 'a'""",
        """DELETE FROM "{}" WHERE pk = 'a'""",
    ],
)
def test_a_statement_reaches_a_table_by_its_own_arn_and_none_of_others(service, statement):
    put(service, {"pk": {"S": "a"}})
    for theirs in (THINGS.replace("000000000000", "111122223333"), THINGS.replace("eu-west-1", "us-east-1")):
        code, message = refusal(service, "ExecuteStatement", Statement=statement.format(theirs))
        assert (code, theirs in message) == ("AccessDeniedException", True)
        code, message = refusal(
            service, "ExecuteTransaction", TransactStatements=[{"Statement": statement.format(theirs)}]
        )
        assert (code, theirs in message) == ("AccessDeniedException", True)
    assert service.items("things") == [{"pk": {"S": "a"}}]
    own = json.dumps({"Statement": statement.format(THINGS)}).encode()
    assert service.execute("ExecuteStatement", own)[0] == 200


def test_an_item_that_is_too_large_is_not_loaded(service):
    with pytest.raises(ValueError, match="Item size has exceeded the maximum allowed size"):
        service.load("things", [{"pk": {"S": "a"}, "text": {"S": "x" * 409_600}}])
    assert service.items("things") == []
