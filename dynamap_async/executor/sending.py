"""A request on its way: what is known of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from dynamap_async.config import Priority
from dynamap_async.errors import Outcome, ServiceError, TransportError
from dynamap_async.executor.account import Account
from dynamap_async.executor.budget import Estimate
from dynamap_async.executor.governor.tickets import Ticket
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
    lost: ServiceError | TransportError | None = None
    """How the last attempt to write ended, where all that is sent since is a question for the stored item."""
    first_sent: float | None = None
    """The event loop's time of the first attempt; None before it."""
    waiter_id: int = 0
    """The number of whoever waits for it, where that is one; see ``waiter_ids``."""
    exchange_id: int = 0
    """The number of the exchange that carried it last; 0 for none."""
    coalesced: bool = False
    """Whether it was counted as sent together with others."""
    since: float = 0.0
    """The event loop's time at which it was asked for."""
    idle_since: float = 0.0
    """The event loop's time at which it last failed or was left over."""
    account: Account | None = None
    """Who pays for it, where that is one; None for the session's own account. See ``payers``."""
    reserved: Estimate | None = None
    """What is reserved for it, until it is answered or given up."""
    joined: bool = False
    """Whether several wait for it, or have waited."""
    ticket: Ticket | None = None
    """Its right to be sent, where units are counted; None where they are not."""

    def begin_attempt(self) -> None:
        """Take note that an attempt begins now."""
        self.attempts += 1
        if self.first_sent is None:
            self.first_sent = asyncio.get_running_loop().time()

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
    def parts(self) -> int:
        """How many requests of single items it stands for, all of which were asked for together: of a chunk several."""
        return 1

    @property
    def waiting(self) -> int:
        """How many still wait for it."""
        return 1

    @property
    def waiter_ids(self) -> tuple[int, ...]:
        """The numbers of those who still wait for it."""
        return (self.waiter_id,)

    @property
    def payers(self) -> tuple[Account | None, ...]:
        """The accounts of those who still wait for it, one for each."""
        return (self.account,)

    @property
    def priority(self) -> Priority:
        """The most urgent priority of those who wait for it."""
        return Priority.INTERACTIVE if self.account is None else self.account.priority

    @property
    def deadline(self) -> float:
        """The event loop's time after which its scope waits no more."""
        return inf if self.account is None else self.account.deadline

    @property
    def out_of_requests(self) -> bool:
        """Whether nobody who waits for it may send another request."""
        return all(account is not None and account.out_of_requests for account in self.payers)

    def check_requests(self) -> None:
        """Raise CapacityBudgetExceededError if its scope may send no further request.

        One that an earlier attempt may have carried out is sent all the same, so that its outcome becomes known.
        """
        if self.account is not None and self.account.out_of_requests and not self.outcome_unknown:
            raise self.account.refusal(self.request)

    def waited(self, now: float) -> float:
        """Return how long those who still wait for it have waited since it was last answered, in sum."""
        return now - max(self.since, self.idle_since)

    def waits(self, now: float) -> Sequence[float]:
        """Return the same for each of them."""
        return (self.waited(now),)

    def give_back(self) -> None:
        """Give back what is reserved for it, if that was not done yet."""
        if self.reserved is not None and self.account is not None:
            self.account.give_back(self.reserved)
            self.reserved = None
