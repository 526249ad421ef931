"""An HTTP answer -> the JSON object it carries, or the error it stands for."""

import zlib
from typing import Any, Final

import orjson
from multidict import istr

from dynamap_async.errors import DynamapError
from dynamap_async.request import Request
from dynamap_async.transport.channel import Answer
from dynamap_async.transport.failures import damaged
from dynamap_async.transport.translate import error_code, service_error
from dynamap_async.wire import Body

_CHECKSUM: Final = istr("x-amz-crc32")  # its case is folded once (benchmarks: get_one)


def read_answer(request: Request, answer: Answer) -> Body:
    """Return the answer's JSON object.

    Raises:
        ServiceError: the answer is an error.
        DamagedResponseError: its checksum is wrong, or it is no JSON object.
    """
    status, headers, body = answer
    expected = headers.get(_CHECKSUM)
    if expected is not None and expected != str(zlib.crc32(body)):
        raise damaged(request, "the answer's checksum is wrong")
    content = _json_object(body)
    if status == 200 and content is not None:
        return content
    raise _failure(request, answer, content)


def _json_object(body: bytes) -> Body | None:
    try:
        content: Any = orjson.loads(body)
    except ValueError:
        return None
    found: Body | None = content if issubclass(type(content), dict) else None
    return found


def _failure(request: Request, answer: Answer, content: Body | None) -> DynamapError:
    if content is not None and answer.status >= 300:
        facts = content
    elif answer.status >= 500:
        # A load balancer on the way speaks HTML, or nothing.
        facts = {"message": "the answer is not DynamoDB's own"}
    else:
        # What is cut off on its way from DynamoDB still says that it is JSON.
        foreign = "json" not in answer.headers.get("Content-Type", "")
        return damaged(request, f"the answer (status {answer.status}) is no JSON object", foreign=foreign)
    return service_error(
        request,
        code=error_code(facts, answer.headers.get("x-amzn-errortype"), answer.status),
        status=answer.status,
        facts=facts,
        request_id=answer.headers.get("x-amzn-requestid"),
    )
