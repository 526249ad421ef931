"""A clock stands still until a test moves it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dynamap_async.testing import FrozenClock

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("at", [NEW_YEAR, NEW_YEAR.timestamp(), NEW_YEAR.astimezone(timezone(timedelta(hours=9)))])
def test_a_clock_shows_the_moment_it_was_given(at):
    clock = FrozenClock(at)
    assert (clock(), clock.now) == (NEW_YEAR.timestamp(), NEW_YEAR)


def test_a_clock_stands_still_where_the_machine_was():
    clock = FrozenClock()
    assert clock() == clock()
    assert abs(clock.now - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("by", [timedelta(hours=1), 3600, 3600.0])
def test_a_clock_is_moved_by_a_time_span_or_by_seconds(by):
    clock = FrozenClock(NEW_YEAR)
    clock.advance(by)
    assert clock.now == NEW_YEAR + timedelta(hours=1)


def test_a_clock_can_follow_the_machine_and_be_stopped_again():
    clock = FrozenClock(NEW_YEAR)
    clock.run()
    assert clock.now > NEW_YEAR
    clock.freeze(NEW_YEAR)
    assert clock.now == NEW_YEAR


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="add tzinfo=UTC"):
        FrozenClock(datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is refused
