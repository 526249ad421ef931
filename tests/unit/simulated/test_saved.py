"""The text in which an engine leaves its tables to the next one."""

import json
import re

import pytest

from dynamap_async.simulated import SimulatedDynamoDB

TABLE = {
    "TableName": "visits",
    "KeySchema": [{"AttributeName": "user", "KeyType": "HASH"}, {"AttributeName": "number", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "user", "AttributeType": "S"},
        {"AttributeName": "number", "AttributeType": "N"},
        {"AttributeName": "page", "AttributeType": "S"},
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "of-user",
            "KeySchema": [{"AttributeName": "user", "KeyType": "HASH"}, {"AttributeName": "page", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-page",
            "KeySchema": [{"AttributeName": "page", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["ends"]},
            "ProvisionedThroughput": {"ReadCapacityUnits": 3, "WriteCapacityUnits": 4},
        }
    ],
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    "DeletionProtectionEnabled": True,
    "TableClass": "STANDARD_INFREQUENT_ACCESS",
    "Tags": [{"Key": "team", "Value": "ä"}],
}
SIMPLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "B"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ITEM = {
    "user": {"S": "ä\n"},
    "number": {"N": "-0.5"},
    "page": {"S": "home"},
    "ends": {"B": "AP8="},
    "list": {"L": [{"BOOL": True}, {"NULL": True}, {"S": ""}]},
    "map": {"M": {"ss": {"SS": ["a", ""]}, "ns": {"NS": ["1", "2"]}, "bs": {"BS": ["AA=="]}}},
}


@pytest.fixture
def service(call):
    service = SimulatedDynamoDB(lambda: 1000.0)
    call(service, "CreateTable", **TABLE)
    call(service, "CreateTable", **SIMPLE)
    spec = {"Enabled": True, "AttributeName": "ends"}
    call(service, "UpdateTimeToLive", TableName="visits", TimeToLiveSpecification=spec)
    spec = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    call(service, "UpdateContinuousBackups", TableName="notes", PointInTimeRecoverySpecification=spec)
    call(service, "PutItem", TableName="visits", Item=ITEM)
    for number in range(3):
        call(service, "PutItem", TableName="visits", Item={"user": {"S": "ada"}, "number": {"N": str(number)}})
    return service


def saved(service):
    return b"".join(service.written())


def loaded(text):
    service = SimulatedDynamoDB(lambda: 2000.0)
    service.read(text)
    return service


def described(call, service, table):
    description = call(service, "DescribeTable", TableName=table)["Table"]
    return {name: each for name, each in description.items() if not name.startswith("LatestStream")}


def test_everything_that_is_set_is_there_again(call, service):
    again = loaded(saved(service))
    for table in ("visits", "notes"):
        assert described(call, again, table) == described(call, service, table)
        expiry = call(again, "DescribeTimeToLive", TableName=table)
        assert expiry == call(service, "DescribeTimeToLive", TableName=table)
        arn = described(call, again, table)["TableArn"]
        tags = call(again, "ListTagsOfResource", ResourceArn=arn)
        assert tags == call(service, "ListTagsOfResource", ResourceArn=arn)
    recovery = call(again, "DescribeContinuousBackups", TableName="notes")["ContinuousBackupsDescription"]
    assert recovery["PointInTimeRecoveryDescription"] == {
        "PointInTimeRecoveryStatus": "ENABLED",
        "RecoveryPeriodInDays": 7,
        "EarliestRestorableDateTime": 1000.0,
        "LatestRestorableDateTime": 2000.0,
    }


def test_every_item_is_there_again_and_in_the_indexes(call, service):
    again = loaded(saved(service))
    assert again.items("visits") == service.items("visits")
    for index, key in (("by-page", "page"), ("of-user", "user")):
        query = {
            "TableName": "visits",
            "IndexName": index,
            "KeyConditionExpression": f"{'#k' if key == 'user' else key} = :v",
            "ExpressionAttributeValues": {":v": ITEM[key]},
        }
        if key == "user":
            query["ExpressionAttributeNames"] = {"#k": "user"}
        answer = call(again, "Query", **query)
        assert answer == call(service, "Query", **query)
        assert answer["Count"] == 1


def test_a_vector_index_is_there_again(call):
    service = SimulatedDynamoDB()
    vector = {
        "IndexName": "near",
        "VectorAttribute": {"AttributeName": "v"},
        "Dimensions": 1,
        "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    call(service, "CreateTable", **SIMPLE, VectorIndexes=[vector])
    call(service, "PutItem", TableName="notes", Item={"id": {"B": "AA=="}, "v": {"L": [{"N": "1"}]}})
    again = loaded(saved(service))
    assert described(call, again, "notes") == described(call, service, "notes")
    search = {"TableName": "notes", "IndexName": "near", "SearchVector": [{"N": "0"}], "TopK": 5}
    answer = call(again, "SearchVectors", **search)
    assert answer == call(service, "SearchVectors", **search)
    assert len(answer["SearchResults"]) == 1


def test_a_stream_begins_anew(call, service):
    again = loaded(saved(service))
    [stream] = call(again, "ListStreams")["Streams"]
    description = call(again, "DescribeStream", StreamArn=stream["StreamArn"])["StreamDescription"]
    assert description["StreamViewType"] == "NEW_IMAGE"
    assert call(again, "DescribeTable", TableName="visits")["Table"]["LatestStreamArn"] == stream["StreamArn"]


def test_a_stream_that_was_turned_off_is_not_named(call, service):
    call(service, "UpdateTable", TableName="visits", StreamSpecification={"StreamEnabled": False})
    again = loaded(saved(service))
    assert "LatestStreamArn" not in call(again, "DescribeTable", TableName="visits")["Table"]
    assert call(again, "ListStreams")["Streams"] == []


def test_what_has_not_changed_is_written_as_it_was(service):
    text = saved(service)
    assert saved(loaded(text)) == text


def test_each_item_has_a_line_of_its_own(service):
    text = saved(service)
    lines = [json.loads(line.rstrip(b",")) for line in text.splitlines() if line.startswith(b'{"')]
    assert lines == service.items("visits")
    assert json.loads(text)["version"] == 1


def test_an_item_that_an_index_did_not_take_does_no_harm(call):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **SIMPLE)
    call(service, "PutItem", TableName="notes", Item={"id": {"B": "AA=="}, "city": {"N": "1"}})
    create = {
        "IndexName": "by-city",
        "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    definitions = [{"AttributeName": "city", "AttributeType": "S"}]
    updates = [{"Create": create}]
    call(
        service,
        "UpdateTable",
        TableName="notes",
        AttributeDefinitions=definitions,
        GlobalSecondaryIndexUpdates=updates,
    )
    assert loaded(saved(service)).items("notes") == service.items("notes")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda text: b"", "it is no JSON"),
        (lambda text: text[:-20], "it is no JSON"),
        (lambda text: b'{"id": 1}', "not written by an engine"),
        (lambda text: b"[]", "not written by an engine"),
        (lambda text: text.replace(b'"version": 1', b'"version": 2'), "its version is 2, and this release"),
        (lambda text: text.replace(b'"settings"', b'"settled"', 1), "table 'visits' is damaged: KeyError"),
        (lambda text: text.replace(b'"KeyType": "HASH"', b'"KeyType": "HUSH"', 1), "table 'visits': .*HUSH"),
        (lambda text: re.sub(rb'"Tags": \{[^}]*\}', b'"Tags": 7', text, count=1), "table 'visits' is damaged"),
        (lambda text: text.replace(b'{"N":"-0.5"}', b'{"N":"x"}'), r"table 'visits': item \d: .*numeric"),
        (lambda text: text.replace(b'"number":{"N":"1"}', b'"number":{"N":"2"}'), r"item \d has the key of another"),
        (lambda text: text.replace(b'"number":{"N":"1"}', b'"other":{"N":"2"}'), r"item \d: .*Missing the key number"),
        (lambda text: re.sub(rb'(?s)"items": \[.*?\n\]', b'"items": [7]', text, count=1), "table 'visits'"),
    ],
)
def test_what_is_damaged_or_of_others_is_refused_with_what_is_wrong(service, change, fault):
    text = saved(service)
    changed = change(text)
    assert changed != text
    with pytest.raises(ValueError, match=fault):
        loaded(changed)
