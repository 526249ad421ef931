"""Compares the laws on every situation; prints the table of the decision record.

python -m benchmarks.pacing.compare
"""

import sys
from collections.abc import Callable, Sequence

from benchmarks.pacing.laws import Adaptive, AimdOnShare, DeliveryRate, FirstOne, Unpaced
from benchmarks.pacing.model import Law, Situation, run, share_of
from dynamap_async.executor.pacing.pace import Pace


class Ours:
    """The law of this library, asked one unit at a time."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self._pace = Pace()

    def served(self, units: float, sent_at: float, now: float) -> None:
        """Record an answer."""
        self._pace.served(units, 1, sent_at, now)
        self.rate = self._pace.rate

    def refused(self, units: float, sent_at: float, now: float) -> None:
        """Record a refusal."""
        self._pace.refused(1, sent_at, now)
        self.rate = self._pace.rate

    def waited(self, seconds: float, now: float) -> None:
        """Record that requests wait."""
        self._pace.waited(seconds, now)
        self.rate = self._pace.rate


LAWS: dict[str, Callable[[], Law]] = {
    "unpaced": Unpaced,
    "until now": FirstOne,
    "AIMD on the share": AimdOnShare,
    "delivery rate (BBR)": DeliveryRate,
    "adaptive (CUBIC)": Adaptive,
    "trial": Ours,
}


def _of_unpaced(situation: Situation, law: Callable[[], Law]) -> str:
    seeds = range(1, 4 if situation.rate > 500 else 13)
    got, unpaced = [run(situation, law, seed) for seed in seeds], [run(situation, Unpaced, seed) for seed in seeds]
    return f"{share_of(got, unpaced):.2f}"


def _of_rate(situation: Situation, law: Callable[[], Law]) -> str:
    got = run(situation, law)
    return f"{got.served / situation.rate / situation.seconds:.2f} ({got.throttled:.1%})"


def _recovery(situation: Situation, law: Callable[[], Law]) -> str:
    got = run(situation, law)
    begin, end = situation.outage or (0.0, 0.0)
    return f"{got.between(end + 0.5, end + 1) / max(1e-9, got.between(begin - 1, begin)):.2f}"


def _followed(situation: Situation, law: Callable[[], Law]) -> str:
    got = run(situation, law)
    return " ".join(f"{got.between(at + 3, at + 5) / rate:.2f}" for at, rate in situation.changes)


def _small(situation: Situation, law: Callable[[], Law]) -> str:
    got = run(situation, law)
    return f"{got.served:.0f} in {got.ended_at:.1f} s"


def _fair(situation: Situation, law: Callable[[], Law]) -> str:
    got = run(situation, law)
    return (
        f"{_of_rate(situation, law)}, {min(got.by_process) / max(1.0, sum(got.by_process) / len(got.by_process)):.2f}"
    )


ROWS: Sequence[tuple[str, Callable[[Situation, Callable[[], Law]], str], Situation]] = [
    *(
        (f"{p:.1%} refused for other reasons", _of_unpaced, Situation(rate=50_000, unrelated=p, seconds=3, tasks=32))
        for p in (0.001, 0.003, 0.01, 0.03, 0.1, 0.2)
    ),
    ("3 % of them, a slow table", _of_unpaced, Situation(rate=500, unrelated=0.03, tasks=2, seconds=20)),
    *(
        (f"a stranger takes {of}", _of_unpaced, Situation(rate=rate, stranger=push, tasks=tasks, seconds=20))
        for of, rate, push, tasks in (
            ("10 x 50 units", 50, 500, 16),
            ("5 x 5 units", 5, 25, 4),
            ("3 x 1000 units", 1000, 3000, 64),
        )
    ),
    *(
        (
            f"a load, {rate:,} units a second, burst {burst:g} s",
            _of_rate,
            Situation(rate=rate, burst_seconds=burst, patient=True, seconds=15, tasks=tasks),
        )
        for rate, burst, tasks in ((5, 0, 50), (50, 0, 50), (1000, 0, 125), (1000, 0.5, 125), (8000, 0, 400))
    ),
    ("handlers beyond 1,000 units", _of_rate, Situation(rate=1000, tasks=64, seconds=15)),
    ("the same and 5 % for other reasons", _of_rate, Situation(rate=1000, tasks=64, seconds=15, unrelated=0.05)),
    ("all refused for 2 s, then 80 %", _recovery, Situation(rate=4000, outage=(3, 5), tasks=16)),
    ("the same of a slow table", _recovery, Situation(rate=150, outage=(3, 5), tasks=64, patient=True)),
    (
        "halved and doubled, after 3 to 5 s",
        _followed,
        Situation(rate=1000, changes=((5, 500), (10, 1000)), seconds=15, patient=True),
    ),
    ("to a tenth and back", _followed, Situation(rate=1000, changes=((5, 100), (10, 1000)), seconds=15, patient=True)),
    ("60 items on 5 units", _small, Situation(rate=5, items=60, tasks=60, seconds=60)),
    ("60 items on 5 units, patient", _small, Situation(rate=5, items=60, tasks=60, seconds=60, patient=True)),
    *(
        (f"{n} processes", _fair, Situation(rate=1000, processes=n, tasks=125, patient=True, seconds=15))
        for n in (2, 4, 8)
    ),
]


def main() -> None:
    """Print the table, of all laws or of those that the command line names."""
    laws = {name: law for name, law in LAWS.items() if len(sys.argv) == 1 or name in sys.argv[1:]}
    print("| situation | " + " | ".join(laws) + " |")
    for name, judge, situation in ROWS:
        print(f"| {name} | " + " | ".join(judge(situation, law) for law in laws.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
