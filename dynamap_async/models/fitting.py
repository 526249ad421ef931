"""Fitting: whether values of one type can be values of another, as far as the two types tell."""

from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, RootModel

from dynamap_async.models.annotations import bare, is_anything, is_kind_of, is_none, is_union

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


def fits(source: Any, target: Any) -> bool:
    """Return whether some values of the source type can be values of the target type.

    Whether each of them is, Pydantic says when it is read: None among them, a constraint, a member of a literal.
    """
    try:
        return any(_fits(one, other) for one in _choices(source) for other in _choices(target))
    except RecursionError:  # types that contain themselves, and agree as far as anybody can look
        return True


def _choices(annotation: Any) -> list[Any]:
    annotation = bare(annotation)
    if is_union(annotation):
        present = [each for each in get_args(annotation) if not is_none(each)]
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
        return is_kind_of(target, RootModel) or is_kind_of(source, RootModel) or _fits_model(source, target)
    if is_kind_of(source, *_MEMBERS):
        return _fits_members(get_args(source)[:1], get_args(target)[:1])
    return not is_kind_of(source, Mapping) or _fits_members(get_args(source)[1:], get_args(target)[1:])


def _family(annotation: Any) -> tuple[type[Any], ...] | None:
    return next((family for family in _FAMILIES if is_kind_of(annotation, *family)), None)


def _fits_model(source: Any, target: Any) -> bool:
    fields = source.model_fields
    return issubclass(get_origin(source) or source, get_origin(target) or target) or all(
        fits(fields[name].annotation, info.annotation) if name in fields else not info.is_required()
        for name, info in target.model_fields.items()
    )


def _fits_members(source: tuple[Any, ...], target: tuple[Any, ...]) -> bool:
    return all(fits(one, other) for one, other in zip(source, target, strict=False))
