"""A log of requests knows what travelled, and says so where an assertion fails."""

import pytest

from dynamap_async import RequestAnswered, RequestSent
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


@pytest.fixture
def answer(log):
    """Tell the log that a request was answered, and what it took."""

    def tell(operation, reads=None, writes=None, **facts):
        own = {"exchange_id": 1, "waiter_ids": (1,), "tables": ("tweets",), "attempt": 1, "duration_seconds": 0.0}
        log(
            RequestAnswered(at=0.0, operation=operation, read_units=reads, write_units=writes, **own | facts),
        )

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


def test_units_are_asserted_up_to_a_limit(log, answer):
    log.assert_read_units(at_most=0)
    answer("Query", 2.5, 0.0)
    answer("PutItem", 0.0, 3.0)
    answer("PutItem", error=KeyError)
    assert (log.read_units, log.write_units) == (2.5, 3.0)
    log.assert_read_units(at_most=2.5)
    log.assert_write_units(at_most=4)


def test_units_over_the_limit_fail_and_the_failure_says_who_took_them(log, answer):
    answer("Query", 2.5, 0.0, index="by_city")
    answer("BatchGetItem", 0.5, 0.0, items=7)
    with pytest.raises(AssertionError) as failure:
        log.assert_read_units(at_most=2)
    assert str(failure.value).splitlines() == [
        "expected at most 2 read units, and 3 were taken",
        "  1. Query on tweets by by_city: 2.5 read, 0 write",
        "  2. BatchGetItem of 7 items on tweets: 0.5 read, 0 write",
    ]
    log.clear()
    log.assert_read_units(at_most=0)


def test_units_of_answers_that_did_not_say_cannot_be_asserted(log, answer):
    answer("DescribeTable")
    log.assert_write_units(at_most=1)
    answer("PutItem")
    with pytest.raises(AssertionError, match="0 were taken, and 1 answers did not say"):
        log.assert_write_units(at_most=1)
