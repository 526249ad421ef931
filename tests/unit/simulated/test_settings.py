"""What belongs to a table besides its items."""

import pytest

from dynamap_async.simulated import SimulatedDynamoDB

KEY = [{"AttributeName": "city", "KeyType": "HASH"}]
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}


@pytest.fixture
def service(call, clock):
    made = SimulatedDynamoDB(clock=clock, region="eu-west-1")
    call(
        made,
        "CreateTable",
        TableName="visits",
        AttributeDefinitions=[{"AttributeName": "city", "AttributeType": "S"}],
        KeySchema=KEY,
        GlobalSecondaryIndexes=[{"IndexName": "by_city", "KeySchema": KEY, "Projection": {"ProjectionType": "ALL"}}],
        BillingMode="PAY_PER_REQUEST",
    )
    call(
        made,
        "UpdateContinuousBackups",
        TableName="visits",
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True},
    )
    return made


def index(name="by_city", projection="ALL", **members):
    return {"IndexName": name, "KeySchema": KEY, "Projection": {"ProjectionType": projection}, **members}


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"GlobalSecondaryIndexOverride": [index("by_name")]}, "the index by_name is not one of the source table"),
        ({"GlobalSecondaryIndexOverride": [index(projection="KEYS_ONLY")]}, "the index by_city is not one of the"),
        ({"BillingModeOverride": "PROVISIONED"}, "must both be specified when BillingMode is PROVISIONED"),
        (
            {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": UNITS},
            "ProvisionedThroughput must be specified for index: by_city",
        ),
        ({"ProvisionedThroughputOverride": UNITS}, "can be specified when BillingMode is PAY_PER_REQUEST"),
        ({"BillingModeOverride": "MONTHLY"}, "Value 'MONTHLY' at 'billingModeOverride'"),
    ],
)
def test_a_restore_refuses_what_its_table_cannot_have(service, refused, overrides, message):
    source = {"SourceTableName": "visits", "UseLatestRestorableTime": True}

    code, text = refused(service, "RestoreTableToPointInTime", **source, TargetTableName="then", **overrides)

    assert code == "ValidationException"
    assert message in text
    assert "then" not in service.store.tables


def test_contributor_insights_are_told_with_their_mode(service, call):
    index = {"TableName": "visits", "IndexName": "by_city"}
    before = call(service, "DescribeContributorInsights", **index)
    call(service, "UpdateContributorInsights", **index, ContributorInsightsAction="ENABLE")
    on = call(service, "DescribeContributorInsights", **index)
    call(service, "UpdateContributorInsights", **index, ContributorInsightsAction="DISABLE")
    off = call(service, "DescribeContributorInsights", **index)

    assert before == off == {**index, "ContributorInsightsStatus": "DISABLED"}
    assert (on["ContributorInsightsStatus"], on["ContributorInsightsMode"]) == (
        "ENABLED",
        "ACCESSED_AND_THROTTLED_KEYS",
    )


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"ContributorInsightsAction": "ENABLE", "IndexName": "by_name"}, "ResourceNotFoundException"),
        ({"ContributorInsightsAction": "ENABLE", "ContributorInsightsMode": "ALL"}, "ValidationException"),
        ({"ContributorInsightsAction": "DISABLE", "ContributorInsightsMode": "THROTTLED_KEYS"}, "ValidationException"),
    ],
)
def test_contributor_insights_of_no_form_are_refused(service, refused, asked, code):
    assert refused(service, "UpdateContributorInsights", TableName="visits", **asked)[0] == code
