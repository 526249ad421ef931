"""What DescribeTable says of vector indexes is in descriptions, typed."""

import pytest

from dynamap_async import Model, PartitionKey, Projection
from dynamap_async.request import Request
from dynamap_async.tables import VectorIndexDescription, read_description
from dynamap_async.testing import LocalEngine

KEY = [{"AttributeName": "id", "KeyType": "HASH"}]
MEANING = {
    "IndexName": "meaning",
    "VectorAttribute": {"AttributeName": "embedding"},
    "SearchSchema": [
        {"AttributeName": "tenant", "SearchSchemaElementType": "HASH"},
        {"AttributeName": "language", "SearchSchemaElementType": "INLINE_FILTER"},
    ],
    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["text"]},
    "Dimensions": 3,
    "DistanceFunction": "DOT_PRODUCT",
}
PLAIN = {
    "IndexName": "likeness",
    "VectorAttribute": {"AttributeName": "embedding"},
    "Projection": {"ProjectionType": "ALL"},
    "Dimensions": 3,
    "DistanceFunction": "COSINE",
}


class Passage(Model, table="passages"):
    id: PartitionKey[str]


@pytest.mark.asyncio
async def test_the_vector_indexes_of_a_table_are_described_with_all_that_the_engine_tells():
    body = {
        "TableName": "passages",
        "KeySchema": KEY,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": "S"} for name in ("id", "tenant", "language")
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": [MEANING, PLAIN],
    }
    async with LocalEngine() as engine, engine.session() as session:
        await session._executor.send(Request(operation="CreateTable", body=body, table="passages", writes=True))
        found = await session.tables.describe(Passage)

    likeness, meaning = found.vector_indexes
    assert meaning == VectorIndexDescription(
        name="meaning",
        attribute="embedding",
        dimensions=3,
        distance="dot-product",
        partition_key="tenant",
        filters=("language",),
        projection=Projection("INCLUDE", ("text",)),
        status="ACTIVE",
        is_backfilling=False,
        item_count=0,
        size_bytes=0,
        arn=f"{found.arn}/index/meaning",
    )
    assert (likeness.distance, likeness.partition_key, likeness.filters) == ("cosine", None, ())
    assert likeness.is_ready


def test_a_vector_index_that_is_being_filled_is_not_ready_and_what_is_not_told_is_none():
    told = {"IndexName": "meaning", "IndexStatus": "CREATING", "Backfilling": True}
    table = {
        "TableName": "passages",
        "TableStatus": "ACTIVE",
        "KeySchema": KEY,
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "VectorIndexes": [told],
    }
    [index] = read_description({"Table": table}).vector_indexes

    assert not index.is_ready
    assert index.is_backfilling
    assert (index.attribute, index.dimensions, index.distance, index.projection, index.arn) == (None,) * 5
