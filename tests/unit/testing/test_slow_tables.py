"""An engine that takes its time: each state and each refusal, on a clock that jumps."""

import asyncio
from datetime import UTC, datetime

import pytest

from dynamap_async.errors import (
    LimitExceededError,
    ProvisionedThroughputExceededError,
    RequestRejectedError,
    ResourceInUseError,
    ResourceNotFoundError,
)
from dynamap_async.testing import Durations, FrozenClock, LocalEngine

pytestmark = pytest.mark.virtual_clock

STEADY = Durations(
    create_table=10.0,
    update_table=10.0,
    delete_table=10.0,
    allocate_index=60.0,
    backfill=300.0,
    delete_index=30.0,
    time_to_live=600.0,
    replica=500.0,
    lag=0.0,
)
HOUR, DAY = 3600.0, 86_400.0
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LOW, HIGH = ({"ReadCapacityUnits": units, "WriteCapacityUnits": units} for units in (5, 50))


@pytest.fixture
def clock():
    return FrozenClock(NOON)


@pytest.fixture
def slow(clock):
    with LocalEngine(durations=STEADY, clock=clock) as engine:
        yield engine


@pytest.fixture
def ask(slow, asking):
    """Ask the engine for an operation about a table; return the answer."""
    return asking(slow)


def definitions(*names):
    return [{"AttributeName": name, "AttributeType": "S"} for name in names]


def index_on(name, **more):
    keys = [{"AttributeName": name, "KeyType": "HASH"}]
    return {"IndexName": f"by-{name}", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}, **more}


def table_on(*indexes, **more):
    names = [each["KeySchema"][0]["AttributeName"] for each in indexes]
    body = {"AttributeDefinitions": definitions("id", *names), "BillingMode": "PAY_PER_REQUEST", **more}
    if indexes:
        body["GlobalSecondaryIndexes"] = list(indexes)
    return {"KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], **body}


IN_LONDON = {
    "IndexName": "by-city",
    "KeyConditionExpression": "city = :c",
    "ExpressionAttributeValues": {":c": {"S": "London"}},
}
PROVISIONED = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": HIGH}


async def made(ask, *indexes, **more):
    """Create the table, and wait until it can be used."""
    await ask("CreateTable", **table_on(*indexes, **more))
    await asyncio.sleep(10)


def building(name, *defined, **more):
    return {
        "AttributeDefinitions": definitions("id", *defined, name),
        "GlobalSecondaryIndexUpdates": [{"Create": index_on(name, **more)}],
    }


def dropping(name):
    return {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": f"by-{name}"}}]}


def raising(kind, words):
    return pytest.raises(kind, match=words)


async def status(ask, index=None):
    table = (await ask("DescribeTable"))["Table"]
    if index is None:
        return table["TableStatus"]
    [found] = [each for each in table["GlobalSecondaryIndexes"] if each["IndexName"] == index]
    return found["IndexStatus"], found.get("Backfilling")


async def test_a_new_table_is_creating_with_its_indexes_and_then_active(ask):
    await ask("CreateTable", **table_on(index_on("city")))
    assert (await status(ask), await status(ask, "by-city")) == ("CREATING", ("CREATING", None))
    await asyncio.sleep(10)
    assert (await status(ask), await status(ask, "by-city")) == ("ACTIVE", ("ACTIVE", None))


async def test_descriptions_are_late(asking):
    with LocalEngine(durations=Durations(lag=1.0, create_table=0.5, update_table=0.0)) as slow:
        ask = asking(slow)
        await ask("CreateTable", **table_on())
        with pytest.raises(ResourceNotFoundError):
            await ask("DescribeTable")
        await asyncio.sleep(1)
        await ask("UpdateTable", DeletionProtectionEnabled=True)
        assert (await ask("DescribeTable"))["Table"]["DeletionProtectionEnabled"] is False
        await asyncio.sleep(1)
        assert (await ask("DescribeTable"))["Table"]["DeletionProtectionEnabled"] is True


async def test_of_two_changes_shortly_after_each_other_neither_shows_at_once(asking):
    with LocalEngine(durations=Durations(lag=2.0, create_table=0.0, update_table=0.0)) as slow:
        ask = asking(slow)
        await ask("CreateTable", **table_on())
        await asyncio.sleep(2)
        await ask("UpdateTable", DeletionProtectionEnabled=True)
        await asyncio.sleep(1)
        await ask("UpdateTable", TableClass="STANDARD_INFREQUENT_ACCESS")
        assert (await ask("DescribeTable"))["Table"]["DeletionProtectionEnabled"] is False
        await asyncio.sleep(2)
        assert (await ask("DescribeTable"))["Table"]["DeletionProtectionEnabled"] is True


async def test_a_table_that_is_made_again_after_a_reset_has_nothing_of_the_other_one(asking):
    with LocalEngine(durations=Durations(lag=3.0, create_table=10.0, update_table=10.0)) as slow:
        ask = asking(slow)
        await made(ask)
        await ask("UpdateTable", DeletionProtectionEnabled=True)
        await asyncio.sleep(1)
        slow.reset()
        await ask("CreateTable", **table_on())
        with pytest.raises(ResourceNotFoundError):
            await ask("DescribeTable")
        await asyncio.sleep(9.5)  # the other one's change would be done
        assert await status(ask) == "CREATING"
        assert [entry.after for entry in slow.log] == ["CREATING", "ACTIVE", "UPDATING", "CREATING"]


async def test_an_index_is_allocated_while_its_table_is_updating_and_then_filled_while_it_is_active(ask, slow):
    await made(ask)
    await ask("UpdateTable", **building("city"))
    assert (await status(ask), await status(ask, "by-city")) == ("UPDATING", ("CREATING", False))
    await asyncio.sleep(60)
    assert (await status(ask), await status(ask, "by-city")) == ("ACTIVE", ("CREATING", True))
    await asyncio.sleep(300)
    assert (await status(ask), await status(ask, "by-city")) == ("ACTIVE", ("ACTIVE", None))
    assert [(entry.at, entry.index, entry.after) for entry in slow.log] == [
        (0.0, None, "CREATING"),
        (10.0, None, "ACTIVE"),
        (10.0, "by-city", "CREATING"),
        (10.0, None, "UPDATING"),
        (70.0, "by-city", "BACKFILLING"),
        (70.0, None, "ACTIVE"),
        (370.0, "by-city", "ACTIVE"),
    ]


async def test_a_deleted_index_takes_its_definitions_with_it(ask):
    await made(ask, index_on("city"))
    await ask("UpdateTable", **dropping("city"))
    assert (await status(ask), await status(ask, "by-city")) == ("UPDATING", ("DELETING", None))
    await asyncio.sleep(30)
    table = (await ask("DescribeTable"))["Table"]
    assert "GlobalSecondaryIndexes" not in table
    assert table["AttributeDefinitions"] == definitions("id")


async def test_an_index_that_is_filled_can_be_deleted(ask, slow):
    await made(ask)
    await ask("UpdateTable", **building("city"))
    await asyncio.sleep(60)
    await ask("UpdateTable", **dropping("city"))
    await asyncio.sleep(1000)
    await ask("DescribeTable")
    assert [entry.after for entry in slow.log if entry.index] == ["CREATING", "BACKFILLING", "DELETING", None]


async def test_a_table_that_is_deleted_is_there_for_a_while(ask):
    await made(ask)
    await ask("DeleteTable")
    assert await status(ask) == "DELETING"
    with raising(ResourceInUseError, "already exists"):
        await ask("CreateTable", **table_on())


async def test_a_change_shows_when_it_is_done(ask):
    await made(ask, **PROVISIONED)
    await ask("UpdateTable", ProvisionedThroughput=LOW)
    assert (await ask("DescribeTable"))["Table"]["ProvisionedThroughput"]["ReadCapacityUnits"] == 50
    await asyncio.sleep(10)
    shown = (await ask("DescribeTable"))["Table"]["ProvisionedThroughput"]
    assert (shown["ReadCapacityUnits"], shown["NumberOfDecreasesToday"]) == (5, 1)


@pytest.mark.parametrize("wait", [10, 70])
async def test_a_second_index_is_refused_while_one_is_built(ask, wait):
    await made(ask)
    await ask("UpdateTable", **building("city"))
    await asyncio.sleep(wait)
    with raising(LimitExceededError, "Only 1 online index can be created or deleted simultaneously"):
        await ask("UpdateTable", **building("text", "city"))


async def test_two_indexes_in_one_call_are_refused(ask):
    await made(ask)
    updates = [{"Create": index_on(name)} for name in ("city", "text")]
    with raising(LimitExceededError, "Only 1 online index"):
        await ask(
            "UpdateTable", AttributeDefinitions=definitions("id", "city", "text"), GlobalSecondaryIndexUpdates=updates
        )


async def test_any_change_is_refused_while_the_table_is_updating(ask):
    await made(ask)
    await ask("UpdateTable", DeletionProtectionEnabled=True)
    for operation, body in [
        ("UpdateTable", {"TableClass": "STANDARD_INFREQUENT_ACCESS"}),
        ("UpdateTable", building("city")),
        ("UpdateTimeToLive", {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "at"}}),
        ("DeleteTable", {}),
    ]:
        with raising(ResourceInUseError, "Table is being updated"):
            await ask(operation, **body)


async def test_a_table_that_is_created_cannot_be_changed(ask):
    await ask("CreateTable", **table_on())
    with raising(ResourceInUseError, "Table is being created"):
        await ask("UpdateTable", DeletionProtectionEnabled=True)


async def test_two_kinds_of_change_in_one_call_are_refused(ask):
    await made(ask)
    with raising(RequestRejectedError, "Only one kind of change"):
        await ask("UpdateTable", DeletionProtectionEnabled=True, **building("city"))


async def test_a_call_that_changes_nothing_is_refused(ask):
    await made(ask, **PROVISIONED)
    with raising(RequestRejectedError, "At least one of"):
        await ask("UpdateTable")
    with raising(RequestRejectedError, "will not change"):
        await ask("UpdateTable", ProvisionedThroughput=HIGH)


@pytest.mark.parametrize(
    ("defined", "words"), [(("id", "city", "text"), "Some AttributeDefinitions are not used"), (("id",), "not defined")]
)
async def test_definitions_that_are_unused_or_missing_are_refused(ask, defined, words):
    with raising(RequestRejectedError, words):
        await ask("CreateTable", **table_on(index_on("city"), AttributeDefinitions=definitions(*defined)))
    await made(ask)
    with raising(RequestRejectedError, words):
        await ask("UpdateTable", **{**building("city"), "AttributeDefinitions": definitions(*defined)})


async def test_a_new_index_needs_units_of_its_own_on_a_provisioned_table_and_has_none_on_demand(ask):
    await made(ask)
    with raising(
        RequestRejectedError, "should not be specified for index: by-city when BillingMode is PAY_PER_REQUEST"
    ):
        await ask("UpdateTable", **building("city", ProvisionedThroughput=LOW))
    await ask("DeleteTable")
    await asyncio.sleep(10)
    await made(ask, **PROVISIONED)
    with raising(RequestRejectedError, "ProvisionedThroughput must be specified for index: by-city"):
        await ask("UpdateTable", **building("city"))


async def test_a_throughput_goes_down_four_times_a_day_and_then_once_an_hour(ask):
    await made(ask, **PROVISIONED)
    for units in (49, 48, 47, 46):
        await ask("UpdateTable", ProvisionedThroughput=dict.fromkeys(HIGH, units))
        await asyncio.sleep(10)
    with raising(LimitExceededError, "Number of decreases today: 4"):
        await ask("UpdateTable", ProvisionedThroughput=LOW)
    await asyncio.sleep(HOUR)
    await ask("UpdateTable", ProvisionedThroughput=LOW)


async def test_the_quota_of_decreases_begins_anew_with_the_utc_day(ask, slow):
    await made(ask, **PROVISIONED)
    await asyncio.sleep(11.9 * HOUR)
    for units in (49, 48, 47, 46):
        await ask("UpdateTable", ProvisionedThroughput=dict.fromkeys(HIGH, units))
        await asyncio.sleep(10)
    await asyncio.sleep(0.1 * HOUR)
    await ask("UpdateTable", ProvisionedThroughput=LOW)


async def test_the_billing_mode_changes_once_a_day(ask):
    await made(ask, **PROVISIONED)
    await ask("UpdateTable", BillingMode="PAY_PER_REQUEST")
    await asyncio.sleep(10)
    with raising(LimitExceededError, "once in 1 day"):
        await ask("UpdateTable", **PROVISIONED)
    await asyncio.sleep(DAY)
    await ask("UpdateTable", **PROVISIONED)


async def test_a_switch_to_provisioned_needs_units_for_each_index(ask):
    await made(ask, index_on("city"))
    with raising(RequestRejectedError, "ProvisionedThroughput must be specified for index: by-city"):
        await ask("UpdateTable", **PROVISIONED)
    update = {"IndexName": "by-city", "ProvisionedThroughput": LOW}
    await ask("UpdateTable", **PROVISIONED, GlobalSecondaryIndexUpdates=[{"Update": update}])


async def test_time_to_live_changes_once_an_hour_and_for_one_attribute(ask):
    await made(ask)
    on = {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "at"}}
    off = {"TimeToLiveSpecification": {"Enabled": False, "AttributeName": "at"}}
    with raising(RequestRejectedError, "already disabled"):
        await ask("UpdateTimeToLive", **off)
    await ask("UpdateTimeToLive", **on)
    assert (await ask("DescribeTimeToLive"))["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLING"
    with raising(RequestRejectedError, "multiple times within a fixed interval"):
        await ask("UpdateTimeToLive", **off)
    await asyncio.sleep(HOUR)
    assert (await ask("DescribeTimeToLive"))["TimeToLiveDescription"]["TimeToLiveStatus"] == "ENABLED"
    other = {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"}}
    with raising(RequestRejectedError, "current AttributeName is at"):
        await ask("UpdateTimeToLive", **other)
    await ask("UpdateTimeToLive", **off)


MAXIMUM = {"OnDemandThroughput": {"MaxWriteRequestUnits": 5}}


async def test_a_provisioned_table_has_no_maximum(ask):
    words = "OnDemandThroughput can only be specified when BillingMode is PAY_PER_REQUEST"
    with raising(RequestRejectedError, words):
        await ask("CreateTable", **table_on(**PROVISIONED, **MAXIMUM))
    await made(ask, index_on("city", ProvisionedThroughput=HIGH), **PROVISIONED)
    with raising(RequestRejectedError, words):
        await ask("UpdateTable", **MAXIMUM)
    with raising(RequestRejectedError, words):
        await ask("UpdateTable", GlobalSecondaryIndexUpdates=[{"Update": {"IndexName": "by-city", **MAXIMUM}}])
    with raising(RequestRejectedError, words):
        await ask("UpdateTable", **building("user", "city", ProvisionedThroughput=HIGH, **MAXIMUM))
    await ask("UpdateTable", BillingMode="PAY_PER_REQUEST", **MAXIMUM)


def replica(action, region="us-east-1", **more):
    return {"ReplicaUpdates": [{action: {"RegionName": region}}], **more}


async def replicas(ask):
    return (await ask("DescribeTable"))["Table"].get("Replicas")


async def test_a_replica_is_made_and_deleted_while_nothing_else_can_be_changed(ask, slow):
    await made(ask)
    await ask("UpdateTable", **replica("Create"))
    await asyncio.sleep(10)
    assert await status(ask) == "ACTIVE"
    assert await replicas(ask) == [{"RegionName": "us-east-1", "ReplicaStatus": "CREATING"}]
    for body in (replica("Create", "us-west-2"), {"DeletionProtectionEnabled": True}, building("city")):
        with raising(ResourceInUseError, "A replica is being changed"):
            await ask("UpdateTable", **body)
    with raising(ResourceInUseError, "A replica is being changed"):
        await ask("DeleteTable")
    await asyncio.sleep(500)
    described = (await ask("DescribeTable"))["Table"]
    assert described["Replicas"] == [{"RegionName": "us-east-1", "ReplicaStatus": "ACTIVE"}]
    assert described["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    await ask("UpdateTable", **replica("Delete"))
    await asyncio.sleep(500)
    assert await replicas(ask) is None
    told = [(entry.at, entry.before, entry.after) for entry in slow.log if entry.region == "us-east-1"]
    assert told == [
        (10.0, None, "CREATING"),
        (510.0, "CREATING", "ACTIVE"),
        (520.0, "ACTIVE", "DELETING"),
        (1020.0, "DELETING", None),
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (replica("Create"), "exists already"),
        (replica("Delete", "us-west-2"), "was not found"),
        (replica("Create", "eu-west-1"), "Create of a replica in eu-west-1"),
        (replica("Update"), "Update of a replica"),
        (
            {"ReplicaUpdates": [*replica("Create", "a")["ReplicaUpdates"], *replica("Create", "b")["ReplicaUpdates"]]},
            "One",
        ),
        (replica("Create", "us-west-2", MultiRegionConsistency="STRONG"), "with eventual consistency"),
        ({"StreamSpecification": {"StreamEnabled": False}}, "cannot be changed while it has replicas"),
    ],
)
async def test_a_change_that_replicas_do_not_allow_is_refused(ask, body, words):
    await made(ask)
    await ask("UpdateTable", **replica("Create"))
    await asyncio.sleep(500)
    with raising(RequestRejectedError, words):
        await ask("UpdateTable", **body)


async def test_replicas_need_a_stream_of_both_views(ask):
    await made(ask, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    with raising(RequestRejectedError, "needs a stream of NEW_AND_OLD_IMAGES"):
        await ask("UpdateTable", **replica("Create"))


async def test_warm_throughput_only_rises(ask):
    await made(ask)
    with raising(RequestRejectedError, "decreasing WarmThroughput is not supported"):
        await ask("UpdateTable", WarmThroughput={"ReadUnitsPerSecond": 11_999, "WriteUnitsPerSecond": 4_000})
    await ask("UpdateTable", WarmThroughput={"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 4_000})


async def test_a_protected_table_is_not_deleted(ask):
    await made(ask, DeletionProtectionEnabled=True)
    with raising(RequestRejectedError, "currently protected against deletion"):
        await ask("DeleteTable")


async def test_the_class_changes_twice_in_thirty_days(ask):
    await made(ask)
    with raising(RequestRejectedError, "already in the class STANDARD"):
        await ask("UpdateTable", TableClass="STANDARD")
    for name in ("STANDARD_INFREQUENT_ACCESS", "STANDARD"):
        await ask("UpdateTable", TableClass=name)
        await asyncio.sleep(10)
    with raising(LimitExceededError, "2 times in 30 days"):
        await ask("UpdateTable", TableClass="STANDARD_INFREQUENT_ACCESS")


async def test_a_stream_is_turned_off_before_it_is_turned_on_otherwise(ask):
    await made(ask, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    first = (await ask("DescribeTable"))["Table"]["LatestStreamArn"]
    with raising(RequestRejectedError, "already has an enabled stream"):
        await ask("UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    await ask("UpdateTable", StreamSpecification={"StreamEnabled": False})
    await asyncio.sleep(10)
    with raising(RequestRejectedError, "has no stream"):
        await ask("UpdateTable", StreamSpecification={"StreamEnabled": False})
    await ask("UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"})
    await asyncio.sleep(10)
    assert (await ask("DescribeTable"))["Table"]["LatestStreamArn"] != first


async def test_an_index_cannot_be_deleted_while_it_is_allocated(ask):
    await made(ask)
    await ask("UpdateTable", **building("city"))
    with raising(ResourceInUseError, "Index is being changed"):
        await ask("UpdateTable", **dropping("city"))


async def test_the_units_of_an_index_cannot_be_changed_while_it_is_filled(ask):
    await made(ask, **PROVISIONED)
    await ask("UpdateTable", **building("city", ProvisionedThroughput=HIGH))
    await asyncio.sleep(60)
    update = {"IndexName": "by-city", "ProvisionedThroughput": LOW}
    with raising(ResourceInUseError, "Index is being changed: by-city"):
        await ask("UpdateTable", GlobalSecondaryIndexUpdates=[{"Update": update}])


async def test_an_index_that_is_not_there_cannot_be_changed_or_deleted(ask):
    await made(ask, **PROVISIONED)
    update = {"IndexName": "by-city", "ProvisionedThroughput": LOW}
    for body in (dropping("city"), {"GlobalSecondaryIndexUpdates": [{"Update": update}]}):
        with raising(ResourceNotFoundError, "Index by-city not found"):
            await ask("UpdateTable", **body)


async def test_a_second_index_of_the_same_name_or_with_another_type_is_refused(ask):
    await made(ask, index_on("city"))
    with raising(RequestRejectedError, "already exists: by-city"):
        await ask("UpdateTable", **building("city"))
    types = [{"AttributeName": "city", "AttributeType": "N"}]
    create = index_on("city", IndexName="by-number")
    with raising(RequestRejectedError, "defined with another type"):
        await ask("UpdateTable", AttributeDefinitions=types, GlobalSecondaryIndexUpdates=[{"Create": create}])


async def test_what_belongs_to_a_table_cannot_be_changed_while_it_is_created(ask, slow):
    await ask("CreateTable", **table_on())
    arn = (await ask("DescribeTable"))["Table"]["TableArn"]
    stream = "arn:aws:kinesis:eu-west-1:000000000000:stream/changes"
    for operation, body in [
        ("TagResource", {"ResourceArn": arn, "Tags": [{"Key": "team", "Value": "shop"}]}),
        ("UntagResource", {"ResourceArn": arn, "TagKeys": ["team"]}),
        ("PutResourcePolicy", {"ResourceArn": arn, "Policy": "{}"}),
        ("DeleteResourcePolicy", {"ResourceArn": arn}),
        ("UpdateContinuousBackups", {"PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True}}),
        ("CreateBackup", {"BackupName": "first"}),
        ("EnableKinesisStreamingDestination", {"StreamArn": stream}),
        ("UpdateContributorInsights", {"ContributorInsightsAction": "ENABLE"}),
        ("DeleteTable", {}),
    ]:
        with raising(ResourceInUseError, "Table is being created: tweets"):
            await ask(operation, **body)
    assert [entry.after for entry in slow.log] == ["CREATING"]


async def test_a_table_cannot_be_deleted_while_an_index_is_filled(ask):
    await made(ask)
    await ask("UpdateTable", **building("city"))
    await asyncio.sleep(60)
    with raising(ResourceInUseError, "by-city"):
        await ask("DeleteTable")


async def test_a_table_has_twenty_global_indexes(ask):
    many = [index_on(f"a{number}") for number in range(21)]
    with raising(RequestRejectedError, "per-table limit of 20"):
        await ask("CreateTable", **table_on(*many))
    await made(ask, *many[:20])
    names = [f"a{number}" for number in range(20)]
    with raising(LimitExceededError, "per-table limit of 20"):
        await ask("UpdateTable", **building("city", *names))


async def test_five_hundred_tables_and_indexes_change_at_a_time(ask):
    for number in range(250):
        await ask("CreateTable", f"tweets-{number}", **table_on(index_on("city")))
    with raising(LimitExceededError, "Only 500"):
        await ask("CreateTable", **table_on())
    await asyncio.sleep(10)
    await ask("CreateTable", **table_on())


@pytest.mark.parametrize("wait", [0, 100])
async def test_reads_of_an_index_that_is_not_ready_are_refused(ask, wait):
    await made(ask)
    await ask("UpdateTable", **building("city"))
    await asyncio.sleep(wait)
    words = "Cannot read from backfilling global secondary index: by-city"
    with raising(RequestRejectedError, words):
        await ask("Query", **IN_LONDON)
    with raising(RequestRejectedError, words):
        await ask("Scan", IndexName="by-city")
    with raising(RequestRejectedError, words):
        await ask("ExecuteStatement", table=None, Statement='SELECT * FROM "tweets"."by-city"')


async def test_an_index_that_is_deleted_cannot_be_read(ask):
    await made(ask, index_on("city"))
    await ask("UpdateTable", **dropping("city"))
    with raising(RequestRejectedError, "The table does not have the specified index: by-city"):
        await ask("Query", **IN_LONDON)


async def test_items_of_a_table_that_is_created_are_not_found(ask):
    await ask("CreateTable", **table_on())
    with pytest.raises(ResourceNotFoundError):
        await ask("PutItem", Item={"id": {"S": "a"}})


async def test_items_of_a_table_that_is_deleted_are_not_found(ask):
    await made(ask)
    await ask("DeleteTable")
    for operation, body in [("GetItem", {"Key": {"id": {"S": "a"}}}), ("Scan", {})]:
        with pytest.raises(ResourceNotFoundError):
            await ask(operation, **body)


async def test_items_can_be_written_while_their_table_is_updated_and_an_index_filled(ask):
    await made(ask)
    await ask("UpdateTable", **building("city"))
    for name, wait in (("a", 60), ("b", 300)):
        await ask("PutItem", Item={"id": {"S": name}, "city": {"S": "London"}})
        await asyncio.sleep(wait)
    assert (await ask("Query", **IN_LONDON))["Count"] == 2


ITEMS = [
    {"id": {"S": "fits"}, "city": {"S": "London"}},
    {"id": {"S": "wrong type"}, "city": {"N": "1"}},
    {"id": {"S": "empty"}, "city": {"S": ""}},
    {"id": {"S": "too long"}, "city": {"S": "x" * 2049}},
    {"id": {"S": "just fits"}, "city": {"S": "x" * 2048}},
    {"id": {"S": "none"}},
]


async def test_items_that_do_not_fit_are_left_out_of_an_index_that_is_filled(ask, slow):
    await made(ask)
    slow.load("tweets", ITEMS)
    await ask("UpdateTable", **building("city"))
    await asyncio.sleep(360)
    answer = await ask("Scan", IndexName="by-city")
    assert sorted(item["id"]["S"] for item in answer["Items"]) == ["fits", "just fits"]
    assert (answer["Count"], answer["ScannedCount"]) == (2, 2)
    described = (await ask("DescribeTable"))["Table"]["GlobalSecondaryIndexes"][0]
    assert described["ItemCount"] == 2
    assert len((await ask("Scan"))["Items"]) == 6
    assert await ask("Scan", IndexName="by-city", Select="COUNT") == {"Count": 2, "ScannedCount": 2}


async def test_a_snapshot_does_not_put_them_in(ask, slow):
    await made(ask)
    slow.load("tweets", ITEMS)
    await ask("UpdateTable", **building("city"))
    await asyncio.sleep(360)
    before = slow.snapshot()
    for item in ITEMS:
        await ask("DeleteItem", Key={"id": item["id"]})
    slow.restore(before)
    assert (await ask("Scan", IndexName="by-city"))["Count"] == 2
    assert (await ask("Scan"))["Count"] == 6


async def test_writes_are_throttled_by_an_index_with_too_few_units_while_it_is_filled(ask):
    await made(ask, **PROVISIONED)
    await ask("UpdateTable", **building("city", ProvisionedThroughput=dict.fromkeys(LOW, 2)))
    await asyncio.sleep(60)
    await ask("PutItem", Item={"id": {"S": "a"}})
    with pytest.raises(ProvisionedThroughputExceededError) as caught:
        await ask("PutItem", Item={"id": {"S": "a"}})
    assert "IndexWriteProvisionedThroughputExceeded" in caught.value.reasons[0]
    assert "/index/by-city" in caught.value.reasons[0]
    await asyncio.sleep(1)
    await ask("PutItem", Item={"id": {"S": "a"}})
    await asyncio.sleep(300)
    for _ in range(10):
        await ask("PutItem", Item={"id": {"S": "a"}})


async def test_a_change_that_is_refused_leaves_no_trace(ask, slow):
    await made(ask)
    before = (await ask("DescribeTable"))["Table"]
    wrong = index_on("city", Projection={"ProjectionType": "INCLUDE"})
    with raising(RequestRejectedError, "NonKeyAttributes is not specified"):
        await ask("CreateTable", "others", **table_on(wrong))
    updates = [{"Create": wrong}]
    with raising(RequestRejectedError, "NonKeyAttributes is not specified"):
        await ask("UpdateTable", AttributeDefinitions=definitions("id", "city"), GlobalSecondaryIndexUpdates=updates)
    assert (await ask("DescribeTable"))["Table"] == before
    await ask("UpdateTable", **building("city"))
    assert [entry.after for entry in slow.log] == ["CREATING", "ACTIVE", "CREATING", "UPDATING"]


async def test_recovery_tells_its_earliest_and_latest_moment(ask, slow):
    await made(ask)
    begun = slow.clock()
    on = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    await ask("UpdateContinuousBackups", PointInTimeRecoverySpecification=on)
    await asyncio.sleep(10 * DAY)
    shown = (await ask("DescribeContinuousBackups"))["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
    assert shown == {
        "PointInTimeRecoveryStatus": "ENABLED",
        "RecoveryPeriodInDays": 7,
        "EarliestRestorableDateTime": begun + 3 * DAY,
        "LatestRestorableDateTime": begun + 10 * DAY - 300,
    }


async def test_tags_are_at_most_fifty_and_none_of_them_aws_own(ask):
    await made(ask)
    arn = (await ask("DescribeTable"))["Table"]["TableArn"]
    tags = [{"Key": f"k{number}", "Value": "v"} for number in range(51)]
    with raising(LimitExceededError, "Too many tags"):
        await ask("TagResource", ResourceArn=arn, Tags=tags)
    with raising(RequestRejectedError, "aws:"):
        await ask("TagResource", ResourceArn=arn, Tags=[{"Key": "aws:x", "Value": "v"}])
    await ask("TagResource", ResourceArn=arn, Tags=tags[:2])
    await ask("UntagResource", ResourceArn=arn, TagKeys=["k0"])
    assert await ask("ListTagsOfResource", ResourceArn=arn) == {"Tags": tags[1:2]}


async def run_of(seed, asking):
    with LocalEngine(seed=seed, durations=Durations()) as slow:
        ask = asking(slow)
        for table in ("tweets", "follows"):
            await ask("CreateTable", table, **table_on())
        await asyncio.sleep(60)
        for table in ("tweets", "follows"):
            await ask("UpdateTable", table, **building("city"))
        await asyncio.sleep(2000)
        await ask("DescribeTable")
        return slow.log


async def test_two_runs_with_one_seed_have_equal_logs(asking):
    assert await run_of(7, asking) == await run_of(7, asking)
    assert await run_of(7, asking) != await run_of(8, asking)


async def test_a_script_of_durations_is_played_in_order(asking):
    with LocalEngine(durations=Durations(lag=0.0, create_table=0.0, update_table=[1.0, 5.0])) as slow:
        ask = asking(slow)
        await ask("CreateTable", **table_on())
        for _ in range(3):
            await ask("UpdateTable", DeletionProtectionEnabled=True)
            await asyncio.sleep(10)
        await ask("DescribeTable")
        times = {after: [entry.at for entry in slow.log if entry.after == after] for after in ("UPDATING", "ACTIVE")}
    assert times == {"UPDATING": [0.0, 10.0, 20.0], "ACTIVE": [0.0, 1.0, 15.0, 25.0]}


async def test_a_clock_that_the_test_moves_moves_the_tables(ask, clock):
    await ask("CreateTable", **table_on())
    clock.advance(10)
    assert await status(ask) == "ACTIVE"
