"""``Prepared``: everything that a test's session is made of, and the tables around it. Knows no pytest."""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import Any, Final
from uuid import uuid4

from dynamap_async.errors import DynamapError, ResourceNotFoundError
from dynamap_async.events import Event, RequestAnswered
from dynamap_async.models import Model
from dynamap_async.operations import Context, SingleRequest
from dynamap_async.request import Request
from dynamap_async.session import Session
from dynamap_async.tables.requests import table_request
from dynamap_async.testing.clock import FrozenClock
from dynamap_async.testing.engine import Engine, local_settings
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.local import LocalEngine
from dynamap_async.testing.request_log import RequestLog
from dynamap_async.testing.seeding import Seed, seed
from dynamap_async.transport import Connection, Transport, WireTransport
from dynamap_async.wire import Body

_CONNECTION = frozenset(field.name for field in fields(Connection))


class Place:
    """Where the tests of one process send to, unless their settings say otherwise.

    Args:
        endpoint_url: the engine's URL.
        engine: the engine itself, where it was started here.
    """

    def __init__(self, endpoint_url: str, engine: Engine | None = None) -> None:
        self.connection: Final = local_settings(endpoint_url)
        self._engine: Final = engine
        self._transport: Final = WireTransport(Connection(**self.connection))

    def transport(self, **connection: Any) -> Transport:
        """Return a transport, not yet open; one that leads here does not look up anew where that is."""
        return WireTransport(Connection(**self.connection | connection)) if connection else self._transport.another()

    def embedded(self, endpoint_url: str) -> LocalEngine | None:
        """Return the engine at a URL if it runs inside this process."""
        engine = self._engine
        return engine if isinstance(engine, LocalEngine) and engine.endpoint_url == endpoint_url else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a test asked for, before anything is opened."""

    place: Place
    settings: Mapping[str, Any]
    """Arguments of ``Session`` that win over the engine's own."""
    models: Sequence[type[Model]]
    seeds: Sequence[Seed]
    faults: Faults
    requests: RequestLog
    clock: FrozenClock

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Session]:
        """Create the tables, write the seeds, and open the test's session; in the end close it and drop the tables.

        A second session does what is not the test's own, so that faults, statistics and the log are of the test only.
        Both send through one transport, which is opened once. It may be entered in one task and left in another.
        """
        connection = {name: value for name, value in self.settings.items() if name in _CONNECTION}
        transport = self.place.transport(**connection)
        settings = self._settings()
        observers = _several(settings.pop("observer", ()))
        tables = _Tables()
        async with Session(**settings, transport=transport, observer=tables) as keeper:
            try:
                if self.models:
                    await keeper.tables.create(*self.models)
                await seed(keeper, *self.seeds)
                faulty = self.faults.wrap(_Lent(transport))
                observed = [tables, self.requests, *observers]
                async with Session(**settings, transport=faulty, observer=observed) as session:
                    yield session
            finally:
                engine = self.place.embedded((self.place.connection | connection)["endpoint_url"])
                if engine is None:
                    await _drop(keeper, tables.names)
                else:
                    engine.forget(tables.names)

    def _settings(self) -> dict[str, Any]:
        own = {"table_prefix": f"t{uuid4().hex[:12]}-", "clock": self.clock}
        return own | {name: value for name, value in self.settings.items() if name not in _CONNECTION}


class _Lent:
    """A transport that somebody else opens and closes."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.send = transport.send

    @property
    def max_connections(self) -> int:
        return self._transport.max_connections

    async def open(self) -> None:
        """Do nothing: it is open."""

    async def close(self) -> None:
        """Do nothing: it stays open."""


class _Tables:
    """An observer that knows which tables its sessions made and did not delete, the library's own one included."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __call__(self, event: Event, /) -> None:
        if isinstance(event, RequestAnswered) and event.operation == "CreateTable":
            # Also after a lost answer: the table may be there.
            self.names.update(event.tables if event.service_code is None else ())
        elif isinstance(event, RequestAnswered) and event.operation == "DeleteTable" and event.error is None:
            self.names.difference_update(event.tables)


@dataclass(frozen=True, slots=True)
class _DropTable(SingleRequest[None]):
    name: str

    def request(self, context: Context) -> Request:
        return table_request("DeleteTable", self.name, writes=True)

    def result(self, response: Body, context: Context) -> None:
        return None


async def _drop(keeper: Session, names: Iterable[str]) -> None:
    """Drop tables at the same time, each whatever becomes of the others."""
    outcomes = await keeper.gather(*(_dropped(keeper, name) for name in names))
    failures = [error for error in outcomes if error is not None]
    if failures:
        raise ExceptionGroup("some of the test's tables could not be dropped", failures)


async def _dropped(keeper: Session, name: str) -> DynamapError | None:
    try:
        await keeper.execute(_DropTable(name))
    except ResourceNotFoundError:
        return None
    except DynamapError as error:
        return error
    return None


def _several(observers: Any) -> Sequence[Any]:
    return (observers,) if callable(observers) else tuple(observers)
