"""What is said while tables change."""

from io import StringIO

import pytest

from dynamap_async.cli.tables.progress import ProgressLines
from dynamap_async.tables import StepProgress, TableStep
from dynamap_async.tables.estimates import duration

STEP = TableStep(kind="create-index", table="visits", index="day-index", before="none", after="day (S), ALL")


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.fixture
def lines():
    """Return a function (stream) -> the lines, and what moves their clock on."""

    def made(stream):
        now = [0.0]
        return ProgressLines(stream, lambda: now[0]), now

    return made


def test_each_step_has_a_line_when_it_is_sent_and_when_it_is_done(lines):
    stream = StringIO()
    progress, now = lines(stream)
    for state, at in (("waiting", 0.0), ("sent", 2.0), ("done", 75.0)):
        now[0] = at
        progress.watch(StepProgress(step=STEP, state=state))
    progress.tell_waiting()
    assert (
        stream.getvalue() == "visits: create-index day-index: sent\nvisits: create-index day-index: done, 1 min 15 s\n"
    )


def test_what_is_waited_for_is_told_in_lines_of_their_own_on_a_pipe(lines):
    stream = StringIO()
    progress, now = lines(stream)
    progress.watch(StepProgress(step=STEP, state="waiting"))
    for at in (10.0, 20.0):
        now[0] = at
        progress.tell_waiting()
    assert stream.getvalue().splitlines() == [
        "waiting since 10 s: visits: create-index day-index",
        "waiting since 20 s: visits: create-index day-index",
    ]


def test_what_is_waited_for_is_written_over_on_a_terminal(lines, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    progress, now = lines(stream)
    progress.watch(StepProgress(step=STEP, state="waiting"))
    for at in (1.0, 2.0):
        now[0] = at
        progress.tell_waiting()
    progress.watch(StepProgress(step=STEP, state="done"))
    assert stream.getvalue() == (
        "waiting since 1 s: visits: create-index"
        "\r\x1b[Kwaiting since 2 s: visits: create-index"
        "\r\x1b[Kvisits: create-index day-index: done, 2 s\n"
    )


def test_how_far_an_index_can_be_is_told(lines):
    stream = StringIO()
    progress, now = lines(stream)
    for state, done in (("planned", None), ("waiting", None), ("progress", 1200)):
        progress.watch(StepProgress(step=STEP, state=state, items_done=done, items_expected=40_000))
    now[0] = 10.0
    progress.tell_waiting()
    assert stream.getvalue() == (
        "waiting since 10 s: visits: create-index day-index (at most 1,200 of 40,000, going by time)\n"
    )


@pytest.mark.parametrize(("state", "told"), [("skipped", "somebody else had done it"), ("failed", "not done")])
def test_step_that_was_not_done_here_is_told(lines, state, told):
    stream = StringIO()
    progress, _ = lines(stream)
    progress.watch(StepProgress(step=STEP, state="waiting"))
    progress.watch(StepProgress(step=STEP, state=state))
    progress.tell_waiting()
    assert stream.getvalue() == f"visits: create-index day-index: {told}\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0421, "42 ms"), (0.7, "1 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3600, "1 h 0 min"), (90_061, "25 h 1 min")],
)
def test_time_is_told_as_people_say_it(seconds, text):
    assert duration(seconds) == text
