"""``session.tables``: creates, describes, changes and deletes the tables of models."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

from dynamap_async.errors import (
    OperationError,
    ResourceInUseError,
    TableMismatchError,
)
from dynamap_async.executor import Executor, gather_all
from dynamap_async.models import Index, KeyValue, Model, Table
from dynamap_async.operations import own_table
from dynamap_async.planning import Context, TableNames
from dynamap_async.request import Request
from dynamap_async.schema import TableSchema, Throughput, check_tag_names, check_tags
from dynamap_async.stored import WatchDeletions
from dynamap_async.tables.apply_lock import apply_locked
from dynamap_async.tables.applying import AppliedPlan, Applying, Watch, check_nothing, check_plan
from dynamap_async.tables.asked_settings import (
    ATTACHED,
    begin_recovery,
    ensure_insights,
    full_description,
    list_tags,
    unless_denied,
)
from dynamap_async.tables.backups import Backups
from dynamap_async.tables.build_samples import estimated
from dynamap_async.tables.comparison import difference_of, not_compared, plan_of
from dynamap_async.tables.declared import (
    all_tables,
    check_models,
    merged_tables,
    models_with_unique_values,
    needs_library_table,
    owners_of,
    tables_of_all_periods,
    versions_of,
)
from dynamap_async.tables.descriptions import Descriptions
from dynamap_async.tables.estimates import PlanPrices
from dynamap_async.tables.index_checks import check_index
from dynamap_async.tables.index_reports import IndexReport
from dynamap_async.tables.missing_tables import make_missing
from dynamap_async.tables.periods import check_period, schema_of
from dynamap_async.tables.plan_run import PlanRun
from dynamap_async.tables.protection import check_unprotected, delete_table, set_protection
from dynamap_async.tables.requests import (
    TableDescription,
    create_request,
    description_of,
    is_made,
    list_request,
    table_request,
)
from dynamap_async.tables.sampled_items import samples_of
from dynamap_async.tables.setting_requests import tag_request, untag_request
from dynamap_async.tables.setting_steps import asked_settings, settings_to_ask
from dynamap_async.tables.table_plan import HazardCode, TablePlan, TableStep
from dynamap_async.tables.throughput_changes import update_throughput
from dynamap_async.tables.time_to_live import begin_time_to_live, describe_time_to_live, update_time_to_live
from dynamap_async.tables.truncation import Truncation, check_truncation, truncate

if TYPE_CHECKING:
    from dynamap_async.streams import StreamDescription

logger: logging.Logger = logging.getLogger("dynamap_async")


class Tables:
    """The tables of a session, under the names that it gives them.

    Args:
        executor: sends requests.
        context: what the session adds to each operation.
    """

    def __init__(self, executor: Executor, context: Context) -> None:
        self._executor = executor
        self._context = context
        self.backups: Final = Backups(executor, context)
        """Their backups."""
        self._descriptions = Descriptions(executor)
        self._names = context.tables

    async def create(
        self,
        *models: type[Model] | Table,
        wait: bool = True,
        timeout_seconds: float = 300.0,
        throughput: Throughput | None = None,
        tags: Mapping[str, str] | None = None,
        if_missing: bool = False,
        period: KeyValue | None = None,
    ) -> None:
        """Create the tables of models, with their indexes, time to live and the settings that models declare.

        A table is on-demand unless it, or ``throughput``, says otherwise. Models with ``attr(autoincrement=True)`` or
        ``Unique`` also need the library's own table, ``dynamap`` behind the session's prefix: it is made, on-demand, if
        it does not exist.

        Args:
            models: models with a table, or tables; models that share one are created as one.
            wait: whether to wait until every table and index can be used. Time to live needs it.
            timeout_seconds: how long to wait for each table.
            throughput: provisioned capacity, instead of what the models declare.
            tags: tags of every table.
            if_missing: whether a table that exists is no error, and is only waited for, whoever makes it.
            period: a value of the field that tells the period, for models with one table per period.

        Raises:
            ResourceInUseError: a table of that name exists, and ``if_missing`` is not given.
            LimitExceededError: too many tables are being created at once.
            TableWaitTimeoutError: a table was not ready in time.
            OperationError: ``wait=False`` for a model with time to live; a model has one table per period, and the
                period is missing, or none has; what is given is no model, or no throughput.

        Cost: one CreateTable per table, DescribeTable until it is active (none where CreateTable says so already), one
            UpdateTimeToLive where it is declared, ListContributorInsights and one UpdateContributorInsights for each
            part whose keys are to be counted; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
        """
        wanted = self._wanted(models, throughput, tags, period)
        own = _own_table(models, self._names, tags)
        if not wait:
            _check_not_waiting([schema for schema, _ in wanted])
        if if_missing and wait:
            await make_missing(self._executor, [*wanted, *own], timeout_seconds, with_indexes=False)
            return
        waiting = await _create(self._executor, wanted, tolerate_existing=if_missing)
        # The library's own table was made by another model, or another process, where it exists.
        waiting += await _create(self._executor, own, tolerate_existing=True)
        if not wait:
            return
        for name in waiting:
            await self._descriptions.until_active(name, timeout_seconds)
        for schema, _ in wanted:
            await begin_time_to_live(self._executor, schema)
            await begin_recovery(self._executor, schema, timeout_seconds)
            await ensure_insights(self._executor, schema)

    async def ensure(
        self,
        *models: type[Model] | Table,
        timeout_seconds: float = 300.0,
        throughput: Throughput | None = None,
        tags: Mapping[str, str] | None = None,
        period: KeyValue | None = None,
    ) -> None:
        """Make what is missing of the tables of models: tables, global indexes, time to live; and wait for all of it.

        Nothing is changed or taken away that is there. It may be called by any number of processes at once, as each of
        them starts: what one of them makes, the others wait for. One that was killed is continued by the next.

        Args:
            models: models with a table, or tables; models that share one count as one.
            timeout_seconds: how long to wait for each table. Adding an index to a table with many items takes minutes
                to hours; DynamoDB goes on after a timeout, and the next call waits on.
            throughput: provisioned capacity of tables that are created, instead of what the models declare.
            tags: tags of tables that are created.
            period: a value of the field that tells the period, for models with one table per period.

        Raises:
            TableMismatchError: a table has another key than the models declare, or an index of that name another key
                or projection, or a local index is missing; these never change.
            TableWaitTimeoutError: a table was not ready in time.
            OperationError: time to live is on for another attribute; otherwise as for ``create``.
            RequestRejectedError: time to live was turned off less than an hour ago.

        Cost: per table one DescribeTable, and one DescribeTimeToLive where it is declared, where nothing is missing;
            otherwise one CreateTable, or one UpdateTable per index, one after the other, and DescribeTable until each
            is ready. Adding an index takes write units of that index for each item.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
        """
        wanted = [*self._wanted(models, throughput, tags, period), *_own_table(models, self._names, tags)]
        await make_missing(self._executor, wanted, timeout_seconds, with_indexes=True)

    async def plan(
        self,
        *models: type[Model] | Table,
        delete_unknown_indexes: bool = False,
        sample_pages: int = 1,
        prices: PlanPrices | None = None,
        period: KeyValue | None = None,
        all_periods: bool = False,
    ) -> TablePlan:
        """Return what would change if tables became what models declare; nothing is changed.

        It compares keys, indexes, time to live, and the throughput of models that declare one. What no model declares
        is left as it is, and listed. A step that DynamoDB cannot do is ``blocked``, and says how to go about it.

        Args:
            models: models with a table, or tables; models that share one count as one. Give all models of a table if
                ``delete_unknown_indexes`` is wanted.
            delete_unknown_indexes: whether global indexes that no model declares are to be deleted.
            sample_pages: how many pages of items, each of at most 1 MB, are looked at of each table that gets new
                indexes, to estimate what building them takes, and which items do not fit, or have to be upgraded first;
                0 for none. Where the policy does not allow Scan, there is no estimate.
            prices: what is paid for write units and storage, to have the estimates in money.
            period: a value of the field that tells the period, for models with one table per period.
            all_periods: whether every table that is there of such models is compared instead, whatever its period.

        Raises:
            OperationError: what is given is no model; a period is missing, or none is known; the number of pages is not
                one from 0 on.

        Cost: five requests per table: DescribeTable, DescribeTimeToLive, GetResourcePolicy, ListContributorInsights and
            DescribeKinesisStreamingDestination, one more each for recovery and tags where models declare them, and
            where indexes are missing ``sample_pages`` Scans, each of at most 128 read units; for all periods
            ListTables as well.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
        """
        if not isinstance(sample_pages, int) or sample_pages < 0:
            raise OperationError(f"sample_pages={sample_pages!r}: give a number of pages, 0 or more")
        schemas, found = await self._compared(models, period, ATTACHED, all_periods=all_periods)
        plan = plan_of(schemas, found, delete_unknown_indexes=delete_unknown_indexes)
        if not sample_pages:
            return plan
        there = {each.schema.name: each for each in found if each is not None}
        versions = versions_of(owners_of(models, [schema.name for schema in schemas], self._names))
        sampled = await gather_all([samples_of(self._executor, plan, each, versions, sample_pages) for each in schemas])
        return estimated(plan, {name: each for of_table in sampled for name, each in of_table.items()}, there, prices)

    def apply(
        self,
        plan: TablePlan,
        /,
        *,
        allow: Collection[HazardCode] = (),
        timeout_seconds: float = 3600.0,
        wait_for_backfill: bool = True,
        lock: bool | None = None,
        watch: Watch | None = None,
    ) -> PlanRun:
        """Carry out a plan: the steps of a table one after the other, tables side by side, ten at a time.

        Await it for what was done, or watch it: ``async for event in session.tables.apply(plan)`` gives each step that
        comes to another state.

        Each step waits until the table and its indexes can be used, and ends when DynamoDB shows what was asked for. If
        it is cancelled, or its process is killed, DynamoDB goes on with what was sent; plan again and apply that, and
        nothing is built twice.

        One ``apply`` at a time changes tables of a prefix, where the library's own table is there: another
        one waits, and then looks whether its plan still holds. If a process is killed, the next one goes on within 20
        seconds. Without a lock, what another process does to the same table is waited for.

        Args:
            plan: the plan, or its ``expand`` or ``contract``.
            allow: the codes of hazards that are wanted, as in ``{"index-deleted"}``.
            timeout_seconds: how long each table may take. An index of a large table takes hours, and a change of the
                attribute of time to live takes one.
            wait_for_backfill: False to end when DynamoDB has begun to build the last index of each table. Queries on it
                are refused until it is built, so ``index-not-ready-for-code`` has to be allowed.
            lock: True to make the library's own table where it is missing, and change nothing without the lock; False
                to take none. None takes it where the table is there and the policy allows it.
            watch: is called with each step that comes to another state.

        Raises:
            PlanHazardError: the plan has hazards that are not allowed; nothing was changed.
            PlanOutOfDateError: a table is no longer as the plan saw it; nothing was changed.
            TableMismatchError: the plan has a blocked step; nothing was changed.
            OperationError: ``wait_for_backfill=False`` for a plan that deletes an index, too.
            TableWaitTimeoutError: a table took longer.
            LeaseTakenError: another process applied a plan for longer than ``timeout_seconds``; nothing was changed.
            LeaseLostError: this process stood still, and another one may apply a plan now; plan again.
            AccessDeniedError: ``lock=True``, and the policy does not allow it.

        Cost: one request per step, and DescribeTable until it is done; for the lock one GetItem, and where there is the
            library's own table, one UpdateItem each five seconds. Adding an index takes write units of that index
            for each item.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.html
        """

        async def full(name: str) -> TableDescription | None:
            return await full_description(self._executor, name, settings_to_ask(plan, name))

        async def carry_out(tell: Watch) -> AppliedPlan:
            check_plan(plan, allow, wait_for_backfill=wait_for_backfill)

            async def run(part: TablePlan, check: Callable[[], None]) -> AppliedPlan:
                applying = Applying(self._executor, part, full, tell, wait_for_backfill=wait_for_backfill, check=check)
                return await applying.run(timeout_seconds)

            if lock is False or (plan.is_empty and not lock):
                return await run(plan, check_nothing)
            return await apply_locked(
                self._executor, self._context, plan, run, required=bool(lock), timeout_seconds=timeout_seconds
            )

        return PlanRun(carry_out, watch)

    async def verify(
        self,
        *models: type[Model] | Table,
        extra_indexes: Literal["report", "ignore", "fail"] = "ignore",
        need_active: bool = True,
        period: KeyValue | None = None,
        all_periods: bool = False,
    ) -> None:
        """Check that tables are what models declare; nothing is changed.

        For the start of a service, and for CI. It compares what ``plan`` compares, and asks for nothing else. What the
        policy or the engine does not show is no difference; a warning is logged of it.

        Args:
            models: models with a table, or tables; models that share one count as one.
            extra_indexes: ``fail`` if global indexes that no model declares, or that others replace, are a difference;
                ``report`` to have each of them logged as a warning.
            need_active: whether a table or an index that is still being made is a difference.
            period: a value of the field that tells the period, for models with one table per period.
            all_periods: as for ``plan``.

        Raises:
            TableMismatchError: they differ; ``differences`` says in what.
            OperationError: as for ``plan``.

        Cost: one DescribeTable and one DescribeTimeToLive per table; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
        """
        if extra_indexes not in ("report", "ignore", "fail"):
            raise OperationError(f'extra_indexes={extra_indexes!r} is neither "report" nor "ignore" nor "fail"')
        schemas, found = await self._compared(models, period, all_periods=all_periods)
        plan = plan_of(schemas, found, delete_unknown_indexes=extra_indexes != "ignore")
        for each in (text for pair in zip(schemas, found, strict=True) for text in not_compared(*pair)):
            logger.warning("not compared: %s", each)
        steps = _counted(plan, extra_indexes, need_active=need_active)
        if steps:
            remedy = "`print(await session.tables.plan(...))` shows what would change"
            raise TableMismatchError(remedy, differences=[difference_of(step) for step in steps])

    async def update_time_to_live(
        self, *models: type[Model] | Table, enabled: bool = True, period: KeyValue | None = None
    ) -> None:
        """Turn time to live on or off, on tables that exist; nothing is changed where it is so already.

        It takes DynamoDB up to an hour, which is not waited for. Meanwhile, and for the rest of that hour, it takes no
        other change of the same table.

        Args:
            models: models with a table; those that share one count as one.
            enabled: whether items are to be deleted after the time that their ``TimeToLive`` field says.
            period: as for ``create``.

        Raises:
            OperationError: no model of a table declares a ``TimeToLive``, or it is on for another attribute.
            RequestRejectedError: it was changed less than an hour ago, or the engine does not have it.
            ResourceNotFoundError: a table does not exist.

        Cost: one DescribeTimeToLive per table, and one UpdateTimeToLive where something changes; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
        """
        for schema in self._schemas(models, period):
            await update_time_to_live(self._executor, schema, enabled=enabled)

    async def update_throughput(
        self,
        *models: type[Model] | Table,
        throughput: Throughput | None,
        wait: bool = True,
        timeout_seconds: float = 300.0,
        period: KeyValue | None = None,
    ) -> None:
        """Set the throughput of tables that exist, and of their global indexes; nothing is sent where they have it.

        DynamoDB raises a throughput as often as one likes, and lowers it 27 times a day at most: four times at first,
        and once more after each hour in which it was not lowered.

        Args:
            models: models with a table; those that share one count as one.
            throughput: the provisioned capacity; None makes the tables on-demand.
            wait: whether to wait until DynamoDB has changed every table and index; they can be used meanwhile.
            timeout_seconds: how long to wait for each table.
            period: as for ``create``.

        Raises:
            OperationError: what is given is no model, or no throughput.
            ResourceNotFoundError: a table does not exist.
            ResourceInUseError: a table is being created or changed.
            LimitExceededError: it was lowered too often.
            TableWaitTimeoutError: a table was not changed in time.

        Cost: one DescribeTable per table, one UpdateTable where something changes, and DescribeTable until it is done;
            no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
        """
        _check_throughput(throughput)
        names = [schema.name for schema in self._schemas(models, period)]
        await update_throughput(self._executor, names, throughput, timeout_seconds if wait else None)

    async def exists(self, model: type[Model] | Table, *, period: KeyValue | None = None) -> bool:
        """Return whether the model's table exists, in whatever status; that of a period where there is one for each.

        Args:
            model: the model, or the shared table.
            period: where the model has a table for each period: any value of the field that the period is made of.

        Cost: one DescribeTable; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
        """
        return await self._descriptions.find(self._name(model, period)) is not None

    async def describe(self, model: type[Model] | Table, *, period: KeyValue | None = None) -> TableDescription:
        """Return what DynamoDB says of the model's table; that of a period where there is one for each.

        Args:
            model: the model, or the shared table.
            period: where the model has a table for each period: any value of the field that the period is made of.

        Raises:
            ResourceNotFoundError: the table does not exist.

        Cost: one DescribeTable and one DescribeTimeToLive; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
        """
        return await self.describe_name(self._name(model, period))

    async def describe_name(self, name: str, /) -> TableDescription:
        """Return what DynamoDB says of any table, which need not belong to a model.

        Args:
            name: its full name, as ``names`` gives it.

        Raises:
            ResourceNotFoundError: the table does not exist.

        Cost: as for ``describe``.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
        """
        request = table_request("DescribeTable", name)
        answer = await self._executor.send(request)
        ttl = await unless_denied(describe_time_to_live(self._executor, name))
        return description_of(request, answer, ttl)

    async def check_index(
        self,
        index: Index[Any],
        /,
        *,
        max_read_units: float | None = None,
        period: KeyValue | None = None,
    ) -> IndexReport:
        """Return which items of a table an index leaves out, or would leave out if it were added.

        It reads the whole table, one page after the other. In a scope of low priority it waits for other requests:
        ``async with session.scope("check", priority=Priority.BACKGROUND)``.

        Args:
            index: the index, as in ``Tweet.by_city`` or ``SHOP.index("gsi1")``; the table need not have it yet.
            max_read_units: how many read units to spend, more than 0; the last page may exceed it. None for no bound.
            period: a value of the field that tells the period, for a model with one table per period.

        Raises:
            OperationError: it is no index of a model or a table, or the bound is not above 0.
            ResourceNotFoundError: the table does not exist.

        Cost: half a read unit for each 4 KB of the table, and one Scan for each MB.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.OnlineOps.ViolationDetection.html
        """
        if not isinstance(index, Index):
            raise OperationError(f"{index!r} is not an index; write it as in check_index(Tweet.by_city)")
        if max_read_units is not None and not max_read_units > 0:
            raise OperationError(f"max_read_units={max_read_units!r}: give a number of units above 0")
        owner: Any = index.model if index.table is None else index.table
        [table] = self._schemas((owner,), period)
        return await check_index(self._executor, table, table.index(index.name), max_read_units)

    async def delete(
        self,
        *models: type[Model] | Table,
        wait: bool = True,
        timeout_seconds: float = 300.0,
        force: bool = False,
        period: KeyValue | None = None,
    ) -> None:
        """Delete the tables of models, with every item in them.

        Args:
            models: models with a table.
            wait: whether to wait until the tables are gone.
            timeout_seconds: how long to wait for each table.
            force: whether protection against deletion is taken away first.
            period: as for ``create``.

        Raises:
            TableProtectedError: a table is protected against deletion, and ``force`` is not given; none is deleted.
            ResourceNotFoundError: a table does not exist; without ``force``, none is deleted.
            ResourceInUseError: a table is being created or changed.
            TableWaitTimeoutError: a table was not gone in time.

        Cost: one DeleteTable per table, and DescribeTable until it is gone, and once before where there are several; no
            capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html
        """
        if force:
            await self.unprotect(*models, timeout_seconds=timeout_seconds, period=period)
        names = [schema.name for schema in self._schemas(models, period)]
        if len(names) > 1 and not force:  # DynamoDB refuses a single one by itself
            await check_unprotected(self._executor, names)
        for name in names:
            await delete_table(self._executor, name)
        if wait:
            for name in names:
                await self._descriptions.until_gone(name, timeout_seconds)

    async def truncate(
        self,
        model: type[Model] | Table,
        /,
        *,
        force: bool = False,
        watch: WatchDeletions | None = None,
        period: KeyValue | None = None,
    ) -> Truncation:
        """Delete all items of the model's table, of whatever model and writer; the table and its settings stay.

        It reads the keys and deletes 25 items with each call, paced as all that the session does. In a scope of low
        priority it waits for other requests. Cancelled or failed, it ends at once; called again, it goes on with the
        rest. Items that are written meanwhile may stay. Hooks are not called, and a stream tells of each deletion.

        Args:
            model: the model, or the shared table.
            force: whether items of a table that is protected against deletion are deleted too; it stays protected.
            watch: is called with the number of items that are deleted by now, each time that some more are.
            period: as for ``create``.

        Raises:
            TableProtectedError: the table is protected against deletion, and ``force`` is not given.
            OperationError: the model has unique fields: their values would stay taken.
            ResourceNotFoundError: the table does not exist.

        Cost: one read unit for each 4 KB of the table, write units as one ``Delete`` for each item. Deleting the table
            and making it again takes none.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-query-scan.html
        """
        found = await self._descriptions.get(self._name(model, period))
        check_truncation(model, found, force=force)
        return await truncate(self._executor, found.schema, watch)

    async def protect(
        self, *models: type[Model] | Table, timeout_seconds: float = 300.0, period: KeyValue | None = None
    ) -> None:
        """Protect tables against deletion, by anybody; nothing is sent where they are. It returns once they are.

        Args:
            models: models with a table, or tables; those that share one count as one.
            timeout_seconds: how long to wait for each table.
            period: as for ``create``.

        Raises:
            ResourceNotFoundError: a table does not exist.
            TableWaitTimeoutError: a table was not changed in time.

        Cost: one DescribeTable per table, one UpdateTable where something changes, and DescribeTable until it is done;
            no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html
        """
        for schema in self._schemas(models, period):
            await set_protection(self._executor, schema.name, timeout_seconds, protected=True)

    async def unprotect(
        self, *models: type[Model] | Table, timeout_seconds: float = 300.0, period: KeyValue | None = None
    ) -> None:
        """Remove protection against deletion; see ``protect``.

        Args:
            models: models with a table, or tables; those that share one count as one.
            timeout_seconds: how long to wait for each table.
            period: as for ``create``.

        Cost: as for ``protect``.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithTables.Basics.html
        """
        for schema in self._schemas(models, period):
            await set_protection(self._executor, schema.name, timeout_seconds, protected=False)

    async def tags(self, model: type[Model] | Table, /, *, period: KeyValue | None = None) -> dict[str, str]:
        """Return the tags of the model's table but those of AWS, which begin with ``aws:``.

        They are eventually consistent: for a moment after a change they may be what they were.

        Args:
            model: the model, or the shared table.
            period: as for ``create``.

        Raises:
            ResourceNotFoundError: the table does not exist.

        Cost: one DescribeTable and one ListTagsOfResource; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTagsOfResource.html
        """
        found = await self._descriptions.get(self._name(model, period))
        return await list_tags(self._executor, found.schema.name, found.arn)

    async def tag(
        self, model: type[Model] | Table, tags: Mapping[str, str], /, *, period: KeyValue | None = None
    ) -> None:
        """Add tags to the model's table, or give those that it has other values; the others stay.

        Args:
            model: the model, or the shared table.
            tags: name -> value; without any, nothing is sent. A table has 50 at most.
            period: as for ``create``.

        Raises:
            OperationError: there are too many, they are no texts, or a name begins with ``aws:``.
            ResourceNotFoundError: the table does not exist.
            ServiceError: with those that it has they would be too many.

        Cost: one DescribeTable and one TagResource; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TagResource.html
        """
        name = self._name(model, period)
        with _about_tags_of(name):
            check_tags(tags)
        if tags:
            found = await self._descriptions.get(name)
            await self._executor.send(tag_request(name, found.arn, tags))

    async def untag(
        self, model: type[Model] | Table, names: Collection[str], /, *, period: KeyValue | None = None
    ) -> None:
        """Remove tags from the model's table; one that it does not have is no error.

        Args:
            model: the model, or the shared table.
            names: the names of the tags; without any, nothing is sent.
            period: as for ``create``.

        Raises:
            OperationError: there are more than 50, they are no texts, or a name begins with ``aws:``.
            ResourceNotFoundError: the table does not exist.

        Cost: one DescribeTable and one UntagResource; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UntagResource.html
        """
        name, given = self._name(model, period), _checked_names(names)
        with _about_tags_of(name):
            check_tag_names(given)
        if given:
            found = await self._descriptions.get(name)
            await self._executor.send(untag_request(name, found.arn, given))

    async def names(self, *, prefix: str = "") -> tuple[str, ...]:
        """Return the full names of all tables that begin with the session's prefix, or that ``table_names`` gives.

        They are in the order of names.

        Args:
            prefix: what their names begin with before the session renames them.

        Cost: one ListTables for each 100 tables of the account in the region; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTables.html
        """
        names: list[str] = []
        last: str | None = None
        while True:
            page = await self._executor.send(list_request(last))
            names += page.get("TableNames") or ()
            last = page.get("LastEvaluatedTableName")
            if last is None:
                known = ((name, self._names.declared(name)) for name in names)
                return tuple(sorted(name for name, own in known if own is not None and own.startswith(prefix)))

    async def streams(self) -> tuple[StreamDescription, ...]:
        """Return the streams of the tables that ``names`` returns, those too that were turned off in the last 24 hours.

        They are in the order of the tables' names, and of one table the oldest first.

        Cost: one ListStreams for each 100 streams of the account in the region, and one DescribeStream for each of
        them, ten in a second; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_ListStreams.html
        """
        from dynamap_async.streams import StreamRequests

        requests = StreamRequests(self._executor, "")
        listed = await requests.streams(all_tables=True)
        own = sorted(
            (each.table, each.label, each.arn) for each in listed if self._names.declared(each.table) is not None
        )
        return tuple([await requests.describe(arn) for _table, _label, arn in own])

    async def owners(
        self, *models: type[Model] | Table, prefix: str = ""
    ) -> dict[str, tuple[type[Model] | Table, ...]]:
        """Return what ``names`` does, and of each table those of some models that it belongs to.

        Args:
            models: models with a table, or tables; one with a table per period owns each of these.
            prefix: what the names of the tables begin with before the session renames them.

        Raises:
            OperationError: what is given is no model.
            ModelDefinitionError: a model has no table.

        Cost: as for ``names``.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTables.html
        """
        check_models(models)
        return owners_of(models, await self.names(prefix=prefix), self._names)

    async def _compared(
        self, models: tuple[type[Model] | Table, ...], period: KeyValue | None, *more: str, all_periods: bool
    ) -> tuple[tuple[TableSchema, ...], list[TableDescription | None]]:
        """Return the tables of models as they are declared, and as they are, with more that is asked for."""
        if not all_periods:
            schemas = all_tables(models, self._names, period)
        elif period is None:
            schemas = tables_of_all_periods(models, await self.names(), self._names)
        else:
            raise OperationError(f"period={period!r} and all_periods=True exclude each other; give one of them")
        asked = {schema.name: (*asked_settings(schema.settings), *more) for schema in schemas}
        found = await gather_all([full_description(self._executor, name, names) for name, names in asked.items()])
        strong = [each.schema.name for each in found if each is not None and each.is_strong]
        _warn_of_transactions(owners_of(models, strong, self._names))
        return schemas, found

    def _wanted(
        self,
        models: tuple[type[Model] | Table, ...],
        throughput: Throughput | None,
        tags: Mapping[str, str] | None,
        period: KeyValue | None,
    ) -> list[tuple[TableSchema, Request]]:
        """Return each table of some models, with the request that creates it."""
        _check_throughput(throughput)
        return [
            (schema, create_request(schema, throughput=throughput or schema.throughput, tags=tags or {}))
            for schema in self._schemas(models, period)
        ]

    def _name(self, model: type[Model] | Table, period: KeyValue | None) -> str:
        check_models((model,))
        check_period((model,), period)
        return self._names.full(schema_of(model, "described", period).name)

    def _schemas(self, models: tuple[type[Model] | Table, ...], period: KeyValue | None) -> list[TableSchema]:
        return merged_tables(models, self._names, period)


def _own_table(
    models: tuple[type[Model] | Table, ...], names: TableNames, tags: Mapping[str, str] | None
) -> list[tuple[TableSchema, Request]]:
    """Return the library's own table, and the request that creates it, if the models need it."""
    if not any(map(needs_library_table, models)):
        return []
    own = own_table(names)
    return [(own, create_request(own, throughput=None, tags=tags or {}))]


async def _create(
    executor: Executor, wanted: list[tuple[TableSchema, Request]], *, tolerate_existing: bool
) -> list[str]:
    """Send what creates tables; return the names of those that cannot be used at once."""
    waiting: list[str] = []
    for schema, request in wanted:
        try:
            made = is_made(request, await executor.send(request))
        except ResourceInUseError:
            if not tolerate_existing:
                raise
            made = False
        if not made:
            waiting.append(schema.name)
    return waiting


@contextmanager
def _about_tags_of(table: str) -> Generator[None]:
    """Raise errors about tags with the name of their table."""
    try:
        yield
    except ValueError as error:
        raise OperationError(f"tags of {table}: {error}") from None


def _warn_of_transactions(owners: Mapping[str, Sequence[type[Model] | Table]]) -> None:
    """Warn of models whose items cannot be written to their table, which has strong consistency between regions."""
    for table, models in owners.items():
        for name in models_with_unique_values(models):
            logger.warning(
                "%s has strong consistency between its regions, and DynamoDB refuses transactions there: items of %s "
                "cannot be written, for they have unique values",
                table,
                name,
            )


def _checked_names(names: object) -> list[str]:
    """Return the names of tags as a list, each once."""
    several: Any = names
    if isinstance(names, str | Mapping) or not isinstance(names, Collection):
        raise OperationError(f'untag(..., {names!r}) needs a list of tag names; write ["team"]')
    given: list[Any] = list(dict.fromkeys(several))
    if any(not isinstance(each, str) for each in given):
        raise OperationError(f'untag(..., {names!r}) needs tag names, which are strings; write ["team"]')
    return given


def _check_not_waiting(schemas: list[TableSchema]) -> None:
    late = [schema.name for schema in schemas if schema.ttl_attribute is not None or schema.settings.recovery]
    if late:
        raise OperationError(f"{', '.join(late)}: time to live and recovery need an active table; drop wait=False")


def _counted(plan: TablePlan, extra_indexes: str, *, need_active: bool) -> list[TableStep]:
    """Return the steps of a plan that are differences, as ``verify`` is asked to count them."""
    awaited = ("await-table", "await-index")
    # An index that is being deleted can no longer be used, so it is no difference.
    steps = [step for step in plan.steps if step.kind not in awaited or (need_active and step.adds)]
    if extra_indexes == "fail":
        return steps
    # An index that was replaced is an extra one as long as it is not deleted.
    for step in steps if extra_indexes == "report" else ():
        if step.kind == "delete-index":
            logger.warning("the index %s of %s is one that no model needs", step.index, step.table)
    return [step for step in steps if step.kind != "delete-index"]


def _check_throughput(given: object) -> None:
    if given is not None and not isinstance(given, Throughput):
        raise OperationError(f"throughput={given!r} is not a Throughput; write Throughput(read=10, write=2)")
