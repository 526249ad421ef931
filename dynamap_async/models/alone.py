"""Alone: what Pydantic validates values with that are no whole instance: of a type, or of some fields of a model."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

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


def field_schema(owner: type[BaseModel], name: str) -> tuple[dict[str, Any], Any] | None:
    """Return the schema of one field alone, with its validators, and its model's settings; None if it is not found.

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
    if schema is None or name not in schema["fields"]:
        return None
    # By the field's name: aliases are for JSON, not for programs.
    alone: dict[str, Any] = {"type": "model-fields", "fields": {name: _by_name(schema["fields"][name])}}
    return ({"type": "definitions", "schema": alone, "definitions": definitions} if definitions else alone), config


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
