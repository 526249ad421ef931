"""What refusals say of a rate: lowered only where that helps, raised while nothing is refused, never past a limit."""

import random

import pytest

from dynamap_async.executor.pacing.pace import Pace


def drive(pace, attempts, share, *, begin, seconds, chance=None):
    """Let answers come evenly, of which a part are refusals; return how many were refused."""
    chance, refused = chance or random.Random(7), 0
    for number in range(attempts):
        now = begin + (number + 1) * seconds / attempts
        if chance.random() < share:
            pace.refused(1, now, now)
            refused += 1
        else:
            pace.served(1.0, 1, now, now)
    return refused


def limited(pace, limit, *, begin, seconds, asked):
    """Let requests come at the pace, or at ``asked`` a second, before a table that has a limit."""
    now, tokens, served, refused = begin, 0.0, 0, 0
    while now < begin + seconds:
        step = 1 / min(asked, pace.rate or asked)
        now, tokens = now + step, min(limit, tokens + step * limit)
        pace.waited(step, now)
        if tokens >= 1:
            tokens -= 1
            served += 1
            pace.served(1.0, 1, now, now)
        else:
            refused += 1
            pace.refused(1, now, now)
    return served, refused


def known(limit):
    pace = Pace()
    pace.know(limit)
    return pace


def test_a_place_that_never_refused_anything_is_not_paced():
    pace = Pace()
    pace.waited(10.0, 10.0)
    assert pace.rate is None


@pytest.mark.parametrize("limit", [None, 5_000.0], ids=["unknown", "known"])
def test_a_few_refusals_in_a_thousand_change_nothing(limit):
    pace = known(limit)
    drive(pace, 40_000, 0.003, begin=0.0, seconds=10.0)
    assert pace.rate == limit


@pytest.mark.parametrize("share", [0.03, 0.1, 0.2])
def test_where_a_lower_rate_does_not_help_it_is_given_up(share):
    pace, paced = Pace(), 0.0
    for tenth in range(100):
        drive(pace, 400, share, begin=tenth / 10, seconds=0.1, chance=random.Random(tenth))
        if pace.rate is not None:
            paced += 0.1
            assert pace.rate > 0.6 * 4000
    assert paced < 3


@pytest.mark.parametrize("limit", [50.0, 1000.0, 5000.0])
def test_a_limit_is_found_and_kept(limit):
    pace = Pace()
    limited(pace, limit, begin=0.0, seconds=5.0, asked=5 * limit)
    served, refused = limited(pace, limit, begin=5.0, seconds=20.0, asked=5 * limit)
    assert served == pytest.approx(20 * limit, rel=0.02)
    assert refused < 0.05 * served


def test_a_limit_that_was_halved_is_followed():
    pace = Pace()
    limited(pace, 1000.0, begin=0.0, seconds=5.0, asked=5000.0)
    limited(pace, 500.0, begin=5.0, seconds=3.0, asked=5000.0)
    _, refused = limited(pace, 500.0, begin=8.0, seconds=2.0, asked=5000.0)
    assert 450 < pace.rate < 560
    assert refused < 50


def test_what_was_sent_before_the_rate_was_lowered_says_nothing_new():
    pace = Pace()
    limited(pace, 1000.0, begin=0.0, seconds=5.0, asked=5000.0)
    rate = pace.rate
    for _ in range(500):
        pace.refused(1, 0.5, 5.0)
        pace.refused(1, None, 5.0)
    assert pace.rate == rate


def test_after_an_outage_the_rate_comes_back_within_a_second():
    pace = Pace()
    drive(pace, 4000, 0.0, begin=0.0, seconds=4.0)
    drive(pace, 400, 1.0, begin=4.0, seconds=2.0)
    assert 10 <= pace.rate <= 300
    served, _ = limited(pace, 1e9, begin=6.0, seconds=0.5, asked=1000.0)
    assert served > 150
    assert pace.rate is None or pace.rate > 800


def test_a_few_refusals_of_a_table_that_is_just_back_do_not_lower_the_rate():
    pace = known(1000.0)
    drive(pace, 1000, 0.0, begin=0.0, seconds=4.0)
    drive(pace, 400, 1.0, begin=4.0, seconds=2.0)
    pace.served(1.0, 1, 6.0, 6.0)
    back = pace.rate
    for step in range(1, 20):
        pace.refused(1, 6.0 + step / 1000, 6.0 + step / 1000)
    assert pace.rate == back


@pytest.mark.parametrize("rate", [1.0, 100.0, 4000.0])
def test_the_rate_never_rises_past_what_is_known(rate):
    pace = known(rate)
    limited(pace, rate / 2, begin=0.0, seconds=max(5.0, 60 / rate), asked=rate)
    limited(pace, rate * 2, begin=100.0, seconds=max(20.0, 200 / rate), asked=2 * rate)
    assert pace.rate <= rate


def test_a_new_limit_counts_at_once_and_an_unchanged_one_leaves_what_was_learned():
    pace = known(1000.0)
    limited(pace, 500.0, begin=0.0, seconds=3.0, asked=5000.0)
    learned = pace.rate
    assert learned < 700
    pace.know(1000.0)
    assert pace.rate == learned
    pace.know(2000.0)
    assert pace.rate == 2000


def test_without_a_limit_any_more_only_what_was_learned_holds():
    pace, refused = known(1000.0), known(1000.0)
    limited(refused, 500.0, begin=0.0, seconds=3.0, asked=5000.0)
    learned = refused.rate
    pace.know(None)
    refused.know(None)
    assert pace.rate is None
    assert refused.rate == learned
