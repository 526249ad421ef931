"""The kinds of items in the library's own table: all that it stores beside the items of models.

What is stored cannot be renamed, so a kind never changes what its keys mean.
"""

from __future__ import annotations

from enum import Enum


class RecordKind(Enum):
    """A kind of item, by the word that its keys begin with. Each says which module knows the rest of the key."""

    COUNTER = "counter"
    """The last number that was given of ``attr(autoincrement=True)``: ``operations/counters.py``."""
    UNIQUE = "unique"
    """The guard of a unique value: ``models/uniques.py`` names it, ``operations/unique_values.py`` writes it."""
    LEASE = "lease"
    """Who has the right to do what one process at a time may do: ``leases/records.py``."""
    MIGRATION = "migration"
    """What is known of a migration's runs: ``migrations/record.py``."""
    UPGRADED = "upgraded"
    """The version that no item of a model is behind of: ``operations/upgrade_record.py``."""
    CHECKPOINT = "checkpoint"
    """Where a pass over the items of a model stands: ``session/upgrade_place.py``."""
    CONSUMER = "consumer"
    """Who of a group reads a shard of a stream, and how far it was handled: ``streams/checkpoints.py``."""

    def key(self, *parts: str) -> str:
        """Return the key of an item of this kind.

        Args:
            parts: what names it among those of its kind.
        """
        return "#".join((self.value, *parts))
