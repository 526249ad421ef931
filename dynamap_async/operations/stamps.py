"""Stamps: the values that a write sets of itself, beyond those of the instance."""

from typing import Any

from pydantic import BaseModel

from dynamap_async.codec import encode_any
from dynamap_async.expressions import Comparison, Condition, Function, Value
from dynamap_async.models import Definition


def stamped(item: BaseModel, definition: Definition[Any]) -> dict[str, Any]:
    """Return field name -> value of what a write of an instance stores in place of the instance's own values.

    The instance gets them after the write was acknowledged, and not before.
    """
    version = definition.version
    return {} if version is None else {version.name: carried_version(item, definition) + 1}


def carried_version(item: BaseModel, definition: Definition[Any]) -> int:
    """Return the version that an instance of a versioned model carries; 0 for an item that was never stored."""
    assert definition.version is not None, f"{definition.model.__name__} has no version"  # noqa: S101 - the callers look
    number: int = getattr(item, definition.version.name)
    return number


def same_version(definition: Definition[Any], expected: int) -> Condition:
    """Return the condition that the stored item has this version; for 0 that there is no item."""
    if expected == 0 or definition.version is None:
        return not_stored(definition)
    return Comparison("=", definition.path(definition.version.name), Value(encode_any(expected)))


def not_stored(definition: Definition[Any]) -> Condition:
    """Return the condition that no item has the key of the one that is written."""
    return Function("attribute_not_exists", definition.path(definition.key_fields()[0].name))


def is_stored(definition: Definition[Any]) -> Condition:
    """Return the condition that an item has the key of the one that is written."""
    return Function("attribute_exists", definition.path(definition.key_fields()[0].name))
