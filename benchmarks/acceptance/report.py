"""The tables that a run prints, and the file that is kept."""

import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.acceptance.goals import GOALS
from benchmarks.acceptance.questions import QUESTIONS, Figures
from benchmarks.acceptance.situations import PUSHED, SHARES
from benchmarks.results import changed_since, git, machine

Answers = dict[str, dict[str, Figures]]
"""Question -> library and how it was used -> figures."""

_SHARES = {"rate": "rate used", "refused": "requests refused", "throttled": "item attempts throttled"}
_LATENCIES = {
    "get_p50_idle": "get p50, idle",
    "get_p50": "get p50, beside",
    "get_p99_idle": "get p99, idle",
    "get_noise": "its highest / its lowest",
    "get_p99": "get p99, beside",
    "put_p50_idle": "put p50, idle",
    "put_p50": "put p50, beside",
    "put_p99_idle": "put p99, idle",
    "put_noise": "its highest / its lowest",
    "put_p99": "put p99, beside",
    "put_p100": "longest put, beside",
    "lag_p99_idle": "event loop late, p99, idle",
    "lag_p99": "event loop late, p99, beside",
    "handlers_failed": "handlers failed",
}
FIGURES: dict[str, dict[str, str]] = {
    "bulk": {**_SHARES, "seconds": "seconds", "missing": "items missing"},
    "beside": {
        **_LATENCIES,
        "full_collections": "full garbage collections, beside",
        "handlers_throttled": "handlers throttled",
        **_SHARES,
    },
    "scan": {**_LATENCIES, **_SHARES},
    "index": {**_LATENCIES, "rate": "the index's rate used", "next_rate": "then, without the index: rate used"},
    "changing": {
        "rate_halved": "rate used, halved",
        "throttled_halved": "throttled, halved",
        "rate_doubled": "rate used, doubled",
        "throttled_doubled": "throttled, doubled",
        "refused": "requests refused, all the time",
        "throttled": "item attempts throttled, all the time",
    },
    "unrelated": {f"part_{share:g}": f"{share:.1%} refused: part of what is not paced" for share in SHARES},
    "counters": {"part": "part of what is not paced"},
    "saved": {"throttled_first": "items throttled in the first second", **_SHARES},
    "stranger": {
        f"{name}_{job}": f"{job}, {has:,} units and {pushed:,} asked for: part of what is not paced"
        for name, (has, pushed) in PUSHED.items()
        for job in ("puts", "load")
    },
    "outage": {"recovered": "the next second / before", "failed": "calls failed"},
    "small": {"times_ideal": "times the ideal time", "missing": "items missing"},
    "spared": {"seconds": "seconds", "failed": "calls failed"},
    "usage": {
        "read_off": "read units: off by",
        "write_off": "write units: off by",
        "estimated": "part of the units that was not reported",
    },
    "budgets": {
        "taken_query": "a query of 128 units: units taken",
        "taken_gets": "300 gets of 2.5 units: units taken",
        "taken_ten": "ten queries of 128 units: units taken",
        "taken_scan": "a scan in 8 segments: units taken",
        "taken_updates": "100 updates of 20 units: units taken",
    },
    "free": {
        f"{job}_{figure}": f"{what}{told}"
        for job, what in {"load": "put_many", "push": "puts by 64 tasks", "lone": "puts, one by one"}.items()
        for figure, told in {
            "cpu_us_unpaced": ", not paced: µs an item",
            "cpu_us": ": µs an item",
            "cpu_times": ": with pacing / without",
        }.items()
    },
    "processes": {"poorest": "poorest / fair share", "richest": "richest / fair share", **_SHARES},
}


def show(answers: Answers, *, burst_seconds: float, latency_ms: float) -> None:
    """Print one table for each question, and how the goals were met."""
    console = Console(width=None if Console().is_terminal else 200)
    for question, variants in answers.items():
        setting = (
            f"1,000 write units a second, burst spent, unused capacity kept for {burst_seconds:g} s, "
            f"an answer takes {QUESTIONS[question].answers_in(latency_ms):g} ms or more; times in ms"
        )
        console.print(_figures(question, variants, setting))
        for label, figures in variants.items():
            if "error" in figures:
                console.print(f"{label}: {figures['error']}", style="dim", highlight=False, markup=False)
    console.print(_goals(answers))


def _figures(question: str, variants: dict[str, Figures], setting: str) -> Table:
    table = Table(title=QUESTIONS[question].asks, caption=setting)
    table.add_column("")
    for label in variants:
        table.add_column(label, justify="right")
    for name, title in FIGURES[question].items():
        table.add_row(title, *(cell(name, figures.get(name)) for figures in variants.values()))
    return table


_PARTS = (
    "rate",
    "next_rate",
    "refused",
    "throttled",
    "poorest",
    "richest",
    "part",
    "recovered",
    "estimated",
    *PUSHED,
)
"""How the names of figures begin that are parts of a whole."""


def _goals(answers: Answers) -> Table:
    table = Table(title="Goals")
    for title in ("question", "library", "goal", "measured", "met"):
        table.add_column(title)
    for goal in GOALS:
        value = goal.measured(answers)
        if value is not None:
            met = goal.met(value)
            cells = (goal.question, goal.variant, str(goal), f"{value:.3g}", "met" if met else "missed")
            table.add_row(*cells, style=None if met else "red")
    return table


def cell(name: str, value: Any) -> str:
    """Return a figure as it is told; nothing where there is none."""
    if value is None:
        return ""
    if name.endswith("_off"):
        return f"{value:.2%}"
    if name.endswith("_times"):
        return f"{value:.2f}"
    if name.startswith(_PARTS) and isinstance(value, float):
        return f"{value:.1%}"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def write(path: Path, answers: Answers, **settings: Any) -> None:
    """Write all figures as JSON; answers to other questions in that file stay, so that a run can be done in parts."""
    before = json.loads(path.read_bytes()) if path.exists() else {}
    commit, when = git("rev-parse", "HEAD"), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    changed = changed_since()
    asked = before.get("asked", {}) | {
        name: {"commit": commit, "changed_since": changed, "when": when, **settings} for name in answers
    }
    together = before.get("answers", {}) | answers
    together = {name: together[name] for name in QUESTIONS if name in together}
    content = {
        "command": settings["command"],
        "commit": commit,
        "changed_since": changed,
        "when": when,
        "machine": machine(),
        "asked": asked,
        "goals": told_goals(together),
        "answers": together,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def told_goals(answers: Answers) -> list[dict[str, Any]]:
    """Return each goal whose figure was measured, with that."""
    return [
        {
            "question": goal.question,
            "library": goal.variant,
            "goal": str(goal),
            "measured": value,
            "met": goal.met(value),
        }
        for goal in GOALS
        if (value := goal.measured(answers)) is not None
    ]
