"""What the fields of a model allow: patterns, lengths and bounds, as far as they say which texts stand in keys."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import SchemaValidator, core_schema

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError
from dynamap_async.models.annotations import field_metadata, unwrap, without_none
from dynamap_async.models.constraints import Constraint, constraint_of
from dynamap_async.models.markers import OURS, stored_form
from dynamap_async.models.spelling import runs_code
from dynamap_async.models.templates import LimitsOf, TemplatePart
from dynamap_async.models.templates.key_texts import FreeText, Limited, Piece, Places, PlainNumber
from dynamap_async.models.templates.text_patterns import (
    ANY,
    Either,
    Pattern,
    constant,
    read_pattern,
    texts_between,
    times,
    whole_numbers,
)

_LENGTHS: Final = ("min_length", "max_length")
_BOUNDS: Final = ("ge", "gt", "le", "lt")
_CHANGES: Final = ("to_upper", "to_lower")


@dataclass(frozen=True)  # without slots, for what is made once
class FieldLimits:
    """What a field allows, of the values of its type."""

    patterns: tuple[str | re.Pattern[str], ...]
    lengths: tuple[int, int | None]
    """The least and the greatest number of characters."""
    bounds: tuple[tuple[str, Any], ...]
    """``ge``, ``gt``, ``le`` or ``lt``, and the value."""
    is_plain: bool
    """Whether text is stored as it is."""
    regex_engine: Any = None

    def allow(self, value: Any) -> bool:
        """Return whether the field allows a value of its type."""
        if isinstance(value, str):
            least, most = self.lengths
            if len(value) < least or (most is not None and len(value) > most):
                return False
            return all(each.isinstance_python(value) for each in self._validators)
        try:
            return all(_is_met(bound, value, limit) for bound, limit in self.bounds)
        except TypeError:
            return True

    @cached_property
    def _validators(self) -> tuple[SchemaValidator, ...]:
        return tuple(
            SchemaValidator(core_schema.str_schema(pattern=each, regex_engine=self.regex_engine))
            for each in self.patterns
        )

    def texts(self) -> tuple[Pattern, ...]:
        """Return what is known of the texts of a text field."""
        least, most = self.lengths
        known = [each if isinstance(each, str) else _source(each) for each in self.patterns]
        found = [read for each in known if each is not None and (read := read_pattern(each)) is not None]
        return (*found, *((times(ANY, least, most),) if least or most is not None else ()))

    def whole_numbers(self) -> Pattern:
        """Return what is known of the texts of a field of whole numbers."""
        low = [math.floor(limit) + 1 if bound == "gt" else math.ceil(limit) for bound, limit in self._of("ge", "gt")]
        high = [math.ceil(limit) - 1 if bound == "lt" else math.floor(limit) for bound, limit in self._of("le", "lt")]
        return whole_numbers(max(low, default=None), min(high, default=None))

    def padded(self, part: TemplatePart, places: Places) -> Pattern:
        """Return what is known of texts of one width that sort as their values do."""
        low = [text for _, limit in self._of("ge", "gt") if (text := _written(part, limit)) is not None]
        high = [text for _, limit in self._of("le", "lt") if (text := _written(part, limit)) is not None]
        return texts_between(max(low, default=None), min(high, default=None), places.characters)

    def _of(self, *bounds: str) -> Iterable[tuple[str, Any]]:
        kinds = (int, float, Decimal, date)
        known = ((bound, limit) for bound, limit in self.bounds if bound in bounds and isinstance(limit, kinds))
        return ((bound, limit) for bound, limit in known if isinstance(limit, date) or math.isfinite(limit))


def _is_met(bound: str, value: Any, limit: Any) -> bool:
    match bound:
        case "ge":
            return bool(value >= limit)
        case "gt":
            return bool(value > limit)
        case "le":
            return bool(value <= limit)
        case _:
            return bool(value < limit)


def _source(pattern: re.Pattern[str]) -> str | None:
    """Return the text of a compiled pattern, unless flags change what it says."""
    return pattern.pattern if pattern.flags == re.UNICODE else None


def _written(part: TemplatePart, limit: Any) -> str | None:
    """Return a bound as it stands in keys; None where none of them has it."""
    try:
        return part.format.write(limit)
    except EncodeError:
        return None


def limits_of(model: type[BaseModel], name: str) -> FieldLimits | None:
    """Return what a field allows; None where it allows all values of its type, or functions of its own may change them.

    Args:
        model: the class, complete.
        name: the field's name.
    """
    if runs_code(model) or constraint_of(model, name) is not Constraint.DECLARED:
        return None
    info, config = model.__pydantic_fields__[name], model.model_config
    annotation, more = unwrap(info.annotation)
    inner, inside = unwrap(without_none(annotation))
    metadata = (*field_metadata(info), *more, *inside)
    if inner is str and any(config.get(f"str_{change}") or any(_said(metadata, change)) for change in _CHANGES):
        return None
    least, most = ([*_said(metadata, each), *_said_of_all(config, each)] for each in _LENGTHS)
    return FieldLimits(
        patterns=tuple(_said(metadata, "pattern")),
        lengths=(max(least, default=0), min(most, default=None)),
        bounds=tuple((bound, limit) for bound in _BOUNDS for limit in _said(metadata, bound)),
        is_plain=inner is str and stored_form(info) is None,
        regex_engine=config.get("regex_engine"),
    )


def _said(metadata: Iterable[Any], name: str) -> list[Any]:
    known = (each for each in metadata if not isinstance(each, OURS))
    return [said for each in known if (said := getattr(each, name, None)) is not None]


def _said_of_all(config: Any, name: str) -> list[int]:
    """Return what the settings of a class say of the lengths of all texts."""
    said = config.get(f"str_{name}")
    return [] if said is None else [said]


def limited_by(model: type[BaseModel]) -> LimitsOf:
    """Return what adds to the pieces of keys what the fields of a model allow.

    Args:
        model: the class, complete.
    """

    def limited(part: TemplatePart, piece: Places | PlainNumber | FreeText) -> Piece:
        limits = None if part.format.lossy else limits_of(model, part.name)
        if limits is None:
            return piece

        def allows(text: str) -> bool:
            try:
                return limits.allow(part.value(text))
            except (ValueError, LookupError, ArithmeticError):
                return False

        return Limited(piece, _patterns(limits, part, piece), allows)

    return limited


def limited_text(model: type[BaseModel], name: str) -> Piece:
    """Return the texts of a text field, which is a key by itself.

    Args:
        model: the class, complete.
        name: the field's name.
    """
    limits, any_text = limits_of(model, name), FreeText()
    return any_text if limits is None or not limits.is_plain else Limited(any_text, limits.texts(), limits.allow)


def limited_to(texts: frozenset[str]) -> Piece:
    """Return some texts, of which others may be stored, too: those of an enum that had more members.

    Args:
        texts: the texts.
    """
    return Limited(FreeText(), (Either(tuple(map(constant, sorted(texts)))),), texts.__contains__)


def limited_number(model: type[BaseModel], name: str) -> Piece:
    """Return the texts of a field of numbers, which is a key by itself.

    Args:
        model: the class, complete.
        name: the field's name.
    """
    limits, info = limits_of(model, name), model.__pydantic_fields__[name]
    kind = unwrap(info.annotation)[0]
    number = PlainNumber(fraction=kind is not int)
    if limits is None or kind is not int or stored_form(info) is not None:
        return number
    return Limited(number, (limits.whole_numbers(),), lambda text: limits.allow(int(text)))


def _patterns(limits: FieldLimits, part: TemplatePart, piece: Places | PlainNumber | FreeText) -> tuple[Pattern, ...]:
    match piece:
        case FreeText():
            return limits.texts() if limits.is_plain and part.escaping is None else ()
        case PlainNumber(fraction=False):
            return (limits.whole_numbers(),)
        case Places() if part.format.sorts:
            return (limits.padded(part, piece),)
        case _:
            return ()
