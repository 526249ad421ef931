"""The shapes of a model's keys in a shared table: which keys its items may have, and whether another's may be the same.

A key has the shape where each of its attributes is a text that the template makes, and where parts that stand in
several attributes have one value in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models.annotations import bare, is_kind_of
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.keys.shards import SHARD_DIGITS, ShardedKeys
from dynamap_async.models.sharing.field_limits import limited_by, limited_number, limited_text, limited_to
from dynamap_async.models.templates import (
    ANY_TEXT,
    KeyTemplate,
    LimitsOf,
    OneOf,
    Places,
    PlainNumber,
    Shape,
    common_text,
    shape_of,
)
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
    limited: LimitsOf | None = None
    """Adds what the fields of the parts allow."""
    tag: Literal["S", "N"] = "S"
    """The type of the attribute. The texts of numbers are those that DynamoDB gives back."""

    @property
    def begins(self) -> tuple[str, bool]:
        """What all texts begin with, and whether that is all of each text."""
        if self.template is None:
            only = self.shape.pieces[0]
            if isinstance(only, OneOf) and len(only.texts) == 1 and self.tag == "S":
                return next(iter(only.texts)), not self.sharded
            return "", False
        return self.template.prefix({}), not self.template.parts and not self.sharded

    @property
    def is_prefix(self) -> bool:
        """Whether every text that begins as all of them do is one of them, whatever the fields allow."""
        *before, last = self.shape.unlimited.pieces
        if self.tag == "N":
            return isinstance(last, PlainNumber)
        return last == ANY_TEXT.pieces[0] and all(isinstance(each, Places) and each.is_constant for each in before)

    def holds(self, item: Mapping[str, AttributeValue], *, loosely: bool = False) -> bool:
        """Return whether the attribute of a stored item may be of the model.

        Args:
            item: the item, or its key.
            loosely: whether parts may have values that their fields do not allow.
        """
        stored = item.get(self.name)
        text = None if stored is None else stored.get(self.tag)
        if text is None:
            return False
        return self.shape.may_hold(text) if loosely else self.shape.holds(text)

    def stored(self, text: str) -> AttributeValue:
        """Return a text of the attribute as it is stored."""
        return {"S": text} if self.tag == "S" else {"N": text}

    def values(self, text: str) -> dict[str, Any]:
        """Return field name -> value of the parts that the text gives back; DecodeError if it is no such text."""
        return {} if self.template is None else self.template.parse(self._unsharded(text))

    def makers(self, text: str) -> dict[str, Any]:
        """Return what makes the text: field name -> value of the parts, or the text itself where it is no template's.

        Raises:
            DecodeError: no values make it.
        """
        if self.template is None:
            return {self.name: text}
        return self.template.parse_exactly(self._unsharded(text))

    def _unsharded(self, text: str) -> str:
        return text[: -SHARD_DIGITS - 1] if self.sharded else text

    def with_values(self, values: Mapping[str, Any]) -> Shape:
        """Return the shape of those texts in which some parts have these values."""
        if self.template is None:
            return self.shape
        try:
            known = {part.name: part.text(values[part.name]) for part in self.template.parts if part.name in values}
        except EncodeError:
            return self.shape
        return shape_of(self.template, known=known, suffix=_SHARD if self.sharded else (), limited=self.limited)

    def __str__(self) -> str:
        return f"{self.name} {str(self.template)!r}" if self.template is not None else f"any {self.name}"


@dataclass(frozen=True, slots=True)
class KeyShapes:
    """Which keys the items of one model may have."""

    attributes: tuple[AttributeShape, ...]
    """The attributes that are text, or numbers."""
    shared: frozenset[str]
    """The parts that stand in several of them."""

    def hold(self, item: Mapping[str, AttributeValue], *, loosely: bool = False) -> bool:
        """Return whether the key of a stored item, or a key, may be of the model.

        Args:
            item: the item, or its key.
            loosely: whether parts may have values that their fields do not allow.
        """
        for each in self.attributes:
            if not each.holds(item, loosely=loosely):
                return False
        return not self.shared or self._agree(item)

    def are_within(self, other: KeyShapes) -> bool:
        """Return whether every key of the model is known to be one of another, too."""
        mine = {each.name: each for each in self.attributes}
        return not other.shared and all(
            each.name in mine and mine[each.name].shape.is_within(each.shape) for each in other.attributes
        )

    @property
    def are_limited(self) -> bool:
        """Whether fields allow only some of the keys that the templates make."""
        return any(each.shape.is_limited for each in self.attributes)

    @property
    def unlimited(self) -> KeyShapes:
        """The shapes that the templates have, whatever the fields allow."""
        return KeyShapes(tuple(replace(each, shape=each.shape.unlimited) for each in self.attributes), self.shared)

    def makers(self, key: Mapping[str, str]) -> dict[str, Any] | None:
        """Return what makes a key of the model: field name -> value; None where nothing does.

        Args:
            key: stored name -> text.
        """
        found: dict[str, Any] = {}
        try:
            for each in self.attributes:
                if each.name not in key:
                    return None
                made = each.makers(key[each.name])
                if any(name in found and found[name] != value for name, value in made.items()):
                    return None
                found.update(made)
        except DecodeError:
            return None
        stored = {each.name: each.stored(key[each.name]) for each in self.attributes}
        return found if self.hold(stored) else None

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


def key_shapes(
    model: type[BaseModel], fields: Iterable[FieldPlan], attributes: Sequence[str], shards: ShardedKeys
) -> KeyShapes:
    """Return the shapes of a model's keys.

    Args:
        model: the class, complete.
        fields: its fields.
        attributes: the stored names of the attributes that tell its items apart.
        shards: its partition keys that are spread over shards.
    """
    stored, limited = {field.stored: field for field in fields}, limited_by(model)
    found = tuple(
        _numbers(model, field) if "N" in field.converter.tags else _attribute(model, field, limited, sharded=sharded)
        for field, sharded in ((stored[name], name in shards.of) for name in attributes if name in stored)
        if not field.converter.tags.isdisjoint("SN")
    )
    names = [part for each in found if each.template is not None for part in each.template.readable]
    return KeyShapes(found, frozenset(name for name in names if names.count(name) > 1))


def _attribute(model: type[BaseModel], field: FieldPlan, limited: LimitsOf, *, sharded: bool) -> AttributeShape:
    suffix = _SHARD if sharded else ()
    if field.template is not None:
        shape = shape_of(field.template, suffix=suffix, limited=limited)
        return AttributeShape(field.stored, shape, field.template, sharded, limited)
    texts = _texts(field, "S")
    if texts is None:
        return AttributeShape(
            field.stored,
            ANY_TEXT if sharded else Shape((limited_text(model, field.name),)),
            sharded=sharded,
        )
    alone = OneOf(texts) if get_origin(bare(field.annotation)) is Literal else limited_to(texts)
    return AttributeShape(field.stored, Shape((alone, *suffix)), sharded=sharded)


def _numbers(model: type[BaseModel], field: FieldPlan) -> AttributeShape:
    texts = _texts(field, "N")
    shape = Shape((limited_number(model, field.name) if texts is None else OneOf(texts),))
    return AttributeShape(field.stored, shape, tag="N")


def _texts(field: FieldPlan, tag: Literal["S", "N"]) -> frozenset[str] | None:
    """Return the texts that a key without a template may have, where its type says so."""
    kind = bare(field.annotation)
    if get_origin(kind) is not Literal and not is_kind_of(kind, Enum):
        return None
    values = get_args(kind) if get_origin(kind) is Literal else [*kind]
    try:
        stored = [field.converter.encode(value).get(tag) for value in values]
    except EncodeError:
        return None
    return frozenset(each for each in stored if each is not None) if values and None not in stored else None


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
    pairs = [(first[name], second[name]) for name in first if name in second and first[name].tag == second[name].tag]
    if any(common_text(mine.shape, theirs.shape) is None for mine, theirs in pairs):
        return None
    for ordered in (pairs, pairs[::-1]):
        example = _example(ordered)
        if len(example) == len(pairs) and one.makers(example) is not None and other.makers(example) is not None:
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
