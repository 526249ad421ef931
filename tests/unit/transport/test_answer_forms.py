"""Answers of status 200 are judged by the operation that they answer."""

import pytest

from dynamap_async.errors import ConditionalCheckFailedError, Outcome
from dynamap_async.request import Request, Target
from dynamap_async.service import STREAMS
from dynamap_async.transport import damage_of, damage_of_refusal, damage_of_values

KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}
ITEM = {**KEY, "n": {"N": "1"}}
OTHER = {"pk": {"S": "b"}, "sk": {"N": "1"}}
AT = {"pk": {"S": "a"}, "sk": {"N": "7"}}
NAMES = frozenset(KEY)


def ask(operation, *, required=frozenset(), **body):
    target = Target(KEY, "identity") if "Key" in body else None
    return Request(
        operation=operation, body={"TableName": "docs", **body}, table="docs", target=target, required=required
    )


GET = ask("GetItem", Key=KEY)
PUT = ask("PutItem", Key=KEY, ReturnValues="ALL_OLD")
SILENT_PUT = ask("PutItem", Key=KEY)
UPDATE = ask("UpdateItem", Key=KEY, ReturnValues="ALL_NEW")
CHANGE = ask("UpdateItem", Key=KEY, ReturnValues="UPDATED_NEW", required=frozenset({"n"}))
QUERY = ask("Query", required=NAMES)
LATER = ask("Query", required=NAMES, ExclusiveStartKey=AT)
SELECTED = ask("Query", required=NAMES, ProjectionExpression="#n")
COUNT = ask("Scan", Select="COUNT")
SELECT = ask("ExecuteStatement", Statement="SELECT", NextToken="t")
BATCH = ask("BatchGetItem", RequestItems={"docs": {"Keys": [KEY]}})
WRITES = ask("BatchWriteItem", RequestItems={"docs": []})
GETS = ask("TransactGetItems", TransactItems=[{"Get": {"TableName": "docs", "Key": KEY}}] * 2)
STATEMENTS = ask("BatchExecuteStatement", Statements=[{"Statement": "SELECT"}])
DESCRIBE = ask("DescribeTable")
CREATE = ask("CreateTable")

TABLE = {
    "TableName": "docs",
    "TableStatus": "ACTIVE",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}

RIGHT = {
    "absent": (GET, {}),
    "null": (GET, {"Item": None}),
    "found": (GET, {"Item": ITEM}),
    "another spelling of the number": (GET, {"Item": {**ITEM, "sk": {"N": "1.0"}}}),
    "put": (SILENT_PUT, {}),
    "no old item": (PUT, {"Attributes": {}}),
    "old item": (PUT, {"Attributes": ITEM}),
    "updated": (UPDATE, {"Attributes": ITEM}),
    "changed": (CHANGE, {"Attributes": {"n": {"N": "2"}}}),
    "empty page": (QUERY, {"Items": [], "Count": 0}),
    "page without a count": (QUERY, {"Items": [ITEM]}),
    "last page by an empty position": (QUERY, {"Items": [ITEM], "Count": 1, "LastEvaluatedKey": {}}),
    "next page": (LATER, {"Items": [], "Count": 0, "LastEvaluatedKey": KEY}),
    "count": (COUNT, {"Count": 3, "ScannedCount": 4}),
    "statement": (SELECT, {"Items": [ITEM], "NextToken": "u"}),
    "last page of a statement": (SELECT, {"Items": [], "NextToken": ""}),
    "batch": (BATCH, {"Responses": {"docs": [ITEM]}, "UnprocessedKeys": {}}),
    "batch of nothing": (BATCH, {"Responses": {}}),
    "writes": (WRITES, {"UnprocessedItems": {}}),
    "gets": (GETS, {"Responses": [{"Item": ITEM}, {}]}),
    "statements": (STATEMENTS, {"Responses": [{"TableName": "docs"}]}),
    "failed statement": (STATEMENTS, {"Responses": [{"Error": {"Code": "ConditionalCheckFailed", "Item": ITEM}}]}),
    "table": (DESCRIBE, {"Table": TABLE}),
    "table with what is new": (DESCRIBE, {"Table": {**TABLE, "Newest": 5, "TableArn": None}}),
    "creating": (CREATE, {}),
    "unknown operation": (ask("ListNovelties"), {"Novelties": 5}),
    "lists": (ask("ListTables"), {"TableNames": ["a"], "LastEvaluatedTableName": None}),
}

WRONG = {
    "item is a number": (GET, {"Item": 5}, "its Item is not a JSON object"),
    "item is a list": (GET, {"Item": [ITEM]}, "its Item is not a JSON object"),
    "another item": (GET, {"Item": OTHER}, "its Item has another key than the one asked for"),
    "item without key": (GET, {"Item": {}}, "another key"),
    "key of another type": (GET, {"Item": {**KEY, "sk": {"S": "1"}}}, "another key"),
    "key of no form": (GET, {"Item": {**KEY, "sk": {"N": []}}}, "another key"),
    "error with status 200": (SILENT_PUT, {"__type": "x#ValidationException"}, "it is an error"),
    "attributes are a number": (SILENT_PUT, {"Attributes": 5}, "its Attributes are not a JSON object"),
    "another old item": (PUT, {"Attributes": OTHER}, "its Attributes has another key"),
    "no new item": (UPDATE, {}, "it has no Attributes"),
    "empty new item": (UPDATE, {"Attributes": {}}, "another key"),
    "nothing changed": (CHANGE, {}, "it has no Attributes"),
    "other attributes": (CHANGE, {"Attributes": {"x": {"N": "2"}}}, "its Attributes lack n"),
    "no items": (QUERY, {}, "it has no list of Items"),
    "items are null": (QUERY, {"Items": None, "Count": 0}, "it has no list of Items"),
    "items are an object": (QUERY, {"Items": {}}, "it has no list of Items"),
    "item of a page is a number": (QUERY, {"Items": [5]}, "one of its Items is not a JSON object"),
    "item of a page without key": (QUERY, {"Items": [ITEM, {"pk": {"S": "a"}}]}, "one of its Items lacks pk, sk"),
    "selected item without key": (SELECTED, {"Items": [{"n": {"N": "1"}}, ITEM]}, "one of its Items lacks pk, sk"),
    "count of another page": (QUERY, {"Items": [ITEM], "Count": 2}, "its Count is 2, and it has 1 Items"),
    "count is text": (QUERY, {"Items": [], "Count": "many"}, "its Count is not a number of items"),
    "count is true": (COUNT, {"Count": True}, "its Count is not a number of items"),
    "count below nothing": (COUNT, {"Count": -1}, "its Count is not a number of items"),
    "no count": (COUNT, {}, "it has no Count"),
    "position is a list": (QUERY, {"Items": [], "LastEvaluatedKey": [1]}, "its LastEvaluatedKey is not a key"),
    "position of wrong values": (QUERY, {"Items": [], "LastEvaluatedKey": {"pk": {"L": []}}}, "is not a key"),
    "half a position": (QUERY, {"Items": [], "LastEvaluatedKey": {"pk": {"S": "a"}}}, "its LastEvaluatedKey lacks sk"),
    "same position": (LATER, {"Items": [], "LastEvaluatedKey": AT}, "the read does not advance"),
    "same position, another spelling": (
        LATER,
        {"Items": [], "LastEvaluatedKey": {**AT, "sk": {"N": "7.0"}}},
        "the read does not advance",
    ),
    "same token": (SELECT, {"Items": [], "NextToken": "t"}, "the read does not advance"),
    "token is a number": (SELECT, {"Items": [], "NextToken": 5}, "its NextToken is not text"),
    "statement without items": (SELECT, {}, "it has no list of Items"),
    "batch without responses": (BATCH, {"UnprocessedKeys": {}}, "it has no Responses"),
    "batch of lists": (BATCH, {"Responses": {"docs": ITEM}}, "it has no Responses"),
    "batch of another table": (BATCH, {"Responses": {"other": []}}, "about a table that was not asked for"),
    "left over of another table": (
        BATCH,
        {"Responses": {}, "UnprocessedKeys": {"other": {}}},
        "about a table that was not asked for",
    ),
    "left over is a list": (
        BATCH,
        {"Responses": {}, "UnprocessedKeys": [5]},
        "its UnprocessedKeys are not a JSON object",
    ),
    "unwritten is a list": (WRITES, {"UnprocessedItems": [5]}, "its UnprocessedItems are not a JSON object"),
    "unwritten of another table": (WRITES, {"UnprocessedItems": {"other": []}}, "that was not asked for"),
    "gets without responses": (GETS, {}, "it has no list of Responses"),
    "one response for two": (GETS, {"Responses": [{}]}, "it has 1 Responses for 2 parts"),
    "another item of a transaction": (GETS, {"Responses": [{"Item": OTHER}, {}]}, "another key"),
    "statements without responses": (STATEMENTS, {"Responses": 5}, "it has no list of Responses"),
    "two responses for one": (STATEMENTS, {"Responses": [{}, {}]}, "it has 2 Responses for 1 parts"),
    "item of a statement is a number": (STATEMENTS, {"Responses": [{"Item": 5}]}, "is not a JSON object"),
    "error of a statement is text": (STATEMENTS, {"Responses": [{"Error": "no"}]}, "is not a JSON object"),
    "stored item of a statement": (
        STATEMENTS,
        {"Responses": [{"Error": {"Code": "ConditionalCheckFailed", "Item": {"n": 5}}}]},
        "its attribute 'n' holds no value of DynamoDB's",
    ),
    "no table": (DESCRIBE, {}, "it has no Table"),
    "table of nothing": (
        DESCRIBE,
        {"Table": {}},
        "its Table lacks AttributeDefinitions, KeySchema, TableName, TableStatus",
    ),
    "table without a name": (DESCRIBE, {"Table": {**TABLE, "TableName": None}}, "its Table lacks TableName"),
    "name is no text": (DESCRIBE, {"Table": {**TABLE, "TableName": ["a"]}}, "its TableName is not text"),
    "count is no number": (DESCRIBE, {"Table": {**TABLE, "ItemCount": True}}, "its ItemCount is not a number"),
    "index lacks its keys": (
        DESCRIBE,
        {"Table": {**TABLE, "GlobalSecondaryIndexes": [{"IndexName": "i"}]}},
        "one of its GlobalSecondaryIndexes lacks KeySchema, Projection",
    ),
    "names are no texts": (ask("ListTables"), {"TableNames": ["a", {}]}, "its TableNames are not a list of texts"),
    "tag without a name": (ask("ListTagsOfResource"), {"Tags": [{"Value": "x"}]}, "one of its Tags lacks Key"),
    "backups are a number": (
        ask("ListBackups"),
        {"BackupSummaries": 5},
        "its BackupSummaries are not a list of JSON objects",
    ),
    "item is false": (GETS, {"Responses": [{"Item": False}, {}]}, "its Item is not a JSON object"),
    "table is a list": (DESCRIBE, {"Table": [5]}, "its Table is not a JSON object"),
    "new table is a list": (CREATE, {"TableDescription": [5]}, "its TableDescription is not a JSON object"),
}


@pytest.mark.parametrize(("request_", "answer"), RIGHT.values(), ids=RIGHT)
def test_an_answer_of_the_documented_form_is_right(request_, answer):
    assert damage_of(request_, answer) is None


@pytest.mark.parametrize(("request_", "answer", "fault"), WRONG.values(), ids=WRONG)
def test_an_answer_of_another_form_is_damaged_and_says_what_is_wrong(request_, answer, fault):
    damage = damage_of(request_, answer)
    assert damage is not None
    assert fault in str(damage)
    assert (damage.outcome, damage.operation, damage.table) == (Outcome.UNKNOWN, request_.operation, "docs")


def nested(levels):
    value = {"S": "x"}
    for level in range(levels):
        value = {"L": [value]} if level % 2 else {"M": {"m": value}}
    return value


VALUES = [
    {"S": ""},
    {"N": "-1.5e+7"},
    {"B": "AA=="},
    {"BOOL": False},
    {"NULL": True},
    {"SS": ["a"]},
    {"NS": ["1"]},
    {"L": []},
    {"M": {}},
    nested(32),
]
NO_VALUES = [
    5,
    None,
    "x",
    [],
    {},
    {"S": "a", "N": "1"},
    {"Q": "x"},
    {"S": 5},
    {"N": 5},
    {"N": "x"},
    {"N": "1_0"},
    {"B": None},
    {"BOOL": "true"},
    {"SS": "a"},
    {"NS": [1]},
    {"L": {}},
    {"L": [5]},
    {"M": []},
    {"M": {"m": {"S": 5}}},
    nested(33),
    nested(200),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: str(value)[:20])
def test_a_value_of_dynamodbs_is_no_damage(value):
    assert damage_of_values(GET, [{"n": value}]) is None


@pytest.mark.parametrize("value", NO_VALUES, ids=lambda value: str(value)[:20])
def test_what_is_no_value_is_damage_and_is_named(value):
    damage = damage_of_values(GET, [ITEM, {**ITEM, "odd": value}])
    assert damage is not None
    assert "its attribute 'odd' holds no value of DynamoDB's" in str(damage)


@pytest.mark.parametrize(("item", "damaged"), [(None, False), (ITEM, False), ({"n": 5}, True)])
def test_a_refusal_is_damaged_where_the_stored_item_is_none(item, damaged):
    refusal = ConditionalCheckFailedError("no", service_code="x", operation="PutItem", table="docs", status=400)
    refusal.wire_item = item
    assert (damage_of_refusal(SILENT_PUT, refusal) is not None) is damaged


def test_an_item_of_a_page_that_cannot_be_read_is_damage_where_it_lacks_its_key():
    assert "lacks pk, sk" in str(damage_of_values(QUERY, [ITEM, {"n": {"N": "1"}}]))
    assert damage_of_values(QUERY, [ITEM]) is None


def test_item_of_a_get_that_leaves_its_key_out_is_not_judged_by_it():
    asked = Request(
        operation="GetItem", body={"Key": {"id": {"S": "a"}}, "ProjectionExpression": "likes"}, table="notes"
    )
    assert damage_of(asked, {"Item": {"likes": {"N": "1"}}}) is None


def ask_streams(operation, **body):
    return Request(operation=operation, body=body, table="notes", service=STREAMS)


SHARD = {"ShardId": "s1", "SequenceNumberRange": {"StartingSequenceNumber": "1"}}
RECORD = {"eventName": "INSERT", "dynamodb": {"Keys": {"id": {"S": "a"}}, "SequenceNumber": "7"}}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (ask_streams("ListStreams"), {"Streams": [{"StreamArn": "a"}], "LastEvaluatedStreamArn": None}),
        (ask_streams("DescribeStream"), {"StreamDescription": {"Shards": [SHARD, {**SHARD, "ParentShardId": "s0"}]}}),
        (ask_streams("DescribeStream"), {"StreamDescription": {"Shards": [], "LastEvaluatedShardId": "s1"}}),
        (ask_streams("GetShardIterator"), {"ShardIterator": "i"}),
        (ask_streams("GetRecords"), {"Records": [RECORD], "NextShardIterator": "i"}),
        (ask_streams("GetRecords"), {"Records": [], "NextShardIterator": None}),
    ],
)
def test_an_answer_of_streams_has_the_form_that_is_documented(request_, answer):
    assert damage_of(request_, answer) is None


@pytest.mark.parametrize(
    ("request_", "answer", "fault"),
    [
        (ask_streams("ListStreams"), {}, "no list of Streams"),
        (ask_streams("ListStreams"), {"Streams": [{}]}, "no list of Streams"),
        (
            ask_streams("ListStreams", ExclusiveStartStreamArn="a"),
            {"Streams": [], "LastEvaluatedStreamArn": "a"},
            "does not advance",
        ),
        (ask_streams("DescribeStream"), {}, "no StreamDescription"),
        (ask_streams("DescribeStream"), {"StreamDescription": {}}, "no list of Shards"),
        (ask_streams("DescribeStream"), {"StreamDescription": {"Shards": [{}]}}, "no list of Shards"),
        (
            ask_streams("DescribeStream"),
            {"StreamDescription": {"Shards": [{**SHARD, "ParentShardId": 1}]}},
            "ParentShardId of one of its Shards is not text",
        ),
        (
            ask_streams("DescribeStream", ExclusiveStartShardId="s1"),
            {"StreamDescription": {"Shards": [SHARD], "LastEvaluatedShardId": "s1"}},
            "does not advance",
        ),
        (
            ask_streams("DescribeStream"),
            {"StreamDescription": {"Shards": [], "LastEvaluatedShardId": 1}},
            "LastEvaluatedShardId is not text",
        ),
        (ask_streams("GetShardIterator"), {}, "no ShardIterator"),
        (ask_streams("GetRecords"), {}, "no list of Records"),
        (ask_streams("GetRecords"), {"Records": [{**RECORD, "eventName": "OTHER"}]}, "lacks the kind of change"),
        (ask_streams("GetRecords"), {"Records": [{**RECORD, "dynamodb": {}}]}, "or the key of the item"),
        (
            ask_streams("GetRecords"),
            {"Records": [{**RECORD, "dynamodb": {**RECORD["dynamodb"], "SequenceNumber": "x"}}]},
            "SequenceNumber of one of its Records is not a number",
        ),
        (ask_streams("GetRecords"), {"Records": [], "NextShardIterator": 1}, "NextShardIterator is not text"),
    ],
)
def test_an_answer_of_streams_of_another_form_is_damage(request_, answer, fault):
    assert fault in str(damage_of(request_, answer))
