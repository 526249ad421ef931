"""Cursors: opaque text that says where a page ended, bound to its query and signed when the session has a secret."""

import base64
import binascii
import hashlib
import hmac
import operator
import zlib
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple, cast

import orjson

from dynamap_async.errors import CursorError, OperationError
from dynamap_async.planning.positions import is_position
from dynamap_async.request import Positions
from dynamap_async.schema import KeySchema
from dynamap_async.wire import WireKey

_VERSION: Final = 1
_DIGEST_BYTES: Final = 16
_LONG_BYTES: Final = 512
"""From this size on, what a cursor holds is compressed: the positions of many parts repeat their attributes' names."""


class _Limits(NamedTuple):
    """What nothing that was ever made goes beyond, so that a text made up costs next to nothing."""

    length: int
    """Of the text."""
    inflated: int
    """Bytes of what it holds. Positions are much alike, so that this can be many times the text."""
    remedy: str = ""
    """What to do where the positions take more."""


_POSITION: Final = _Limits(16 * 2**10, 64 * 2**10)
"""Of one position, whatever its key; most take a hundredth of it."""
_POSITIONS: Final = _Limits(
    4 * 2**10, 64 * 2**10, "ask for fewer partitions at a time, or read it with `async for`, which needs no cursor"
)
"""Of the positions of several queries."""
_CHECKPOINT: Final = _Limits(256 * 2**10, 2**20, "scan in fewer segments")
"""Of a checkpoint: 64 positions, each with the longest key of a table. It is no client that keeps it."""


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
        cursor: the text.
        binding: what identifies the query.
        secret: what the cursor was signed with.
        keys: the keys of the table and of the index that is read.

    Raises:
        CursorError: the text is not a cursor of this query and this secret.
    """
    position = _verified(cursor, binding, secret, _POSITION)
    # Without a secret the digest is no proof, so the form is checked as well.
    if not is_position(position, keys):
        raise foreign()
    return cast("WireKey", position)


def encode_positions(
    positions: Positions, total: int, binding: str, secret: bytes | None, *, checkpoint: bool = False
) -> str:
    """Return the text of the positions of a read in several parts.

    Args:
        positions: where each part stands.
        total: how many parts there are.
        binding: what identifies the read.
        secret: signs the text.
        checkpoint: whether it is the checkpoint of a scan, which may be longer than the cursor of a page.

    Raises:
        OperationError: it would be longer than 4 KB, or a checkpoint longer than 256 KB.
    """
    at = {str(number): position for number, position in positions.at.items()}
    body = _body({"total": total, "begun": positions.begun, "at": at})
    text, limits = _text_of(body, binding, secret), _CHECKPOINT if checkpoint else _POSITIONS
    if len(text) > limits.length or len(body) > limits.inflated:
        raise OperationError(
            f"the {len(at)} positions would take {len(body):,} bytes, and {len(text):,} of text, where a "
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
    """Return the positions that a text holds.

    Args:
        cursor: the text.
        binding: what identifies the read.
        secret: what the text was signed with.
        total: how many parts there are.
        keys: the keys of the table and of the index that is read.
        known: the key attributes that positions lack, because the query itself tells them.
        checkpoint: whether it is the checkpoint of a scan.

    Raises:
        CursorError: the text is not of this read in this many parts, or not of this secret.
    """
    state = _verified(cursor, binding, secret, _CHECKPOINT if checkpoint else _POSITIONS)
    try:
        found, begun = state["total"], operator.index(state["begun"])
        at = {int(number): position for number, position in state["at"].items()}
        fits = all(
            number in range(begun) and (position is None or is_position(position, keys, known))
            for number, position in at.items()
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise foreign() from None
    if found != total:
        raise CursorError(f"the checkpoint is of {found} segments, and the scan has {total}; give .segments({found})")
    if not fits or begun not in range(total + 1):
        raise foreign()
    return Positions(begun, at)


def _body(value: object) -> bytes:
    return orjson.dumps([_VERSION, value])


def _text_of(body: bytes, binding: str, secret: bytes | None) -> str:
    if len(body) >= _LONG_BYTES:
        body = zlib.compress(body, 9)
    return _text(_digest(body, binding, secret) + body)


def _verified(cursor: object, binding: str, secret: bytes | None, limits: _Limits) -> dict[str, Any]:
    digest, body = _taken_apart(cursor, limits.length)
    # Before anything is inflated or parsed: whatever a stranger sends costs no more than its digest.
    if not hmac.compare_digest(digest, _digest(body, binding, secret)):
        raise foreign()
    version, value = _read(body, limits.inflated)
    if version != _VERSION:
        raise CursorError(
            f"the cursor is of version {version}, and this library reads {_VERSION}; start again without it"
        )
    return value


def foreign() -> CursorError:
    """Return the error of a cursor that is not of this query."""
    return CursorError(
        "the cursor is damaged, or belongs to another query (table, index, direction, partition key or kind of "
        "conditions), or was signed with another cursor_secret; start again without it"
    )


def _damaged() -> CursorError:
    return CursorError("the cursor is not one of this library, or is damaged; start again without it")


def _taken_apart(cursor: object, longest: int) -> tuple[bytes, bytes]:
    if not isinstance(cursor, str) or len(cursor) > longest:
        raise _damaged()
    try:
        raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise _damaged() from None
    # One text for one position: no padding, no stray bits.
    if _text(raw) != cursor or len(raw) <= _DIGEST_BYTES:
        raise _damaged()
    return raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]


def _read(body: bytes, most_bytes: int) -> tuple[int, dict[str, Any]]:
    try:
        if not body.startswith(b"["):
            inflating = zlib.decompressobj()
            body = inflating.decompress(body, most_bytes + 1)  # one more, so that it sees the end of what just fits
            if not inflating.eof or inflating.unused_data:
                raise _damaged()
        version, value = orjson.loads(body)
    except (zlib.error, orjson.JSONDecodeError, TypeError, ValueError):
        raise _damaged() from None
    if not isinstance(value, dict):
        raise _damaged()
    return version, cast("dict[str, Any]", value)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _digest(body: bytes, binding: str, secret: bytes | None) -> bytes:
    bound = binding.encode() + b"\0" + body
    if secret is None:
        return hashlib.sha256(bound).digest()[:_DIGEST_BYTES]
    return hmac.digest(secret, bound, "sha256")[:_DIGEST_BYTES]
