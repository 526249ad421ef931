"""Why a transaction was cancelled: the service's reasons -> ours, one for each action. Never fails.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CancellationReason.html
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dynamap_async.errors import CancellationReason, ConditionalCheckFailedError, ServiceError
from dynamap_async.request import Request

PASSING_CODES: Final = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})
"""Reasons that pass: the same transaction may succeed a moment later."""

_OPERATIONS: Final[Mapping[str, str]] = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheck",
    "Get": "GetItem",
}
_CODES_IN_MESSAGE: Final = re.compile(r"\[([\w, ]+)\]\W*$")

Translate = Callable[[Request, str, Mapping[str, Any]], ServiceError]
"""(the action as a request of its own, the reason's code, its facts) -> the error that the action alone would meet."""


def cancellation_reasons(
    request: Request, facts: Mapping[str, Any], translate: Translate
) -> tuple[CancellationReason, ...]:
    """Return one reason for each action, in order; nothing where the answer tells none."""
    listed = _list_of_objects(facts.get("CancellationReasons"))
    if not listed:
        listed = _told_by_message(str(facts.get("message") or facts.get("Message") or ""))
    actions = _actions(request, len(listed))
    return tuple(
        _reason(position, entry, action, translate)
        for position, (entry, action) in enumerate(zip(listed, actions, strict=True))
    )


def only_passing(reasons: Sequence[CancellationReason]) -> bool:
    """Return whether other transactions and want of capacity are all that stood in the way."""
    codes = {reason.code for reason in reasons if reason.code is not None}
    return bool(codes) and codes <= PASSING_CODES


def _list_of_objects(value: Any) -> Sequence[Mapping[str, Any]]:
    """Return a list of JSON objects; an empty one where the answer holds something else."""
    entries: list[Any] = value if issubclass(type(value), list) else []
    return [entry if issubclass(type(entry), dict) else {} for entry in entries]


def _told_by_message(message: str) -> Sequence[Mapping[str, Any]]:
    """Return the codes that end the service's message: ``... specific reasons [None, ConditionalCheckFailed]``."""
    found = _CODES_IN_MESSAGE.search(message)
    return [] if found is None else [{"Code": code.strip()} for code in found[1].split(",")]


def _actions(request: Request, count: int) -> list[Request]:
    """Return each action as a request of its own, as far as errors name it."""
    entries = _list_of_objects(request.body.get("TransactItems"))
    if len(entries) != count:  # statements of PartiQL do not say their table
        return [request] * count
    return [
        Request(operation=_OPERATIONS.get(kind, kind), body=body, table=str(body.get("TableName", "")))
        for entry in entries
        for kind, body in entry.items()
    ]


def _reason(position: int, entry: Mapping[str, Any], action: Request, translate: Translate) -> CancellationReason:
    code = str(entry.get("Code") or "None")
    if code == "None":
        return CancellationReason(position=position, code=None, operation=action.operation, table=action.table)
    message = entry.get("Message")
    error = translate(action, code, {"message": message, "Item": entry.get("Item")})
    return CancellationReason(
        position=position,
        code=code,
        message=None if message is None else str(message),
        operation=action.operation,
        table=action.table,
        wire_item=error.wire_item if isinstance(error, ConditionalCheckFailedError) else None,
        error=error,
    )
