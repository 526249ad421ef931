"""TransactWriteItems and TransactGetItems.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dynamap_async.limits import TRANSACTION_ACTIONS, TRANSACTION_BYTES
from dynamap_async.simulated import meters, wire, writes
from dynamap_async.simulated.constraints import Structure, listing, text
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.items import collection_metrics, cut_text, projection_of
from dynamap_async.simulated.keys import position_of_key
from dynamap_async.simulated.shapes import ATTRIBUTES, CONDITION, CONSUMED, EXPRESSION, METRICS, NAMES, TABLE_NAME
from dynamap_async.simulated.store import Change, Entry
from dynamap_async.simulated.writes import ItemWrite
from dynamap_async.units import Charge, read_half_units, write_half_units

if TYPE_CHECKING:
    from dynamap_async.simulated.capacity import Wanted
    from dynamap_async.simulated.service import Service
    from dynamap_async.simulated.supplies import Kind

_KEYED = {"TableName!": TABLE_NAME, "Key!": ATTRIBUTES, **CONDITION}
_ACTION = Structure(
    {
        "ConditionCheck": Structure({**_KEYED, "ConditionExpression!": EXPRESSION}),
        "Put": Structure({"TableName!": TABLE_NAME, "Item!": ATTRIBUTES, **CONDITION}),
        "Delete": Structure(_KEYED),
        "Update": Structure({**_KEYED, "UpdateExpression!": EXPRESSION}),
    }
)
TRANSACT_WRITE_ITEMS = Structure(
    {
        "TransactItems!": listing(_ACTION, 1, TRANSACTION_ACTIONS),
        "ReturnConsumedCapacity": CONSUMED,
        "ReturnItemCollectionMetrics": METRICS,
        "ClientRequestToken": text(1, 36),
    }
)
TRANSACT_GET_ITEMS = Structure(
    {
        "TransactItems!": listing(
            Structure(
                {
                    "Get!": Structure(
                        {
                            "TableName!": TABLE_NAME,
                            "Key!": ATTRIBUTES,
                            "ProjectionExpression": EXPRESSION,
                            "ExpressionAttributeNames": NAMES,
                        }
                    )
                }
            ),
            1,
            TRANSACTION_ACTIONS,
        ),
        "ReturnConsumedCapacity": CONSUMED,
    }
)
_PREPARED: dict[str, Callable[[dict[str, Any], writes.Find], ItemWrite]] = {
    "ConditionCheck": writes.check,
    "Put": writes.put,
    "Delete": writes.delete,
    "Update": writes.update,
}
_NONE = {"Code": "None"}
_CODES = {
    "ValidationException": "ValidationError",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "ThrottlingError",
}


def cancelled(reasons: list[dict[str, Any]]) -> Refused:
    """Return the refusal of a transaction.

    Args:
        reasons: one for each of its actions.
    """
    codes = ", ".join(reason["Code"] for reason in reasons)
    return Refused(
        "TransactionCanceledException",
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        CancellationReasons=reasons,
    )


def _reason(refused: Refused) -> dict[str, Any]:
    code = _CODES.get(refused.code, refused.code)
    return {"Code": code, "Message": refused.message}


def transact_write_items(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out TransactWriteItems: all of its actions or none."""
    token = body.get("ClientRequestToken")
    asked = wire.write(body["TransactItems"]).decode() if token is not None else ""
    if token is not None and (done := service.remembered(token, asked)):
        read_again(service, done)
        return _capacity(service, body, done)
    prepared: list[ItemWrite | Refused] = []
    for action in body["TransactItems"]:
        given = {kind: each for kind, each in action.items() if each is not None}
        if len(given) != 1:
            raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")
        [(kind, each)] = given.items()
        prepared.append(_understood(_PREPARED[kind], each, service))
    done = carry_out(service, prepared)
    if token is not None:
        service.remember(token, asked, [(write, size, Charge()) for write, size, _charge in done])
    answer = _capacity(service, body, done)
    metrics: dict[str, list[Any]] = {}
    for write, _size, _charge in done:
        if metric := collection_metrics(body, write.table, write.key):
            metrics.setdefault(write.table.name, []).append(metric)
    return {**answer, "ItemCollectionMetrics": metrics or None}


def take_together(service: Service, kind: Kind, wanted: list[Wanted | None]) -> None:
    """Take what all actions of a transaction want, or nothing.

    Args:
        service: the service.
        kind: ``Read`` or ``Write``.
        wanted: one for each action; None for one that wants nothing.

    Raises:
        Refused: there are too few units.
    """
    if service.throttle is not None:
        refused = service.throttle.take_together(kind, wanted)
        if any(refused):
            raise cancelled([_NONE if each is None else _reason(each) for each in refused])


def read_again(service: Service, done: Done) -> None:
    """Take what a transaction takes that was done before, under the same token.

    Raises:
        Refused: there are too few units.
    """
    take_together(service, "Read", [(write.table, write.position, _repeated(size), None) for write, size, _ in done])


def _repeated(size: int) -> Charge:
    return Charge(table_halves=read_half_units(size, transactional=True))


def _understood(
    prepare: Callable[[dict[str, Any], writes.Find], ItemWrite], each: dict[str, Any], service: Service
) -> ItemWrite | Refused:
    """Return an action, or the refusal that cancels the transaction because of it."""
    try:
        return prepare(each, service.table)
    except Refused as refused:
        if refused.code == "ValidationException" and (
            "does not match the schema" in refused.message
            or "Type mismatch" in refused.message
            or "Missing the key" in refused.message
            or "values were invalid. " in refused.message  # of a vector
        ):
            return refused
        raise


Done = list[tuple[ItemWrite, int, Charge]]
"""The writes, the size of what each looked at or made, and what each took."""


def carry_out(service: Service, prepared: list[ItemWrite | Refused]) -> Done:
    """Do all writes, or none.

    Args:
        service: the service.
        prepared: the writes; a refusal in the place of one that cannot be.

    Raises:
        Refused: one cannot be done.
    """
    known = [write for write in prepared if isinstance(write, ItemWrite)]
    if len({(write.table.name, write.position) for write in known}) != len(known):
        raise invalid("Transaction request cannot include multiple operations on one item")
    if sum(write.size for write in known) > TRANSACTION_BYTES:
        raise invalid("Collection size of items in transact write request exceeded limit")
    reasons: list[dict[str, Any]] = []
    wanted: list[Wanted | None] = []
    done: Done = []
    for write in prepared:
        wanted.append(None)
        if isinstance(write, Refused):
            reasons.append(_reason(write))
            continue
        old = write.old_item if write.looks else None
        if not write.is_allowed(old):
            if service.throttle is not None:
                in_vain = Charge(table_halves=write.halves_in_vain(transactional=True))
                wanted[-1] = (write.table, write.position, in_vain, None)
            reason = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
            reasons.append({**reason, "Item": old} if write.returns_on_failure and old is not None else reason)
            continue
        try:
            change = None if write.is_check else write.table.change(write.position, *write.new_item(old))
        except Refused as refused:
            reasons.append(_reason(refused))
            continue
        entry = write.table.entries.get(write.position)
        charge, size = _charge(entry, change)
        wanted[-1] = (write.table, write.position, charge, change)
        done.append((write, size, charge))
        reasons.append(_NONE)
    is_met = all(reason is _NONE for reason in reasons)
    if is_met and sum(size for write, size, _charge in done if not write.is_check) > TRANSACTION_BYTES:
        raise invalid("Collection size of items in transact write request exceeded limit")
    take_together(service, "Write", wanted if is_met else [each and _in_vain(each) for each in wanted])
    if not is_met:
        raise cancelled(reasons)
    for each in wanted:
        if each is not None and each[3] is not None:
            service.carry(each[3])
    return done


def _charge(entry: Entry | None, change: Change | None) -> tuple[Charge, int]:
    """Return what an action takes, and the size of what it looks at or makes."""
    if change is not None:
        return meters.written(change, transactional=True), change.size
    looked_at = entry.size if entry else 0
    return Charge(table_halves=write_half_units(looked_at, transactional=True)), looked_at


def _in_vain(wanted: Wanted) -> Wanted:
    table, position, charge, _change = wanted
    return table, position, Charge(table_halves=charge.table_halves), None


def _capacity(service: Service, body: dict[str, Any], done: Done) -> dict[str, Any]:
    asked = body.get("ReturnConsumedCapacity")
    if asked is None or asked == "NONE":
        return {}
    charges: dict[str, Charge] = {}
    kind = "Write"
    for write, size, charge in done:
        each = charge
        if not charge.halves:  # the transaction was done before, under the same token
            each, kind = _repeated(size), "Read"
        charges[write.table.name] = charges.get(write.table.name, Charge()) + each
    return {
        "ConsumedCapacity": [
            meters.consumed(asked, service.table(name), charge, kind=kind) for name, charge in charges.items()
        ]
    }


def transact_get_items(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out TransactGetItems."""
    reasons: list[dict[str, Any]] = []
    texts: list[bytes] = []
    charges: dict[str, Charge] = {}
    wanted: list[Wanted | None] = []
    seen: set[tuple[str, bytes]] = set()
    size = 0
    for each in body["TransactItems"]:
        get = each["Get"]
        cut = projection_of(get)
        table = service.table(get["TableName"])
        try:
            position = position_of_key(table, get["Key"])
        except Refused as refused:
            if "does not match the schema" not in refused.message:
                raise
            reasons.append(_reason(refused))
            continue
        if (table.name, position) in seen:
            raise invalid("Transaction request cannot include multiple operations on one item")
        seen.add((table.name, position))
        reasons.append(_NONE)
        entry = table.entries.get(position)
        texts.append(b"{}" if entry is None else b'{"Item":%s}' % cut_text(entry, cut))
        size += entry.size if entry else 0
        charge = Charge(table_halves=read_half_units(entry.size if entry else 0, transactional=True))
        charges[table.name] = charges.get(table.name, Charge()) + charge
        wanted.append((table, position, charge, None))
    if any(reason is not _NONE for reason in reasons):
        raise cancelled(reasons)
    if size > TRANSACTION_BYTES:
        raise invalid("Collection size of items in transact get request exceeded limit")
    take_together(service, "Read", wanted)
    asked = body.get("ReturnConsumedCapacity")
    capacity = [meters.consumed(asked, service.table(name), charge, kind="Read") for name, charge in charges.items()]
    return {"Responses": tuple(texts), "ConsumedCapacity": None if capacity[0] is None else capacity}
