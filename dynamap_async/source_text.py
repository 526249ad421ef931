"""Any text as a literal, a comment or a docstring of source that a command writes, and as nothing else.

Names of tables, indexes and attributes, and stored values, are other people's texts: a table or a file may hold any.
The escapes are those that Python and Terraform's language have in common.
"""

from __future__ import annotations

from typing import Final

_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(text: str) -> str:
    """Return a text as a literal in double quotes.

    Args:
        text: any text.
    """
    return f'"{_escaped(text)}"'


def docstring(*lines: str) -> str:
    """Return a docstring.

    Args:
        lines: its lines, any texts; a break inside of one is escaped.
    """
    end = "\n" if len(lines) > 1 else ""
    return '"""{}{}"""'.format("\n".join(map(_escaped, lines)), end)


def comment(text: str) -> str:
    """Return a text as a comment of one line, with single spaces for all that separates its words.

    Args:
        text: any text.
    """
    return f"# {''.join(each if each.isprintable() else _code_point(each) for each in ' '.join(text.split()))}"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(each) or (each if each.isprintable() else _code_point(each)) for each in text)


def _code_point(character: str) -> str:
    """Return the escape of a character that is not seen, breaks lines, or turns the order of what is seen."""
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
