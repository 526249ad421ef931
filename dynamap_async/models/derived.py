"""Stored computed fields: what a method of a model makes of its fields is stored with each item, and never read back.

Conditions and indexes use them as other fields. An item's own value is compared with what the method makes of the item
that was read; what it makes counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_type_hints, overload

from pydantic import BaseModel, computed_field
from pydantic.fields import ComputedFieldInfo, FieldInfo

from dynamap_async.codec import Absence
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError
from dynamap_async.models.annotations import absence_of, is_optional, may_be_missing, set_type
from dynamap_async.models.callers import local_classes
from dynamap_async.models.compiler import TypeCompiler
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import Role
from dynamap_async.models.settings import SETTINGS, Settings, fault
from dynamap_async.wire import AttributeValue, WireItem

if TYPE_CHECKING:
    from dynamap_async.models.markers import _Readable

T = TypeVar("T")

_MAKES: Final = (
    "write @computed_attr(...) above a method with the one argument self, or above @computed_field and @property"
)


class StoredProperty(property):
    """The property of a stored computed field. Of a class it gives the expression of the field."""

    name: str | None = None
    """The stored name, where it is not that of the method."""
    depends: tuple[str, ...] | None = None
    """The fields that the value is made of; None where nobody has said."""
    _attribute: str = ""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        """Learn its name in the class.

        Args:
            owner: the class.
            name: its name there.
        """
        self._attribute = name

    def __get__(self, instance: Any, owner: type[Any] | None = None, /) -> Any:
        """Return the value of an instance, or the expression of a class.

        Args:
            instance: the instance; None for the class itself.
            owner: the class.
        """
        if instance is not None:
            return super().__get__(instance, owner)
        expression = getattr(type(owner), "__expression__", None)
        found = None if expression is None else expression(owner, self._attribute)
        return self if found is None else found


@overload
def computed_attr(method: Callable[[Any], T], /) -> _Readable[T]: ...
@overload
def computed_attr(
    *, depends: Sequence[str] | None = None, name: str | None = None
) -> Callable[[Callable[[Any], T]], _Readable[T]]: ...
def computed_attr(method: Any = None, /, *, depends: Sequence[str] | None = None, name: str | None = None) -> Any:
    """Return a decorator of a method that computes a field which is stored with each item.

    The method takes ``self`` alone, and says what it returns. It becomes a property, which is a computed field to
    Pydantic. What is stored is never read back: the method makes it anew of each item, and where the item has another
    value observers are told (``ComputedAttributeDiffers``). Where the method returns None, the item has no such
    attribute.

    Args:
        method: the method, where the decorator stands without brackets.
        depends: the fields that the value is made of. An update by key of one of them is refused, for it does not know
            the others; without this, each update by key of a field.
        name: the stored name; by default that of the method.
    """
    if isinstance(depends, str):
        raise TypeError(f'depends={depends!r} is one text; write depends=("{depends}",)')

    def decorate(method: Any, /) -> Any:
        proxy = method if isinstance(getattr(method, "decorator_info", None), ComputedFieldInfo) else None
        inner = method if proxy is None else proxy.wrapped
        if not isinstance(inner, FunctionType | property):
            name_of_method = getattr(inner, "attrname", None) or getattr(inner, "__qualname__", repr(inner))
            raise fault(str(name_of_method), f"is no method or property, but {type(inner).__name__}; {_MAKES}")
        if isinstance(inner, property) and inner.fset is not None:
            raise fault(
                getattr(inner.fget, "__qualname__", repr(inner)),
                "has a setter, but what is computed is never set; drop it",
            )
        made = StoredProperty(inner.fget if isinstance(inner, property) else inner)
        made.name, made.depends = name, None if depends is None else tuple(depends)
        if proxy is None:
            return computed_field(made)
        proxy.decorator_info.wrapped_property = proxy.wrapped = made
        return proxy

    return decorate if method is None else decorate(method)


@dataclass(frozen=True, slots=True)
class DerivedField:
    """One stored computed field."""

    plan: FieldPlan
    """How it is stored."""
    compute: Callable[[Any], Any]
    """Makes its value of an instance."""
    depends: tuple[str, ...]
    """The fields that it is made of; all of them where nobody has said."""
    is_said: bool
    """Whether the model says which these are."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.plan.name

    @property
    def sources(self) -> str:
        """What it is made of, for messages."""
        return ", ".join(self.depends) if self.is_said else "the item"


class Derived:
    """The stored computed fields of one model."""

    def __init__(self, model: type[BaseModel], fields: Sequence[DerivedField]) -> None:
        """Create the computed fields.

        Args:
            model: the class.
            fields: its stored computed fields.
        """
        self._model = model
        self.fields: Final = tuple(fields)
        """Each of them."""
        self.of: Final = {field.name: field for field in fields}
        """Name -> field."""

    @cached_property
    def stored_names(self) -> frozenset[str]:
        """Their stored names."""
        return frozenset(field.plan.stored for field in self.fields)

    def affected(self, changed: frozenset[str]) -> list[DerivedField]:
        """Return those that are made of one of some fields."""
        return [field for field in self.fields if not changed.isdisjoint(field.depends)]

    def added(self, values: Mapping[str, Any], item: BaseModel | None) -> Mapping[str, Any]:
        """Return values of fields, and of the stored computed fields that are made of them.

        Args:
            values: field name -> value.
            item: the instance that has them; None for values as they were read, of which some may be absent.

        Raises:
            EncodeError: a method failed; the error names the model and the field.
        """
        subject = item if item is not None and values is item.__dict__ else self._twin(values)
        found = dict(values)
        for field in self.fields:
            try:
                found[field.name] = field.compute(subject)
            except Exception as error:
                if item is None:  # what it needs may not have been read
                    continue
                raise EncodeError(f"computing it raised {type(error).__name__}: {error}").at(
                    field.name, model=self._model.__name__
                ) from error
        return found

    def _twin(self, values: Mapping[str, Any]) -> BaseModel:
        """Return an instance with these values, which nothing validates."""
        construct: Any = BaseModel.model_construct
        twin: BaseModel = construct.__func__(self._model, **values)
        return twin

    def differing(self, made: BaseModel, item: WireItem, encode: Callable[[str, Any], WireItem]) -> tuple[str, ...]:
        """Return the names of the fields of which an item has another value than the method makes.

        Args:
            made: the instance.
            item: its item.
            encode: name and value of a field -> its attribute.
        """
        return tuple(field.name for field in self.fields if _differs(field, made, item, encode))


def _differs(field: DerivedField, made: BaseModel, item: WireItem, encode: Callable[[str, Any], WireItem]) -> bool:
    stored: AttributeValue | None = item.get(field.plan.stored)
    try:
        value = field.compute(made)
        if encode(field.name, value).get(field.plan.stored) == stored:
            return False
        # Other programs may spell the same value otherwise.
        return stored is None or bool(field.plan.of_stored(stored) != value)
    except Exception:  # noqa: BLE001 - the model's own code may raise anything, and so may what is stored
        return True


def derived_of(model: type[BaseModel], fields: Mapping[str, FieldPlan]) -> Derived | None:
    """Return the stored computed fields of a model; None if it has none.

    Args:
        model: the class, complete.
        fields: its other fields.

    Raises:
        ModelDefinitionError: one says no type or names no field, or the model is stored inside others.
    """
    found = {
        name: each.info.wrapped_property
        for name, each in model.__pydantic_decorators__.computed_fields.items()
        if isinstance(each.info.wrapped_property, StoredProperty)
    }
    if not found:
        return None
    return Derived(model, [_field(model, name, each, fields) for name, each in found.items()])


def _field(model: type[BaseModel], name: str, given: StoredProperty, fields: Mapping[str, FieldPlan]) -> DerivedField:
    settings: Settings = getattr(model, SETTINGS)
    if settings.table is None and not settings.abstract:
        raise fault(
            model.__name__,
            "is a @computed_attr, but the model has no table, so it is stored inside other items; compute it in the "
            "model that has the table, or write @computed_field",
            name,
        )
    stored_name = given.name or name
    if (other := next((each.name for each in fields.values() if each.stored == stored_name), None)) is not None:
        raise fault(model.__name__, f"is stored as {stored_name!r}, as {other} is; give one another name", name)
    known = tuple(each.name for each in fields.values())
    for each in given.depends or ():
        if each not in fields:
            raise fault(
                model.__name__, f"depends on {each!r}, which is no field; the fields are {', '.join(known)}", name
            )
    info = FieldInfo.from_annotation(_type_of(model, name, given))
    converter = TypeCompiler(model, exact=True).top_field(name, info)
    nullable, kind = is_optional(info.annotation), set_type(info.annotation)
    absence = absence_of(
        info, required=True, nullable=nullable, holds_set=kind is not None, missing=may_be_missing(info.annotation)
    )
    plan = FieldPlan(
        name=name,
        stored=stored_name,
        role=Role.ATTRIBUTE,
        converter=converter,
        lax=converter,
        nullable=nullable,
        required=absence is not Absence.OTHER,
        absence=absence,
        set_type=kind,
        annotation=info.annotation,
    )
    is_said = given.depends is not None
    return DerivedField(plan, cast("Any", given.fget), given.depends if given.depends is not None else known, is_said)


def _type_of(model: type[BaseModel], name: str, given: StoredProperty) -> Any:
    try:
        hints = get_type_hints(given.fget, localns={**local_classes(), model.__name__: model}, include_extras=True)
    except NameError as error:
        raise fault(model.__name__, f"returns the type {error.name!r}, which cannot be found", name) from None
    if "return" not in hints:
        raise fault(
            model.__name__, f"is @computed_attr, and does not say what it returns; write def {name}(self) -> str", name
        )
    return hints["return"]
