"""Cursors: opaque text that says where a page ended, bound to its query and signed when the session has a secret."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Collection
from typing import Final, cast

import orjson

from dynamap_async.errors import CursorError
from dynamap_async.wire import WireKey

_VERSION: Final = 1
_DIGEST_BYTES: Final = 16


def encode_cursor(position: WireKey, binding: str, secret: bytes | None) -> str:
    """Return the text of a cursor.

    Args:
        position: the key attributes, of table and index, of the last item that was given out.
        binding: what identifies the query; a cursor of another query is refused.
        secret: signs the cursor; without one it is protected against mistakes only, not against forgery.
    """
    body = orjson.dumps([_VERSION, position])
    return _text(_digest(body, binding, secret) + body)


def decode_cursor(cursor: str, binding: str, secret: bytes | None, *, names: Collection[str]) -> WireKey:
    """Return the position that a cursor holds.

    Args:
        cursor: the text.
        binding: what identifies the query.
        secret: what the cursor was signed with.
        names: the attributes that make a position in the table or index.

    Raises:
        CursorError: the text is not a cursor of this query and this secret.
    """
    digest, version, position = _taken_apart(cursor)
    if version != _VERSION:
        raise CursorError(
            f"the cursor is of version {version}, and this library reads {_VERSION}; start again without it"
        )
    body = orjson.dumps([version, position])
    # Without a secret the digest is no proof, so the form is checked as well.
    if not hmac.compare_digest(digest, _digest(body, binding, secret)) or position.keys() != set(names):
        raise CursorError(
            "the cursor belongs to another query (table, index, direction, partition key or kind of conditions), or "
            "was signed with another cursor_secret; start again without it"
        )
    return position


def _taken_apart(cursor: object) -> tuple[bytes, int, WireKey]:
    damaged = CursorError("the cursor is not one of this library, or is damaged; start again without it")
    if not isinstance(cursor, str):
        raise damaged
    try:
        raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        version, position = orjson.loads(raw[_DIGEST_BYTES:])
    except (UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError, TypeError, ValueError):
        raise damaged from None
    # One text for one position: no padding, no stray bits.
    if _text(raw) != cursor or not isinstance(position, dict):
        raise damaged
    return raw[:_DIGEST_BYTES], version, cast("WireKey", position)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _digest(body: bytes, binding: str, secret: bytes | None) -> bytes:
    bound = binding.encode() + b"\0" + body
    if secret is None:
        return hashlib.sha256(bound).digest()[:_DIGEST_BYTES]
    return hmac.digest(secret, bound, "sha256")[:_DIGEST_BYTES]
