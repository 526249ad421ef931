import datetime

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from dynamap_async.transport.client import to_client_form, to_wire_form

MODEL = ServiceModel(Loader().load_service_model("dynamodb", "service-2"))
NESTED = {
    "M": {
        "B": {"B": "AAE="},
        "L": {"L": [{"B": "AQ=="}, {"BS": ["AA==", "Ag=="]}, {"M": {}}]},
        "S": {"S": "AAE="},
        "N": {"NULL": True},
    }
}
NESTED_FOR_CLIENT = {
    "M": {
        "B": {"B": b"\x00\x01"},
        "L": {"L": [{"B": b"\x01"}, {"BS": [b"\x00", b"\x02"]}, {"M": {}}]},
        "S": {"S": "AAE="},
        "N": {"NULL": True},
    }
}


def shape(operation):
    return MODEL.operation_model(operation).input_shape


@pytest.mark.parametrize(
    ("operation", "wrap"),
    [
        ("PutItem", lambda value: {"TableName": "t", "Item": {"Item": value}}),
        ("GetItem", lambda value: {"TableName": "t", "Key": {"B": value}}),
        ("UpdateItem", lambda value: {"Key": {}, "ExpressionAttributeValues": {":v": value}}),
        ("Query", lambda value: {"Limit": 1, "ExclusiveStartKey": {"id": value}}),
        ("BatchGetItem", lambda value: {"RequestItems": {"Items": {"Keys": [{"id": value}]}}}),
        ("BatchWriteItem", lambda value: {"RequestItems": {"Item": [{"PutRequest": {"Item": {"id": value}}}]}}),
        ("TransactWriteItems", lambda value: {"TransactItems": [{"Put": {"Item": {"id": value}}}]}),
    ],
)
def test_binary_values_become_bytes_and_back_wherever_they_stand(operation, wrap):
    assert to_client_form(wrap(NESTED), shape(operation)) == wrap(NESTED_FOR_CLIENT)
    assert to_wire_form(wrap(NESTED_FOR_CLIENT), shape(operation)) == wrap(NESTED)


def test_what_the_model_does_not_know_is_sent_but_not_answered():
    assert to_client_form({"Future": {"B": "AAE="}}, shape("GetItem")) == {"Future": {"B": "AAE="}}
    assert to_wire_form({"ResponseMetadata": {}, "Key": {}}, shape("GetItem")) == {"Key": {}}


def test_times_become_seconds():
    moment = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    answer = {"Table": {"TableName": "t", "CreationDateTime": moment}}
    described = to_wire_form(answer, MODEL.operation_model("DescribeTable").output_shape)
    assert described == {"Table": {"TableName": "t", "CreationDateTime": moment.timestamp()}}
