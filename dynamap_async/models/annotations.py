"""Type annotations -> converters: the place where Pydantic's view of a type becomes DynamoDB's.

A type that is not named here is stored as the JSON-like data that Pydantic dumps it to.
"""

import dataclasses
import typing
import warnings
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from inspect import isclass
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union, get_args, get_origin
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    PlainSerializer,
    PlainValidator,
    PydanticSchemaGenerationError,
    SecretBytes,
    SecretStr,
    Strict,
    TypeAdapter,
    WrapSerializer,
    WrapValidator,
)
from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType, is_typeddict

from dynamap_async import codec
from dynamap_async.codec import Converter
from dynamap_async.models.markers import Role, StoredAs

_BEFORE: Final = (BeforeValidator, PlainValidator, WrapValidator)
_HARMLESS: Final = (*_BEFORE, AfterValidator, Strict, Discriminator, PlainSerializer, WrapSerializer, FieldInfo)
_SETS: Final = (set, frozenset, AbstractSet, MutableSet)
_LISTS: Final = (list, Sequence, MutableSequence, Iterable, deque)
_MAPS: Final = (dict, Mapping, MutableMapping, defaultdict, OrderedDict)


class RoundTripWarning(UserWarning):
    """A field's type has values that read back as another value, because they are stored alike."""


def is_optional(annotation: Any) -> bool:
    """Return whether None is among the values of a type."""
    annotation = bare(annotation)
    if get_origin(annotation) in (Union, UnionType):
        return any(is_optional(member) for member in get_args(annotation))
    return annotation is None or annotation is NoneType or annotation is Any


def bare(annotation: Any) -> Any:
    """Return a type without Annotated, NewType and type aliases around it."""
    while True:
        if isinstance(annotation, TypeAliasType | getattr(typing, "TypeAliasType", TypeAliasType)):
            annotation = annotation.__value__
        elif isinstance(get_origin(annotation), TypeAliasType | getattr(typing, "TypeAliasType", TypeAliasType)):
            alias = get_origin(annotation)
            annotation = alias.__value__[get_args(annotation)]
        elif get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        else:
            return annotation


class Annotations:
    """Makes the converters of one model's fields.

    ``exact`` converters give final Python values; the others may leave text for Pydantic's lax mode to parse.
    """

    def __init__(self, model: type[BaseModel], *, exact: bool) -> None:
        self._model = model
        self._exact = exact
        self._models: dict[Any, Converter] = {}

    def field(self, name: str, info: FieldInfo, *, key: bool = False, quiet: bool = False) -> Converter:
        """Return the converter of a field, None aside.

        Args:
            name: the field's name, for warnings.
            info: Pydantic's description of it.
            key: whether it is part of a key of the table or of an index.
            quiet: do not warn.
        """
        for stored_as in info.metadata:
            if isinstance(stored_as, StoredAs) and stored_as.form is not None:
                return self._in_form(stored_as.form, info)
        if Role.TIME_TO_LIVE in info.metadata:
            return _time_to_live(info)
        annotation = info.annotation
        metadata = tuple(each for each in info.metadata if not isinstance(each, Role | StoredAs))
        if info.discriminator is not None:
            marker = info.discriminator
            metadata += (marker if isinstance(marker, Discriminator) else Discriminator(marker),)
        converter = self._of(_without_none(annotation), metadata, key=key)
        shared = getattr(converter, "shared_tags", None)
        if shared and not quiet:
            warnings.warn(
                f"{self._model.__name__}.{name}: values of {converter.label} that are stored alike "
                f"({', '.join(sorted(shared))}) read back as whichever Pydantic finds first; give them distinct stored "
                "forms, or a discriminator",
                RoundTripWarning,
                stacklevel=8,
            )
        return converter

    def _in_form(self, form: codec.StoredForm, info: FieldInfo) -> Converter:
        if form is codec.JSON_TEXT:
            adapter = _Adapter(info.annotation, info.metadata, self._model)
            return codec.stored_as(form, label=_label(info.annotation), to_plain=adapter.dump)
        return codec.stored_as(form, label=_label(info.annotation))

    def _of(self, annotation: Any, metadata: tuple[Any, ...] = (), *, key: bool = False) -> Converter:
        while get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            metadata = (*metadata, *more)
        if any(hasattr(each, "__get_pydantic_core_schema__") and not isinstance(each, _HARMLESS) for each in metadata):
            return self._through(annotation, metadata)
        exact = self._exact or any(isinstance(each, _BEFORE) or _is_strict(each) for each in metadata)
        unwrapped = bare(annotation)
        if unwrapped is not annotation:
            return self._of(_unwrap_once(annotation), metadata, key=key)
        origin = get_origin(annotation)
        if origin in (Union, UnionType):
            return self._union(get_args(annotation), metadata)
        if origin is Literal:
            return codec.literal_of(get_args(annotation))
        scalar = self._scalar(annotation, exact=exact, key=key)
        if scalar is not None:
            return scalar
        container = self._container(annotation, origin or annotation, get_args(annotation), exact=exact)
        return container if container is not None else self._through(annotation, metadata)

    def _exactly(self) -> "Annotations":
        if self._exact:
            return self
        exact = Annotations(self._model, exact=True)
        return exact

    def _scalar(self, annotation: Any, *, exact: bool, key: bool) -> Converter | None:
        if annotation is Any or annotation is object or isinstance(annotation, TypeVar):
            return codec.anything()
        if annotation is datetime:
            return codec.instant(exact=exact, key=key)
        make = _SCALARS.get(annotation)
        if make is not None:
            return make(exact)
        if annotation is SecretStr:
            return codec.secret(codec.text(), SecretStr)
        if annotation is SecretBytes:
            return codec.secret(codec.binary(), SecretBytes)
        if isinstance(annotation, type) and issubclass(annotation, Enum):
            return self._enum(annotation, exact=exact)
        return None

    def _enum(self, kind: type[Enum], *, exact: bool) -> Converter:
        types: dict[type[Any], None] = {type(member.value): None for member in kind}
        exactly = self._exactly()
        value = exactly._of(Union[tuple(types)])  # noqa: UP007
        return codec.enum_of(kind, value, exact=exact)

    def _container(self, annotation: Any, origin: Any, args: tuple[Any, ...], *, exact: bool) -> Converter | None:
        if origin in _SETS:
            member = self._exactly()._member(args[0] if args else Any)
            return codec.set_of(member, frozen=origin is frozenset)
        if origin in _LISTS:
            return self._list(origin, args)
        if origin is tuple:
            return self._tuple(args)
        if origin in _MAPS:
            key = codec.map_key(bare(args[0]) if args and isinstance(bare(args[0]), type) else str)
            if key is None:
                return None
            accepts = (dict,) if origin in (dict, Mapping, MutableMapping) else (origin,)
            return codec.map_of(key, self._member(args[1] if args else Any), accepts=accepts)
        if isclass(origin) and (
            issubclass(origin, BaseModel) or dataclasses.is_dataclass(origin) or is_typeddict(origin)
        ):
            return self._nested_type(annotation, origin)
        return None

    def _member(self, annotation: Any) -> Converter:
        """Return the converter of a member of a collection, where None is always NULL."""
        inner = self._of(_without_none(annotation))
        return codec.optional(inner) if is_optional(annotation) and bare(annotation) is not Any else inner

    def _list(self, origin: Any, args: tuple[Any, ...]) -> Converter:
        member = self._member(args[0] if args else Any)
        if origin is list:
            return codec.list_of(member)
        if origin is deque:
            return codec.list_of(member, accepts=(deque,), label="deque")
        return codec.list_of(member, accepts=(list, tuple, deque), label="Sequence")

    def _tuple(self, args: tuple[Any, ...]) -> Converter:
        if not args:
            return codec.variadic_tuple_of(codec.anything())
        if len(args) == 2 and args[1] is Ellipsis:
            return codec.variadic_tuple_of(self._member(args[0]))
        return codec.tuple_of([self._member(arg) for arg in args if arg != ()])

    def _union(self, members: tuple[Any, ...], metadata: tuple[Any, ...]) -> Converter:
        exactly = self._exactly()
        present = [member for member in members if bare(member) is not NoneType and member is not None]
        if len(present) == 1:
            return codec.optional(self._of(present[0], metadata))
        tag = next((each.discriminator for each in metadata if isinstance(each, Discriminator)), None)
        union = exactly._tagged(present, tag) if isinstance(tag, str) else None
        if union is None:
            union = codec.union_of([exactly._of(member) for member in present])
        return codec.optional(union) if len(present) < len(members) else union

    def _tagged(self, members: Sequence[Any], discriminator: str) -> Converter | None:
        choices: dict[Any, Converter] = {}
        stored: dict[str, None] = {}
        for member in members:
            model = bare(member)
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                return None
            info = model.model_fields.get(discriminator)
            if info is None or get_origin(bare(info.annotation)) is not Literal:
                return None
            stored[stored_name(discriminator, info)] = None
            for value in get_args(bare(info.annotation)):
                choices[value] = self._of(member)
        return codec.tagged_union(choices, discriminator=attrgetter(discriminator), stored=tuple(stored))

    def _nested_type(self, annotation: Any, origin: type[Any]) -> Converter:
        known = self._models.get(annotation)
        if known is not None:
            return known
        if issubclass(origin, BaseModel):
            model = annotation if isinstance(annotation, type) else origin
            made: Converter = codec.Deferred(model.__name__, lambda: self._nested_model(model), types=(model,))
        else:
            made = codec.Deferred(origin.__name__, lambda: self._nested_plain(annotation, origin), types=(origin,))
        self._models[annotation] = made
        return made

    def _nested_model(self, model: type[BaseModel]) -> Converter:
        inner = Annotations(model, exact=self._exact or needs_exact(model))
        inner._models = self._models if inner._exact is self._exact else {}
        fields = [
            codec.Field(name, stored_name(name, info), inner._nested_field(name, info))
            for name, info in model.model_fields.items()
        ]
        keeps_extras = model.model_config.get("extra") == "allow"
        return codec.nested_of(
            model.__name__,
            fields,
            accepts=(model,),
            extras=attrgetter("__pydantic_extra__") if keeps_extras else None,
            build=_builder(model) if self._exact else None,
            document=hasattr(model, "__dynamap_settings__"),
        )

    def _nested_field(self, name: str, info: FieldInfo) -> Converter:
        converter = self.field(name, info)
        return codec.optional(converter) if is_optional(info.annotation) else converter

    def _nested_plain(self, annotation: Any, origin: type[Any]) -> Converter:
        hints = typing.get_type_hints(origin, include_extras=True)
        mapping = is_typeddict(origin)
        names = hints if mapping else [field.name for field in dataclasses.fields(origin)]
        fields = [
            codec.Field(name, name, self._member(_required(hints[name])), itemgetter(name) if mapping else None)
            for name in names
        ]
        adapter = _Adapter(annotation, (), self._model)
        return codec.nested_of(
            origin.__name__,
            fields,
            accepts=(dict,) if mapping else (origin,),
            build=adapter.load if self._exact else None,
        )

    def _through(self, annotation: Any, metadata: Iterable[Any]) -> Converter:
        adapter = _Adapter(annotation, metadata, self._model)
        return codec.through(
            _label(annotation), adapter.dump, adapter.load if self._exact else None, types=_kinds(annotation)
        )


class _Adapter:
    """Pydantic's own dump and load of a type, made at first use: making one costs more than most fields need."""

    def __init__(self, annotation: Any, metadata: Iterable[Any], model: type[BaseModel]) -> None:
        kept = tuple(each for each in metadata if not isinstance(each, Role | StoredAs))
        self._annotation: Any = Annotated[(annotation, *kept)] if kept else annotation
        self._model = model
        self._made: TypeAdapter[Any] | None = None

    @property
    def _adapter(self) -> TypeAdapter[Any]:
        if self._made is None:
            arbitrary = ConfigDict(arbitrary_types_allowed=True)
            try:
                self._made = TypeAdapter(self._annotation)
            except PydanticSchemaGenerationError:
                self._made = TypeAdapter(self._annotation, config=arbitrary)
        return self._made

    def dump(self, value: Any) -> Any:
        return self._adapter.dump_python(value, mode="json", round_trip=True, warnings="error")

    def load(self, value: Any) -> Any:
        return self._adapter.validate_python(value)


def stored_name(name: str, info: FieldInfo) -> str:
    """Return the stored attribute's name of a field: ``attr(name=...)``, else the field's own."""
    for each in info.metadata:
        if isinstance(each, StoredAs) and each.name is not None:
            return each.name
    return name


def needs_exact(model: type[BaseModel]) -> bool:
    """Return whether a model's validators expect Python values, not the text that Pydantic's lax mode parses."""
    if model.model_config.get("strict"):
        return True
    decorators = model.__pydantic_decorators__
    modes = [each.info.mode for each in decorators.field_validators.values()]
    modes += [each.info.mode for each in decorators.model_validators.values()]
    return any(mode != "after" for mode in modes) or bool(decorators.validators or decorators.root_validators)


def _time_to_live(info: FieldInfo) -> Converter:
    kind = bare(_without_none(info.annotation))
    return codec.integer() if kind is int else codec.stored_as(codec.EPOCH_SECONDS, label=_label(kind))


def _builder(model: type[BaseModel]) -> Callable[[dict[str, Any]], Any]:
    validate = model.__pydantic_validator__.validate_python
    return lambda values: validate(values, by_name=True, by_alias=False)


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    present = tuple(member for member in get_args(annotation) if member is not NoneType and member is not None)
    return Union[present] if present else None  # noqa: UP007 - built at run time


def _unwrap_once(annotation: Any) -> Any:
    if isinstance(annotation, NewType):
        return annotation.__supertype__
    origin = get_origin(annotation)
    return origin.__value__[get_args(annotation)] if origin is not None else annotation.__value__


def _required(annotation: Any) -> Any:
    origin = get_origin(annotation)
    names = ("Required", "NotRequired", "ReadOnly")
    return get_args(annotation)[0] if getattr(origin, "_name", None) in names or getattr(origin, "__name__", "") in names else annotation


def _is_strict(each: Any) -> bool:
    return (isinstance(each, Strict) and each.strict) or getattr(each, "strict", None) is True


def _kinds(annotation: Any) -> tuple[type, ...]:
    kind = get_origin(annotation) or annotation
    return (kind,) if isinstance(kind, type) else (object,)


def _label(annotation: Any) -> str:
    kind = bare(annotation)
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)


_SCALARS: Final[dict[Any, Callable[[bool], Converter]]] = {
    str: lambda exact: codec.text(),
    int: lambda exact: codec.integer(exact=exact),
    float: lambda exact: codec.floating(exact=exact),
    Decimal: lambda exact: codec.decimal(exact=exact),
    bool: lambda exact: codec.boolean(),
    bytes: lambda exact: codec.binary(),
    bytearray: lambda exact: codec.binary(bytearray),
    None: lambda exact: codec.null(),
    NoneType: lambda exact: codec.null(),
    date: lambda exact: codec.date(exact=exact),
    time: lambda exact: codec.time(exact=exact),
    timedelta: lambda exact: codec.duration(),
    UUID: lambda exact: codec.uuid(exact=exact),
}
