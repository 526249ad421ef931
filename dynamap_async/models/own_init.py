"""Models with an ``__init__`` of their own: Pydantic hands it the values, and it validates them once more.

What it is called with are the names of the constructor, which are aliases where fields have them: ``by_name`` says
nothing to the validation that it begins. So what is nested in such a model is decoded exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from dynamap_async.models.settings import fault

Rename: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Values by field names -> the same, by the names that the model's own ``__init__`` takes."""


def for_own_init(model: type[BaseModel]) -> Rename | None:
    """Return what renames decoded values for a model's own ``__init__``; None where they have the names that it takes.

    Raises:
        ModelDefinitionError: it takes a field by no name at all.
    """
    config = model.model_config
    if not model.__pydantic_custom_init__ or config.get("validate_by_name") or config.get("populate_by_name"):
        return None
    names = {
        name: _argument(model, name, info)
        for name, info in model.__pydantic_fields__.items()
        if info.validation_alias is not None
    }
    if not names:
        return None
    return lambda values: {names.get(name, name): value for name, value in values.items()}


def _argument(model: type[BaseModel], name: str, info: FieldInfo) -> str:
    alias = info.validation_alias
    for each in alias.choices if isinstance(alias, AliasChoices) else (alias,):
        if isinstance(each, str):
            return each
    raise fault(
        model.__name__,
        f"has the alias {alias!r}, which the __init__ of {model.__name__} does not accept; write model_config = "
        "ConfigDict(validate_by_name=True)",
        name,
    )
