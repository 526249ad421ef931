"""What all local engines have in common: a life inside ``with``, an endpoint, and sessions aimed at it."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from types import TracebackType
from typing import Any, ClassVar, Self
from urllib.request import getproxies

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.models import Model, Table
from dynamap_async.session import Session
from dynamap_async.testing.ports import checked_port
from dynamap_async.testing.probe import HOST
from dynamap_async.transport import Connection, WireTransport

REGION = "eu-west-1"
"""The region that sessions of local engines use."""

CREDENTIALS = Credentials(access_key_id="local", secret_access_key="local")  # noqa: S106 - no engine verifies it
"""The access key that sessions of local engines sign with."""

_CONNECTION = frozenset(field.name for field in fields(Connection))


def local_settings(endpoint_url: str) -> dict[str, Any]:
    """Return the arguments of a ``Session`` for a local engine, which needs no AWS account."""
    settings: dict[str, Any] = {"region": REGION, "endpoint_url": endpoint_url, "credentials": CREDENTIALS}
    if not getproxies():
        return settings
    from dynamap_async.transport import AioConfig  # loads aiobotocore, which these settings do not need otherwise

    # No proxy of the environment stands between two programs of one machine.
    return {**settings, "aio_config": AioConfig(proxies={})}


def of_connection(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of ``Session`` that say where to send to, and those that do not.

    Args:
        settings: arguments of ``Session``.
    """
    connection = {name: value for name, value in settings.items() if name in _CONNECTION}
    return connection, {name: value for name, value in settings.items() if name not in _CONNECTION}


class Engine(ABC):
    """A DynamoDB on this machine that runs between entering and leaving a ``with`` or ``async with`` block.

    ``with`` needs no event loop, and fits into fixtures of any scope. ``async with`` starts and ends the engine in a
    thread, so that the event loop goes on.

    Args:
        models: models with a table, or tables, that are created when the block is entered, under their own names.
        port: the port of the loopback address to listen on; 0 takes one that is free.
    """

    transport_class: ClassVar[type[WireTransport]] = WireTransport
    """What sessions of the engine send through."""

    def __init__(self, *, models: Iterable[type[Model] | Table] = (), port: int = 0) -> None:
        """Create the engine; it starts when its ``with`` block is entered.

        Args:
            models: models whose tables are there when the block begins.
            port: the port to listen on, from 1 to 65535, or 0.

        Raises:
            ConfigurationError: the port is none.
        """
        self._models = tuple(models)
        self._wanted_port = checked_port(port)
        self._running = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._place() if self._running else 'not running'}>"

    @property
    def endpoint_url(self) -> str:
        """The engine's URL, for ``Session(endpoint_url=...)`` or any other client.

        Raises:
            ConfigurationError: the engine is not running.
        """
        if not self._running:
            raise self._not_running()
        return f"http://{HOST}:{self._listening_port()}"

    def session(self, **settings: Any) -> Session:
        """Return a new session aimed at this engine, with a region and credentials that need no AWS account.

        Args:
            settings: further arguments of ``Session``, such as ``table_prefix``; they win over the engine's own.
        """
        connection, others = of_connection(settings)
        arguments: dict[str, Any] = {"transport": self.transport(**connection), **others}
        return Session(**arguments)

    def transport(self, **connection: Any) -> WireTransport:
        """Return a transport to this engine, not yet open, for ``Session(transport=...)``.

        Args:
            connection: arguments of ``Connection``; they win over the engine's own.
        """
        return self.transport_class(Connection(**local_settings(self.endpoint_url) | connection))

    @abstractmethod
    def reset(self) -> None:
        """Delete all tables, those of ``models`` too.

        Raises:
            ConfigurationError: the engine is not running.
        """

    @abstractmethod
    def _start(self) -> None:
        """Start, and wait until requests are answered."""

    @abstractmethod
    def _listening_port(self) -> int:
        """Return the port that it listens on while it is running."""

    def _place(self) -> str:
        """Say where it is running."""
        return f"at {self.endpoint_url}"

    @abstractmethod
    def _stop(self) -> None:
        """Stop everything that was started, also after a start that failed halfway."""

    def _not_running(self) -> ConfigurationError:
        name = type(self).__name__
        return ConfigurationError(f"the {name} is not running; use it as a context manager, `with ... as engine:`")

    def __enter__(self) -> Self:
        """Start the engine, and create the tables of its models.

        Raises:
            ConfigurationError: it is running already, its port is taken, or it did not start.
        """
        self._begin()
        if self._models:
            try:
                with ThreadPoolExecutor(1) as thread:  # in this one an event loop may be running
                    thread.submit(asyncio.run, self._create_tables()).result()
            except BaseException:
                self._end()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave()

    async def __aenter__(self) -> Self:
        """Start the engine in a thread, and create the tables of its models.

        Raises:
            ConfigurationError: as for ``with``.
        """
        entering = asyncio.get_running_loop().run_in_executor(None, self.__enter__)
        try:
            await _ended(entering)
        except asyncio.CancelledError:
            if entering.exception() is None:
                self._end()
            raise
        return entering.result()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await _ended(asyncio.get_running_loop().run_in_executor(None, self._leave))

    def _begin(self) -> None:
        if self._running:
            raise ConfigurationError(
                f"this {type(self).__name__} is running already; leave its block before you enter it again"
            )
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        self._running = True

    def _leave(self) -> None:
        """End after the block has run; ``_end`` is for one that was never entered, too."""
        self._end()

    def _end(self) -> None:
        self._running = False
        self._stop()

    async def _create_tables(self) -> None:
        async with self.session() as session:
            await session.tables.create(*self._models)


async def _ended(call: asyncio.Future[Any]) -> None:
    """Wait until a call in a thread has ended. A task that is cancelled waits too, since no thread can be ended."""
    cancelled: asyncio.CancelledError | None = None
    while not call.done():
        try:
            await asyncio.wait([call])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    call.result()
