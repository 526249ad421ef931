"""Writes of many items of one table, in calls that are full."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

from dynamap_async.request import Request
from dynamap_async.stored.parts import BulkChunk
from dynamap_async.wire import Body


class WriteChunk(BulkChunk):
    """So many puts or deletes of distinct items of one table as fill a call.

    Args:
        asked: what each write is, but for its item.
    """

    __slots__ = ("asked", "identities", "size")

    def __init__(self, asked: Request, identities: Collection[str]) -> None:
        self.asked: Request = asked
        self.size: int = len(identities)
        self.identities: Collection[str] = identities

    @abstractmethod
    def entries(self) -> Any:
        """Return what the call says of the items, in order."""

    def call(self) -> Request:
        """Return the BatchWriteItem request."""
        table = self.asked.table
        body = {"RequestItems": {table: self.entries()}}
        return Request(operation="BatchWriteItem", body=body, table=table, writes=True)

    def takes(self, answer: Body) -> bool:
        """Return whether no item is left over."""
        return not answer.get("UnprocessedItems")


def delete_entries(keys: Sequence[Any]) -> list[Any]:
    """Return what a BatchWriteItem says of items that it deletes."""
    return [{"DeleteRequest": {"Key": key}} for key in keys]
