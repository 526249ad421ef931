"""What refusals say of a rate: lowered only where that helps, raised while nothing is refused, never past a limit."""

import heapq
import math
import random

import pytest

from dynamap_async.executor.pacing.pace import FIRST_RATE, Pace


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


def calls(pace, share, *, begin, seconds, chance, size=25, callers=20, seconds_each=0.08, limit=math.inf, out=False):
    """Let callers send call after call, each again until it is served; return how many items a second are served.

    Args:
        pace: the pace; None where nobody waits.
        share: the part of the calls that is refused whatever the rate.
        begin: when it begins.
        seconds: how long it is.
        chance: draws what is refused.
        size: of how many items each call is.
        callers: how many send at the same time.
        seconds_each: how long an answer takes.
        limit: how many items a second the table has.
        out: whether everything is refused.
    """
    events, served, there, given = [(begin, caller, None) for caller in range(callers)], 0, 0.0, 0.0
    waiting, before = [], begin
    while events[0][0] < begin + seconds:
        now, caller, answer = heapq.heappop(events)
        if answer is not None:
            got, asked, sent_at = answer
            served += got
            if pace is not None and got:
                pace.served(float(got), got, sent_at, now, asked)
            if pace is not None and got < asked:
                pace.refused(asked - got, sent_at, now, asked)
            heapq.heappush(events, (now + (0.0 if got == asked else chance.random() / 20), caller, None))
            continue
        waiting += [] if caller < 0 else [caller]
        if pace is not None and waiting:
            pace.waited(now - before, now)
        rate = math.inf if pace is None or pace.rate is None else pace.rate
        there, given, before = (
            min(limit, there + (now - before) * limit) if limit < math.inf else math.inf,
            min(max(rate, size), given + (now - before) * rate) if rate < math.inf and now > before else given,
            now,
        )
        # As the tickets do: nobody waits long for others, and nobody at all while it is found out why most is refused.
        asked = size if rate >= 10 * size else 1 if pace.trying else min(size, 1 + int(rate / 40))
        while waiting and (rate == math.inf or given >= min(asked, rate)):
            given -= asked if rate < math.inf else given
            got = 0 if out or chance.random() < share else int(min(asked, there))
            there -= got
            sent_at = None if rate == math.inf else now
            heapq.heappush(events, (now + seconds_each, waiting.pop(), (got, asked, sent_at)))
        if waiting and not any(each < 0 for _, each, _ in events):
            heapq.heappush(events, (now + max(0.001, (min(asked, rate) - given) / rate), -1, None))
    return served / seconds


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


def served_until_believed(calm_seconds):
    """Return how many answers a trial takes, if nothing was refused for so long before much was."""
    pace, now = Pace(), calm_seconds
    drive(pace, int(100 * calm_seconds), 0.0, begin=0.0, seconds=calm_seconds)
    while pace.state(now) != "trying":
        now += 0.01
        pace.refused(1, now, now) if int(now * 100) % 4 == 0 else pace.served(1.0, 1, now, now)
    now, served = now + 0.2, 0
    while pace.state(now) == "trying":
        now, served = now + 0.01, served + 1
        pace.served(1.0, 1, now, now)
    return served


def test_what_was_hardly_ever_refused_has_to_be_served_for_longer_before_a_lower_rate_is_believed_to_help():
    assert served_until_believed(4.0) > 1.5 * served_until_believed(0.5)


@pytest.mark.parametrize("limit", [50.0, 1000.0, 5000.0])
def test_a_limit_is_found_and_kept(limit):
    pace = Pace()
    limited(pace, limit, begin=0.0, seconds=5.0, asked=5 * limit)
    served, refused = limited(pace, limit, begin=5.0, seconds=20.0, asked=5 * limit)
    assert served == pytest.approx(20 * limit, rel=0.02)
    assert refused < 0.05 * served


def test_a_rate_that_was_raised_too_far_is_taken_back_at_once_but_not_below_what_a_trial_has_kept():
    pace = Pace()
    limited(pace, 300.0, begin=0.0, seconds=5.0, asked=3_000.0)
    kept = pace.rate
    for tenth in range(10):
        pace.waited(0.1, 5.0 + tenth / 10)
    raised = pace.rate
    assert raised > kept
    pace.refused(1, 6.0, 6.0)
    assert pace.rate < raised
    for later in range(1, 30):
        now = 6.0 + later / 20
        pace.served(200.0, 200, now, now)
        pace.refused(1, now, now)
    assert pace.rate > 0.8 * 300


def test_beside_more_urgent_requests_the_rate_is_raised_slowly_for_longer():
    alone, shared = Pace(), Pace()
    for pace in (alone, shared):
        limited(pace, 300.0, begin=0.0, seconds=5.0, asked=3_000.0)
        pace.refused(1, 5.0, 5.0)
        for tenth in range(30):
            if pace is shared:
                pace.share(5.0 + tenth / 10)
            pace.served(30.0, 30, 5.0 + tenth / 10, 5.0 + tenth / 10)
            pace.waited(0.1, 5.0 + tenth / 10)
    assert shared.rate < 1.2 * 300 < alone.rate


def searched(limit, *, size):
    """Return how many units are refused once a search has begun on a table that keeps its units, and the rate at last.

    More is asked for than there is, so many at a time; a call takes what is left.
    """
    pace, now, tokens, refused = Pace(), 0.1, 0.0, 0
    pace.refused(12, None, 0.0)
    while now < 5.0:
        step = size / min(20 * limit, pace.rate or 20 * limit)
        now, tokens = now + step, tokens + step * limit
        pace.waited(step, now)
        got = min(size, int(tokens))
        tokens -= got
        if got:
            pace.served(float(got), got, now, now)
        if got < size:
            pace.refused(size - got, now, now)
            refused += size - got
    return refused, pace.rate


@pytest.mark.parametrize("limit", [200, 1_000, 5_000])
@pytest.mark.parametrize("size", [1, 25])
def test_a_search_that_came_too_far_goes_back_at_once_though_what_is_refused_is_refused_together(limit, size):
    refused, rate = searched(limit, size=size)
    assert refused < 0.55 * limit
    assert rate == pytest.approx(limit, rel=0.1)


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


def test_an_outage_that_begins_in_a_round_in_which_something_was_served_does_not_lower_what_is_remembered():
    pace = Pace()
    limited(pace, 1_000.0, begin=0.0, seconds=5.0, asked=2_000.0)
    drive(pace, 2_000, 0.0, begin=5.0, seconds=2.0)
    pace.refused(1, 7.001, 7.001)
    drive(pace, 5, 0.0, begin=7.001, seconds=0.005)
    drive(pace, 600, 1.0, begin=7.01, seconds=0.6)
    assert pace.out
    assert pace.rate == pytest.approx(0.25 * 1_000, rel=0.15)


@pytest.mark.parametrize("units", [10.0, 25.0])
def test_a_gap_between_requests_of_many_units_is_not_taken_for_an_outage(units):
    pace = Pace()
    for number in range(40):
        pace.served(units, 1, number / 5, number / 5)
    pace.refused(1, 8.0, 8.0)
    pace.served(units, 1, 8.01, 8.01)
    for step in range(1, 12):
        pace.refused(1, 8.01 + step / 20, 8.01 + step / 20)
    assert pace.lowered
    assert not pace.out


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


def beside_who_takes_nearly_all(pace, *, begin, seconds, asked, left=20):
    """Let one of ``left`` attempts be served, whatever the rate; return for how long the pace stayed below a limit."""
    now, lowered, number = begin, 0.0, 0
    while now < begin + seconds:
        step = 1 / min(asked, pace.rate or asked)
        now, number = now + step, number + 1
        pace.waited(step, now)
        if number % left:
            pace.refused(1, now, now)
        else:
            pace.served(1.0, 1, now, now)
        lowered += step if pace.lowered else 0.0
    return lowered


@pytest.mark.parametrize("limit", [None, 25.0, 100.0])
@pytest.mark.parametrize("left", [10, 20, 30])
def test_where_as_much_is_refused_however_little_is_asked_for_the_pace_is_given_up_within_seconds(limit, left):
    pace = Pace() if limit is None else known(limit)
    beside_who_takes_nearly_all(pace, begin=0.0, seconds=8.0, asked=200.0, left=left)
    assert not pace.lowered


def test_a_slow_table_that_is_back_after_an_outage_is_not_taken_for_one_that_a_stranger_uses():
    pace = Pace()
    limited(pace, 20.0, begin=0.0, seconds=5.0, asked=100.0)
    drive(pace, 40, 1.0, begin=5.0, seconds=2.0)
    assert pace.out
    limited(pace, 20.0, begin=7.0, seconds=5.0, asked=100.0)
    assert pace.rate == pytest.approx(20.0, rel=0.5)


def test_what_is_refused_for_another_reason_has_taken_none_of_a_known_limit():
    pace = known(100.0)
    beside_who_takes_nearly_all(pace, begin=0.0, seconds=8.0, asked=200.0)
    assert pace.state(8.0) == "other reasons"
    assert not pace.refused(1, 8.0, 8.0)


def test_refusals_count_where_each_comes_with_an_answer_and_few_answers_come_in_a_round():
    pace = known(None)
    drive(pace, 400, 0.9, begin=0.0, seconds=1.0)
    pace.rate = 200.0  # twice what is delivered: of 25 items in each call, 7 are left over
    for number in range(1, 11):
        now = 2.0 + number * 0.19
        pace.served(18.0, 18, now - 0.02, now)
        pace.refused(7, now - 0.02, now)
    assert pace.rate < 110


def test_what_travels_together_is_one_attempt_whatever_becomes_of_it():
    pace = known(10_000.0)
    for number in range(40):
        now = number / 50
        pace.refused(25, now, now, 25) if number in {2, 9, 30} else pace.served(25.0, 25, now, now, 25)
    assert not pace.lowered


def test_what_was_sent_before_and_is_served_shows_that_the_table_serves_something():
    pace, short = Pace(), Pace()
    for each in (pace, short):
        each.refused(25, None, 0.0)  # the first answer of all
        assert each.rate == FIRST_RATE
    pace.served(25.0, 25, None, 0.01, 25)
    assert pace.rate is None
    short.served(5.0, 5, None, 0.01, 25)  # the rest was refused: there is little
    assert short.rate == FIRST_RATE


@pytest.mark.parametrize("seconds_each", [0.005, 0.3])
def test_what_is_delivered_is_measured_alike_however_long_an_answer_takes(seconds_each):
    pace = Pace()
    pace.refused(25, None, 0.0)
    calls(
        pace, 0.0, begin=0.1, seconds=5.0, chance=random.Random(1), callers=200, seconds_each=seconds_each, limit=1000.0
    )
    assert pace.rate == pytest.approx(1000.0, rel=0.2)


@pytest.mark.parametrize("seed", range(24))
def test_whatever_was_learned_before_a_lower_rate_that_does_not_help_is_given_up(seed):
    chance, pace, now = random.Random(seed), Pace(), 0.0
    share, size, callers = chance.choice([0.1, 0.15, 0.2, 0.3]), chance.choice([1, 7, 25]), chance.choice([4, 20])
    for _ in range(chance.choice([1, 2, 3])):
        seconds, limit, out = chance.uniform(0.5, 5), chance.choice([20.0, 100.0, 1000.0]), chance.random() < 0.4
        calls(pace, 0.0, begin=now, seconds=seconds, chance=chance, size=size, callers=callers, limit=limit, out=out)
        now += seconds
    unpaced = calls(None, share, begin=now, seconds=10, chance=random.Random(seed), size=size, callers=callers)
    calls(pace, share, begin=now, seconds=12, chance=chance, size=size, callers=callers)
    paced = calls(pace, share, begin=now + 12, seconds=25, chance=chance, size=size, callers=callers)
    assert paced >= 0.8 * unpaced
