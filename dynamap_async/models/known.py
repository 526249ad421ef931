"""What is known of the stored item of an instance, worked out from its remembered state."""

from collections.abc import Sequence
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from dynamap_async.errors import DecodeError
from dynamap_async.models.definition import Definition
from dynamap_async.models.differences import Changes, Known, difference
from dynamap_async.models.state import present, state_of
from dynamap_async.wire import WireItem


def changes(item: BaseModel, definition: Definition[Any], new: WireItem | None = None) -> Changes:
    """Return what has to change in the stored item for it to be as the instance is; nothing that is as it was.

    Args:
        item: an instance that is remembered.
        definition: its model.
        new: its wire form; None encodes it.

    Raises:
        EncodeError: a value cannot be stored.
    """
    return difference(known(item, definition), definition.items.encode(item) if new is None else new)


def known(item: BaseModel, definition: Definition[Any]) -> Known:
    """Return what is known of the stored item of an instance that is remembered."""
    codec = definition.items
    values, parts = state_of(item)
    if isinstance(values, bytes):
        raw: WireItem = orjson.loads(values)
        try:
            # What the store gives back, given to the model again: the instance as it was.
            before = codec.validated(codec.values(raw))
            return Known({**codec.encode_values(before.__dict__), **codec.encode_extras(before)}, raw)
        except (ValidationError, DecodeError):  # of another version of the model, before it was pickled
            return Known(raw, raw)
    return _known_of_parts(definition, values, parts or ())


def _known_of_parts(definition: Definition[Any], values: Sequence[Any], parts: Sequence[Any]) -> Known:
    codec = definition.items
    snapshots = codec.snapshots
    fixed = present(snapshots.fixed, values)
    own = present(snapshots.own, parts[: len(snapshots.own)])
    shared = present([field.stored for field in snapshots.shared], parts[len(snapshots.own) :])
    names = {*snapshots.own, *(field.name for field in snapshots.shared)}
    if not names:
        return Known(codec.encode_values(fixed), {})
    try:
        before = codec.validated({**codec.values(shared), **fixed, **own})
    except (ValidationError, DecodeError):  # the model's validators take no valid instance: all parts count as changed
        return Known(codec.encode_values(fixed), shared)
    held = {name: value for name, value in before.__dict__.items() if name in names}
    return Known(codec.encode_values({**fixed, **held}), shared)
