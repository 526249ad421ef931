"""Removing one item; and ``Old``, another spelling of ``returning="old"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, Unpack, cast, final, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.errors import OperationError
from dynamap_async.models import Definition, KeyValue, Model, WriteKind, definition_of, is_whole, key_of_item, known
from dynamap_async.operations.automatic_values import carried_version, same_version
from dynamap_async.operations.put import Put
from dynamap_async.operations.transactions import ExactlyOnce
from dynamap_async.operations.write import (
    UNKNOWN,
    Returns,
    Stored,
    Unknown,
    WholeItemWrite,
    checked_returns,
    old_item,
)
from dynamap_async.operations.write_options import OPTIONS, WriteOptions, unknown_options
from dynamap_async.planning import Context, check_written_by_key
from dynamap_async.request import Request, Target, identity_of
from dynamap_async.wire import Body, WireKey

M = TypeVar("M", bound=Model)
R = TypeVar("R", default=None)


@final
class Delete(WholeItemWrite[R], Generic[R]):
    """Remove an item, named by an instance or by its key. Removing one that does not exist is no error.

    An instance that was read removes the item under its stored key, and of a versioned model only the version that it
    was read with; a key removes any. One that was given another key since is refused. The result is None, or with
    ``returning="old"`` the item that was removed, None where there was none: see ``Put``.

    Cost: one DeleteItem; one write unit per KB of the item that was there, at least one.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
    """

    __slots__ = ("_item", "_key")

    kind: WriteKind | None = "delete"

    @overload
    def __init__(self: Delete[None], item: Model, /, **options: Unpack[WriteOptions]) -> None: ...
    @overload
    def __init__(
        self: Delete[None],
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        **options: Unpack[WriteOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: Delete[M | None], item: M, /, *, returning: Literal["old"], **options: Unpack[WriteOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: Delete[M | None],
        model: type[M],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        returning: Literal["old"],
        **options: Unpack[WriteOptions],
    ) -> None: ...
    def __init__(
        self,
        target: Model | type[Model],
        partition: KeyValue | None = None,
        sort: KeyValue | None = None,
        /,
        *,
        returning: Returns = None,
        **options: Unpack[WriteOptions],
    ) -> None:
        """Create the delete of an item; nothing is sent yet.

        Args:
            target: the instance, or the model.
            partition: the partition key's value, after a model.
            sort: the sort key's value, where the table has one, after a model.
            returning: ``"old"`` gives back the item that was removed.
            options: ``where``, what must hold of the stored item; and ``read_first``, whether to read it first, which a
                model with ``Unique`` needs for a key, and for an instance that no session read or wrote.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit, the instance was given another key since it was read,
                or there is no such result.
            ExpressionError: the condition is not about this model.
            TypeError: there is no such option.
        """
        if not options.keys() <= OPTIONS:
            raise unknown_options("delete", target, options, "returning", by_key=True)
        values = tuple(value for value in (partition, sort) if value is not None)
        # Never by the truth of the instance: an empty cart, which has a length of its own, is false.
        self._item = target if isinstance(target, Model) else None
        model: type[Any] = type(target) if isinstance(target, Model) else target
        self._definition: Definition[Any] = definition_of(model)
        self._definition.require_table("deleted")
        self._expected: int | None = None
        self._returns: Returns = None if returning is None else checked_returns(returning)
        self._take_options(options)
        if self._item is None:
            check_written_by_key(self._definition, deletes=True)
            self._key = self._definition.key(values)
        elif values:
            raise OperationError(f"delete(item) takes no key values: {type(target).__name__}'s key is in the item")
        else:
            self._key = key_of_item(self._item, self._definition)
            if self._definition.version is not None:
                self._expected = carried_version(self._item, self._definition)

    def _take(self, definition: Definition[Any], key: WireKey, item: Model | None) -> None:
        self._item, self._definition, self._key = item, definition, key
        self._expected, self._returns = None, None
        self._take_options({})

    def __repr__(self) -> str:
        returning = "" if self._returns is None else f", returning={self._returns!r}"
        return f"Delete({self._definition.model.__name__}, {self._key}{returning})"

    @property
    def item(self) -> Model | None:
        """The instance that is removed, if the item was named by one."""
        return self._item

    def before(self) -> Stored | Unknown:
        """Return what is known of the stored item: what was stored when the instance was read or written."""
        if self._item is None or not is_whole(self._item):
            return UNKNOWN
        return known(self._item, self._definition).stored

    def after(self, before: Stored) -> None:
        """None: the item is gone.

        Args:
            before: what is stored until then, at least its unique attributes; None where there is no item.
        """

    def request(self, context: Context) -> Request:
        """Return the DeleteItem request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        table = context.tables.full(self._definition.table_name(self._key, "deleted"))
        guards = () if self._expected is None else (same_version(self._definition, self._expected),)
        target = Target(self._key, identity_of(table, self._key))
        return self._request("DeleteItem", table, target, {"Key": self._key}, guards)

    def exactly_once(self, *, client_request_token: str | None = None) -> ExactlyOnce[Any]:
        """Return the same write, done once whatever answers get lost, at twice the write units. See ``ExactlyOnce``.

        Args:
            client_request_token: 1 to 36 characters that stand for this write, also in another process; without it each
                execution has a new one.
        """
        return ExactlyOnce(self, client_request_token=client_request_token)

    def result(self, response: Body, context: Context) -> R:
        """Return the item that was removed, if it was asked for.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            ItemValidationError: it does not fit its model; it was removed all the same.
        """
        return cast("R", None if self._returns is None else old_item(self, response))

    def read(self, result: Any) -> Sequence[Model]:
        """Return the item that was removed, if it was asked for and there was one.

        Args:
            result: the result of the operation.
        """
        return () if result is None else (result,)


def delete_of_key(definition: Definition[Any], key: WireKey, item: Model | None) -> Delete[None]:
    """Return the delete of a key that was encoded before.

    Args:
        definition: the model, which has nothing to add to it.
        key: the key.
        item: the instance that it is of, if the item was named by one.
    """
    delete: Delete[None] = Delete.__new__(Delete)
    delete._take(definition, key, item)  # noqa: SLF001 - of this module
    return delete


@final
class Old(Put[M, M | None], Generic[M]):
    """Carry out a ``Put`` or a ``Delete``, and give back the item as it was before; None where there was none.

    ``Old(Put(item))`` is ``Put(item, returning="old")``, and gives that: an instance of the class of the write.

    Cost: as the write alone, but as a request of its own: it does not share a BatchWriteItem.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __init__(self, write: Put[M], returning: Literal["old"] = "old", /) -> None: ...
        @overload
        def __init__(self, write: Delete[Any], returning: Literal["old"] = "old", /) -> None: ...
        def __init__(self, write: Any, returning: Literal["old"] = "old", /) -> None:
            """Take the write.

            Args:
                write: the put or the delete.
                returning: what to give back: there is nothing else than ``"old"``.

            Raises:
                OperationError: it is neither a ``Put`` nor a ``Delete``, or has no such result.
            """

    else:

        def __new__(cls, write: Any, returning: Any = "old", /) -> Any:
            """Return the write itself, which gives back the old item."""
            if type(write) not in (Put, Delete) or write._returns is not None:  # noqa: SLF001 - of this room
                raise OperationError(
                    f"Old({write!r}) works for Put and Delete only; for an update write .returning('old')"
                )
            return write._with_members(_returns=checked_returns(returning))  # noqa: SLF001 - of this room
