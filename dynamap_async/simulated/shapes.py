"""Parts of requests that many operations share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynamap_async.limits import INCLUDED_ATTRIBUTES_PER_INDEX
from dynamap_async.simulated.constraints import Structure, anything, choice, flag, listing, mapping, text
from dynamap_async.simulated.errors import invalid_value
from dynamap_async.simulated.legacy import COMPARISONS

NAME = r"[a-zA-Z0-9_.-]+"


def _table_name(value: object, path: str, found: list[str]) -> None:
    if isinstance(value, str) and value.startswith("arn:"):
        _ARN(value, path, found)
    else:
        _NAME(value, path, found)


_NAME = text(1, 255, NAME)
_ARN = text(1, 1024)
TABLE_NAME = _table_name
INDEX_NAME = text(3, 255, NAME)
CONSUMED = choice("INDEXES", "TOTAL", "NONE")
METRICS = choice("SIZE", "NONE")
RETURN_VALUES = choice("ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW")
ON_FAILURE = choice("ALL_OLD", "NONE")
OPERATOR = choice("AND", "OR")
ATTRIBUTES = mapping()
EXPRESSION = text()
NAMES = mapping(text(0, 65_535))
ATTRIBUTES_TO_GET = listing(text(0, 65_535), 1)
CONDITIONS = mapping(Structure({"ComparisonOperator!": choice(*COMPARISONS), "AttributeValueList": listing(anything)}))
EXPECTED = mapping(
    Structure(
        {
            "Value": anything,
            "Exists": flag,
            "ComparisonOperator": choice(*COMPARISONS),
            "AttributeValueList": listing(anything),
        }
    )
)
PROJECTION = Structure(
    {
        "ProjectionType": choice("ALL", "INCLUDE", "KEYS_ONLY"),
        "NonKeyAttributes": listing(text(1, 255), 1, INCLUDED_ATTRIBUTES_PER_INDEX),
    }
)
PLACEHOLDERS = {"ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": ATTRIBUTES}
CONDITION = {"ConditionExpression": EXPRESSION, "ReturnValuesOnConditionCheckFailure": ON_FAILURE, **PLACEHOLDERS}
ONE_WRITE = {
    **CONDITION,
    "ReturnConsumedCapacity": CONSUMED,
    "ReturnItemCollectionMetrics": METRICS,
    "ReturnValues": RETURN_VALUES,
    "Expected": EXPECTED,
    "ConditionalOperator": OPERATOR,
}


def projected_names(projection: dict[str, Any], always: Iterable[str]) -> frozenset[str] | None:
    """Return the attributes that an index has; None for all.

    Args:
        projection: the Projection of a request.
        always: those that it has whatever the projection says.

    Raises:
        Refused: it has no kind, or names attributes where it must not, or none where it must.
    """
    kind, extra = projection.get("ProjectionType"), projection.get("NonKeyAttributes")
    if kind is None:
        raise invalid_value("Unknown ProjectionType: null")
    if kind == "INCLUDE" and not extra:
        raise invalid_value("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
    if kind != "INCLUDE" and extra:
        raise invalid_value(f"ProjectionType is {kind}, but NonKeyAttributes is specified")
    return None if kind == "ALL" else frozenset({*always, *(extra or ())})
