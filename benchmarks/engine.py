"""What the engine in the process costs: ``nox -s bench -- engine``.

The processor time of one request, from its bytes to those of the answer, best of some rounds: no session, no transport.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from benchmarks.items import PAGE, TABLE, wire, wire_key
from dynamap_async.simulated import SimulatedDynamoDB

_CALLS = 200
_KEY = [{"AttributeName": "user_id", "KeyType": "HASH"}, {"AttributeName": "posted_at", "KeyType": "RANGE"}]
_INDEX = [{"AttributeName": "title", "KeyType": "HASH"}, {"AttributeName": "likes", "KeyType": "RANGE"}]


def main() -> int:
    """Print what each request costs, in a table of some items."""
    parser = argparse.ArgumentParser(prog="nox -s bench -- engine", description=__doc__)
    parser.add_argument("command", choices=["engine"])
    parser.add_argument("--items", type=int, default=1000, help="items in the table (default: 1000)")
    parser.add_argument("--index", action="store_true", help="with a global index that has them all")
    parser.add_argument("--rounds", type=int, default=15, help="rounds, of which the best counts (default: 15)")
    options = parser.parse_args()
    service = filled(options.items, index=options.index)
    for name, (operation, body) in requests().items():
        seconds = cost(lambda operation=operation, body=body: service.execute(operation, body), options.rounds)
        print(f"{name:24} {seconds * 1e6:8.1f} us")
    return 0


def filled(items: int, *, index: bool = False) -> SimulatedDynamoDB:
    """Return an engine with a table of some pages of the reference item."""
    service = SimulatedDynamoDB()
    parts = {"title": "S", "likes": "N"} if index else {}
    body: dict[str, Any] = {
        "TableName": TABLE,
        "KeySchema": _KEY,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind}
            for name, kind in ({"user_id": "S", "posted_at": "S"} | parts).items()
        ],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if index:
        everything = {"ProjectionType": "ALL"}
        body["GlobalSecondaryIndexes"] = [{"IndexName": "by-title", "KeySchema": _INDEX, "Projection": everything}]
    status, answer = service.execute("CreateTable", json.dumps(body).encode())
    assert status == 200, answer
    service.load(TABLE, (wire(f"user-{number // PAGE}", number) for number in range(items)))
    return service


def requests() -> dict[str, tuple[str, bytes]]:
    """Return each request that is measured: name -> operation and body."""
    names, values = {"#u": "user_id"}, {":u": {"S": "user-0"}}
    query = {"TableName": TABLE, "KeyConditionExpression": "#u = :u"}
    plain = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": values}
    filtered = {
        "FilterExpression": "#l > :l",
        "ExpressionAttributeNames": names | {"#l": "likes"},
        "ExpressionAttributeValues": values | {":l": {"N": "5"}},
    }
    update = {
        "UpdateExpression": "SET #l = :l",
        "ExpressionAttributeNames": {"#l": "likes"},
        "ExpressionAttributeValues": {":l": {"N": "7"}},
        "ReturnValues": "ALL_NEW",
    }
    key, item = wire_key("user-0", 5), wire("user-0", 5)
    puts = [{"Put": {"TableName": TABLE, "Item": wire("other", number)}} for number in range(10)]
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        "get": ("GetItem", {"TableName": TABLE, "Key": key}),
        "put": ("PutItem", {"TableName": TABLE, "Item": item}),
        "query of 100": ("Query", query | plain),
        "query with a filter": ("Query", query | filtered),
        "update": ("UpdateItem", {"TableName": TABLE, "Key": key} | update),
        "transaction of 10 puts": ("TransactWriteItems", {"TransactItems": puts}),
    }
    return {name: (operation, json.dumps(body).encode()) for name, (operation, body) in asked.items()}


def cost(call: Callable[[], tuple[int, bytes]], rounds: int, calls: int = _CALLS) -> float:
    """Return the least processor time of a call, in seconds.

    Args:
        call: returns the status of an answer, and its body.
        rounds: how many times to measure.
        calls: how many calls a round has.
    """
    status, answer = call()
    assert status == 200, answer
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(calls):
            call()
        least = min(least, (time.process_time() - began) / calls)
    return least
