"""A condition on one item, as an action of a transaction."""

from typing import Any, final

from dynamap_async.expressions import Condition
from dynamap_async.models import Definition, KeyValue, Model, definition_of
from dynamap_async.operations.write import Write, write_request
from dynamap_async.planning import Context, checked_model, stored_conditions
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import Body


@final
class Check(Write[None]):
    """Demand something of an item that the transaction does not write. It is sent in a transaction only.

    Cost: two write units per KB of the stored item, at least two.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ConditionCheck.html
    """

    __slots__ = ("_conditions", "_definition", "_key")

    def __init__(
        self, model: type[Model], partition: KeyValue, sort: KeyValue | None = None, /, *, where: Condition
    ) -> None:
        """Name the item.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort: the sort key's value, where the table has one.
            where: what must hold of the stored item.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit.
            ExpressionError: the condition is not about this model.
        """
        self._definition: Definition[Any] = definition_of(checked_model(model))
        self._definition.require_table("checked")
        self._key = self._definition.key((partition,) if sort is None else (partition, sort))
        self._conditions = stored_conditions(model, (where,))

    def __repr__(self) -> str:
        return f"Check({self._definition.model.__name__}, {self._key})"

    @property
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        return self._definition

    def request(self, context: Context) -> Request:
        """Return the ConditionCheck, which is no request of its own."""
        table = context.table_prefix + self._definition.table_name(self._key, "checked")
        target = Target(self._key, identity_of(table, self._key))
        return write_request("ConditionCheck", table, target, {"Key": self._key}, self._conditions)

    def result(self, response: Body, context: Context) -> None:
        """Nothing: the condition held."""
