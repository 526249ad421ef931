"""Computed keys: fields whose text is made of other fields by a template. What ``template`` says, and what follows."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from dynamap_async.errors import EncodeError
from dynamap_async.models.annotations import bare, name_of, without_none
from dynamap_async.models.assigned import UNASSIGNED, unassigned
from dynamap_async.models.markers import StoredAs
from dynamap_async.models.settings import SETTINGS, Settings, fault
from dynamap_async.models.shards import Shards, given_shards
from dynamap_async.models.templates import DeclaredTemplate, KeyTemplate, PatternError, make_template, names_in


def template(
    pattern: str,
    /,
    *,
    escape: bool = False,
    shards: int | Shards | None = None,
    name: str | None = None,
    description: str | None = None,
    init: Literal[False] = False,  # noqa: ARG001 - for type checkers
) -> Any:
    """Describe a key, of the table or of an index, that is made of other fields: ``template("city:{country}#{city}")``.

    It is computed when an instance is made and when a part of it changes, and never given: the constructor accepts it
    only as it would be computed. An instance that was read keeps the key that is stored. Where a part is None, so is
    the key: it is not stored, and the item is not in that index.

    A part is ``{field}``, or has a form: ``{words:06d}`` pads a number with zeros, ``{price:09.2f}`` with two decimals,
    ``{heat:+06d}`` with a place for the sign, ``{score:ordered}`` writes any number in a form that sorts;
    ``{name:upper}`` and ``{name:lower}`` change the case of text; ``{at:day}`` cuts a time off behind its year, month,
    day, hour, minute, second or millisecond. Datetimes are written in UTC, always 27 characters. ``{{`` and ``}}`` are
    braces.

    Args:
        pattern: constant text and parts; without parts a constant.
        escape: whether a value may contain the text that stands behind it in the pattern, and is then stored escaped;
            otherwise such a value is refused. Without either, two items could get one key.
        shards: over how many partitions the items of one key are spread, as for ``attr``.
        name: the stored attribute's name, where it differs from the field's.
        description: the field's text in JSON schemas.
        init: not to be given; it tells type checkers that the constructor does not take the field.
    """
    given: dict[str, Any] = {} if description is None else {"description": description}
    # A factory, because a JSON schema would show a default; never validated, because what it gives is no text.
    field: Any = Field(default_factory=unassigned, validate_default=False, **given)
    field.metadata.append(DeclaredTemplate(pattern, escape))
    field.metadata.append(StoredAs(name))
    field.metadata.extend(given_shards(shards))
    return field


def declared_template(info: FieldInfo) -> DeclaredTemplate | None:
    """Return the template of a field, if it is computed."""
    return next((each for each in info.metadata if isinstance(each, DeclaredTemplate)), None)


def is_stored(info: FieldInfo) -> bool:
    """Return whether a field is an attribute of its own."""
    return all(each.stored for each in info.metadata if isinstance(each, StoredAs))


def template_for(model: type[BaseModel], field: str) -> KeyTemplate | None:
    """Return the template of a field, ready; None if it is not computed, or not before a type variable has its type.

    Raises:
        ModelDefinitionError: the pattern is wrong, names no field, or one that keys cannot be made of.
    """
    fields = model.__pydantic_fields__
    declared = declared_template(fields[field])
    if declared is None:
        return None
    try:
        if not isinstance(declared.pattern, str):
            raise PatternError(f"is {declared.pattern!r}; write it as text, such as user:{{user_id}}")  # noqa: TRY301
        for name in names_in(declared.pattern):
            _check_part(fields, field, name)
            if isinstance(fields[name].annotation, TypeVar) and _is_abstract(model):
                return None
        made = make_template(declared, {name: info.annotation for name, info in fields.items()})
    except PatternError as error:
        raise fault(model.__name__, f"the template {declared.pattern!r} {error}", field) from None
    if bare(without_none(bare(fields[field].annotation))) is not str:
        kind = name_of(fields[field].annotation)
        raise fault(model.__name__, f"a template makes text, and this is {kind}; declare it as str", field)
    return made


def _is_abstract(model: type[BaseModel]) -> bool:
    settings: Settings = getattr(model, SETTINGS)
    return settings.abstract


def _check_part(fields: Mapping[str, FieldInfo], field: str, name: str) -> None:
    if name == field:
        raise PatternError(f"names {name}, which is the key itself; name the fields that it is made of")
    if name not in fields:
        known = ", ".join(each for each, info in fields.items() if declared_template(info) is None)
        raise PatternError(f"names {name!r}, which is no field; the fields are {known}")
    inner = declared_template(fields[name])
    if inner is not None:
        raise PatternError(f"names {name}, which is computed itself; write out its own template {inner.pattern!r}")


@dataclass(frozen=True, slots=True)
class Computed:
    """The computed keys of one model."""

    model: str
    """The model's name, for messages."""
    templates: Mapping[str, KeyTemplate]
    """Field name -> template."""
    of_part: Mapping[str, tuple[str, ...]]
    """Field name of a part -> the computed fields that it belongs to."""
    unstored: Mapping[str, str]
    """Field name of a part that is no attribute of its own -> the computed field that it is read back from."""

    def affected(self, parts: Collection[str]) -> Iterable[str]:
        """Return the names of the computed fields that some parts belong to."""
        return dict.fromkeys(name for part in parts for name in self.of_part.get(part, ()))

    def built(self, name: str, values: Mapping[str, Any]) -> Any:
        """Return the text of a computed field, None where a part is None; UNASSIGNED where one has no value yet.

        Raises:
            EncodeError: a value does not fit; the error names the model and the field.
        """
        found = self.templates[name]
        for part in found.parts:
            if values.get(part.name, UNASSIGNED) is UNASSIGNED:
                return UNASSIGNED
        try:
            return found.build(values)
        except EncodeError as error:
            raise error.at(model=self.model) from error.__cause__

    def after(self, values: Mapping[str, Any], changed: Collection[str]) -> dict[str, Any]:
        """Return computed field -> text, of those that some changed parts belong to and that have all their parts.

        Args:
            values: field name -> value, after the change.
            changed: the names of the parts.

        Raises:
            EncodeError: a value does not fit; the error names the model and the field.
        """
        made = {name: self.built(name, values) for name in self.affected(changed)}
        return {name: text for name, text in made.items() if text is not UNASSIGNED}
