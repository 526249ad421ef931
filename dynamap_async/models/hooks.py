"""Hooks: methods of a model that run before a write and after a read. Here they are found; sessions run them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from dynamap_async.models.settings import SETTINGS, Settings, fault

WriteKind: TypeAlias = Literal["put", "create", "save", "update", "delete"]
"""What a write does with the item that it is given."""

BeforeWrite: TypeAlias = Callable[[Any, WriteKind], object]
"""Takes an item that is about to be written, and the kind of write. What it returns is awaited if it can be."""

AfterWrite: TypeAlias = Callable[[Any, WriteKind], object]
"""Takes an item that was written, and the kind of write. What it returns is awaited if it can be."""

AfterRead: TypeAlias = Callable[[Any], object]
"""Takes an item that was read. What it returns is awaited if it can be."""

T = TypeVar("T")
BeforeWriteT = TypeVar("BeforeWriteT", bound=BeforeWrite)
AfterWriteT = TypeVar("AfterWriteT", bound=AfterWrite)
AfterReadT = TypeVar("AfterReadT", bound=AfterRead)

_MARKS: Final = "__dynamap_hook__"
_OF_WRITE: Final = "(self, write: WriteKind)"
_ARGUMENTS: Final = {"before_write": _OF_WRITE, "after_write": _OF_WRITE, "after_read": "(self)"}


class Hooks(NamedTuple):
    """What runs before and after a write, and after a read, each in its order."""

    before_write: tuple[BeforeWrite, ...] = ()
    after_write: tuple[AfterWrite, ...] = ()
    after_read: tuple[AfterRead, ...] = ()


NO_HOOKS: Final = Hooks()


def compare_computed(_item: Any) -> None:
    """Stand among the hooks after a read, of a model with ``@computed_attr``: sessions tell observers what differs."""


def before_write(method: BeforeWriteT, /) -> BeforeWriteT:
    """Mark a method of a model, async or plain, that runs before an item is written: ``(self, write: WriteKind)``.

    It may change the item, or raise: the caller gets that exception, and nothing is sent. A subclass inherits it and
    may override it by name, with or without the mark. Those of base classes run first, each class's in the order of its
    body. Writes by key have no item and run no hooks.

    Args:
        method: the method, written as ``def`` or ``async def``.
    """
    return _marked(method, "before_write")


def after_write(method: AfterWriteT, /) -> AfterWriteT:
    """Mark a method of a model, async or plain, that runs after an item was written: ``(self, write: WriteKind)``.

    It runs once DynamoDB has acknowledged the write, and undoes nothing: an exception becomes an AfterWriteError, which
    says that the item is written. Nothing runs after a write that failed, or whose answer was lost; so it is no place
    for what has to happen whenever an item changes, which a stream of the table tells. Order, inheritance and
    overriding are those of ``before_write``.

    Args:
        method: the method, written as ``def`` or ``async def``.
    """
    return _marked(method, "after_write")


def after_read(method: AfterReadT, /) -> AfterReadT:
    """Mark a method of a model, async or plain, that runs after an item is read and before the caller sees it.

    It takes ``self`` alone and runs once for each instance. Order, inheritance and overriding are those of
    ``before_write``.

    Args:
        method: the method, written as ``def`` or ``async def``.
    """
    return _marked(method, "after_read")


def _marked(method: T, when: str) -> T:
    if not isinstance(method, FunctionType):
        raise fault(
            getattr(method, "__qualname__", type(method).__name__),
            f"@{when} must mark a function written as `def` or `async def`; put it directly above the function, below "
            "other decorators",
        )
    setattr(method, _MARKS, getattr(method, _MARKS, frozenset[str]()) | {when})
    return method


def find_hooks(model: type[Any]) -> Hooks:
    """Return the hooks of a model: those of its bases first, overridden ones in the place of what they override.

    Raises:
        ModelDefinitionError: a hook is no method, takes the wrong arguments, or belongs to a model without a table.
    """
    found = {when: dict(_methods(model, when)) for when in Hooks._fields}
    names = [name for methods in found.values() for name in methods]
    if not names:
        return NO_HOOKS
    settings: Settings = getattr(model, SETTINGS)
    if settings.table is None and not settings.abstract:
        raise fault(
            model.__name__,
            'is a hook, but the model has no table, so nothing reads or writes its items; add table="..." (or '
            f"abstract=True) to class {model.__name__}",
            names[0],
        )
    return Hooks(**{when: tuple(methods.values()) for when, methods in found.items()})


def _methods(model: type[Any], when: str) -> Iterator[tuple[str, Callable[..., object]]]:
    names = dict.fromkeys(
        name
        for base in reversed(model.__mro__)
        for name, value in base.__dict__.items()
        if isinstance(value, FunctionType) and when in getattr(value, _MARKS, ())
    )
    private: dict[str, object] = model.__private_attributes__  # where Pydantic puts what overrides a method _like_this
    for name in names:
        method = private.get(name) or next(base.__dict__[name] for base in model.__mro__ if name in base.__dict__)
        yield name, _checked(model, name, method, when)


def _checked(model: type[Any], name: str, method: object, when: str) -> Callable[..., object]:
    if not isinstance(method, FunctionType):
        raise fault(
            model.__name__,
            f"overrides a hook with {method!r}; override it with a method (an empty one turns it off)",
            name,
        )
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise fault(
            model.__name__, "is a hook that contains `yield`, so calling it would do nothing; drop the `yield`", name
        )
    try:
        inspect.signature(method).bind(*([None] * (1 if when == "after_read" else 2)))
    except TypeError:
        raise fault(
            model.__name__,
            f"is marked @{when}, so it must take {_ARGUMENTS[when]}, not {inspect.signature(method)}",
            name,
        ) from None
    return method
