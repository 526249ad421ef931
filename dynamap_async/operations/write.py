"""What all writes of one item share: their conditions, and what a refusal means."""

from abc import abstractmethod
from typing import Any, TypeVar

from dynamap_async.codec import decode_any
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ItemValidationError,
    ServiceError,
    VersionConflictError,
)
from dynamap_async.expressions import Condition, Placeholders, conjunction, render_condition
from dynamap_async.models import Definition, Model
from dynamap_async.operations.operation import SingleRequest
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import WireItem, WireKey

R_co = TypeVar("R_co", covariant=True)


class Write(SingleRequest[R_co]):
    """An operation that writes, or checks, one item: a request of its own, or an action of a transaction."""

    __slots__ = ()

    @property
    @abstractmethod
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        raise NotImplementedError

    @property
    def item(self) -> Model | None:
        """The instance that is written; None for a write by key."""
        return None

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where it is not checked."""
        return None

    def acknowledged(self) -> None:
        """Take note that the write was carried out: the instance gets what was stored beyond its own values."""

    def failed(self, error: ServiceError) -> Exception:
        """Return the error with the stored item as an instance; that of a version check tells both versions."""
        if not isinstance(error, ConditionalCheckFailedError):
            return error
        error.item = _instance(self.definition, error.wire_item)
        expected = self.expected_version
        if expected is None:
            return error
        stored = _stored_version(self.definition, error.wire_item)
        if stored == (expected or None) and (error.wire_item is not None or expected != 0):
            return error  # it was the caller's own condition that failed
        return _conflict(error, self.definition, expected, stored)


def _instance(definition: Definition[Any], stored: WireItem | None) -> Model | None:
    if stored is None:
        return None
    try:
        found: Model = definition.items.decode([stored])[0]
    except ItemValidationError:
        return None  # the caller's error is that of the condition; the item is in its wire form
    return found


def _stored_version(definition: Definition[Any], stored: WireItem | None) -> int | None:
    if stored is None or definition.version is None or "N" not in (value := stored.get(definition.version.stored, {})):
        return None
    return int(decode_any(value))


def _conflict(
    error: ConditionalCheckFailedError, definition: Definition[Any], expected: int, stored: int | None
) -> VersionConflictError:
    found = "there is no such item" if error.wire_item is None else f"the stored item has version {stored}"
    wanted = f"based on version {expected}" if expected else "of an item that must not exist yet"
    conflict = VersionConflictError(
        f"{error.operation} on {error.table}: the write of a {definition.model.__name__} is {wanted}, but {found}. "
        "Nothing was written; read the item again, decide, and write then (session.retry_on_conflict does so).",
        service_code=error.service_code,
        operation=error.operation,
        table=error.table,
        status=error.status,
        request_id=error.request_id,
    )
    conflict.item, conflict.wire_item = error.item, error.wire_item
    conflict.expected, conflict.stored = expected, stored
    conflict.attempts, conflict.outcome_unknown = error.attempts, error.outcome_unknown
    for note in getattr(error, "__notes__", ()):
        conflict.add_note(note)
    return conflict


def condition_members(conditions: tuple[Condition, ...], placeholders: Placeholders) -> dict[str, str]:
    """Return the request members of a write's conditions; none without one.

    A failed condition brings the stored item back, at no cost in capacity.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """
    condition = conjunction(conditions)
    if condition is None:
        return {}
    return {
        "ConditionExpression": render_condition(condition, placeholders),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def write_request(
    operation: str,
    table: str,
    key: WireKey,
    content: dict[str, Any],
    conditions: tuple[Condition, ...],
    *,
    size_bytes: int = 0,
) -> Request:
    """Return the request of a put or a delete: unconditional ones may travel together.

    Args:
        operation: ``PutItem`` or ``DeleteItem``.
        table: the full table name.
        key: the item's key.
        content: the member that says what is written.
        conditions: what must hold of the stored item.
        size_bytes: the size of what is written.
    """
    placeholders = Placeholders()
    members = condition_members(conditions, placeholders)
    return Request(
        operation=operation,
        body={"TableName": table, **content, **members, **placeholders.to_wire()},
        table=table,
        target=Target(key, identity_of(table, key), size_bytes),
        batchable=not members,
        writes=True,
        conditional=bool(members),
    )
