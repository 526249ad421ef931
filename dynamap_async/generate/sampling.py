"""Taking a sample: what the service says of a table, and pages from random places of it. Only this does I/O."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.config import Priority
from dynamap_async.errors import AccessDeniedError, OperationError, ServiceError
from dynamap_async.generate.design import Design, design_of
from dynamap_async.generate.item_kinds import FoundKind, behind_word_of, find_kinds, text_of
from dynamap_async.generate.key_patterns import ENOUGH_ITEMS, ENOUGH_PARTITIONS
from dynamap_async.generate.sample import Sample
from dynamap_async.operations import SingleRequest
from dynamap_async.operations.library_table import OWN_TABLE_NAME
from dynamap_async.request import Request, identity_of
from dynamap_async.schema import IndexSchema, OnDemand, TableSettings
from dynamap_async.session import runner_of
from dynamap_async.stored import StoredPages, TableScan, whole_item
from dynamap_async.tables.requests import TableDescription, description_of
from dynamap_async.tables.setting_requests import is_own_tag, read_recovery
from dynamap_async.wire import Body, WireItem

if TYPE_CHECKING:
    from dynamap_async.planning import Context
    from dynamap_async.session import Session

SAMPLE: Final = 5_000
READ_UNITS: Final = 500.0
_PAGE: Final = 40
"""Items of one place: few, so that a large partition does not hide the others."""
_SEGMENTS: Final = 4_096
"""Into how many segments a table is parted at most, and one of which nobody says how many items it has. Engines that
part them by fewer places leave most of more segments empty."""
_FOR_RARE_KINDS: Final = 10
"""One of so many items is read to see more of rare kinds, and half of these behind the first page of partitions."""
_LARGE_PARTITIONS: Final = 25
"""In how many partitions that are larger than a page more is read."""
_WORDS_OF_A_PARTITION: Final = 8
"""Behind how many words more is read there at most."""
_ITEMS_OF_A_WORD: Final = 5
_PAGES_OF_A_KIND: Final = 8
_DENSER: Final = 4
"""How much more of a rare kind an index has to hold than the table, so that it is read for it."""


class TableRequest(SingleRequest[Body]):
    """Any request about one table that is named by text, or by ``ResourceArn`` in the body.

    Args:
        name: the API's name of the operation.
        table: the table's name, before the session's prefix.
        body: the members of the request beside the table's name.
    """

    __slots__ = ("body", "name", "table")

    def __init__(self, name: str, table: str, /, **body: Any) -> None:
        self.name: Final = name
        self.table: Final = table
        self.body: Final[dict[str, Any]] = body

    def request(self, context: Context) -> Request:
        """Return the request to send."""
        table = context.tables.full(self.table)
        named = {} if "ResourceArn" in self.body else {"TableName": table}
        return Request(operation=self.name, table=table, body={**named, **self.body})

    def result(self, response: Body, context: Context) -> Body:
        """Return the answer as it is."""
        return response


async def infer(session: Session, table: str, /, *, sample: int = SAMPLE, max_read_units: float = READ_UNITS) -> Design:
    """Return the design of an existing table: its models, made from a sample of its items.

    Args:
        session: an open session.
        table: the table's name, before the session's prefix.
        sample: how many items to read, from 1 up.
        max_read_units: how many read units to spend, more than 0; the last page may exceed it.

    Raises:
        OperationError: a number is too small, or the table is the library's own.
        ResourceNotFoundError: there is no such table.

    Cost: four requests for what the table is, and a Scan for each 40 items; at most ``max_read_units``.
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
    watch: Callable[[int, float], None] | None = None,
) -> Sample:
    """Return items from random places of a table, read page by page with low priority.

    Args:
        table: the table's name, before the session's prefix.
        sample: how many items to read, from 1 up.
        max_read_units: how many read units to spend, more than 0; the last page may exceed it.
        watch: is called after each page with the items and read units so far.

    Raises:
        OperationError: a number is too small, or the table is the library's own.
        ResourceNotFoundError: there is no such table.
    """
    if sample < 1 or max_read_units <= 0:
        raise OperationError(
            f"a sample of {sample} items for {max_read_units} read units is empty; ask for at least 1 item, and more "
            "than 0 units"
        )
    async with session.scope("sample", priority=Priority.BACKGROUND):
        described = await _described(session, table)
        pages = _SamplePages(session, table, described, sample, max_read_units, watch)
        if described.item_count <= sample:  # also where nobody counted: a small table is read whole
            await pages.read_from_the_beginning()
        if not pages.complete:
            await pages.read_in_parts(chance or random.Random())  # noqa: S311 - no secret depends on it
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
    found = description_of(Request(operation="DescribeTable", table=table, body={}), answer, ttl)
    if table.endswith(OWN_TABLE_NAME) and found.schema.keys.names == ("pk",):
        raise OperationError(
            f"the table {table!r} is the library's own, and holds no items of models; name another table"
        )
    return replace(found, schema=replace(found.schema, settings=await _settings(session, table, found)))


async def _settings(session: Session, table: str, found: TableDescription) -> TableSettings:
    """Return the settings of a table that differ from those of a new one."""
    settings, limits = found.settings, found.on_demand
    maxima = {"max_read": limits.max_read, "max_write": limits.max_write}
    declared = {name: most for name, most in maxima.items() if most is not None and most > 0}
    encryption = settings.encryption
    return TableSettings(
        billing=OnDemand(**declared) if found.billing == "on-demand" and declared else None,
        stream=None if settings.stream == "off" else settings.stream,
        recovery=await _recovery(session, table) or None,
        deletion_protection=settings.deletion_protection or None,
        table_class=None if settings.table_class == "standard" else settings.table_class,
        encryption=None if encryption is None or encryption.kms_key is None else encryption,
        tags=await _tags(session, table, found.arn) or None,
    )


async def _recovery(session: Session, table: str) -> Any:
    with suppress(ServiceError):  # as for time to live
        return read_recovery(await session.execute(TableRequest("DescribeContinuousBackups", table)))
    return None


async def _tags(session: Session, table: str, arn: str) -> dict[str, str]:
    """Return the tags of a table; none if not all can be read, because a plan would remove the others."""
    tags: dict[str, str] = {}
    after: dict[str, str] = {}
    with suppress(ServiceError):  # as for time to live
        while True:
            page = await session.execute(TableRequest("ListTagsOfResource", table, ResourceArn=arn, **after))
            tags |= {each["Key"]: each["Value"] for each in page.get("Tags") or () if is_own_tag(each["Key"])}
            if page.get("NextToken") is None:
                return tags
            after = {"NextToken": page["NextToken"]}
    return {}


class _SamplePages:
    """The pages that are read, until there are enough items or enough units were spent."""

    def __init__(
        self,
        session: Session,
        table: str,
        described: TableDescription,
        sample: int,
        max_read_units: float,
        watch: Callable[[int, float], None] | None,
    ) -> None:
        self._session = session
        self._table = table
        self._described = described
        self._sample = sample
        self._left = max_read_units
        self._watch = watch
        self._largest = 0.0
        self._places: Iterator[int] | None = None
        self._large: list[WireItem] = []
        """The last item of each page that ended within the partition that it began with."""
        self.items: dict[str, WireItem] = {}
        self.read_units = 0.0
        self.complete = False

    @property
    def _is_enough(self) -> bool:
        # A page may take as much as the largest so far: with less left, the next one could exceed what may be spent.
        return len(self.items) >= self._sample or self._left <= 0 or self._left < self._largest

    async def read_in_parts(self, chance: random.Random) -> None:
        """Read most of the items at random places, then more of what was seen rarely or not, then the rest."""
        rare = self._sample // _FOR_RARE_KINDS
        await self._read_from_random_places(chance, self._sample - rare)
        await self._read_on_in_large_partitions(chance, self._sample - rare // 2)
        if not self._is_enough:
            await self._read_rare_kinds(chance)
        await self._read_from_random_places(chance, self._sample)

    async def read_from_the_beginning(self) -> None:
        """Read page after page, to the end of a small table."""
        schema = self._described.schema
        members = {"ReturnConsumedCapacity": "TOTAL", "Limit": min(self._sample, 1_000)}
        scan = TableScan(schema.name, schema.keys.names, members)

        def is_enough(answer: Body) -> bool:
            self._keep(answer)
            not_small = self._described.item_count == 0 and len(self.items) >= _PAGE  # nobody had counted its items
            return self._is_enough or not_small

        executor = runner_of(self._session).executor
        async with StoredPages(executor, scan, whole_item, is_enough=is_enough) as pages:
            while await pages.next_page():
                pass
        self.complete = pages.is_complete

    async def _read_from_random_places(self, chance: random.Random, until: int) -> None:
        """Read a page of random segments until there are enough items. An empty one costs half a unit."""
        count = self._described.item_count
        total = _segments_of(count) if count else _SEGMENTS
        if self._places is None:
            # Each segment once; most of a small table's are empty, hence four times as many as items.
            self._places = iter(chance.sample(range(total), min(total, 4 * self._sample)))
        while not self._is_enough and len(self.items) < until:
            segment = next(self._places, None)
            if segment is None:
                return
            page = await self._read(Limit=_PAGE, Segment=segment, TotalSegments=total)
            partitions = [item[self._described.schema.keys.names[0]] for item in page["Items"]]
            if page.get("LastEvaluatedKey") and partitions and partitions[0] == partitions[-1]:
                self._large.append(page["Items"][-1])

    async def _read_on_in_large_partitions(self, chance: random.Random, until: int) -> None:
        """In large partitions, read some items of each sort key prefix behind the first page.

        Segments begin where partitions do: of one that is larger than a page, only its first items are read there, and
        a kind that sorts behind them would never be seen. Reading goes on behind all keys of the last item's word.
        """
        if [key.type for key in self._described.schema.keys.sort] != ["S"]:
            return
        with suppress(AccessDeniedError):  # a policy may allow scans alone
            for item in chance.sample(self._large, min(len(self._large), _LARGE_PARTITIONS)):
                await self._read_on_behind(item, until)

    async def _read_on_behind(self, item: WireItem, until: int) -> None:
        """Read some items of each sort key prefix in an item's partition, until there are enough."""
        partition, sort = self._described.schema.keys.names
        last = item
        for _ in range(_WORDS_OF_A_PARTITION):
            behind = behind_word_of(text_of(last, sort) or "")
            if behind is None or self._is_enough or len(self.items) >= until:
                return
            page = await self._read(
                "Query",
                KeyConditionExpression="#p = :p AND #s >= :s",
                ExpressionAttributeNames={"#p": partition, "#s": sort},
                ExpressionAttributeValues={":p": item[partition], ":s": {"S": behind}},
                Limit=_ITEMS_OF_A_WORD,
            )
            if not page["Items"]:
                return
            last = page["Items"][-1]

    async def _read_rare_kinds(self, chance: random.Random) -> None:
        """Read pages of an index for each kind that was seen rarely, if the index holds more of it."""
        schema, items = self._described.schema, tuple(self.items.values())
        for kind in find_kinds(Sample(schema=schema, items=items)).kinds:
            index = None if _is_enough_of(kind, schema.keys.names[0]) else self._denser_index(kind, items)
            if index is None:
                continue
            held = len(_held(index, items)) / max(1, len(items))
            total = _segments_of(int(self._described.item_count * held))
            for segment in chance.sample(range(total), min(total, _PAGES_OF_A_KIND)):
                if not self._is_enough:
                    await self._read(IndexName=index.name, Limit=_PAGE, Segment=segment, TotalSegments=total)

    def _denser_index(self, kind: FoundKind, items: Sequence[WireItem]) -> IndexSchema | None:
        """Return the index of whole items with the largest share of a kind; None if the table is as good."""

        def share(index: IndexSchema) -> float:
            return len(_held(index, kind.items)) / max(1, len(_held(index, items)))

        whole = [each for each in self._described.schema.global_indexes if each.projection.type == "ALL"]
        best = max(whole, key=share, default=None)
        return best if best is not None and share(best) * len(items) >= _DENSER * len(kind.items) else None

    async def _read(self, operation: str = "Scan", /, **body: Any) -> Body:
        """Read a page, keep its items, and return it."""
        request = TableRequest(operation, self._table, ReturnConsumedCapacity="TOTAL", **body)
        answer = await self._session.execute(request)
        self._keep(answer)
        return answer

    def _keep(self, answer: Body) -> None:
        """Keep the items of a page, and count what it took."""
        # An engine may report none; half a unit is the least that a page takes.
        units = float(answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0)) or 0.5
        self.read_units += units
        self._left -= units
        self._largest = max(self._largest, units)
        keys = self._described.schema.keys
        for item in answer["Items"]:
            if len(self.items) < self._sample:
                plain: WireItem = {**item}
                self.items[identity_of(self._table, keys.key_of(plain))] = plain
        if self._watch is not None:
            self._watch(len(self.items), self.read_units)


def _segments_of(count: int) -> int:
    """Return the number of segments for a table of so many items, so that each has about a page."""
    return min(_SEGMENTS, max(2, count // _PAGE))


def _held(index: IndexSchema, items: Sequence[WireItem]) -> list[WireItem]:
    """Return the items that are in an index."""
    names = [key.name for key in index.keys.attributes]
    return [item for item in items if all(name in item for name in names)]


def _is_enough_of(kind: FoundKind, partition: str) -> bool:
    """Return whether enough items of a kind were seen to tell its constants."""
    return len(kind.items) >= ENOUGH_ITEMS and len({str(item[partition]) for item in kind.items}) >= ENOUGH_PARTITIONS
