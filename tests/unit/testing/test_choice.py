"""The engine of a run is chosen by a word or a URL, and what cannot be is refused with the remedy."""

import pytest

from dynamap_async.errors import ConfigurationError
from dynamap_async.testing.choice import running_engine
from dynamap_async.testing.probe import answers


@pytest.mark.parametrize("url", ["http://db.test:8000", "https://db.test"])
def test_an_engine_that_runs_already_is_taken_as_it_is(url):
    with running_engine(url) as endpoint_url:
        assert endpoint_url == url


def test_an_engine_runs_as_long_as_the_block():
    with running_engine("moto") as endpoint_url:
        port = int(endpoint_url.rpartition(":")[2])
        assert answers(port, timeout_seconds=10)
    assert not answers(port, timeout_seconds=10)


@pytest.mark.parametrize("choice", ["mongo", "localhost:8000", "http://", ""])
def test_what_is_no_engine_is_refused(choice):
    with pytest.raises(ConfigurationError, match="choose moto, native, or a URL"), running_engine(choice):
        pass


def test_the_native_engine_needs_its_program(monkeypatch):
    monkeypatch.delenv("DYNAMAP_NATIVE_ENGINE", raising=False)
    with pytest.raises(ConfigurationError, match="set DYNAMAP_NATIVE_ENGINE"), running_engine("native"):
        pass
