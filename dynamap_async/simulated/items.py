"""Operations on one item, and on several by their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamap_async.limits import (
    BATCH_ANSWER_BYTES,
    BATCH_GET_KEYS,
    BATCH_WRITE_BYTES,
    BATCH_WRITE_REQUESTS,
    PAGE_BYTES,
)
from dynamap_async.simulated import legacy, meters, wire, writes
from dynamap_async.simulated.constraints import Structure, anything, choice, flag, listing, mapping, shown
from dynamap_async.simulated.errors import Refused, Throttled, invalid
from dynamap_async.simulated.expressions.paths import Path, projected, read_projection
from dynamap_async.simulated.expressions.reader import Placeholders
from dynamap_async.simulated.keys import position_of_key
from dynamap_async.simulated.shapes import (
    ATTRIBUTES,
    ATTRIBUTES_TO_GET,
    CONSUMED,
    EXPRESSION,
    METRICS,
    NAMES,
    ONE_WRITE,
    TABLE_NAME,
)
from dynamap_async.simulated.store import Change, Entry, Table
from dynamap_async.simulated.values import Item
from dynamap_async.simulated.writes import ItemWrite
from dynamap_async.units import Charge

if TYPE_CHECKING:
    from dynamap_async.simulated.service import Service

PUT_ITEM = Structure({"TableName!": TABLE_NAME, "Item!": ATTRIBUTES, **ONE_WRITE})
DELETE_ITEM = Structure({"TableName!": TABLE_NAME, "Key!": ATTRIBUTES, **ONE_WRITE})
UPDATE_ITEM = Structure(
    {
        "TableName!": TABLE_NAME,
        "Key!": ATTRIBUTES,
        "UpdateExpression": EXPRESSION,
        "AttributeUpdates": mapping(Structure({"Value": anything, "Action": choice("ADD", "PUT", "DELETE")})),
        **ONE_WRITE,
    }
)
GET_ITEM = Structure(
    {
        "TableName!": TABLE_NAME,
        "Key!": ATTRIBUTES,
        "AttributesToGet": ATTRIBUTES_TO_GET,
        "ConsistentRead": flag,
        "ReturnConsumedCapacity": CONSUMED,
        "ProjectionExpression": EXPRESSION,
        "ExpressionAttributeNames": NAMES,
    }
)
BATCH_GET_ITEM = Structure({"RequestItems!": mapping(), "ReturnConsumedCapacity": CONSUMED})
BATCH_WRITE_ITEM = Structure(
    {
        "RequestItems!": mapping(listing(anything)),
        "ReturnConsumedCapacity": CONSUMED,
        "ReturnItemCollectionMetrics": METRICS,
    }
)
_KEYS_AND_ATTRIBUTES = Structure(
    {
        "Keys!": listing(mapping()),
        "AttributesToGet": ATTRIBUTES_TO_GET,
        "ConsistentRead": flag,
        "ProjectionExpression": EXPRESSION,
        "ExpressionAttributeNames": NAMES,
    }
)
_WRITE_REQUEST = Structure(
    {
        "PutRequest": Structure({"Item!": ATTRIBUTES}),
        "DeleteRequest": Structure({"Key!": ATTRIBUTES}),
    }
)


def projection_of(body: dict[str, Any], known: Placeholders | None = None) -> Callable[[Item], Item] | None:
    """Return what cuts items to what a read asks for; None if it asks for all.

    Args:
        body: the request.
        known: its placeholders; None if it has none but those of the projection.

    Raises:
        Refused: the projection is wrong.
    """
    text = body.get("ProjectionExpression")
    own = known if known is not None else Placeholders(body, "ProjectionExpression")
    cut: Callable[[Item], Item] | None = None
    if text is not None:
        paths: tuple[Path, ...] = own.read(read_projection, text, "ProjectionExpression")
        cut = lambda item: projected(item, paths)  # noqa: E731
    elif (names := body.get("AttributesToGet")) is not None:
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise invalid(f"One or more parameter values were invalid: Duplicate value in attribute name: {twice}")
        cut = lambda item: legacy.attributes(names, item)  # noqa: E731
    if known is None:
        own.all_used()
    return cut


def cut_text(entry: Entry, cut: Callable[[Item], Item] | None) -> bytes:
    """Return the JSON of what a read gives of an item."""
    return entry.text if cut is None else wire.write(cut(entry.item))


def get_item(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out GetItem."""
    legacy.refuse_mixture(body)
    cut = projection_of(body)
    table = service.table(body["TableName"])
    if service.lag is not None and not body.get("ConsistentRead"):
        table = service.lag.seen(table, service.lag.age())
    position = position_of_key(table, body["Key"])
    entry = table.entries.get(position)
    charge = meters.read(entry.size if entry else 0, consistent=bool(body.get("ConsistentRead")))
    if service.throttle is not None:
        service.throttle.take("Read", table, position, charge)
    return {
        "Item": None if entry is None else cut_text(entry, cut),
        "ConsumedCapacity": _consumed(body, table, charge),
    }


def _consumed(body: dict[str, Any], table: Table, charge: Charge) -> dict[str, Any] | None:
    return meters.consumed(body.get("ReturnConsumedCapacity"), table, charge, name=body["TableName"])


def put_item(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out PutItem."""
    _refuse_new_values(body)
    return _write(service, body, writes.put(body, service.table))


def delete_item(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DeleteItem."""
    _refuse_new_values(body)
    return _write(service, body, writes.delete(body, service.table))


def update_item(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out UpdateItem."""
    return _write(service, body, writes.update(body, service.table))


def _refuse_new_values(body: dict[str, Any]) -> None:
    if body.get("ReturnValues", "NONE") not in {"NONE", "ALL_OLD"}:
        raise invalid("ReturnValues can only be ALL_OLD or NONE")


def _write(service: Service, body: dict[str, Any], write: ItemWrite) -> dict[str, Any]:
    old = write.old_item if write.looks else None
    if not write.is_allowed(old):
        members = {"Item": old} if write.returns_on_failure and old is not None else {}
        service.charge_in_vain(write)
        raise Refused("ConditionalCheckFailedException", "The conditional request failed", **members)
    change, charge = service.carry_out(write, old)
    return {
        "Attributes": _returned(body.get("ReturnValues", "NONE"), write, change),
        "ConsumedCapacity": _consumed(body, write.table, charge),
        "ItemCollectionMetrics": collection_metrics(body, write.table, write.key),
    }


def _returned(asked: str, write: ItemWrite, change: Change) -> bytes | None:
    if asked == "NONE":
        return None
    entry = change.old if asked.endswith("OLD") else change.new
    if entry is None:
        return None
    if asked.startswith("ALL"):
        return entry.text
    cut = projected(entry.item, write.changed_paths)
    return wire.write(cut) if cut else None


def collection_metrics(body: dict[str, Any], table: Table, key: Item) -> dict[str, Any] | None:
    """Return the ItemCollectionMetrics of a write; None if they were not asked for, or the table has no local index."""
    if body.get("ReturnItemCollectionMetrics", "NONE") == "NONE":
        return None
    if all(index.is_global for index in table.indexes.values()):
        return None
    name = table.hash[0].name
    return {"ItemCollectionKey": {name: key[name]}, "SizeEstimateRangeGB": [0.0, 1.0]}


def batch_get_item(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out BatchGetItem. Keys beyond 16 MB of items, or 1 MB of one partition key, are left over."""
    asked = _tables_of(body, "BatchGetItem")
    count = 0
    for name, each in asked.items():
        _KEYS_AND_ATTRIBUTES.admit(each)
        legacy.refuse_mixture(each)
        if len(each["Keys"]) > BATCH_GET_KEYS:
            raise invalid(
                f"1 validation error detected: Value at 'RequestItems.{name}.member.Keys' failed to satisfy "
                f"constraint: Member must have length less than or equal to {BATCH_GET_KEYS}"
            )
        if not each["Keys"]:
            raise invalid(
                f"1 validation error detected: Value '[]' at 'requestItems.{name}.member.keys' failed to satisfy "
                "constraint: Member must have length greater than or equal to 1"
            )
        count += len(each["Keys"])
    if count > BATCH_GET_KEYS:
        raise invalid("Too many items requested for the BatchGetItem call")
    found = [_Got(service, name, each) for name, each in asked.items()]
    room = BATCH_ANSWER_BYTES
    for got in found:
        room = got.take(room)
    refused = [got.refused for got in found if got.refused is not None]
    if refused and not any(got.charge.halves for got in found):
        raise refused[-1].copy()
    capacity = [
        meters.consumed(body.get("ReturnConsumedCapacity"), got.table, got.charge, name=got.name)
        for got in found
        if got.charge.halves
    ]
    return {
        "Responses": b"{"
        + b",".join(b"%s:%s" % (wire.write(got.name), wire.listed(got.texts)) for got in found)
        + b"}",
        "UnprocessedKeys": {got.name: {**got.asked, "Keys": got.left} for got in found if got.left},
        "ConsumedCapacity": capacity if any(capacity) else None,
    }


def _tables_of(body: dict[str, Any], operation: str) -> dict[str, Any]:
    asked: dict[str, Any] = body["RequestItems"]
    if not asked:
        raise invalid(f"The requestItems parameter is required for {operation}")
    return asked


class _Got:
    """What a batch gets from one table."""

    def __init__(self, service: Service, name: str, asked: dict[str, Any]) -> None:
        self.name = name
        self.asked = asked
        self._cut = projection_of(asked)
        self._lag = None if asked.get("ConsistentRead") else service.lag
        self.table = service.table(name)
        self._throttle = service.throttle
        self._positions = [position_of_key(self.table, key) for key in asked["Keys"]]
        if len(set(self._positions)) != len(self._positions):
            raise invalid("Provided list of item keys contains duplicates")
        self.texts: list[bytes] = []
        self.left: list[Item] = []
        self.refused: Throttled | None = None
        """Why keys are left, if it is for want of units."""
        self.charge = Charge()

    def take(self, room: int) -> int:
        """Read as many items as there is room for, and return what is left of it."""
        consistent = bool(self.asked.get("ConsistentRead"))
        of_partition: dict[bytes, int] = {}
        is_full = False
        for key, position in zip(self.asked["Keys"], self._positions, strict=True):
            table = self.table if self._lag is None else self._lag.seen(self.table, self._lag.age())
            entry = table.entries.get(position)
            size = entry.size if entry else 0
            partition = self.table.partition([key[part.name] for part in self.table.hash])
            begun = of_partition.get(partition, 0)
            is_full = is_full or size > room or bool(begun and begun + size > PAGE_BYTES)
            charge = meters.read(size, consistent=consistent)
            if is_full or not self._may_read(position, charge):
                self.left.append(key)
                continue
            of_partition[partition] = begun + size
            room -= size
            self.charge += charge
            if entry is not None:
                self.texts.append(cut_text(entry, self._cut))
        return 0 if is_full else room

    def _may_read(self, position: bytes, charge: Charge) -> bool:
        if self._throttle is None:
            return True
        try:
            self._throttle.take("Read", self.table, position, charge)
        except Throttled as refused:
            self.refused = refused.copy()
            return False
        return True


def batch_write_item(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out BatchWriteItem."""
    asked = _tables_of(body, "BatchWriteItem")
    if any(not 1 <= len(each) <= BATCH_WRITE_REQUESTS for each in asked.values()):
        raise invalid(
            f"1 validation error detected: Value '{shown(asked)}' at 'requestItems' failed to satisfy constraint: "
            f"Map value must satisfy constraint: [Member must have length less than or equal to "
            f"{BATCH_WRITE_REQUESTS}, Member must have length greater than or equal to 1]"
        )
    if sum(map(len, asked.values())) > BATCH_WRITE_REQUESTS:
        raise invalid("Too many items requested for the BatchWriteItem call")
    found: dict[str, list[ItemWrite]] = {}
    for name, requests in asked.items():
        found[name] = [_batched(service, name, request) for request in requests]
        if len({write.position for write in found[name]}) != len(requests):
            raise invalid("Provided list of item keys contains duplicates")
    if sum(write.size for each in found.values() for write in each) > BATCH_WRITE_BYTES:
        raise invalid("Item collection size of the batch has exceeded the maximum allowed size")
    charges: dict[str, Charge] = {}
    metrics: dict[str, list[Any]] = {}
    left: dict[str, list[Any]] = {}
    throttled: Throttled | None = None
    for name, of_table in found.items():
        for write, request in zip(of_table, asked[name], strict=True):
            try:
                _change, charge = service.carry_out(write, None)
            except Throttled as refused:
                throttled = refused.copy()
                left.setdefault(name, []).append(request)
                continue
            charges[name] = charges.get(name, Charge()) + charge
            if metric := collection_metrics(body, write.table, write.key):
                metrics.setdefault(name, []).append(metric)
    if throttled is not None and not charges:
        raise throttled.copy()
    asked_capacity = body.get("ReturnConsumedCapacity")
    capacity = [
        meters.consumed(asked_capacity, service.table(name), charge, name=name) for name, charge in charges.items()
    ]
    return {
        "UnprocessedItems": left,
        "ConsumedCapacity": None if capacity[0] is None else capacity,
        "ItemCollectionMetrics": metrics or None,
    }


def _batched(service: Service, name: str, request: Any) -> ItemWrite:
    _WRITE_REQUEST.admit(request)
    given = {kind: each for kind, each in request.items() if each is not None}
    if len(given) != 1:
        raise invalid(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
            "datatypes"
        )
    if "PutRequest" in given:
        return writes.put({"TableName": name, "Item": given["PutRequest"]["Item"]}, service.table)
    return writes.delete({"TableName": name, "Key": given["DeleteRequest"]["Key"]}, service.table)
