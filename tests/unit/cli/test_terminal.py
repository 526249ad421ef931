"""Commands on a terminal: questions are answered, and there is colour where it is wanted."""

import os
import pty
import select
import subprocess
import sys
from contextlib import suppress

import pytest

MODELS = """
from dynamap_async import Model, PartitionKey

class Page(Model, table="terminal-pages"):
    page_id: PartitionKey[str]
"""
LONGEST_SECONDS = 60.0
"""A process that says nothing for so long hangs."""
QUESTION = b"[y/N]: "


@pytest.fixture
def terminal(engine, project):
    """Return a function (line, environment) -> a process on a terminal, and the terminal's other end."""
    (project / "dynamap.toml").write_text(f'models = ["shop.py"]\nendpoint_url = "{engine.endpoint_url}"\n', "utf-8")
    (project / "shop.py").write_text(MODELS, "utf-8")
    processes, ends = [], []

    def started(line, **variables):
        ours, theirs = pty.openpty()
        ends.append(ours)
        process = subprocess.Popen(
            [sys.executable, "-c", "from dynamap_async.cli import main; main()", *line.split()],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", **variables},
        )
        os.close(theirs)
        processes.append(process)
        return process, ours

    yield started
    for process in processes:
        process.kill()
        process.wait()
    for end in ends:
        os.close(end)
    engine.reset()


def read(end, until=None):
    """Return what is printed, up to some text, or all of it."""
    printed = b""
    with suppress(OSError):  # Linux says so once the other end is closed
        while until is None or until not in printed:
            ready, _, _ = select.select([end], [], [], LONGEST_SECONDS)
            assert ready, printed
            part = os.read(end, 4096)
            if not part:
                break
            printed += part
    return printed


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"n\n", 4)])
def test_question_is_answered_on_the_terminal(terminal, answer, status):
    process, end = terminal("apply")
    assert b"Carry out 1 step in AWS (http://127.0.0.1:" in read(end, QUESTION)
    os.write(end, answer)
    read(end)
    assert process.wait(timeout=LONGEST_SECONDS) == status


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_changes_have_colour_where_it_is_wanted(terminal, variables, coloured):
    process, end = terminal("plan", **variables)
    printed = read(end)
    assert process.wait(timeout=LONGEST_SECONDS) == 0
    assert (b"\x1b[32m  + create-table" in printed) is coloured, printed
