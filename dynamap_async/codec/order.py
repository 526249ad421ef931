"""Order of stored key values as DynamoDB sorts them, and the one form of equal keys.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html (ScanIndexForward)
"""

from decimal import Decimal
from typing import Any

from dynamap_async.codec.plain import parse_binary
from dynamap_async.wire import AttributeValue


def order_key(value: AttributeValue) -> tuple[str, Any]:
    """Return something that sorts as DynamoDB sorts key values: text by UTF-8 bytes, numbers by value, binary by bytes.

    Values of different types compare by the name of their type, so that the result is always defined.
    """
    if "S" in value:
        return "S", value["S"].encode()
    if "N" in value:
        return "N", Decimal(value["N"])
    if "B" in value:
        return "B", parse_binary(value["B"])
    return next(iter(value)), 0
