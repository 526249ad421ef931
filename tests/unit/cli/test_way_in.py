"""The way in to `dynamap`: how the process ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("arguments", ["--version", "capacity --item-size 1KB", "capacity --item-size 1KB --json"])
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_output_that_cannot_be_written_is_told_in_one_line(monkeypatch, arguments, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = [sys.executable, "-c", "from dynamap_async.cli import main; main()", *arguments.split()]
    with FULL.open("wb") as full:
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    line = "The output could not be written: No space left on device. Make room, or send it elsewhere.\n"
    assert (ended.returncode, ended.stderr) == (1, line)


@pytest.mark.parametrize("arguments", ["config", "config --json"])
def test_reader_that_has_enough_is_no_error(project, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from dynamap_async.cli import main; main()", *arguments.split()]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


HELP = """
import sys
from dynamap_async.cli import main
try:
    main()
except SystemExit:
    heavy = ("asyncio", "aiohttp", "aiobotocore", "botocore", "orjson", "dynamap_async.codec")
    print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", ["--help", "plan --help", "--version", "config"])
def test_help_loads_nothing_that_only_work_needs(project, arguments):
    command = [sys.executable, "-c", HELP, *arguments.split()]
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.stderr == "[]\n"
