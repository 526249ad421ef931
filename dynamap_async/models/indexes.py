"""Index declarations on models: which fields make an index's key, and what class access to one gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from dynamap_async.dataclass import dataclass
from dynamap_async.models.settings import INDEXES, fault
from dynamap_async.schema import ALL, IndexKind, IndexSchema, OnDemand, Projection, Throughput

if TYPE_CHECKING:
    from pydantic import BaseModel

M_contra = TypeVar("M_contra", contravariant=True)
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Index(Generic[M_contra]):
    """One index of a model; ``query(Tweet).index(Tweet.by_city)`` takes it."""

    model: type[Any]
    """The model class that it was reached through; ``object`` where it was a ``Table``."""
    name: str
    """The index's name in DynamoDB."""
    table: object = None
    """The shared ``Table`` that it was reached through, if it was one."""


class IndexDeclaration:
    """An index as a model's class body declares it; names in it are field names."""

    kind: ClassVar[IndexKind]

    def __init__(
        self,
        name: str | None,
        *,
        partition_key: str | Sequence[str],
        sort_key: str | Sequence[str] | None,
        projection: Projection,
        throughput: Throughput | None = None,
        limits: Mapping[str, int | None] = MappingProxyType({}),
        replaces: str | None = None,
    ) -> None:
        self.declared_name = name
        self.partition_fields: tuple[str, ...] = _names(partition_key)
        self.sort_fields: tuple[str, ...] = _names(sort_key)
        self.projection = projection
        self.throughput = throughput
        self.limits: dict[str, int] = {name: units for name, units in limits.items() if units is not None}
        """What bounds its throughput on an on-demand table, as arguments of ``OnDemand``."""
        self.replaces = replaces
        self.attribute: str = ""

    def __set_name__(self, owner: type[Any], attribute: str) -> None:
        self.attribute = attribute

    @property
    def name(self) -> str:
        """The index's name in DynamoDB: the declared one, else the class attribute's."""
        return self.declared_name if self.declared_name is not None else self.attribute

    @overload
    def __get__(self, instance: None, owner: type[M], /) -> Index[M]: ...
    @overload
    def __get__(self, instance: BaseModel, owner: type[Any], /) -> Index[Any]: ...
    def __get__(self, instance: Any, owner: type[Any], /) -> Index[Any]:
        return Index(owner, self.name)


class LocalIndex(IndexDeclaration):
    """An index with the table's partition key and another sort key. It exists only from the table's creation on.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html
    """

    kind = IndexKind.LOCAL

    def __init__(self, name: str | None = None, /, *, sort_key: str, projection: Projection = ALL) -> None:
        """Declare a local index.

        Args:
            name: the index's name in DynamoDB; the class attribute's name by default.
            sort_key: the field that orders it.
            projection: ALL, KEYS_ONLY or include("field", ...).
        """
        super().__init__(name, partition_key=(), sort_key=sort_key, projection=projection)


class GlobalIndex(IndexDeclaration):
    """An index with a partition key of its own, read with eventual consistency only.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html
    """

    kind = IndexKind.GLOBAL

    def __init__(
        self,
        name: str | None = None,
        /,
        *,
        partition_key: str | Sequence[str],
        sort_key: str | Sequence[str] | None = None,
        projection: Projection = ALL,
        throughput: Throughput | None = None,
        max_read: int | None = None,
        max_write: int | None = None,
        warm_read: int | None = None,
        warm_write: int | None = None,
        replaces: str | None = None,
    ) -> None:
        """Declare a global index.

        Args:
            name: the index's name in DynamoDB; the class attribute's name by default.
            partition_key: the field, or up to four fields, that an equality condition must name.
            sort_key: the field, or up to four fields, that order it.
            projection: ALL, KEYS_ONLY or include("field", ...).
            throughput: its provisioned capacity; used where the table is provisioned too.
            max_read: on an on-demand table, the most read units per second, from 1 on; -1 for no maximum.
            max_write: the same for write units.
            warm_read: on an on-demand table, the read units per second that can be served at once, at least. It never
                falls, and is paid for where it is over 12,000.
            warm_write: the same for write units, where it is over 4,000.
            replaces: the name in DynamoDB of the index whose place it takes, since no index changes its key or
                projection: ``tables.plan`` makes the new one in ``expand``, and deletes the old one in ``contract``.
        """
        super().__init__(
            name,
            partition_key=partition_key,
            sort_key=sort_key,
            projection=projection,
            throughput=throughput,
            limits={"max_read": max_read, "max_write": max_write, "warm_read": warm_read, "warm_write": warm_write},
            replaces=replaces,
        )


def declared_indexes(model: type[Any]) -> dict[str, IndexDeclaration]:
    """Return the index declarations of a class and its bases, by attribute name, without those set to None since."""
    found: dict[str, object] = {}
    for base in reversed(model.__mro__):
        found.update(base.__dict__.get(INDEXES, {}))
    return {
        key: index
        for key, index in found.items()
        if isinstance(index, IndexDeclaration) and getattr(model, key, None) is not None
    }


def names_in_keys(indexes: Mapping[str, IndexDeclaration]) -> frozenset[str]:
    """Return the names of the fields that are part of an index's key."""
    names: Iterable[object] = (n for index in indexes.values() for n in (*index.partition_fields, *index.sort_fields))
    return frozenset(name for name in names if isinstance(name, str))


def limits_of(declared: IndexDeclaration, model: str, attribute: str | None = None) -> OnDemand | None:
    """Return the declared throughput limits of an index on an on-demand table, if there are any.

    Raises:
        ModelDefinitionError: it is no number of units.
    """
    try:
        return OnDemand(**declared.limits) if declared.limits else None
    except ValueError as error:
        raise fault(model, f"has an index with {error}", attribute) from None


def replaced_name(declared: IndexDeclaration, model: str, attribute: str | None = None) -> str | None:
    """Return the name of the index that a declared one replaces, if it does.

    Raises:
        ModelDefinitionError: it is no name, or that of the index itself.
    """
    old: object = declared.replaces
    if old is None:
        return None
    if not isinstance(old, str) or not old:
        raise fault(model, f'replaces={old!r} is not the name of an index; write replaces="city-index"', attribute)
    if old == declared.name:
        raise fault(
            model, f"the index {old!r} replaces itself; give the new one another name, such as {old}-v2", attribute
        )
    return old


def check_replaced(model: str, indexes: Iterable[IndexSchema]) -> None:
    """Raise ModelDefinitionError for an index that replaces one which is still declared, or which another replaces."""
    names = {index.name for index in indexes}
    replaced: set[str] = set()
    for index in indexes:
        old = index.replaces
        if old in names:
            raise fault(
                model, f"the index {index.name!r} replaces {old!r}, which is still declared; drop one of the two"
            )
        if old in replaced:
            raise fault(model, f"two indexes replace {old!r}; only one may")
        replaced |= set() if old is None else {old}


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return ()
    # What is no text is kept for the model's definition to refuse, with its name.
    several: Any = given if isinstance(given, list | tuple) else (given,)
    return tuple(several)
