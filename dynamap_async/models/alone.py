"""Alone: what Pydantic validates values with that are no whole instance: of a type, or of some fields of a model."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticUndefined, SchemaValidator

from dynamap_async.models.assigned import UNASSIGNED, assigned_of, present
from dynamap_async.models.computed import declared_template

ModelT = TypeVar("ModelT", bound=BaseModel)


def type_validator(annotation: Any, owner: type[BaseModel]) -> Callable[[Any], Any]:
    """Return what validates values of a type, by the settings of a model."""
    config: Any = {**owner.model_config, "arbitrary_types_allowed": True}
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation, config=config)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise
        adapter = TypeAdapter(annotation)
    return partial(adapter.validator.validate_python, by_name=True)


def fields_schema(owner: type[BaseModel], *names: str) -> tuple[dict[str, Any], Any] | None:
    """Return the schema of some fields alone, with their validators, and their model's settings; None without them.

    Source: https://docs.pydantic.dev/latest/api/pydantic_core_schema/
    """
    schema: Any = owner.__pydantic_core_schema__
    definitions: list[Any] = []
    config: Any = None
    while schema is not None and schema["type"] != "model-fields":
        if schema["type"] == "definitions":
            definitions = schema["definitions"]
        if schema["type"] == "definition-ref":
            schema = next((each for each in definitions if each.get("ref") == schema["schema_ref"]), None)
            continue
        if schema["type"] == "model":
            config = schema.get("config")
        schema = schema.get("schema")
    if schema is None or not schema["fields"].keys() >= {*names}:
        return None
    alone: dict[str, Any] = {
        "type": "model-fields",
        "fields": {name: _by_name(field) for name, field in schema["fields"].items() if name in names},
    }
    return ({"type": "definitions", "schema": alone, "definitions": definitions} if definitions else alone), config


def validator_of_fields(owner: type[BaseModel], names: Iterable[str]) -> SchemaValidator:
    """Return what validates some fields without the rest of their model: field name -> value, in a tuple."""
    found = fields_schema(owner, *names)
    assert found is not None, f"{owner.__name__} has a schema of its own"  # noqa: S101 - declares_all was asked
    schema, config = found
    return SchemaValidator(cast("Any", schema), config)


_LENIENT: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset((*more.split(), "type", "ref", "metadata", "serialization"))
    for kind, more in {
        "any": "",
        "bool": "",
        "bytes": "",
        "date": "",
        "datetime": "microseconds_precision",
        "decimal": "",
        "default": "schema default default_factory default_factory_takes_data validate_default copy_default",
        "definition-ref": "schema_ref",
        "definitions": "schema definitions",
        "dict": "keys_schema values_schema",
        "enum": "cls members sub_type missing",
        "float": "",
        "frozenset": "items_schema",
        "int": "",
        "list": "items_schema",
        "literal": "expected",
        "model": "cls config custom_init generic_origin root_model schema",
        "model-field": "schema validation_alias serialization_alias serialization_exclude frozen",
        "model-fields": "fields model_name computed_fields",
        "none": "",
        "nullable": "schema",
        "set": "items_schema",
        "str": "",
        "time": "microseconds_precision",
        "timedelta": "microseconds_precision",
        "tuple": "items_schema variadic_item_index",
        "union": "choices",
        "uuid": "",
    }.items()
}
"""The types of parts of Pydantic's schemas that run no functions -> what they say that refuses nothing but types."""
_PARTS: Final = ("schema", "keys_schema", "values_schema")
_STRICTER: Final = ("str_", "strict", "allow_inf_nan")
"""How the names of settings begin that make fields refuse more."""


def takes_all(owner: type[BaseModel], name: str) -> bool:
    """Return whether a field refuses nothing but values of wrong types; False where nobody knows."""
    return _holds_of(owner, name, lambda schema: _LENIENT[schema["type"]] >= schema.keys())


def declares_all(owner: type[BaseModel], name: str) -> bool:
    """Return whether a field is validated by what its type declares, and by no function; False where nobody knows.

    Nor does a union of models count, of which a value may be valid as another than it was.
    """
    return _holds_of(owner, name, lambda schema: schema["type"] != "union" or not _has_models(schema))


def _holds_of(owner: type[BaseModel], name: str, test: Callable[[Mapping[str, Any]], bool]) -> bool:
    """Return whether no part of a field's schema runs a function, and a test holds of each."""
    found = fields_schema(owner, name)
    if found is None or _is_stricter(found[1]):
        return False
    return all(part["type"] in _LENIENT and not _is_own(part) and test(part) for part in _parts_of(found[0]))


def _has_models(schema: Mapping[str, Any]) -> bool:
    return any(part["type"] in ("model", "definition-ref") for part in _parts_of(schema))


def _is_own(part: Mapping[str, Any]) -> bool:
    """Return whether a part is a model with settings, or an ``__init__``, that refuse more than its fields do."""
    return bool(part.get("custom_init")) or _is_stricter(part.get("config"))


def _is_stricter(config: Mapping[str, Any] | None) -> bool:
    return any(name.startswith(_STRICTER) for name in config or ())


def _parts_of(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Give a schema and the parts that it consists of."""
    yield schema
    items: Any = schema.get("items_schema", ())
    parts: list[Any] = [
        *[schema[name] for name in _PARTS if name in schema],
        *([items] if "type" in items else items),
        *schema.get("definitions", ()),
        *schema.get("choices", ()),
        *schema.get("fields", {}).values(),
    ]
    for part in parts:
        yield from _parts_of(part if "type" in part else part[0])  # some choices have labels


def validator_of_attributes(owner: type[BaseModel], names: Iterable[str]) -> SchemaValidator:
    """Return what judges some fields of an instance's ``__dict__``, and the nested models in them, in one call.

    Pydantic takes an instance of a nested model for valid. So it is shown the fields of each, by its attributes.

    Args:
        owner: the model.
        names: fields of which ``declares_all`` holds.
    """
    schema, config = fields_schema(owner, *names) or ({}, None)
    return SchemaValidator(_by_attributes(schema), config)


def _by_attributes(schema: Mapping[str, Any]) -> Any:
    changed: dict[str, Any] = {name: _by_attributes(schema[name]) for name in _PARTS if name in schema}
    if "items_schema" in schema:
        items: Any = schema["items_schema"]
        single = "type" in items
        changed["items_schema"] = _by_attributes(items) if single else [_by_attributes(each) for each in items]
    if "definitions" in schema:
        changed["definitions"] = [*map(_by_attributes, schema["definitions"])]
    if "fields" in schema:
        changed["fields"] = {name: _by_attributes(field) for name, field in schema["fields"].items()}
    if schema["type"] != "model":
        return {**schema, **changed}
    return {**changed["schema"], "from_attributes": True, **({"ref": schema["ref"]} if "ref" in schema else {})}


def validator_of_some(model: type[BaseModel], names: Collection[str]) -> SchemaValidator:
    """Return what validates some fields of a model and takes the values of the others as they are.

    It makes a new instance, on which the model's own validators run, but neither its constructor nor what follows that.

    Args:
        model: the class, complete.
        names: the fields that are validated. They are named as in the class, not by their aliases.
    """
    try:
        schema, config = _of_some(model.__pydantic_core_schema__, model, frozenset(names), ())
    except (KeyError, StopIteration):  # a class that makes a schema of its own: all of its fields are validated
        return cast("SchemaValidator", model.__pydantic_validator__)
    return SchemaValidator(schema, config)


def _of_some(
    schema: Any, model: type[BaseModel], names: Collection[str], definitions: Sequence[Any]
) -> tuple[Any, Any]:
    """Return a part of a model's schema so changed, and the model's settings as far as the part has them."""
    kind = schema["type"]
    if kind == "model-fields":
        fields = {
            name: _by_name(field) if name in names else {"type": "model-field", "schema": _anything(model, name)}
            for name, field in schema["fields"].items()
        }
        return {**schema, "fields": fields}, None
    if kind == "definition-ref":
        found = next(each for each in definitions if each.get("ref") == schema["schema_ref"])
        return _of_some(found, model, names, definitions)
    inner, config = _of_some(schema["schema"], model, names, schema.get("definitions", definitions))
    if kind == "model":
        # A function, because Pydantic takes the validator that the class has for any schema of a class.
        function = {"type": "no-info", "function": partial(_made, model)}
        return {"type": "function-after", "function": function, "schema": inner}, schema.get("config")
    return {**{key: value for key, value in schema.items() if key != "ref"}, "schema": inner}, config


def _made(model: type[ModelT], found: tuple[dict[str, Any], dict[str, Any] | None, set[str]]) -> ModelT:
    """Return an instance of what the fields of a model were validated to, as ``model_construct`` makes one."""
    made = model.__new__(model)
    values, extra, fields_set = found
    private = {name: default for name, default in _private_defaults(model) if default is not PydanticUndefined}
    for name, value in (
        ("__dict__", values),
        ("__pydantic_extra__", extra),
        ("__pydantic_fields_set__", fields_set),
        ("__pydantic_private__", private or None),
    ):
        object.__setattr__(made, name, value)
    return made


def _private_defaults(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    return ((name, attribute.get_default()) for name, attribute in model.__private_attributes__.items())


def _by_name(field: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in field.items() if key != "validation_alias"}


def _anything(model: type[BaseModel], name: str) -> dict[str, Any]:
    """Return the schema of a field whose value is taken as it is; a new item may lack those that the library gives."""
    info = model.__pydantic_fields__[name]
    if assigned_of(info) is None and declared_template(info) is None:
        return {"type": "any"}
    function = {"type": "no-info", "function": present}
    schema = {"type": "function-before", "function": function, "schema": {"type": "any"}}
    return {"type": "default", "schema": schema, "default": UNASSIGNED, "validate_default": True}
