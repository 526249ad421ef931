"""Time to live of tables: what it is, and how it is turned on and off."""

from __future__ import annotations

import logging
from typing import Final

from dynamap_async.errors import OperationError, RequestRejectedError
from dynamap_async.executor import Executor
from dynamap_async.schema import TableSchema
from dynamap_async.tables.requests import is_unknown_operation, table_request, ttl_request
from dynamap_async.wire import Body

logger: logging.Logger = logging.getLogger("dynamap_async")

_ON: Final = ("ENABLED", "ENABLING")


async def describe_time_to_live(executor: Executor, table: str) -> Body | None:
    """Return what DescribeTimeToLive says of a table; None where the engine does not know the operation."""
    try:
        return await executor.send(table_request("DescribeTimeToLive", table))
    except RequestRejectedError as error:
        if is_unknown_operation(error):
            return None
        raise


async def begin_time_to_live(executor: Executor, schema: TableSchema) -> None:
    """Turn time to live on for a table that was just made, if it declares it and the engine has it."""
    if schema.ttl_attribute is None:
        return
    try:
        await executor.send(ttl_request(schema.name, schema.ttl_attribute, enabled=True))
    except RequestRejectedError as error:
        if not is_unknown_operation(error):
            raise
        _warn_of_engine(schema)


async def ensure_time_to_live(executor: Executor, schema: TableSchema) -> None:
    """Turn time to live on for a table that declares it, unless it is on.

    Raises:
        OperationError: it is on for another attribute.
        RequestRejectedError: it was changed less than an hour ago.
    """
    if schema.ttl_attribute is None:
        return
    try:
        await update_time_to_live(executor, schema, enabled=True)
    except RequestRejectedError as error:
        if not is_unknown_operation(error):
            raise
        _warn_of_engine(schema)


async def update_time_to_live(executor: Executor, schema: TableSchema, *, enabled: bool) -> None:
    """Turn time to live on or off for a table; nothing is changed where it is so already.

    Raises:
        OperationError: no field of the table's models says when an item expires, or it is on for another attribute.
        RequestRejectedError: it was changed less than an hour ago, or the engine does not have it.
    """
    wanted = schema.ttl_attribute
    if enabled and wanted is None:
        raise OperationError(
            f"no model of {schema.name} has a TimeToLive field; declare one, such as expires_at: TimeToLive[datetime "
            "| None] = attr(default=None)"
        )
    active = await _active(executor, schema.name)
    if enabled and active not in (None, wanted):
        raise OperationError(
            f"time to live of {schema.name} is on for {active!r}, and a table has it for one attribute; turn it off "
            "with update_time_to_live(..., enabled=False), wait an hour, and turn it on"
        )
    attribute = wanted if enabled else active
    if attribute is None or (enabled and active == wanted):
        return
    try:
        await executor.send(ttl_request(schema.name, attribute, enabled=enabled))
    except RequestRejectedError as error:
        if await _active(executor, schema.name) == (attribute if enabled else None):
            return  # somebody else did the same in the meantime
        error.add_note("DynamoDB takes one change of a table's time to live per hour; try again later")
        raise


async def _active(executor: Executor, table: str) -> str | None:
    """Return the attribute that time to live is on for, or is being turned on for."""
    described = await describe_time_to_live(executor, table) or {}
    found: dict[str, str] = described.get("TimeToLiveDescription") or {}
    return found.get("AttributeName") if found.get("TimeToLiveStatus") in _ON else None


def _warn_of_engine(schema: TableSchema) -> None:
    logger.warning("the engine has no time to live: it will not delete the expired items of %s", schema.name)
