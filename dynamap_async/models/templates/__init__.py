"""Key templates: text keys made of the fields of an item, and read back into them. Pure values, no I/O."""

from __future__ import annotations

from dynamap_async.models.templates.formats import UNITS_OF_TIMES, PartFormat, format_of
from dynamap_async.models.templates.key_texts import ANY_TEXT, OneOf, Places, Shape, common_text, shape_of
from dynamap_async.models.templates.pattern import DeclaredTemplate, OnlyWhen, PatternError, names_in
from dynamap_async.models.templates.template import KeyTemplate, TemplatePart, after_all, make_template

__all__ = [
    "ANY_TEXT",
    "UNITS_OF_TIMES",
    "DeclaredTemplate",
    "KeyTemplate",
    "OneOf",
    "OnlyWhen",
    "PartFormat",
    "PatternError",
    "Places",
    "Shape",
    "TemplatePart",
    "after_all",
    "common_text",
    "format_of",
    "make_template",
    "names_in",
    "shape_of",
]
