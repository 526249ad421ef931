"""Texts next to other texts, in the order of their UTF-8 bytes, which is that of their characters."""

from typing import Final

_LAST: Final = "\U0010ffff"
"""The last character of Unicode, which no text contains: it is reserved as none."""
_SURROGATES: Final = range(0xD800, 0xE000)


def just_after(text: str) -> str:
    """Return the first text behind this one."""
    return text + "\0"


def after_all(text: str) -> str | None:
    """Return the first text behind all that begin with this one; None if there is none."""
    stem = text.rstrip(_LAST)
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(_SURROGATES.stop if following in _SURROGATES else following)


def before(text: str) -> str:
    """Return a text before this one, and behind all others that stand before it and are written by anyone."""
    if not text:
        return text
    previous = ord(text[-1]) - 1
    if previous < 0:
        return text[:-1]
    return text[:-1] + chr(_SURROGATES.start - 1 if previous in _SURROGATES else previous) + _LAST
