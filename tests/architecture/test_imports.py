"""What an import loads: only what a program uses, and with a session all that its calls need."""

import ast
import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dynamap_async

MODELS = "from dynamap_async import Attr, Model, PartitionKey, Table, Unique, attr, path, template"
SESSION = """
import asyncio
import sys
from dynamap_async import Attr, Model, PartitionKey, Session

class Answering:
    max_connections = 1
    async def open(self): ...
    async def close(self): ...
    async def send(self, request): return {"Items": []} if request.operation == "Query" else {}

class Thing(Model, table="things"):
    id: PartitionKey[str]
    size: Attr[int] = 0

async def main():
    async with Session(transport=Answering()) as session:
        print(*sys.modules)
        await session.put(Thing(id="a"))
        await session.find(Thing, "a")
        async with session.transaction() as tx:
            tx.put(Thing(id="b"))
        await session.query(Thing).where(Thing.id == "a").limit(1)
        await session.delete(Thing, "a", where=Thing.size == 0)
"""
REFUSED = """
import asyncio
import sys
import threading
from contextlib import suppress
from dynamap_async import Attr, Credentials, Model, PartitionKey, RetryPolicy, Session
from dynamap_async.errors import ConnectionFailedError

class Thing(Model, table="things"):
    id: PartitionKey[str]

class Noted:
    def find_spec(self, name, path=None, target=None):
        if name == "aiobotocore":
            print("thread", *threading.current_thread().name.split())

async def main(**settings):
    sys.meta_path.insert(0, Noted())
    async with Session(region="eu-west-1", retry=RetryPolicy(max_attempts=1), **settings) as session:
        print(*sys.modules)
        with suppress(ConnectionFailedError):
            await session.find(Thing, "a")
"""
"""A session over HTTP, whose requests nobody answers."""
GIVEN = """
place = dict(endpoint_url="http://127.0.0.1:9", credentials=Credentials(access_key_id="a", secret_access_key="b"))
asyncio.run(main(**place))
"""
"""Opens it with region, endpoint and credentials given, as a Lambda function or a program's first lines do."""
KEYS = {
    "AWS_ACCESS_KEY_ID": "a",
    "AWS_SECRET_ACCESS_KEY": "b",
    "AWS_SESSION_TOKEN": "c",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_REGION": "eu-west-1",
    "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
    "AWS_LAMBDA_FUNCTION_NAME": "shop",
}
"""What Lambda tells a function, as far as it concerns a session."""
LOADED = "import sys; print(*sys.modules)"
TRACKED = "import gc; gc.collect(); print(len(gc.get_objects()))"

OWN_MODULES = 138
"""Those of the package that a first session was counted to load; a tenth more fails."""
TRACKED_OBJECTS = 8_000 if sys.version_info < (3, 14) else 11_200
"""What a first session was counted to add for a garbage collection to walk to what FastAPI has; a tenth more fails.

From Python 3.14 on each annotated function has another that gives its annotations, 1,950 here; and each dict is walked.
"""
UNNEEDED = {
    *("aiobotocore", "botocore", "boto3", "aiohttp", "yarl", "multidict", "attr", "anyio", "sniffio", "uvloop"),
    *("httpx", "requests", "urllib3", "typer", "click", "rich", "moto", "flask", "pytest", "hypothesis", "fastapi"),
    *("starlette", "opentelemetry", "jinja2", "griffe", "email_validator"),
}
"""What others install beside the library, and what it needs in some sessions only."""
NEEDED = {
    *("pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"),
    *("httptools", "cython_runtime", "aiohappyeyeballs"),
}
"""What a first session loads of other distributions."""
LAZY_ROOMS = sorted(
    path.parent
    for path in Path(dynamap_async.__file__).parent.rglob("__init__.py")
    if "lazy_names(" in path.read_text("utf-8")
)
"""The folders of packages whose names are imported when they are used first."""
UNNEEDED_ROOMS = {"capacity", "cli", "integrations", "mypy", "pytest_plugin", "tables", "testing"}


def told_by(*parts: str) -> list[set[str]]:
    """Run the parts of a program in one process; return the words of each line that they print."""
    ran = subprocess.run([sys.executable, "-c", "\n".join(parts)], check=True, capture_output=True, text=True)
    return [set(line.split()) for line in ran.stdout.splitlines()]


def packages_of(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def imported_for_checkers() -> dict[str, set[str]]:
    """Return home -> names, as type checkers see it."""
    tree = ast.parse(Path(dynamap_async.__file__).read_text("utf-8"))
    [checked, *_] = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    return {str(node.module): {alias.name for alias in node.names} for node in imports}


def test_importing_the_package_loads_nothing_but_knows_all_names() -> None:
    modules, names, later = told_by(
        "import dynamap_async",
        LOADED,
        "print(*dir(dynamap_async))",
        "assert dynamap_async.errors.ServiceError",
        LOADED,
    )
    assert {name for name in modules if name.startswith("dynamap_async")} == {"dynamap_async"}
    assert not packages_of(modules) & {"pydantic", "aiohttp", "aiobotocore", "anyio"}
    assert set(dynamap_async.__all__) <= names
    assert "dynamap_async.errors" in later


def test_a_program_that_declares_models_loads_neither_the_http_client_nor_the_session() -> None:
    [modules] = told_by(MODELS, LOADED)
    assert not packages_of(modules) & {"aiohttp", "aiobotocore", "botocore", "anyio", "asyncio"}
    rooms = {name.split(".")[1] for name in modules if name.startswith("dynamap_async.")}
    assert not rooms & {
        "session",
        "executor",
        "transport",
        "operations",
        "planning",
        "tables",
        "events",
        "testing",
        "cli",
    }


def test_opening_a_session_finds_nothing_of_the_library_left_to_import() -> None:
    before, opened, _after = told_by(SESSION, LOADED, "asyncio.run(main())", LOADED)
    late = packages_of(opened - before)
    assert not late & {"dynamap_async", "aiohttp", "aiobotocore", "botocore"}


def test_in_a_web_application_no_call_finds_anything_left_to_import() -> None:
    """An import of some 20 ms, such as anyio's backend, would hold up the event loop in the middle of a handler."""
    started = """
from dynamap_async.integrations.sessions import opened_session
async def start():
    async with opened_session(lambda: Session(transport=Answering()), freeze_gc=False):
        pass
asyncio.run(start())
"""
    _before, opened, after = told_by(SESSION, LOADED, started, "asyncio.run(main())", LOADED)
    late = packages_of(after - opened)
    assert not late & {"dynamap_async", "aiohttp", "aiobotocore", "botocore", "anyio", "pydantic"}


def test_a_call_finds_only_modules_of_the_library_left_to_import_and_only_the_first_time() -> None:
    again = "asyncio.run(main())"
    _before, opened, after, _opened, later = told_by(SESSION, LOADED, again, LOADED, again, LOADED)
    assert not packages_of(after - opened) & {"aiohttp", "aiobotocore", "botocore", "anyio", "pydantic"}
    assert not packages_of(later - after) & {"dynamap_async"}


def test_what_the_pytest_plugin_needs_for_each_run_does_not_load_the_http_client() -> None:
    modules, later = told_by(
        "import dynamap_async.testing.prepared",
        LOADED,
        "from dynamap_async.testing.faults import FaultyServer",
        LOADED,
    )
    assert not packages_of(modules) & {"aiohttp", "aiobotocore", "moto"}
    assert "aiohttp" in packages_of(later)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_session_that_is_told_place_and_credentials_loads_neither_aiobotocore_nor_aiohttp(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scheme: str
) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    given = f'endpoint_url="{scheme}://127.0.0.1:9", credentials=Credentials(access_key_id="a", secret_access_key="b")'
    before, opened, after = told_by(REFUSED, LOADED, f"asyncio.run(main({given}))", LOADED)
    assert not packages_of(after) & {"aiobotocore", "botocore", "aiohttp", "multidict", "yarl"}
    late = {name for name in opened - before if name.startswith("dynamap_async")}
    in_a_thread = {f"dynamap_async.transport.{name}" for name in ("environment", "hosts", "tls")}
    assert late == (in_a_thread if scheme == "https" else set())
    assert not packages_of(after - opened) & {"dynamap_async"}


def test_a_session_that_finds_its_keys_in_the_environment_loads_nothing_of_botocore(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in os.environ:
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    opens = REFUSED.replace('region="eu-west-1", ', "")
    nothing_is_sent = "Session.find = lambda *_: asyncio.sleep(0)"
    _before, opened, after = told_by(opens, nothing_is_sent, LOADED, "asyncio.run(main())", LOADED)
    assert not packages_of(after) & {"aiobotocore", "botocore", "aiohttp", "urllib3", "multidict", "yarl"}
    assert not packages_of(after - opened) & {"dynamap_async"}


@pytest.mark.parametrize("settings", ["", 'endpoint_url="http://127.0.0.1:9"'], ids=["AWS", "engine"])
def test_what_finds_credentials_is_loaded_in_a_thread_when_the_session_opens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: str
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    profile = tmp_path / "config"
    profile.write_text("[default]\naws_access_key_id = a\naws_secret_access_key = b\n", "utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(profile))
    calls = "asyncio.run(main(SETTINGS))".replace("SETTINGS", settings)
    asks = "Session.find = lambda *_: asyncio.sleep(0)" if not settings else ""  # nothing is sent to AWS
    before, thread, opened, after = told_by(REFUSED, asks, LOADED, calls, LOADED)
    assert not packages_of(before) & {"aiobotocore", "botocore"}
    assert "thread" in thread
    assert "MainThread" not in thread
    assert "aiobotocore" in packages_of(opened)
    assert not packages_of(after - opened) & {"dynamap_async", "aiobotocore", "botocore", "aiohttp"}


def test_a_first_session_loads_few_modules_and_no_rooms_that_it_does_not_enter() -> None:
    before, *_, after = told_by(LOADED, REFUSED, GIVEN, LOADED)
    loaded = {name for name in packages_of(after - before) - sys.stdlib_module_names if not name.startswith("_")}
    assert loaded <= {"dynamap_async", *NEEDED}
    own = {name for name in after if name.partition(".")[0] == "dynamap_async"}
    assert not packages_of(after) & UNNEEDED
    assert not {name.split(".")[1] for name in own if "." in name} & UNNEEDED_ROOMS
    assert not own & {f"dynamap_async.session.{name}" for name in ("bulk", "loader", "sequential_reads")}
    assert len(own) <= 1.1 * OWN_MODULES


def test_a_first_session_adds_few_objects_for_the_garbage_collector_to_walk() -> None:
    counts = told_by("import asyncio, fastapi", TRACKED, REFUSED, GIVEN, TRACKED)
    before, after = (int(*counts[each]) for each in (0, -1))
    assert after - before <= TRACKED_OBJECTS * 1.1


def test_aiobotocores_classes_are_loaded_by_who_names_them() -> None:
    before, after = told_by("import dynamap_async.transport", LOADED, "dynamap_async.transport.AioConfig", LOADED)
    assert "aiobotocore" not in packages_of(before)
    assert "aiobotocore" in packages_of(after)


def test_every_public_name_is_found_where_type_checkers_find_it() -> None:
    homes = imported_for_checkers()
    assert {name for names in homes.values() for name in names} == set(dynamap_async.__all__)
    for home, names in homes.items():
        __import__(home)
        for name in names:
            assert getattr(dynamap_async, name) is getattr(sys.modules[home], name), name


@pytest.mark.parametrize("folder", LAZY_ROOMS, ids=lambda folder: folder.name)
def test_names_of_a_room_come_from_where_type_checkers_find_them(folder: Path) -> None:
    package = ".".join(("dynamap_async", *folder.relative_to(Path(dynamap_async.__file__).parent).parts))
    room = import_module(package)
    [checked, *_] = [
        node for node in ast.parse((folder / "__init__.py").read_text("utf-8")).body if isinstance(node, ast.If)
    ]
    for node in checked.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert getattr(room, alias.name) is getattr(import_module(str(node.module)), alias.name), alias.name
    assert all(hasattr(room, name) for name in room.__all__)
    modules = {module.name for module in pkgutil.iter_modules([str(folder)])}
    later = {alias.name for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not modules & later, "importing the module would put it in the place of the name"


def test_a_room_does_not_know_a_name_that_is_misspelt() -> None:
    with pytest.raises(AttributeError, match=r"module 'dynamap_async\.operations' has no attribute 'Qery'"):
        _ = dynamap_async.operations.Qery


def test_a_star_import_brings_all_names() -> None:
    found: dict[str, object] = {}
    exec("from dynamap_async import *", found)
    assert set(dynamap_async.__all__) <= found.keys()


def test_a_name_that_is_misspelt_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Sesion'"):
        _ = dynamap_async.Sesion  # type: ignore[attr-defined]  # misspelt on purpose
