"""Key templates: text keys made of the fields of an item, and read back into them. Pure values, no I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.models.templates.formats import UNITS_OF_TIMES, PartFormat, format_of
    from dynamap_async.models.templates.key_texts import (
        ANY_TEXT,
        LimitsOf,
        OneOf,
        Places,
        PlainNumber,
        Shape,
        common_text,
        shape_of,
    )
    from dynamap_async.models.templates.pattern import DeclaredTemplate, OnlyWhen, PatternError, names_in
    from dynamap_async.models.templates.template import KeyTemplate, TemplatePart, after_all, make_template

__all__ = [
    "ANY_TEXT",
    "UNITS_OF_TIMES",
    "DeclaredTemplate",
    "KeyTemplate",
    "LimitsOf",
    "OneOf",
    "OnlyWhen",
    "PartFormat",
    "PatternError",
    "Places",
    "PlainNumber",
    "Shape",
    "TemplatePart",
    "after_all",
    "common_text",
    "format_of",
    "make_template",
    "names_in",
    "shape_of",
]

_HOMES: Final = {
    "formats": "UNITS_OF_TIMES PartFormat format_of",
    "key_texts": "ANY_TEXT LimitsOf OneOf Places PlainNumber Shape common_text shape_of",
    "pattern": "DeclaredTemplate OnlyWhen PatternError names_in",
    "template": "KeyTemplate TemplatePart after_all make_template",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
