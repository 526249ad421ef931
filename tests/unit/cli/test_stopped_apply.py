"""`dynamap apply` as a process that is stopped while an index is built, behind tables that take their time."""

import asyncio
import signal
import sys
from contextlib import asynccontextmanager

import pytest

from dynamap_async.testing import Durations, LocalEngine

QUICK = dict.fromkeys(("create_table", "update_table", "delete_table", "time_to_live", "lag"), 0.0)
BEFORE = """
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey

class Visit(Model, table="stopped-visits"):
    visit_id: PartitionKey[str]
    day: Attr[str]
"""
AFTER = f"{BEFORE}\n    by_day = GlobalIndex('day-index', partition_key='day')\n"
COMMAND = """
import signal
from dynamap_async.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores the signal
main()
"""
LONGEST_SECONDS = 300.0
"""A process that has not ended by then hangs."""


@asynccontextmanager
async def started(line):
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", COMMAND, *line.split()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def ended(line):
    """Return the exit status of a command, and what it printed on standard error."""
    async with started(line) as process:
        _, errors = await process.communicate()
        return process.returncode, errors.decode()


@asynccontextmanager
async def slow_project(project, **durations):
    """Serve an engine that takes its time, with the table there and an index declared that is missing."""
    async with LocalEngine(durations=Durations(**QUICK, **durations)) as slow:
        place = f'models = ["shop.py"]\nendpoint_url = "{slow.endpoint_url}"\n'
        (project / "dynamap.toml").write_text(place, "utf-8")
        (project / "shop.py").write_text(BEFORE, "utf-8")
        status, errors = await ended("apply --yes")
        assert status == 0, errors
        (project / "shop.py").write_text(AFTER, "utf-8")
        yield slow


def builds(slow):
    return [entry for entry in slow.log if entry.index == "day-index" and entry.before is None]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("by", "status", "line"),
    [
        (signal.SIGKILL, -signal.SIGKILL, ""),
        (signal.SIGINT, 130, "Interrupted: DynamoDB goes on with what was sent. Plan and apply again"),
    ],
    ids=["killed", "interrupted"],
)
async def test_what_was_stopped_is_gone_on_with_and_nothing_is_built_twice(project, by, status, line):
    async with slow_project(project, allocate_index=0.0, backfill=3600.0) as slow:
        async with started("apply --yes") as process:
            async for told in process.stderr:
                if b"create-index day-index: sent" in told:
                    break
            process.send_signal(by)
            rest = await process.stderr.read()
            await process.wait()
        assert (process.returncode, rest.decode()[: len(line)]) == (status, line)
        again, errors = await ended("apply --yes --timeout 4")
        assert again == 5, errors
        assert "stopped-visits took longer than 4 s (last status: ACTIVE). DynamoDB continues" in errors
        assert len(builds(slow)) == 1


@pytest.mark.asyncio
async def test_index_is_waited_for_until_it_can_be_used(project):
    async with slow_project(project, allocate_index=0.1, backfill=0.1) as slow:
        status, errors = await ended("apply --yes")
        assert status == 0, errors
        assert await ended("verify --quiet") == (0, "")
        assert len(builds(slow)) == 1
