"""Tables that outlive a test, and are given to the next test that needs tables of the same models.

Invariant: a table is kept only if it is as it was made. An engine in this process is taken back to that, whatever the
test has done. Before others a test hands its tables on only if each of its requests was answered, none changed a table,
and all items that were left could be removed; all others are dropped.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DynamapError, ResourceNotFoundError, ServiceError
from dynamap_async.limits import BATCH_WRITE_REQUESTS
from dynamap_async.request import Request, about_tables, tables_of
from dynamap_async.stored import TableScan
from dynamap_async.transport import Transport
from dynamap_async.wire import Body

Keys: TypeAlias = Mapping[str, tuple[str, ...]]
"""Full table name -> the names of its key attributes."""

_MOST: Final = 32
"""As many sets of tables are kept: a model that a test function defines is never asked for again."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The tables of some models, without items."""

    prefix: str
    """What stands before their names."""
    keys: Keys


class KeptTables:
    """The tables that one process keeps: by the models that they are of."""

    def __init__(self) -> None:
        self._kept: dict[frozenset[Any], Kept] = {}

    def take(self, models: Iterable[Any]) -> Kept | None:
        """Return the tables of exactly these models, which are then no longer kept; None if there are none."""
        return self._kept.pop(frozenset(models), None)

    def keep(self, models: Iterable[Any], tables: Kept) -> Keys:
        """Keep the tables of some models, and return those that are dropped for them."""
        self._kept[frozenset(models)] = tables
        return self._kept.pop(next(iter(self._kept))).keys if len(self._kept) > _MOST else {}


class WatchedTransport:
    """A transport that is opened and closed elsewhere. It records what its requests do to tables.

    Args:
        transport: what it sends through.
        keys: the tables that are there; one is added when it is made, also if the answer was lost, and taken out when
            it is deleted.
        missing: says what to do about a table that was asked for and is not there, by its full name.
    """

    def __init__(
        self, transport: Transport, keys: dict[str, tuple[str, ...]], missing: Callable[[str], str] | None = None
    ) -> None:
        self._transport: Final = transport
        self._keys: Final = keys
        self._missing: Final = missing
        self._unanswered = 0
        self.changed_tables: bool = False
        """Whether a request was to make, change or delete a table."""

    def __repr__(self) -> str:
        return repr(self._transport)

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time."""
        return self._transport.max_connections

    @property
    def settled(self) -> bool:
        """Whether each request got its answer, so that none can still be carried out."""
        return not self._unanswered

    async def open(self) -> None:
        """Do nothing: it is open."""

    async def close(self) -> None:
        """Do nothing: it stays open."""

    async def send(self, request: Request) -> Body:
        """Send a request, and record what it does to tables."""
        self.changed_tables = self.changed_tables or (
            request.writes and request.operation not in request.service.metered
        )
        self._unanswered += 1
        try:
            answer = await self._transport.send(request)
        except ServiceError as error:
            self._unanswered -= 1
            if isinstance(error, ResourceNotFoundError) and self._missing is not None:
                for table in [each for each in tables_of(request) if each not in self._keys]:
                    error.add_note(self._missing(table))
            raise
        except BaseException:
            self._note(request)
            raise
        self._unanswered -= 1
        self._note(request)
        if request.operation == "DeleteTable":
            self._keys.pop(request.table, None)
        return answer

    def _note(self, request: Request) -> None:
        if request.operation == "CreateTable":
            self._keys[request.table] = tuple(each["AttributeName"] for each in request.body["KeySchema"])


async def emptied(transport: Transport, keys: Keys) -> bool:
    """Remove the items of tables and return True; False if that takes longer than dropping them, or fails."""
    left: dict[str, list[Any]] = {}
    try:
        for table, names in keys.items():
            one_too_many = BATCH_WRITE_REQUESTS + 1
            scan = TableScan.of_keys(table, names, ConsistentRead=True, Limit=one_too_many)
            answer = await transport.send(scan.request(None))
            if answer.get("LastEvaluatedKey"):
                return False
            if answer["Items"]:
                left[table] = [{"DeleteRequest": {"Key": key}} for key in answer["Items"]]
        if not left:
            return True
        if sum(map(len, left.values())) > BATCH_WRITE_REQUESTS:
            return False
        removed: Body = {"RequestItems": left}
        answer = await transport.send(
            Request(operation="BatchWriteItem", body=removed, writes=True, **about_tables(left))
        )
    except DynamapError:
        return False
    return not answer.get("UnprocessedItems")
