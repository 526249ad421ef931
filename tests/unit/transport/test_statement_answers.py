"""Failures of single statements inside a success: each becomes the error that the statement alone would have met."""

import pytest

from dynamap_async.errors import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    DuplicateItemError,
    InternalServerError,
    ItemCollectionSizeLimitExceededError,
    ProvisionedThroughputExceededError,
    RequestLimitExceededError,
    RequestRejectedError,
    ResourceNotFoundError,
    ThrottledError,
    TransactionConflictError,
    UnknownServiceError,
)
from dynamap_async.request import Request
from dynamap_async.transport import statement_error

REQUEST = Request(operation="BatchExecuteStatement", body={}, table="a, b")
KINDS = {
    "ConditionalCheckFailed": ConditionalCheckFailedError,
    "ItemCollectionSizeLimitExceeded": ItemCollectionSizeLimitExceededError,
    "RequestLimitExceeded": RequestLimitExceededError,
    "ValidationError": RequestRejectedError,
    "ProvisionedThroughputExceeded": ProvisionedThroughputExceededError,
    "TransactionConflict": TransactionConflictError,
    "ThrottlingError": ThrottledError,
    "InternalServerError": InternalServerError,
    "ResourceNotFound": ResourceNotFoundError,
    "AccessDenied": AccessDeniedError,
    "DuplicateItem": DuplicateItemError,
    "SomethingNew": UnknownServiceError,
}


@pytest.mark.parametrize(("code", "kind"), KINDS.items(), ids=KINDS)
def test_each_code_is_an_error_of_its_own(code, kind):
    error = statement_error(REQUEST, {"Error": {"Code": code, "Message": "because"}, "TableName": "b"})
    assert type(error) is kind
    assert "because" in str(error)
    assert (error.table, error.operation) == ("b", "BatchExecuteStatement")


def test_a_failed_condition_carries_the_stored_item():
    item = {"id": {"S": "a"}}
    error = statement_error(REQUEST, {"Error": {"Code": "ConditionalCheckFailed", "Item": item}})
    assert isinstance(error, ConditionalCheckFailedError)
    assert (error.wire_item, error.table) == (item, "a, b")


@pytest.mark.parametrize("response", [{}, {"TableName": "b"}, {"Item": {}}, {"Error": {}}, {"Error": None}])
def test_a_statement_without_error_succeeded(response):
    assert statement_error(REQUEST, response) is None
