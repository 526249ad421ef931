"""Carries out plans: step after step on each table, tables side by side, and each request once.

Invariant: a step is begun when the table and all its indexes can be used, and is done when a description shows it;
nothing is sent for what is there already. What was killed is continued by a new plan.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, Literal, TypeAlias

import anyio

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    OperationError,
    PlanHazardError,
    PlanOutOfDateError,
    RequestRejectedError,
    TableDifference,
    TableMismatchError,
)
from dynamap_async.executor import Executor, gather_all
from dynamap_async.request import Request
from dynamap_async.tables.comparison import NEVER_CHANGES, difference_of, parts_of, seen_of, ttl_attribute_of
from dynamap_async.tables.descriptions import Descriptions
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.table_changes import ChangeRequests
from dynamap_async.tables.table_plan import TablePlan, TableStep

_TABLES_AT_A_TIME: Final = 10
_LONGEST_POLL_SECONDS: Final = 20.0  # what is waited for here takes minutes to hours
_TOO_EARLY: Final = "within a fixed interval"
"""Words by which the service refuses a second change of time to live within the hour.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html"""

StepState: TypeAlias = Literal["waiting", "sent", "done"]
"""``waiting`` until the table can be changed, ``sent`` to DynamoDB, or found under way, and ``done``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgress:
    """A step of a plan that came to another state."""

    step: TableStep
    """The step."""
    state: StepState
    """Its state from now on."""


Describe: TypeAlias = Callable[[str], Awaitable[TableDescription | None]]
"""Describes a table by its full name, with its time to live; None where there is no such table."""

Watch: TypeAlias = Callable[[StepProgress], object]
"""Is told of each step that comes to another state."""


def check_plan(plan: TablePlan, allow: Collection[str]) -> None:
    """Raise if a plan cannot be carried out, or may not.

    Args:
        plan: the plan.
        allow: the codes of hazards that are allowed.

    Raises:
        OperationError: what is allowed is no collection of codes.
        TableMismatchError: it asks for what DynamoDB cannot do.
        PlanHazardError: it has hazards that are not allowed.
    """
    if isinstance(allow, str) or not isinstance(allow, Collection):
        raise OperationError(f'allow={allow!r} is not a set of hazard codes; write allow={{"index-deleted"}}')
    blocked = [step for step in plan.steps if step.kind == "blocked"]
    if blocked:
        raise TableMismatchError(NEVER_CHANGES, differences=[difference_of(step) for step in blocked])
    hazards = [hazard for hazard in plan.hazards if hazard.code not in allow]
    if hazards:
        codes = sorted({hazard.code for hazard in hazards})
        told = "; ".join(f"{hazard.table}: {hazard.message} ({hazard.code})" for hazard in hazards)
        wanted = ", ".join(f'"{code}"' for code in codes)
        raise PlanHazardError(
            f"{told}. Nothing was changed: if that is wanted, say so with allow={{{wanted}}}", codes=codes
        )


class Applying:
    """One plan that is carried out."""

    def __init__(self, executor: Executor, plan: TablePlan, full: Describe, watch: Watch | None) -> None:
        """Prepare it; nothing is sent yet.

        Args:
            executor: sends requests.
            plan: the plan.
            full: describes a table by its full name, with its time to live.
            watch: is told of each step.
        """
        self._executor = executor
        self._descriptions = Descriptions(executor)
        self._plan = plan
        self._full = full
        self._watch = watch

    async def run(self, timeout_seconds: float) -> None:
        """Carry the plan out.

        Args:
            timeout_seconds: how long each table may take.

        Raises:
            PlanOutOfDateError: a table is not as the plan saw it.
            TableWaitTimeoutError: a table took longer.
        """
        tables = list(dict.fromkeys(step.table for step in self._plan.steps))
        changes = await gather_all([self._changes_since(table) for table in tables])
        if found := [difference for each in changes for difference in each]:
            raise PlanOutOfDateError(differences=found)
        limiter = anyio.CapacityLimiter(_TABLES_AT_A_TIME)

        async def run(table: str) -> None:
            async with limiter:
                await self._run_table(table, timeout_seconds)

        await gather_all([run(table) for table in tables])

    async def _changes_since(self, table: str) -> list[TableDifference]:
        now, seen = seen_of(await self._full(table)), self._plan.seen.get(table, {})
        parts = {part for step in self._plan.steps if step.table == table for part in parts_of(step)}
        return [
            TableDifference(
                table=table, index=None, what=part, declared=seen.get(part, "absent"), found=now.get(part, "absent")
            )
            for part in sorted(parts)
            if seen.get(part) != now.get(part)
        ]

    async def _run_table(self, table: str, timeout_seconds: float) -> None:
        until = anyio.current_time() + timeout_seconds
        for step in self._plan.steps:
            if step.table == table:
                self._tell(step, "waiting")
                await self._carry_out(step, until - anyio.current_time())
                self._tell(step, "done")

    async def _carry_out(self, step: TableStep, timeout_seconds: float) -> None:
        requests, told = ChangeRequests(self._executor), False
        body: dict[str, Any] = dict(step.request)
        request = Request(operation=step.operation, body=body, table=step.table, writes=True, resendable=False)

        async def passes(error: RequestRejectedError) -> bool:
            return _TOO_EARLY in str(error) or is_reached(step, await self._full(step.table))

        async def advance(found: TableDescription | None) -> bool:
            nonlocal told
            if found is not None and step.kind == "set-time-to-live":
                found = await self._full(step.table)
            if is_reached(step, found):
                return True
            if step.request and (
                found is None if step.kind == "create-table" else found is not None and found.is_active
            ):
                await requests.send(step.kind, request, passes)
                if not told:
                    told = True
                    self._tell(step, "sent")
            return False

        await self._descriptions.until(
            step.table,
            advance,
            what=f"changed ({step.kind} {step.summary})",
            timeout_seconds=max(0.0, timeout_seconds),
            longest_poll_seconds=_LONGEST_POLL_SECONDS,
        )

    def _tell(self, step: TableStep, state: StepState) -> None:
        if self._watch is not None:
            self._watch(StepProgress(step=step, state=state))


def is_reached(step: TableStep, found: TableDescription | None) -> bool:
    """Return whether a table is as a step leaves it.

    Args:
        step: the step.
        found: the table as it is described, with its time to live.
    """
    if found is None or found.status not in ("ACTIVE", "UPDATING"):
        return False
    match step.kind:
        case "create-table":
            return found.is_active
        case "create-index" | "await-index":
            return found.index_is_ready(step.index or "") and found.status == "ACTIVE"
        case "delete-index":
            return step.index not in found.index_statuses
        case "set-time-to-live":
            specification: dict[str, Any] = step.request["TimeToLiveSpecification"]
            on = ttl_attribute_of(found) == specification["AttributeName"]
            return on is bool(specification["Enabled"])
        case "update-billing" | "update-throughput":
            return found.is_active and _has_units(step.request, found)
        case "blocked":
            return False


def _has_units(body: Any, found: TableDescription) -> bool:
    own = found.schema.throughput
    wanted: dict[str, int] | None = body.get("ProvisionedThroughput")
    if wanted is not None and (own is None or own.to_wire() != wanted):
        return False
    there = {index.name: index.throughput for index in found.schema.global_indexes}
    for each in body.get("GlobalSecondaryIndexUpdates") or ():
        units = there.get(each["Update"]["IndexName"])
        if units is None or units.to_wire() != each["Update"]["ProvisionedThroughput"]:
            return False
    return True
