"""Cursors: opaque text that says where a page ended, bound to its query and signed when the session has a secret.

The sort conditions of the next page may have other values than when a cursor was made. DynamoDB refuses a position
outside of the range that they select, so the side of the range on which a position lies is found here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import operator
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from dynamap_async.codec import KeyRole, check_key_value, number_text, order_key
from dynamap_async.errors import CursorError, OperationError
from dynamap_async.expressions import Between, Comparison, Condition, Function, Path, Value, shape_of
from dynamap_async.models import definition_of
from dynamap_async.native.json_text import read_json, write_json
from dynamap_async.planning.plan import Plan, Route, partition_of
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.request import Positions
from dynamap_async.schema import KeyAttribute, KeySchema
from dynamap_async.wire import AttributeValue, WireKey

_VERSION: Final = 1
_DIGEST_BYTES: Final = 16
_LONG_BYTES: Final = 512
"""From this size on, what a cursor holds is compressed: the positions of many parts repeat their attributes' names."""


class _CursorSize(NamedTuple):
    """The largest cursor that is accepted, so that decoding a forged one costs next to nothing."""

    length: int
    """The most characters of the text."""
    inflated: int
    """The most bytes after decompression. Positions are much alike, so that this can be many times the text."""
    remedy: str = ""
    """The remedy if the positions take more."""


_POSITION: Final = _CursorSize(16 * 2**10, 64 * 2**10)
"""For one position, whatever its key; most take a hundredth of it."""
_POSITIONS: Final = _CursorSize(
    4 * 2**10, 64 * 2**10, "ask for fewer partitions at a time, or read it with `async for`, which needs no cursor"
)
"""For the positions of several queries."""
_CHECKPOINT: Final = _CursorSize(256 * 2**10, 2**20, "scan in fewer segments")
"""For a checkpoint: 64 positions, each with the longest key of a table. The program itself keeps it, no client."""


def encode_cursor(position: WireKey, binding: str, secret: bytes | None) -> str:
    """Return the text of a cursor.

    Args:
        position: the key attributes, of table and index, of the last item that was given out.
        binding: what identifies the query; a cursor of another query is refused.
        secret: signs the cursor; without one it is protected against mistakes only, not against forgery.
    """
    return _text_of(_body(position), binding, secret)


def decode_cursor(cursor: str, binding: str, secret: bytes | None, *, keys: Sequence[KeySchema]) -> WireKey:
    """Return the position that a cursor holds.

    Args:
        keys: the keys of the table and of the index that is read.

    Raises:
        CursorError: the text is not a cursor of this query and this secret.
    """
    position = _verified(cursor, binding, secret, _POSITION)
    # Without a secret the digest is no proof, so the form is checked as well.
    if not is_position(position, keys):
        raise foreign_cursor_error()
    return cast("WireKey", position)


def encode_positions(
    positions: Positions, total: int, binding: str, secret: bytes | None, *, checkpoint: bool = False
) -> str:
    """Return the cursor of a read in several parts.

    Args:
        total: how many parts there are.
        checkpoint: whether it is the checkpoint of a scan, which may be longer than the cursor of a page.

    Raises:
        OperationError: it would be longer than 4 KB, or a checkpoint longer than 256 KB.
    """
    at = {str(number): position for number, position in positions.at.items()}
    body = _body({"total": total, "begun": positions.begun, "at": at})
    text, limits = _text_of(body, binding, secret), _CHECKPOINT if checkpoint else _POSITIONS
    if len(text) > limits.length or len(body) > limits.inflated:
        raise OperationError(
            f"the {len(at)} positions would take {len(body):,} bytes, and {len(text):,} of text; a "
            f"{'checkpoint' if checkpoint else 'cursor'} has at most {limits.inflated:,} and {limits.length:,}; "
            f"{limits.remedy}"
        )
    return text


def decode_positions(
    cursor: str,
    binding: str,
    secret: bytes | None,
    *,
    total: int,
    keys: Sequence[KeySchema],
    known: Collection[str] = (),
    checkpoint: bool = False,
) -> Positions:
    """Return the positions that the cursor of a read in several parts holds.

    Args:
        total: how many parts there are.
        keys: the keys of the table and of the index that is read.
        known: the key attributes that positions lack, because the query itself tells them.

    Raises:
        CursorError: the text is not of this read in this many parts, or not of this secret.
    """
    state = _verified(cursor, binding, secret, _CHECKPOINT if checkpoint else _POSITIONS)
    try:
        # Without a secret anybody can write this text, so every part of it is checked before it is used.
        found, begun = state["total"], operator.index(state["begun"])
        at = {int(number): position for number, position in state["at"].items()}
        fits = all(
            number in range(begun) and (position is None or is_position(position, keys, known))
            for number, position in at.items()
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise foreign_cursor_error() from None
    if found != total:
        raise CursorError(f"the checkpoint has {found} segments, and the scan has {total}; write .segments({found})")
    if not fits or begun not in range(total + 1):
        raise foreign_cursor_error()
    return Positions(begun, at)


def _body(value: object) -> bytes:
    return write_json([_VERSION, value])


def _text_of(body: bytes, binding: str, secret: bytes | None) -> str:
    if len(body) >= _LONG_BYTES:
        body = zlib.compress(body, 9)
    return _text(_digest(body, binding, secret) + body)


def _verified(cursor: object, binding: str, secret: bytes | None, limits: _CursorSize) -> dict[str, Any]:
    digest, body = _split_cursor(cursor, limits.length)
    # Before anything is inflated or parsed: whatever a stranger sends costs no more than its digest.
    if not hmac.compare_digest(digest, _digest(body, binding, secret)):
        raise foreign_cursor_error()
    version, value = _parsed(body, limits.inflated)
    if version != _VERSION:
        raise CursorError(
            f"the cursor has version {version}, and this library reads version {_VERSION}; start again without it"
        )
    return value


def foreign_cursor_error() -> CursorError:
    """Return the error of a cursor that belongs to another query."""
    return CursorError(
        "the cursor is damaged, or belongs to another query (table, index, direction, partition key or kind of "
        "conditions), or was signed with another cursor_secret; start again without it"
    )


def _damaged_cursor_error() -> CursorError:
    return CursorError("the cursor is damaged, or was not made by this library; start again without it")


def _split_cursor(cursor: object, longest: int) -> tuple[bytes, bytes]:
    if not isinstance(cursor, str) or len(cursor) > longest:
        raise _damaged_cursor_error()
    try:
        raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise _damaged_cursor_error() from None
    # One text for one position: no padding, no stray bits.
    if _text(raw) != cursor or len(raw) <= _DIGEST_BYTES:
        raise _damaged_cursor_error()
    return raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]


def _parsed(body: bytes, most_bytes: int) -> tuple[int, dict[str, Any]]:
    try:
        if not body.startswith(b"["):
            inflating = zlib.decompressobj()
            body = inflating.decompress(body, most_bytes + 1)  # one more, so that it sees the end of what just fits
            if not inflating.eof or inflating.unused_data:
                raise _damaged_cursor_error()
        version, value = read_json(body)
    except (zlib.error, TypeError, ValueError):
        raise _damaged_cursor_error() from None
    if not isinstance(value, dict):
        raise _damaged_cursor_error()
    return version, cast("dict[str, Any]", value)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _digest(body: bytes, binding: str, secret: bytes | None) -> bytes:
    bound = binding.encode() + b"\0" + body
    if secret is None:
        return hashlib.sha256(bound).digest()[:_DIGEST_BYTES]
    return hmac.digest(secret, bound, "sha256")[:_DIGEST_BYTES]


_NUMBER: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([Ee][+-]?[0-9]+)?")
"""What DynamoDB reads as a number. Python also reads spaces, underscores, and the digits of other scripts."""


def is_position(given: object, keys: Sequence[KeySchema], known: Collection[str] = ()) -> bool:
    """Return whether a value from outside can be a position.

    Args:
        keys: the keys of the table and of the index that is read; a position has all their attributes, and no other.
        known: the attributes that are not in it, because the query itself tells them.
    """
    if not isinstance(given, dict):
        return False
    position = cast("dict[str, Any]", given)
    wanted = [part for part in _parts(keys) if part[0].name not in known]
    return position.keys() == {attribute.name for attribute, _ in wanted} and all(
        _is_key_value(attribute, role, position[attribute.name]) for attribute, role in wanted
    )


def _parts(keys: Sequence[KeySchema]) -> Iterator[tuple[KeyAttribute, KeyRole]]:
    for schema in keys:
        for attribute in schema.partition:
            yield attribute, "partition"
        for attribute in schema.sort:
            yield attribute, "sort"


def _is_key_value(attribute: KeyAttribute, role: KeyRole, value: Any) -> bool:
    if not isinstance(value, dict) or [*cast("dict[str, Any]", value)] != [attribute.type]:
        return False
    text: Any = cast("dict[str, Any]", value)[attribute.type]
    if not isinstance(text, str) or (attribute.type == "N" and not _NUMBER.fullmatch(text)):
        return False
    stored = cast("AttributeValue", value)
    try:
        kind, content = order_key(stored)  # which reads numbers and base64
        check_key_value(stored, role)
        if kind == "N":
            number_text(content)
    except (ValueError, ArithmeticError):
        return False
    return True


def side_of_range(plan: Plan, position: WireKey) -> int:
    """Return whether a position is before (-1), inside (0) or behind (1) the key range of a query.

    Returns:
        -1 for a position before the first item of the range in the order of the query, 0 inside, 1 behind the last.
    """
    # A multi-attribute key has one condition for each attribute; the first that the position does not meet decides,
    # since the items are sorted by that attribute first.
    side = next((side for each in plan.sort_conditions if (side := _side(each, position))), 0)
    return -side if plan.descending else side


def _side(condition: Condition, position: WireKey) -> int:
    """Return the side in ascending order."""
    match condition:
        case Comparison(comparator=comparator, left=Path() as path, right=Value(stored=bound)):
            order = _compare(position[path.attribute], bound)
            outside = {"=": order != 0, "<": order >= 0, "<=": order > 0, ">": order <= 0, ">=": order < 0}
            # A position equal to an open bound is still a position from which the range follows or has ended.
            return (order or (1 if comparator == "<" else -1)) if outside[comparator] else 0
        case Between(operand=Path() as path, low=low, high=high):
            if _compare(position[path.attribute], low.stored) < 0:
                return -1
            return 1 if _compare(position[path.attribute], high.stored) > 0 else 0
        case Function(path=path, arguments=(Value(stored=prefix),)):
            value, start = order_key(position[path.attribute])[1], order_key(prefix)[1]
            if value.startswith(start):
                return 0
            return -1 if value < start else 1
        case _:
            return 0


def _compare(left: AttributeValue, right: AttributeValue) -> int:
    first, second = order_key(left), order_key(right)
    return (first > second) - (first < second)


def binding_of(spec: ReadSpec, table: str, route: Route) -> str:
    """Return what binds a cursor to its query: the partition key's values, and the shape of the other conditions.

    Args:
        table: the full table name.
    """
    index = route.index.name if route.index is not None else None
    # The shape, not the values: a feed asks for "older than now" on every page, and its cursor must stay good.
    filters = sorted(map(shape_of, route.filters))  # their order in where() does not matter
    direction = (spec.segment or ("segments" if spec.segments else "scan")) if spec.scan else spec.descending
    bound: tuple[Any, ...] = (
        table,
        index,
        direction,
        route.partition_values,
        [*map(shape_of, route.sort)],
        filters,
    )
    if route.asked:  # what was asked of the parts of a key, and which of several values a position belongs to
        bound = (*bound, sorted(map(shape_of, route.asked)), route.alternatives)
    # In a shared table the same conditions through another model read other items.
    shares = definition_of(spec.model).kinds is not None
    return repr((*bound, spec.name) if shares else bound)


def without_partition_keys(positions: Positions, branches: Sequence[Plan]) -> Positions:
    """Return positions without the partition keys, which the query itself names."""
    at: dict[int, WireKey | None] = {}
    for number, position in positions.at.items():
        fixed = partition_of(branches[number])
        at[number] = None if position is None else {k: v for k, v in position.items() if k not in fixed}
    return Positions(positions.begun, at)
