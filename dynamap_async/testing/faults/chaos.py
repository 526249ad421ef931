"""Chaos: one rule that mixes everything that a correct program must survive, drawn request by request. Pure."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from dynamap_async.testing.faults.answers import THROTTLING_CODES, failed, throttled
from dynamap_async.testing.faults.calls import READS, UNPROCESSED, WRITES, Call
from dynamap_async.testing.faults.kinds import Break, Broken, Damage, Damaged, Fault, LeftOver, Replaced, Slow

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


def drawn(call: Call, random: Random) -> Fault:
    """Draw a fault for a request; for a batch of several items, now and then, that some of them are left over."""
    # Drawn in any case, so that what kind of request comes when does not change the sequence.
    kind, leave = random.choice(_NAMES), random.random() < 1 / (len(_NAMES) + 1)
    if leave and call.operation in UNPROCESSED and call.items > 1:
        return LeftOver(random.randint(1, call.items - 1))
    return _KINDS[kind](random)
