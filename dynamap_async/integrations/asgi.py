"""ASGI's own types, and where an application keeps its session. It needs no package.

Source: https://asgi.readthedocs.io/en/latest/specs/www.html
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
"""A message of ASGI."""
Connection: TypeAlias = MutableMapping[str, Any]
"""A connection's facts, which ASGI calls its scope."""
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Connection, Receive, Send], Awaitable[None]]

SESSION: Final = "dynamap_session"
"""The session's name in the state of an application."""
SCOPE: Final = "dynamap_scope"
"""The name of a request's scope in the state of its connection."""


def asked_of(connection: Connection) -> str:
    """Return a connection's method and route, such as ``GET /notes/{id}``; its own path where no route is known."""
    path = getattr(connection.get("route"), "path", connection["path"])
    return f"{connection.get('method', 'WS')} {path}"
