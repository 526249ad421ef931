"""Instances in DynamoDB's JSON, for other programs."""

from __future__ import annotations

from dynamap_async.errors import OperationError
from dynamap_async.models.model import Model, definition_of
from dynamap_async.wire import WireItem


def to_wire(item: Model, /) -> WireItem:
    """Return an instance as ``put`` would store it, in DynamoDB's JSON: ``{"id": {"S": "a"}, "likes": {"N": "7"}}``.

    Binary data is base64 text, as in events of AWS Lambda and exports to S3. Nothing is sent; hooks do not run, and
    versions, numbers and times that a session gives are as the instance has them. ``Model.from_wire`` is the way back.

    Args:
        item: an instance of a model.

    Raises:
        EncodeError: a value cannot be stored, or a key is empty or too long.
        ItemTooLargeError: the item is over 400 KB.
        OperationError: it is no instance of a model, or was read from a part of its item.
    """
    given: object = item
    if not isinstance(given, Model):
        raise OperationError(f"to_wire({given!r}) takes an instance of a model")
    definition = definition_of(type(item))
    definition.validation.before_put(item, "written")
    return definition.items.encode(item)
