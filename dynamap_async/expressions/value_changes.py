"""Changes: what an update sets a field to where that is made of the stored item, typed: ``Tweet.likes + 1``."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Generic, Never, Protocol, TypeAlias, TypeVar, overload

from dynamap_async.expressions.conditions import Size, path_in
from dynamap_async.expressions.paths import Path
from dynamap_async.expressions.sources import Made, Start, arithmetic, list_at, longer

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
V = TypeVar("V")
N = TypeVar("N", int, float, Decimal, int | None, float | None, Decimal | None)


class Exactly(Generic[T]):
    """A witness of a type, invariant: neither a wider nor a narrower type will do."""

    slot: T


class DocumentTo(Protocol[T]):
    """What names a field that holds a nested model: to a checker class access gives the model, of whatever type T."""

    def _document_type(self) -> Exactly[T]:
        """Name the type."""
        ...


class _Nobody:
    """A type that no value has."""


FieldFirst: TypeAlias = Callable[[_Nobody, V], Never]
"""Beside V as the type of a value: no value is one, but mypy then looks at the field before the value, and takes the
elements of a list, say, for what the field holds."""


class Changeable(Generic[T]):
    """The changes of a field that an update may set; invariant in the type, so that only number fields have sums."""

    __slots__ = ()

    _operand: Path | Size

    def __add__(
        self: Changeable[N],
        other: N | int | Changeable[N] | Change[N],
        /,
    ) -> Change[N]:
        return Change(arithmetic(self._operand, "+", made_of(other)))

    def __sub__(
        self: Changeable[N],
        other: N | int | Changeable[N] | Change[N],
        /,
    ) -> Change[N]:
        return Change(arithmetic(self._operand, "-", made_of(other)))

    def __radd__(self: Changeable[N], other: N | int, /) -> Change[N]:
        return Change(arithmetic(made_of(other), "+", self._operand))

    def __rsub__(self: Changeable[N], other: N | int, /) -> Change[N]:
        return Change(arithmetic(made_of(other), "-", self._operand))

    def if_not_exists(self, value: T, /) -> Change[T]:
        """Return the stored value, or this one where the item has none, as what an update sets a field to.

        Args:
            value: the start value.
        """
        return Change(Start(path_in(self._operand, "if_not_exists"), value))

    @overload
    def append(self: Changeable[list[V]], elements: MoreOf[V], /) -> Change[list[V]]: ...
    @overload
    def append(self: Changeable[list[V] | None], elements: MoreOf[V], /) -> Change[list[V]]: ...
    def append(self: Any, elements: Any, /) -> Change[list[Any]]:
        """Return the stored list with these elements behind it, as what an update sets a field to.

        An item without the list counts as one with an empty list.

        Args:
            elements: the elements; or another list field, which counts as empty where an item does not have it.

        Raises:
            ExpressionError: the field holds no list.
        """
        return Change(longer(list_at(path_in(self._operand, "append"), []), after=made_of(elements)))

    @overload
    def prepend(self: Changeable[list[V]], elements: MoreOf[V], /) -> Change[list[V]]: ...
    @overload
    def prepend(self: Changeable[list[V] | None], elements: MoreOf[V], /) -> Change[list[V]]: ...
    def prepend(self: Any, elements: Any, /) -> Change[list[Any]]:
        """Return the stored list with these elements before it; otherwise as ``append``.

        Args:
            elements: the elements; or another list field, which counts as empty where an item does not have it.
        """
        return Change(longer(list_at(path_in(self._operand, "prepend"), []), before=made_of(elements)))


class Change(Generic[T_co]):
    """What an update sets a field to, made of the stored item: ``Tweet.likes + 1``.

    Args:
        made: what an update is to store, as a tree of operands.
    """

    __slots__ = ("_made",)

    def __init__(self, made: Made, /) -> None:
        self._made = made

    def __repr__(self) -> str:
        return f"<Change {self._made}>"

    def __add__(self: Change[N], other: N | int | Changeable[N] | Change[N], /) -> Change[N]:
        return Change(arithmetic(self._made, "+", made_of(other)))

    def __sub__(self: Change[N], other: N | int | Changeable[N] | Change[N], /) -> Change[N]:
        return Change(arithmetic(self._made, "-", made_of(other)))

    def __radd__(self: Change[N], other: N | int, /) -> Change[N]:
        return Change(arithmetic(made_of(other), "+", self._made))

    def __rsub__(self: Change[N], other: N | int, /) -> Change[N]:
        return Change(arithmetic(made_of(other), "-", self._made))

    def append(self: Change[list[V] | None], elements: MoreOf[V], /) -> Change[list[V]]:
        """Return the list with these elements behind it, as what an update sets a field to.

        Args:
            elements: the elements; or another list field, which counts as empty where an item does not have it.
        """
        return Change(longer(self._made, after=made_of(elements)))

    def prepend(self: Change[list[V] | None], elements: MoreOf[V], /) -> Change[list[V]]:
        """Return the list with these elements before it, as what an update sets a field to.

        Args:
            elements: the elements; or another list field, which counts as empty where an item does not have it.
        """
        return Change(longer(self._made, before=made_of(elements)))


MoreOf: TypeAlias = list[V] | tuple[V, ...] | Changeable[list[V]] | Changeable[list[V] | None] | Change[list[V]]
"""What a list can be made longer by."""


def made_of(value: object) -> object:
    """Return the operands of a change or the path of a field; any other value as it is."""
    if isinstance(value, Change):
        return value._made  # noqa: SLF001 - what the class is made of is this file's concern
    if isinstance(value, Changeable):
        return value._operand  # noqa: SLF001 - the operators and their operand are one concept
    return value
