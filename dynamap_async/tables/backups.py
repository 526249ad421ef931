"""``session.tables.backups``: backups of tables, and tables that are restored from them or from a moment of the past.

Invariant: a restored table gets back what a restore leaves off, and a restore that was stopped is continued by the same
call: the new table itself tells what it is made from.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final

import anyio

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    DynamapError,
    OperationError,
    Outcome,
    RequestRejectedError,
    ResourceInUseError,
    ResourceNotFoundError,
    TableWaitTimeoutError,
    TransportError,
)
from dynamap_async.executor import Executor, gather_all
from dynamap_async.models import KeyValue, Model, Table
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.schema import Encryption, OnDemand, TableSchema, Throughput
from dynamap_async.stored import StoredPages, TableScan, whole_item
from dynamap_async.tables.applying import Applying, check_nothing
from dynamap_async.tables.asked_settings import full_description
from dynamap_async.tables.comparison import plan_of
from dynamap_async.tables.declared import merged_tables
from dynamap_async.tables.descriptions import Descriptions
from dynamap_async.tables.requests import TableDescription, table_request
from dynamap_async.tables.restore_overrides import RestoreOverrides
from dynamap_async.tables.setting_steps import asked_settings
from dynamap_async.tables.table_plan import StepKind, TablePlan, TableStep
from dynamap_async.transport import UNREADABLE, damaged
from dynamap_async.wire import Body

_LEFT_OFF: Final[frozenset[StepKind]] = frozenset(
    (
        "set-time-to-live",
        "set-stream",
        "set-tags",
        "set-point-in-time-recovery",
        "set-deletion-protection",
        "set-contributor-insights",
    )
)
"""The steps that give a restored table what DynamoDB leaves off.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html"""

_FIRST_POLL_SECONDS: Final = 0.2  # DescribeBackup may be called ten times a second
_LONGEST_POLL_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A backup of a table, which is kept until it is deleted."""

    arn: str
    """Its Amazon Resource Name."""
    name: str
    """The name that it was given."""
    table: str
    """The full name of its table."""
    status: str
    """``CREATING``, ``AVAILABLE`` or ``DELETED``."""
    kind: str
    """``USER`` for one that was asked for, ``SYSTEM`` for that of a deleted table, ``AWS_BACKUP``."""
    created_at: datetime
    """When it was made: it holds the items of that moment."""
    size_bytes: int | None
    """Its size; None where DynamoDB does not tell it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryWindow:
    """From when to when a table can be restored as it was."""

    days: int
    """How many days back at most."""
    earliest: datetime
    """The earliest moment."""
    latest: datetime
    """The latest moment: about five minutes ago."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredTable:
    """A table that was restored."""

    table: str
    """Its full name."""
    source: str
    """The full name of the table whose items it has."""
    at: datetime | None
    """The moment whose items it has; None if DynamoDB does not tell."""
    settings: tuple[TableStep, ...]
    """What a restore leaves off and the models declare, which was put back."""
    items: int | None
    """How many items it has; None if they were not to be counted."""
    source_items: int | None
    """How many items its source has now; None if they were not to be counted."""

    def __str__(self) -> str:
        """Return the table in a few lines of text."""
        lines = [f"{self.table}: the items of {self.source}{'' if self.at is None else f' as of {self.at}'}"]
        if self.items is not None and self.source_items is not None:
            lines.append(f"  {self.items:,} items; its source has {self.source_items:,}")
        return "\n".join([*lines, *(f"  {step.kind:<26} {step.summary}" for step in self.settings)])


class Backups:
    """The backups of a session's tables.

    Args:
        executor: sends requests.
        context: what the session adds to each operation.
    """

    def __init__(self, executor: Executor, context: Context) -> None:
        self._executor = executor
        self._descriptions = Descriptions(executor)
        self._names = context.tables

    async def create(
        self,
        model: type[Model] | Table,
        name: str,
        /,
        *,
        timeout_seconds: float = 3600.0,
        period: KeyValue | None = None,
    ) -> Backup:
        """Make a backup of the model's table, and wait until it can be restored.

        DynamoDB goes on with it by itself after a timeout, or if the call is cancelled.

        Args:
            model: the model, or the shared table.
            name: what the backup is called, 3 to 255 characters; several may have one name.
            timeout_seconds: how long to wait. A backup takes seconds.
            period: a value of the field that tells the period, for a model with one table per period.

        Raises:
            ResourceNotFoundError: the table does not exist.
            RecoveryUnavailableError: the table is too new.
            LimitExceededError: too many backups are made at once.
            TableWaitTimeoutError: it was not ready in time.

        Cost: one CreateBackup, and DescribeBackup until it is done; no capacity units. Backups are paid for by their
            size.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateBackup.html
        """
        table = self._schema(model, period).name
        body = {"TableName": table, "BackupName": name}
        request = Request(operation="CreateBackup", body=body, table=table, writes=True, resendable=False)
        answer = await self._executor.send(request)
        with _readable(request):
            backup = _read_backup(answer["BackupDetails"], table)
        return await self._until_made(backup, timeout_seconds)

    async def of(self, model: type[Model] | Table, /, *, period: KeyValue | None = None) -> tuple[Backup, ...]:
        """Return the backups of the model's table, the oldest first; also those of a table that was deleted.

        Args:
            model: the model, or the shared table.
            period: as for ``create``.

        Cost: one ListBackups for each 100 backups; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListBackups.html
        """
        table, found, after = self._schema(model, period).name, list[Backup](), dict[str, Any]()
        while True:
            body = {"TableName": table, "BackupType": "ALL", **after}
            request = Request(operation="ListBackups", body=body, table=table)
            page = await self._executor.send(request)
            with _readable(request):
                found += [_read_backup(each, table) for each in page.get("BackupSummaries") or ()]
            last = page.get("LastEvaluatedBackupArn")
            if last is None:
                return tuple(sorted(found, key=lambda each: each.created_at))
            after = {"ExclusiveStartBackupArn": last}

    async def delete(self, backup: Backup, /) -> None:
        """Delete a backup.

        Args:
            backup: it, as ``create`` and ``of`` give it.

        Raises:
            ResourceNotFoundError: it does not exist.
            ResourceInUseError: it is being made, or restored from.

        Cost: one DeleteBackup; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteBackup.html
        """
        body = {"BackupArn": backup.arn}
        await self._executor.send(Request(operation="DeleteBackup", body=body, table=backup.table, writes=True))

    async def recovery(self, model: type[Model] | Table, /, *, period: KeyValue | None = None) -> RecoveryWindow | None:
        """Return from when to when the model's table can be restored; None where continuous backups are off.

        Args:
            model: the model, or the shared table.
            period: as for ``create``.

        Raises:
            ResourceNotFoundError: the table does not exist.

        Cost: one DescribeContinuousBackups; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContinuousBackups.html
        """
        return await self._window(self._schema(model, period).name)

    async def _window(self, table: str) -> RecoveryWindow | None:
        request = table_request("DescribeContinuousBackups", table)
        answer = await self._executor.send(request)
        with _readable(request):
            told: dict[str, Any] = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription") or {}
            if told.get("PointInTimeRecoveryStatus") != "ENABLED":
                return None
            return RecoveryWindow(
                days=told.get("RecoveryPeriodInDays", 35),
                earliest=_moment(told["EarliestRestorableDateTime"]),
                latest=_moment(told["LatestRestorableDateTime"]),
            )

    async def restore(
        self,
        model: type[Model] | Table,
        /,
        *,
        to: str,
        at: datetime | None = None,
        backup: Backup | None = None,
        billing: OnDemand | Throughput | None = None,
        without_indexes: Collection[str] = (),
        encryption: Encryption | None = None,
        count: bool = False,
        timeout_seconds: float = 86_400.0,
        period: KeyValue | None = None,
    ) -> RestoredTable:
        """Make a new table with the items that the model's table had, and wait until it can be used.

        DynamoDB leaves off time to live, stream, tags, continuous backups and deletion protection: those that the model
        declares are put back. Stopped, it goes on with the same table when it is called again. Once it is through, it
        is refused without ``at`` and ``backup``, since the latest state is another one by then.

        Args:
            model: the model, or the shared table.
            to: the name of the new table, before the session's prefix.
            at: the moment whose items it gets, with a time zone; None for the latest that there is.
            backup: the backup whose items it gets, instead of those of a moment.
            billing: how it is paid for; None for as its source. Provisioned, global indexes have the units that the
                model declares, or else these.
            without_indexes: the names of indexes that it does not get, which makes the restore faster and cheaper.
            encryption: the key that it is encrypted with; None for as its source.
            count: whether the items of both tables are counted, which reads both.
            timeout_seconds: how long to wait. A restore takes minutes to hours; DynamoDB goes on after a timeout.
            period: as for ``create``.

        Raises:
            OperationError: ``at`` has no time zone, or is given beside a backup; or the source has no such index.
            ResourceInUseError: a table of the new name exists, and was not restored from the same; or it was restored
                to the end before, and neither ``at`` nor ``backup`` says that this state is meant; or the backup is
                still being made.
            ResourceNotFoundError: the table, or the backup, does not exist.
            RecoveryUnavailableError: continuous backups are off.
            RequestRejectedError: it cannot be restored as it was at that moment; a note says from when to when it can.
            TableWaitTimeoutError: it was not ready in time.

        Cost: one request, two with ``billing`` or ``without_indexes``, DescribeTable until it is done, and one
            request for each setting; no capacity units, but with ``count`` half a read unit for each 4 KB of both
            tables. A restore is paid for by the size of the table.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableToPointInTime.html
        """
        if at is not None and (backup is not None or at.tzinfo is None):
            wrong = "and backup are given; give one of them" if backup is not None else "has no time zone; give it one"
            raise OperationError(f"at={at!r} {wrong}")
        overrides = RestoreOverrides(billing=billing, without_indexes=without_indexes, encryption=encryption)
        source = self._schema(model, period)
        target = source.named(self._names.full(to))
        indexes: Body = await self._described(source.name, backup) if overrides.needs_source else {}
        members = overrides.to_wire(source, indexes)
        taken = await self._begin(source.name, target.name, at, backup, members, timeout_seconds)
        await self._descriptions.until_active(target.name, timeout_seconds)
        moment = _restored_at(await self._restore_summary(target.name))
        steps = await self._complete(target, timeout_seconds)
        if taken is not None and not steps:
            raise _restored_before(taken, source.name, moment) from taken
        counts: list[int | None] = [None, None]
        if count:
            counts = [*await gather_all([self._count(each) for each in (target.name, source.name)])]
        return RestoredTable(
            table=target.name, source=source.name, at=moment, settings=steps, items=counts[0], source_items=counts[1]
        )

    async def _begin(
        self,
        source: str,
        target: str,
        at: datetime | None,
        backup: Backup | None,
        members: Body,
        timeout_seconds: float,
    ) -> ResourceInUseError | None:
        """Send the request to restore, unless the table that it makes exists.

        Args:
            members: what the request says besides.

        Returns:
            The refusal, where an earlier call for the latest state has made the table; None for any other.
        """
        operation = "RestoreTableToPointInTime" if backup is None else "RestoreTableFromBackup"
        body: dict[str, Any] = {"TargetTableName": target, **members}
        if backup is not None:
            body["BackupArn"] = backup.arn
        else:
            body["SourceTableName"] = source
            body |= {"UseLatestRestorableTime": True} if at is None else {"RestoreDateTime": at.timestamp()}
        # Sent again, it is refused if it had been done, which the table then tells.
        request = Request(operation=operation, body=body, table=target, writes=True)
        try:
            await self._executor.send(request)
        except ResourceInUseError as error:
            if error.service_code == "BackupInUseException":
                raise
            await self._descriptions.until(target, _is_known, what="described", timeout_seconds=timeout_seconds)
            made = await self._restore_summary(target)
            if not _is_of(made, source, at, backup):
                raise
            latest = at is None and backup is None
            return error if latest and _may_be_old(made, error) else None
        except RequestRejectedError as error:
            await self._note_window(error, source)
            raise
        except TransportError as error:
            if error.outcome is not Outcome.UNKNOWN:
                raise
        return None

    async def _described(self, source: str, backup: Backup | None) -> Body:
        """Return what DynamoDB says of the indexes that a restored table gets."""
        if backup is None:
            request = table_request("DescribeTable", source)
        else:
            body = {"BackupArn": backup.arn}
            request = Request(operation="DescribeBackup", body=body, table=backup.table)
        answer = await self._executor.send(request)
        with _readable(request):
            described: Body = (
                answer["Table"] if backup is None else answer["BackupDescription"]["SourceTableFeatureDetails"]
            )
            return described

    async def _note_window(self, error: RequestRejectedError, source: str) -> None:
        """Add to an error about the moment from when to when a table can be restored, if DynamoDB tells."""
        if error.service_code == "InvalidRestoreTimeException":
            with suppress(DynamapError):
                if (window := await self._window(source)) is not None:
                    error.add_note(f"it can be restored as it was from {window.earliest} to {window.latest}")

    async def _until_made(self, backup: Backup, timeout_seconds: float) -> Backup:
        """Poll a backup, ever more seldom, until it is made."""
        request = Request(operation="DescribeBackup", body={"BackupArn": backup.arn}, table=backup.table)
        with anyio.move_on_after(timeout_seconds):
            delay = _FIRST_POLL_SECONDS
            while backup.status == "CREATING":
                await anyio.sleep(self._executor.pause(delay))
                delay = min(delay * 2, _LONGEST_POLL_SECONDS)
                try:
                    answer = await self._executor.send(request)
                except ResourceNotFoundError:
                    continue  # for a moment, a new one is not known
                with _readable(request):
                    backup = _read_backup(answer["BackupDescription"]["BackupDetails"], backup.table)
            return backup
        raise TableWaitTimeoutError(
            f"the backup {backup.name!r} of {backup.table} was not made within {timeout_seconds:g} s; DynamoDB goes on "
            "with it: session.tables.backups.of(...) tells when it is AVAILABLE",
            table=backup.table,
            status=backup.status,
            timeout_seconds=timeout_seconds,
        )

    async def _restore_summary(self, table: str) -> Mapping[str, Any]:
        """Return what DynamoDB says of how a table was restored; nothing for one that was not."""
        request = table_request("DescribeTable", table)
        answer = await self._executor.send(request)
        with _readable(request):
            return answer["Table"].get("RestoreSummary") or {}

    async def _complete(self, target: TableSchema, timeout_seconds: float) -> tuple[TableStep, ...]:
        """Change the settings of a restored table to what models declare, and return the steps."""

        async def full(name: str) -> TableDescription | None:
            return await full_description(self._executor, name, asked_settings(target.settings))

        plan = plan_of([target], [await full(target.name)])
        left_off = TablePlan(steps=tuple(step for step in plan.steps if step.kind in _LEFT_OFF), seen=plan.seen)
        applying = Applying(self._executor, left_off, full, lambda _: None, wait_for_backfill=True, check=check_nothing)
        return (await applying.run(timeout_seconds)).done

    async def _count(self, table: str) -> int:
        """Return how many items a table has."""
        scan = TableScan(table, (), {"Select": "COUNT"})
        async with StoredPages(self._executor, scan, whole_item) as pages:
            while await pages.next_page():
                pass
        return pages.count

    def _schema(self, model: type[Model] | Table, period: KeyValue | None) -> TableSchema:
        [schema] = merged_tables((model,), self._names, period)
        return schema


async def _is_known(found: TableDescription | None) -> bool:
    """Return whether a table is described, as one is that exists: for a moment, a new one is not."""
    return found is not None


def _is_of(made: Mapping[str, Any], source: str, at: datetime | None, backup: Backup | None) -> bool:
    """Return whether a table, as DynamoDB says how it was restored, is what the same restore has made, or makes."""
    if backup is not None:
        return made.get("SourceBackupArn") == backup.arn
    of_source = str(made.get("SourceTableArn")).rpartition("table/")[2] == source and "SourceBackupArn" not in made
    return of_source and (at is None or abs(float(made["RestoreDateTime"]) - at.timestamp()) < 1)


def _may_be_old(made: Mapping[str, Any], error: ResourceInUseError) -> bool:
    """Return whether a restored table that exists may be the result of an earlier call."""
    # A request that was sent twice may have met the table that it made itself.
    return error.attempts == 1 and not made.get("RestoreInProgress")


def _restored_at(made: Mapping[str, Any]) -> datetime | None:
    moment = made.get("RestoreDateTime")
    return None if moment is None else _moment(moment)


def _restored_before(taken: ResourceInUseError, source: str, at: datetime | None) -> ResourceInUseError:
    return ResourceInUseError(
        f"{taken.table} was restored before: it has the items of {source} as of {at or 'an unknown moment'}, and "
        "nothing is left to do. Use it as it is; for a later state, choose another name",
        service_code=taken.service_code,
        operation=taken.operation,
        table=taken.table,
        status=taken.status,
        request_id=taken.request_id,
    )


@contextmanager
def _readable(request: Request) -> Generator[None]:
    """Raise DamagedResponseError where an answer has another form than DynamoDB's."""
    try:
        yield
    except UNREADABLE as error:
        raise damaged(request, "the answer is not of the form that DynamoDB documents", foreign=True) from error


def _read_backup(told: Mapping[str, Any], table: str) -> Backup:
    return Backup(
        arn=told["BackupArn"],
        name=told["BackupName"],
        table=told.get("TableName", table),
        status=told["BackupStatus"],
        kind=told["BackupType"],
        created_at=_moment(told["BackupCreationDateTime"]),
        size_bytes=told.get("BackupSizeBytes"),
    )


def _moment(seconds: float | str) -> datetime:
    return datetime.fromtimestamp(float(seconds), UTC)
