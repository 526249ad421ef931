"""The engine of a run is chosen by a word or a URL, and what cannot be is refused with the remedy."""

import re

import pytest

from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import LocalEngine, MotoEngine, NativeEngine, find_engine, native_program
from dynamap_async.testing.choice import chosen_engine, running_engine
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.probe import answers


@pytest.mark.parametrize("url", ["http://db.test:8000", "https://db.test"])
def test_an_engine_that_runs_already_is_taken_as_it_is(url):
    with running_engine(url) as endpoint_url:
        assert endpoint_url == url


def test_an_engine_runs_as_long_as_the_block():
    with running_engine("memory") as endpoint_url:
        port = int(endpoint_url.rpartition(":")[2])
        assert answers(port, timeout_seconds=10)
    assert not answers(port, timeout_seconds=10)


@pytest.mark.asyncio
async def test_engines_and_what_sends_to_them_say_where_they_are():
    with MotoEngine() as moto:
        assert repr(moto) == f"<MotoEngine at {moto.endpoint_url}>"
    assert repr(moto) == "<MotoEngine not running>"
    with LocalEngine() as engine:
        assert repr(engine) == "<LocalEngine in this process>"
        async with Faults().session(engine) as session:
            assert "<FaultyTransport around <LocalTransport to " in repr(session)
        url = engine.endpoint_url
        assert repr(engine) == f"<LocalEngine at {url}>"


@pytest.mark.parametrize("choice", ["mongo", "localhost:8000", "http://", ""])
def test_what_is_no_engine_is_refused(choice):
    with pytest.raises(ConfigurationError, match="choose memory, moto, native, or a URL"), running_engine(choice):
        pass


@pytest.fixture
def nothing_installed(monkeypatch, tmp_path):
    monkeypatch.delenv("DYNAMAP_NATIVE_ENGINE", raising=False)
    monkeypatch.setattr(native_program, "_cache_folder", lambda: tmp_path)


def test_the_native_engine_needs_its_program(nothing_installed):
    expected = "run `dynamap engine install`, or set DYNAMAP_NATIVE_ENGINE"
    with pytest.raises(ConfigurationError, match=expected), running_engine("native"):
        pass


@pytest.mark.parametrize("by_variable", [True, False], ids=["named", "installed"])
def test_the_native_engine_is_taken_where_it_is_named(nothing_installed, monkeypatch, tmp_path, by_variable):
    program = tmp_path / "dynoxide" if by_variable else native_program.installed_program()
    program.parent.mkdir(parents=True, exist_ok=True)
    program.touch(mode=0o755)
    if by_variable:
        monkeypatch.setenv("DYNAMAP_NATIVE_ENGINE", str(program))
    chosen = chosen_engine("native")
    assert isinstance(chosen, NativeEngine)
    assert chosen._executable == program
    assert isinstance(find_engine(), LocalEngine)  # which is used where none is named


@pytest.mark.parametrize(("mode", "fault"), [(0o755, "cannot be run: "), (0o644, "is not an executable file")])
def test_what_is_no_program_is_told_with_the_variable_that_names_it(
    nothing_installed, monkeypatch, tmp_path, mode, fault
):
    wrong = tmp_path / "hostname"
    wrong.write_text("no program")
    wrong.chmod(mode)
    monkeypatch.setenv("DYNAMAP_NATIVE_ENGINE", str(wrong))
    told = re.escape(f"DYNAMAP_NATIVE_ENGINE={wrong} {fault}")
    with pytest.raises(ConfigurationError, match=f"{told}.*; give the path of the dynoxide"), running_engine("native"):
        pass


def test_a_port_and_models_reach_the_engine_that_is_found():
    with pytest.raises(ConfigurationError, match="is not a port"):
        find_engine(port=-1)
