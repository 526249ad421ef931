"""``dataclass``: the standard decorator, but it writes no methods before they are needed.

The standard one compiles up to seven methods for each class, which takes 0.6 ms. Over all classes of this package that
is two thirds of the time that its modules take to load (benchmarks: cold_start). Here all classes share their
``__repr__``, ``__eq__`` and ``__hash__``, and ``__init__`` is compiled for the first instance.

``replace_fields`` gives a changed copy at a tenth of the cost of ``dataclasses.replace``, which looks at every field
and calls the constructor: 9 us for what a query asks, which is done with every word of it (benchmarks: render,
query_100, update_one). It is for frozen classes that have no slots, and nothing that runs when they are made.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass", "replace_fields"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import (
        dataclass,
    )  # to checkers, as to ``dataclasses.fields`` and ``replace``, it is the standard one
    from dataclasses import replace as replace_fields  # checkers know the fields
else:
    T = TypeVar("T")

    def replace_fields(value: T, /, **changes: Any) -> T:
        """Return a frozen value without slots with some fields changed."""
        made = object.__new__(type(value))
        object.__setattr__(made, "__dict__", {**value.__dict__, **changes})
        return made

    def dataclass(
        *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
    ) -> Callable[[type], type]:
        """Make a data class, as ``dataclasses.dataclass`` does.

        Args:
            eq: whether instances are equal if their fields are; without it only to themselves.
        """

        def decorate(cls: type) -> type:
            cls.__doc__ = cls.__doc__ or cls.__name__  # the standard decorator would look for a signature to put there
            own = dict(cls.__dict__)
            standard = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
            made = standard(cls)
            for name, method in _methods(made, frozen=frozen, slots=slots, eq=eq).items():
                # What the class defines itself is kept.
                if own.get(name) is None:  # Python itself writes ``__hash__ = None`` beside an ``__eq__``
                    setattr(made, name, method)
            return made

        return decorate


def _methods(cls: type, *, frozen: bool, slots: bool, eq: bool) -> dict[str, Any]:
    # What has a text of its own is shown by it, in a list or a notebook too.
    shown = _text if any("__str__" in each.__dict__ for each in cls.__mro__[:-1]) else _repr
    methods: dict[str, Any] = {"__init__": _Unwritten(cls, frozen=frozen), "__repr__": shown}
    if eq:
        methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
    if frozen:
        # A plain subclass of a frozen class may still have attributes of its own.
        methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
    if frozen and slots:
        methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    return methods


class _Unwritten:
    """A placeholder for a class's ``__init__``, which writes the real one when it is first looked up."""

    __slots__ = ("_cls", "_frozen")

    def __init__(self, cls: type, *, frozen: bool) -> None:
        self._cls = cls
        self._frozen = frozen

    def __get__(self, instance: object, owner: type) -> Any:
        written = _written(self._cls, frozen=self._frozen)
        setattr(self._cls, "__init__", written)  # noqa: B010 - checkers forbid the assignment
        return written.__get__(instance, owner)


class _Factory:
    """The default that a signature shows for a field with a factory."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _written(cls: Any, *, frozen: bool) -> Any:
    """Return the ``__init__`` of a data class."""
    names: dict[str, Any] = {"FACTORY": _FACTORY, "SET": object.__setattr__}
    parameters: dict[bool, list[str]] = {False: [], True: []}
    lines: list[str] = []
    fields = dataclasses.fields(cls)
    for field in fields:
        name = value = field.name
        given = f"{name}"
        if field.default is not dataclasses.MISSING:
            names[f"DEFAULT_{name}"] = field.default
            given = f"{name}=DEFAULT_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"MAKE_{name}"] = field.default_factory
            given, value = f"{name}=FACTORY", f"MAKE_{name}() if {name} is FACTORY else {name}"
        parameters[bool(field.kw_only)].append(given)
        lines.append(f"SET(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    by_name = ["*", *parameters[True]] if parameters[True] else []
    head = ", ".join(["self", *parameters[False], *by_name])
    exec(f"def __init__({head}):\n  " + "\n  ".join(lines or ["pass"]), names)  # noqa: S102 - of names of fields only
    written = names.pop("__init__")
    written.__qualname__ = f"{cls.__qualname__}.__init__"
    written.__module__ = cls.__module__
    written.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    return written


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _text(self: Any) -> str:
    return str(self)


@cache
def _values_of(cls: Any) -> Callable[[Any], Any]:
    """Return a function that returns the values by which instances are compared."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    # Always a tuple, which compares what is identical without asking it: a path answers ``==`` with a condition.
    return attrgetter(*names) if len(names) > 1 else lambda self: tuple(getattr(self, name) for name in names)


def _values(self: Any) -> tuple[Any, ...]:
    kind: Any = self.__class__
    values: tuple[Any, ...] = _values_of(kind)(self)
    return values


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse_setting(self: Any, name: str, value: object) -> None:
    if "__dataclass_fields__" in type(self).__dict__ or name in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deleting(self: Any, name: str) -> None:
    if "__dataclass_fields__" in type(self).__dict__ or name in self.__dataclass_fields__:
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


# Without a __dict__ there is no default state, and the default way of setting one assigns to attributes, which a frozen
# class refuses.
def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
