"""Writing one whole item."""

from typing import Generic, TypeVar

from dynamap_async.codec import item_size
from dynamap_async.expressions import Condition, Function, Placeholders, conjunction
from dynamap_async.models import Model, definition_of
from dynamap_async.operations.operation import Context, SingleRequest, checked_model, condition_members, own_conditions
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import Body

M = TypeVar("M", bound=Model)


class Put(SingleRequest[M], Generic[M]):
    """Write an item, replacing the one with the same key if there is one. The result is the item itself.

    Cost: one PutItem; one write unit per KB of the larger of the old and the new item, and the same for each index
    entry that changes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ("_conditions", "_definition", "_item", "_key_names", "_stored", "_table")

    def __init__(self, item: M, /, *, where: Condition | None = None) -> None:
        """Take the item as it is now; later changes of the instance are not written.

        Args:
            item: the model instance to write.
            where: what must hold of the stored item.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            OperationError: it is not an instance of a model.
            ExpressionError: the condition is not about this model.
        """
        checked_model(type(item))
        self._item = item
        self._definition = definition_of(type(item))
        schema = self._definition.require_table("written")
        self._table, self._key_names = schema.name, schema.keys.names
        self._stored = self._definition.items.encode(item)
        self._conditions = own_conditions(type(item), () if where is None else (where,))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._item!r})"

    def request(self, context: Context) -> Request:
        """Return the PutItem request."""
        table = context.table_prefix + self._table
        placeholders = Placeholders()
        members = condition_members(conjunction(self._conditions), placeholders)
        body = {"TableName": table, "Item": self._stored, **members, **placeholders.to_wire()}
        key = {name: self._stored[name] for name in self._key_names}
        return Request(
            operation="PutItem",
            body=body,
            table=table,
            target=Target(key, identity_of(table, key), item_size(self._stored)),
            batchable=not members,
            writes=True,
            conditional=bool(members),
        )

    def result(self, response: Body) -> M:
        """Return the instance that was written."""
        return self._item


class Create(Put[M]):
    """Write an item that must not exist yet.

    Cost: as ``Put``; a refused write is charged too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ()

    def __init__(self, item: M, /, *, where: Condition | None = None) -> None:
        """Take the item as it is now; arguments and errors are those of ``Put``."""
        super().__init__(item, where=where)
        partition = self._definition.key_fields()[0]
        absent = Function("attribute_not_exists", self._definition.path(partition.name))
        self._conditions = (absent, *self._conditions)
