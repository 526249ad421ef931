"""Converters of unions, and which of their values cannot be told apart once they are stored."""

from collections.abc import Hashable, Sequence
from operator import attrgetter
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel, Discriminator

from dynamap_async import codec
from dynamap_async.codec import MISFITS, Converter, Deferred, Nested
from dynamap_async.models.annotations import Metadata, bare, is_none
from dynamap_async.models.compiling import Compiler
from dynamap_async.models.markers import stored_name

_PLAIN: Final = (str, int, bool, bytes, NoneType)


def union(compiler: Compiler, members: tuple[Any, ...], metadata: Metadata) -> Converter:
    """Return the converter of a union.

    Args:
        compiler: makes the converters of the members.
        members: its members, None perhaps among them.
        metadata: what stands behind the union in Annotated, a discriminator perhaps.
    """
    present = [member for member in members if not is_none(member)]
    if len(present) == 1:
        return codec.optional(compiler.of(present[0], metadata))
    exactly = compiler.exactly
    tag = next((each.discriminator for each in metadata if isinstance(each, Discriminator)), None)
    made = _tagged(exactly, present, tag) if isinstance(tag, str) else None
    if made is None:
        made = codec.union_of([exactly.of(member) for member in present])
        if tag is None and _is_ambiguous(made, present):
            compiler.note_ambiguous(made.label)
    if compiler.exact and "S" in made.shared_tags and str not in map(bare, present):
        _tell_texts_apart(made)
    return codec.optional(made) if len(present) < len(members) else made


def _tell_texts_apart(made: codec.Union) -> None:
    """Let a union decode text by the first member that would have stored it so: strict models take no text for it."""
    sharing = [member for member in made.members if "S" in member.tags]
    otherwise = made.decode

    def decode(value: Any) -> Any:
        for member in sharing if "S" in value else ():
            try:
                found = member.decode(value)
                if member.encode(found) == value:
                    return found
            except MISFITS:
                continue
        return otherwise(value)

    made.decode = decode


def _tagged(compiler: Compiler, members: Sequence[Any], discriminator: str) -> codec.Union | None:
    """Return the converter of models that are told apart by a field, or None if it is not that simple."""
    choices: dict[Any, Converter] = {}
    stored: dict[str, None] = {}
    for member in members:
        model = bare(member)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return None
        info = model.model_fields.get(discriminator)
        if info is None or get_origin(bare(info.annotation)) is not Literal:
            return None
        stored[stored_name(discriminator, info)] = None
        for value in get_args(bare(info.annotation)):
            choices[value] = compiler.of(member)
    return codec.tagged_union(choices, discriminator=attrgetter(discriminator), stored=tuple(stored))


def _is_ambiguous(made: codec.Union, members: Sequence[Any]) -> bool:
    """Return whether two members are stored alike, so that a value may read back as another member's."""
    pairs = list(zip(made.members, map(bare, members), strict=True))
    for tag in made.shared_tags:
        sharing = [(converter, member) for converter, member in pairs if tag in converter.tags]
        others = [(converter, member) for converter, member in sharing if not _is_plain_literal(member)]
        if len(others) < len(sharing) and all(member in _PLAIN for _, member in others):
            sharing = others  # "a" is the same value whether Literal["a"] or str reads it
        shapes = [_shape(converter) for converter, _ in sharing]
        if len(sharing) > 1 and (None in shapes or len(set(shapes)) < len(shapes)):
            return True
    return False


def _is_plain_literal(annotation: Any) -> bool:
    return get_origin(annotation) is Literal and all(type(value) in _PLAIN for value in get_args(annotation))


def _shape(converter: Converter) -> Hashable:
    """Return the names of a nested model's fields, by which it is told from others; None for other types."""
    target = converter.target if isinstance(converter, Deferred) else converter
    return target.stored_names if isinstance(target, Nested) else None
