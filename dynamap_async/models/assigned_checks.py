"""Every way in which an assigned field can be wrong."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel

from dynamap_async.models.annotations import bare, name_of, without_none
from dynamap_async.models.assigned import PRESENCE, Assigned
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import Role
from dynamap_async.models.settings import SETTINGS, Settings, fault

_KEYS: Final = (Role.PARTITION_KEY, Role.SORT_KEY)


def check_assigned(model: type[BaseModel], fields: Mapping[str, FieldPlan]) -> None:
    """Raise ModelDefinitionError for what is wrong with the fields whose values the library gives.

    Args:
        model: the class, complete.
        fields: its fields.
    """
    plans = [plan for plan in fields.values() if plan.assigned is not None]
    for plan in plans:
        problem = _problem(model, plan, plan.assigned or Assigned())
        if problem is not None:
            raise fault(model.__name__, problem, plan.name)
    _check_numbers(model, fields, plans)
    write_ids = [plan.name for plan in plans if plan.assigned is not None and plan.assigned.write_id]
    if len(write_ids) > 1:
        raise fault(model.__name__, f"{' and '.join(write_ids)} both have write_id=True; an item has one", write_ids[1])


def _check_numbers(model: type[BaseModel], fields: Mapping[str, FieldPlan], plans: list[FieldPlan]) -> None:
    numbered = [plan.name for plan in plans if plan.assigned is not None and plan.assigned.autoincrement]
    if len(numbered) > 1:
        raise fault(
            model.__name__,
            f"{' and '.join(numbered)} both have autoincrement=True; a model numbers one of its keys",
            numbered[1],
        )
    partition = next((plan for plan in plans if plan.role is Role.PARTITION_KEY), None)
    if numbered and partition is not None and fields[numbered[0]].role is Role.SORT_KEY:
        raise fault(
            model.__name__,
            f"has autoincrement=True as the sort key, where each partition counts for itself, and {partition.name} has "
            f"no value before it is written; give {partition.name} its value in the constructor",
            numbered[0],
        )


def _problem(model: type[BaseModel], plan: FieldPlan, assigned: Assigned) -> str | None:
    if len(assigned.arguments) > 1:
        return (
            f"has {' and '.join(assigned.arguments)}; its value comes from one of them "
            "(on_update gives one on creation too)"
        )
    argument = ", ".join(assigned.arguments)
    if assigned.has_default:
        return (
            f"has {argument} and a default, so the default would never be used; drop one of them (default=... with "
            "three dots says to type checkers that the constructor takes the field)"
        )
    settings: Settings = getattr(model, SETTINGS)
    if settings.table is None and not settings.abstract:
        return (
            f"has {argument}, but the model has no table, so it is never written by itself; give the value in the "
            "constructor, or by default_factory"
        )
    if plan.role is Role.VERSION:
        return f"has {argument}, but the session gives a Version its numbers; drop {argument}"
    if assigned.autoincrement:
        problem = _numbering(plan)
    elif assigned.write_id:
        problem = _identifying(plan)
    else:
        problem = _calling(plan, argument, assigned)
    return problem or _validators(model, plan, argument)


def _identifying(plan: FieldPlan) -> str | None:
    if plan.role is not Role.ATTRIBUTE:
        return f"has write_id=True but is a {plan.role.value}; give the write id an Attr[str | None] of its own"
    if not plan.is_stored:
        return "has write_id=True and stored=False, so no item would show it; drop stored=False"
    if bare(without_none(bare(plan.annotation))) is not str or plan.converter.tags != frozenset(("S",)):
        return f"has write_id=True but is {name_of(plan.annotation)}; ids are text: write Attr[str | None]"
    if not plan.nullable:
        return "has write_id=True but cannot be None, as which items of other programs read: write Attr[str | None]"
    return None


def _numbering(plan: FieldPlan) -> str | None:
    if plan.role not in _KEYS:
        return (
            "has autoincrement=True but is no key, so nothing could keep its numbers apart; make it the PartitionKey "
            "or the SortKey, or count with session.increment"
        )
    kind = bare(plan.annotation)
    if kind is not int or plan.converter.tags != frozenset(("N",)):
        return f"has autoincrement=True but is {name_of(kind)}; numbers are int, stored as numbers: write int"
    return None


def _calling(plan: FieldPlan, argument: str, assigned: Assigned) -> str | None:
    if assigned.on_update is not None and plan.role in _KEYS:
        return "has on_update but is part of the key, which never changes; take on_create"
    make: object = assigned.on_create or assigned.on_update
    if not callable(make):
        return f"{argument}={make!r} is not callable; give a function without parameters"
    if inspect.iscoroutinefunction(make):
        return f"{argument} is an async function; give a plain one, or set the field in a before_write hook"
    return None if _takes_nothing(make) else f"{argument} has parameters; give a function that takes none"


def _takes_nothing(make: Callable[..., Any]) -> bool:
    try:
        inspect.signature(make).bind()
    except ValueError:  # a built-in that does not tell
        return True
    except TypeError:
        return False
    return True


def _validators(model: type[BaseModel], plan: FieldPlan, argument: str) -> str | None:
    """Return why a validator of the class cannot be: one that runs before the field's type would see no value."""
    validators = model.__pydantic_decorators__.field_validators
    if PRESENCE + plan.name not in validators:
        return (
            f"has {argument} inside its annotation; write it behind the equals sign: {plan.name}: Attr[...] = attr(...)"
        )
    for name, validator in validators.items():
        early = validator.info.mode != "after" and not name.startswith(PRESENCE)
        if early and not {plan.name, "*"}.isdisjoint(validator.info.fields):
            return (
                f"has {argument}, so a validator that runs before its type ({validator.func.__name__}) would be called "
                "without a value; put it into the type instead: Annotated[..., BeforeValidator(...)]"
            )
    return None
