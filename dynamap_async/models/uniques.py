"""Unique constraints: fields whose values no two items of a table share, and the names of the guards that see to it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dynamap_async import limits
from dynamap_async.errors.habits import closest
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import Role
from dynamap_async.models.settings import INDEXES, SETTINGS, Settings, fault
from dynamap_async.request import canonical
from dynamap_async.schema import RecordKind, TableSchema
from dynamap_async.wire import AttributeValue, WireItem

_KEY_TAGS: Final = frozenset("SNB")


class Unique:
    """Fields of which no two items of a table have the same values: ``by_email = Unique("email")`` in a class body.

    The session keeps a guard for each value in a table of its own, in one transaction with the item: twice the write
    units of a plain write, and those of the guard. None is no value: any number of items may have it. Of several
    fields, the combination is unique.
    """

    def __init__(self, *fields: str) -> None:
        self.fields: tuple[str, ...] = fields
        """The names of the fields."""

    def __set_name__(self, owner: type[Any], attribute: str) -> None:
        """Do nothing: the model's definition knows the attribute's name."""

    def __repr__(self) -> str:
        return f"Unique({', '.join(map(repr, self.fields))})"


class UniqueFields(NamedTuple):
    """One constraint of a model, compiled."""

    name: str
    """The class attribute that declares it."""
    fields: tuple[FieldPlan, ...]
    """The fields, in the order of the declaration."""
    scope: str
    """What the names of its guards begin with: it tells table and attributes."""

    def guard(self, stored: Mapping[str, AttributeValue] | None) -> str | None:
        """Return the name of the guard of an item's values; None where there is no item, or a value is None.

        Args:
            stored: the item, in wire form; other attributes than those of the constraint may be missing.
        """
        values = self.values(stored)
        if values is None:
            return None
        name = self.scope + key_text(values)
        # The name of a guard is a partition key, and values of several fields may be longer together.
        if len(name.encode()) <= limits.PARTITION_KEY_BYTES:
            return name
        return f"{self.scope}sha256:{hashlib.sha256(name.encode()).hexdigest()}"

    def values(self, stored: Mapping[str, AttributeValue] | None) -> tuple[AttributeValue, ...] | None:
        """Return an item's values of the constraint; None where there is no item, or a value is None."""
        if stored is None:
            return None
        values = tuple(stored.get(field.stored, _NULL) for field in self.fields)
        return None if any("NULL" in value for value in values) else values

    def shown(self, stored: WireItem) -> dict[str, Any]:
        """Return an item's values as field name -> Python value."""
        return {field.name: field.converter.decode(stored[field.stored]) for field in self.fields}


_NULL: Final[AttributeValue] = {"NULL": True}


def key_text(values: tuple[AttributeValue, ...]) -> str:
    """Return key values as one text: the same for equal values, and another for all others.

    Each has its length, because a text may hold any character, and so no separator keeps ("ab", "c") from ("a", "bc").
    """
    return ",".join(_sized(canonical(*part)) for value in values for part in value.items())


def _sized(text: str) -> str:
    return f"{len(text)}:{text}"


def declared_uniques(model: type[Any]) -> dict[str, Unique]:
    """Return the constraints of a class and its bases, by attribute name, without those set to None since."""
    found: dict[str, object] = {}
    for base in reversed(model.__mro__):
        found.update(base.__dict__.get(INDEXES, {}))
    return {name: each for name, each in found.items() if isinstance(each, Unique) and getattr(model, name) is each}


def find_uniques(
    model: type[Any], fields: Mapping[str, FieldPlan], table: TableSchema | None
) -> tuple[UniqueFields, ...]:
    """Return the constraints of a model.

    Raises:
        ModelDefinitionError: a constraint names no field, one that cannot be unique, or the model has time to live.
    """
    declared = declared_uniques(model)
    settings: Settings = getattr(model, SETTINGS)
    if settings.abstract:
        return ()
    return tuple(_compiled(model, name, unique, fields, table) for name, unique in declared.items())


def _compiled(
    model: type[Any], name: str, unique: Unique, fields: Mapping[str, FieldPlan], table: TableSchema | None
) -> UniqueFields:
    if table is None:
        raise fault(
            model.__name__,
            f'is a unique constraint, but the model has no table; add table="..." (or abstract=True) to class '
            f"{model.__name__}",
            name,
        )
    if name in fields:
        raise fault(model.__name__, "is a unique constraint and a field; give one of them another name", name)
    plans = tuple(_field(model, name, each, fields) for each in unique.fields)
    _check(model, name, plans, table)
    if any(plan.role is Role.TIME_TO_LIVE for plan in fields.values()):
        raise fault(
            model.__name__,
            "is a unique constraint, but the model has time to live, and the values of expired items would stay "
            "taken; drop one of the two",
            name,
        )
    names = ",".join(_sized(plan.stored) for plan in plans)
    return UniqueFields(name, plans, RecordKind.UNIQUE.key(table.name, names, ""))


def _field(model: type[Any], unique: str, name: object, fields: Mapping[str, FieldPlan]) -> FieldPlan:
    if not isinstance(name, str):
        raise fault(
            model.__name__, f"must name fields as strings, such as {next(iter(fields))!r}, not {name!r}", unique
        )
    if name not in fields:
        close = closest(name, fields)
        hint = f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(fields)}"
        raise fault(model.__name__, f"names the field {name!r}, which {model.__name__} does not have; {hint}", unique)
    plan = fields[name]
    if plan.template is not None or not plan.is_stored:
        what = "is computed" if plan.template is not None else "is not stored by itself"
        raise fault(
            model.__name__, f"names {name!r}, which {what}; name the stored fields that the key is made of", unique
        )
    if plan.unsharded is not None:
        raise fault(
            model.__name__,
            f"names {name!r}, which has shards; a unique value needs none, so drop one of the two",
            unique,
        )
    if not plan.converter.in_one_form:
        raise fault(
            model.__name__,
            f"names {name!r}, which has also_stored_as, but a unique value must have one stored form; drop one of the "
            "two",
            unique,
        )
    if not plan.converter.tags <= _KEY_TAGS:
        stored = "/".join(sorted(plan.converter.tags))
        raise fault(
            model.__name__,
            f"names {name!r}, which holds {plan.converter.label}, stored as {stored}; a unique value must be text, a "
            "number or binary data (S, N or B)",
            unique,
        )
    return plan


def _check(model: type[Any], name: str, plans: tuple[FieldPlan, ...], table: TableSchema) -> None:
    names = [plan.name for plan in plans]
    if not names:
        raise fault(model.__name__, 'names no field; write Unique("email")', name)
    if len(set(names)) < len(names):
        raise fault(model.__name__, f"names a field twice ({', '.join(names)})", name)
    if set(table.keys.names) <= {plan.stored for plan in plans}:
        raise fault(
            model.__name__, "names the whole key of the table, which is unique without it; drop the constraint", name
        )
