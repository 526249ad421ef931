"""What the demo shows, on a terminal of any width or in a file."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Final

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from dynamap_async import Plan, __version__
from dynamap_async.cli.demo._story import Outcome, Piece, Step
from dynamap_async.cli.demo.scenario import Scenario, words_of
from dynamap_async.cli.demo.tables import table_of
from dynamap_async.cli.demo.work import AnsweredQuestion
from dynamap_async.cli.output import number_of, units_of

_INDENT: Final = 4
_LABEL: Final = 8
_GAP: Final = 2
_MARGIN: Final = 3
"""How far the code of the story is indented: as far as its titles."""
_CODE: Final = 78
"""As wide is that code, with what keeps it apart from what stands beside it."""
_BESIDE: Final = 115
"""On a terminal as wide, what became of code stands beside it, otherwise below."""
_WIDEST: Final = 140
_BECAME: Final = "-> "
_MORE: Final = (
    ("dynamap demo --all", "published designs of tables, 28 questions, what they cost"),
    ("dynamap local", "an engine to develop your application against, without AWS"),
)
_PAGES: Final = (
    ("docs/tutorials/first-table.md", "a table of your own, step by step"),
    ("docs/how-to/query.md", "what a query can ask"),
    ("docs/explanation/planner.md", "how an index is chosen"),
)
"""Pages of the source repository."""


class Screen:
    """Prints the demo's progress and answers to a console."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def opening(self, what: str) -> None:
        """Print what is about to happen."""
        self._console.print(Text(f"dynamap demo, dynamap_async {__version__}", style="bold"))
        self._console.print(what)
        self._console.print()

    def fact(self, label: str, text: str, seconds: float | None = None) -> None:
        """Print a fact about the run, and how long it took."""
        line = Table.grid()
        took = "" if seconds is None else f", {seconds:.2f} s"
        line.add_row(Text(f"  {label:<{_LABEL}}", style="cyan"), Text.assemble(text, (took, "dim")))
        self._console.print(line)

    @contextmanager
    def step(self, label: str, text: str, total: int | None = None) -> Generator[Callable[[], None]]:
        """Show that something is being done, and then that it is done.

        Args:
            label: what it is about.
            text: what will have been done.
            total: how many parts it has; the function that this yields is to be called after each.
        """
        since = time.perf_counter()
        if self._console.is_interactive:
            progress = Progress(
                SpinnerColumn(),
                TextColumn(f"{{task.description:<{_LABEL}}}", style="cyan"),
                *(() if total is None else (BarColumn(), MofNCompleteColumn())),
                console=self._console,
                transient=True,
            )
            with progress:
                task = progress.add_task(label, total=total)
                yield lambda: progress.advance(task)
        else:  # older versions of rich print an empty line for a progress that is disabled
            yield lambda: None
        self.fact(label, text, time.perf_counter() - since)

    @contextmanager
    def waiting(self, what: str) -> Generator[None]:
        """Show on a terminal that something is being done, and erase it afterwards."""
        if not self._console.is_interactive:
            yield
            return
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), console=self._console, transient=True
        ) as progress:
            progress.add_task(what)
            yield

    def told(self, number: int, step: Step, outcomes: Sequence[Outcome]) -> None:
        """Print a step of the story: its code, and the outcomes.

        Args:
            outcomes: one for each piece of its code.
        """
        self._console.print()
        self._console.print(Text(f"{number}  {step.title}", style="bold"))
        for piece, outcome in zip(step.pieces, outcomes, strict=True):
            self._piece(piece, outcome)

    def _piece(self, piece: Piece, outcome: Outcome) -> None:
        code = Syntax(piece.source, "python", theme="ansi_dark").highlight(piece.source).split("\n")
        told = Text("" if piece.tell is None else piece.tell(outcome), "yellow" if piece.is_refused else "green")
        width = min(self._console.width, _WIDEST) - _MARGIN
        became = self._became(told, width - _CODE)
        beside = self._console.width >= _BESIDE and len(became) <= len(code) + 1
        lines: Iterable[tuple[Text, Text]]
        if beside:
            lines = zip_longest(code, became, fillvalue=Text())
        else:
            lines = ((line, Text()) for line in (*code, *self._became(told, width)))
        for left, right in lines:
            line = Text(" " * _MARGIN).append_text(left)
            if right:
                line.pad_right(_MARGIN + _CODE - len(line))
            line.append_text(right).rstrip()
            self._console.print(line, overflow="fold")

    def _became(self, told: Text, width: int) -> list[Text]:
        """Return a text as lines that fit a width, after an arrow."""
        if not told:
            return []
        wrapped = told.wrap(self._console, max(width - len(_BECAME), 1))
        for line in wrapped:
            line.rstrip()
        return [
            Text(" " * len(_BECAME) if number else _BECAME).append_text(line) for number, line in enumerate(wrapped)
        ]

    def end_of_story(self) -> None:
        """Print what else there is to try."""
        self._console.print()
        for command, content in _MORE:
            self._console.print(Text.assemble((command, "cyan"), f": {content}"))

    def scenario(self, scenario: Scenario) -> None:
        """Print the heading of a scenario."""
        self._console.print()
        self._console.print(Rule(Text(scenario.title, style="bold"), align="left", style="cyan"))
        self._console.print(Text(scenario.source, style="dim"))

    def answer(self, number: int, answer: AnsweredQuestion, *, explain: bool) -> None:
        """Print a question, how it was answered, at what cost, and the items."""
        asked, remarks = words_of(answer.question)
        self._console.print()
        question = Table.grid()
        question.add_row(f"{number:>{_INDENT - 2}}  ", Text(asked, style="bold"))
        self._console.print(question)
        self._indented(_way(answer.plan))
        self._indented(Text(_cost(answer), style="green"))
        contents: list[RenderableType] = []
        if answer.found:
            contents.append(table_of(answer, self._console.width - _INDENT))
        contents += [Text(remark, style="dim") for remark in remarks]
        if explain:
            contents.append(Text(str(answer.plan)))
        for content in contents:
            self._console.print()
            self._indented(content)

    def closing(self, answers: Sequence[AnsweredQuestion]) -> None:
        """Print the sums, and what to read next."""
        questions = number_of(len(answers), "question")
        requests = number_of(sum(answer.requests for answer in answers), "request")
        units = units_of(sum(answer.read_units for answer in answers), "read")
        self._console.print()
        self._console.print(Rule(Text("In all", style="bold"), align="left", style="cyan"))
        self._console.print(f"{questions}, {requests}, {units}.")
        self._console.print(
            "Read units are this library's own arithmetic, half a unit for every 4 KB that is read: "
            "the engine's figures are not used.",
            style="dim",
        )
        self._console.print()
        self._console.print(Text("Read next", style="bold"))
        pages = Table.grid(padding=(0, _GAP))
        for page, content in _PAGES:
            pages.add_row(Text(page, style="cyan"), content)
        self._console.print(pages)
        self._console.print("The models and questions of this demo:")
        self._console.print(Text(str(Path(__file__).with_name("scenarios")), style="cyan"), soft_wrap=True)

    def _indented(self, content: RenderableType) -> None:
        self._console.print(Padding(content, (0, 0, 0, _INDENT), expand=False))


def _way(plan: Plan) -> Text:
    """Return how the planner answers a question: through which table or index, and in which order."""
    if plan.operation == "Scan":
        return Text.assemble("Scan of ", plan.model, ": ", ("the whole table", "yellow"))
    way = ("the table", "cyan") if plan.index is None else (f"the {plan.index_kind} index {plan.index}", "cyan")
    return Text.assemble("Query on ", plan.model, ", through ", way, ", descending" if plan.descending else "")


def _cost(answer: AnsweredQuestion) -> str:
    found = f"{number_of(len(answer.found), 'item')} found, {answer.evaluated} read"
    return f"{found}, {number_of(answer.requests, 'request')}, {units_of(answer.read_units, 'read')}"
