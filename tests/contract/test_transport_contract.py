"""What every transport promises: the same answers and the same errors, in wire form."""

from uuid import uuid4

import pytest

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    RequestRejectedError,
    ResourceNotFoundError,
    TransactionCanceledError,
)
from dynamap_async.request import Request

KEY = {"user": {"S": "ada"}, "id": {"N": "7"}}
ITEM = {
    **KEY,
    "raw": {"B": "AAEC/w=="},
    "parts": {"BS": ["AA==", "AQ=="]},
    "nested": {"M": {"B": {"B": "AQ=="}, "list": {"L": [{"B": "Ag=="}, {"NULL": True}, {"M": {}}]}}},
    "tags": {"SS": ["x", "y"]},
    "likes": {"N": "12345678901234567890123456789012345678"},
    "seen": {"BOOL": False},
    "text": {"S": "héllo \N{EARTH GLOBE EUROPE-AFRICA}"},
}


@pytest.mark.asyncio
async def test_item_comes_back_as_it_was_put(ask, table):
    await ask("PutItem", table, Item=ITEM)
    assert (await ask("GetItem", table, Key=KEY))["Item"] == ITEM


@pytest.mark.asyncio
async def test_absent_item_is_an_answer_without_an_item(ask, table):
    assert "Item" not in await ask("GetItem", table, Key=KEY)


@pytest.mark.asyncio
async def test_query_gives_items_count_and_position(ask, table):
    for number in ("7", "8", "9"):
        await ask("PutItem", table, Item={**ITEM, "id": {"N": number}})
    answer = await ask(
        "Query",
        table,
        KeyConditionExpression="#u = :u",
        ExpressionAttributeNames={"#u": "user"},
        ExpressionAttributeValues={":u": {"S": "ada"}},
        Limit=2,
    )
    assert answer["Items"] == [ITEM, {**ITEM, "id": {"N": "8"}}]
    assert (answer["Count"], answer["LastEvaluatedKey"]) == (2, {**KEY, "id": {"N": "8"}})


@pytest.mark.asyncio
async def test_binary_values_travel_in_batches(transport, table):
    writes = {"RequestItems": {table: [{"PutRequest": {"Item": ITEM}}]}}
    reads = {"RequestItems": {table: {"Keys": [KEY]}}}
    written = await transport.send(Request(operation="BatchWriteItem", body=writes, table=table, writes=True))
    read = await transport.send(Request(operation="BatchGetItem", body=reads, table=table))
    assert written["UnprocessedItems"] == {}
    assert read["Responses"] == {table: [ITEM]}


@pytest.mark.asyncio
async def test_update_returns_the_new_values(ask, table):
    await ask("PutItem", table, Item=ITEM)
    answer = await ask(
        "UpdateItem",
        table,
        Key=KEY,
        UpdateExpression="SET #r = :raw",
        ExpressionAttributeNames={"#r": "raw"},
        ExpressionAttributeValues={":raw": {"B": "AwQ="}},
        ReturnValues="UPDATED_NEW",
    )
    assert answer["Attributes"] == {"raw": {"B": "AwQ="}}


@pytest.mark.asyncio
async def test_failed_condition_carries_the_stored_item(ask, table):
    await ask("PutItem", table, Item=ITEM)
    with pytest.raises(ConditionalCheckFailedError, match="PutItem") as raised:
        await ask(
            "PutItem",
            table,
            Item=KEY,
            ConditionExpression="attribute_not_exists(id)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    error = raised.value
    assert error.wire_item == ITEM
    assert (error.operation, error.table, error.status) == ("PutItem", table, 400)
    assert (error.service_code, error.attempts) == ("ConditionalCheckFailedException", 1)


@pytest.mark.asyncio
async def test_cancelled_transaction_carries_a_reason_for_each_action_and_the_stored_item(ask, transport, table):
    await ask("PutItem", table, Item=ITEM)
    other = {**KEY, "id": {"N": "8"}}
    refused = {
        "Item": KEY,
        "ConditionExpression": "attribute_not_exists(id)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    actions = [{"Put": {"TableName": table, "Item": other}}, {"Put": {"TableName": table, **refused}}]
    body = {"TransactItems": actions, "ClientRequestToken": str(uuid4())}
    with pytest.raises(TransactionCanceledError) as raised:
        await transport.send(Request(operation="TransactWriteItems", body=body, table=table, writes=True))
    first, second = raised.value.reasons
    assert (first.code, second.code, second.wire_item) == (None, "ConditionalCheckFailed", ITEM)
    assert (second.operation, second.table) == ("PutItem", table)
    assert not raised.value.retryable


@pytest.mark.asyncio
async def test_transactional_read_keeps_the_places_of_its_items(ask, transport, table):
    await ask("PutItem", table, Item=ITEM)
    reads = [{"Get": {"TableName": table, "Key": {**KEY, "id": {"N": number}}}} for number in ("8", "7")]
    answer = await transport.send(Request(operation="TransactGetItems", body={"TransactItems": reads}, table=table))
    assert answer["Responses"] == [{}, {"Item": ITEM}]


@pytest.mark.asyncio
async def test_missing_table_is_named(ask):
    with pytest.raises(ResourceNotFoundError, match="no-such-table") as raised:
        await ask("GetItem", "no-such-table", Key=KEY)
    assert (raised.value.table, raised.value.retryable) == ("no-such-table", False)


@pytest.mark.asyncio
async def test_invalid_request_is_rejected_in_the_services_words(ask, table):
    with pytest.raises(RequestRejectedError, match="ValidationException") as raised:
        await ask("GetItem", table, Key={"user": {"S": "ada"}})
    assert raised.value.service_code == "ValidationException"


@pytest.mark.asyncio
async def test_description_has_times_as_seconds(ask, table):
    described = (await ask("DescribeTable", table))["Table"]
    assert described["TableName"] == table
    assert isinstance(described["CreationDateTime"], int | float)
