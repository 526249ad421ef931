"""Parts of requests that many operations share."""

from __future__ import annotations

from dynamap_async.simulated.constraints import Structure, anything, choice, flag, listing, mapping, text
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
