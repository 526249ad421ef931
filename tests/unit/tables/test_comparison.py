"""What is a difference between a table and its models, and what is only noise of a description."""

from dataclasses import replace
from typing import Any

import pytest

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, Throughput, TimeToLive, attr, include
from dynamap_async.models import definition_of
from dynamap_async.tables.comparison import not_managed, seen_of, steps_of
from dynamap_async.tables.requests import TableDescription, read_description


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    city: Attr[str]
    text: Attr[str]
    at: TimeToLive[int | None] = attr(default=None)

    by_city = GlobalIndex(partition_key="city", projection=include("text", "at"))


class Provisioned(Model, table="tweets", throughput=Throughput(read=5, write=5)):
    id: PartitionKey[str]


def described(index: dict[str, Any] | None = None, **table: Any) -> TableDescription:
    by_city = {
        "IndexName": "by_city",
        "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text", "at"]},
        "IndexStatus": "ACTIVE",
        "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0},
        **(index or {}),
    }
    answer = {
        "TableName": "tweets",
        "TableStatus": "ACTIVE",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": "city", "AttributeType": "S"},
            {"AttributeName": "id", "AttributeType": "S"},
        ],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "GlobalSecondaryIndexes": [by_city],
        **table,
    }
    ttl = {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "at"}}
    return read_description({"Table": answer}, ttl)


UNUSED = [{"AttributeName": name, "AttributeType": "S"} for name in ("unused", "id", "city")]


STREAM = "arn:aws:dynamodb:eu-west-1:123456789012:table/tweets/stream/2026-03-01T00:00:00.000"
IN_IRELAND = {"RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE"}
BY_TEXT = {
    "IndexName": "by_text",
    "KeySchema": [{"AttributeName": "text", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
    "IndexStatus": "ACTIVE",
}
KEYS = [{"AttributeName": name, "AttributeType": "S"} for name in ("text", "city", "id")]
OFTEN = {
    "ReadCapacityUnits": 0,
    "WriteCapacityUnits": 0,
    "NumberOfDecreasesToday": 3,
    "LastDecreaseDateTime": 1772366400.0,
}


@pytest.mark.parametrize(
    "found",
    [
        described(),
        described(AttributeDefinitions=UNUSED),
        described({"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["at", "text"]}}),
        described({"WarmThroughput": {"ReadUnitsPerSecond": 99_999, "WriteUnitsPerSecond": 99_999}}),
        described(WarmThroughput={"ReadUnitsPerSecond": 99_999, "WriteUnitsPerSecond": 99_999, "Status": "UPDATING"}),
        described(ProvisionedThroughput={"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}),
        described(ItemCount=7, TableSizeBytes=700),
        described({"ItemCount": 7, "IndexSizeBytes": 700, "IndexArn": "arn:aws:dynamodb:x"}),
        described(SomethingNew={"Of": "next year"}),
        described({"SomethingNew": True}),
        described(LocalSecondaryIndexes=[]),
        described(LocalSecondaryIndexes=None),
        described(TableArn="arn:aws:dynamodb:eu-west-1:123456789012:table/tweets", TableId="4f6c-9b1e"),
        described(
            CreationDateTime=1772366400.123,
            BillingModeSummary={"BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": 1772366400.123},
        ),
        described(ProvisionedThroughput=OFTEN),
        described({"ProvisionedThroughput": OFTEN}),
        described(StreamSpecification={"StreamEnabled": False}),
        described(LatestStreamArn=STREAM, LatestStreamLabel="2026-03-01T00:00:00.000"),
        described(
            RestoreSummary={"SourceTableArn": "arn", "RestoreInProgress": False, "RestoreDateTime": 1772366400.0}
        ),
        described(Tags=[{"Key": "aws:cloudformation:stack-name", "Value": "shop"}, {"Key": "team", "Value": "shop"}]),
        described(TableClassSummary={"TableClass": "STANDARD", "LastUpdateDateTime": 1772366400.0}),
        described({"Backfilling": False}),
        described({"IndexStatus": "UPDATING"}),
        described(TableStatus="UPDATING"),
        described(DeletionProtectionEnabled=False),
        described(GlobalTableVersion="2019.11.21"),
        described(OnDemandThroughput={"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}),
        described({"OnDemandThroughput": {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}}),
        described(
            {"WarmThroughput": {"ReadUnitsPerSecond": 12_001, "WriteUnitsPerSecond": 4_001, "Status": "ACTIVE"}},
            WarmThroughput={"ReadUnitsPerSecond": 12_001, "WriteUnitsPerSecond": 4_001, "Status": "ACTIVE"},
        ),
        described(
            {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["at", "text"]}, "SomethingNew": 1},
            AttributeDefinitions=UNUSED,
            ProvisionedThroughput=OFTEN,
            SomethingNew=[1],
        ),
    ],
)
def test_noise_is_no_difference(found):
    assert steps_of(definition_of(Tweet).require_table("compared"), found) == ()
    assert not_managed(definition_of(Tweet).require_table("compared"), found, delete_unknown_indexes=False) == ()


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (
            described(OnDemandThroughput={"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 7}),
            "table, at most 7 write",
        ),
        (
            described({"OnDemandThroughput": {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": -1}}),
            "by_city, at most 50 read",
        ),
        (
            described(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}),
            "its stream of keys",
        ),
        (described(DeletionProtectionEnabled=True), "its deletion protection"),
        (
            described(TableClassSummary={"TableClass": "STANDARD_INFREQUENT_ACCESS"}),
            "its class infrequent-access",
        ),
        (described(SSEDescription={"Status": "ENABLED", "SSEType": "KMS"}), "its KMS key alias/aws/dynamodb"),
        (
            described(SSEDescription={"Status": "UPDATING", "SSEType": "KMS", "KMSMasterKeyArn": "arn"}),
            "its KMS key arn",
        ),
        (described(GlobalTableWitnesses=[{"RegionName": "eu-west-2"}]), "a witness in eu-west-2"),
        (described(MultiRegionConsistency="STRONG"), "strong consistency between its regions"),
        (
            described(GlobalTableSettingsReplicationMode="ENABLED"),
            "settings that are replicated to other regions",
        ),
        (
            described(GlobalTableVersion="2017.11.29"),
            "its replicas, which are those of version 2017.11.29 of global tables",
        ),
        (
            described(DisassociationProtectionEnabled=True),
            "protection against being separated from its replicas",
        ),
        (described(VectorIndexes=[{"IndexName": "by_likeness"}]), "the vector index by_likeness"),
    ],
)
def test_what_no_model_declares_is_no_difference_and_is_told(found, told):
    schema = definition_of(Tweet).require_table("compared")
    assert steps_of(schema, found) == ()
    assert not_managed(schema, found, delete_unknown_indexes=False) == (f"tweets: {told}",)


@pytest.mark.parametrize("autoscaled", [5, 40, 4000])
def test_capacity_that_no_model_declares_may_be_scaled_by_others(autoscaled):
    units = {"ReadCapacityUnits": autoscaled, "WriteCapacityUnits": autoscaled}
    found = described(
        {"ProvisionedThroughput": units}, BillingModeSummary={"BillingMode": "PROVISIONED"}, ProvisionedThroughput=units
    )
    assert steps(Tweet, found) == []


def test_order_of_indexes_makes_no_difference():
    of_city = {"IndexName": "by_city", "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
               "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text", "at"]}}  # fmt: skip
    for indexes in ([BY_TEXT, of_city], [of_city, BY_TEXT]):
        assert steps(TwoIndexes, described(AttributeDefinitions=KEYS, GlobalSecondaryIndexes=indexes)) == []


class TwoIndexes(Tweet, table="tweets"):
    by_text = GlobalIndex(partition_key="text", projection=KEYS_ONLY)


def steps(model, found):
    return [(step.kind, step.index) for step in steps_of(definition_of(model).require_table("compared"), found)]


def test_what_a_plan_saw_of_an_index_says_its_units_and_maxima_where_it_has_any():
    assert seen_of(described())["index by_city"] == "global, city (S), INCLUDE at text"
    bounded = described({"OnDemandThroughput": {"MaxReadRequestUnits": 50, "MaxWriteRequestUnits": -1}})
    assert seen_of(bounded)["index by_city"] == "global, city (S), INCLUDE at text, at most 50 read"
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7}
    assert seen_of(described({"ProvisionedThroughput": units}))["index by_city"].endswith("text, 5 read, 7 write")


def test_an_include_of_every_field_is_not_all():
    found = described({"Projection": {"ProjectionType": "ALL"}})
    assert steps(Tweet, found) == [("blocked", "by_city")]


def test_what_never_changes_does_not_hide_what_would_change_besides():
    found = described({"Projection": {"ProjectionType": "ALL"}})
    found = replace(found, ttl_status="DISABLED")
    assert steps(Tweet, found) == [("blocked", "by_city"), ("set-time-to-live", None)]


def test_an_index_that_is_filled_is_awaited_although_its_table_is_active():
    assert steps(Tweet, described({"IndexStatus": "CREATING", "Backfilling": True})) == [("await-index", "by_city")]


def test_the_request_of_a_new_index_has_the_definitions_of_all_keys_and_no_others():
    [step] = steps_of(
        definition_of(Tweet).require_table("compared"),
        described(GlobalSecondaryIndexes=[], AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}]),
    )
    assert step.operation == "UpdateTable"
    assert step.request == {
        "TableName": "tweets",
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "city", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexUpdates": [
            {
                "Create": {
                    "IndexName": "by_city",
                    "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text", "at"]},
                }
            }
        ],
    }


def test_the_request_of_a_new_index_keeps_the_definitions_that_vector_indexes_use():
    names = ("id", "unused", "owner")
    [step] = steps_of(
        definition_of(Tweet).require_table("compared"),
        described(
            GlobalSecondaryIndexes=[],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
            VectorIndexes=[
                {
                    "IndexName": "by_likeness",
                    "SearchSchema": [{"AttributeName": "owner", "SearchSchemaElementType": "HASH"}],
                }
            ],
        ),
    )
    assert {each["AttributeName"] for each in step.request["AttributeDefinitions"]} == {"id", "city", "owner"}


def test_a_new_index_of_a_provisioned_table_has_units_and_is_made_once_they_are_there():
    found = described(GlobalSecondaryIndexes=[], AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    planned = steps_of(definition_of(Indexed).require_table("compared"), found)
    assert [step.kind for step in planned] == ["update-billing", "create-index"]
    assert planned[1].request["GlobalSecondaryIndexUpdates"][0]["Create"]["ProvisionedThroughput"] == {
        "ReadCapacityUnits": 5,
        "WriteCapacityUnits": 5,
    }


class Indexed(Provisioned, table="tweets"):
    city: Attr[str]
    by_city = GlobalIndex(partition_key="city")


def provisioned(decreases):
    units = {"ReadCapacityUnits": 9, "WriteCapacityUnits": 9, "NumberOfDecreasesToday": decreases}
    return described(BillingModeSummary=None, ProvisionedThroughput=units, GlobalSecondaryIndexes=None)


@pytest.mark.parametrize(("decreases", "codes"), [(3, []), (4, ["decrease-quota"]), (27, ["decrease-quota"])])
def test_a_throughput_that_was_lowered_often_today_is_a_hazard(decreases, codes):
    [step] = steps_of(definition_of(Provisioned).require_table("compared"), provisioned(decreases))
    assert [hazard.code for hazard in step.hazards] == ["throughput-lowered", *codes]
    assert not codes or f"it was lowered {decreases} times today" in step.hazards[1].message
