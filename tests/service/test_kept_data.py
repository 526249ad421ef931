"""``LocalEngine(data=...)``: what one run stored is there in the next, whatever happens while it is written."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, TimeToLive
from dynamap_async.errors import ConfigurationError, ModelDefinitionError
from dynamap_async.testing import LocalEngine
from dynamap_async.testing.data_file import DataFile

only_on_posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only: links and modes of files")


class Visit(Model, table="visits"):
    user: PartitionKey[str]
    number: SortKey[int]
    page: Attr[str]
    ends: TimeToLive[datetime | None] = None

    by_page = GlobalIndex(partition_key="page", sort_key="number")


ADA = Visit(user="ada", number=1, page="home", ends=datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file of an engine that has stored a visit."""
    file = tmp_path / "dev.json"
    with LocalEngine(models=[Visit], data=file) as engine:
        engine.load("visits", [{"user": {"S": "ada"}, "number": {"N": "1"}, "page": {"S": "home"}}])
    return file


def names_in(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


@pytest.mark.asyncio
async def test_the_next_engine_has_what_was_stored(tmp_path):
    file = tmp_path / "dev.json"
    async with LocalEngine(models=[Visit], data=str(file)) as engine, engine.session() as session:
        await session.put(ADA)
    async with LocalEngine(models=[Visit], data=file) as engine, engine.session() as session:
        assert await session.get(Visit, "ada", 1) == ADA
        assert await session.query(Visit).where(Visit.page == "home") == [ADA]
        await session.tables.verify(Visit)
        await session.delete(ADA)
    async with LocalEngine(data=file) as engine:
        assert engine.items("visits") == []


def test_one_engine_keeps_its_data_when_it_is_entered_again(file):
    engine = LocalEngine(data=file)
    for number in (2, 3):
        with engine:
            assert len(engine.items("visits")) == number - 1
            engine.load("visits", [{"user": {"S": "ada"}, "number": {"N": str(number)}}])


def test_an_error_in_the_block_loses_nothing(file):
    def fail(engine: LocalEngine) -> None:
        engine.forget(["visits"])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), LocalEngine(data=file) as engine:
        fail(engine)
    assert json.loads(file.read_bytes())["tables"] == {}


def test_a_file_of_others_is_named_and_left_alone(tmp_path):
    file = tmp_path / "package.json"
    file.write_text('{"name": "shop"}', "utf-8")
    with pytest.raises(ConfigurationError, match=r"package\.json cannot be loaded: it was not written by an engine"):
        LocalEngine(models=[Visit], data=file).__enter__()
    assert file.read_text("utf-8") == '{"name": "shop"}'
    assert names_in(tmp_path) == ["package.json"]


def test_a_damaged_file_is_named_and_left_alone(file):
    damaged = file.read_bytes()[:-9]
    file.write_bytes(damaged)
    with pytest.raises(ConfigurationError, match=r"dev\.json cannot be loaded: it is no JSON"):
        LocalEngine(data=file).__enter__()
    assert file.read_bytes() == damaged


def failing(parts: list[bytes]) -> Iterator[bytes]:
    yield from parts
    raise OSError(28, "No space left on device")


def test_a_failure_half_way_leaves_the_file_as_it_was(file):
    before = file.read_bytes()
    kept = DataFile(file)
    kept.load(lambda text: None)
    with pytest.raises(ConfigurationError, match=r"cannot be written to .*dev\.json: .*No space left"):
        kept.save(failing([b"{"]))
    assert file.read_bytes() == before
    assert names_in(file.parent) == ["dev.json"]


def test_a_program_that_is_killed_half_way_leaves_the_file_as_it_was(file):
    before = file.read_bytes()
    program = f"""
import os
from dynamap_async.testing.data_file import DataFile

def parts():
    yield b'{{' * 100_000
    os.kill(os.getpid(), 9) if os.name == "posix" else os._exit(9)

file = DataFile({os.fspath(file)!r})
file.load(lambda text: None)
file.save(parts())
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode in {-9, 9}
    assert file.read_bytes() == before
    with LocalEngine(data=file) as engine:
        assert len(engine.items("visits")) == 1


def test_what_another_program_wrote_meanwhile_is_not_lost_and_neither_is_what_the_engine_had(file):
    engine = LocalEngine(data=file)
    engine.__enter__()
    engine.forget(["visits"])
    with LocalEngine(data=file) as other:
        other.load("visits", [{"user": {"S": "bob"}, "number": {"N": "1"}}])
    with pytest.raises(
        ConfigurationError, match=r"dev\.json was changed by another program .* is in .*\.new; to go on"
    ):
        engine.__exit__(None, None, None)
    [_mine, kept] = names_in(file.parent)
    with LocalEngine(data=file) as again:
        assert len(again.items("visits")) == 2
    assert json.loads((file.parent / kept).read_bytes())["tables"] == {}


def test_a_file_that_was_deleted_meanwhile_is_written_again(file):
    with LocalEngine(data=file):
        file.unlink()
    with LocalEngine(data=file) as engine:
        assert len(engine.items("visits")) == 1


@only_on_posix
def test_a_link_stays_a_link_and_a_mode_the_mode(file):
    link = file.with_name("link.json")
    link.symlink_to(file)
    file.chmod(0o600)
    with LocalEngine(data=link) as engine:
        engine.forget(["visits"])
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_bytes())["tables"] == {}


@pytest.mark.asyncio
async def test_an_engine_that_did_not_start_writes_nothing(file):
    before, new = file.read_bytes(), file.with_name("new.json")
    taken = Table("visits", partition_key="id")
    with LocalEngine() as other:
        port = urlsplit(other.endpoint_url).port
        for data in (file, new):
            with pytest.raises(ConfigurationError, match=f"port {port} .* is used by"):
                LocalEngine(port=port, data=data).__enter__()
            with pytest.raises(ConfigurationError, match=f"port {port} .* is used by"):
                await LocalEngine(port=port, data=data).__aenter__()
    with pytest.raises(ModelDefinitionError, match="disagree on its key"):
        LocalEngine(models=[taken, Visit], data=new).__enter__()
    assert file.read_bytes() == before
    assert names_in(file.parent) == ["dev.json"]


@pytest.mark.asyncio
async def test_an_engine_whose_start_is_cancelled_writes_nothing(tmp_path):
    entering = asyncio.ensure_future(LocalEngine(data=tmp_path / "dev.json").__aenter__())
    await asyncio.sleep(0)
    entering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await entering
    assert names_in(tmp_path) == []


def test_a_folder_that_is_not_there_is_told_before_anything_is_stored(tmp_path):
    with pytest.raises(ConfigurationError, match="its folder is not there"):
        LocalEngine(data=tmp_path / "missing" / "dev.json").__enter__()


@pytest.mark.parametrize("data", ["", 7, b""])
def test_what_is_no_path_is_refused(data):
    with pytest.raises(ConfigurationError, match=r"write data='dev\.json'"):
        LocalEngine(data=data)
