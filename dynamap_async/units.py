"""How many capacity units a request takes, from sizes in bytes. Pure arithmetic; items and models are ``capacity``'s.

Units are counted inside as whole halves of a unit, so that sums are exact; what is called ``..._units`` returns units.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from dynamap_async.dataclass import dataclass
from dynamap_async.limits import PAGE_BYTES, READ_UNIT_BYTES, WRITE_UNIT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The capacity that something takes of one table and of its indexes, in halves of a unit. Charges can be added.

    Read units and write units are different things: a charge holds the one or the other, and whoever made it knows.
    """

    table_halves: int = 0
    """What the table itself is charged."""
    index_halves: Mapping[str, int] = field(default_factory=dict[str, int])
    """Name of the index -> what it is charged. Local indexes take theirs from the table's capacity."""
    vector_bytes: Mapping[str, int] = field(default_factory=dict[str, int])
    """Name of the vector index -> the bytes that are written into it, which are no units."""

    @property
    def table_units(self) -> float:
        """The table's own units."""
        return self.table_halves / 2

    @property
    def index_units(self) -> dict[str, float]:
        """Name of the index -> its units; indexes that are not touched are absent, as in DynamoDB's answers."""
        return {name: halves / 2 for name, halves in self.index_halves.items()}

    @property
    def halves(self) -> int:
        """The sum over the table and its indexes, in halves of a unit."""
        return self.table_halves + sum(self.index_halves.values())

    @property
    def units(self) -> float:
        """The sum over the table and its indexes, DynamoDB's ``CapacityUnits``."""
        return self.halves / 2

    def __add__(self, other: Charge) -> Charge:
        return Charge(
            table_halves=self.table_halves + other.table_halves,
            index_halves=_sums(self.index_halves, other.index_halves),
            vector_bytes=_sums(self.vector_bytes, other.vector_bytes),
        )


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {**one, **{name: one.get(name, 0) + more for name, more in other.items()}} if other else one


def read_half_units(size_bytes: int, *, consistent: bool = False, transactional: bool = False) -> int:
    """Return the halves of a unit that a read takes; see ``read_units``."""
    blocks = max(1, -(-size_bytes // READ_UNIT_BYTES))
    if transactional:
        return 4 * blocks
    return 2 * blocks if consistent else blocks


def query_half_units(size_bytes: int, items: int, *, consistent: bool = False) -> int:
    """Return the halves of a unit that a query over items of one size takes; see ``query_read_units``."""
    # The items of a page are summed before they are rounded up, and each page is rounded by itself.
    full, rest = divmod(items, items_per_page(size_bytes))
    halves = full * read_half_units(items_per_page(size_bytes) * size_bytes, consistent=consistent)
    if rest or not full:
        halves += read_half_units(rest * size_bytes, consistent=consistent)
    return halves


def write_half_units(size_bytes: int, old_size_bytes: int = 0, *, transactional: bool = False) -> int:
    """Return the halves of a unit that a write takes; see ``write_units``."""
    blocks = max(1, -(-max(size_bytes, old_size_bytes) // WRITE_UNIT_BYTES))
    # DynamoDB rounds each item up to whole units of 1 KB; a transaction writes twice, to prepare and to commit.
    return 4 * blocks if transactional else 2 * blocks


def index_write_half_units(
    size_bytes: int | None, old_size_bytes: int | None, *, key_changed: bool = False, changed: bool = True
) -> int:
    """Return the halves of a unit that a write takes on one index; see ``index_write_units``."""
    if size_bytes is None and old_size_bytes is None:
        return 0
    if size_bytes is None or old_size_bytes is None:
        return write_half_units(size_bytes or 0, old_size_bytes or 0)
    # DynamoDB deletes the old entry and puts the new one.
    if key_changed:
        return write_half_units(old_size_bytes) + write_half_units(size_bytes)
    return write_half_units(size_bytes, old_size_bytes) if changed else 0


def read_units(size_bytes: int, *, consistent: bool = False, transactional: bool = False) -> float:
    """Return the read units of one item that is read by its key.

    Half a unit for every 4 KB begun, one if the read is strongly consistent, two in a transaction. Each item of a
    batch or a transaction is rounded on its own, as if it were read alone.

    Args:
        size_bytes: the whole item, whatever the projection; 0 if there is none, which takes the least.
        consistent: the read is strongly consistent.
        transactional: the read is part of TransactGetItems, or the write that a repeated TransactWriteItems with the
            same token does not carry out again.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html#read-operation-consumption
    """
    return read_half_units(size_bytes, consistent=consistent, transactional=transactional) / 2


def page_read_units(total_bytes: int, *, consistent: bool = False) -> float:
    """Return the read units of one page of a query or scan.

    The sizes of all items that it evaluates, filtered ones too, are summed, then rounded once.

    Args:
        total_bytes: their sum; 0 for none, which takes the least.
        consistent: the read is strongly consistent.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html#read-operation-consumption
    """
    return read_half_units(total_bytes, consistent=consistent) / 2


def query_read_units(size_bytes: int, items: int, *, consistent: bool = False) -> float:
    """Return the read units of a query or scan over items of one size, all its pages together.

    Args:
        size_bytes: one item; through an index, its entry there.
        items: how many items are evaluated, filtered ones too.
        consistent: the read is strongly consistent.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
    """
    return query_half_units(size_bytes, items, consistent=consistent) / 2


def items_per_page(size_bytes: int) -> int:
    """Return how many items of one size fit in the megabyte that a page of a query or scan holds.

    Args:
        size_bytes: the size of one item.
    """
    return max(1, PAGE_BYTES // max(1, size_bytes))


def write_units(size_bytes: int, old_size_bytes: int = 0, *, transactional: bool = False) -> float:
    """Return the write units of one put, update or delete on its table, indexes not counted.

    One for every 1 KB begun of the larger of the item before and after, twice that in a transaction. Each item of a
    batch or a transaction is rounded on its own. A write whose condition fails takes the same, with the item that it
    would have left; nothing is charged to indexes then.

    Args:
        size_bytes: the item after the write; 0 if it is deleted.
        old_size_bytes: the item before the write; 0 if there was none.
        transactional: the write, or condition check, is part of TransactWriteItems.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html#write-operation-consumption
    """
    return write_half_units(size_bytes, old_size_bytes, transactional=transactional) / 2


def index_write_units(
    size_bytes: int | None, old_size_bytes: int | None, *, key_changed: bool = False, changed: bool = True
) -> float:
    """Return the write units that a write of a table takes on one of its indexes. Transactions pay single there.

    Args:
        size_bytes: the index entry after the write, projected attributes only; None if the item is not in the index.
        old_size_bytes: the index entry before the write; None if there was none.
        key_changed: the entry's key in the index changes, so that it is deleted and put.
        changed: a projected attribute has another value.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes
    """
    return index_write_half_units(size_bytes, old_size_bytes, key_changed=key_changed, changed=changed) / 2
