"""How long changes of tables take, each in its kind."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from random import Random
from typing import Any, TypeAlias, cast

from dynamap_async.dataclass import dataclass

Duration: TypeAlias = float | tuple[float, float] | Sequence[float]
"""Seconds; the lowest and the highest of a range to draw from; or a list, played in order, whose last one stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """How long each change takes, in seconds: a number, a range ``(lowest, highest)``, or a list to be played in order.

    Each table draws and plays for itself, so that what is done to one does not change another's times. The ranges
    are what AWS's guides and users report of small tables; none of them is promised by the service.
    """

    create_table: Duration = (4.0, 20.0)
    """From CreateTable until the table is ACTIVE."""
    update_table: Duration = (2.0, 60.0)
    """For any change of a table that is not about an index: throughput, billing, streams, protection, class."""
    delete_table: Duration = (2.0, 15.0)
    """From DeleteTable until the table is gone."""
    allocate_index: Duration = (20.0, 180.0)
    """How long an index is CREATING before its backfill begins."""
    backfill: Duration = (60.0, 900.0)
    """How long the backfill of an index takes."""
    delete_index: Duration = (10.0, 120.0)
    """How long an index is DELETING."""
    time_to_live: Duration = (60.0, 3600.0)
    """How long time to live is ENABLING or DISABLING."""
    replica: Duration = (120.0, 1800.0)
    """How long a replica is CREATING or DELETING."""
    backup: Duration = (1.0, 60.0)
    """How long a backup is CREATING."""
    restore: Duration = (300.0, 3600.0)
    """From a restore until its table is ACTIVE."""
    attachment: Duration = (5.0, 60.0)
    """How long a Kinesis stream, or Contributor Insights, is ENABLING or DISABLING."""
    export: Duration = (300.0, 900.0)
    """How long an export is IN_PROGRESS."""
    import_table: Duration = (120.0, 900.0)
    """From ImportTable until the table is ACTIVE, and has its items."""
    bulk_put: Duration = (60.0, 900.0)
    """How long a bulk put writes its items."""
    lag: Duration = (0.1, 1.5)
    """For how long after a change descriptions show what was before: a new table is not found."""

    def fault(self) -> str | None:
        """Return what is wrong with the first value that cannot be; None if all can."""
        for name in self.__dataclass_fields__:
            value: Any = getattr(self, name)
            parts = cast("Sequence[Any]", value) if isinstance(value, tuple | list) else (value,)
            numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in parts)
            is_form = len(parts) == 2 if isinstance(value, tuple) else bool(parts)
            if not is_form or not numbers or not all(0 <= each < inf for each in parts):
                return f"{name}={value!r}: give seconds, (lowest, highest), or a list of seconds, none of them negative"
            if isinstance(value, tuple) and value[0] > value[1]:
                return f"{name}={value!r} begins with the highest; write ({value[1]!r}, {value[0]!r}), or a list"
        return None

    def draw(self, name: str, number: int, random: Random) -> float:
        """Return how long the change of a kind takes.

        Args:
            name: the field.
            number: how many changes of the kind the table had before.
            random: draws from ranges.
        """
        duration: Duration = getattr(self, name)
        if isinstance(duration, tuple):
            return random.uniform(duration[0], duration[1])
        if isinstance(duration, int | float):
            return float(duration)
        return float(duration[min(number, len(duration) - 1)])
