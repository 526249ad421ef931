"""What an update is asked to do, as update actions: values validated and stored, and what cannot work refused."""

from typing import Any, Final

from dynamap_async.codec import check_item
from dynamap_async.errors import EncodeError, ExpressionError
from dynamap_async.expressions import (
    Action,
    Add,
    Arithmetic,
    Call,
    Delete,
    DocumentPath,
    Longer,
    Path,
    Remove,
    Set,
    Size,
    Start,
    Sum,
    Value,
    amount,
    is_number,
    made_of,
    path_of,
    paths_read,
    source_of,
)
from dynamap_async.models import (
    Definition,
    FieldPlan,
    Role,
    drops_empty,
    is_frozen,
    must_be_there,
    start_number,
    stored_empty,
    validated,
    validated_members,
)
from dynamap_async.planning import own_path, stored_path
from dynamap_async.wire import AttributeValue

_SET_TAGS: Final = frozenset(("SS", "NS", "BS"))
_CHANGES: Final = (Path, Start, Arithmetic, Longer)  # A | B would be made anew each time (benchmarks: update_one)
_SETS: Final = (set, frozenset)
_PATH_BYTES: Final = 500
"""What a path takes that was looked at before."""


def setting(definition: Definition[Any], field: object, value: object) -> Action:
    """Return the action that gives a field a value: a constant, another field, or a change of the stored one.

    Raises:
        ExpressionError: the field cannot be set, or not to this.
        EncodeError: a value does not fit the field.
    """
    path = target(definition, field)
    made = path_of(value) if isinstance(value, DocumentPath) else made_of(value)
    if isinstance(made, Size):
        raise ExpressionError(f"{path} cannot be set to {made}: DynamoDB knows sizes in conditions only")
    if isinstance(made, _CHANGES):
        source = source_of(made, path, lambda at, start: _constant(definition, at, start))
        for read in paths_read(source):
            stored_path(definition.model, read)
        return Set(path, source)
    stored = stored_at(definition, path, value)
    return Remove(path) if stored is None else Set(path, Value(stored))


def removing(definition: Definition[Any], field: object) -> Action:
    """Return the action that drops a field, or a part of one.

    Raises:
        ExpressionError: items cannot do without it.
    """
    path = target(definition, field)
    if must_be_there(path):
        raise ExpressionError(
            f"{path} is required, so an item without it could not be read; set it to another value, or give the field "
            "a default, or allow None",
            expression=str(path),
        )
    return Remove(path)


def adding(definition: Definition[Any], field: object, value: Any) -> Action:
    """Return the action that adds a number to a number, or members to a set.

    Raises:
        ExpressionError: the field holds neither, or there are no members.
        EncodeError: the number, or a member, is of another type than the field's.
    """
    path = target(definition, field)
    if path.converter.tags & _SET_TAGS and (_is_set(value) or not is_number(path)):
        members = validated_members(path, value) if _is_set(value) else value
        return Add(path, _members(path, members, "add"))
    number = amount(path, value)
    start = start_number(path)
    if len(path.steps) == 1 and not start:
        return Add(path, number)
    # ADD counts what is missing as 0, whatever its default, and is only promised for whole attributes.
    return Set(path, Sum(Call("if_not_exists", (path, Value(path.encode(start)))), "+", number))


def deleting(definition: Definition[Any], field: object, members: object) -> Action:
    """Return the action that drops members of a set.

    Raises:
        ExpressionError: the field holds no set, or there are no members.
        EncodeError: they are of another type than the field's.
    """
    path = target(definition, field)
    if not path.converter.tags & _SET_TAGS:
        raise ExpressionError(
            f"{path} holds {path.converter.label}, not a set that DynamoDB knows; delete() takes members out of sets, "
            "remove() drops a field, or an element of a list",
            expression=str(path),
        )
    return Delete(path, _members(path, members, "delete"))


def target(definition: Definition[Any], field: object) -> Path:
    """Return the path of a field that an update may change.

    Raises:
        ExpressionError: it is no field of the model, or one that no update may change.
    """
    path = path_of(field)
    changeable = (target, path)
    if changeable in definition.compiled:  # looked at before: half of what set() or add() cost (benchmarks: update_one)
        return path
    own_path(definition.model, path)
    if path.attribute in definition.require_table("updated").keys.names:
        reason = "is part of the item's key, which never changes: put a new item, and delete the old one"
    elif _plan(definition, path).role is Role.VERSION:
        reason = "is counted by the session; to check it, use .expect_version(number)"
    elif _plan(definition, path) is definition.write_id:
        reason = "is given a new id by the session with each write; leave it out"
    elif (computed := _computed_problem(definition, _plan(definition, path))) is not None:
        reason = computed
    elif is_frozen(path):
        reason = "is frozen by the model; put() writes it"
    else:
        if not path.has_given_steps:  # which are its users'
            definition.compiled.keep(changeable, path, _PATH_BYTES)
        return path
    raise ExpressionError(f"{path} {reason}", expression=str(path))


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


def stored_at(definition: Definition[Any], path: Path, value: object) -> AttributeValue | None:
    """Return a value in the stored form of a path; None where the attribute is to be left out.

    Raises:
        EncodeError: the value does not fit the field, or cannot be stored.
    """
    fitting: Any = validated(path, value)
    whole = len(path.steps) == 1
    empty = fitting is None or (_is_set(fitting) and not fitting)
    if empty and not whole and fitting is not None and drops_empty(path, in_unions=False):
        return None
    try:
        stored = stored_empty(_plan(definition, path), fitting) if whole and empty else path.converter.encode(fitting)
    except RecursionError:
        raise EncodeError("the value contains itself, or is nested too deep").at(
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
    stored = stored_at(definition, path, value)
    if stored is None:
        raise ExpressionError(f"{path}: {value!r} is not stored, so nothing can start as it; leave if_not_exists() out")
    return Value(stored)


def _members(path: Path, members: Any, use: str) -> Value:
    if not _is_set(members) or not members:
        raise ExpressionError(
            f"{use}({path}, ...) takes one or more members as a set, such as {{member}}, not {members!r}",
            expression=str(path),
        )
    return Value(path.encode(members))


def _is_set(value: object) -> bool:
    return isinstance(value, _SETS)


def _plan(definition: Definition[Any], path: Path) -> FieldPlan:
    return definition.fields[definition.field_names[path.attribute]]
