"""``FaultyTransport``: plays a script between a session and any other transport."""

import contextlib
from typing import Final

import anyio

from dynamap_async.errors import DynamapError, ServiceError
from dynamap_async.request import Request
from dynamap_async.testing.faults.fault_answers import damaged_answer, json_answer, throttled
from dynamap_async.testing.faults.fault_kinds import Break, Broken, Damage, Damaged, Fault, LeftOver, Replaced
from dynamap_async.testing.faults.script import Script
from dynamap_async.testing.faults.scripted_calls import FaultyCall, call_of, divided, with_left_over
from dynamap_async.transport import Transport
from dynamap_async.transport.answers import read_answer
from dynamap_async.transport.failures import NotConnectedError, damaged, transport_error
from dynamap_async.wire import Body


class FaultyTransport:
    """Sends requests through another transport, except for what a script says. Its errors are those of a real one.

    It starts no tasks, and waits with ``anyio.sleep`` only, so it runs on a virtual clock too.

    Args:
        inner: what requests go through; it is opened and closed with this one.
        script: what happens to which request.
    """

    def __init__(self, inner: Transport, script: Script) -> None:
        self._inner: Final = inner
        self._script: Final = script

    def __repr__(self) -> str:
        return f"<FaultyTransport around {self._inner!r}>"

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time."""
        return self._inner.max_connections

    async def open(self) -> None:
        """Open the inner transport.

        Raises:
            ConfigurationError: it lacks something.
        """
        await self._inner.open()

    async def send(self, request: Request) -> Body:
        """Send the request, or play the fault that the script says.

        Raises:
            ServiceError: DynamoDB, or the script in its name, answered with an error.
            TransportError: no usable answer arrived.
        """
        call = call_of(request.operation, request.body)
        verdict = self._script.decide(call)
        after_seconds = verdict.after_seconds + verdict.dripped_seconds
        await _sleep(verdict.before_seconds)
        try:
            answer = await self._exchange(request, call, verdict.fault)
        except DynamapError:
            await _sleep(after_seconds)
            raise
        await _sleep(after_seconds)
        return answer

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()

    async def _exchange(self, request: Request, call: FaultyCall, fault: Fault | None) -> Body:
        match fault:
            case Replaced():
                if fault.applied:
                    await self._apply(request)
                return read_answer(request, fault.answer(call))
            case Broken():
                if fault.applied:
                    await self._apply(request)
                raise await _broken(request, fault)
            case Damaged():
                await self._apply(request)
                return _damaged(request, fault.how)
            case LeftOver():
                return await self._leave(request, call, fault.count)
            case _:
                return await self._inner.send(request)

    async def _apply(self, request: Request) -> None:
        # A refusal of the service is an answer too, and as lost as any other.
        with contextlib.suppress(ServiceError):
            await self._inner.send(request)

    async def _leave(self, request: Request, call: FaultyCall, count: int) -> Body:
        if count >= call.items:
            return read_answer(request, throttled(call, "ProvisionedThroughputExceededException"))
        rest, left = divided(call, count)
        smaller = Request(operation=request.operation, body=rest, table=request.table, writes=request.writes)
        return with_left_over(call, await self._inner.send(smaller), left)


def _damaged(request: Request, damage: Damage) -> Body:
    if damage in (Damage.MALFORMED, Damage.WRONG_CHECKSUM):
        return read_answer(request, damaged_answer(json_answer({}), damage))
    raise damaged(request, f"the answer is damaged (scripted: {damage.value})")


async def _broken(request: Request, fault: Broken) -> DynamapError:
    match fault.how:
        case Break.REFUSED:
            refused = NotConnectedError()
            refused.__cause__ = ConnectionRefusedError("scripted")
            return transport_error(refused, request)
        case Break.RESET:
            return transport_error(ConnectionResetError("scripted"), request)
        case Break.CLOSED:
            return transport_error(ConnectionError("scripted: closed in place of an answer"), request)
        case Break.SILENT:
            await _sleep(fault.seconds)
            return transport_error(TimeoutError("scripted"), request)


async def _sleep(seconds: float) -> None:
    if seconds > 0:
        await anyio.sleep(seconds)
