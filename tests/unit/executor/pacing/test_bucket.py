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


def test_what_is_not_used_is_kept_up_to_the_burst():
    kept = bucket(kept_seconds=10)
    kept.fill(4.0)
    assert kept.tokens == 400
    kept.fill(400.0)
    assert kept.tokens == 1000


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
