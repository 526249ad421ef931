"""Taking a sample: what the service says of a table, and pages from random places of it. Only this does I/O."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.config import Priority
from dynamap_async.errors import OperationError, ServiceError
from dynamap_async.generate.design import Design, design_of
from dynamap_async.generate.sample import Sample
from dynamap_async.operations import SingleRequest
from dynamap_async.request import Request, identity_of
from dynamap_async.tables.requests import TableDescription, description_of
from dynamap_async.wire import Body, WireItem

if TYPE_CHECKING:
    from dynamap_async.planning import Context
    from dynamap_async.session import Session

SAMPLE: Final = 5_000
READ_UNITS: Final = 500.0
_PAGE: Final = 25
"""Items of one place: few, so that a large partition does not hide the others."""
_SEGMENTS: Final = 1_000_000
"""The most that a scan may have."""
_UNKNOWN: Final = 4_096
"""Segments of a table of which nobody says how many items it has."""


class TableRequest(SingleRequest[Body]):
    """Any request about one table that is named by text."""

    __slots__ = ("body", "name", "table")

    def __init__(self, name: str, table: str, /, **body: Any) -> None:
        """Describe the request.

        Args:
            name: the API's name of the operation.
            table: the table's name, before the session's prefix.
            body: the members of the request beside the table's name.
        """
        self.name: Final = name
        self.table: Final = table
        self.body: Final[dict[str, Any]] = body

    def request(self, context: Context) -> Request:
        """Return the request to send.

        Args:
            context: what the session adds.
        """
        table = context.tables.full(self.table)
        return Request(operation=self.name, table=table, body={"TableName": table, **self.body})

    def result(self, response: Body, context: Context) -> Body:
        """Return the answer as it is.

        Args:
            response: it.
            context: what the session adds.
        """
        return response


async def infer(session: Session, table: str, /, *, sample: int = SAMPLE, max_read_units: float = READ_UNITS) -> Design:
    """Return the design of a table that exists: its models, made from a sample of its items.

    Args:
        session: an open session.
        table: the table's name, before the session's prefix.
        sample: how many items to read, from 1 up.
        max_read_units: how many read units to spend, more than 0; the last page may exceed it.

    Raises:
        OperationError: a number is too small.
        ResourceNotFoundError: there is no such table.

    Cost: DescribeTable, DescribeTimeToLive, and a Scan for each 25 items; at most ``max_read_units``.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
    """
    return design_of(await take_sample(session, table, sample=sample, max_read_units=max_read_units))


async def take_sample(
    session: Session,
    table: str,
    /,
    *,
    sample: int = SAMPLE,
    max_read_units: float = READ_UNITS,
    chance: random.Random | None = None,
) -> Sample:
    """Return items from random places of a table. It is read as work that can wait, one page after the other.

    Args:
        session: an open session.
        table: the table's name, before the session's prefix.
        sample: how many items to read, from 1 up.
        max_read_units: how many read units to spend, more than 0; the last page may exceed it.
        chance: chooses the places.

    Raises:
        OperationError: a number is too small.
        ResourceNotFoundError: there is no such table.
    """
    if sample < 1 or max_read_units <= 0:
        raise OperationError(
            f"a sample of {sample} items for {max_read_units} read units is none; ask for 1 item or more, and more "
            "than 0 units"
        )
    async with session.scope("sample", priority=Priority.BACKGROUND):
        described = await _described(session, table)
        pages = _SamplePages(session, table, described, sample, max_read_units)
        if described.item_count <= sample:  # also where nobody counted: a small table is read whole
            await pages.read_from_the_beginning()
        if not pages.complete:
            await pages.read_from_random_places(chance or random.Random())  # noqa: S311 - no secret depends on it
    return Sample(
        schema=described.schema,
        items=tuple(pages.items.values()),
        item_count=described.item_count,
        read_units=pages.read_units,
        complete=pages.complete,
    )


async def _described(session: Session, table: str) -> TableDescription:
    about = TableRequest("DescribeTable", table)
    answer = await session.execute(about)
    ttl: Body | None = None
    with suppress(ServiceError):  # an engine may not know it, and a policy may not allow it
        ttl = await session.execute(TableRequest("DescribeTimeToLive", table))
    return description_of(Request(operation="DescribeTable", table=table, body={}), answer, ttl)


class _SamplePages:
    """The pages that are read, until there are enough items or enough units were spent."""

    def __init__(
        self, session: Session, table: str, described: TableDescription, sample: int, max_read_units: float
    ) -> None:
        self._session = session
        self._table = table
        self._described = described
        self._sample = sample
        self._left = max_read_units
        self._largest = 0.0
        self.items: dict[str, WireItem] = {}
        self.read_units = 0.0
        self.complete = False

    @property
    def _is_enough(self) -> bool:
        return len(self.items) >= self._sample or self._left <= 0 or self._left < self._largest

    async def read_from_the_beginning(self) -> None:
        """Read page after page, to the end of a small table."""
        start: dict[str, Any] = {}
        while not self._is_enough:
            last = await self._read(Limit=min(self._sample, 1_000), **start)
            if last is None:
                self.complete = True
                return
            if self._described.item_count == 0 and len(self.items) >= _PAGE:
                return  # not small: nobody had counted its items
            start = {"ExclusiveStartKey": last}

    async def read_from_random_places(self, chance: random.Random) -> None:
        """Read a page of random segments. An empty one costs half a unit."""
        count = self._described.item_count
        total = min(_SEGMENTS, max(2, count // _PAGE)) if count else _UNKNOWN
        for segment in chance.sample(range(total), min(total, 4 * self._sample)):
            if self._is_enough:
                return
            await self._read(Limit=_PAGE, Segment=segment, TotalSegments=total)

    async def _read(self, **body: Any) -> Any:
        """Read a page, and return the key to go on after."""
        answer = await self._session.execute(TableRequest("Scan", self._table, ReturnConsumedCapacity="TOTAL", **body))
        units = float(answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)) or 0.5
        self.read_units += units
        self._left -= units
        self._largest = max(self._largest, units)
        keys = self._described.schema.keys
        for item in answer["Items"]:
            if len(self.items) < self._sample:
                plain: WireItem = {**item}
                self.items[identity_of(self._table, keys.key_of(plain))] = plain
        return answer.get("LastEvaluatedKey")
