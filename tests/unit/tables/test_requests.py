"""The requests that make tables, what descriptions say, and which models can share a table."""

from datetime import UTC, datetime

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    Throughput,
    TimeToLive,
    attr,
    include,
)
from dynamap_async.errors import ModelDefinitionError, OperationError
from dynamap_async.models import definition_of
from dynamap_async.tables.requests import create_request, merged, read_description, table_request, ttl_request


class Tweet(Model, table="tweets"):
    user_id: PartitionKey[str] = attr(name="pk")
    at: SortKey[int]
    likes: Attr[int] = attr(default=0)
    city: Attr[str | None] = attr(default=None)
    text: Attr[str] = attr(name="body", default="")
    by_likes = LocalIndex(sort_key="likes", projection=include("text"))
    by_city = GlobalIndex(
        partition_key="city", sort_key="likes", projection=KEYS_ONLY, throughput=Throughput(read=10, write=2)
    )


def schema_of(model):
    return definition_of(model).table


def test_an_on_demand_table_is_said_to_be_one():
    request = create_request(schema_of(Tweet), throughput=None, tags={})
    assert request.body == {
        "TableName": "tweets",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "at", "AttributeType": "N"},
            {"AttributeName": "likes", "AttributeType": "N"},
            {"AttributeName": "city", "AttributeType": "S"},
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "LocalSecondaryIndexes": [
            {
                "IndexName": "by_likes",
                "KeySchema": [
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "likes", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["body"]},
            }
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by_city",
                "KeySchema": [
                    {"AttributeName": "city", "KeyType": "HASH"},
                    {"AttributeName": "likes", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    }


def test_a_provisioned_table_gives_every_global_index_throughput():
    request = create_request(schema_of(Tweet), throughput=Throughput(read=1, write=1), tags={"a": "b"})
    assert request.body["BillingMode"] == "PROVISIONED"
    assert request.body["ProvisionedThroughput"] == {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    [index] = request.body["GlobalSecondaryIndexes"]
    assert index["ProvisionedThroughput"] == {"ReadCapacityUnits": 10, "WriteCapacityUnits": 2}
    assert "ProvisionedThroughput" not in request.body["LocalSecondaryIndexes"][0]
    assert request.body["Tags"] == [{"Key": "a", "Value": "b"}]


def test_more_than_50_tags_are_refused():
    with pytest.raises(OperationError, match="51 tags for tweets; DynamoDB allows 50"):
        create_request(schema_of(Tweet), throughput=None, tags={str(n): "" for n in range(51)})


@pytest.mark.parametrize(
    "request_",
    [
        create_request(schema_of(Tweet), throughput=None, tags={}),
        table_request("DeleteTable", "tweets", writes=True),
        ttl_request("tweets", "ttl"),
    ],
    ids=lambda request: request.operation,
)
def test_changes_of_tables_are_never_sent_again_after_a_lost_answer(request_):
    assert request_.writes
    assert not request_.resendable


def test_looking_at_a_table_may_be_sent_again():
    request = table_request("DescribeTable", "tweets")
    assert (request.writes, request.resendable) == (False, True)


def described(**facts):
    return read_description(
        {
            "Table": {
                "TableName": "tweets",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "TableStatus": "ACTIVE",
                **facts,
            }
        }
    )


def test_a_description_with_the_least_that_an_engine_says_can_be_read():
    found = described()
    assert (found.status, found.billing, found.arn, found.created_at, found.ttl_status) == (
        "ACTIVE",
        "provisioned",
        "",
        None,
        None,
    )


def test_a_table_is_active_only_with_all_its_indexes():
    index = {
        "IndexName": "i",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    assert described(GlobalSecondaryIndexes=[index | {"IndexStatus": "ACTIVE"}]).is_active
    assert not described(GlobalSecondaryIndexes=[index | {"IndexStatus": "CREATING"}]).is_active
    assert not described(TableStatus="UPDATING").is_active


def test_the_time_of_creation_is_in_utc():
    assert described(CreationDateTime=1704067200.5).created_at == datetime(2024, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)


def test_zero_units_are_no_throughput():
    billing = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}
    units = {"ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}}
    assert described(**billing, **units).schema.throughput is None


def variant(**body):
    """Return a model of the table "shared" with more in its body."""
    annotations = {"pk": PartitionKey[str], **body.pop("annotations", {})}
    keywords = body.pop("keywords", {})
    return type(Model)(
        "Variant",
        (Model,),
        {"__annotations__": annotations, "__module__": __name__, **body},
        table="shared",
        **keywords,
    )


PLAIN = variant()
BY_A = {"annotations": {"a": Attr[str]}, "by_a": GlobalIndex(partition_key="a")}
SHARED = [
    ([PLAIN, variant(**BY_A)], ["by_a"]),
    ([variant(**BY_A), variant(**BY_A)], ["by_a"]),
    ([variant(**BY_A), variant(annotations={"b": Attr[int]}, by_b=GlobalIndex(partition_key="b"))], ["by_a", "by_b"]),
]


@pytest.mark.parametrize(("models", "indexes"), SHARED)
def test_models_that_agree_make_one_table(models, indexes):
    table = merged([schema_of(model) for model in models])
    assert [index.name for index in table.indexes] == indexes


def test_what_only_one_model_declares_holds_for_the_table():
    ttl = variant(annotations={"t": TimeToLive[datetime | None]}, t=attr(default=None))
    units = variant(keywords={"throughput": Throughput(read=1, write=2)})
    for models in ([ttl, units, PLAIN], [PLAIN, units, ttl]):
        table = merged([schema_of(model) for model in models])
        assert (table.ttl_attribute, table.throughput) == ("t", Throughput(read=1, write=2))


CLASHES = [
    (PLAIN, variant(annotations={"sk": SortKey[str]}), "its key"),
    (
        variant(**BY_A),
        variant(annotations={"a": Attr[str]}, by_a=GlobalIndex(partition_key="a", projection=KEYS_ONLY)),
        "the index 'by_a'",
    ),
    (
        variant(**BY_A),
        variant(annotations={"a": Attr[int]}, other=GlobalIndex(partition_key="a")),
        "the key attribute 'a', which is stored as S and as N",
    ),
    (
        variant(annotations={"t": TimeToLive[datetime | None]}, t=attr(default=None)),
        variant(annotations={"u": TimeToLive[datetime | None]}, u=attr(default=None)),
        "its time to live",
    ),
    (
        variant(keywords={"throughput": Throughput(read=1, write=2)}),
        variant(keywords={"throughput": Throughput(read=1, write=3)}),
        "its throughput",
    ),
]


@pytest.mark.parametrize(("one", "other", "clash"), CLASHES, ids=[each[2] for each in CLASHES])
def test_models_that_disagree_make_no_table(one, other, clash):
    for models in ([one, other], [other, PLAIN, one] if clash != "its key" else [other, one]):
        with pytest.raises(ModelDefinitionError, match="models of the table 'shared' disagree on"):
            merged([schema_of(model) for model in models])
    with pytest.raises(ModelDefinitionError, match=clash):
        merged([schema_of(one), schema_of(other)])


def test_a_description_tells_the_stream_the_indexes_and_the_last_changes_of_throughput():
    arn = "arn:aws:dynamodb:eu-west-1:000000000000:table/orders"
    key = [{"AttributeName": "id", "KeyType": "HASH"}]
    index = {
        "IndexName": "by-id",
        "IndexArn": f"{arn}/index/by-id",
        "IndexStatus": "ACTIVE",
        "KeySchema": key,
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": {
            "ReadCapacityUnits": 1,
            "WriteCapacityUnits": 1,
            "LastDecreaseDateTime": 1_750_000_100,
        },
    }

    described = read_description(
        {
            "Table": {
                "TableName": "orders",
                "TableStatus": "ACTIVE",
                "TableId": "9f1c",
                "KeySchema": key,
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "LatestStreamArn": f"{arn}/stream/2026-11-28T00:00:00.000",
                "LatestStreamLabel": "2026-11-28T00:00:00.000",
                "ProvisionedThroughput": {
                    "ReadCapacityUnits": 1,
                    "WriteCapacityUnits": 1,
                    "LastIncreaseDateTime": 1_750_000_000,
                },
                "GlobalSecondaryIndexes": [index],
            }
        }
    )

    assert (described.table_id, described.stream_label) == ("9f1c", "2026-11-28T00:00:00.000")
    assert described.stream_arn == f"{arn}/stream/2026-11-28T00:00:00.000"
    assert described.index_arns == {"by-id": f"{arn}/index/by-id"}
    assert described.increased_at == {None: datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)}
    assert described.decreased_at == {"by-id": datetime(2025, 6, 15, 15, 8, 20, tzinfo=UTC)}
