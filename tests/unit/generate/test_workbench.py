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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"DataModel": [{}]}', '{"DataModel": 1}'])
def test_what_is_no_model_is_refused_with_a_remedy(text):
    with pytest.raises(ValueError, match="export the model from it as JSON"):
        samples_in(text)
