"""How many capacity units an operation takes, from the sizes of its items. Pure arithmetic.

Units are counted inside as whole halves of a unit, so that sums are exact; the functions return units.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

from dynamap_async.limits import READ_UNIT_BYTES, WRITE_UNIT_BYTES


def read_half_units(size_bytes: int, *, consistent: bool = False, transactional: bool = False) -> int:
    """Return what a read takes, in halves of a unit; see ``read_units``."""
    blocks = max(1, -(-size_bytes // READ_UNIT_BYTES))
    if transactional:
        return 4 * blocks
    return 2 * blocks if consistent else blocks


def write_half_units(size_bytes: int, old_size_bytes: int = 0, *, transactional: bool = False) -> int:
    """Return what a write takes, in halves of a unit; see ``write_units``."""
    blocks = max(1, -(-max(size_bytes, old_size_bytes) // WRITE_UNIT_BYTES))
    return 4 * blocks if transactional else 2 * blocks


def read_units(size_bytes: int, *, consistent: bool = False, transactional: bool = False) -> float:
    """Return the read units of one item that is read by its key.

    Half a unit for every 4 KB begun, one if the read is strongly consistent, two in a transaction.

    Args:
        size_bytes: the whole item, whatever the projection; 0 if there is none, which takes the least.
        consistent: the read is strongly consistent.
        transactional: the read is part of TransactGetItems.

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


def write_units(size_bytes: int, old_size_bytes: int = 0, *, transactional: bool = False) -> float:
    """Return the write units of one put, update or delete on its table, indexes not counted.

    One for every 1 KB begun of the larger of the item before and after, twice that in a transaction.

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
    if size_bytes is None and old_size_bytes is None:
        return 0.0
    if size_bytes is None or old_size_bytes is None:
        return write_units(size_bytes or 0, old_size_bytes or 0)
    if key_changed:
        return write_units(old_size_bytes) + write_units(size_bytes)
    return write_units(size_bytes, old_size_bytes) if changed else 0.0
