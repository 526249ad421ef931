"""The types that a model gives to the values at a path, and Pydantic's validation of a value that is written there.

The type, the constraints and the validators of the field are applied. Model validators, which need the whole item, are
not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from inspect import isclass
from types import GenericAlias
from typing import Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Discriminator, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from dynamap_async.codec import MISSING, Converter, abbreviate, refusal
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError
from dynamap_async.expressions import Path
from dynamap_async.models.annotations import (
    bare,
    field_metadata,
    is_encoded,
    is_kind_of,
    is_optional,
    is_root_model,
    is_union,
    may_be_missing,
    set_type,
    unwrap,
    without_none,
)
from dynamap_async.models.constraints import fields_validator
from dynamap_async.models.markers import stored_name
from dynamap_async.models.nested_converters import is_required_member, left_out_of
from dynamap_async.wire import AttributeValue

Validate: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field of the model, or of a model nested in it."""

    owner: type[BaseModel]
    name: str

    @property
    def info(self) -> FieldInfo:
        """Pydantic's description of the field."""
        return self.owner.__pydantic_fields__[self.name]

    @property
    def annotation(self) -> Any:
        """The type of the values."""
        return self.info.annotation

    def validator(self) -> Validate | None:
        """Return what validates a value; None where Pydantic takes only what it decodes itself."""
        if is_encoded((*field_metadata(self.info), *unwrap(without_none(bare(self.annotation)))[1])):
            return None
        name, validate = self.name, fields_validator(self.owner, (self.name,))
        return lambda value: validate({name: value})[name]


@dataclass(frozen=True, slots=True)
class PartType:
    """An element of a list, a value of a mapping, or a member of another class with fields."""

    owner: type[BaseModel]
    annotation: Any
    required: bool = False
    """Whether what it is a part of cannot do without it."""

    def validator(self) -> Validate | None:
        """Return what validates a value."""
        config: Any = {**self.owner.model_config, "arbitrary_types_allowed": True}
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(self.annotation, config=config)
        except PydanticUserError as error:
            if error.code != "type-adapter-config-unused":
                raise
            adapter = TypeAdapter(self.annotation)
        return partial(adapter.validator.validate_python, by_name=True)


PathType: TypeAlias = FieldType | PartType

_NUMBERS: Final = (int, float, Decimal)
_CHOICES: Final = ("enum", "literal_error")
_SAID_BY_TYPE: Final = tuple(
    f"{name}_type" for name in ("int", "float", "decimal", "string", "bytes", "bool", "list", "set", "dict")
)
"""Pydantic's names of faults that the wanted type and what was given say already."""
_KNOWN: Final = "__dynamap_path_types__"
"""Where a class keeps its validators, by field or type, and its fields by their stored names: they go when it goes."""


def type_at(path: Path) -> PathType | None:
    """Return the type at a path; None where the types of the model leave it open, or it does not declare it."""
    if not path.is_declared:
        return None
    found: PathType | None = _field_of(path.owner, path.steps[0])
    for step in path.steps[1:]:
        if found is None:
            return None
        found = _inside(found.owner, found.annotation, step)
    return found


def validated(path: Path, value: object) -> Any:
    """Return a value, validated by Pydantic as the field at a path.

    Raises:
        EncodeError: the value does not fit the field's type, its constraints or its validators.
    """
    target = type_at(path)
    if target is None:
        return value
    validate = _validator(target)
    if validate is None:
        return value
    try:
        return validate(value)
    except ValidationError as error:
        raise _unfit(path, value, target, error) from error


def validated_members(path: Path, members: object) -> Any:
    """Return members for the set at a path, validated one by one; the size of the set is not checked.

    Raises:
        EncodeError: they are no set, or one does not fit the type of the set's members.
    """
    target = type_at(path)
    arguments = () if target is None else get_args(bare(without_none(bare(target.annotation))))
    if target is None or len(arguments) != 1:
        return members
    # As a set of the members' type alone: how many members the field may have is not known of a few that are added.
    part = PartType(target.owner, GenericAlias(set, arguments))
    validate = _validator(part)
    try:
        return members if validate is None else validate(members)
    except ValidationError as error:
        raise _unfit(path, members, part, error) from error


def start_number(path: Path) -> object:
    """Return the number that a missing number at a path counts as: its default, or 0."""
    target = type_at(path)
    default: object = target.info.default if isinstance(target, FieldType) else 0
    return default if isinstance(default, _NUMBERS) and not isinstance(default, bool) else 0


def must_be_there(path: Path) -> bool:
    """Return whether an item without a value at a path can no longer be read."""
    if len(path.steps) == 1:
        return _is_needed(type_at(path))
    outer, last = _outside(path), path.steps[-1]
    if outer is None:
        return False
    kind = _kind(outer)
    if not is_union(kind):
        return _is_needed(_inside(outer.owner, kind, last))
    found = _among(outer.owner, kind, last)
    # Without its discriminator, no model of the union can be chosen to read the value.
    return last in _tellers(outer, kind) or (bool(found) and all(map(_is_needed, found)))


def left_out_at(path: Path, *, in_unions: bool = True) -> AttributeValue | None:
    """Return the stored form that is left out at a path inside a field, because absence reads back as the same.

    Args:
        path: the path.
        in_unions: what to say of a member of one of several models; where these are told apart by what members they
            have, it is stored.
    """
    target = type_at(path)
    found = left_out_of(target.owner, target.info) if isinstance(target, FieldType) else None
    outer = _outside(path)
    return found if outer is not None and (in_unions or not is_union(_kind(outer))) else None


def is_frozen(path: Path) -> bool:
    """Return whether the field is declared to keep its first value: ``Field(frozen=True)``."""
    target = type_at(path)
    return isinstance(target, FieldType) and bool(target.info.frozen)


def _outside(path: Path) -> PathType | None:
    """Return the type that contains a path's value; None for a field of the model, or where it is unknown."""
    outer = path.steps[:-1]
    return type_at(Path(path.owner, outer, path.spelled, path.converter)) if outer else None


def _kind(target: PathType) -> Any:
    return bare(without_none(bare(target.annotation)))


def _is_needed(target: PathType | None) -> bool:
    if isinstance(target, PartType):
        return target.required
    if target is None or not target.info.is_required():
        return False
    if may_be_missing(target.annotation):
        return False
    return not is_optional(target.annotation) and set_type(target.annotation) is None


def _tellers(target: PathType, union: Any) -> set[str]:
    """Return the stored names of the members by which the models of a union are told apart."""
    metadata = [
        *(field_metadata(target.info) if isinstance(target, FieldType) else ()),
        *unwrap(target.annotation)[1],
    ]
    metadata += unwrap(without_none(bare(target.annotation)))[1]
    tellers = [each.discriminator for each in metadata if isinstance(each, Discriminator)]
    names = {each for each in tellers if isinstance(each, str)}
    fields = [kind.__pydantic_fields__ for each in get_args(union) if is_kind_of(kind := bare(each), BaseModel)]
    return {stored_name(name, each[name]) for each in fields for name in names if name in each}


def _validator(target: PathType) -> Validate | None:
    known = _known(target.owner)
    key: Any = target.name if isinstance(target, FieldType) else (target.annotation,)
    try:
        if key not in known:
            known[key] = target.validator()
    except TypeError:  # a type that cannot be hashed, such as Annotated[str, a list]
        return target.validator()
    found: Validate | None = known[key]
    return found


def _known(owner: type[BaseModel]) -> dict[Any, Any]:
    """Return the cached result for a class."""
    known: dict[Any, Any] | None = vars(owner).get(_KNOWN)
    if known is None:
        fields = owner.__pydantic_fields__.items()
        known = {None: {stored_name(name, info): FieldType(owner, name) for name, info in fields}}
        type.__setattr__(owner, _KNOWN, known)
    return known


def _unfit(path: Path, value: object, target: PathType, error: ValidationError) -> EncodeError:
    """Return the error of Pydantic's findings: at the value's own place if there is one, else at the path."""
    skipped = 1 if isinstance(target, FieldType) else 0
    faults = [(each["loc"][skipped:], each) for each in error.errors(include_url=False, include_context=False)[:3]]
    inside, fault = faults[0]
    steps, found = _located(path.converter, inside)
    hidden = bool(target.owner.model_config.get("hide_input_in_errors"))
    # None is refused by every type of a union in turn, which says less than the one remedy.
    if value is None or value is MISSING:
        steps, remedy = (), "" if must_be_there(path) else "to drop the attribute, use remove()"
        refused = refusal(path.converter.label, value, remedy)
    elif found is not None and len(faults) == 1:
        refused = _refused(found, fault, hidden=hidden)
    else:
        steps, remedy = (), "; ".join(f"{_spelled(inside)}{each['msg']}" for inside, each in faults)
        refused = refusal(path.converter.label, value, remedy, hidden=hidden or _may_hold_secret(value))
    return refused.at(path.spelled, *steps, model=path.owner.__name__)


def _refused(converter: Converter, fault: ErrorDetails, *, hidden: bool) -> EncodeError:
    """Return one fault in the words of an encoder, with the value that was given."""
    given, kind, message = fault["input"], fault["type"], fault["msg"]
    if kind.startswith("missing"):  # what was given is all that it should be a part of
        return EncodeError(message)
    hidden = hidden or _may_hold_secret(given) or "secret " in converter.label
    if kind in _CHOICES or {type(given), object}.isdisjoint(converter.types):
        return refusal(converter.label, given, "" if kind in _SAID_BY_TYPE else message, hidden=hidden)
    return EncodeError(message if hidden else f"{message}, got {abbreviate(given)}")


def _located(converter: Converter, inside: Sequence[str | int]) -> tuple[tuple[str | int, ...], Converter | None]:
    """Return where Pydantic found a fault, without positions in sets, and the type of the values there, if known."""
    steps: list[str | int] = []
    found: Converter | None = converter
    for step in inside:
        part = None if found is None else found.step(step)
        if part is not None:
            steps.append(step)
            found = part[1]
        else:
            found = None if found is None else found.member
    return tuple(steps), found


def _spelled(inside: Sequence[str | int]) -> str:
    where = ".".join(map(str, inside)).replace(".[key]", " as a key")
    return f"{where}: " if where else ""


def _may_hold_secret(value: object) -> bool:
    """Return whether a value may hold a secret that is not wrapped yet: the members of a model, as a mapping."""
    return isinstance(value, Mapping)


def _field_of(owner: type[BaseModel], stored: str | int) -> FieldType | None:
    found: FieldType | None = _known(owner)[None].get(stored)
    return found


def _inside(owner: type[BaseModel], annotation: Any, step: str | int) -> PathType | None:
    """Return the type of a part of a value; None if it depends on the value."""
    kind = bare(without_none(bare(annotation)))
    if is_union(kind):
        found = _among(owner, kind, step)
        return found[0] if len(found) == 1 else None
    if is_root_model(kind):
        return _inside(kind, kind.model_fields["root"].annotation, step)
    if isclass(kind) and issubclass(kind, BaseModel):
        return _field_of(kind, step)
    arguments = get_args(kind)
    if is_kind_of(kind, tuple) and arguments and isinstance(step, int):
        variadic = len(arguments) == 2 and arguments[1] is Ellipsis
        position = 0 if variadic else step
        return PartType(owner, arguments[position], required=not variadic) if position < len(arguments) else None
    if is_kind_of(kind, Mapping) and len(arguments) == 2:
        return PartType(owner, arguments[1])
    if is_kind_of(kind, Sequence) and len(arguments) == 1 and isinstance(step, int):
        return PartType(owner, arguments[0])
    return _member(owner, kind, step)


def _among(owner: type[BaseModel], union: Any, step: str | int) -> list[PathType]:
    """Return the types of a part of a union's values, from the members that have the part."""
    return [each for member in get_args(union) if (each := _inside(owner, member, step)) is not None]


def _member(owner: type[BaseModel], kind: Any, step: str | int) -> PathType | None:
    """Return the type of a member of a dataclass, a typed dict or a named tuple."""
    if get_origin(kind) is not None or not isclass(kind):
        return None
    try:
        hints = get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):  # names local to a function
        return None
    if isinstance(step, int):  # a named tuple is stored as a list, and each position counts
        names: tuple[str, ...] = getattr(kind, "_fields", ())
        return PartType(owner, hints.get(names[step], Any), required=True) if step < len(names) else None
    if step not in hints:
        return None
    return PartType(owner, hints[step], required=is_required_member(kind, step, hints[step]))
