"""Running migrations: those that are not over, one after the other, by one process at a time.

Invariant: what is recorded of a migration is written on condition that nobody with a later fence has written it. A
migration is recorded as done only after its function has returned, while the lease was held.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    LeaseLostError,
    MigrationFailedError,
    OperationError,
    ResourceNotFoundError,
)
from dynamap_async.leases import LEASE_SECONDS, Lease, LeasedTransport
from dynamap_async.migrations.declared import DeclaredMigration, MigrationFunction, in_order
from dynamap_async.migrations.record import (
    OVER,
    MigrationRecord,
    MigrationStatus,
    RecordedState,
    ScanPlace,
    record_key,
    status_of,
)
from dynamap_async.migrations.run import Migration, ScanPlaces
from dynamap_async.session import Session, runner_of, session_through, transport_of

LEASE: Final = "migrations"
"""The name of the lease under which migrations run."""
_SHOWN: Final = 1_000
"""How many characters of an error are recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Holding:
    """The lease that a process holds while it runs migrations, with a session that needs it."""

    lease: Lease
    session: Session
    """Sends nothing once the lease is not held."""


class Migrations:
    """The migrations of a program, and what is recorded of them in the library's own table."""

    def __init__(
        self,
        session: Session,
        declared: Iterable[DeclaredMigration],
        /,
        *,
        wait: bool = True,
        lease_seconds: float = LEASE_SECONDS,
        waiting_for: Callable[[str], object] = lambda holder: None,
        progress: Callable[[Migration], object] = lambda run: None,
    ) -> None:
        """Prepare to run migrations; nothing is sent yet.

        Args:
            session: an open session. Migrations run through another one like it, which counts and paces for itself.
            declared: the migrations, in any order; see ``find_migrations``.
            wait: whether to wait while another process runs migrations.
            lease_seconds: for how long a process that does not answer keeps others from running migrations, in seconds,
                over 0.
            waiting_for: called with who runs migrations now, when waiting begins.
            progress: called with the run after each item that a scan of it gives.

        Raises:
            OperationError: two of them have the same id, or the seconds are no such number.
        """
        self._session: Final = session
        self._declared: Final = {each.id: each for each in in_order(declared)}
        if not lease_seconds > 0:
            raise OperationError(f"lease_seconds must be a number above 0, not {lease_seconds!r}")
        self._wait: Final = wait
        self._lease_seconds: Final = lease_seconds
        self._waiting_for: Final = waiting_for
        self._progress: Final = progress

    async def status(self) -> tuple[MigrationStatus, ...]:
        """Return the status of each migration, in the order in which they run. Without the table, all are pending.

        Raises:
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.

        Cost:
            One BatchGetItem for each 100 migrations; a read unit per 4 KB of each record.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        declared = self._declared.values()
        try:
            keys = [record_key(each.id) for each in declared]
            found = await self._session.get_many(MigrationRecord, keys, consistent_read=True)
        except BatchError as error:
            if not isinstance(error.failures[0].error, ResourceNotFoundError):
                raise
            found = [None] * len(self._declared)
        return tuple(status_of(each.id, each.source_hash, record) for each, record in zip(declared, found, strict=True))

    async def run(self) -> tuple[MigrationStatus, ...]:
        """Run each migration that is not over, in the order of their ids, and return the status of those then.

        One process at a time runs migrations. The library's own table is made if it does not exist.

        Raises:
            MigrationFailedError: one raised; those behind it are not begun.
            LeaseTakenError: another process runs migrations, and nobody wants to wait.
            LeaseLostError: this process did not answer for too long, so that another one may run them.
            ServiceError: DynamoDB refused a request.
            TransportError: no answer came.

        Cost:
            What the migrations take; a lease, and two write units for each migration.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
        """
        async with self._holding() as holding:
            # As they are recorded now: another process may just have run them.
            left = [self._declared[each.id] for each in await self.status() if not each.is_over]
            for each in left:
                await self._run(each, holding)
            return tuple([await self._status(each) for each in left])

    async def redo(self, name: str, /) -> MigrationStatus:
        """Run one migration from its beginning, whatever is recorded of it, and return its status then.

        Args:
            name: its id.

        Raises:
            OperationError: there is none.
            MigrationFailedError: it raised; other errors are those of ``run``.

        Cost:
            As ``run``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
        """
        declared = self._named(name)
        async with self._holding() as holding:
            await self._run(declared, holding, anew=True)
            return await self._status(declared)

    async def mark(self, name: str, /) -> MigrationStatus:
        """Record that one migration need not run, and return its status then.

        Args:
            name: its id.

        Raises:
            OperationError: there is none; other errors are those of ``run``.

        Cost:
            A lease, and a write unit.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
        """
        declared = self._named(name)
        async with self._holding() as holding:
            record = await self._begun(declared, holding, anew=True)
            await self._end(record, holding, "marked")
            return await self._status(declared)

    async def undo(self, name: str, /) -> MigrationStatus:
        """Take one migration back with its ``undo`` function, and return its status then.

        It counts as one that is to run again.

        Args:
            name: its id.

        Raises:
            OperationError: there is none, or it names no such function, or it never ran.
            MigrationFailedError: that function raised; other errors are those of ``run``.

        Cost:
            As ``run``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
        """
        declared = self._named(name)
        if declared.undo is None:
            raise OperationError(
                f"migration {name!r} cannot be undone; give it an undo function: @migration({name!r}, undo=...)"
            )
        async with self._holding() as holding:
            if (await self._status(declared)).state in ("pending", "marked", "undone"):
                raise OperationError(f"migration {name!r} has not run, so there is nothing to undo")
            await self._run(declared, holding, anew=True, function=declared.undo, ends_as="undone")
            return await self._status(declared)

    def _named(self, name: str) -> DeclaredMigration:
        try:
            return self._declared[name]
        except KeyError:
            known = ", ".join(self._declared) or "none"
            raise OperationError(f"there is no migration {name!r}; known migrations: {known}") from None

    @asynccontextmanager
    async def _holding(self) -> AsyncGenerator[_Holding]:
        """Hold the lease, and yield a session that sends nothing without it."""
        await self._session.tables.create(MigrationRecord, if_missing=True)
        runner = runner_of(self._session)
        lease = Lease(
            runner.executor,
            runner.context,
            LEASE,
            seconds=self._lease_seconds,
            wait=self._wait,
            waiting_for=self._waiting_for,
        )
        transport = LeasedTransport(transport_of(self._session), lease)
        async with lease, session_through(self._session, transport) as session:
            yield _Holding(lease=lease, session=session)

    async def _run(
        self,
        declared: DeclaredMigration,
        holding: _Holding,
        *,
        anew: bool = False,
        function: MigrationFunction | None = None,
        ends_as: RecordedState = "done",
    ) -> None:
        """Run one migration, or the function that takes it back, and record the outcome."""
        record = await self._begun(declared, holding, anew=anew)
        taken = record.read_units, record.write_units
        fence = holding.lease.condition if declared.fenced else None
        async with session_through(self._session, transport_of(holding.session), fence) as session:

            def count() -> None:
                usage = session.usage
                record.count(taken[0] + usage.read_units, taken[1] + usage.write_units)

            async def store(scan: str, place: ScanPlace) -> None:
                record.scans[scan] = place.model_copy()
                count()
                await self._put(record, holding)

            run = Migration(declared.id, session, ScanPlaces(record.scans, store, lambda: self._progress(run)))
            try:
                await (function or declared.function)(session, run)
            except LeaseLostError:
                raise
            except Exception as error:
                count()
                what = f"{type(error).__name__}: {error}"[:_SHOWN]
                await self._end(record, holding, "failed", what)
                raise MigrationFailedError(
                    f"migration {declared.id!r} raised {what.rstrip('.')}. Fix that and run it again; it continues "
                    "where its scans stopped",
                    migration=declared.id,
                ) from error
            count()
        await self._end(record, holding, ends_as)

    async def _begun(self, declared: DeclaredMigration, holding: _Holding, *, anew: bool) -> MigrationRecord:
        """Record that a migration begins, or goes on after an earlier run."""
        before = (
            None if anew else await holding.session.find(MigrationRecord, record_key(declared.id), consistent_read=True)
        )
        record = MigrationRecord(
            pk=record_key(declared.id),
            fence=holding.lease.fence,
            state="begun",
            begun=self._now(),
            by=holding.lease.owner,
            library_version=_library_version(),
            source=declared.source_hash,
        )
        if before is not None and before.state not in (*OVER, "undone"):  # it was broken off, or raised
            record.take_over(before)
        await self._put(record, holding)
        return record

    async def _end(
        self, record: MigrationRecord, holding: _Holding, state: RecordedState, error: str | None = None
    ) -> None:
        record.end(state, self._now(), error)
        await self._put(record, holding)

    async def _put(self, record: MigrationRecord, holding: _Holding) -> None:
        """Store a record, unless a process with a later fence has written it."""
        # Two processes may believe that they hold the lease, one of which was frozen: the later fence wins.
        not_later = MigrationRecord.pk.missing() | (MigrationRecord.fence <= record.fence)
        try:
            await holding.session.without_hooks().put(record, where=not_later)
        except ConditionalCheckFailedError as error:
            raise LeaseLostError(
                f"the lease {LEASE!r} was lost: another process has run {record.pk.partition('#')[2]!r} since. Nothing "
                "was recorded; look at `dynamap migrate --status`",
                lease=LEASE,
            ) from error

    async def _status(self, declared: DeclaredMigration) -> MigrationStatus:
        found = await self._session.find(MigrationRecord, record_key(declared.id), consistent_read=True)
        return status_of(declared.id, declared.source_hash, found)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(runner_of(self._session).context.clock(), UTC)


def _library_version() -> str:
    try:
        return version("dynamap-async")
    except PackageNotFoundError:  # a checkout that was never installed
        return "unknown"


async def migrate(session: Session, *declared: DeclaredMigration) -> tuple[MigrationStatus, ...]:
    """Run those of some migrations that are not over, as ``dynamap migrate`` does, from a test or a program.

    Args:
        session: an open session.
        declared: the migrations, in any order.

    Raises:
        MigrationFailedError: one raised; other errors are those of ``Migrations.run``.
    """
    return await Migrations(session, declared).run()
