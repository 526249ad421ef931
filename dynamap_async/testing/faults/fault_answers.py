"""The bytes of answers that no server gave: DynamoDB's errors in its own form, and answers that are damaged. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

import zlib
from collections.abc import Mapping
from typing import Any, Final, cast

from dynamap_async.native.json_text import read_json, write_json
from dynamap_async.service import CONTENT_TYPE
from dynamap_async.testing.faults.fault_kinds import Damage
from dynamap_async.testing.faults.scripted_calls import WRITES, FaultyCall
from dynamap_async.transport.channel import Answer
from dynamap_async.wire import Body

_THROTTLED: Final[Mapping[str, str]] = {
    "ProvisionedThroughputExceededException": (
        "The level of configured provisioned throughput for the table was exceeded. Consider increasing your "
        "provisioning level with the UpdateTable API."
    ),
    "ThrottlingException": "Throughput exceeds the current capacity of your table or index.",
    "RequestLimitExceeded": "Throughput exceeds the current throughput limit for your account.",
}
THROTTLING_CODES: Final = tuple(_THROTTLED)
"""The names under which the service refuses a request for want of capacity."""

_NOT_MODELLED: Final[Mapping[str, str]] = {
    "ValidationException": "com.amazon.coral.validate",
    "AccessDeniedException": "com.amazon.coral.service",
    "ThrottlingException": "com.amazon.coral.availability",
    "ServiceUnavailable": "com.amazon.coral.availability",
}
_HTML: Final = b"<html><body><h1>%d</h1>No server is available to handle this request.</body></html>"


def json_answer(content: Body, status: int = 200) -> Answer:
    """Return an answer with its checksum, as DynamoDB sends it."""
    body = write_json(content)
    headers = {
        "content-type": CONTENT_TYPE,
        "x-amz-crc32": str(zlib.crc32(body)),
        "x-amzn-requestid": "scripted",
    }
    return Answer(status, headers, body)


def error_answer(code: str, message: str, *, status: int = 400, facts: Body | None = None) -> Answer:
    """Return an error as DynamoDB sends it.

    Args:
        code: the service's bare name of the error.
        message: what the service says of it.
        status: the HTTP status.
        facts: further members of the answer, in wire form, such as ``CancellationReasons``.
    """
    namespace = _NOT_MODELLED.get(code, "com.amazonaws.dynamodb.v20120810")
    return json_answer({"__type": f"{namespace}#{code}", "message": message, **(facts or {})}, status)


def throttled(call: FaultyCall, code: str) -> Answer:
    """Return the error for a request for which there is no capacity."""
    kind = "Index" if call.index else "Table"
    direction = "Write" if call.operation in WRITES else "Read"
    exceeded = "AccountLimitExceeded" if code == "RequestLimitExceeded" else "ProvisionedThroughputExceeded"
    reasons = [{"reason": f"{kind}{direction}{exceeded}", "resource": arn} for arn in _resources(call)]
    # The service spells this member differently in this one error.
    member = "throttlingReasons" if code == "ThrottlingException" else "ThrottlingReasons"
    return error_answer(code, _THROTTLED[code], facts={member: reasons} if reasons else None)


def access_denied(call: FaultyCall) -> Answer:
    """Return the error for a caller whose policy does not allow the operation."""
    resource = next(iter(_resources(call)), "*")
    return error_answer(
        "AccessDeniedException",
        f"User: arn:aws:iam::000000000000:user/scripted is not authorized to perform: dynamodb:{call.operation} on "
        f"resource: {resource} because no identity-based policy allows the dynamodb:{call.operation} action",
    )


def failed(status: int, *, html: bool) -> Answer:
    """Return the answer of a server that failed: DynamoDB's own, or that of a load balancer in front of it."""
    if html:
        return Answer(status, {"content-type": "text/html"}, _HTML % status)
    code = "ServiceUnavailable" if status == 503 else "InternalServerError"
    message = "The service is currently unavailable." if status == 503 else "The request processing has failed."
    return error_answer(code, message, status=status)


def damaged_answer(answer: Answer, damage: Damage) -> Answer:
    """Return an answer with a wrong body or checksum. A wrong length is left to the code that sends it."""
    match damage:
        case Damage.MALFORMED:
            body = answer.body[:-1] + b"<"
            return Answer(answer.status, {**answer.headers, "x-amz-crc32": str(zlib.crc32(body))}, body)
        case Damage.WRONG_CHECKSUM:
            return Answer(
                answer.status, {**answer.headers, "x-amz-crc32": str(zlib.crc32(answer.body) ^ 1)}, answer.body
            )
        case Damage.TRUNCATED | Damage.WRONG_LENGTH:
            return answer


def _resources(call: FaultyCall) -> list[str]:
    suffix = f"/index/{call.index}" if call.index else ""
    return [f"arn:aws:dynamodb:eu-west-1:000000000000:table/{table}{suffix}" for table in call.tables]


def object_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object that bytes hold; an empty one if they hold none."""
    try:
        content: Any = read_json(body)
    except ValueError:
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}
