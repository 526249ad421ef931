"""A cancelled transaction: one reason for each action, in order, each with the error of that action alone."""

import pytest

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    IdempotentParameterMismatchError,
    ItemCollectionSizeLimitExceededError,
    ProvisionedThroughputExceededError,
    RequestRejectedError,
    ThrottledError,
    TransactionCanceledError,
    TransactionConflictError,
    TransactionInProgressError,
    UnknownServiceError,
)
from dynamap_async.request import Request
from dynamap_async.transport.translate import service_error

ITEM = {"id": {"S": "a"}, "n": {"N": "1"}}
ACTIONS = [
    {"Put": {"TableName": "tweets", "Item": ITEM}},
    {"ConditionCheck": {"TableName": "users", "Key": {"id": {"S": "b"}}}},
]


def cancelled(*reasons, actions=ACTIONS, **facts):
    body = {"TransactItems": actions}
    request = Request(operation="TransactWriteItems", body=body, table="tweets, users", writes=True)
    if reasons:
        facts["CancellationReasons"] = list(reasons)
    error = service_error(request, code="TransactionCanceledException", status=400, facts=facts, request_id="r")
    assert type(error) is TransactionCanceledError
    return error


def test_each_action_has_its_reason_in_order():
    error = cancelled({"Code": "None"}, {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"})
    assert [(reason.position, reason.code, reason.operation, reason.table) for reason in error.reasons] == [
        (0, None, "PutItem", "tweets"),
        (1, "ConditionalCheckFailed", "ConditionCheck", "users"),
    ]
    assert [reason.message for reason in error.reasons] == [None, "The conditional request failed"]
    assert error.failures == error.reasons[1:]


def test_failed_condition_brings_the_stored_item():
    error = cancelled({"Code": "ConditionalCheckFailed", "Item": ITEM}, {"Code": "None"})
    [reason] = error.failures
    assert reason.wire_item == ITEM
    assert isinstance(reason.error, ConditionalCheckFailedError)
    assert reason.error.wire_item == ITEM


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ConditionalCheckFailed", ConditionalCheckFailedError),
        ("ItemCollectionSizeLimitExceeded", ItemCollectionSizeLimitExceededError),
        ("TransactionConflict", TransactionConflictError),
        ("ProvisionedThroughputExceeded", ProvisionedThroughputExceededError),
        ("ThrottlingError", ThrottledError),
        ("ValidationError", RequestRejectedError),
        ("SomethingNew", UnknownServiceError),
    ],
)
def test_reason_has_the_error_that_its_action_alone_would_have_met(code, kind):
    [reason] = cancelled({"Code": code, "Message": "why"}, {"Code": "None"}).failures
    assert type(reason.error) is kind
    assert (reason.error.operation, reason.error.table) == ("PutItem", "tweets")
    assert "why" in str(reason.error)


@pytest.mark.parametrize(
    ("codes", "passes"),
    [
        (["TransactionConflict", "None"], True),
        (["ThrottlingError", "ProvisionedThroughputExceeded"], True),
        (["TransactionConflict", "ConditionalCheckFailed"], False),
        (["ValidationError", "None"], False),
        (["SomethingNew", "None"], False),
        (["None", "None"], False),
    ],
)
def test_cancellation_is_worth_another_attempt_only_where_every_reason_passes(codes, passes):
    assert cancelled(*({"Code": code} for code in codes)).retryable is passes


def test_codes_are_read_from_the_message_where_the_answer_lists_no_reasons():
    message = (
        "Transaction cancelled, please refer cancellation reasons for specific reasons [None, TransactionConflict]"
    )
    error = cancelled(message=message)
    assert [reason.code for reason in error.reasons] == [None, "TransactionConflict"]
    assert error.retryable


@pytest.mark.parametrize("facts", [{}, {"CancellationReasons": None}, {"CancellationReasons": "?"}, {"message": "[]"}])
def test_answer_without_reasons_is_no_riddle(facts):
    error = cancelled(**facts)
    assert error.reasons == ()
    assert not error.retryable


@pytest.mark.parametrize("entry", [None, {}, "None", 5, {"Code": None}])
def test_reason_of_no_documented_form_stands_for_none(entry):
    assert [reason.code for reason in cancelled(entry, {"Code": "None"}).reasons] == [None, None]


def test_reasons_of_statements_name_the_call():
    error = cancelled({"Code": "DuplicateItem"}, actions=None)
    [reason] = error.reasons
    assert (reason.operation, reason.table) == ("TransactWriteItems", "tweets, users")


@pytest.mark.parametrize(
    ("code", "kind", "retryable"),
    [
        ("TransactionInProgressException", TransactionInProgressError, True),
        ("IdempotentParameterMismatchException", IdempotentParameterMismatchError, False),
    ],
)
def test_errors_of_tokens_say_whether_to_try_again(code, kind, retryable):
    request = Request(operation="TransactWriteItems", body={}, table="tweets", writes=True)
    error = service_error(request, code=code, status=400, facts={}, request_id=None)
    assert type(error) is kind
    assert error.retryable is retryable
