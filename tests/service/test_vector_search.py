"""Vector search of the engine in the process, beside that of the native engine, which others wrote."""

import http.client
import json
import math
import random
from array import array
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from dynamap_async.testing import LocalEngine, NativeEngine
from dynamap_async.testing.probe import HEADERS

ITEMS, DIMENSIONS = 5000, 12
DISTANCES = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")
SCHEMA = [
    {"AttributeName": "tenant", "SearchSchemaElementType": "HASH"},
    {"AttributeName": "lang", "SearchSchemaElementType": "INLINE_FILTER"},
]
TABLE = {
    "TableName": "passages",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "tenant", "lang")],
    "BillingMode": "PAY_PER_REQUEST",
    "VectorIndexes": [
        {
            "IndexName": distance.lower(),
            "VectorAttribute": {"AttributeName": "e"},
            "Dimensions": DIMENSIONS,
            "DistanceFunction": distance,
            "Projection": {"ProjectionType": "ALL"},
            "SearchSchema": SCHEMA,
        }
        for distance in DISTANCES
    ],
}


class Client:
    """Asks an engine over one connection, at its one address."""

    def __init__(self, engine):
        self._connection = http.client.HTTPConnection(urlsplit(engine.endpoint_url).netloc, timeout=60)

    def close(self):
        self._connection.close()

    def ask(self, operation, *, host=None, **body):
        headers = HEADERS | {"X-Amz-Target": f"DynamoDB_20120810.{operation}"} | ({"Host": host} if host else {})
        self._connection.request("POST", "/", json.dumps(body), headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read())


def values(numbers):
    return [{"N": repr(number)} for number in numbers]


@pytest.fixture(scope="module")
def passages():
    """Return items by their keys: the partition key of the index, the filter and the vector."""
    draw = random.Random(11)
    return {
        f"{number:05}": (
            draw.choice(["a", "a", "b", None]),
            draw.choice(["en", "de", None]),
            [round(draw.gauss(0, 1), 6) for _ in range(DIMENSIONS)],
        )
        for number in range(ITEMS)
    }


def item_of(key, tenant, lang, numbers):
    found = {"id": {"S": key}, "e": {"L": values(numbers)}}
    return found | {name: {"S": text} for name, text in (("tenant", tenant), ("lang", lang)) if text is not None}


def filled(client, passages):
    assert client.ask("CreateTable", **TABLE)[0] == 200
    items = [item_of(key, *passage) for key, passage in passages.items()]
    for at in range(0, len(items), 25):
        requests = [{"PutRequest": {"Item": item}} for item in items[at : at + 25]]
        assert client.ask("BatchWriteItem", RequestItems={"passages": requests})[0] == 200
    return client


@pytest.fixture(scope="module")
def memory(passages):
    with LocalEngine() as engine, closing(Client(engine)) as client:
        yield filled(client, passages)


@pytest.fixture(scope="module")
def native(passages, native_executable):
    with NativeEngine(executable=native_executable) as engine, closing(Client(engine)) as client:
        yield filled(client, passages)


def found_by(client, index, near, lang, **more):
    condition, given = "tenant = :t", {":t": {"S": "a"}}
    if lang is not None:
        condition, given = f"{condition} AND lang = :l", given | {":l": {"S": lang}}
    status, answer = client.ask(
        "SearchVectors",
        TableName="passages",
        IndexName=index,
        SearchVector=values(near),
        SearchConditionExpression=condition,
        ExpressionAttributeValues=given,
        **more,
    )
    assert status == 200, answer
    return answer


def distance_between(distance, one, other):
    """Return how far apart two vectors are, the less the nearer."""
    product = math.fsum(left * right for left, right in zip(one, other, strict=True))
    if distance == "DOT_PRODUCT":
        return -product
    if distance == "EUCLIDEAN":
        return math.dist(one, other)
    return 1 - product / math.hypot(*one) / math.hypot(*other)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("lang", [None, "en"])
def test_both_engines_find_what_comparing_all_finds(memory, native, passages, distance, lang):
    draw = random.Random(f"{distance}/{lang}")
    near = array("f", [draw.gauss(0, 1) for _ in range(DIMENSIONS)])
    far = {
        key: distance_between(distance, near, array("f", numbers))
        for key, (tenant, of_item, numbers) in passages.items()
        if tenant == "a" and lang in {None, of_item}
    }
    nearest = sorted(far, key=far.__getitem__)[:100]
    for client in (memory, native):
        results = found_by(client, distance.lower(), near, lang, TopK=100)["SearchResults"]
        assert [each["Item"]["id"]["S"] for each in results] == nearest
        sign = -1 if distance == "DOT_PRODUCT" else 1
        for each in results:
            assert math.isclose(sign * each["Score"], far[each["Item"]["id"]["S"]], abs_tol=1e-6)
            assert "e" not in each["Item"]


@pytest.mark.parametrize("lang", [None, "de"])
def test_both_engines_count_the_same_bytes(memory, native, lang):
    near = [1.0] * DIMENSIONS
    counted = [
        found_by(client, "cosine", near, lang, TopK=1, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
        for client in (memory, native)
    ]
    assert counted[0] == counted[1]


def test_both_engines_count_the_same_bytes_of_a_write(memory, native):
    near = [1.0] * DIMENSIONS
    item = item_of("00000", "a", "en", near) | {"text": {"S": "x" * 3000}}
    written = [
        client.ask("PutItem", TableName="passages", Item=item, ReturnConsumedCapacity="INDEXES")[1]["ConsumedCapacity"]
        for client in (memory, native)
    ]
    assert written[0]["VectorIndexes"] == written[1]["VectorIndexes"] != {}


def made(**changes):
    """Return a request that makes another table, with one vector index."""
    [index, *_others] = TABLE["VectorIndexes"]
    table = {name: value for name, value in changes.items() if name in {"BillingMode", "ProvisionedThroughput"}}
    changed = index | {name: value for name, value in changes.items() if name not in table}
    return "CreateTable", TABLE | {"TableName": "refused", "VectorIndexes": [changed]} | table


def put(key="x", **attributes):
    return "PutItem", {"TableName": "passages", "Item": {"id": {"S": key}} | attributes}


def search(condition="tenant = :t", near=DIMENSIONS, value="S", **changes):
    asked = {"TableName": "passages", "IndexName": "cosine", "SearchVector": values([1.0] * near), "TopK": 1}
    asked |= {"SearchConditionExpression": condition, "ExpressionAttributeValues": {":t": {value: "1"}}} | changes
    return "SearchVectors", {name: each for name, each in asked.items() if each is not None}


def updated(*updates):
    types = TABLE["AttributeDefinitions"]
    return "UpdateTable", {"TableName": "passages", "AttributeDefinitions": types, "VectorIndexUpdates": list(updates)}


UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
REFUSED = {
    "provisioned": made(BillingMode="PROVISIONED", ProvisionedThroughput=UNITS),
    "no dimension": made(Dimensions=0),
    "too many dimensions": made(Dimensions=4097),
    "unknown distance": made(DistanceFunction="L2"),
    "no projection": made(Projection=None),
    "projection without kind": made(Projection={}),
    "attributes beside ALL": made(Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}),
    "two partition keys": made(SearchSchema=[SCHEMA[0], SCHEMA[1] | {"SearchSchemaElementType": "HASH"}]),
    "an attribute twice": made(SearchSchema=[SCHEMA[1], SCHEMA[1]]),
    "undefined attribute": made(SearchSchema=[SCHEMA[0] | {"AttributeName": "other"}]),
    "the vector is a key": made(VectorAttribute={"AttributeName": "id"}),
    "existing index": updated({"Create": TABLE["VectorIndexes"][0]}),
    "other dimensions": updated({"Create": TABLE["VectorIndexes"][0] | {"IndexName": "more", "Dimensions": 3}}),
    "no such index": updated({"Delete": {"IndexName": "nope"}}),
    "nothing": updated({}),
    "no updates": updated(),
    "two at once": updated({"Delete": {"IndexName": "cosine"}}, {"Delete": {"IndexName": "euclidean"}}),
    "to provisioned": (
        "UpdateTable",
        {"TableName": "passages", "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS},
    ),
    "short": put(e={"L": values([1.0])}),
    "text as vector": put(e={"S": "x"}),
    "set as vector": put(e={"NS": ["1"]}),
    "text in vector": put(e={"L": [{"N": "1"}, {"S": "x"}] * (DIMENSIONS // 2)}),
    "key of another type": put(tenant={"N": "1"}),
    "filter of another type": put(lang={"N": "1"}),
    "empty key": put(tenant={"S": ""}, e={"L": values([1.0] * DIMENSIONS)}),
    "short search": search(near=2),
    "text searched": search(SearchVector=[{"S": "x"}] * DIMENSIONS),
    "no number": search(SearchVector=[{"N": "NaN"}] * DIMENSIONS),
    "too many results": search(TopK=101),
    "no results": search(TopK=0),
    "unknown index": search(IndexName="nope"),
    "no condition": search(None, ExpressionAttributeValues=None),
    "without the key": search("lang = :t"),
    "another attribute": search("tenant = :t AND color = :t"),
    "another type": search(value="N"),
    "range": search("tenant = :t AND lang > :t"),
    "or": search("tenant = :t OR lang = :t"),
    "nested": search("tenant = :t AND lang.x = :t"),
    "twice": search("tenant = :t AND tenant = :t"),
    "empty condition": search(""),
    "unused value": search(ExpressionAttributeValues={":t": {"S": "1"}, ":u": {"S": "1"}}),
    "query": (
        "Query",
        {
            "TableName": "passages",
            "IndexName": "cosine",
            "KeyConditionExpression": "tenant = :t",
            "ExpressionAttributeValues": {":t": {"S": "1"}},
        },
    ),
    "scan": ("Scan", {"TableName": "passages", "IndexName": "cosine"}),
    "empty schema": made(SearchSchema=[]),
    "INCLUDE of nothing": made(Projection={"ProjectionType": "INCLUDE"}),
    "too large a number": put(e={"L": [{"N": "1e100"}] * DIMENSIONS}),
    "empty search": search(SearchVector=[]),
    "filter expression": search(FilterExpression="lang = :t"),
}
DIFFERENCES = {
    "empty schema": "the native engine takes it; the service model asks for one element at least",
    "INCLUDE of nothing": "the native engine takes it; other indexes refuse it",
    "too large a number": "the native engine shows the number as it was sent",
    "empty search": "the native engine does not show the value",
    "filter expression": "the native engine ignores the member, which the service model does not have",
}


@pytest.mark.parametrize("case", REFUSED)
def test_both_engines_refuse_alike(memory, native, case):
    operation, body = REFUSED[case]
    (status, ours), (others_status, theirs) = (client.ask(operation, **body) for client in (memory, native))
    for client in (memory, native):
        client.ask("DeleteTable", TableName="refused")
    answers = [
        (status, ours.get("__type"), ours.get("message")),
        (others_status, theirs.get("__type"), theirs.get("message")),
    ]
    assert status == 400
    assert (answers[0] == answers[1]) is (case not in DIFFERENCES), answers


def test_both_engines_give_the_vector_and_the_attributes_that_are_asked_for(memory, native):
    asked = {"TopK": 5, "ProjectionExpression": "id, lang, e[0], e[3]"}
    ours, theirs = (
        found_by(client, "euclidean", [0.5] * DIMENSIONS, None, **asked)["SearchResults"] for client in (memory, native)
    )
    for one, other in zip(ours, theirs, strict=True):
        for result in (one, other):  # the native engine writes 1 as 1.0
            result["Item"]["e"] = [float(each["N"]) for each in result["Item"]["e"]["L"]]
            result["Score"] = round(result["Score"], 9)
        assert one == other


def test_a_search_for_the_host_that_aws_has_for_them_is_answered_at_the_one_address(memory):
    operation, body = search()
    status, answer = memory.ask(operation, host="search-dynamodb.eu-west-1.amazonaws.com", **body)
    assert (status, answer["SearchResults"]) == (200, [])
