"""The engine in the process stores what it is given, and gives it back. Requests see no session between."""

import json

import pytest

from dynamap_async.simulated import SimulatedDynamoDB


class Service(SimulatedDynamoDB):
    def answer(self, operation, body):
        status, answer = self.execute(operation, json.dumps(body).encode())
        assert status == 200, answer
        return json.loads(answer)


@pytest.fixture
def posts():
    """A service with a table that has a sort key."""
    made = Service()
    made.answer(
        "CreateTable",
        {
            "TableName": "posts",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [
                {"AttributeName": "author", "KeyType": "HASH"},
                {"AttributeName": "nth", "KeyType": "RANGE"},
            ],
            "AttributeDefinitions": [
                {"AttributeName": "author", "AttributeType": "S"},
                {"AttributeName": "nth", "AttributeType": "N"},
            ],
        },
    )
    for number in (10, 9, 1, 5):
        made.answer("PutItem", {"TableName": "posts", "Item": post(number)})
    return made


def post(number):
    return {"author": {"S": "ada"}, "nth": {"N": str(number)}}


def query(condition, **more):
    values = {":p": {"S": "ada"}, ":low": {"N": "5"}, ":high": {"N": "9"}}
    used = {name: value for name, value in values.items() if name in condition}
    return {"TableName": "posts", "KeyConditionExpression": condition, "ExpressionAttributeValues": used, **more}


def numbers(answer):
    return [int(item["nth"]["N"]) for item in answer["Items"]]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (query("author = :p"), [1, 5, 9, 10]),
        (query("author = :p", ScanIndexForward=False), [10, 9, 5, 1]),
        (query("author = :p AND nth BETWEEN :low AND :high"), [5, 9]),
        (query("(author = :p) AND (nth > :low)"), [9, 10]),
    ],
    ids=["all", "descending", "between", "greater"],
)
def test_a_query_returns_the_items_that_its_key_condition_names(posts, asked, found):
    assert numbers(posts.answer("Query", asked)) == found


def test_a_page_goes_on_where_the_last_one_ended(posts):
    first = posts.answer("Query", query("author = :p", Limit=3))
    rest = posts.answer("Query", query("author = :p", Limit=3, ExclusiveStartKey=first["LastEvaluatedKey"]))
    assert numbers(first) + numbers(rest) == [1, 5, 9, 10]
    assert "LastEvaluatedKey" not in rest


def test_a_scan_of_keys_returns_no_other_attribute_and_takes_what_whole_items_take(posts):
    whole = {**post(2), "text": {"S": "x" * 9_000}}
    posts.answer("PutItem", {"TableName": "posts", "Item": whole})
    keys = {"ProjectionExpression": "#a, nth", "ExpressionAttributeNames": {"#a": "author"}}
    body = {"TableName": "posts", "ReturnConsumedCapacity": "TOTAL", "ConsistentRead": True}
    found = posts.answer("Scan", {**body, **keys})
    assert numbers(found) == [1, 2, 5, 9, 10]
    assert found["Items"][1] == post(2)
    assert found["ConsumedCapacity"] == posts.answer("Scan", body)["ConsumedCapacity"]


def test_equal_numbers_are_one_key(posts):
    key = {"author": {"S": "ada"}, "nth": {"N": "1.00"}}
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
    assert numbers(posts.answer("Query", query("author = :p"))) == [5, 9, 10]
