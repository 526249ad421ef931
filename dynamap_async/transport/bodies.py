"""The text of a request's body. Items that carry their JSON are not written a second time."""

from typing import Any, cast

import orjson

from dynamap_async.wire import Body, EncodedItem


def body_text(body: Body) -> bytes:
    """Return the JSON of a body."""
    return orjson.dumps(body, _unusual, orjson.OPT_PASSTHROUGH_SUBCLASS)


def _unusual(value: object) -> object:
    """Return what stands for an object that is of none of JSON's own types: with the option also for subclasses."""
    if isinstance(value, EncodedItem):
        return orjson.Fragment(value.json)
    if isinstance(value, str):
        return str.__str__(value)
    for kind in (int, list, dict):
        if isinstance(value, kind):
            return cast("Any", kind)(value)
    raise TypeError(f"{type(value).__name__} has no JSON")
