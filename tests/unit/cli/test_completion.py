"""What the shell completes, and that it runs no code of the user's for that."""

import os
import subprocess
import sys

import pytest

from dynamap_async.cli.completion import complete_environments, complete_indexes, complete_models

MODELS = """
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey

class Order(Model, table="orders"):
    order_id: PartitionKey[str]
    status: Attr[str]

    by_status = GlobalIndex("status-index", partition_key="status")

class Owner(Model, table="owners"):
    owner_id: PartitionKey[str]
"""


@pytest.fixture
def met(project, run):
    """Return a project whose models a command has met, and which can no more be imported."""
    (project / "dynamap.toml").write_text('models = ["shop.py"]\n[env.local]\n[env.live]\n[env.prod]\n', "utf-8")
    (project / "shop.py").write_text(MODELS, "utf-8")
    assert run("schema --env local").exit_code == 0
    (project / "shop.py").write_text("raise SystemExit('imported')", "utf-8")
    return project


def test_names_are_those_that_a_command_has_met(met):
    assert complete_models("") == ["Order", "Owner"]
    assert complete_models("Or") == ["Order"]
    assert complete_indexes("Order.") == ["Order.status-index"]


def test_environments_are_those_of_the_file(met):
    assert complete_environments("l") == ["local", "live"]


@pytest.mark.parametrize("content", [None, "[", "{}", "[1]"])
def test_nothing_is_completed_where_nothing_is_known(project, tmp_path, content):
    (project / "dynamap.toml").write_text("models = 7" if content is None else 'models = ["shop.py"]\n', "utf-8")
    assert complete_models("") == complete_indexes("") == complete_environments("") == []


def test_a_file_of_names_that_is_damaged_completes_nothing(met, tmp_path):
    for file in (tmp_path / "cache" / "dynamap").iterdir():
        file.write_text("[", "utf-8")
    assert complete_models("") == []


@pytest.mark.parametrize(
    ("shell", "more"),
    [
        ("bash", {"COMP_WORDS": "dynamap plan O", "COMP_CWORD": "2"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "dynamap plan O"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "dynamap plan O", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_each_shell_is_told_the_names(met, shell, more):
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'dynamap'; from dynamap_async.cli import main; main()"]
    variables = {**os.environ, "_DYNAMAP_COMPLETE": f"complete_{shell}", **more}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert "Order" in done.stdout, done.stderr
    assert "Owner" in done.stdout
    assert "local" not in done.stdout


def test_where_nobody_knows_a_home_folder_commands_run_and_nothing_is_completed(met, run, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    (met / "shop.py").write_text(MODELS, "utf-8")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", no_home)
    assert run("schema --env local").exit_code == 0
    assert complete_models("") == []
