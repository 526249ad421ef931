"""A request on its way: what is known of it, who waits for it, and how each of them learns the outcome.

Invariant: every waiter's future is settled exactly once, with its own answer or its own instance of an error, or is
cancelled by its own task; no waiter's cancellation reaches another.
"""

from __future__ import annotations

import asyncio
import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any, Final, TypeAlias, TypeVar

from dynamap_async.config import Priority
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DynamapError, Outcome, ServiceError, TransportError
from dynamap_async.executor.accounts import OUT_OF_REQUESTS, Account, HalfUnits, Hold
from dynamap_async.executor.consumed import Spending
from dynamap_async.executor.pacing.tickets import Ticket
from dynamap_async.limits import READ_UNIT_BYTES
from dynamap_async.native.json_text import json_bytes
from dynamap_async.request import Request
from dynamap_async.units import read_half_units, write_half_units
from dynamap_async.wire import Body, WireItem

E = TypeVar("E", bound=Exception)


@dataclass(slots=True, eq=False)
class Waiter:
    """One task that waits for one item."""

    future: asyncio.Future[Body]
    deadline: float
    """The event loop's time after which the task will not wait any more."""
    number: int = 0
    """Its number among all that wait in a session, and have waited."""
    since: float = 0.0
    """The event loop's time at which it asked."""
    account: Account | None = None
    """Who pays for its part; None for the session's own account."""
    reserved: HalfUnits | None = None
    """What is reserved for it, until it is answered, given up or cancelled."""

    @property
    def priority(self) -> Priority:
        """How urgent it is."""
        return Priority.INTERACTIVE if self.account is None else self.account.priority

    def give_back(self) -> None:
        """Give back what is reserved for it, if that was not done yet."""
        if self.reserved is not None and self.account is not None:
            self.account.give_back(self.reserved)
            self.reserved = None

    def ended(self, future: asyncio.Future[Body]) -> None:
        """Give back what is reserved. Called when the future is done."""
        self.give_back()


class Chunk(ABC):
    """Requests of one operation on one table, for distinct items, that one caller asks for and that fill a call."""

    __slots__ = ()

    asked: Request
    """What each of them is, but for its item."""
    size: int
    """How many they are."""
    json_bytes: int = 0
    """The length of the JSON of what is written; 0 for reads and deletes."""
    identities: Collection[str] = ()
    """The items that are written; none for reads, which take no turns."""
    waits: bool = False
    """Whether it waits for units as a whole; otherwise its requests do, where there are none at once."""

    @abstractmethod
    def call(self) -> Request:
        """Return the request that carries all of them."""

    @abstractmethod
    def requests(self) -> Sequence[Request]:
        """Return the request of each item; asked for once, where it is taken apart."""

    def is_in_all_indexes(self) -> bool:
        """Return whether all of its items have entries in all global indexes, as far as can be told."""
        return True

    @abstractmethod
    def takes(self, answer: Body) -> bool:
        """Take the answer of the call, if it is plain: it says of each item what became of it, and no more.

        Args:
            answer: what came back.

        Returns:
            False where it is not plain.
        """


Apart: TypeAlias = Callable[[Sequence["asyncio.Future[Body]"]], None]
"""Takes the futures of the requests of a chunk that was taken apart; its own is never done then."""


@dataclass(slots=True)
class Supposed:
    """What attempts whose answers were lost are supposed to have taken, until an answer to another one tells."""

    operation: str
    """The API operation that was sent."""
    attempts: int = 0
    halves: int = 0
    """Units, in halves."""


class CallState(Enum):
    """How far a call has come."""

    WAITING = "waiting"
    """It waits to be sent, for the first time or again: for units, for its turn, for a slot, or in a backoff."""
    ON_THE_WIRE = "on the wire"
    """An attempt is under way."""
    ENDED = "ended"
    """Each of its waiters has an answer or an error, or has left."""
    APART = "apart"
    """It was a chunk, and the calls of its single requests go on in its place."""


# Looking up a member of an enumeration takes ten times as long as a name of a module, and each request needs several.
_WAITING: Final = CallState.WAITING
_ON_THE_WIRE: Final = CallState.ON_THE_WIRE
_ENDED: Final = CallState.ENDED
_INTERACTIVE: Final = Priority.INTERACTIVE


class Call:
    """One or more requests of one kind on their way together: a lone request, or a chunk that one caller asked for.

    Many may wait for a lone read. One waits for all of a chunk, which is counted item by item all the same.

    Its lane and the carrier move it on: ``begin_attempt`` puts it on the wire, ``come_back`` lets it wait again, and
    ``answer``, ``fail``, ``end`` and ``leave_to_parts`` end its way. Each says in which state a call may be.
    """

    # What a new call has stands in the class: most calls change few of them, and one is made for each request.
    state: CallState = _WAITING
    attempts: int = 0
    """How often it was put on the wire, attempts that do not count left out."""
    outcome_unknown: bool = False
    """Whether an earlier attempt may have written without an answer."""
    lost: ServiceError | TransportError | None = None
    """How the last attempt to write ended, where all that is sent since is a question for the stored item."""
    first_sent: float | None = None
    """The event loop's time of the first attempt; None before it."""
    exchange_id: int = 0
    """The number of the exchange that carried it last; 0 for none."""
    coalesced: bool = False
    """Whether it was counted as sent together with others."""
    idle_since: float = 0.0
    """The event loop's time at which it last failed or was left over."""
    joined: bool = False
    """Whether it may have more than one part or waiter."""
    ticket: Ticket | None = None
    """Its right to be sent, where units are counted; None where they are not."""
    patient: bool = False
    """Whether it is a part of a call for many items, which waits for units for as long as it takes."""
    patience: asyncio.TimerHandle | None = None
    """When it is sent though its units have not come; None where it waits for them for as long as it takes."""
    uncounted: int = 0
    """How many of its attempts were refused for want of capacity while others were served: it waited, no more."""
    holds: tuple[Hold, ...] = ()
    """What is set aside for it of the budgets of those who wait for it, where they have any."""
    supposed: Supposed | None = None
    """What its attempts are supposed to have taken whose answers were lost; None where none was."""
    task: asyncio.Task[Any] | None = None
    """The task that carries it, or carried it last."""
    urgency: Priority = _INTERACTIVE
    """The priority of the queue that it was put into."""
    lifted: Priority = Priority.BACKGROUND
    """The most urgent priority of those that came to wait behind it in a line of writes, whatever became of them."""
    refused_in_batch: bool = False
    """Whether it travels alone, to see whether it is accepted then."""
    left: int = 0
    """How many of the first waiters are known to wait no more."""
    since: float = 0.0
    """The event loop's time at which it was asked for."""
    parts: int = 1
    """How many requests it stands for."""
    identity: str = ""
    """The table and key of the one item that it is about, equal for equal keys."""
    identities: tuple[str, ...] = ()
    """Those of all items that it takes turns for: of a transaction, or a chunk of writes, more than one."""
    chunk: Chunk | None = None
    """The requests, where they are more than one."""
    apart: Apart | None = None
    """Called when the chunk is taken apart, unless nobody waits for it any more."""
    consistent: bool = False
    """Whether it is a consistent read."""

    def __init__(
        self,
        request: Request,
        waiters: list[Waiter],
        chunk: Chunk | None = None,
        apart: Apart | None = None,
        *,
        consistent: bool = False,
        patient: bool = False,
    ) -> None:
        """Create a call that was not sent yet.

        Args:
            request: what is asked for; of a chunk what each request is, but for its item.
            waiters: who waits for it.
            chunk: the requests, where they are more than one.
            apart: called when the chunk is taken apart, unless nobody waits for it any more.
            consistent: whether it is a consistent read.
            patient: whether it is a part of a call for many items.
        """
        self.request: Request = request
        self.waiters: list[Waiter] = waiters
        if waiters:
            self.since = waiters[0].since
        if consistent:
            self.consistent = True
        if patient:
            self.patient = True
        if chunk is not None:
            self.chunk, self.apart = chunk, apart
            self.parts, self.identities, self.joined = chunk.size, tuple(chunk.identities), True
        elif request.target is not None:
            self.identity = request.target.identity
            self.identities = (self.identity,)
        elif request.targets:
            self.identities = tuple([target.identity for target in request.targets])
            self.identity = self.identities[0]

    @property
    def on_the_wire(self) -> bool:
        """Whether an attempt is under way now."""
        return self.state is _ON_THE_WIRE

    def part(self, request: Request, waiter: Waiter, ticket: Ticket | None) -> Call:
        """Return the call of one of a chunk's requests, as far on its way as the chunk is.

        Args:
            request: the request.
            waiter: who waits for it.
            ticket: its right to be sent, where the chunk had one.
        """
        part = Call(request, [waiter])
        part.attempts, part.state, part.task = self.attempts, self.state, self.task
        part.exchange_id, part.first_sent = self.exchange_id, self.first_sent
        part.coalesced, part.idle_since = self.coalesced, self.idle_since
        part.patient, part.uncounted, part.ticket, part.lifted = self.patient, self.uncounted, ticket, self.lifted
        return part

    def begin_attempt(self, now: float) -> bool:
        """Put a call that waits on the wire, if anybody still waits for it; return whether that is so.

        Args:
            now: the event loop's time.
        """
        if not (self.wanted if self.joined else not self.waiters[0].future.done()):
            return False
        assert self.state is _WAITING  # noqa: S101 - a call is carried once at a time
        self.state = _ON_THE_WIRE
        self.attempts += 1
        if self.first_sent is None:
            self.first_sent = now
        return True

    def come_back(self) -> None:
        """Return from the wire to waiting, after an attempt that did not end the call."""
        if self.state is _ENDED:
            return  # it was given up during the attempt, because the session closes
        assert self.state is _ON_THE_WIRE  # noqa: S101 - only what was sent comes back
        self.state = _WAITING

    def discount_attempt(self) -> None:
        """Take the last attempt off the count: it failed because of others, or the answer had no room for the item."""
        assert self.state is not _ON_THE_WIRE  # noqa: S101 - the attempt is over
        self.attempts -= 1

    def note_failure(self, *, waited: bool, may_have_written: bool, is_final: bool) -> None:
        """Note what a failed attempt means for later ones.

        Args:
            waited: whether it was refused for want of capacity while others were served, so that it was but a wait.
            may_have_written: whether it may have been carried out.
            is_final: whether its answer speaks for all earlier attempts, too.
        """
        if waited:
            self.uncounted += 1
        self.outcome_unknown = (self.outcome_unknown or may_have_written) and not is_final

    def ask_instead(self, lost: ServiceError | TransportError, question: Request) -> None:
        """Send a question for the stored item from now on, in place of a write that must not be done twice.

        Args:
            lost: how the last attempt to write ended.
            question: what is sent.
        """
        self.lost = lost
        self.request = question

    def travel_alone(self) -> None:
        """Share no request with others from now on, to see whether it is accepted then."""
        self.refused_in_batch = True

    def set_aside(self, hold: Hold) -> None:
        """Keep what is set aside for it of a budget, until it ends."""
        self.holds = (*self.holds, hold)

    def end(self) -> None:
        """End a call, in whichever state it is, that nobody waits for any more."""
        self.state = _ENDED

    def leave_to_parts(self) -> None:
        """Mark a chunk as taken apart: the calls of its single requests go on in its place."""
        self.state = CallState.APART

    def join(self, waiter: Waiter) -> None:
        """Add one more waiter."""
        self.waiters.append(waiter)
        self.joined = True

    def lift(self, priority: Priority) -> None:
        """Raise the priority to that of a call that has come to wait behind this one."""
        self.lifted = min(self.lifted, priority)

    def is_too_late(self, at: float) -> bool:
        """Return whether an attempt at this time could do again what an earlier one may have done."""
        seconds = self.request.resendable_seconds
        if not self.outcome_unknown or seconds is None or self.first_sent is None:
            return False
        return at > self.first_sent + seconds

    @property
    def outcome(self) -> Outcome:
        """What is known of a call that is given up now."""
        return Outcome.UNKNOWN if self.on_the_wire or self.outcome_unknown else Outcome.NOT_SENT

    @property
    def wanted(self) -> bool:
        """Whether anybody still waits."""
        # Whoever is done stays so, and is looked at once: thousands may wait for one key, and leave together.
        while self.left < len(self.waiters):
            if not self.waiters[self.left].future.done():
                return True
            self.left += 1
        return False

    @property
    def waiting(self) -> int:
        """How many requests are still waited for, each waiter of a lone one counted."""
        if self.chunk is not None:
            return self.parts if self.wanted else 0
        return sum([not waiter.future.done() for waiter in self.waiters])

    @property
    def numbers(self) -> Sequence[int]:
        """The numbers of all who have waited; of a chunk one for each item."""
        first = self.waiters[0].number
        return range(first, first + self.parts) if self.parts > 1 else [waiter.number for waiter in self.waiters]

    @property
    def waiter_ids(self) -> tuple[int, ...]:
        """The numbers of those who still wait; of a chunk one for each item."""
        if self.parts > 1:
            return tuple(self.numbers) if self.wanted else ()
        return tuple(waiter.number for waiter in self.waiters if not waiter.future.done())

    @property
    def payers(self) -> tuple[Account | None, ...]:
        """The accounts of those who still wait, one for each."""
        return tuple(waiter.account for waiter in self.waiters if not waiter.future.done())

    @property
    def priority(self) -> Priority:
        """The most urgent priority of those who wait for it, or behind it."""
        if len(self.waiters) == 1 and self.waiters[0].account is None and not self.waiters[0].future.done():
            return _INTERACTIVE  # as most are
        return min([self.lifted, *[each.priority for each in self.waiters if not each.future.done()]])

    @property
    def out_of_requests(self) -> bool:
        """Whether every waiter has used up its request budget."""
        return all(account is not None and account.out_of_requests for account in self.payers)

    def waited(self, now: float) -> float:
        """Return how long those who still wait have waited since it was last answered, in sum."""
        return sum(self.waits(now))

    def waits(self, now: float) -> Sequence[float]:
        """Return the same for each of them: of a chunk for its one payer, all items together."""
        idle, parts = self.idle_since, self.parts
        return [parts * (now - max(each.since, idle)) for each in self.waiters if not each.future.done()]

    def give_back(self) -> None:
        """Give back what is reserved for it, if that was not done yet."""
        for waiter in self.waiters:
            waiter.give_back()
        holds, self.holds = self.holds, ()  # which refer to this call
        for hold in holds:
            hold.give_back()

    @property
    def is_held(self) -> bool:
        """Whether it waits until the budget of its scope has room for it."""
        return any(hold.awaited is not None for hold in self.holds)

    def answer(self, body: Body) -> None:
        """Give every waiter the answer, and end. Each waiter decodes an instance of its own."""
        self.state = _ENDED
        for waiter in self.waiters:
            if not waiter.future.done():
                waiter.future.set_result(body)

    def fail(self, error: Exception) -> None:
        """Give every waiter an instance of the error of its own, so that tracebacks do not mix, and end."""
        self.state = _ENDED
        for waiter in self.waiters:
            _fail(waiter, error)

    def check_requests(self) -> None:
        """Raise CapacityBudgetExceededError if the scope of its one waiter may send no further request.

        One that an earlier attempt may have carried out is sent all the same, so that its outcome becomes known.
        """
        account = self.waiters[0].account
        if account is not None and account.out_of_requests and not self.outcome_unknown:
            raise account.refusal(self.request)

    def refuse_those_out_of_requests(self) -> None:
        """Fail the waiters whose scopes may send no further request, unless an earlier attempt may have written."""
        if self.outcome_unknown:
            return
        for waiter in self.waiters:
            if waiter.account is not None and waiter.account.out_of_requests and not waiter.future.done():
                waiter.future.set_exception(waiter.account.refusal(self.request))

    def fail_those_due(self, until: float, error: Exception) -> None:
        """Fail the waiters whose deadline is before ``until``, when the next attempt would begin."""
        for waiter in self.waiters:
            if waiter.deadline < until:
                _fail_with_note(waiter, error, "not sent again: the caller's deadline is too near")

    def fail_those_out_of_requests(self, error: Exception) -> None:
        """Fail the waiters whose scopes may send no further request."""
        for waiter in self.waiters:
            if waiter.account is not None and waiter.account.out_of_requests:
                _fail_with_note(waiter, error, OUT_OF_REQUESTS)


def own_instance(error: E) -> E:
    """Return a copy of an error, with its facts, its cause and its notes.

    An error of ours explains itself and comes without a traceback; any other is a defect, whose origin is kept.
    """
    try:
        own = copy.copy(error)
    except Exception:  # noqa: BLE001 - a class whose arguments are not its constructor's
        own = type(error).__new__(type(error), *error.args)
        own.__dict__.update(error.__dict__)
    if hasattr(error, "__notes__"):
        own.__notes__ = list(error.__notes__)
    own.__cause__, own.__context__ = error.__cause__, error.__context__
    own.__suppress_context__ = error.__suppress_context__
    return own if isinstance(error, DynamapError) else own.with_traceback(error.__traceback__)


def _fail_with_note(waiter: Waiter, error: Exception, note: str) -> None:
    own = own_instance(error)
    own.add_note(note)
    _fail(waiter, own)


def _fail(waiter: Waiter, error: Exception) -> None:
    if not waiter.future.done():
        waiter.future.set_exception(own_instance(error))


FailedCall = tuple[Call, ServiceError | TransportError]
"""A call, and what failed it."""

Measure = Callable[[WireItem], int]
"""Returns the size of an item in bytes, as units count it."""


def json_size(item: WireItem) -> int:
    """Return the length of an item's JSON, which is in about the same proportion to others' as its size."""
    return json_bytes(item)


@dataclass(slots=True, eq=False)
class FinishedExchange:
    """An exchange that is over, and what it took."""

    request: Request
    """What was sent."""
    carried: Sequence[Call]
    """What was asked for: several requests where it was a batch."""
    spent: tuple[Spending, ...] | None
    """What it took; None where that is not known."""
    measure: Measure
    error: BaseException | None = None
    """In what it ended; None for an answer."""
    left_over: Sequence[Call] = ()
    """What the answer did not get to."""
    throttled: Sequence[Call] = ()
    """What was refused, or left over, for want of capacity."""
    parts: Mapping[str, Body] = field(default_factory=dict[str, Body])
    """Of a batch, what the answer says of each identity."""

    def served(self) -> Sequence[Call]:
        """Return what the units were taken for: what was carried and not left over."""
        if not self.left_over:
            return self.carried
        left = set(self.left_over)
        return [sending for sending in self.carried if sending not in left] or self.carried

    def divided(self) -> list[tuple[Call, list[Spending]]]:
        """Return what each of the requests that were served took, those of a table in proportion to its items' units.

        The answer speaks of a batch as a whole; the service's arithmetic says how large each one's part of it is.
        """
        served, spent = self.served(), self.spent or ()
        if len(served) == 1:
            return [(served[0], list(spent))]
        shares: dict[Call, list[Spending]] = {sending: [] for sending in served}
        weights = {sending: self._weight(sending) for sending in served}
        for spending in spent:
            concerned = [each for each in served if each.request.table == spending.place.table] or served
            parts = divide(spending.halves, [weights[sending] for sending in concerned])
            for sending, halves in zip(concerned, parts, strict=True):
                if halves:
                    shares[sending].append(spending._replace(halves=halves))
        return list(shares.items())

    def _weight(self, sending: Call) -> int:
        request = sending.request
        if request.writes:
            return write_half_units(request.target.size_bytes if request.target else 0)
        item = self.parts.get(request.target.identity, {}).get("Item") if request.target else None
        try:
            # JSON is never shorter than what the service counts, and measuring takes longer.
            size = self.measure(item) if item and json_size(item) > READ_UNIT_BYTES else 0
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            size = 0  # an item of no known form is its readers' error to report
        return read_half_units(size)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """Return ``total`` in whole parts, in proportion to weights by largest remainder, the first of equal ones first."""
    weight = sum(weights)
    if not weight:
        return divide(total, [1] * len(weights)) if weights else []
    parts = [total * each // weight for each in weights]
    by_remainder = sorted(range(len(weights)), key=lambda at: -(total * weights[at] % weight))
    for at in by_remainder[: total - sum(parts)]:
        parts[at] += 1
    return parts
