"""The law of pacing in the model of a table: what it costs where it is not needed, and what it gains where it is."""

import pytest

from benchmarks.pacing.compare import Ours
from benchmarks.pacing.laws import Unpaced
from benchmarks.pacing.model import Situation, run, share_of


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05, 0.2])
def test_refusals_for_other_reasons_cost_at_most_twice_their_part(share):
    situation = Situation(rate=50_000, unrelated=share, seconds=4.0, tasks=16)
    assert share_of([run(situation, Ours)], [run(situation, Unpaced)]) >= 1 - 2 * share


@pytest.mark.parametrize(("rate", "tasks"), [(5, 50), (50, 50), (1000, 125)])
def test_a_load_uses_what_a_table_has(rate, tasks):
    situation = Situation(rate=rate, tasks=tasks, patient=True, seconds=15.0)
    assert run(situation, Ours).between(2.0, 15.0) >= 0.97 * rate


def test_a_load_has_few_attempts_refused_once_it_knows_the_rate():
    situation = Situation(rate=1000, tasks=125, patient=True, seconds=15.0)
    early = run(Situation(rate=1000, tasks=125, patient=True, seconds=5.0), Ours)
    whole = run(situation, Ours)
    assert (whole.refused - early.refused) / (whole.attempts - early.attempts) <= 0.02


@pytest.mark.parametrize(("rate", "push", "tasks"), [(5, 25, 4), (50, 500, 16), (1000, 3000, 64)])
def test_beside_a_stranger_it_gets_about_what_an_unpaced_client_gets(rate, push, tasks):
    situation = Situation(rate=rate, stranger=push, tasks=tasks, seconds=20.0)
    seeds = range(1, 3 if rate > 500 else 13)
    paced, unpaced = ([run(situation, law, seed) for seed in seeds] for law in (Ours, Unpaced))
    assert share_of(paced, unpaced) >= 0.8


@pytest.mark.parametrize("patient", [True, False])
def test_after_an_outage_it_is_back_within_a_second(patient):
    outcome = run(Situation(rate=4000, outage=(3, 5), tasks=8, patient=patient, seconds=6.0), Ours)
    assert outcome.between(5.0, 6.0) >= 0.8 * outcome.between(2.0, 3.0)


def test_a_limit_that_changes_is_followed_within_five_seconds():
    changes = ((4.0, 250.0), (9.0, 500.0))
    outcome = run(Situation(rate=500, tasks=100, patient=True, changes=changes, seconds=15.0), Ours)
    assert outcome.between(7.0, 9.0) == pytest.approx(250, rel=0.05)
    assert outcome.between(13.0, 15.0) >= 0.97 * 500


def test_four_processes_that_know_nothing_of_each_other_share():
    outcome = run(Situation(rate=400, tasks=50, processes=4, patient=True, seconds=12.0), Ours)
    assert outcome.served >= 0.95 * 400 * 12
    assert min(outcome.by_process) >= 0.5 * sum(outcome.by_process) / 4
