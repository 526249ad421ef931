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
    ResourceNotFoundError,
    TableDifference,
    TableMismatchError,
)
from dynamap_async.executor import Executor, gather_all
from dynamap_async.request import Request
from dynamap_async.tables.capacity_steps import capacity_is_reached
from dynamap_async.tables.comparison import NEVER_CHANGES, difference_of, parts_of, seen_of, ttl_attribute_of
from dynamap_async.tables.descriptions import Descriptions
from dynamap_async.tables.requests import TableDescription
from dynamap_async.tables.setting_steps import ASKED_FOR, is_hidden, setting_is_reached
from dynamap_async.tables.table_changes import ChangeRequests, Refusal
from dynamap_async.tables.table_plan import Hazard, TablePlan, TableStep

_TABLES_AT_A_TIME: Final = 10
_LONGEST_POLL_SECONDS: Final = 20.0  # what is waited for here takes minutes to hours
_TOO_EARLY: Final = "within a fixed interval"
"""Words by which the service refuses a second change of time to live within the hour.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html"""
_NO_TABLE: Final = "Table: "
"""What the service says besides where there is no such table, and not only no such index."""

StepState: TypeAlias = Literal["planned", "waiting", "sent", "progress", "done", "skipped", "failed"]
"""The outcome of a step.

``planned`` before anything is sent, ``waiting`` until the table can be changed, ``sent`` to DynamoDB, ``progress`` each
time that it was looked at and is not done, and in the end ``done``, ``skipped`` where somebody else had done it, or
``failed``.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepProgress:
    """A step of a plan that came to another state."""

    step: TableStep
    """The step."""
    state: StepState
    """Its new state."""
    items_done: int | None = None
    """How many entries of an index can have been made by now, going by time at the rate that its write units allow:
    DynamoDB does not tell. None where that is not known."""
    items_expected: int | None = None
    """How many entries the index is expected to have; None where that is not known."""
    error: str | None = None
    """The error of a step that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedPlan:
    """What was done of a plan that was carried out to its end."""

    done: tuple[TableStep, ...]
    """The steps that were done."""
    skipped: tuple[TableStep, ...]
    """The steps that somebody else had done before; nothing was changed for them."""


Describe: TypeAlias = Callable[[str], Awaitable[TableDescription | None]]
"""Describes a table by its full name, with its time to live; None where there is no such table."""

Watch: TypeAlias = Callable[[StepProgress], object]
"""Called with each step whose state changes."""


def check_plan(plan: TablePlan, allow: Collection[str], *, wait_for_backfill: bool) -> None:
    """Raise if a plan cannot be carried out, or may not.

    Args:
        allow: the codes of hazards that are allowed.
        wait_for_backfill: whether the last index of each table is waited for, too.

    Raises:
        OperationError: what is allowed is no collection of codes, or an index is not to be waited for while another one
            is deleted.
        TableMismatchError: it asks for what DynamoDB cannot do.
        PlanHazardError: it has hazards that are not allowed.
    """
    if isinstance(allow, str) or not isinstance(allow, Collection):
        raise OperationError(f'allow={allow!r} is not a set of hazard codes; write allow={{"index-deleted"}}')
    blocked = [step for step in plan.steps if step.kind == "blocked"]
    if blocked:
        raise TableMismatchError(NEVER_CHANGES, differences=[difference_of(step) for step in blocked])
    early = [] if wait_for_backfill else _early_hazards(plan)
    hazards = [hazard for hazard in (*plan.hazards, *early) if hazard.code not in allow]
    if hazards:
        codes = sorted({hazard.code for hazard in hazards})
        told = "; ".join(f"{hazard.table}: {hazard.message} ({hazard.code})" for hazard in hazards)
        wanted = ", ".join(f'"{code}"' for code in codes)
        raise PlanHazardError(f"{told}. Nothing was changed; to accept it, add allow={{{wanted}}}", codes=codes)


def _early_hazards(plan: TablePlan) -> list[Hazard]:
    """Return the hazards that have to be allowed where nobody waits until indexes are built."""
    if taken := [step for step in plan.steps if step.kind == "delete-index"]:
        raise OperationError(
            f"wait_for_backfill=False: the plan deletes the index {taken[0].index} of {taken[0].table} after the "
            "other indexes are built; apply plan.expand without waiting, and plan.contract later"
        )
    built = {step.table: step for step in plan.steps if step.kind == "create-index"}
    return [
        Hazard(
            code="index-not-ready-for-code",
            table=table,
            index=step.index,
            message=f"queries on {step.index} are refused until it is built, which is not waited for",
        )
        for table, step in built.items()
    ]


def check_nothing() -> None:
    """Do nothing before a change: no lock is held that could be lost."""


class Applying:
    """The application of one plan.

    Args:
        executor: sends requests.
        full: describes a table by its full name, with its time to live.
        watch: is told of each step.
        wait_for_backfill: whether the last index of each table is waited for, too.
        check: called before each change, which is not made if it raises.
    """

    def __init__(
        self,
        executor: Executor,
        plan: TablePlan,
        full: Describe,
        watch: Watch,
        *,
        wait_for_backfill: bool,
        check: Callable[[], None],
    ) -> None:
        self._executor = executor
        self._check = check
        self._descriptions = Descriptions(executor)
        self._plan = plan
        self._full = full
        self._watch = watch
        self._wait_for_backfill = wait_for_backfill
        self._skipped: set[int] = set()
        """The numbers of the steps that somebody else had done."""

    async def run(self, timeout_seconds: float) -> AppliedPlan:
        """Apply the plan, and return what was done.

        Args:
            timeout_seconds: how long each table may take.

        Raises:
            PlanOutOfDateError: a table is not as the plan saw it.
            OperationError: an index would be deleted before the one that replaces it is there.
            TableWaitTimeoutError: a table took longer.
        """
        tables = list(dict.fromkeys(step.table for step in self._plan.steps))
        found = dict(zip(tables, await gather_all([self._full(table) for table in tables]), strict=True))
        if changes := [difference for table in tables for difference in self._changes_since(table, found[table])]:
            raise PlanOutOfDateError(differences=changes)
        for step in self._plan.steps:
            self._check_successor(step, found[step.table])
        for step in self._plan.steps:
            self._tell(step, "planned")
        limiter = anyio.CapacityLimiter(_TABLES_AT_A_TIME)

        async def run(table: str) -> None:
            async with limiter:
                await self._run_table(table, timeout_seconds)

        await gather_all([run(table) for table in tables])
        numbered = [*enumerate(self._plan.steps)]
        return AppliedPlan(
            done=tuple(step for number, step in numbered if number not in self._skipped),
            skipped=tuple(step for number, step in numbered if number in self._skipped),
        )

    def _check_successor(self, step: TableStep, found: TableDescription | None) -> None:
        """Raise OperationError if an index would go before the one that replaces it is there, or is to be built."""
        there = set[str]() if found is None else set(found.index_statuses)
        builds = {each.index for each in self._plan.steps if each.table == step.table}
        if step.waits_for is not None and step.waits_for not in there | builds:
            raise OperationError(
                f"{step.table}: the index {step.index} was not deleted, because {step.waits_for}, which replaces it, "
                "does not exist; apply plan.expand first"
            )

    def _changes_since(self, table: str, found: TableDescription | None) -> list[TableDifference]:
        now, seen = seen_of(found), self._plan.seen.get(table, {})
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
        steps = [(number, step) for number, step in enumerate(self._plan.steps) if step.table == table]
        builds = [each for each in steps if each[1].kind == "create-index"]
        last = None if self._wait_for_backfill or not builds else builds[-1]
        if last is not None:  # what else there is comes before, since that has to wait for each other index
            steps.remove(last)
            steps.append(last)
        for number, step in steps:
            self._tell(step, "waiting")
            try:
                had_to = await self._carry_out(step, until - anyio.current_time(), only_begin=(number, step) == last)
            except Exception as error:
                self._tell(step, "failed", error=str(error))
                raise
            if had_to:
                self._tell(step, "done")
            else:
                self._skipped.add(number)
                self._tell(step, "skipped")

    async def _carry_out(self, step: TableStep, timeout_seconds: float, *, only_begin: bool) -> bool:
        """Apply a step; return whether there was anything to do or to wait for, that nobody else did."""
        carried = _CarriedStep(self._executor, step, self._full, self._watch, only_begin=only_begin, check=self._check)
        await self._descriptions.until(
            step.table,
            carried.advance,
            what=f"changed ({step.kind} {step.summary})",
            timeout_seconds=max(0.0, timeout_seconds),
            longest_poll_seconds=_LONGEST_POLL_SECONDS,
        )
        return carried.had_to_wait and not carried.was_done_by_others

    def _tell(self, step: TableStep, state: StepState, *, error: str | None = None) -> None:
        self._watch(StepProgress(step=step, state=state, error=error))


class _CarriedStep:
    """The application of one step, which each description of its table may advance.

    Args:
        executor: sends requests.
        full: describes a table by its full name, with its time to live.
        watch: is told of each step.
        only_begin: whether an index that is being built is enough.
        check: called before it is asked for.
    """

    def __init__(
        self,
        executor: Executor,
        step: TableStep,
        full: Describe,
        watch: Watch,
        *,
        only_begin: bool,
        check: Callable[[], None],
    ) -> None:
        self._check = check
        self._requests = ChangeRequests(executor)
        self._step = step
        self._full = full
        self._watch = watch
        self._only_begin = only_begin
        self._is_sent = False
        self._fills_since: float | None = None
        self.had_to_wait = False
        """Whether it was not done when its turn came."""
        self.was_done_by_others = False
        """Whether somebody else had done it when it was asked for, though descriptions did not show it yet."""
        body: dict[str, Any] = dict(step.request)
        self._request = Request(operation=step.operation, body=body, table=step.table, writes=True, resendable=False)

    async def advance(self, found: TableDescription | None) -> bool:
        """Send the request of the step, unless that was done; return whether the table is as the step leaves it.

        Args:
            found: the table as it is described.
        """
        step = self._step
        if found is not None and step.kind in ASKED_FOR:
            found = await self._full(step.table)
        if is_reached(step, found) or (self._only_begin and found is not None and step.index in found.index_statuses):
            return True
        self.had_to_wait = True
        if step.request and _can_be_changed(step, found):
            self._check()
            accepted = await self._requests.send(step.kind, self._request, self._passes)
            if not self._is_sent:
                self._is_sent = True
                self._watch(StepProgress(step=step, state="sent"))
            if accepted and is_hidden(step, found):
                return True  # no description will ever tell more
        if self._is_sent or not step.request:
            self._tell_progress(found)
        return False

    async def _passes(self, error: Refusal) -> bool:
        found = await self._full(self._step.table)
        is_gone = self._step.kind == "delete-index" and isinstance(error, ResourceNotFoundError)
        if is_reached(self._step, found) or (is_gone and _NO_TABLE not in str(error)):
            self.was_done_by_others = not self._is_sent
            return True
        return _TOO_EARLY in str(error)

    def _tell_progress(self, found: TableDescription | None) -> None:
        now, estimate = anyio.current_time(), self._step.estimate
        if self._fills_since is None and found is not None and self._step.index in found.backfilling:
            self._fills_since = now
        done: int | None = None
        if estimate is not None and estimate.least_seconds and self._fills_since is not None:
            done = round(estimate.entries * min(1.0, (now - self._fills_since) / estimate.least_seconds))
        expected = None if estimate is None else estimate.entries
        self._watch(StepProgress(step=self._step, state="progress", items_done=done, items_expected=expected))


def _can_be_changed(step: TableStep, found: TableDescription | None) -> bool:
    """Return whether a step may be asked for: a table that is to be made is missing, another one can be changed."""
    if step.kind == "create-table":
        return found is None
    return found is not None and found.is_active and not found.is_replicating


def is_reached(step: TableStep, found: TableDescription | None) -> bool:
    """Return whether a table is as a step leaves it.

    Args:
        found: the table as it is described, with its time to live.
    """
    if found is None or found.status not in ("ACTIVE", "UPDATING"):
        return False
    match step.kind:
        case "create-table" | "await-table":
            return found.is_active
        case "create-index" | "await-index" if step.adds:
            return found.index_is_ready(step.index or "") and found.status == "ACTIVE"
        case "delete-index" | "await-index":
            return step.index not in found.index_statuses
        case "set-time-to-live":
            specification: dict[str, Any] = step.request["TimeToLiveSpecification"]
            on = ttl_attribute_of(found) == specification["AttributeName"]
            return on is bool(specification["Enabled"])
        case "update-billing" | "update-throughput":
            return found.is_active and capacity_is_reached(step.request, found)
        case "blocked":
            return False
        case _:
            return found.is_active and setting_is_reached(step, found)
