"""Tables, their items and indexes, in memory.

An item is kept as its JSON text. It is parsed when something has to look into it, such as a filter; a read without one
joins texts. Keys are bytes that sort as the service sorts: the hash of the partition key, then the parts of the key.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from dynamap_async.simulated import wire
from dynamap_async.simulated.blocks import SortedKeys
from dynamap_async.simulated.values import Item, Value, admit_item, key_bytes, same
from dynamap_async.simulated.vector_index import VectorChange, VectorIndex

if TYPE_CHECKING:
    from dynamap_async.simulated.supplies import Supply

Position: TypeAlias = bytes
"""Where an item stands in a table or an index."""

HASHES = 1 << 64
"""How many hashes of partition keys there are."""


class Part(NamedTuple):
    """An attribute of a key."""

    name: str
    type: str


@dataclass(slots=True)
class Entry:
    """An item as it is stored, or what an index has of it."""

    text: bytes
    """Its JSON."""
    size: int
    """Its size in bytes, as the service counts it."""
    places: tuple[Position | None, ...] = ()
    """Of an item of a table: where it stands in each of the table's indexes."""

    def stand(self, places: tuple[Position | None, ...]) -> None:
        """Remember where it stands in the table's indexes."""
        self.places = places

    @property
    def item(self) -> Item:
        """A new copy of the item."""
        found: Item = wire.read(self.text)
        return found


def _escaped(text: bytes) -> bytes:
    return text.replace(b"\0", b"\0\xff")


def _ended(text: bytes) -> bytes:
    """Return bytes of which none is the beginning of another, and that sort as those that are given."""
    return text.replace(b"\0", b"\0\xff") + b"\0\1"


def after(prefix: bytes) -> bytes | None:
    """Return the least bytes that are greater than all that begin with a prefix; None if there are none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None


@dataclass(slots=True, eq=False)
class Place:
    """The items of a table, or the entries of an index, in order."""

    hash: tuple[Part, ...]
    range: tuple[Part, ...]
    keys: SortedKeys = field(default_factory=SortedKeys)
    entries: dict[Position, Entry] = field(default_factory=dict[Position, Entry])
    bytes: int = 0
    status: str = "ACTIVE"
    """The service's, but CREATING has two names of its own for an index that is added: ALLOCATING, then BACKFILLING."""
    supply: Supply | None = None
    """What it may take, if the engine refuses what is beyond."""
    parts: tuple[Part, ...] = ()
    """The attributes of its key."""

    def become(self, status: str) -> None:
        """Change the status."""
        self.status = status

    def __post_init__(self) -> None:
        self.parts = self.hash + self.range

    def have(self, supply: Supply) -> None:
        """Have a supply of units."""
        self.supply = supply

    def partition(self, values: list[Value]) -> Position:
        """Return what the positions of all items of one partition key begin with.

        Args:
            values: those of the attributes of the partition key.
        """
        text = b"".join([_ended(key_bytes(value)) for value in values])
        return blake2b(text, digest_size=8).digest() + text

    def position(self, item: Item) -> Position:
        """Return where an item with this key stands. A key alone will do."""
        parts = [_ended(key_bytes(item[part.name])) for part in self.range]
        return self.partition([item[part.name] for part in self.hash]) + b"".join(parts)

    def add(self, position: Position, entry: Entry) -> None:
        """Store an entry at a position, which may be taken."""
        old = self.entries.get(position)
        if old is None:
            self.keys.add(position)
        else:
            self.bytes -= old.size
        self.entries[position] = entry
        self.bytes += entry.size

    def fill(self, entries: dict[Position, Entry]) -> None:
        """Have these entries, and no others."""
        self.entries, self.keys = entries, SortedKeys(entries)
        self.bytes = sum(entry.size for entry in entries.values())

    def remove(self, position: Position) -> None:
        """Remove the entry at a position."""
        self.bytes -= self.entries.pop(position).size
        self.keys.remove(position)


def prefix_bounds(begin: Position, prefix: Value) -> tuple[Position, Position | None]:
    """Return the bounds of the positions whose next part begins with a value."""
    low = begin + _escaped(key_bytes(prefix))
    return low, after(low)


def exact(begin: Position, value: Value) -> Position:
    """Return what the positions begin with whose next part is a value."""
    return begin + _ended(key_bytes(value))


@dataclass(slots=True, eq=False)
class Index(Place):
    """A local or a global index."""

    name: str = ""
    is_global: bool = True
    projection: Literal["ALL", "KEYS_ONLY", "INCLUDE"] = "ALL"
    attributes: frozenset[str] | None = None
    """The attributes of its entries; None if it has all."""

    def place_of(self, item: Item, key: Position) -> Position | None:
        """Return where the item stands in the index; None if it is not there.

        Args:
            item: the item.
            key: where it stands in the table; it keeps entries of equal keys apart.
        """
        for name, wanted in self.parts:
            value = item.get(name)
            if value is None or wanted not in value:
                return None
        return self.position(item) + key

    def entry(self, item: Item, entry: Entry) -> Entry:
        """Return what the index has of an item."""
        if self.attributes is None:
            return entry
        kept = {name: value for name, value in item.items() if name in self.attributes}
        return Entry(wire.write(kept), admit_item(kept))


@dataclass(slots=True)
class IndexChange:
    """What a write does to an index."""

    index: Index
    was: Position | None
    """Where the item stands in it."""
    now: Position | None
    """Where it will stand."""
    old: Entry | None
    new: Entry | None

    @property
    def moved(self) -> bool:
        """Whether the index's key is another one."""
        return self.was != self.now

    @property
    def is_one(self) -> bool:
        """Whether the index has to write. A set in another order is the same set."""
        if self.old is None or self.new is None or self.moved:
            return True
        return not same_items(self.old, self.new)


@dataclass(slots=True)
class Change:
    """A write that is not stored yet."""

    table: Table
    position: Position
    old: Entry | None
    new: Entry | None
    indexes: list[IndexChange]
    vectors: Sequence[VectorChange] = ()

    @property
    def size(self) -> int:
        """The size of the new item; 0 if there is none."""
        return 0 if self.new is None else self.new.size


Watcher: TypeAlias = Callable[[Change], None]


class Past(NamedTuple):
    """What was at a position before it was written."""

    written: float
    position: Position
    entry: Entry | None


def same_items(one: Entry, other: Entry) -> bool:
    """Return whether two entries have the same attributes."""
    if one.text == other.text:
        return True
    return one.size == other.size and same({"M": one.item}, {"M": other.item})


@dataclass(slots=True, eq=False)
class Table(Place):
    """A table."""

    name: str = ""
    indexes: dict[str, Index] = field(default_factory=dict[str, Index])
    vectors: dict[str, VectorIndex] = field(default_factory=dict[str, VectorIndex])
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """What DescribeTable says of it, but for what is counted."""
    journal: Journal | None = None
    watchers: Sequence[Watcher] = ()
    past: deque[Past] = field(default_factory=deque[Past])
    """What was written while the table could be recovered, in order."""

    def note_in(self, journal: Journal, watchers: Sequence[Watcher]) -> None:
        """Note in a journal how to undo what is done from now on, and tell watchers what is stored."""
        self.journal, self.watchers = journal, watchers

    def change(self, key: Position, item: Item | None, size: int = 0) -> Change:
        """Return the change that stores an item, or removes the one that is there, and follows in the indexes.

        Args:
            key: where it stands.
            item: the new item; None to remove.
            size: its size in bytes.
        """
        new = None if item is None else Entry(wire.write(item), size)
        return self._between(key, self.entries.get(key), new, item)

    def _between(
        self,
        key: Position,
        old: Entry | None,
        new: Entry | None,
        item: Item | None,
        places: tuple[Position | None, ...] | None = None,
    ) -> Change:
        changes: list[IndexChange] = []
        if self.indexes:
            if places is None:
                places = tuple(None if item is None else index.place_of(item, key) for index in self.indexes.values())
            before = old.places if old else ()
            for number, index in enumerate(self.indexes.values()):
                was = before[number] if number < len(before) else None
                now = places[number]
                if was is None and now is None:
                    continue
                old_entry = None if was is None else index.entries.get(was)
                new_entry = None if now is None or item is None or new is None else index.entry(item, new)
                changes.append(IndexChange(index, was, now, old_entry, new_entry))
            if new is not None:
                new.stand(places)
        vectors = [index.change(key, item) for index in self.vectors.values()] if self.vectors else ()
        return Change(self, key, old, new, changes, vectors)

    def store(self, change: Change) -> None:
        """Store a change."""
        key, old, new = change.position, change.old, change.new
        if self.journal is not None:
            self.journal.note(partial(self._undo, key, new, old))
        for each in change.indexes:
            if each.was is not None and each.moved and each.old is not None:
                each.index.remove(each.was)
            if each.now is not None and each.new is not None:
                each.index.add(each.now, each.new)
        for vector in change.vectors:
            vector.store()
        if new is not None:
            self.add(key, new)
        elif old is not None:
            self.remove(key)
        for tell in self.watchers:
            tell(change)

    def replace(self, key: Position, item: Item | None, size: int = 0) -> None:
        """Store an item, or remove the one that is there; see ``change``."""
        self.store(self.change(key, item, size))

    def remember(self, change: Change, now: float, seconds: float) -> None:
        """Remember what a change replaces, and forget what is older than so many seconds."""
        self.past.append(Past(now, change.position, change.old))
        while self.past[0].written < now - seconds:
            self.past.popleft()

    def forget_last(self) -> None:
        """Forget the last change."""
        if self.past:
            self.past.pop()

    def entries_at(self, moment: float, *, inclusive: bool = True) -> dict[Position, Entry]:
        """Return what was in the table at a moment at which it could be recovered.

        Args:
            moment: the time.
            inclusive: whether what was written at that very time is there.
        """
        found: dict[Position, Entry | None] = dict(self.entries)
        for past in reversed(self.past):
            if past.written < moment or (inclusive and past.written == moment):
                break
            found[past.position] = past.entry
        return {position: entry for position, entry in found.items() if entry is not None}

    def _undo(self, key: Position, now: Entry | None, before: Entry | None) -> None:
        if before is None:
            self.store(self._between(key, now, None, None))
        else:  # it stands where it stood, and not in indexes into which it did not fit
            self.store(self._between(key, now, before, before.item, before.places))

    def build(self, index: Index, fits: Callable[[Index, Item], bool], number: int | None = None) -> None:
        """Add an index, and put the items in it that fit.

        Args:
            index: the index.
            fits: tells whether the index takes an item.
            number: how many of the indexes come before it, as before it was dropped; None for all.
        """
        number = len(self.indexes) if number is None else number
        others = list(self.indexes.values())
        self.indexes = {each.name: each for each in (*others[:number], index, *others[number:])}
        found: dict[Position, Entry] = {}
        for key, entry in self.entries.items():
            item = entry.item
            place = index.place_of(item, key) if fits(index, item) else None
            entry.stand((*entry.places[:number], place, *entry.places[number:]))
            if place is not None:
                found[place] = index.entry(item, entry)
        index.fill(found)

    def build_vectors(self, index: VectorIndex) -> None:
        """Add a vector index, and put the items in it that fit."""
        self.vectors[index.name] = index
        for key, entry in self.entries.items():
            index.change(key, entry.item).store()

    @property
    def all_indexes(self) -> tuple[Index | VectorIndex, ...]:
        """Its indexes of all kinds."""
        return (*self.indexes.values(), *self.vectors.values())

    @property
    def named(self) -> set[str]:
        """The attributes that keys and search schemas name."""
        places = (self, *self.indexes.values())
        keys = {part.name for place in places for part in place.parts}
        return keys.union(part.name for index in self.vectors.values() for part in index.schema)

    def drop(self, name: str) -> None:
        """Take an index away."""
        if self.vectors.pop(name, None) is not None:
            return
        number = list(self.indexes).index(name)
        del self.indexes[name]
        for entry in self.entries.values():
            entry.stand(entry.places[:number] + entry.places[number + 1 :])


class Journal:
    """How to undo what was done since the oldest snapshot that somebody holds; nothing is kept while nobody does."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []
        self._held: weakref.WeakSet[Snapshot] = weakref.WeakSet()

    def note(self, undo: Callable[[], object]) -> None:
        """Keep how a change is undone."""
        if self._held:
            self._undo.append(undo)

    def snapshot(self) -> Snapshot:
        """Return a mark to which one can go back, as often as one likes."""
        if not self._held:
            self._undo.clear()
        snapshot = Snapshot(self, len(self._undo))
        self._held.add(snapshot)
        return snapshot

    def restore(self, snapshot: Snapshot) -> None:
        """Undo what was done since a snapshot. Later snapshots are of no use any more.

        Raises:
            ValueError: the snapshot is of another engine, or an earlier one was restored since.
        """
        if snapshot not in self._held:
            raise ValueError("this snapshot is not of this engine, or an earlier one was restored after it was made")
        for later in [other for other in self._held if other.at > snapshot.at]:
            self._held.discard(later)
        undo, self._undo = self._undo[snapshot.at :], self._undo[: snapshot.at]
        held, self._held = self._held, weakref.WeakSet()  # what undoes is not undone
        try:
            for step in reversed(undo):
                step()
        finally:
            self._held = held


class Snapshot:
    """The state of an engine at one time."""

    __slots__ = ("__weakref__", "at", "journal")

    def __init__(self, journal: Journal, at: int) -> None:
        self.journal: Journal = journal
        self.at: int = at


class Store:
    """All tables."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.journal: Journal = Journal()
        self.watchers: list[Watcher] = []
        """What is told of each change of an item, once it is stored."""

    def add(self, table: Table) -> None:
        """Take a new table."""
        table.note_in(self.journal, self.watchers)
        self.tables[table.name] = table
        self.journal.note(partial(self.tables.pop, table.name))

    def drop(self, name: str) -> Table:
        """Take a table away."""
        table = self.tables.pop(name)
        self.journal.note(partial(self.tables.__setitem__, name, table))
        return table

    def items(self, name: str) -> Iterator[Item]:
        """Yield the items of a table, in the order of scans."""
        table = self.tables[name]
        for key in table.keys.between(b"", None):
            yield table.entries[key].item
