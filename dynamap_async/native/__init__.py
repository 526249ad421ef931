"""The native codec: DynamoDB's JSON to Python values and back in one pass, where it was built; see docs/decisions/0024.

Everything works without it. The converters of ``codec`` are the reference, and what is unusual is left to them.
"""

from __future__ import annotations  # _codec, which they name, may not be there

import os
from abc import ABCMeta
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from dynamap_async.wire import WireItem

if TYPE_CHECKING:
    from dynamap_async.native import _codec

VARIABLE: Final = "DYNAMAP_NATIVE_CODEC"
"""The environment variable that turns the native codec off: with the value 0, where the library is imported."""


class Native(NamedTuple):
    """What the extension has; ``_codec.pyi`` describes it."""

    answer_reader: type[_codec.AnswerReader]
    item_decoder: type[_codec.ItemDecoder]
    item_encoder: type[_codec.ItemEncoder]
    json_item: type[_codec.JsonItem]
    write_json: Callable[[type[Any], object], bytes]


def _load() -> Native | None:
    if os.environ.get(VARIABLE) == "0":
        return None
    try:
        from dynamap_async.native import _codec
    except ImportError:  # it was not built, or is another Python's
        return None
    cast("ABCMeta", Mapping).register(_codec.JsonItem)
    types = (_codec.AnswerReader, _codec.ItemDecoder, _codec.ItemEncoder, _codec.JsonItem)
    return Native(*types, _codec.write_json)


NATIVE: Final = _load()
"""What it has; None where it was not built, or is turned off."""

ACTIVE: Final = NATIVE is not None
"""Whether the native codec is in use."""

CODEC: Final = "the native codec" if ACTIVE else "the codec in Python"
"""What the codec in use is called."""


class _NoItem:
    """The type of no item."""


JSON_ITEM: Final[type[Any]] = _NoItem if NATIVE is None else NATIVE.json_item
"""The type of items that are still their JSON."""


def plain(item: Any) -> WireItem:
    """Return an item in wire form, also of an answer that has left it as its JSON; the same dict each time."""
    wire: WireItem = item.wire() if type(item) is JSON_ITEM else item
    return wire
