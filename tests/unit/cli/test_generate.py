"""`dynamap generate models` and `dynamap check-items`: what they write, what they print, and how they end."""

import json
import os
import subprocess
import sys
from uuid import uuid4

import boto3
import pytest
from typer.testing import CliRunner

from dynamap_async.cli.app import app


@pytest.fixture
def table(engine, monkeypatch):
    """Return the name of a table with 30 orders."""
    for name, value in {"ACCESS_KEY_ID": "a", "SECRET_ACCESS_KEY": "b", "DEFAULT_REGION": "eu-west-1"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    client = boto3.client("dynamodb", endpoint_url=engine.endpoint_url)
    name = f"orders-{uuid4().hex[:8]}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk")],
        BillingMode="PAY_PER_REQUEST",
    )
    for n in range(30):
        item = {"pk": f"CUSTOMER#c{n % 5}", "sk": f"ORDER#{n:04d}", "customer": f"c{n % 5}", "secret": f"hidden{n}"}
        stored = {key: {"S": value} for key, value in item.items()}
        client.put_item(TableName=name, Item={**stored, "number": {"N": str(n)}})
    client.close()
    return name


@pytest.fixture
def ask(engine):
    """Return a function (arguments) -> the result of the command."""
    runner = CliRunner(env={"COLUMNS": "300", "TERM": "dumb", "NO_COLOR": "1"})
    return lambda *arguments: runner.invoke(app, [*map(str, arguments), "--endpoint-url", engine.endpoint_url])


def test_module_is_printed_and_the_cost_told_beside_it(ask, table):
    result = ask("generate", "models", "--table", table)
    assert result.exit_code == 0, result.output
    assert 'sk: SortKey[str] = template("ORDER#{number:04d}")' in result.stdout
    assert "30 items read, all of them, for " in result.stderr
    assert "lines to check" in result.stderr


def test_no_value_is_printed_with_no_values(ask, table):
    result = ask("generate", "models", "--table", table, "--no-values")
    assert "hidden" not in result.output


def test_file_is_written_once_and_replaced_by_force_only(ask, table, tmp_path):
    out = tmp_path / "models.py"
    assert ask("generate", "models", "--table", table, "--out", out).exit_code == 0
    again = ask("generate", "models", "--table", table, "--out", out)
    assert again.exit_code == 2
    assert "or replace it with --force" in again.stderr
    assert ask("generate", "models", "--table", table, "--out", out, "--force").exit_code == 0


def test_merge_prints_what_the_file_lacks_and_writes_it_by_force_only(ask, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "models.py"
    merge = ("generate", "models", "--table", table, "--out", out, "--merge")
    assert ask(*merge).exit_code == 0
    whole = out.read_text("utf-8")
    lacking = whole.replace("    secret: Attr[str]\n", "") + "\n\nOURS = 1\n"
    out.write_text(lacking, "utf-8")
    shown = ask(*merge)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.startswith("--- a/models.py\n+++ b/models.py\n@@ ")
    assert [line for line in shown.stdout.splitlines()[2:] if line[0] in "+-"] == ["+    secret: Attr[str]"]
    assert "1 field or model lacking, nothing written" in shown.stderr
    assert out.read_text("utf-8") == lacking
    assert ask(*merge, "--force").stdout == shown.stdout
    assert "\n    secret: Attr[str]\n" in out.read_text("utf-8")
    assert out.read_text("utf-8").endswith("\n\nOURS = 1\n")
    applied = out.read_bytes()
    again = ask(*merge, "--force")
    assert (again.exit_code, again.stdout, out.read_bytes()) == (0, "", applied)


def test_module_that_does_not_parse_is_refused_and_stays(ask, table, tmp_path):
    out = tmp_path / "models.py"
    out.write_text("class Order(:\n", "utf-8")
    result = ask("generate", "models", "--table", table, "--out", out, "--merge", "--force")
    assert result.exit_code == 2
    assert "the module does not parse, line 1" in result.stderr
    assert out.read_text("utf-8") == "class Order(:\n"


def test_no_value_is_in_a_patch_with_no_values(ask, table, tmp_path):
    out = tmp_path / "models.py"
    out.touch()
    result = ask("generate", "models", "--table", table, "--out", out, "--merge", "--no-values")
    assert "+    secret: Attr[str]" in result.stdout
    assert "hidden" not in result.output


def test_generated_module_has_no_difference_from_its_table(ask, table, tmp_path):
    out = tmp_path / "models.py"
    ask("generate", "models", "--table", table, "--out", out)
    result = ask("generate", "models", "--table", table, "--check", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "0 differences" in result.stderr


def test_differences_are_named_and_end_with_status_3(ask, table, tmp_path):
    out = tmp_path / "models.py"
    ask("generate", "models", "--table", table, "--out", out)
    text = out.read_text("utf-8")
    out.write_text(text.replace("    secret: Attr[str]\n", "    owner: Attr[str | None] = None\n"), "utf-8")
    model = text.partition("class ")[2].partition("(")[0]
    for command in (("generate", "models", "--table", table, "--check", out), ("check-items", model, "--models", out)):
        result = ask(*command)
        assert result.exit_code == 3, result.output
        assert f"{model}.secret: is not a field of the model (30 items, such as " in result.stdout
        assert f"{model}.owner: was never present (30 items read)" in result.stdout


def test_prefix_of_the_configuration_is_part_of_the_table_and_not_of_the_models(ask, table, project, monkeypatch):
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION"):
        monkeypatch.setenv(f"AWS_{name}", "eu-west-1")
    (project / "dynamap.toml").write_text('models = ["shop.py"]\ntable_prefix = "orders-"\n', "utf-8")
    out = project / "shop.py"
    assert ask("generate", "models", "--table", table, "--out", out).exit_code == 0
    text = out.read_text("utf-8").replace(f'"{table}"', f'"{table.removeprefix("orders-")}"')
    out.write_text(text, "utf-8")
    model = text.partition("class ")[2].partition("(")[0]
    for command in (("generate", "models", "--table", table, "--check", out), ("check-items", model)):
        result = ask(*command)
        assert result.exit_code == 0, result.output
        assert "30 items read" in result.stderr


def test_progress_is_told_beside_the_result(ask, table, monkeypatch):
    monkeypatch.setattr("dynamap_async.cli.output._ON_PIPE_SECONDS", -1.0)
    result = ask("generate", "models", "--table", table)
    assert result.stderr.splitlines()[1].startswith("30 items read for ")
    assert "items read" not in result.stdout


@pytest.mark.parametrize(
    ("configured", "options", "most"),
    [(2, (), "2 read units"), (2, ("--max-read-units", 7), "7 read units"), (9_000, (), "{default} read units")],
)
def test_configuration_bounds_the_read_units_unless_an_option_does(ask, table, project, configured, options, most):
    out = project / "shop.py"
    ask("generate", "models", "--table", table, "--out", out)
    (project / "dynamap.toml").write_text(f'models = ["shop.py"]\nmax_read_units = {configured}\n', "utf-8")
    model = out.read_text("utf-8").partition("class ")[2].partition("(")[0]
    commands = [(500, ("generate", "models", "--table", table)), (1_000, ("check-items", model))]
    for default, command in commands:
        result = ask(*command, *options)
        assert result.exit_code == 0, result.output
        assert f"for at most {most.format(default=f'{default:,}')}." in result.stderr


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["check-items", "Nothing", "--models", "{empty}"], "has no model with a table"),
        (["generate", "models", "--table", "x", "--check", "missing.py"], "missing.py cannot be imported"),
        (["generate", "models", "--table", "x", "--check", "a.py", "--out", "b.py"], "--check writes nothing"),
        (["generate", "models", "--table", "x", "--merge"], "name the existing module with --out"),
    ],
)
def test_wrong_usage_is_told(ask, command, problem, tmp_path):
    empty = tmp_path / "empty.py"
    empty.touch()
    result = ask(*(each.format(empty=empty) for each in command))
    assert result.exit_code == 2
    assert problem in result.stderr


def test_table_that_is_not_there_is_an_error(ask, table):
    result = ask("generate", "models", "--table", "no-such-table")
    assert result.exit_code == 1
    assert "no-such-table" in result.stderr


def test_room_is_loaded_by_its_commands_only():
    code = "import dynamap_async.cli.app, json, sys; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert not any(name.startswith("dynamap_async.generate") for name in json.loads(done.stdout))


def test_model_of_workbench_is_read_without_a_request(ask, tmp_path):
    keys = {"PartitionKey": {"AttributeName": "id", "AttributeType": "S"}}
    model = tmp_path / "model.json"
    model.write_text(json.dumps({"DataModel": [{"TableName": "users", "KeyAttributes": keys}]}), "utf-8")
    found = ask("generate", "models", "--table", "users", "--from-workbench", model)
    assert (found.exit_code, "id: PartitionKey[str]" in found.stdout) == (0, True), found.output
    other = ask("generate", "models", "--table", "orders", "--from-workbench", model)
    assert other.exit_code == 2
    assert "has no table 'orders'; it has users" in other.stderr


@pytest.mark.parametrize("missing", ["folder", "right"])
def test_file_that_cannot_be_written_is_told_in_one_line(ask, table, tmp_path, missing):
    out = tmp_path / "models.py"
    if missing == "folder":
        out = tmp_path / "nothing" / "models.py"
    else:
        out.mkdir()
    result = ask("generate", "models", "--table", table, "--out", out, *(["--force"] if missing == "right" else []))
    assert result.exit_code == 2
    assert f"{out} cannot be written: " in " ".join(result.stderr.split())
