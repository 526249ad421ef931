"""What a call for many items asks for: requests of single items, and chunks of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from dynamap_async.dataclass import dataclass
from dynamap_async.executor import Account, Chunk
from dynamap_async.request import Request

OperationT = TypeVar("OperationT")

Origin = tuple[float, Account | None]
"""The event loop's time after which nobody waits, and who pays."""


@dataclass(slots=True, eq=False)
class ItemRequest(Generic[OperationT]):
    """One request of a call for many items."""

    position: int
    """Its place in the call's input, from 0."""
    subject: Any
    """What the call was given: a key, an item or an operation."""
    operation: OperationT
    """What reads its answer; None where nothing has to."""
    request: Request
    elsewhere: bool = False
    """Whether it is carried out elsewhere, so that its future gives the result itself; see ``Flow.follow``."""
    group: None = None
    """It shares no chunk; see ``ChunkPart``."""

    @property
    def json_bytes(self) -> int:
        """The length of the JSON of what is written, where it is known."""
        return 0 if self.request.target is None else self.request.target.json_bytes


class BulkChunk(Chunk):
    """A chunk of a call for many items."""

    __slots__ = ("_singles",)

    _singles: list[ItemRequest[Any]]

    @abstractmethod
    def take_apart(self) -> list[ItemRequest[Any]]:
        """Return its requests, to be sent one by one."""

    @property
    def singles(self) -> list[ItemRequest[Any]]:
        """The same, made once."""
        try:
            return self._singles
        except AttributeError:
            self._singles = self.take_apart()
            return self._singles

    def requests(self) -> Sequence[Request]:
        """Return the request of each item."""
        return [asked.request for asked in self.singles]


class ChunkPart(ABC):
    """What a call for many items asks for of one item, as long as it may go in a chunk."""

    __slots__ = ()

    identity: Any
    """The item's: equal for equal keys."""
    json_bytes: int
    """The length of the JSON of what is written."""
    group: Any
    """Equal for those that may share a chunk."""

    @abstractmethod
    def asked(self) -> ItemRequest[Any]:
        """Return the part as a request of its own."""

    @abstractmethod
    def chunk(self, parts: Sequence[Any]) -> BulkChunk:
        """Return the chunk of this one and others of its group."""
