"""`dynamap engine install`: what it says, and how it ends."""

import pytest
from typer.testing import CliRunner

from dynamap_async.cli.app import app
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import native_program


@pytest.fixture
def program(monkeypatch, tmp_path):
    monkeypatch.setattr(native_program, "_cache_folder", lambda: tmp_path)
    return native_program.installed_program()


@pytest.fixture
def downloads(monkeypatch, program):
    """Return the programs that were downloaded, and let each download put one there."""
    done = []

    def install():
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch(mode=0o755)
        done.append(program)
        return program

    monkeypatch.setattr(native_program, "install_program", install)
    return done


def ask(*arguments):
    return CliRunner().invoke(app, ["engine", "install", *arguments])


def test_engine_is_downloaded_once_and_its_path_is_told(downloads, program):
    for told in ("is installed", "is there already"):
        result = ask()
        assert (result.exit_code, result.stdout) == (0, f"dynoxide 1.2.1 {told}: {program}\n")
    assert downloads == [program]


def test_engine_is_downloaded_again_by_force_only(downloads, program):
    assert ask().exit_code == ask("--force").exit_code == 0
    assert downloads == [program, program]


def test_download_that_fails_is_one_line(monkeypatch, program):
    def fail():
        raise ConfigurationError("the registry is closed")

    monkeypatch.setattr(native_program, "install_program", fail)
    result = ask()
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "the registry is closed\n")
