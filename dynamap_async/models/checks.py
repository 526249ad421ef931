"""Every way in which the fields of a model can be wrong, whatever table it has."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BaseModel, FutureDatetime, PastDatetime, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dynamap_async import limits
from dynamap_async.codec import EPOCH_SECONDS, StoredForm
from dynamap_async.errors import EncodeError
from dynamap_async.models.annotations import bare, name_of, without_none
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import OURS, Role, StoredAs, stored_form
from dynamap_async.models.settings import fault

_EXPIRY_TYPES: Final = (int, datetime, AwareDatetime, FutureDatetime, PastDatetime)


def check_fields(model: type[BaseModel], fields: Mapping[str, FieldPlan], indexes: Iterable[str]) -> None:
    """Raise ModelDefinitionError for what is wrong with a model's fields.

    Args:
        model: the class, complete.
        fields: its fields.
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
        _check_default(model, plan, info)


def check_attr(model: type[BaseModel]) -> None:
    """Raise ModelDefinitionError for arguments of ``attr`` that are of a wrong type."""
    for name, info in model.__pydantic_fields__.items():
        for each in info.metadata:
            if not isinstance(each, StoredAs):
                continue
            if each.name is not None and not isinstance(each.name, str):
                raise fault(model.__name__, f"attr(name={each.name!r}): the name of an attribute is text", name)
            if each.form is not None and not isinstance(each.form, StoredForm):
                raise fault(
                    model.__name__,
                    f"attr(stored_as={each.form!r}) is not a stored form; take EPOCH_SECONDS, EPOCH_MILLISECONDS or "
                    "JSON_TEXT, or make a StoredForm",
                    name,
                )


def _check_stored_names(model: type[Any], fields: Mapping[str, FieldPlan]) -> None:
    taken: dict[str, str] = {}
    for plan in fields.values():
        if not 0 < len(plan.stored.encode()) <= limits.ATTRIBUTE_NAME_BYTES:
            raise fault(
                model.__name__, f"the stored name {plan.stored[:40]!r} must be 1 to 65,535 bytes long", plan.name
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
            f"a TimeToLive is a time, stored as epoch seconds, not {name_of(kind)}; declare it as datetime, "
            "datetime | None, or int (epoch seconds)",
            plan.name,
        )
    if stored_form(info) not in (None, EPOCH_SECONDS):
        raise fault(model.__name__, "a TimeToLive is stored as epoch seconds; drop its stored_as", plan.name)


def _check_version(model: type[Any], plan: FieldPlan, info: FieldInfo) -> None:
    if bare(info.annotation) is not int or plan.converter.tags != frozenset(("N",)):
        raise fault(
            model.__name__,
            f"a Version counts writes, so it is an int, not {name_of(info.annotation)}; write Version[int]",
            plan.name,
        )


def _check_default(model: type[Any], plan: FieldPlan, info: FieldInfo) -> None:
    default = info.default
    if default is PydanticUndefined or info.default_factory is not None:
        return
    problem = _storing(plan, default) or _reading(info, default)
    if problem:
        raise fault(model.__name__, f"the default {default!r} does not fit: {problem}", plan.name)


def _storing(plan: FieldPlan, default: Any) -> str | None:
    """Return why a default could not be stored."""
    if default is None and plan.nullable:
        return None
    try:
        plan.converter.encode(default)
    except EncodeError as error:
        return str(error)
    except RecursionError:
        return "it contains itself"
    return None


def _reading(info: FieldInfo, default: Any) -> str | None:
    """Return why a stored default could not be read again: the type's constraints, which Pydantic does not check."""
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
