"""The engine with ``capacity=`` gives out what tables have, no more, and refuses the rest in DynamoDB's words.

The clock stands still unless a test moves it.
"""

import gc
import json
from itertools import count

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.testing import Capacity

KILOBYTE = "x" * 900
INDEXES = {"ReturnConsumedCapacity": "INDEXES"}
ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/"


class Engine:
    """A simulated service, on a clock that stands still."""

    def __init__(self, capacity):
        self.now = 1000.0
        self.service = SimulatedDynamoDB(lambda: self.now, capacity=capacity)

    def asked(self, operation, **body):
        """Return the status and the answer of a request."""
        status, answer = self.service.execute(operation, json.dumps(body).encode())
        return status, json.loads(answer)

    def done(self, operation, **body):
        status, answer = self.asked(operation, **body)
        assert status == 200, answer
        return answer

    def refused(self, operation, **body):
        status, answer = self.asked(operation, **body)
        assert status == 400, answer
        return answer

    def create(self, name="things", *, sort=False, index=None, local=False, on_demand=False, read=10, write=10, **more):
        """Create a table with the key ``id``, and a global index on ``city`` with a part of the attributes."""
        units = {"ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write}}
        body = {"TableName": name, "KeySchema": [key("id", "HASH")], "AttributeDefinitions": [text("id")], **more}
        body |= {"BillingMode": "PAY_PER_REQUEST"} if on_demand else units
        if sort or local:
            body["KeySchema"].append(key("sort", "RANGE"))
            body["AttributeDefinitions"].append(text("sort"))
        if index is not None:
            projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]}
            own = {"ProvisionedThroughput": {"ReadCapacityUnits": index, "WriteCapacityUnits": index}}
            body["AttributeDefinitions"].append(text("city"))
            body["GlobalSecondaryIndexes"] = [
                {"IndexName": "by_city", "KeySchema": [key("city", "HASH")], "Projection": projection}
                | ({} if on_demand else own)
            ]
        if local:
            body["AttributeDefinitions"].append(text("other"))
            body["LocalSecondaryIndexes"] = [
                {
                    "IndexName": "by_other",
                    "KeySchema": [key("id", "HASH"), key("other", "RANGE")],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ]
        self.done("CreateTable", **body)
        return self

    def spend(self):
        """Drop what tables have saved."""
        self.service.throttle.spend(self.service.store.tables.values())

    def put(self, name, table="things", **more):
        return self.asked("PutItem", TableName=table, Item={"id": {"S": name}, **more}, **INDEXES)

    def batch(self, names):
        requests = [{"PutRequest": {"Item": {"id": {"S": name}, "text": {"S": KILOBYTE}}}} for name in names]
        return self.asked("BatchWriteItem", RequestItems={"things": requests}, **INDEXES)

    def served(self, names, **more):
        """Return how many of these puts are served, and why the first other one is not."""
        for number, name in enumerate(names):
            status, answer = self.put(name, **more)
            if status != 200:
                return number, reason(answer)
        return None


def key(name, kind):
    return {"AttributeName": name, "KeyType": kind}


def text(name):
    return {"AttributeName": name, "AttributeType": "S"}


def names(number):
    return [f"load-{each}" for each in range(number)]


def code(answer):
    return answer["__type"].rpartition("#")[2]


def reason(answer):
    [each] = answer.get("ThrottlingReasons") or answer["throttlingReasons"]
    return each["reason"]


@pytest.fixture
def engine():
    """A table of 10 write units and 10 read units, with a global index of 5."""
    return Engine(Capacity()).create(index=5)


@pytest.fixture
def spent(engine):
    """The same, with nothing saved."""
    engine.spend()
    return engine


def test_300_seconds_of_unused_capacity_can_be_spent_at_once(engine):
    assert engine.served(f"{number}" for number in count()) == (300 * 10, "TableWriteProvisionedThroughputExceeded")


def test_no_more_is_saved_than_the_burst():
    engine = Engine(Capacity(burst_seconds=3)).create()
    engine.put("first")
    engine.now += 1000.0
    assert engine.served(f"{number}" for number in count()) == (3 * 10, "TableWriteProvisionedThroughputExceeded")


def test_a_table_that_has_nothing_saved_gives_its_rate(spent):
    for _ in range(3):
        spent.now += 1.0
        _, answer = spent.batch(names(25))
        assert len(answer["UnprocessedItems"]["things"]) == 15
        assert answer["ConsumedCapacity"] == [
            {"TableName": "things", "CapacityUnits": 10.0, "Table": {"CapacityUnits": 10.0}}
        ]


def test_what_is_left_of_a_batch_is_the_request_for_it(spent):
    spent.now += 0.1
    requests = [{"PutRequest": {"Item": {"id": {"S": name}}}} for name in ("a", "b")]
    answer = spent.done("BatchWriteItem", RequestItems={"things": requests})
    assert answer["UnprocessedItems"] == {"things": requests[1:]}


def test_a_batch_of_which_nothing_was_served_is_an_error_with_its_reasons(spent):
    _, answer = spent.batch(names(2))
    assert answer == {
        "__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
        "message": "The level of configured provisioned throughput for the table was exceeded. "
        "Consider increasing your provisioning level with the UpdateTable API.",
        "ThrottlingReasons": [{"reason": "TableWriteProvisionedThroughputExceeded", "resource": f"{ARN}things"}],
    }


def test_a_batch_that_is_served_in_one_of_two_tables_says_what_that_one_took(spent):
    spent.create("more")
    requests = [{"PutRequest": {"Item": {"id": {"S": "a"}}}}]
    answer = spent.done("BatchWriteItem", RequestItems={"things": requests, "more": requests}, **INDEXES)
    assert answer["UnprocessedItems"] == {"things": requests}
    assert [each["TableName"] for each in answer["ConsumedCapacity"]] == ["more"]


def test_a_batch_get_returns_the_keys_that_it_had_no_units_for(spent):
    spent.now += 0.2  # 2 read units: 4 items
    asked = {"Keys": [{"id": {"S": name}} for name in names(6)], "ProjectionExpression": "id"}
    answer = spent.done("BatchGetItem", RequestItems={"things": asked}, **INDEXES)
    assert answer["UnprocessedKeys"] == {"things": {**asked, "Keys": asked["Keys"][4:]}}
    assert answer["ConsumedCapacity"][0]["CapacityUnits"] == 2.0


def test_a_batch_get_of_which_nothing_was_served_is_an_error(spent):
    answer = spent.refused("BatchGetItem", RequestItems={"things": {"Keys": [{"id": {"S": "a"}}]}})
    assert reason(answer) == "TableReadProvisionedThroughputExceeded"


def test_an_on_demand_table_throttles_with_another_error():
    most = {"MaxReadRequestUnits": 1, "MaxWriteRequestUnits": 1}
    engine = Engine(Capacity(burst_seconds=1)).create(on_demand=True, OnDemandThroughput=most)
    wanted = {"TableName": "things", "Key": {"id": {"S": "a"}}, "ConsistentRead": True}
    engine.done("GetItem", **wanted)
    assert engine.refused("GetItem", **wanted) == {
        "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException",
        "message": "Throughput exceeds the maximum OnDemandThroughput configured on table or index",
        "throttlingReasons": [{"reason": "TableReadMaxOnDemandThroughputExceeded", "resource": f"{ARN}things"}],
    }


def test_an_on_demand_table_without_a_maximum_has_what_its_partitions_have():
    engine = Engine(Capacity()).create(on_demand=True)
    served, why = engine.served(f"{number}" for number in count())
    assert 3_500 < served <= 4_000
    assert why == "TableWriteKeyRangeThroughputExceeded"


def test_an_on_demand_table_bears_double_of_its_peak_half_an_hour_later():
    engine = Engine(Capacity(partition_write_units=5, partitions=2)).create(
        on_demand=True, WarmThroughput={"ReadUnitsPerSecond": 1, "WriteUnitsPerSecond": 1}
    )
    supply = engine.service.throttle.supply(engine.service.store.tables["things"])
    engine.served(f"{number}" for number in count())
    for later in (1, 1790, 20):
        assert supply.partitions == 2
        engine.now += later
        assert engine.put("a")[0] == 200
    assert supply.partitions == 4


def test_one_partition_has_a_limit_of_its_own():
    engine = Engine(Capacity()).create(write=4000)
    served, why = engine.served("the same" for _ in count())
    assert (served, why) == (1000, "TableWriteKeyRangeThroughputExceeded")
    assert engine.put("another one")[0] == 200


def hot(engine, wanted, seconds, **more):
    """Ask for more than a partition has, second by second; return how many puts are served in each."""
    served = []
    for _ in range(seconds):
        engine.now += 1.0
        served.append(sum(engine.put(name, sort={"S": sort}, **more)[0] == 200 for name, sort in wanted))
    return served


def test_a_partition_that_is_hot_for_long_is_split_between_the_keys_that_are_asked_for():
    engine = Engine(Capacity(partitions=1, partition_write_units=10, split_seconds=20)).create(sort=True, write=100)
    wanted = [("hot", f"{number:02}") for number in range(40)]
    served = hot(engine, wanted, 130)
    assert served[:20] == [10] * 20
    assert served[-1] == 40


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ({"sort": True}, [("hot", "same")] * 40),
        ({"local": True}, [("hot", f"{number}") for number in range(40)]),
    ],
    ids=["one item", "one partition key beside a local index"],
)
def test_what_cannot_be_split_stays_hot(how, wanted):
    engine = Engine(Capacity(partitions=1, partition_write_units=10, split_seconds=20)).create(write=10, **how)
    assert hot(engine, wanted, 60) == [10] * 60


def test_a_key_that_is_asked_for_most_leaves_the_others_to_another_partition():
    engine = Engine(Capacity(partitions=1, partition_write_units=10, split_seconds=20)).create(sort=True, write=30)
    served = hot(engine, [*[("hot", "1")] * 30, *[("hot", "2")] * 10], 30)
    assert served[0] == 10
    assert served[-1] == 20


def test_a_partition_that_refuses_now_and_then_is_not_hot():
    engine = Engine(Capacity(partitions=1, partition_write_units=10, split_seconds=20)).create(sort=True, write=10)
    wanted = [("hot", f"{number:02}") for number in range(40)]
    for _ in range(10):
        engine.now += 14.0
        assert hot(engine, wanted, 1) == [10]


def test_a_table_may_never_split():
    capacity = Capacity(partitions=1, partition_write_units=10, split_seconds=None)
    engine = Engine(capacity).create(sort=True, write=10)
    assert set(hot(engine, [("hot", f"{number}") for number in range(40)], 400)) == {10}


def test_an_index_without_units_refuses_the_write_of_the_table(spent):
    spent.now += 1.0
    for name in names(5):
        assert spent.put(name, city={"S": "London"})[0] == 200
    _, answer = spent.put("load-6", city={"S": "London"})
    assert answer["ThrottlingReasons"] == [
        {"reason": "IndexWriteProvisionedThroughputExceeded", "resource": f"{ARN}things/index/by_city"}
    ]
    assert "for one or more global secondary indexes" in answer["message"]
    assert spent.served(f"own-{number}" for number in count()) == (5, "TableWriteProvisionedThroughputExceeded")


def test_a_query_of_an_index_takes_the_units_of_the_index(spent):
    query = {
        "TableName": "things",
        "IndexName": "by_city",
        "KeyConditionExpression": "city = :c",
        "ExpressionAttributeValues": {":c": {"S": "London"}},
    }
    assert reason(spent.refused("Query", **query)) == "IndexReadProvisionedThroughputExceeded"
    spent.now += 1.0
    for _ in range(10):
        spent.done("Query", **query)
    assert reason(spent.refused("Query", **query)) == "IndexReadProvisionedThroughputExceeded"
    spent.done("GetItem", TableName="things", Key={"id": {"S": "a"}})


def test_a_local_index_takes_the_units_of_the_table():
    engine = Engine(Capacity(burst_seconds=1)).create(local=True)
    item = {"sort": {"S": "1"}, "other": {"S": "a"}}
    assert engine.served(names(20), **item) == (5, "TableWriteProvisionedThroughputExceeded")


@pytest.mark.parametrize("operation", ["Query", "Scan"])
def test_a_page_is_read_while_there_is_anything_and_leaves_a_debt(engine, operation):
    body = {"TableName": "things", "ConsistentRead": True}
    if operation == "Query":
        body |= {"KeyConditionExpression": "id = :i", "ExpressionAttributeValues": {":i": {"S": "large"}}}
    engine.put("large", text={"S": "x" * 100_000})
    engine.spend()
    engine.now += 0.1
    engine.done(operation, **body)  # 25 units, of 1
    engine.now += 2.4
    assert reason(engine.refused(operation, **body)) == "TableReadProvisionedThroughputExceeded"
    engine.now += 0.1
    engine.done(operation, **body)


def test_a_failed_condition_takes_units_too_of_the_larger_item_and_not_of_the_indexes(engine):
    engine.put("load-1", text={"S": "x" * 8000})
    engine.spend()
    engine.now += 0.85
    item = {"id": {"S": "load-1"}, "city": {"S": "London"}}
    condition = {"ConditionExpression": "attribute_not_exists(id)"}
    answer = engine.refused("PutItem", TableName="things", Item=item, **condition)
    assert code(answer) == "ConditionalCheckFailedException"
    refusals = engine.service.throttle.refusals
    assert reason(engine.put("load-2", city={"S": "London"})[1]) == "TableWriteProvisionedThroughputExceeded"
    assert [each.index for each in refusals] == [None]


def test_a_condition_that_fails_is_told_where_the_update_would_not_have_fitted(engine):
    update = {"UpdateExpression": "SET a.b = :v", "ExpressionAttributeValues": {":v": {"S": "x"}}}
    condition = {"ConditionExpression": "attribute_exists(id)"}
    answer = engine.refused("UpdateItem", TableName="things", Key={"id": {"S": "a"}}, **update, **condition)
    assert code(answer) == "ConditionalCheckFailedException"


def test_an_item_larger_than_a_second_of_the_table_leaves_a_debt(spent):
    spent.now += 1.0
    assert spent.put("load-1", text={"S": "x" * 50_000})[0] == 200
    spent.now += 3.0
    assert spent.put("load-2")[0] == 400
    spent.now += 2.0
    assert spent.put("load-2")[0] == 200


def puts(number, **more):
    return [{"Put": {"TableName": "things", "Item": {"id": {"S": name}, **more}}} for name in names(number)]


def test_a_transaction_takes_double_of_the_table_and_all_or_nothing(spent):
    spent.now += 1.0
    answer = spent.refused("TransactWriteItems", TransactItems=puts(6))
    assert code(answer) == "TransactionCanceledException"
    reasons = answer["CancellationReasons"]
    assert [each["Code"] for each in reasons] == ["None"] * 5 + ["ProvisionedThroughputExceeded"]
    assert reasons[-1]["Message"].startswith(
        "The level of configured provisioned throughput for the table was exceeded."
    )
    answer = spent.done("TransactWriteItems", TransactItems=puts(5), ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"] == [{"TableName": "things", "CapacityUnits": 10.0, "WriteCapacityUnits": 10.0}]


def test_an_index_without_units_cancels_a_transaction(spent):
    spent.now += 1.0
    for name in names(5):
        spent.put(name, city={"S": "London"})
    answer = spent.refused("TransactWriteItems", TransactItems=puts(1, city={"S": "Rome"}))
    assert "global secondary indexes" in answer["CancellationReasons"][0]["Message"]
    assert spent.put("own")[0] == 200


def test_a_transaction_whose_condition_fails_takes_what_it_takes_of_the_table(engine):
    engine.put("load-0")
    engine.spend()
    engine.now += 1.0
    actions = puts(5, city={"S": "London"})
    actions[0]["Put"]["ConditionExpression"] = "attribute_not_exists(id)"
    answer = engine.refused("TransactWriteItems", TransactItems=actions)
    assert [each["Code"] for each in answer["CancellationReasons"]] == ["ConditionalCheckFailed"] + ["None"] * 4
    assert reason(engine.put("load-1")[1]) == "TableWriteProvisionedThroughputExceeded"


def test_a_transaction_whose_condition_fails_takes_nothing_of_the_indexes():
    engine = Engine(Capacity(burst_seconds=1)).create(write=100, index=1)
    actions = puts(4, city={"S": "London"})
    actions[0]["Put"]["ConditionExpression"] = "attribute_exists(id)"
    answer = engine.refused("TransactWriteItems", TransactItems=actions)
    assert answer["CancellationReasons"][0]["Code"] == "ConditionalCheckFailed"
    assert engine.put("own", city={"S": "London"})[0] == 200


def test_a_transaction_on_an_on_demand_table_says_throttling_error():
    engine = Engine(Capacity(units=1, burst_seconds=1)).create(on_demand=True)
    answer = engine.refused("TransactWriteItems", TransactItems=puts(2))
    assert [each["Code"] for each in answer["CancellationReasons"]] == ["None", "ThrottlingError"]


def test_a_transaction_of_reads_takes_two_units_for_an_item_and_all_or_nothing(spent):
    spent.now += 1.0
    gets = [{"Get": {"TableName": "things", "Key": {"id": {"S": name}}}} for name in names(6)]
    answer = spent.refused("TransactGetItems", TransactItems=gets)
    assert [each["Code"] for each in answer["CancellationReasons"]][-2:] == ["None", "ProvisionedThroughputExceeded"]
    spent.done("TransactGetItems", TransactItems=gets[:5])


def test_a_transaction_that_was_done_before_under_its_token_takes_read_units(spent):
    spent.now += 1.0
    body = {"TransactItems": puts(5), "ClientRequestToken": "token"}
    for _ in range(2):
        spent.done("TransactWriteItems", **body)
    assert code(spent.refused("TransactWriteItems", **body)) == "TransactionCanceledException"


def test_statements_are_refused_as_the_operations_that_they_stand_for(spent):
    select = {"Statement": "SELECT * FROM things WHERE id = 'a'"}
    insert = {"Statement": "INSERT INTO things VALUE {'id': 'a'}"}
    assert reason(spent.refused("ExecuteStatement", **select)) == "TableReadProvisionedThroughputExceeded"
    assert reason(spent.refused("ExecuteStatement", **insert)) == "TableWriteProvisionedThroughputExceeded"
    answer = spent.done("BatchExecuteStatement", Statements=[select, insert])
    assert [set(each["Error"]) for each in answer["Responses"]] == [{"Code", "Message"}] * 2
    assert {each["Error"]["Code"] for each in answer["Responses"]} == {"ProvisionedThroughputExceeded"}
    for statements in ([select], [insert]):
        answer = spent.refused("ExecuteTransaction", TransactStatements=statements)
        assert [each["Code"] for each in answer["CancellationReasons"]] == ["ProvisionedThroughputExceeded"]


@pytest.mark.parametrize(
    ("statement", "units"),
    [
        ("DELETE FROM things WHERE id = 'b'", 1),
        ("DELETE FROM things WHERE id = 'a' AND note = 'none'", 3),
        ("INSERT INTO things VALUE {'id': 'a'}", 3),
    ],
    ids=["nothing there", "condition", "there already"],
)
def test_a_statement_in_vain_takes_units_too(engine, statement, units):
    engine.put("a", text={"S": "x" * 2500})
    engine.spend()
    engine.now += (units + 0.5) / 10
    engine.asked("ExecuteStatement", Statement=statement)
    assert engine.put("c")[0] == 400


def test_a_statement_that_reads_a_page_leaves_a_debt(engine):
    engine.put("large", text={"S": "x" * 100_000})
    engine.spend()
    engine.now += 0.1
    body = {"Statement": "SELECT * FROM things", "ConsistentRead": True}
    engine.done("ExecuteStatement", **body)  # 25 units, of 1
    engine.now += 2.3
    assert reason(engine.refused("ExecuteStatement", **body)) == "TableReadProvisionedThroughputExceeded"


def test_a_changed_limit_holds_at_once(spent):
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 20}
    spent.done("UpdateTable", TableName="things", ProvisionedThroughput=units)
    spent.now += 1.0
    assert len(spent.batch(names(25))[1]["UnprocessedItems"]["things"]) == 5
    update = {"Update": {"IndexName": "by_city", "ProvisionedThroughput": units}}
    spent.done("UpdateTable", TableName="things", GlobalSecondaryIndexUpdates=[update])
    spent.now += 1.0
    assert spent.served(names(21), city={"S": "London"}) == (20, "TableWriteProvisionedThroughputExceeded")


def test_a_lower_limit_keeps_what_is_saved_as_far_as_it_allows(engine):
    engine.put("first")
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 1}
    engine.done("UpdateTable", TableName="things", ProvisionedThroughput=units)
    assert engine.served(names(400)) == (300, "TableWriteProvisionedThroughputExceeded")


def test_a_table_that_becomes_on_demand_is_not_held_to_its_units_any_more(spent):
    spent.done("UpdateTable", TableName="things", BillingMode="PAY_PER_REQUEST")
    assert spent.served(names(100), city={"S": "London"}) is None


def test_a_snapshot_that_is_restored_brings_the_limits_back(spent):
    before = spent.service.snapshot()
    units = {"ReadCapacityUnits": 10, "WriteCapacityUnits": 100}
    spent.done("UpdateTable", TableName="things", ProvisionedThroughput=units)
    spent.service.restore(before)
    assert spent.put("a")[0] == 400  # and is told so: nothing of the former rate is left
    spent.now += 1.0
    assert spent.served(names(20)) == (10, "TableWriteProvisionedThroughputExceeded")


def test_a_table_of_the_same_name_has_its_own_units(spent):
    spent.done("DeleteTable", TableName="things")
    spent.create()
    assert spent.served(names(100)) is None


def test_a_clock_that_goes_back_brings_no_units(spent):
    spent.now -= 100.0
    assert spent.put("a")[0] == 400
    spent.now += 1.0
    assert spent.served(names(20)) == (10, "TableWriteProvisionedThroughputExceeded")


def test_units_for_all_tables_stand_in_for_their_own(engine):
    engine = Engine(Capacity(units=3, burst_seconds=1)).create(index=5)
    assert engine.served(names(5)) == (3, "TableWriteProvisionedThroughputExceeded")
    engine.now += 1.0
    index = [engine.put(name, city={"S": "London"})[0] for name in names(5)]
    assert index == [200] * 3 + [400] * 2


def test_refusals_are_kept_with_the_place_that_had_too_few_units(spent):
    spent.put("a", city={"S": "London"}, text={"S": "x" * 1500})
    refusals = [(each.at, each.table, each.index, each.reason, each.units) for each in spent.service.throttle.refusals]
    assert refusals == [
        (0.0, "things", None, "TableWriteProvisionedThroughputExceeded", 2.0),
        (0.0, "things", "by_city", "IndexWriteProvisionedThroughputExceeded", 1.0),
    ]


def test_refusals_leave_no_cycles_behind(spent):
    """A process that turns the garbage collector off, such as that of the benchmarks, does not grow by them."""
    gets = [{"Get": {"TableName": "things", "Key": {"id": {"S": "a"}}}}]
    keys = {"things": {"Keys": [{"id": {"S": "a"}}]}}
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            spent.put("a", city={"S": "London"})
            spent.batch(names(3))
            spent.refused("BatchGetItem", RequestItems=keys)
            spent.refused("TransactWriteItems", TransactItems=puts(2))
            spent.refused("TransactGetItems", TransactItems=gets)
            spent.refused("Scan", TableName="things")
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_what_is_refused_is_not_done(spent):
    assert spent.put("a")[0] == 400
    spent.now += 1.0
    assert spent.done("Scan", TableName="things")["Count"] == 0


def test_what_validation_refuses_takes_nothing(spent):
    spent.now += 0.1
    assert code(spent.refused("PutItem", TableName="things", Item={"other": {"S": "a"}})) == "ValidationException"
    wrong = {"UpdateExpression": "SET a.b = :v", "ExpressionAttributeValues": {":v": {"S": "x"}}}
    answer = spent.refused("UpdateItem", TableName="things", Key={"id": {"S": "a"}}, **wrong)
    assert code(answer) == "ValidationException"
    assert spent.put("a")[0] == 200
