"""Escaping: separators inside of values, as a percent sign and the hexadecimal bytes of the character."""

from typing import Final, NamedTuple
from urllib.parse import unquote

_SIGN: Final = "%"
_OWN: Final = frozenset("%0123456789ABCDEF")
"""The characters that an escaped one is written with."""


def can_escape(separator: str) -> bool:
    """Return whether no escaped text could contain the first character of a separator."""
    return separator[0] not in _OWN


class Escaping(NamedTuple):
    """Keeps the first character of a separator out of values."""

    first: str

    def escaped(self, text: str) -> str:
        """Return a text without the character."""
        if _SIGN not in text and self.first not in text:
            return text
        return "".join(_hex(each) if each in (_SIGN, self.first) else each for each in text)

    def plain(self, text: str) -> str:
        """Return the text that was escaped; raises ValueError if this is none."""
        found = unquote(text, errors="strict")
        if self.escaped(found) != text:
            raise ValueError(f"{text!r} is not escaped text")
        return found


def _hex(character: str) -> str:
    return "".join(f"{_SIGN}{byte:02X}" for byte in character.encode())
