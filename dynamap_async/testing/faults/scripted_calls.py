"""One call of the API as a fault script sees it: the operation, its tables, and the items of a batch. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final, cast

from dynamap_async.dataclass import dataclass
from dynamap_async.wire import Body

OPERATIONS: Final = frozenset(
    """
    BatchExecuteStatement BatchGetItem BatchWriteItem CreateBackup CreateGlobalTable CreateTable DeleteBackup
    DeleteItem DeleteResourcePolicy DeleteTable DescribeBackup DescribeContinuousBackups DescribeContributorInsights
    DescribeEndpoints DescribeExport DescribeGlobalTable DescribeGlobalTableSettings DescribeImport
    DescribeKinesisStreamingDestination DescribeLimits DescribeTable DescribeTableReplicaAutoScaling
    DescribeTimeToLive DisableKinesisStreamingDestination EnableKinesisStreamingDestination ExecuteStatement
    ExecuteTransaction ExportTableToPointInTime GetItem GetResourcePolicy ImportTable ListBackups
    ListContributorInsights ListExports ListGlobalTables ListImports ListTables ListTagsOfResource PutItem
    PutResourcePolicy Query RestoreTableFromBackup RestoreTableToPointInTime Scan SearchVectors TagResource
    TransactGetItems TransactWriteItems UntagResource UpdateContinuousBackups UpdateContributorInsights
    UpdateGlobalTable UpdateGlobalTableSettings UpdateItem UpdateKinesisStreamingDestination UpdateTable
    UpdateTableReplicaAutoScaling UpdateTimeToLive
    DescribeStream GetRecords GetShardIterator ListStreams
    """.split()  # noqa: SIM905 - a list would take 62 lines
)
"""Every operation of DynamoDB and its streams that a script may name."""

WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
"""The operations that change items."""

READS: Final = frozenset({"GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"})
"""The operations that read items."""

UNPROCESSED: Final[Mapping[str, str]] = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}
"""Batch operation -> the member of its answer that holds what was left over."""


@dataclass(frozen=True, slots=True)
class FaultyCall:
    """The parts of a request that rules look at."""

    operation: str
    body: Body = field(repr=False)
    tables: tuple[str, ...]
    """Every table that it names, each once."""
    index: str | None
    items: int
    """How many items a batch or a transaction names; 1 for any other operation."""

    @property
    def table(self) -> str:
        """The tables, as errors and statistics name them."""
        return ", ".join(self.tables)


def call_of(operation: str, body: Body) -> FaultyCall:
    """Return the parts of a request that rules look at."""
    try:
        tables, items = _named(body)
    except (AttributeError, KeyError, TypeError):
        tables, items = (), 1  # a body that means nothing is the server's to refuse
    return FaultyCall(operation, body, tables, body.get("IndexName"), items)


def _named(body: Body) -> tuple[tuple[str, ...], int]:
    if "RequestItems" in body:
        return tuple(body["RequestItems"]), len(_entries(body))
    if "TransactItems" in body:
        actions = [part for action in body["TransactItems"] for part in action.values()]
        return tuple(dict.fromkeys(part["TableName"] for part in actions)), len(actions)
    return ((body["TableName"],) if "TableName" in body else ()), 1


def divided(call: FaultyCall, left_over: int) -> tuple[Body, Body]:
    """Return a batch without its last items, and those items as the service lists unprocessed ones.

    Args:
        call: a batch of more than ``left_over`` items.
        left_over: how many items to take away, at least 1.
    """
    entries = _entries(call.body)
    kept, left = entries[:-left_over], entries[-left_over:]
    return {**call.body, "RequestItems": _grouped(call.body, kept)}, _grouped(call.body, left)


def with_left_over(call: FaultyCall, answer: Body, left: Body) -> Body:
    """Return the answer of a batch with further items added to those left unprocessed."""
    member = UNPROCESSED[call.operation]
    already: Mapping[str, Any] = answer.get(member) or {}
    entries = [*_listed(already), *_listed(left)]
    return {**answer, member: _grouped({"RequestItems": {**left, **already}}, entries)}


def _entries(body: Body) -> list[tuple[str, Any]]:
    return _listed(body["RequestItems"])


def _listed(tables: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(table, item) for table, entry in tables.items() for item in _items(entry)]


def _items(entry: Any) -> Sequence[Any]:
    # A table's entry is a list of writes, or an object with a list of keys and what to read of them.
    return cast("Sequence[Any]", entry if isinstance(entry, list) else entry["Keys"])


def _grouped(body: Body, entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    grouped: dict[str, Any] = {}
    for table, item in entries:
        asked: Any = body["RequestItems"][table]
        if isinstance(asked, list):
            grouped.setdefault(table, []).append(item)
        else:
            grouped.setdefault(table, {**asked, "Keys": []})["Keys"].append(item)
    return grouped
