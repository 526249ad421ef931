"""What a library is asked to do, each time in the way that its own documentation recommends."""

from abc import ABC, abstractmethod
from typing import ClassVar


class Client(ABC):
    """One library, with its default retries.

    Args:
        endpoint: of the simulated table.
        policy: how this library gets to know the limit; the others have no such choice.
        writers: how many bulk writers work side by side, for libraries whose writer sends one request at a time.
        shelved: whether the table with an index is used, in which what is loaded in the background has entries.
    """

    distributions: ClassVar[tuple[str, ...]]
    """What is installed for it, for the versions in the results."""

    def __init__(self, endpoint: str, *, policy: str, writers: int, shelved: bool = False) -> None:
        self._endpoint = endpoint
        self._policy = policy
        self._writers = writers
        self._shelved = shelved

    @abstractmethod
    async def open(self) -> None:
        """Open the client."""

    @abstractmethod
    async def close(self) -> None:
        """Close it."""

    @abstractmethod
    async def load(self, names: list[str], *, background: bool) -> None:
        """Write an item for each name; ``background`` where handlers work beside it."""

    @abstractmethod
    async def get(self, name: str) -> object:
        """Read one item; it may be missing."""

    @abstractmethod
    async def put(self, name: str) -> object:
        """Write one item."""

    async def count(self, name: str) -> object:
        """Add to the counter of one item, which is there."""
        raise NotImplementedError

    async def scan(self, segments: int) -> None:
        """Read the whole table in the background, in so many segments and pages of 100 items."""
        raise NotImplementedError

    def unpaced(self) -> "Client":
        """Return a client of the same library that does not pace; it is not open."""
        raise NotImplementedError

    async def usage(self, tasks: int, operations: int) -> dict[str, float]:
        """Read and write, some of it in vain and some of it given up; return the units that the library counts."""
        raise NotImplementedError

    async def spend_budgets(self) -> None:
        """Do what takes much, each in a scope that may take 50 units."""
        raise NotImplementedError
