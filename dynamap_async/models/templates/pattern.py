"""The pattern of a template: constant text and fields in braces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from dynamap_async.dataclass import dataclass


class PatternError(ValueError):
    """A pattern is wrong; the model's definition turns this into a ModelDefinitionError."""


class OnlyWhen(NamedTuple):
    """A field that must have one of some values for there to be a key."""

    field: str
    """The field's name."""
    values: tuple[Any, ...] | None
    """None where any value but None will do."""

    def is_met_by(self, value: Any) -> bool:
        """Return whether there is a key where the field has a value."""
        return value is not None if self.values is None else value in self.values


@dataclass(frozen=True, slots=True)
class DeclaredTemplate:
    """The pattern of a computed key, before the types of its fields are known."""

    pattern: str
    escape: bool = False
    """Whether separators inside of values are escaped; otherwise such values are refused."""
    when: tuple[OnlyWhen, ...] = ()
    """What the item has to be so that there is a key."""


_PIECE: Final = re.compile(
    r"(?P<text>(?:[^{}]|\{\{|\}\})+)|\{(?P<name>[^{}:]*)(?::(?P<form>[^{}]*))?\}|(?P<stray>[{}])", re.DOTALL
)


class Slot(NamedTuple):
    """A field in a pattern: ``{words:06d}``."""

    name: str
    form: str
    """What stands behind the colon; empty without one."""


def pieces_of(pattern: str) -> tuple[str | Slot, ...]:
    """Return constant texts and slots, in order; texts are never empty, and no two stand side by side.

    Raises:
        PatternError: a brace is alone, or a slot names no field.
    """
    return tuple(_pieces(pattern))


def names_in(pattern: str) -> tuple[str, ...]:
    """Return the names of the fields in a pattern, in order; errors are those of ``pieces_of``."""
    return tuple(piece.name for piece in pieces_of(pattern) if isinstance(piece, Slot))


def _pieces(pattern: str) -> Iterator[str | Slot]:
    for found in _PIECE.finditer(pattern):
        if found["stray"]:
            raise PatternError(
                f"has a single {found['stray']!r} at position {found.start()}; write {found['stray'] * 2} for the "
                "character itself, and {field} for a field"
            )
        if found["text"]:
            yield found["text"].replace("{{", "{").replace("}}", "}")
        elif not found["name"].isidentifier():
            raise PatternError(f"has {found[0]!r}, which is not a field; write {{field}}, or {{field:06d}} with a form")
        else:
            yield Slot(found["name"], found["form"] or "")
