"""Queues: what can be sent now, by what may share a call and by how urgent it is. Pure.

Invariant: a request is in at most one queue, and the requests of one call come from one queue: of one group, and of one
priority.
"""

from collections import deque

from dynamap_async.config import Priority
from dynamap_async.executor.pending import Pending
from dynamap_async.executor.ready import Ready
from dynamap_async.request import tables_of


class Queues:
    """The queues of one coalescer."""

    def __init__(self, groups: int) -> None:
        """Begin with nothing queued.

        Args:
            groups: how many groups of requests there are that never share a call.
        """
        self._groups = [{priority: Ready() for priority in Priority} for _ in range(groups)]
        self._chunks = {priority: Ready() for priority in Priority}
        """A queue of their own, for each is a call by itself, and takes turns with the calls of all others."""
        every = (self._chunks, *self._groups)
        self._by_priority = {priority: deque(group[priority] for group in every) for priority in Priority}
        """Those of each priority, each in its turn."""
        self._all = [queue for group in every for queue in group.values()]

    def __bool__(self) -> bool:
        return any(self._all)

    def has(self, number: int) -> bool:
        """Tell whether so many requests wait in one of the queues, or in one as a chunk."""
        return any(len(queue) >= number for queue in self._all) or any(self._chunks.values())

    def of(self, pending: Pending) -> Ready:
        """Return the queue of a request, which is to be put there now."""
        pending.urgency = pending.priority
        # Consistent reads are a group of their own; of writes there is one group.
        return (self._groups[pending.consistent] if pending.parts == 1 else self._chunks)[pending.urgency]

    def urgency(self) -> Priority | None:
        """Return the priority of the most urgent that waits; None if nothing does."""
        for priority, queues in self._by_priority.items():
            if any(queues):
                return priority
        return None

    def next(self, priority: Priority) -> Ready | None:
        """Return the queue of a priority whose turn it is; None if nothing waits in any."""
        queues = self._by_priority[priority]
        for _ in range(len(queues)):
            queues.rotate(-1)
            if queue := queues[-1]:
                return queue
        return None

    def take_out(self, pending: Pending) -> bool:
        """Take one request out of its queue; tell whether it was in one."""
        for queue in self._all:
            if pending in queue:
                queue.remove(pending)
                return True
        return False

    def take_out_all(self, table: str) -> list[Pending]:
        """Take out all requests to a table; return them in their order."""
        taken: list[Pending] = []
        for queue in self._all:
            concerned = [each for each in queue if table in tables_of(each.request)]
            if concerned:
                left = [each for each in queue if table not in tables_of(each.request)]
                queue.clear()
                queue.extend(left)
                taken += concerned
        return taken

    def clear(self) -> None:
        """Forget everything."""
        for queue in self._all:
            queue.clear()
