"""Entity collections as immutable values."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar, final, overload

from dynamap_async.dataclass import replace_fields
from dynamap_async.errors import OperationError
from dynamap_async.models import Model, ModelMeta
from dynamap_async.operations.query import Reads, check_no_condition
from dynamap_async.planning import (
    Invalid,
    InvalidItem,
    ReadSpec,
    Unknown,
    UnknownItem,
    checked_collection,
    checked_model,
)

M = TypeVar("M")
ItemT = TypeVar("ItemT")
A = TypeVar("A", bound=Model)
B = TypeVar("B", bound=Model)
C = TypeVar("C", bound=Model)
D = TypeVar("D", bound=Model)
E = TypeVar("E", bound=Model)


@final
class Collection(Reads[M, ItemT], Generic[M, ItemT]):
    """The items of several models in one partition of a shared table or its index, in the order of the sort key.

    Items of other models of the table are left out by a filter, which is not needed where all are asked for.

    Cost: as ``Query``: one request per page of up to 1 MB, whatever the number of models; half a read unit per 4 KB of
    all items evaluated.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-modeling-nosql-B.html
    """

    __slots__ = ()

    @overload
    def __init__(self: Collection[A | B, A | B], a: type[A], b: type[B], /) -> None: ...
    @overload
    def __init__(self: Collection[A | B | C, A | B | C], a: type[A], b: type[B], c: type[C], /) -> None: ...
    @overload
    def __init__(
        self: Collection[A | B | C | D, A | B | C | D], a: type[A], b: type[B], c: type[C], d: type[D], /
    ) -> None: ...
    @overload
    def __init__(
        self: Collection[A | B | C | D | E, A | B | C | D | E],
        a: type[A],
        b: type[B],
        c: type[C],
        d: type[D],
        e: type[E],
        /,
    ) -> None: ...
    @overload
    def __init__(
        self: Collection[Model, Model],
        a: type[Model],
        b: type[Model],
        c: type[Model],
        d: type[Model],
        e: type[Model],
        f: type[Model],
        /,
        *more: type[Model],
    ) -> None: ...
    def __init__(self: Collection[Any, Any], *models: type[Model]) -> None:
        """Create a query on several models.

        Args:
            models: two or more models that share a ``Table``.

        Raises:
            OperationError: they do not.
        """
        self._spec = collection_spec(models)

    @overload
    def unknown(self, become: Literal["raw"], /) -> Collection[M, ItemT | UnknownItem]: ...
    @overload
    def unknown(self, become: Literal["error", "skip"], /) -> Collection[M, ItemT]: ...
    def unknown(self, become: Unknown, /) -> Collection[Any, Any]:
        """Return the query that does something else with items of no known model than to raise ItemKindError.

        Args:
            become: ``"skip"`` has DynamoDB leave them out, ``"raw"`` gives them as ``UnknownItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return Collection[Any, Any].of(with_unknown(self._spec, become))

    @overload
    def invalid(self, become: Literal["raw"], /) -> Collection[M, ItemT | InvalidItem]: ...
    @overload
    def invalid(self, become: Literal["error", "skip"], /) -> Collection[M, ItemT]: ...
    def invalid(self, become: Invalid, /) -> Collection[Any, Any]:
        """Return the query that does something else with items that do not fit their model than to raise an error.

        Items of a shared table that are of another model, or of none that is known, count as well.

        Args:
            become: ``"skip"`` leaves them out and tells observers their keys (``InvalidItemsSkipped``); other items are
                read in their places, so that limits and pages are full. ``"raw"`` gives each as an ``InvalidItem``.

        Raises:
            OperationError: there is no such choice.
        """
        return self._with(self._spec.with_invalid(become))


def collection_spec(models: tuple[type[Model], ...], *, scan: bool = False) -> ReadSpec:
    """Return the spec of a query or scan on several models; errors are those of ``Collection``.

    Args:
        models: two or more models that share a ``Table``.
        scan: whether it is a scan.
    """
    if len(models) < 2:
        raise OperationError("a query on several models needs at least two; write Query(Model) for one")
    if isinstance(models[0], ModelMeta):
        check_no_condition(models[0], models[1:])
    checked = checked_collection([checked_model(model) for model in models])
    return ReadSpec(model=checked[0], models=checked, scan=scan)


def with_unknown(spec: ReadSpec, become: Unknown) -> ReadSpec:
    """Return the spec that does this with items of no known model.

    Args:
        spec: what is asked.
        become: what becomes of items of no known model.

    Raises:
        OperationError: there is no such choice.
    """
    if become not in ("error", "skip", "raw"):
        raise OperationError(f'unknown({become!r}): items of no known model are "error", "skip" or "raw"')
    return replace_fields(spec, unknown=become)
