"""What an operation is: an immutable value that knows its request and how to read the answer, and does no I/O.

Operations are equal if they ask the same. Those of an instance compare the instance, which is mutable, by its own
equality, and beside it what they took from it; it has no part in the hash. No public attribute can be assigned. The
private slots are written while an operation is made, and never afterwards: ``__setattr__`` does not refuse it, since
that would make ``Get`` and ``Put`` half as dear again.
"""

from __future__ import annotations

import ast
import copyreg
import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar

from dynamap_async.codec import decode_any
from dynamap_async.errors import ItemNotFoundError, ServiceError
from dynamap_async.expressions import Path, undeclared
from dynamap_async.models import Definition, Model, definition_of
from dynamap_async.planning import Context
from dynamap_async.request import Request, Target
from dynamap_async.wire import Body, WireKey

R_co = TypeVar("R_co", covariant=True)


class Operation(Generic[R_co]):  # no ABC: of one, isinstance takes a call, and each request looks for its class
    """Something to be asked of DynamoDB. ``await session.execute(operation)`` gives its result."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return _members_of(self) == _members_of(other)

    def __hash__(self) -> int:
        return hash((type(self), _hashable(_members_of(self))))

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (type(self), _members_of(self))

    def _with_members(self, **members: Any) -> Self:
        """Return the same operation with other values in some of its slots."""
        other: Self = _made(type(self), {**_members_of(self), **members})
        return other


class SingleRequest(Operation[R_co]):
    """An operation of exactly one request."""

    __slots__ = ()

    @abstractmethod
    def request(self, context: Context) -> Request:
        """Return the request to send.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """

    @abstractmethod
    def result(self, response: Body, context: Context) -> R_co:
        """Read the answer.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds, the same as for ``request``.
        """

    def failed(self, error: ServiceError) -> Exception:
        """Return what a refusal means to the caller: the error itself, or a more telling one.

        Args:
            error: the refusal.
        """
        return error

    def read(self, result: Any) -> Sequence[Model]:
        """Return the instances of a result of this operation that were read, for the hooks that follow a read.

        Args:
            result: the result of the operation.
        """
        return ()


_MEMBERS: Final = frozenset(
    {
        "TableName",
        "Key",
        "Item",
        "UpdateExpression",
        "ConditionExpression",
        "ProjectionExpression",
        "ExpressionAttributeNames",
        "ExpressionAttributeValues",
        "ReturnValuesOnConditionCheckFailure",
    }
)


class Part(NamedTuple):
    """What a transaction says of one of its items."""

    action: dict[str, Any]
    """The name of what is done -> its members."""
    target: Target
    """The item."""
    table: str
    """The full table name."""
    conditional: bool
    """Whether a condition guards it."""


def part_of(name: str, request: Request) -> Part:
    """Return a request as part of a transaction, which knows fewer members than a call of its own.

    Args:
        name: what it is called there.
        request: the request of the action alone.
    """
    body, target = request.body, request.target
    assert target is not None, f"{request.operation} is not about one item"  # noqa: S101 - by its type
    action = {member: value for member, value in body.items() if member in _MEMBERS}
    return Part({name: action}, target, request.table, request.conditional)


def key_values(definition: Definition[Any], key: WireKey) -> dict[str, Any]:
    """Return a wire key as field name -> Python value, for messages.

    Args:
        definition: the model.
        key: the key, in wire form.
    """
    fields = [definition.fields[definition.field_names[name]] for name in key]
    try:
        return {field.name: field.of_stored(key[field.stored]) for field in fields}
    except ValueError:  # it was stored by another program, and is read by Pydantic
        return {field.name: decode_any(key[field.stored]) for field in fields}


def shown_key(key: Mapping[str, Any]) -> str:
    """Return a key as messages show it: ``user_id='ada', tweet_id=7``.

    Args:
        key: the key, in wire form.
    """
    return ", ".join(f"{name}={value!r}" for name, value in key.items())


def not_found(item: Model, definition: Definition[Any], error: ServiceError | None = None) -> ItemNotFoundError:
    """Return the error that says that the item of an instance does not exist any more.

    Args:
        item: the instance.
        definition: the model.
        error: the refusal that shows it, if there was one.
    """
    model = definition.model.__name__
    key = {field.name: getattr(item, field.name) for field in definition.key_fields()}
    spelled = ", ".join(f"{name}={value!r}" for name, value in key.items())
    found = ItemNotFoundError(
        f"there is no {model} with {spelled} any more: it was deleted since it was read; "
        "session.create(item) makes a new one of it",
        model=model,
        key=key,
    )
    if error is not None and error.outcome_unknown:
        found.outcome_unknown = True
        found.add_note("an earlier attempt's answer was lost: the item may have been saved before it was deleted")
    return found


@cache
def _slots(kind: Any) -> tuple[str, ...]:
    bases: tuple[Any, ...] = kind.__mro__
    return tuple(name for base in bases for name in base.__dict__.get("__slots__", ()))


def _members_of(operation: Any) -> dict[str, Any]:
    kind: Any = operation.__class__
    return {name: getattr(operation, name) for name in _slots(kind) if hasattr(operation, name)}


def _made(kind: type[Any], members: Mapping[str, Any]) -> Any:
    operation = object.__new__(kind)
    for name, value in members.items():
        setattr(operation, name, value)
    return operation


def _hashable(value: Any) -> Any:
    """Return something that can be hashed, equal for equal values."""
    kind: Any = value.__class__
    if issubclass(kind, Mapping):
        return frozenset((name, _hashable(each)) for name, each in value.items())
    if issubclass(kind, list | tuple):
        return tuple(map(_hashable, value))
    try:
        hash(value)
    except TypeError:
        if not dataclasses.is_dataclass(value):
            return str(kind.__qualname__)  # an instance of a model, most often
        return tuple(_hashable(getattr(value, field.name)) for field in dataclasses.fields(value))
    return value


def _path_at(owner: type[Model], spelled: str) -> Path:
    """Return the path that a program spells so, behind the name of the model."""
    parts: list[Any] = []
    node = ast.parse(spelled, mode="eval").body
    while not isinstance(node, ast.Name):
        match node:
            case ast.Attribute(value=inner, attr=part):
                parts.append(part)
            case ast.Subscript(value=inner, slice=index):
                parts.append(ast.literal_eval(index))
            case _:
                raise ValueError(f"{spelled!r} is not a path")
        node = inner
    path = definition_of(owner).path(node.id)
    for part in reversed(parts):
        path = path.child(part)
    return dataclasses.replace(path, spelled=spelled)


def _undeclared_at(steps: Sequence[Any]) -> Path:
    """Return the path of an attribute that no model declares, or of a part of it."""
    path = undeclared(steps[0])
    for step in steps[1:]:
        path = path.child(step)
    return path


def _reduced(path: Path) -> tuple[Any, ...]:
    return (_path_at, (path.owner, path.spelled)) if path.is_declared else (_undeclared_at, (path.steps,))


# Both hold functions that are made for a model; where an operation is unpickled, the model's class gives them anew.
copyreg.pickle(Path, _reduced)
copyreg.pickle(Definition, lambda definition: (definition_of, (definition.model,)))
