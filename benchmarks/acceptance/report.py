"""The tables that a run prints, and the file that is kept."""

import json
import os
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.acceptance.goals import GOALS
from benchmarks.acceptance.questions import QUESTIONS, Figures
from benchmarks.acceptance.situations import SHARES
from benchmarks.results import git, machine

Answers = dict[str, dict[str, Figures]]
"""Question -> library and how it was used -> figures."""

_SHARES = {"rate": "rate used", "refused": "requests refused", "throttled": "item attempts throttled"}
FIGURES: dict[str, dict[str, str]] = {
    "bulk": {**_SHARES, "seconds": "seconds", "missing": "items missing"},
    "beside": {
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
        "full_collections": "full garbage collections, beside",
        "handlers_throttled": "handlers throttled",
        "handlers_failed": "handlers failed",
        **_SHARES,
    },
    "changing": {
        "rate_halved": "rate used, halved",
        "throttled_halved": "throttled, halved",
        "rate_doubled": "rate used, doubled",
        "throttled_doubled": "throttled, doubled",
        "refused": "requests refused, all the time",
        "throttled": "item attempts throttled, all the time",
    },
    "unrelated": {f"part_{share:g}": f"{share:.1%} refused: part of what is not paced" for share in SHARES},
    "outage": {"recovered": "the next second / before", "failed": "calls failed"},
    "small": {"times_ideal": "times the ideal time", "missing": "items missing"},
    "processes": {"poorest": "poorest / fair share", "richest": "richest / fair share", **_SHARES},
}


def show(answers: Answers, *, burst_seconds: float, latency_ms: float) -> None:
    """Print one table for each question, and how the goals were met."""
    console = Console(width=None if Console().is_terminal else 200)
    setting = (
        f"1,000 write units a second, burst spent, unused capacity kept for {burst_seconds:g} s, "
        f"an answer takes {latency_ms:g} ms or more; times in ms"
    )
    for question, variants in answers.items():
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
        table.add_row(title, *(_cell(name, figures.get(name)) for figures in variants.values()))
    return table


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


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name.startswith(("rate", "refused", "throttled", "poorest", "richest", "part", "recovered")):
        return f"{value:.1%}"
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def write(path: Path, answers: Answers, **settings: Any) -> None:
    """Write everything as JSON."""
    content = {
        **settings,
        "commit": git("rev-parse", "HEAD"),
        "changed_since": bool(git("status", "--porcelain", "--", "dynamap_async", "benchmarks")),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
        "load_at_end": os.getloadavg()[0],
        "goals": _told(answers),
        "answers": answers,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def _told(answers: Answers) -> list[dict[str, Any]]:
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
