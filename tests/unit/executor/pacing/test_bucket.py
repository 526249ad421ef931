"""Units come at a rate, are kept for a while, and may be owed."""

import pytest

from dynamap_async import Priority
from dynamap_async.executor.pacing.buckets import FIRST_UNITS, LENT_UNITS, Bucket

INTERACTIVE, BATCH, BACKGROUND = Priority


def bucket(rate=100.0, *, kept_seconds=300.0):
    made = Bucket(kept_seconds, 0.0)
    made.know(rate, 0.0)
    return made


def test_a_bucket_begins_empty():
    assert bucket().tokens == 0


def test_of_what_nobody_used_a_little_may_be_spent_at_once_and_the_rest_as_fast_again_as_the_rate():
    kept = bucket(kept_seconds=1)
    kept.fill(400.0)
    assert kept.tokens == 25
    kept.fill(400.5, (BATCH,))
    assert kept.tokens == 25 + 2 * 50
    kept.fill(402.0, (BATCH,))
    assert kept.tokens == 275  # what came while it was waited for; what is there is not made more than a second's worth


@pytest.mark.parametrize("rate", [5.0, 300.0, 50_000.0])
def test_a_refusal_of_what_was_kept_says_nothing_about_the_rate(rate):
    spending = bucket(rate, kept_seconds=1)
    spending.fill(60.0)
    for _ in range(40):
        spending.take(1.0, BATCH)
        spending.refuse(1, 60.0, 60.01)
    assert spending.tokens <= 0
    assert (spending.pace.rate, spending.pace.state(60.01)) == (rate, "known")
    spending.fill(60.51, (BATCH,))
    assert spending.tokens <= 0.51 * rate  # what was kept is gone


def test_a_limit_that_is_too_high_is_found_though_units_seem_to_be_kept():
    wrong, served, refused = bucket(1000.0, kept_seconds=1), 0.0, 0
    for step in range(3_000):
        now = 60.0 + step / 1000
        served = min(served + 0.3, 30.0)  # of a table of 300 units
        wrong.fill(now)
        if wrong.tokens < 1:
            continue
        wrong.take(1.0, BATCH)
        if served >= 1:
            served -= 1
            wrong.pace.served(1.0, 1, now, now + 0.004)
        else:
            refused += 1
            wrong.refuse(1, now, now + 0.004)
    assert wrong.pace.rate < 400
    assert refused < 600


def test_a_debt_is_paid_off_before_anything_is_there():
    owing = bucket()
    owing.take(250.0, INTERACTIVE)
    owing.fill(2.0)
    assert owing.tokens == -50
    assert owing.seconds_until(1.0) == pytest.approx(0.51)


@pytest.mark.parametrize(("priority", "kept"), [(INTERACTIVE, 0), (BATCH, 5), (BACKGROUND, 10)])
def test_less_urgent_work_leaves_units_for_what_may_come(priority, kept):
    assert bucket().needed(1.0, priority, due=False) == 1 + kept


def test_what_is_larger_than_the_bucket_needs_a_full_one():
    assert bucket(kept_seconds=2).needed(500.0, BACKGROUND, due=False) == 200


def test_an_open_bucket_always_has_enough():
    free = Bucket(300.0, 0.0)
    assert free.open
    assert free.needed(1e9, BACKGROUND, due=False) < free.tokens
    assert free.seconds_until(1e9) == 0


def test_a_priority_that_waits_is_due_when_its_part_of_the_rate_has_brought_the_units():
    waited_for = bucket()
    waited_for.fill(0.9, (BACKGROUND,))
    assert not waited_for.is_due(5.0, BACKGROUND)
    waited_for.fill(1.1, (BACKGROUND,))
    assert waited_for.is_due(5.0, BACKGROUND)
    waited_for.take(5.0, BACKGROUND)
    assert not waited_for.is_due(5.0, BACKGROUND)
    waited_for.fill(2.0)
    assert not waited_for.is_due(0.1, BACKGROUND)


def test_the_most_urgent_has_no_guaranteed_part_for_it_has_the_rest():
    waited_for = bucket()
    waited_for.fill(100.0, (INTERACTIVE,))
    assert not waited_for.is_due(1.0, INTERACTIVE)


def test_what_was_lent_while_the_limit_was_unknown_is_paid_back():
    lent = Bucket(300.0, 0.0)
    lent.suppose()
    assert lent.tokens == LENT_UNITS
    lent.take(LENT_UNITS, INTERACTIVE)
    lent.know(1000.0, 0.0)
    assert lent.tokens == -LENT_UNITS


def test_after_a_flood_of_refusals_a_few_units_are_there_and_after_others_none():
    refused = Bucket(300.0, 0.0)
    refused.refuse(25, None, 1.0)
    assert refused.tokens == FIRST_UNITS
    refused.fill(3.0)
    refused.refuse(1, 2.9, 3.0)
    assert refused.tokens == 0


def test_nothing_is_owed_after_an_outage():
    indebted = bucket()
    indebted.take(500.0, INTERACTIVE)
    for step in range(30):
        indebted.refuse(1, step / 50, step / 50)
    assert indebted.pace.state(0.6) == "out"
    assert indebted.tokens == 0


def test_little_is_owed_of_a_rate_that_was_learned_for_what_is_delivered_beside_it():
    learned, told = bucket(None), bucket()
    for number in range(12):
        learned.refuse(5, None, 1.0 + number / 100)
    assert learned.pace.rate == 100
    for each in (learned, told):
        each.give(-2_000.0)
    assert (learned.tokens, told.tokens) == (-50, -2_000)


def recorded(spending, units, *, begin, seconds):
    """Let so many answers of a unit each come evenly to requests that waited for nothing."""
    for number in range(units):
        spending.record(1.0, 0.0, 1, None, begin + (number + 1) * seconds / units)


@pytest.mark.parametrize("pause", [0.5, 1000.0])
def test_what_urgent_requests_spent_after_a_pause_is_owed_though_nobody_looked_meanwhile(pause):
    rested = bucket(100.0, kept_seconds=1)
    rested.fill(10.0)
    recorded(rested, 300, begin=10.0 + pause, seconds=0.04)
    rested.fill(10.04 + pause)
    assert rested.tokens == pytest.approx(25 - 300, abs=0.05 * 100)


@pytest.mark.parametrize("used", [60, 100, 150])
def test_what_urgent_requests_spend_is_taken_from_what_comes(used):
    spending, exact = bucket(100.0, kept_seconds=1), bucket(100.0, kept_seconds=1)
    for number in range(20):
        recorded(spending, used, begin=number, seconds=1.0)
        for answer in range(used):
            exact.fill(number + (answer + 1) / used)
            exact.give(-1.0)
    spending.fill(20.0)
    assert spending.tokens == pytest.approx(exact.tokens, abs=0.05 * 100)
