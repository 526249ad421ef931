"""When a cost counts as flat, and that the charts can be drawn."""

import xml.etree.ElementTree as ET

import pytest

from benchmarks import chart, questions
from benchmarks.growth import chart as growth_chart
from benchmarks.growth.judge import judge, medians
from benchmarks.growth.series import PEAK_BOUND, SERIES
from benchmarks.subjects import FLOOR, NAMES, OURS


def costs(**by_size):
    return {int(size.removeprefix("_")): {"cost": cost} for size, cost in by_size.items()}


@pytest.mark.parametrize("name", SERIES)
def test_a_series_grows_beyond_its_middle_also_in_a_quick_run(name):
    series = SERIES[name]
    for quick in (False, True):
        chosen = series.chosen(quick=quick)
        assert series.middle in chosen
        assert max(chosen) > series.middle
        assert list(chosen) == sorted(chosen)


def test_the_sizes_are_those_that_are_promised():
    assert {SERIES["query"].sizes[0], SERIES["query"].sizes[-1]} == {1, 1_000_000}
    assert {SERIES["gets"].sizes[0], SERIES["gets"].sizes[-1]} == {1, 5_000}
    assert {SERIES["decode"].sizes[0], SERIES["decode"].sizes[-1]} == {5, 100}


@pytest.mark.parametrize(
    ("measured", "size", "flat"),
    [
        (costs(_1=900, _64=50.0, _256=40.0, _5000=45.0), 5000, True),
        (costs(_1=900, _64=50.0, _256=120.0, _5000=45.0), 256, False),
        (costs(_1=10, _64=50.0, _256=60.0, _5000=400.0), 5000, False),
    ],
    ids=["flat", "a-hump", "it-grows"],
)
def test_a_cost_is_flat_if_no_greater_size_costs_much_more_than_the_middle_one(measured, size, flat):
    (verdict,) = judge("gets", measured, costs(_64=30.0, _256=30.0, _5000=24.0))
    assert (verdict.size, verdict.met) == (size, flat)


def test_the_memory_of_a_long_query_must_not_grow():
    measured = {size: {"cost": 5.0, "peak_mib": 50.0} for size in (1_000, 10_000, 1_000_000)}
    measured[1_000_000]["peak_mib"] = 50.0 * PEAK_BOUND + 1
    floor = {size: {"cost": 2.0, "peak_mib": 40.0} for size in measured}
    verdicts = [(verdict.figure, verdict.met) for verdict in judge("query", measured, floor)]
    assert verdicts == [("cost", True), ("peak_mib", False)]


def test_what_the_floor_grows_by_is_taken_off():
    measured, floor = costs(_1000=20.0, _30000=36.0), costs(_1000=10.0, _30000=14.0)
    (verdict,) = judge("batch_get", measured, floor)
    assert (verdict.times, verdict.floor_times, verdict.met) == (1.8, 1.4, True)


def test_rounds_become_medians_for_each_size():
    assert medians([costs(_1=3.0, _10=30.0), costs(_1=1.0, _10=10.0), costs(_1=2.0, _10=90.0)]) == costs(
        _1=2.0, _10=30.0
    )


def test_the_charts_are_drawn_with_every_series_and_library(tmp_path):
    growth = {
        name: {subject: {size: {"cost": 7.0} for size in series.sizes} for subject in (FLOOR, OURS)}
        for name, series in SERIES.items()
    }
    growth_chart.write(tmp_path / "growth.svg", growth)
    asked = {name: questions.load(name) for name in questions.NAMES}
    chart.write(tmp_path / "peers.svg", {name: {each: {"cost": 3.0} for each in NAMES} for name in asked}, asked)
    for file, words in (("growth.svg", [series.asks for series in SERIES.values()]), ("peers.svg", NAMES[1:])):
        drawn = " ".join(ET.parse(tmp_path / file).getroot().itertext())
        assert [word for word in words if word not in drawn] == []
