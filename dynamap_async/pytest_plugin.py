"""The pytest plugin: an option, a marker, and the fixtures of ``dynamap_async.testing``.

An async fixture belongs to the plugin that runs the test's event loop, and neither of the two takes the other's. So
``dynamap_session`` is a plain fixture that asks, when it is set up, for an async one made by the public means of the
plugin that runs this test: ``pytest_asyncio.fixture`` with the test's own loop scope, or ``pytest.fixture`` where the
test has an ``anyio_backend``. These are registered when first needed, so neither plugin has to be there.

Every run of pytest loads this module where the package is installed, whether it uses the package or not: so it stands
outside of ``dynamap_async.testing``, and what the fixtures need is imported where they are set up.
"""

from __future__ import annotations  # they name what is not imported here

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from dynamap_async.models import Model
    from dynamap_async.session import Session
    from dynamap_async.testing import Engine, FrozenClock, LocalEngine, RequestLog
    from dynamap_async.testing.faults import Faults
    from dynamap_async.testing.prepared import EngineEndpoint, Prepared
    from dynamap_async.testing.seeding import Seed

ENGINE: Final = "DYNAMAP_ENGINE"
_BY_ANYIO: Final = "_dynamap_opened_by_anyio"
_BY_ASYNCIO: Final = "_dynamap_opened_by_asyncio_per_"
_OURS: Final = "_dynamap_engine"
_BROKEN: Final[pytest.StashKey[bool]] = pytest.StashKey()
_CONNECT_SECONDS: Final = 5.0
_LOOP_SCOPES: Final = ("function", "class", "module", "package", "session")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses the engine."""
    parser.getgroup("dynamap", "DynamoDB for tests (dynamap_async)").addoption(
        "--dynamap-engine",
        metavar="memory|moto|native|URL",
        help=f"the engine behind dynamap_session; otherwise the environment variable {ENGINE}, otherwise memory, which "
        "is in this process",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker, and keep pytest from compiling this package anew.

    It does so with the package of each plugin, for the texts of its assertions. Here that is two hundred modules, which
    takes a second where nothing is kept of what was compiled, and a tenth of one where it is.
    """
    marked: Any = getattr(config.pluginmanager.rewrite_hook, "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard(__name__.partition(".")[0])
    config.addinivalue_line(
        "markers",
        "dynamap(models=(), seed=None): the models whose tables dynamap_session creates, and what they hold: a JSON "
        "file beside the test, items, or a function that makes them",
    )


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
    """Record that a test did not run to its end: its tables are not given to another one."""
    if call.excinfo is not None:
        item.stash[_BROKEN] = True


@pytest.fixture(scope="session")
def _dynamap_engine(pytestconfig: pytest.Config) -> Iterator[Engine | str]:
    """The engine that --dynamap-engine names, started once for each process, or the URL of one that runs already."""
    from dynamap_async.testing.choice import chosen_engine, find_engine

    chosen: str | None = pytestconfig.getoption("--dynamap-engine")
    choice = chosen or os.environ.get(ENGINE)
    engine = chosen_engine(choice) if choice else find_engine()
    if engine is None:
        assert choice is not None  # noqa: S101 - a URL was chosen
        yield choice
        return
    with engine:
        yield engine


@pytest.fixture(scope="session")
def dynamodb_endpoint(request: pytest.FixtureRequest) -> str:
    """The URL of the engine that --dynamap-engine names, started once for each process. Override it with yours."""
    place = request.getfixturevalue("dynamap_engine" if _is_overridden("dynamap_engine", request) else _OURS)
    return place if isinstance(place, str) else place.endpoint_url


@pytest.fixture(scope="session")
def _dynamap_places() -> dict[Engine | str, EngineEndpoint | str]:
    """The engines that tests of this process have used; of one that cannot be used, what is to be said of it."""
    return {}


@pytest.fixture(scope="session")
def dynamap_engine(request: pytest.FixtureRequest) -> LocalEngine:
    """The engine in this process, to ask what its tables hold, to load them, or to go back. Override it with yours.

    After a test with dynamap_session it is what it was before. On another engine the test is skipped.
    """
    from dynamap_async.testing import LocalEngine

    if _is_overridden("dynamodb_endpoint", request):
        pytest.skip(
            "dynamap_engine is the engine in the process of the tests, and the project's fixture dynamodb_endpoint "
            "names another one; override dynamap_engine in its place"
        )
    engine = request.getfixturevalue(_OURS)
    if not isinstance(engine, LocalEngine):
        pytest.skip(
            f"dynamap_engine is the engine in the process of the tests, and --dynamap-engine, or {ENGINE}, names "
            "another one"
        )
    return engine


# Setting up a fixture takes about as long as a request: so those that never change are there for the whole run.
@pytest.fixture(scope="session")
def dynamap_models() -> Sequence[type[Model]]:
    """Models whose tables dynamap_session creates, besides those of the markers: none. Override it with yours."""
    return ()


@pytest.fixture(scope="session")
def dynamap_settings() -> Mapping[str, Any]:
    """Further arguments of dynamap_session's ``Session``, such as ``retry``: none. Override it with yours."""
    return MappingProxyType({})  # of all tests


@pytest.fixture
def dynamap_faults() -> Faults:
    """The script through which all requests of dynamap_session go; it is empty, and the test writes it."""
    from dynamap_async.testing.faults import Faults

    return Faults()


@pytest.fixture
def dynamap_requests() -> RequestLog:
    """The requests that dynamap_session has sent, to assert on; those for its tables and seeds are not there."""
    from dynamap_async.testing import RequestLog

    return RequestLog()


@pytest.fixture
def _dynamap_clock() -> FrozenClock:
    from dynamap_async.testing import FrozenClock

    clock = FrozenClock()
    clock.run()
    return clock


@pytest.fixture
def dynamap_clock(_dynamap_clock: FrozenClock) -> FrozenClock:
    """The time of day of dynamap_session, which stands still for a test that asks for it."""
    _dynamap_clock.freeze()
    return _dynamap_clock


@pytest.fixture
def _dynamap_prepared(
    request: pytest.FixtureRequest,
    _dynamap_places: dict[Engine | str, EngineEndpoint | str],
    dynamap_settings: Mapping[str, Any],
    dynamap_models: Sequence[type[Model]],
    dynamap_faults: Faults,
    dynamap_requests: RequestLog,
    _dynamap_clock: FrozenClock,
) -> Prepared:
    from dynamap_async.testing.prepared import Prepared

    models, seeds = _marked(request)
    models = list(dict.fromkeys([*_models(dynamap_models, "dynamap_models"), *models]))
    for name in sorted({"client", "transport"} & dynamap_settings.keys()):
        pytest.fail(
            f"dynamap_settings has {name!r}: dynamap_session sends through dynamap_faults, by a transport of its own; "
            f"leave it out, or open a Session(..., {name}=...) in the test",
            pytrace=False,
        )
    return Prepared(
        place=_place(request, _dynamap_places),
        settings=dynamap_settings,
        models=models,
        seeds=[_seed(each, models, request.path.parent) for each in seeds],
        faults=dynamap_faults,
        requests=dynamap_requests,
        clock=_dynamap_clock,
        missing=_missing,
        passed=lambda: _BROKEN not in request.node.stash,
    )


@pytest.fixture
def dynamap_session(request: pytest.FixtureRequest, _dynamap_prepared: Prepared) -> Session:
    """An open session with tables of its own, on the test's event loop; afterwards it is closed, and they are dropped.

    It needs pytest-asyncio, in either mode, or anyio's plugin; with trio the test is skipped.
    """
    session: Session = request.getfixturevalue(_opened_by(request))
    return session


def _is_overridden(fixture: str, request: pytest.FixtureRequest) -> bool:
    """Return whether a project has a fixture of its own in place of one of these, beside a test or above it."""
    known: Any = request.session._fixturemanager.getfixturedefs(fixture, request._pyfuncitem)  # noqa: SLF001
    if known[-1].func.__module__ == __name__:
        return False
    if known[-1].scope != "session":
        pytest.fail(f'{fixture} is for the whole run: write @pytest.fixture(scope="session")', pytrace=False)
    return True


def _place(request: pytest.FixtureRequest, places: dict[Engine | str, EngineEndpoint | str]) -> EngineEndpoint:
    """Return the engine that a test uses."""
    from dynamap_async.testing import Engine
    from dynamap_async.testing.prepared import EngineEndpoint
    from dynamap_async.testing.probe import reason_unreachable

    # The engine of this process listens once somebody asks for its URL, which needs sockets: so the fixture of the URL
    # is asked for only where a project has its own.
    named_by = next((each for each in ("dynamap_engine", "dynamodb_endpoint") if _is_overridden(each, request)), _OURS)
    place: Any = request.getfixturevalue(named_by)
    if named_by == "dynamap_engine" and not isinstance(place, Engine):
        pytest.fail(
            f"dynamap_engine is {place!r}: write `with LocalEngine() as engine: yield engine`, or override "
            "dynamodb_endpoint with a URL",
            pytrace=False,
        )
    found = places.get(place)
    if found is None:
        reason = reason_unreachable(place, timeout_seconds=_CONNECT_SECONDS) if isinstance(place, str) else None
        named = f"--dynamap-engine or {ENGINE}" if named_by == _OURS else f"the fixture {named_by}"
        found = places[place] = (
            f"no engine can be reached at {place} ({reason}): start it first, or change what names it, which is {named}"
            if reason
            else EngineEndpoint(place)
        )
    if isinstance(found, str):
        pytest.fail(found, pytrace=False)
    return found


def _marked(request: pytest.FixtureRequest) -> tuple[list[type[Model]], list[Any]]:
    """Return the models and the seeds of the test's markers, those of the module first."""
    models: list[type[Model]] = []
    seeds: list[Any] = []
    # pytest yields the closest marker first, and a test may use what its module seeds.
    for mark in reversed(list(request.node.iter_markers("dynamap"))):
        if mark.args or set(mark.kwargs) - {"models", "seed"}:
            pytest.fail("pytest.mark.dynamap takes models=[...] and seed=..., and nothing else", pytrace=False)
        models += _models(mark.kwargs.get("models", ()), "models")
        seeds += [mark.kwargs["seed"]] if mark.kwargs.get("seed") is not None else []
    return models, seeds


def _missing(table: str) -> str:
    """Return what to write so that a test has a table."""
    from dynamap_async.models import Model

    waiting, names = [*Model.__subclasses__()], list[str]()
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        found = vars(model).get("__dynamap_definition__")  # of one that was used: no other was asked for
        if found is not None and found.table is not None and found.table.name == table:
            names.append(model.__name__)
    named = ", ".join(sorted({*names})) or "..."
    return f"this test has no table {table!r}: name its model, as in @pytest.mark.dynamap(models=[{named}])"


def _models(given: Any, where: str) -> list[Any]:
    """Return the models, or tables, that a test names."""
    from dynamap_async.models import Table
    from dynamap_async.planning import checked_model

    if not _is_list(given):
        one = given.__name__ if isinstance(given, type) else "Account"
        pytest.fail(f"{where} is {given!r}: write a list, as in [{one}]", pytrace=False)
    return [each if isinstance(each, Table) else checked_model(each) for each in given]


def _is_list(given: object) -> bool:
    """Return whether a value can be read for each test: an iterator would be empty after the first."""
    return isinstance(given, Iterable) and not isinstance(given, str | Iterator)


def _seed(marked: Any, models: Sequence[type[Model]], folder: Path) -> Seed:
    from dynamap_async.testing.seeding import items_of, read_items

    if isinstance(marked, str | Path):
        return read_items(folder / marked, *models)
    if callable(marked):
        factory: Callable[[], Any] = marked
        return factory
    if isinstance(marked, Iterator):
        pytest.fail(
            f"seed={marked!r} gives its items to the first test only: write a list, or a function that makes them",
            pytrace=False,
        )
    # A write moves an instance on, to its next version: each test begins with copies of its own.
    return [item.model_copy(deep=True) for item in items_of(marked)]


def _opened_by(request: pytest.FixtureRequest) -> str:
    """Return the name of the async fixture that opens the session on this test's loop, checked to exist."""
    plugins = request.config.pluginmanager
    marker = request.node.get_closest_marker("asyncio")
    if "anyio_backend" in request.fixturenames:
        if marker is not None:
            pytest.fail(
                "this test is marked for anyio and for pytest-asyncio, by asyncio_mode=auto or by hand, and each would "
                "give it a loop of its own: set asyncio_mode=strict, or take one of the marks away",
                pytrace=False,
            )
        if request.getfixturevalue("anyio_backend_name") != "asyncio":
            pytest.skip("dynamap_session: sessions run on asyncio, not on trio")
        if not plugins.has_plugin("dynamap-anyio"):
            plugins.register(_for_anyio(), "dynamap-anyio")
        return _BY_ANYIO
    if not plugins.has_plugin("asyncio"):
        pytest.fail(
            "dynamap_session opens on a test's event loop, and this test has none: mark it with pytest.mark.anyio, or "
            "install pytest-asyncio and mark it with pytest.mark.asyncio",
            pytrace=False,
        )
    if not plugins.has_plugin("dynamap-asyncio"):
        plugins.register(_for_asyncio(), "dynamap-asyncio")
    return _BY_ASYNCIO + _loop_scope(request.config, marker)


def _loop_scope(config: pytest.Config, marker: pytest.Mark | None) -> str:
    """Return the scope of the loop that the test runs on, as pytest-asyncio documents it."""
    if marker is not None:
        scope: str | None = marker.kwargs.get("loop_scope")
        return scope or config.getini("asyncio_default_test_loop_scope")
    # A plain test whose async fixtures use the session: they run on the loop of fixtures.
    default: str | None = config.getini("asyncio_default_fixture_loop_scope")
    return default if default in _LOOP_SCOPES else "function"


def _opening() -> Callable[[Prepared], AsyncGenerator[Session]]:
    """Return a new function for an async fixture, since a plugin may set attributes on it."""

    async def opened(_dynamap_prepared: Prepared) -> AsyncGenerator[Session]:
        async with _dynamap_prepared.open() as session:
            yield session

    return opened


def _for_anyio() -> ModuleType:
    fixtures = ModuleType("dynamap_anyio_fixtures")
    vars(fixtures)["opened"] = pytest.fixture(name=_BY_ANYIO)(_opening())
    return fixtures


def _for_asyncio() -> ModuleType:
    import pytest_asyncio

    fixtures = ModuleType("dynamap_asyncio_fixtures")
    for scope in _LOOP_SCOPES:
        fixture = pytest_asyncio.fixture(loop_scope=scope, name=_BY_ASYNCIO + scope)
        vars(fixtures)[f"opened_per_{scope}"] = fixture(_opening())
    return fixtures
