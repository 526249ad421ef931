"""Rounds of measurements: every question is put to every library, again and again, so that the runs alternate."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.processes import Programs, Server, WorkerError
from benchmarks.questions import Question
from benchmarks.results import Results
from benchmarks.runs import FULL, QUICK

QUICK_MINUTES = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be measured."""

    asked: Mapping[str, Question]
    """Name -> question."""
    names: Sequence[str]
    """The libraries."""
    rounds: int
    quick: bool = False
    uvloop: bool = False
    """Whether all questions are asked on uvloop."""
    minutes: float | None = None
    """No round begins that would probably end later; the first always does."""
    earlier: int = 0
    """How many rounds were measured before, which these are added to."""

    def jobs(self, number: int) -> Iterator[tuple[str, list[str]]]:
        """Yield library and questions of each process of a round, so that neighbours in time are what is compared."""
        # Each round begins with another library, so that none always follows the same one.
        turned = [*self.names[number % len(self.names) :], *self.names[: number % len(self.names)]]
        for group in self._groups(number):
            for name in turned:
                yield name, group

    def _groups(self, number: int) -> list[list[str]]:
        """Return the questions that share a process.

        In a quick run most share one of two: in the second what must come first comes first, and what counts memory
        follows with little work done before.
        """
        found: dict[str, list[str]] = {}
        for name, question in self.asked.items():
            if question.once and number > 0:
                continue
            group = question.group or name
            if self.quick and question.quick and not question.tls:
                group = "together" if question.group and question.opened else "apart"
            found.setdefault(group, []).append(name)
        return [sorted(group, key=lambda name: self.asked[name].opened) for group in found.values()]

    def has_time(self, began: float, rounds: int) -> bool:
        """Return whether another round fits, after so many."""
        passed = time.monotonic() - began
        return self.minutes is None or rounds == 0 or passed + passed / rounds <= self.minutes * 60


def measure(plan: Plan, results: Results) -> int:
    """Measure round after round; return how many there were."""
    began, rounds = time.monotonic(), 0
    total = f"{plan.rounds}" if plan.minutes is None else f"at most {plan.rounds}"
    programs = Programs.found()
    with programs.server(scanned=(QUICK if plan.quick else FULL).scanned) as server:
        while rounds < plan.rounds and plan.has_time(began, rounds):
            for subject, group in plan.jobs(plan.earlier + rounds):
                _work(plan, programs, results, server, subject, group)
            rounds += 1
            print(f"{rounds} of {total} rounds after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return rounds


def _work(plan: Plan, programs: Programs, results: Results, server: Server, subject: str, group: Sequence[str]) -> None:
    """Run one worker and store its figures."""
    uvloop = plan.uvloop or any(plan.asked[name].uvloop for name in group)
    tls = any(plan.asked[name].tls for name in group)
    endpoint, environment = (server.tls, server.environment) if tls else (server.plain, {})
    switches = [name for name, on in (("--quick", plan.quick), ("--uvloop", uvloop)) if on]
    try:
        told = programs.work(
            "worker",
            subject,
            [*group, "--endpoint", endpoint, *switches],
            seconds=60 if plan.quick else 600,
            environment=environment,
        )
    except WorkerError as error:
        results.refuse(subject, group, str(error))
    else:
        results.add(subject, told)
