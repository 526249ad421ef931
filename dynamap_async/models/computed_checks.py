"""Every way in which the templates of a model and their parts can be wrong, their patterns aside."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from pydantic import BaseModel

from dynamap_async.codec import MISFITS
from dynamap_async.errors import EncodeError
from dynamap_async.models.computed import Computed
from dynamap_async.models.computing import COMPUTES
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.indexes import IndexDeclaration
from dynamap_async.models.markers import Role
from dynamap_async.models.settings import SETTINGS, Settings, fault
from dynamap_async.models.templates import UNITS_OF_TIMES, KeyTemplate, Part, format_of

_KEYS: Final = (Role.PARTITION_KEY, Role.SORT_KEY)
_TIME: Final = datetime(2024, 3, 9, 8, 7, 6, 543210, tzinfo=UTC)
"""A time with something in each of its units."""


def computed_of(
    model: type[BaseModel], fields: Mapping[str, FieldPlan], indexes: Mapping[str, IndexDeclaration]
) -> Computed | None:
    """Return the computed keys of a model; None if it has none.

    Args:
        model: the class, complete.
        fields: its fields.
        indexes: its index declarations, by attribute name.

    Raises:
        ModelDefinitionError: a template, a part or a field that is not stored is wrong.
    """
    templates = {plan.name: plan.template for plan in fields.values() if plan.template is not None}
    for name, template in templates.items():
        _check(model, fields, fields[name], template)
    unstored = {plan.name: _source(model, fields, plan) for plan in fields.values() if not plan.is_stored}
    for attribute, index in indexes.items():
        for name in (*index.partition_fields, *index.sort_fields, *getattr(index.projection, "attributes", ())):
            if name in unstored:
                problem = f"names {name}, which is not stored by itself; name {unstored[name]}, or drop stored=False"
                raise fault(model.__name__, problem, attribute)
    if not templates:
        return None
    parts = dict.fromkeys(part for template in templates.values() for part in template.names)
    of_part = {part: tuple(name for name, each in templates.items() if part in each.names) for part in parts}
    return Computed(model.__name__, templates, of_part, unstored)


def _check(model: type[BaseModel], fields: Mapping[str, FieldPlan], key: FieldPlan, template: KeyTemplate) -> None:
    settings: Settings = getattr(model, SETTINGS)
    problem = None
    if COMPUTES not in model.__pydantic_decorators__.model_validators:
        problem = (
            f"has its template inside the annotation; write it behind the equals sign: {key.name}: ... = template(...)"
        )
    elif settings.table is None and not settings.abstract:
        problem = (
            "has a template, but the model has no table, so it is no key of anything; use a computed_field, or add "
            f'table="..." to class {model.__name__}'
        )
    elif key.role not in (Role.ATTRIBUTE, *_KEYS):
        problem = f"is a {key.role.value}, which is no text; drop its template"
    if problem is not None:
        raise fault(model.__name__, problem, key.name)
    for name in template.names:
        problem = _part_problem(key, fields[name]) or _coarser(template.part(name), fields[name])
        if problem is not None:
            raise fault(model.__name__, f"the template {template.pattern!r} names {name}, {problem}", key.name)


def _part_problem(key: FieldPlan, part: FieldPlan) -> str | None:
    if part.role is Role.VERSION:
        return "which changes with each write, unseen by updates; count in a field of your own"
    if part.nullable and key.role in _KEYS:
        return "which may be None, and every item needs its key; declare it without None"
    if part.nullable and not key.nullable:
        return f"which may be None, and then there is no key; declare {key.name} as Attr[str | None]"
    if part.assigned is not None and part.assigned.on_update is not None and key.role in _KEYS:
        return "which changes with each write (on_update), and a key never changes; take on_create"
    return None


def _coarser(part: Part, field: FieldPlan) -> str | None:
    """Return what is wrong if the key has more of a time than its attribute, so that no condition would meet it."""
    if part.format.label != "datetime":
        return None
    try:
        kept = field.converter.decode(field.converter.encode(_TIME))
    except (EncodeError, *MISFITS):
        return None
    if part.text(kept) == part.text(_TIME):
        return None
    units = (unit for unit in UNITS_OF_TIMES if _text(field, unit, kept) == _text(field, unit, _TIME))
    unit = next(units, "year")
    return (
        f"which is stored without what follows its {unit}, so that conditions would not find what the key holds; write "
        f"{{{part.name}:{unit}}}"
    )


def _text(field: FieldPlan, unit: str, value: datetime) -> str:
    return format_of(field.annotation, unit).write(value)


def _source(model: type[BaseModel], fields: Mapping[str, FieldPlan], part: FieldPlan) -> str:
    """Return the computed field that a part without an attribute of its own is read back from."""
    if part.role is not Role.ATTRIBUTE or part.template is not None or part.assigned is not None:
        raise fault(model.__name__, "is a key or a field of the session, which has to be stored; drop stored=False")
    holding = [plan for plan in fields.values() if plan.template is not None and part.name in plan.template.names]
    for plan in sorted(holding, key=lambda each: each.role not in _KEYS):
        if not plan.nullable and plan.template is not None and part.name in plan.template.readable:
            return plan.name
    if not holding:
        problem = "is not stored and stands in no template, so it would be lost; drop stored=False"
    elif part.nullable:
        problem = "is not stored and may be None, when there is no key to read it back from; drop one of the two"
    else:
        names = " and ".join(plan.name for plan in holding)
        problem = (
            f"is not stored, and cannot be read back from {names}, which may be absent, or holds it in another case or "
            "cut off; drop stored=False"
        )
    raise fault(model.__name__, problem, part.name)
