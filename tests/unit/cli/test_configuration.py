"""The configuration of the command line: where it is found, what it may say, and what comes first."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from dynamap_async.cli import served_engine
from dynamap_async.cli.configuration import TRUST
from dynamap_async.errors import ConfigurationError

ENVIRONMENTS = """
models = ["shop.models"]
default = "local"
region = "eu-west-1"

[env.local]
endpoint_url = "http://127.0.0.1:8000"
table_prefix = "shop-dev-"

[env.prod]
region = "us-east-1"
profile = "shop"
guard = "name"
"""


@pytest.fixture
def configured(project):
    """Return a function (text) that writes dynamap.toml."""
    return lambda text: (project / "dynamap.toml").write_text(text, "utf-8")


@pytest.fixture
def settings(run):
    """Return a function (line) -> setting -> (value, source), as `dynamap config` tells them."""

    def told(line=""):
        result = run(f"config --json {line}")
        assert result.exit_code == 0, result.output
        return {name: tuple(each.values()) for name, each in json.loads(result.stdout)["settings"].items()}

    return told


def test_without_a_file_nothing_is_set(project, run):
    result = run("config")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "no configuration file (dynamap.toml, or [tool.dynamap] in pyproject.toml)",
        "              VALUE  FROM",
        "environment   none   not set",
        "models        none   not set",
        "region        none   not set",
        "profile       none   not set",
        "endpoint_url  none   not set",
        "table_prefix  none   not set",
        "guard         none   not set",
    ]


def test_names_of_tables_are_those_of_the_environment_before_those_of_all(configured, settings):
    configured(
        "[table_names]\nusers = 'all_users'\norders = 'all_orders'\n"
        "[env.prod.table_names]\nusers = 'legacy_users'\n[env.local]\n"
    )
    prod, local = settings("--env prod"), settings("--env local")
    assert prod["table_names.users"] == ("legacy_users", "dynamap.toml, env.prod")
    assert prod["table_names.orders"] == ("all_orders", "dynamap.toml")
    assert local["table_names.users"] == ("all_users", "dynamap.toml")


def test_file_is_found_from_a_folder_below(configured, project, settings, monkeypatch):
    configured(ENVIRONMENTS)
    (project / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(project / "deep" / "er")
    assert settings()["environment"] == ("local", "dynamap.toml")


def test_pyproject_is_taken_where_it_has_a_table_for_dynamap(configured, project, settings, monkeypatch):
    (project / "pyproject.toml").write_text('[tool.dynamap]\nregion = "eu-north-1"', "utf-8")
    inner = project / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text('[project]\nname = "x"', "utf-8")
    monkeypatch.chdir(inner)
    assert settings()["region"] == ("eu-north-1", "pyproject.toml")
    configured('region = "eu-west-2"')
    assert settings()["region"] == ("eu-west-2", "dynamap.toml")


def test_environment_completes_what_is_said_for_all(configured, settings):
    configured(ENVIRONMENTS)
    local, prod = settings(), settings("--env prod")
    assert local["region"] == ("eu-west-1", "dynamap.toml")
    assert local["endpoint_url"] == ("http://127.0.0.1:8000", "dynamap.toml, env.local")
    assert prod["region"] == ("us-east-1", "dynamap.toml, env.prod")
    assert prod["endpoint_url"] == ("none", "not set")
    assert (local["guard"][0], prod["guard"][0]) == ("none", "name")


def test_option_comes_before_variable_and_variable_before_file(configured, settings, monkeypatch):
    configured(ENVIRONMENTS)
    monkeypatch.setenv("DYNAMAP_ENV", "prod")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    told = settings("--profile mine")
    assert told["environment"] == ("prod", "$DYNAMAP_ENV")
    assert told["region"] == ("eu-central-1", "$AWS_DEFAULT_REGION")
    assert told["profile"] == ("mine", "--profile")
    assert settings("--env local")["environment"] == ("local", "--env")


def test_keys_of_a_build_server_come_before_the_profile_of_the_file(configured, settings, monkeypatch):
    configured(ENVIRONMENTS)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "hidden")
    assert settings("--env prod")["profile"] == ("none", "$AWS_ACCESS_KEY_ID")


def test_password_in_an_address_is_not_printed(project, run):
    result = run("config --endpoint-url http://user:secret@127.0.0.1:8000")
    assert "http://***@127.0.0.1:8000" in result.stdout
    assert "secret" not in result.output


def test_read_units_are_those_of_the_environment_before_those_of_all(configured, settings):
    configured("max_read_units = 500\ndefault = 'dev'\n[env.dev]\n[env.prod]\nmax_read_units = 20.5")
    assert settings()["max_read_units"] == ("500", "dynamap.toml")
    assert settings("--env prod")["max_read_units"] == ("20.5", "dynamap.toml, env.prod")


def test_an_environment_names_the_engine_that_is_started_for_it(configured, settings, run, monkeypatch):
    configured("engine = 'embedded'\ndefault = 'dev'\n[env.dev]\n[env.other]\nengine = 'native'")
    assert settings()["engine"] == ("embedded", "dynamap.toml")
    assert settings("--env other")["engine"] == ("native", "dynamap.toml, env.other")
    asked = []

    def refuse(kind, port, data):
        asked.append(kind)
        raise ConfigurationError("not here")

    monkeypatch.setattr(served_engine, "_engine", refuse)
    for line in ("local", "local --env other", "local --env other --engine embedded"):
        assert run(line).exit_code == 1
    assert asked == ["embedded", "native", "embedded"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("modles = ['a']", "modles is not a setting; did you mean models?"),
        ("x = 1", "x is not a setting; the settings are models, migrations, default, env, region, profile, endpoint"),
        ("table_names = 'a'", "table_names must have a line for each table, such as users = 'legacy_users'"),
        ("[table_names]\nusers = 1", "table_names.users = 1 is not a string"),
        ("[env.prod.table_names]\nusers = 1", "env.prod.table_names.users = 1 is not a string"),
        ("models = 'a'", "models must be a list of modules, such as models = ['shop.models']"),
        ("region = 1", "region = 1 is not a string"),
        ("engine = 'mongo'", "engine = 'mongo': `dynamap local` starts 'memory', 'moto' or 'native'"),
        (
            "[env.dev]\nengine = 'http://127.0.0.1:8000'",
            "the address of one that runs is env.dev.endpoint_url = 'http://127.0.0.1:8000'",
        ),
        ("[env.dev]\nengine = 5", "env.dev.engine = 5 is not a string"),
        ("max_read_units = 'many'", "max_read_units = 'many' is not a number of units, 1 or more"),
        ("[env.prod]\nmax_read_units = 0", "env.prod.max_read_units = 0 is not a number of units, 1 or more"),
        ("default = 'x'", "default = 'x' is not an environment; known environments: none"),
        ("[env.prod]\nregoin = 'a'", "env.prod.regoin is not a setting; did you mean region?"),
        ("[env.prod]\nguard = 'yes'", "env.prod.guard = 'yes': the only guard is guard = 'name'"),
        ("env = 1", "env must have a table for each environment, such as [env.local]"),
        ("env.prod = 1", "env.prod must be a table of settings"),
        ("region = ", "cannot be read: "),
        ("[env.a]\n[env.b]", "has several environments; choose one with --env a | b, or write default = '...' there"),
    ],
)
def test_mistake_in_the_file_is_told_in_one_line(configured, run, project, text, problem):
    configured(text)
    result = run("config")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(str(project / "dynamap.toml"))
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1


def test_environment_that_is_not_there_is_told_with_those_that_are(configured, run, monkeypatch):
    configured(ENVIRONMENTS)
    result = run("config --env prdo")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--env: there is no environment 'prdo'; " in result.stderr
    assert "has local, prod" in result.stderr
    monkeypatch.setenv("DYNAMAP_ENV", "prdo")
    assert "$DYNAMAP_ENV: there is no environment 'prdo'" in run("config").stderr


def test_environment_without_a_file_is_refused(project, run):
    assert "there is no dynamap.toml" in run("config --env prod").stderr


def test_no_model_is_imported_to_print_the_configuration(configured, project, settings):
    configured("models = ['broken']")
    (project / "broken.py").write_text("raise RuntimeError", "utf-8")
    assert settings()["models"] == ("broken", "dynamap.toml")
    assert "broken" not in sys.modules


def test_file_of_models_is_named_from_the_folder_of_the_configuration(configured, project, settings, monkeypatch):
    configured("models = ['shop/models.py']")
    (project / "below").mkdir()
    monkeypatch.chdir(project / "below")
    assert Path(settings()["models"][0]) == project / "shop" / "models.py"


@pytest.fixture
def owners(project, monkeypatch):
    """Return a mapping (path -> number of the user) that says whose some files are; this process is user 501."""
    owned, lstat = {}, Path.lstat

    def told(path):
        found = [*lstat(path)]
        found[stat.ST_UID] = owned.get(path, 501)
        return os.stat_result(found)

    monkeypatch.setattr(os, "geteuid", lambda: 501)
    monkeypatch.setattr(Path, "lstat", told)
    monkeypatch.delenv("SUDO_UID", raising=False)
    return owned


@pytest.mark.skipif(sys.platform == "win32", reason="files have no number of their owner on Windows")
@pytest.mark.parametrize("name", ["dynamap.toml", "pyproject.toml"])
@pytest.mark.parametrize("whose", ["file", "folder"])
def test_a_configuration_of_another_user_is_refused(project, run, owners, monkeypatch, name, whose):
    section = "[tool.dynamap]\n" if name == "pyproject.toml" else ""
    (project / name).write_text(f'{section}region = "eu-west-1"\n', "utf-8")
    below = project / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    strangers = project / name if whose == "file" else project
    owners[strangers] = 502
    result = run("config")
    assert result.exit_code == 2
    shown = " ".join(result.stderr.split())
    assert f"belongs to another user (number 502), whose code would be run; if you trust it, set {TRUST}=" in shown
    monkeypatch.setenv(TRUST, str(project))
    assert run("config").exit_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="files have no number of their owner on Windows")
@pytest.mark.parametrize(("user", "sudo", "owner"), [(501, None, 501), (501, None, 0), (0, "501", 501)])
def test_ones_own_configuration_and_that_of_the_system_are_read(
    configured, project, run, owners, monkeypatch, user, sudo, owner
):
    configured('region = "eu-west-1"\n')
    owners |= {project: owner, project / "dynamap.toml": owner}
    monkeypatch.setattr(os, "geteuid", lambda: user)
    if sudo is not None:
        monkeypatch.setenv("SUDO_UID", sudo)
    assert run("config").exit_code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="files have no number of their owner on Windows")
def test_a_pyproject_of_another_user_that_says_nothing_of_us_is_none_of_our_business(project, run, owners):
    (project / "pyproject.toml").write_text("[tool.ruff]\n", "utf-8")
    owners[project / "pyproject.toml"] = 502
    assert run("config").exit_code == 0
