"""Writing one whole item."""

import copy
from typing import Any, Generic, Self, TypeVar

from dynamap_async.codec import item_size
from dynamap_async.expressions import Condition
from dynamap_async.models import Definition, Model, definition_of, give
from dynamap_async.operations.operation import Context, checked_model, own_conditions
from dynamap_async.operations.stamps import carried_version, not_stored, same_version, stamped
from dynamap_async.operations.write import Write, write_request
from dynamap_async.request import Request
from dynamap_async.wire import Body, WireItem

M = TypeVar("M", bound=Model)


class Put(Write[M], Generic[M]):
    """Write an item, replacing the one with the same key if there is one. The result is the item itself.

    An item of a versioned model replaces only the version that it was read with, and gets the next number.

    Cost: one PutItem; one write unit per KB of the larger of the old and the new item, and the same for each index
    entry that changes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ("_conditions", "_definition", "_expected", "_item", "_stamps", "_stored")

    _stored: WireItem
    _stamps: dict[str, Any]
    _expected: int | None

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
        self._definition: Definition[M] = definition_of(type(item))
        self._definition.require_table("written")
        self._conditions = own_conditions(type(item), () if where is None else (where,))
        if not self._definition.prepares:
            self.encode()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._item!r})"

    @property
    def definition(self) -> Definition[M]:
        """The model of the item."""
        return self._definition

    @property
    def item(self) -> M:
        """The instance that is written."""
        return self._item

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where the model has no version."""
        return self._expected

    def encoded(self) -> Self:
        """Return the same write of the instance as it is now, after hooks and numbers have changed it."""
        own = copy.copy(self)
        own.encode()
        return own

    def encode(self) -> None:
        """Take the instance as it is now."""
        definition = self._definition
        self._expected = None if definition.version is None else carried_version(self._item, definition)
        self._stamps = stamped(self._item, definition)
        self._stored = definition.items.encode(self._item, self._stamps)

    def _guards(self) -> tuple[Condition, ...]:
        """Return the conditions that the write adds to the caller's."""
        return () if self._expected is None else (same_version(self._definition, self._expected),)

    def request(self, context: Context) -> Request:
        """Return the PutItem request."""
        schema = self._definition.require_table("written")
        return write_request(
            "PutItem",
            context.table_prefix + schema.name,
            {name: self._stored[name] for name in schema.keys.names},
            {"Item": self._stored},
            (*self._guards(), *self._conditions),
            size_bytes=item_size(self._stored),
        )

    def result(self, response: Body) -> M:
        """Return the instance that was written."""
        self.acknowledged()
        return self._item

    def acknowledged(self) -> None:
        """Give the instance what was stored beyond its own values."""
        give(self._item, self._stamps)


class Create(Put[M]):
    """Write an item that must not exist yet.

    Cost: as ``Put``; a refused write is charged too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ()

    @property
    def expected_version(self) -> None:
        """None: the condition is that there is no item, whatever its version."""

    def _guards(self) -> tuple[Condition, ...]:
        return (not_stored(self._definition),)
