"""Reading the stored values of one model's fields into the fields of another model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dynamap_async.models.annotations import (
    bare,
    is_anything,
    is_encoded,
    is_kind_of,
    is_no_value,
    is_root_model,
    is_union,
)
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.pydantic_types import needs_values
from dynamap_async.wire import AttributeValue

_MEMBERS: Final = (list, tuple, set, frozenset, deque, AbstractSet, Sequence)
# The first that a class is derived from counts: bool is an int, and datetime a date.
_FAMILIES: Final[tuple[tuple[type[Any], ...], ...]] = (
    (bool,),
    (int, float, Decimal),
    (str,),
    (bytes, bytearray),
    (datetime,),
    (date,),
    (time,),
    (timedelta,),
    (UUID,),
    (BaseModel,),
    (Mapping,),
    _MEMBERS,
)


def fits(info: FieldInfo, source: FieldPlan) -> bool:
    """Return True unless the types rule out that a field of another model takes any value of this one.

    Whether each of them is, Pydantic says when it is read: None among them, a constraint, a member of a literal.
    """
    return is_encoded(tuple(info.metadata)) or _fit(source.annotation, info.annotation)


def _fit(source: Any, target: Any) -> bool:
    try:
        return any(_fits(one, other) for one in _choices(source) for other in _choices(target))
    except RecursionError:  # types that contain themselves, and agree as far as anybody can look
        return True


def decoder_for(target: type[BaseModel], info: FieldInfo, source: FieldPlan) -> Callable[[AttributeValue], Any]:
    """Return the function that decodes a stored value of ``source`` for Pydantic to validate as a field of ``target``.

    Args:
        target: the model that the value is read into.
        info: its field.
        source: the field that the value was stored by.
    """
    if is_encoded(tuple(info.metadata)):
        return source.lax.decode
    if source.unsharded is not None:
        return source.of_stored
    # Of the very same type, and without anything that sees a value first, Pydantic parses the text itself.
    lax = info.annotation == source.annotation and not (info.metadata or source.encoded or needs_values(target))
    return source.lax.decode if lax else source.converter.decode


def _choices(annotation: Any) -> list[Any]:
    annotation = bare(annotation)
    if is_union(annotation):
        present = [each for each in get_args(annotation) if not is_no_value(each)]
        return [choice for each in present for choice in _choices(each)]
    if get_origin(annotation) is Literal:
        return [type(value) for value in get_args(annotation) if value is not None]
    return [annotation]


def _fits(source: Any, target: Any) -> bool:
    if source == target or is_anything(source) or is_anything(target):
        return True
    family, other = _family(source), _family(target)
    if family is None or other is None:
        return True
    if family != other:
        return False
    if is_kind_of(source, BaseModel):
        return is_root_model(target) or is_root_model(source) or _fits_model(source, target)
    if is_kind_of(source, *_MEMBERS):
        return _fits_members(get_args(source)[:1], get_args(target)[:1])
    return not is_kind_of(source, Mapping) or _fits_members(get_args(source)[1:], get_args(target)[1:])


def _family(annotation: Any) -> tuple[type[Any], ...] | None:
    return next((family for family in _FAMILIES if is_kind_of(annotation, *family)), None)


def _fits_model(source: Any, target: Any) -> bool:
    fields = source.model_fields
    return issubclass(get_origin(source) or source, get_origin(target) or target) or all(
        _fit(fields[name].annotation, info.annotation) if name in fields else not info.is_required()
        for name, info in target.model_fields.items()
    )


def _fits_members(source: tuple[Any, ...], target: tuple[Any, ...]) -> bool:
    return all(_fit(one, other) for one, other in zip(source, target, strict=False))
