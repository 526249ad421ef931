"""Writing one whole item."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Generic, Literal, Self, Unpack, cast, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.codec import item_size
from dynamap_async.errors import ServiceError
from dynamap_async.expressions import Condition
from dynamap_async.models import (
    Definition,
    IndexMembers,
    Model,
    WriteKind,
    definition_of,
    give,
    has_value,
    remember,
    stored_as_read,
)
from dynamap_async.native.json_text import Spliced, read_json
from dynamap_async.operations.automatic_values import carried_version, same_version, stamped
from dynamap_async.operations.operation import Part
from dynamap_async.operations.transactions import ExactlyOnce
from dynamap_async.operations.write import (
    UNKNOWN,
    Returns,
    Stored,
    Unknown,
    WholeItemWrite,
    checked_returns,
    old_item,
    refused_as_new,
)
from dynamap_async.operations.write_ids import write_id_in
from dynamap_async.operations.write_options import OPTIONS, WriteOptions, unknown_options
from dynamap_async.planning import Context, not_stored
from dynamap_async.request import Request, Target
from dynamap_async.wire import Body, WireItem, WireKey

M = TypeVar("M", bound=Model)
MA = TypeVar("MA", bound=Model)
R = TypeVar("R", default=M)


class Put(WholeItemWrite[R], Generic[M, R]):
    """Write an item, replacing all that is stored under its key, undeclared attributes too. The result is the item.

    An item of a versioned model replaces only the version that it was read with, and gets the next number.

    With ``returning="old"`` the result is the item that was replaced, None where there was none, also one that has
    expired and is not deleted yet. After a lost answer it is sent again only if the item's version guards it: otherwise
    the old item would be that of the first sending, and TransportError says that the outcome is unknown.

    Cost: one PutItem; one write unit per KB of the larger of the old and the new item, and the same for each index
    entry that changes. With ``returning`` it is a request of its own: it does not share a BatchWriteItem.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ("_item", "_json", "_key", "_number", "_size", "_stamps", "_wire")

    kind: WriteKind | None = "put"

    _wire: WireItem | None
    _key: WireKey
    _json: bytes
    _stamps: dict[str, Any]

    @overload
    def __init__(self: Put[MA, MA], item: MA, /, **options: Unpack[WriteOptions]) -> None: ...
    @overload
    def __init__(
        self: Put[MA, MA | None], item: MA, /, *, returning: Literal["old"], **options: Unpack[WriteOptions]
    ) -> None: ...
    def __init__(self, item: Any, /, *, returning: Returns = None, **options: Unpack[WriteOptions]) -> None:
        """Create the write of the item as it is now; later changes of the instance are not written.

        Where a hook, a number or a write id has to come before, the item is taken as it is when the write begins.

        Args:
            item: the model instance to write.
            returning: ``"old"`` gives back the item that was replaced in place of the one that is written.
            options: ``where``, what must hold of the stored item; and ``read_first``, whether to read it first, which a
                model with ``Unique`` needs.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            OperationError: it is not an instance of a model, or there is no such result.
            ExpressionError: the condition is not about this model.
            TypeError: there is no such option.
        """
        if not options.keys() <= OPTIONS:
            raise unknown_options("put", item, options, "returning")
        self._item: M = item
        model: type[M] = type(self._item)
        self._number: dict[str, int] = {}
        self._returns = None if returning is None else checked_returns(returning)
        self._definition: Definition[M] = definition_of(model)
        self._definition.require_table("written")
        self._take_options(options)
        if not self._definition.prepares:
            self._encode()

    def _take(self, item: M, json: bytes, size: int | None) -> None:
        self._item, self._definition = item, definition_of(type(item))
        self._wire, self._json, self._size = None, json, size
        self._key = self._definition.plain_keys.of(self._stored)
        self._number, self._stamps = {}, {}
        self._expected, self._returns = None, None
        self._take_options({})

    def __repr__(self) -> str:
        returning = "" if self._returns is None else f", returning={self._returns!r}"
        return f"{type(self).__name__}({self._item!r}{returning})"

    @property
    def _stored(self) -> WireItem:
        """The item in wire form, which is made anew where only its JSON is kept.

        Of hundreds of items that wait, the dicts would push each other out of the processor's caches (benchmarks:
        concurrent_puts, batch_write).
        """
        return cast("WireItem", read_json(self._json)) if self._wire is None else self._wire

    @property
    def item(self) -> M:
        """The instance that is written."""
        return self._item

    def encoded(self) -> Self:
        """Return the same write of the instance as it is now, after hooks and numbers have changed it."""
        own = self._with_members()
        own._encode()  # noqa: SLF001 - a new object of this class
        return own

    @property
    def needs_number(self) -> bool:
        """Whether the instance lacks the number that a counter has to give it before it is written."""
        field = self._definition.numbered
        return field is not None and not has_value(self._item, field.name)

    def numbered(self, number: int) -> Self:
        """Return the same write, encoded, of the instance with a number from its counter.

        Args:
            number: what the counter gave.
        """
        field = self._definition.numbered
        assert field is not None, f"{self!r} is not numbered"  # noqa: S101 - needs_number was asked
        own = self._with_members(_number={field.name: number})
        own._encode()  # noqa: SLF001 - a new object of this class
        return own

    def before(self) -> Stored | Unknown:
        """Return what the write knows of the stored item: nothing, unless there must be none."""
        return None if self._number or self.expected_version == 0 else UNKNOWN

    def after(self, before: Stored) -> Stored:
        """Return the item as it is stored after the write.

        Args:
            before: what is stored until then, at least its unique attributes; None where there is no item.
        """
        return self._stored

    def _encode(self) -> None:
        """Take the instance as it is now."""
        definition = self._definition
        respelled = definition.validation.before_put(self._item, "written")
        self._expected = None if definition.version is None else carried_version(self._item, definition)
        adds = self._number or definition.assigned or self._expected is not None
        self._stamps = stamped(self._item, definition, self._number) if adds else {}
        encoded = partial(stored_as_read, definition=definition) if respelled else definition.items.encoded
        wire, self._json, self._size = encoded(self._item, changes=self._stamps)
        self._wire, self._key = None, definition.plain_keys.of(wire)

    def _guards(self, context: Context) -> tuple[Condition, ...]:
        """Return the conditions that the write adds to the caller's."""
        if self._number:
            return (not_stored(self._definition, context.now()),)
        return () if self._expected is None else (same_version(self._definition, self._expected, context.now()),)

    def request(self, context: Context) -> Request:
        """Return the PutItem request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        table, target = self._table_and_target(context)
        write_id = None if self._definition.write_id is None else write_id_in(self._definition, self._stored)
        content, members = {"Item": self._sent(context)}, self._definition.index_members
        unindexed = partial(indexes_without, self._json, members) if members else None
        return self._request("PutItem", table, target, content, self._guards(context), write_id, unindexed)

    def part(self, context: Context) -> Part:
        """Return what a transaction says of the item.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        if type(self) is not Put or self._conditions or self._number or self._expected is not None:
            return super().part(context)
        # Nothing is asked of the stored item, so that a request would say no more (benchmarks: transaction_10).
        table, target = self._table_and_target(context)
        return Part({"Put": {"TableName": table, "Item": self._sent(context)}}, target, table, conditional=False)

    def _sent(self, context: Context) -> Any:
        """Return the item as a body holds it."""
        return Spliced(self._json) if context.splices else self._stored

    def _table_and_target(self, context: Context) -> tuple[str, Target]:
        """Return the full name of the table, and the item."""
        definition, key = self._definition, self._key
        table = definition.table
        name = table.name if table is not None and definition.periods is None else definition.table_name(key, "written")
        name = context.tables.full(name)
        size = partial(_size_of, self._json) if self._size is None else self._size
        return name, Target(key, definition.plain_keys.identity(name, key), size, len(self._json))

    def result(self, response: Body, context: Context) -> R:
        """Return the instance that was written, or the item that it replaced.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            ItemValidationError: the old item does not fit its model; the new one was written all the same.
        """
        self.acknowledged()
        return cast("R", self._item if self._returns is None else old_item(self, response))

    def read(self, result: Any) -> Sequence[Model]:
        """Return the old item, if it was asked for and there was one.

        Args:
            result: the result of the operation.
        """
        return () if self._returns is None or result is None else (result,)

    def exactly_once(self, *, client_request_token: str | None = None) -> ExactlyOnce[M]:
        """Return the same write, done once whatever answers get lost, at twice the write units. See ``ExactlyOnce``.

        Args:
            client_request_token: 1 to 36 characters that stand for this write, also in another process; without it each
                execution has a new one.
        """
        return ExactlyOnce(self, client_request_token=client_request_token)

    def acknowledged(self) -> None:
        """Give the instance what was stored beyond its own values."""
        if self._stamps:
            give(self._item, self._stamps)
        remember(self._item, self._json)


def indexes_without(json: bytes, members: IndexMembers) -> tuple[str, ...]:
    """Return the global indexes in which an item has no entry.

    Its JSON is searched, not read: a map inside of it that has a member of the same name passes for the attribute,
    and the write is expected to take more than it does.

    Args:
        json: the JSON of the item.
        members: the indexes, as ``Definition.index_members`` has them.
    """
    return tuple([index for index, needed in members if not all(member in json for member in needed)])


def _size_of(json: bytes) -> int:
    return item_size(read_json(json))


def put_of_encoded(item: M, json: bytes, size: int | None) -> Put[M]:
    """Return the put of an instance that was encoded before, of a model that has nothing to add to it.

    Args:
        item: the instance.
        json: the JSON of what it was encoded as.
        size: its size in bytes; None where it was not counted.
    """
    put: Put[M] = cast("Any", Put).__new__(Put)
    put._take(item, json, size)  # noqa: SLF001 - of this module
    return put


class Create(Put[M, M], Generic[M]):
    """Write an item that must not exist yet.

    Cost: as ``Put``; a refused write is charged too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ()

    kind: WriteKind | None = "create"

    def __init__(self, item: M, /, **options: Unpack[WriteOptions]) -> None:
        """Create the write of the item as it is now.

        Args:
            item: the model instance to write.
            options: those of ``Put``.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            OperationError: it is not an instance of a model.
            ExpressionError: the condition is not about this model.
        """
        if not options.keys() <= OPTIONS:
            raise unknown_options("create", item, options)
        super().__init__(item, **options)

    def before(self) -> None:
        """None: there must be no item."""

    @property
    def expected_version(self) -> None:
        """None: the condition is that there is no item, whatever its version."""

    def failed(self, error: ServiceError) -> Exception:
        """Return the error; that of an item that is there says so.

        Args:
            error: the refusal.
        """
        return refused_as_new(self, super().failed(error), conditional=bool(self._conditions))

    def _guards(self, context: Context) -> tuple[Condition, ...]:
        return (not_stored(self._definition, context.now()),)
