"""Cursors: opaque text that says where a page ended, bound to its query and signed when the session has a secret."""

import base64
import binascii
import hashlib
import hmac
from typing import Any, Final

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
    return base64.urlsafe_b64encode(_digest(body, binding, secret) + body).rstrip(b"=").decode()


def decode_cursor(cursor: str, binding: str, secret: bytes | None) -> WireKey:
    """Return the position that a cursor holds.

    Raises:
        CursorError: the text is not a cursor of this query and this secret.
    """
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
        digest, body = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
        content: Any = orjson.loads(body)
        version, position = content
    except (AttributeError, UnicodeEncodeError, binascii.Error, orjson.JSONDecodeError, TypeError, ValueError):
        raise CursorError("the cursor is not one of this library, or is damaged; start again without it") from None
    if version != _VERSION:
        raise CursorError(f"the cursor is of version {version}, and this library reads {_VERSION}; start again without it")
    if not hmac.compare_digest(digest, _digest(body, binding, secret)):
        raise CursorError(
            "the cursor belongs to another query (table, index, direction, partition key or kind of conditions), or was "
            "signed with another cursor_secret; start again without it"
        )
    return dict(position)


def _digest(body: bytes, binding: str, secret: bytes | None) -> bytes:
    bound = binding.encode() + b"\0" + body
    if secret is None:
        return hashlib.sha256(bound).digest()[:_DIGEST_BYTES]
    return hmac.digest(secret, bound, "sha256")[:_DIGEST_BYTES]
