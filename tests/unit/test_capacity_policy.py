"""A policy that makes no sense is refused where it is written."""

import pytest

from dynamap_async import CapacityPolicy, Throughput


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"limits": "guess"}, 'limits=.guess.*"describe"'),
        ({"share": -1}, "share=-1"),
        ({"share": 0}, "share=0"),
        ({"share": 1.1}, "share=1.1"),
    ],
    ids=["limits", "share", "no share", "too high a share"],
)
def test_a_setting_that_cannot_be_meant_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        CapacityPolicy(**settings)


@pytest.mark.parametrize(
    "limits", ["throttles", "describe", "declared", Throughput(read=1, write=1)], ids=lambda value: type(value).__name__
)
def test_each_way_to_know_limits_is_accepted(limits):
    assert CapacityPolicy(limits=limits).limits == limits
