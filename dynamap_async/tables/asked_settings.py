"""What DescribeTable does not tell of tables: time to live, continuous backups and tags."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Collection
from dataclasses import replace
from typing import Any, Final, Literal, TypeVar

import anyio

from dynamap_async.errors import (
    AccessDeniedError,
    RecoveryUnavailableError,
    RequestRejectedError,
    ResourceNotFoundError,
)
from dynamap_async.executor import Executor
from dynamap_async.request import Request
from dynamap_async.schema import Recovery, TableSchema
from dynamap_async.tables.requests import TableDescription, description_of, is_unknown_operation, table_request
from dynamap_async.tables.setting_requests import is_own_tag, read_recovery, recovery_request
from dynamap_async.tables.time_to_live import describe_time_to_live

logger: logging.Logger = logging.getLogger("dynamap_async")

_PAUSE_SECONDS: Final = 2.0

T = TypeVar("T")


async def with_asked_settings(executor: Executor, found: TableDescription, names: Collection[str]) -> TableDescription:
    """Return a description completed by what other calls tell; what the policy or the engine denies stays None.

    Args:
        executor: sends the requests.
        found: what DescribeTable told.
        names: ``recovery``, ``tags``, both or none.
    """
    table, told = found.schema.name, dict[str, Any]()
    if "recovery" in names:
        told["recovery"] = await describe_recovery(executor, table)
    if "tags" in names:
        told["tags"] = await describe_tags(executor, table, found.arn)
    return replace(found, settings=replace(found.settings, **told)) if told else found


async def full_description(executor: Executor, name: str, settings: Collection[str]) -> TableDescription | None:
    """Return the description of a table with its time to live; None where there is none, or not much longer.

    Args:
        executor: sends the requests.
        name: the full table name.
        settings: ``recovery`` and ``tags`` where they are asked for too.
    """
    request = table_request("DescribeTable", name)
    try:
        answer = await executor.send(request)
        if description_of(request, answer).status == "DELETING":
            return None
        ttl = await _unless_denied(describe_time_to_live(executor, name))  # what nobody may know is not compared
        return await with_asked_settings(executor, description_of(request, answer, ttl), settings)
    except ResourceNotFoundError:
        return None


async def describe_recovery(executor: Executor, table: str) -> Recovery | Literal[False] | None:
    """Return what DynamoDB says of the continuous backups of a table; None where nobody knows."""
    answer = await _unless_denied(executor.send(table_request("DescribeContinuousBackups", table)))
    return None if answer is None else read_recovery(answer)


async def describe_tags(executor: Executor, table: str, arn: str) -> dict[str, str] | None:
    """Return the tags of a table but those of AWS; None where nobody knows.

    Args:
        executor: sends the requests.
        table: the full table name.
        arn: its Amazon Resource Name.
    """
    return await _unless_denied(list_tags(executor, table, arn))


async def list_tags(executor: Executor, table: str, arn: str) -> dict[str, str]:
    """Return the tags of a table but those of AWS; arguments are those of ``describe_tags``.

    Raises:
        AccessDeniedError: the policy does not allow to ask.
    """
    tags: dict[str, str] = {}
    after: str | None = None
    while True:
        body = {"ResourceArn": arn} if after is None else {"ResourceArn": arn, "NextToken": after}
        page = await executor.send(Request(operation="ListTagsOfResource", body=body, table=table, resendable=True))
        tags |= {each["Key"]: each["Value"] for each in page.get("Tags") or () if is_own_tag(each["Key"])}
        after = page.get("NextToken")
        if after is None:
            return tags


async def begin_recovery(executor: Executor, schema: TableSchema, timeout_seconds: float) -> None:
    """Turn continuous backups on for a table that was just made, if it declares them and the engine has them.

    Args:
        executor: sends the requests.
        schema: the table.
        timeout_seconds: how long to ask again: for some minutes, DynamoDB says of a new table that it is too early.

    Raises:
        RecoveryUnavailableError: it still was too early.
    """
    recovery = schema.settings.recovery
    if not recovery:
        return
    until = anyio.current_time() + timeout_seconds
    while True:
        try:
            await executor.send(recovery_request(schema.name, recovery))
        except RecoveryUnavailableError:
            if anyio.current_time() + _PAUSE_SECONDS > until:
                raise
        except RequestRejectedError as error:
            if not is_unknown_operation(error):
                raise
            logger.warning("the engine has no continuous backups: %s cannot be restored as it was", schema.name)
            return
        else:
            return
        await anyio.sleep(executor.pause(_PAUSE_SECONDS))


async def ensure_recovery(executor: Executor, schema: TableSchema, timeout_seconds: float) -> None:
    """Turn continuous backups on for a table that declares them, unless they are on."""
    if schema.settings.recovery and await describe_recovery(executor, schema.name) is False:
        await begin_recovery(executor, schema, timeout_seconds)


async def _unless_denied(asked: Awaitable[T]) -> T | None:
    """Return what is asked; None where the policy does not allow it, or the engine does not know the operation."""
    try:
        return await asked
    except AccessDeniedError:
        return None
    except RequestRejectedError as error:
        if is_unknown_operation(error):
            return None
        raise
