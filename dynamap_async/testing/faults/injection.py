"""``Faults``: a script, and the ways to put it between a program and DynamoDB."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, Self

from dynamap_async.session import Session
from dynamap_async.testing.engine import Engine, of_connection
from dynamap_async.testing.faults.fault_answers import THROTTLING_CODES, failed, throttled
from dynamap_async.testing.faults.fault_kinds import Break, Broken, Damage, Damaged, Fault, LeftOver, Replaced, Slow
from dynamap_async.testing.faults.rule import Match
from dynamap_async.testing.faults.script import Script
from dynamap_async.testing.faults.scripted_calls import READS, UNPROCESSED, WRITES, FaultyCall
from dynamap_async.testing.faults.transport import FaultyTransport
from dynamap_async.transport import Connection, Transport, WireTransport


class Faults(Script):
    """A script of faults, and a log of the requests that went through it.

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
        """Return a script that plays faults of every passing kind on a share of all item operations.

        Throttling, failures, refused, reset and lost connections, damaged answers, delays up to 50 ms, and for
        batches items that are left unprocessed. Rules that are added come after it.

        Args:
            share: how much of the requests, from 0 to 1.
            seed: the same requests in the same order have the same faults with the same seed.

        Raises:
            ConfigurationError: the share lies outside.
        """
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
        connection, others = of_connection(settings)
        transport = WireTransport(Connection(**connection)) if engine is None else engine.transport(**connection)
        return Session(transport=self.wrap(transport), **others)


LONGEST_DELAY_SECONDS: Final = 0.05
"""The longest delay that is drawn."""

ITEM_OPERATIONS: Final = READS | WRITES
"""What chaos is about: a program repeats these by itself, while a lost answer to CreateTable is for people."""


def _throttle(random: Random) -> Fault:
    code = random.choice(THROTTLING_CODES)
    return Replaced("throttle", lambda call: throttled(call, code))


def _fail(random: Random) -> Fault:
    status, html, applied = random.choice((500, 503)), random.random() < 0.5, random.random() < 0.5
    return Replaced("fail", lambda _: failed(status, html=html), applied)


_KINDS: Final[Mapping[str, Callable[[Random], Fault]]] = {
    "throttle": _throttle,
    "fail": _fail,
    "refuse_connection": lambda _: Broken("refuse_connection", Break.REFUSED, applied=False),
    "reset": lambda random: Broken("reset", Break.RESET, applied=random.random() < 0.5),
    "lose_answer": lambda _: Broken("lose_answer", Break.CLOSED, applied=True),
    "malformed_body": lambda _: Damaged("malformed_body", Damage.MALFORMED),
    "truncate_body": lambda _: Damaged("truncate_body", Damage.TRUNCATED),
    "wrong_checksum": lambda _: Damaged("wrong_checksum", Damage.WRONG_CHECKSUM),
    "delay": lambda random: Slow("delay", random.uniform(0, LONGEST_DELAY_SECONDS), applied=random.random() < 0.5),
}
_NAMES: Final = tuple(_KINDS)


def drawn(call: FaultyCall, random: Random) -> Fault:
    """Draw a fault for a request. For a batch of several items it may be that some are left unprocessed."""
    # Drawn in any case, so that what kind of request comes when does not change the sequence.
    kind, leave = random.choice(_NAMES), random.random() < 1 / (len(_NAMES) + 1)
    if leave and call.operation in UNPROCESSED and call.items > 1:
        return LeftOver(random.randint(1, call.items - 1))
    return _KINDS[kind](random)
