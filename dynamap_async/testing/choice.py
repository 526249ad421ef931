"""Which engine the tests of a run use: one that is started here, or one that runs already."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from dynamap_async.errors import ConfigurationError
from dynamap_async.testing.engine import Engine
from dynamap_async.testing.local import LocalEngine
from dynamap_async.testing.native import NativeEngine

NATIVE_EXECUTABLE: Final = "DYNAMAP_NATIVE_ENGINE"
"""The environment variable with the path of the native engine's program."""


@contextmanager
def running_engine(choice: str) -> Generator[str]:
    """Run the chosen engine for as long as the ``with`` block lasts, and give its URL.

    Args:
        choice: ``moto`` is a ``LocalEngine``, ``native`` a ``NativeEngine`` of the program that the environment
            variable ``DYNAMAP_NATIVE_ENGINE`` names; a URL is an engine that runs already and is left as it is.

    Raises:
        ConfigurationError: it is none of these, the variable is not set, or the engine cannot be started.
    """
    engine = chosen_engine(choice)
    if engine is None:
        yield choice
    else:
        with engine:
            yield engine.endpoint_url


def chosen_engine(choice: str) -> Engine | None:
    """Return the chosen engine, not yet running; None where the choice is the URL of one that runs already.

    Raises:
        ConfigurationError: as for ``running_engine``.
    """
    if choice == "moto":
        return LocalEngine()
    if choice != "native":
        if urlsplit(choice).scheme in ("http", "https") and urlsplit(choice).hostname:
            return None
        raise ConfigurationError(f"{choice!r} is not an engine: choose moto, native, or a URL such as http://host:8000")
    executable = os.environ.get(NATIVE_EXECUTABLE)
    if not executable:
        raise ConfigurationError(f"the native engine needs its program: set {NATIVE_EXECUTABLE} to dynoxide's path")
    return NativeEngine(executable)
