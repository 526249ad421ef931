"""Makes the full runs, and writes their figures into the pages that tell them. No figure is written by hand."""

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import questions
from benchmarks.acceptance import report
from benchmarks.acceptance.goals import GOALS, Goal
from benchmarks.acceptance.questions import QUESTIONS
from benchmarks.budgets import BUDGETS, judge, unjudged
from benchmarks.processes import ENTRY
from benchmarks.subjects import FLOOR, NAMES, OURS, PEERS

_ROOT = Path(__file__).resolve().parents[1]
_RESULTS = _ROOT / "benchmarks" / "results"
PAGES = (
    _ROOT / "README.md",
    _ROOT / "docs" / "explanation" / "pacing.md",
    _ROOT / "docs" / "explanation" / "performance.md",
    _ROOT / "docs" / "explanation" / "performance-figures.md",
)
_BLOCK = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)

Content = Mapping[str, Any]


def main() -> int:
    """Ask everything that is published, then write the pages; or only write the pages."""
    parser = argparse.ArgumentParser(prog="nox -s bench -- publish", description=__doc__)
    parser.add_argument("publish")
    parser.add_argument("--pages", action="store_true", help="only write the pages, from the newest files of results")
    options = parser.parse_args()
    failed = [] if options.pages else [run for run in _runs(time.strftime("%Y-%m-%d")) if _fails(run)]
    if failed:
        print("not published, since these had failures:", *(" ".join(run) for run in failed), sep="\n")
        return 1
    for page in PAGES:
        page.write_text(filled(page.read_text("utf-8")), "utf-8")
    return 0


def _runs(day: str) -> Iterator[list[str]]:
    """Yield the command lines of ``python benchmarks``, with paths from the checkout: they stand in the files."""
    results, charts = f"benchmarks/results/{day}", "docs/explanation/performance"
    yield ["--json", f"{results}-full.json", "--svg", f"{charts}.svg"]
    yield ["growth", "--json", f"{results}-growth.json", "--svg", f"{charts}-growth.svg"]
    yield ["web", "--json", f"{results}-web.json"]
    yield ["acceptance", "--json", f"{results}-acceptance.json"]


def _fails(run: Sequence[str]) -> bool:
    return subprocess.run([sys.executable, str(ENTRY), *run], cwd=_ROOT, check=False).returncode != 0


def newest(kind: str) -> tuple[str, Content] | None:
    """Return the name and content of the latest file of a kind: ``full``, ``growth``, ``web`` or ``acceptance``."""
    files = sorted(_RESULTS.glob(f"*-{kind}.json"))
    return (files[-1].name, json.loads(files[-1].read_bytes())) if files else None


def filled(text: str) -> str:
    """Return a page with the figures of the newest results in its blocks; one without results stays as it is."""

    def write(found: re.Match[str]) -> str:
        written = _WRITERS[found[2]]()
        return found[0] if written is None else f"{found[1]}\n{written}\n\n{found[3]}"

    return _BLOCK.sub(write, text)


def _full() -> Content:
    found = newest("full")
    assert found is not None, "benchmarks/results has no full run"
    return found[1]


def _about(kind: str) -> str:
    found = newest(kind)
    if found is None:
        return "No run is published yet."
    name, content = found
    machine = content["machine"]
    lines = [
        f"- file: `benchmarks/results/{name}`, made by `{content['command']}` on {content['when'][:10]}",
        f"- commit: {_commit(content)}",
        *_earlier(content),
        f"- machine: {machine['cores']} cores, {machine['processor']}, {machine['system']}",
        f"- load at the end: {machine['load'][0]:.1f}",
    ]
    if "spreads" in content:
        spreads = sorted(spread for each in content["spreads"].values() for spread in each.values())
        middle, most = spreads[len(spreads) // 2], spreads[int(len(spreads) * 0.9)]
        lines.append(
            f"- spread of the rounds: {middle:.0%} of the median for half of the costs, {most:.0%} for nine in ten"
        )
    if "pythons" in content:
        lines.append(f"- Python {', '.join(content['pythons'])}")
    if kind == "acceptance":
        told = [figures.get("versions", {}) for each in content["answers"].values() for figures in each.values()]
    else:
        told = [content["versions"]] if kind == "web" else content["versions"].values()
    pairs = {f"{name} {number}" for each in told for name, number in each.items()}
    lines.append(f"- versions: {', '.join(sorted(pairs))}")
    return "\n".join(lines)


def _earlier(content: Mapping[str, Any]) -> list[str]:
    """Return a line for each run that answered some of the questions before the one that wrote the file last."""
    runs: dict[tuple[str, str], list[str]] = {}
    for question, run in content.get("asked", {}).items():
        runs.setdefault((_commit(run), run["command"]), []).append(f"`{question}`")
    runs.pop((_commit(content), content["command"]), None)
    return [
        f"- asked at commit {commit}, by `{command}`: {', '.join(questions)}"
        for (commit, command), questions in runs.items()
    ]


def _commit(run: Mapping[str, Any]) -> str:
    return f"{run['commit'][:12]}{', changed since' if run['changed_since'] else ''}"


def _multiples() -> str:
    """Return the table of questions with a floor: the floor's own cost, and multiples of it."""
    full = _full()
    medians = full["medians"]
    names = [name for name in NAMES if name != FLOOR and name in full["returns"]]
    rows = [["question", "floor", *names]]
    for name in _asked(medians):
        figures = medians[name]
        if FLOOR in figures:
            floor = figures[FLOOR]["cost"]
            ratios = [_ratio(figures[each]["cost"] / floor) if each in figures else "" for each in names]
            rows.append([questions.load(name).asks, f"{_number(floor)} {_unit(name)}", *ratios])
    return _table(rows)


def _plain() -> str:
    """Return the table of figures in units of their own: rates, memory, and costs without a floor."""
    full = _full()
    medians = full["medians"]
    names = [name for name in NAMES if name in full["returns"]]
    rows = [["figure", *names]]
    for name in _asked(medians):
        asks, figures = questions.load(name).asks, medians[name]
        wanted: list[tuple[str, str]] = []
        if name in ("get_one", "concurrent_gets_400", "concurrent_puts", "batch_write"):
            wanted.append((f"{asks}: operations a second", "rate"))
        if name in ("stream", "stream_million"):
            wanted.append((f"{asks}: most memory held, MiB", "peak_mib"))
        if _unit(name) != "µs":
            wanted.append((asks if _unit(name) in asks else f"{asks}, {_unit(name)}", "cost"))
        if name == "open_configured":
            wanted.append((f"{asks}: event loop blocked, ms", "blocked_ms"))
        for words, figure in wanted:
            rows.append([words, *(_number(figures[each][figure]) if each in figures else "" for each in names)])
    return _table(rows)


def _budgets() -> str:
    full = _full()
    verdicts = judge(BUDGETS, full["medians"], full["returns"])
    rows = [["question", "budget", "measured", "beside", "kept"]]
    for verdict in verdicts:
        kept = "met" if verdict.met else f"**missed by {verdict.missed_by:.0%}**"
        asks = questions.load(verdict.budget.question).asks
        rows.append([asks, str(verdict.budget), _ratio(verdict.ratio), verdict.beside, kept])
    text = f"{sum(verdict.met for verdict in verdicts)} of {len(verdicts)} are met.\n\n{_table(rows)}"
    missing = list(dict.fromkeys(budget.question for budget in unjudged(BUDGETS, verdicts)))
    return f"{text}\n\nWithout figures in this run: {', '.join(missing)}." if missing else text


def _cheaper() -> str:
    """Return the table of everything that a peer does for less, and by how much."""
    medians = _full()["medians"]
    rows = [["question", "dynamap_async", "cheaper"]]
    for name in _asked(medians):
        figures = medians[name]
        ours = figures.get(OURS, {}).get("cost")
        peers = [each for each in PEERS if each in figures and ours is not None and figures[each]["cost"] < ours]
        if peers:
            told = [f"{each} {_number(figures[each]['cost'])}" for each in sorted(peers, key=_cost(figures))]
            rows.append([questions.load(name).asks, f"{_number(ours)} {_unit(name)}", ", ".join(told)])
    return _table(rows) if len(rows) > 1 else "No peer is cheaper in any question."


def _growth() -> str:
    found = newest("growth")
    assert found is not None, "benchmarks/results has no run of growth"
    rows = [["what grows", "figure", "worst at", "grew by", "the floor's", "bound", "flat"]]
    for each in found[1]["verdicts"]:
        told = [f"{each['times']:.2f}", f"{each['floor_times']:.2f}", f"{each['bound']:.2f}"]
        size, flat = f"{each['worst_size']:,}", "yes" if each["flat"] else "**no**"
        rows.append([each["series"], each["figure"], size, *told, flat])
    return _table(rows)


def _web() -> str:
    found = newest("web")
    if found is None:
        return "No run is published yet; `nox -s bench -- web` makes one."
    medians, verdicts = found[1]["medians"], found[1]["verdicts"]
    rows = [["clients", *(f"{library}: requests a second, CPU µs, p99 ms" for library in medians)]]
    for state in next(iter(medians.values())):
        cells = []
        for figures in (each[state] for each in medians.values()):
            failed = f", {figures['failed']:.0f} failed" if figures["failed"] else ""
            cells.append(f"{figures['rate']:,.0f}, {figures['cpu_us']:,.0f}, {_number(figures['p99_ms'])}{failed}")
        rows.append([state, *cells])
    tracked = [f"{next(iter(figures.values()))['tracked']:,.0f}" for figures in medians.values()]
    judged = [["budget", "measured", "kept"]]
    for each in verdicts:
        kept = "met" if each["met"] else f"**missed by {each['missed_by']:.0%}**"
        judged.append([each["budget"], _number(each["measured"]), kept])
    return f"{_table([*rows, ['objects tracked', *tracked]])}\n\n{_table(judged)}"


def _acceptance() -> str | None:
    """Return the table of goals, this library's figures and those of the others that were asked."""
    found = newest("acceptance")
    if found is None:
        return None
    answers: report.Answers = found[1]["answers"]
    asked = [goal for goal in GOALS if goal.measured(answers) is not None]
    alike: dict[tuple[str, str, str], list[Goal]] = {}
    for goal in sorted(asked, key=lambda goal: list(QUESTIONS).index(goal.question)):
        alike.setdefault((goal.question, goal.figure, goal.beside), []).append(goal)
    head = ["question", "asked", OURS, "peers", "goal", "reached"]
    rows = [head, *(_reached(goals, answers) for goals in alike.values())]
    met = sum(goal.met(goal.measured(answers) or 0.0) for goal in asked)
    left = [name for name in QUESTIONS if name not in answers]
    told = f"{met} of {len(asked)} goals are reached."
    if left:
        told += f" Without figures in this run: {', '.join(left)}."
    return f"{told}\n\n{_table(rows, texts=len(head))}\n\n{_about('acceptance')}"


def _reached(goals: Sequence[Goal], answers: report.Answers) -> list[str]:
    """Return the row of the goals for one figure: there is one goal for each way in which this library is used."""
    first = goals[0]
    titles = report.FIGURES[first.question]
    what = " / ".join(titles[each] for each in (first.figure, first.beside) if each)

    def told(value: float) -> str:
        return f"{value:.2f}" if first.beside else report.cell(first.figure, value)

    peers = {
        label: value
        for label in answers[first.question]
        if not label.startswith(OURS)
        and (value := replace(first, variant=label, bound=0).measured(answers)) is not None
    }
    ours = {_way(goal): (goal, goal.measured(answers) or 0.0) for goal in goals}
    missed = [way for way, (goal, value) in ours.items() if not goal.met(value)]
    bounds = dict.fromkeys(told(goal.bound) for goal in goals)
    return [
        f"`{first.question}`",
        f"{QUESTIONS[first.question].asks}: {what}",
        ", ".join(f"{way} {told(value)}" for way, (_, value) in ours.items()),
        ", ".join(f"{label.replace(',', '')} {told(value)}" for label, value in peers.items()),
        f"at {'least' if first.at_least else 'most'} {' and '.join(bounds)}",
        f"**missed**: {', '.join(missed)}" if missed else "met",
    ]


def _way(goal: Goal) -> str:
    """Return how this library is used in a goal: ``known``, ``learned`` or ``an eighth each``."""
    return goal.variant.removeprefix(f"{OURS}, ").removeprefix("limit ")


def _summary() -> str:
    """Return README's table: times of a few questions, beside the best peer and the AWS client."""
    found = newest("full")
    assert found is not None
    medians, machine, returns = found[1]["medians"], found[1]["machine"], found[1]["returns"]
    rows = [["CPU for each", "dynamap_async", "best peer", "aiobotocore"]]
    behind = []
    for name, words in _SUMMARY.items():
        figures = medians.get(name, {})
        if OURS not in figures:
            continue
        best = min((each for each in PEERS if each in figures), key=_cost(figures))
        cells = [f"{_number(figures[each]['cost'])} {_unit(name)}" for each in (OURS, best)]
        aws = f"{_number(figures['aiobotocore']['cost'])} {_unit(name)}" if "aiobotocore" in figures else ""
        rows.append([words, cells[0], f"{cells[1]} ({best}: {returns[best]})", aws])
        if figures[best]["cost"] < figures[OURS]["cost"]:
            behind.append(words)
    told = f"Measured on {found[1]['when'][:10]}, {machine['cores']} cores of {machine['processor']}."
    ahead = f"Cheaper elsewhere: {'; '.join(behind)}." if behind else "No peer is cheaper in any of these."
    return f"{_table(rows)}\n\n{told}\n{ahead}"


_SUMMARY = {
    "get_one": "a get alone",
    "put_one": "a put alone",
    "concurrent_gets_400": "one of 400 concurrent gets",
    "concurrent_puts": "one of 10,000 puts from 400 tasks",
    "query_100": "a page of 100",
    "batch_get": "one item of a batch get",
    "transaction_10": "a transaction of 10",
    "cold_start": "a process, from its start to the first get",
}
_WRITERS: Mapping[str, Callable[[], str | None]] = {
    "run": lambda: _about("full"),
    "web_run": lambda: _about("web"),
    "growth_run": lambda: _about("growth"),
    "multiples": _multiples,
    "plain": _plain,
    "budgets": _budgets,
    "cheaper": _cheaper,
    "growth": _growth,
    "web": _web,
    "acceptance": _acceptance,
    "summary": _summary,
}
"""Name of a block -> what writes it; None where there are no results for it."""


def _asked(medians: Mapping[str, Any]) -> list[str]:
    """Return the questions that a run has, in the order of the table."""
    return [name for name in questions.NAMES if name in medians]


def _unit(question: str) -> str:
    return questions.load(question).unit.replace("us", "µs")


def _cost(figures: Mapping[str, Mapping[str, float]]) -> Callable[[str], float]:
    return lambda name: figures[name]["cost"]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 10 else f"{value:.2f}"


def _table(rows: Sequence[Sequence[str]], *, texts: int = 1) -> str:
    """Return a table, of which so many columns are texts, and the others numbers."""
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    line = f"|{' --- |' * texts}{' ---: |' * (len(rows[0]) - texts)}"
    return "\n".join([head, line, *rest])
