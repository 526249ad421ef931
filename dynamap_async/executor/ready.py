"""Ready requests: what can be sent now, in the order in which it came. Pure.

Invariant: of one call, no two requests are about the same item.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from dynamap_async.executor.pending import Pending


@dataclass(slots=True)
class Taken:
    """What was taken out of a queue."""

    batch: list[Pending] = field(default_factory=list[Pending])
    """The requests of one call."""
    withdrawn: list[Pending] = field(default_factory=list[Pending])
    """Those that nobody waits for any more."""


class Ready:
    """A queue of requests that wait for a slot."""

    def __init__(self) -> None:
        self._requests: deque[Pending] = deque()

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, pending: Pending) -> None:
        """Put a request last."""
        self._requests.append(pending)

    def add_first(self, pending: Pending) -> None:
        """Put a request that was sent before those that came later."""
        self._requests.appendleft(pending)

    def clear(self) -> None:
        """Forget everything."""
        self._requests.clear()

    def take(self, most: int, most_bytes: int, may_share: Callable[[Pending], bool]) -> Taken:
        """Take the requests of the next call: the first, and those after it that can travel with it.

        Args:
            most: how many requests the call may hold.
            most_bytes: how much they may weigh together.
            may_share: whether a request may travel with others.
        """
        taken = Taken()
        identities: set[str] = set()
        passed_over: list[Pending] = []
        size = 0
        while self._requests and len(taken.batch) < most:
            pending = self._requests.popleft()
            size_bytes = pending.target.size_bytes
            if not pending.wanted:
                taken.withdrawn.append(pending)
            elif not taken.batch and not may_share(pending):
                taken.batch.append(pending)
                break
            elif pending.identity in identities or size + size_bytes > most_bytes or not may_share(pending):
                passed_over.append(pending)
            else:
                identities.add(pending.identity)
                taken.batch.append(pending)
                size += size_bytes
        self._requests.extendleft(reversed(passed_over))
        return taken
