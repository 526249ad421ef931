"""How one part of a key is written as text, whatever type its field has."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFormat:
    """The text form of one part."""

    label: str
    """What the values are, as messages name them."""
    write: Callable[[Any], str]
    """Value -> text; raises EncodeError."""
    read: Callable[[str], Any]
    """Text -> value; raises ValueError, LookupError or ArithmeticError."""
    width: int | None = None
    """The number of characters that every text has; None if it varies."""
    sorts: bool = True
    """Whether the bytes of the texts have the order of the values."""
    lossy: bool = False
    """Whether several values make one text, so that it cannot be read back."""
    texts: frozenset[str] | None = None
    """All texts, where there are only a few: those of enums, literals and bools."""
    alphabet: str | None = None
    """All characters of the texts, where that is known; None for free text."""

    @property
    def free(self) -> bool:
        """Whether a text may contain any character, so that separators in it have to be looked for."""
        return self.width is None and self.texts is None and self.alphabet is None
