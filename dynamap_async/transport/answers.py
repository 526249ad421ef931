"""An HTTP answer -> the JSON object it carries, or the error it stands for."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from typing import Any, Final

from dynamap_async.errors import DamagedResponseError, DynamapError
from dynamap_async.native.json_text import read_json
from dynamap_async.request import Request
from dynamap_async.transport.channel import Answer
from dynamap_async.transport.failures import damaged, packed
from dynamap_async.transport.pieces import leave_items, leave_items_in_pieces, parse_in_pieces
from dynamap_async.transport.translate import error_code, service_error
from dynamap_async.wire import Body

_CHECKED_BYTES: Final = 2**18


_WITH_ITEMS: Final = frozenset(("BatchGetItem", "GetItem", "Query", "Scan"))
"""The operations whose answers bring items to be decoded, and nothing else that is large."""


def read_answer(request: Request, answer: Answer, *, leaves_items: bool = False) -> Body:
    """Return the answer's JSON object.

    Args:
        request: what was asked.
        answer: what came back.
        leaves_items: whether stored items are left as their JSON, where the native codec can decode that.

    Raises:
        ServiceError: the answer is an error.
        DamagedResponseError: its checksum is wrong, or it is no JSON object.
    """
    body = answer.body
    try:
        content = None
        if leaves_items and request.operation in _WITH_ITEMS:
            content = leave_items(body)
        if content is None:
            content = read_json(body)
    except ValueError:
        content = None
    return _content(request, answer, zlib.crc32(body), content)


def read_in_pieces(request: Request, answer: Answer, *, leaves_items: bool = False) -> Generator[None, None, Body]:
    """Return a large answer's JSON object, and yield after less than 1 ms of work each time; see ``parse_in_pieces``.

    Args:
        request: what was asked.
        answer: what came back.
        leaves_items: whether stored items are left as their JSON, where the native codec can decode that.

    Yields:
        None: after each piece.
    """
    view, checksum = memoryview(answer.body), 0
    for at in range(0, len(view), _CHECKED_BYTES):
        checksum = zlib.crc32(view[at : at + _CHECKED_BYTES], checksum)
        yield
    try:
        content = None
        if leaves_items and request.operation in _WITH_ITEMS:
            content = yield from leave_items_in_pieces(answer.body)
        if content is None:
            content = yield from parse_in_pieces(answer.body)
    except ValueError:
        content = None
    return _content(request, answer, checksum, content)


def _content(request: Request, answer: Answer, checksum: int, parsed: Any) -> Body:
    # Before anything is believed, the status included: what was damaged on its way may look like an error.
    expected = answer.headers.get("x-amz-crc32")
    if expected is not None and expected.strip() != str(checksum):  # not every HTTP library takes spaces away
        raise _damaged(request, answer, "the answer's checksum is wrong")
    content: Body | None = parsed if issubclass(type(parsed), dict) else None
    if answer.status == 200 and content is not None:
        return content
    raise _failure(request, answer, content)


def _damaged(request: Request, answer: Answer, reason: str, *, foreign: bool = False) -> DamagedResponseError:
    return packed(request, answer.headers.get("content-encoding")) or damaged(request, reason, foreign=foreign)


def _failure(request: Request, answer: Answer, content: Body | None) -> DynamapError:
    if content is not None and answer.status >= 300:
        facts = content
    elif answer.status >= 500:
        # A load balancer on the way speaks HTML, or nothing.
        facts = {"message": "the answer is not DynamoDB's own"}
    else:
        # What is cut off on its way from DynamoDB still says that it is JSON.
        foreign = "json" not in answer.headers.get("content-type", "")
        return _damaged(request, answer, f"the answer (status {answer.status}) is not a JSON object", foreign=foreign)
    return service_error(
        request,
        code=error_code(facts, answer.headers.get("x-amzn-errortype"), answer.status),
        status=answer.status,
        facts=facts,
        request_id=answer.headers.get("x-amzn-requestid"),
    )
