"""Scopes of web requests: a budget, a deadline and an account for each. The ASGI middleware needs no package."""

import json
from collections.abc import Callable
from typing import Final

from dynamap_async.config import Priority
from dynamap_async.errors import ConfigurationError, ScopeTimeoutError
from dynamap_async.executor import is_async, name_of
from dynamap_async.integrations.asgi import SCOPE, SESSION, App, Connection, Message, Receive, Send, asked_of
from dynamap_async.integrations.failures import Failure, Failures
from dynamap_async.session import Allowance, Scope, Session, scope_of
from dynamap_async.usage import Usage

ScopeEnded = Callable[[Scope], None]
"""A function that is told of each scope when it has ended, to log its usage, for example."""


def checked_ended(ended: ScopeEnded | None) -> ScopeEnded | None:
    """Return the callback for ended scopes, checked to be a plain function.

    Raises:
        ConfigurationError: it cannot be called, or is async: nothing would await it.
    """
    if ended is not None and (not callable(ended) or is_async(ended)):
        raise ConfigurationError(
            f"ended={name_of(ended)}: give a plain function of one scope; it cannot be async, because no response "
            "waits for it"
        )
    return ended


def server_timing(usage: Usage) -> str:
    """Return the value of the header Server-Timing, which browsers show beside a request.

    ``dynamodb-wait;dur=`` are the milliseconds that requests waited before they were sent; the rest is a description.

    Source: https://www.w3.org/TR/server-timing/
    """
    spent = f"{usage.requests} requests, {usage.read_units:g} read units, {usage.write_units:g} write units"
    return f'dynamodb;desc="{spent}", dynamodb-wait;dur={usage.waiting_seconds * 1000:.1f}'


class ScopeRequests:
    """Opens a scope around each HTTP request of an ASGI application whose state has a session.

    ``app.add_middleware(ScopeRequests, max_read_units=100, timeout=2, server_timing=True)`` in FastAPI and Starlette.
    Background tasks that follow the answer belong to it too; websockets, which last, have none. A request whose time is
    over is answered with 504; one whose budget is spent gets ``CapacityBudgetExceededError``
    where it asks for more, which the error handlers answer with 422.

    Args:
        app: any ASGI application.
        max_read_units: the most read units that one request may take.
        max_write_units: the most write units.
        max_requests: the most HTTP requests to DynamoDB.
        timeout: seconds after which the handling is cancelled.
        priority: how urgent what it asks for is.
        server_timing: whether each answer has a header Server-Timing with what was used until it began; it shows
            your costs to every client.
        ended: told of each scope after the answer, to log its usage, for example; a plain function.

    Raises:
        ConfigurationError: a limit is no number, or is negative, or the priority is none; ``ended`` is async.
    """

    def __init__(
        self,
        app: App,
        *,
        max_read_units: float | None = None,
        max_write_units: float | None = None,
        max_requests: int | None = None,
        timeout: float | None = None,
        priority: Priority | None = None,
        server_timing: bool = False,
        ended: ScopeEnded | None = None,
    ) -> None:
        self._app: Final = app
        self._allowance: Final = Allowance(
            max_read_units=max_read_units,
            max_write_units=max_write_units,
            max_requests=max_requests,
            timeout=timeout,
            priority=priority,
        )
        self._server_timing: Final = server_timing
        self._ended: Final = checked_ended(ended)
        self._failures: Final = Failures()

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Handle a connection, as ASGI calls it."""
        session = connection.get("state", {}).get(SESSION)
        if connection["type"] != "http" or not isinstance(session, Session):
            await self._app(connection, receive, send)
            return
        scope = scope_of(session, f"{connection['method']} {connection['path']}", self._allowance)
        answer = _HttpAnswer(send, scope if self._server_timing else None)
        try:
            async with scope:
                connection["state"][SCOPE] = scope
                await self._app(connection, receive, answer.send)
        except ScopeTimeoutError as error:
            # Once an answer has begun, no other status can be sent.
            failure = None if answer.begun else self._failures.of(error, asked_of(connection))
            if failure is None:
                raise
            await answer.fail(failure)
        finally:
            # Here and not before: the usage counts what background tasks took, which follow the answer.
            if self._ended is not None:
                self._ended(scope)


class _HttpAnswer:
    """One answer on its way out."""

    def __init__(self, send: Send, scope: Scope | None) -> None:
        self.begun = False
        self._send: Final = send
        self._scope: Final = scope

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            if self._scope is not None:
                timing = (b"server-timing", server_timing(self._scope.usage).encode())
                message = {**message, "headers": [*message.get("headers", ()), timing]}
        await self._send(message)

    async def fail(self, failure: Failure) -> None:
        body = json.dumps(failure.body()).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": failure.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
