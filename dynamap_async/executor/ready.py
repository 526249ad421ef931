"""Ready requests: what can be sent now, in the order in which it came. Pure.

Invariant: of one call, no two requests are about the same item.
"""

from collections import deque
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from typing import ClassVar

from dynamap_async.executor.pending import Pending


@dataclass(slots=True)
class Taken:
    """What was taken out of a queue."""

    batch: list[Pending] = field(default_factory=list[Pending])
    """The requests of one call."""
    withdrawn: list[Pending] = field(default_factory=list[Pending])
    """Those that nobody waits for any more."""


class Ready(deque[Pending]):
    """A queue of requests that wait for a slot."""

    __slots__ = ()

    add: ClassVar[Callable[[deque[Pending], Pending], None]] = deque[Pending].append
    """Puts a request last."""
    add_first: ClassVar[Callable[[deque[Pending], Pending], None]] = deque[Pending].appendleft
    """Puts a request that was sent before those that came later."""

    def take(self, most: int, most_bytes: int, alone: Container[str], weight: Callable[[Pending], int]) -> Taken:
        """Take the requests of the next call: the first, whatever it weighs, and those after it that can share it.

        What is passed over stays first in line, so that nothing waits for more than those before it.

        Args:
            most: how many requests the call may hold.
            most_bytes: how much they may weigh together.
            alone: the tables whose requests travel alone.
            weight: tells what a request weighs, in bytes.
        """
        taken = Taken()
        identities: set[str] = set()
        passed_over: list[Pending] = []
        size = 0
        while self and len(taken.batch) < most:
            pending = self.popleft()
            request = pending.request
            shares = request.batchable and not pending.refused_in_batch and not (alone and request.table in alone)
            if not pending.wanted:
                taken.withdrawn.append(pending)
            elif not taken.batch and not shares:
                taken.batch.append(pending)
                break
            elif pending.identity in identities or not shares:
                passed_over.append(pending)
            elif (more := size + weight(pending)) > most_bytes and taken.batch:
                passed_over.append(pending)
                break  # whoever comes after it may be lighter, but would go before it
            else:
                identities.add(pending.identity)
                taken.batch.append(pending)
                size = more
        self.extendleft(reversed(passed_over))
        return taken
