"""How many bytes DynamoDB counts for values and items, and the limits on them. No I/O, one pass, no decoding.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from dynamap_async.codec.encode_errors import abbreviate
from dynamap_async.codec.numbers import number_text
from dynamap_async.errors import EncodeError, ItemTooLargeError
from dynamap_async.limits import (
    ATTRIBUTE_NAME_BYTES,
    ITEM_SIZE_BYTES,
    NESTING_LEVELS,
    PARTITION_KEY_BYTES,
    SORT_KEY_BYTES,
)
from dynamap_async.native.json_text import write_json
from dynamap_async.wire import AttributeValue

KeyRole: TypeAlias = Literal["partition", "sort"]

_CONTAINER_BYTES: Final = 3
_ELEMENT_BYTES: Final = 1
_UNLIMITED_LEVELS: Final = 10**6
_LARGEST_SHOWN: Final = 3


def number_size(text: str) -> int:
    """Return the size in bytes of a stored number.

    One byte, one for every two significant digits begun before the point and after it, and one for a minus sign.
    The guide says "approximately"; this formula fits every size that was measured at the service.

    Args:
        text: canonical number text; exponents are understood too.
    """
    if text.isdigit() and text[0] != "0" and text[-1] != "0":
        return 1 + (len(text) + 1) // 2
    if "e" in text or "E" in text:
        text = number_text(Decimal(text))
    whole, _, fraction = text.partition(".")
    whole = whole.lstrip("-+0")
    fraction = fraction.rstrip("0")
    if not fraction:
        whole = whole.rstrip("0")
        if not whole:
            return 1
    elif not whole:
        fraction = fraction.lstrip("0")
    return 1 + (len(whole) + 1) // 2 + (len(fraction) + 1) // 2 + (text[0] == "-")


def binary_size(text: str) -> int:
    """Return how many bytes a base64 text stands for, without decoding it."""
    return len(text) // 4 * 3 - text[-2:].count("=")


def text_size(text: str) -> int:
    """Return the length of a text in UTF-8.

    Raises:
        EncodeError: the text holds half of a surrogate pair, which UTF-8 cannot.
    """
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise EncodeError(f"the text {abbreviate(text)} is not valid Unicode; store it as bytes") from error


def item_size(item: Mapping[str, AttributeValue]) -> int:
    """Return the size in bytes of an item: names and values, as capacity units and the 400 KB limit count them."""
    return sum(text_size(name) + value_size(value) for name, value in item.items())


def check_item(item: Mapping[str, AttributeValue], model: str | None = None) -> int:
    """Return the size in bytes of an item that DynamoDB would accept.

    Args:
        item: stored name -> attribute value.
        model: name of the model class, for messages.

    Raises:
        ItemTooLargeError: the item is over 409,600 bytes.
        EncodeError: a value is nested more than 32 levels deep, a name is empty or too long, or text is not Unicode.
    """
    total = 0
    for name, value in item.items():
        try:
            length = len(name) if name.isascii() else text_size(name)
            total += length + value_size(value, NESTING_LEVELS)
        except EncodeError as error:
            raise error.at(name, model=model) from error.__cause__
        if not 0 < length <= ATTRIBUTE_NAME_BYTES:
            message = f"attribute name {abbreviate(name)} has {length:,} bytes; use 1 to {ATTRIBUTE_NAME_BYTES:,}"
            raise EncodeError(message, model=model)
    if total > ITEM_SIZE_BYTES:
        raise _too_large(item, total, model)
    return total


def item_json(item: Mapping[str, AttributeValue], model: str | None = None, *, shallow: bool = False) -> bytes:
    """Return the JSON of an item that DynamoDB would accept; errors are those of ``check_item``.

    It is a tenth of the work of looking at every value, and is of use later (benchmarks: encode, put_one).

    Args:
        item: stored name -> attribute value.
        model: name of the model class, for messages.
        shallow: whether its values cannot be nested too deep.
    """
    try:
        text = write_json(item)
    except TypeError:  # text that is not Unicode, or too many levels
        check_item(item, model)
        raise
    # JSON is never shorter than what DynamoDB counts, and each level of it begins with a brace.
    long = len(text) > ATTRIBUTE_NAME_BYTES and (len(text) > ITEM_SIZE_BYTES or _may_have_long_name(text))
    if long or "" in item or not (shallow or text.count(b"{") <= NESTING_LEVELS or _is_shallow(text)):
        check_item(item, model)
    return text


def _is_shallow(text: bytes) -> bool:
    return text.count(b'{"L":[') + text.count(b'{"M":{') < NESTING_LEVELS


def _may_have_long_name(text: bytes) -> bool:
    """Return whether something between two quotes of JSON may be longer than a name may be.

    What is longer covers one of the steps; an escaped quote in it would hide that.
    """
    step = ATTRIBUTE_NAME_BYTES // 2
    return b"\\" in text or any(text.find(b'"', at, at + step) < 0 for at in range(0, len(text) - step + 1, step))


def check_key_value(value: AttributeValue, role: KeyRole) -> None:
    """Refuse a value that cannot be the value of a key attribute, of a table or of an index.

    Args:
        value: the attribute value.
        role: which part of the key it is: a partition key has up to 2,048 bytes, a sort key up to 1,024.

    Raises:
        EncodeError: the value is empty or too long, or neither text, number nor binary.
    """
    if "S" in value:
        size = text_size(value["S"])
    elif "B" in value:
        size = binary_size(value["B"])
    elif "N" in value:
        return
    else:
        raise EncodeError(f"a {role} key must be text, a number or binary data, not type {'/'.join(value)}")
    limit = PARTITION_KEY_BYTES if role == "partition" else SORT_KEY_BYTES
    if not size:
        raise EncodeError(f"a {role} key cannot be empty; give it at least 1 byte")
    if size > limit:
        raise EncodeError(f"a {role} key may have {limit:,} bytes, and this one has {size:,}; shorten or hash it")


def value_size(value: AttributeValue, levels: int = _UNLIMITED_LEVELS) -> int:
    """Return the size in bytes of an attribute value, without its name.

    Args:
        value: the value.
        levels: how deep it may be nested.

    Raises:
        EncodeError: it is nested deeper, or has text that is not Unicode, or a name in a map that is too long.
    """
    if not levels:
        raise EncodeError(
            f"the value is nested more than {NESTING_LEVELS} levels deep; flatten it, or store it as JSON text"
        )
    content: Any
    [(tag, content)] = value.items()
    if tag == "S":
        return len(content) if content.isascii() else text_size(content)
    if tag == "N":
        return number_size(content)
    if tag == "M":
        size = _CONTAINER_BYTES
        for name, member in content.items():
            length = len(name) if name.isascii() else text_size(name)
            if length > ATTRIBUTE_NAME_BYTES:
                raise EncodeError(
                    f"the map key {abbreviate(name)} has {length:,} bytes; use at most {ATTRIBUTE_NAME_BYTES:,}"
                )
            size += length + _ELEMENT_BYTES + value_size(member, levels - 1)
        return size
    if tag == "L":
        size = _CONTAINER_BYTES + len(content) * _ELEMENT_BYTES
        return size + sum(value_size(element, levels - 1) for element in content)
    return _flat_size(tag, content)


def check_value(value: AttributeValue) -> None:
    """Refuse an attribute value that DynamoDB cannot have; errors are those of ``value_size``."""
    if not ("N" in value or ("S" in value and value["S"].isascii())):  # as most are (benchmarks: render)
        value_size(value, NESTING_LEVELS)


def _flat_size(tag: str, content: Any) -> int:
    match tag:
        case "BOOL" | "NULL":
            return 1
        case "B":
            return binary_size(content)
        case "SS":
            return sum(map(text_size, content))
        case "NS":
            return sum(map(number_size, content))
        case "BS":
            return sum(map(binary_size, content))
        case _:
            raise EncodeError(f"{tag!r} is not one of DynamoDB's types")


def _too_large(item: Mapping[str, AttributeValue], total: int, model: str | None) -> ItemTooLargeError:
    sizes = sorted(((text_size(name) + value_size(value), name) for name, value in item.items()), reverse=True)
    largest = ", ".join(f"{name[:80]} ({size:,})" for size, name in sizes[:_LARGEST_SHOWN])
    message = (
        f"item has {total:,} bytes, DynamoDB stores at most {ITEM_SIZE_BYTES:,}; its largest attributes are {largest}; "
        "split the item, compress them, or keep them in S3"
    )
    return ItemTooLargeError(
        f"{model}: {message}" if model else message, size_bytes=total, limit_bytes=ITEM_SIZE_BYTES, model=model
    )
