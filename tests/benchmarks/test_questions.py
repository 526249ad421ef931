"""The questions, the shapes of items and the budgets fit together."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import questions, subjects
from benchmarks.budgets import BUDGETS, Budget, judge, unjudged
from benchmarks.nested_shapes import DEEP, LARGE, SHAPES
from benchmarks.questions.cold_start import start
from benchmarks.results import FIGURES
from benchmarks.rounds import Plan
from benchmarks.shapes import KEY, SMALL, WIDE, to_wire
from benchmarks.subjects import FLOOR, NAMES, OURS
from dynamap_async.simulated.values import admit_item


def wire_item(shape):
    return {name: to_wire(value) for name, value in shape.items()[0].items()}


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: f"{budget.question}-{budget.figure}-{budget.reference}")
def test_a_budget_names_a_question_and_a_figure(budget):
    assert budget.question in questions.NAMES
    assert budget.figure in FIGURES


def test_a_budget_without_figures_is_told():
    wanted = [Budget("get_one", "cost", "floor", 1.5), Budget("put_one", "cost", "floor", 1.5)]
    verdicts = judge(wanted, {"get_one": {FLOOR: {"cost": 100.0}, OURS: {"cost": 160.0}}}, {})
    assert [(verdict.met, round(verdict.missed_by, 3)) for verdict in verdicts] == [(False, 0.067)]
    assert unjudged(wanted, verdicts) == wanted[1:]


def test_shapes_are_as_large_as_they_say():
    assert len(SMALL.fields) == 5
    assert len(WIDE.fields) == 60
    assert 295 * 1024 < admit_item(wire_item(LARGE)) < 305 * 1024
    value, levels = DEEP.values["tree"], 1
    while "inner" in value:
        value, levels = value["inner"], levels + 1
    assert levels == 8


@pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.name)
def test_this_library_stores_a_shape_as_the_prepared_pages_hold_it(shape):
    subject = subjects.load(OURS)()
    assert json.loads(subject.encoder(shape)()[0]) == wire_item(shape)
    first, *rest = subject.decoder(shape)(shape.page())
    assert len(rest) == shape.count - 1
    assert first.model_dump() == shape.items()[0]
    assert getattr(first, KEY) == "user-000000"


def test_a_cold_start_says_what_a_library_cannot_do():
    with pytest.raises(subjects.CannotError, match="reads no endpoint"):
        start(subjects.load("aiodynamo")())


def test_a_full_run_asks_every_question_of_every_library_once_a_round():
    plan = Plan(asked={name: questions.load(name) for name in questions.NAMES}, names=NAMES, rounds=5)
    asked = [(subject, name) for subject, group in plan.jobs(0) for name in group]
    assert sorted(asked) == sorted((subject, name) for subject in NAMES for name in questions.NAMES)
    later = {name for _, group in plan.jobs(1) for name in group}
    assert set(questions.NAMES) - later == {name for name in questions.NAMES if questions.load(name).once}


@pytest.mark.parametrize("quick", [False, True], ids=["full", "quick"])
def test_questions_on_uvloop_or_tls_have_processes_of_their_own(quick):
    plan = Plan(asked={name: questions.load(name) for name in questions.NAMES}, names=[OURS], rounds=1, quick=quick)
    for _, group in plan.jobs(0):
        assert len({(questions.load(name).uvloop, questions.load(name).tls) for name in group}) == 1


def test_what_a_question_is_asked_on_changes_nothing_else():
    plain, tls = questions.load("get_one"), questions.load("get_one_tls")
    assert (tls.run, tls.distinct, tls.floor) == (plain.run, plain.distinct, plain.floor)
    assert (plain.tls, tls.tls, tls.uvloop, questions.load("get_one_tls_uvloop").uvloop) == (False, True, False, True)


def test_every_question_has_a_module_and_a_name_of_its_own():
    asks = [questions.load(name).asks for name in questions.NAMES]
    assert len(set(asks)) == len(asks)


def test_a_cold_start_finds_no_library_loaded():
    modules = "benchmarks.cold, benchmarks.items, benchmarks.shapes, benchmarks.subjects"
    ask = f"import sys; sys.path.insert(0, '.'); import {modules}; print(*sys.modules)"
    checkout = Path(__file__).parents[2]
    loaded = subprocess.run([sys.executable, "-c", ask], cwd=checkout, capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in loaded.stdout.split()}
    assert "benchmarks" in packages
    assert not packages & {"aiobotocore", "aiohttp", "dynamap_async", "orjson", "pydantic"}
