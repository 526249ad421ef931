"""What DescribeTable does not tell of tables: time to live, continuous backups, tags, and what is attached to them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, TypeVar

import anyio

from dynamap_async.errors import (
    AccessDeniedError,
    RecoveryUnavailableError,
    RequestRejectedError,
    ResourceNotFoundError,
    ServiceError,
)
from dynamap_async.executor import Executor, gather_all
from dynamap_async.request import Request
from dynamap_async.schema import ContributorInsights, Recovery, TableSchema
from dynamap_async.tables.requests import TableDescription, description_of, is_unknown_operation, table_request
from dynamap_async.tables.setting_requests import (
    insights_on,
    insights_request,
    is_own_tag,
    read_insights,
    read_recovery,
    recovery_request,
)
from dynamap_async.tables.time_to_live import describe_time_to_live

logger: logging.Logger = logging.getLogger("dynamap_async")

ATTACHED: Final = "attached"
"""The name of what is attached to a table and no model can declare, as ``full_description`` is asked for it."""

_PAUSE_SECONDS: Final = 2.0
_STREAMING: Final = ("ENABLING", "ACTIVE", "UPDATING")
"""The statuses of a Kinesis stream that gets the changes of a table, or will."""

T = TypeVar("T")


async def with_asked_settings(executor: Executor, found: TableDescription, names: Collection[str]) -> TableDescription:
    """Return a description completed by what other calls tell; what the policy or the engine denies stays None.

    Args:
        found: what DescribeTable told.
        names: ``recovery``, ``tags``, ``insights``, ``ATTACHED``, some of them or none.
    """
    table, told, others = found.schema.name, dict[str, Any](), found.others
    if "recovery" in names:
        told["recovery"] = await describe_recovery(executor, table)
    if "tags" in names:
        told["tags"] = await describe_tags(executor, table, found.arn)
    if "insights" in names:
        told["insights"] = await describe_insights(executor, table)
    if ATTACHED in names:
        others += await describe_attached(executor, table, found.arn, besides=names)
    return replace(found, settings=replace(found.settings, **told), others=others)


async def full_description(executor: Executor, name: str, settings: Collection[str]) -> TableDescription | None:
    """Return the description of a table with its time to live; None where there is none, or not much longer.

    Args:
        settings: ``recovery``, ``tags``, ``insights`` and ``ATTACHED`` where they are asked for too.
    """
    request = table_request("DescribeTable", name)
    try:
        answer = await executor.send(request)
        if description_of(request, answer).status == "DELETING":
            return None
        ttl = await unless_denied(describe_time_to_live(executor, name))  # what nobody may know is not compared
        return await with_asked_settings(executor, description_of(request, answer, ttl), settings)
    except ResourceNotFoundError:
        return None


async def describe_recovery(executor: Executor, table: str) -> Recovery | Literal[False] | None:
    """Return what DynamoDB says of the continuous backups of a table; None where nobody knows."""
    answer = await unless_denied(executor.send(table_request("DescribeContinuousBackups", table)))
    return None if answer is None else read_recovery(answer)


async def describe_tags(executor: Executor, table: str, arn: str) -> dict[str, str] | None:
    """Return the tags of a table but those of AWS; None where nobody knows.

    Args:
        arn: its Amazon Resource Name.
    """
    return await unless_denied(list_tags(executor, table, arn))


async def list_tags(executor: Executor, table: str, arn: str) -> dict[str, str]:
    """Return the tags of a table but those of AWS; arguments are those of ``describe_tags``.

    Raises:
        AccessDeniedError: the policy does not allow to ask.
    """
    request = Request(operation="ListTagsOfResource", body={"ResourceArn": arn}, table=table)
    listed = await _listed(executor, request, "Tags")
    return {each["Key"]: each["Value"] for each in listed if is_own_tag(each["Key"])}


async def _listed(executor: Executor, request: Request, member: str) -> list[dict[str, str]]:
    """Return what a request lists, on all its pages.

    Args:
        request: that of the first page.
        member: the member of the answer that holds the list.
    """
    listed: list[dict[str, str]] = []
    while True:
        page = await executor.send(request)
        listed += page.get(member) or ()
        if page.get("NextToken") is None:
            return listed
        request = replace(request, body={**request.body, "NextToken": page["NextToken"]})


async def describe_insights(executor: Executor, table: str) -> ContributorInsights | None:
    """Return what is counted of the keys of a table and of its indexes; None where nobody knows."""
    listed = await unless_denied(_listed_insights(executor, table))
    return None if listed is None else read_insights(listed)


async def _listed_insights(executor: Executor, table: str) -> list[dict[str, str]]:
    return await _listed(executor, table_request("ListContributorInsights", table), "ContributorInsightsSummaries")


async def ensure_insights(executor: Executor, schema: TableSchema) -> None:
    """Turn the Contributor Insights on that a table declares, unless they are on, if the engine has them."""
    wanted = schema.settings.insights
    if wanted is None or set(wanted.modes().values()) <= {"off"}:
        return
    found = await describe_insights(executor, schema.name)
    if found is None:
        logger.warning("Contributor Insights of %s: unknown, so none is turned on", schema.name)
        return
    there = found.modes()
    for index, mode in wanted.modes().items():
        if mode != "off" and there.get(index, "off") == "off":
            await executor.send(insights_request(schema.name, index, mode))


async def describe_attached(
    executor: Executor, table: str, arn: str, *, besides: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the resource policy, the Kinesis streams and the Contributor Insights of a table, each in a few words.

    What nobody knows is told as unknown. An engine that does not know such an operation has none of it.

    Args:
        arn: its Amazon Resource Name.
        besides: settings that are described otherwise.
    """
    asked = {name: ask for name, ask in _ATTACHED.items() if ask is not _insights or "insights" not in besides}
    found = await gather_all([_attached(ask, executor, table, arn) for ask in asked.values()])
    unknown = [name for name, texts in zip(asked, found, strict=True) if texts is None]
    told = [text for texts in found for text in texts or ()]
    if unknown:
        told.append(f"{', '.join(unknown)}: unknown, for the policy does not allow to ask, or there was no answer")
    return tuple(told)


async def _attached(ask: _Ask, executor: Executor, table: str, arn: str) -> list[str] | None:
    """Return what a question about a table finds; None where nobody knows: no plan fails for want of that."""
    try:
        return await ask(executor, table, arn)
    except ResourceNotFoundError:  # there is no policy
        return []
    except ServiceError as error:
        return [] if is_unknown_operation(error) else None


async def _policy(executor: Executor, table: str, arn: str) -> list[str]:
    answer = await executor.send(Request(operation="GetResourcePolicy", body={"ResourceArn": arn}, table=table))
    return ["its resource policy"] if answer.get("Policy") else []


async def _kinesis_streams(executor: Executor, table: str, _: str) -> list[str]:
    answer = await executor.send(table_request("DescribeKinesisStreamingDestination", table))
    listed: list[dict[str, str]] = answer.get("KinesisDataStreamDestinations") or []
    return [f"its Kinesis stream {each['StreamArn']}" for each in listed if each.get("DestinationStatus") in _STREAMING]


async def _insights(executor: Executor, table: str, _: str) -> list[str]:
    return insights_on(read_insights(await _listed_insights(executor, table)))


_Ask: TypeAlias = Callable[[Executor, str, str], Awaitable[list[str]]]
_ATTACHED: Final[Mapping[str, _Ask]] = {
    "its resource policy": _policy,
    "its Kinesis streams": _kinesis_streams,
    "its Contributor Insights": _insights,
}
"""What can be attached to a table -> what asks for it: one request, of Contributor Insights one for each page."""


async def begin_recovery(executor: Executor, schema: TableSchema, timeout_seconds: float) -> None:
    """Turn continuous backups on for a table that was just made, if it declares them and the engine has them.

    Args:
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


async def unless_denied(asked: Awaitable[T]) -> T | None:
    """Return what is asked; None where the policy does not allow it, or the engine does not know the operation."""
    try:
        return await asked
    except AccessDeniedError:
        return None
    except RequestRejectedError as error:
        if is_unknown_operation(error):
            return None
        raise
