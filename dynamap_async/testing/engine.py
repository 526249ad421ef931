"""What all local engines have in common: a life inside ``with``, an endpoint, and sessions aimed at it."""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self
from urllib.request import getproxies

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.session import Session
from dynamap_async.testing.probe import HOST

REGION = "eu-west-1"
"""The region that sessions of local engines use."""

CREDENTIALS = Credentials(access_key_id="local", secret_access_key="local")  # noqa: S106 - no engine verifies it
"""The access key that sessions of local engines sign with."""


def local_settings(endpoint_url: str) -> dict[str, Any]:
    """Return the arguments of ``Session`` that aim it at an engine, and need no AWS account."""
    settings: dict[str, Any] = {"region": REGION, "endpoint_url": endpoint_url, "credentials": CREDENTIALS}
    if not getproxies():
        return settings
    from dynamap_async.transport import AioConfig  # loads aiobotocore, which these settings do not need otherwise

    # No proxy of the environment stands between two programs of one machine.
    return {**settings, "aio_config": AioConfig(proxies={})}


class Engine(ABC):
    """A DynamoDB on this machine that runs between entering and leaving a ``with`` block.

    The block is synchronous, so that engines fit into fixtures of any scope; nothing here needs an event loop.
    """

    def __init__(self) -> None:
        self._endpoint_url: str | None = None

    @property
    def endpoint_url(self) -> str:
        """The engine's URL, for ``Session(endpoint_url=...)`` or any other client.

        Raises:
            ConfigurationError: the engine is not running.
        """
        if self._endpoint_url is None:
            raise self._not_running()
        return self._endpoint_url

    def session(self, **settings: Any) -> Session:
        """Return a new session aimed at this engine, with a region and credentials that need no AWS account.

        Args:
            settings: further arguments of ``Session``, such as ``table_prefix``; they win over the engine's own.
        """
        return Session(**local_settings(self.endpoint_url) | settings)

    @abstractmethod
    def reset(self) -> None:
        """Forget all tables.

        Raises:
            ConfigurationError: the engine is not running.
        """

    @abstractmethod
    def _start(self) -> int:
        """Start, wait until requests are answered, and return the port."""

    @abstractmethod
    def _stop(self) -> None:
        """End everything that was started, also after a start that failed halfway."""

    def _not_running(self) -> ConfigurationError:
        name = type(self).__name__
        return ConfigurationError(f"the {name} is not running: use it as a context manager, `with ... as engine:`")

    def __enter__(self) -> Self:
        if self._endpoint_url is not None:
            raise ConfigurationError(f"this {type(self).__name__} is running already: enter each engine once at a time")
        try:
            self._endpoint_url = f"http://{HOST}:{self._start()}"
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._endpoint_url = None
        self._stop()
