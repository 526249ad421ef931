"""How fast is learned from refusals: down at once, up slowly and then faster, never past what is known."""

import pytest

from dynamap_async.executor.pacing.buckets import FIRST_RATE, LearnedRate


def paced(rate, *, now=0.0):
    pace = LearnedRate()
    pace.know(rate, now)
    return pace


def test_a_place_that_never_refused_anything_is_not_paced():
    pace = LearnedRate()
    pace.rise(10.0, 10.0)
    assert pace.rate is None


def test_the_first_refusal_begins_at_a_small_rate_and_doubles_it_as_answers_confirm_it():
    pace = LearnedRate()
    assert pace.refused(None, 1.0)
    assert pace.rate == FIRST_RATE
    for step in range(1, 11):
        pace.delivered.add(pace.rate * 0.1, 1.0 + step * 0.1)
        pace.rise(0.1, 1.0 + step * 0.1)
    assert 4 * FIRST_RATE < pace.rate < 2**10 * FIRST_RATE


def test_the_rate_does_not_run_away_from_what_is_delivered():
    pace = LearnedRate()
    pace.refused(None, 1.0)
    for step in range(100):
        pace.rise(0.1, 1.0 + step * 0.1)
    assert pace.rate == FIRST_RATE


def test_a_table_that_served_for_a_while_goes_on_at_nearly_the_same_rate():
    pace = LearnedRate()
    for step in range(300):
        pace.delivered.add(10.0, step * 0.01)
    pace.refused(None, 3.0)
    assert pace.rate == pytest.approx(950, rel=0.02)


def test_the_refusals_of_one_burst_are_one_signal():
    pace = paced(1000.0)
    assert pace.refused(1.0, 2.0)
    lowered = pace.rate
    assert not pace.refused(1.9, 2.1)
    assert not pace.refused(None, 2.1)
    assert pace.rate == lowered < 1000
    assert pace.refused(2.05, 2.1)
    assert pace.rate < lowered


def test_a_refusal_never_halves_the_rate_more_than_once():
    pace = paced(1000.0)
    pace.refused(1.0, 2.0)
    assert pace.rate == 500


def test_while_nobody_is_refused_the_rate_rises_faster_and_faster():
    pace = LearnedRate()
    pace.know(10_000.0, 0.0)
    pace.delivered.add(1000.0, 0.0)
    pace.refused(0.5, 0.5)
    pace.rate = 500.0
    gains = []
    for second in range(1, 5):
        before = pace.rate
        for step in range(10):
            now = second + step * 0.1
            pace.delivered.add(pace.rate * 0.1, now)
            pace.rise(0.1, now)
        gains.append(pace.rate - before)
    assert gains == sorted(gains)
    assert pace.rate > 900


@pytest.mark.parametrize("rate", [1.0, 100.0, 100_000.0])
def test_the_rate_never_rises_past_what_is_known(rate):
    pace = paced(rate)
    pace.refused(1.0, 1.0)
    for step in range(2000):
        now = 1.0 + step * 0.1
        pace.delivered.add(pace.rate * 0.1, now)
        pace.rise(0.1, now)
    assert pace.rate == rate


def test_a_new_limit_counts_at_once_and_an_unchanged_one_leaves_what_was_learned():
    pace = paced(1000.0)
    pace.refused(1.0, 2.0)
    learned = pace.rate
    pace.know(1000.0, 3.0)
    assert pace.rate == learned
    pace.know(2000.0, 4.0)
    assert pace.rate == 2000


@pytest.mark.parametrize(("refused", "rate"), [(False, None), (True, 500.0)], ids=["never refused", "refused"])
def test_without_a_limit_any_more_only_what_was_learned_holds(refused, rate):
    pace = paced(1000.0)
    if refused:
        pace.refused(1.0, 2.0)
    pace.know(None, 3.0)
    assert pace.rate == rate
