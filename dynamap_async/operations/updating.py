"""Updating: what every update can be asked for, as a value, bound to a session, or in a transaction."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, TypeAlias, TypeVar, cast, overload

from dynamap_async.errors import OperationError
from dynamap_async.expressions import Action, Change, Condition, DocumentTo, Expr, FieldFirst, Readable, check_apart
from dynamap_async.models import Definition, KeyValue, Model, definition_of
from dynamap_async.operations.actions import adding, deleting, removing, setting
from dynamap_async.operations.stamps import carried_version
from dynamap_async.planning import check_written_by_key, checked_model, revised, stored_conditions
from dynamap_async.wire import WireKey

M = TypeVar("M")
V = TypeVar("V")

Returning: TypeAlias = Literal["new", "old", "changed", "nothing"]
"""What an update gives back."""
SetOf: TypeAlias = Expr[set[V]] | Expr[set[V] | None] | Expr[frozenset[V]] | Expr[frozenset[V] | None]
"""A field that holds a set. Invariant, so that members of another type are refused."""


@dataclass(frozen=True, kw_only=True)  # without slots: see ``revised``
class UpdateSpec:
    """Everything that an update asks."""

    definition: Definition[Any]
    key: WireKey
    item: Model | None = None
    """The instance that names the item, if one does; it moves on with the stored item."""
    actions: tuple[Action, ...] = ()
    conditions: tuple[Condition, ...] = ()
    upserts: bool = False
    """Whether an item that does not exist is made."""
    returns: Returning = "new"
    reads_first: bool = False
    """Whether to read what is stored first, where unique fields change."""
    expected: int | None = None
    """The version that the stored item must have; None where it is not checked."""

    def __str__(self) -> str:
        key = ", ".join(f"{name}={next(iter(value.values()))!r}" for name, value in self.key.items())
        changes = ", ".join(f"{type(action).__name__.lower()} {action.path.spelled}" for action in self.actions)
        return f"{self.definition.model.__name__} {key}: {changes or 'nothing'}"


_BLANK: Final = UpdateSpec(definition=cast("Any", None), key={})
"""What every update begins as; it is told its model and its key."""


def update_spec(
    subject: Model | type[Model], partition: KeyValue | None = None, sort: KeyValue | None = None
) -> UpdateSpec:
    """Return the spec of an update that does nothing yet, of an item named by an instance or by its key.

    Raises:
        EncodeError: a key value is of the wrong type, empty or too long.
        OperationError: the number of key values does not fit.
    """
    values = tuple([value for value in (partition, sort) if value is not None])
    if not isinstance(subject, Model):
        definition: Definition[Any] = definition_of(checked_model(subject))
        definition.require_table("updated")
        check_written_by_key(definition, deletes=False)
        # ``made`` takes half the time of ``key``, which tells what is wrong (benchmarks: update_one).
        key = definition.plain_keys.made(values) or definition.key(values)
        return revised(_BLANK, definition=definition, key=key)
    definition = definition_of(type(subject))
    definition.require_table("updated")
    if values:
        raise OperationError(f"update(item) takes no key values: {type(subject).__name__}'s key is in the item")
    expected = None if definition.version is None else carried_version(subject, definition)
    return UpdateSpec(definition=definition, key=definition.key_of(subject), item=subject, expected=expected)


class Updatable(Generic[M]):
    """What an update can be asked for; each method gives a new value."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _spec(self) -> UpdateSpec: ...
        def _with(self, spec: UpdateSpec) -> Self: ...

    @overload
    def set(self, field: Expr[V], value: "V | Change[V] | Readable[V] | FieldFirst[V]", /) -> Self: ...
    @overload
    def set(self, field: Expr[Decimal] | Expr[Decimal | None], value: int, /) -> Self: ...
    @overload
    def set(self, field: DocumentTo[V], value: "V | Change[V] | Readable[V] | None", /) -> Self: ...
    def set(self, field: Any, value: Any, /) -> Self:
        """Return the update that also gives a field, or a part of one, a value.

        None removes the attribute, or stores NULL where absence would read back as something else.

        Args:
            field: ``Tweet.text``, ``Tweet.address.city``, ``Tweet.words[0]`` or ``Tweet.counts["a"]``.
            value: a constant, which the field's own type validates; another field; or a change of what is stored:
                ``Tweet.likes + 1``, ``Tweet.likes.if_not_exists(0)``, ``Tweet.words.append(["x"])``.

        Raises:
            EncodeError: a constant does not fit the field.
            ExpressionError: the field cannot be set, or the update changes it already.
        """
        return self._and(lambda definition: setting(definition, field, value))

    @overload
    def add(self, field: SetOf[V], amount: "AbstractSet[V] | FieldFirst[V]", /) -> Self: ...
    @overload
    def add(self, field: "Expr[int] | Expr[int | None]", amount: int, /) -> Self: ...
    @overload
    def add(self, field: "Expr[Decimal] | Expr[Decimal | None]", amount: Decimal | int, /) -> Self: ...
    @overload
    def add(self, field: "Expr[float] | Expr[float | None]", amount: float, /) -> Self: ...
    def add(self, field: Any, amount: Any, /) -> Self:
        """Return the update that also adds a number to a number, or members to a set.

        A number that the item does not have counts as its default, or 0. The amount may be negative, and outside the
        range of the field's values: DynamoDB adds it to a number that is not known here.

        Raises:
            EncodeError: the amount, or a member, is of another type than the field's.
            ExpressionError: the field holds neither number nor set, or the update changes it already.
        """
        return self._and(lambda definition: adding(definition, field, amount))

    def remove(self, *fields: Expr[Any] | DocumentTo[Any]) -> Self:
        """Return the update that also drops fields, parts of nested models, or elements of lists.

        What is not there is no error. Positions in lists are those before the update.

        Raises:
            ExpressionError: items cannot do without one of them, or the update changes it already.
        """
        return self._and(*(partial(_removing, field) for field in fields))

    def delete(self, field: SetOf[V], members: "AbstractSet[V] | FieldFirst[V]", /) -> Self:
        """Return the update that also drops members of a set; those that it does not have are no error.

        Raises:
            EncodeError: the members are of another type than the field's.
            ExpressionError: the field holds no set, or the update changes it already.
        """
        return self._and(lambda definition: deleting(definition, field, members))

    def where(self, *conditions: Condition) -> Self:
        """Return the update with more conditions on the stored item; all must hold.

        Raises:
            ExpressionError: one is no condition, or names a field of another model.
        """
        spec = self._spec
        parts = stored_conditions(spec.definition.model, conditions)
        return self._with(revised(spec, conditions=(*spec.conditions, *parts)))

    def upsert(self) -> Self:
        """Return the update that makes the item where there is none.

        Fields with a default that the update does not change get it, if the item has no value for them, so that the
        new item is stored as ``create`` would store it.
        """
        return self._with(revised(self._spec, upserts=True))

    def read_first(self) -> Self:
        """Return the update that reads the stored item first, which one of a field that is ``Unique`` needs.

        The update is done only if that field is as it was read; else it is tried again, a few times. An update of an
        instance that a session read or wrote does without.

        Cost: one GetItem more; a read unit per 4 KB.
        """
        return self._with(revised(self._spec, reads_first=True))

    def expect_version(self, number: int, /) -> Self:
        """Return the update that is done only if the stored item has this version; 0 for one that has none yet.

        Raises:
            OperationError: the model has no version, or this is no version.
        """
        spec = self._spec
        name = spec.definition.model.__name__
        if spec.definition.version is None:
            raise OperationError(f"{name} has no version to expect; give it a field version: Version[int]")
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise OperationError(f"expect_version takes a whole number from 0 on, not {number!r}")
        return self._with(revised(spec, expected=number))

    def _and(self, *makers: Callable[[Definition[Any]], Action]) -> Self:
        spec = self._spec
        actions = spec.actions
        for make in makers:
            action = make(spec.definition)
            check_apart(actions, action.path)
            actions = (*actions, action)
        return self._with(revised(spec, actions=actions))


def _removing(field: object, definition: Definition[Any]) -> Action:
    return removing(definition, field)


def returning(spec: UpdateSpec, values: Returning) -> UpdateSpec:
    """Return the spec whose result is this.

    Raises:
        OperationError: there is no such result.
    """
    if values not in ("new", "old", "changed", "nothing"):
        raise OperationError(f'returning({values!r}): an update gives back "new", "old", "changed" or "nothing"')
    return revised(spec, returns=values)
