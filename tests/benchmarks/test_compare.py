"""What counts as a regression: beside the floor of the same round, and beyond what the runs themselves vary."""

import json

import pytest

from benchmarks.compare import command
from benchmarks.compare.judge import Change, changes, is_quick, newest
from benchmarks.subjects import FLOOR, OURS


def results(when="2026-01-01T00:00:00Z", *, quick=False, **ratios):
    """Return the content of a small file of results: question -> this library's multiples of the floor."""
    runs = {
        name: {FLOOR: [{"cost": 100.0 + n} for n in range(len(each))]}
        | {OURS: [{"cost": ratio * (100.0 + n)} for n, ratio in enumerate(each)]}
        for name, each in ratios.items()
    }
    return {"commit": "0" * 40, "when": when, "quick": quick, "returns": {}, "runs": runs}


BEFORE = [1.50, 1.52, 1.54, 1.56, 1.60]


@pytest.mark.parametrize(
    ("after", "state"),
    [
        (BEFORE, "same"),
        ([1.59, 1.70, 1.75, 1.80, 1.90], "same"),
        ([1.70, 1.71, 1.72, 1.73, 1.80], "dearer"),
        ([1.20, 1.25, 1.30, 1.31, 1.32], "cheaper"),
        ([1.61, 1.61, 1.61, 1.61, 1.61], "same"),
        ([1.70, 1.80, 1.90], "too few runs"),
    ],
    ids=["equal", "ranges-overlap", "every-run-above", "every-run-below", "moved-by-less-than-5-percent", "three-runs"],
)
def test_a_change_is_told_from_noise_by_the_ranges_of_the_runs(after, state):
    assert Change("get_one", "cost", BEFORE, after).state == state


def test_a_slower_machine_changes_nothing():
    before = results(get_one=BEFORE)["runs"]
    slower = {
        "get_one": {name: [{"cost": 3 * run["cost"]} for run in runs] for name, runs in before["get_one"].items()}
    }
    (change,) = changes(before, slower)
    assert change.state == "same"
    assert change.move == pytest.approx(0)


def test_memory_is_compared_too_and_questions_of_one_side_only_are_not():
    peak = {"stream": {FLOOR: [{"peak_mib": 40.0}] * 5, OURS: [{"peak_mib": 50.0}] * 5}}
    grown = {"stream": {FLOOR: [{"peak_mib": 40.0}] * 5, OURS: [{"peak_mib": 80.0}] * 5}, "get_one": {}}
    (change,) = changes(peak, grown)
    assert (change.question, change.figure, change.state) == ("stream", "peak_mib", "dearer")


@pytest.mark.parametrize(
    ("now", "code", "measured"),
    [
        ([{"get_one": BEFORE, "decode": BEFORE}], 0, [["get_one", "decode"]]),
        ([{"get_one": [2.0] * 5, "decode": BEFORE}, {"get_one": [2.1] * 5}], 1, [["get_one", "decode"], ["get_one"]]),
        ([{"get_one": [2.0] * 5, "decode": BEFORE}, {"get_one": BEFORE}], 0, [["get_one", "decode"], ["get_one"]]),
    ],
    ids=["same", "dearer-both-times", "dearer-once"],
)
def test_the_comparison_fails_where_a_second_measurement_agrees(tmp_path, monkeypatch, now, code, measured):
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results(get_one=BEFORE, decode=BEFORE)), "utf-8")
    answers, asked = iter(now), []

    def measure(names, *, quick, rounds):
        asked.append(list(names))
        return results(**next(answers))["runs"]

    monkeypatch.setattr(command, "_measured", measure)
    monkeypatch.setattr("sys.argv", ["benchmarks", "compare", str(file)])
    assert command.main() == code
    assert asked == measured


def test_the_latest_full_run_is_compared_with_unless_there_is_none():
    files = {
        "old": results("2026-01-01T00:00:00Z", get_one=BEFORE),
        "full": results("2026-02-01T00:00:00Z", get_one=BEFORE),
        "quick": results("2026-03-01T00:00:00Z", quick=True, get_one=BEFORE),
        "other": {"when": "2026-04-01T00:00:00Z", "runs": {"bulk": {"dynamap": []}}},
    }
    assert newest(files) == "full"
    assert newest({"quick": files["quick"], "other": files["other"]}) == "quick"
    with pytest.raises(LookupError, match="no file"):
        newest({"other": files["other"]})


def test_a_file_without_the_word_is_quick_by_its_command():
    assert is_quick({"command": "nox -s bench -- --quick --json x.json"})
    assert not is_quick({"command": "nox -s bench -- --json x.json"})
