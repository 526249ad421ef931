"""Measures two commits side by side, without a network, and fails if the new one is dearer by more than 3 %."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.compare.judge import Change
from benchmarks.processes import ENTRY, Programs, WorkerError, pinned
from benchmarks.results import git

_ROOT = Path(__file__).parents[2]
_SLICES, _QUICK_SLICES = 60, 20
START = "start"
"""The question what a process takes from its start to the first answer."""


def main() -> int:
    """Print what changed. What looks dearer is measured a second time, and counts if it is dearer both times."""
    options = _options()
    console = Console(width=None if Console().is_terminal else 110)
    with tempfile.TemporaryDirectory() as folder:
        old, new = (
            installed(commit, Path(folder, name)) for commit, name in ((options.old, "old"), (options.new, "new"))
        )

        def measured(only: Sequence[str]) -> list[Change]:
            return measure(
                old, new, only=only, rounds=options.rounds, slices=_QUICK_SLICES if options.quick else _SLICES
            )

        found = measured(options.only)
        # By chance one question in 252 looks dearer; twice in a row hardly ever.
        suspects = [change.question for change in found if change.state == "dearer"]
        again = {change.question: change for change in measured(suspects)} if suspects else {}
    console.print(_table(found, again))
    named = {
        state: [each.question for each in found if each.state == state] for state in ("too noisy", "too few rounds")
    }
    for state, names in named.items():
        if names:
            console.print(f"{state} to tell 3 %: {', '.join(names)}", highlight=False)
    dearer = [name for name in suspects if again[name].state == "dearer"]
    console.print(f"dearer: {', '.join(dearer)}" if dearer else "nothing became dearer", highlight=False)
    return 1 if dearer else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench_compare --", description=__doc__)
    parser.add_argument("compare")
    parser.add_argument("old", nargs="?", default="HEAD", help="the commit to compare with (default: HEAD)")
    parser.add_argument("new", nargs="?", help="the commit that is judged (default: the files as they are)")
    parser.add_argument("--only", nargs="+", default=[], metavar="QUESTION")
    parser.add_argument("--quick", action="store_true", help="a third of the measurements")
    parser.add_argument("--rounds", type=int, default=5, help="fresh processes of each version (default: 5)")
    return parser.parse_args()


class Installed(NamedTuple):
    """A version that can be asked."""

    package: str
    """The folder that it is installed in."""
    subject: str
    """Its own `ours.py`, which knows the names of that time."""


def installed(commit: str | None, folder: Path) -> Installed:
    """Install a version, with whatever it compiles.

    Args:
        commit: which; None for the files as they are.
        folder: where to; it is made.
    """
    source = _ROOT
    if commit is not None:
        source = folder / "source"
        source.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", commit], cwd=_ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x"], cwd=source, input=archive, check=True)
    package = folder / "package"
    line = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--compile", "--target", package, source]
    subprocess.run(line, check=True)
    print(f"{folder.name}: {git('log', '-1', '--format=%h %s', commit) if commit else 'the files as they are'}")
    return Installed(str(package), str(source / "benchmarks" / "subjects" / "ours.py"))


def measure(old: Installed, new: Installed, *, only: Sequence[str], rounds: int, slices: int) -> list[Change]:
    """Return what became of each question.

    In each round there are three fresh processes: the old version twice, and the new one. They are asked by turns, some
    milliseconds each, and neighbours in time are compared: whatever slows the machine slows both. The median of that
    bears a busy machine better than the least of each, which is luck.

    Args:
        only: the questions; none for all.
        slices: how often each process is asked a question in a round.
    """
    found: dict[str, Change] = {}
    for number in range(rounds):
        with ExitStack() as stack:
            versions = [stack.enter_context(_version(each)) for each in (old, old, new)]
            known = [name for name in versions[0].questions if all(name in each.questions for each in versions)]
            for name in [START, *known]:
                if only and name not in only:
                    continue
                for at in range(0 if name == START else slices):
                    for version in (*versions[at % 3 :], *versions[: at % 3]):
                        version.ask(name)
                first, second, third = (version.told[name] for version in versions)
                change = found.setdefault(name, Change(name, [], []))
                noise, now = [*change.noise, _ratio(second, first)], [*change.now, _ratio(third, first)]
                found[name] = Change(name, noise, now)
        print(f"{number + 1} of {rounds} rounds", file=sys.stderr, flush=True)
    return list(found.values())


def _ratio(figures: Sequence[float], beside: Sequence[float]) -> float:
    return statistics.median(each / other for each, other in zip(figures, beside, strict=True))


class Version:
    """A process that measures one version."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        first = self._line()
        self.questions: Sequence[str] = first["questions"]
        self.told: dict[str, list[float]] = {START: [first["start"]]}
        """Question -> what it told so far."""

    def ask(self, name: str) -> None:
        """Measure a question once more."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        self.told.setdefault(name, []).append(self._line())

    def _line(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError("a process ended in the middle of a round; what it said stands above")
        return json.loads(line)


@contextmanager
def _version(asked: Installed) -> Iterator[Version]:
    """Start a process for one version; end it afterwards."""
    # Hashes decide where things lie in memory: they are the same for all. Compiled modules are kept.
    env = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": ""}
    line = [sys.executable, str(ENTRY), "comparing", *asked]
    with pinned(Programs.found().client_cores):
        process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    with process:
        yield Version(process)
        assert process.stdin is not None
        process.stdin.close()


def _table(found: Sequence[Change], again: Mapping[str, Change]) -> Table:
    table = Table(title="CPU as a multiple of the old version's: least, median and greatest round")
    for title in ("question", "the old one again", "the new one", "moved by", "so it is", "second time"):
        table.add_column(title)
    for each in found:
        style = {"dearer": "red", "cheaper": "green"}.get(each.state)
        second = f"{again[each.question].move:+.1%}" if each.question in again else ""
        words = [each.question, _range(each.noise), _range(each.now), f"{each.move:+.1%}", each.state, second]
        table.add_row(*words, style=style)
    return table


def _range(ratios: Sequence[float]) -> str:
    ordered = sorted(ratios)
    return " ".join(f"{ordered[at]:.3f}" for at in (0, len(ordered) // 2, -1))
