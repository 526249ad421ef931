"""Several items read as they are at one moment."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeAlias, TypeVar, cast, final, overload

from dynamap_async.errors import CancellationReason, OperationError
from dynamap_async.models import KeyValue, Model
from dynamap_async.operations.get import Find, Get
from dynamap_async.operations.operation import SingleRequest
from dynamap_async.operations.transact import Transact, check_count, part_of, targets_of
from dynamap_async.planning import Context
from dynamap_async.request import Request, about_tables
from dynamap_async.wire import Body

R = TypeVar("R", bound="tuple[Any, ...]")
M = TypeVar("M", bound=Model)
A = TypeVar("A", bound=Model)
B = TypeVar("B", bound=Model)
C = TypeVar("C", bound=Model)
D = TypeVar("D", bound=Model)
E = TypeVar("E", bound=Model)

GetOf: TypeAlias = Get[M] | tuple[type[M], KeyValue] | tuple[type[M], KeyValue, KeyValue]
"""An item that must exist: ``Get(Model, key)``, or a tuple of the model and its key values."""

FindOf: TypeAlias = Find[M] | tuple[type[M], KeyValue] | tuple[type[M], KeyValue, KeyValue]
"""An item that may be absent: ``Find(Model, key)``, or a tuple of the model and its key values."""


class TransactRead(Transact[R], Generic[R]):
    """What ``TransactGet`` and ``TransactFind`` share."""

    __slots__ = ("_finds",)

    _finds: tuple[Find[Any], ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._finds))})"

    @property
    def parts(self) -> Sequence[SingleRequest[Any]]:
        """What is read, item by item."""
        return self._finds

    def nothing(self) -> R:
        """Return no items."""
        return cast("R", ())  # only the overload for any number of keys gives none

    def request(self, context: Context) -> Request:
        """Return the TransactGetItems request.

        Raises:
            OperationError: one item is asked for twice.
        """
        parts = [part_of("Get", find.request(context)) for find in self._finds]
        targets_of(parts)
        return Request(
            operation="TransactGetItems",
            body={"TransactItems": [part.action for part in parts]},
            **about_tables([part.table for part in parts]),
        )

    def _found(self, response: Body, context: Context) -> list[Any]:
        return [find.result(slot, context) for find, slot in zip(self._finds, response["Responses"], strict=True)]

    def read(self, result: Any) -> Sequence[Model]:
        """Return the items that there are."""
        return tuple(item for item in result if item is not None)

    def explained(self, reason: CancellationReason, part: SingleRequest[Any]) -> CancellationReason:
        """Return a reason with the model and key of the item."""
        assert isinstance(part, Find)  # noqa: S101 - made here
        absent = part.not_found()
        return replace(reason, model=absent.model, key=absent.key or {})


@final
class TransactGet(TransactRead[R], Generic[R]):
    """Read up to 100 items, of any tables, as they are at one moment; all of them must exist.

    The result is a tuple in the order asked for. It sees no transaction half done.

    Cost: one TransactGetItems; two read units per 4 KB of each item, at least two.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
    """

    __slots__ = ()

    @overload
    def __init__(self: "TransactGet[tuple[A]]", a: GetOf[A], /) -> None: ...
    @overload
    def __init__(self: "TransactGet[tuple[A, B]]", a: GetOf[A], b: GetOf[B], /) -> None: ...
    @overload
    def __init__(self: "TransactGet[tuple[A, B, C]]", a: GetOf[A], b: GetOf[B], c: GetOf[C], /) -> None: ...
    @overload
    def __init__(
        self: "TransactGet[tuple[A, B, C, D]]", a: GetOf[A], b: GetOf[B], c: GetOf[C], d: GetOf[D], /
    ) -> None: ...
    @overload
    def __init__(
        self: "TransactGet[tuple[A, B, C, D, E]]", a: GetOf[A], b: GetOf[B], c: GetOf[C], d: GetOf[D], e: GetOf[E], /
    ) -> None: ...
    @overload
    def __init__(self: "TransactGet[tuple[A, ...]]", *gets: GetOf[A]) -> None: ...
    def __init__(self, *gets: Any) -> None:
        """Name the items.

        Args:
            gets: each a ``Get``, or a tuple of a model and its key values.

        Raises:
            OperationError: these are no reads, or more than 100, or the number of key values does not fit.
            EncodeError: a key value is of the wrong type, empty or too long.
        """
        self._finds = tuple(_find_of(get, Get) for get in gets)
        check_count(self._finds)

    def result(self, response: Body, context: Context) -> R:
        """Return the items, in the order asked for.

        Raises:
            ItemNotFoundError: one of them does not exist.
        """
        items = self._found(response, context)
        for find, item in zip(self._finds, items, strict=True):
            if item is None:
                raise find.not_found()
        return cast("R", tuple(items))  # which the overloads of the constructor say


@final
class TransactFind(TransactRead[R], Generic[R]):
    """Read up to 100 items, of any tables, as they are at one moment; the place of an absent one holds None.

    Cost: as ``TransactGet``.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
    """

    __slots__ = ()

    @overload
    def __init__(self: "TransactFind[tuple[A | None]]", a: FindOf[A], /) -> None: ...
    @overload
    def __init__(self: "TransactFind[tuple[A | None, B | None]]", a: FindOf[A], b: FindOf[B], /) -> None: ...
    @overload
    def __init__(
        self: "TransactFind[tuple[A | None, B | None, C | None]]", a: FindOf[A], b: FindOf[B], c: FindOf[C], /
    ) -> None: ...
    @overload
    def __init__(
        self: "TransactFind[tuple[A | None, B | None, C | None, D | None]]",
        a: FindOf[A],
        b: FindOf[B],
        c: FindOf[C],
        d: FindOf[D],
        /,
    ) -> None: ...
    @overload
    def __init__(
        self: "TransactFind[tuple[A | None, B | None, C | None, D | None, E | None]]",
        a: FindOf[A],
        b: FindOf[B],
        c: FindOf[C],
        d: FindOf[D],
        e: FindOf[E],
        /,
    ) -> None: ...
    @overload
    def __init__(self: "TransactFind[tuple[A | None, ...]]", *finds: FindOf[A]) -> None: ...
    def __init__(self, *finds: Any) -> None:
        """Name the items.

        Args:
            finds: each a ``Find``, or a tuple of a model and its key values.

        Raises:
            OperationError: these are no reads, or more than 100, or the number of key values does not fit.
            EncodeError: a key value is of the wrong type, empty or too long.
        """
        self._finds = tuple(_find_of(find, Find) for find in finds)
        check_count(self._finds)

    def result(self, response: Body, context: Context) -> R:
        """Return the items, in the order asked for; None where there is none."""
        return cast("R", tuple(self._found(response, context)))  # which the overloads of the constructor say


def _find_of(subject: Any, kind: type[Any]) -> Find[Any]:
    if issubclass(type(subject), kind):
        find: Find[Any] = subject.find if kind is Get else subject
        return find
    parts: tuple[Any, ...] = subject if issubclass(type(subject), tuple) else ()
    if not 2 <= len(parts) <= 3:
        raise OperationError(
            f"{subject!r} names no item here: write (Model, partition), (Model, partition, sort) or "
            f"{kind.__name__}(Model, ...)"
        )
    return Find(*parts)
