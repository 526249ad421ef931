"""The JSON of answers, parsed at one go or piece by piece, with room for others in between. Pure."""

from __future__ import annotations

import gc
import re
from collections.abc import Generator, Iterator
from typing import Any, Final, cast

from dynamap_async.native import NATIVE
from dynamap_async.native.json_text import read_json

_PIECE_BYTES: Final = 32 * 2**10
"""What is parsed in less than 1 ms, whatever it is."""
_PIECE_LEFT_BYTES: Final = 256 * 2**10
"""What is checked in less than 1 ms, where items are left as their JSON."""
_ARRAY: Final = re.compile(rb'"[^"\\]{3,}"\s*:\s*\[')
"""Where an array begins that can hold items. Inside of items the names before arrays are L, SS, NS and BS."""
_BETWEEN_ITEMS: Final = re.compile(rb'\}\s*(,)\s*\{\s*"(?!M")[^"\\]*"\s*:\s*\{')
"""Where one item ends and the next begins: with a name, and the object that is its value. What is nested in a list
begins with its type, and of those only M is followed by an object."""


def leave_items(text: bytes) -> Any:
    """Parse an answer's JSON but leave its items as they are. Return None if that cannot be done."""
    if NATIVE is None:
        return None
    reader = NATIVE.answer_reader(text)
    try:
        reader.read(len(text))
    except ValueError:
        return None
    return reader.answer


def leave_items_in_pieces(text: bytes) -> Generator[None, None, Any]:
    """Parse a large answer as ``leave_items`` does, and yield after less than 1 ms of work each time.

    Yields:
        None: after each piece.
    """
    if NATIVE is None:
        return None
    reader = NATIVE.answer_reader(text)
    try:
        while not reader.read(_PIECE_LEFT_BYTES):
            yield
    except ValueError:
        return None
    return reader.answer


def parse_in_pieces(text: bytes) -> Generator[None, None, Any]:
    """Parse JSON as ``read_json`` does, in less than 1 ms at a time if it is a DynamoDB answer of many items.

    Items are cut out of the arrays that they are in, and what is left is parsed with a number in their place. A piece
    is known to be whole items because it parses as an array; where none is found, the rest is parsed at one go.

    Yields:
        None: after each piece.

    Raises:
        ValueError: it is no JSON.
    """
    arrays: list[list[Any]] = []
    """The items that were cut out of each array; the number that is in their place is the position in this list."""
    left: list[bytes | memoryview] = []
    """What is left of the text."""
    view, kept, array = memoryview(text), 0, _ARRAY.search(text)
    while array is not None:
        items: list[Any] = []
        begin = at = array.end()
        between = _BETWEEN_ITEMS.search(text, at + _PIECE_BYTES)
        while between is not None:
            try:
                items += _loads(b"".join((b"[", view[at : between.start(1)], b"]")))
            except ValueError:
                break
            yield
            at = between.end(1)
            between = _BETWEEN_ITEMS.search(text, at + _PIECE_BYTES)
        if items:
            left += (view[kept:begin], b"%d," % len(arrays))
            arrays.append(items)
            kept = at
        # Between the two there is the end of this array, and perhaps the beginning of the next.
        array = None if between is None else _ARRAY.search(text, at, between.start())
    left.append(view[kept:])
    answer = read_json(b"".join(left))
    return answer if _put_back(arrays, answer) else read_json(text)


def _loads(text: bytes) -> Any:
    """Parse a piece with the garbage collector turned off.

    None of the objects is garbage. Of a page with tens of thousands, the collector's passes over them add up to a
    collection of everything, which holds the event loop for longer than the whole page does.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return read_json(text)
    finally:
        if collects:
            gc.enable()


def _put_back(arrays: list[list[Any]], answer: Any) -> bool:
    """Put items back where they were cut out. Return False if some were not in one of the answer's own arrays."""
    missing = dict(enumerate(arrays))
    for array in _arrays_in(answer):
        if array and type(array[0]) is int and array[0] in missing:
            array[:1] = missing.pop(array[0])
    return not missing


def _arrays_in(value: Any) -> Iterator[list[Any]]:
    """Yield the arrays of an answer, but not those inside of others."""
    if isinstance(value, list):
        yield cast("Any", value)
    elif isinstance(value, dict):
        for each in cast("dict[str, Any]", value).values():
            yield from _arrays_in(each)
