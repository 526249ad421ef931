"""When a lease can be taken from its holder: by spans that the watcher has seen, and no clock of anybody else's."""

from dynamap_async.leases import LeaseItem, LeaseWatch


def held(*, fence: int = 1, beat: int = 0, seconds: float = 10.0) -> LeaseItem:
    return LeaseItem(pk="lease#work", fence=fence, owner="somebody", beat=beat, seconds=seconds)


def test_a_lease_that_is_seen_for_the_first_time_is_not_overdue() -> None:
    assert not LeaseWatch().is_overdue(held(), 1_000_000.0)


def test_a_lease_is_overdue_a_fifth_after_the_time_that_its_holder_goes_on_without() -> None:
    watch = LeaseWatch()
    assert [watch.is_overdue(held(), now) for now in (100.0, 111.9, 112.0)] == [False, False, True]


def test_a_renewal_that_was_seen_begins_the_time_anew() -> None:
    watch = LeaseWatch()
    watch.is_overdue(held(beat=0), 100.0)
    assert not watch.is_overdue(held(beat=1), 111.0)
    assert [watch.is_overdue(held(beat=1), now) for now in (122.9, 123.0)] == [False, True]


def test_another_taking_begins_the_time_anew() -> None:
    watch = LeaseWatch()
    watch.is_overdue(held(fence=1), 100.0)
    assert not watch.is_overdue(held(fence=2), 112.0)
