"""What all writes of one item share: their conditions, and what a refusal means."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from typing import Any, Final, Literal, Self, TypeAlias, TypeVar

from dynamap_async.codec import decode_any
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DecodeError,
    ItemExistsError,
    ItemKindError,
    ItemValidationError,
    ItemVersionError,
    OperationError,
    ServiceError,
    VersionConflictError,
)
from dynamap_async.expressions import Condition, Placeholders, conjunction, render_condition
from dynamap_async.models import Definition, Model, WriteKind, definition_of
from dynamap_async.operations.operation import Part, SingleRequest, key_values, part_of, shown_key
from dynamap_async.operations.write_options import WriteOptions
from dynamap_async.planning import Context, stored_conditions, with_missing_table_note
from dynamap_async.request import Request, Target, WriteId
from dynamap_async.wire import AttributeValue, Body, WireItem, WireKey

R_co = TypeVar("R_co", covariant=True)
RefusedT = TypeVar("RefusedT", bound=ConditionalCheckFailedError)


_ACTIONS: Final = {
    "PutItem": "Put",
    "UpdateItem": "Update",
    "DeleteItem": "Delete",
    "ConditionCheck": "ConditionCheck",
}


Returns: TypeAlias = Literal["old"] | None
"""What a put or a delete gives back: its usual result, or the item as it was before."""


class Unknown(Enum):
    """Stands for a stored item of which nothing is known, not even whether there is one."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN

Stored: TypeAlias = Mapping[str, AttributeValue] | None
"""What is known of a stored item, in wire form: at least its unique attributes; None where there is no item."""


class Write(SingleRequest[R_co]):
    """An operation that writes, or checks, one item: a request of its own, or an action of a transaction."""

    __slots__ = ()

    kind: WriteKind | None = None
    """What hooks are told of the write; None for a check, which runs none."""

    @property
    @abstractmethod
    def definition(self) -> Definition[Any]:
        """The model of the item."""

    @property
    def item(self) -> Model | None:
        """The instance that is written; None for a write by key."""
        return None

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where it is not checked."""
        return None

    @property
    def takes_unversioned(self) -> bool:
        """Whether version 0 also stands for a stored item without a version, and not only for no item."""
        return False

    @property
    def is_encoded(self) -> bool:
        """Whether all that is sent is known; otherwise each execution of the write encodes it anew."""
        return True

    def encoded(self) -> Self:
        """Return the same write of the instance as it is now, after hooks and numbers have changed it."""
        return self

    @property
    def unneeded(self) -> bool:
        """Whether there is nothing to write, so that nothing is sent and the result is at hand."""
        return False

    @property
    def needs_number(self) -> bool:
        """Whether the instance lacks the number that a counter has to give it before it is written."""
        return False

    def numbered(self, number: int) -> Self:
        """Return the same write, encoded, of the instance with a number from its counter, if it needs one.

        No item may have the number; the instance gets it when the write is acknowledged.

        Args:
            number: what the counter gave.
        """
        return self.encoded()

    @property
    def guarded(self) -> bool:
        """Whether it may change unique values, so that their guards have to be written with it."""
        return False

    @property
    def reads_first(self) -> bool:
        """Whether to read what is stored before the write, where the write itself does not know it."""
        return False

    @property
    def brings_back(self) -> bool:
        """Whether its result is made of the item as it is then, which a transaction does not bring back."""
        return False

    def before(self) -> Stored | Unknown:
        """Return what the write knows of the item that is stored until then; asked of guarded writes."""
        return UNKNOWN

    @abstractmethod
    def after(self, before: Stored) -> Stored:
        """Return the item as it is stored after the write, at least its unique attributes.

        Args:
            before: what is stored until then, at least its unique attributes; None where there is no item.
        """

    @abstractmethod
    def on_condition(self, *conditions: Condition) -> Self:
        """Return the same write with more conditions.

        Args:
            conditions: what must hold of the stored item, beside the conditions that there are.
        """

    def acknowledged(self) -> None:
        """Record that the write was carried out: the instance gets what was stored beyond its own values."""

    def failed(self, error: ServiceError) -> Exception:
        """Return the error with the stored item as an instance; that of a version check tells both versions.

        Args:
            error: the refusal.
        """
        if not isinstance(error, ConditionalCheckFailedError):
            return with_missing_table_note(error, self.definition)
        error.item = _instance(self.definition, error.wire_item, error)
        expected = self.expected_version
        stored = _stored_version(self.definition, error.wire_item)
        as_expected = stored == expected if expected else self.takes_unversioned and not stored
        if expected is None or (as_expected and error.wire_item is not None):
            # It was the caller's own condition that failed.
            error.args = (self._refused(error),)
            return error
        return _conflict(error, _named(self, error), expected, stored)

    def part(self, context: Context) -> Part:
        """Return what a transaction says of the item.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        request = self.request(context)
        return part_of(_ACTIONS[request.operation], request)

    def wire_key(self) -> WireKey:
        """Return the key of the item."""
        target = self.request(Context()).target
        return {} if target is None else target.key

    def _refused(self, error: ConditionalCheckFailedError) -> str:
        member = "wire_item" if error.item is None else "item"
        found = "there is no such item" if error.wire_item is None else f"`{member}` of this error is the stored one"
        found += _upgraded(self.definition, error.wire_item)
        return (
            f"{_named(self, error)}: its condition does not hold; {found}. {_written(error)}; read the item again "
            "before deciding what to do."
        )


def _named(write: Write[Any], error: ServiceError) -> str:
    definition = write.definition
    key = shown_key(key_values(definition, write.wire_key()))
    return f"{error.operation} of {definition.model.__name__} with {key} on table {error.table!r}"


def refused_as_new(write: Write[Any], failure: Exception, *, conditional: bool) -> Exception:
    """Return the error of a write of a new item: where an item is stored in its place, that there is one.

    Args:
        write: the write.
        failure: what ``failed`` made of the refusal.
        conditional: whether the caller gave a condition of its own.
    """
    definition = write.definition
    if type(failure) is not ConditionalCheckFailedError or failure.wire_item is None:
        return failure
    if conditional and definition.expiry is not None:
        return failure  # the stored item may have expired, and the caller's own condition have failed
    message = (
        f"{_named(write, failure)}: the item exists already; `item` of this error is the stored one"
        f"{_upgraded(definition, failure.wire_item)}. {_written(failure)}; update() changes an item, put() replaces it."
    )
    return _as_kind(ItemExistsError, failure, message)


def refused_as_unread(write: Write[Any], error: VersionConflictError, carried: int) -> VersionConflictError:
    """Return the error of a save that took its instance for a new item: where one is stored, what to do instead.

    Args:
        write: the save.
        error: what ``refused_as_new`` made of the refusal.
        carried: the version of the instance; 0 for none.
    """
    if error.wire_item is not None:
        found = "without a version" if error.stored is None else f"in version {error.stored}"
        checked = f"put() it, which checks its version {carried}; or " if carried else ""
        message = (
            f"{_named(write, error)}: no session has read or written this instance, such as one from JSON, so save() "
            f"takes it for a new item; but one is stored, {found}. {_written(error)}; {checked}read the item, change "
            "what you got, and save() that."
        )
        error.args = (message,)
    return error


def refused_for_later(write: Write[Any], failure: Exception) -> Exception:
    """Return the error of a write that changes a stored item: where newer code wrote that one, that it is too new.

    Args:
        write: the write.
        failure: what ``failed`` made of the refusal.
    """
    if type(failure) is not ConditionalCheckFailedError or failure.wire_item is None:
        return failure
    try:
        write.definition.items.decode([failure.wire_item])
    except ItemVersionError as later:
        later.args = (f"{failure.operation} on table {failure.table!r}: {later}. {_written(failure)}",)
        later.outcome_unknown = failure.outcome_unknown
        return later
    except ItemValidationError:
        pass
    return failure


def _upgraded(definition: Definition[Any], stored: WireItem | None) -> str:
    """Return what a message says of a stored item that is of an older version: conditions saw that one."""
    if stored is None:
        return ""
    model = definition.model if definition.kinds is None else definition.kinds.of(stored)
    upgrades = None if model is None else definition_of(model).items.upgrades
    try:
        if upgrades is None or not upgrades.is_behind(stored):
            return ""
    except DecodeError:  # what is stored is no version
        return ""
    return (
        f", upgraded from version {upgrades.stored_version(stored)}: conditions, that of upsert() among them, see it "
        f"as it is stored{upgrades.why_any}; session.save() of what session.get() gives stores the present version"
    )


def _instance(definition: Definition[Any], stored: WireItem | None, refusal: ServiceError) -> Model | None:
    if stored is None:
        return None
    try:
        found: Model = definition.items.decode([stored])[0]
    except ItemKindError as other:
        refusal.add_note(str(other))
        return None
    except ItemValidationError:
        return None  # the caller's error is that of the condition; the item is in its wire form
    return found


def _stored_version(definition: Definition[Any], stored: WireItem | None) -> int | None:
    if stored is None or definition.version is None or "N" not in (value := stored.get(definition.version.stored, {})):
        return None
    return int(decode_any(value))


def _written(error: ServiceError) -> str:
    if error.outcome_unknown:
        return "The answer to an earlier attempt was lost, so that this very write may have been done"
    return "Nothing was written"


def _conflict(
    error: ConditionalCheckFailedError, write: str, expected: int, stored: int | None
) -> VersionConflictError:
    found = "there is no such item" if error.wire_item is None else f"the stored one has version {stored}"
    if error.wire_item is not None and stored is None:
        found = "the stored one has no version"
    wanted = f"it is based on version {expected}" if expected else "it is for a new item, of version 0"
    message = (
        f"{write}: {wanted}, but {found}. {_written(error)}; read the item again, decide, and write then "
        "(session.retry_on_conflict does so)."
    )
    conflict = _as_kind(VersionConflictError, error, message)
    conflict.expected, conflict.stored = expected, stored
    return conflict


def _as_kind(kind: type[RefusedT], error: ConditionalCheckFailedError, message: str) -> RefusedT:
    """Return a failed condition as an error of a more special kind, with all that is known of it."""
    special = kind(
        message,
        service_code=error.service_code,
        operation=error.operation,
        table=error.table,
        status=error.status,
        request_id=error.request_id,
    )
    special.item, special.wire_item = error.item, error.wire_item
    special.attempts, special.outcome_unknown = error.attempts, error.outcome_unknown
    for note in getattr(error, "__notes__", ()):
        special.add_note(note)
    return special


def condition_members(conditions: tuple[Condition, ...], placeholders: Placeholders) -> dict[str, str]:
    """Return the request members of a write's conditions; none without one.

    A failed condition brings the stored item back, at no cost in capacity.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html

    Args:
        conditions: what must hold of the stored item.
        placeholders: those of the request.
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
    target: Target,
    content: dict[str, Any],
    conditions: tuple[Condition, ...],
    *,
    write_id: WriteId | None = None,
    unindexed: Callable[[], tuple[str, ...]] | None = None,
) -> Request:
    """Return the request of a put, a delete or a check: unconditional ones may travel together.

    Args:
        operation: ``PutItem``, ``DeleteItem`` or ``ConditionCheck``.
        table: the full table name.
        target: the item.
        content: the member that says what is written.
        conditions: what must hold of the stored item.
        write_id: by which the write is recognised in the stored item.
        unindexed: tells in which global indexes the item that is put has no entry.
    """
    members: dict[str, Any] = {}
    if conditions:
        placeholders = Placeholders()
        members = {**condition_members(conditions, placeholders), **placeholders.to_wire()}
    return Request(
        operation=operation,
        body={"TableName": table, **content, **members},
        table=table,
        target=target,
        batchable=not members,
        writes=True,
        conditional=bool(members),
        write_id=write_id,
        unindexed=unindexed,
    )


class WholeItemWrite(Write[R_co]):
    """A write of an item as a whole, so that the one before it can be given back: a put or a delete."""

    __slots__ = ("_conditions", "_definition", "_expected", "_read_first", "_returns")

    _conditions: tuple[Condition, ...]
    _definition: Definition[Any]
    _expected: int | None
    _read_first: bool
    _returns: Returns

    def _take_options(self, options: WriteOptions) -> None:
        """Take the checked options of a caller; the model has to be known by then."""
        where = options.get("where")
        self._conditions = () if where is None else stored_conditions(self._definition.model, (where,))
        self._read_first = options.get("read_first", False)

    @property
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        return self._definition

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where it is not checked."""
        return self._expected

    @property
    def guarded(self) -> bool:
        """Whether the model has unique values, so that their guards have to be written or removed with the item."""
        return bool(self._definition.uniques)

    @property
    def reads_first(self) -> bool:
        """Whether to read what is stored before the write, where the write itself does not know it."""
        return self._read_first

    @property
    def brings_back(self) -> bool:
        """Never: asked where the write becomes a transaction.

        Raises:
            OperationError: the item as it was before is asked for, and a transaction gives back nothing.
        """
        if self._returns is not None:
            raise OperationError(
                f"a {self.kind} of a {self._definition.model.__name__} with unique values, or under a lease, is a "
                'transaction, which returns nothing; drop returning="old", and read the item before'
            )
        return False

    def on_condition(self, *conditions: Condition) -> Self:
        """Return the same write with more conditions.

        Args:
            conditions: what must hold of the stored item, beside the conditions that there are.
        """
        return self._with_members(_conditions=(*self._conditions, *conditions))

    def _request(
        self,
        operation: Literal["PutItem", "DeleteItem"],
        table: str,
        target: Target,
        content: dict[str, Any],
        guards: tuple[Condition, ...],
        write_id: WriteId | None = None,
        unindexed: Callable[[], tuple[str, ...]] | None = None,
    ) -> Request:
        """Return the request; one without conditions, of which the old item is not asked, may travel with others.

        Args:
            operation: what is done.
            table: the full table name.
            target: the item.
            content: the member that says what is written.
            guards: the conditions that come before the caller's.
            write_id: by which the write is recognised in the stored item.
            unindexed: tells in which global indexes the item has no entry.
        """
        request = write_request(
            operation, table, target, content, (*guards, *self._conditions), write_id=write_id, unindexed=unindexed
        )
        if self._returns is None:
            return request
        return replace(
            request,
            body={**request.body, "ReturnValues": "ALL_OLD"},
            batchable=False,
            resendable=self._expected is not None,  # or the item could be what an earlier sending has written
            write_id=None,  # the item that it left does not tell the one before
        )


def old_item(write: Write[Any], response: Body) -> Any:
    """Return the item as it was before a write; None where there was none.

    Args:
        write: the write.
        response: the answer's body, as decoded from JSON.

    Raises:
        ItemValidationError: it does not fit its model; the write was done all the same.
    """
    stored: WireItem | None = response.get("Attributes")
    if not stored:
        return None
    try:
        return write.definition.items.decode([stored])[0]
    except ItemValidationError as error:
        error.add_note(f"the {write.kind} was done, but the old item does not fit the model")
        raise


def checked_returns(returns: Returns) -> Returns:
    """Return what a put or a delete gives back.

    Args:
        returns: what the caller asked for.

    Raises:
        OperationError: there is no such result.
    """
    if returns not in (None, "old"):
        raise OperationError(f'returning={returns!r} is not possible; put and delete return "old" only')
    return returns
