"""Tables and their indexes: what they store, and what a write takes of each."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.simulated import units
from benchmarks.simulated.buckets import Capacity, Take
from benchmarks.simulated.keys import Key, KeySchema, place
from benchmarks.simulated.sizes import Wire, item_bytes

Stored = tuple[Wire, int]
"""An item, or what an index holds of it, and its size."""


@dataclass(slots=True)
class Index:
    """A secondary index."""

    name: str
    schema: KeySchema
    projected: frozenset[str] | None
    """The attributes that it holds, the table's key among them; None for all."""
    capacity: Capacity | None
    """Its own; None for a local index, which takes the table's."""
    entries: dict[Key, dict[Key, Stored]] = field(default_factory=lambda: defaultdict(dict))
    """Partition key -> (sort key, then the table's key) -> entry."""

    def entry(self, item: Wire | None) -> tuple[Key, Stored] | None:
        """Return the key and what the index holds of an item; None if it does not hold the item."""
        key = None if item is None else self.schema.key_if_any(item)
        if item is None or key is None:
            return None
        held = self.projected
        shown = item if held is None else {name: value for name, value in item.items() if name in held}
        return key, (shown, item_bytes(shown))


@dataclass(frozen=True, slots=True)
class Change:
    """A write that is not stored yet."""

    table: "Table"
    key: Key
    new: Stored | None
    old: Stored | None

    def charges(self, factor: float = 1.0) -> list[tuple[str | None, Take]]:
        """Return what it takes, with the name of the index; None for the table itself.

        Args:
            factor: 2 in a transaction, which doubles the table's part alone.
        """
        own = units.written(self.new and self.new[1], self.old and self.old[1]) * factor
        taken: list[tuple[str | None, Take]] = [
            (None, Take(self.table.capacity, "Write", place(self.key[:1]), own)),
        ]
        for index in self.table.indexes.values():
            before, after = index.entry(self.old and self.old[0]), index.entry(self.new and self.new[0])
            where = index.capacity or self.table.capacity
            if before and after and before[0] != after[0]:
                taken += [
                    (index.name, Take(where, "Write", place(entry[0]), units.written(entry[1][1], None)))
                    for entry in (before, after)
                ]
                continue
            same = before is not None and after is not None and _same(before[1][0], after[1][0])
            cost = units.entry_written(after and after[1][1], before and before[1][1], moved=False, same=same)
            either = after or before
            if either and cost:
                taken.append((index.name, Take(where, "Write", place(either[0]), cost)))
        return taken

    def carry_out(self) -> None:
        """Store the change."""
        self.table.store(self)


def _same(one: Wire, other: Wire) -> bool:
    """Return whether two entries are the same; the order of a set's members does not count."""
    return one == other or {name: _loose(value) for name, value in one.items()} == {
        name: _loose(value) for name, value in other.items()
    }


def _loose(value: dict[str, Any]) -> Any:
    ((tag, content),) = value.items()
    return (tag, frozenset(content)) if tag in ("SS", "NS", "BS") else value


@dataclass(slots=True)
class Table:
    """A table with its items."""

    name: str
    definition: dict[str, Any]
    """What CreateTable was given."""
    schema: KeySchema
    capacity: Capacity
    on_demand: bool
    indexes: dict[str, Index] = field(default_factory=dict[str, Index])
    items: dict[Key, dict[Key, Stored]] = field(default_factory=lambda: defaultdict(dict))
    """Partition key -> sort key (empty if the table has none) -> item."""

    def stored(self, key: Key) -> Stored | None:
        """Return an item and its size."""
        return self.items[key[:1]].get(key[1:]) if key[:1] in self.items else None

    def put(self, item: Wire) -> Change:
        """Return the change of a put."""
        key = self.schema.key(item)
        return Change(self, key, (item, item_bytes(item)), self.stored(key))

    def delete(self, key: Wire) -> Change:
        """Return the change of a delete."""
        found = self.schema.key(key)
        return Change(self, found, None, self.stored(found))

    def store(self, change: Change) -> None:
        """Store a change, in the indexes too."""
        partition, rest = change.key[:1], change.key[1:]
        if change.new is None:
            self.items[partition].pop(rest, None)
        else:
            self.items[partition][rest] = change.new
        for index in self.indexes.values():
            before, after = index.entry(change.old and change.old[0]), index.entry(change.new and change.new[0])
            if before is not None:
                index.entries[before[0][:1]].pop(before[0][1:] + change.key, None)
            if after is not None:
                index.entries[after[0][:1]][after[0][1:] + change.key] = after[1]

    def __len__(self) -> int:
        return sum(map(len, self.items.values()))

    def capacities(self) -> Iterator[Capacity]:
        """Return its own, and those of its global indexes."""
        yield self.capacity
        yield from (index.capacity for index in self.indexes.values() if index.capacity is not None)
