"""What every update can be asked for, and the update actions that this makes: values validated and in stored form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Never, Self, TypeAlias, TypeVar, cast, overload

from dynamap_async.codec import EMPTY_SET, MISSING, NULL, Absence, check_item
from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.errors import EncodeError, ExpressionError, OperationError, OutOfRangeError
from dynamap_async.errors.habits import no_keywords
from dynamap_async.expressions import (
    Action,
    Add,
    Arithmetic,
    Change,
    Condition,
    DeleteElements,
    DocumentPath,
    DocumentTo,
    Expr,
    FieldFirst,
    FunctionCall,
    Longer,
    Path,
    Readable,
    Remove,
    Set,
    Size,
    Start,
    Sum,
    Value,
    amount,
    at,
    check_apart,
    is_number,
    made_of,
    path_of,
    paths_read,
    source_of,
    undeclared,
)
from dynamap_async.models import (
    Definition,
    FieldPlan,
    KeyValue,
    Model,
    Role,
    definition_of,
    is_frozen,
    key_of_item,
    left_out_at,
    must_be_there,
    start_number,
    stored_empty,
    validated,
    validated_members,
)
from dynamap_async.operations.automatic_values import carried_version
from dynamap_async.operations.keywords import NOT_GIVEN, makes_optional
from dynamap_async.planning import (
    check_written_by_key,
    own_path,
    stored_conditions,
    stored_path,
)
from dynamap_async.wire import AttributeValue, WireKey

M = TypeVar("M")
V = TypeVar("V")

_SET_TAGS: Final = frozenset(("SS", "NS", "BS"))
_CHANGES: Final = (Path, Start, Arithmetic, Longer)  # A | B would be made anew each time (benchmarks: update_one)
_SETS: Final = (set, frozenset)
_NOTHING: Final = Remove(undeclared("dynamap:nothing"))
"""What an update does that only adds or drops no members: no item has such an attribute, and a transaction takes no
update that says nothing."""
_PATH_BYTES: Final = 500
"""What a path takes that was looked at before."""


def setting(definition: Definition[Any], field: object, value: object) -> Action:
    """Return the action that gives a field a value: a constant, another field, or a change of the stored one.

    Args:
        definition: the model.
        field: the field.
        value: a constant, another field, or a change.

    Raises:
        ExpressionError: the field cannot be set, or not to this.
        EncodeError: a value does not fit the field.
    """
    made = path_of(value) if isinstance(value, DocumentPath) else made_of(value)
    path = target(definition, field, value=made)
    if isinstance(made, Size):
        raise ExpressionError(f"{path} cannot be set to {made}: DynamoDB computes sizes in conditions only")
    if isinstance(made, _CHANGES):
        source = source_of(made, path, lambda at, start: _constant(definition, at, start))
        for read in paths_read(source):
            stored_path(definition.model, read)
        return Set(path, source)
    stored = _stored_value(definition, path, value)
    return Remove(path) if stored is None else Set(path, Value(stored))


def removing(definition: Definition[Any], field: object) -> Action:
    """Return the action that drops a field, or a part of one.

    Args:
        definition: the model.
        field: the field.

    Raises:
        ExpressionError: items cannot do without it.
    """
    path = target(definition, field)
    if must_be_there(path):
        raise ExpressionError(
            f"{path} is required, so an item without it could not be read; set it to another value, give the field a "
            "default, or allow None",
            expression=str(path),
        )
    return Remove(path)


def adding(definition: Definition[Any], field: object, value: Any) -> Action:
    """Return the action that adds a number to a number, or members to a set.

    Args:
        definition: the model.
        field: the field.
        value: the number, or the members.

    Raises:
        ExpressionError: the field holds neither.
        EncodeError: the number, or a member, is of another type than the field's.
    """
    path = target(definition, field)
    if path.converter.tags & _SET_TAGS and (_is_set(value) or not is_number(path)):
        members = validated_members(path, value) if _is_set(value) else value
        found = _members(path, members, "add")
        return _NOTHING if found is None else Add(path, found)
    number = amount(path, value)
    start = start_number(path)
    if len(path.steps) == 1 and not start:
        return Add(path, number)
    # ADD counts what is missing as 0, whatever its default, and is only promised for whole attributes.
    return Set(path, Sum(FunctionCall("if_not_exists", (path, Value(path.encode(start)))), "+", number))


def deleting(definition: Definition[Any], field: object, members: object) -> Action:
    """Return the action that drops members of a set.

    Args:
        definition: the model.
        field: the field.
        members: the members, as a set.

    Raises:
        ExpressionError: the field holds no set.
        EncodeError: they are of another type than the field's.
    """
    path = target(definition, field)
    if not path.converter.tags & _SET_TAGS:
        raise ExpressionError(
            f"{path} holds {path.converter.label}, which is not stored as a set; delete() removes members of sets, "
            "and remove() removes a field, or an element of a list",
            expression=str(path),
        )
    found = _members(path, members, "delete")
    return _NOTHING if found is None else DeleteElements(path, found)


def target(definition: Definition[Any], field: object, *, value: object = None) -> Path:
    """Return the path of a field that an update may change.

    Args:
        definition: the model.
        field: the field.
        value: what it is to be set to.

    Raises:
        ExpressionError: it is no field of the model, or one that no update may change.
    """
    path = path_of(field)
    changeable = (target, path)
    if changeable in definition.compiled:  # looked at before: half of what set() or add() cost (benchmarks: update_one)
        return path
    own_path(definition.model, path)
    problem = _problem(definition, path)
    if problem is None and _is_frozen(definition, path):
        if isinstance(value, Start) and value.path == path:  # an item that has a value keeps it
            return path
        problem = f"is frozen: a stored item keeps it; set it with {path}.if_not_exists(value), or put() the whole item"
    if problem is not None:
        raise ExpressionError(f"{path} {problem}", expression=str(path))
    if not path.has_given_steps:  # which are its users'
        definition.compiled.keep(changeable, path, _PATH_BYTES)
    return path


def _problem(definition: Definition[Any], path: Path) -> str | None:
    """Return why an update may not change what is at a path."""
    upgrades = definition.items.upgrades
    if upgrades is not None and (lost := upgrades.why_lost(path.attribute)) is not None:
        return lost
    if not path.is_declared:
        tells = definition.kinds is not None and path.attribute == definition.kinds.told_by
        return (
            "tells the kind of the item, which never changes: put a new item, and delete the old one" if tells else None
        )
    if path.attribute in definition.require_table("updated").keys.names:
        return "is part of the item's key, which never changes: put a new item, and delete the old one"
    field = _plan(definition, path)
    if definition.derived is not None and (found := definition.derived.of.get(field.name)) is not None:
        return f"is computed from {found.sources}, and never set; change that, and write the item"
    if field.role is Role.VERSION:
        return "is counted by the session; to check it, use .expect_version(number)"
    if field is definition.write_id:
        return "is given a new id by the session with each write; leave it out"
    return _computed_problem(definition, field)


def _is_frozen(definition: Definition[Any], path: Path) -> bool:
    """Return whether a path is that of a field which keeps its first value, or a part of one."""
    return is_frozen(path) or (path.is_declared and _plan(definition, path) in definition.frozen)


def _computed_problem(definition: Definition[Any], field: FieldPlan) -> str | None:
    """Return why an update may not change a field that is a computed key, or a part of one."""
    if field.template is not None:
        parts = ", ".join(field.template.names) or "nothing: it is constant"
        return f"is computed from {parts}; change that, and the key follows"
    keys = {key.name for key in definition.key_fields()}
    fixed = [name for name in definition.templates.get(field.name, ()) if name in keys]
    if fixed:
        return (
            f"is a part of {fixed[0]}, which is part of the item's key and never changes: put a new item, and delete "
            "the old one"
        )
    return None


def _stored_value(definition: Definition[Any], path: Path, value: object) -> AttributeValue | None:
    """Return a value in the stored form of a path; None where the attribute is to be left out.

    Args:
        definition: the model.
        path: where the value is to be stored.
        value: the value.

    Raises:
        EncodeError: the value does not fit the field, or cannot be stored.
    """
    valid: Any = validated(path, value)
    if valid is MISSING and path.absence is Absence.MISSING:
        return None
    whole = len(path.steps) == 1 and path.is_declared
    empty = valid is None or (_is_set(valid) and not valid)
    if empty and not whole and left_out_at(path, in_unions=False) == (NULL if valid is None else EMPTY_SET):
        return None
    try:
        stored = stored_empty(_plan(definition, path), valid) if whole and empty else path.converter.encode(valid)
    except RecursionError:
        raise EncodeError("the value contains itself, or is nested too deeply").at(
            path.spelled, model=path.owner.__name__
        ) from None
    except EncodeError as error:
        raise error.at(path.spelled, model=path.owner.__name__) from error.__cause__
    if stored is not None:
        if whole:
            definition.items.check_keys({path.attribute: stored})
        check_item({path.attribute: stored}, path.owner.__name__)
    return stored


def _constant(definition: Definition[Any], path: Path, value: object) -> Value:
    stored = _stored_value(definition, path, value)
    if stored is None:
        raise ExpressionError(f"{path}: {value!r} is not stored, so it cannot be a start value; drop if_not_exists()")
    return Value(stored)


def _members(path: Path, members: Any, use: str) -> Value | None:
    """Return members of a set in their stored form; None where there are none."""
    if not _is_set(members):
        raise ExpressionError(
            f"{use}({path}, ...) takes members as a set, such as {{member}}, not {members!r}", expression=str(path)
        )
    return Value(path.encode(members)) if members else None


def _is_set(value: object) -> bool:
    return isinstance(value, _SETS)


def _plan(definition: Definition[Any], path: Path) -> FieldPlan:
    return definition.fields[definition.field_names[path.attribute]]


Returning: TypeAlias = Literal["new", "old", "changed", "nothing"]
"""What an update gives back."""
SetOf: TypeAlias = Expr[set[V]] | Expr[set[V] | None] | Expr[frozenset[V]] | Expr[frozenset[V] | None]
"""A field that holds a set. Invariant, so that members of another type are refused."""


@dataclass(frozen=True, kw_only=True)  # without slots: see ``replace_fields``
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

    Args:
        subject: the instance, or the model.
        partition: the partition key's value, after a model.
        sort: the sort key's value, where the table has one, after a model.

    Raises:
        EncodeError: a key value is of the wrong type, empty or too long.
        OperationError: the number of key values does not fit, or the instance was given another key since it was read.
    """
    values = tuple([value for value in (partition, sort) if value is not None])
    if not isinstance(subject, Model):
        definition: Definition[Any] = definition_of(subject)
        definition.require_table("updated")
        check_written_by_key(definition, deletes=False)
        # ``made`` takes half the time of ``key``, which tells what is wrong (benchmarks: update_one).
        key = definition.plain_keys.made(values) or definition.key(values)
        return replace_fields(_BLANK, definition=definition, key=key)
    definition = definition_of(type(subject))
    definition.require_table("updated")
    if values:
        raise OperationError(f"update(item) takes no key values: {type(subject).__name__}'s key is in the item")
    expected = None if definition.version is None else carried_version(subject, definition)
    return UpdateSpec(definition=definition, key=key_of_item(subject, definition), item=subject, expected=expected)


class Updatable(Generic[M]):
    """What an update can be asked for; each method gives a new value."""

    __slots__ = ()

    _spec: UpdateSpec

    @property
    def spec(self) -> UpdateSpec:
        """What is asked."""
        return self._spec

    if TYPE_CHECKING:

        def _with(self, spec: UpdateSpec) -> Self: ...

    @overload
    def set(self, field: Expr[V], value: V | Change[V] | Readable[V] | FieldFirst[V], /) -> Self: ...
    @overload
    def set(self, field: Expr[Decimal] | Expr[Decimal | None], value: int, /) -> Self: ...
    @overload
    def set(self, field: DocumentTo[V], value: V | Change[V] | Readable[V] | None, /) -> Self: ...
    def set(self, field: Any = None, value: Any = NOT_GIVEN, /, **fields: Any) -> Self:
        """Return the update that also gives a field, or a part of one, a value.

        None removes the attribute, or stores NULL where absence would read back as something else. Pydantic's
        ``MISSING`` removes it.

        Args:
            field: ``Tweet.text``, ``Tweet.address.city``, ``Tweet.words[0]`` or ``Tweet.counts["a"]``.
            value: a constant, which the field's own type validates; another field; or a change of what is stored:
                ``Tweet.likes + 1``, ``Tweet.likes.if_not_exists(0)``, ``Tweet.words.append(["x"])``.
            fields: nothing: ``set_fields`` takes names of fields.

        Raises:
            EncodeError: a constant does not fit the field.
            ExpressionError: the field cannot be set, or the update changes it already.
        """
        if fields or value is NOT_GIVEN:
            raise self._no_field("set", fields)
        return self._and(lambda definition: setting(definition, field, value))

    @makes_optional(1)
    def set_fields(self, values: Mapping[str, Any], /, **fields: Never) -> Self:
        """Return the update that also gives these fields values, each as ``set`` does: for the body of a PATCH request.

        Args:
            values: field name -> value, such as ``body.model_dump(exclude_unset=True)``; what is not in it stays. It
                may be empty.
            fields: nothing: the names are keys of the mapping.

        Raises:
            EncodeError: a value does not fit its field.
            ExpressionError: there is no such field, or it cannot be set, or the update changes it already.
        """
        if fields or values is NOT_GIVEN:
            given: Mapping[str, object] = fields or {"field": "value"}
            raise TypeError(f"set_fields() takes one mapping of names and values; write .set_fields({given!r})")
        return self._and(*(partial(_setting_named, name, value) for name, value in values.items()))

    @overload
    def add(self, field: SetOf[V], amount: AbstractSet[V] | FieldFirst[V], /) -> Self: ...
    @overload
    def add(self, field: Expr[int] | Expr[int | None], amount: int, /) -> Self: ...
    @overload
    def add(self, field: Expr[Decimal] | Expr[Decimal | None], amount: Decimal | int, /) -> Self: ...
    @overload
    def add(self, field: Expr[float] | Expr[float | None], amount: float, /) -> Self: ...
    def add(self, field: Any = NOT_GIVEN, amount: Any = NOT_GIVEN, /, **fields: Any) -> Self:
        """Return the update that also adds a number to a number, or members to a set.

        An empty set adds nothing. A number that the item does not have counts as its default, or 0. The amount may be
        negative, and outside the range of the field's values: DynamoDB adds it to a number that is not known here.

        Args:
            field: a field that holds a number or a set, or a part of a field.
            amount: the number, or the members as a set.
            fields: nothing: the field is given as in ``Tweet.likes``.

        Raises:
            EncodeError: the amount, or a member, is of another type than the field's.
            ExpressionError: the field holds neither number nor set, or the update changes it already.
        """
        if fields or amount is NOT_GIVEN:
            raise self._no_field("add", fields)
        return self._and(lambda definition: adding(definition, field, amount))

    def remove(self, *fields: Expr[Any] | DocumentTo[Any], **names: Never) -> Self:
        """Return the update that also drops fields, parts of nested models, or elements of lists.

        What is not there is no error. Positions in lists are those before the update.

        Args:
            fields: fields, parts of nested models, or elements of lists.
            names: nothing: a field is given as in ``Tweet.city``.

        Raises:
            ExpressionError: items cannot do without one of them, or the update changes it already.
        """
        if names:
            raise self._no_field("remove", names)
        return self._and(*(partial(_removing, field) for field in fields))

    @makes_optional(2)
    def delete(self, field: SetOf[V], members: AbstractSet[V] | FieldFirst[V], /, **fields: Never) -> Self:
        """Return the update that also drops members of a set; those that it does not have are no error, nor are none.

        Args:
            field: a field that holds a set, or a part of a field.
            members: the members, as a set.
            fields: nothing: the field is given as in ``Tweet.tags``.

        Raises:
            EncodeError: the members are of another type than the field's.
            ExpressionError: the field holds no set, or the update changes it already.
        """
        if fields or members is NOT_GIVEN:
            raise self._no_field("delete", fields)
        return self._and(lambda definition: deleting(definition, field, members))

    def where(self, *conditions: Condition, **fields: Never) -> Self:
        """Return the update with more conditions on the stored item; all must hold.

        Args:
            conditions: conditions on fields of the model; they are joined by AND.
            fields: nothing: a condition names its field, as in ``Tweet.likes < 10``.

        Raises:
            ExpressionError: one is no condition, or names a field of another model.
        """
        spec = self._spec
        if fields:
            raise no_keywords("where", ".where({condition})", spec.definition.model.__name__, fields)
        parts = stored_conditions(spec.definition.model, conditions)
        return self._with(replace_fields(spec, conditions=(*spec.conditions, *parts)))

    def upsert(self) -> Self:
        """Return the update that makes the item where there is none.

        Fields with a default that the update does not change get it, if the item has no value for them, so that the
        new item is stored as ``create`` would store it.
        """
        return self._with(replace_fields(self._spec, upserts=True))

    def read_first(self) -> Self:
        """Return the update that reads the stored item first, which one of a field that is ``Unique`` needs.

        The update is done only if that field is as it was read; else it is tried again, a few times. An update of an
        instance that a session read or wrote does without.

        Cost: one GetItem more; a read unit per 4 KB.
        """
        return self._with(replace_fields(self._spec, reads_first=True))

    def expect_version(self, number: int, /) -> Self:
        """Return the update that is done only if the stored item has this version; 0 for one that has none yet.

        Args:
            number: the version, from 0 on.

        Raises:
            OperationError: the model has no version, or this is no number.
            OutOfRangeError: it is below 0.
        """
        spec = self._spec
        name = spec.definition.model.__name__
        if spec.definition.version is None:
            raise OperationError(f"{name} has no version to expect; give it a field version: Version[int]")
        if isinstance(number, bool) or not isinstance(number, int):
            raise OperationError(f"expect_version() needs a whole number from 0 up, not {number!r}")
        if number < 0:
            raise OutOfRangeError(f"expect_version() needs a whole number from 0 up, not {number!r}")
        return self._with(replace_fields(spec, expected=number))

    def _no_field(self, method: str, given: Mapping[str, object]) -> TypeError:
        """Return the error of a change that is given by keywords, or has no field or no value."""
        model = self._spec.definition.model.__name__
        if given:
            written = ".remove({field})" if method == "remove" else f".{method}({{field}}, {{value!r}})"
            return no_keywords(method, written, model, given)
        by_name = "; several by name: .set_fields({'field': value})" if method == "set" else ""
        return TypeError(f"{method}() takes a field and a value, as in .{method}({model}.field, value){by_name}")

    def _and(self, *makers: Callable[[Definition[Any]], Action]) -> Self:
        spec = self._spec
        actions = spec.actions
        for make in makers:
            action = make(spec.definition)
            if action is not _NOTHING:
                check_apart(actions, action.path)
                actions = (*actions, action)
        return self._with(replace_fields(spec, actions=actions or (_NOTHING,)))


def _setting_named(name: str, value: object, definition: Definition[Any]) -> Action:
    if name not in definition.fields:
        model = definition.model.__name__
        raise ExpressionError(
            f"set_fields() names {name!r}, which is not a field of {model}; its fields are "
            f"{', '.join(definition.fields)}"
        )
    return setting(definition, at(definition.path(name)), value)


def _removing(field: object, definition: Definition[Any]) -> Action:
    return removing(definition, field)


def returning(spec: UpdateSpec, values: Returning) -> UpdateSpec:
    """Return the spec whose result is this.

    Args:
        spec: what is asked.
        values: ``"new"``, ``"old"``, ``"changed"`` or ``"nothing"``.

    Raises:
        OperationError: there is no such result.
    """
    if values not in ("new", "old", "changed", "nothing"):
        raise OperationError(f'returning({values!r}): an update returns "new", "old", "changed" or "nothing"')
    return replace_fields(spec, returns=values)
