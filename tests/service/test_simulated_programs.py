"""The engine in the process and the native one, which others wrote, answer random programs alike.

``DYNAMAP_PROGRAMS=2000`` tries that many. What either is known to do otherwise is left out by the generator, with the
reason beside it.
"""

import http.client
import json
import os
import random
from itertools import groupby
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.testing import NativeEngine
from dynamap_async.testing.probe import HEADERS

PROGRAMS = int(os.environ.get("DYNAMAP_PROGRAMS", "20"))
CALLS = 200


class Program:
    """Draws requests about one table."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.table = f"p{uuid4().hex[:12]}"
        self.sort = self.draw.choice([None, "S", "N", "B"])
        self.indexed = self.draw.random() < 0.7
        self.has_ties = self.draw.random() < 0.3

    def create(self):
        keys, types = [{"AttributeName": "pk", "KeyType": "HASH"}], {"pk": "S"}
        if self.sort:
            keys.append({"AttributeName": "sk", "KeyType": "RANGE"})
            types["sk"] = self.sort
        body = {"TableName": self.table, "KeySchema": keys, "BillingMode": "PAY_PER_REQUEST"}
        if self.indexed:
            types |= {"g": "S", "n": "N"}
            parts = [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]
            kind = self.draw.choice(["ALL", "KEYS_ONLY", "INCLUDE"])
            projection = {"ProjectionType": kind} | ({"NonKeyAttributes": ["a"]} if kind == "INCLUDE" else {})
            body["GlobalSecondaryIndexes"] = [{"IndexName": "by-g", "KeySchema": parts, "Projection": projection}]
        body["AttributeDefinitions"] = [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]
        return "CreateTable", body

    def key(self):
        key = {"pk": {"S": self.draw.choice("abc")}}
        if self.sort == "S":
            key["sk"] = {"S": self.draw.choice(["", "x", "xy", "y", "é"][1:])}
        elif self.sort == "N":
            key["sk"] = {"N": self.draw.choice(["1", "-2", "10", "1.5", "0", "2e3"])}
        elif self.sort == "B":
            key["sk"] = {"B": self.draw.choice(["AA==", "AP8=", "/w==", "gA=="])}
        return key

    def value(self, depth=0):
        kinds = ["S", "N", "BOOL", "NULL", "SS", "NS", "B"] + (["L", "M"] if depth < 2 else [])
        kind = self.draw.choice(kinds)
        return {
            "S": lambda: {"S": self.draw.choice(["", "x", "xyz", "é", "London", "a" * self.draw.randrange(1500)])},
            "N": lambda: {
                "N": self.draw.choice(["0", "1", "-7", "3.25", "100", "1.50", "1e2", "12345678901234567890"])
            },
            "BOOL": lambda: {"BOOL": self.draw.random() < 0.5},
            "NULL": lambda: {"NULL": True},
            "SS": lambda: {"SS": self.draw.sample(["a", "b", "c", "d"], self.draw.randrange(1, 4))},
            "NS": lambda: {"NS": self.draw.sample(["1", "2", "3.5"], self.draw.randrange(1, 3))},
            "B": lambda: {"B": self.draw.choice(["AA==", "AQI=", "////"])},
            "L": lambda: {"L": [self.value(depth + 1) for _ in range(self.draw.randrange(3))]},
            "M": lambda: {
                "M": {name: self.value(depth + 1) for name in self.draw.sample("xyz", self.draw.randrange(3))}
            },
        }[kind]()

    def item(self):
        item = self.key() | {name: self.value() for name in self.draw.sample("abcd", self.draw.randrange(4))}
        if self.draw.random() < 0.7:
            number = self.draw.randrange(3) if self.has_ties else self.draw.randrange(-(10**9), 10**9)
            item |= {"g": {"S": self.draw.choice("xy")}, "n": {"N": str(number)}}
        return item

    def condition(self):
        """Return a condition, and the values that it names."""
        name, other = self.draw.choice("abcd"), self.draw.choice("abcd")
        value = self.value()
        [kind] = value
        forms = [
            (f"attribute_exists({name})", {}),
            (f"attribute_not_exists({name}) OR attribute_exists({other})", {}),
            (f"{name} = :v", {":v": value}),
            (f"{name} <> :v", {":v": value}),
            (f"NOT {name} IN (:v, :w)", {":v": value, ":w": self.value()}),
            (f"attribute_type({name}, :t)", {":t": {"S": self.draw.choice(["S", "N", "L", "SS"])}}),
            (f"size({name}) > :z", {":z": {"N": self.draw.choice(["0", "1", "3"])}}),
            (f"contains({name}, :v)", {":v": self.draw.choice([{"S": "x"}, {"N": "1"}, {"S": "a"}])}),
            (f"begins_with({name}, :v)", {":v": {"S": self.draw.choice(["", "x", "Lo"])}}),
        ]
        if kind in {"S", "N", "B"}:
            forms.append((f"{name} {self.draw.choice(['<', '<=', '>', '>='])} :v", {":v": value}))
        return self.draw.choice(forms)

    def update(self):
        """Return an update, and the values that it names."""
        name, other = self.draw.sample("abcd", 2)
        number = {"N": self.draw.choice(["1", "-2", "0.5"])}
        return self.draw.choice(
            [
                (f"SET {name} = :u", {":u": self.value()}),
                (f"SET {name} = if_not_exists({name}, :z) + :u", {":u": number, ":z": {"N": "0"}}),
                (f"SET {name} = {other}", {}),
                (f"SET {name} = list_append(if_not_exists({name}, :e), :u)", {":e": {"L": []}, ":u": {"L": [number]}}),
                (f"REMOVE {name}, {other}", {}),
                (f"ADD {name} :u", {":u": self.draw.choice([number, {"SS": ["a", "q"]}, {"NS": ["1", "9"]}])}),
                (f"DELETE {name} :u", {":u": self.draw.choice([{"SS": ["a"]}, {"NS": ["1"]}])}),
                (f"SET {name} = :u REMOVE {other}", {":u": self.value()}),
            ]
        )

    def written(self, body):
        if self.draw.random() < 0.4:
            text, values = self.condition()
            body["ConditionExpression"] = text
            if self.draw.random() < 0.3:
                body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            if values:
                body["ExpressionAttributeValues"] = body.get("ExpressionAttributeValues", {}) | values
        return body

    def call(self):
        draw = self.draw
        common = {"TableName": self.table, "ReturnConsumedCapacity": "INDEXES"}
        kind = draw.choice(
            ["put", "put", "get", "update", "update", "delete", "query", "scan", "batch", "transact", "many"]
        )
        if kind == "put":
            body = {**common, "Item": self.item(), "ReturnValues": draw.choice(["NONE", "ALL_OLD"])}
            return "PutItem", self.written(body)
        if kind == "get":
            return "GetItem", {**common, "Key": self.key(), "ConsistentRead": draw.random() < 0.5}
        if kind == "update":
            text, values = self.update()
            returned = draw.choice(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
            body = {**common, "Key": self.key(), "UpdateExpression": text, "ReturnValues": returned}
            if values:
                body["ExpressionAttributeValues"] = values
            return "UpdateItem", self.written(body)
        if kind == "delete":
            return "DeleteItem", self.written({**common, "Key": self.key(), "ReturnValues": "ALL_OLD"})
        if kind == "batch":
            items = {json.dumps(self.position(item)): item for item in (self.item() for _ in range(5))}
            requests = [{"PutRequest": {"Item": item}} for item in items.values()]
            return "BatchWriteItem", {"RequestItems": {self.table: requests}, "ReturnConsumedCapacity": "TOTAL"}
        if kind == "many":
            keys = list({json.dumps(self.position(key)): key for key in (self.key() for _ in range(6))}.values())
            return "BatchGetItem", {"RequestItems": {self.table: {"Keys": keys}}, "ReturnConsumedCapacity": "TOTAL"}
        if kind == "transact":
            items = {json.dumps(self.position(item)): item for item in (self.item() for _ in range(3))}
            actions = [{"Put": self.written({"TableName": self.table, "Item": item})} for item in items.values()]
            return "TransactWriteItems", {"TransactItems": actions}
        return self.read(kind, common)

    def position(self, item):
        values = [item[name] for name in ("pk", "sk") if name in item]
        return [{"N": str(float(value["N"]))} if "N" in value else value for value in values]

    def read(self, kind, common):
        draw, body = self.draw, dict(common)
        values = {}
        if self.indexed and draw.random() < 0.4:
            body["IndexName"] = "by-g"
        if draw.random() < 0.4:
            body["FilterExpression"], values = self.condition()
        if draw.random() < 0.4:
            body["Limit"] = draw.randrange(1, 6)
        if kind == "query":
            if "IndexName" in body:
                body["KeyConditionExpression"] = "g = :k" + draw.choice(["", " AND n > :n", " AND n BETWEEN :n AND :m"])
                values = values | {":k": {"S": draw.choice("xy")}}
                if ":n" in body["KeyConditionExpression"]:
                    values[":n"] = {"N": "-1000"}
                if ":m" in body["KeyConditionExpression"]:
                    values[":m"] = {"N": "500000000"}
            else:
                body["KeyConditionExpression"] = "pk = :k"
                values = values | {":k": {"S": draw.choice("abc")}}
                if self.sort and draw.random() < 0.5:
                    body["KeyConditionExpression"] += f" AND sk {draw.choice(['=', '<', '<=', '>', '>='])} :s"
                    values[":s"] = self.key()["sk"]
            body["ScanIndexForward"] = draw.random() < 0.5
        elif draw.random() < 0.3 and "Limit" not in body:
            body |= {"Segment": 0, "TotalSegments": 1}
        # The order of a scan is each engine's own, and so is that of entries of an index with one key.
        if kind == "scan" or (self.has_ties and "IndexName" in body):
            body.pop("Limit", None)
        if values:
            body["ExpressionAttributeValues"] = values
        return kind.capitalize(), body


def in_order(item):
    """Return an item's JSON with its attributes in order, which says nothing."""
    return json.dumps(item, sort_keys=True)


def same_form(value):
    """Return an answer in a form that is equal for equal answers: sets without order."""
    if isinstance(value, list):
        return [same_form(each) for each in value]
    if not isinstance(value, dict):
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return {
        name: sorted(each) if name in {"SS", "NS", "BS"} and isinstance(each, list) else same_form(each)
        for name, each in value.items()
    }


def comparable(operation, body, status, answer):
    """Return what two engines must agree on."""
    if status != 200:
        reasons = [reason["Code"] for reason in answer.get("CancellationReasons", ())]
        return status, answer["__type"].rpartition("#")[2], reasons, same_form(answer.get("Item"))
    found = same_form(answer)
    if operation == "Scan":
        found["Items"].sort(key=in_order)
    if operation == "Query":
        same_key = groupby(found["Items"], lambda item: item["n"] if "IndexName" in body else None)
        found["Items"] = [
            sorted(map(in_order, items)) if number else [*map(in_order, items)] for number, items in same_key
        ]
    # Of an item that was not there, the native engine gives the key as what it was before an update.
    is_all_old = operation == "UpdateItem" and body["ReturnValues"] == "ALL_OLD"
    if is_all_old and found.get("Attributes", {}).keys() == body["Key"].keys():
        del found["Attributes"]
    for items in found.get("Responses", {}).values() if operation == "BatchGetItem" else ():
        items.sort(key=in_order)
    return status, {name: each for name, each in found.items() if each not in ([], {}, None)}


class Native:
    """The native engine, asked over one connection."""

    def __init__(self, engine):
        self._connection = http.client.HTTPConnection(urlsplit(engine.endpoint_url).netloc, timeout=60)

    def close(self):
        self._connection.close()

    def execute(self, operation, body):
        self._connection.request("POST", "/", body, HEADERS | {"X-Amz-Target": f"DynamoDB_20120810.{operation}"})
        response = self._connection.getresponse()
        return response.status, response.read()


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_random_program_is_answered_as_the_native_engine_answers_it(request, running, native_executable, seed):
    program = Program(seed)
    native = Native(running(NativeEngine, native_executable))
    request.addfinalizer(native.close)
    engines = [SimulatedDynamoDB(), native]
    calls = [program.create(), *(program.call() for _ in range(CALLS))]
    for number, (operation, body) in enumerate(calls):
        sent = json.dumps(body).encode()
        answers = [
            (status, json.loads(answer)) for status, answer in (each.execute(operation, sent) for each in engines)
        ]
        if operation == "CreateTable":
            assert [status for status, _answer in answers] == [200, 200], answers
            continue
        ours, theirs = (comparable(operation, body, *answer) for answer in answers)
        assert ours == theirs, (number, operation, body, answers)
