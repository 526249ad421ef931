"""The model files of NoSQL Workbench for DynamoDB: their tables, with the sample data that they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dynamap_async.generate.sample import Sample
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, TableSchema
from dynamap_async.transport import fault_of_values


def samples_in(text: str) -> tuple[Sample, ...]:
    """Return the tables of a model file of NoSQL Workbench, each with its sample data.

    Args:
        text: the file, JSON.

    Raises:
        ValueError: it is no such file, or it has a name that DynamoDB refuses.
    """
    try:
        model: Any = json.loads(text)
        json.dumps(model, ensure_ascii=False).encode()  # fails for half a character, which DynamoDB never holds
        tables = [_table(table) for table in model["DataModel"]]
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"this is not a data model of NoSQL Workbench ({type(error).__name__}: {error}); export the model from it "
            "as JSON"
        ) from error
    return tuple(Sample(schema=schema, items=items) for schema, items in tables)


def _table(table: Mapping[str, Any]) -> tuple[TableSchema, tuple[Any, ...]]:
    indexes = [
        IndexSchema(
            name=index["IndexName"],
            kind=IndexKind.GLOBAL,
            keys=_keys(index["KeyAttributes"]),
            projection=Projection(
                index.get("Projection", {}).get("ProjectionType", "ALL"),
                tuple(index.get("Projection", {}).get("NonKeyAttributes", ())),
            ),
        )
        for index in table.get("GlobalSecondaryIndexes", ())
    ]
    schema = TableSchema(name=table["TableName"], keys=_keys(table["KeyAttributes"]), indexes=tuple(indexes))
    return schema, _items(table.get("TableData", ()), schema)


def _items(data: Sequence[Any], schema: TableSchema) -> tuple[Any, ...]:
    items = {str([item[name] for name in schema.keys.names]): dict(item) for item in data}
    fault = fault_of_values(items.values())
    if fault is not None:
        raise ValueError(f"an item of {schema.name!r}: {fault}")
    return tuple(items.values())


def _keys(keys: Mapping[str, Any]) -> KeySchema:
    sort = keys.get("SortKey")
    return KeySchema((_attribute(keys["PartitionKey"]),), (_attribute(sort),) if sort else ())


def _attribute(attribute: Mapping[str, Any]) -> KeyAttribute:
    name: object = attribute["AttributeName"]
    if not isinstance(name, str):
        raise TypeError(f"the key attribute {name!r} is named by no text")
    return KeyAttribute(name, attribute["AttributeType"])
