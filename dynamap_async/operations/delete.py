"""Removing one item."""

import copy
from typing import Any, Self, final, overload

from dynamap_async.errors import OperationError
from dynamap_async.expressions import Condition
from dynamap_async.models import Definition, KeyValue, Model, WriteKind, definition_of, is_whole, known
from dynamap_async.operations.exactly_once import ExactlyOnce
from dynamap_async.operations.stamps import carried_version, same_version
from dynamap_async.operations.write import UNKNOWN, Stored, Unknown, Write, write_request
from dynamap_async.planning import Context, check_written_by_key, checked_model, stored_conditions
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import Body, WireKey


@final
class Delete(Write[None]):
    """Remove an item, named by an instance or by its key. Removing one that does not exist is no error.

    An instance of a versioned model removes only the version that it was read with; a key removes any.

    Cost: one DeleteItem; one write unit per KB of the item that was there, at least one.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
    """

    __slots__ = ("_conditions", "_definition", "_expected", "_item", "_key", "_read_first")

    kind: WriteKind | None = "delete"

    @overload
    def __init__(self, item: Model, /, *, where: Condition | None = None, read_first: bool = False) -> None: ...
    @overload
    def __init__(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition | None = None,
        read_first: bool = False,
    ) -> None: ...
    def __init__(
        self,
        target: Model | type[Model],
        partition: KeyValue | None = None,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition | None = None,
        read_first: bool = False,
    ) -> None:
        """Name the item.

        Args:
            target: the instance, or the model.
            partition: the partition key's value, after a model.
            sort: the sort key's value, where the table has one, after a model.
            where: what must hold of the stored item.
            read_first: whether to read the stored item first, which a model with ``Unique`` needs for a key, and for an
                instance that no session read or wrote.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit.
            ExpressionError: the condition is not about this model.
        """
        values = tuple(value for value in (partition, sort) if value is not None)
        # Never by the truth of the instance: an empty cart, which has a length of its own, is false.
        self._item = target if isinstance(target, Model) else None
        self._definition: Definition[Any] = definition_of(
            checked_model(target) if self._item is None else type(self._item)
        )
        self._definition.require_table("deleted")
        self._expected: int | None = None
        self._read_first = read_first
        if self._item is None:
            check_written_by_key(self._definition, deletes=True)
            self._key = self._definition.key(values)
        elif values:
            raise OperationError(f"delete(item) takes no key values: {type(target).__name__}'s key is in the item")
        else:
            self._key = self._definition.key_of(self._item)
            if self._definition.version is not None:
                self._expected = carried_version(self._item, self._definition)
        self._conditions = stored_conditions(self._definition.model, () if where is None else (where,))

    def _take(self, definition: Definition[Any], key: WireKey, item: Model | None) -> None:
        self._item, self._definition, self._key = item, definition, key
        self._conditions, self._expected, self._read_first = (), None, False

    def __repr__(self) -> str:
        return f"Delete({self._definition.model.__name__}, {self._key})"

    @property
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        return self._definition

    @property
    def item(self) -> Model | None:
        """The instance that is removed, if the item was named by one."""
        return self._item

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where it is not checked."""
        return self._expected

    def on_condition(self, *conditions: Condition) -> Self:
        """Return the same write with more conditions."""
        own = copy.copy(self)
        own._conditions = (*own._conditions, *conditions)  # noqa: SLF001 - a copy of this object
        return own

    @property
    def guarded(self) -> bool:
        """Whether the model has unique values, whose guards have to be removed with the item."""
        return bool(self._definition.uniques)

    @property
    def reads_first(self) -> bool:
        """Whether to read what is stored before the write, where the instance does not tell."""
        return self._read_first

    def before(self) -> Stored | Unknown:
        """Return what is known of the stored item: what was stored when the instance was read or written."""
        if self._item is None or not is_whole(self._item):
            return UNKNOWN
        return known(self._item, self._definition).item

    def after(self, before: Stored) -> None:
        """None: the item is gone."""

    def request(self, context: Context) -> Request:
        """Return the DeleteItem request."""
        table = context.table_prefix + self._definition.table_name(self._key, "deleted")
        guards = () if self._expected is None else (same_version(self._definition, self._expected),)
        target = Target(self._key, identity_of(table, self._key))
        return write_request("DeleteItem", table, target, {"Key": self._key}, (*guards, *self._conditions))

    def exactly_once(self, *, client_request_token: str | None = None) -> ExactlyOnce[Any]:
        """Return the same write, done once whatever answers get lost, at twice the write units. See ``ExactlyOnce``."""
        return ExactlyOnce(self, client_request_token=client_request_token)

    def result(self, response: Body, context: Context) -> None:
        """Nothing: the item is gone."""
        self.acknowledged()


def delete_of_key(definition: Definition[Any], key: WireKey, item: Model | None) -> Delete:
    """Return the delete of a key that was encoded before.

    Args:
        definition: the model, which has nothing to add to it.
        key: the key.
        item: the instance that it is of, if the item was named by one.
    """
    delete = Delete.__new__(Delete)
    delete._take(definition, key, item)  # noqa: SLF001 - of this module
    return delete
