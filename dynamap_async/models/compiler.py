"""Type annotations -> converters: the place where Pydantic's view of a type becomes DynamoDB's.

A type that no other file of this room names is stored as the JSON-like data that Pydantic dumps it to.
"""

from collections.abc import Hashable
from functools import partial
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from dynamap_async import codec
from dynamap_async.codec import Converter, Deferred
from dynamap_async.errors import DecodeError
from dynamap_async.models.annotations import (
    Metadata,
    aliased,
    bare,
    field_metadata,
    is_alias,
    is_anything,
    is_encoded,
    is_optional,
    is_union,
    name_of,
    unwrap,
    without_none,
)
from dynamap_async.models.callers import local_classes, warn_caller
from dynamap_async.models.compiling import UnstorableTypeError, deferred, then
from dynamap_async.models.containers import container
from dynamap_async.models.fallback import Adapter, expects_values, has_own_schema, needs_values, through
from dynamap_async.models.json_text import json_dump
from dynamap_async.models.markers import OURS, Role, StoredAs
from dynamap_async.models.nested import nested
from dynamap_async.models.scalars import scalar
from dynamap_async.models.settings import fault
from dynamap_async.models.unions import union


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
    def exactly(self) -> "TypeCompiler":
        """This compiler, or its exact twin."""
        if self._exactly is None:
            exact = self if self.exact else self._of_model(exact=True)
            self._exactly = exact
        return self._exactly

    def inside(self, owner: type[Any]) -> "TypeCompiler":
        """Return the compiler of a nested class's fields; types met before stay known."""
        exact = self.exact or needs_values(owner)
        inner = self._of_model(exact=exact)
        inner.known = self.known if exact is self.exact else self.exactly.known
        return inner

    def _of_model(self, *, exact: bool) -> "TypeCompiler":
        return TypeCompiler(self.model, exact=exact, ambiguous=self._ambiguous, local=self.local)

    def note_ambiguous(self, label: str) -> None:
        """Remember a union, for the warning about its field."""
        self._ambiguous.append(label)

    def top_field(self, name: str, info: FieldInfo, *, key: bool) -> Converter:
        """Return the converter of a field of the model itself, and of everything in it.

        Args:
            name: the field's name, for warnings.
            info: Pydantic's description of it.
            key: whether it is part of a key of the table or of an index.

        Raises:
            ModelDefinitionError: some of its values cannot be stored.
        """
        try:
            converter = self.field(info.annotation, tuple(field_metadata(info)), key=key)
            self._resolve_all()
        except UnstorableTypeError as error:
            raise fault(self.model.__name__, str(error), name) from None
        if self._ambiguous:
            unions = ", ".join(dict.fromkeys(self._ambiguous))
            self._ambiguous.clear()
            warn_caller(
                f"{self.model.__name__}.{name}: some values of {unions} are stored alike and read back as whichever "
                "type Pydantic finds first; give them distinct stored forms, or a discriminator",
                RoundTripWarning,
            )
        return converter

    def field(self, annotation: Any, metadata: Metadata, *, key: bool = False) -> Converter:
        """Return the converter of a field, None aside."""
        for each in metadata:
            if isinstance(each, StoredAs) and each.form is not None:
                return self._in_form(each.form, annotation, metadata)
        if Role.TIME_TO_LIVE in metadata:
            kind = bare(without_none(annotation))
            return codec.integer() if kind is int else codec.stored_as(codec.EPOCH_SECONDS, label=name_of(kind))
        kept = tuple(each for each in metadata if not isinstance(each, OURS))
        if is_optional(annotation) and not is_encoded(kept):
            annotation, more = unwrap(annotation)
            annotation, kept = without_none(annotation), (*more, *kept)
        return self.of(annotation, kept, key=key)

    def of(self, annotation: Any, metadata: Metadata = (), *, key: bool = False) -> Converter:
        """Return the converter of a type."""
        annotation, more = unwrap(annotation, through_aliases=False)
        metadata = (*more, *metadata)
        if has_own_schema(annotation, metadata):
            return through(self.exactly if expects_values(metadata) else self, annotation, metadata)
        if not self.exact and expects_values(metadata):
            return self.exactly.of(annotation, metadata, key=key)
        if is_alias(annotation):
            return self._alias(annotation, metadata, key=key)
        if is_union(annotation):
            return union(self, get_args(annotation), metadata)
        return (
            scalar(self, annotation, key=key)
            or container(self, annotation)
            or nested(self, annotation)
            or through(self, annotation, metadata)
        )

    def member(self, annotation: Any) -> Converter:
        """Return the converter of a type inside a collection, where None is always NULL."""
        optional = is_optional(annotation) and not is_anything(annotation)
        return codec.optional(self.of(without_none(annotation))) if optional else self.of(annotation)

    def _alias(self, alias: Any, metadata: Metadata, *, key: bool) -> Converter:
        """Return the converter of a type alias, which may contain itself."""
        if alias in self._aliases:
            return deferred(self, alias, lambda: self.of(aliased(alias), metadata), label=str(alias))
        self._aliases.append(alias)
        try:
            return self.of(aliased(alias), metadata, key=key)
        finally:
            self._aliases.pop()

    def _in_form(self, form: codec.StoredForm, annotation: Any, metadata: Metadata) -> Converter:
        if form is not codec.JSON_TEXT:
            return codec.stored_as(form, label=name_of(annotation))
        adapter = Adapter(annotation, metadata, self)
        made = codec.stored_as(form, label=name_of(annotation), to_plain=json_dump(adapter))
        return then(made, partial(_loaded, adapter)) if self.exact else made

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


def _loaded(adapter: Adapter, value: Any) -> Any:
    """Return the value of JSON data; raises DecodeError for other data, which would be taken for text otherwise."""
    try:
        return adapter.load(value)
    except ValidationError as error:
        raise DecodeError(f"the stored JSON does not fit: {error.errors()[0]['msg']}") from error
