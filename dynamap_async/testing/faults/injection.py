"""``Faults``: a script, and the ways to put it between a program and DynamoDB."""

from dataclasses import fields
from typing import Any, Self

from dynamap_async.session import Session
from dynamap_async.testing.engine import CREDENTIALS, REGION, Engine
from dynamap_async.testing.faults.chaos import ITEM_OPERATIONS, drawn
from dynamap_async.testing.faults.rule import Match, check_share
from dynamap_async.testing.faults.script import Script
from dynamap_async.testing.faults.transport import FaultyTransport
from dynamap_async.transport import Connection, Transport, WireTransport

_CONNECTION = frozenset(field.name for field in fields(Connection))


class Faults(Script):
    """What goes wrong, in a few lines, and what went through.

    One script serves any number of sessions, transports and servers; it counts and logs the requests of all of them.

    Example:
        >>> faults = Faults()
        >>> faults.on("BatchGetItem", nth=3).throttle()
        >>> faults.on("PutItem", table="tweets").lose_answer()
        >>> faults.unused
        ("on('BatchGetItem', nth=3).throttle()", "on('PutItem', table='tweets').lose_answer()")
    """

    @classmethod
    def random(cls, *, share: float, seed: int) -> Self:
        """Return a script that does something to a share of all item operations, of every kind that passes.

        Throttling, failures, refused, reset and lost connections, damaged answers, delays up to 50 ms, and for
        batches items that are left unprocessed. Rules that are added come after it.

        Args:
            share: how much of the requests, from 0 to 1.
            seed: the same requests in the same order have the same faults with the same seed.

        Raises:
            ConfigurationError: the share lies outside.
        """
        check_share(share)
        faults = cls(seed=seed)
        faults.add(Match(share=share), drawn, name="random", operations=ITEM_OPERATIONS)
        return faults

    def wrap(self, transport: Transport) -> FaultyTransport:
        """Return a transport that sends through another one, except for what the script says."""
        return FaultyTransport(transport, self)

    def session(self, engine: Engine | None = None, /, **settings: Any) -> Session:
        """Return a new session whose requests go through the script.

        Args:
            engine: the engine to send to, with a region and credentials that need no AWS account.
            settings: arguments of ``Session``, such as ``region``, ``table_prefix`` or ``retry``; they win over the
                engine's own.
        """
        if engine is not None:
            settings = {"region": REGION, "endpoint_url": engine.endpoint_url, "credentials": CREDENTIALS} | settings
        connection = Connection(**{name: value for name, value in settings.items() if name in _CONNECTION})
        others = {name: value for name, value in settings.items() if name not in _CONNECTION}
        return Session(transport=self.wrap(WireTransport(connection)), **others)
