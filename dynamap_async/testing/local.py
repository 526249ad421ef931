"""The engine in this process: a simulated DynamoDB that needs no other program, no further package and no socket."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast
from zlib import crc32

from dynamap_async.errors import ConfigurationError
from dynamap_async.models import Model, Table, definition_of
from dynamap_async.service import CONTENT_TYPE, table_arn
from dynamap_async.session import Session
from dynamap_async.simulated import (
    LONGEST_EXPIRY_SECONDS,
    SEED,
    Capacity,
    Durations,
    Refusal,
    Server,
    SimulatedDynamoDB,
    Snapshot,
    StreamCalls,
    StreamShards,
    Transition,
)
from dynamap_async.tables.declared import check_models
from dynamap_async.testing.buckets import Buckets
from dynamap_async.testing.data_file import DataFile
from dynamap_async.testing.engine import CREDENTIALS, REGION, Engine, of_connection
from dynamap_async.testing.ports import listen
from dynamap_async.testing.virtual_clock import EngineClock, on_virtual_clock
from dynamap_async.transport import Connection, WireTransport
from dynamap_async.transport.channel import Answer, Channel
from dynamap_async.transport.settings import ConnectionSettings
from dynamap_async.wire import WireItem

Rules = TypeVar("Rules", Capacity, Durations, StreamShards)

_NOWHERE = "http://in-this-process.invalid"
"""The URL of sessions that send without a socket."""


class LocalChannel:
    """Gives the bytes of requests to a simulated service of this process, and takes the bytes of its answers.

    Args:
        service: what answers.
    """

    name = "nothing: the engine is in this process"
    errors: tuple[type[BaseException], ...] = ()

    def __init__(self, service: SimulatedDynamoDB) -> None:
        self._service = service

    async def post(self, headers: dict[str, str], body: bytes) -> Answer:
        """Have a request carried out. The answer comes in a later turn of the event loop, as over a network.

        Args:
            headers: those of the request.
            body: its bytes.
        """
        status, answer = self._service.execute(headers["X-Amz-Target"].rpartition(".")[2], body)
        await asyncio.sleep(0)  # a caller that is cancelled here has had its request carried out
        return Answer(status, {"content-type": CONTENT_TYPE, "x-amz-crc32": str(crc32(answer))}, answer)

    async def close(self) -> None:
        """Do nothing."""


class LocalTransport(WireTransport, sends_json=True):
    """Sends to an engine of this process: the same bytes as over a socket, without the socket.

    Args:
        connection: who asks.
        service: the engine's service.
        check_time: raises ConfigurationError if the engine keeps another time than the running event loop.
    """

    def __init__(self, connection: Connection, service: SimulatedDynamoDB, check_time: Callable[[], None]) -> None:
        super().__init__(connection)
        self._service = service
        self._check_time = check_time

    async def open_channel(self, settings: ConnectionSettings) -> Channel:
        """Return what gives requests to the engine.

        Raises:
            ConfigurationError: the engine keeps another time than the event loop.
        """
        self._check_time()
        return LocalChannel(self._service)


class LocalEngine(Engine):
    """A DynamoDB in this process, for tests and trials. It needs nothing but this library.

    Engines do not see each other's tables. All regions and accounts of AWS share one set of them.

    Requests are validated, carried out and charged by the service's rules, and refused in its words. Unless an
    argument says otherwise, everything is done at once: tables and indexes are there when they were asked for, reads
    see what was written before, nothing is refused for want of capacity, and nothing expires.
    ``docs/how-to/test-engines.md`` lists what differs from AWS.

    Sessions of ``session()`` and of the fixtures for pytest give their requests to the engine without a socket. The
    engine begins to listen on one when ``endpoint_url`` is first asked for.

    Args:
        models: models with a table, or tables, that are created when the engine is entered, under their own names; one
            that is named by an ARN under the name in it.
        port: the port of the loopback address to listen on; 0 takes one that is free.
        clock: the time of day, in epoch seconds, of the engine and of its sessions; None for the machine's. What a
            ``VirtualClockLoop`` waits is added.
        seed: decides what is drawn by chance.
        data: a file that keeps tables and items: it is loaded, if it is there, when the engine is entered, and written
            when the engine is left. It is JSON, with one item in a line. Records of streams, and backups, are not kept.
        streams: cuts the streams of tables into shards that close and split, and whose records are trimmed, and limits
            how often they are read; None for one shard that stays.
        lag: for how many seconds reads that are not consistent, and reads of global indexes, may not see what was
            stored: each sees what was there at a moment of its own, which is drawn. None lets them see it at once.
        expire: whether items are deleted some time after their time to live has passed: within two days, or within so
            many seconds. The time is drawn for each item; it is deleted when somebody asks the engine after it.
        buckets: folders that stand for buckets of S3, for exports, imports and bulk puts.
        capacity: what tables and indexes have: what is beyond is refused; None to refuse nothing for want of units.
        durations: lets tables, indexes, time to live and backups take their time, and refuses what DynamoDB refuses
            meanwhile; None for changes that are done at once. The tables of ``models`` are there at once in any case.
            With a ``clock``, sessions need a ``VirtualClockLoop``.

    Raises:
        ConfigurationError: the port, the clock, the seed, the path, the lag or the time of expiry is none, or a value
            of ``streams``, ``capacity`` or ``durations`` cannot be.

    Example:
        >>> with LocalEngine() as engine:
        ...     print(engine.endpoint_url.startswith("http://127.0.0.1:"))
        True
    """

    def __init__(
        self,
        *,
        models: Iterable[type[Model] | Table] = (),
        port: int = 0,
        clock: Callable[[], float] | None = None,
        seed: int = SEED,
        data: str | os.PathLike[str] | None = None,
        streams: StreamShards | None = None,
        lag: float | None = None,
        expire: bool | float = False,
        buckets: Mapping[str, str | os.PathLike[str]] | None = None,
        capacity: Capacity | None = None,
        durations: Durations | None = None,
    ) -> None:
        """Describe the engine; it is started when it is entered.

        Args:
            models: models whose tables are there when the block begins.
            port: the port to listen on, from 1 to 65535, or 0.
            clock: returns epoch seconds, such as a ``FrozenClock``.
            seed: any whole number.
            data: the path of a file, in a folder that is there.
            streams: how streams are cut into shards.
            lag: seconds, 0 or more.
            expire: True or False, or seconds.
            buckets: name of a bucket -> folder.
            capacity: what tables and indexes have, such as ``Capacity()``.
            durations: how long each change takes.
        """
        super().__init__(models=models, port=port)
        if clock is not None and not callable(clock):
            raise ConfigurationError(f"clock={clock!r} is not a function that returns epoch seconds; leave it out")
        if type(seed) is not int:
            raise ConfigurationError(f"seed={seed!r} is not a whole number; leave it out, or write seed=1")
        self._streams: Final = None if streams is None else _checked("streams", streams, StreamShards)
        self._capacity: Final = None if capacity is None else _checked("capacity", capacity, Capacity)
        self._durations: Final = None if durations is None else _checked("durations", durations, Durations)
        self._takes_time = False
        self._clock_is_given = clock is not None
        self._clock: Final = EngineClock(clock)
        self._seed: Final = seed
        self._data: Final = None if data is None else DataFile(data)
        self._lag: Final = None if lag is None else _seconds("lag", lag, "lag=0.2")
        self._expire: Final = _expiry(expire)
        self._buckets: Final = None if buckets is None else Buckets(buckets)
        self._service: SimulatedDynamoDB | None = None
        self._server: Server | None = None

    async def __aenter__(self) -> Self:
        """Start the engine, and create the tables of its models.

        Raises:
            ConfigurationError: as for ``with``.
        """
        if self._data is not None or self._wanted_port:
            return await super().__aenter__()
        self._begin()  # takes no time: neither a thread nor a loop of its own is needed
        try:
            if self._models:
                await self._create_tables()
            self._slow_down()
        except BaseException:
            self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._data is None and self._server is None:
            self._end()
        else:
            await super().__aexit__(kind, error, traceback)

    @property
    def clock(self) -> Callable[[], float]:
        """The time of day of the engine and its sessions: returns epoch seconds, as ``Session(clock=...)`` asks for."""
        return self._clock

    @property
    def log(self) -> tuple[Transition, ...]:
        """All changes of a state up to the last request, in the order in which they happened.

        Empty without ``durations=``.

        Raises:
            ConfigurationError: the engine is not running.
        """
        service = self._running_service
        with service.turn:  # others may change tables
            return tuple(service.states.log)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What was refused for want of capacity: the last 10,000 times, oldest first. Empty without ``capacity=``.

        Raises:
            ConfigurationError: the engine is not running.
        """
        service = self._running_service
        with service.turn:  # others may be refused
            return () if service.throttle is None else tuple(service.throttle.refusals)

    @property
    def stream_calls(self) -> tuple[StreamCalls, ...]:
        """How often each operation of streams was asked for, and of each shard. Empty without ``streams=``.

        Raises:
            ConfigurationError: the engine is not running.
        """
        service = self._running_service
        with service.turn:  # others may be reading
            return () if service.streams.sharding is None else service.streams.sharding.calls

    def __enter__(self) -> Self:
        super().__enter__()
        self._slow_down()
        return self

    def _slow_down(self) -> None:
        """Let what is begun from now on take its time: the tables of the models are there, and nothing was asked."""
        self._running_service.began = None
        if self._durations is not None:
            self._take_time(self._durations, clock=None, seed=self._seed)

    def _take_time(self, durations: Durations, *, clock: Callable[[], float] | None, seed: int) -> None:
        self._running_service.take_time(_checked("durations", durations, Durations).draw, seed)
        self._takes_time = True
        if clock is not None:
            self._clock_is_given = True
            self._clock.follow(clock)

    def _check_time(self, *, sockets: bool) -> None:
        """Raise if the tables take their time, and keep another one than whoever asks.

        Args:
            sockets: whether requests come over sockets, which keep real time, whatever a clock says.
        """
        if not self._takes_time and not (sockets and self._durations is not None):
            return
        is_virtual = on_virtual_clock()
        if sockets and (is_virtual or self._clock_is_given):
            raise ConfigurationError(
                "sockets run in real time, so a LocalEngine with durations= on a VirtualClockLoop, or with a clock of "
                "its own, is asked without one: by engine.session()"
            )
        if self._clock_is_given and not is_virtual:
            raise ConfigurationError(
                "LocalEngine(durations=..., clock=...) needs an event loop that follows the clock; run the test on a "
                "VirtualClockLoop, as in asyncio.Runner(loop_factory=VirtualClockLoop)"
            )

    @property
    def _running_service(self) -> SimulatedDynamoDB:
        if self._service is None:
            raise self._not_running()
        return self._service

    def transport(self, *, over: str = "process", **connection: Any) -> WireTransport:
        """Return a transport to this engine, not yet open, for ``Session(transport=...)``.

        Args:
            over: ``process`` for no socket, ``http`` for one.
            connection: arguments of ``Connection``; they win over the engine's own.

        Raises:
            ConfigurationError: the engine is not running, or ``over`` is neither.
        """
        if over not in {"process", "http"}:
            raise ConfigurationError(f"over={over!r} is not a way to the engine; choose 'process' or 'http'")
        service = self._running_service
        if over == "http" or "endpoint_url" in connection:
            return super().transport(**connection)
        own: dict[str, Any] = {"region": REGION, "endpoint_url": _NOWHERE, "credentials": CREDENTIALS}
        return LocalTransport(Connection(**own | connection), service, partial(self._check_time, sockets=False))

    def session(self, *, over: str = "process", **settings: Any) -> Session:
        """Return a new session aimed at this engine, with a region and credentials that need no AWS account.

        Args:
            over: ``process`` for no socket, ``http`` for one.
            settings: further arguments of ``Session``, such as ``table_prefix``; they win over the engine's own.
        """
        connection, others = of_connection(settings)
        arguments: dict[str, Any] = {
            "transport": self.transport(over=over, **connection),
            "clock": self._clock,
            **others,
        }
        return Session(**arguments)

    def reset(self) -> None:
        """Forget all tables of this engine, with their streams, backups and jobs. Sessions stay usable."""
        self._running_service.forget_tables()

    def snapshot(self) -> Snapshot:
        """Return what ``restore`` goes back to: all tables and items as they are now. It takes microseconds.

        What is written after it is remembered for as long as somebody holds the snapshot.

        Raises:
            ConfigurationError: the engine is not running.
        """
        return self._running_service.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Make all tables and items what they were. It takes as long as there are writes to undo.

        Args:
            snapshot: of this engine; it can be restored again, those that were made after it cannot.

        Raises:
            ConfigurationError: the engine is not running, or the snapshot is not of this engine.
        """
        try:
            self._running_service.restore(snapshot)
        except ValueError as error:
            raise ConfigurationError(str(error)) from None

    def tables(self) -> set[str]:
        """Return the full names of all tables.

        Raises:
            ConfigurationError: the engine is not running.
        """
        return set(self._running_service.store.tables)

    def items(self, table: str) -> list[WireItem]:
        """Return the items of a table in wire form, in the order of a scan.

        Args:
            table: its full name, or its ARN.

        Raises:
            ConfigurationError: the engine is not running, or there is no such table.
        """
        return cast("list[WireItem]", self._running_service.items(self._known(table)))

    def load(self, table: str, items: Iterable[WireItem]) -> None:
        """Store items, as many as there are, without requests; no stream tells of them.

        Args:
            table: its full name, or its ARN.
            items: in wire form.

        Raises:
            ConfigurationError: the engine is not running, there is no such table, or an item is none for it.
        """
        given = cast("list[dict[str, dict[str, Any]]]", list(items))
        for item in given:
            if type(item) is not dict:
                raise ConfigurationError(
                    f"load() takes items in DynamoDB's JSON, not {type(item).__name__}; give instances to "
                    "session.put_many, or to seed"
                )
        try:
            self._running_service.load(self._known(table), given)
        except ValueError as error:
            raise ConfigurationError(f"an item cannot be loaded into {table!r}: {error}") from None

    def size(self) -> int:
        """Return how many bytes all items have, as DynamoDB counts them.

        Raises:
            ConfigurationError: the engine is not running.
        """
        return self._running_service.size()

    def forget(self, tables: Collection[str]) -> None:
        """Delete these tables without a request; those that the engine does not have are ignored.

        Args:
            tables: full table names, or ARNs.

        Raises:
            ConfigurationError: the engine is not running.
        """
        self._running_service.forget([_own_name(each) for each in tables])

    def _known(self, table: str) -> str:
        name = _own_name(table)
        if name not in self.tables():
            names = ", ".join(sorted(self.tables())) or "none"
            raise ConfigurationError(f"the engine has no table {table!r}; it has: {names}")
        return name

    def _start(self) -> None:
        self._takes_time = False
        service = SimulatedDynamoDB(
            self._clock,
            REGION,
            seed=self._seed,
            shards=self._streams,
            lag=self._lag,
            expire=self._expire,
            buckets=self._buckets,
            capacity=self._capacity,
        )
        if self._data is not None:
            self._data.load(service.read)
        self._service = service
        if self._wanted_port:
            self._listening_port()  # says who is to blame where it is taken

    async def _create_tables(self) -> None:
        async with self.session(table_names=names_in_the_engine(self._models)) as session:
            await session.tables.create(*self._models, if_missing=self._data is not None)  # the file may have them

    def _listening_port(self) -> int:
        self._check_time(sockets=True)
        if self._server is None:
            self._server = Server(self._running_service, listen(self._wanted_port))
        return self._server.port

    def _place(self) -> str:
        return "in this process" if self._server is None else super()._place()

    def _stop(self) -> None:
        server = self._server
        self._server = self._service = None
        if server is not None:
            server.close()

    def _leave(self) -> None:
        service = self._service
        super()._leave()
        if self._data is not None and service is not None:  # nobody can write any more
            self._data.save(service.written())


def names_in_the_engine(models: Sequence[type[Model] | Table], table_names: object = None) -> dict[str, str]:
    """Return under which names an engine of this process makes tables that are named by an ARN: those in the ARNs.

    It has one set of tables for all accounts, where DynamoDB makes a table in the caller's own only.

    Args:
        models: models with a table, or tables.
        table_names: declared name -> the name, or the ARN, that a session knows a table by; whatever else is given is
            refused by the session.

    Returns:
        Declared name -> the name in the engine, of those tables only.

    Raises:
        OperationError: one is no model.
        ConfigurationError: two of them would be one.
    """
    check_models(tuple(models))
    given: Mapping[str, str] = cast("Mapping[str, str]", table_names) if isinstance(table_names, Mapping) else {}
    names = dict[str, str]()
    for model in models:
        schema = model.schema if isinstance(model, Table) else definition_of(model).table
        if schema is None or (arn := table_arn(given.get(schema.name, schema.name))) is None:
            continue
        if schema.name not in names and arn.name in names.values():
            raise ConfigurationError(
                f"the engine in the process has one set of tables for all accounts and regions, and two tables named "
                f"{arn.name!r} would be one; give the test one of them"
            )
        names[schema.name] = arn.name
    return names


def _own_name(table: str) -> str:
    arn = table_arn(table)
    return table if arn is None else arn.name


def _checked(name: str, given: object, kind: type[Rules]) -> Rules:
    """Return the rules that a keyword gives.

    Raises:
        ConfigurationError: they are none of this kind, or one of their values cannot be.
    """
    if not isinstance(given, kind):
        raise ConfigurationError(f"{name}={given!r} is no {kind.__name__}; write {name}={kind.__name__}()")
    if (fault := given.fault()) is not None:
        raise ConfigurationError(f"{name}={kind.__name__}(...): {fault}; leave it out for what DynamoDB does")
    return given


def _seconds(name: str, value: object, example: str) -> float:
    """Return a number of seconds that a keyword gives.

    Raises:
        ConfigurationError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise ConfigurationError(f"{name}={value!r} is not a number of seconds, 0 or more; write {example}")
    return float(value)


def _expiry(value: object) -> float | None:
    """Return within how many seconds expired items are deleted; None if they are not."""
    if isinstance(value, bool):
        return LONGEST_EXPIRY_SECONDS if value else None
    return _seconds("expire", value, "expire=True for two days, or expire=60")
