"""The entrance: where single-item requests get the units that they need, and join the queues.

Invariant: an open request that was let in, and not taken out of its queue yet, is in one of three places: in line for
units, in a queue, or among those that were recalled and are asked for anew.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Container, Sequence
from contextvars import Context
from functools import partial
from typing import Final

from dynamap_async.config import Priority
from dynamap_async.executor.admission import Admission
from dynamap_async.executor.pending import Pending
from dynamap_async.executor.queues import Queues
from dynamap_async.executor.sealing import Sealing

_RECALLED_AT_ONCE: Final = 250
"""How many requests are asked for anew in one turn of the event loop: about 5 ms."""


class Entrance:
    """The way into the queues of one coalescer."""

    def __init__(
        self,
        admission: Admission,
        queues: Queues,
        sealing: Sealing,
        *,
        opened: Container[Pending],
    ) -> None:
        """Begin with nobody in it.

        Args:
            admission: who may be sent.
            queues: where those go who may.
            sealing: when what is queued becomes a call.
            opened: the requests that are neither answered nor given up.
        """
        self._admission: Final = admission
        self._queues: Final = queues
        self._sealing: Final = sealing
        self._open: Final = opened
        self._recalled: Final[deque[Pending]] = deque()
        self.take_apart: Callable[[Pending], Sequence[Pending]] = lambda pending: [pending]
        """Takes a chunk apart, because each of its requests has to wait for units of its own."""

    def let_in(self, pending: Pending) -> None:
        """Queue a request as soon as it has the units that it needs: at once, as a rule."""
        admission = self._admission
        free = admission.is_free(pending.request)
        if not free and pending.parts > 1:
            for part in self.take_apart(pending):
                self.let_in(part)
        elif free or admission.ask(pending, pending.priority, partial(self._go, pending)):
            queue = self._queues.of(pending)
            (queue.add_first if pending.attempts else queue.add)(pending)

    def _go(self, pending: Pending) -> None:
        """Queue a request that has waited for its units."""
        self._queues.of(pending).add(pending)
        self._sealing.hurry()
        self._sealing.wake()

    def lift(self, pending: Pending, priority: Priority) -> None:
        """Let a request go on with the priority of one more who waits for it, if that is more urgent."""
        if self._admission.waits(pending):
            self._admission.lift(pending, priority)
        elif priority < pending.urgency and self._queues.take_out(pending):
            self._queues.of(pending).add(pending)

    def recall(self, table: str) -> None:
        """Let what is queued for a table wait for units after all, a part of it in each turn of the event loop."""
        self._recalled.extend(self._queues.take_out_all(table))
        self._let_in_recalled()

    def clear(self) -> None:
        """Forget everything."""
        self._recalled.clear()

    def _let_in_recalled(self) -> None:
        left = _RECALLED_AT_ONCE
        while self._recalled and left > 0:
            pending = self._recalled.popleft()
            left -= pending.parts
            if pending in self._open:
                self.let_in(pending)
        self._sealing.wake()
        if self._recalled:
            asyncio.get_running_loop().call_soon(self._let_in_recalled, context=Context())
