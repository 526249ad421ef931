"""Part decoding: values of which something is not as expected, each of their parts alone.

A part whose content is not as expected is given plain, for Pydantic to judge; one that is stored as another type is
refused, with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, repeat
from typing import Any, Final

from dynamap_async.codec.anything import anything
from dynamap_async.codec.converter import DECODE_ERRORS, Converter, Decode
from dynamap_async.codec.map_keys import MapKey
from dynamap_async.errors import DecodeError

_ANYTHING: Final = anything()


def list_parts(members: Iterable[Converter]) -> Decode:
    """Return what decodes each element of a list alone.

    Args:
        members: the converter of each element; elements after the last one are given plain.
    """

    def decode(value: Any) -> list[Any]:
        elements: list[Any] = []
        try:
            for member, element in zip(chain(members, repeat(_ANYTHING)), value["L"], strict=False):
                elements.append(member.decode_or_plain(element))
        except DecodeError as error:
            raise error.at(len(elements)) from error.__cause__
        return elements

    return decode


def set_parts(member: Converter, pair: tuple[str, str] | None) -> Decode:
    """Return what decodes each member of a set alone, to a list.

    Args:
        member: the converter of the members.
        pair: the stored types of a member and of the set; None where it is stored as a list.
    """
    parts = list_parts(repeat(member))

    def decode(value: Any) -> Any:
        if pair is None or "L" in value:
            return parts(value)
        elements: Any = [{pair[0]: content} for content in value[pair[1]]]
        return parts({"L": elements})

    return decode


def map_parts(key: MapKey, member: Converter, label: str) -> Decode:
    """Return what decodes each key and each value of a map alone.

    Args:
        key: how the keys are written as text.
        member: the converter of the values.
        label: the Python type, for messages.
    """

    def decode(value: Any) -> dict[Any, Any]:
        members: dict[Any, Any] = {}
        for name, stored in value["M"].items():
            try:
                read = key.decode(name)
            except DECODE_ERRORS:
                raise DecodeError(f"{name!r} is not a key of {label}") from None
            try:
                members[read] = member.decode_or_plain(stored)
            except DecodeError as error:
                raise error.at(name) from error.__cause__
        return with_all(members, value["M"], label)

    return decode


def with_all(members: dict[Any, Any], stored: Mapping[str, Any], label: str) -> dict[Any, Any]:
    """Return decoded members; raises DecodeError where two keys were taken for the same."""
    if len(members) != len(stored):
        raise DecodeError(f"two stored keys are read as the same key of {label}")
    return members
