"""Model files of NoSQL Workbench: their tables and sample data become designs."""

import json

import pytest

from dynamap_async.generate import design_of, samples_in

MODEL = {
    "ModelName": "Shop",
    "ModelMetadata": {"Version": "3.0"},
    "DataModel": [
        {
            "TableName": "shop",
            "KeyAttributes": {
                "PartitionKey": {"AttributeName": "pk", "AttributeType": "S"},
                "SortKey": {"AttributeName": "sk", "AttributeType": "S"},
            },
            "NonKeyAttributes": [{"AttributeName": "total", "AttributeType": "N"}],
            "TableFacets": [{"FacetName": "Order"}],
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": "by-status",
                    "KeyAttributes": {"PartitionKey": {"AttributeName": "status", "AttributeType": "S"}},
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
                }
            ],
            "TableData": [
                {"pk": {"S": f"C#{n}"}, "sk": {"S": f"O#{n:03d}"}, "total": {"N": "1.5"}, "status": {"S": "open"}}
                for n in range(6)
            ],
        },
        {"TableName": "users", "KeyAttributes": {"PartitionKey": {"AttributeName": "id", "AttributeType": "N"}}},
    ],
}


def test_tables_are_read_with_their_sample_data(imported, unequal):
    shop, users = samples_in(json.dumps(MODEL))
    assert [each.name for each in shop.schema.indexes] == ["by-status"]
    text = design_of(shop).source()
    assert 'by_status = GlobalIndex("by-status", partition_key="status", projection=include("total"))' in text
    assert unequal(imported(text), shop.items) == []
    assert "id: PartitionKey[Decimal]" in design_of(users).source()


def with_key(name="id", kind="S", **more):
    keys = {"PartitionKey": {"AttributeName": name, "AttributeType": kind}}
    return {"DataModel": [{"TableName": "users", "KeyAttributes": keys} | more]}


def with_index(name="by-x", projection="ALL", included=()):
    keys = {"PartitionKey": {"AttributeName": "x", "AttributeType": "S"}}
    projected = {"ProjectionType": projection, "NonKeyAttributes": included}
    return with_key(
        GlobalSecondaryIndexes=[{"IndexName": name, "KeyAttributes": keys, "Projection": projected}],
        TableData=[{"id": {"S": "a"}, "x": {"S": "b"}}],
    )


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (with_key(TableName='users"""\nx = 1'), "the table name"),
        (with_index('by-x\nx = 1\n"""'), "the index name"),
        (with_index(projection="X\nx = 1"), "projects"),
        (with_index(projection="INCLUDE", included=[""]), "the attribute name"),
        (with_key(kind="S\nx = 1"), "is of type"),
        (with_key(name=""), "the attribute name"),
        (with_key(name="a" * 256), "the attribute name"),
        (with_key(name="\ud800"), "surrogates not allowed"),
        (with_key(TableData=[{"id": {"S": "a"}, "x": {"M": {"\ud800": {"S": "a"}}}}]), "surrogates not allowed"),
        (with_key(name=["id"]), "export the model from it as JSON"),
        (with_key(TableData=[{"id": {"S": "a"}, "": {"S": "a"}}]), "the attribute name ''"),
        (with_key(TableData=[{"id": {"S": "a"}, "x": {"X": "a"}}]), "holds no value of DynamoDB's"),
        (with_key(TableData=[{"id": {"S": "a"}, "x": {"N": "1 or x"}}]), "holds no value of DynamoDB's"),
    ],
)
def test_what_dynamodb_refuses_is_refused_before_anything_is_made_of_it(model, problem):
    with pytest.raises(ValueError, match=problem):
        samples_in(json.dumps(model))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"DataModel": [{}]}', '{"DataModel": 1}'])
def test_what_is_no_model_is_refused_with_a_remedy(text):
    with pytest.raises(ValueError, match="export the model from it as JSON"):
        samples_in(text)
