"""Serves moto's DynamoDB on a loopback port from a thread. The only file that knows moto and werkzeug.

Both are imported when a server is made, so that importing this package costs nothing and needs no extra.
"""

import importlib.util
import json
import logging
import re
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol

from dynamap_async.errors import ConfigurationError
from dynamap_async.service import CONTENT_TYPE
from dynamap_async.testing.probe import HOST

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_LOGGER: logging.Logger = logging.getLogger("dynamap_async")
_NEEDED = ("moto", "flask", "flask_cors", "werkzeug")
_SERVED = frozenset({"dynamodb", "dynamodbstreams"})
_REGION_OF_SIGNATURE = re.compile(r"(?<=/)[^/,]+(?=/\w+/aws4_request)")
_NO_SUCH_OPERATION = "action has not been implemented"
"""How moto's error ends about an operation that it does not have."""
_REGION = "eu-west-1"
_CLIENT_TIMEOUT_SECONDS = 5.0
_SHUTDOWN_POLL_SECONDS = 0.02


class _InRegion(Protocol):
    @property
    def tables(self) -> MutableMapping[str, Any]: ...


class _Backend(Protocol):
    """The part of moto's backend of an account that is used here."""

    def reset(self) -> None: ...

    def values(self) -> Iterable[_InRegion]: ...


class _Stoppable(Protocol):
    def serve_forever(self, poll_interval: float = ...) -> None: ...

    def shutdown(self) -> None: ...


def require_moto() -> None:
    """Check that the packages of the ``moto`` extra are installed.

    Raises:
        ConfigurationError: one of them is missing.
    """
    for name in _NEEDED:
        if importlib.util.find_spec(name) is None:
            raise ConfigurationError(f"moto needs the package {name!r}: pip install 'dynamap-async[moto]'")


class MotoServer:
    """A moto server that listens and serves from its creation to ``close()``.

    Args:
        account_id: the AWS account, 12 digits, in which all of this server's tables are kept.
        listening: a socket that listens; the server keeps one of its own to the same port.

    Raises:
        ConfigurationError: moto cannot read AWS's settings of this machine.
    """

    port: int

    def __init__(self, *, account_id: str, listening: socket.socket) -> None:
        self._backend = _backend(account_id)
        # Each connection has its own thread, but moto reads, checks and writes an item without a lock of its own: two
        # writes of one item would both find the version that they expect.
        self._turn = threading.Lock()
        self._server, self.port = _server(account_id, self._turn, listening)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_SHUTDOWN_POLL_SECONDS,), name="dynamap-local-engine", daemon=True
        )
        self._thread.start()

    def forget_tables(self) -> None:
        """Delete all tables of this server's account, in all regions."""
        self._backend.reset()

    def forget(self, names: Collection[str]) -> None:
        """Delete these tables of this server's account, in all regions; those that do not exist are ignored."""
        with self._turn:
            for region in self._backend.values():
                for name in names:
                    region.tables.pop(name, None)

    def empty(self, names: Collection[str]) -> bool:
        """Remove all items of these tables. Return False if one does not exist, or keeps records in a stream."""
        with self._turn:
            found = [
                table for region in self._backend.values() for name, table in region.tables.items() if name in names
            ]
            if len(found) < len(names) or any(table.stream_shard is not None for table in found):
                return False
            for table in found:
                table.items.clear()
            return True

    def close(self) -> None:
        """Stop listening, wait for the requests under way and for the thread, and forget all tables."""
        self._server.shutdown()
        self._thread.join()
        self.forget_tables()


def _backend(account_id: str) -> _Backend:
    try:
        from moto.backends import get_backend

        backend: _Backend = get_backend("dynamodb")[account_id]
    except Exception as error:
        # moto asks boto3 for the regions, and boto3 reads profiles: a profile that does not exist ends here.
        raise ConfigurationError(
            f"moto cannot read the AWS settings ({error}); unset AWS_PROFILE, or name an existing profile"
        ) from error
    return backend


def _server(account_id: str, turn: threading.Lock, listening: socket.socket) -> tuple[_Stoppable, int]:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import ThreadedWSGIServer

    class SilentHandler(MotoRequestHandler):
        # A client that connects and sends nothing must not hold up the end of the server for ever.
        timeout = _CLIENT_TIMEOUT_SECONDS

        def send_header(self, keyword: str, value: str) -> None:
            """Leave out moto's own Server header, which comes second: aiohttp's debug mode refuses two."""
            if keyword != "server":
                super().send_header(keyword, value)

        def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - werkzeug's name
            """Write nothing: a log line for each request would drown the program's own."""

    class JoiningServer(ThreadedWSGIServer):
        # Threads that are not daemons are joined when the server closes.
        daemon_threads = False

    def create_app(service: Any) -> Any:
        app = create_backend_app(service)
        app.config["PROPAGATE_EXCEPTIONS"] = True  # otherwise it logs a traceback, though a retry may succeed
        return app

    class Dispatcher(DomainDispatcherApplication):
        def get_backend_for_host(self, host: str | None) -> Any:
            """Return the backend without a look-up: moto lists its folder for each request, a quarter of its time."""
            return host if host in _SERVED else super().get_backend_for_host(host)

    application = _in_account(account_id, Dispatcher(create_app), turn)
    # werkzeug ends the process where it cannot listen itself.
    server = JoiningServer(HOST, 0, application, handler=SilentHandler, fd=listening.fileno())
    return server, server.port


def _in_account(
    account_id: str, application: "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]", turn: threading.Lock
) -> "Callable[[WSGIEnvironment, StartResponse], Iterable[bytes]]":
    def call(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = account_id
        # moto keeps tables by region, and whoever makes them need not know which one an application names.
        if "HTTP_AUTHORIZATION" in environ:
            environ["HTTP_AUTHORIZATION"] = _REGION_OF_SIGNATURE.sub(_REGION, environ["HTTP_AUTHORIZATION"], count=1)
        with turn:
            try:
                return list(application(environ, start_response))
            except Exception as error:
                _LOGGER.debug("moto failed", exc_info=True)
                status, code = "500 Internal Server Error", "InternalServerError"
                if isinstance(error, NotImplementedError) and str(error).endswith(_NO_SUCH_OPERATION):
                    status, code = "400 Bad Request", "UnknownOperationException"
                body = {"__type": code, "message": f"moto failed: {type(error).__name__}: {error}"}
                headers = [("Content-Type", CONTENT_TYPE)]
                start_response(status, headers, sys.exc_info())
                return [json.dumps(body).encode()]

    return call
