"""The simulated table stores what it is given, and gives it back."""

import pytest

from benchmarks.simulated.faults import ServiceError
from benchmarks.simulated.service import Service


@pytest.fixture
def posts(clock):
    """A service with a table that has a sort key."""
    made = Service(clock)
    made.answer(
        "CreateTable",
        {
            "TableName": "posts",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [
                {"AttributeName": "user", "KeyType": "HASH"},
                {"AttributeName": "number", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "user", "AttributeType": "S"},
                {"AttributeName": "number", "AttributeType": "N"},
            ],
        },
    )
    for number in (10, 9, 1, 5):
        made.answer("PutItem", {"TableName": "posts", "Item": post(number)})
    return made


def post(number):
    return {"user": {"S": "ada"}, "number": {"N": str(number)}}


def query(condition, **more):
    values = {":p": {"S": "ada"}, ":low": {"N": "5"}, ":high": {"N": "9"}}
    used = {name: value for name, value in values.items() if name in condition}
    return {"TableName": "posts", "KeyConditionExpression": condition, "ExpressionAttributeValues": used, **more}


def numbers(answer):
    return [int(item["number"]["N"]) for item in answer["Items"]]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (query("user = :p"), [1, 5, 9, 10]),
        (query("user = :p", ScanIndexForward=False), [10, 9, 5, 1]),
        (query("user = :p AND number BETWEEN :low AND :high"), [5, 9]),
        (query("(user = :p) AND (number > :low)"), [9, 10]),
    ],
    ids=["all", "descending", "between", "greater"],
)
def test_a_query_returns_the_items_that_its_key_condition_names(posts, asked, found):
    assert numbers(posts.answer("Query", asked)) == found


def test_a_page_goes_on_where_the_last_one_ended(posts):
    first = posts.answer("Query", query("user = :p", Limit=3))
    rest = posts.answer("Query", query("user = :p", Limit=3, ExclusiveStartKey=first["LastEvaluatedKey"]))
    assert numbers(first) + numbers(rest) == [1, 5, 9, 10]
    assert "LastEvaluatedKey" not in rest


def test_a_scan_of_keys_returns_no_other_attribute_and_takes_what_whole_items_take(posts):
    whole = {**post(2), "text": {"S": "x" * 9_000}}
    posts.answer("PutItem", {"TableName": "posts", "Item": whole})
    keys = {"ProjectionExpression": "#a, number", "ExpressionAttributeNames": {"#a": "user"}}
    body = {"TableName": "posts", "ReturnConsumedCapacity": "TOTAL", "ConsistentRead": True}
    found = posts.answer("Scan", {**body, **keys})
    assert numbers(found) == [1, 2, 5, 9, 10]
    assert found["Items"][1] == post(2)
    assert found["ConsumedCapacity"] == posts.answer("Scan", body)["ConsumedCapacity"]


def test_equal_numbers_are_one_key(posts):
    key = {"user": {"S": "ada"}, "number": {"N": "1.00"}}
    assert posts.answer("GetItem", {"TableName": "posts", "Key": key})["Item"] == post(1)


def test_a_missing_item_has_no_item_and_takes_the_least(posts):
    answer = posts.answer("GetItem", {"TableName": "posts", "Key": post(7), "ReturnConsumedCapacity": "TOTAL"})
    assert answer == {"ConsumedCapacity": {"TableName": "posts", "CapacityUnits": 0.5}}


def test_an_update_sets_adds_and_removes(posts):
    body = {
        "TableName": "posts",
        "Key": post(1),
        "UpdateExpression": "SET #a = :text, b = if_not_exists(b, :one) ADD likes :one",
        "ExpressionAttributeNames": {"#a": "a"},
        "ExpressionAttributeValues": {":text": {"S": "x"}, ":one": {"N": "1"}},
        "ReturnValues": "ALL_NEW",
    }
    posts.answer("UpdateItem", body)
    assert posts.answer("UpdateItem", body)["Attributes"] == {
        **post(1),
        "a": {"S": "x"},
        "b": {"N": "1"},
        "likes": {"N": "2"},
    }
    removed = {"TableName": "posts", "Key": post(1), "UpdateExpression": "REMOVE a, b", "ReturnValues": "ALL_NEW"}
    assert posts.answer("UpdateItem", removed)["Attributes"] == {**post(1), "likes": {"N": "2"}}


def test_a_deleted_item_is_gone(posts):
    posts.answer("DeleteItem", {"TableName": "posts", "Key": post(1)})
    assert numbers(posts.answer("Query", query("user = :p"))) == [5, 9, 10]


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("Query", query("user = :p", FilterExpression="a = :p")),
        ("PutItem", {"TableName": "posts", "Item": post(1), "ConditionExpression": "size(a) > :low"}),
        ("UpdateItem", {"TableName": "posts", "Key": post(1), "UpdateExpression": "SET a.b = c"}),
    ],
    ids=["filter", "condition", "update"],
)
def test_what_it_does_not_know_it_refuses(posts, operation, body):
    with pytest.raises(ServiceError, match="the simulated table"):
        posts.answer(operation, body)
