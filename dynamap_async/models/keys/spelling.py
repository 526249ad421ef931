"""Keys in other forms than those that the library writes: a time with ``+00:00``, a UUID in capitals.

Other programs store such keys, and DynamoDB compares their text. So an instance remembers the key under which its item
is stored, where that is not what its values would be written as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from operator import itemgetter
from typing import Any, Final, Literal, get_origin

from pydantic import BaseModel, StringConstraints

from dynamap_async.errors import EncodeError
from dynamap_async.models.annotations import is_kind_of, unwrap
from dynamap_async.models.assigned import COMPUTES
from dynamap_async.models.constraints import Constraint, constraint_of
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import StoredAs
from dynamap_async.wire import WireItem

_ONE_FORM: Final = (str, int, Decimal, bytes)
"""Types of which each value has one stored form. Numbers are the same however many zeros they are written with."""
_CHANGES: Final = ("strip_whitespace", "to_lower", "to_upper")
"""The constraints of text that change it."""


_UUID_WIDTH: Final = 36
_FRAMES: Final[Mapping[str, tuple[int, tuple[tuple[int, str], ...]]]] = {
    "instant": (27, ((10, "T"), (19, "."), (26, "Z"))),
    "date": (10, ((4, "-"), (7, "-"))),
    "uuid": (_UUID_WIDTH, ((8, "-"), (13, "-"))),
}
"""How wide the texts are that the library writes for a type, and what stands where. Of all texts that Pydantic reads,
these alone are so, but for UUIDs in capitals."""


class KeySpelling:
    """Finds the instances whose stored keys have another spelling than the library would write."""

    def __init__(self, model: type[BaseModel], fields: Sequence[FieldPlan]) -> None:
        self._fields: Final = fields
        frames = [(itemgetter(field.name), frame) for field in fields if (frame := _frame_of(model, field)) is not None]
        self._frames: Final = [(of, width, *_looks(width, marks)) for of, (width, marks) in frames]
        self._all_framed: Final = len(frames) == len(fields)

    def others(self, page: Sequence[BaseModel], items: Sequence[WireItem]) -> Sequence[int]:
        """Return the positions of such instances in a page."""
        return [at for at, made in enumerate(page) if self._differs(vars(made), items[at])]

    def is_usual(self, values: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether all keys of a page are certainly spelled as the library writes them.

        Args:
            values: what each instance was made of: field name -> decoded value.
        """
        if not self._all_framed:
            return False
        # They are looked at together: one by one it would take four times as long.
        number = len(values)
        for of, width, look, marks in self._frames:
            try:
                text = "".join(map(of, values))
            except (LookupError, TypeError):  # decoded already
                return False
            if len(text) != width * number:
                return False
            if look(text) != (marks if number == 1 else tuple([mark * number for mark in marks])):
                return False
            if width == _UUID_WIDTH and text != text.lower():
                return False
        return True

    def _differs(self, values: Mapping[str, Any], item: WireItem) -> bool:
        for field in self._fields:
            stored = item[field.stored] if field.unsharded is None else field.unsharded(item[field.stored])
            try:
                if field.converter.encode(values.get(field.name)) != stored:
                    return True
            except EncodeError:  # a time without a zone
                return True
        return False


def key_spelling(model: type[BaseModel], key: Sequence[FieldPlan]) -> KeySpelling | None:
    """Return what finds such instances; None for a model whose keys have one form.

    Args:
        key: the fields of the table's key.
    """
    fields = [field for field in key if not _in_one_form(model, field)]
    return KeySpelling(model, fields) if fields else None


def _looks(width: int, marks: Sequence[tuple[int, str]]) -> tuple[Callable[[str], Any], tuple[str, ...]]:
    """Return two functions: of joined texts, what stands at the marks; and of one text, what stands there."""
    return itemgetter(*[slice(at, None, width) for at, _ in marks]), tuple([mark for _, mark in marks])


def _frame_of(model: type[BaseModel], field: FieldPlan) -> tuple[int, tuple[tuple[int, str], ...]] | None:
    found = field.converter.description
    if found is None or found.of is None or constraint_of(model, field.name) > Constraint.DECLARED or _runs_code(model):
        return None
    return _FRAMES.get(found.kind)


def _in_one_form(model: type[BaseModel], field: FieldPlan) -> bool:
    """Return whether no two stored forms of a key read as the same value."""
    if _runs_code(model) or constraint_of(model, field.name) > Constraint.DECLARED:
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


def _runs_code(model: type[BaseModel]) -> bool:
    """Return whether a model has functions of its own that may change the values of its fields."""
    decorators = model.__pydantic_decorators__
    validators = {*decorators.model_validators} - {COMPUTES} or decorators.root_validators
    return bool(validators or model.__pydantic_post_init__ or model.__pydantic_custom_init__)
