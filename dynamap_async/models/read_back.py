"""Reading back: the parts of computed keys that are stored nowhere else."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.templates import KeyTemplate


class ReadBack(NamedTuple):
    """A computed field that other fields are read back from."""

    key: str
    """The computed field's name."""
    template: KeyTemplate
    parts: tuple[str, ...]
    """The names of the fields."""

    def of(self, text: object) -> dict[str, Any]:
        """Return field name -> value of a key; nothing where it was not read.

        Raises:
            DecodeError: the text is no such key.
        """
        if not isinstance(text, str):
            return {}
        found = self.template.parse(text)
        return {part: found[part] for part in self.parts}


def read_back(fields: Sequence[FieldPlan]) -> tuple[ReadBack, ...]:
    """Return where the fields without an attribute of their own are read back from."""
    missing = {field.name for field in fields if not field.is_stored}
    found: list[ReadBack] = []
    for field in fields:
        template = field.template
        if template is not None and not field.nullable and (parts := missing & template.readable):
            found.append(ReadBack(field.name, template, tuple(sorted(parts))))
            missing -= parts
    return tuple(found)
