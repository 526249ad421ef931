"""`dynamap local` as a user starts it: an engine with tables and items, for programs that know nothing of it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import boto3
import pydantic
import pytest

from dynamap_async.testing import LocalEngine

SECONDS = 300
# A job in the background of a shell, as tests may be, ignores SIGINT.
LISTENS = (  # to signals that are ignored under nohup, and in jobs in the background of a shell
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
)
DYNAMAP = [sys.executable, "-c", f"{LISTENS}; from dynamap_async.cli import main; main()"]
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fastapi.md"
MODELS = """
from dynamap_async import Attr, Model, PartitionKey

class Note(Model, table="notes"):
    id: PartitionKey[str]
    text: Attr[str]

def three():
    return [Note(id=str(number), text="made") for number in range(3)]

async def one(session):
    await session.put(Note(id="one", text="put"))
"""
only_on_posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only: sends signals")
pytestmark = only_on_posix


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "noted.py").write_text(MODELS, "utf-8")
    (tmp_path / "notes.jsonl").write_text(
        '{"Note": {"id": "a", "text": "read"}}\n\n{"Note": {"id": "b", "text": "read"}}\n', "utf-8"
    )
    return tmp_path


@pytest.fixture(autouse=True)
def without_aws(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("AWS_", "DYNAMAP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")


@contextmanager
def started(command, folder, until, **more):
    """Run a program until the block ends, and give it with what it printed up to a line."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | more
    )
    # Whatever hangs, the test ends.
    killer = threading.Timer(SECONDS, process.kill)
    killer.start()
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if until in line:
                break
        else:
            pytest.fail(f"it ended: {''.join(lines)}")
        yield process, "".join(lines)
    finally:
        killer.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


def local(folder, *arguments):
    return started([*DYNAMAP, "local", "--port", "0", *arguments], folder, "Ctrl-C stops it")


def variables_in(told):
    return dict(re.findall(r"^  export (\w+)=(\S+)$", told, re.MULTILINE))


def stored(variables, table="notes"):
    client = boto3.client(
        "dynamodb",
        endpoint_url=variables["AWS_ENDPOINT_URL_DYNAMODB"],
        region_name="eu-central-1",  # which region makes no difference
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    with closing(client):
        return sorted(item["id"]["S"] for item in client.scan(TableName=table)["Items"])


def run(folder, *arguments):
    return subprocess.run(
        [*DYNAMAP, "local", *arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_engine_serves_the_tables_of_the_models_until_it_is_stopped(folder, number):
    with local(folder, "--models", "noted") as (process, told):
        variables = variables_in(told)
        assert stored(variables) == []
        process.send_signal(number)
        assert process.stdout.read() == "Stopped.\n"
        assert process.wait(SECONDS) == 0
    port = int(variables["AWS_ENDPOINT_URL_DYNAMODB"].rpartition(":")[2])
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_terminal_that_closes_does_not_end_an_engine_that_was_told_to_outlive_it(folder):
    ignoring = [*DYNAMAP]
    ignoring[2] = DYNAMAP[2].replace("signal.SIG_DFL", "signal.SIG_IGN")  # as nohup does
    with started([*ignoring, "local", "--port", "0", "--models", "noted"], folder, "Ctrl-C stops it") as (
        process,
        told,
    ):
        process.send_signal(signal.SIGHUP)
        assert stored(variables_in(told)) == []
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "Stopped.\n"


PROGRAM = """
from dynamap_async.testing import NativeEngine
import time
with NativeEngine() as engine:
    print(engine.endpoint_url, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize(
    "command", [[*DYNAMAP, "local", "--port", "0", "--engine", "native"], [sys.executable, "-c", PROGRAM]]
)
def test_native_engine_ends_when_the_program_that_started_it_is_killed(folder, native_executable, command):
    with started(command, folder, "http://", DYNAMAP_NATIVE_ENGINE=native_executable) as (process, told):
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)", told)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
            process.kill()
            with suppress(ConnectionResetError):  # so ends one that the engine had not accepted yet
                assert connection.recv(1) == b""


def test_tables_are_filled_from_files_and_functions(folder):
    seeds = ["--seed", "notes.jsonl", "--seed", "noted:three", "--seed", "noted:one"]
    with local(folder, "--models", "noted", *seeds) as (_, told):
        assert stored(variables_in(told)) == ["0", "1", "2", "a", "b", "one"]
        assert "seeded  notes.jsonl (2 items), noted:three (3 items), noted:one\n" in told


def test_tables_have_the_prefix_that_is_asked_for(folder):
    with local(folder, "--models", "noted", "--table-prefix", "dev-") as (_, told):
        assert 'Its session needs the prefix of the tables: Session(table_prefix="dev-", ...)' in told
        assert "tables  dev-notes\n" in told
        assert stored(variables_in(told), "dev-notes") == []


def test_models_and_prefix_come_from_the_configuration_file(folder):
    (folder / "dynamap.toml").write_text('models = ["noted"]\ntable_prefix = "dev-"\n', "utf-8")
    with local(folder) as (_, told):
        assert "tables  dev-notes\n" in told


def test_port_is_that_of_the_environment_s_endpoint_unless_said_otherwise(folder, free_port):
    port = free_port
    (folder / "dynamap.toml").write_text(
        f'models = ["noted"]\n[env.local]\nendpoint_url = "http://localhost:{port}"\n', "utf-8"
    )
    command = [*DYNAMAP, "local", "--env", "local"]
    with started(command, folder, "Ctrl-C stops it") as (_, told):
        assert variables_in(told)["AWS_ENDPOINT_URL_DYNAMODB"] == f"http://127.0.0.1:{port}"
    with started([*command, "--port", "0"], folder, "Ctrl-C stops it") as (_, told):
        assert variables_in(told)["AWS_ENDPOINT_URL_DYNAMODB"] != f"http://127.0.0.1:{port}"


def test_engine_without_models_runs_and_says_how_to_name_them(folder):
    with local(folder) as (_, told):
        assert "tables  none: name the module of your models with --models\n" in told


def test_what_was_stored_is_kept_in_the_file_of_data(folder):
    seeds = ("--models", "noted", "--seed", "noted:one")
    with local(folder, *seeds, "--data", "dev.json") as (process, told):
        assert "kept in dev.json.\n" in told
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == "Stopped.\n"
        assert process.wait(SECONDS) == 0
    with local(folder, "--models", "noted", "--data", "dev.json") as (_, told):
        assert stored(variables_in(told)) == ["one"]


def test_data_of_another_engine_is_wrong_usage(folder):
    failed = run(folder, "--engine", "native", "--data", "dev.json")
    assert failed.returncode == 2, failed.stderr
    assert "the engine native keeps nothing; leave out --data, or say --engine memory" in failed.stderr


def test_native_engine_says_what_begins_with_finds_for_other_clients(folder, native_executable):
    command = [*DYNAMAP, "local", "--port", "0", "--engine", "native"]
    with started(command, folder, "Ctrl-C stops it", DYNAMAP_NATIVE_ENGINE=native_executable) as (_, told):
        assert "begins_with on sort keys that are text takes capitals for small letters" in told


def test_port_that_is_taken_is_one_line_with_the_remedy(folder):
    with LocalEngine() as engine:
        port = engine.endpoint_url.rpartition(":")[2]
        failed = run(folder, "--port", port)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert re.fullmatch(rf"port {port} of 127\.0\.0\.1 is used by another program.*\n", failed.stderr)
    assert "--region" not in failed.stderr  # which it does not have


@pytest.mark.parametrize(
    ("seed", "problem"),
    [
        ("missing.json", "No such file"),
        ("notes.txt", "name a file in .json or .jsonl, or module:function"),
        ("noted:nobody", "has no attribute 'nobody'"),
        ("nowhere:fill", "No module named 'nowhere'"),
        ("wrong.jsonl", "wrong.jsonl, line 2"),
    ],
)
def test_seed_that_cannot_be_used_is_wrong_usage(folder, seed, problem):
    (folder / "wrong.jsonl").write_text('{"Note": {"id": "a", "text": "x"}}\n{"Note": {"id": "a"}}\n', "utf-8")
    failed = run(folder, "--models", "noted", "--seed", seed)
    assert failed.returncode == 2, failed.stderr
    assert f"--seed {seed}: " in failed.stderr
    assert problem in failed.stderr


def asked(url, body=None):
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=SECONDS) as answer:
        return json.load(answer)


@pytest.mark.skipif(not hasattr(pydantic, "MISSING"), reason="this Pydantic has no MISSING")
def test_the_application_of_the_page_on_fastapi_runs_under_uvicorn_without_aws(tmp_path):
    (tmp_path / "notes.py").write_text(
        re.search(r"^```python file=notes.py\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)[1],
        "utf-8",
    )
    with local(tmp_path, "--models", "notes") as (_, told):
        # The address is enough: for an engine of this machine, credentials need not be set.
        endpoint = {"AWS_ENDPOINT_URL_DYNAMODB": variables_in(told)["AWS_ENDPOINT_URL_DYNAMODB"]}
        uvicorn = [sys.executable, "-m", "uvicorn", "notes:app", "--port", "0"]
        with started(uvicorn, tmp_path, "Uvicorn running", **endpoint) as (_, printed):
            url = re.search(r"Uvicorn running on (\S+)", printed)[1]
            note = {"author": "ada", "number": 1, "text": "hello"}
            assert asked(f"{url}/notes", json.dumps(note).encode()) == {**note, "version": 1}
            assert asked(f"{url}/notes/ada/1")["text"] == "hello"


def test_a_table_that_is_named_by_its_arn_is_made_under_its_own_name(folder):
    theirs = MODELS.replace('"notes"', '"arn:aws:dynamodb:eu-west-1:111122223333:table/notes"')
    (folder / "theirs.py").write_text(theirs, "utf-8")
    with local(folder, "--models", "theirs", "--seed", "theirs:three") as (_, told):
        assert stored(variables_in(told)) == ["0", "1", "2"]
