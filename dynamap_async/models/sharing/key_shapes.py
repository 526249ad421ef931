"""The shapes of a model's keys in a shared table: which keys its items may have, and whether another's may be the same.

A key has the shape where each of its attributes is a text that the template makes, and where parts that stand in
several attributes have one value in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_origin

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models.annotations import bare
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.keys.shards import SHARD_DIGITS, ShardedKeys
from dynamap_async.models.templates import ANY_TEXT, KeyTemplate, OneOf, Places, Shape, common_text, format_of, shape_of
from dynamap_async.wire import AttributeValue

_SHARD: Final = (Places.of("#"), Places((frozenset("0123456789"),) * SHARD_DIGITS))


@dataclass(frozen=True, slots=True)
class AttributeShape:
    """Which texts one attribute of a key may have."""

    name: str
    """The stored name of the attribute."""
    shape: Shape
    template: KeyTemplate | None = None
    """What makes it, if a template does."""
    sharded: bool = False
    """Whether the number of a shard follows what the template makes."""

    @property
    def begins(self) -> tuple[str, bool]:
        """What all texts begin with, and whether that is all of each text."""
        if self.template is None:
            only = self.shape.pieces[0]
            alone = isinstance(only, OneOf) and len(only.texts) == 1
            return (next(iter(only.texts)), True) if isinstance(only, OneOf) and alone else ("", False)
        return self.template.prefix({}), not self.template.parts and not self.sharded

    @property
    def is_prefix(self) -> bool:
        """Whether every text that begins as all of them do is one of them."""
        *before, last = self.shape.pieces
        return last == ANY_TEXT.pieces[0] and all(isinstance(each, Places) and each.is_constant for each in before)

    def covers(self, other: AttributeShape) -> bool:
        """Return whether every text of another shape is known to be one of this one."""
        return self.shape == other.shape or (self.is_prefix and other.begins[0].startswith(self.begins[0]))

    def values(self, text: str) -> dict[str, Any]:
        """Return field name -> value of the parts that the text gives back; DecodeError if it is no such text."""
        if self.template is None:
            return {}
        return self.template.parse(text[: -SHARD_DIGITS - 1] if self.sharded else text)

    def with_values(self, values: Mapping[str, Any]) -> Shape:
        """Return the shape of those texts in which some parts have these values."""
        if self.template is None:
            return self.shape
        try:
            known = {part.name: part.text(values[part.name]) for part in self.template.parts if part.name in values}
        except EncodeError:
            return self.shape
        return shape_of(self.template, known=known, suffix=_SHARD if self.sharded else ())

    def __str__(self) -> str:
        return f"{self.name} {str(self.template)!r}" if self.template is not None else f"any {self.name}"


@dataclass(frozen=True, slots=True)
class KeyShapes:
    """Which keys the items of one model may have."""

    attributes: tuple[AttributeShape, ...]
    """The attributes that are text."""
    shared: frozenset[str]
    """The parts that stand in several of them."""

    def hold(self, item: Mapping[str, AttributeValue]) -> bool:
        """Return whether the key of a stored item, or a key, may be of the model."""
        for each in self.attributes:
            text = item.get(each.name, {}).get("S")
            if text is None or not each.shape.holds(text):
                return False
        return not self.shared or self._agree(item)

    def cover(self, other: KeyShapes) -> bool:
        """Return whether every key of another model is known to be one of these, too."""
        theirs = {each.name: each for each in other.attributes}
        return not self.shared and all(
            each.name in theirs and each.covers(theirs[each.name]) for each in self.attributes
        )

    def _agree(self, item: Mapping[str, AttributeValue]) -> bool:
        """Return whether parts that stand in several attributes have one value."""
        known: dict[str, Any] = {}
        for each in self.attributes:
            try:
                values = each.values(item[each.name].get("S", ""))
            except DecodeError:
                return False
            if any(name in known and known[name] != value for name, value in values.items()):
                return False
            known.update(values)
        return True

    def __str__(self) -> str:
        return " and ".join(map(str, self.attributes)) or "any key"


def key_shapes(fields: Iterable[FieldPlan], attributes: Sequence[str], shards: ShardedKeys) -> KeyShapes:
    """Return the shapes of a model's keys.

    Args:
        fields: the model's fields.
        attributes: the stored names of the attributes that tell its items apart.
        shards: its partition keys that are spread over shards.
    """
    stored = {field.stored: field for field in fields}
    found = tuple(
        _attribute(stored[name], sharded=name in shards.of)
        for name in attributes
        if name in stored and "S" in stored[name].converter.tags
    )
    names = [part for each in found if each.template is not None for part in each.template.readable]
    return KeyShapes(found, frozenset(name for name in names if names.count(name) > 1))


def _attribute(field: FieldPlan, *, sharded: bool) -> AttributeShape:
    suffix = _SHARD if sharded else ()
    if field.template is not None:
        return AttributeShape(field.stored, shape_of(field.template, suffix=suffix), field.template, sharded)
    texts = _texts(field)
    shape = ANY_TEXT if texts is None else Shape((OneOf(texts), *suffix))
    return AttributeShape(field.stored, shape, sharded=sharded)


def _texts(field: FieldPlan) -> frozenset[str] | None:
    """Return the texts that a key without a template may have, where its type says so."""
    kind = bare(field.annotation)
    if get_origin(kind) is not Literal:
        return None
    texts = format_of(kind, "").texts
    try:
        stored = frozenset(field.converter.encode(text).get("S", "") for text in texts or ())
    except EncodeError:
        return None
    return texts if texts and stored == texts else None


def prefix_shapes(attributes: Iterable[str], attribute: str, text: str) -> KeyShapes:
    """Return the shapes of the keys of which one attribute begins with a text.

    Args:
        attributes: the stored names of all attributes of the key that are text.
        attribute: the stored name of the one.
        text: what it begins with.
    """
    begun = Shape((Places.of(text), *ANY_TEXT.pieces))
    return KeyShapes(
        tuple(AttributeShape(name, begun if name == attribute else ANY_TEXT) for name in attributes), frozenset()
    )


class Overlap(NamedTuple):
    """Keys of two models that may be the same."""

    example: dict[str, str] | None
    """Such a key; None where there may be one, or none."""


def overlap_of(one: KeyShapes, other: KeyShapes) -> Overlap | None:
    """Return how the keys of two models may be the same; None where it is proved that no key is of both.

    Args:
        one: the keys of one model.
        other: the keys of the other.
    """
    first, second = ({each.name: each for each in shapes.attributes} for shapes in (one, other))
    pairs = [(first[name], second[name]) for name in first if name in second]
    if any(common_text(mine.shape, theirs.shape) is None for mine, theirs in pairs):
        return None
    for ordered in (pairs, pairs[::-1]):
        example = _example(ordered)
        key: dict[str, AttributeValue] = {name: {"S": text} for name, text in example.items()}
        if len(example) == len(pairs) and one.hold(key) and other.hold(key):
            return Overlap({mine.name: example[mine.name] for mine, _ in pairs})
    return Overlap(None)


def _example(pairs: Sequence[tuple[AttributeShape, AttributeShape]]) -> dict[str, str]:
    """Return a key that both shapes may hold, made attribute by attribute; a part of one where that finds none."""
    example: dict[str, str] = {}
    known: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for pair in pairs:
        shapes = [each.with_values(values) for each, values in zip(pair, known, strict=True)]
        text = common_text(*shapes)
        if text is None:
            break
        example[pair[0].name] = text
        for each, values in zip(pair, known, strict=True):
            try:
                values.update(each.values(text))
            except DecodeError:
                return example
    return example
