"""Whether making instances of a model runs code of the program: its validators, factories and stored forms.

Such code may look at the context of the task that it runs in, such as the current user. Instances whose making runs
none of it can be made in any task.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel

from dynamap_async.codec import EPOCH_MILLISECONDS, EPOCH_SECONDS, JSON_TEXT
from dynamap_async.models.markers import stored_form

_OUR_FORMS: Final = (None, EPOCH_SECONDS, EPOCH_MILLISECONDS, JSON_TEXT)
_PLAIN_FACTORIES: Final = (list, dict, set, frozenset, tuple)
_NAMES_OF_CLASSES: Final = ("cls", "generic_origin")
_KNOWN_CODE: Final = ("dynamap_async.", "pydantic._internal._validators")
_NOT_FOR_VALIDATION: Final = frozenset(("serialization", "metadata", "computed_fields"))
_KNOWN_TYPES: Final = frozenset(
    (
        "any",
        "bool",
        "bytes",
        "date",
        "datetime",
        "decimal",
        "default",
        "definition-ref",
        "definitions",
        "dict",
        "enum",
        "float",
        "frozenset",
        "function-after",
        "function-before",
        "function-plain",
        "function-wrap",
        "int",
        "json-or-python",
        "lax-or-strict",
        "list",
        "literal",
        "model",
        "model-field",
        "model-fields",
        "no-info",
        "none",
        "nullable",
        "set",
        "str",
        "tagged-union",
        "time",
        "timedelta",
        "tuple",
        "union",
        "uuid",
        "with-info",
    )
)
"""The types of parts of Pydantic's schemas of which it is known where they keep functions."""


def runs_own_code(model: type[BaseModel]) -> bool:
    """Return whether making an instance of a stored item may run code of the program; true where nobody knows."""
    schema: Any = model.__pydantic_core_schema__
    return not (isinstance(schema, dict) and _is_plain(cast("dict[str, Any]", schema)))


def _is_plain(part: Any, name: str = "") -> bool:
    """Return whether a part of a schema that has a name holds nothing of the program but data and models."""
    if isinstance(part, Mapping):
        return _is_plain_schema(cast("Mapping[str, Any]", part))
    if isinstance(part, (list, tuple)):
        return all(_is_plain(each, name) for each in cast("list[Any]", part))
    if not callable(part):
        return True
    if isinstance(part, type):
        return name in _NAMES_OF_CLASSES or (name == "default_factory" and part in _PLAIN_FACTORIES)
    return str(getattr(part, "__module__", "")).startswith(_KNOWN_CODE)


def _is_plain_schema(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in _KNOWN_TYPES:
        return False
    if kind == "model" and not _is_plain_model(schema):
        return False
    if kind == "enum" and getattr(schema["cls"], "_missing_").__module__ != "enum":  # noqa: B009 - a private name
        return False
    return all(_is_plain(part, name) for name, part in schema.items() if name not in _NOT_FOR_VALIDATION)


def _is_plain_model(schema: Mapping[str, Any]) -> bool:
    model: type[BaseModel] = schema["cls"]
    forms = [stored_form(info) for info in model.__pydantic_fields__.values()]
    return not (schema.get("custom_init") or schema.get("post_init")) and all(form in _OUR_FORMS for form in forms)
