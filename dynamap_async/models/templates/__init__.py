"""Key templates: text keys made of the fields of an item, and read back into them. Pure values, no I/O."""

from dynamap_async.models.templates.declared import DeclaredTemplate, PatternError
from dynamap_async.models.templates.formats import PartFormat
from dynamap_async.models.templates.making import make_template
from dynamap_async.models.templates.pattern import names_in
from dynamap_async.models.templates.template import KeyTemplate, Part

__all__ = ["DeclaredTemplate", "KeyTemplate", "Part", "PartFormat", "PatternError", "make_template", "names_in"]
