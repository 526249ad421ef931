"""The rounds of a run are kept in a file, and further ones are added to it."""

import json

import pytest

from benchmarks import command, questions, results
from benchmarks.results import Results
from benchmarks.rounds import Plan
from benchmarks.subjects import NAMES, OURS

TOLD = {"versions": {"aiohttp": "3"}, "returns": "models", "python": "3.13.0"}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "changed_since", lambda commit="HEAD": False)
    kept = Results()
    kept.add(OURS, {**TOLD, "runs": {"get_one": {"cost": 100.0}, "encode": {"cannot": "it is slow"}}})
    kept.write(tmp_path / "full.json", command="a command")
    return tmp_path / "full.json"


def test_further_rounds_are_added_to_those_of_a_file(file):
    both = Results.of_file(file, quick=False)
    assert both.rounds == 1
    both.add(OURS, {**TOLD, "python": "3.13.1", "runs": {"get_one": {"cost": 120.0}}})
    both.write(file, command="another command")
    content = json.loads(file.read_bytes())
    assert content["medians"] == {"get_one": {OURS: {"cost": 110.0}}}
    assert content["absent"] == {"encode": {OURS: "cannot: it is slow"}}
    assert content["pythons"] == ["3.13.0", "3.13.1"]
    assert Results.of_file(file, quick=False).rounds == 2


def test_rounds_of_other_code_or_of_another_kind_are_not_added(file, monkeypatch):
    with pytest.raises(ValueError, match="a full run"):
        Results.of_file(file, quick=True)
    monkeypatch.setattr(results, "changed_since", lambda commit="HEAD": True)
    with pytest.raises(ValueError, match="of other code than this"):
        Results.of_file(file, quick=False)


def test_what_is_asked_once_is_not_asked_in_further_rounds():
    plan = Plan(asked={name: questions.load(name) for name in questions.NAMES}, names=NAMES, rounds=1, earlier=1)
    asked = {name for _, group in plan.jobs(plan.earlier) for name in group}
    assert not any(questions.load(name).once for name in asked)


def test_more_without_a_file_to_add_to_is_refused(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("sys.argv", ["bench", "--more"])
    with pytest.raises(SystemExit):
        command.main()
    assert "name it" in capsys.readouterr().err
    monkeypatch.setattr("sys.argv", ["bench", "--more", "--json", str(tmp_path / "none.json")])
    assert command.main() == 2
    assert "none.json" in capsys.readouterr().err
