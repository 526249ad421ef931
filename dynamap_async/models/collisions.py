"""Collisions: models of a shared table whose keys are made alike, so that one's items would replace the other's."""

from typing import Any

from dynamap_async.models.definition import Definition
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.settings import SETTINGS, fault
from dynamap_async.models.shared import Prefix, Table


def check_collisions(definition: Definition[Any]) -> None:
    """Raise ModelDefinitionError where another model of the table makes its keys of the same texts and kinds of value.

    Of plain fields nothing is known; a family may share its keys, because an item is of one of its classes at a time;
    and where a prefix of the key tells the kind, no two kinds have one key.
    """
    kinds, model = definition.kinds, definition.model
    if kinds is None or definition.kind is None or isinstance(kinds.table.discriminator, Prefix):
        return
    shape = _shape(definition)
    if shape is None:
        return
    for other in kinds.table.models.values():
        known: Definition[Any] | None = other.__dict__.get("__dynamap_definition__")
        if known is None or _are_family(kinds.table, model, other) or _shape(known) != shape:
            continue
        if (other.__module__, other.__qualname__) == (model.__module__, model.__qualname__):
            continue  # the same model, defined again
        field = definition.key_fields()[-1]
        raise fault(
            model.__name__,
            f"makes keys of {kinds.table!r} of the same texts as {other.__name__}, so that one's item could replace "
            f"the other's; begin one of them with a constant of its own: "
            f'template("{model.__name__.lower()}#{field.template}")',
            field.name,
        )


def _are_family(table: Table, one: type[Any], other: type[Any]) -> bool:
    """Return whether two models have a base, or are one, that is a model of the table."""
    bases = [base for base in one.__mro__ if issubclass(other, base) and SETTINGS in base.__dict__]
    return any(base.__dict__[SETTINGS].shared is table for base in bases)


def _shape(definition: Definition[Any]) -> tuple[object, ...] | None:
    """Return what keys are made of; None where a part of the key is a plain field."""
    found: list[object] = []
    for field in definition.key_fields():
        if field.template is None:
            return None
        found.append(_parts(field))
    return tuple(found)


def _parts(field: FieldPlan) -> object:
    template = field.template
    return template and (tuple((part.before, part.format.label) for part in template.parts), template.tail)
