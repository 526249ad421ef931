"""Client disconnects: a pure ASGI middleware that ends the work for a client that has gone. It needs no package."""

import asyncio
from collections.abc import Collection, Iterable
from typing import Final

import anyio

from dynamap_async.errors import ConfigurationError
from dynamap_async.integrations.asgi import App, Connection, Message, Receive, Send
from dynamap_async.turns import new_task

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods that change nothing, so that their work may end anywhere.

Source: https://www.rfc-editor.org/rfc/rfc9110#name-safe-methods
"""
_ENDS: Final = ("http.response.body", "http.response.pathsend")


def checked_methods(methods: Collection[str]) -> frozenset[str]:
    """Return methods as a set, checked to be a collection of texts.

    Args:
        methods: as they stand in requests: a text is a collection of its letters, and none of them is meant.

    Raises:
        ConfigurationError: it is no set of methods, or one is not in upper case, so that no request would have it.
    """
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        raise ConfigurationError(f"methods={methods!r} is not a set of HTTP methods; write methods={{'GET'}} for one")
    given = tuple(methods)
    for method in given:
        if not isinstance(method, str) or method != method.upper():
            raise ConfigurationError(
                f"methods={methods!r}: {method!r} is not an HTTP method in upper case, as in methods={{'GET'}}"
            )
    return frozenset(given)


class CancelOnDisconnect:
    """Cancels the handling of a request whose client has disconnected before the answer was complete.

    ``app.add_middleware(CancelOnDisconnect)`` in FastAPI and Starlette; any ASGI application is wrapped by
    ``CancelOnDisconnect(app)``. Only safe methods are cancelled, unless ``methods`` says otherwise: a write that was
    sent is carried out all the same. What follows a complete answer, such as background tasks, goes on.

    Source: https://asgi.readthedocs.io/en/latest/specs/www.html#disconnect-receive-event

    Args:
        app: any ASGI application.
        methods: whose handling is cancelled, in upper case.

    Raises:
        ConfigurationError: one of them is not in upper case, or they are one text.
    """

    def __init__(self, app: App, methods: Collection[str] = SAFE_METHODS) -> None:
        self._app: Final = app
        self._methods: Final = checked_methods(methods)

    async def __call__(self, connection: Connection, receive: Receive, send: Send) -> None:
        """Handle a connection, as ASGI calls it."""
        if connection["type"] != "http" or connection["method"] not in self._methods:
            await self._app(connection, receive, send)
            return
        exchange = _HttpExchange(receive, send)
        listening = new_task(exchange.listen())
        try:
            with exchange.work:
                await self._app(connection, exchange.receive, exchange.send)
        finally:
            listening.cancel()
            await asyncio.wait((listening,))
        if not listening.cancelled():
            listening.result()  # what the server's function raised is not to be lost


class _HttpExchange:
    """One request and its answer. Invariant: only ``listen`` takes messages of the server."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.work: Final = anyio.CancelScope()
        self._receive: Final = receive
        self._send: Final = send
        # One message is read ahead, and no more: a large body stays with the server until it is wanted.
        self._messages: Final[asyncio.Queue[Message]] = asyncio.Queue(1)
        self._gone: Message | None = None
        self._complete = False

    async def listen(self) -> None:
        """Pass on messages until the client has gone; then cancel the work, unless the answer is complete."""
        try:
            while (message := await self._receive())["type"] != "http.disconnect":
                await self._messages.put(message)
        except Exception:
            self.work.cancel()
            raise
        self._gone = message
        if not self._complete:
            self.work.cancel()
        if not self._messages.full():
            self._messages.put_nowait(message)  # wakes who waits for it

    async def receive(self) -> Message:
        """Return the next message, as the server's own function would."""
        if self._gone is not None and self._messages.empty():
            return self._gone
        return await self._messages.get()

    async def send(self, message: Message) -> None:
        """Send a message, and see whether it ends the answer."""
        if message["type"] in _ENDS and not message.get("more_body", False):
            self._complete = True
        await self._send(message)
