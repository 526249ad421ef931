"""One simulated DynamoDB: its tables, and the operations on them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final, NoReturn

from dynamap_async.limits import CLIENT_REQUEST_TOKEN_SECONDS
from dynamap_async.simulated import wire
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.meters import written
from dynamap_async.simulated.store import Entry, Store, Table
from dynamap_async.simulated.streams import Streams
from dynamap_async.simulated.values import Item
from dynamap_async.simulated.writes import ItemWrite
from dynamap_async.units import Charge

ACCOUNT: Final = "000000000000"
REGION: Final = "eu-west-1"


class Service:
    """A DynamoDB in memory. One call at a time works on it, whichever thread it comes from.

    Args:
        clock: what the time is, in seconds since the epoch.
        region: the region that its ARNs name.
    """

    def __init__(self, clock: Callable[[], float] = time.time, region: str = REGION) -> None:
        self.store = Store()
        self.clock = clock
        self.region = region
        self.streams = Streams(self)
        self.tokens: dict[str, tuple[float, str, Any]] = {}
        """Token of a transaction -> when it was done, what it asked for, and its answer."""
        self.backups: dict[str, Any] = {}
        self._lock = threading.Lock()

    def execute(self, operation: str, body: bytes) -> tuple[int, bytes]:
        """Carry out one request, and return the status and the body of its answer.

        Args:
            operation: its name, such as ``GetItem``.
            body: its JSON.
        """
        from dynamap_async.simulated.operations import OPERATIONS

        try:
            shape, carry_out = OPERATIONS.get(operation) or _unknown(operation)
            request = wire.read(body)
            shape.admit(request)
            with self._lock:
                return 200, wire.answer(carry_out(self, request))
        except Refused as refused:
            return refused.status, wire.write(refused.answer())

    def table(self, name: str) -> Table:
        """Return a table.

        Args:
            name: its name or its ARN.

        Raises:
            Refused: there is none.
        """
        table = self.store.tables.get(name.rpartition("/")[2] if name.startswith("arn:") else name)
        if table is None:
            raise Refused("ResourceNotFoundException", "Requested resource not found")
        return table

    def described(self, name: str) -> Table:
        """Return a table, for the operations whose error names it.

        Raises:
            Refused: there is none.
        """
        try:
            return self.table(name)
        except Refused:
            raise Refused(
                "ResourceNotFoundException", f"Requested resource not found: Table: {name} not found"
            ) from None

    def remembered(self, token: str, asked: str) -> Any:
        """Return what a transaction did that had this token; None if there was none.

        Raises:
            Refused: it asked for something else.
        """
        now = self.clock()
        for other, (at, _asked, _done) in list(self.tokens.items()):
            if at + CLIENT_REQUEST_TOKEN_SECONDS < now:
                del self.tokens[other]
        if token not in self.tokens:
            return None
        _at, before, done = self.tokens[token]
        if before != asked:
            raise Refused(
                "IdempotentParameterMismatchException",
                "An error occurred (IdempotentParameterMismatchException): the token was used with other parameters",
            )
        return done

    def remember(self, token: str, asked: str, done: Any) -> None:
        """Keep what a transaction did, for the ten minutes in which its token means it."""
        self.tokens[token] = (self.clock(), asked, done)

    def arn(self, table: str) -> str:
        """Return the ARN of a table."""
        return f"arn:aws:dynamodb:{self.region}:{ACCOUNT}:table/{table}"

    def carry_out(self, write: ItemWrite, old: Item | None) -> tuple[Entry | None, Entry | None, Charge]:
        """Do a write whose condition holds, and return the entry before, the entry after, and what it takes.

        Args:
            write: the write.
            old: the item that is there, as the caller read it; it may be changed.

        Raises:
            Refused: the update does not fit the item.
        """
        item, size = write.new_item(old)
        return self.replace(write.table, write.position, item, size)

    def replace(
        self, table: Table, position: bytes, item: Item | None, size: int
    ) -> tuple[Entry | None, Entry | None, Charge]:
        """Store an item, or remove it, and tell the table's stream."""
        before, changes = table.replace(position, item, size)
        after = table.entries.get(position)
        self.streams.note(table, before, after)
        return before, after, written(before, size, changes)


def _unknown(operation: str) -> NoReturn:
    raise Refused("UnknownOperationException", f"the simulated DynamoDB does not know the operation {operation}")


def required(body: dict[str, Any], name: str) -> Any:
    """Return a member of a request that must be there.

    Raises:
        Refused: it is not.
    """
    value = body.get(name)
    if value is None:
        raise invalid(f"The parameter '{name}' is required but was not present in the request")
    return value
