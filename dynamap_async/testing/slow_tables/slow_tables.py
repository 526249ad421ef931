"""``SlowTables``: the control plane as it is, between a session, or any other client, and a real engine."""

import asyncio
from collections.abc import Awaitable, Callable
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import orjson

from dynamap_async.errors import ConfigurationError
from dynamap_async.request import Request
from dynamap_async.session import Session
from dynamap_async.testing.clock import FrozenClock
from dynamap_async.testing.engine import Engine, local_settings
from dynamap_async.testing.faults.fault_answers import json_answer
from dynamap_async.testing.faults.script import Script
from dynamap_async.testing.faults.scripted_calls import FaultyCall, call_of
from dynamap_async.testing.faults.server import FaultyServer
from dynamap_async.testing.probe import HEADERS
from dynamap_async.testing.slow_tables.control_plane import Ask, ControlPlane, Transition
from dynamap_async.testing.slow_tables.durations import Durations
from dynamap_async.testing.slow_tables.refusals import RefusedChange
from dynamap_async.testing.slow_tables.unfit import with_keys, without_unfit
from dynamap_async.testing.virtual_clock import VirtualClockLoop
from dynamap_async.transport import Connection, Transport, WireTransport
from dynamap_async.transport.answers import read_answer
from dynamap_async.transport.channel import Answer
from dynamap_async.transport.failures import transport_error
from dynamap_async.wire import Body

_ENGINE_SECONDS: Final = 30.0
"""The longest that an engine may take for an answer while time stands still."""


class SlowTables:
    """Tables whose changes take time, in front of a local engine that finishes every change at once.

    Requests about tables go through a state machine of the service: CREATING, UPDATING, DELETING, indexes that are
    allocated and then filled, descriptions that are late, quotas, and refusals in the service's codes and words.
    Requests for items pass as they are, but for those of tables and indexes that are not ready; what an index leaves
    out when it is filled is hidden from reads of it.

    Settings that engines lack (billing, streams, protection, class, encryption, tags, recovery, time to live, replicas,
    resource policies, Kinesis streams, Contributor Insights, backups) are kept here. A replica has a status and no
    items. A backup keeps the items of its moment; there is no history of them, so that a table that is restored as it
    was at a moment has the items of now. There is no strong consistency between regions, and expired items are not
    deleted. Any other request passes to the engine.

    On a ``VirtualClockLoop`` waiting takes no time: an index that is built for an hour is there in milliseconds. On any
    other loop it takes the time that it says.

    Args:
        engine: the running engine; None where only ``wrap`` is used.
        clock: the time of day to begin with, which a test may also move on by hand (``clock.advance(3600)``); it needs
            a ``VirtualClockLoop``.
        seed: decides what is drawn; the same requests at the same times then have the same log. How long a session
            waits before it looks again is drawn from Python's ``random``: for two equal runs, seed that as well.
        durations: how long each change takes.

    Raises:
        ConfigurationError: a duration makes no sense.
    """

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        clock: FrozenClock | None = None,
        seed: int = 7,
        durations: Durations | None = None,
    ) -> None:
        self._engine: Final = engine
        self._given_clock: Final = clock
        self._clock: Final = clock or FrozenClock()
        self._seed: Final = seed
        self._durations: Final = durations or Durations()
        self._plane: ControlPlane | None = None
        self._loop_began = 0.0

    @property
    def log(self) -> tuple[Transition, ...]:
        """All changes of a state up to the last request, each with its time, in the order in which they happened."""
        plane = self._plane
        return () if plane is None else tuple(plane.log)

    def now(self) -> float:
        """Return the tables' time of day in epoch seconds: the clock's, plus what the loop has waited since."""
        if self._plane is None:
            return self._clock()
        return self._clock() + asyncio.get_running_loop().time() - self._loop_began

    def session(self, **settings: Any) -> Session:
        """Return a new session whose tables are slow; its time of day is that of the tables.

        Args:
            settings: arguments of ``Session``, such as ``table_prefix`` or ``retry``.

        Raises:
            ConfigurationError: there is no engine, or it is not running.
        """
        own: dict[str, Any] = {"transport": self.transport(), "clock": self.now}
        return Session(**own | settings)

    def transport(self) -> Transport:
        """Return a transport to the engine through these tables, for ``Session(transport=...)`` or ``Faults.wrap``.

        Raises:
            ConfigurationError: there is no engine, or it is not running.
        """
        return SlowTransport(EngineTransport(self._running().endpoint_url), self)

    def wrap(self, transport: Transport) -> Transport:
        """Return a transport that sends through another one, with slow tables in between.

        Args:
            transport: what requests go through; it is opened and closed with this one.
        """
        return SlowTransport(transport, self)

    def server(self, script: Script | None = None) -> FaultyServer:
        """Return a server for clients of any kind, to be entered: ``async with slow.server() as server``.

        Args:
            script: faults that happen besides.

        Raises:
            ConfigurationError: there is no engine, or it is not running.
        """
        return FaultyServer(self._running().endpoint_url, script or Script(), tables=self)

    def check_time(self, *, sockets: bool) -> None:
        """Raise if the tables keep another time than the transport: sockets keep real time, whatever a clock says.

        Args:
            sockets: whether requests travel over sockets of the loop.

        Raises:
            ConfigurationError: the clock is moved, and the loop or the sockets are not.
        """
        virtual = isinstance(asyncio.get_running_loop(), VirtualClockLoop)
        if sockets and (virtual or self._given_clock is not None):
            raise ConfigurationError(
                "sockets run in real time, so SlowTables on a VirtualClockLoop, or with their own clock, need "
                "SlowTables(engine).session()"
            )
        if self._given_clock is not None and not virtual:
            raise ConfigurationError(
                "SlowTables(clock=...) needs an event loop that follows the clock; run the test on a "
                "VirtualClockLoop, as in asyncio.Runner(loop_factory=VirtualClockLoop)"
            )

    async def answer(self, call: FaultyCall, ask: Ask, passed: Callable[[Body], Awaitable[Body]]) -> Answer | None:
        """Return the answer to a request; None if the engine is to answer it.

        Args:
            call: the request.
            ask: carries out another operation on the engine.
            passed: carries out the request on the engine, with another body, which is given.
        """
        plane = self._begun()
        plane.catch_up(self.now())
        refused = plane.refusal(call)
        if refused is not None:
            return refused
        try:
            answer = await plane.answer(call.operation, call.body, ask)
        except RefusedChange as refusal:
            return refusal.answer
        if answer is not None:
            return json_answer(answer)
        found = plane.index(call.table, call.index)
        if found is None or call.operation not in ("Query", "Scan"):
            return None
        table, index = found
        schema: list[dict[str, str]] = index.definition["KeySchema"]
        body, added = with_keys(call.body, [element["AttributeName"] for element in schema])
        whole = await passed(body)
        return json_answer(without_unfit(call.body, whole, schema, table.types, added) or whole)

    def _running(self) -> Engine:
        if self._engine is None:
            raise ConfigurationError(
                "these SlowTables have no engine; write SlowTables(engine), or use wrap(transport)"
            )
        return self._engine

    def _begun(self) -> ControlPlane:
        plane = self._plane
        if plane is None:
            self._loop_began = asyncio.get_running_loop().time()
            plane = self._plane = ControlPlane(self._durations, self._seed, self._clock())
        return plane


class SlowTransport:
    """Sends requests through another transport, with slow tables in between.

    Args:
        inner: what requests go through.
        tables: the tables.
    """

    def __init__(self, inner: Transport, tables: SlowTables) -> None:
        self._inner: Final = inner
        self._tables: Final = tables

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time."""
        return self._inner.max_connections

    async def open(self) -> None:
        """Open the inner transport.

        Raises:
            ConfigurationError: it lacks something, or keeps another time than the tables.
        """
        self._tables.check_time(sockets=isinstance(self._inner, WireTransport))
        await self._inner.open()

    async def send(self, request: Request) -> Body:
        """Send the request, or answer for the tables.

        Raises:
            ServiceError: DynamoDB, or the tables in its name, answered with an error.
            TransportError: no usable answer arrived.
        """

        async def ask(operation: str, body: Body) -> Body:
            writes = not operation.startswith("Describe")
            asked = Request(operation=operation, body=body, table=request.table, writes=writes)
            return await self._inner.send(asked)

        call = call_of(request.operation, request.body)
        answer = await self._tables.answer(call, ask, lambda body: ask(request.operation, body))
        return await self._inner.send(request) if answer is None else read_answer(request, answer)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()


class EngineTransport:
    """Sends requests to a local engine, on a ``VirtualClockLoop`` without letting its time pass.

    There a request holds the loop until the engine has answered, so that no timer can go off meanwhile, and requests
    are answered in the order in which they were made.

    Args:
        endpoint_url: the engine's URL.
    """

    def __init__(self, endpoint_url: str) -> None:
        self._place: Final = urlsplit(endpoint_url).netloc
        self._wire: Final = WireTransport(Connection(**local_settings(endpoint_url)))
        self._virtual = False

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time."""
        return self._wire.max_connections

    async def open(self) -> None:
        """Open connections, unless the loop's clock is virtual."""
        self._virtual = isinstance(asyncio.get_running_loop(), VirtualClockLoop)
        if not self._virtual:
            await self._wire.open()

    async def send(self, request: Request) -> Body:
        """Send the request to the engine.

        Raises:
            ServiceError: it answered with an error.
            TransportError: it did not answer.
        """
        if not self._virtual:
            return await self._wire.send(request)
        await anyio.lowlevel.checkpoint()
        try:
            answer = self._asked(request)
        except (OSError, HTTPException) as error:
            cause = error if isinstance(error, OSError) else ConnectionError(str(error))
            raise transport_error(cause, request) from error
        return read_answer(request, answer)

    def _asked(self, request: Request) -> Answer:
        connection = HTTPConnection(self._place, timeout=_ENGINE_SECONDS)
        try:
            headers = {**HEADERS, "X-Amz-Target": request.service.target(request.operation)}
            connection.request("POST", "/", body=orjson.dumps(request.body), headers=headers)
            with connection.getresponse() as response:
                found = {name.lower(): value for name, value in response.getheaders()}
                return Answer(response.status, found, response.read())
        finally:
            connection.close()

    async def close(self) -> None:
        """Close the connections."""
        if not self._virtual:
            await self._wire.close()
