"""``dynamap local``: an engine to develop against, with the tables of the user's models, until it is stopped."""

import importlib
import inspect
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeAlias

import typer

from dynamap_async.cli.configuration import EngineKind
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.loop import run
from dynamap_async.cli.output import number_of, show
from dynamap_async.cli.place import Place
from dynamap_async.cli.shared_options import goes_to_tables
from dynamap_async.errors import ConfigurationError

if TYPE_CHECKING:
    from dynamap_async.cli.catalog import Catalog
    from dynamap_async.models import Model
    from dynamap_async.session import Session
    from dynamap_async.testing import Engine

_POLL_SECONDS: Final = 1.0
_PORT: Final = 8000
"""Where engines of other makers listen, too, if nothing else is said."""
_SETTINGS: Final = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
"""Variables for programs that use the engine, besides its address. It takes any values."""


_Fill: TypeAlias = Callable[["Session"], Awaitable[str]]
"""Writes items, and says which in a few words."""


@goes_to_tables(
    without=("region", "profile", "endpoint_url", "quiet"), interrupted="Interrupted: the engine is stopped."
)
def local(
    place: Place,
    *,
    port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="The port to listen on; 0 for a free one. Default: that of the environment's endpoint_url if it is on "
            "this machine, else 8000.",
        ),
    ] = None,
    seed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEED",
            help="Items to store: a file in JSON or JSON lines, or module:function. Repeatable.",
        ),
    ] = None,
    engine: Annotated[
        EngineKind | None,
        typer.Option(
            metavar="ENGINE",
            help="memory, moto or native. Default: that of the configuration, else memory.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file that keeps tables and items: loaded at the start if it is there, written at the end.",
        ),
    ] = None,
) -> None:
    """Run a DynamoDB on this machine, with your tables, until Ctrl-C.

    It makes the tables of your models. It needs no AWS account. Without --data, what was stored is gone when it ends.

    $ dynamap local --models shop.models --seed seeds.jsonl
    """
    from dynamap_async.cli.catalog import load_catalog

    catalog = load_catalog(place.models, place.folder) if place.models else None
    seeds = [_seed(each, catalog, place.folder) for each in seed or ()]
    # The port of the environment, so that a program that uses the environment finds the engine.
    chosen = next(each for each in (port, place.port_here, _PORT) if each is not None)
    kind = engine if engine is not None or place.engine is None else EngineKind(place.engine)
    # The signals first: one that arrives while the engine starts would leave its process behind.
    with _ended_by_signals(), _engine(kind, chosen, data) as running:
        tables, items = run(_prepare(running, place, catalog, seeds))
        try:
            show("\n".join(_told(running, tables, items, place, data)))
            _wait()
        except KeyboardInterrupt:
            show("Stopped.")


def _engine(kind: EngineKind | None, port: int, data: Path | None) -> "Engine":
    from dynamap_async.testing import LocalEngine, MotoEngine, NativeEngine

    others: dict[EngineKind | None, type[Engine]] = {EngineKind.MOTO: MotoEngine, EngineKind.NATIVE: NativeEngine}
    if kind not in others:
        return LocalEngine(port=port, data=data)
    if data is not None:
        raise CommandError(
            f"--data: the engine {kind} keeps nothing; leave out --data, or say --engine memory", Status.USAGE
        )
    return others[kind](port=port)


@contextmanager
def _ended_by_signals() -> Generator[None]:
    """End the command on SIGTERM, which supervisors send, and on SIGHUP, of a closed terminal, as on Ctrl-C."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows lacks one
    before = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait() -> NoReturn:
    never = threading.Event()
    while True:
        never.wait(_POLL_SECONDS)  # on Windows, only between two of them a signal is noticed


async def _prepare(
    engine: "Engine", place: Place, catalog: "Catalog | None", seeds: Sequence[_Fill]
) -> tuple[Sequence[str], Sequence[str]]:
    """Create the tables and fill them; return their names, and what was stored."""
    from dynamap_async.cli.catalog import periods_of, schema_of
    from dynamap_async.testing import LocalEngine
    from dynamap_async.testing.local import names_in_the_engine

    # A table of a period is made when the period is known.
    declared = [] if catalog is None else [each for each in catalog.all if periods_of(each) is None]
    names = dict(place.table_names)
    if isinstance(engine, LocalEngine):
        names |= names_in_the_engine(declared, names)
    async with engine.session(table_prefix=place.prefix, table_names=names) as session:
        await session.tables.create(*declared, if_missing=True)
        stored = [await fill(session) for fill in seeds]
    return list(dict.fromkeys(place.names.full(schema_of(each).name) for each in declared)), stored


def _seed(source: str, catalog: "Catalog | None", folder: Path) -> _Fill:
    if source.endswith((".json", ".jsonl")):
        return _seed_of_file(source, catalog)
    module, _, name = source.partition(":")
    if not name:
        raise CommandError(f"--seed {source}: name a file in .json or .jsonl, or module:function", Status.USAGE)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise CommandError(f"--seed {source}: {error}", Status.USAGE) from error
    return _seed_of_function(source, function)


def _seed_of_file(source: str, catalog: "Catalog | None") -> _Fill:
    from dynamap_async.testing import read_items

    models: list[type[Model]] = [each for each in catalog.all if isinstance(each, type)] if catalog else []
    try:
        items = read_items(Path(source), *models)
    except (OSError, ValueError, ConfigurationError) as error:
        raise CommandError(f"--seed {source}: {error}", Status.USAGE) from error
    return _seed_of_items(source, lambda: items)


def _seed_of_function(source: str, function: Callable[..., Any]) -> _Fill:
    if not inspect.iscoroutinefunction(function):
        return _seed_of_items(source, function)

    async def fill(session: "Session") -> str:
        await function(session)
        return source

    return fill


def _seed_of_items(source: str, items: Callable[[], Any]) -> _Fill:
    async def fill(session: "Session") -> str:
        from dynamap_async.testing import seed

        return f"{source} ({number_of(len(await seed(session, items)), 'item')})"

    return fill


def _told(
    engine: "Engine", tables: Sequence[str], stored: Sequence[str], place: Place, data: Path | None
) -> Iterator[str]:
    """Yield the lines that say what runs, and how a program connects to it."""
    from dynamap_async.testing import NativeEngine

    yield f"{type(engine).__name__} listens on {engine.endpoint_url}"
    if isinstance(engine, NativeEngine):
        yield "  begins_with on sort keys that are text takes capitals for small letters, which DynamoDB does not"
    yield f"  tables  {', '.join(tables) or 'none: name the module of your models with --models'}"
    if stored:
        yield f"  seeded  {', '.join(stored)}"
    yield ""
    yield "In the terminal of your application:"
    yield ""
    for name, value in {"AWS_ENDPOINT_URL_DYNAMODB": engine.endpoint_url, **_SETTINGS}.items():
        yield f'  $env:{name} = "{value}"' if os.name == "nt" else f"  export {name}={value}"
    yield ""
    if place.prefix:
        yield f'Its session needs the prefix of the tables: Session(table_prefix="{place.prefix}", ...)'
        yield ""
    if place.table_names:
        yield f"Its session needs the names of the tables: Session(table_names={dict(place.table_names)}, ...)"
        yield ""
    yield f"Ctrl-C stops it, and what was stored is {'gone' if data is None else f'kept in {data}'}."
