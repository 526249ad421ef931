"""Key templates: text keys made of the fields of an item, and read back into them. Pure values, no I/O."""

from __future__ import annotations

from dynamap_async.models.templates.formats import UNITS_OF_TIMES, PartFormat, format_of
from dynamap_async.models.templates.pattern import DeclaredTemplate, PatternError, names_in
from dynamap_async.models.templates.template import KeyTemplate, Part, after_all, make_template

__all__ = [
    "UNITS_OF_TIMES",
    "DeclaredTemplate",
    "KeyTemplate",
    "Part",
    "PartFormat",
    "PatternError",
    "after_all",
    "format_of",
    "make_template",
    "names_in",
]
