"""Conditions that an item with the key is stored, or is not."""

from typing import Any

from dynamap_async.expressions import Condition, Function
from dynamap_async.models import Definition
from dynamap_async.planning.expiry import expired


def not_stored(definition: Definition[Any], now: int | None = None) -> Condition:
    """Return the condition that no item has the key of the one that is written.

    Args:
        definition: the model.
        now: the time of day in epoch seconds, by which an expired item counts as none where the model hides them.
    """
    absent = Function("attribute_not_exists", definition.path(definition.key_fields()[0].name))
    gone = None if now is None else expired(definition, now)
    return absent if gone is None else absent | gone


def is_stored(definition: Definition[Any]) -> Condition:
    """Return the condition that an item has the key of the one that is written."""
    return definition.is_stored
