"""Key templates: text keys made of the fields of an item, and read back into them. Pure values, no I/O."""

from dynamap_async.models.templates.declared import DeclaredTemplate, PatternError
from dynamap_async.models.templates.formats import PartFormat
from dynamap_async.models.templates.kinds import format_of
from dynamap_async.models.templates.making import make_template
from dynamap_async.models.templates.pattern import names_in
from dynamap_async.models.templates.stretches import after_all
from dynamap_async.models.templates.template import KeyTemplate, Part
from dynamap_async.models.templates.times import UNITS_OF_TIMES

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
