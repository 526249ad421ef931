"""Removing one item."""

from typing import final, overload

from dynamap_async.errors import OperationError
from dynamap_async.expressions import Condition, Placeholders, conjunction
from dynamap_async.models import KeyValue, Model, definition_of
from dynamap_async.operations.operation import Context, SingleRequest, checked_model, condition_members, own_conditions
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import Body


@final
class Delete(SingleRequest[None]):
    """Remove an item, named by an instance or by its key. Removing one that does not exist is no error.

    Cost: one DeleteItem; one write unit per KB of the item that was there, at least one.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
    """

    __slots__ = ("_conditions", "_key", "_model", "_table")

    @overload
    def __init__(self, item: Model, /, *, where: Condition | None = None) -> None: ...
    @overload
    def __init__(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition | None = None,
    ) -> None: ...
    def __init__(
        self,
        target: Model | type[Model],
        partition: KeyValue | None = None,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition | None = None,
    ) -> None:
        """Name the item.

        Args:
            target: the instance, or the model.
            partition: the partition key's value, after a model.
            sort: the sort key's value, where the table has one, after a model.
            where: what must hold of the stored item.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit.
            ExpressionError: the condition is not about this model.
        """
        values = tuple(value for value in (partition, sort) if value is not None)
        if isinstance(target, Model):
            if values:
                raise OperationError(f"delete(item) takes no key values: {type(target).__name__}'s key is in the item")
            self._model = type(target)
            definition = definition_of(self._model)
            self._table = definition.require_table("deleted").name
            self._key = definition.key_of(target)
        else:
            self._model = checked_model(target)
            definition = definition_of(self._model)
            self._table = definition.require_table("deleted").name
            self._key = definition.key(values)
        self._conditions = own_conditions(self._model, () if where is None else (where,))

    def __repr__(self) -> str:
        return f"Delete({self._model.__name__}, {self._key})"

    def request(self, context: Context) -> Request:
        """Return the DeleteItem request."""
        table = context.table_prefix + self._table
        placeholders = Placeholders()
        members = condition_members(conjunction(self._conditions), placeholders)
        body = {"TableName": table, "Key": self._key, **members, **placeholders.to_wire()}
        return Request(
            operation="DeleteItem",
            body=body,
            table=table,
            target=Target(self._key, identity_of(table, self._key)),
            batchable=not members,
            writes=True,
            conditional=bool(members),
        )

    def result(self, response: Body) -> None:
        """Nothing: the item is gone."""
