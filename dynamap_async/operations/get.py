"""Reading one item by its key, as a new instance or into the one that there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Generic, Never, TypeVar, final

from dynamap_async import models, planning
from dynamap_async.errors import ItemNotFoundError, OperationError, ServiceError
from dynamap_async.models import KeyValue, Model, definition_of, take_over
from dynamap_async.operations.keywords import NOT_GIVEN, makes_optional, no_key_keywords
from dynamap_async.operations.operation import SingleRequest, key_values, not_found
from dynamap_async.planning import Context
from dynamap_async.request import PartOfAnswer, Request, Target
from dynamap_async.wire import Body, WireKey

M = TypeVar("M", bound=Model)
M_co = TypeVar("M_co", bound=Model, covariant=True)
R_co = TypeVar("R_co", covariant=True)
ReadT = TypeVar("ReadT", bound="_ItemRead[Any, Any]")

READ_OPTIONS: Final = ("consistent_read", "coalesce")
"""The keywords of reads of one item."""


class _ItemRead(SingleRequest[R_co], Generic[M_co, R_co]):
    """The read of one item."""

    __slots__ = ("_coalesce", "_consistent", "_definition", "_expiry", "_key", "_table", "_values")

    @makes_optional(1)
    def __init__(
        self,
        model: type[M_co],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        consistent_read: bool = False,
        coalesce: bool = True,
        **fields: Never,
    ) -> None:
        """Create the read of an item; nothing is sent yet.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort: the sort key's value, where the table has one.
            consistent_read: whether all writes answered before must be seen.
            coalesce: whether the request may travel together with others, and be shared with equal ones.
            fields: nothing: the key is given by its position.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit the table's key.
        """
        if fields or partition is NOT_GIVEN:
            raise no_key_keywords(type(self).__name__, model, fields, READ_OPTIONS)
        definition = self._definition = definition_of(model)
        table = definition.require_table("read")
        self._values = (partition,) if sort is None else (partition, sort)
        # ``made`` takes half the time of ``key``, which tells what is wrong (benchmarks: concurrent_gets_400).
        self._key = definition.plain_keys.made(self._values) or definition.key(self._values)
        self._table = table.name if definition.periods is None else definition.table_name(self._key, "read")
        self._consistent = consistent_read
        self._coalesce = coalesce
        expiry = definition.expiry
        self._expiry = None if expiry is None else expiry.stored

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._definition.model.__name__}, {', '.join(map(repr, self._values))})"

    def request(self, context: Context) -> Request:
        """Return the GetItem request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        table, key = context.tables.full(self._table), self._key
        body = {"TableName": table, "Key": key, "ConsistentRead": self._consistent}
        target = Target(key, self._definition.plain_keys.identity(table, key))
        reader = self._definition.read_at_once
        return Request(
            operation="GetItem", body=body, table=table, target=target, batchable=self._coalesce, reader=reader
        )

    def _found(self, response: Body, context: Context) -> M_co | None:
        """Return the item, or None; an expired one is none where the model hides them."""
        item = response.get("Item")
        if item is None or (self._expiry is not None and planning.is_expired(item, self._expiry, context.now())):
            return None
        reader = self._definition.read_at_once
        if reader is not None and isinstance(response, PartOfAnswer):
            instance: M_co | None = response.instance(reader)
            if instance is not None:
                return instance
        return self._definition.items.decode([item])[0]

    def failed(self, error: ServiceError) -> Exception:
        """Return the error; if the table of a period is missing, with the remedy.

        Args:
            error: what DynamoDB answered.
        """
        return planning.with_missing_table_note(error, self._definition)

    def read(self, result: Any) -> Sequence[Model]:
        """Return the item, if there is one.

        Args:
            result: the result of the operation.
        """
        return () if result is None else (result,)

    def not_found(self) -> ItemNotFoundError:
        """Return the error that says that the item does not exist."""
        model = self._definition.model.__name__
        key = key_values(self._definition, self._key)
        spelled = ", ".join(f"{name}={value!r}" for name, value in key.items())
        return ItemNotFoundError(f"there is no {model} with {spelled}; find() gives None instead", model=model, key=key)


def read_under(read: ReadT, key: WireKey) -> ReadT:
    """Return the same read of the item that is stored under a key, however that is spelled.

    Args:
        read: the read.
        key: the key, in wire form.
    """
    table = read._definition.table_name(key, "read")  # noqa: SLF001 - of this module
    return read._with_members(_key=key, _table=table)  # noqa: SLF001 - of this module


@final
class Find(_ItemRead[M_co, M_co | None], Generic[M_co]):
    """Read one item; the result is None where there is none.

    Cost: one GetItem; half a read unit per 4 KB of the item, a whole one with ``consistent_read``; the minimum for an
    absent item.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
    """

    __slots__ = ()

    def result(self, response: Body, context: Context) -> M_co | None:
        """Return the item, or None; an expired one is none where the model hides them.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """
        return self._found(response, context)


@final
class Get(_ItemRead[M, M], Generic[M]):
    """Read one item that is known to exist.

    Cost: as ``Find``.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
    """

    __slots__ = ()

    @property
    def find(self) -> Find[M]:
        """The same read, of an item that may be absent."""
        model, values = self._definition.model, self._values
        found: Find[M] = Find(model, *values, consistent_read=self._consistent, coalesce=self._coalesce)
        return read_under(found, self._key)

    def result(self, response: Body, context: Context) -> M:
        """Return the item.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            ItemNotFoundError: there is none.
        """
        item = self._found(response, context)
        if item is None:
            raise self.not_found()
        return item


@final
class Refresh(SingleRequest[M], Generic[M]):
    """Read an instance's item, consistently, and take its values over into the same instance.

    What was changed and not saved is lost. Private attributes stay as they are.

    Cost: one GetItem; a read unit per 4 KB of the item.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
    """

    __slots__ = ("_definition", "_find", "_item")

    def __init__(self, item: M, /) -> None:
        """Create the read of an instance's item; nothing is sent yet.

        Args:
            item: the instance.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: it is not an instance of a model, its model is frozen, or it was given another key since.
        """
        model = type(item)
        self._definition = definition_of(model)
        if model.model_config.get("frozen"):
            raise OperationError(
                f"{model.__name__} is frozen, so an instance cannot be refreshed; read another one: "
                f"session.get({model.__name__}, key, consistent_read=True)"
            )
        self._item = item
        self._definition.require_table("read")
        values: list[Any] = [getattr(item, field.name) for field in self._definition.key_fields()]
        find: Find[M] = Find(type(item), *values, consistent_read=True)
        self._find: Find[M] = read_under(find, models.key_of_item(item, self._definition))

    def __repr__(self) -> str:
        return f"Refresh({self._item!r})"

    def request(self, context: Context) -> Request:
        """Return the GetItem request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        return self._find.request(context)

    def result(self, response: Body, context: Context) -> M:
        """Return the same instance with the stored values.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            ItemNotFoundError: the item does not exist any more.
        """
        found = self._find.result(response, context)
        if found is None:
            raise not_found(self._item, self._definition)
        take_over(self._item, found)
        return self._item

    def read(self, result: Any) -> Sequence[Model]:
        """Return the instance, for the hooks that follow a read.

        Args:
            result: the result of the operation.
        """
        return (result,)
