"""A policy that makes no sense is refused where it is written."""

import pytest

from dynamap_async import CapacityPolicy, Throughput


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limits": "guess"}, 'limits=.guess.*"describe"'),
        ({"target_utilization": 0}, "target_utilization=0"),
        ({"target_utilization": 1.1}, "target_utilization=1.1"),
        ({"share": -1}, "share=-1"),
    ],
    ids=["limits", "no target", "too high a target", "share"],
)
def test_a_setting_that_cannot_be_meant_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        CapacityPolicy(**settings)


@pytest.mark.parametrize(
    "limits", ["throttles", "describe", "declared", Throughput(read=1, write=1)], ids=lambda value: type(value).__name__
)
def test_each_way_to_know_limits_is_accepted(limits):
    assert CapacityPolicy(limits=limits).limits == limits
