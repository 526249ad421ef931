"""Checks of a model's fields, whatever table it has."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BaseModel, FutureDatetime, PastDatetime, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dynamap_async.codec import ALL_TAGS, EPOCH_SECONDS, MISSING, Absence, StoredForm
from dynamap_async.errors import EncodeError
from dynamap_async.models.annotations import bare, name_of, without_none
from dynamap_async.models.assigned import PRESENCE, Assigned
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import OURS, Role, StoredAs, stored_form
from dynamap_async.models.settings import SETTINGS, Settings, fault
from dynamap_async.schema import is_attribute_name

_KEYS: Final = (Role.PARTITION_KEY, Role.SORT_KEY)


def check_assigned(model: type[BaseModel], fields: Mapping[str, FieldPlan]) -> None:
    """Raise ModelDefinitionError for faults of the fields whose values the library sets.

    Args:
        model: the class, complete.
    """
    plans = [plan for plan in fields.values() if plan.assigned is not None]
    for plan in plans:
        problem = _problem(model, fields, plan, plan.assigned or Assigned())
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
            f"{' and '.join(numbered)} both have autoincrement=True; a model may number one key",
            numbered[1],
        )
    partition = next((plan for plan in fields.values() if plan.role is Role.PARTITION_KEY), None)
    if not numbered or partition is None or holds_part(partition, numbered[0]):
        return
    # The number of an item in its partition is taken before the item is written, so the partition has to be known then.
    late = next((plan for plan in plans if holds_part(partition, plan.name)), None)
    if late is not None:
        raise fault(
            model.__name__,
            f"has autoincrement=True in the sort key, which counts within each partition, but {late.name} has no "
            f"value before the item is written; give {late.name} its value in the constructor",
            numbered[0],
        )


def holds_part(key: FieldPlan, name: str) -> bool:
    """Return whether a key is a field, or is made of it by a template."""
    return key.name == name or (key.template is not None and name in key.template.names)


def _problem(
    model: type[BaseModel], fields: Mapping[str, FieldPlan], plan: FieldPlan, assigned: Assigned
) -> str | None:
    if len(assigned.arguments) > 1:
        return (
            f"has {' and '.join(assigned.arguments)}; its value comes from one of them "
            "(on_update gives one on creation too)"
        )
    argument = ", ".join(assigned.arguments)
    if assigned.has_default:
        return (
            f"has {argument} and a default, so the default would never be used; drop one of them (default=..., "
            "with three dots, tells type checkers that the constructor takes the field)"
        )
    settings: Settings = getattr(model, SETTINGS)
    if settings.table is None and not settings.abstract:
        return (
            f"has {argument}, but the model has no table, so it is never written by itself; give the value in the "
            "constructor, or by default_factory"
        )
    if assigned.on_update is not None and model.__pydantic_fields__[plan.name].frozen:
        return f"has {argument} and frozen=True, and it changes with each write; drop one of them"
    if plan.role is Role.VERSION:
        return f"has {argument}, but the session gives a Version its numbers; drop {argument}"
    if assigned.autoincrement:
        problem = _numbering(fields, plan)
    elif assigned.write_id:
        problem = _identifying(plan)
    else:
        problem = _calling(plan, argument, assigned)
    return problem or _validators(model, plan, argument)


def _identifying(plan: FieldPlan) -> str | None:
    if plan.role is not Role.ATTRIBUTE:
        return f"has write_id=True but is a {plan.role.value}; give the write id an Attr[str | None] of its own"
    if not plan.is_stored:
        return "has write_id=True and stored=False, so no item would have it; drop stored=False"
    if bare(without_none(bare(plan.annotation))) is not str or plan.converter.tags != frozenset(("S",)):
        return f"has write_id=True but is {name_of(plan.annotation)}; ids are text: write Attr[str | None]"
    if not plan.nullable:
        return (
            "has write_id=True but cannot be None, and items of other programs have no id, so they read as None: write "
            "Attr[str | None]"
        )
    return None


def _numbering(fields: Mapping[str, FieldPlan], plan: FieldPlan) -> str | None:
    if not any(holds_part(each, plan.name) for each in fields.values() if each.role in _KEYS):
        return (
            "has autoincrement=True but is not in the key, so nothing would keep its numbers unique; make it the "
            "PartitionKey or the SortKey, or a part of the template of one, or count with session.increment"
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
    """Return the fault of a validator that runs before the field's type, and would be called without a value."""
    validators = model.__pydantic_decorators__.field_validators
    if PRESENCE + plan.name not in validators:
        return (
            f"has {argument} inside its annotation; write it behind the equals sign: {plan.name}: Attr[...] = attr(...)"
        )
    for name, validator in validators.items():
        # Pydantic calls validators of modes before, plain and wrap with what was given, which is nothing for these
        # fields.
        early = validator.info.mode != "after" and not name.startswith(PRESENCE)
        if early and not {plan.name, "*"}.isdisjoint(validator.info.fields):
            return (
                f"has {argument}, so a validator that runs before its type ({validator.func.__name__}) would be called "
                "without a value; put it into the type instead: Annotated[..., BeforeValidator(...)]"
            )
    return None


_EXPIRY_TYPES: Final = (int, datetime, AwareDatetime, FutureDatetime, PastDatetime)


def check_fields(model: type[BaseModel], fields: Mapping[str, FieldPlan], indexes: Iterable[str]) -> None:
    """Raise ModelDefinitionError for faults of a model's fields.

    Args:
        model: the class, complete.
        indexes: the names of its index attributes.
    """
    for attribute in indexes:
        if attribute in fields:
            raise fault(model.__name__, "is an index and a field; give one of them another name", attribute)
    _check_stored_names(model, fields)
    for plan in fields.values():
        info = model.__pydantic_fields__[plan.name]
        if plan.role is Role.TIME_TO_LIVE:
            _check_expiry(model, plan, info)
        if plan.role is Role.VERSION:
            _check_version(model, plan, info)
            if info.frozen:
                raise fault(
                    model.__name__, "is frozen, but a Version changes with every write; drop frozen=True", plan.name
                )
        _check_default(model, plan, info)


def check_attr(model: type[BaseModel]) -> None:
    """Raise ModelDefinitionError for arguments of ``attr`` that are of a wrong type."""
    for name, info in model.__pydantic_fields__.items():
        for each in info.metadata:
            if not isinstance(each, StoredAs):
                continue
            if each.name is not None and not isinstance(each.name, str):
                raise fault(
                    model.__name__, f"attr(name={each.name!r}): the name of an attribute must be a string", name
                )
            if each.form is not None and not isinstance(each.form, StoredForm):
                raise fault(
                    model.__name__,
                    f"attr(stored_as={each.form!r}) is not a stored form; use EPOCH_SECONDS, EPOCH_MILLISECONDS or "
                    "JSON_TEXT, or make a StoredForm",
                    name,
                )
            others: tuple[object, ...] = each.others  # whatever the checkers say
            wrong = [form for form in others if not _is_form(form)]
            if wrong:
                raise fault(
                    model.__name__,
                    f"attr(also_stored_as={wrong[0]!r}) is not a stored form; use a StoredForm, or a stored type: "
                    f"{', '.join(sorted(ALL_TAGS))}",
                    name,
                )
            forms = [form for form in (each.form, *others) if form is not None]
            twice = next((form for at, form in enumerate(forms) if form in forms[:at]), None)
            if twice is not None:
                raise fault(model.__name__, f"names the stored form {twice!r} twice; drop one of them", name)


def _is_form(form: object) -> bool:
    return isinstance(form, StoredForm) or (isinstance(form, str) and form in ALL_TAGS)


def _check_stored_names(model: type[Any], fields: Mapping[str, FieldPlan]) -> None:
    taken: dict[str, str] = {}
    for plan in fields.values():
        if not is_attribute_name(plan.stored):
            raise fault(
                model.__name__, f"the stored name {plan.stored[:40]!r} must be 1 to 65,535 bytes of UTF-8", plan.name
            )
        if plan.stored in taken:
            raise fault(
                model.__name__,
                f"is stored as {plan.stored!r}, and so is {taken[plan.stored]!r}; give one of them another "
                "attr(name=...)",
                plan.name,
            )
        taken[plan.stored] = plan.name


def _check_expiry(model: type[Any], plan: FieldPlan, info: FieldInfo) -> None:
    kind = bare(without_none(bare(info.annotation)))
    if kind not in _EXPIRY_TYPES:
        raise fault(
            model.__name__,
            f"a TimeToLive is a time that is stored as epoch seconds, and cannot be {name_of(kind)}; declare it as "
            "datetime, datetime | None, or int (epoch seconds)",
            plan.name,
        )
    if stored_form(info) not in (None, EPOCH_SECONDS):
        raise fault(model.__name__, "a TimeToLive is always stored as epoch seconds; drop stored_as", plan.name)


def _check_version(model: type[Any], plan: FieldPlan, info: FieldInfo) -> None:
    if bare(info.annotation) is not int or plan.converter.tags != frozenset(("N",)):
        raise fault(
            model.__name__,
            f"a Version must be an int, not {name_of(info.annotation)}; write Version[int]",
            plan.name,
        )


def _check_default(model: type[Any], plan: FieldPlan, info: FieldInfo) -> None:
    default = info.default
    if plan.absence is Absence.MISSING:
        if plan.required or default is MISSING:
            return
        raise fault(
            model.__name__,
            "has MISSING in its type, so an item without the attribute reads as MISSING, and not as another default; "
            "write attr(default=MISSING), or drop MISSING from the type",
            plan.name,
        )
    if default is PydanticUndefined or info.default_factory is not None:
        return
    problem = _storing(plan, default) or _reading(info, default)
    if problem:
        raise fault(model.__name__, f"the default {default!r} does not fit: {problem}", plan.name)


def _storing(plan: FieldPlan, default: Any) -> str | None:
    """Return why a default cannot be stored."""
    if default is None and plan.nullable:
        return None
    if default is MISSING:
        return "the type does not have it; declare it as int | MISSING, or whatever the type is"
    try:
        plan.converter.encode(default)
    except EncodeError as error:
        return str(error)
    except RecursionError:
        return "it contains itself"
    return None


def _reading(info: FieldInfo, default: Any) -> str | None:
    """Return why a stored default cannot be read: it breaks the type's constraints, which Pydantic does not check."""
    metadata = [each for each in info.metadata if not isinstance(each, OURS)]
    if not metadata:
        return None
    annotation: Any = Annotated[(info.annotation, *metadata)]
    validate: Callable[[Any], Any] = TypeAdapter(annotation).validate_python
    try:
        validate(default)
    except ValidationError as error:
        return error.errors()[0]["msg"]
    except Exception:  # noqa: BLE001 - a user's own validator that needs a whole item cannot judge a default alone
        return None
    return None
