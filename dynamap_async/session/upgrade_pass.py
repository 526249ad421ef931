"""The pass that upgrades all stored items of a model, page by page, in step with whoever takes its progress.

Invariant: an item is written only as it was read, so that a pass may be broken off anywhere, run twice, or run beside
other writers: each item is upgraded once, and no change of another is lost. A checkpoint passes no item that was not
looked at. Between two steps nothing is under way but reads of further pages, which end when the pass is left.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, Self

from dynamap_async.capacity import write_charge
from dynamap_async.codec import decode_any, item_size
from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.errors import (
    CapacityBudgetExceededError,
    ConditionalCheckFailedError,
    CursorError,
    DecodeError,
    DynamapError,
    ItemFailure,
    ItemsNotUpgradedError,
    OperationError,
    ResourceNotFoundError,
    ServiceError,
    SessionStateError,
    TransactionCanceledError,
    TransportError,
)
from dynamap_async.errors.habits import IteratedByAsyncFor
from dynamap_async.executor import BoundCoroutine, gather_all, paying
from dynamap_async.models import Definition, Model, definition_of
from dynamap_async.operations import Find
from dynamap_async.operations.item_upgrade import (
    ItemMove,
    ItemUpgrade,
    behind,
    not_expired,
    upgradable,
    upgrade_of,
    upgrades_in,
)
from dynamap_async.operations.unique_values import stored_at, with_guards
from dynamap_async.operations.upgrade_record import (
    RecordUpgrade,
    UpgradeRecord,
    upgrade_record_key,
    with_versions,
)
from dynamap_async.planning import Reading, ReadSpec, checked_model, plan_reading, positive
from dynamap_async.request import Request
from dynamap_async.session.runner import Runner
from dynamap_async.session.scope import Allowance
from dynamap_async.session.upgrade_place import UpgradePlace
from dynamap_async.stored import ItemPass, StoredPages, stored_item, whole_item
from dynamap_async.wire import AttributeValue, WireItem

_ATTEMPTS: Final = 5
"""How often an item is tried that others change meanwhile."""
_EXAMPLES: Final = 10
_GUARD_HALVES: Final = 4
"""The half write units of a guard, which is smaller than 1 KB, in a transaction."""
_SHOWN: Final = 60
"""How many characters of a value an example shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeReport:
    """How far a pass over the items of a model has come."""

    model: str
    """The name of the model."""
    version: int
    """The version that items are brought to."""
    dry_run: bool
    """Whether nothing is written."""
    finished: bool
    """Whether the pass is at its end; otherwise ``checkpoint`` tells where it goes on."""
    seen: int
    """How many items were read, those of the present version and of other models in the table included. An item that
    the pass moves to another key may be read there as well, and counts twice then; in ``by_version``, ``behind`` and
    ``upgraded`` it counts once, because it is of the present version there."""
    table_items: int | None
    """How many items the table had when DynamoDB counted them last, which is up to six hours ago: what ``seen`` comes
    to, about, where no item is moved. None before the first page, and where the policy does not allow DescribeTable."""
    by_version: Mapping[int, int]
    """Stored version -> how many items of it were met; 0 for what is no version. Present ones do not count."""
    upgraded: int
    """How many items were written; in a dry run, how many would be."""
    conflicts: int
    """How often somebody else had written an item since it was read, which was then looked at again."""
    failed: int
    """How many items could not be upgraded. They are stored as they were."""
    failures: tuple[ItemFailure, ...]
    """The first thousand of them, each with its key and the cause."""
    remaining: int | None
    """How many items of an older version are stored at the end; None as long as nobody has counted."""
    read_units: float
    """The read units that the pass has taken, with those of counting."""
    write_units: float
    """The write units that it has taken, with those of indexes; in a dry run, those that it would take."""
    growth_bytes: int
    """By how much the items grow, in bytes; negative where they shrink."""
    examples: tuple[str, ...]
    """In a dry run, what would change of the first ten items."""
    checkpoint: str
    """Where the pass stands, for ``session.upgrade(Model, checkpoint=...)``."""

    @property
    def behind(self) -> int:
        """How many items of an older version were met."""
        return sum(self.by_version.values())

    def __str__(self) -> str:
        done = f"{self.upgraded:,} {'to upgrade' if self.dry_run else 'upgraded'}, {self.failed:,} failed"
        left = "" if self.remaining is None else f", {self.remaining:,} left"
        return f"{self.model} to version {self.version}: {self.seen:,} seen, {self.behind:,} behind, {done}{left}"


class UpgradePass(IteratedByAsyncFor, BoundCoroutine[UpgradeReport]):
    """A pass over all stored items of a model that brings older ones to the present version; ``session.upgrade``.

    Await it for the report, or iterate over it: ``async for report in session.upgrade(Customer)`` gives a report after
    each page that was read and written. ``async with`` ends it at a place that you can see. It is gone through once.

    Args:
        runner: carries out operations.
        model: the model of the items.
        segments: how many parts of the table are read at the same time.
        page_size: how many items one request reads at the most.
        dry_run: whether nothing is written.
        max_failures: after how many items that cannot be upgraded it stops.
        allowance: what it may take.
        skip_expired: whether items whose time to live has passed are left as they are.
        verify: whether items of older versions are counted at the end.
        checkpoint: where to go on.
        name: what its place is stored under in the library's own table; None to store none.

    Raises:
        OperationError: the model has no versions, a number is out of range, or what is asked for excludes itself.
        CursorError: the checkpoint is not of such a pass.
        SessionStateError: the session is not open.
    """

    __slots__ = (
        "_advancing",
        "_begun",
        "_by_version",
        "_checkpoint",
        "_counts",
        "_dry_run",
        "_ended",
        "_examples",
        "_is_prepared",
        "_leaves_expired",
        "_members",
        "_model",
        "_page_size",
        "_pass",
        "_place",
        "_reading",
        "_remaining",
        "_runner",
        "_seen",
        "_spec",
        "_table_items",
        "_verify",
        "_version",
    )

    def __init__(
        self,
        runner: Runner,
        model: type[Model],
        *,
        segments: int,
        page_size: int | None,
        dry_run: bool,
        max_failures: int | None,
        allowance: Allowance,
        skip_expired: bool,
        verify: bool,
        checkpoint: str | None,
        name: str | None,
    ) -> None:
        self._begun = True  # until it is made; see ``__del__``
        super().__init__()
        runner.executor.check_open()
        self._runner = runner
        self._model = checked_model(model)
        self._leaves_expired = skip_expired
        self._members = upgradable(model)
        self._version = max(upgrades_in(each).version for each in self._members)
        self._dry_run = dry_run
        most = None if max_failures is None else positive(max_failures, "max_failures")
        self._verify = verify and not dry_run
        expired = (not_expired(model, self._members, runner.context.now()),) if skip_expired else ()
        self._spec = replace_fields(
            ReadSpec.of(model, scan=True),
            conditions=(behind(model, self._members), *expired),
            segments=positive(segments, "segments"),
        )
        self._page_size = None if page_size is None else positive(page_size, "page_size")
        self._reading = self._reading_from(checkpoint)
        self._pass = ItemPass(
            runner.executor,
            f"upgrade {model.__name__}",
            allowance.limits,
            pages=self._pages_of(self._reading),
            max_failures=None if dry_run else most,
        )
        if name is not None and (dry_run or checkpoint is not None):
            other = "dry_run=True, which stores nothing" if dry_run else "checkpoint=, which says where to begin"
            raise OperationError(f"name={name!r} keeps the place of the pass, and excludes {other}; drop one of them")
        self._place = None if name is None else UpgradePlace(runner.without_hooks(), model, name)
        """Where its place is stored; None where it is not."""
        self._counts: Counter[str] = Counter()
        self._by_version: Counter[int] = Counter()
        self._examples: list[str] = []
        self._remaining: int | None = None
        self._seen: int | None = None
        self._table_items: int | None = None
        self._checkpoint = self._marked()
        self._advancing = self._ended = self._is_prepared = self._begun = False

    def __repr__(self) -> str:
        return f"<UpgradePass {self.report}>"

    def __del__(self) -> None:
        if not getattr(self, "_begun", True):
            warnings.warn(
                f"the upgrade of {self._model.__name__} was never awaited", RuntimeWarning, stacklevel=1, source=self
            )

    @property
    def report(self) -> UpgradeReport:
        """How far the pass has come; also after an error."""
        usage, counts = self._pass.usage, self._counts
        return UpgradeReport(
            model=self._model.__name__,
            version=self._version,
            dry_run=self._dry_run,
            finished=self._ended,
            seen=self._pass.scanned if self._seen is None else self._seen,
            table_items=self._table_items,
            by_version=dict(sorted(self._by_version.items())),
            upgraded=counts["upgraded"],
            conflicts=counts["conflicts"],
            failed=self._pass.failed,
            failures=tuple(self._pass.failures),
            remaining=self._remaining,
            read_units=usage.read_units,
            write_units=counts["write_halves"] / 2 if self._dry_run else usage.write_units,
            growth_bytes=counts["growth"],
            examples=tuple(self._examples),
            checkpoint=self._checkpoint,
        )

    def _run(self) -> Coroutine[Any, Any, UpgradeReport]:
        self._begun = True
        return self._to_the_end()

    async def _to_the_end(self) -> UpgradeReport:
        async with self:
            async for _ in self:
                pass
        return self.report

    async def __aenter__(self) -> Self:
        self._begun = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the pass where it stands; nothing is under way afterwards. ``report.checkpoint`` tells where that is."""
        self._begun = True
        await self._pass.aclose()

    def close(self) -> None:
        """End the coroutine; for event loops."""
        self._begun = True
        super().close()

    def __aiter__(self) -> Self:
        self._begun = True
        return self

    async def __anext__(self) -> UpgradeReport:
        """Go over another page, and return how far the pass has come.

        A cancelled or failed call loses nothing: the next one goes on with the items that are not done.

        Raises:
            ItemsNotUpgradedError: too many items could not be upgraded; or the pass is at its end, and some could not
                be, or are of an older version again.
            ServiceError: DynamoDB refused to read a page.
            TransportError: no answer came to the request of a page.
            CapacityBudgetExceededError: a scope around the pass has no units left.
            SessionStateError: the session is closed, or another task is waiting for a report.

        Cost:
            One Scan request, and one UpdateItem for each item in it that is behind.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html
        """
        if self._advancing:
            raise SessionStateError("two tasks read reports of one upgrade at once; let only one of them do it")
        if self._ended:
            raise StopAsyncIteration
        self._advancing = True
        try:
            with paying(self._pass.payer()):
                await self._advance()
        finally:
            self._advancing = False
        return self.report

    async def _advance(self) -> None:
        if not self._is_prepared:
            await self._prepare()
        chooses = self._foresee if self._dry_run else self._is_to_upgrade
        if not await self._pass.step(chooses, self._upgrade):
            await self._finish()
            return
        if self._pass.is_stopped:
            await self._end()
            raise self._error(f"{self._failed_items}, and it stopped there")
        self._checkpoint = self._marked()
        if self._place is not None:
            await self._place.keep(self._checkpoint, self._pass.scanned)

    async def _prepare(self) -> None:
        """Ask for what is needed before the first page."""
        with suppress(ServiceError, TransportError):  # it is of use to those only who watch
            self._table_items = await self._count_of_table()
        if self._place is not None:
            await self._go_to(self._place)
        self._is_prepared = True

    async def _count_of_table(self) -> int:
        """Return the number of the table's items, as DynamoDB tells it."""
        table = self._runner.context.tables.full(self._members[0].require_table("upgraded").name)
        request = Request(operation="DescribeTable", body={"TableName": table}, table=table)
        answer = await self._runner.executor.send(request)
        count: int = answer["Table"].get("ItemCount", 0)
        return count

    async def _go_to(self, place: UpgradePlace) -> None:
        """Continue where an earlier pass of this name ended."""
        checkpoint = await place.begin()
        # One to another version, or in other segments, begins at the beginning: that costs reads, and no writes.
        with suppress(CursorError):
            self._reading = self._reading_from(checkpoint)
            self._pass.go_on_in(self._pages_of(self._reading))
            self._checkpoint = self._marked()

    def _is_to_upgrade(self, item: WireItem) -> bool:
        """Return whether an item is behind, and count it then."""
        definition = self._definition_if_behind(item)
        if definition is None:
            return False
        self._by_version[_version(definition, item)] += 1
        return True

    def _definition_if_behind(self, item: WireItem) -> Definition[Any] | None:
        """Return the definition of an item's model; None for an item of the present version, or without versions."""
        definition = self._members[0]
        kinds = definition_of(self._model).kinds
        if kinds is not None:
            model = kinds.of(item)
            found = next((each for each in self._members if each.model is model), None)
            if found is None:
                return None
            definition = found
        return definition if _version(definition, item) < upgrades_in(definition).version else None

    async def _upgrade(self, item: WireItem) -> None:
        try:
            await self._upgrade_as_stored(item)
        except (CapacityBudgetExceededError, SessionStateError):
            raise
        except DynamapError as error:
            self._note(item, error)

    async def _upgrade_as_stored(self, item: WireItem) -> None:
        """Upgrade an item; if somebody else has written it since it was read, as it is then."""
        attempts = _ATTEMPTS
        while (definition := self._definition_if_behind(item)) is not None:
            write = upgrade_of(definition, item)
            try:
                await self._carry_out(write)
            except (ConditionalCheckFailedError, TransactionCanceledError) as error:
                stored = await self._stored_since(write, error)
                # Where an answer was lost, this very write may have made the item what it is.
                if not error.outcome_unknown or stored != write.present:
                    self._counts["conflicts"] += 1
                    attempts -= 1
                    if not attempts:
                        raise
                    if stored is None:
                        return
                    item = stored
                    continue
            self._counts["upgraded"] += 1
            self._counts["growth"] += item_size(write.present) - item_size(item)
            return

    async def _carry_out(self, write: ItemUpgrade | ItemMove) -> None:
        if isinstance(write, ItemMove):
            await self._runner.without_hooks().execute(write.transaction)
        else:
            await self._runner.execute(write)

    async def _stored_since(
        self, write: ItemUpgrade | ItemMove, error: ConditionalCheckFailedError | TransactionCanceledError
    ) -> WireItem | None:
        """Return what somebody else has made of an item since it was read; None where it was deleted, or moved.

        Raises:
            ItemUpgradeError: it is as it was, and the key that it is to be moved to is another item's.
            TransactionCanceledError: it is as it was, and something else was refused, such as a unique value.
        """
        definition = write.definition
        if isinstance(error, ConditionalCheckFailedError):
            return error.wire_item or await self._stored(definition, write.older)
        if not isinstance(write, ItemMove):
            raise error
        stored = await self._stored(definition, write.older)
        if stored == write.older:
            first = next(iter(error.reasons), None)  # that of the put; none where the service named no reasons
            is_taken = first is not None and first.code == "ConditionalCheckFailed"
            raise (write.taken() if is_taken else error) from error.__cause__
        return stored

    async def _stored(self, definition: Definition[Any], item: WireItem) -> WireItem | None:
        """Return what is stored under the key of an item."""
        key = definition.require_table("upgraded").keys.key_of(item)
        return await stored_item(self._runner.executor, stored_at(definition, key, self._runner.context))

    def _foresee(self, item: WireItem) -> bool:
        """Count what upgrading an item would do, if it is behind; return False, for nothing is to be written."""
        definition = self._definition_if_behind(item)
        if definition is not None:
            self._by_version[_version(definition, item)] += 1
            try:
                self._foresee_one(definition, item)
            except DynamapError as error:
                self._note(item, error)
        return False

    def _foresee_one(self, definition: Definition[Any], item: WireItem) -> None:
        write = upgrade_of(definition, item)
        operation = write.transaction if isinstance(write, ItemMove) else write
        operation.request(self._runner.context)  # which may be too large to be sent
        self._counts["upgraded"] += 1
        self._counts["write_halves"] += _halves(write)
        self._counts["growth"] += item_size(write.present) - item_size(item)
        if len(self._examples) < _EXAMPLES:
            self._examples.append(_example(definition, write))

    def _note(self, item: WireItem, error: DynamapError) -> None:
        self._pass.note_failure(self._members[0].items.shown_key(item), error)

    async def _finish(self) -> None:
        """End the pass; count what is behind all the same."""
        if self._seen is None:
            self._seen = self._pass.scanned
        if self._verify:
            self._remaining = await self._count_behind()
        await self._end()
        if self._dry_run:
            return
        if self._pass.failed:
            raise self._error(self._failed_items)
        if self._remaining:
            raise self._error(
                f"{self._remaining:,} items of {self._model.__name__} have an older version at the end of the pass: "
                "older programs wrote them, or the pass began at a checkpoint after them"
            )
        if self._verify and not self._leaves_expired:
            await self._record()

    async def _record(self) -> None:
        """Record what was proved, for ``complete_since``; where the library's own table is missing, nothing is."""
        for member in self._members:
            version = upgrades_in(member).version
            self._runner.context.upgraded_to[member.model] = version
            with suppress(ConditionalCheckFailedError, ResourceNotFoundError):
                await self._runner.without_hooks().execute(RecordUpgrade(upgrade_record_key(member), version))

    async def _count_behind(self) -> int:
        reading = plan_reading(replace_fields(self._spec, consistent=True), self._runner.context)
        found = 0
        async with self._pages_of(reading) as pages:
            while await pages.next_page():
                async for item in pages:
                    found += self._definition_if_behind(item) is not None
        return found

    async def _end(self) -> None:
        if self._place is not None:
            await self._place.end()
        self._ended = True
        await self._pass.aclose()

    @property
    def _failed_items(self) -> str:
        first = self._pass.failures[0]
        return (
            f"{self._pass.failed:,} of {sum(self._by_version.values()):,} older items of {self._model.__name__} "
            f"could not be upgraded; the first is {first.subject}, with {type(first.error).__name__}: {first.error}"
        )

    def _error(self, what: str) -> ItemsNotUpgradedError:
        return ItemsNotUpgradedError(
            f"{what}. Nothing was lost. Fix that, and upgrade again from the beginning; finished items cost no writes",
            failures=self._pass.failures,
            total=sum(self._by_version.values()),
            failed=self._pass.failed,
            remaining=self._remaining,
        )

    def _pages_of(self, reading: Reading[Any]) -> StoredPages[WireItem]:
        return StoredPages(
            self._runner.executor,
            reading,
            whole_item,
            begin=reading.begin,
            answer_filter=reading.answer_filter,
            missing=reading.missing,
        )

    def _marked(self) -> str:
        """Return the checkpoint of where the pages stand; it names the version, since one of another is of no use."""
        return f"{self._version}.{self._reading.checkpoint(self._pass.pages.positions())}"

    def _reading_from(self, checkpoint: str | None) -> Reading[Any]:
        """Return what is read from a checkpoint of this class on; from the beginning without one."""
        spec = replace_fields(self._spec, page_size=self._page_size, checkpoint=self._position(checkpoint))
        reading: Reading[Any] = plan_reading(spec, self._runner.context)
        return reading

    def _position(self, checkpoint: str | None) -> str | None:
        """Return where to go on in the table, of a checkpoint of this class."""
        if checkpoint is None:
            return None
        version, _, position = checkpoint.partition(".")
        if version != str(self._version):
            raise CursorError(
                f"the checkpoint does not belong to an upgrade of {self._model.__name__} to version {self._version}; "
                "begin without it: finished items cost no writes"
            )
        return position


async def recorded(runner: Runner, model: type[Model]) -> int | None:
    """Return the version that passes have proved all items of a model to have reached; None for none."""
    members = with_versions(checked_model(model))
    reads = [Find(UpgradeRecord, upgrade_record_key(each)) for each in members]
    try:
        found = await gather_all([runner.without_hooks().execute(each) for each in reads])
    except ResourceNotFoundError:
        return None
    versions = {member.model: record.version for member, record in zip(members, found, strict=True) if record}
    runner.context.upgraded_to.update(versions)
    return min(versions.values(), default=None) if len(versions) == len(members) else None


def _version(definition: Definition[Any], item: WireItem) -> int:
    """Return the version of a stored item; 0 where what is stored is none, which its upgrade then says."""
    try:
        return upgrades_in(definition).stored_version(item)
    except DecodeError:
        return 0


def _halves(write: ItemUpgrade | ItemMove) -> int:
    """Return the half write units that a write takes, with those of guards and indexes."""
    table = write.definition.require_table("upgraded")
    if isinstance(write, ItemMove):
        put = write_charge(table, None, write.present, transactional=True)
        delete = write_charge(table, write.older, None, transactional=True)
        guards = len(write.transaction.actions) - 2
        return put.halves + delete.halves + _GUARD_HALVES * guards
    guards = len(with_guards(write, write.older)[1]) if write.guarded else 0
    charge = write_charge(table, write.older, write.present, transactional=write.guarded)
    return charge.halves + _GUARD_HALVES * guards


def _example(definition: Definition[Any], write: ItemUpgrade | ItemMove) -> str:
    """Return what an upgrade changes of an item, as text."""
    before, after = write.older, write.present
    # DynamoDB gives the attributes of an item in any order.
    names = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
    changes = ", ".join(f"{name}: {_shown(before.get(name))} -> {_shown(after.get(name))}" for name in names)
    return f"{definition.model.__name__} {definition.items.shown_key(before)}: {changes}"


def _shown(value: AttributeValue | None) -> str:
    if value is None:
        return "nothing"
    text = repr(decode_any(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
