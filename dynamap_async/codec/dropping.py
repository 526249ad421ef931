"""Dropping: nested values without those of their sets that are empty, so that updates can add members to them.

DynamoDB stores no empty sets, and adds members to a set or to nothing, but never to the list that stands for an empty
one elsewhere.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from dynamap_async.wire import AttributeValue

EMPTY_SET: Final[AttributeValue] = {"L": []}
"""What stands for an empty set where it is not left out. What is encoded gets one of its own, which may be changed."""


def without_empty(
    encode_all: Callable[[Any], AttributeValue], dropped: Sequence[str]
) -> Callable[[Any], AttributeValue]:
    """Return the encoder of a nested value that leaves out empty sets.

    Args:
        encode_all: encodes the value with all of its members.
        dropped: the stored names of the members.
    """

    def encode(value: Any) -> AttributeValue:
        stored = encode_all(value)
        members: Any = stored.get("M", {})
        for name in dropped:
            if members.get(name) == EMPTY_SET:
                del members[name]
        return stored

    return encode


def or_nothing(encode_set: Callable[[Any], AttributeValue]) -> Callable[[Any], AttributeValue | None]:
    """Return the encoder of a set that gives None for an empty one."""

    def encode(value: Any) -> AttributeValue | None:
        stored = encode_set(value)
        return None if stored == EMPTY_SET else stored

    return encode
