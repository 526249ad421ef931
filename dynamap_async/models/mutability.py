"""Whether the values of a field can change in place, without an assignment."""

from __future__ import annotations

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
    is_no_value,
    is_root_model,
    is_union,
    unwrap,
)
from dynamap_async.models.pydantic_types import expects_values, has_own_schema, needs_values

IMMUTABLE: Final = (str, int, float, complex, bytes, Decimal, date, time, timedelta, UUID, Enum, NoneType)
"""Types whose values never change."""

_DEEPEST: Final = 50
"""How many aliases and models may stand in each other: an alias with parameters can contain another of itself."""


class Mutability(Enum):
    """Whether the values of a field can change in place, and whether decoded data may be shared with the instance."""

    FIXED = auto()
    """Values never change in place: only an assignment changes the field."""
    OWN = auto()
    """Values can change in place. Pydantic made new ones, so the decoded data stays as it was."""
    SHARED = auto()
    """Values can change in place, and may be the very objects that were decoded."""


def mutability_of(model: type[BaseModel], info: FieldInfo) -> Mutability:
    """Return the mutability of a field's values."""
    found = _of(info.annotation, tuple(field_metadata(info)), frozenset())
    return Mutability.SHARED if found is Mutability.OWN and needs_values(model) else found


def _of(annotation: Any, metadata: tuple[Any, ...], within: frozenset[Any]) -> Mutability:
    """Return the mutability of a type's values; ``within`` are the nested models and the aliases that it stands in."""
    annotation, more = unwrap(annotation, through_aliases=False)
    metadata = (*more, *metadata)
    if is_alias(annotation):
        if annotation in within or len(within) > _DEEPEST:  # an alias of itself
            return Mutability.SHARED
        return _of(aliased(annotation), metadata, within | {annotation})
    if has_own_schema(annotation, metadata):
        return Mutability.SHARED
    if _is_immutable(annotation):
        return Mutability.FIXED
    found = _of_parts(annotation, within)
    # Decoded exactly, or by Pydantic from the field's own text: what was decoded may go into the instance as it is.
    exact = found is Mutability.OWN and (expects_values(metadata) or is_encoded(metadata))
    return Mutability.SHARED if exact else found


def _is_immutable(annotation: Any) -> bool:
    return get_origin(annotation) is Literal or annotation is None or is_kind_of(annotation, *IMMUTABLE)


def _of_parts(annotation: Any, within: frozenset[Any]) -> Mutability:
    origin: Any = get_origin(annotation) or annotation
    args = get_args(annotation)
    if is_union(annotation):
        present = [arg for arg in args if not is_no_value(arg)]
        found = _widest(present, within)
        # Several members are told apart by decoding each exactly.
        return Mutability.SHARED if found is Mutability.OWN and len(present) > 1 else found
    if origin in (tuple, frozenset):
        found = _widest([arg for arg in args if arg not in ((), Ellipsis)], within) if args else Mutability.SHARED
        return found if found is Mutability.FIXED or origin is tuple else Mutability.SHARED
    if origin in (list, set, dict) and args:
        return _own_if(_widest(args, within))
    if is_kind_of(origin, BaseModel) and not is_root_model(origin):
        return _of_model(annotation, within)
    return Mutability.SHARED


def _of_model(model: Any, within: frozenset[Any]) -> Mutability:
    if model in within:
        return Mutability.OWN
    if not model.__pydantic_complete__ or needs_values(model) or model.model_config.get("extra") == "allow":
        return Mutability.SHARED
    parts = [
        _of(info.annotation, tuple(field_metadata(info)), within | {model}) for info in model.model_fields.values()
    ]
    return Mutability.SHARED if Mutability.SHARED in parts else Mutability.OWN


def _widest(types: Any, within: frozenset[Any]) -> Mutability:
    parts = {_of(each, (), within) for each in types}
    return next((each for each in (Mutability.SHARED, Mutability.OWN) if each in parts), Mutability.FIXED)


def _own_if(parts: Mutability) -> Mutability:
    return Mutability.SHARED if parts is Mutability.SHARED else Mutability.OWN
