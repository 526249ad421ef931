"""moto, served from a thread of this process. Needs the ``moto`` extra."""

import secrets
from collections.abc import Collection, Iterable

from dynamap_async.errors import ConfigurationError
from dynamap_async.models import Model, Table
from dynamap_async.testing.engine import Engine
from dynamap_async.testing.moto_server import MotoServer, require_moto
from dynamap_async.testing.ports import listen
from dynamap_async.testing.probe import answers


class MotoEngine(Engine):
    """An in-memory DynamoDB inside this process, for tests and trials: moto behind a real socket.

    Engines of one process do not see each other's tables. Tables live until ``reset()`` or the end of the block. All
    regions and accounts of AWS share one set of them.

    It is not DynamoDB. What it does not do, and a test must therefore not rely on:

    - capacity: the reported units are constants, and nothing is ever throttled;
    - idempotency: client request tokens are ignored, so a repeated transaction is applied twice;
    - limits: numbers over 38 digits or out of range, duplicate members of sets, keys of a wrong type, batches of more
      than 25 writes and exclusive start keys are accepted unchecked; an item of exactly 400 KB is refused;
    - numbers keep the text they were sent with instead of the canonical form;
    - the last page: no last evaluated key when a page ends exactly at the last item;
    - an update without an update expression, PartiQL, and some malformed requests are answered with HTTP 500;
    - expired items are never deleted, reads are always consistent, transactions never conflict;
    - speed: about 500 requests a second; a page of 100 items takes 75 ms of processor time, during which it holds the
      interpreter's lock, and with it the event loop of the program under test;
    - keep-alive: every response closes its connection.

    Args:
        models: models with a table, or tables, that are created when the engine is entered, under their own names.
        port: the port of the loopback address to listen on; 0 takes one that is free.
        start_timeout_seconds: how long starting may take.

    Raises:
        ConfigurationError: the ``moto`` extra is not installed, or the port is none.

    Example:
        >>> with MotoEngine() as engine:
        ...     print(engine.endpoint_url.startswith("http://127.0.0.1:"))
        True
    """

    def __init__(
        self, *, models: Iterable[type[Model] | Table] = (), port: int = 0, start_timeout_seconds: float = 30.0
    ) -> None:
        """Describe the engine; it is started when it is entered.

        Args:
            models: models whose tables are there when the block begins.
            port: the port to listen on, from 1 to 65535, or 0.
            start_timeout_seconds: how long the engine may take to answer for the first time.
        """
        require_moto()
        super().__init__(models=models, port=port)
        self._start_timeout_seconds = start_timeout_seconds
        self._server: MotoServer | None = None

    def reset(self) -> None:
        """Forget all tables of this engine. Sessions stay usable."""
        if self._server is None:
            raise self._not_running()
        self._server.forget_tables()

    def forget(self, tables: Collection[str]) -> None:
        """Forget these tables without a request; those that the engine does not have are no error.

        Args:
            tables: full table names.

        Raises:
            ConfigurationError: the engine is not running.
        """
        if self._server is None:
            raise self._not_running()
        self._server.forget(tables)

    def empty(self, tables: Collection[str]) -> bool:
        """Remove all items of these tables, named in full, without a request; False if one of them is not there.

        Args:
            tables: the full names.

        Raises:
            ConfigurationError: the engine is not running.
        """
        if self._server is None:
            raise self._not_running()
        return self._server.empty(tables)

    def _start(self) -> None:
        # moto keeps its tables per process and account: an account of its own keeps this engine apart from others.
        with listen(self._wanted_port) as listening:
            server = MotoServer(account_id=f"{secrets.randbelow(10**12):012}", listening=listening)
        self._server = server
        if not answers(server.port, timeout_seconds=self._start_timeout_seconds):
            raise ConfigurationError(
                f"moto did not answer on port {server.port} within {self._start_timeout_seconds} s"
            )

    def _listening_port(self) -> int:
        if self._server is None:
            raise self._not_running()
        return self._server.port

    def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
