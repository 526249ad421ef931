"""Fields whose values the library sets when an item is written, so that a new item does not have them yet.

Invariant: an instance without such a value has no entry for it in its ``__dict__``: nothing invents one, on reads
neither.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticKnownError, PydanticOmit

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError

PRESENCE: Final = "__dynamap_presence_of_"
"""What the names of these validators begin with."""

COMPUTES: Final = "__dynamap_computes__"
"""The name of the validator that computes keys."""

ItemT = TypeVar("ItemT", bound=BaseModel)


class _Sentinel:
    """A value that no program has; one object per name, also after copying and pickling."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name


UNASSIGNED: Final = _Sentinel("UNASSIGNED")
"""Stands for the value of a new item until it is written; Pydantic leaves the field out."""

ABSENT: Final = _Sentinel("ABSENT")
"""Stands for an attribute that a stored item lacks, though the field cannot be None: Pydantic calls it missing."""


def new_write_id() -> str:
    """Return an id that no other write has: 16 random bytes as 22 characters."""
    return secrets.token_urlsafe(16)


def unassigned() -> Any:
    """Return ``UNASSIGNED``, as the default factory of assigned fields does."""
    return UNASSIGNED


def present(value: Any) -> Any:
    """Return a value; raise PydanticOmit for ``UNASSIGNED``, and the error of a missing field for ``ABSENT``."""
    if value is UNASSIGNED:
        raise PydanticOmit
    if value is ABSENT:
        raise PydanticKnownError("missing")
    return value


@dataclass(frozen=True, slots=True)
class Assigned:
    """Where the value of an assigned field comes from; kept in the field's metadata."""

    autoincrement: bool = False
    on_create: Callable[[], Any] | None = None
    on_update: Callable[[], Any] | None = None
    has_default: bool = False
    """Whether ``attr`` was given a default as well, which is a mistake."""
    write_id: bool = False
    """Whether the value is the id of the write that stored it. It is made as that of ``on_update`` is."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of ``attr`` that say where the value comes from, as messages name them."""
        given = {
            "autoincrement=True": self.autoincrement,
            "on_create": self.on_create,
            "on_update": None if self.on_update is new_write_id else self.on_update,
            "write_id=True": self.write_id,
        }
        return tuple(name for name, value in given.items() if value)

    @property
    def when(self) -> str:
        """When the field gets its value, for messages."""
        if self.autoincrement:
            return "the next number when the item is first written by a session"
        if self.on_update is not None:
            return "its value each time that a session writes the item"
        return "its value when the item is first written by a session"


def assigned_of(info: FieldInfo) -> Assigned | None:
    """Return where the value of a field comes from, if the library gives it."""
    return next((each for each in info.metadata if isinstance(each, Assigned)), None)


def validators_of(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the validators, by attribute name, that let the assigned fields of a class body have no value.

    They belong to the class, since Pydantic puts the metadata of ``attr`` inside that of the annotation: a validator
    there would see what stands for no value.
    """
    return {
        f"{PRESENCE}{name}": field_validator(name, mode="before", check_fields=False)(staticmethod(present))
        for name, value in namespace.items()
        if isinstance(value, FieldInfo) and assigned_of(value) is not None
    }


def has_value(item: BaseModel, field: str) -> bool:
    """Return whether an instance has a value for a field."""
    return item.__dict__.get(field, UNASSIGNED) is not UNASSIGNED


def without_stand_ins(item: ItemT) -> ItemT:
    """Return an instance that was made without validation, after removing ``UNASSIGNED`` from its values."""
    values = vars(item)
    for name in [name for name, value in values.items() if value is UNASSIGNED]:
        del values[name]
    return item


class Maker:
    """Makes the values of one assigned field, validated by the field's own type."""

    __slots__ = ("_adapter", "_annotation", "_model", "_name")

    def __init__(self, model: str, name: str, annotation: Any) -> None:
        """Store the field; nothing is compiled before the first value.

        Args:
            model: the model's name, for messages.
            name: the field's name.
            annotation: its type, with the metadata that Pydantic knows.
        """
        self._model = model
        self._name = name
        self._annotation = annotation
        self._adapter: TypeAdapter[Any] | None = None

    def made(self, make: Callable[[], Any]) -> Any:
        """Return a new value of the field.

        Args:
            make: what the model says gives values.

        Raises:
            EncodeError: what it gave does not fit the field's type.
        """
        if self._adapter is None:
            self._adapter = TypeAdapter(self._annotation)
        given = make()
        try:
            return self._adapter.validate_python(given)
        except ValidationError as error:
            spelled = getattr(make, "__qualname__", repr(make))
            raise EncodeError(f"{spelled}() gave {given!r}: {error.errors()[0]['msg']}").at(
                self._name, model=self._model
            ) from error
