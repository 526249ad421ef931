"""A request on its way: what is known of it."""

from dataclasses import dataclass

import anyio

from dynamap_async.errors import Outcome
from dynamap_async.request import Request


@dataclass(slots=True, eq=False)
class Sending:
    """A request on its way: what is known so far, for whoever has to give it up."""

    request: Request
    attempts: int = 0
    """How often it was put on the wire."""
    on_the_wire: bool = False
    """Whether an attempt is under way now, and not a wait for a slot or between two attempts."""
    outcome_unknown: bool = False
    """Whether an earlier attempt may have written without an answer."""
    first_sent: float | None = None
    """The event loop's time of the first attempt; None before it."""
    waiter_id: int = 0
    """The number of whoever waits for it, where that is one; see ``waiter_ids``."""
    exchange_id: int = 0
    """The number of the exchange that carried it last; 0 for none."""
    coalesced: bool = False
    """Whether it was counted as sent together with others."""

    def begin_attempt(self) -> None:
        """Take note that an attempt begins now."""
        self.attempts += 1
        if self.first_sent is None and self.request.resendable_seconds is not None:
            self.first_sent = anyio.current_time()

    def is_too_late(self, at: float) -> bool:
        """Return whether an attempt at this time could do again what an earlier one may have done."""
        seconds = self.request.resendable_seconds
        if not self.outcome_unknown or seconds is None or self.first_sent is None:
            return False
        return at > self.first_sent + seconds

    @property
    def outcome(self) -> Outcome:
        """What is known of a request that is given up now."""
        return Outcome.UNKNOWN if self.on_the_wire or self.outcome_unknown else Outcome.NOT_SENT

    @property
    def waiting(self) -> int:
        """How many still wait for it."""
        return 1

    @property
    def waiter_ids(self) -> tuple[int, ...]:
        """The numbers of those who still wait for it."""
        return (self.waiter_id,)
