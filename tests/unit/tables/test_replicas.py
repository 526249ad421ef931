"""Replicas in other regions: what may be declared, what is a difference, and what a table with them never gets."""

from datetime import UTC, datetime

import pytest

from dynamap_async import Recovery, Table, TableSettings
from dynamap_async.errors import ModelDefinitionError, TableMismatchError
from dynamap_async.tables import declared_tables, plan_of, read_description, to_description, to_terraform
from dynamap_async.tables.applying import check_plan

ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
BOTH = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
KEYS = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}


def table(settings, **more):
    [schema] = declared_tables(Table("orders", partition_key="id", settings=settings, **more))
    return schema


def found(*replicas, **members):
    listed = [{"RegionName": region, "ReplicaStatus": status} for region, status in replicas]
    described = {
        "TableName": "orders",
        "TableStatus": "ACTIVE",
        "TableArn": ARN,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        **({"Replicas": listed, "StreamSpecification": BOTH} if listed else {}),
        **members,
    }
    return read_description({"Table": described}, {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})


def planned(replicas, there, **settings):
    return plan_of([table(TableSettings(replicas=replicas, **settings))], [there])


def told(plan):
    return [(step.kind, step.summary) for step in plan.steps]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"replicas": "us-east-1"}, "replicas='us-east-1' is not a list of regions"),
        ({"replicas": [1]}, "is not a list of regions"),
        ({"replicas": [""]}, "is not a list of regions"),
        ({"replicas": ["us-east-1"], "stream": "keys"}, 'replicas need stream="new-and-old"'),
        ({"replicas": ["us-east-1"], "stream": "off"}, 'replicas need stream="new-and-old"'),
    ],
)
def test_wrong_replicas_are_refused_with_what_to_write(settings, words):
    with pytest.raises(ValueError, match=words):
        TableSettings(**settings)


def test_models_of_one_table_may_name_regions_in_any_order():
    one = TableSettings(replicas=["us-east-1", "us-west-2"])
    assert one.clash(TableSettings(replicas=("us-west-2", "us-east-1"))) is None
    assert one.clash(TableSettings(replicas=["us-east-1"])) == "replicas"
    assert TableSettings(recovery=Recovery()).completed(one).replicas == {"us-east-1", "us-west-2"}


def test_the_region_of_the_table_itself_is_none_of_its_replicas():
    there = found(("us-west-2", "ACTIVE"), ("eu-west-1", "ACTIVE"), ("us-east-1", "CREATING"))
    assert [(each.region, each.status) for each in there.replicas] == [
        ("us-east-1", "CREATING"),
        ("us-west-2", "ACTIVE"),
    ]


def test_missing_replicas_are_added_one_after_the_other():
    plan = planned(["us-west-2", "us-east-1"], found(("us-west-2", "ACTIVE")))
    assert told(plan) == [("set-replicas", "no replica in us-east-1 -> replica in us-east-1")]
    assert plan.steps[0].request == {
        "TableName": "orders",
        "ReplicaUpdates": [{"Create": {"RegionName": "us-east-1"}}],
    }
    assert plan.hazards == ()
    assert plan.contract.is_empty
    plan = planned(["us-west-2", "us-east-1"], found())
    assert [step.request["ReplicaUpdates"][0]["Create"]["RegionName"] for step in plan.steps] == [
        "us-east-1",
        "us-west-2",
    ]


def test_replicas_that_are_there_are_no_difference():
    plan = planned(["us-east-1"], found(("us-east-1", "ACTIVE")))
    assert plan.is_empty
    assert plan.not_managed == (
        "orders: what its replicas in us-east-1 have of their own, which a session of their region compares",
    )


def test_of_replicas_that_are_not_there_nothing_is_told():
    assert planned(["us-west-2", "us-east-1"], found()).not_managed == ()
    strong = found(("us-east-1", "ACTIVE"), **STRONG)
    assert [told for told in planned(["us-west-2"], strong).not_managed if "us-west-2" in told] == []
    [told] = planned(["us-west-2", "us-east-1"], found(("us-east-1", "ACTIVE"))).not_managed
    assert "its replicas in us-east-1 have" in told


def test_replicas_of_a_new_table_come_after_all_else():
    plan = plan_of([table(TableSettings(replicas=["us-east-1"], recovery=Recovery()))], [None])
    assert [step.kind for step in plan.steps] == ["create-table", "set-point-in-time-recovery", "set-replicas"]
    assert "ReplicaUpdates" not in plan.steps[0].request


def test_a_replica_that_is_removed_is_a_hazard_and_takes_something_away():
    plan = planned([], found(("us-east-1", "ACTIVE"), ("us-west-2", "DELETING")))
    assert told(plan) == [("set-replicas", "replica in us-east-1 -> no replica in us-east-1")]
    assert [hazard.code for hazard in plan.hazards] == ["replica-removed"]
    assert plan.expand.is_empty


def test_the_last_replica_is_removed_before_the_stream_that_it_needs():
    plan = planned([], found(("us-east-1", "ACTIVE")), stream="off")
    assert [step.kind for step in plan.steps] == ["set-replicas", "set-stream"]


def test_replicas_that_nobody_declares_are_left_alone_and_told():
    plan = planned(None, found(("us-east-1", "ACTIVE")))
    assert plan.is_empty
    assert plan.not_managed == ("orders: its stream of new-and-old", "orders: its replicas in us-east-1")


@pytest.mark.parametrize("status", ["CREATING", "CREATION_FAILED"])
def test_a_replica_that_is_not_there_yet_is_a_difference(status):
    [step] = planned(["us-east-1"], found(("us-east-1", status))).steps
    assert step.before == f"replica in us-east-1 {status}"


@pytest.mark.parametrize("stream", ["off", "keys"])
def test_a_stream_that_replicas_need_is_not_taken_from_them(stream):
    plan = planned(None, found(("us-east-1", "ACTIVE")), stream=stream)
    with pytest.raises(TableMismatchError, match=f"stream of {stream}; replicas need a stream of new-and-old"):
        check_plan(plan, ["stream-replaced"], wait_for_backfill=True)


def test_a_stream_of_another_view_has_to_be_replaced_before_replicas_are_added():
    there = found(StreamSpecification=KEYS)
    assert "blocked" in [step.kind for step in planned(["us-east-1"], there).steps]
    plan = planned(["us-east-1"], there, stream="new-and-old")
    assert [step.kind for step in plan.steps] == ["set-stream", "set-stream", "set-replicas"]
    assert plan.expand.is_empty


STRONG = {"MultiRegionConsistency": "STRONG"}


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        (TableSettings(), {"time_to_live": "at"}, "(MRSC) has none: take the TimeToLive out of the models"),
        (
            TableSettings(replicas=["us-east-1"]),
            {},
            "(MRSC) has the regions that it got while it was empty: declare replicas=['us-east-1', 'us-west-2'], or",
        ),
        (TableSettings(replicas=[]), {}, "no region; a table with strong consistency between regions (MRSC) has"),
    ],
)
def test_what_a_table_with_strong_consistency_never_gets_is_blocked(settings, more, words):
    there = found(("us-east-1", "ACTIVE"), ("us-west-2", "ACTIVE"), **STRONG)
    plan = plan_of([table(settings, **more)], [there])
    assert [step.kind for step in plan.steps] == ["blocked"]
    assert words in plan.steps[0].after
    with pytest.raises(TableMismatchError):
        check_plan(plan, [], wait_for_backfill=True)


def test_a_table_with_strong_consistency_that_is_as_declared_has_an_empty_plan():
    there = found(("us-east-1", "ACTIVE"), ("us-west-2", "ACTIVE"), **STRONG, StreamSpecification=None)
    assert planned(["us-east-1", "us-west-2"], there).is_empty
    assert planned(None, there).is_empty


def test_terraform_and_a_description_have_the_replicas():
    declared = table(TableSettings(replicas=["us-west-2", "us-east-1"]))
    lines = [" ".join(line.split()) for line in to_terraform(declared).splitlines()]
    assert [line for line in lines if "region_name" in line] == [
        'region_name = "us-east-1"',
        'region_name = "us-west-2"',
    ]
    assert 'stream_view_type = "NEW_AND_OLD_IMAGES"' in lines
    described = read_description(to_description(declared))
    assert [step.kind for step in plan_of([declared], [described]).steps] == []


def test_models_that_ask_for_replicas_and_another_stream_are_refused_together():
    one = Table("orders", partition_key="id", settings=TableSettings(replicas=["us-east-1"]))
    other = Table("orders", partition_key="id", settings=TableSettings(stream="keys"))
    with pytest.raises(ModelDefinitionError, match="disagree on its setting 'stream'"):
        declared_tables(one, other)


def test_a_description_tells_what_a_replica_has_of_its_own():
    replica = {
        "RegionName": "us-east-1",
        "ReplicaStatus": "INACCESSIBLE_ENCRYPTION_CREDENTIALS",
        "ReplicaArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders",
        "ReplicaStatusDescription": "the key cannot be used",
        "ReplicaInaccessibleDateTime": 1_750_000_000.5,
        "KMSMasterKeyId": "arn:aws:kms:us-east-1:000000000000:key/k",
        "ReplicaTableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        "ProvisionedThroughputOverride": {"ReadCapacityUnits": 7},
        "OnDemandThroughputOverride": {"MaxReadRequestUnits": 900},
    }

    [told] = found(Replicas=[replica]).replicas

    assert told.arn == replica["ReplicaArn"]
    assert (told.problem, told.table_class) == ("the key cannot be used", "STANDARD_INFREQUENT_ACCESS")
    assert told.inaccessible_since == datetime(2025, 6, 15, 15, 6, 40, 500_000, tzinfo=UTC)
    assert (told.encryption_key, told.read_units, told.max_read_units) == (replica["KMSMasterKeyId"], 7, 900)
