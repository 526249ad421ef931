"""What a type annotation says: the type under its wrappers, whether None or a set is among its values."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, MutableSet
from collections.abc import Set as AbstractSet
from functools import partial
from inspect import isclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    ForwardRef,
    Literal,
    NewType,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import typing_extensions
from pydantic import BaseModel, Discriminator, EncodedBytes, EncodedStr, Json, JsonValue
from pydantic.fields import FieldInfo

from dynamap_async.codec import MISSING, Absence

Metadata: TypeAlias = tuple[Any, ...]
"""What stands behind the type in ``Annotated[type, ...]``."""

FROZEN_SETS: Final = (frozenset, AbstractSet)
"""The types that Pydantic fills with a frozenset."""

SETS: Final = (set, MutableSet, *FROZEN_SETS)
"""The types that Pydantic fills with a set or a frozenset."""

_ENCODED: Final[tuple[Any, ...]] = (Json, EncodedBytes, EncodedStr)
_ALIASES: Final = (typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType))
_NO_DEFAULT: Final = (None, typing_extensions.NoDefault, getattr(typing, "NoDefault", None))
_QUALIFIERS: Final = (typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly)


def is_alias(annotation: object) -> bool:
    """Return whether a type is one that a ``type X = ...`` statement made, with or without parameters."""
    return (isinstance(annotation, _ALIASES) and annotation is not JsonValue) or isinstance(
        get_origin(annotation), _ALIASES
    )


def aliased(annotation: Any) -> Any:
    """Return what a type alias stands for."""
    if isinstance(annotation, _ALIASES):
        return _evaluated(annotation)
    return _evaluated(get_origin(annotation))[get_args(annotation)]


def _evaluated(alias: Any) -> Any:
    """Return what a type alias stands for, the names in it that are text resolved where the alias was made."""
    names = vars(sys.modules.get(alias.__module__, typing))
    holder = type("Holder", (), {"__annotations__": {"value": alias.__value__}})
    try:
        return get_type_hints(holder, globalns=names, include_extras=True)["value"]
    except NameError:
        return alias.__value__


def unwrap(annotation: Any, *, through_aliases: bool = True) -> tuple[Any, Metadata]:
    """Return the type under Annotated, NewType, type variables and aliases, and the metadata found on the way.

    Args:
        annotation: any type.
        through_aliases: whether to look into type aliases too; one that contains itself never ends.
    """
    metadata: list[Any] = []
    while type(annotation) is not type:  # a plain class is in no wrapper, and most types are one (benchmarks: define)
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation, *more = get_args(annotation)
            metadata += more
        elif origin in _QUALIFIERS:
            [annotation] = get_args(annotation)
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, TypeVar):
            annotation = _unbound(annotation)
        elif through_aliases and is_alias(annotation):
            annotation = aliased(annotation)
        else:
            break
    return annotation, _flat(metadata)


def bare(annotation: Any) -> Any:
    """Return the type under Annotated, NewType, type variables and aliases."""
    return unwrap(annotation)[0]


def is_anything(annotation: Any) -> bool:
    """Return whether a type says nothing about its values."""
    return bare(annotation) in (Any, object, JsonValue)


def is_any_model(annotation: Any) -> bool:
    """Return whether a type is ``BaseModel`` or ``Model`` itself, which tells no fields."""
    if annotation is BaseModel or not isclass(annotation):
        return annotation is BaseModel
    return annotation.__bases__ == (BaseModel,) and type(annotation) is not type(BaseModel)


def is_kind_of(annotation: Any, *kinds: type[Any]) -> bool:
    """Return whether a type, without its parameters, is a class derived from one of these."""
    origin: Any = get_origin(annotation) or annotation
    return isclass(origin) and issubclass(origin, kinds)


def is_root_model(annotation: Any) -> bool:
    """Return whether a type is a ``RootModel``, which is not imported for that (benchmarks: import_time)."""
    return is_kind_of(annotation, BaseModel) and bool((get_origin(annotation) or annotation).__pydantic_root_model__)


def is_union(annotation: object) -> bool:
    """Return whether a type is a union, spelled ``A | B`` or ``Union[A, B]``."""
    return get_origin(annotation) in (Union, UnionType)


def is_optional(annotation: Any) -> bool:
    """Return whether None is among the values of a type."""
    annotation = bare(annotation)
    if is_union(annotation):
        return any(map(is_optional, get_args(annotation)))
    if get_origin(annotation) is Literal:
        return None in get_args(annotation)
    return annotation is None or annotation is NoneType or is_anything(annotation)


def may_be_missing(annotation: Any) -> bool:
    """Return whether Pydantic's ``MISSING`` is among the values of a type."""
    annotation = bare(annotation)
    return any(map(may_be_missing, get_args(annotation))) if is_union(annotation) else annotation is MISSING


def without_none(annotation: Any) -> Any:
    """Return a union without None and ``MISSING`` among its members, and any other type as it is."""
    if not is_union(annotation):
        return annotation
    present = tuple(member for member in get_args(annotation) if not is_no_value(member))
    return Union[present] if present else None  # noqa: UP007 - made at run time


def is_none(annotation: Any) -> bool:
    """Return whether None is the type's only value."""
    return bare(annotation) in (None, NoneType)


def is_no_value(annotation: Any) -> bool:
    """Return whether None is the type's only value, or ``MISSING`` is."""
    return bare(annotation) in (None, NoneType, MISSING)


def set_type(annotation: Any) -> type[set[Any] | frozenset[Any]] | None:
    """Return set or frozenset if that is what the type's values are, None aside; else None."""
    unwrapped = bare(without_none(bare(annotation)))
    origin = get_origin(unwrapped) or unwrapped
    if origin not in SETS:
        return None
    return frozenset if origin in FROZEN_SETS else set


def absence_of(info: FieldInfo, *, required: bool, nullable: bool, holds_set: bool, missing: bool = False) -> Absence:
    """Return what a field reads as where its attribute, or its member of a map, is absent.

    Args:
        info: Pydantic's description of the field, for its default.
        required: whether it has none.
        nullable: whether None is a value of the field.
        holds_set: whether its values are sets.
        missing: whether ``MISSING`` is a value of the field.
    """
    if missing:
        return Absence.MISSING
    if required:
        if nullable:
            return Absence.NONE
        return Absence.EMPTY_SET if holds_set else Absence.ERROR
    if info.default_factory is not None:
        return Absence.EMPTY_SET if info.default_factory in (set, frozenset) and holds_set else Absence.OTHER
    if info.default is None:
        return Absence.NONE
    return Absence.EMPTY_SET if holds_set and not info.default else Absence.OTHER


def default_of(info: FieldInfo) -> Callable[[], Any] | None:
    """Return what makes the default of a field; None for a required one.

    Args:
        info: Pydantic's description of the field.
    """
    return None if info.is_required() else partial(info.get_default, call_default_factory=True)


def is_encoded(metadata: Metadata) -> bool:
    """Return whether Pydantic decodes the values from text each time: ``Json[...]``, ``Base64Bytes`` and the like.

    It takes nothing but the text, neither None nor what it decoded before. A bare ``Json`` is the type itself, so
    callers who may have one give the type with its metadata.
    """
    return any(each is Json or isinstance(each, _ENCODED) for each in metadata)


def hints_of(kind: type[Any], local: dict[str, Any]) -> dict[str, Any]:
    """Return the types of a class's members; NameError where one is named that is not found.

    Args:
        kind: the class.
        local: what its names may mean beside those of its module, if it was made in a function.
    """
    names = {kind.__name__: kind, **local} if "<locals>" in kind.__qualname__ else None
    return get_type_hints(kind, localns=names, include_extras=True)


def name_of(annotation: Any) -> str:
    """Return a type as messages name it."""
    kind = bare(annotation)
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)


def substituted(annotation: Any, parameters: dict[Any, Any]) -> Any:
    """Return a type with type variables replaced.

    Args:
        annotation: the type of a generic class's member.
        parameters: type variable -> type.
    """
    if isinstance(annotation, TypeVar):
        return parameters.get(annotation, annotation)
    free = getattr(annotation, "__parameters__", ()) if get_origin(annotation) is not None else ()
    return annotation[tuple(parameters.get(each, each) for each in free)] if free else annotation


def _unbound(variable: TypeVar) -> Any:
    """Return what Pydantic takes a type variable without a value for."""
    default = getattr(variable, "__default__", None)
    if default not in _NO_DEFAULT:
        return default
    if variable.__constraints__:
        return Union[variable.__constraints__]  # noqa: UP007 - made at run time
    bound = variable.__bound__
    return Any if bound is None or isinstance(bound, ForwardRef) or is_any_model(bound) else bound


def _flat(metadata: list[Any]) -> Metadata:
    """Return metadata with what ``Field(...)`` inside Annotated says."""
    flat: list[Any] = []
    for each in metadata:
        if isinstance(each, FieldInfo):
            flat += field_metadata(each)
        else:
            flat.append(each)
    return tuple(flat)


def field_metadata(info: FieldInfo) -> list[Any]:
    """Return a field's metadata, with its discriminator."""
    marker = info.discriminator
    if marker is None:
        return info.metadata
    return [*info.metadata, marker if isinstance(marker, Discriminator) else Discriminator(marker)]
