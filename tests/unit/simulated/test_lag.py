"""``lag=``: which reads see what was stored a while ago, and which see the newest."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async.simulated import SimulatedDynamoDB

LAG = 10.0
TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("p", "s", "c")],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "local",
            "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "c", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "global",
            "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
OLD = {"p": {"S": "p"}, "s": {"S": "1"}, "c": {"S": "x"}, "n": {"N": "1"}}
KEY = {"p": {"S": "p"}, "s": {"S": "1"}}


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(call, clock):
    """Return a service with one item, which all reads see."""
    service = SimulatedDynamoDB(clock, lag=LAG)
    call(service, "CreateTable", **TABLE)
    call(service, "PutItem", TableName="notes", Item=OLD)
    clock.now += LAG
    return service


def key_condition(name):
    return {"KeyConditionExpression": f"{name} = :v", "ExpressionAttributeValues": {":v": OLD[name]}}


def get(call, service, **options):
    answer = call(service, "GetItem", TableName="notes", Key=KEY, **options)
    return [answer["Item"]] if "Item" in answer else []


def batch_get(call, service, **options):
    return call(service, "BatchGetItem", RequestItems={"notes": {"Keys": [KEY], **options}})["Responses"]["notes"]


def query(call, service, **options):
    return call(service, "Query", TableName="notes", **key_condition("p"), **options)["Items"]


def query_backwards(call, service, **options):
    return query(call, service, ScanIndexForward=False, **options)


def scan(call, service, **options):
    return call(service, "Scan", TableName="notes", **options)["Items"]


def query_local_index(call, service, **options):
    return query(call, service, IndexName="local", Select="ALL_ATTRIBUTES", **options)


def statement(call, service, **options):
    return call(service, "ExecuteStatement", Statement="SELECT * FROM notes WHERE p = 'p'", **options)["Items"]


def statement_of_a_key(call, service, **options):
    text = "SELECT * FROM notes WHERE p = 'p' AND s = '1'"
    return call(service, "ExecuteStatement", Statement=text, **options)["Items"]


def batch_of_statements(call, service, **options):
    text = "SELECT * FROM notes WHERE p = 'p' AND s = '1'"
    answer = call(service, "BatchExecuteStatement", Statements=[{"Statement": text, **options}])
    return [each["Item"] for each in answer["Responses"] if "Item" in each]


def query_global_index(call, service):
    return call(service, "Query", TableName="notes", IndexName="global", **key_condition("c"))["Items"]


def scan_global_index(call, service):
    return call(service, "Scan", TableName="notes", IndexName="global")["Items"]


def statement_of_the_index(call, service):
    return call(service, "ExecuteStatement", Statement="SELECT * FROM notes.global WHERE c = 'x'")["Items"]


def transact_get(call, service):
    answer = call(service, "TransactGetItems", TransactItems=[{"Get": {"TableName": "notes", "Key": KEY}}])
    return [each["Item"] for each in answer["Responses"] if "Item" in each]


def statements_together(call, service):
    text = "SELECT * FROM notes WHERE p = 'p' AND s = '1'"
    answer = call(service, "ExecuteTransaction", TransactStatements=[{"Statement": text}])
    return [each["Item"] for each in answer["Responses"] if "Item" in each]


EITHER = [
    get,
    batch_get,
    query,
    query_backwards,
    scan,
    query_local_index,
    statement,
    statement_of_a_key,
    batch_of_statements,
]
ALWAYS_STALE = [query_global_index, scan_global_index, statement_of_the_index]
NEVER_STALE = [transact_get, statements_together]


@pytest.mark.parametrize("read", [*EITHER, *ALWAYS_STALE])
@pytest.mark.parametrize("change", ["put", "update", "delete"])
def test_what_was_just_stored_is_not_seen_and_after_the_lag_it_is(call, service, clock, read, change):
    if change == "put":
        call(service, "PutItem", TableName="notes", Item={**OLD, "n": {"N": "2"}})
    elif change == "update":
        add = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        call(service, "UpdateItem", TableName="notes", Key=KEY, **add)
    else:
        call(service, "DeleteItem", TableName="notes", Key=KEY)
    assert [read(call, service) for _ in range(5)] == [[OLD]] * 5
    clock.now += LAG
    assert read(call, service) == ([] if change == "delete" else [{**OLD, "n": {"N": "2"}}])


@pytest.mark.parametrize("read", [*EITHER, *ALWAYS_STALE])
def test_a_new_item_is_not_seen(call, service, clock, read):
    call(service, "DeleteItem", TableName="notes", Key=KEY)
    clock.now += LAG
    call(service, "PutItem", TableName="notes", Item=OLD)
    assert read(call, service) == []
    clock.now += LAG
    assert read(call, service) == [OLD]


@pytest.mark.parametrize("read", EITHER)
def test_a_consistent_read_sees_the_newest(call, service, read):
    new = {**OLD, "n": {"N": "2"}}
    call(service, "PutItem", TableName="notes", Item=new)
    assert read(call, service, ConsistentRead=True) == [new]


@pytest.mark.parametrize("read", NEVER_STALE)
def test_a_transaction_reads_the_newest(call, service, read):
    new = {**OLD, "n": {"N": "2"}}
    call(service, "PutItem", TableName="notes", Item=new)
    assert read(call, service) == [new]


def test_a_condition_looks_at_the_newest(call, service, refused):
    call(service, "DeleteItem", TableName="notes", Key=KEY)
    condition = {"ConditionExpression": "attribute_exists(p)"}
    code, _text = refused(service, "PutItem", TableName="notes", Item=OLD, **condition)
    assert code == "ConditionalCheckFailedException"


def test_an_item_stands_in_the_index_where_it_stood(call, service, clock):
    moved = {**OLD, "c": {"S": "y"}}
    call(service, "PutItem", TableName="notes", Item=moved)
    assert query_global_index(call, service) == [OLD]
    assert scan_global_index(call, service) == [OLD]
    clock.now += LAG
    assert query_global_index(call, service) == []
    assert scan_global_index(call, service) == [moved]


def test_a_new_index_has_all_items_at_once(call, service):
    created = {
        "IndexName": "later",
        "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    definitions = [{"AttributeName": "c", "AttributeType": "S"}]
    updates = [{"Create": created}]
    call(
        service,
        "UpdateTable",
        TableName="notes",
        AttributeDefinitions=definitions,
        GlobalSecondaryIndexUpdates=updates,
    )
    answer = call(service, "Query", TableName="notes", IndexName="later", **key_condition("c"))
    assert answer["Items"] == [OLD]
    call(service, "DeleteItem", TableName="notes", Key=KEY)
    answer = call(service, "Query", TableName="notes", IndexName="later", **key_condition("c"))
    assert answer["Items"] == [OLD]


def test_a_vector_search_is_as_late_as_a_global_index(call, service, clock):
    vector = {"IndexName": "near", "VectorAttribute": {"AttributeName": "v"}, "Dimensions": 1}
    created = {**vector, "DistanceFunction": "EUCLIDEAN", "Projection": {"ProjectionType": "KEYS_ONLY"}}
    call(service, "UpdateTable", TableName="notes", VectorIndexUpdates=[{"Create": created}])

    def nearest():
        answer = call(service, "SearchVectors", TableName="notes", IndexName="near", SearchVector=[{"N": "0"}], TopK=5)
        return [each["Item"]["s"]["S"] for each in answer["SearchResults"]]

    for name, place in (("1", "3"), ("2", "2")):
        item = {"p": {"S": "p"}, "s": {"S": name}, "v": {"L": [{"N": place}]}}
        call(service, "PutItem", TableName="notes", Item=item)
    assert nearest() == []
    clock.now += LAG
    assert nearest() == ["2", "1"]
    call(service, "PutItem", TableName="notes", Item={**KEY, "v": {"L": [{"N": "1"}]}})
    call(service, "DeleteItem", TableName="notes", Key={"p": {"S": "p"}, "s": {"S": "2"}})
    assert nearest() == ["2", "1"]
    clock.now += LAG
    assert nearest() == ["1"]


def test_a_read_may_see_less_than_the_one_before_it(call, service, clock):
    call(service, "PutItem", TableName="notes", Item={**OLD, "n": {"N": "2"}})
    clock.now += LAG / 2
    seen = [get(call, service)[0]["n"]["N"] for _ in range(40)]
    assert set(seen) == {"1", "2"}
    assert seen != sorted(seen)


def test_one_seed_gives_one_sequence_of_reads(call):
    def seen(seed):
        clock = Clock()
        service = SimulatedDynamoDB(clock, seed=seed, lag=LAG)
        call(service, "CreateTable", **TABLE)
        found = []
        for number in range(30):
            call(service, "PutItem", TableName="notes", Item={**OLD, "n": {"N": str(number)}})
            clock.now += 1
            found.append(get(call, service))
        return found

    assert seen(1) == seen(1) != seen(2)


def test_the_keys_of_a_batch_are_each_read_at_a_moment_of_their_own(call, service, clock):
    items = [{**OLD, "s": {"S": str(number)}} for number in range(20, 40)]
    for item in items:
        call(service, "PutItem", TableName="notes", Item=item)
    clock.now += LAG / 2
    keys = [{"p": item["p"], "s": item["s"]} for item in items]
    answer = call(service, "BatchGetItem", RequestItems={"notes": {"Keys": keys}})
    assert 0 < len(answer["Responses"]["notes"]) < 20


def test_pages_go_on_though_items_come_and_go(call, service, clock):
    for number in range(10):
        call(service, "PutItem", TableName="notes", Item={**OLD, "s": {"S": f"a{number}"}})
    clock.now += LAG
    found, more = [], {}
    while True:
        answer = call(service, "Query", TableName="notes", **key_condition("p"), Limit=2, **more)
        found += [item["s"]["S"] for item in answer["Items"]]
        if "LastEvaluatedKey" not in answer:
            break
        more = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
        call(service, "DeleteItem", TableName="notes", Key={"p": OLD["p"], "s": {"S": f"a{9 - len(found) // 2}"}})
    assert found == ["1", *(f"a{number}" for number in range(10))]


def test_what_a_test_prepares_is_seen_at_once(call, service):
    before = service.snapshot()
    service.load("notes", [{**OLD, "n": {"N": "7"}}])
    assert query_global_index(call, service)[0]["n"] == {"N": "7"}
    call(service, "PutItem", TableName="notes", Item={**OLD, "n": {"N": "8"}})
    service.restore(before)
    assert query_global_index(call, service) == [OLD]


def test_a_table_that_is_made_anew_has_nothing_of_the_old_one(call, service):
    call(service, "DeleteTable", TableName="notes")
    call(service, "CreateTable", **TABLE)
    assert scan(call, service) == query_global_index(call, service) == []


def test_without_a_lag_there_is_none(call, clock):
    service = SimulatedDynamoDB(clock, lag=0.0)
    call(service, "CreateTable", **TABLE)
    call(service, "PutItem", TableName="notes", Item=OLD)
    assert query_global_index(call, service) == scan(call, service) == [OLD]


def test_a_statement_goes_on_where_the_item_is_gone_at_which_it_stopped(call):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **TABLE)
    for number in range(4):
        call(service, "PutItem", TableName="notes", Item={**OLD, "s": {"S": str(number)}})
    for order, wanted in (("", ["2", "3"]), (" ORDER BY s DESC", ["1", "0"])):
        before = service.snapshot()
        text = f"SELECT * FROM notes WHERE p = 'p'{order}"
        first = call(service, "ExecuteStatement", Statement=text, Limit=2)
        call(service, "DeleteItem", TableName="notes", Key={"p": OLD["p"], "s": first["Items"][-1]["s"]})
        second = call(service, "ExecuteStatement", Statement=text, NextToken=first["NextToken"])
        assert [item["s"]["S"] for item in second["Items"]] == wanted
        service.restore(before)


STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", None]), st.sampled_from([0.0, 1.0, 4.0, 11.0])),
    max_size=20,
)


@given(STEPS, st.integers(0, 3))
def test_each_read_sees_what_was_there_at_one_moment_within_the_lag(steps, seed):
    def call(operation, **body):
        status, answer = service.execute(operation, json.dumps(body).encode())
        assert status == 200, answer
        return json.loads(answer)

    clock = Clock()
    service = SimulatedDynamoDB(clock, seed=seed, lag=LAG)
    call("CreateTable", **TABLE)
    clock.now += LAG
    states = [(0.0, {})]
    for sort, city, wait in steps:
        item = {"p": {"S": "p"}, "s": {"S": sort}, "c": {"S": city}} if city else None
        if item:
            call("PutItem", TableName="notes", Item=item)
        else:
            call("DeleteItem", TableName="notes", Key={"p": {"S": "p"}, "s": {"S": sort}})
        now = dict(states[-1][1])
        now[sort] = city
        states.append((clock.now, now))
        clock.now += wait
        ends = [*(begun for begun, _state in states[1:]), float("inf")]
        possible = [
            {key: value for key, value in state.items() if value}
            for (_begun, state), end in zip(states, ends, strict=True)
            if end > clock.now - LAG
        ]
        for forward in (True, False):
            answer = call("Query", TableName="notes", ScanIndexForward=forward, **key_condition("p"))
            keys = [item["s"]["S"] for item in answer["Items"]]
            assert keys == sorted(keys, reverse=not forward)
            assert {item["s"]["S"]: item["c"]["S"] for item in answer["Items"]} in possible
        answer = call("Scan", TableName="notes", IndexName="global")
        assert {item["s"]["S"]: item["c"]["S"] for item in answer["Items"]} in possible
        assert len(answer["Items"]) == answer["Count"]


def test_the_entries_that_were_there_are_counted_and_listed(call, service):
    call(service, "PutItem", TableName="notes", Item=OLD)
    table = service.store.tables["notes"]
    service.settle()
    call(service, "PutItem", TableName="notes", Item={**OLD, "s": {"S": "2"}})
    seen = service.lag.seen(table, LAG)

    assert (len(seen.entries), len(table.entries)) == (1, 2)
    assert [seen.entries[position].item["s"] for position in seen.entries] == [{"S": "1"}]
