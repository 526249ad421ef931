"""What the end of an exchange says of units: spent, not spent, or refused, and where."""

import pytest

from dynamap_async.errors import (
    CancellationReason,
    ConditionalCheckFailedError,
    ConnectionFailedError,
    InternalServerError,
    Outcome,
    ProvisionedThroughputExceededError,
    RequestRejectedError,
    TransactionCanceledError,
)
from dynamap_async.executor.admission import verdict_of
from dynamap_async.executor.calls import Call, FinishedExchange, json_size
from dynamap_async.executor.consumed import TableOrIndex
from dynamap_async.executor.pacing.heat import Partition
from dynamap_async.request import Request, Target, about_tables

KEY = {"id": {"S": "ada"}}
PUT = Request(operation="PutItem", body={}, table="t", target=Target(KEY, "t ada"), writes=True)
BATCH = Request(operation="BatchWriteItem", body={}, table="t", writes=True)
QUERY = Request(operation="Query", body={}, table="t", index="i")
ARN = "arn:aws:dynamodb:eu-west-1:1:table/"


def refusal(kind, **facts):
    error = kind("no", service_code="No", operation="PutItem", table="t", status=400)
    error.__dict__.update(facts)
    return error


def lost(outcome):
    return ConnectionFailedError("lost", outcome=outcome, operation="PutItem", table="t")


def finished(request, error=None, *, left_over=(), throttled=(), carried=1):
    sendings = [Call(PUT if request is BATCH else request, []) for _ in range(carried)]
    left, short = [sendings[n] for n in left_over], [sendings[n] for n in throttled]
    return FinishedExchange(request, sendings, None, json_size, error, left, short)


@pytest.mark.parametrize(
    ("error", "became"),
    [
        (None, "spent"),
        (refusal(ConditionalCheckFailedError), "spent"),
        (refusal(InternalServerError), "spent"),
        (lost(Outcome.UNKNOWN), "spent"),
        (KeyboardInterrupt(), "spent"),
        (refusal(RequestRejectedError), "returned"),
        (lost(Outcome.NOT_SENT), "returned"),
        (refusal(ProvisionedThroughputExceededError), "refused"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_units_of_what_may_have_been_carried_out_are_spent(error, became):
    ended = finished(PUT, error)
    verdict = verdict_of(ended)
    assert [name for name in ("spent", "returned", "refused") if getattr(verdict, name)] == [became]
    assert getattr(verdict, became) == ended.carried


def test_of_a_batch_what_was_left_over_for_its_size_is_given_back_and_what_was_short_is_refused():
    ended = finished(BATCH, left_over=(1, 2), throttled=(2,), carried=4)
    verdict = verdict_of(ended)
    assert list(verdict.spent) == [ended.carried[0], ended.carried[3]]
    assert list(verdict.returned) == [ended.carried[1]]
    assert list(verdict.refused) == [ended.carried[2]]
    assert verdict.short == [TableOrIndex("t", None, True)]


@pytest.mark.parametrize(
    ("request_", "reasons", "short"),
    [
        (PUT, (), [TableOrIndex("t", None, True)]),
        (QUERY, (), [TableOrIndex("t", "i", False)]),
        (PUT, (f"TableWriteProvisionedThroughputExceeded {ARN}t",), [TableOrIndex("t", None, True)]),
        (PUT, (f"IndexWriteProvisionedThroughputExceeded {ARN}t/index/by_city",), [TableOrIndex("t", "by_city", True)]),
        (QUERY, (f"IndexReadMaxOnDemandThroughputExceeded {ARN}t/index/i",), [TableOrIndex("t", "i", False)]),
        (PUT, ("TableWriteAccountLimitExceeded",), [TableOrIndex("t", None, True)]),
        (PUT, ("something new",), [TableOrIndex("t", None, True)]),
    ],
    ids=["a write", "a page", "table", "index of a write", "index", "no resource", "unknown"],
)
def test_where_capacity_was_short_is_what_the_service_says_or_wherever_the_request_goes(request_, reasons, short):
    error = refusal(ProvisionedThroughputExceededError, reasons=reasons)
    assert verdict_of(finished(request_, error)).short == short


def test_a_partition_that_is_short_is_not_its_table():
    reasons = (f"TableWriteKeyRangeThroughputExceeded {ARN}t",)
    verdict = verdict_of(finished(PUT, refusal(ProvisionedThroughputExceededError, reasons=reasons)))
    assert (verdict.hot, verdict.short) == (Partition("t", "ada", True), [])


def test_a_transaction_that_found_no_capacity_was_charged_and_names_its_table():
    reasons = tuple(
        CancellationReason(position=n, code=code, table=table)
        for n, (code, table) in enumerate([(None, "t"), ("ThrottlingError", "u"), ("TransactionConflict", "v")])
    )
    request = Request(operation="TransactWriteItems", body={}, **about_tables("tuv"), writes=True)
    ended = finished(request, refusal(TransactionCanceledError, reasons=reasons))
    verdict = verdict_of(ended)
    assert (verdict.spent, verdict.short) == (ended.carried, [TableOrIndex("u", None, True)])
