"""Batches: which single-item requests share a call, and which part of its answer belongs to which. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dynamap_async.executor.pending import Pending
from dynamap_async.limits import BATCH_ANSWER_BYTES, ITEM_SIZE_BYTES, PAGE_BYTES
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import Body, WireItem

ENTRY_BYTES: Final = 8_192
"""What an entry takes besides its item; for a deletion, its key."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a batch call did not get to, as identities."""

    cut: frozenset[str]
    """Left over because the answer had reached its largest size."""
    throttled: frozenset[str]
    """Left over for want of capacity."""

    @property
    def all(self) -> frozenset[str]:
        """Everything left over."""
        return self.cut | self.throttled


NO_LEFTOVERS: Final = Leftovers(frozenset(), frozenset())
"""Of an answer that got to everything, as most do."""


def batch_get(requests: Sequence[Request]) -> Request:
    """Return the BatchGetItem request of GetItem requests for distinct keys, all consistent or all eventual."""
    tables: dict[str, dict[str, Any]] = {}
    for request in requests:
        entry = tables.setdefault(request.table, {"Keys": []})
        if request.body.get("ConsistentRead"):
            entry["ConsistentRead"] = True
        target = request.target
        assert target is not None  # noqa: S101 - the executor routes by it
        entry["Keys"].append(target.key)
    return Request(operation="BatchGetItem", body={"RequestItems": tables}, table=", ".join(tables))


def found_items(requests: Sequence[Request], answer: Body) -> dict[str, WireItem]:
    """Return identity -> item of everything that a BatchGetItem answer holds; it comes in any order."""
    names = _key_names(requests)
    responses: Mapping[str, Sequence[WireItem]] = answer.get("Responses") or {}
    found: dict[str, WireItem] = {}
    for table, items in responses.items():
        key_names = names[table]
        for item in items:
            found[identity_of(table, {name: item[name] for name in key_names})] = item
    return found


def unread(requests: Sequence[Request], answer: Body) -> Leftovers:
    """Return what a BatchGetItem answer did not get to.

    An answer ends near 16 MB, and near 1 MB of one partition: that is no throttling. JSON is never shorter than what
    the service counts, so measuring its length errs towards sending again at once.
    """
    entries: Mapping[str, Any] = answer.get("UnprocessedKeys") or {}
    if not entries:
        return NO_LEFTOVERS
    names = _key_names(requests)
    left = frozenset(
        identity_of(table, {name: key[name] for name in names[table]})  # the answer's attributes come in any order
        for table, entry in entries.items()
        for key in entry["Keys"]
    )
    if not left:
        return Leftovers(left, left)
    responses: Mapping[str, Sequence[WireItem]] = answer.get("Responses") or {}
    sizes = {table: [len(orjson.dumps(item)) for item in items] for table, items in responses.items()}
    if sum(map(sum, sizes.values())) >= BATCH_ANSWER_BYTES - ITEM_SIZE_BYTES:
        return Leftovers(left, frozenset())
    by_partition: dict[tuple[str, str], int] = {}
    for table, items in responses.items():
        for item, size in zip(items, sizes[table], strict=True):
            place = table, str(item[names[table][0]])
            by_partition[place] = by_partition.get(place, 0) + size
    cut = {
        _target(request).identity
        for request in requests
        if by_partition.get((request.table, str(next(iter(_target(request).key.values())))), 0)
        >= PAGE_BYTES - ITEM_SIZE_BYTES
    }
    return Leftovers(left & cut, left - cut)


def batch_write(requests: Sequence[Request]) -> Request:
    """Return the BatchWriteItem request of PutItem and DeleteItem requests for distinct keys."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for request in requests:
        put = request.operation == "PutItem"
        entry = (
            {"PutRequest": {"Item": request.body["Item"]}} if put else {"DeleteRequest": {"Key": request.body["Key"]}}
        )
        tables.setdefault(request.table, []).append(entry)
    return Request(operation="BatchWriteItem", body={"RequestItems": tables}, table=", ".join(tables), writes=True)


def written_bytes(request: Request) -> int:
    """Return how many bytes of a BatchWriteItem request a PutItem or DeleteItem request takes, or a little more.

    A request holds 16 MB of JSON, and JSON is longer than what is stored.
    """
    target = request.target
    size = 0 if target is None else target.json_bytes
    if not size and "Item" in request.body:
        size = len(orjson.dumps(request.body["Item"]))
    return ENTRY_BYTES + size


def unwritten(requests: Sequence[Request], answer: Body) -> Leftovers:
    """Return what a BatchWriteItem answer did not get to; it has no size that could explain it."""
    entries: Mapping[str, Sequence[Any]] = answer.get("UnprocessedItems") or {}
    if not entries:
        return NO_LEFTOVERS
    names = _key_names(requests)
    contents = (
        (table, each["PutRequest"]["Item"] if "PutRequest" in each else each["DeleteRequest"]["Key"])
        for table, listed in entries.items()
        for each in listed
    )
    left = frozenset(identity_of(table, {name: item[name] for name in names[table]}) for table, item in contents)
    return Leftovers(frozenset(), left)


def _key_names(requests: Sequence[Request]) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for request in requests:
        if request.table not in names:
            names[request.table] = tuple(_target(request).key)
    return names


def _target(request: Request) -> Target:
    assert request.target is not None, f"{request.operation} is not about one item"  # noqa: S101 - the executor routes by it
    return request.target


def parts_of_refused(batch: Sequence[Pending], *, by_item: bool) -> list[list[Pending]]:
    """Return the parts in which a refused batch of several requests is sent again.

    Args:
        batch: what was refused.
        by_item: whether to send the items of one table one by one, to see whether they are accepted then; else a
            table's items are halved, until the culprit is alone.
    """
    tables: dict[str, list[Pending]] = {}
    for pending in batch:
        tables.setdefault(pending.request.table, []).append(pending)
    if len(tables) > 1:
        return list(tables.values())
    if by_item:
        for pending in batch:
            pending.refused_in_batch = True
        return [[pending] for pending in batch]
    middle = len(batch) // 2
    return [list(batch[:middle]), list(batch[middle:])]
