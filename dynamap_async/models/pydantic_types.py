"""Types that only Pydantic knows: stored as the JSON-like data that it dumps them to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from inspect import isclass
from typing import Annotated, Any, Final, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    EncodedBytes,
    InstanceOf,
    PlainSerializer,
    PlainValidator,
    SerializeAsAny,
    SkipValidation,
    Strict,
    Tag,
    TypeAdapter,
    WrapSerializer,
    WrapValidator,
)
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.types import UuidVersion
from pydantic_core import PydanticSerializationError

from dynamap_async import codec
from dynamap_async.codec import ALL_TAGS, Converter
from dynamap_async.models.annotations import Metadata, is_encoded, name_of
from dynamap_async.models.assigned import PRESENCE
from dynamap_async.models.converters import Compiler
from dynamap_async.models.markers import OURS
from dynamap_async.models.own_init import for_own_init
from dynamap_async.wire import Tag as StoredTag

_EARLY: Final = (BeforeValidator, PlainValidator, WrapValidator)
_VALIDATORS: Final = (*_EARLY, AfterValidator)
# They change what is accepted or dumped, never what a value is.
_SERIALIZERS: Final = (PlainSerializer, WrapSerializer)
_KNOWN: Final = (*_VALIDATORS, *_SERIALIZERS, Strict, Discriminator, Tag, FieldInfo, UuidVersion)
_UNVALIDATED: Final[tuple[Any, ...]] = (SkipValidation, InstanceOf)
_KNOWN_GENERIC: Final[tuple[Any, ...]] = (*_UNVALIDATED, SerializeAsAny)
_AROUND: Final = ("default", "definitions", "function-after", "function-before", "function-wrap")
"""The schemas that stand around the schema of a type, and are dumped as it is."""
_TAGS_OF_JSON: Final[dict[Any, frozenset[StoredTag]]] = {
    "string": frozenset(("S",)),
    "integer": frozenset(("N",)),
    "number": frozenset(("N",)),
    "boolean": frozenset(("BOOL",)),
}
_ULID: Final = ("01234567", *["0123456789ABCDEFGHJKMNPQRSTVWXYZ"] * 25)
# By name, because importing these modules takes long, or fails.
_IN_ORDER: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("builtins", "str"): (),
    ("pydantic.networks", "AnyUrl"): (),
    ("pydantic.networks", "EmailStr"): (),
    ("pydantic_extra_types.ulid", "ULID"): _ULID,
    ("ulid", "ULID"): _ULID,
    ("uuid", "UUID"): (),
}
"""Types whose values sort as the texts that they are dumped to -> the characters of each place of these, if known."""


def expects_values(metadata: Metadata) -> bool:
    """Return whether something in the metadata sees a value before Pydantic parsed it, or forbids parsing."""
    return any(
        isinstance(each, (*_EARLY, *_UNVALIDATED)) or each in _UNVALIDATED or getattr(each, "strict", None) is True
        for each in metadata
    )


def has_own_schema(annotation: Any, metadata: Metadata) -> bool:
    """Return whether a type, or something in its metadata, tells Pydantic how to validate and dump it."""
    if any(hasattr(each, "__get_pydantic_core_schema__") and not _is_known(each) for each in metadata):
        return True
    kind: Any = get_origin(annotation) or annotation
    return isclass(kind) and any(
        "__get_pydantic_core_schema__" in vars(each) and not each.__module__.startswith("pydantic.")
        for each in kind.__mro__
    )


def through(compiler: Compiler, annotation: Any, metadata: Metadata = ()) -> Converter:
    """Return the converter of a type that Pydantic dumps and loads itself."""
    adapter = Adapter(annotation, metadata, compiler)
    load: Callable[[Any], Any] | None = adapter.load if compiler.exact else None
    if compiler.exact and is_encoded((annotation, *metadata)):
        load = str.encode if any(isinstance(each, EncodedBytes) for each in metadata) else None
    tags, known = adapter.tags, None if any(isinstance(each, _SERIALIZERS) for each in metadata) else adapter.in_order
    return codec.through(
        name_of(annotation),
        adapter.dump,
        load,
        types=(adapter.kind,),
        tags=tags,
        ordered=tags == _TAGS_OF_JSON["number"] or known is not None,
        places=known or None,
    )


class Adapter:
    """Pydantic's own dump and load of a type.

    What is loaded goes through the validation of its model afterwards, so user's validators are left out here.
    """

    def __init__(self, annotation: Any, metadata: Metadata, compiler: Compiler) -> None:
        self._annotation = annotation
        self._metadata = tuple(each for each in metadata if not isinstance(each, OURS))
        self._local = compiler.local
        self._encoders = compiler.model.model_config.get("json_encoders")

    def dump(self, value: Any) -> Any:
        """Return a value as JSON-like data."""
        dumper = self._dumper
        if self._text is not None:
            dumper, kind = self._text
            if not isinstance(value, kind):  # what makes text of a value makes it of anything
                value = self._made_of(value, kind)
        try:
            return dumper.dump_python(value, mode="json", round_trip=True, by_alias=False, warnings="error")
        except PydanticSerializationError as error:
            if "unknown type" not in str(error):
                raise
            raise ValueError(
                f"{error}, so say how it is stored: attr(stored_as=StoredForm(...)), or for text Annotated[..., "
                "BeforeValidator(...), PlainSerializer(str, return_type=str)]"
            ) from error

    def load(self, value: Any) -> Any:
        """Return the value of JSON-like data, which is never what a strict type takes."""
        return self._validate(value, strict=False)

    def _made_of(self, value: Any, kind: type[Any]) -> Any:
        try:
            return self.load(value)
        except Exception as error:  # validators raise what their authors thought of
            known = f"{kind.__module__}.{kind.__qualname__}"
            raise ValueError(f"it is no {known}, and none can be made of it") from error

    def build(self, value: Any) -> Any:
        """Return the value of a dict by field names, or of a list, of members that are final."""
        return self._validate(value)

    @property
    def is_complete(self) -> bool:
        """Whether Pydantic knows all types that the type names."""
        return bool(self._dumper.pydantic_complete)

    @property
    def schema(self) -> Any:
        """Pydantic's schema of the type; PydanticUserError where it names a type that does not exist."""
        return self._dumper.core_schema

    @property
    def kind(self) -> type[Any]:
        """The class of the values, as far as it is known."""
        if self._text is not None:
            return self._text[1]
        kind: Any = get_origin(self._annotation) or self._annotation
        return kind if isclass(kind) else object

    @property
    def in_order(self) -> tuple[str, ...] | None:
        """The characters of each place of texts that sort as the values; None where the texts are not known to sort."""
        names = ((each.__module__, each.__name__) for each in getattr(self.kind, "__mro__", ()))
        return next((_IN_ORDER[each] for each in names if each in _IN_ORDER), None)

    @property
    def tags(self) -> frozenset[StoredTag]:
        """Every stored type of what values are dumped to: one, where the type says it, or its JSON schemas agree."""
        if self._text is not None:
            return _TAGS_OF_JSON["string"]
        try:
            dumped = self._dumper.json_schema(mode="serialization").get("type")
            taken = self._dumper.json_schema(mode="validation").get("type")
        except Exception:  # noqa: BLE001 - types without a JSON schema raise whatever their authors thought of
            return ALL_TAGS
        return _TAGS_OF_JSON.get(dumped, ALL_TAGS) if dumped == taken else ALL_TAGS

    @property
    def is_text(self) -> bool:
        """Whether the type is always dumped to text."""
        return self.tags == _TAGS_OF_JSON["string"]

    @cached_property
    def _text(self) -> tuple[TypeAdapter[Any], type[Any]] | None:
        """What dumps the values, and their class, where a serializer of their own says that it gives text.

        It is that of the type, or that of the only class whose instances the type takes as they are.
        """
        if not self.is_complete:
            return None
        kind: Any = get_origin(self._annotation) or self._annotation
        if _says_text(self.schema):
            return self._dumper, kind if isclass(kind) else object
        other, *more = {*_instances(self.schema)} or {kind}
        if more or other is kind or not has_own_schema(other, ()):
            return None
        dumper: TypeAdapter[Any] = TypeAdapter(other)
        return (dumper, other) if _says_text(dumper.core_schema) else None

    @cached_property
    def _dumper(self) -> TypeAdapter[Any]:
        return self._made(self._metadata)

    @cached_property
    def _validate(self) -> Callable[..., Any]:
        kept = tuple(each for each in self._metadata if not isinstance(each, _VALIDATORS))
        validate = (self._dumper if kept == self._metadata else self._made(kept)).validator.validate_python
        return partial(validate, by_name=True, by_alias=False)

    def _made(self, metadata: Metadata) -> TypeAdapter[Any]:
        made = self._of_config(metadata)
        if self._local and not made.pydantic_complete:
            made.rebuild(raise_errors=False, _types_namespace=self._local)
        return made

    def _of_config(self, metadata: Metadata) -> TypeAdapter[Any]:
        annotation: Any = Annotated[(self._annotation, *metadata)] if metadata else self._annotation
        config = ConfigDict(arbitrary_types_allowed=True)
        if self._encoders:
            config["json_encoders"] = self._encoders
        try:
            return TypeAdapter(annotation, config=config)
        except PydanticUserError as error:
            if error.code != "type-adapter-config-unused":
                raise
            return TypeAdapter(annotation)


def _says_text(schema: Any) -> bool:
    """Return whether a schema says that values are dumped to text, by functions of its own or as ``str()`` of them."""
    own = schema.get("serialization")
    if own is not None:
        return own["type"] in ("to-string", "format") or own.get("return_schema", {}).get("type") == "str"
    return "schema" in schema and schema["type"] in _AROUND and _says_text(schema["schema"])


def _instances(schema: Any) -> Iterator[type[Any]]:
    """Give the classes whose instances a type takes as they are."""
    if schema["type"] == "is-instance" and isclass(schema["cls"]):
        yield schema["cls"]
    inner = [schema["schema"]] if schema["type"] in _AROUND and "schema" in schema else schema.get("choices", ())
    for each in inner:
        if isinstance(each, dict):
            yield from _instances(each)


def _is_known(each: Any) -> bool:
    return isinstance(each, (*_KNOWN, *_KNOWN_GENERIC)) or each in _KNOWN_GENERIC


def needs_values(owner: type[Any]) -> bool:
    """Return whether a class's validators expect Python values, not the text that Pydantic's lax mode parses."""
    config: Any = getattr(owner, "model_config", None) or getattr(owner, "__pydantic_config__", None) or {}
    if config.get("strict"):
        return True
    if getattr(owner, "__pydantic_custom_init__", False):  # what it calls knows the fields of parts by their aliases
        return True
    decorators = getattr(owner, "__pydantic_decorators__", None)
    if decorators is None:
        return False
    validators = decorators.field_validators
    modes = [each.info.mode for name, each in validators.items() if not name.startswith(PRESENCE)]
    modes += [each.info.mode for each in decorators.model_validators.values()]
    return any(mode != "after" for mode in modes) or bool(decorators.validators or decorators.root_validators)


def builder(model: type[BaseModel]) -> Callable[[dict[str, Any]], Any]:
    """Return the function that makes an instance of a model from a dict by field names."""
    validate = model.__pydantic_validator__.validate_python
    rename = for_own_init(model)
    if rename is not None:
        return lambda values: validate(rename(values), by_name=True, by_alias=False)
    return lambda values: validate(values, by_name=True, by_alias=False)
