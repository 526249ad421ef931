"""What one simulated DynamoDB keeps: tables, streams, backups, and the tokens of transactions."""

from __future__ import annotations

import marshal
import re
import threading
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.limits import CLIENT_REQUEST_TOKEN_SECONDS
from dynamap_async.simulated.changes import Streams
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.expiry import BY_THE_SERVICE, Expiry
from dynamap_async.simulated.jobs import Jobs
from dynamap_async.simulated.keys import admit_new
from dynamap_async.simulated.lag import Lag
from dynamap_async.simulated.meters import written
from dynamap_async.simulated.sharding import Sharding, StreamShards
from dynamap_async.simulated.states import Draw, States, not_found
from dynamap_async.simulated.store import Change, Snapshot, Store, Table
from dynamap_async.simulated.values import Item
from dynamap_async.simulated.writes import ItemWrite
from dynamap_async.units import Charge

if TYPE_CHECKING:
    from dynamap_async.simulated.buckets import Buckets
    from dynamap_async.simulated.capacity import Throttle
    from dynamap_async.simulated.supplies import Capacity

ACCOUNT: Final = "000000000000"
REGION: Final = "eu-west-1"
SEED: Final = 7
_TABLE_ARN: Final = re.compile(r"arn:[^:]+:dynamodb:[^:]+:[^:]+:table/([^/]+)")


class Service:
    """What a simulated DynamoDB keeps. One call at a time works on it, whichever thread it comes from.

    Args:
        clock: what the time is, in seconds since the epoch.
        region: the region that its ARNs name.
        seed: decides what is drawn by chance.
        shards: how streams are cut into shards; None for one shard that stays.
        lag: how old what a read sees may be that is not consistent, in seconds; None for what is there now.
        expire: how many seconds after an item has expired it is deleted at the latest; None for never.
        capacity: by which rules what has no units is refused; None to refuse nothing for want of them.
        buckets: what exports write and imports read; None for nothing.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        region: str = REGION,
        *,
        seed: int = SEED,
        shards: StreamShards | None = None,
        lag: float | None = None,
        expire: float | None = None,
        capacity: Capacity | None = None,
        buckets: Buckets | None = None,
    ) -> None:
        self.store: Store = Store()
        self.clock = clock
        self.region = region
        self.began: float | None = None
        """When the first request came, of those whose time counts."""
        self._seed = seed
        self.states: States = States(self.store, clock, self.random, self.elapsed)
        sharding = None if shards is None else Sharding(shards, self.random("streams"), clock)
        self.streams: Streams = Streams(clock, region, self.arn, sharding, self.store.journal.note)
        self.tokens: dict[str, tuple[float, str, Any]] = {}
        """Token of a transaction -> when it was done, what it asked for, and its answer."""
        self.backups: dict[str, Any] = {}
        self.throttle: Throttle | None = None
        if capacity is not None:
            from dynamap_async.simulated.capacity import Throttle  # few engines have one

            self.throttle = Throttle(capacity, clock, self.arn, self.elapsed)
        self.turn: threading.Lock = threading.Lock()
        """Held by whoever works on the tables."""
        self.buckets = buckets
        self.jobs: Jobs = Jobs(self.store.journal.note)
        """Exports, imports and bulk puts."""
        self.lag: Lag | None = None if lag is None else Lag(lag, clock, self.random("lag"))
        self.expiry: Expiry | None = None if expire is None else Expiry(self.store, clock, self.random, expire)
        self.store.watchers.extend(mode.note for mode in (self.lag, self.expiry) if mode is not None)

    def take_time(self, draw: Draw, seed: int) -> None:
        """Let changes that are begun from now on take their time, as long as is drawn by another seed."""
        self._seed, self.began = seed, None
        self.states.slow_down(draw)

    def begin(self) -> None:
        """Count seconds from now on: this is the first request."""
        self.began = self.clock()

    def elapsed(self, now: float) -> float:
        """Return how many seconds after the first request a time is."""
        return round(now - (now if self.began is None else self.began), 6)

    def random(self, purpose: str) -> Random:
        """Return what draws for one purpose: the same in each process, whatever else is drawn.

        Args:
            purpose: a text of its own for each mode, and for each thing for which it draws.
        """
        return Random(f"{self._seed}/{purpose}")  # noqa: S311 - it must repeat itself

    def snapshot(self) -> Snapshot:
        """Return a mark of all tables and items as they are now."""
        with self.turn:
            return self.store.journal.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Undo what was done since a snapshot.

        Raises:
            ValueError: it is not of this service.
        """
        with self.turn:
            self.store.journal.restore(snapshot)
            self.settle()
            self.states.settle()

    def items(self, name: str) -> list[Item]:
        """Return the items of a table, in the order of scans."""
        with self.turn:
            self.catch_up()
            return list(self.store.items(name))

    def load(self, name: str, items: Iterable[Item]) -> None:
        """Store items without telling a stream.

        Raises:
            ValueError: an item is none for this table.
        """
        with self.turn:
            table = self.store.tables[name]
            try:
                for given in items:
                    item = _copied(given)  # numbers get their one spelling, in place
                    position, size = admit_new(table, item)
                    table.replace(position, item, size)
            except Refused as refused:
                raise ValueError(refused.message) from None
            finally:
                self.settle()

    def size(self) -> int:
        """Return the bytes of all items."""
        with self.turn:
            return sum(table.bytes for table in self.store.tables.values())

    def forget_tables(self) -> None:
        """Forget all tables, and all that is left of those that were there before."""
        self._forget(lambda _: True)

    def forget(self, names: Iterable[str]) -> None:
        """Forget tables, with their streams, backups, jobs and tokens; those that are not there are no error."""
        self._forget(frozenset(names).__contains__)

    def _forget(self, is_meant: Callable[[str], bool]) -> None:
        """Forget tables and what belongs to them.

        Args:
            is_meant: whether a table of this name is to be forgotten.
        """
        with self.turn:
            known = {_table_of(arn) for arn in (*self.streams.arns(), *self.backups, *self.jobs.table_arns())}
            names = [name for name in {*self.store.tables, *known} if is_meant(name)]
            for name in names:
                if name in self.store.tables:
                    self.store.drop(name)
            meant = frozenset(names)
            self.streams.forget(meant)
            self.jobs.forget(lambda job: _table_of(job.table_arn) in meant)
            self._drop_from(self.backups, [arn for arn in self.backups if _table_of(arn) in meant])
            # One too many does no harm: a token only keeps a transaction from being done twice.
            gone = [token for token, (_at, asked, _done) in self.tokens.items() if any(map(asked.__contains__, meant))]
            self._drop_from(self.tokens, gone)

    def _drop_from(self, kept: dict[str, Any], names: Iterable[str]) -> None:
        for name in names:
            self.store.journal.note(partial(kept.__setitem__, name, kept.pop(name)))

    def settle(self) -> None:
        """Let all reads see what is there now."""
        if self.lag is not None:
            self.lag.settle()

    def catch_up(self) -> None:
        """Do what is due: delete what has expired long enough ago, and go on with exports, imports and bulk puts."""
        if self.jobs.waiting:
            self.jobs.catch_up(self.clock())
        if self.expiry is not None:
            for change in self.expiry.due():
                self.carry(change, BY_THE_SERVICE)

    def find(self, name: str) -> Table | None:
        """Return a table in any state; None if there is none.

        Args:
            name: its name or its ARN.

        Raises:
            Refused: it is the ARN of something else.
        """
        return self.store.tables.get(_named_by(name) if name.startswith("arn:") else name)

    def table(self, name: str) -> Table:
        """Return a table whose items are read or written.

        Args:
            name: its name or its ARN.

        Raises:
            Refused: there is none, or not yet, or not for much longer.
        """
        table = self.find(name)
        if table is None or table.status in {"CREATING", "DELETING"}:
            raise Refused("ResourceNotFoundException", "Requested resource not found")
        return table

    def described(self, name: str) -> Table:
        """Return a table in any state, for the operations whose error names it.

        Raises:
            Refused: there is none.
        """
        table = self.find(name)
        if table is None:
            raise not_found(name)
        return table

    def changeable(self, name: str) -> Table:
        """Return a table that can be changed.

        Raises:
            Refused: there is none, or a change is under way.
        """
        table = self.described(name)
        self.states.refuse_busy(table)
        return table

    def remembered(self, token: str, asked: str) -> Any:
        """Return what a transaction did that had this token; None if there was none.

        Raises:
            Refused: it asked for something else.
        """
        now = self.clock()
        for other, (at, _asked, _done) in list(self.tokens.items()):
            if at + CLIENT_REQUEST_TOKEN_SECONDS < now:
                del self.tokens[other]
        if token not in self.tokens:
            return None
        _at, before, done = self.tokens[token]
        if before != asked:
            raise Refused(
                "IdempotentParameterMismatchException",
                "An error occurred (IdempotentParameterMismatchException): the token was used with other parameters",
            )
        return done

    def remember(self, token: str, asked: str, done: Any) -> None:
        """Keep what a transaction did, for the ten minutes in which its token means it."""
        self.tokens[token] = (self.clock(), asked, done)
        self.store.journal.note(partial(self.tokens.pop, token, None))

    def keep_settings(self, table: Table) -> None:
        """Remember the settings of a table, which are about to change, for those who go back to a snapshot."""
        self.store.journal.note(partial(_go_back, table.settings, dict(table.settings)))

    def arn(self, table: str) -> str:
        """Return the ARN of a table."""
        return f"arn:aws:dynamodb:{self.region}:{ACCOUNT}:table/{table}"

    def carry_out(self, write: ItemWrite, old: Item | None) -> tuple[Change, Charge]:
        """Do a write whose condition holds, and return what it changed, and what it takes.

        Args:
            write: the write.
            old: the item that is there, as the caller read it; it may be changed.

        Raises:
            Refused: the update does not fit the item, or there are too few units.
        """
        item, size = write.new_item(old)
        change = write.table.change(write.position, item, size)
        charge = written(change)
        if self.throttle is not None:
            self.throttle.take("Write", write.table, write.position, charge, change)
        self.carry(change)
        return change, charge

    def charge_in_vain(self, write: ItemWrite) -> None:
        """Take what a write takes whose condition fails: nothing of the indexes.

        Raises:
            Refused: there are too few units.
        """
        if self.throttle is not None:
            self.throttle.take("Write", write.table, write.position, Charge(table_halves=write.halves_in_vain()))

    def carry(self, change: Change, by: dict[str, str] | None = None) -> None:
        """Store a change, and tell the table's stream.

        Args:
            change: what is stored.
            by: the service that does it, for items that have expired.
        """
        table = change.table
        table.store(change)
        if "RecoveryDays" in table.settings:
            table.remember(change, self.clock(), table.settings["RecoveryDays"] * 86_400)
            self.store.journal.note(table.forget_last)
        shard = self.streams.note(change, by)
        if shard is not None:
            self.store.journal.note(shard.forget_last)


def _copied(item: Item) -> Item:
    try:
        found: Item = marshal.loads(marshal.dumps(item))  # noqa: S302 - a twentieth of the time of ``deepcopy``
    except ValueError:  # it has something that is no part of JSON, which is refused in its place
        return deepcopy(item)
    return found


def _go_back(settings: dict[str, Any], before: dict[str, Any]) -> None:
    settings.clear()
    settings.update(before)


def _named_by(arn: str) -> str:
    """Return the name in the ARN of a table. All regions and accounts share one set of tables.

    Raises:
        Refused: it is the ARN of something else, such as an index.
    """
    found = _TABLE_ARN.fullmatch(arn)
    if found is None:
        raise invalid(f"1 validation error detected: Invalid resource type in '{arn}'")
    return found[1]


def denied(arn: str) -> Refused:
    """Return the refusal of what only the owner of a table may do, or nobody, as there is none."""
    return Refused(
        "AccessDeniedException",
        f"User: arn:aws:iam::{ACCOUNT}:user/local is not authorized to perform this action on resource: {arn}",
    )


def _table_of(arn: str) -> str:
    """Return the name of the table that the ARN of a table, or of a part of one, names."""
    return arn.split("/")[1]


def required(body: dict[str, Any], name: str) -> Any:
    """Return a member of a request that must be there.

    Raises:
        Refused: it is not.
    """
    value = body.get(name)
    if value is None:
        raise invalid(f"The parameter '{name}' is required but was not present in the request")
    return value
