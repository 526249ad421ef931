"""Computed keys: fields whose text is made of other fields by a template. What ``template`` says, and what follows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pydantic import BaseModel, model_validator
from pydantic.fields import FieldInfo

from dynamap_async.codec import DECODE_ERRORS, Absence
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.models import templates
from dynamap_async.models.assigned import COMPUTES, UNASSIGNED
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.indexes import IndexDeclaration
from dynamap_async.models.markers import Role, declared_template
from dynamap_async.models.settings import SETTINGS, Settings, fault

if TYPE_CHECKING:
    from dynamap_async.models.templates import KeyTemplate, TemplatePart


@dataclass(frozen=True, slots=True)
class Computed:
    """The computed keys of one model."""

    model: str
    """The model's name, for messages."""
    templates: Mapping[str, KeyTemplate]
    """Field name -> template."""
    of_part: Mapping[str, tuple[str, ...]]
    """Field name of a part, or of what says whether there is a key -> the computed fields that it belongs to."""
    unstored: Mapping[str, str]
    """Field name of a part that is no attribute of its own -> the computed field that it is read back from; itself for
    one that an abstract base declares for the templates of its subclasses."""

    def place_of(self, name: str) -> str:
        """Return where a field is stored that is no attribute of its own, for messages."""
        key = self.unstored[name]
        return "the keys of subclasses" if key == name else f"the key {key}"

    def affected(self, parts: Collection[str]) -> Iterable[str]:
        """Return the names of the computed fields that some parts belong to."""
        return dict.fromkeys(name for part in parts for name in self.of_part.get(part, ()))

    def built(self, name: str, values: Mapping[str, Any]) -> Any:
        """Return the text of a computed field, None where a part is None; UNASSIGNED where one has no value yet.

        Raises:
            EncodeError: a value does not fit; the error names the model and the field.
        """
        found = self.templates[name]
        for part in found.depends_on:
            if values.get(part, UNASSIGNED) is UNASSIGNED:
                return UNASSIGNED
        try:
            return found.build(values)
        except EncodeError as error:
            raise error.at(model=self.model) from error.__cause__

    def after(self, values: Mapping[str, Any], changed: Collection[str]) -> dict[str, Any]:
        """Return computed field -> text, of those that some changed parts belong to and that have all their parts.

        Args:
            values: field name -> value, after the change.

        Raises:
            EncodeError: a value does not fit; the error names the model and the field.
        """
        made = {name: self.built(name, values) for name in self.affected(changed)}
        return {name: text for name, text in made.items() if text is not UNASSIGNED}


class ThreadDepth(threading.local):
    """Counts how many blocks of one kind the current thread is inside of."""

    depth: int = 0

    @contextmanager
    def entered(self) -> Generator[None]:
        """Count one block more while the block runs."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1


_READING: Final = ThreadDepth()


def reading() -> AbstractContextManager[None]:
    """Return a block in which instances keep the computed keys that they are made with, as stored items do."""
    return _READING.entered()


def has_templates(namespace: Mapping[str, Any]) -> bool:
    """Return whether a class body has a field with a template."""
    return any(isinstance(each, FieldInfo) and declared_template(each) is not None for each in namespace.values())


def validator_of(namespace: Mapping[str, Any], computed_of: Callable[[type[Any]], Computed | None]) -> dict[str, Any]:
    """Return the validator, by attribute name, that computes the keys of a class body with templates.

    Args:
        computed_of: model -> its computed keys.
    """
    if not has_templates(namespace):
        return {}

    def compute(item: Any) -> Any:
        computed = computed_of(item.__class__)
        if computed is not None:
            complete(item, computed, keep=_READING.depth > 0)
        return item

    return {COMPUTES: model_validator(mode="after")(compute)}


def complete(item: BaseModel, computed: Computed, *, keep: bool) -> None:
    """Compute the computed keys that an instance does not have, and check those that it was given.

    Args:
        keep: whether the keys that it was given stand, as those of stored items do.

    Raises:
        OperationError: it was given another key than its parts make.
        EncodeError: a value does not fit into a key.
    """
    values, given = vars(item), item.__pydantic_fields_set__
    for name in computed.templates:
        # A key that the program did not set itself came from a stored item or a copy, and was computed before.
        held = values.get(name, UNASSIGNED)
        if held is not UNASSIGNED and (keep or name not in given):
            given.discard(name)
            continue
        made = computed.built(name, values)
        if held is not UNASSIGNED and made is not UNASSIGNED and held != made:
            raise _not_given(computed, name, held, made)
        given.discard(name)
        if made is not UNASSIGNED:
            values[name] = made
        elif held is UNASSIGNED:
            # A part gets its value only when a session writes the item; until then the key has none either.
            values.pop(name, None)


def install(cls: type[Any], namespace: Mapping[str, Any], computed_of: Callable[[type[Any]], Computed | None]) -> None:
    """Make a class with templates compute its keys again when a part is assigned, or a copy changes one.

    Args:
        cls: the class; what it says of assignment and copying itself stays. One without templates stays as it is.
        computed_of: model -> its computed keys.
    """
    if not has_templates(namespace):
        return
    methods: Any = cls
    assign: Callable[[Any, str, Any], None] = methods.__setattr__
    copy: Callable[..., Any] = methods.model_copy

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 - it becomes the class's own
        computed, values = computed_of(self.__class__), cast("dict[str, Any]", vars(self))
        # Whatever validates the whole item again is not to judge the keys before they are computed.
        kept = reading() if self.model_config.get("validate_assignment") else nullcontext()
        if computed is None or not (name in computed.of_part or name in computed.templates):
            with kept:
                assign(self, name, value)
        elif name in computed.templates:
            if value != values.get(name, UNASSIGNED):
                raise _not_given(computed, name, value, values.get(name))
        else:
            with kept:
                _assigned(self, computed, name, partial(assign, self, name, value))

    def model_copy(self: Any, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
        computed = computed_of(self.__class__)
        copied = copy(self, update=update, deep=deep)
        if update and computed is not None:
            _updated(self, copied, computed, update)
        return copied

    type.__setattr__(cls, "__setattr__", __setattr__)
    type.__setattr__(cls, "model_copy", model_copy)


def _assigned(item: BaseModel, computed: Computed, name: str, assign: Callable[[], None]) -> None:
    values = vars(item)
    before = values.get(name, UNASSIGNED)
    assign()
    values = vars(item)  # with validate_assignment it is another one
    if values.get(name, UNASSIGNED) == before:
        return
    try:
        values.update(computed.after(values, (name,)))
    except BaseException:
        # No key can be made of the assigned part, and the instance must not disagree with its own key.
        if before is UNASSIGNED:
            values.pop(name, None)
        else:
            values[name] = before
        raise


def _updated(before: BaseModel, copied: BaseModel, computed: Computed, update: Mapping[str, Any]) -> None:
    old, values = vars(before), vars(copied)
    changed = [name for name in update if name in computed.of_part and old.get(name, UNASSIGNED) != update[name]]
    made = {**{name: old.get(name) for name in computed.templates if name in update}, **computed.after(values, changed)}
    for name, text in made.items():
        if name in update and update[name] != text:
            raise _not_given(computed, name, update[name], text)
    values.update(made)
    copied.__pydantic_fields_set__.difference_update(computed.templates)


def _not_given(computed: Computed, name: str, given: object, made: object) -> OperationError:
    found = computed.templates[name]
    parts = ", ".join(found.depends_on) or "nothing: it is constant"
    return OperationError(
        f"{computed.model}.{name} is computed from {parts}, which makes it {made!r}, not {given!r}; set these fields, "
        "and leave the key out"
    )


_KEYS: Final = (Role.PARTITION_KEY, Role.SORT_KEY)
_TIME: Final = datetime(2024, 3, 9, 8, 7, 6, 543210, tzinfo=UTC)
"""A time with something in each of its units."""


def computed_of(
    model: type[BaseModel], fields: Mapping[str, FieldPlan], indexes: Mapping[str, IndexDeclaration]
) -> Computed | None:
    """Return the computed keys of a model; None if it has none.

    Args:
        model: the class, complete.
        indexes: its index declarations, by attribute name.

    Raises:
        ModelDefinitionError: a template, a part or a field that is not stored is wrong.
    """
    templates = {plan.name: plan.template for plan in fields.values() if plan.template is not None}
    for name, template in templates.items():
        _check(model, fields, fields[name], template)
    unstored = {plan.name: _source(model, fields, plan) or plan.name for plan in fields.values() if not plan.is_stored}
    for attribute, index in indexes.items():
        # DynamoDB can index and project attributes only.
        for name in (*index.partition_fields, *index.sort_fields, *getattr(index.projection, "attributes", ())):
            if name in unstored:
                problem = f"names {name}, which is not stored by itself; name {unstored[name]}, or drop stored=False"
                raise fault(model.__name__, problem, attribute)
    if not templates and not unstored:
        return None
    parts = dict.fromkeys(part for template in templates.values() for part in template.depends_on)
    of_part = {part: tuple(name for name, each in templates.items() if part in each.depends_on) for part in parts}
    return Computed(model.__name__, templates, of_part, unstored)


def _check(model: type[BaseModel], fields: Mapping[str, FieldPlan], key: FieldPlan, template: KeyTemplate) -> None:
    problem = _key_problem(model, key, template)
    if problem is not None:
        raise fault(model.__name__, problem, key.name)
    for name in template.depends_on:
        problem = _part_problem(key, fields[name], whether=name not in template.names)
        if problem is None and name in template.names:
            problem = _coarser(template.part(name), fields[name])
        if problem is not None:
            raise fault(model.__name__, f"the template {template.pattern!r} names {name}, {problem}", key.name)


def _key_problem(model: type[BaseModel], key: FieldPlan, template: KeyTemplate) -> str | None:
    """Return why a field cannot be computed."""
    settings: Settings = getattr(model, SETTINGS)
    if COMPUTES not in model.__pydantic_decorators__.model_validators:
        return (
            f"has its template inside the annotation; write it behind the equals sign: {key.name}: ... = template(...)"
        )
    if settings.table is None and not settings.abstract:
        return (
            "has a template, but the model has no table, so it is not a key; use a computed_field, or add "
            f'table="..." to class {model.__name__}'
        )
    if key.absence is Absence.MISSING:
        return f"has a template, and MISSING in its type; declare {key.name} as Attr[str | None]"
    if key.role not in (Role.ATTRIBUTE, *_KEYS):
        return f"is a {key.role.value}, which is not text; drop its template"
    if template.when and key.role in _KEYS:
        return "has a template with when=..., and every item needs its key; drop the condition"
    if template.when and not key.nullable:
        return f"has a template with when=..., so there may be no key; declare {key.name} as Attr[str | None]"
    return None


def _part_problem(key: FieldPlan, part: FieldPlan, *, whether: bool) -> str | None:
    """Return why a key cannot depend on a field, as a part, or as what says whether there is a key."""
    if part.role is Role.VERSION:
        return "which changes with each write, unseen by updates; count in a field of your own"
    if part.absence is Absence.MISSING:
        return "which may be MISSING; declare it with None instead"
    if whether:
        return None
    if part.nullable and key.role in _KEYS:
        return "which may be None, and every item needs its key; declare it without None"
    if part.nullable and not key.nullable:
        return f"which may be None, and then there is no key; declare {key.name} as Attr[str | None]"
    if part.assigned is not None and part.assigned.on_update is not None and key.role in _KEYS:
        return "which changes with each write (on_update), and a key never changes; take on_create"
    return None


def _coarser(part: TemplatePart, field: FieldPlan) -> str | None:
    """Return the fault of a key that has more of a time than its attribute, which no condition could meet."""
    if part.format.label != "datetime":
        return None
    try:
        # A time that goes through the attribute loses the units that are not stored; the key must not have more than
        # that.
        kept = field.converter.decode(field.converter.encode(_TIME))
    except (EncodeError, *DECODE_ERRORS):
        return None
    if part.text(kept) == part.text(_TIME):
        return None
    units = (unit for unit in templates.UNITS_OF_TIMES if _text(field, unit, kept) == _text(field, unit, _TIME))
    unit = next(units, "year")
    return (
        f"which is stored without what follows its {unit}, so conditions would not find what the key holds; write "
        f"{{{part.name}:{unit}}}"
    )


def _text(field: FieldPlan, unit: str, value: datetime) -> str:
    return templates.format_of(field.annotation, unit).write(value)


def _source(model: type[BaseModel], fields: Mapping[str, FieldPlan], part: FieldPlan) -> str | None:
    """Return the computed field that a part without an attribute of its own is read back from.

    None for a part that an abstract base declares for the templates of its subclasses.
    """
    if part.role is not Role.ATTRIBUTE or part.template is not None or part.assigned is not None:
        raise fault(model.__name__, "is a key, or a field that the session sets, and must be stored; drop stored=False")
    holding = [plan for plan in fields.values() if plan.template is not None and part.name in plan.template.names]
    # The table's own key first: every item has it, and every index projects it.
    for plan in sorted(holding, key=lambda each: each.role not in _KEYS):
        if not plan.nullable and plan.template is not None and part.name in plan.template.readable:
            return plan.name
    settings: Settings = getattr(model, SETTINGS)
    if not holding and settings.abstract:
        return None
    if not holding:
        problem = "is not stored and stands in no template, so it would be lost; drop stored=False"
    elif part.nullable:
        problem = "is not stored and may be None, and then there is no key to read it back from; drop one of the two"
    else:
        names = " and ".join(plan.name for plan in holding)
        problem = (
            f"is not stored, and cannot be read back from {names}, which may be absent, or holds it in another case or "
            "cut off; drop stored=False"
        )
    raise fault(model.__name__, problem, part.name)


class ReadBack(NamedTuple):
    """A computed field that other fields are read back from."""

    key: str
    """The computed field's name."""
    template: KeyTemplate
    parts: tuple[str, ...]
    """The names of the fields."""

    def of(self, text: object) -> dict[str, Any]:
        """Return field name -> value of a key; nothing where it was not read.

        Raises:
            DecodeError: the text is no such key.
        """
        if not isinstance(text, str):
            return {}
        found = self.template.parse(text)
        return {part: found[part] for part in self.parts}


def read_back(fields: Sequence[FieldPlan]) -> tuple[ReadBack, ...]:
    """Return where the fields without an attribute of their own are read back from."""
    missing = {field.name for field in fields if not field.is_stored}
    found: list[ReadBack] = []
    for field in fields:
        template = field.template
        if template is not None and not field.nullable and (parts := missing & template.readable):
            found.append(ReadBack(field.name, template, tuple(sorted(parts))))
            missing -= parts
    return tuple(found)
