"""``Prepared``: everything that a test's session is made of, and the tables around it. Knows no pytest."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, fields
from typing import Any
from uuid import uuid4

from dynamap_async.errors import ResourceNotFoundError
from dynamap_async.events import Event, RequestAnswered
from dynamap_async.models import Model
from dynamap_async.operations import Context, SingleRequest
from dynamap_async.request import Request
from dynamap_async.session import Session
from dynamap_async.tables.requests import table_request
from dynamap_async.testing.clock import FrozenClock
from dynamap_async.testing.engine import local_settings
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.request_log import RequestLog
from dynamap_async.testing.seeding import Seed, seed
from dynamap_async.transport import Connection, Transport, WireTransport
from dynamap_async.wire import Body

_CONNECTION = frozenset(field.name for field in fields(Connection))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a test asked for, before anything is opened."""

    endpoint_url: str
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
        transport, settings = _divided(self._settings())
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
                for name in sorted(tables.names):
                    with suppress(ResourceNotFoundError):
                        await keeper.execute(_DropTable(name))

    def _settings(self) -> dict[str, Any]:
        own = {"table_prefix": f"t{uuid4().hex[:12]}-", "clock": self.clock}
        return local_settings(self.endpoint_url) | own | dict(self.settings)


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

    def result(self, response: Body) -> None:
        return None


def _divided(settings: Mapping[str, Any]) -> tuple[Transport, dict[str, Any]]:
    """Return the transport that a session with these settings would make, and those that are left."""
    given = {name: value for name, value in settings.items() if name in _CONNECTION}
    others = {name: value for name, value in settings.items() if name not in _CONNECTION}
    return WireTransport(Connection(**given)), others


def _several(observers: Any) -> Sequence[Any]:
    return (observers,) if callable(observers) else tuple(observers)
