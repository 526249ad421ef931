"""The simulated table sells what it has, no more, and refuses the rest in the service's own words."""

import pytest

from benchmarks.simulated.faults import ServiceError

KILOBYTE = "x" * 900


def put(service, key, **more):
    return service.answer("PutItem", {"TableName": "things", "Item": {"id": {"S": key}, **more}, **INDEXES})


INDEXES = {"ReturnConsumedCapacity": "INDEXES"}


def batch(*keys):
    requests = [{"PutRequest": {"Item": {"id": {"S": key}, "text": {"S": KILOBYTE}}}} for key in keys]
    return {"RequestItems": {"things": requests}, **INDEXES}


def refusal(service, operation, body):
    with pytest.raises(ServiceError) as caught:
        service.answer(operation, body)
    return caught.value.body


def names(*numbers):
    return [f"load-{number}" for number in numbers]


def test_300_seconds_of_unused_capacity_can_be_spent_at_once(service):
    written = 0
    while "UnprocessedItems" in (answer := _try(service, batch(*names(*range(25))))) and not answer["UnprocessedItems"]:
        written += 25
    assert written + 25 - len(answer.get("UnprocessedItems", {}).get("things", range(25))) == 300 * 10


def _try(service, body, operation="BatchWriteItem"):
    try:
        return service.answer(operation, body)
    except ServiceError as error:
        return error.body


def test_a_table_whose_burst_is_spent_sells_its_rate(service, clock):
    service.spend_burst()
    for _ in range(3):
        clock.now += 1.0
        answer = service.answer("BatchWriteItem", batch(*names(*range(25))))
        assert len(answer["UnprocessedItems"]["things"]) == 15
        assert answer["ConsumedCapacity"] == [
            {"TableName": "things", "CapacityUnits": 10.0, "Table": {"CapacityUnits": 10.0}}
        ]


def test_a_batch_of_which_nothing_was_served_is_an_error_with_its_reasons(service):
    service.spend_burst()
    body = refusal(service, "BatchWriteItem", batch("load-1", "load-2"))
    assert body["__type"] == "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"
    assert body["ThrottlingReasons"] == [
        {
            "reason": "TableWriteProvisionedThroughputExceeded",
            "resource": "arn:aws:dynamodb:eu-west-1:000000000000:table/things",
        }
    ]


def test_an_on_demand_table_throttles_with_another_error(service):
    service.answer(
        "CreateTable",
        {
            "TableName": "free",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "OnDemandThroughput": {"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 1},
        },
    )
    service.spend_burst()
    body = refusal(service, "GetItem", {"TableName": "free", "Key": {"id": {"S": "a"}}})
    assert body["__type"].endswith("#ThrottlingException")
    assert body["throttlingReasons"][0]["reason"] == "TableReadMaxOnDemandThroughputExceeded"


def test_one_partition_has_a_limit_of_its_own(service, clock):
    service.answer(
        "UpdateTable",
        {"TableName": "things", "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 4000}},
    )
    clock.now += 10.0
    for _ in range(40):
        service.answer("BatchWriteItem", batch(*names(*range(25))))
    served = 0
    while True:
        try:
            put(service, "load-1", text={"S": KILOBYTE})
        except ServiceError as error:
            reason = error.body["ThrottlingReasons"][0]["reason"]
            break
        served += 1
    assert reason == "TableWriteKeyRangeThroughputExceeded"
    assert served <= 1000


def test_an_index_without_units_refuses_the_write_of_the_table(service, clock):
    service.spend_burst()
    clock.now += 1.0
    for number in range(5):
        put(service, f"load-{number}", city={"S": "London"})
    body = refusal(
        service, "PutItem", {"TableName": "things", "Item": {"id": {"S": "load-6"}, "city": {"S": "London"}}}
    )
    assert body["ThrottlingReasons"][0]["reason"] == "IndexWriteProvisionedThroughputExceeded"
    put(service, "load-6")  # the refused write took nothing of the table's units


def test_consumed_capacity_names_table_and_index(service):
    answer = put(service, "load-1", city={"S": "London"}, text={"S": "x" * 3000})
    assert answer["ConsumedCapacity"] == {
        "TableName": "things",
        "CapacityUnits": 4.0,
        "Table": {"CapacityUnits": 3.0},
        "GlobalSecondaryIndexes": {"by_city": {"CapacityUnits": 1.0}},
    }


@pytest.mark.parametrize(
    ("item", "index"),
    [
        ({"city": {"S": "London"}, "other": {"S": "b"}}, None),
        ({"city": {"S": "London"}, "note": {"S": "b"}}, 1.0),
        ({"city": {"S": "Paris"}, "other": {"S": "a"}}, 2.0),
        ({"other": {"S": "a"}}, 1.0),
    ],
    ids=["not-projected", "projected", "key-changed", "left"],
)
def test_rewriting_an_item_takes_of_the_index_what_changes_there(service, item, index):
    put(service, "load-1", city={"S": "London"}, other={"S": "a"})
    told = put(service, "load-1", **item)["ConsumedCapacity"].get("GlobalSecondaryIndexes", {})
    assert told.get("by_city", {}).get("CapacityUnits") == index


def test_a_failed_condition_takes_units_too(service, clock):
    put(service, "load-1", text={"S": "x" * 2000})
    before = service.tables["things"].capacity.write.bucket.tokens
    body = refusal(
        service,
        "PutItem",
        {
            "TableName": "things",
            "Item": {"id": {"S": "load-1"}},
            "ConditionExpression": "attribute_not_exists(#0)",
            "ExpressionAttributeNames": {"#0": "id"},
        },
    )
    assert body["__type"].endswith("#ConditionalCheckFailedException")
    assert before - service.tables["things"].capacity.write.bucket.tokens == 2


def test_a_batch_get_returns_the_keys_that_it_had_no_units_for(service, clock):
    service.spend_burst()
    clock.now += 0.2  # 2 read units: 4 items
    keys = [{"id": {"S": f"load-{number}"}} for number in range(6)]
    answer = service.answer("BatchGetItem", {"RequestItems": {"things": {"Keys": keys}}})
    assert answer["UnprocessedKeys"] == {"things": {"Keys": keys[4:]}}


def test_an_item_larger_than_a_second_of_the_table_leaves_a_debt(service, clock):
    service.spend_burst()
    clock.now += 1.0
    put(service, "load-1", text={"S": "x" * 50_000})
    clock.now += 3.0
    assert refusal(service, "PutItem", {"TableName": "things", "Item": {"id": {"S": "load-2"}}})
    clock.now += 2.0
    put(service, "load-2")


def test_a_transaction_takes_double_of_the_table_and_all_or_nothing(service, clock):
    service.spend_burst()
    clock.now += 1.0
    puts = [{"Put": {"TableName": "things", "Item": {"id": {"S": f"load-{number}"}}}} for number in range(6)]
    body = refusal(service, "TransactWriteItems", {"TransactItems": puts})
    assert {each["Code"] for each in body["CancellationReasons"]} == {"ProvisionedThroughputExceeded"}
    answer = service.answer("TransactWriteItems", {"TransactItems": puts[:5], "ReturnConsumedCapacity": "TOTAL"})
    assert answer["ConsumedCapacity"] == [{"TableName": "things", "CapacityUnits": 10.0, "WriteCapacityUnits": 10.0}]


def test_a_changed_limit_holds_at_once_and_is_described(service, clock):
    service.spend_burst()
    service.answer(
        "UpdateTable",
        {"TableName": "things", "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 20}},
    )
    clock.now += 1.0
    assert len(service.answer("BatchWriteItem", batch(*names(*range(25))))["UnprocessedItems"]["things"]) == 5
    told = service.answer("DescribeTable", {"TableName": "things"})["Table"]["ProvisionedThroughput"]
    assert told["WriteCapacityUnits"] == 20


def test_refusals_are_counted_by_request_and_by_item(service, clock):
    service.spend_burst()
    _try(service, batch("load-1", "load-2"))
    clock.now += 1.0
    service.answer("BatchWriteItem", batch(*names(*range(12))))
    counts = service.counts.told()
    assert (counts["requests"], counts["refused"]) == (3, 1)  # CreateTable is one
    assert (counts["total"]["attempts"], counts["total"]["throttled"]) == (14, 4)
    assert counts["groups"]["load"]["write_units"] == 10.0
    assert [slot["throttled"] for slot in counts["slots"]] == [2, 0, 0, 0, 2]


def test_a_part_is_refused_whatever_the_rate_where_that_is_asked_for(service):
    service.refused_part = 0.25
    answers = [_try(service, {"TableName": "things", "Key": {"id": {"S": "a"}}}, "GetItem") for _ in range(400)]
    refused = sum("__type" in answer for answer in answers)
    assert refused == service.counts.refused
    assert 70 < refused < 130
    assert "Table" in service.answer("DescribeTable", {"TableName": "things"})
