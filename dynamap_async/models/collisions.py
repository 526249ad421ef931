"""Collisions: models of a shared table whose keys are made alike, so that one's items would replace the other's."""

from typing import Any

from dynamap_async.models.definition import Definition
from dynamap_async.models.settings import SETTINGS, fault
from dynamap_async.models.shared import Prefix, Table
from dynamap_async.models.templates import KeyTemplate, Part


def check_collisions(definition: Definition[Any]) -> None:
    """Raise ModelDefinitionError where another model of the table makes its keys of the same texts and kinds of value.

    Of plain fields nothing is known; a family may share its keys, because an item is of one of its classes at a time;
    and where a prefix of the key tells the kind, no two kinds have one key.
    """
    kinds, model = definition.kinds, definition.model
    if kinds is None or definition.kind is None or isinstance(kinds.table.discriminator, Prefix):
        return
    for other in kinds.table.models.values():
        known: Definition[Any] | None = other.__dict__.get("__dynamap_definition__")
        if known is None or _are_family(kinds.table, model, other) or not _may_meet(definition, known):
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


def _may_meet(one: Definition[Any], other: Definition[Any]) -> bool:
    """Return whether the same constants stand in the keys of two models, and the parts between them can be the same."""
    return all(
        first.template is not None and second.template is not None and _are_alike(first.template, second.template)
        for first, second in zip(one.key_fields(), other.key_fields(), strict=True)
    )


def _are_alike(one: KeyTemplate, other: KeyTemplate) -> bool:
    if one.tail != other.tail or [part.before for part in one.parts] != [part.before for part in other.parts]:
        return False
    return all(_may_be_one_text(*both) for both in zip(one.parts, other.parts, strict=True))


def _may_be_one_text(one: Part, other: Part) -> bool:
    first, second = one.format, other.format
    if first.width is not None and second.width is not None and first.width != second.width:
        return False
    if first.texts is not None and second.texts is not None:
        return not first.texts.isdisjoint(second.texts)
    return first.free or second.free or first.label == second.label
