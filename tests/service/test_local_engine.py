"""The local engines start, answer, forget and leave nothing behind."""

import asyncio
import logging
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from dynamap_async import Attr, Model, PartitionKey, Session
from dynamap_async.errors import ConfigurationError, OperationError
from dynamap_async.testing import Engine, LocalEngine, MotoEngine, NativeEngine

OPEN_FILES = Path("/dev/fd")
only_on_posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only: stands in for an engine with a script")


class Note(Model, table="notes"):
    id: PartitionKey[str]
    text: Attr[str]


@pytest.fixture(params=["memory", "moto", "native"])
def make_engine(request: pytest.FixtureRequest) -> Callable[..., Engine]:
    """Return a function that makes an engine which only this test uses."""
    if request.param == "memory":
        return LocalEngine
    if request.param == "moto":
        return MotoEngine
    return partial(NativeEngine, request.getfixturevalue("native_executable"))


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Return the list of all processes that the test starts."""
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen.__init__

    def record(self: Any, *args: Any, **kwargs: Any) -> None:
        started.append(self)
        start(self, *args, **kwargs)

    monkeypatch.setattr(subprocess.Popen, "__init__", record)
    return started


def client_of(engine: Engine, **more: Any) -> Any:
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    return boto3.client("dynamodb", region_name="eu-west-1", endpoint_url=engine.endpoint_url, **keys, **more)


def table_names(engine: Engine) -> list[str]:
    client = client_of(engine)
    with closing(client):
        names: list[str] = client.list_tables()["TableNames"]
        return names


def is_listening(endpoint_url: str) -> bool:
    address = urlsplit(endpoint_url)
    with socket.socket() as probe:
        return probe.connect_ex((address.hostname, address.port)) == 0


def number_of_open_files() -> int:
    return len(list(OPEN_FILES.iterdir())) if OPEN_FILES.exists() else 0


def program(folder: Path, *lines: str) -> Path:
    """Return an executable file that stands in for a native engine."""
    file = folder / "engine"
    file.write_text("\n".join((f"#!{sys.executable}", *lines)), "utf-8")
    file.chmod(0o755)
    return file


def test_engine_answers_as_soon_as_it_is_entered(make_engine):
    with make_engine() as engine:
        assert table_names(engine) == []


def test_engine_listens_on_the_loopback_address_only(make_engine):
    with make_engine() as engine:
        assert engine.endpoint_url.startswith("http://127.0.0.1:")


@pytest.mark.asyncio
async def test_session_of_an_engine_reads_what_it_wrote(make_engine):
    with make_engine() as engine:
        async with engine.session(table_prefix="a-") as session:
            await session.tables.create(Note)
            await session.put(Note(id="1", text="hi"))
            assert await session.get(Note, "1") == Note(id="1", text="hi")
        assert table_names(engine) == ["a-notes"]


@pytest.mark.asyncio
async def test_session_outlives_a_reset_and_finds_no_table(make_engine):
    with make_engine() as engine:
        async with engine.session() as session:
            await session.tables.create(Note)
            await session.put(Note(id="1", text="hi"))
            engine.reset()
            assert not await session.tables.exists(Note)
            await session.tables.create(Note)
            assert await session.find(Note, "1") is None


def test_engines_do_not_see_each_other(make_engine):
    def create(engine: Engine) -> None:
        client = client_of(engine)
        with closing(client):
            client.create_table(
                TableName="notes",
                KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )

    with make_engine() as first, make_engine() as second:
        assert first.endpoint_url != second.endpoint_url
        create(first)
        assert table_names(second) == []
        create(second)
        second.reset()
        assert table_names(first) == ["notes"]


def test_engine_that_is_entered_again_is_empty(make_engine):
    engine = make_engine()
    for _ in range(2):
        with engine:
            assert table_names(engine) == []


def test_leaving_ends_every_thread_process_and_socket(make_engine, processes):
    with make_engine():  # moto keeps files of its own open after its first use
        pass
    threads, files = set(threading.enumerate()), number_of_open_files()
    with make_engine() as engine:
        endpoint_url = engine.endpoint_url
        table_names(engine)
        engine.reset()
        assert is_listening(endpoint_url)
    assert not is_listening(endpoint_url)
    assert set(threading.enumerate()) == threads
    assert number_of_open_files() == files
    assert all(process.returncode is not None for process in processes)


def test_error_inside_the_block_ends_the_engine_too(make_engine, processes):
    endpoint_urls: list[str] = []

    def fail(engine: Engine) -> None:
        endpoint_urls.append(engine.endpoint_url)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), make_engine() as engine:
        fail(engine)
    assert not is_listening(*endpoint_urls)
    assert all(process.returncode is not None for process in processes)


def test_client_that_sends_nothing_does_not_hold_up_the_end(make_engine):
    with closing(socket.socket()) as silent, make_engine() as engine:
        address = urlsplit(engine.endpoint_url)
        silent.connect((address.hostname, address.port))
        endpoint_url = engine.endpoint_url
        silent.close()
    assert not is_listening(endpoint_url)


def test_engine_outside_its_block_has_no_endpoint(make_engine):
    engine = make_engine()
    with pytest.raises(ConfigurationError, match="not running"):
        _ = engine.endpoint_url
    with pytest.raises(ConfigurationError, match="not running"):
        engine.reset()
    with pytest.raises(ConfigurationError, match="not running"):
        engine.session()


def test_engine_cannot_be_entered_twice_at_once(make_engine):
    with make_engine() as engine, pytest.raises(ConfigurationError, match="already"), engine:
        pass


def test_requests_to_moto_are_not_logged(caplog, capfd):
    with caplog.at_level(logging.DEBUG, logger="werkzeug"), MotoEngine() as engine:
        table_names(engine)
    assert [record for record in caplog.records if record.name == "werkzeug"] == []
    assert capfd.readouterr() == ("", "")


def test_a_failure_of_moto_is_told_in_the_error_and_not_logged(caplog, capfd):
    with MotoEngine(models=[Note]) as engine:
        client = client_of(engine, config=Config(retries={"total_max_attempts": 1}))
        with closing(client), pytest.raises(client.exceptions.InternalServerError, match="moto failed: AttributeError"):
            client.update_item(TableName="notes", Key={"id": {"S": "a"}})
    assert (capfd.readouterr(), [each.name for each in caplog.records if "dynamap" not in each.name]) == (("", ""), [])


def test_an_operation_that_moto_does_not_have_is_unknown_to_it():
    with MotoEngine(models=[Note]) as engine:
        client = client_of(engine)
        with closing(client), pytest.raises(ClientError, match="list_contributor_insights") as caught:
            client.list_contributor_insights(TableName="notes")
    answer = caught.value.response
    assert answer["Error"]["Code"] == "UnknownOperationException"
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert answer["ResponseMetadata"]["RetryAttempts"] == 0


@pytest.mark.parametrize("package", ["moto", "flask", "flask_cors"])
def test_missing_extra_is_named_with_the_command_that_installs_it(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigurationError, match=r"pip install 'dynamap-async\[moto\]'"):
        MotoEngine()


@pytest.mark.parametrize("place", ["missing", "folder", "text"])
def test_path_that_is_no_program_is_refused_at_once(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("", "utf-8")
    with pytest.raises(ConfigurationError, match=place):
        NativeEngine(tmp_path / place)


@only_on_posix
def test_native_engine_that_ends_by_itself_is_reported_with_its_own_words(tmp_path, processes):
    engine = NativeEngine(program(tmp_path, "raise SystemExit('no such option')"))
    with pytest.raises(ConfigurationError, match="status 1: no such option"), engine:
        pass
    assert processes
    assert all(process.returncode is not None for process in processes)


@only_on_posix
def test_native_engine_that_never_answers_is_killed(tmp_path, processes):
    engine = NativeEngine(program(tmp_path, "import time", "time.sleep(600)"), start_timeout_seconds=0.2)
    with pytest.raises(ConfigurationError, match="did not answer"), engine:
        pass
    assert processes
    assert all(process.returncode is not None for process in processes)


def test_native_engine_runs_where_there_is_no_shell_to_guard_it(monkeypatch, native_executable):
    popen = subprocess.Popen

    def without_shell(command, **settings):
        if command[0] == "/bin/sh":
            raise FileNotFoundError(command[0])
        return popen(command, **settings)

    monkeypatch.setattr(subprocess, "Popen", without_shell)
    with NativeEngine(native_executable) as engine:
        assert table_names(engine) == []


def test_native_engine_is_started_again_where_another_program_took_its_port(monkeypatch, native_executable):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = iter([taken.getsockname()[1]])
        from dynamap_async.testing import native

        free_port = native._free_port
        monkeypatch.setattr(native, "_free_port", lambda: next(ports, None) or free_port())
        with NativeEngine(native_executable, start_timeout_seconds=60) as engine:
            assert table_names(engine) == []


def test_engines_run_without_an_event_loop_and_need_no_aws_settings(make_engine, monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with make_engine() as engine:
        assert table_names(engine) == []


def test_each_header_of_the_embedded_engine_is_sent_once() -> None:
    # aiohttp refuses a second one in debug mode (python -X dev).
    with LocalEngine() as engine:
        request = urllib.request.Request(
            engine.endpoint_url,
            data=b"{}",
            headers={"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"},
        )
        with urllib.request.urlopen(request) as response:
            names = [name.lower() for name, _ in response.getheaders()]
    assert sorted(names) == sorted(set(names))


def test_moto_says_at_once_that_the_aws_profile_is_unknown() -> None:
    program = "from dynamap_async.testing import MotoEngine\nwith MotoEngine(): pass"
    environment = os.environ | {"AWS_PROFILE": "nobody"}
    run = subprocess.run(
        [sys.executable, "-c", program], check=False, env=environment, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 1
    assert "ConfigurationError: moto cannot read the AWS settings" in run.stderr
    assert "unset AWS_PROFILE" in run.stderr


def test_a_session_of_an_engine_goes_past_the_proxy_of_the_environment(
    make_engine: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async def exists() -> bool:
        async with engine.session() as session:
            return await session.tables.exists(Note)

    with make_engine() as engine:
        assert asyncio.run(exists()) is False


def test_engine_listens_on_the_port_that_it_is_given_and_again_at_once(make_engine, free_port):
    for _ in range(2):
        with make_engine(port=free_port) as engine:
            assert engine.endpoint_url == f"http://127.0.0.1:{free_port}"
            assert table_names(engine) == []


def test_port_that_is_taken_is_named_with_the_remedy_and_left_alone(make_engine, processes):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigurationError, match=f"port {port} .* is used by another program.* or 0 for a free port"
        ):
            make_engine(port=port).__enter__()
        assert processes == []
        assert is_listening(f"http://127.0.0.1:{port}")


def test_engine_on_the_port_of_another_engine_is_refused(make_engine):
    with make_engine() as first:
        port = urlsplit(first.endpoint_url).port
        with pytest.raises(ConfigurationError, match="is used by another program"), make_engine(port=port):
            pass
        assert table_names(first) == []


@pytest.mark.parametrize("port", [-1, 65536, "8000", True, 1.5, None])
def test_what_is_no_port_is_refused_at_once(make_engine, port):
    with pytest.raises(ConfigurationError, match="is not a port"):
        make_engine(port=port)


def test_tables_of_the_models_are_there_when_the_block_begins(make_engine):
    with make_engine(models=[Note]) as engine:
        assert table_names(engine) == ["notes"]
        engine.reset()
        assert table_names(engine) == []


@pytest.mark.asyncio
async def test_tables_of_the_models_are_there_inside_a_running_event_loop_too(make_engine):
    with make_engine(models=[Note]) as engine:
        async with engine.session() as session:
            await session.put(Note(id="1", text="hi"))


def test_tables_that_cannot_be_made_end_the_engine(make_engine, free_port):
    with pytest.raises(OperationError), make_engine(models=[Engine], port=free_port):
        pass
    assert not is_listening(f"http://127.0.0.1:{free_port}")


@pytest.mark.asyncio
async def test_engine_in_an_async_block_starts_and_ends_beside_the_event_loop(make_engine, processes):
    async with make_engine(models=[Note]) as engine, engine.session() as session:
        endpoint_url = engine.endpoint_url
        await session.put(Note(id="1", text="hi"))
        assert await session.get(Note, "1") == Note(id="1", text="hi")
    assert not is_listening(endpoint_url)
    assert all(process.returncode is not None for process in processes)


@pytest.mark.asyncio
async def test_error_inside_an_async_block_ends_the_engine_too(make_engine):
    endpoint_urls: list[str] = []

    async def fail() -> None:
        async with make_engine() as engine:
            endpoint_urls.append(engine.endpoint_url)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert not is_listening(*endpoint_urls)


@pytest.mark.asyncio
async def test_engine_that_cannot_start_says_so_in_an_async_block(make_engine):
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as taken,
        pytest.raises(ConfigurationError, match="is used by another program"),
    ):
        await make_engine(port=taken.getsockname()[1]).__aenter__()


@pytest.mark.asyncio
async def test_task_that_is_cancelled_while_the_engine_starts_or_ends_leaves_nothing_running(make_engine, free_port):
    async def enter() -> None:
        async with make_engine(port=free_port):
            entered.set()

    entered = asyncio.Event()
    starting = asyncio.create_task(enter())
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait([starting])
    assert starting.cancelled()
    assert not entered.is_set()
    assert not is_listening(f"http://127.0.0.1:{free_port}")
    ending = asyncio.create_task(enter())
    await entered.wait()
    ending.cancel()
    await asyncio.wait([ending])
    assert not is_listening(f"http://127.0.0.1:{free_port}")


@pytest.mark.asyncio
async def test_all_regions_share_the_tables_of_an_engine(make_engine):
    with make_engine(models=[Note]) as engine:
        async with engine.session(region="us-east-1") as session:
            await session.put(Note(id="1", text="hi"))
        async with engine.session(region="ap-southeast-2") as session:
            assert (await session.get(Note, "1")).text == "hi"


@pytest.mark.asyncio
async def test_a_session_of_a_local_endpoint_needs_no_credentials(make_engine, monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with make_engine(models=[Note]) as engine:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint_url)
        async with Session(region="eu-west-1") as session:
            await session.put(Note(id="1", text="hi"))
            assert (await session.get(Note, "1")).text == "hi"
