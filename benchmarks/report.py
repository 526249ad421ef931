"""The tables that a run prints."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.budgets import BUDGETS, Verdict, judge, unjudged
from benchmarks.questions import Question
from benchmarks.results import Medians, Results
from benchmarks.subjects import FLOOR, NAMES, OURS

_BESIDES = {"peak_mib": ("most memory held", "MiB"), "blocked_ms": ("event loop blocked", "ms")}


def show(results: Results, asked: Mapping[str, Question], *, rounds: int, seconds: float, busy: float) -> None:
    """Print costs, speeds, what was not measured, and how the budgets were kept."""
    console = Console(width=None if Console().is_terminal else 200)
    medians = results.medians()
    names = [name for name in NAMES if name in results.returns]
    console.print(_costs(results, asked, medians, names))
    console.print(_speeds(medians, asked, names))
    for (subject, why), without in _reasons(results).items():
        console.print(f"{subject}: {', '.join(without)}: {why}", style="dim", highlight=False)
    verdicts = judge(BUDGETS, medians, results.returns)
    console.print(_verdicts(verdicts, asked))
    missing = list(dict.fromkeys(budget.question for budget in unjudged(BUDGETS, verdicts)))
    if missing:
        console.print(f"Budgets without figures in this run: {', '.join(missing)}", highlight=False)
    console.print(f"{rounds} rounds in {seconds:.0f} s; load of the machine at the end {busy:.1f}", highlight=False)


def _reasons(results: Results) -> dict[tuple[str, str], list[str]]:
    """Return library and reason -> the questions without a figure."""
    found: dict[tuple[str, str], list[str]] = {}
    for question, absent in results.absent.items():
        for subject, why in absent.items():
            found.setdefault((subject, why), []).append(question)
    return found


def _costs(results: Results, asked: Mapping[str, Question], medians: Medians, names: Sequence[str]) -> Table:
    table = Table(
        title="CPU per operation: median, (x the floor), spread of the runs",
        caption="Spread: from the least to the greatest run, in percent of the median. Reads give: "
        + "; ".join(f"{name} {returns}" for name, returns in results.returns.items()),
    )
    table.add_column("question")
    table.add_column("unit")
    for name in names:
        table.add_column(name, justify="right", style="bold" if name == OURS else None)
    for question, each in asked.items():
        floor = medians.get(question, {}).get(FLOOR, {}).get("cost")
        cells = []
        for name in names:
            cost = medians.get(question, {}).get(name, {}).get("cost")
            if cost is None:
                cells.append(results.absent.get(question, {}).get(name, "").partition(":")[0])
                continue
            ratio = f" ({cost / floor:.2f})" if floor and name != FLOOR else ""
            cells.append(f"{_figure(cost)}{ratio} {results.spread(question, name):.0%}")
        table.add_row(each.asks, each.unit, *cells)
        for figure, (words, unit) in _BESIDES.items():
            told = {name: figures.get(figure) for name, figures in medians.get(question, {}).items()}
            if any(told.values()):
                table.add_row(f"  {words}", unit, *(_figure(told.get(name)) for name in names))
    return table


def _speeds(medians: Medians, asked: Mapping[str, Question], names: Sequence[str]) -> Table:
    table = Table(title="Operations per second, p50 / p99 of a call in milliseconds")
    table.add_column("question")
    for name in names:
        table.add_column(name, justify="right", style="bold" if name == OURS else None)
    for question, each in asked.items():
        figures = medians.get(question, {})
        if any("rate" in figure for figure in figures.values()):
            table.add_row(each.asks, *(_speed(figures.get(name, {})) for name in names))
    return table


def _speed(figures: dict[str, float]) -> str:
    if "rate" not in figures:
        return ""
    times = f" {_figure(figures['p50_ms'])}/{_figure(figures['p99_ms'])}" if "p50_ms" in figures else ""
    return f"{figures['rate']:,.0f}{times}"


def _verdicts(verdicts: Sequence[Verdict], asked: Mapping[str, Question]) -> Table:
    table = Table(title="Budgets")
    for title in ("question", "budget", "measured", "beside", "kept"):
        table.add_column(title)
    for verdict in verdicts:
        kept = "met" if verdict.met else f"missed by {verdict.missed_by:.0%}"
        style = None if verdict.met else "red"
        asks = asked[verdict.budget.question].asks
        table.add_row(asks, str(verdict.budget), f"{verdict.ratio:.2f}", verdict.beside, kept, style=style)
    return table


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
