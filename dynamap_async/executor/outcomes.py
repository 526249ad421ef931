"""Outcomes: what the end of an exchange means for each of its requests.

Invariant: every request of an exchange is answered, given up, queued again, or waits out a backoff; none is lost, and
none learns of another's error.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Final

from dynamap_async.errors import ServiceError, TransportError
from dynamap_async.executor.alone import Alone
from dynamap_async.executor.backoff import Backoffs, Failed
from dynamap_async.executor.batch import Leftovers, parts_of_refused
from dynamap_async.executor.failures import own_failure, refused_by_name, refuses_some, unprocessed
from dynamap_async.executor.means import Means
from dynamap_async.executor.pending import Pending
from dynamap_async.executor.retry import recognised, unrecognised
from dynamap_async.request import Request
from dynamap_async.transport import UNREADABLE, damaged
from dynamap_async.wire import Body


class Outcomes(ABC):
    """Answers, sends again, splits and gives up what exchanges carried."""

    def __init__(self, means: Means) -> None:
        """Begin with nothing open.

        Args:
            means: what it sends with.
        """
        self._journal: Final = means.journal
        self._retries: Final = means.retries
        self._admission: Final = means.admission
        self._ended: Final = means.ended
        self._alone: Final = Alone()
        self._backoffs: Final = Backoffs(means.retries, self._again, self._close_one)
        self._parts_of_refused: Final[deque[list[Pending]]] = deque()
        self.open: Final[set[Pending]] = set()
        """Every request that is neither answered nor given up."""

    @abstractmethod
    def _again(self, batch: Sequence[Pending]) -> None:
        """Queue requests that were sent before, ahead of those that came later."""

    @abstractmethod
    def _wake(self) -> None:
        """See to it that what is queued is sent."""

    @abstractmethod
    def _together(self, batch: Sequence[Pending]) -> Request:
        """Return the request of one call for several items."""

    @abstractmethod
    def _parts(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        """Return what the answer to a call for several items says of each identity, and what it left over."""

    def _close_one(self, pending: Pending) -> None:
        """Take note that a request is answered, given up or withdrawn."""
        self.open.discard(pending)
        if pending.ticket is not None:
            self._admission.leave(pending)
        self._ended()

    def _give_up(self, pending: Pending, error: Exception) -> None:
        pending.fail(error)
        self._close_one(pending)

    @abstractmethod
    def _learn(self, batch: Sequence[Pending], parts: dict[str, Body]) -> None:
        """Take note of what an answer says of the items of a table."""

    def _read(self, batch: Sequence[Pending], answer: Body) -> tuple[dict[str, Body], Leftovers]:
        if len(batch) == 1:
            return {batch[0].identity: answer}, Leftovers(frozenset(), frozenset())
        request = batch[0].request
        try:
            parts, leftovers = self._parts(batch, answer)
        except UNREADABLE as error:
            raise damaged(request, "the answer to its batch has entries of no known form") from error
        if not (parts.keys() | leftovers.all) <= {pending.identity for pending in batch}:
            raise damaged(request, "the answer to its batch speaks of items that were not asked for")
        self._learn(batch, parts)
        return parts, leftovers

    def _after_answer(self, batch: Sequence[Pending], parts: dict[str, Body], leftovers: Leftovers) -> None:
        self._retries.succeeded(max([pending.attempts for pending in batch]))
        cut: list[Pending] = []
        throttled: list[Pending] = []
        answered: list[Pending] = []
        for pending in batch:
            pending.on_the_wire = False
            if pending.identity in leftovers.cut:
                pending.attempts -= 1
                cut.append(pending)
            elif pending.identity in leftovers.throttled:
                throttled.append(pending)
            else:
                if pending.refused_in_batch:
                    self._alone.remember(pending.request.table)
                answered.append(pending)
        self._give_out(deque(answered), parts)
        if cut:
            self._again(cut)
        if throttled:
            self._backoffs.begin([(each, own_failure(self._retries, each, unprocessed(each))) for each in throttled])

    def _give_out(self, answered: deque[Pending], parts: dict[str, Body]) -> None:
        """Give every request its part of an answer."""
        for pending in answered:
            pending.answer(parts.get(pending.identity, {}))
            self._close_one(pending)

    def _failed(self, batch: Sequence[Pending], error: Exception) -> None:
        """Let an exchange have failed; whatever it is, those who wait must learn of it, and nobody else will."""
        if isinstance(error, (ServiceError, TransportError)):
            self._after_failure(batch, error)
        else:
            for pending in batch:
                self._give_up(pending, error)

    def _after_failure(self, batch: Sequence[Pending], error: ServiceError | TransportError) -> None:
        failed = [(pending, own_failure(self._retries, pending, error)) for pending in batch]
        for pending in batch:
            pending.on_the_wire = False
        if len(batch) > 1 and refuses_some(error):
            self._split(batch, error)
            return
        again: list[Failed] = []
        for pending, own in failed:
            if (answer := recognised(pending, own)) is not None:
                pending.answer(answer)
                self._close_one(pending)
            elif self._retries.worth_another(own, pending):
                again.append((pending, own))
            else:
                self._give_up(pending, unrecognised(pending, own))
        self._backoffs.begin(again)

    def _split(self, batch: Sequence[Pending], error: ServiceError | TransportError) -> None:
        """Send the parts of a refused batch apart, so that what is wrong with one item is that item's error only."""
        groups = parts_of_refused(batch, by_item=refused_by_name(error))
        self._journal.split(self._together(batch), batch, len(groups), error)
        for pending in batch:
            pending.attempts -= 1
        self._parts_of_refused.extend(groups)
        self._wake()


def left_over(batch: Sequence[Pending], leftovers: Leftovers) -> tuple[Sequence[Pending], Sequence[Pending]]:
    """Return what was left over, and what of that for want of capacity."""
    if not (left_over := leftovers.all):
        return (), ()
    throttled = [each for each in batch if each.identity in leftovers.throttled]
    return [each for each in batch if each.identity in left_over], throttled
