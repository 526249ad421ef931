"""``expire=``: which items are deleted, when, and who is said to have done it."""

import pytest

from dynamap_async.simulated import SimulatedDynamoDB

NOW = 1_800_000_000.0
LONGEST = 1000.0
YEAR = 365 * 86_400
TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


class Clock:
    now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(call, clock):
    service = SimulatedDynamoDB(clock, expire=LONGEST)
    call(service, "CreateTable", **TABLE)
    set_attribute(call, service, "ends")
    return service


def set_attribute(call, service, name, *, enabled=True):
    spec = {"Enabled": enabled, "AttributeName": name}
    call(service, "UpdateTimeToLive", TableName="notes", TimeToLiveSpecification=spec)


def put(call, service, name, ends, attribute="ends"):
    value = ends if isinstance(ends, dict) else {"N": str(ends)}
    call(service, "PutItem", TableName="notes", Item={"id": {"S": name}, attribute: value})


def names(call, service):
    return sorted(item["id"]["S"] for item in call(service, "Scan", TableName="notes")["Items"])


def records(call, service):
    [stream] = call(service, "ListStreams")["Streams"]
    [shard] = call(service, "DescribeStream", StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    options = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = call(service, "GetShardIterator", StreamArn=stream["StreamArn"], **options)["ShardIterator"]
    return call(service, "GetRecords", ShardIterator=iterator)["Records"]


def test_an_item_is_deleted_some_time_after_it_has_expired(call, service, clock):
    put(call, service, "a", int(NOW) + 100)
    clock.now += 100
    assert names(call, service) == ["a"]
    clock.now += LONGEST
    assert names(call, service) == []


def test_without_the_mode_nothing_is_deleted(call, clock):
    service = SimulatedDynamoDB(clock)
    call(service, "CreateTable", **TABLE)
    set_attribute(call, service, "ends")
    put(call, service, "a", int(NOW))
    clock.now += YEAR
    assert names(call, service) == ["a"]


def test_items_go_one_after_the_other_and_in_the_same_order_for_one_seed(call):
    def order(seed):
        clock = Clock()
        service = SimulatedDynamoDB(clock, seed=seed, expire=LONGEST)
        call(service, "CreateTable", **TABLE)
        set_attribute(call, service, "ends")
        for number in range(9):
            put(call, service, str(number), int(NOW))
        found = []
        while names(call, service):
            found.append(names(call, service))
            clock.now += LONGEST / 50
        return found

    assert order(1) == order(1) != order(2)
    assert len({tuple(left) for left in order(1)}) > 5


def test_the_stream_says_that_the_service_did_it(call, service, clock):
    put(call, service, "a", int(NOW))
    put(call, service, "b", int(NOW) + YEAR)
    call(service, "DeleteItem", TableName="notes", Key={"id": {"S": "b"}})
    clock.now += LONGEST
    *_others, by_user, by_service = records(call, service)
    assert by_user["eventName"] == by_service["eventName"] == "REMOVE"
    assert "userIdentity" not in by_user
    assert by_service["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert by_service["dynamodb"]["OldImage"] == {"id": {"S": "a"}, "ends": {"N": str(int(NOW))}}
    assert by_service["dynamodb"]["ApproximateCreationDateTime"] == int(NOW + LONGEST)


@pytest.mark.parametrize(
    "ends",
    [
        {"S": str(int(NOW))},
        {"NULL": True},
        {"NS": [str(int(NOW))]},
        int(NOW) * 1000,  # thousandths of a second, by mistake
        int(NOW) - 5 * YEAR,
        -1,
        int(NOW) + YEAR,
        "9" * 38 + "0" * 87,
    ],
)
def test_what_is_no_time_that_has_just_passed_is_ignored(call, service, clock, ends):
    put(call, service, "a", ends)
    put(call, service, "b", int(NOW), attribute="other")
    clock.now += LONGEST
    assert names(call, service) == ["a", "b"]


def test_what_expired_less_than_five_years_ago_is_deleted_but_not_at_once(call, service, clock):
    put(call, service, "a", int(NOW) - 5 * YEAR + 60)
    assert names(call, service) == ["a"]
    clock.now += LONGEST
    assert names(call, service) == []


def test_an_item_that_was_written_again_lives_on(call, service, clock):
    put(call, service, "a", int(NOW) + 10)
    put(call, service, "a", int(NOW) + YEAR)
    put(call, service, "b", int(NOW) + 10)
    change = {"UpdateExpression": "REMOVE ends"}
    call(service, "UpdateItem", TableName="notes", Key={"id": {"S": "b"}}, **change)
    clock.now += 10 + LONGEST
    assert names(call, service) == ["a", "b"]


def test_items_that_were_there_before_time_to_live_was_turned_on_are_deleted_too(call, clock):
    service = SimulatedDynamoDB(clock, expire=LONGEST)
    call(service, "CreateTable", **TABLE)
    put(call, service, "a", int(NOW))
    clock.now += YEAR
    set_attribute(call, service, "ends")
    assert names(call, service) == ["a"]
    clock.now += LONGEST
    assert names(call, service) == []


def test_time_to_live_that_is_off_or_of_another_attribute_deletes_nothing(call, service, clock):
    put(call, service, "a", int(NOW))
    set_attribute(call, service, "ends", enabled=False)
    clock.now += LONGEST
    assert names(call, service) == ["a"]
    set_attribute(call, service, "other")
    clock.now += LONGEST
    assert names(call, service) == ["a"]
    put(call, service, "b", int(NOW), attribute="other")
    clock.now += LONGEST
    assert names(call, service) == ["a"]


def test_indexes_lose_it_too_and_a_snapshot_has_it_again(call, service, clock):
    created = {
        "IndexName": "by-end",
        "KeySchema": [{"AttributeName": "ends", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    definitions = [{"AttributeName": "ends", "AttributeType": "N"}]
    changes = {"AttributeDefinitions": definitions, "GlobalSecondaryIndexUpdates": [{"Create": created}]}
    call(service, "UpdateTable", TableName="notes", **changes)
    put(call, service, "a", int(NOW))
    before = service.snapshot()
    clock.now += LONGEST
    assert call(service, "Scan", TableName="notes", IndexName="by-end")["Count"] == 0
    service.restore(before)
    assert names(call, service) == ["a"]
    clock.now += LONGEST
    assert names(call, service) == []


def test_a_snapshot_has_its_attribute_again(call, service, clock):
    put(call, service, "a", int(NOW))
    put(call, service, "b", int(NOW), attribute="other")
    before = service.snapshot()
    set_attribute(call, service, "ends", enabled=False)
    set_attribute(call, service, "other")
    assert names(call, service) == ["a", "b"]
    service.restore(before)
    assert names(call, service) == ["a", "b"]
    clock.now += LONGEST
    assert names(call, service) == ["b"]


def test_what_was_loaded_or_is_looked_at_from_outside_expires_as_well(call, service, clock):
    service.load("notes", [{"id": {"S": "a"}, "ends": {"N": str(int(NOW))}}])
    assert len(service.items("notes")) == 1
    clock.now += LONGEST
    assert service.items("notes") == []


def test_a_table_of_the_same_name_begins_anew(call, service, clock):
    put(call, service, "a", int(NOW))
    call(service, "DeleteTable", TableName="notes")
    call(service, "CreateTable", **TABLE)
    put(call, service, "a", int(NOW))
    clock.now += LONGEST
    assert names(call, service) == ["a"]
    set_attribute(call, service, "ends")
    names(call, service)
    clock.now += LONGEST
    assert names(call, service) == []
