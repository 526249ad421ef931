"""Alone: what Pydantic validates a value with that is no whole instance: a type, or one field of a model."""

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUserError


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
    field: dict[str, Any] = {key: value for key, value in schema["fields"][name].items() if key != "validation_alias"}
    alone: dict[str, Any] = {"type": "model-fields", "fields": {name: field}}
    return ({"type": "definitions", "schema": alone, "definitions": definitions} if definitions else alone), config
