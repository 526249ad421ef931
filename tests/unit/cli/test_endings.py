"""How commands end: a status for each row of the reference, a line of cost, and what to do after a login is over."""

import asyncio
import json
import re
import signal
import socket
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dynamap_async.cli.endings import Status

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"
MODELS = """
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey

class Page(Model, table="ending-pages"):
    page_id: PartitionKey[str]
    title: Attr[str]

    by_title = GlobalIndex(partition_key="title")
"""
COMMAND = """
import signal
from dynamap_async.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores the signal
main()
"""
LONGEST_SECONDS = 300.0
"""A process that has not ended by then hangs."""


@pytest.fixture
def declared(engine, project):
    """Return a folder with models and an engine, without their tables."""
    (project / "dynamap.toml").write_text(f'models = ["shop.py"]\nendpoint_url = "{engine.endpoint_url}"\n', "utf-8")
    (project / "shop.py").write_text(MODELS, "utf-8")
    yield project
    engine.reset()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("plan", Status.DONE),
        ("apply --dry-run", Status.DONE),
        ("plan --endpoint-url http://127.0.0.1:9", Status.FAILED),
        ("describe --table no-such-table", Status.FAILED),
        ("plan --env nowhere", Status.USAGE),
        ("plan NoModel", Status.USAGE),
        ("plan --no-such-option", Status.USAGE),
        ("plan --check", Status.DIFFERENT),
        ("verify", Status.DIFFERENT),
        ("diff", Status.DIFFERENT),
        ("apply", Status.REFUSED),
    ],
)
def test_each_end_has_its_status(declared, run, line, status):
    result = run(line)
    assert result.exit_code == status, result.output


def test_every_status_is_in_the_reference():
    rows = re.findall(r"^\| (\d+) \|", REFERENCE.read_text("utf-8").partition("## Exit status")[2], re.MULTILINE)
    assert [int(row) for row in rows] == [*Status]


def test_last_line_tells_what_a_command_took(declared, run):
    assert re.fullmatch(r"no units, \d+ requests?, [\d.,]+ m?s\n", run("verify").cost)
    assert run("apply --yes").cost


@pytest.mark.parametrize("line", ["plan --quiet", "config", "schema", "plan --env nowhere"])
def test_nothing_is_told_where_it_is_not_wanted_or_nothing_was_sent(declared, run, line):
    assert run(line).cost == ""


def test_cost_is_no_part_of_the_result(declared, run):
    assert json.loads(run("plan --json").stdout)["steps"]


def test_login_that_is_over_is_renewed_by_the_command_that_is_named(declared, run, tmp_path, monkeypatch):
    config = tmp_path / "config"
    config.write_text(
        "[profile shop]\nsso_session = work\nsso_account_id = 123456789012\nsso_role_name = dev\nregion = eu-west-1\n"
        "[sso-session work]\nsso_start_url = https://work.awsapps.com/start\nsso_region = eu-west-1\n",
        "utf-8",
    )
    (declared / "dynamap.toml").write_text('models = ["shop.py"]\nprofile = "shop"\n', "utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("HOME", str(tmp_path))
    result = run("plan")
    assert result.exit_code == Status.FAILED
    assert result.stderr.endswith("; log in again: aws sso login --profile shop\n")
    assert result.stderr.count("\n") == 1


READING = (
    "plan",
    "diff",
    "verify",
    "tables",
    "describe Page",
    "describe --table any",
    "check-index Page.by_title",
    "check-index Page.by_title --yes",
    "check-items Page",
    "generate models --table any",
)


@pytest.mark.parametrize("line", READING)
def test_who_only_reads_gives_up_when_the_time_is_over(declared, run, line):
    with socket.create_server(("127.0.0.1", 0)) as mute:  # connections are taken, and nobody answers
        result = run(f"{line} --timeout 1 --endpoint-url http://127.0.0.1:{mute.getsockname()[1]}")
    assert result.exit_code == Status.FAILED
    assert result.stderr.endswith("It took longer than 1 s; nothing was changed.\n")


def hanging(operation, asked):
    """Return what answers that a table is missing, and nothing to one operation, which is told to an event."""

    async def answer(reader, writer):
        with suppress(asyncio.IncompleteReadError, ConnectionError), closing(writer):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(re.search(rb"content-length: (\d+)", head, re.IGNORECASE)[1]))
                if operation in head:
                    asked.set()
                    await reader.read()  # until the command goes away
                    return
                body = b'{"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "none"}'
                writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()

    return answer


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("command", "operation", "times", "told"),
    [
        (("apply", "--yes"), b"CreateTable", 1, "Interrupted: DynamoDB goes on with what was sent"),
        (("apply", "--yes"), b"CreateTable", 2, ""),
        (("check-items", "Page"), b"DescribeTable", 1, "Interrupted: nothing was changed."),
    ],
)
async def test_interrupt_ends_what_is_under_way_and_a_second_one_ends_it_at_once(
    project, command, operation, times, told
):
    asked = asyncio.Event()
    server = await asyncio.start_server(hanging(operation, asked), "127.0.0.1", 0)
    (project / "shop.py").write_text(MODELS, "utf-8")
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    line = [*command, "--models", "shop.py", "--endpoint-url", url]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COMMAND, *line, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            await asked.wait()
            for _ in range(times):
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)
                await asyncio.sleep(0.1)
            errors = (await process.stderr.read()).decode()
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        server.close()
    # A shell says 130 of both: of a process that ends so, and of one that the signal has ended.
    assert process.returncode in (Status.INTERRUPTED, -signal.SIGINT), errors
    assert times > 1 or (told in errors and "Traceback" not in errors), errors
