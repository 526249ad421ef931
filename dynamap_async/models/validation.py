"""Validation of values that were assigned or changed in place since an instance was validated. Writes call it.

A value is judged in the form in which a read would give it to Pydantic, so that what is written can be read. The fields
in question are validated together, once; others keep their values and do not go through their validators again. A model
with validators of its own is validated as a whole, as a read does it, and keeps what these make of its other fields.

Assigned fields are known by name. A list, set, dict or nested model that is changed in place leaves no trace. So a put
judges every value that can change so and that could be refused; a save, which knows what was stored, only those that
did change. Encoding refuses values of wrong types by itself, so a ``list[str]`` is judged by nothing else and costs
nothing here. A value that was not assigned is only judged: what its validators would make of it is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from dynamap_async.errors import EncodeError
from dynamap_async.models.assigned import COMPUTES
from dynamap_async.models.constraints import Constraint, constraint_of, fields_validator
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.instances import give
from dynamap_async.models.items import ItemCodec
from dynamap_async.models.keys.computed import Computed
from dynamap_async.models.mutability import IMMUTABLE, Mutability
from dynamap_async.models.state import RESPELLED, mark_validated, unvalidated
from dynamap_async.wire import WireItem

M = TypeVar("M", bound=BaseModel)

_KEPT: Final = 64
"""For how many sets of fields the compiled validators of one model are kept."""
_SIMPLE: Final = frozenset((*IMMUTABLE, bool, datetime))
"""Types whose values have no members."""
_SHOWN: Final = 3
"""How many faults a message tells."""


class Validation(Generic[M]):
    """Validates the changed values of one model's instances. Validators are compiled when they are first needed."""

    def __init__(
        self, model: type[M], fields: Mapping[str, FieldPlan], codec: ItemCodec[M], computed: Computed | None
    ) -> None:
        self._model = model
        self._fields = fields
        self._codec = codec
        self._computed = computed
        self._validators: dict[tuple[str, ...], Callable[..., dict[str, Any]]] = {}

    @cached_property
    def _has_validators(self) -> bool:
        """Whether the model has validators of its own, beside those of its fields."""
        decorators = self._model.__pydantic_decorators__
        return bool({*decorators.model_validators} - {COMPUTES} or decorators.root_validators)

    @cached_property
    def _constraints(self) -> Mapping[str, Constraint]:
        """Field name -> constraint of the field."""
        return {name: constraint_of(self._model, name) for name in self._fields}

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """The fields whose values can change in place to values that encoding accepts but a read refuses."""
        mutable = [name for name, field in self._fields.items() if field.mutability is not Mutability.FIXED]
        return tuple(name for name in mutable if self._has_validators or self._constraints[name])

    @cached_property
    def _judged_by_code(self) -> tuple[str, ...]:
        """The fields of ``judged`` with validator functions, of the field or of the model."""
        return tuple(name for name in self.judged if self._has_validators or self._constraints[name] is Constraint.CODE)

    @cached_property
    def _judged_by_type(self) -> tuple[str, ...]:
        """The other fields of ``judged``. Their values are validated as they are, without encoding them first."""
        return tuple(name for name in self.judged if name not in self._judged_by_code)

    @cached_property
    def _nested(self) -> tuple[str, ...]:
        """The fields of ``_judged_by_type`` that contain models."""
        return tuple(name for name in self._judged_by_type if self._constraints[name] is Constraint.NESTED)

    def _refuses(self, values: Mapping[str, Any]) -> bool:
        """Return True if a type refuses a value that may have changed in place.

        A read may still accept it: an empty set may be left out, and read back as a default that is not validated.
        """
        if not self._judged_by_type:
            return False
        if self._nested:
            values = {
                name: _members(values[name]) if name in self._nested else values[name]
                for name in self._judged_by_type
                if name in values
            }
        try:
            self._validator(self._judged_by_type)(values, by_alias=False)
        except ValidationError:
            return True
        return False

    def before_put(self, item: M, use: str) -> bool:
        """Validate the assigned values and the mutable ones of an instance that is written as a whole.

        Return whether it was read from an item whose stored key may be in a form of its own.

        Args:
            item: the instance. What validation makes of assigned values becomes its own.
            use: what is done with it, such as ``written``, for messages.

        Raises:
            EncodeError: a value is refused; the error names the model, the key and each field.
            OperationError: the instance was read from a part of its item.
        """
        names = unvalidated(item, use)
        # RESPELLED marks an instance whose stored key has a spelling of its own; no field was assigned by that.
        if names and (assigned := names - RESPELLED):
            self._validate(item, assigned, self.judged)
            mark_validated(item)
        elif self.judged:
            # First all of them by type in one call, as they are: encoding each value costs more, and values are nearly
            # always fine.
            doubtful = self.judged if self._refuses(item.__dict__) else self._judged_by_code
            if doubtful:
                self._validate(item, frozenset(), doubtful)
        return bool(names) and not names.isdisjoint(RESPELLED)

    def before_save(self, item: M, use: str) -> None:
        """Validate the assigned values of an instance; arguments and errors are those of ``before_put``."""
        if assigned := unvalidated(item, use) - RESPELLED:
            self._validate(item, assigned, ())
            mark_validated(item)

    def changed(self, item: M, attributes: Collection[str]) -> None:
        """Validate values that changed in place; errors are those of ``before_put``.

        Args:
            attributes: the stored names of what changed.
        """
        names = [name for name in self.judged if self._fields[name].stored in attributes]
        if names:
            self._validate(item, frozenset(), names)

    def _validate(self, item: M, assigned: frozenset[str], judged: Collection[str]) -> None:
        values, extra = item.__dict__, item.__pydantic_extra__ or {}
        names = {name for name in assigned if name in values and name in self._fields}
        names.update(name for name in judged if name in values and not isinstance(values[name], IMMUTABLE))
        # A model validator needs the whole item, and so does an undeclared attribute with a type of its own.
        whole = self._has_validators or not assigned.isdisjoint(extra)
        if not (names or whole):
            return
        given, raw = self._given(values, self._fields if whole else names)
        # What could not be encoded may name members of nested models by their aliases.
        by_alias = None if raw else False
        try:
            if whole:
                made = self._codec.validated({**given, **extra}, by_alias=by_alias)
                found, more = made.__dict__, made.__pydantic_extra__
            else:
                others = {name: value for name, value in values.items() if name not in names}
                found, more = self._validator(tuple(sorted(names)))({**others, **given}, by_alias=by_alias), None
        except ValidationError as error:
            raise self._refused(item, error) from error
        if assigned:
            # A value that was only judged stays as it is, and so do fields that validators of others gave anew.
            kept = {name for name in found if name in names or self._constraints[name] is Constraint.CODE} - assigned
            self._take(item, {name: found[name] for name in found if name not in kept}, raw)
            if extra and more:
                extra.update({name: more[name] for name in assigned & extra.keys()})

    def _given(self, values: Mapping[str, Any], names: Collection[str]) -> tuple[dict[str, Any], Collection[str]]:
        """Return the values of fields as a read would pass them to Pydantic, and the names that cannot be encoded.

        A value without nested models and validator functions is the same either way, except for an empty set, which may
        be left out.
        """
        given: dict[str, Any] = {}
        raw: list[str] = []
        for name in names:
            if name not in values:
                continue
            field = self._fields[name]
            given[name] = values[name]
            if self._constraints[name] <= Constraint.DECLARED and not field.holds_set:
                continue
            attribute = self._attribute(name, values[name])
            if attribute is None:
                raw.append(name)  # Pydantic may make something of it that can be stored
            elif attribute:
                given.update(self._codec.decoders.one_by_one(attribute))
            elif field.required:
                given[name] = field.of_absence()
            else:  # its default, which is not validated
                del given[name]
        return given, raw

    def _attribute(self, name: str, value: Any) -> WireItem | None:
        """Return the attribute of a value; none if it is left out, and None if it cannot be stored."""
        try:
            return self._codec.encoders.one(name, value) if self._fields[name].is_stored else None
        except (EncodeError, RecursionError):
            return None

    def _take(self, item: M, made: Mapping[str, Any], raw: Collection[str]) -> None:
        """Set the converted values of assigned fields, and the values that model validators set."""
        values = item.__dict__
        taken = {
            name: value
            for name, value in made.items()
            if value is not values.get(name)
            and (name in raw or name not in values or self._differs(name, values[name], value))
        }
        give(item, taken)
        if self._computed is not None and taken:
            vars(item).update(self._computed.after(vars(item), taken))

    def _differs(self, name: str, before: Any, after: Any) -> bool:
        """Return True if validation changed a value; a value that it only copied stays the object that was assigned."""
        if self._fields[name].mutability is Mutability.FIXED:
            return type(before) is not type(after) or bool(before != after)
        return self._attribute(name, before) != self._attribute(name, after)

    def _validator(self, names: tuple[str, ...]) -> Callable[..., dict[str, Any]]:
        """Return the function that validates these fields."""
        found = self._validators.get(names)
        if found is None:
            if len(self._validators) >= _KEPT:
                # A program assigns a few sets of fields; one that assigns any would else keep a validator for each.
                self._validators.clear()
            found = self._validators[names] = fields_validator(self._model, names)
        return found

    def _refused(self, item: M, error: ValidationError) -> EncodeError:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        first, *others = faults[:_SHOWN]
        told = [first["msg"], *(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in others)]
        if len(faults) > _SHOWN:
            told.append(f"and {len(faults) - _SHOWN} more")
        key = {name: value for name in self._codec.key_fields if (value := item.__dict__.get(name)) is not None}
        shown = ", ".join(f"{name}={value!r}" for name, value in key.items())
        name = self._model.__name__
        refused = EncodeError(
            f"{'; '.join(told)}. The {name} with {shown} was changed after it was validated, and could not be read "
            "back like this. Nothing was written. Set a value that the field accepts, or change the field."
        )
        refused.key = key
        return refused.at(*first["loc"], model=name)


def _members(value: Any) -> Any:
    """Return a value with its models replaced by dicts, because Pydantic accepts instances without validation."""
    whole: Any = value  # of no narrower type than Any, for checkers
    if isinstance(value, (list, tuple)):
        return [each if type(each) in _SIMPLE else _members(each) for each in whole]
    if not isinstance(value, dict):
        if not isinstance(value, BaseModel):  # asked last: of other values it takes longest
            return value
        whole = value.__dict__
    return {key: each if type(each) in _SIMPLE else _members(each) for key, each in whole.items()}
