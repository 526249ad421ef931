"""Laws of the engine with ``capacity=``: it gives no more than it has, and what it refuses has no effect."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.testing import Capacity

UNITS, INDEX_UNITS, BURST = 4, 2, 3
TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "city")],
    "ProvisionedThroughput": {"ReadCapacityUnits": UNITS, "WriteCapacityUnits": UNITS},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by_city",
            "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": INDEX_UNITS, "WriteCapacityUnits": INDEX_UNITS},
        }
    ],
}
ITEMS = st.builds(
    lambda pk, more: {"pk": {"S": pk}, **more},
    st.sampled_from("abcdefgh"),
    st.sampled_from([{}, {"city": {"S": "Rome"}}, {"city": {"S": "Oslo"}}, {"n": {"N": "7"}}]),
)
UNIQUE = st.lists(ITEMS, min_size=1, max_size=8, unique_by=lambda item: item["pk"]["S"])
ASKED = {"ReturnConsumedCapacity": "INDEXES"}


def batch(items):
    return "BatchWriteItem", {"RequestItems": {"things": [{"PutRequest": {"Item": item}} for item in items]}, **ASKED}


def transaction(items):
    puts = [{"Put": {"TableName": "things", "Item": item}} for item in items]
    return "TransactWriteItems", {"TransactItems": puts, **ASKED}


def put(item):
    return "PutItem", {"TableName": "things", "Item": item, **ASKED}


REQUESTS = st.one_of(st.builds(put, ITEMS), st.builds(batch, UNIQUE), st.builds(transaction, UNIQUE))
PROGRAMS = st.lists(st.tuples(st.sampled_from([0.0, 0.0, 0.1, 0.7, 2.0]), REQUESTS), max_size=25)


def run(program, capacity):
    """Return the service after a program, each request with its answer, and the seconds that it took."""
    now = 0.0
    service = SimulatedDynamoDB(lambda: now, capacity=capacity)
    assert service.execute("CreateTable", json.dumps(TABLE).encode())[0] == 200
    answers = []
    for pause, (operation, body) in program:
        now += pause
        status, answer = service.execute(operation, json.dumps(body).encode())
        answers.append((operation, body, status, json.loads(answer)))
    return service, answers, now


def capacities(answers):
    for _operation, _body, status, answer in answers:
        if status == 200:
            told = answer.get("ConsumedCapacity") or []
            yield from [told] if isinstance(told, dict) else told


@given(PROGRAMS)
@settings(deadline=None)
def test_no_more_is_given_than_was_saved_and_came_since(program):
    _, answers, seconds = run(program, Capacity(burst_seconds=BURST))
    table = sum(each["Table"]["CapacityUnits"] for each in capacities(answers))
    index = sum(
        one["CapacityUnits"] for each in capacities(answers) for one in each.get("GlobalSecondaryIndexes", {}).values()
    )
    # A write that moves an entry takes two units of the index: no more than a second's, so it leaves no debt.
    assert table <= UNITS * (BURST + seconds) + 1e-6
    assert index <= INDEX_UNITS * (BURST + seconds) + 1e-6


@given(PROGRAMS)
@settings(deadline=None)
def test_what_is_refused_has_no_effect(program):
    service, answers, _ = run(program, Capacity(burst_seconds=BURST))
    served = []
    for operation, body, status, answer in answers:
        if status == 200:
            left = answer.get("UnprocessedItems", {}).get("things", [])
            if operation == "BatchWriteItem":
                kept = [each for each in body["RequestItems"]["things"] if each not in left]
                served.append((0.0, (operation, {**body, "RequestItems": {"things": kept}})))
            else:
                served.append((0.0, (operation, body)))
    other, others, _ = run(served, None)
    assert {status for _operation, _body, status, _answer in others} <= {200}
    assert service.items("things") == other.items("things")
    assert list(capacities(others)) == list(capacities(answers))


@given(PROGRAMS)
@settings(deadline=None)
def test_an_engine_that_has_ample_units_answers_as_one_that_refuses_nothing(program):
    _, ample, _ = run(program, Capacity(units=10**6))
    _, plain, _ = run(program, None)
    assert ample == plain
