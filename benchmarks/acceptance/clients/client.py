"""What a library is asked to do, each time in the way that its own documentation recommends."""

from abc import ABC, abstractmethod
from typing import ClassVar


class Client(ABC):
    """One library, with its default retries."""

    distributions: ClassVar[tuple[str, ...]]
    """What is installed for it, for the versions in the results."""

    def __init__(self, endpoint: str, *, policy: str, writers: int) -> None:
        """Keep the settings.

        Args:
            endpoint: of the simulated table.
            policy: how this library gets to know the limit; the others have no such choice.
            writers: how many bulk writers work side by side, for libraries whose writer sends one request at a time.
        """
        self._endpoint = endpoint
        self._policy = policy
        self._writers = writers

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
