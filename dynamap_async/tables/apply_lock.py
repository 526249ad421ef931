"""The lock that keeps two deployments from changing tables at the same time: a lease in the library's own table.

Invariant: with a lock, nothing is sent for a plan unless this process has the lease; where it is lost, the work ends.
A process that was killed does not renew its lease, so that the next one gets it within seconds.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Final, TypeAlias

from dynamap_async.errors import AccessDeniedError, ResourceNotFoundError
from dynamap_async.executor import Executor
from dynamap_async.leases import Lease
from dynamap_async.operations import own_table
from dynamap_async.planning import Context
from dynamap_async.tables.applying import AppliedPlan, check_nothing
from dynamap_async.tables.missing_tables import make_missing
from dynamap_async.tables.requests import create_request
from dynamap_async.tables.table_plan import TablePlan

logger: logging.Logger = logging.getLogger("dynamap_async")

LEASE: Final = "tables"
"""The name of the lease."""


Run: TypeAlias = Callable[[TablePlan, Callable[[], None]], Awaitable[AppliedPlan]]
"""Applies a plan; before each change it calls a function that raises if the lock is lost."""


async def apply_locked(
    executor: Executor, context: Context, plan: TablePlan, run: Run, *, required: bool, timeout_seconds: float
) -> AppliedPlan:
    """Apply a plan while no other process does.

    Args:
        executor: sends requests.
        context: what the session adds to each operation.
        run: carries out a plan.
        required: whether the library's own table is made where it is missing, and nothing is done without the lock.
        timeout_seconds: how long to wait for whoever has it, and for that table.

    Raises:
        LeaseTakenError: another process still had it after that time.
        LeaseLostError: it was lost; what was going on was cancelled.
    """
    first, rest = AppliedPlan(done=(), skipped=()), plan
    if required:
        # The lock is kept in that table: what makes it comes before the lock, and all else after.
        own = own_table(context.tables)
        making = tuple(step for step in plan.steps if step.table == own.name)
        first = await run(replace(plan, steps=making), check_nothing)
        rest = replace(plan, steps=tuple(step for step in plan.steps if step not in making))
        wanted = [(own, create_request(own, throughput=None, tags={}))]
        await make_missing(executor, wanted, timeout_seconds, with_indexes=False)
    async with _locked(executor, context, required=required, timeout_seconds=timeout_seconds) as check:
        done = await run(rest, check)
    return AppliedPlan(done=first.done + done.done, skipped=first.skipped + done.skipped)


@asynccontextmanager
async def _locked(
    executor: Executor, context: Context, *, required: bool, timeout_seconds: float
) -> AsyncGenerator[Callable[[], None]]:
    """Hold the lock, and yield a function that raises once it is lost.

    Args:
        executor: sends requests.
        context: what the session adds to each operation.
        required: whether a table that is missing, or that the policy denies, is an error; otherwise it goes on without.
        timeout_seconds: how long to wait for whoever has it.

    Raises:
        LeaseTakenError: another process still had it after that time.
        LeaseLostError: it was lost; what was going on was cancelled.
    """
    lease = Lease(executor, context, LEASE, wait=timeout_seconds, waiting_for=_tell_waiting)
    check = lease.check
    async with AsyncExitStack() as held:
        try:
            await held.enter_async_context(lease)
        except (AccessDeniedError, ResourceNotFoundError) as error:
            if required:
                raise
            logger.debug("plans are applied without a lock: %s", error)
            check = check_nothing
        # Not while an error is handled: it would be told as the context of whatever goes wrong with the plan.
        yield check


def _tell_waiting(holder: str) -> None:
    # A warning, since nothing else would say for what may be hours why nothing happens.
    logger.warning("%s changes tables: waiting until that has ended", holder)
