"""Instances: giving a model instance values that the store knows, without validating them again."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


def give(item: BaseModel, values: Mapping[str, Any]) -> None:
    """Set fields of an instance, of a frozen one too: field name -> value, each of the field's own type."""
    item.__dict__.update(values)
    item.__pydantic_fields_set__.update(values)
