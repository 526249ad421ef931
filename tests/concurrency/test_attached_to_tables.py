"""What other services attach to tables: plans list it, and never fail for want of an answer."""

import asyncio

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey
from dynamap_async.errors import RequestRejectedError, ResourceNotFoundError
from dynamap_async.testing import Durations, FrozenClock, LocalEngine
from dynamap_async.testing.faults import Faults

NOON = 1_772_366_400.0  # of 1 March 2026, UTC
LATE = Durations(lag=0.0, create_table=10.0, attachment=30.0)
STREAM = "arn:aws:kinesis:eu-west-1:000000000000:stream/changes"
POLICY = "tweets: its resource policy"
KINESIS = f"tweets: its Kinesis stream {STREAM}"
INSIGHTS = ("tweets: its Contributor Insights", "tweets: the Contributor Insights of by_city")
UNKNOWN = "unknown, for the policy does not allow to ask, or there was no answer"
ASKED = ("GetResourcePolicy", "DescribeKinesisStreamingDestination", "ListContributorInsights")


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    city: Attr[str]

    by_city = GlobalIndex(partition_key="city")


class Bare(Model, table="tweets"):
    id: PartitionKey[str]


DESCRIBED = {
    "Table": {
        "TableName": "tweets",
        "TableStatus": "ACTIVE",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [
            {"AttributeName": "id", "AttributeType": "S"},
            {"AttributeName": "city", "AttributeType": "S"},
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by_city",
                "IndexStatus": "ACTIVE",
                "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    }
}


@pytest.fixture
def slow():
    with LocalEngine(clock=FrozenClock(NOON), durations=LATE) as engine:
        yield engine


@pytest.fixture
def ask(slow, asking):
    """Return what sends a request about the table, as a program does that attaches something."""
    return asking(slow)


async def attach(ask):
    """Attach something of each kind to the table; return its Amazon Resource Name."""
    arn = (await ask("DescribeTable"))["Table"]["TableArn"]
    await ask("PutResourcePolicy", ResourceArn=arn, Policy="{}")
    await ask("EnableKinesisStreamingDestination", StreamArn=STREAM)
    for index in ({}, {"IndexName": "by_city"}):
        await ask("UpdateContributorInsights", ContributorInsightsAction="ENABLE", **index)
    return arn


async def test_a_plan_lists_what_is_attached_and_changes_nothing_of_it(opened, ask):
    async with opened() as session:
        await session.tables.create(Tweet)
        assert (await session.tables.plan(Tweet)).not_managed == ()
        arn = await attach(ask)
        plan = await session.tables.plan(Tweet)
        assert plan.is_empty
        assert plan.not_managed == (POLICY, KINESIS, *INSIGHTS)
        await asyncio.sleep(60)
        assert (await session.tables.plan(Tweet)).not_managed == plan.not_managed
        await ask("DeleteResourcePolicy", ResourceArn=arn)
        await ask("DisableKinesisStreamingDestination", StreamArn=STREAM)
        await ask("UpdateContributorInsights", ContributorInsightsAction="DISABLE")
        assert (await session.tables.plan(Tweet)).not_managed == INSIGHTS[1:]


async def test_a_plan_takes_five_requests_and_verify_two(opened):
    async with opened() as session:
        await session.tables.create(Tweet)
        begun = session.statistics().requests
        await session.tables.plan(Tweet)
        planned = session.statistics().requests
        await session.tables.verify(Tweet)
        assert (planned - begun, session.statistics().requests - planned) == (5, 2)


async def test_a_plan_is_not_out_of_date_because_something_was_attached(opened, ask):
    async with opened() as session:
        await session.tables.create(Bare)
        plan = await session.tables.plan(Tweet, sample_pages=0)
        arn = (await ask("DescribeTable"))["Table"]["TableArn"]
        await ask("PutResourcePolicy", ResourceArn=arn, Policy="{}")
        await session.tables.apply(plan)
        await session.tables.verify(Tweet)


@pytest.mark.parametrize(
    ("operation", "name", "known"),
    [
        (ASKED[0], "its resource policy", (KINESIS, *INSIGHTS)),
        (ASKED[1], "its Kinesis streams", (POLICY, *INSIGHTS)),
        (ASKED[2], "its Contributor Insights", (POLICY, KINESIS)),
    ],
)
@pytest.mark.parametrize(
    "fault",
    [
        lambda rule: rule.deny_access(),
        lambda rule: rule.error("ValidationException"),
        lambda rule: rule.error("SomethingNewException"),
        lambda rule: rule.fail(),
    ],
    ids=["denied", "invalid", "new", "failed"],
)
async def test_what_nobody_knows_is_listed_as_unknown_beside_the_rest(opened, ask, operation, name, known, fault):
    async with opened() as session:
        await session.tables.create(Tweet)
        await attach(ask)
    faults = Faults()
    fault(faults.on(operation))
    async with opened(faults) as session:
        plan = await session.tables.plan(Tweet)
    assert plan.is_empty
    assert plan.not_managed == (*known, f"tweets: {name}: {UNKNOWN}")


async def test_several_that_are_denied_take_one_line(opened):
    faults = Faults()
    for operation in ASKED:
        faults.on(operation).deny_access()
    async with opened(faults) as session:
        await session.tables.create(Tweet)
        [line] = (await session.tables.plan(Tweet)).not_managed
    assert line == f"tweets: its resource policy, its Kinesis streams, its Contributor Insights: {UNKNOWN}"


@pytest.mark.parametrize("operation", ASKED)
async def test_an_engine_that_does_not_know_an_operation_has_none_of_it(opened, ask, operation):
    async with opened() as session:
        await session.tables.create(Tweet)
        await attach(ask)
    faults = Faults()
    faults.on(operation).error("UnknownOperationException")
    async with opened(faults) as session:
        told = (await session.tables.plan(Tweet)).not_managed
    assert 2 <= len(told) <= 3
    assert "unknown" not in " ".join(told)


async def test_a_table_that_goes_while_it_is_asked_about_is_not_taken_for_missing(opened):
    faults = Faults()
    for operation in ASKED:
        faults.on(operation).error("ResourceNotFoundException")
    async with opened(faults) as session:
        await session.tables.create(Tweet)
        plan = await session.tables.plan(Tweet)
    assert (plan.steps, plan.not_managed) == ((), ())


async def test_contributor_insights_are_read_to_their_last_page(transport, open_session):
    pages = [
        {"ContributorInsightsSummaries": [{"ContributorInsightsStatus": "DISABLED"}], "NextToken": "more"},
        {"ContributorInsightsSummaries": [{"IndexName": "by_city", "ContributorInsightsStatus": "ENABLED"}]},
    ]
    answers = {"ListContributorInsights": pages, "DescribeTable": [DESCRIBED]}
    transport.otherwise = lambda request: answers[request.operation].pop(0) if request.operation in answers else {}
    async with open_session() as session:
        plan = await session.tables.plan(Tweet, sample_pages=0)
    assert plan.not_managed[0] == INSIGHTS[1]
    asked = [request.body for request in transport.requests if request.operation == "ListContributorInsights"]
    assert asked == [{"TableName": "tweets"}, {"TableName": "tweets", "NextToken": "more"}]


async def test_a_kinesis_stream_in_another_state_is_not_changed(opened, ask):
    async with opened() as session:
        await session.tables.create(Tweet)
    body = {"StreamArn": STREAM}
    with pytest.raises(RequestRejectedError, match="is DISABLED"):
        await ask("DisableKinesisStreamingDestination", **body)
    await ask("EnableKinesisStreamingDestination", **body)
    with pytest.raises(RequestRejectedError, match="is ENABLING"):
        await ask("EnableKinesisStreamingDestination", **body)
    with pytest.raises(ResourceNotFoundError, match="Index: other"):
        await ask("UpdateContributorInsights", IndexName="other", ContributorInsightsAction="ENABLE")
    with pytest.raises(ResourceNotFoundError, match="PolicyNotFoundException"):
        await ask("GetResourcePolicy", ResourceArn="arn:aws:dynamodb:eu-west-1:000000000000:table/tweets")
