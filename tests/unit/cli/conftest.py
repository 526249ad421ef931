"""A folder with a project in it, and commands that are run there."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dynamap_async.cli.app import app
from dynamap_async.testing import Engine, LocalEngine

EXAMPLES = str(Path(__file__).parents[3] / "docs" / "examples")
COST = re.compile(r"(no units|[\d.,]+ (read|write) units?(, [\d.,]+ write units?)?), \d+ requests?, [\d.,]+ m?s\n\Z")


class Ended:
    """How a command ended, and what it printed; the line that tells what it took is apart from the rest."""

    def __init__(self, result: Result) -> None:
        self.exit_code, self.stdout, self.output = result.exit_code, result.stdout, result.output
        found = COST.search(result.stderr)
        self.cost = "" if found is None else found.group()
        self.stderr = result.stderr.removesuffix(self.cost)


@pytest.fixture(scope="module")
def engine(running: Callable[..., Engine]) -> Iterator[Engine]:
    """Return one running engine: what a command prints, and how it ends, does not depend on who answers."""
    moto = running(LocalEngine)
    yield moto
    moto.reset()


@pytest.fixture(autouse=True)
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Forget the modules of projects that commands imported here: other tests have some of the same names.

    Those that other tests imported, such as the package ``shop`` of the example application, are set aside meanwhile.
    """
    path, before, folder = [*sys.path], {**sys.modules}, str(tmp_path_factory.getbasetemp())
    _forget(EXAMPLES, folder)
    yield
    sys.path[:] = path
    _forget(folder)
    sys.modules.update({name: module for name, module in before.items() if name not in sys.modules})


def _forget(*folders: str) -> None:
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(folders):
            del sys.modules[name]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one; nothing of AWS's is set up."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "DYNAMAP_ENV"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run():
    """Return a function (line, input, environment) -> how a command ended: `run("plan --json")`."""
    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    return lambda line, stdin=None, **env: Ended(runner.invoke(app, line.split(), input=stdin, env=env))
