"""Settings of tables: what may be declared, what is a difference, and what requests say of them."""

import json

import pytest
from botocore.session import get_session

from dynamap_async import (
    Attr,
    ContributorInsights,
    Encryption,
    GlobalIndex,
    Model,
    PartitionKey,
    Recovery,
    Table,
    TableSettings,
    Throughput,
)
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of
from dynamap_async.tables import (
    declared_tables,
    plan_of,
    read_description,
    to_cloudformation,
    to_description,
    to_terraform,
)
from dynamap_async.tables.requests import create_request

KEY = "arn:aws:kms:eu-west-1:000000000000:key/1234"
FULL = TableSettings(
    stream="new-and-old",
    recovery=Recovery(days=7),
    deletion_protection=True,
    table_class="infrequent-access",
    encryption=Encryption(kms_key=KEY),
    tags={"team": "shop"},
)
DESCRIBED = {
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "DeletionProtectionEnabled": True,
    "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
    "SSEDescription": {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": KEY},
}

MANAGED = {
    *("AttributeDefinitions", "TableName", "KeySchema", "TableStatus", "ProvisionedThroughput", "BillingModeSummary"),
    *("LocalSecondaryIndexes", "GlobalSecondaryIndexes", "StreamSpecification", "SSEDescription"),
    *("TableClassSummary", "DeletionProtectionEnabled", "OnDemandThroughput", "WarmThroughput", "Replicas"),
}
"""The members of a description that models declare."""
ONLY_TOLD = {
    *("CreationDateTime", "TableSizeBytes", "ItemCount", "TableArn", "TableId", "LatestStreamLabel", "LatestStreamArn"),
    *("RestoreSummary", "ArchivalSummary"),
}
"""The members that nobody sets."""
NOT_MANAGED = {
    "GlobalTableVersion": "2017.11.29",
    "GlobalTableWitnesses": [{"RegionName": "eu-west-2", "WitnessStatus": "ACTIVE"}],
    "MultiRegionConsistency": "STRONG",
    "DisassociationProtectionEnabled": True,
    "GlobalTableSettingsReplicationMode": "ENABLED_WITH_OVERRIDES",
    "VectorIndexes": [{"IndexName": "by_likeness"}],
}
"""The members that other tools set, with what they may be."""


def table(settings, **more):
    [schema] = declared_tables(Table("orders", partition_key="id", settings=settings, **more))
    return schema


def found(**members):
    described = {
        "TableName": "orders",
        "TableStatus": "ACTIVE",
        "TableArn": "arn:aws:dynamodb:eu-west-1:000000000000:table/orders",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        **members,
    }
    return read_description({"Table": described}, {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})


def planned(settings, **members):
    return plan_of([table(settings)], [found(**members)])


def test_each_member_of_a_description_is_managed_or_known_not_to_be():
    model = get_session().get_service_model("dynamodb")
    members = set(model.shape_for("TableDescription").members)
    assert members - MANAGED - ONLY_TOLD - NOT_MANAGED.keys() == set()


@pytest.mark.parametrize("member", NOT_MANAGED)
def test_each_member_that_other_tools_set_is_told_and_left_alone(member):
    plan = planned(TableSettings(), **{member: NOT_MANAGED[member]})
    assert plan.is_empty
    assert len(plan.not_managed) == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"stream": "both"}, "stream='both' is not one of 'keys', 'new', 'old'"),
        ({"table_class": "cheap"}, "table_class='cheap' is not one of"),
        ({"recovery": True}, r"recovery=True: write recovery=Recovery\(days=7\)"),
        ({"deletion_protection": "yes"}, "deletion_protection='yes'"),
        ({"encryption": KEY}, "write encryption=Encryption"),
        ({"autoscaled": None}, "autoscaled=None"),
        ({"tags": {"aws:cost": "a"}}, "'aws:cost' begins with aws:"),
        ({"tags": {"a": 1}}, "is not a mapping of strings"),
        ({"tags": {str(n): "" for n in range(51)}}, "51 tags; DynamoDB allows 50"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_to_write(wrong, words):
    with pytest.raises(ValueError, match=words):
        TableSettings(**wrong)


@pytest.mark.parametrize("days", [0, 36, 1.5, True])
def test_recovery_reaches_1_to_35_days_back(days):
    with pytest.raises(ValueError, match="DynamoDB keeps 1 to 35 days"):
        Recovery(days=days)


def test_settings_of_a_model_are_those_of_its_table_and_are_inherited():
    class Order(Model, table="orders", settings=FULL):
        id: PartitionKey[str]

    class OldOrder(Order, table="old-orders"): ...

    assert definition_of(Order).require_table("compared").settings == FULL
    assert definition_of(OldOrder).require_table("compared").settings == FULL


def test_settings_that_are_none_are_refused():
    with pytest.raises(ModelDefinitionError, match="is not a TableSettings"):

        class Order(Model, table="orders", settings={"stream": "keys"}):
            id: PartitionKey[str]

    with pytest.raises(ModelDefinitionError, match="is not a TableSettings"):
        Table("orders", partition_key="id", settings={"stream": "keys"})


def test_throughput_of_another_type_is_refused_by_a_table_too() -> None:
    with pytest.raises(ModelDefinitionError, match="throughput=10 is not a Throughput; write Throughput"):
        Table("orders", partition_key="id", throughput=10)


def test_a_model_of_a_shared_table_has_no_settings_of_its_own():
    shared = Table("orders", partition_key="id")
    with pytest.raises(ModelDefinitionError, match="give the settings to the Table"):

        class Order(Model, table=shared, settings=FULL):
            id: PartitionKey[str]


def test_models_of_one_table_complete_each_other_and_must_agree():
    class Order(Model, table="orders", settings=TableSettings(stream="keys")):
        id: PartitionKey[str]

    class Invoice(Model, table="orders", settings=TableSettings(recovery=Recovery())):
        id: PartitionKey[str]

    class Refund(Model, table="orders", settings=TableSettings(stream="new")):
        id: PartitionKey[str]

    [merged] = declared_tables(Order, Invoice)
    assert merged.settings == TableSettings(stream="keys", recovery=Recovery())
    with pytest.raises(ModelDefinitionError, match="disagree on its setting 'stream'"):
        declared_tables(Order, Invoice, Refund)


def test_a_table_is_created_with_its_settings():
    body = create_request(table(FULL), throughput=None, tags={"stage": "test"}).body
    assert body["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert body["DeletionProtectionEnabled"] is True
    assert body["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
    assert body["SSESpecification"] == {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert body["Tags"] == [{"Key": "team", "Value": "shop"}, {"Key": "stage", "Value": "test"}]


def test_the_key_that_aws_manages_is_not_named():
    body = create_request(
        table(TableSettings(encryption=Encryption(kms_key="alias/aws/dynamodb"))), throughput=None, tags={}
    ).body
    assert body["SSESpecification"] == {"Enabled": True, "SSEType": "KMS"}


def test_settings_that_are_there_are_no_difference():
    told = TableSettings(stream="new-and-old", deletion_protection=True, table_class="infrequent-access")
    assert planned(told, **DESCRIBED).is_empty
    assert planned(TableSettings(encryption=Encryption(kms_key=KEY)), **DESCRIBED).is_empty
    assert planned(TableSettings(encryption=Encryption(kms_key="1234")), **DESCRIBED).is_empty


def test_settings_that_a_description_leaves_out_are_off():
    off = TableSettings(stream="off", deletion_protection=False, table_class="standard", encryption=Encryption())
    assert planned(off).is_empty


def test_a_setting_that_is_not_declared_is_left_alone():
    assert planned(TableSettings(), **DESCRIBED).is_empty


def test_protection_comes_first_and_goes_last():
    on = TableSettings(deletion_protection=True, stream="off", table_class="standard")
    assert [step.kind for step in planned(on, **{**DESCRIBED, "DeletionProtectionEnabled": False}).steps] == [
        "set-deletion-protection",
        "set-table-class",
        "set-stream",
    ]
    off = TableSettings(deletion_protection=False, stream="off")
    plan = planned(off, **DESCRIBED)
    assert [step.kind for step in plan.steps] == ["set-stream", "set-deletion-protection"]
    assert {hazard.code for hazard in plan.hazards} == {"stream-replaced", "protection-off"}
    assert plan.expand.is_empty


def test_a_stream_of_another_view_is_a_new_stream():
    plan = planned(TableSettings(stream="keys"), **DESCRIBED)
    assert [step.request["StreamSpecification"] for step in plan.steps] == [
        {"StreamEnabled": False},
        {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    ]
    assert plan.expand.is_empty


def test_an_alias_of_a_key_is_not_compared_with_its_arn_and_is_told():
    plan = planned(TableSettings(encryption=Encryption(kms_key="alias/shop")), **DESCRIBED)
    assert plan.is_empty
    [told] = [each for each in plan.not_managed if "KMS" in each]
    assert told.startswith(f"orders: whether its KMS key {KEY} is alias/shop, which only KMS can tell")
    assert [step.kind for step in planned(TableSettings(encryption=Encryption(kms_key="alias/shop"))).steps] == [
        "set-encryption"
    ]


def test_another_key_is_a_difference():
    other = KEY.replace("1234", "5678")
    assert [step.kind for step in planned(TableSettings(encryption=Encryption(kms_key=other)), **DESCRIBED).steps] == [
        "set-encryption"
    ]


def test_what_nobody_may_ask_for_is_unknown_and_left_alone():
    plan = planned(TableSettings(recovery=Recovery(), tags={"a": "b"}))
    assert plan.is_empty
    assert len([each for each in plan.not_managed if "unknown" in each]) == 2


def test_a_throughput_that_another_service_scales_is_not_compared():
    scaled = table(TableSettings(autoscaled=True), throughput=Throughput(read=5, write=5))
    units = {"ReadCapacityUnits": 80, "WriteCapacityUnits": 7}
    there = found(BillingModeSummary={"BillingMode": "PROVISIONED"}, ProvisionedThroughput=units)
    assert plan_of([scaled], [there]).is_empty


def test_other_tools_are_told_the_settings():
    [resource] = json.loads(to_cloudformation(table(FULL)))["Resources"].values()
    properties = resource["Properties"]
    assert properties["StreamSpecification"] == {"StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert properties["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert properties["PointInTimeRecoverySpecification"] == {
        "PointInTimeRecoveryEnabled": True,
        "RecoveryPeriodInDays": 7,
    }
    lines = [" ".join(line.split()) for line in to_terraform(table(FULL)).splitlines()]
    assert {
        "stream_enabled = true",
        'stream_view_type = "NEW_AND_OLD_IMAGES"',
        "deletion_protection_enabled = true",
        'table_class = "STANDARD_INFREQUENT_ACCESS"',
        "recovery_period_in_days = 7",
        f'kms_key_arn = "{KEY}"',
        '"team" = "shop"',
    } <= {*lines}


def test_a_described_table_has_the_settings_that_a_description_tells():
    described = read_description(to_description(table(FULL)))
    plan = plan_of([table(FULL)], [described])
    assert plan.is_empty


class Watched(
    Model,
    table="watched",
    settings=TableSettings(
        insights=ContributorInsights(table="throttled", indexes={"by-city": "accessed-and-throttled"})
    ),
):
    id: PartitionKey[str]
    city: Attr[str]

    by_city = GlobalIndex("by-city", partition_key="city")


def test_contributor_insights_are_written_for_cloudformation():
    [resource] = json.loads(to_cloudformation(*declared_tables(Watched)))["Resources"].values()
    properties = resource["Properties"]

    assert properties["ContributorInsightsSpecification"] == {"Enabled": True, "Mode": "THROTTLED_KEYS"}
    assert properties["GlobalSecondaryIndexes"][0]["ContributorInsightsSpecification"] == {
        "Enabled": True,
        "Mode": "ACCESSED_AND_THROTTLED_KEYS",
    }


def test_contributor_insights_are_resources_of_their_own_for_terraform():
    assert (
        to_terraform(*declared_tables(Watched)).partition("\n}\n\n")[2]
        == """resource "aws_dynamodb_contributor_insights" "watched" {
  table_name = aws_dynamodb_table.watched.name
  mode = "THROTTLED_KEYS"
}

resource "aws_dynamodb_contributor_insights" "watched_by-city" {
  table_name = aws_dynamodb_table.watched.name
  index_name = "by-city"
  mode       = "ACCESSED_AND_THROTTLED_KEYS"
}"""
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"table": "all"}, "table='all' is not one of 'accessed-and-throttled', 'throttled', 'off'"),
        ({"indexes": {"by-city": None}}, r"indexes\['by-city'\]='' is not one of"),
        ({"indexes": ["by-city"]}, "write indexes={"),
    ],
)
def test_contributor_insights_of_no_mode_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        ContributorInsights(**wrong)


def test_contributor_insights_of_an_index_that_there_is_not_are_refused():
    settings = TableSettings(insights=ContributorInsights(indexes={"by-size": "throttled"}))

    class Unwatched(Watched, table="watched", settings=settings): ...

    with pytest.raises(ModelDefinitionError, match="'by-size', which is no global index of it; they are by-city"):
        declared_tables(Unwatched)
