"""Who goes next: the more urgent first, of equals the earlier one, each with all of its units or with none."""

import pytest

from dynamap_async import Priority
from dynamap_async.executor.pacing.buckets import Bucket
from dynamap_async.executor.pacing.estimates import Estimate, RequestKind
from dynamap_async.executor.pacing.tickets import QUANTUM_SECONDS, Ticket, UnitQueue

INTERACTIVE, BATCH, BACKGROUND = Priority
ESTIMATE = Estimate(RequestKind("PutItem", "t", None, False, 0), 1.0, {})


def bucket(rate=100.0, *, kept_seconds=300.0, now=0.0):
    made = Bucket(kept_seconds, now)
    made.know(rate, now)
    return made


def ticket(*draws, priority=INTERACTIVE):
    return Ticket(draws, priority, ESTIMATE)


@pytest.fixture
def line():
    return UnitQueue()


def joined(line, *tickets):
    for each in tickets:
        line.join(each)
    return tickets


def test_what_came_first_goes_first(line):
    table = bucket()
    first, second, third = joined(line, *(ticket((table, 10.0)) for _ in range(3)))
    assert line.admit(0.05) == []
    assert line.admit(0.1) == [first]
    assert line.admit(0.3) == [second, third]


def test_what_is_more_urgent_goes_first_whenever_it_came(line):
    table = bucket()
    low, high = joined(line, ticket((table, 10.0), priority=BATCH), ticket((table, 10.0)))
    assert line.admit(0.15) == [high]
    assert line.admit(0.30) == [low]


def test_an_operation_takes_all_its_units_or_none(line):
    table, index = bucket(), bucket(1.0)
    both, *_ = joined(line, ticket((table, 10.0), (index, 5.0)))
    assert line.admit(1.0) == []
    assert (table.tokens, index.tokens) == (100, 1)
    assert line.admit(5.0) == [both]
    assert (table.tokens, index.tokens) == (490, 0)


def test_what_the_first_waits_for_is_set_aside_and_the_rest_goes_to_others(line):
    table, index = bucket(), bucket(1.0)
    both, large, small = joined(
        line, ticket((table, 60.0), (index, 5.0)), ticket((table, 60.0)), ticket((table, 10.0), (bucket(), 0.0))
    )
    assert line.admit(1.0) == []
    assert line.admit(1.25) == [large]
    assert line.admit(1.35) == [small]
    assert line.admit(5.0) == [both]


def test_of_equal_needs_nobody_is_overtaken_by_a_smaller_one(line):
    table = bucket()
    large, small = joined(line, ticket((table, 50.0)), ticket((table, 1.0)))
    assert line.admit(0.4) == []
    assert line.admit(0.52) == [large, small]


def test_what_is_larger_than_the_bucket_goes_when_it_is_full_and_leaves_a_debt(line):
    table = bucket(kept_seconds=1.0)
    large, *_ = joined(line, ticket((table, 250.0)))
    assert line.admit(0.9) == []
    assert line.admit(1.0) == [large]
    assert table.tokens == -150


def test_background_work_gets_its_part_however_much_urgent_work_there_is(line):
    table, gone = bucket(), {INTERACTIVE: 0, BATCH: 0, BACKGROUND: 0}
    for priority in Priority:
        joined(line, *(ticket((table, 1.0), priority=priority) for _ in range(2000)))
    for step in range(1, 1001):
        for each in line.admit(step * 0.01):
            gone[each.priority] += 1
    assert gone[INTERACTIVE] == pytest.approx(800, rel=0.05)
    assert gone[BATCH] == pytest.approx(150, rel=0.1)
    assert gone[BACKGROUND] == pytest.approx(50, rel=0.1)


def test_a_ticket_that_leaves_the_line_takes_nothing(line):
    table = bucket()
    first, second = joined(line, ticket((table, 10.0)), ticket((table, 10.0)))
    line.leave(first, 0.05)
    assert line.admit(0.1) == [second]
    assert table.tokens == pytest.approx(0)
    assert not line.waiting


def test_a_ticket_that_was_admitted_gives_back_what_it_did_not_spend(line):
    table = bucket()
    (first,) = joined(line, ticket((table, 10.0)))
    line.admit(1.0)
    line.leave(first, 1.0)
    assert table.tokens == 100
    line.leave(first, 1.0)
    assert table.tokens == 100


def test_a_ticket_that_is_asked_for_again_keeps_its_place(line):
    table = bucket()
    first, second, third = joined(line, *(ticket((table, 10.0)) for _ in range(3)))
    assert line.admit(0.2) == [first, second]
    line.leave(second, 0.2)
    table.tokens = 0.0
    again = ticket((table, 10.0))
    again.number = second.number
    line.join(again)
    assert line.admit(0.4) == [again, third]


def test_one_that_waits_alone_is_looked_at_when_its_units_are_there(line):
    joined(line, ticket((bucket(), 10.0)))
    assert line.next_at(0.0) == pytest.approx(0.1)


def test_several_are_looked_at_when_they_can_go_together(line):
    table = bucket()
    joined(line, *(ticket((table, 1.0)) for _ in range(3)))
    assert line.next_at(0.0) == pytest.approx(0.03)


def test_nobody_waits_long_for_others(line):
    table = bucket()
    joined(line, *(ticket((table, 1.0)) for _ in range(25)))
    assert line.next_at(0.0) == pytest.approx(0.01 + QUANTUM_SECONDS)


def test_nobody_is_looked_at_where_nobody_waits(line):
    assert line.next_at(0.0) is None


@pytest.mark.parametrize("priority", Priority)
def test_when_it_says_so_somebody_goes(line, priority):
    table, index = bucket(), bucket(3.0, kept_seconds=2.0)
    joined(line, ticket((table, 70.0), (index, 4.0), priority=priority), ticket((table, 5.0), priority=priority))
    now = 0.0
    while line.waiting:
        now = line.next_at(now)
        assert line.admit(now)


def test_who_shares_no_call_waits_for_no_others(line):
    table = bucket()
    first, second = (ticket((table, 10.0)) for _ in range(2))
    first.patient = second.patient = False
    joined(line, first, second)
    assert line.next_at(0.0) == pytest.approx(0.1)


def test_whoever_comes_back_goes_before_all_that_came_later(line):
    table = bucket(kept_seconds=1.0)
    tickets = joined(line, *(ticket((table, 1.0)) for _ in range(60)))
    again = [tickets[number] for number in (40, 3, 21, 22, 4)]
    for each in again:
        line.leave(each, 0.0)
    joined(line, *again)
    assert line.admit(1.0) == list(tickets)


def test_of_thousands_that_come_back_none_looks_at_all_the_others(line, noting_calls):
    table, number = bucket(), 1_000
    tickets = joined(line, *(ticket((table, 1.0)) for _ in range(2 * number)))
    for each in tickets[:number]:
        line.leave(each, 0.0)
    calls = 0

    def count(_frame):
        nonlocal calls
        calls += 1

    with noting_calls(count):
        joined(line, *tickets[:number])
        for each in tickets[:number]:
            line.leave(each, 0.0)
    assert calls < 60 * number
