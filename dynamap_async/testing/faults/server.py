"""``FaultyServer``: plays a script on the sockets between any DynamoDB client and a local engine.

Invariant: between entering and leaving, each connection has one task; when leaving returns, no task and no socket of
the server is left.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import anyio

from dynamap_async.errors import ConfigurationError
from dynamap_async.native.json_text import write_json
from dynamap_async.session import Session
from dynamap_async.testing.engine import CREDENTIALS, REGION
from dynamap_async.testing.faults.exchange import Received, read_request, reset, write_answer
from dynamap_async.testing.faults.fault_answers import (
    damaged_answer,
    error_answer,
    failed,
    json_answer,
    object_of,
    throttled,
)
from dynamap_async.testing.faults.fault_kinds import Break, Broken, Damaged, Fault, IdleClose, LeftOver, Replaced
from dynamap_async.testing.faults.script import FaultDecision, Script
from dynamap_async.testing.faults.scripted_calls import FaultyCall, call_of, divided, with_left_over
from dynamap_async.testing.probe import HOST
from dynamap_async.transport.channel import Answer
from dynamap_async.turns import new_task

_PASSED_ON: Final = ("content-type", "x-amz-crc32", "x-amzn-requestid", "x-amzn-errortype", "date")
_OF_THE_CONNECTION: Final = frozenset({"connection", "content-length", "host", "transfer-encoding", "accept-encoding"})


class FaultyServer:
    """An HTTP server on the loopback address that sends what it gets to an engine, except for what a script says.

    For clients of any kind, whose own HTTP is part of what is tested. Signatures are passed on, not made, so what
    stands behind it must be a local engine; without one, every answer must be scripted with ``Rule.answer`` and such.

    Args:
        endpoint_url: the engine's URL; None where the script gives every answer.
        script: what happens to which request.
    """

    def __init__(self, endpoint_url: str | None, script: Script) -> None:
        self._endpoint_url: Final = endpoint_url
        self._script: Final = script
        self._server: asyncio.Server | None = None
        self._behind: aiohttp.ClientSession | None = None
        self._port = 0
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._accepted = 0

    @property
    def url(self) -> str:
        """The server's address, for ``Session(endpoint_url=...)`` or any other client.

        Raises:
            ConfigurationError: the server is not running.
        """
        if self._behind is None:
            raise ConfigurationError(
                "the FaultyServer is not running; use it as `async with FaultyServer(...) as server:`"
            )
        return f"http://{HOST}:{self._port}"

    @property
    def connections(self) -> int:
        """How many connections clients have made so far."""
        return self._accepted

    def session(self, **settings: Any) -> Session:
        """Return a new session aimed at this server, with a region and credentials that need no AWS account.

        Args:
            settings: further arguments of ``Session``, such as ``table_prefix``; they win over the server's own.
        """
        own: dict[str, Any] = {"region": REGION, "endpoint_url": self.url, "credentials": CREDENTIALS}
        return Session(**own | settings)

    @contextlib.asynccontextmanager
    async def refuse_connections(self) -> AsyncGenerator[None]:
        """Reset all connections and refuse new ones, until the ``async with`` block ends."""
        _ = self.url
        await self._stop_listening()
        try:
            yield
        finally:
            await self._listen()

    async def __aenter__(self) -> Self:
        if self._behind is not None:
            raise ConfigurationError("this FaultyServer is running already; leave its block before you enter it again")
        self._behind = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )
        try:
            await self._listen()
        except BaseException:
            await self._behind.close()
            self._behind = None
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        behind, self._behind = self._behind, None
        assert behind is not None  # noqa: S101 - entering made it
        with anyio.CancelScope(shield=True):
            await self._stop_listening()
            self._port = 0
            await behind.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, HOST, self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _stop_listening(self) -> None:
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        ending = dict(self._open)
        for task, writer in ending.items():
            reset(writer)
            task.cancel()
        if ending:
            await asyncio.wait(ending)
        await server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A coroutine would do, but when it is cancelled asyncio's streams log that as an error (Python 3.11).
        task = new_task(self._serve(reader, writer))
        self._open[task] = writer
        task.add_done_callback(self._open.pop)
        self._accepted += 1

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Whatever the client does to the connection is its own business.
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while await self._answer(await read_request(reader), reader, writer):
                    pass
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, received: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; return whether the connection stays open."""
        call = call_of(received.operation, object_of(received.body))
        verdict = self._script.decide(call)
        await anyio.sleep(verdict.before_seconds)
        fault = verdict.fault
        if isinstance(fault, Broken):
            if fault.applied:
                await self._ask(received)
            await anyio.sleep(verdict.after_seconds)
            if fault.how is Break.SILENT:
                await reader.read()
            elif fault.how is not Break.CLOSED:
                reset(writer)
            return False
        answer = await self._answer_to(received, call, fault)
        await anyio.sleep(verdict.after_seconds)
        return await _sent(writer, answer, verdict)

    async def _answer_to(self, received: Received, call: FaultyCall, fault: Fault | None) -> Answer:
        match fault:
            case Replaced():
                if fault.applied:
                    await self._ask(received)
                return fault.answer(call)
            case LeftOver() if fault.count >= call.items:
                return throttled(call, "ProvisionedThroughputExceededException")
            case LeftOver():
                rest, left = divided(call, fault.count)
                answer = await self._ask(received, write_json(rest))
                if answer.status != 200:
                    return answer
                return json_answer(with_left_over(call, object_of(answer.body), left))
            case _:
                return await self._ask(received)

    async def _ask(self, received: Received, body: bytes | None = None) -> Answer:
        behind = self._behind
        if self._endpoint_url is None or behind is None:
            message = f"nothing is scripted for {received.operation}, and no engine stands behind this server"
            return error_answer("UnknownOperationException", message)
        url = self._endpoint_url.rstrip("/") + received.path
        headers = {name: value for name, value in received.headers.items() if name not in _OF_THE_CONNECTION}
        content = received.body if body is None else body
        try:
            async with behind.post(url, data=content, headers=headers, allow_redirects=False) as response:
                kept = {name: response.headers[name] for name in _PASSED_ON if name in response.headers}
                return Answer(response.status, kept, await response.read())
        except aiohttp.ClientError:
            return failed(502, html=True)


async def _sent(writer: asyncio.StreamWriter, answer: Answer, verdict: FaultDecision) -> bool:
    fault = verdict.fault
    damage = fault.how if isinstance(fault, Damaged) else None
    if damage is not None:
        answer = damaged_answer(answer, damage)
    await write_answer(writer, answer, damage=damage, dripped_seconds=verdict.dripped_seconds)
    # After a wrong length nobody knows where the next answer begins.
    return damage is None and not isinstance(fault, IdleClose)
