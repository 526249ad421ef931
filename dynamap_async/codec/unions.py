"""Converters that choose: None or a value, one of several types, one of several nested models.

A value is encoded by its run-time type and decoded by its stored type. Members that share a stored type cannot be
told apart on reading: ``shared_tags`` names these types, and the plain value is left for Pydantic to judge. Nested
models are told apart by the names of their members as far as those differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, Final

from dynamap_async.codec.converter import (
    CONTAINERS,
    DECODE_ERRORS,
    Absence,
    Converter,
    Decode,
    Description,
    ValuePart,
    deepest,
)
from dynamap_async.codec.deferred import Deferred, target_of
from dynamap_async.codec.encode_errors import refusal
from dynamap_async.codec.nested import Nested
from dynamap_async.codec.plain import decode_any
from dynamap_async.errors import DecodeError, EncodeError, ExpressionError
from dynamap_async.wire import AttributeValue, Tag

_NULL: Final[frozenset[Tag]] = frozenset(("NULL",))
_TEXT: Final[frozenset[Tag]] = frozenset(("S",))
_REFUSED: Final[frozenset[Tag]] = CONTAINERS | _TEXT
"""The stored types of values that converters may refuse, instead of leaving them to Pydantic."""


class Union(Converter):
    """A converter of values of several types."""

    __slots__ = ("in_one_form", "members", "shared_tags")

    def __init__(self, members: Sequence[Converter], *, shared_tags: frozenset[Tag], **contract: Any) -> None:
        super().__init__(**contract)
        self.members: tuple[Converter, ...] = tuple(members)
        """The alternatives."""
        self.shared_tags: frozenset[Tag] = shared_tags
        """Stored types that several members use, so that they read back as plain values."""
        self.in_one_form: bool = not (len(self.members) == 1 and not self.members[0].in_one_form)

    def decode_or_plain(self, value: AttributeValue) -> Any:
        """Return the Python value, or the plain one: of the only alternative to None, what that one gives."""
        only = next(iter(self.members)) if len(self.members) == 1 else None
        return super().decode_or_plain(value) if only is None else only.decode_or_plain(value)

    def decode_texts_exactly(self) -> None:
        """Decode text by the first member that would have stored it so: strict models take no text for its value."""
        sharing = [member for member in self.members if "S" in member.tags]
        otherwise = self.decode

        def decode(value: Any) -> Any:
            for member in sharing if "S" in value else ():
                try:
                    found = member.decode(value)
                    if member.encode(found) == value:
                        return found
                except DECODE_ERRORS:
                    continue
            return otherwise(value)

        self.decode_by(decode)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts of all members."""
        return tuple(dict.fromkeys(name for member in self.members for name in member.names))

    def step(self, part: str | int) -> ValuePart | None:
        """Return the part of the members that have it.

        Raises:
            ExpressionError: they store it under different names.
        """
        if len(self.members) == 1:
            return self.members[0].step(part)
        able = [member for member in self.members if member.tags & CONTAINERS]
        found = [each for member in able if (each := member.step(part)) is not None]
        if not found:
            return None
        steps = list(dict.fromkeys(each.step for each in found))
        if len(steps) > 1:
            raise ExpressionError(
                f"{self.label} stores {part!r} under several names ({' and '.join(map(repr, steps))}), so no "
                f"expression can name it; give it one stored name, such as attr(name={steps[0]!r})"
            )
        # Which of them an item holds, no expression tells: what is absent is None only where it is in all of them.
        absences = {each.absence for each in found if each.absence is not None}
        absence = Absence.OTHER if len(absences) > 1 else next(iter(absences), None)
        return ValuePart(steps[0], _either([each.converter for each in found]), absence)

    @property
    def member(self) -> Converter | None:
        """The members of the alternatives that have members."""
        found = [inner for each in self.members if (inner := each.member) is not None]
        return _either(found) if found else None

    @property
    def forms(self) -> tuple[Converter, ...]:
        """The forms of the only alternative to None; else this converter alone."""
        return (self,) if self.in_one_form else self.members[0].forms

    @property
    def ordered(self) -> bool:
        """Whether the values of each alternative sort as they are stored."""
        return all(member.ordered for member in self.members)

    @property
    def levels(self) -> int | None:
        """The levels of the deepest alternative."""
        return deepest(self.members)

    @property
    def document(self) -> bool:
        """Whether the only alternative to None is a nested model."""
        return len(self.members) == 1 and self.members[0].document


def optional(inner: Converter) -> Converter:
    """Return the converter of ``inner | None``; None is stored as NULL."""
    encode_inner, decode_inner = inner.encode, inner.decode

    def encode(value: Any) -> AttributeValue:
        return {"NULL": True} if value is None else encode_inner(value)

    def decode(value: Any) -> Any:
        return None if "NULL" in value else decode_inner(value)

    return Union(
        (inner,),
        shared_tags=inner.shared_tags if isinstance(inner, Union) else frozenset(),
        label=f"{inner.label} | None",
        tags=inner.tags | _NULL,
        encode=encode,
        decode=decode,
        types=(*inner.types, type(None)),
        description=Description("optional", inner=(inner,)),
    )


def union_of(
    members: Sequence[Converter],
    *,
    choose: Callable[[Any], Converter | None] | None = None,
    alike: Callable[[Sequence[Converter]], Decode] | None = None,
) -> Union:
    """Return the converter of a union.

    Args:
        members: the alternatives, exact, in the order in which they are tried.
        choose: picks the member that stores a value; None, or a result of None, picks the first whose types the
            value has and whose encoder takes it.
        alike: makes the decoder of a stored type that several members use; None makes one that gives plain values.
    """
    if alike is None and sum("M" in member.tags for member in members) > 1:
        members = list(map(_whole, members))
    label = " | ".join(dict.fromkeys(member.label for member in members))
    by_tag: dict[str, list[Converter]] = {}
    for member in members:
        for tag in member.tags:
            by_tag.setdefault(tag, []).append(member)
    kinds = [kind for member in members for kind in member.types]
    shared = alike or _shared_decoder
    decoders = {tag: found[0].decode if len(found) == 1 else shared(found) for tag, found in by_tag.items()}

    def decode(value: Any) -> Any:
        [tag] = value
        return decoders[tag](value)

    def decode_parts(value: Any) -> Any:
        [tag] = value
        return _judged(by_tag[tag], value)

    return Union(
        members,
        shared_tags=frozenset(tag for member in members for tag in member.tags if len(by_tag[tag]) > 1),
        label=label,
        tags=frozenset(tag for member in members for tag in member.tags),
        encode=_union_encoder(label, members, choose),
        decode=decode,
        decode_parts=decode_parts,
        types=tuple(dict.fromkeys(kinds)),
        description=Description("either", inner=members) if choose is None and len(set(kinds)) == len(kinds) else None,
    )


def tagged_union(
    members: Mapping[Any, Converter],
    *,
    discriminator: Callable[[Any], Any],
    stored: Sequence[str],
) -> Union:
    """Return the converter of a union of nested models, told apart by the value of one of their members.

    Args:
        members: discriminator value (an enum member or its value) -> converter of the model.
        discriminator: takes that value out of what is to be stored.
        stored: the names under which the models store it.
    """
    label = " | ".join(dict.fromkeys(member.label for member in members.values()))
    choices = {_raw(value): member for value, member in members.items()}

    def encode(value: Any) -> AttributeValue:
        try:
            member = choices[_raw(discriminator(value))]
        except (LookupError, AttributeError, TypeError):
            raise refusal(label, value) from None
        return member.encode(value)

    def decode(value: Any) -> Any:
        content = value["M"]
        for name in stored:
            if name in content:
                return choices[decode_any(content[name])].decode(value)
        raise DecodeError(f"stored {label} has no {' or '.join(stored)}")

    unique = tuple(dict.fromkeys(members.values()))
    return Union(
        unique,
        shared_tags=frozenset(),
        label=label,
        tags=frozenset(tag for member in unique for tag in member.tags),
        encode=encode,
        decode=decode,
        types=tuple(dict.fromkeys(kind for member in unique for kind in member.types)),
    )


def _either(parts: Sequence[Converter]) -> Converter:
    """Return the converter of a part that several alternatives have, each of its own type."""
    nullable = False
    kinds: dict[Converter, None] = {}
    for part in parts:
        if isinstance(part, Union) and len(part.members) == 1 and "NULL" in part.tags:
            nullable = True
            kinds[part.members[0]] = None
        else:
            kinds[part] = None
    if len(kinds) == 1:
        return parts[0] if len(parts) == 1 or not nullable else optional(next(iter(kinds)))
    made = union_of(list(kinds), alike=_first_decoder)
    return optional(made) if nullable else made


def _first_decoder(members: Sequence[Converter]) -> Decode:
    """Return what decodes as the first member does that can: nobody judges the value of a part afterwards."""
    closest = _shared_decoder(members)
    others = [member for member in members if not isinstance(target_of(member), Nested)]

    def decode(value: Any) -> Any:
        for member in others:
            try:
                return member.decode(value)
            except DECODE_ERRORS:
                continue
        return closest(value)

    return decode


def _whole(member: Converter) -> Converter:
    """Return the converter of an alternative that tells its values from those of others by what members they have."""
    if isinstance(member, Nested):
        return member.whole
    if not isinstance(member, Deferred):
        return member
    return Deferred(member.label, lambda: _whole(member.target), tags=member.tags, types=member.types)


def _shared_decoder(members: Sequence[Converter]) -> Decode:
    def decode(value: Any) -> Any:
        closest = _closest(members, value)
        if closest is None:
            return _judged(members, value)
        for member in closest[:-1]:
            with suppress(*DECODE_ERRORS):
                return member.decode(value)
        return closest[-1].decode(value)

    return decode


def _closest(members: Sequence[Converter], value: Any) -> list[Nested] | None:
    """Return those of some nested models that have most of the members of a value; None if not all are such models."""
    nested = [target for member in members if isinstance(target := target_of(member), Nested)]
    if len(nested) < len(members):
        return None
    common = [len(member.stored_names & value["M"].keys()) for member in nested]
    return [member for member, names in zip(nested, common, strict=True) if names == max(common)]


def _judged(members: Sequence[Converter], value: Any) -> Any:
    """Return the plain value, for Pydantic to choose one of the members that store such values.

    Raises:
        DecodeError: whichever member it is, a part of it is stored as another type, or it is not left to Pydantic.
    """
    refusals: list[DecodeError] = []
    candidates = _closest(members, value) or members
    for member in candidates if _REFUSED & value.keys() else ():
        try:
            member.decode_or_plain(value)
            break
        except DecodeError as refusal:
            refusals.append(refusal)
    else:
        if refusals:
            raise refusals[0]
    return decode_any(value)


def _raw(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _union_encoder(
    label: str, members: Sequence[Converter], choose: Callable[[Any], Converter | None] | None
) -> Callable[[Any], AttributeValue]:
    candidates: dict[type, list[Converter]] = {}

    def encode(value: object) -> AttributeValue:
        chosen = choose(value) if choose is not None else None
        if chosen is not None:
            return chosen.encode(value)
        kind = type(value)
        possible = candidates.get(kind)
        if possible is None:
            # Sorted by exactness, so that True is a bool to ``int | bool`` and a datetime no date.
            possible = [member for member in members if issubclass(kind, member.types)]
            own = [member for member in possible if kind in member.types]
            possible = own if len(own) == 1 else sorted(possible, key=lambda member: kind not in member.types)
            candidates[kind] = possible
        if len(possible) == 1:
            return possible[0].encode(value)
        deepest: EncodeError | None = None
        for member in possible:
            try:
                return member.encode(value)
            except EncodeError as error:
                if deepest is None or len(error.path) > len(deepest.path):
                    deepest = error
        raise deepest if deepest is not None and deepest.path else refusal(label, value)

    return encode
