"""Engines and sessions for every test that talks to a DynamoDB. Nothing here knows any model."""

import os
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings

from dynamap_async import Session
from dynamap_async.testing import Engine, LocalEngine, NativeEngine

NATIVE_ENGINE = "DYNAMAP_NATIVE_ENGINE"

# How fast the machine is says nothing about the code. CI tries the same examples each time, so that what fails there is
# what a change did; everywhere else they are drawn anew.
settings.register_profile(
    "dynamap",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("dynamap")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "engine_fault(engine, reason, raises=AssertionError): what this engine gets wrong; the test must fail on it, "
        "with that error, and pass on every other engine",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        for fault in item.iter_markers("engine_fault"):
            engine, reason = fault.args
            if parameters.get("engine") == engine:
                raises = fault.kwargs.get("raises", AssertionError)
                item.add_marker(pytest.mark.xfail(reason=f"{engine}: {reason}", raises=raises, strict=True))


@pytest.fixture(scope="session")
def native_executable() -> str:
    """Return the path of the native engine's program; skip the test, or on CI fail it, where there is none."""
    executable = os.environ.get(NATIVE_ENGINE)
    if executable:
        return executable
    reason = f"native engine: set {NATIVE_ENGINE} to the path of the dynoxide executable"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session", params=["moto", "native"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Return each running engine in turn; it is started by the first test that needs it and shared from then on."""
    started: Engine = (
        LocalEngine() if request.param == "moto" else NativeEngine(request.getfixturevalue("native_executable"))
    )
    with started:
        yield started


@pytest_asyncio.fixture(loop_scope="function")
async def session(engine: Engine) -> AsyncIterator[Session]:
    """Return an open session whose tables no other test sees."""
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as opened:
        yield opened
