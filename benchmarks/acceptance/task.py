"""How much is asked, and what one worker does: told by who judges, read by the worker."""

import json
from dataclasses import asdict, dataclass
from typing import Literal, get_args

Job = Literal["load", "push", "free", "count", "handle", "usage", "budgets"]
JOBS: tuple[str, ...] = get_args(Job)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is asked."""

    write_units: int
    """The table's limit in a second."""
    seconds: float
    """How long a load takes at that limit."""
    rounds: int = 1
    """How often what is about latency is measured; medians are told."""

    @property
    def items(self) -> int:
        """How many items of one unit that is."""
        return int(self.write_units * self.seconds)


@dataclass(frozen=True, slots=True)
class Task:
    """One job."""

    seconds: float
    """The longest time of a load; how long everything else goes on."""
    job: Job = "load"
    items: int = 0
    """How many are written: by ``load`` and ``count``, by ``free`` in each round, by ``handle`` in the background; by
    ``push`` at the most."""
    tasks: int = 0
    """How many push, count or handle at the same time; ``free`` loads where there are none."""
    rounds: int = 0
    """How often ``free`` writes all of them with pacing, and as often without."""
    group: str = "load"
    """How the keys of what is written begin."""
    scans: int = 0
    """In how many segments the table is scanned in the background, again and again, where handlers are."""
    shelved: bool = False
    """Whether the table with an index is used, and the load's items are in that index."""
    next_items: int = 0
    """How many items, none of them in the index, are loaded afterwards."""
    warm_seconds: float = 0.0
    """For how long the client, before it is ready, idles after it has written a few items."""

    def told(self) -> str:
        """Return the task as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> "Task":
        """Read a task from JSON."""
        return cls(**json.loads(text))
