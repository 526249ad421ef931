"""Converters of nested models, root models, dataclasses and typed dicts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter, itemgetter
from typing import Any, Final, NotRequired, Required, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from dynamap_async import codec
from dynamap_async.codec import MISSING, Absence, Converter, ValuePart
from dynamap_async.models.annotations import (
    absence_of,
    default_of,
    field_metadata,
    hints_of,
    is_any_model,
    is_encoded,
    is_kind_of,
    is_optional,
    is_root_model,
    may_be_missing,
    set_type,
    substituted,
)
from dynamap_async.models.callers import caller_names
from dynamap_async.models.converters import (
    ONLY_FIELDS,
    Compiler,
    IncompleteModelError,
    UnstorableTypeError,
    deferred,
    not_found,
)
from dynamap_async.models.markers import stored_form, stored_name
from dynamap_async.models.own_init import for_own_init
from dynamap_async.models.pydantic_types import Adapter, builder, through
from dynamap_async.models.settings import SETTINGS, Settings
from dynamap_async.wire import AttributeValue, Tag

_DATACLASS: Final = "__dataclass_fields__"
_MAP: Final[frozenset[Tag]] = frozenset(("M",))


def nested(compiler: Compiler, annotation: Any) -> Converter | None:
    """Return the converter of a class with fields, or None for any other type.

    Args:
        compiler: makes the converters of the fields.
        annotation: the type, unwrapped.
    """
    origin: Any = get_origin(annotation) or annotation
    if is_root_model(origin):
        return deferred(compiler, annotation, lambda: _root(compiler, origin), label=origin.__name__, types=(origin,))
    if is_any_model(origin):
        raise UnstorableTypeError(
            f"{origin.__name__} tells no fields, so that none would be stored; name a model, a union of models, or "
            "dict[str, Any]"
        )
    if is_kind_of(origin, BaseModel):
        return _deferred_map(compiler, annotation, origin, lambda: _model(compiler, origin))
    if is_kind_of(origin, object) and (hasattr(origin, _DATACLASS) or is_typeddict(origin)):
        return _deferred_map(compiler, annotation, origin, lambda: _plain(compiler, annotation, origin))
    return None


def _deferred_map(compiler: Compiler, annotation: Any, origin: type[Any], make: Callable[[], Converter]) -> Converter:
    kind: type[Any] = dict if is_typeddict(origin) else origin
    return deferred(compiler, annotation, make, label=origin.__name__, tags=_MAP, types=(kind,))


def _model(compiler: Compiler, model: type[BaseModel]) -> Converter:
    if not model.__pydantic_complete__ and not model.model_rebuild(raise_errors=False, _types_namespace=caller_names()):
        raise IncompleteModelError(model)
    inner = compiler.inside(model)
    fields = [
        codec.Field(
            name,
            stored_name(name, info),
            _field(inner, info),
            absence=_absence(info, info.annotation),
            left_out=left_out_of(model, info),
            default=default_of(info),
        )
        for name, info in model.model_fields.items()
    ]
    keeps_extras = model.model_config.get("extra") == "allow"
    return codec.nested_of(
        model.__name__,
        fields,
        accepts=(model,),
        extras=attrgetter("__pydantic_extra__") if keeps_extras else None,
        build=builder(model) if compiler.exact else for_own_init(model),
        absent=_absent_values(model.model_fields),
        document=hasattr(model, SETTINGS),
        in_dict=True,
    )


def _field(compiler: Compiler, info: FieldInfo) -> Converter:
    converter = compiler.field(info.annotation, tuple(field_metadata(info)))
    return codec.optional(converter) if is_optional(info.annotation) else converter


def _absence(info: FieldInfo, annotation: Any) -> Absence:
    nullable, holds_set, missing = is_optional(annotation), set_type(annotation) is not None, may_be_missing(annotation)
    return absence_of(info, required=info.is_required(), nullable=nullable, holds_set=holds_set, missing=missing)


def _absence_in(kind: Any, name: str, hint: Any) -> Absence | None:
    """Return what an absent member of a dataclass reads as; None where it has no default, so that it is an error."""
    info = _described(kind, name)
    return None if info.is_required() else _absence(info, hint)


def _absent_values(fields: dict[str, FieldInfo]) -> dict[str, Callable[[], Any]]:
    """Return what fields read as from a map without them, where that is neither an error nor a default of their own."""
    found: dict[str, Callable[[], Any]] = {}
    for name, info in fields.items():
        kind = set_type(info.annotation)
        if may_be_missing(info.annotation):
            if info.is_required():
                found[name] = lambda: MISSING
        elif info.is_required() and is_optional(info.annotation):
            found[name] = type(None)
        elif kind is not None and (info.is_required() or _drops_empty_set(info)):
            found[name] = kind  # a default that is empty too, so that other models can be made of the value
    return found


class _Root(Converter):
    """The converter of a root model, which is stored as its root."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Converter, **contract: Any) -> None:
        super().__init__(**contract)
        self._inner = inner

    def step(self, part: str | int) -> ValuePart | None:
        """Return the part of the root."""
        return self._inner.step(part)

    @property
    def member(self) -> Converter | None:
        """The member of the root."""
        return self._inner.member

    @property
    def levels(self) -> int | None:
        """Those of the root."""
        return self._inner.levels


def _root(compiler: Compiler, model: Any) -> Converter:
    info = model.model_fields["root"]
    if may_be_missing(info.annotation):
        raise UnstorableTypeError(ONLY_FIELDS)
    inner = _field(compiler.inside(model), info)
    validate = model.__pydantic_validator__.validate_python

    def encode(value: Any) -> Any:
        if not isinstance(value, model):
            raise codec.refusal(model.__name__, value)
        return inner.encode(value.root)

    def decode(value: Any) -> Any:
        return validate(inner.decode(value))

    return _Root(
        inner,
        label=model.__name__,
        tags=inner.tags,
        encode=encode,
        decode=decode if compiler.exact else inner.decode,
        decode_parts=inner.decode_or_plain,
        types=(model,),
    )


def _plain(compiler: Compiler, annotation: Any, origin: Any) -> Converter:
    inner = compiler.inside(origin)
    try:
        hints = hints_of(origin, compiler.local)
    except NameError as error:  # names local to a function, which only Pydantic was told of
        if not Adapter(annotation, (), compiler).is_complete:
            raise not_found(origin, error) from None
        return through(compiler, annotation)
    _check_init(origin, hints)
    parameters = dict(zip(getattr(origin, "__parameters__", ()), get_args(annotation), strict=False))
    mapping = is_typeddict(origin)
    names = hints if mapping else [field.name for field in dataclasses.fields(origin)]
    fields = [
        codec.Field(
            name,
            name,
            inner.member(substituted(hints[name], parameters)),
            itemgetter(name) if mapping else None,
            None if mapping else _absence_in(origin, name, hints[name]),
            default=None if mapping else default_of(_described(origin, name)),
        )
        for name in names
    ]
    return codec.nested_of(
        origin.__name__,
        fields,
        accepts=(dict,) if mapping else (origin,),
        extras=_extras_of(origin) if mapping else None,
        build=Adapter(annotation, (), compiler).build if compiler.exact else None,
    )


def _check_init(origin: Any, hints: dict[str, Any]) -> None:
    """Raise UnstorableTypeError for a dataclass whose instances are made of more than they hold."""
    for name, each in getattr(origin, _DATACLASS, {}).items():
        required = each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING
        if required and isinstance(hints[name], dataclasses.InitVar):
            raise UnstorableTypeError(
                f"{origin.__name__} needs {name!r}, an InitVar that its instances do not keep, so a stored one could "
                "not be read back; give it a default"
            )


def _extras_of(kind: Any) -> Callable[[Any], dict[str, Any]] | None:
    """Return what takes the undeclared keys out of a typed dict that may have some."""
    if getattr(kind, "__pydantic_config__", {}).get("extra") != "allow":
        return None
    known = frozenset(kind.__annotations__)
    return lambda value: {name: member for name, member in value.items() if name not in known}


def left_out_of(model: type[BaseModel], info: FieldInfo) -> AttributeValue | None:
    """Return the stored form of a nested model's field that is left out, because absence reads back as the same.

    Args:
        model: the nested model.
        info: Pydantic's description of the field.
    """
    if _drops_empty_set(info):
        return codec.EMPTY_SET
    if may_be_missing(info.annotation):  # absence then reads as MISSING
        return None
    settings: Settings | None = getattr(model, SETTINGS, None)
    drops_none = settings is not None and settings.absent_when_none and is_optional(info.annotation)
    reads_as_none = info.is_required() or (info.default is None and info.default_factory is None)
    return codec.NULL if drops_none and reads_as_none and not is_encoded((info.annotation, *info.metadata)) else None


def _drops_empty_set(info: FieldInfo) -> bool:
    """Return whether a nested model's field is a set that is left out where it is empty, as absence reads as that."""
    if set_type(info.annotation) is None or is_optional(info.annotation) or may_be_missing(info.annotation):
        return False
    if stored_form(info) is not None or is_encoded(tuple(info.metadata)):
        return False
    if info.default_factory is not None:
        return info.default_factory in (set, frozenset)
    return info.is_required() or not info.default


def is_required_member(kind: Any, name: str, hint: Any) -> bool:
    """Return whether values cannot do without a member.

    Args:
        kind: a dataclass or a typed dict.
        name: the member.
        hint: its type, with what stands around it.
    """
    if is_typeddict(kind):
        return get_origin(hint) is not NotRequired and (get_origin(hint) is Required or name in kind.__required_keys__)
    return _described(kind, name).is_required()


def _described(kind: Any, name: str) -> FieldInfo:
    """Return Pydantic's description of a member of a dataclass, or one of its default alone."""
    fields: Any = getattr(kind, "__pydantic_fields__", None) or getattr(kind, "__dataclass_fields__", {})
    declared: Any = fields.get(name)
    info: Any = declared if isinstance(declared, FieldInfo) else getattr(declared, "default", None)
    if isinstance(info, FieldInfo):
        return info
    factory = getattr(declared, "default_factory", dataclasses.MISSING)
    if factory is not dataclasses.MISSING:
        return FieldInfo(default_factory=factory)
    return FieldInfo() if info is dataclasses.MISSING else FieldInfo(default=info)
