"""Fields: how each field of a model is stored, and what an item without its attribute means."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

from pydantic import AwareDatetime, BaseModel, FutureDatetime, PastDatetime, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from dynamap_async.codec import EMPTY_SET, EPOCH_SECONDS, MISSING, Absence, Converter, StoredForm
from dynamap_async.models import templates
from dynamap_async.models.annotations import (
    absence_of,
    bare,
    field_metadata,
    is_anything,
    is_encoded,
    is_optional,
    may_be_missing,
    name_of,
    set_type,
    without_none,
)
from dynamap_async.models.assigned import ABSENT, Assigned, Maker, assigned_of
from dynamap_async.models.compiler import TypeCompiler
from dynamap_async.models.markers import (
    OURS,
    Role,
    StoredAs,
    declared_template,
    is_stored,
    set_metadata,
    stored_form,
    stored_name,
)
from dynamap_async.models.mutability import Mutability, mutability_of
from dynamap_async.models.pydantic_types import Adapter, needs_values
from dynamap_async.models.settings import SETTINGS, Settings, fault
from dynamap_async.models.templates import DeclaredTemplate, OnlyWhen, PatternError, names_in
from dynamap_async.wire import AttributeValue

if TYPE_CHECKING:
    from dynamap_async.models.templates import KeyTemplate

_DATETIMES: Final = (datetime, AwareDatetime, FutureDatetime, PastDatetime)
_SET_TAGS = frozenset(("SS", "NS", "BS"))
_NULL: AttributeValue = {"NULL": True}


class FieldPlan(NamedTuple):
    """How one field is stored."""

    name: str
    """The field's name."""
    stored: str
    """The stored attribute's name."""
    role: Role
    converter: Converter
    """Gives and takes final Python values, None aside."""
    lax: Converter
    """Gives what Pydantic validates; it may leave text for it to parse."""
    nullable: bool
    """Whether None is a value of the field."""
    required: bool
    absence: Absence
    set_type: type[set[Any] | frozenset[Any]] | None = None
    """set or frozenset if the field's values are sets, which cannot be stored empty."""
    mutability: Mutability = Mutability.SHARED
    """How an instance holds the field's values."""
    assigned: Assigned | None = None
    """Where the value comes from, if the library gives it when the item is written."""
    annotation: Any = None
    """The type as the model declares it."""
    encoded: bool = False
    """Whether the stored value is text that Pydantic decodes each time."""
    maker: Maker | None = None
    """Makes the values of an assigned field."""
    template: KeyTemplate | None = None
    """How the value is made of other fields, if it is computed."""
    is_stored: bool = True
    """Whether the field is an attribute of its own; otherwise a computed key holds it."""
    unsharded: Callable[[AttributeValue], AttributeValue] | None = None
    """Takes the shard off a stored value, where the field is a partition key that is spread over shards."""

    def of_stored(self, stored: AttributeValue) -> Any:
        """Return the value of a stored attribute, without its shard if it has one.

        Raises:
            ValueError: it cannot be read; a DecodeError where it, or a part of it, is stored as another type.
        """
        return self.converter.decode_final(stored if self.unsharded is None else self.unsharded(stored))

    @property
    def holds_set(self) -> bool:
        """Whether the field's values are sets."""
        return self.set_type is not None

    @property
    def null_reads_as_empty_set(self) -> bool:
        """Whether a stored NULL reads back as an empty set: everywhere that it does not have to read back as None."""
        return self.set_type is not None and (not self.nullable or self.absence is Absence.NONE)

    @property
    def none_forms(self) -> tuple[AttributeValue | None, ...]:
        """The stored forms that read back as None; None stands for the absence of the attribute."""
        absent = (None,) if self.absence is Absence.NONE else ()
        return (*absent, *(() if self.null_reads_as_empty_set or not self.nullable else (_NULL,)))

    @property
    def empty_set_forms(self) -> tuple[AttributeValue | None, ...]:
        """The stored forms that read back as an empty set; None stands for the absence of the attribute."""
        if not self.holds_set:
            return ()
        absent = (None,) if self.absence is Absence.EMPTY_SET else ()
        # An empty list where NULL has to read back as None, and absence as another default.
        stored = (_NULL,) if self.null_reads_as_empty_set else () if absent else (EMPTY_SET,)
        return (*absent, *stored)

    @property
    def may_be_absent(self) -> bool:
        """Whether an item may be without the attribute because the field has no value: None, or ``MISSING``."""
        return self.nullable or self.absence is Absence.MISSING

    @property
    def nothing(self) -> str:
        """The value that the field has then, as messages name it."""
        return "MISSING" if self.absence is Absence.MISSING else "None"

    def of_null(self) -> Any:
        """Return the value of a stored NULL: None, or an empty set."""
        return self.set_type() if self.set_type is not None and self.null_reads_as_empty_set else None

    def of_absence(self) -> Any:
        """Return the value of a missing attribute, unless Pydantic has to find it."""
        if self.absence in (Absence.ERROR, Absence.MISSING):
            return ABSENT if self.absence is Absence.ERROR else MISSING
        return self.set_type() if self.set_type is not None and self.absence is Absence.EMPTY_SET else None


def store_times(model: type[BaseModel]) -> None:
    """Give the datetimes of a model the stored form that its class statement, or that of a base, names for them.

    Raises:
        ModelDefinitionError: the model has no table, so that its items are stored inside of others.
    """
    settings: Settings = getattr(model, SETTINGS)
    form = settings.times_stored_as
    if form is None:
        return
    if settings.table is None and not settings.abstract:
        raise fault(
            model.__name__,
            "has times_stored_as, but no table, because it is stored inside other items; give its fields "
            "attr(stored_as=...)",
        )
    for info in model.__pydantic_fields__.values():
        # A subclass may name another form than its base, whose own is in the inherited metadata.
        own = [each for each in info.metadata if not (isinstance(each, StoredAs) and each.of_class)]
        kind = bare(without_none(bare(info.annotation)))
        told = Role.TIME_TO_LIVE in own or any(isinstance(each, StoredAs) and each.form is not None for each in own)
        if kind in _DATETIMES and not told:
            set_metadata(info, [*own, StoredAs(form=form, of_class=True)])


def plan_fields(model: type[BaseModel], *, key_fields: frozenset[str]) -> dict[str, FieldPlan]:
    """Return field name -> plan, in the order of the class body.

    Args:
        model: a complete Pydantic model.
        key_fields: fields that are part of an index's key; the table's own are found by their markers.
    """
    # Where Pydantic validates what is read anyway, it can parse texts of times and UUIDs itself; only the others are
    # decoded to their final values first.
    exact = TypeCompiler(model, exact=True)
    lax = exact if needs_values(model) else TypeCompiler(model, exact=False)
    plans = {name: _plan(name, info, exact, lax) for name, info in model.__pydantic_fields__.items()}
    _check_forms(model, plans, key_fields)
    return {**plans, **{name: plans[name]._replace(mutability=Mutability.SHARED) for name in _demanded(plans.values())}}


def _check_forms(model: type[BaseModel], plans: Mapping[str, FieldPlan], key_fields: frozenset[str]) -> None:
    """Raise ModelDefinitionError for a field with several stored forms that has to have one."""
    for plan in plans.values():
        if plan.converter.in_one_form:
            continue
        keys = [each.name for each in plans.values() if each.template is not None and plan.name in each.template.names]
        if plan.name in key_fields or plan.role in (Role.PARTITION_KEY, Role.SORT_KEY):
            problem = "is part of a key, whose values have one type"
        elif keys:
            problem = f"is a part of the key {keys[0]}, which can hold only one form of it"
        elif plan.role in (Role.TIME_TO_LIVE, Role.VERSION) or (plan.assigned is not None and plan.assigned.write_id):
            problem = f"is a {plan.role.value}" if plan.assigned is None else "is a write id"
        else:
            continue
        raise fault(model.__name__, f"has also_stored_as, but {problem}; drop also_stored_as", plan.name)


def _demanded(plans: Collection[FieldPlan]) -> set[str]:
    """Return the times that writes require in their stored form, because others may have written them in another.

    They are the parts of computed keys, other than those that the key of the item tells. Keeping one costs 0.9 us for
    each item of a page, and 3 us where an item is read alone (Python 3.11).
    """
    templates = [(plan.role, plan.template) for plan in plans if plan.template is not None]
    keys = (Role.PARTITION_KEY, Role.SORT_KEY)
    told = {name for role, template in templates if role in keys for name in template.readable}
    parts = {part.name for _, template in templates for part in template.parts if part.format.label == "datetime"}
    return parts - told - {plan.name for plan in plans if plan.role in keys}


def _plan(name: str, info: FieldInfo, exact: TypeCompiler, lax: TypeCompiler) -> FieldPlan:
    model = exact.model
    role = next((each for each in info.metadata if isinstance(each, Role)), Role.ATTRIBUTE)
    metadata = tuple(field_metadata(info))
    converter = exact.top_field(name, info)
    opaque = is_encoded((info.annotation, *metadata))
    unparsed = converter if lax is exact and not opaque else lax.field(info.annotation, metadata)
    if opaque:
        converter = converter.then(Adapter(info.annotation, metadata, exact).load)
    nullable = is_optional(info.annotation) and not opaque
    kind = None if opaque else _set_type(info)
    assigned, template = assigned_of(info), _template_for(exact, name)
    # Assigned and computed fields have a default factory only so that a constructor need not be given them.
    required = info.is_required() or assigned is not None or template is not None
    # None is one value of Any among others, so that a missing attribute does not stand for it.
    nullable_type = nullable and not is_anything(info.annotation)
    return FieldPlan(
        name=name,
        stored=stored_name(name, info),
        role=role,
        converter=converter,
        lax=unparsed,
        nullable=nullable,
        required=required,
        absence=absence_of(
            info,
            required=required,
            nullable=nullable_type,
            holds_set=kind is not None,
            missing=may_be_missing(info.annotation),
        ),
        set_type=kind,
        mutability=mutability_of(model, info),
        assigned=assigned,
        annotation=info.annotation,
        encoded=opaque,
        maker=None if assigned is None else _maker(model, name, info),
        template=template,
        is_stored=is_stored(info),
    )


def _maker(model: type[BaseModel], name: str, info: FieldInfo) -> Maker:
    metadata = tuple(each for each in field_metadata(info) if not isinstance(each, OURS))
    return Maker(model.__name__, name, Annotated[(info.annotation, *metadata)] if metadata else info.annotation)


def _set_type(info: FieldInfo) -> type[set[Any] | frozenset[Any]] | None:
    form = stored_form(info)
    return set_type(info.annotation) if form is None or form.tag in _SET_TAGS else None


def _template_for(compiler: TypeCompiler, field: str) -> KeyTemplate | None:
    """Return the template of a field, ready; None if it is not computed, or not before a type variable has its type.

    Raises:
        ModelDefinitionError: the pattern is wrong, names no field, or one that keys cannot be made of.
    """
    model = compiler.model
    fields = model.__pydantic_fields__
    declared = declared_template(fields[field])
    if declared is None:
        return None
    try:
        if not isinstance(declared.pattern, str):
            raise PatternError(f"is {declared.pattern!r}; a pattern is a string, such as user:{{user_id}}")  # noqa: TRY301
        for name in names_in(declared.pattern):
            _check_part(fields, field, name)
            # A generic base has the template; the model that gives the variable a type gets a template of its own.
            if isinstance(fields[name].annotation, TypeVar) and _is_abstract(model):
                return None
        types = {name: info.annotation for name, info in fields.items()}
        named = {name: fields[name] for name in names_in(declared.pattern)}
        forms = {name: form for name, info in named.items() if (form := _text_form(compiler, info)) is not None}
        made = templates.make_template(_with_typed_values(declared, field, fields), types, forms)
    except PatternError as error:
        raise fault(model.__name__, f"the template {declared.pattern!r} {error}", field) from None
    if bare(without_none(bare(fields[field].annotation))) is not str:
        kind = name_of(fields[field].annotation)
        raise fault(model.__name__, f"a template makes text, but the field is {kind}; declare it as str", field)
    return made


def _text_form(compiler: TypeCompiler, info: FieldInfo) -> StoredForm | None:
    """Return the form of a field that templates follow: another stored form than the usual, or the type's own text."""
    form = stored_form(info) or (EPOCH_SECONDS if Role.TIME_TO_LIVE in info.metadata else None)
    return form or compiler.own_text(info)


def _with_typed_values(declared: DeclaredTemplate, key: str, fields: Mapping[str, FieldInfo]) -> DeclaredTemplate:
    """Return a template whose ``when`` has values of the types of its fields.

    Raises:
        PatternError: it names no field, or a value that the field does not have.
    """
    found: list[OnlyWhen] = []
    for name, values in declared.when:
        said = f"has when={{{name!r}: ...}}, "
        if name not in fields or name == key or declared_template(fields[name]) is not None:
            known = ", ".join(each for each, info in fields.items() if declared_template(info) is None)
            raise PatternError(f"{said}which is not a field that can say whether there is a key; use one of {known}")
        annotation: Any = fields[name].annotation
        if values is None:
            if without_none(bare(annotation)) == bare(annotation):
                raise PatternError(f"{said}which is never None, so there would always be a key; drop it")
            found.append(OnlyWhen(name, None))
            continue
        if not values:
            raise PatternError(f"{said}which names no value, so there would never be a key")
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        try:
            found.append(OnlyWhen(name, tuple(adapter.validate_python(value) for value in values)))
        except ValidationError as error:
            raise PatternError(f"{said}whose values do not fit its type: {error.errors()[0]['msg']}") from None
    return replace(declared, when=tuple(found))


def _is_abstract(model: type[BaseModel]) -> bool:
    settings: Settings = getattr(model, SETTINGS)
    return settings.abstract


def _check_part(fields: Mapping[str, FieldInfo], field: str, name: str) -> None:
    if name == field:
        raise PatternError(f"names {name}, which is the key itself; name the fields that it is made of")
    if name not in fields:
        known = ", ".join(each for each, info in fields.items() if declared_template(info) is None)
        raise PatternError(f"names {name!r}, which is not a field; the fields are {known}")
    inner = declared_template(fields[name])
    if inner is not None:
        raise PatternError(f"names {name}, which is computed itself; write out its own template {inner.pattern!r}")
