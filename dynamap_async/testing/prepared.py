"""``Prepared``: everything that a test's session is made of, and the tables around it. Knows no pytest."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from uuid import uuid4

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError, DynamapError, ResourceNotFoundError
from dynamap_async.models import Model
from dynamap_async.operations import SingleRequest
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.session import Session
from dynamap_async.simulated import Snapshot
from dynamap_async.tables.requests import table_request
from dynamap_async.testing.clock import FrozenClock
from dynamap_async.testing.engine import Engine, local_settings, of_connection
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.kept import Kept, KeptTables, Keys, WatchedTransport, emptied
from dynamap_async.testing.local import LocalEngine, names_in_the_engine
from dynamap_async.testing.moto_engine import MotoEngine
from dynamap_async.testing.request_log import RequestLog
from dynamap_async.testing.seeding import Seed, seed
from dynamap_async.transport import Connection, Transport, WireTransport
from dynamap_async.wire import Body


class EngineEndpoint:
    """The engine of one test process, which its tests use unless their settings say otherwise.

    Args:
        place: the engine, if it was started here; else the URL of one that runs already.
    """

    def __init__(self, place: Engine | str) -> None:
        self._place: Final = place
        self._transport: Final = self._made()
        self.tables: Final = KeptTables()
        """Tables of the engine as they were made."""
        self._open: Final[list[Snapshot]] = []

    def take(self, models: Iterable[Any]) -> Kept | None:
        """Return the tables of exactly these models, which are then no longer kept; None if there are none."""
        kept = self.tables.take(models)
        is_there = kept is None or not isinstance(self._place, LocalEngine) or kept.keys.keys() <= self._place.tables()
        return kept if is_there else None

    def opened(self, engine: Engine | None) -> Snapshot | None:
        """Return what an engine holds when a test begins; None if it is not in this process."""
        if not isinstance(engine, LocalEngine):
            return None
        self._open.append(engine.snapshot())
        return self._open[-1]

    def went_back(self, before: Snapshot) -> bool:
        """Make the engine in this process what it was when a test began.

        Returns:
            Whether that could be done: not while a test is open that began later, which would lose what it did; nor
            if the test itself has made the engine what it was before.
        """
        assert isinstance(self._place, LocalEngine)  # noqa: S101 - it has been opened
        is_last = self._open[-1] is before
        self._open.remove(before)
        try:
            if is_last:
                self._place.restore(before)
        except ConfigurationError:
            return False
        return is_last

    def transport(self, **connection: Any) -> Transport:
        """Return a transport, not yet open; one that leads here does not look up anew where that is."""
        return self._made(**connection) if connection else self._transport.another()

    def _made(self, **connection: Any) -> WireTransport:
        if isinstance(self._place, Engine):
            return self._place.transport(**connection)
        return WireTransport(Connection(**local_settings(self._place) | connection))

    def started(self, endpoint_url: str | None) -> Engine | None:
        """Return the engine if it was started here, and so ends with this process; else None.

        Args:
            endpoint_url: where a test's settings lead; None if they say nothing of it.
        """
        engine = self._place
        if isinstance(engine, str) or (endpoint_url is not None and endpoint_url != engine.endpoint_url):
            return None
        return engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The tables, seeds and settings that a test asked for, before anything is opened."""

    place: EngineEndpoint
    settings: Mapping[str, Any]
    """Arguments of ``Session`` that win over the engine's own."""
    models: Sequence[type[Model]]
    seeds: Sequence[Seed]
    faults: Faults
    requests: RequestLog
    clock: FrozenClock
    missing: Callable[[str], str] | None = None
    """Says what to do about a table that the test asks for and has not named, by the name that its model declares."""
    passed: Callable[[], bool] = lambda: True
    """Tells, when the test is over, whether it passed; of one that did not, nobody knows what it has left behind."""

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Session]:
        """Provide the tables, write the seeds, and open the test's session; at the end close it and undo what was done.

        An engine of this process goes back to what it held when the tables were there. Tables of another one that was
        started here are emptied, unless the test failed or changed one. Both are kept for the next test with the same
        models, if none is named by its ARN, and the settings do not name them by ``table_prefix`` or ``table_names``,
        or lead elsewhere; all others are dropped.

        Other sessions do what is not the test's own, so that faults, statistics and the log are of the test only. All
        send through one transport, which is opened once. It may be entered in one task and left in another.
        """
        connection, own = of_connection(self.settings)
        engine = self.place.started(connection.get("endpoint_url"))
        own_names = names_in_the_engine(self.models, own.get("table_names")) if isinstance(engine, LocalEngine) else {}
        keeps = not (engine is None or connection or own_names or {"table_prefix", "table_names"} & own.keys())
        tables = (self.place.take(self.models) if keeps else None) or Kept(f"t{uuid4().hex[:12]}-", {})
        settings: dict[str, Any] = {"table_prefix": tables.prefix, "clock": self.clock, **own}
        observers = _several(settings.pop("observer", ()))
        transport = self.place.transport(**connection)
        keys = dict(tables.keys)
        making, testing = WatchedTransport(transport, keys), WatchedTransport(transport, keys, self._missing_in(tables))
        made, before = tables.keys, None
        well = False
        await transport.open()
        try:
            if not keys:
                await self._create_tables(making, settings, own_names)
                made = dict(keys)
            before = self.place.opened(engine)
            await self._write_seeds(making, settings)
            faulty = self.faults.wrap(testing)
            async with Session(**settings, transport=faulty, observer=[self.requests, *observers]) as session:
                yield session
            well = making.settled and testing.settled and not testing.changed_tables and self.passed()
        finally:
            try:
                dropped: Keys = keys
                as_made = self.place.went_back(before) if before else well and await _empty(engine, transport, keys)
                if keeps and as_made:
                    dropped = self.place.tables.keep(self.models, Kept(tables.prefix, made))
                if isinstance(engine, LocalEngine | MotoEngine):
                    engine.forget(dropped)
                elif dropped:
                    async with Session(**settings, transport=making) as keeper:
                        await _drop(keeper, dropped)
            finally:
                await transport.close()

    def _missing_in(self, tables: Kept) -> Callable[[str], str] | None:
        told = self.missing
        return None if told is None else lambda table: told(table.removeprefix(tables.prefix))

    async def _create_tables(
        self, transport: Transport, settings: Mapping[str, Any], own_names: Mapping[str, str]
    ) -> None:
        if self.models:
            if own_names:
                settings = {**settings, "table_names": {**settings.get("table_names", {}), **own_names}}
            async with Session(**settings, transport=transport) as keeper:
                await keeper.tables.create(*self.models, if_missing=bool(own_names))  # those have no prefix

    async def _write_seeds(self, transport: Transport, settings: Mapping[str, Any]) -> None:
        if self.seeds:
            async with Session(**settings, transport=transport) as keeper:
                await seed(keeper, *self.seeds)


async def _empty(engine: Engine | None, transport: Transport, keys: Keys) -> bool:
    return engine.empty(keys) if isinstance(engine, MotoEngine) else await emptied(transport, keys)


@dataclass(frozen=True, slots=True)
class _DropTable(SingleRequest[None]):
    name: str

    def request(self, context: Context) -> Request:
        return table_request("DeleteTable", self.name, writes=True)

    def result(self, response: Body, context: Context) -> None:
        return None


async def _drop(keeper: Session, names: Iterable[str]) -> None:
    """Drop tables at the same time. One that fails does not keep the others."""
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
