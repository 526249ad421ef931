"""Collisions: whether two models of a shared table could make the same key.

Where keys tell the kinds, two models that could are refused, with such a key. What is neither proved nor refuted, and
what a class statement declares distinct, is looked at again whenever an item is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.settings import SETTINGS, Settings, fault
from dynamap_async.models.sharing.key_shapes import Overlap, overlap_of, prefix_shapes
from dynamap_async.models.sharing.kinds import Kinds
from dynamap_async.models.sharing.table import ByKeys, Prefix, Table, Unmarked
from dynamap_async.models.templates import KeyTemplate, TemplatePart

KnownModel: TypeAlias = tuple[Kinds, Sequence[FieldPlan]]
"""The kinds of a model, and the fields of its key."""


def check_collisions(
    kinds: Kinds, fields: Sequence[FieldPlan], known: Callable[[type[Any]], KnownModel | None]
) -> None:
    """Check a new model against all others of its table.

    Args:
        kinds: the model's kinds, with one of its own.
        fields: the fields of its key.
        known: model -> what is known of another one; None where it is not complete.

    Raises:
        ModelDefinitionError: it and another model could make the same key, and keys are all that tells them apart, or
            one's item would replace the other's.
    """
    model = kinds.model
    for other in [*kinds.table.models.values()]:
        found = known(other)
        if found is None or (other.__module__, other.__qualname__) == (model.__module__, model.__qualname__):
            continue
        theirs, their_fields = found
        if _are_told_by_keys(kinds, theirs):
            _check_told(kinds, theirs)
        elif not (
            isinstance(kinds.table.discriminator, Prefix)
            or _are_family(kinds.table, model, other)
            or _are_declared_distinct(model, other)
        ):
            _check_marked(kinds, fields, theirs, their_fields)


def _are_told_by_keys(one: Kinds, other: Kinds) -> bool:
    """Return whether nothing but keys tells the items of two models apart."""
    rest = [isinstance(each.kind, Unmarked) for each in (one, other)]
    if any(rest):  # whatever else tells a kind goes before it
        return all(rest)
    by_keys = [isinstance(each.kind, ByKeys) for each in (one, other)]
    by_prefix = isinstance(one.table.discriminator, Prefix) and any(isinstance(e.kind, str) for e in (one, other))
    return all(by_keys) or (any(by_keys) and by_prefix)


def _check_told(one: Kinds, other: Kinds) -> None:
    """Refuse two models whose keys do not tell them apart, or have them looked at together where that is not known."""
    if one.kind is None or other.kind is None:
        return
    overlap = _overlap(one, other)
    if overlap is None:
        limited = one.shapes.are_limited or other.shapes.are_limited
        if limited and _overlap(one, other, unlimited=True) is not None:
            one.table.tell_by_values(one.kind, other.kind)
        return
    if _are_declared_distinct(one.model, other.model):
        first = _preferred(one, other)
        if first is not None:
            last = other if first is one else one
            assert first.kind is not None and last.kind is not None  # noqa: PT018, S101 - they are those above
            one.table.prefer(first.kind, last.kind)
    elif overlap.example is not None:
        raise fault(one.model.__name__, _problem(one, other, overlap.example))
    one.table.doubt(one.kind, other.kind)


def _preferred(one: Kinds, other: Kinds) -> Kinds | None:
    """Return which of two models has the keys that both could make: the one whose keys are all like the other's."""
    for mine, theirs in ((one.shapes, other.shapes), (one.shapes.unlimited, other.shapes.unlimited)):
        within = mine.are_within(theirs), theirs.are_within(mine)
        if all(within):
            return None
        if any(within):
            return one if within[0] else other
    return None


def _problem(one: Kinds, other: Kinds, example: dict[str, str]) -> str:
    """Return what is wrong with two models that could make one key."""
    name, taken = one.model.__name__, other.model.__name__
    marker = 'kind="..."' if isinstance(one.table.discriminator, str) else 'discriminator="kind" on the Table'
    narrower = _narrower(one, example) or _narrower(other, example)
    problem = (
        f"and {taken} are told apart by their keys in {one.table!r}, and both could have the key {example}: "
        f"{_made(one, example)}, and {_made(other, example)}; begin one of the keys with a constant of its own, or let "
        f"a field allow less, by its type, a pattern, a length or a bound{narrower}; or store a marker with one of "
        f"them ({marker})"
    )
    preferred = _preferred(one, other)
    if preferred is not None:
        last = other if preferred is one else one
        return (
            f"{problem}; or declare class {name}(..., distinct_from={taken}), so that such a key is always of "
            f"{preferred.model.__name__}, and refused to {last.model.__name__}"
        )
    if one.shapes.are_within(other.shapes):  # and the other's within these
        return problem
    return f"{problem}; or, where no such key is ever written, declare class {name}(..., distinct_from={taken})"


def _made(kinds: Kinds, example: dict[str, str]) -> str:
    """Return what makes a key of a model, for messages."""
    made = {} if isinstance(kinds.kind, str) else kinds.shapes.makers(example) or {}
    values = ", ".join(f"{name}={value!r}" for name, value in made.items())
    return f"{kinds.model.__name__} has {_spelled(kinds)}{values and f', here with {values}'}"


def _narrower(kinds: Kinds, example: dict[str, str]) -> str:
    """Return an example of a field that allows less, where a text has what separates the parts of the other key."""
    made = {} if isinstance(kinds.kind, str) else kinds.shapes.makers(example) or {}
    for name, value in made.items():
        separator = next((each for each in value if not each.isalnum()), "") if isinstance(value, str) else ""
        if separator and name in kinds.model.model_fields:
            escape = "\\" if separator in "\\]^-[&~" else ""
            pattern = f"^[^{escape}{separator}]*$"
            return f", such as {kinds.model.__name__}.{name} with Field(pattern={pattern!r})"
    return ""


def _overlap(one: Kinds, other: Kinds, *, unlimited: bool = False) -> Overlap | None:
    """Return how the keys of two models may be the same; None where they cannot.

    Args:
        unlimited: whether fields are taken to allow all values.
    """
    discriminator, shapes = one.table.discriminator, [one.shapes, other.shapes]
    if isinstance(discriminator, Prefix):
        for place, kind in enumerate((one.kind, other.kind)):
            if isinstance(kind, str):  # the other one is told by its keys
                names = [each.name for each in shapes[1 - place].attributes if each.tag == "S"]
                if discriminator.attribute not in names:
                    return Overlap(None)
                shapes[place] = prefix_shapes(names, discriminator.attribute, kind)
    return overlap_of(*(each.unlimited for each in shapes)) if unlimited else overlap_of(*shapes)


def _spelled(kinds: Kinds) -> str:
    """Return which keys the items of a model have, for messages."""
    return f"{kinds.table.attribute} {kinds.kind!r} and more" if isinstance(kinds.kind, str) else str(kinds.shapes)


def _check_marked(one: Kinds, fields: Sequence[FieldPlan], other: Kinds, their_fields: Sequence[FieldPlan]) -> None:
    """Refuse two models with markers whose templates are alike, so that one's item could replace the other's.

    Of plain fields nothing is known; a family may share its keys, because an item is of one of its classes at a time;
    and where a prefix of the key tells the kind, no two kinds have one key.
    """
    if not all(
        first.template is not None and second.template is not None and _are_alike(first.template, second.template)
        for first, second in zip(fields, their_fields, strict=True)
    ):
        return
    overlap = overlap_of(one.shapes, other.shapes)
    if overlap is None:
        return
    name, taken, field = one.model.__name__, other.model.__name__, fields[-1]
    example = "" if overlap.example is None else f", such as {overlap.example}"
    raise fault(
        name,
        f"can make the same keys of {one.table!r} as {taken}{example}, so an item of one could replace an item of the "
        f'other; begin one of them with a constant of its own: template("{name.lower()}#{field.template}"), or, where '
        f"no such key is ever written, declare class {name}(..., distinct_from={taken})",
        field.name,
    )


def _are_family(table: Table, one: type[Any], other: type[Any]) -> bool:
    """Return whether two models have a base, or are one, that is a model of the table."""
    bases = [base for base in one.__mro__ if issubclass(other, base) and SETTINGS in base.__dict__]
    return any(base.__dict__[SETTINGS].shared is table for base in bases)


def _are_declared_distinct(one: type[Any], other: type[Any]) -> bool:
    """Return whether a class statement says that no key is of both models."""
    ours: Settings = getattr(one, SETTINGS)
    theirs: Settings = getattr(other, SETTINGS)
    return issubclass(other, ours.distinct_from) or issubclass(one, theirs.distinct_from)


def _are_alike(one: KeyTemplate, other: KeyTemplate) -> bool:
    """Return whether the same constants stand in two keys, and the parts between them can be the same."""
    if one.tail != other.tail or [part.before for part in one.parts] != [part.before for part in other.parts]:
        return False
    return all(_may_be_one_text(*both) for both in zip(one.parts, other.parts, strict=True))


def _may_be_one_text(one: TemplatePart, other: TemplatePart) -> bool:
    first, second = one.format, other.format
    if first.texts is not None and second.texts is not None:
        return not first.texts.isdisjoint(second.texts)
    return first.free or second.free or first.label == second.label
