from collections import OrderedDict
from enum import StrEnum

import orjson
import pytest

from dynamap_async.transport.bodies import body_text
from dynamap_async.wire import EncodedItem


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "shown in another way"


class Number(int):
    pass


class Elements(list[object]):
    pass


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"TableName": "things", "Key": {"id": {"S": "a"}}}, id="plain"),
        pytest.param({"TableName": Text("things")}, id="text"),
        pytest.param({"Limit": Number(3)}, id="number"),
        pytest.param({"Keys": Elements([OrderedDict(id={"S": "a"})])}, id="containers"),
        pytest.param({"ReturnValues": Colour.RED}, id="enum"),
    ],
)
def test_a_body_is_written_as_orjson_writes_it(body):
    assert body_text(body) == orjson.dumps(body)


def test_the_json_of_an_item_is_not_written_again():
    item = EncodedItem({"id": {"S": "a"}})
    item.json = b'{"id": {"S": "a"}}'  # with spaces that orjson does not write
    alone = body_text({"TableName": "things", "Item": item})
    assert alone == b'{"TableName":"things","Item":{"id": {"S": "a"}}}'
    batch = body_text({"RequestItems": {"things": [{"PutRequest": {"Item": item}}] * 2}})
    assert batch.count(item.json) == 2
    transaction = body_text({"TransactItems": [{"Put": {"TableName": "things", "Item": item}}]})
    assert transaction.count(item.json) == 1


def test_an_item_with_its_json_is_an_item():
    item = EncodedItem({"id": {"S": "a"}})
    assert item == {"id": {"S": "a"}}
    assert type({**item}) is dict


def test_what_has_no_json_is_a_type_error():
    with pytest.raises(TypeError):
        body_text({"at": object()})
