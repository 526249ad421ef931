"""What a batch call holds, and that its size on the wire is never taken for less than it is."""

import pytest
from pydantic_core import to_json

from dynamap_async.codec import item_size
from dynamap_async.executor.batches import batch_write, written_bytes
from dynamap_async.limits import BATCH_WRITE_BYTES, BATCH_WRITE_REQUESTS
from dynamap_async.request import Request, Target


def put(number, value):
    item = {"id": {"N": str(number)}, "v": value}
    target = Target({"id": item["id"]}, str(number), item_size(item))
    return Request(operation="PutItem", body={"TableName": "t", "Item": item}, table="t", target=target, writes=True)


def delete(number, value):
    key = {"id": {"N": str(number)}, "v": value}
    body = {"TableName": "t", "Key": key}
    return Request(operation="DeleteItem", body=body, table="t", target=Target(key, str(number)), writes=True)


EXPANDING = {
    "text": {"S": "x"},
    "control characters": {"S": "\x01"},
    "empty text": {"L": [{"S": ""}]},
    "flags": {"L": [{"BOOL": False}]},
    "nulls": {"L": [{"NULL": True}]},
    "numbers": {"NS": ["1"]},
    "empty maps": {"L": [{"M": {}}]},
    "nested lists": {"L": [{"L": [{"L": []}]}]},
}


def repeated(value, times):
    [(tag, content)] = value.items()
    return {tag: content * times}


@pytest.mark.parametrize("times", [1, 100, 1_000, 4_000, 40_000])
@pytest.mark.parametrize("value", EXPANDING.values(), ids=EXPANDING)
def test_a_put_is_never_taken_for_less_than_its_json(value, times):
    requests = [put(n, repeated(value, times)) for n in range(3)]
    assert sum(map(written_bytes, requests)) >= len(to_json(batch_write(requests).body))


def test_a_put_whose_json_is_known_is_taken_for_that():
    request = put(1, {"S": "x"})
    request.target.json_bytes = 50_000
    assert written_bytes(request) == written_bytes(put(1, {"S": "x"})) - len(to_json(request.body["Item"])) + 50_000


def test_a_deletion_is_never_taken_for_less_than_its_json():
    requests = [delete(n, {"S": "\x01" * 1024}) for n in range(3)]
    assert sum(map(written_bytes, requests)) >= len(to_json(batch_write(requests).body))


def test_25_items_of_16_kb_always_share_a_call():
    assert BATCH_WRITE_REQUESTS * written_bytes(put(1, {"S": "x" * 16_000})) <= BATCH_WRITE_BYTES


def test_25_of_the_largest_texts_share_a_call():
    assert BATCH_WRITE_REQUESTS * written_bytes(put(1, {"S": "x" * 400_000})) <= BATCH_WRITE_BYTES
