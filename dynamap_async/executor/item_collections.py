"""Item collections: which of those in a table with local indexes are near to the most that DynamoDB takes of one.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from dynamap_async.events import LargeItemCollection
from dynamap_async.executor.consumed import metered
from dynamap_async.limits import LARGE_COLLECTION_GB
from dynamap_async.request import Request
from dynamap_async.wire import Body

_ASKED_OF: Final = frozenset({"BatchWriteItem", "DeleteItem", "PutItem", "TransactWriteItems", "UpdateItem"})
_MOST_REMEMBERED: Final = 10_000


def measured(request: Request) -> Request:
    """Return a request with the parameters that have the answer report its units, and the sizes of collections."""
    if request.operation in _ASKED_OF and "ReturnItemCollectionMetrics" not in request.body:
        request.body = {"ReturnItemCollectionMetrics": "SIZE", **request.body}
    return metered(request)


class ItemCollections:
    """The large item collections that were seen. Each is told once, and again when it has grown."""

    def __init__(self) -> None:
        self._told: Final[dict[tuple[str, str], float]] = {}
        """Table and partition key -> the size that was told."""

    def seen(self, request: Request, answer: Body, now: float) -> Iterator[LargeItemCollection]:
        """Yield an event for each large collection that an answer tells of, unless it was told before.

        Answers of engines differ from the service's, so what cannot be read is passed over.

        Args:
            request: what was sent.
            answer: what came back.
            now: the time of the event loop.
        """
        for table, metrics in _by_table(request, answer):
            try:
                [value] = metrics["ItemCollectionKey"].values()
                [key] = map(str, value.values())
                least, most = map(float, metrics["SizeEstimateRangeGB"])
            except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
                continue
            if most < LARGE_COLLECTION_GB or self._told.get((table, key), 0.0) >= most:
                continue
            if len(self._told) >= _MOST_REMEMBERED:
                self._told.clear()
            self._told[table, key] = most
            yield LargeItemCollection(at=now, table=table, partition_key=key, least_gb=least, most_gb=most)


def _by_table(request: Request, answer: Body) -> Iterator[tuple[str, Any]]:
    given: Any = answer.get("ItemCollectionMetrics")
    if not isinstance(given, Mapping):
        return
    if "ItemCollectionKey" in given:
        yield request.table, given
        return
    by_table = cast("Mapping[str, Any]", given)
    for table, listed in by_table.items():
        for metrics in cast("Any", listed) if isinstance(listed, list) else ():
            yield table, metrics
