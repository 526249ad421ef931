"""What can go wrong, as values. What carries a request, a transport or a server, acts on them in its own way."""

from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.testing.faults.scripted_calls import FaultyCall
from dynamap_async.transport.channel import Answer


class Break(Enum):
    """How an exchange ends without an answer."""

    REFUSED = "the connection is not made"
    RESET = "the connection is reset"
    CLOSED = "the connection is closed in place of an answer"
    SILENT = "nothing comes"


class Damage(Enum):
    """What is wrong with an answer that arrives."""

    MALFORMED = "its body is not JSON"
    TRUNCATED = "fewer bytes come than were promised"
    WRONG_LENGTH = "more bytes come than were promised"
    WRONG_CHECKSUM = "its checksum is another body's"


@dataclass(frozen=True, slots=True)
class Replaced:
    """The script answers in place of the server."""

    name: str
    answer: Callable[[FaultyCall], Answer]
    applied: bool = False
    """Whether the server carries the request out first."""


@dataclass(frozen=True, slots=True)
class Broken:
    """No answer arrives."""

    name: str
    how: Break
    applied: bool
    """Whether the server carries the request out first."""
    seconds: float = 0.0
    """How long the client waits before it notices, where it does not decide that itself."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """The server's own answer arrives damaged."""

    name: str
    how: Damage


@dataclass(frozen=True, slots=True)
class LeftOver:
    """Some items of a batch are left unprocessed."""

    count: int
    name: str = "leave_unprocessed"


@dataclass(frozen=True, slots=True)
class IdleClose:
    """The connection is closed without notice after the answer."""

    name: str = "close_idle"


@dataclass(frozen=True, slots=True)
class Slow:
    """The answer comes late, and is right."""

    name: str
    seconds: float
    applied: bool = False
    """Whether the time passes after the server carried the request out, instead of before."""
    dripped: bool = False
    """Whether the body comes in small pieces all that time."""


Fault: TypeAlias = Replaced | Broken | Damaged | LeftOver | IdleClose | Slow
"""Anything that can be scripted."""
