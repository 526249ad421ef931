"""What is stored in other forms than those that the library writes: a key with ``+00:00``, a UUID in capitals.

Other programs store such keys, and DynamoDB compares their text. So an instance remembers the key under which its item
is stored, where that is not what its values would be written as. It remembers so a time without a zone, too: other
programs may know such times by their text, and in a field for times with a zone the library has no form for it. What
else is stored in another form is written in that of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import Enum
from itertools import repeat
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias, cast, get_args, get_origin

from pydantic import BaseModel, NaiveDatetime, StringConstraints

from dynamap_async.errors import EncodeError
from dynamap_async.models.annotations import is_kind_of, unwrap, without_none
from dynamap_async.models.assigned import COMPUTES
from dynamap_async.models.constraints import Constraint, constraint_of
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import StoredAs
from dynamap_async.models.mutability import Mutability
from dynamap_async.wire import WireItem

_ONE_FORM: Final = (str, int, Decimal, bytes)
"""Types of which each value has one stored form. Numbers are the same however many zeros they are written with."""
_CHANGES: Final = ("strip_whitespace", "to_lower", "to_upper")
"""The constraints of text that change it."""

_Values: TypeAlias = Sequence[dict[str, Any]]
_VALUE: Final[Callable[[dict[str, Any], str], Any]] = cast("Any", dict).get


_Frame: TypeAlias = tuple[int, tuple[tuple[int, str], ...]]
_UUID_WIDTH: Final = 36
_FRAMES: Final[Mapping[str, _Frame]] = {
    "instant": (27, ((10, "T"), (19, "."), (26, "Z"))),
    "date": (10, ((4, "-"), (7, "-"))),
    "uuid": (_UUID_WIDTH, ((8, "-"), (13, "-"))),
}
"""How wide the texts are that the library writes for a type, and what stands where. Of all texts that Pydantic reads,
these alone are so, but for UUIDs in capitals."""


class _KeySpelling:
    """Finds the instances of which one field of the key is stored in another spelling than the library would write."""

    def __init__(self, field: FieldPlan, frame: _Frame | None) -> None:
        self._field: Final = field
        self._width: Final = 0 if frame is None else frame[0]
        self._value_of: Final[Callable[[dict[str, Any]], Any]] = itemgetter(field.name)
        if frame is not None:
            places, self._marks = zip(*frame[1], strict=True)
            self._marks_of_one: Final = itemgetter(*places)
            self._marks_of: Final = itemgetter(*[slice(at, None, frame[0]) for at in places])

    def others(self, page: Sequence[BaseModel], items: Sequence[WireItem]) -> Iterable[int]:
        """Return the positions of such instances in a page."""
        return (at for at, made in enumerate(page) if self._differs(vars(made), items[at]))

    def is_usual(self, values: _Values) -> bool:
        """Return whether the field is certainly spelled as the library writes it, in all items of a page."""
        if not self._width:
            return False
        number, width = len(values), self._width
        try:
            # They are looked at together: one by one it would take four times as long.
            text = self._value_of(values[0]) if number == 1 else "".join(map(self._value_of, values))
            if len(text) != width * number:
                return False
            if number == 1:  # as those of a get are, and this takes half as long
                marks_are_there = self._marks_of_one(text) == self._marks
            else:
                marks_are_there = self._marks_of(text) == tuple([mark * number for mark in self._marks])
        except (LookupError, TypeError):  # decoded already
            return False
        return marks_are_there and (width != _UUID_WIDTH or text == text.lower())

    def _differs(self, values: Mapping[str, Any], item: WireItem) -> bool:
        field = self._field
        stored = item[field.stored] if field.unsharded is None else field.unsharded(item[field.stored])
        try:
            return field.converter.encode(values.get(field.name)) != stored
        except EncodeError:  # a time without a zone
            return True


class Spelling:
    """Finds the instances whose key, or time without a zone, is stored in another spelling than the library's."""

    def __init__(self, keys: Sequence[_KeySpelling], times: Sequence[FieldPlan]) -> None:
        """Describe the model.

        Args:
            keys: its key, as far as that has several forms.
            times: the other fields whose values may be times without a zone, or hold some.
        """
        self._keys: Final = keys
        self._times: Final = times
        required = {field.name for field in times if field.required and field.mutability is Mutability.FIXED}
        self._required: Final = [itemgetter(name) for name in required]
        self._others: Final = [field.name for field in times if field.name not in required]
        self._names: Final = [field.name for field in times]

    def others(self, page: Sequence[BaseModel], values: _Values, items: Sequence[WireItem]) -> Collection[int]:
        """Return the positions of such instances in a page.

        Args:
            page: the instances.
            values: what each was made of: field name -> decoded value.
            items: the stored items.
        """
        found: set[int] = set()
        for key in self._keys:
            if not key.is_usual(values):
                found.update(key.others(page, items))
        for field in self._times if self._times and not self._are_zoned(values) else ():
            for at, made in enumerate(page):
                value = vars(made).get(field.name)
                if value is not None and _is_other_time(field, value, items[at]):
                    found.add(at)
        return found

    def _are_zoned(self, values: _Values) -> bool:
        """Return whether all times of a page certainly have a zone."""
        if len(values) == 1:
            [given] = values
            for name in self._names:
                text = given.get(name)
                if text is not None and (type(text) is not str or text[-1:] != "Z"):
                    return False
            return True
        try:
            for value_of in self._required:
                if not _have_zones("".join(map(value_of, values)), len(values)):
                    return False
            for name in self._others:
                found: Any = map(_VALUE, values, repeat(name))
                texts: list[str] = list(filter(None, found))
                if texts and not _have_zones("".join(texts), len(texts)):
                    return False
        except (LookupError, TypeError):  # absent, or no text
            return False
        return True


def _have_zones(text: str, number: int) -> bool:
    """Return whether the times in a text all end with Z.

    They are looked at together: one by one it would take several times as long.

    Args:
        text: the texts of the times, joined.
        number: how many there are.
    """
    width = _FRAMES["instant"][0]
    if len(text) == width * number and text[width - 1 :: width] == "Z" * number:  # as the library writes them
        return True
    return text.count("Z") == number


def _is_other_time(field: FieldPlan, value: Any, item: WireItem) -> bool:
    """Return whether a value is a time without a zone in another form, or holds one in any form."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return False
    try:
        encoded = field.converter.encode(value)
    except EncodeError:  # one without a zone in a field of others
        return True
    return isinstance(value, datetime) and encoded != item.get(field.stored)


def spelling_of(model: type[BaseModel], fields: Sequence[FieldPlan], key: Sequence[FieldPlan]) -> Spelling | None:
    """Return what finds such instances; None for a model whose keys have one form, and that has no times."""
    keys = [_KeySpelling(field, _frame_of(model, field)) for field in key if not _in_one_form(model, field)]
    names = {field.name for field in key}
    times = [field for field in fields if field.name not in names and field.is_stored and _may_be_zoneless(field)]
    return Spelling(keys, times) if keys or times else None


def _may_be_zoneless(field: FieldPlan) -> bool:
    """Return whether the stored text of a time without a zone in a field is lost unless the whole item is remembered.

    Of other values that can change in place, the state keeps what is stored, or what was decoded.
    """
    if without_none(field.annotation) is NaiveDatetime:
        return True
    if field.mutability is not Mutability.FIXED and not field.holds_set:
        return False
    return not field.converter.tags.isdisjoint(("S", "SS", "L")) and _holds_times(field.annotation)


def _holds_times(annotation: Any) -> bool:
    annotation, _ = unwrap(annotation)
    if get_origin(annotation) is Literal:
        return False
    return is_kind_of(annotation, datetime) or any(map(_holds_times, get_args(annotation)))


def _frame_of(model: type[BaseModel], field: FieldPlan) -> _Frame | None:
    found = field.converter.description
    if found is None or found.of is None or constraint_of(model, field.name) > Constraint.DECLARED or runs_code(model):
        return None
    return _FRAMES.get(found.kind)


def _in_one_form(model: type[BaseModel], field: FieldPlan) -> bool:
    """Return whether no two stored forms of a key read as the same value."""
    if runs_code(model) or constraint_of(model, field.name) > Constraint.DECLARED:
        return False
    # A validator or constraint that changes text reads two stored texts as one value.
    annotation, more = unwrap(field.annotation, through_aliases=False)
    metadata = (*more, *model.__pydantic_fields__[field.name].metadata)
    changes = (each for each in metadata if isinstance(each, StringConstraints))
    if any(getattr(each, to) for each in changes for to in _CHANGES) or any(
        model.model_config.get(f"str_{to}") for to in _CHANGES
    ):
        return False
    if any(isinstance(each, StoredAs) and each.form is not None for each in metadata):
        return False
    if is_kind_of(annotation, Enum):  # a function of its own may take other texts for its members
        kinds = [kind for kind in annotation.__mro__ if kind is not Enum]
        plain = all(type(member.value) in _ONE_FORM for member in annotation)
        return plain and not any("_missing_" in vars(kind) for kind in kinds)
    return get_origin(annotation) is Literal or annotation in _ONE_FORM


def runs_code(model: type[BaseModel]) -> bool:
    """Return whether a model has functions of its own that may change the values of its fields."""
    decorators = model.__pydantic_decorators__
    validators = {*decorators.model_validators} - {COMPUTES} or decorators.root_validators
    return bool(validators or model.__pydantic_post_init__ or model.__pydantic_custom_init__)
