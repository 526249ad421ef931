"""Holding: how an instance holds a field's values, and so what of them can change without an assignment."""

from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum, auto
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dynamap_async.models.annotations import (
    aliased,
    field_metadata,
    is_alias,
    is_encoded,
    is_kind_of,
    is_none,
    is_root_model,
    is_union,
    unwrap,
)
from dynamap_async.models.fallback import expects_values, has_own_schema, needs_values

IMMUTABLE: Final = (str, int, float, complex, bytes, Decimal, date, time, timedelta, UUID, Enum, NoneType)
"""Types whose values never change."""

_DEEPEST: Final = 50
"""How many aliases and models may stand in each other: an alias with parameters can contain another of itself."""


class Holding(Enum):
    """How an instance holds a field's values."""

    FIXED = auto()
    """Values that never change: another value takes an assignment."""
    OWN = auto()
    """Values that can change in place; Pydantic made them from decoded data that nobody else holds."""
    SHARED = auto()
    """Values that can change in place, and that may be the very objects that were decoded."""


def holding_of(model: type[BaseModel], info: FieldInfo) -> Holding:
    """Return how instances of a model hold a field's values."""
    found = _of(info.annotation, tuple(field_metadata(info)), frozenset())
    return Holding.SHARED if found is Holding.OWN and needs_values(model) else found


def _of(annotation: Any, metadata: tuple[Any, ...], within: frozenset[Any]) -> Holding:
    """Return the holding of a type; ``within`` are the nested models and the aliases that it stands in."""
    annotation, more = unwrap(annotation, through_aliases=False)
    metadata = (*more, *metadata)
    if is_alias(annotation):
        if annotation in within or len(within) > _DEEPEST:  # an alias of itself
            return Holding.SHARED
        return _of(aliased(annotation), metadata, within | {annotation})
    if has_own_schema(annotation, metadata):
        return Holding.SHARED
    if _is_immutable(annotation):
        return Holding.FIXED
    found = _of_parts(annotation, within)
    # Decoded exactly, or by Pydantic from the field's own text: what was decoded may go into the instance as it is.
    exact = found is Holding.OWN and (expects_values(metadata) or is_encoded(metadata))
    return Holding.SHARED if exact else found


def _is_immutable(annotation: Any) -> bool:
    return get_origin(annotation) is Literal or annotation is None or is_kind_of(annotation, *IMMUTABLE)


def _of_parts(annotation: Any, within: frozenset[Any]) -> Holding:
    origin: Any = get_origin(annotation) or annotation
    args = get_args(annotation)
    if is_union(annotation):
        present = [arg for arg in args if not is_none(arg)]
        found = _widest(present, within)
        # Several members are told apart by decoding each exactly.
        return Holding.SHARED if found is Holding.OWN and len(present) > 1 else found
    if origin in (tuple, frozenset):
        found = _widest([arg for arg in args if arg not in ((), Ellipsis)], within) if args else Holding.SHARED
        return found if found is Holding.FIXED or origin is tuple else Holding.SHARED
    if origin in (list, set, dict) and args:
        return _own_if(_widest(args, within))
    if is_kind_of(origin, BaseModel) and not is_root_model(origin):
        return _of_model(annotation, within)
    return Holding.SHARED


def _of_model(model: Any, within: frozenset[Any]) -> Holding:
    if model in within:
        return Holding.OWN
    if not model.__pydantic_complete__ or needs_values(model) or model.model_config.get("extra") == "allow":
        return Holding.SHARED
    parts = [
        _of(info.annotation, tuple(field_metadata(info)), within | {model}) for info in model.model_fields.values()
    ]
    return Holding.SHARED if Holding.SHARED in parts else Holding.OWN


def _widest(types: Any, within: frozenset[Any]) -> Holding:
    parts = {_of(each, (), within) for each in types}
    return next((each for each in (Holding.SHARED, Holding.OWN) if each in parts), Holding.FIXED)


def _own_if(parts: Holding) -> Holding:
    return Holding.SHARED if parts is Holding.SHARED else Holding.OWN
