"""Counting: numbers for new items, and counters in items."""

from decimal import Decimal
from typing import Any, TypeVar, overload

from dynamap_async.codec import encode_any
from dynamap_async.expressions import Expr, path_of
from dynamap_async.models import KeyValue, Model
from dynamap_async.operations import Reserve, Update
from dynamap_async.session.runner import Runner
from dynamap_async.transport import damaged

N = TypeVar("N", int, Decimal, float)


class Counting:
    """What a session does with counters."""

    _runner: Runner

    async def reserve(self, model: type[Model], count: int, partition: KeyValue | None = None, /) -> range:
        """Take numbers from the counter of a model with ``attr(autoincrement=True)``, for items to be written later.

        ``numbers = await session.reserve(Ticket, 100)``, then ``session.create(Ticket(number=numbers[0], ...))``. It
        also moves the counter past numbers that were given by hand. See ``Reserve``.
        """
        return await self._runner.execute(Reserve(model, count, partition))

    @overload
    async def increment(
        self,
        model: type[Model],
        partition: KeyValue,
        field: Expr[N] | Expr[N | None],
        /,
        *,
        by: N | int = 1,
        upsert: bool = False,
    ) -> N: ...
    @overload
    async def increment(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue,
        field: Expr[N] | Expr[N | None],
        /,
        *,
        by: N | int = 1,
        upsert: bool = False,
    ) -> N: ...
    async def increment(
        self, model: type[Model], partition: Any, /, *sort_and_field: Any, by: Any = 1, upsert: bool = False
    ) -> Any:
        """Add to a number of one item, and return what it is then.

        ``likes = await session.increment(Tweet, "ada", 7, Tweet.likes)``. Other fields move with it as in an update by
        key: the version is counted on, and ``on_update`` gives new values.

        Increments at the same time all count. One whose answer was lost is not sent again, because it might count
        twice; in a model with ``attr(write_id=True)`` it is recognised in the stored item, unless another writer has
        come since. ``session.update(...).add(...).exactly_once()`` is sent again, at twice the write units.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort_and_field: the sort key's value, where the table has one; then the field.
            by: what to add; negative numbers take away.
            upsert: whether to make the item where there is none.

        Raises:
            ItemNotFoundError: there is no such item.
            TransportError: no answer came; its outcome says whether the number may have been counted.
            ExpressionError: the field holds no number, or is another model's.
            EncodeError: the amount or a key value is of the wrong type.
            OperationError: the number of key values does not fit the table's key.

        Cost: one UpdateItem; one write unit per KB of the item, and the same for each index entry that changes.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.AtomicCounters
        """
        field: Any = sort_and_field[-1] if sort_and_field else None
        update = Update(model, partition, *sort_and_field[:-1]).add(field, by)
        changing = (update.upsert() if upsert else update).returning("changed")
        values = await self._runner.execute(changing)
        path = path_of(field)
        try:
            value: Any = values[update.definition.field_names[path.attribute]]
            for step in path.steps[1:]:
                # Of a list, the answer holds only the elements that were changed.
                value = value[step] if isinstance(step, str) else value[0]
        except (LookupError, TypeError) as error:
            request = changing.request(self._runner.context)
            raise damaged(request, f"the answer does not say what {path.spelled} is now") from error
        return value if len(path.steps) == 1 else path.converter.decode(encode_any(value))
