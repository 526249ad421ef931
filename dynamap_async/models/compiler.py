"""The compiler of type annotations into converters between Python values and stored attributes.

A type without a converter of its own is stored as the JSON-like data that Pydantic dumps it to.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from operator import attrgetter
from types import NoneType
from typing import Any, Final, Literal, cast, get_args, get_origin
from uuid import UUID

from pydantic import (
    AwareDatetime,
    BaseModel,
    ByteSize,
    Discriminator,
    FutureDate,
    FutureDatetime,
    JsonValue,
    NaiveDatetime,
    PastDate,
    PastDatetime,
    Secret,
    SecretBytes,
    SecretStr,
    ValidationError,
)
from pydantic.fields import FieldInfo

from dynamap_async import codec
from dynamap_async.codec import Converter, Deferred, Nested, OwnText, StoredForm
from dynamap_async.errors import DecodeError
from dynamap_async.models.annotations import (
    Metadata,
    aliased,
    bare,
    field_metadata,
    is_alias,
    is_anything,
    is_encoded,
    is_kind_of,
    is_none,
    is_optional,
    is_union,
    may_be_missing,
    name_of,
    unwrap,
    without_none,
)
from dynamap_async.models.callers import local_classes, warn_caller
from dynamap_async.models.container_converters import container
from dynamap_async.models.converters import ONLY_FIELDS, Compiler, UnstorableTypeError, deferred
from dynamap_async.models.json_text import json_dump
from dynamap_async.models.markers import OURS, Role, StoredAs, other_forms, stored_name
from dynamap_async.models.nested_converters import nested
from dynamap_async.models.pydantic_types import Adapter, expects_values, has_own_schema, needs_values, through
from dynamap_async.models.settings import fault
from dynamap_async.wire import AttributeValue, Tag

_PLAIN: Final = (str, int, bool, bytes, NoneType)


def union(compiler: Compiler, members: tuple[Any, ...], metadata: Metadata) -> Converter:
    """Return the converter of a union.

    Args:
        compiler: makes the converters of the members.
        members: its members, None perhaps among them.
        metadata: what stands behind the union in Annotated, a discriminator perhaps.
    """
    present = [member for member in members if not is_none(member)]
    if len(present) == 1:
        return codec.optional(compiler.of(present[0], metadata))
    exactly = compiler.exactly
    tag = next((each.discriminator for each in metadata if isinstance(each, Discriminator)), None)
    made = _tagged(exactly, present, tag) if isinstance(tag, str) else None
    if made is None:
        made = codec.union_of([exactly.of(member) for member in present])
        if tag is None and _is_ambiguous(made, present):
            compiler.note_ambiguous(made.label)
    if compiler.exact and "S" in made.shared_tags and str not in map(bare, present):
        made.decode_texts_exactly()
    return codec.optional(made) if len(present) < len(members) else made


def _tagged(compiler: Compiler, members: Sequence[Any], discriminator: str) -> codec.Union | None:
    """Return the converter of models that are told apart by a field, or None if it is not that simple."""
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
            choices[value] = compiler.of(member)
    return codec.tagged_union(choices, discriminator=attrgetter(discriminator), stored=tuple(stored))


def _is_ambiguous(made: codec.Union, members: Sequence[Any]) -> bool:
    """Return whether two members are stored alike, so that a value may read back as another member's."""
    pairs = list(zip(made.members, map(bare, members), strict=True))
    for tag in made.shared_tags:
        sharing = [(converter, member) for converter, member in pairs if tag in converter.tags]
        others = [(converter, member) for converter, member in sharing if not _is_plain_literal(member)]
        if len(others) < len(sharing) and all(member in _PLAIN for _, member in others):
            sharing = others  # "a" is the same value whether Literal["a"] or str reads it
        shapes = [_shape(converter) for converter, _ in sharing]
        if len(sharing) > 1 and (None in shapes or len(set(shapes)) < len(shapes)):
            return True
    return False


def _is_plain_literal(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and all(type(value) in _PLAIN for value in get_args(annotation))


def _shape(converter: Converter) -> Hashable:
    """Return the names of a nested model's fields, by which it is told from others; None for other types."""
    target = converter.target if isinstance(converter, Deferred) else converter
    return target.stored_names if isinstance(target, Nested) else None


_INSTANTS: Final = (datetime, AwareDatetime, NaiveDatetime, PastDatetime, FutureDatetime)
_ANYTHING: Final = (Any, object)

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
    PastDate: lambda exact: codec.date(exact=exact),
    FutureDate: lambda exact: codec.date(exact=exact),
    time: lambda exact: codec.time(exact=exact),
    timedelta: lambda exact: codec.duration(),
    UUID: lambda exact: codec.uuid(exact=exact),
    ByteSize: lambda exact: codec.integer().then(ByteSize) if exact else codec.integer(exact=False),
}


def scalar(compiler: Compiler, annotation: Any) -> Converter | None:
    """Return the converter of a type without parts, or None for any other type.

    Args:
        compiler: makes the converters of an enum's values.
        annotation: the type, unwrapped.
    """
    if annotation in _INSTANTS:
        return codec.instant(exact=compiler.exact, zoned=annotation is not NaiveDatetime)
    if annotation in _ANYTHING:
        return codec.anything()
    if annotation is JsonValue:
        return codec.anything().then(_as_json)
    make = _SCALARS.get(annotation)
    if make is not None:
        return make(compiler.exact)
    if get_origin(annotation) is Literal:
        return codec.literal_of(get_args(annotation))
    return _class(compiler, annotation)


def _class(compiler: Compiler, annotation: Any) -> Converter | None:
    kind: Any = get_origin(annotation) or annotation
    if is_kind_of(kind, SecretStr):
        return codec.secret(codec.text(), kind)
    if is_kind_of(kind, SecretBytes):
        return codec.secret(codec.binary(), kind)
    if is_kind_of(kind, Secret):
        return codec.secret(compiler.exactly.of(_revealed(annotation)), kind)
    if is_kind_of(kind, Enum) and list(kind):
        return _enum(compiler, kind)
    return None


def _enum(compiler: Compiler, kind: type[Enum]) -> Converter:
    kinds: list[type[Any]] = list({type(member.value): None for member in kind})
    if len(kinds) == 1:
        return codec.enum_of(kind, compiler.exactly.of(kinds[0]), exact=compiler.exact)
    stored = {member: compiler.exactly.of(type(member.value)).encode(member.value) for member in kind}
    members = {repr(value): member for member, value in stored.items()}
    if len(members) < len(stored):
        compiler.note_ambiguous(kind.__name__)

    def encode(member: Any) -> AttributeValue:
        try:
            return stored[kind(member)]
        except ValueError:
            raise codec.refusal(kind.__name__, member, f"use a member of {kind.__name__}, or its value") from None

    return Converter(
        label=kind.__name__,
        tags=frozenset(tag for value in stored.values() for tag in cast("dict[Tag, Any]", value)),
        encode=encode,
        decode=lambda value: members[repr(value)],
        types=(kind, *kinds),
    )


def _revealed(annotation: Any) -> Any:
    """Return the type inside ``Secret[...]`` or a subclass of it."""
    for kind in (annotation, *getattr(annotation, "__orig_bases__", ())):
        if get_args(kind):
            return get_args(kind)[0]
    return Any


def _as_json(value: Any) -> Any:
    """Return a plain value as JSON knows it: a number with a fraction is a float."""
    match value:
        case Decimal():
            return float(value)
        case [*elements]:
            return list(map(_as_json, elements))
        case {**members}:
            return {name: _as_json(member) for name, member in members.items()}
        case _:
            return value


class RoundTripWarning(UserWarning):
    """A field's type has values that read back as another value, because they are stored alike."""


class TypeCompiler:
    """Makes converters in the context of one model: see ``Compiler``."""

    def __init__(
        self,
        model: type[BaseModel],
        *,
        exact: bool,
        ambiguous: list[str] | None = None,
        local: dict[str, Any] | None = None,
    ) -> None:
        self.model: type[BaseModel] = model
        self.local: dict[str, Any] = local_classes() if local is None else local
        self.exact: bool = exact
        self.known: dict[Hashable, Converter] = {}
        self._ambiguous: list[str] = [] if ambiguous is None else ambiguous
        self._aliases: list[Any] = []
        self._exactly: TypeCompiler | None = None

    @property
    def exactly(self) -> TypeCompiler:
        """This compiler, or its exact twin."""
        if self._exactly is None:
            exact = self if self.exact else self._of_model(exact=True)
            self._exactly = exact
        return self._exactly

    def inside(self, owner: type[Any]) -> TypeCompiler:
        """Return the compiler of a nested class's fields; types met before stay known."""
        exact = self.exact or needs_values(owner)
        inner = self._of_model(exact=exact)
        inner.known = self.known if exact is self.exact else self.exactly.known
        return inner

    def _of_model(self, *, exact: bool) -> TypeCompiler:
        return TypeCompiler(self.model, exact=exact, ambiguous=self._ambiguous, local=self.local)

    def note_ambiguous(self, label: str) -> None:
        """Remember a union, for the warning about its field."""
        self._ambiguous.append(label)

    def top_field(self, name: str, info: FieldInfo) -> Converter:
        """Return the converter of a field of the model itself, and of everything in it.

        Args:
            name: the field's name, for warnings.
            info: Pydantic's description of it.

        Raises:
            ModelDefinitionError: some of its values cannot be stored.
        """
        try:
            converter = self.field(info.annotation, tuple(field_metadata(info)))
            self._resolve_all()
        except UnstorableTypeError as error:
            raise fault(self.model.__name__, str(error), name) from None
        if self._ambiguous:
            unions = ", ".join(dict.fromkeys(self._ambiguous))
            self._ambiguous.clear()
            warn_caller(
                f"{self.model.__name__}.{name}: some values of {unions} have the same stored form, and are read back "
                "as the first type that Pydantic accepts; give them different stored forms, or a discriminator",
                RoundTripWarning,
            )
        return converter

    def own_text(self, info: FieldInfo) -> OwnText | None:
        """Return the text that the type of a field makes of its values itself; None for types that do not.

        Args:
            info: Pydantic's description of the field.
        """
        metadata = tuple(field_metadata(info))
        if is_encoded((info.annotation, *metadata)):  # keys hold what Pydantic decodes of the text
            return None
        try:
            return codec.own_text(self._of_model(exact=True).field(info.annotation, metadata))
        except UnstorableTypeError:  # the field says so when it is compiled
            return None

    def field(self, annotation: Any, metadata: Metadata) -> Converter:
        """Return the converter of a field, None aside."""
        others = other_forms(metadata)
        if not others:
            return self._written(annotation, metadata)
        if not self.exact:  # which form a value has is told by what it reads as
            return self.exactly.field(annotation, metadata)
        first = self._written(annotation, metadata)
        return codec.SeveralForms([first, *(self._found(each, annotation, metadata, first) for each in others)])

    def _written(self, annotation: Any, metadata: Metadata) -> Converter:
        """Return the converter of the form in which a field is written."""
        for each in metadata:
            if isinstance(each, StoredAs) and each.form is not None:
                return self._in_form(each.form, annotation, metadata)
        return self._usual(annotation, metadata)

    def _found(self, form: StoredForm | Tag, annotation: Any, metadata: Metadata, first: Converter) -> Converter:
        """Return the converter of another form in which a field is found.

        Raises:
            UnstorableTypeError: its values have no such form, or it is the one in which they are written.
        """
        if isinstance(form, StoredForm):
            return self._in_form(form, annotation, metadata)
        usual = self._usual(annotation, metadata)
        if form in first.tags:
            raise UnstorableTypeError(
                f"has also_stored_as={form!r}, which is its stored form already; for another text or number of the "
                "same type, make a StoredForm"
            )
        found = usual if form in usual.tags else codec.in_type(usual, form)
        if found is None:
            raise UnstorableTypeError(
                f"has also_stored_as={form!r}, but there is no default way to write {usual.label} as {form}; make a "
                "StoredForm that does it"
            )
        return found

    def _usual(self, annotation: Any, metadata: Metadata) -> Converter:
        """Return the converter of a field in its type's own form."""
        if Role.TIME_TO_LIVE in metadata:
            kind = bare(without_none(annotation))
            return codec.integer() if kind is int else codec.stored_as(codec.EPOCH_SECONDS, label=name_of(kind))
        kept = tuple(each for each in metadata if not isinstance(each, OURS))
        if (is_optional(annotation) or may_be_missing(annotation)) and not is_encoded(kept):
            annotation, more = unwrap(annotation)
            annotation, kept = without_none(annotation), (*more, *kept)
        return self.of(annotation, kept)

    def of(self, annotation: Any, metadata: Metadata = ()) -> Converter:
        """Return the converter of a type."""
        annotation, more = unwrap(annotation, through_aliases=False)
        metadata = (*more, *metadata)
        if annotation is codec.MISSING:
            raise UnstorableTypeError(ONLY_FIELDS)
        if has_own_schema(annotation, metadata):
            compiler = self.exactly if expects_values(metadata) else self
            return _own_time(compiler, annotation, metadata) or through(compiler, annotation, metadata)
        if not self.exact and expects_values(metadata):
            return self.exactly.of(annotation, metadata)
        if is_alias(annotation):
            return self._alias(annotation, metadata)
        if is_union(annotation):
            return union(self, get_args(annotation), metadata)
        return (
            scalar(self, annotation)
            or container(self, annotation)
            or nested(self, annotation)
            or through(self, annotation, metadata)
        )

    def member(self, annotation: Any) -> Converter:
        """Return the converter of a type inside a collection, where None is always NULL."""
        if may_be_missing(annotation):
            raise UnstorableTypeError(ONLY_FIELDS)
        optional = is_optional(annotation) and not is_anything(annotation)
        return codec.optional(self.of(without_none(annotation))) if optional else self.of(annotation)

    def _alias(self, alias: Any, metadata: Metadata) -> Converter:
        """Return the converter of a type alias, which may contain itself."""
        if alias in self._aliases:
            return deferred(self, alias, lambda: self.of(aliased(alias), metadata), label=str(alias))
        self._aliases.append(alias)
        try:
            return self.of(aliased(alias), metadata)
        finally:
            self._aliases.pop()

    def _in_form(self, form: codec.StoredForm, annotation: Any, metadata: Metadata) -> Converter:
        if form is not codec.JSON_TEXT:
            kind = bare(without_none(bare(annotation)))
            return codec.stored_as(form, label=name_of(annotation), samples=_samples_of(kind))
        adapter = Adapter(annotation, metadata, self)
        made = codec.stored_as(form, label=name_of(annotation), to_plain=json_dump(adapter))
        return made.then(partial(_loaded, adapter)) if self.exact else made

    def _resolve_all(self) -> None:
        """Compile nested types now, so that what is wrong with them shows when the class is made."""
        resolved = 0
        for compiler in (self, self.exactly):
            while resolved < len(compiler.known):
                pending = list(compiler.known.values())[resolved:]
                resolved += len(pending)
                for converter in pending:
                    if isinstance(converter, Deferred):
                        _ = converter.target
            resolved = 0


def _own_time(compiler: Compiler, annotation: Any, metadata: Metadata) -> Converter | None:
    """Return the converter of a subclass of datetime or date, which is stored as these are; None for other types."""
    if is_kind_of(annotation, datetime):
        made = codec.instant(exact=False)
    elif is_kind_of(annotation, date):
        made = codec.date(exact=False)
    else:
        return None
    return made.then(Adapter(annotation, metadata, compiler).load) if compiler.exact else made


def _loaded(adapter: Adapter, value: Any) -> Any:
    """Return the value of JSON data; raises DecodeError for other data, which would be taken for text otherwise."""
    try:
        return adapter.load(value)
    except ValidationError as error:
        raise DecodeError(f"the stored JSON does not fit: {error.errors()[0]['msg']}") from error


def _samples_of(kind: Any) -> Sequence[Any]:
    """Return values of a type in ascending order, which show whether another stored form sorts as they do."""
    numbers = (0, 9, 10, 100)  # padded with zeros, negative ones do not sort: comparisons refuse those
    days = ((1999, 12, 31, 23), (2001, 2, 28, 9), (2001, 10, 2, 10), (2010, 1, 1, 1))
    times = [datetime(*day, tzinfo=UTC) for day in days]
    if kind in (int, float, Decimal):
        return numbers
    if kind in (datetime, AwareDatetime, PastDatetime, FutureDatetime):
        return times
    if kind in (date, PastDate, FutureDate):
        return [each.date() for each in times]
    if kind is timedelta:
        return [timedelta(hours=each) for each in numbers]
    return ("A", "B", "a", "aa", "ab", "b") if kind is str else ()
