"""The way in to `dynamap`: how the process ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dynamap_async.cli import main
from dynamap_async.cli.app import app, command_of
from dynamap_async.cli.commands import COMMANDS, overview

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


@pytest.mark.parametrize("arguments", ["config", "config --json", "--help", "--version", "plan --help", "guide"])
def test_reader_that_has_enough_is_no_error(project, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from dynamap_async.cli import main; main()", *arguments.split()]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


LOADED = """
import sys
from dynamap_async.cli import main
try:
    main()
except SystemExit:
    print(*sorted(set(sys.modules) & set(%r)), file=sys.stderr)
"""
WORK = ("asyncio", "aiohttp", "aiobotocore", "botocore", "dynamap_async.codec", "dynamap_async.models")
HELP = ("pydantic", "rich")
COMMANDS_LOADED = {
    entry.home.partition(":")[0]: f"dynamap_async.cli.{entry.home.partition(':')[0]}" for entry in COMMANDS.values()
}


def loaded(line, watched, **variables):
    """Return which of some modules a process has loaded when it ends."""
    command = [sys.executable, "-c", LOADED % (watched,), *line.split()]
    ended = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, env=os.environ | variables
    )
    return set(ended.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("line", ["--help", "-h", "--version", "", "pln", "plam --check"])
def test_what_names_no_command_loads_no_command(project, line):
    watched = (*WORK, *HELP, "typer", "dynamap_async.cli.app", *COMMANDS_LOADED.values())
    assert loaded(line, watched) == set()


@pytest.mark.parametrize("line", ["plan --help", "plan --chek", "capacity -h", "generate models --help"])
def test_help_of_a_command_loads_that_one_and_what_prints_it(project, line):
    own = COMMANDS_LOADED[COMMANDS[line.split()[0]].home.partition(":")[0]]
    assert loaded(line, (*WORK, *HELP, *COMMANDS_LOADED.values())) == {own}


def test_a_name_is_completed_without_a_command(project):
    variables = {"_DYNAMAP_COMPLETE": "complete_bash", "COMP_WORDS": "dynamap p", "COMP_CWORD": "1"}
    assert loaded("", (*WORK, *HELP, *COMMANDS_LOADED.values()), **variables) == set()


def test_config_loads_nothing_that_only_requests_need(project):
    assert loaded("config", WORK) == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_each_command_what_its_help_begins_with(name):
    assert command_of(name).help.splitlines()[0] == COMMANDS[name].summary


@pytest.mark.parametrize("line", ["--help", "--version", "-h", "pln"])
def test_both_ways_in_say_the_same(monkeypatch, capsys, line):
    monkeypatch.setattr(sys, "argv", ["dynamap", *line.split()])
    with pytest.raises(SystemExit) as quick:
        main()
    said = capsys.readouterr()
    with pytest.raises(SystemExit) as full:
        app(line.split(), prog_name="dynamap")
    assert (quick.value.code, said) == (full.value.code, capsys.readouterr())


def test_list_of_commands_fits_80_columns():
    assert max(map(len, overview().splitlines())) <= 80
