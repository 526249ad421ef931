"""Governors before one bucket: they find its rate, follow it, and come to share it."""

from pathlib import Path
from statistics import fmean

from benchmarks.convergence import lines, simulate
from dynamap_async import CapacityPolicy


def served(history):
    return [sum(second.served) for second in history]


def test_one_process_finds_the_rate_within_a_second_and_keeps_it():
    history = simulate(1, CapacityPolicy(), seconds=8)
    assert min(served(history)[1:]) > 930
    assert max(second.throttled for second in history[2:]) < 0.05


def test_a_changed_rate_is_followed_within_five_seconds():
    history = simulate(1, CapacityPolicy(), changes={3: 500.0, 8: 1000.0}, seconds=14)
    assert fmean(served(history)[5:8]) < 550
    assert fmean(served(history)[12:]) > 950
    assert max(second.throttled for second in (*history[5:8], *history[12:])) < 0.05


def test_eight_processes_that_know_nothing_of_each_other_come_to_share():
    history = simulate(8, CapacityPolicy(), seconds=10)
    assert min(served(history)[1:]) > 950
    parts = [sum(each) for each in zip(*(second.served for second in history[5:]), strict=True)]
    assert min(parts) > fmean(parts) / 2


def test_the_page_tells_what_is_simulated():
    page = Path(__file__).parents[2] / "docs" / "explanation" / "pacing.md"
    rows = lines()
    found = [line for line in page.read_text("utf-8").splitlines() if line in rows]
    assert found == rows, "write these rows there: python -m benchmarks.convergence"
