"""The type of a field -> how it is written as a part of a key."""

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin
from uuid import UUID

from pydantic import AwareDatetime, FutureDate, FutureDatetime, PastDate, PastDatetime

from dynamap_async.codec import refusal
from dynamap_async.models.annotations import bare, is_kind_of, name_of, without_none
from dynamap_async.models.templates.declared import PatternError
from dynamap_async.models.templates.formats import PartFormat
from dynamap_async.models.templates.numbers import number_format
from dynamap_async.models.templates.times import time_format

_NUMBERS: Final = (int, float, Decimal)
_TIMES: Final[dict[Any, type[Any]]] = {
    datetime: datetime,
    AwareDatetime: datetime,
    PastDatetime: datetime,
    FutureDatetime: datetime,
    date: date,
    PastDate: date,
    FutureDate: date,
    time: time,
}
_CASES: Final[dict[str, Any]] = {"upper": str.upper, "lower": str.lower}
_UUID_WIDTH: Final = 36


def format_of(annotation: Any, form: str) -> PartFormat:
    """Return how the values of a type are written.

    Args:
        annotation: the field's type; None among its values is not written.
        form: what stands behind the colon in the pattern.

    Raises:
        PatternError: the type has no text form, or not this one.
    """
    kind = bare(without_none(bare(annotation)))
    if get_origin(kind) is Literal:
        values = [value for value in get_args(kind) if value is not None]
        stored = {each: each.value if isinstance(each, Enum) else each for each in values}
        return _closed(name_of(kind), stored, form)
    if is_kind_of(kind, Enum) and list(kind):
        return _closed(kind.__name__, {member: member.value for member in kind}, form, enum=kind)
    if kind is bool:
        return _closed("bool", {False: "false", True: "true"}, form)
    if kind in _NUMBERS:
        return number_format(kind, form)
    if kind in _TIMES:
        return time_format(_TIMES[kind], form)
    if kind is UUID:
        _without_form(form, "a UUID")
        return PartFormat(label="UUID", write=_uuid_text, read=UUID, width=_UUID_WIDTH)
    if kind is str:
        return _text(form)
    raise PatternError(
        f"is {name_of(kind)}, which has no text form that could be ordered and read back; take str, int, float, "
        "Decimal, bool, datetime, date, time, UUID, an enum or a Literal"
    )


def _text(form: str) -> PartFormat:
    if form in _CASES:
        change = _CASES[form]
        return PartFormat(
            label="str", write=lambda value: change(_checked_text(value)), read=str, sorts=False, lossy=True
        )
    if form:
        raise PatternError(f"has the form {form!r}, which text does not have; take upper, lower or none")
    return PartFormat(label="str", write=_checked_text, read=str)


def _checked_text(value: Any) -> str:
    if not isinstance(value, str):
        raise refusal("str", value)
    return value.value if isinstance(value, Enum) else value


def _uuid_text(value: Any) -> str:
    if not isinstance(value, UUID):
        raise refusal("UUID", value)
    return str(value)


def _without_form(form: str, what: str) -> None:
    if form:
        raise PatternError(f"has the form {form!r}, which {what} does not have; drop it")


def _closed(label: str, values: Mapping[Any, Any], form: str, *, enum: type[Enum] | None = None) -> PartFormat:
    """Return the format of one of a few values.

    Args:
        label: the type's name.
        values: value as the program has it -> what of it is written: text, or a whole number.
        form: what stands behind the colon.
        enum: the enum of the values, if they are of one; a member may then be given by its value.
    """
    kinds: set[Any] = {type(value) for value in values.values()}
    if not kinds <= {str} and not kinds <= {int}:
        raise PatternError(f"is {label}, whose values are not all text, or all whole numbers; take one of the two")
    if kinds == {str}:
        if form not in ("", *_CASES):
            raise PatternError(f"has the form {form!r}, which {label} does not have; take upper, lower or none")
        texts: dict[Any, str] = {each: _CASES[form](value) if form else value for each, value in values.items()}
    else:
        write = number_format(int, form).write
        texts = {each: write(value) for each, value in values.items()}
    read = {text: value for value, text in texts.items()}
    widths = {len(text) for text in read}
    by_text = [values[read[text]] for text in sorted(read)]

    def text_of(value: Any) -> str:
        try:
            return texts[enum(value) if enum is not None else value]
        except (ValueError, LookupError, TypeError):
            raise refusal(label, value) from None

    lossy = len(read) < len(texts)
    return PartFormat(
        label=label,
        write=text_of,
        read=read.__getitem__,
        width=widths.pop() if len(widths) == 1 else None,
        sorts=not lossy and by_text == sorted(values.values()),
        lossy=lossy,
        texts=frozenset(read),
    )
