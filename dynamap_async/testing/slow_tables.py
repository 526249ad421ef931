"""``SlowTables``, under which ``LocalEngine(durations=...)`` was known before. It goes with the next release."""

import warnings
from typing import Any, Final

from dynamap_async.errors import ConfigurationError
from dynamap_async.session import Session
from dynamap_async.simulated import SEED, Durations, Transition
from dynamap_async.testing.clock import FrozenClock
from dynamap_async.testing.engine import Engine
from dynamap_async.testing.faults.script import Script
from dynamap_async.testing.faults.server import FaultyServer
from dynamap_async.testing.local import LocalEngine
from dynamap_async.transport import Transport

__all__ = ["Durations", "SlowTables", "Transition"]


class SlowTables:
    """Lets a running ``LocalEngine`` take its time. Write ``LocalEngine(durations=Durations(...))`` in its place.

    Args:
        engine: the engine; from now on its own sessions see its tables take their time too.
        clock: the time of day to begin with.
        seed: decides what is drawn.
        durations: how long each change takes.

    Raises:
        ConfigurationError: it is another engine, or not running, or a duration cannot be.
    """

    def __init__(
        self,
        engine: Engine | None = None,
        *,
        clock: FrozenClock | None = None,
        seed: int = SEED,
        durations: Durations | None = None,
    ) -> None:
        warnings.warn(
            "SlowTables goes with the next release; write LocalEngine(durations=Durations(...)), whose sessions, "
            "transports and log are those of SlowTables",
            DeprecationWarning,
            stacklevel=2,
        )
        if not isinstance(engine, LocalEngine):
            raise ConfigurationError(
                "SlowTables(engine) takes a LocalEngine that runs; no other engine takes its time any more. Write "
                "LocalEngine(durations=Durations(...))"
            )
        engine._take_time(durations or Durations(), clock=clock, seed=seed)  # noqa: SLF001 - a front of the engine
        self._engine: Final = engine

    @property
    def log(self) -> tuple[Transition, ...]:
        """All changes of a state up to the last request; see ``LocalEngine.log``."""
        return self._engine.log

    def now(self) -> float:
        """Return the tables' time of day in epoch seconds; see ``LocalEngine.clock``."""
        return self._engine.clock()

    def session(self, **settings: Any) -> Session:
        """Return a new session of the engine.

        Args:
            settings: arguments of ``Session``, such as ``table_prefix`` or ``retry``.
        """
        return self._engine.session(**settings)

    def transport(self) -> Transport:
        """Return a transport to the engine, for ``Session(transport=...)`` or ``Faults.wrap``."""
        return self._engine.transport()

    def server(self, script: Script | None = None) -> FaultyServer:
        """Return a server for clients of any kind, to be entered: ``async with slow.server() as server``.

        Args:
            script: faults that happen besides.
        """
        return FaultyServer(self._engine.endpoint_url, script or Script())
