"""The figures that pages tell are those of the newest files of results."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import publication

with_results = pytest.mark.skipif(
    not (Path(publication.__file__).parent / "results").is_dir(), reason="the sdist has no files of results"
)


@with_results
@pytest.mark.parametrize("page", publication.PAGES, ids=lambda page: page.name)
def test_a_page_tells_the_newest_results(page):
    text = page.read_text("utf-8")
    assert publication.filled(text) == text, "write it anew: python benchmarks publish --pages"
    assert "<!-- figures:" in text


@with_results
def test_a_figure_that_is_changed_by_hand_is_found():
    page = publication.PAGES[-1].read_text("utf-8")
    begin, middle, end = page.partition("| get one item")
    changed = begin + middle + end.replace("1", "7", 1)
    assert publication.filled(changed) == page != changed


FULL = {
    "when": "2026-11-30T00:00:00Z",
    "machine": {"cores": 2, "processor": "a processor"},
    "returns": dict.fromkeys(("floor", "dynamap_async", "dynamoxy", "aiobotocore"), "models"),
    "medians": {
        "get_one": {
            "floor": {"cost": 100.0, "rate": 9_000.0},
            "dynamap_async": {"cost": 150.0, "rate": 6_000.0},
            "dynamoxy": {"cost": 110.0, "rate": 8_000.0},
            "aiobotocore": {"cost": 900.0, "rate": 1_000.0},
        },
        "query_100": {"floor": {"cost": 500.0}, "dynamap_async": {"cost": 600.0}, "dynamoxy": {"cost": 2_000.0}},
    },
}


@pytest.fixture
def full(monkeypatch):
    monkeypatch.setattr(publication, "newest", lambda kind: ("a-full.json", FULL))


@pytest.mark.parametrize(("code", "left"), [(0, "published"), (1, "as it was")], ids=["well", "with-failures"])
def test_pages_are_written_once_every_run_went_well(tmp_path, monkeypatch, code, left):
    page, ran = tmp_path / "page.md", []
    page.write_text("as it was", "utf-8")

    def run(line, *, cwd, check):
        ran.append(line[2:])
        return subprocess.CompletedProcess(line, code if "web" in line else 0)

    monkeypatch.setattr(publication.subprocess, "run", run)
    monkeypatch.setattr(publication, "PAGES", [page])
    monkeypatch.setattr(publication, "filled", lambda text: "published")
    monkeypatch.setattr("sys.argv", ["benchmarks", "publish"])
    assert publication.main() == code
    assert page.read_text("utf-8") == left
    kinds = ["full", "growth", "web", "acceptance"]
    assert [arguments[arguments.index("--json") + 1].split("-")[-1] for arguments in ran] == [
        f"{k}.json" for k in kinds
    ]
    assert not any(Path(argument).is_absolute() for arguments in ran for argument in arguments)


def test_what_a_peer_does_for_less_is_told_in_every_place(full):
    assert "| get one item, 64 callers, not shared | 150 µs | dynamoxy 110 |" in publication._cheaper()
    assert "query" not in publication._cheaper()
    summary = publication._summary()
    assert "| a get alone | 150 µs | 110 µs (dynamoxy: models) | 900 µs |" in summary
    assert "Cheaper elsewhere: a get alone." in summary


def test_multiples_are_of_the_floor_and_leave_out_what_was_not_asked(full):
    assert publication._multiples().splitlines() == [
        "| question | floor | dynamap_async | aiobotocore | dynamoxy |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| get one item, 64 callers, not shared | 100 µs | 1.50 | 9.00 | 1.10 |",
        "| query a page of 100, 8 callers | 500 µs | 1.20 |  | 4.00 |",
    ]


def test_a_missed_budget_says_by_how_much(full):
    assert "cost at most 0.55 x floor | 1.50 | floor | **missed by 173%** |" in publication._budgets()


VERSIONS = {"dynamap_async": "1.2", "aiobotocore": "3.4"}
ACCEPTANCE = {
    "command": "nox -s bench -- acceptance",
    "commit": "0123456789abcdef",
    "changed_since": False,
    "when": "2026-11-30T00:00:00Z",
    "machine": {"cores": 2, "processor": "a processor", "system": "a system", "load": [0.5, 0.5, 0.5]},
    "answers": {
        "scan": {
            "dynamap_async, limit known": {"get_p99": 9.0, "get_p99_idle": 8.0, "versions": VERSIONS},
            "dynamap_async, limit learned": {"get_p99": 20.0, "get_p99_idle": 8.0},
            "aiobotocore": {"get_p99": 160.0, "get_p99_idle": 16.0},
        },
        "bulk": {
            "dynamap_async, limit known": {"rate": 0.995},
            "dynamap_async, limit learned": {"rate": 0.97},
            "aiobotocore, 8 writers": {"rate": 0.5},
            "PynamoDB": {"error": "failed: it hung"},
        },
    },
}


def test_goals_are_told_with_what_was_reached_beside_peers(monkeypatch):
    monkeypatch.setattr(publication, "newest", lambda kind: ("an-acceptance.json", ACCEPTANCE))
    text = publication._acceptance()
    lines = text.splitlines()
    assert lines[0].startswith("3 of 4 goals are reached. Without figures in this run: beside, index,")
    assert lines[2:6] == [
        "| question | asked | dynamap_async | peers | goal | reached |",
        "| --- | --- | --- | --- | --- | --- |",
        (
            "| `bulk` | a bulk load: rate used | known 99.5%, learned 97.0% | aiobotocore 8 writers 50.0% "
            "| at least 99.0% and 95.0% | met |"
        ),
        (
            "| `scan` | 50 handlers beside a scan in the background: get p99, beside / get p99, idle "
            "| known 1.12, learned 2.50 | aiobotocore 10.00 | at most 1.50 | **missed**: learned |"
        ),
    ]
    assert "- versions: aiobotocore 3.4, dynamap_async 1.2" in lines


def test_a_block_stays_as_it_is_while_there_are_no_results_for_it(monkeypatch):
    monkeypatch.setattr(publication, "newest", lambda kind: None)
    page = "before\n<!-- figures: acceptance -->\n\nas it was\n\n<!-- end of figures -->\nafter\n"
    assert publication.filled(page) == page


def test_questions_that_an_earlier_run_answered_are_told_with_its_commit(monkeypatch):
    last = {"commit": ACCEPTANCE["commit"], "changed_since": False, "command": ACCEPTANCE["command"]}
    before = {"commit": "fedcba9876543210", "changed_since": True, "command": "another"}
    content = {**ACCEPTANCE, "asked": {"scan": last, "bulk": before, "free": before}}
    monkeypatch.setattr(publication, "newest", lambda kind: ("an-acceptance.json", content))
    lines = publication._acceptance().splitlines()
    assert "- commit: 0123456789ab" in lines
    assert [line for line in lines if "asked at" in line] == [
        "- asked at commit fedcba987654, changed since, by `another`: `bulk`, `free`"
    ]
