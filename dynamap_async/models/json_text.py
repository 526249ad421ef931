"""Values as the JSON that they are stored as: whole, whatever Pydantic leaves out of what it dumps for others.

Serialisers, ``exclude`` and secrets shape what a program gives out, and have no part in what is stored. Where a type
has any of them, its values are taken apart here; of all others Pydantic's own dump is the value.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from inspect import isclass
from typing import Any, Final, cast

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import to_jsonable_python

from dynamap_async.models.converters import UnstorableTypeError
from dynamap_async.models.own_init import for_own_init
from dynamap_async.models.pydantic_types import Adapter, has_own_schema

_SECRETS: Final = (Secret, SecretStr, SecretBytes)
_WITH_FIELDS: Final = ("model", "dataclass", "typed-dict")
_KEYS_WITHOUT_TEXT: Final = {
    "call": "a named tuple",
    "list": "a list",
    "named-tuple": "a named tuple",
    "none": "None",
    "nullable": "None",
    "tuple": "a tuple",
}
"""Type of a part of a schema -> the values that Pydantic dumps as keys to text which it does not read."""


def json_dump(adapter: Adapter) -> Callable[[Any], Any]:
    """Return what makes JSON-like data of the values of a type, with all that is in them.

    Raises:
        UnstorableTypeError: some of its values would not read back.
    """
    try:
        parts = list(_parts(adapter.schema))
    except PydanticUserError:  # it names a type that does not exist yet, or never
        return adapter.dump
    for part in parts:
        _check(part)
    if not any(map(_hides, parts)):
        return adapter.dump

    def dump(value: Any) -> Any:
        adapter.dump(value)  # it refuses what does not fit the type
        return to_jsonable_python(_whole(value), fallback=_dumped)

    return dump


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Give a schema, and all schemas in it."""
    if isinstance(schema, Mapping):
        part = cast("Mapping[str, Any]", schema)
        yield part
        for name, each in part.items():
            if name not in ("metadata", "serialization"):
                yield from _parts(each)
    elif isinstance(schema, (list, tuple)):
        for each in cast("list[Any]", schema):
            yield from _parts(each)


def _hides(part: Mapping[str, Any]) -> bool:
    """Return whether a dump has less of a part of a schema than its values, or something else."""
    if part.get("serialization_exclude") or "serialization_exclude_if" in part:
        return True
    shaped: Any = part.get("serialization")
    if not isinstance(shaped, dict):
        return False
    found = cast("dict[str, Any]", shaped)
    function = found.get("function")
    of_secret = getattr(function, "__module__", "") == "pydantic.types" and "secret" in str(function)
    return of_secret or bool(found.get("is_field_serializer")) or part.get("type") in _WITH_FIELDS


def _check(part: Mapping[str, Any]) -> None:
    keys = part.get("keys_schema")
    unread = None if keys is None else _without_text(keys)
    if unread is not None:
        raise UnstorableTypeError(
            f"a JSON object has text keys, and {unread} as a key has no text form that can be read back; use str, "
            "int, UUID, date or an enum as keys of the dict, or a StoredForm of your own"
        )
    model = part.get("cls")
    if isclass(model) and issubclass(model, BaseModel) and for_own_init(model) is not None:
        raise UnstorableTypeError(
            f"{model.__name__} has its own __init__, which does not accept the names that the JSON is stored with; "
            f"write model_config = ConfigDict(validate_by_name=True) in {model.__name__}"
        )


def _without_text(schema: Any) -> str | None:
    """Return which values of a schema have no text that reads back; None if all have."""
    if schema.get("type") in _KEYS_WITHOUT_TEXT:
        return _KEYS_WITHOUT_TEXT[schema["type"]]
    inner = [schema["schema"]] if isinstance(schema.get("schema"), dict) else schema.get("choices", ())
    found = (_without_text(each) for each in inner if isinstance(each, dict))
    return next((each for each in found if each is not None), None)


def _whole(value: Any) -> Any:
    """Return a value with all that is in it as dicts and lists, secrets revealed."""
    if isinstance(value, _SECRETS):
        return _whole(cast("Secret[Any]", value).get_secret_value())
    match value:
        case {**members}:
            return {_whole(key): _whole(member) for key, member in members.items()}
        case list() | tuple() | set() | frozenset() | deque():
            return [_whole(each) for each in cast("list[Any]", value)]
        case _:
            return _whole_of_class(value)


def _whole_of_class(value: Any) -> Any:
    if has_own_schema(type(value), ()):
        return value
    if isinstance(value, BaseModel):
        if value.__pydantic_root_model__:
            return _whole(cast("Any", value).root)
        fields = {name: value.__dict__[name] for name in type(value).model_fields if name in value.__dict__}
        return _whole({**fields, **(value.__pydantic_extra__ or {})})
    if dataclasses.is_dataclass(value):
        return {each.name: _whole(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return value


def _dumped(value: Any) -> Any:
    """Return a value of a type that JSON does not know, as its own type dumps it."""
    kind: Any = value.__class__
    try:
        return TypeAdapter(kind).dump_python(value, mode="json")
    except PydanticUserError as error:
        raise ValueError(error.message) from error
