"""How many capacity units a request takes.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
"""

import math
from typing import Literal

WRITE_BLOCK = 1024
READ_BLOCK = 4096
PAGE_BYTES = 1024 * 1024

Read = Literal["eventual", "consistent"]


def written(new: int | None, old: int | None) -> float:
    """Return the units of a put, an update or a delete: for the larger of the item before and after.

    Args:
        new: bytes of the item afterwards; None if there is none.
        old: bytes of the item before; None if there was none.
    """
    return float(max(1, math.ceil(max(new or 0, old or 0) / WRITE_BLOCK)))


def entry_written(new: int | None, old: int | None, *, moved: bool, same: bool) -> float:
    """Return the units of a write on one index.

    Args:
        new: bytes of the entry afterwards; None if there is none.
        old: bytes of the entry before; None if there was none.
        moved: the entry has another key in the index than before.
        same: what the entry holds is what it held.
    """
    if new is None and old is None:
        return 0.0
    if new is None or old is None:
        return written(new, old)
    if moved:
        return written(None, old) + written(new, None)
    return 0.0 if same else written(new, old)


def read(size: int, how: Read = "eventual") -> float:
    """Return the units of a read of one item, or of a page whose evaluated items have these bytes together."""
    return max(1, math.ceil(size / READ_BLOCK)) * (1.0 if how == "consistent" else 0.5)
