"""What a run on the simulated table is judged by."""

import pytest

from benchmarks.acceptance import handlers, questions
from benchmarks.acceptance.goals import GOALS, Goal
from benchmarks.acceptance.items import plain_item, wire_item
from benchmarks.acceptance.report import FIGURES
from dynamap_async.simulated.values import admit_item


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: f"{goal.question}-{goal.variant}-{goal.figure}")
def test_a_goal_names_a_figure_that_is_reported_of_a_library_that_is_asked(goal):
    assert goal.variant in [variant.label for variant in questions.QUESTIONS[goal.question].variants]
    assert {goal.figure, goal.beside} - {""} <= FIGURES[goal.question].keys()


@pytest.mark.parametrize(
    ("goal", "measured", "met"),
    [
        (Goal("bulk", "x", "rate", 0.99, at_least=True), 0.98, False),
        (Goal("bulk", "x", "rate", 0.95, at_least=True), 0.98, True),
        (Goal("bulk", "x", "p99", 1.5, beside="p99_idle"), 1.2, True),
        (Goal("bulk", "x", "p99", 1.1, beside="p99_idle"), 1.2, False),
        (Goal("bulk", "y", "rate", 0.99), None, None),
    ],
    ids=["too-slow", "fast-enough", "ratio-met", "ratio-missed", "not-asked"],
)
def test_a_goal_is_met_on_its_side_of_the_bound(goal, measured, met):
    value = goal.measured({"bulk": {"x": {"rate": 0.98, "p99": 12.0, "p99_idle": 10.0}}})
    assert value == (None if measured is None else pytest.approx(measured))
    assert (None if value is None else goal.met(value)) is met


def test_an_item_of_the_load_takes_one_write_unit():
    assert 1000 < admit_item(wire_item("load7-029999")) <= 1024
    assert plain_item("load7-029999")["text"] == wire_item("load7-029999")["text"]["S"]


def test_a_window_of_the_run_sums_its_quarters_of_a_second():
    slots = [{"attempts": number, "throttled": 1, "write_units": 2.0} for number in range(8)]
    window = questions._window({"slot_seconds": 0.25, "slots": slots}, 0.5, 1.5)
    assert window == {"attempts": 2 + 3 + 4 + 5, "throttled": 4, "write_units": 8.0, "seconds": 1.0}


def test_latencies_are_medians_of_the_rounds_with_the_noise_of_those_that_were_idle():
    def told(p99):
        times = {"p50": 5.0, "p99": p99, "p100": 50.0}
        return {"get": times, "put": times, "lag": times}

    figures = handlers.latencies([told(6.0), told(9.0), told(7.0)], [told(10.0), told(8.0)])
    assert (figures["get_p99_idle"], figures["get_p99"], figures["put_p50"]) == (7.0, 9.0, 5.0)
    assert figures["lag_noise"] == 1.5
    assert figures["get_p99_rounds"] == [10.0, 8.0]
