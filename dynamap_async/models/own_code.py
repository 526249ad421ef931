"""Whether making instances of a model runs code of the program: its validators, factories and stored forms.

Such code may look at the context of the task that it runs in, such as the current user. Instances whose making runs
none of it can be made in any task.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from pydantic import (
    AwareDatetime,
    BaseModel,
    Discriminator,
    FutureDate,
    FutureDatetime,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    PlainSerializer,
    WrapSerializer,
)
from pydantic.fields import FieldInfo

from dynamap_async.codec import EPOCH_MILLISECONDS, EPOCH_SECONDS, JSON_TEXT
from dynamap_async.models.annotations import Metadata, aliased, field_metadata, is_alias, is_kind_of, is_union, unwrap
from dynamap_async.models.assigned import COMPUTES, PRESENCE
from dynamap_async.models.markers import stored_form
from dynamap_async.models.pydantic_types import has_own_schema

_OUR_FORMS: Final = (None, EPOCH_SECONDS, EPOCH_MILLISECONDS, JSON_TEXT)
_PLAIN_FACTORIES: Final = (None, list, dict, set, frozenset, tuple)
_SCALARS: Final = (
    *(str, int, float, bool, bytes, Decimal, UUID, date, datetime, time, timedelta, Any, object, None, NoneType),
    *(AwareDatetime, NaiveDatetime, PastDatetime, FutureDatetime, PastDate, FutureDate, Literal),
)
_CONTAINERS: Final = (
    *(list, set, frozenset, tuple, dict, deque),
    *(Sequence, MutableSequence, AbstractSet, MutableSet, Mapping, MutableMapping),
)
_DEEPEST: Final = 50
"""How many models and aliases are looked through: an alias with parameters can contain another of itself."""


def runs_own_code(model: type[BaseModel]) -> bool:
    """Return whether making an instance of a stored item may run code of the program; true where nobody knows.

    Args:
        model: the class, complete.
    """
    return _of_model(model, frozenset())


def _of_model(model: type[BaseModel], within: frozenset[Any]) -> bool:
    """Return whether a model runs some; ``within`` are the models and the aliases that it stands in."""
    if model in within:
        return False
    decorators = model.__pydantic_decorators__
    validators = (*decorators.validators, *decorators.field_validators, *decorators.model_validators)
    return (
        not all(name == COMPUTES or name.startswith(PRESENCE) for name in validators)
        or bool(decorators.root_validators)
        or bool(model.__pydantic_post_init__)
        or model.__pydantic_custom_init__
        or not model.__pydantic_complete__
        or model.model_config.get("extra") == "allow"  # the type of extra attributes may have validators
        or any(_of_field(info, within | {model}) for info in model.__pydantic_fields__.values())
    )


def _of_field(info: FieldInfo, within: frozenset[Any]) -> bool:
    factory = info.default_factory
    if factory not in _PLAIN_FACTORIES and not str(getattr(factory, "__module__", "")).startswith("dynamap_async."):
        return True
    return stored_form(info) not in _OUR_FORMS or _of(info.annotation, tuple(field_metadata(info)), within)


def _of(annotation: Any, metadata: Metadata, within: frozenset[Any]) -> bool:
    annotation, more = unwrap(annotation, through_aliases=False)
    metadata = (*more, *metadata)
    if len(within) > _DEEPEST or any(map(_calls, metadata)) or has_own_schema(annotation, metadata):
        return True
    if is_alias(annotation):
        return annotation not in within and _of(aliased(annotation), (), within | {annotation})
    origin: Any = get_origin(annotation) or annotation
    if is_kind_of(origin, Enum):
        return any("_missing_" in vars(kind) for kind in origin.__mro__ if kind.__module__ != "enum")
    if is_kind_of(origin, BaseModel):
        return _of_model(origin, within)
    if origin in _SCALARS:
        return False
    if not (is_union(annotation) or origin in _CONTAINERS):
        return True
    return any(_of(each, (), within) for each in get_args(annotation) if each not in ((), Ellipsis))


def _calls(each: Any) -> bool:
    """Return whether something in the metadata of a type has a function that is called when a value is read."""
    if isinstance(each, Discriminator):
        return callable(each.discriminator)
    return callable(getattr(each, "func", None)) and not isinstance(each, (PlainSerializer, WrapSerializer))
