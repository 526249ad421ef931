"""Stamps: the values that a write sets of itself, beyond those of the instance."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel

from dynamap_async.codec import encode_any
from dynamap_async.expressions import Comparison, Condition, Value
from dynamap_async.models import Definition, has_value
from dynamap_async.planning import not_stored


def stamped(item: BaseModel, definition: Definition[Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return field name -> value of what a write of an instance stores in place of the instance's own values.

    The instance gets them after the write was acknowledged, and not before.

    Args:
        item: the instance.
        definition: its model.
        given: field name -> value of what else the write stores.

    Raises:
        EncodeError: a function of the model gave a value that does not fit its field.
    """
    version = definition.version
    stamps = {} if version is None else {version.name: carried_version(item, definition) + 1}
    for field in definition.assigned:
        if field.assigned is None or field.maker is None:
            continue
        make = field.assigned.on_update or (None if has_value(item, field.name) else field.assigned.on_create)
        if make is not None:
            stamps[field.name] = field.maker.made(make)
    stamps.update(given or {})
    if definition.computed is not None and stamps:
        stamps.update(definition.computed.after({**item.__dict__, **stamps}, stamps))
    return stamps


def touched(definition: Definition[Any], given: Collection[str] = ()) -> dict[str, Any]:
    """Return field name -> value of what an update sets of itself: the values of ``on_update``.

    Args:
        definition: the model.
        given: names of the fields that the update itself sets or removes.

    Raises:
        EncodeError: a function of the model gave a value that does not fit its field.
    """
    return {
        field.name: field.maker.made(field.assigned.on_update)
        for field in definition.assigned
        if field.assigned and field.maker and field.assigned.on_update and field.name not in given
    }


def begun(definition: Definition[Any], given: Collection[str] = ()) -> dict[str, Any]:
    """Return field name -> value of what an item gets that an update creates: the values of ``on_create``.

    An upsert stores them by ``if_not_exists``, so that an item that exists keeps its own.

    Args:
        definition: the model.
        given: names of the fields that the update itself sets or removes, and of the key's.

    Raises:
        EncodeError: a function of the model gave a value that does not fit its field.
    """
    return {
        field.name: field.maker.made(field.assigned.on_create)
        for field in definition.assigned
        if field.assigned and field.maker and field.assigned.on_create and field.name not in given
    }


def carried_version(item: BaseModel, definition: Definition[Any]) -> int:
    """Return the version that an instance of a versioned model carries; 0 for an item that was never stored.

    Args:
        item: the instance.
        definition: the model.
    """
    assert definition.version is not None, f"{definition.model.__name__} has no version"  # noqa: S101 - the callers look
    number: int = getattr(item, definition.version.name)
    return number


def same_version(definition: Definition[Any], expected: int, now: int | None = None) -> Condition:
    """Return the condition that the stored item has this version; for 0 that there is no item: see ``not_stored``.

    Args:
        definition: the model.
        expected: the version; 0 for no item.
        now: the time in epoch seconds, by which expired items count as absent; None where they count.
    """
    if expected == 0 or definition.version is None:
        return not_stored(definition, now)
    return Comparison("=", definition.path(definition.version.name), Value(encode_any(expected)))
