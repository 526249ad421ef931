"""Means: what all ways of sending a request share."""

from collections.abc import Callable
from dataclasses import dataclass

from dynamap_async.executor.admission import Admission
from dynamap_async.executor.journal import Journal
from dynamap_async.executor.meters import Meters
from dynamap_async.executor.pages import Send
from dynamap_async.executor.retry import Retries
from dynamap_async.executor.slots import Slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What an executor has, and each of its ways of sending uses."""

    send: Send
    """Sends a request once."""
    journal: Journal
    """Takes note of what happens."""
    slots: Slots
    """How many requests travel at the same time."""
    retries: Retries
    """What is sent again, and when."""
    ended: Callable[[], None]
    """Called whenever a request is answered or given up."""
    admission: Admission
    """Who may be sent."""
    meters: Meters
    """Count what nobody watches."""
