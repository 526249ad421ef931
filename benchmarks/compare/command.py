"""Measures again what a file of results holds, and fails if this library became dearer beside the floor."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import questions
from benchmarks.compare.judge import Change, changes, is_quick, newest, questions_in
from benchmarks.results import Results
from benchmarks.rounds import Plan, measure
from benchmarks.subjects import FLOOR, OURS

FOLDER = Path(__file__).resolve().parents[1] / "results"


def main() -> int:
    """Print what changed. What looks dearer is measured a second time, and counts if it is dearer both times."""
    options = _options()
    content = _content(options.file)
    before = questions_in(content)
    known = [name for name in questions.NAMES if name in before and not questions.load(name).once]
    asked = [name for name in known if not options.only or name in options.only]
    console = Console(width=None if Console().is_terminal else 130)
    console.print(f"before: commit {content['commit'][:12]} of {content['when']}", highlight=False)
    found = changes(before, _measured(asked, quick=is_quick(content), rounds=options.rounds))
    suspects = _dearer(found)
    again = []
    if suspects:
        console.print(f"measured a second time: {', '.join(suspects)}", highlight=False)
        again = changes(before, _measured(suspects, quick=is_quick(content), rounds=options.rounds))
    dearer = [name for name in suspects if name in _dearer(again)]
    console.print(_table(found, again))
    console.print(f"dearer: {', '.join(dearer)}" if dearer else "nothing became dearer", highlight=False)
    return 1 if dearer else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench_compare --", description=__doc__)
    parser.add_argument("compare")
    parser.add_argument("file", nargs="?", type=Path, help="default: the latest full run of benchmarks/results")
    parser.add_argument("--only", nargs="+", choices=questions.NAMES, metavar="QUESTION")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each question (default: 5)")
    return parser.parse_args()


def _content(file: Path | None) -> dict[str, Any]:
    if file is None:
        files: Mapping[str, Any] = {str(path): json.loads(path.read_bytes()) for path in FOLDER.glob("*.json")}
        file = Path(newest(files))
    print(f"compared with {file}")
    content: dict[str, Any] = json.loads(file.read_bytes())
    return content


def _measured(names: Sequence[str], *, quick: bool, rounds: int) -> dict[str, dict[str, list[dict[str, float]]]]:
    results = Results(quick=quick)
    asked = {name: questions.load(name) for name in names}
    measure(Plan(asked=asked, names=(FLOOR, OURS), rounds=rounds, quick=quick), results)
    for name, absent in results.absent.items():
        for subject, why in absent.items():
            print(f"{subject}: {name}: {why}")
    if results.failed:
        raise SystemExit("the comparison is not complete")
    return results.runs


def _dearer(found: Sequence[Change]) -> list[str]:
    return list(dict.fromkeys(change.question for change in found if change.state == "dearer"))


def _table(found: Sequence[Change], again: Sequence[Change]) -> Table:
    table = Table(title="This library as a multiple of the floor: from the least to the greatest run")
    for title in ("question", "figure", "before", "now", "median moved by", "so it is", "second time"):
        table.add_column(title)
    second = {(change.question, change.figure): change.state for change in again}
    for change in found:
        style = {"dearer": "red", "cheaper": "green"}.get(change.state)
        words = [change.question, change.figure, _range(change.before), _range(change.after), f"{change.move:+.0%}"]
        table.add_row(*words, change.state, second.get((change.question, change.figure), ""), style=style)
    return table


def _range(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f} ({len(ratios)})"
