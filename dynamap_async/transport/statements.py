"""What DynamoDB answers to several statements in one call: failures of single ones inside a success.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchStatementError.html
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dynamap_async.errors import ServiceError
from dynamap_async.request import Request
from dynamap_async.transport.translate import error_of_part


def statement_error(request: Request, response: Mapping[str, Any]) -> ServiceError | None:
    """Return what a statement failed with, as it would have on its own; None if it did not fail.

    Args:
        request: the request of all statements.
        response: what DynamoDB answered to one.
    """
    facts: Mapping[str, Any] | None = response.get("Error")
    if not facts:
        return None
    table = str(response.get("TableName") or request.table)
    return error_of_part(replace(request, table=table), str(facts.get("Code") or "None"), facts)
