"""Which engine is used: one that is started here, or one that runs already."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from urllib.parse import urlsplit

from dynamap_async.errors import ConfigurationError
from dynamap_async.models import Model, Table
from dynamap_async.testing.engine import Engine
from dynamap_async.testing.local import LocalEngine
from dynamap_async.testing.moto_engine import MotoEngine
from dynamap_async.testing.native import NativeEngine


def find_engine(*, models: Iterable[type[Model] | Table] = (), port: int = 0) -> Engine:
    """Return the engine that is used where none is named: ``LocalEngine``, which is in this process. It does not run.

    Args:
        models: models with a table, or tables, that are created when the engine is entered, under their own names.
        port: the port of the loopback address to listen on; 0 takes one that is free.

    Raises:
        ConfigurationError: the port is none.
    """
    return LocalEngine(models=models, port=port)


@contextmanager
def running_engine(choice: str) -> Generator[str]:
    """Run the chosen engine for as long as the ``with`` block lasts, and give its URL.

    Args:
        choice: ``memory`` is a ``LocalEngine``, ``moto`` a ``MotoEngine``, ``native`` a ``NativeEngine``; a URL is an
            engine that runs already and is left as it is.

    Raises:
        ConfigurationError: it is none of these, its program or packages are not installed, or it cannot be started.
    """
    engine = chosen_engine(choice)
    if engine is None:
        yield choice
    else:
        with engine:
            yield engine.endpoint_url


def chosen_engine(choice: str) -> Engine | None:
    """Return the chosen engine without starting it; None if the choice is the URL of one that runs already.

    Raises:
        ConfigurationError: as for ``running_engine``.
    """
    if choice == "memory":
        return LocalEngine()
    if choice == "moto":
        return MotoEngine()
    if choice == "native":
        return NativeEngine()
    if urlsplit(choice).scheme in ("http", "https") and urlsplit(choice).hostname:
        return None
    raise ConfigurationError(
        f"{choice!r} is not an engine; choose memory, moto, native, or a URL such as http://host:8000"
    )
