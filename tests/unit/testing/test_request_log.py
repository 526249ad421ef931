"""A log of requests knows what travelled, and says so where an assertion fails."""

import pytest

from dynamap_async import RequestSent
from dynamap_async.testing import RequestLog


@pytest.fixture
def log():
    return RequestLog()


@pytest.fixture
def send(log):
    """Tell the log that a request was sent."""

    def tell(operation, **facts):
        own = {"exchange_id": 1, "waiter_ids": (1,), "tables": ("tweets",), "attempt": 1, "queued_seconds": 0.0}
        log(RequestSent(at=0.0, operation=operation, **own | facts))

    return tell


def test_the_requests_that_were_sent_are_asserted_exactly(log, send):
    log.assert_requests()
    send("GetItem")
    send("GetItem")
    send("Query")
    log.assert_requests(GetItem=2, Query=1, Scan=0)


@pytest.mark.parametrize("expected", [{}, {"GetItem": 1}, {"GetItem": 2, "Query": 1}, {"BatchGetItem": 1}])
def test_any_other_expectation_fails(log, send, expected):
    send("GetItem")
    send("GetItem")
    with pytest.raises(AssertionError, match="sent GetItem=2"):
        log.assert_requests(**expected)


def test_a_failure_lists_what_was_sent_in_its_order(log, send):
    send("Query", index="by_city")
    send("BatchGetItem", tables=("tweets", "users"), items=7, attempt=2)
    send("GetItem", items=1)
    with pytest.raises(AssertionError) as failure:
        log.assert_requests(Query=1)
    assert str(failure.value).splitlines() == [
        "expected Query=1, sent BatchGetItem=1, GetItem=1, Query=1",
        "  1. Query on tweets by by_city",
        "  2. BatchGetItem of 7 items on tweets, users, attempt 2",
        "  3. GetItem on tweets",
    ]


def test_a_log_that_is_cleared_begins_anew(log, send):
    send("GetItem")
    log.clear()
    send("Query")
    assert (log.requests, [each.operation for each in log.sent]) == ({"Query": 1}, ["Query"])
