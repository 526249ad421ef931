"""What was worked out for queries and updates of one model, by their shape: bounded in number and in bytes."""

from collections.abc import Hashable
from typing import Any, Final

MOST: Final = 512
"""How many shapes are kept with one model: programs have a few dozen."""
MOST_BYTES: Final = 2**20
"""About how much memory they may take together."""


class Compiled(dict[Hashable, Any]):
    """Shape -> what was worked out for it. All are dropped where one more would be too much: they are made anew."""

    def __init__(self) -> None:
        """Keep nothing yet."""
        super().__init__()
        self.kept_bytes: int = 0
        """About how much memory they take."""

    def keep(self, shape: Hashable, made: Any, size: int) -> None:
        """Keep what was worked out for a shape.

        Args:
            shape: it; nothing of users' values may be in it.
            made: what was worked out.
            size: about how many bytes both take.
        """
        if size > MOST_BYTES:
            return
        if len(self) >= MOST or self.kept_bytes + size > MOST_BYTES:
            self.clear()
        self[shape] = made
        self.kept_bytes += size

    def clear(self) -> None:
        """Drop all."""
        super().clear()
        self.kept_bytes = 0
