"""Commands on a terminal: questions, Ctrl-C, colour where it is wanted, and progress in the width that there is."""

import asyncio
import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
from contextlib import suppress

import pytest

from dynamap_async.testing import Durations, LocalEngine

MODELS = """
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey

class Page(Model, table="terminal-pages"):
    page_id: PartitionKey[str]
"""
LONGEST_SECONDS = 300.0
"""A process that says nothing for so long hangs."""
QUESTION = b"[y/N]: "
NAME = b"Type its name to go on"
CTRL_C = b"\x03"
COMMAND = """
import fcntl, signal, termios
from dynamap_async.cli import main
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ctrl-C on the terminal is for this process
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores the signal
main()
"""
QUICK = dict.fromkeys(("create_table", "update_table", "delete_table", "time_to_live", "lag", "allocate_index"), 0.0)
INDEX = "    day: Attr[str]\n    by_day = GlobalIndex('day-index', partition_key='day')\n"


@pytest.fixture
def terminal(engine, project):
    """Return a function (line, columns, environment) -> a process on a terminal, and the terminal's other end."""
    (project / "dynamap.toml").write_text(
        f'models = ["shop.py"]\nendpoint_url = "{engine.endpoint_url}"\ndefault = "dev"\n[env.dev]\n'
        '[env.prod]\nguard = "name"\n',
        "utf-8",
    )
    (project / "shop.py").write_text(MODELS, "utf-8")
    processes, ends = [], []
    without_size = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}

    def started(line, columns=80, **variables):
        ours, theirs = pty.openpty()
        ends.append(ours)
        fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *line.split()],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**without_size, "TERM": "xterm", **variables},
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


def interrupted(end):
    """Press Ctrl-C, and return all that is printed then.

    It is pressed again where nothing happens: Python waits for a line if the signal comes just before it does.
    """
    printed = b""
    with suppress(OSError):
        for _ in range(int(LONGEST_SECONDS)):
            os.write(end, CTRL_C)
            while b"Interrupted: " in printed or select.select([end], [], [], 1.0)[0]:
                part = os.read(end, 4096)
                if not part:
                    return printed
                printed += part
    return printed


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"n\n", 4)])
def test_question_is_answered_on_the_terminal(terminal, answer, status):
    process, end = terminal("apply")
    assert b"Carry out 1 step in environment dev (http://127.0.0.1:" in read(end, QUESTION)
    os.write(end, answer)
    read(end)
    assert process.wait(timeout=LONGEST_SECONDS) == status


@pytest.mark.parametrize(("answer", "status"), [(b"prod\n", 0), (b"y\n", 4), (b"\n", 4)])
def test_guarded_environment_is_changed_by_its_name_only(terminal, answer, status):
    process, end = terminal("apply --env prod --yes")
    read(end, NAME)
    os.write(end, answer)
    read(end)
    assert process.wait(timeout=LONGEST_SECONDS) == status


@pytest.mark.parametrize(("line", "question"), [("apply", QUESTION), ("apply --env prod", NAME)])
def test_ctrl_c_at_a_question_changes_nothing(terminal, line, question):
    process, end = terminal(line)
    read(end, question)
    assert b"Interrupted: " in interrupted(end)
    assert process.wait(timeout=LONGEST_SECONDS) == 130
    process, end = terminal("plan --check")
    read(end)
    assert process.wait(timeout=LONGEST_SECONDS) == 3


@pytest.mark.asyncio
async def test_progress_takes_one_line_of_the_width_that_there_is(project, terminal):
    async with LocalEngine(durations=Durations(**QUICK, backfill=3600.0)) as slow:
        place = f'models = ["shop.py"]\nendpoint_url = "{slow.endpoint_url}"\n'
        (project / "dynamap.toml").write_text(place, "utf-8")
        process, end = terminal("apply --yes --quiet")
        await asyncio.to_thread(read, end)
        assert process.wait(timeout=LONGEST_SECONDS) == 0
        (project / "shop.py").write_text(MODELS + INDEX, "utf-8")
        process, end = terminal("apply --yes", columns=30)
        printed = await asyncio.to_thread(read, end, b"waiting since")
        printed += await asyncio.to_thread(read, end, b"waiting since")
        printed += await asyncio.to_thread(interrupted, end)
        assert process.wait(timeout=LONGEST_SECONDS) == 130
    waiting = re.findall(rb"waiting since[^\r\n\x1b^]*", printed)
    assert len(waiting) >= 2
    assert {len(line) for line in waiting} == {29}
    assert b"\r\x1b[Kwaiting since" in printed
    assert b"Interrupted: DynamoDB goes on with what was sent." in printed


@pytest.mark.skipif(shutil.which("bash") is None, reason="the pipe is one of bash")
@pytest.mark.parametrize("line", ["--help", "guide", "plan --help", "schema"])
def test_head_ends_a_command_without_an_error(terminal, project, line):
    code = "from dynamap_async.cli import main; main()"
    shell = f"set -o pipefail; {sys.executable} -c '{code}' {line} | head -1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)


@pytest.mark.parametrize(("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_changes_have_colour_where_it_is_wanted(terminal, variables, coloured):
    process, end = terminal("plan", **variables)
    printed = read(end)
    assert process.wait(timeout=LONGEST_SECONDS) == 0
    assert (b"\x1b[32m  + create-table" in printed) is coloured, printed
