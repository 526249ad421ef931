"""The constraints of a model's fields, and the validation of some fields without the rest of the model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from functools import partial
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin
from uuid import UUID

from annotated_types import BaseMetadata, Interval, Len, Predicate
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    PlainValidator,
    StringConstraints,
    TypeAdapter,
    WrapValidator,
)
from typing_extensions import TypedDict  # Pydantic takes this one before Python 3.12

from dynamap_async.codec import MISSING
from dynamap_async.models.annotations import (
    Metadata,
    aliased,
    field_metadata,
    is_alias,
    is_anything,
    is_encoded,
    is_kind_of,
    is_no_value,
    is_union,
    unwrap,
)
from dynamap_async.models.assigned import PRESENCE
from dynamap_async.models.markers import OURS
from dynamap_async.models.pydantic_types import has_own_schema

_SCALARS: Final = (str, int, float, bool, bytes, Decimal, date, datetime, time, timedelta, UUID)
_CONTAINERS: Final = (list, set, frozenset, tuple, dict)
_STRICTER: Final = ("str_", "strict", "allow_inf_nan")
"""How the names of settings begin that make fields refuse more."""
_DEEPEST: Final = 50
"""How many aliases and models are looked through: an alias with parameters can contain another of itself."""
_VALIDATORS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "before": BeforeValidator,
    "after": AfterValidator,
    "plain": PlainValidator,
    "wrap": WrapValidator,
}


class Constraint(IntEnum):
    """Which values of its type a field may refuse. The greatest constraint among the parts of a type counts."""

    NONE = 0
    """It accepts every value of its type. Values of other types cannot be encoded either."""
    DECLARED = 1
    """It has constraints such as ``Len`` and ``Gt``."""
    NESTED = 2
    """A nested model has such constraints. Pydantic accepts instances of nested models without validating them."""
    CODE = 3
    """It has a validator function, or a type that only Pydantic knows."""


def constraint_of(model: type[BaseModel], name: str) -> Constraint:
    """Return the constraint of a field.

    Args:
        model: the class, complete.
        name: the field's name.
    """
    return _of_field(model, name, frozenset())


def _of_field(model: type[BaseModel], name: str, within: frozenset[Any]) -> Constraint:
    if any(True for _ in _validators_of(model, name)):
        return Constraint.CODE
    info = model.__pydantic_fields__[name]
    found = _of(info.annotation, tuple(field_metadata(info)), within)
    return max(found, Constraint.DECLARED) if _is_stricter(model) else found


def _of(annotation: Any, metadata: Metadata, within: frozenset[Any]) -> Constraint:
    """Return the constraint of a type; ``within`` are the nested models and the aliases that it stands in."""
    annotation, more = unwrap(annotation, through_aliases=False)
    metadata = (*more, *metadata)
    if len(within) > _DEEPEST or is_encoded((annotation, *metadata)) or has_own_schema(annotation, metadata):
        return Constraint.CODE
    own = max((_of_metadata(each) for each in metadata), default=Constraint.NONE)
    if is_alias(annotation):
        return (
            Constraint.CODE if annotation in within else max(own, _of(aliased(annotation), (), within | {annotation}))
        )
    return max(own, _of_type(annotation, within))


def _of_metadata(each: Any) -> Constraint:
    if each is None or isinstance(each, OURS):  # conint() leaves None where it has nothing to say
        return Constraint.NONE
    is_declared = isinstance(each, (BaseMetadata, Interval, Len, StringConstraints)) and not isinstance(each, Predicate)
    return Constraint.DECLARED if is_declared else Constraint.CODE


def _of_type(annotation: Any, within: frozenset[Any]) -> Constraint:
    origin: Any = get_origin(annotation) or annotation
    if origin in (Any, object, None, NoneType, MISSING, Literal, *_SCALARS) or is_kind_of(origin, Enum):
        return Constraint.NONE
    if is_anything(annotation):
        return Constraint.DECLARED  # JSON data, of fewer types than can be encoded
    if is_kind_of(origin, BaseModel):
        return _of_model(annotation, within)
    if not (is_union(annotation) or origin in _CONTAINERS):
        return Constraint.CODE
    members = [each for each in get_args(annotation) if each not in ((), Ellipsis)]
    found = max((_of(each, (), within) for each in members), default=Constraint.NONE)
    is_choice = is_union(annotation) and sum(not is_no_value(each) for each in members) > 1
    # A value may be valid as another member of the union than it was.
    return Constraint.CODE if is_choice and any(_has_model(each) for each in members) else found


def _of_model(model: Any, within: frozenset[Any]) -> Constraint:
    if model in within:
        return Constraint.NONE
    decorators = model.__pydantic_decorators__
    runs_code = decorators.model_validators or decorators.root_validators or model.__pydantic_custom_init__
    if runs_code or model.__pydantic_post_init__ or not model.__pydantic_complete__:
        return Constraint.CODE
    fields = [_of_field(model, name, within | {model}) for name in model.__pydantic_fields__]
    found = max(fields, default=Constraint.NONE)
    if model.model_config.get("extra") == "allow":
        return Constraint.CODE
    return max(found, Constraint.NESTED) if found else found


def _has_model(annotation: Any, within: frozenset[Any] = frozenset()) -> bool:
    """Return whether values of a type may hold instances of models; ``within`` are the aliases that it stands in."""
    annotation, _ = unwrap(annotation, through_aliases=False)
    if is_alias(annotation):
        return annotation not in within and _has_model(aliased(annotation), within | {annotation})
    return is_kind_of(annotation, BaseModel) or any(_has_model(each, within) for each in get_args(annotation))


def _is_stricter(model: type[BaseModel]) -> bool:
    return any(name.startswith(_STRICTER) for name in model.model_config)


def _validators_of(model: type[BaseModel], field: str, *, own: bool = False) -> Iterator[Any]:
    """Yield the validators of a class that are called with the values of a field.

    Args:
        model: the class.
        field: the field's name.
        own: True to include the validators that this library adds.
    """
    decorators = model.__pydantic_decorators__
    found: dict[str, Any] = {**decorators.validators, **decorators.field_validators}
    for name, each in found.items():
        if not {field, "*"}.isdisjoint(each.info.fields) and (own or not name.startswith(PRESENCE)):
            yield each


class _Unhashable(partial[Any]):
    """A validator's function without a hash, so that the caches of ``typing`` do not keep the model alive."""

    def __hash__(self) -> int:
        raise TypeError("not for caches")


def fields_validator(model: type[BaseModel], names: Collection[str]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the function that validates some fields of a model: it takes and returns field name -> value.

    The validators of these fields run; model validators do not. Values of other fields are passed through, and the
    validators find them in ``info.data``.

    Args:
        model: the class, complete.
        names: the fields. They are named as in the class, not by their aliases.
    """
    runs_code = any(constraint_of(model, name) is Constraint.CODE for name in names)
    types = {
        name: _annotated(model, name) if name in names else Any
        for name in model.__pydantic_fields__
        if runs_code or name in names
    }
    make: Any = TypedDict  # checkers take it for a statement
    some = make(model.__name__, types, total=False)
    # What the settings say of the class itself, and not of values, is left out.
    some.__pydantic_config__ = {
        **model.model_config,
        "extra": "ignore",
        "arbitrary_types_allowed": True,
        "use_attribute_docstrings": False,
    }
    return partial(TypeAdapter(some).validator.validate_python, by_name=True)


def _annotated(model: type[BaseModel], name: str) -> Any:
    """Return the type of a field with its constraints and validators as metadata."""
    info = model.__pydantic_fields__[name]
    validators = [_VALIDATORS[each.info.mode](_Unhashable(each.func)) for each in _validators_of(model, name, own=True)]
    metadata = [each for each in field_metadata(info) if not isinstance(each, OURS)]
    return Annotated[(info.annotation, *metadata, *validators)] if metadata or validators else info.annotation
