"""A put or a delete that gives back the item that it replaced or removed."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, Literal, Self, TypeVar, cast, final, overload

from dynamap_async.errors import ItemValidationError, OperationError, ServiceError
from dynamap_async.expressions import Condition
from dynamap_async.models import Definition, Model, WriteKind
from dynamap_async.operations.delete import Delete
from dynamap_async.operations.put import Put
from dynamap_async.operations.write import Stored, Unknown, Write
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.wire import Body, WireItem

M = TypeVar("M", bound=Model)


@final
class Old(Write[M | None], Generic[M]):
    """Carry out a ``Put`` or a ``Delete``, and give back the item as it was before; None where there was none.

    An expired item that DynamoDB has not deleted yet is given back too. After a lost answer it is sent again only if
    the item's version guards it: otherwise the old item would be that of the first sending, and TransportError says
    that the outcome is unknown.

    Cost: as the write alone, but as a request of its own: it does not share a BatchWriteItem.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ("_write", "kind")

    @overload
    def __init__(self, write: Put[M], returning: Literal["old"] = "old", /) -> None: ...
    @overload
    def __init__(self, write: Delete, returning: Literal["old"] = "old", /) -> None: ...
    def __init__(self, write: Put[M] | Delete, returning: Literal["old"] = "old", /) -> None:
        """Take the write.

        Args:
            write: the put or the delete.
            returning: what to give back: there is nothing else than ``"old"``.

        Raises:
            OperationError: it is neither a ``Put`` nor a ``Delete``, or has no such result.
        """
        if returning != "old":
            raise OperationError(f'returning={returning!r} is not a result of put and delete; they know "old" only')
        if type(write) not in (Put, Delete):
            raise OperationError(
                f"Old({write!r}) gives back what Put or Delete replaced; an update has .returning('old'), and what "
                "other writes find is not replaced"
            )
        self._write: Write[Any] = write
        self.kind: WriteKind | None = write.kind

    def __repr__(self) -> str:
        return f"Old({self._write!r})"

    @property
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        return self._write.definition

    @property
    def item(self) -> Model | None:
        """The instance that is written or removed; None for a delete by key."""
        return self._write.item

    @property
    def expected_version(self) -> int | None:
        """The version that the stored item must have, 0 for none; None where it is not checked."""
        return self._write.expected_version

    @property
    def takes_unversioned(self) -> bool:
        """Whether version 0 also stands for a stored item without a version."""
        return self._write.takes_unversioned

    def _with(self, write: Write[Any]) -> Self:
        own = copy.copy(self)
        own._write = write  # noqa: SLF001 - a copy of this object
        return own

    def encoded(self) -> Self:
        """Return the same write of the instance as it is now, after hooks and numbers have changed it."""
        return self._with(self._write.encoded())

    @property
    def needs_number(self) -> bool:
        """Whether the instance lacks the number that a counter has to give it."""
        return self._write.needs_number

    def numbered(self, number: int) -> Self:
        """Return the same write, encoded, of the instance with a number from its counter."""
        return self._with(self._write.numbered(number))

    @property
    def guarded(self) -> bool:
        """Whether unique values may change."""
        return self._write.guarded

    @property
    def reads_first(self) -> bool:
        """Whether to read what is stored before the write."""
        return self._write.reads_first

    @property
    def brings_back(self) -> bool:
        """Never: asked where the write becomes a transaction.

        Raises:
            OperationError: always, because a transaction gives back nothing.
        """
        raise OperationError(
            f"a {self.kind} of a {self.definition.model.__name__} with unique values is a transaction, which gives "
            'back nothing; drop returning="old", and read the item before'
        )

    def before(self) -> Stored | Unknown:
        """Return what is known of the stored item."""
        return self._write.before()

    def after(self, before: Stored) -> Stored:
        """Return the item as it is stored after the write."""
        return self._write.after(before)

    def on_condition(self, *conditions: Condition) -> Self:
        """Return the same write with more conditions."""
        return self._with(self._write.on_condition(*conditions))

    def request(self, context: Context) -> Request:
        """Return the request of the write, which asks for the old item."""
        request = self._write.request(context)
        return replace(
            request,
            body={**request.body, "ReturnValues": "ALL_OLD"},
            batchable=False,
            resendable=self.expected_version is not None,
            write_id=None,  # the item that it left does not tell the one before
        )

    def result(self, response: Body, context: Context) -> M | None:
        """Return the item as it was before; None where there was none.

        Raises:
            ItemValidationError: it does not fit its model; the write was done all the same.
        """
        self._write.result(response, context)
        stored: WireItem | None = response.get("Attributes")
        if not stored:
            return None
        try:
            return cast("M", self.definition.items.decode([stored])[0])
        except ItemValidationError as error:
            error.add_note(f"the {self.kind} was done; it is the old item that does not fit")
            raise

    def read(self, result: Any) -> Sequence[Model]:
        """Return the item that was read, for the hooks that follow a read."""
        return () if result is None else (result,)

    def acknowledged(self) -> None:
        """Take note that the write was carried out."""
        self._write.acknowledged()

    def failed(self, error: ServiceError) -> Exception:
        """Return what the write on its own would have raised."""
        return self._write.failed(error)
