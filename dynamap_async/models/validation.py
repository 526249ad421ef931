"""Validation of what was assigned, or changed in place, since an instance was validated. Writes do it.

A value is judged in the form in which a read would give it to Pydantic, so that what is written can be read. Pydantic
validates the values in question together, once, with the model's own validators; other fields keep their values and do
not go through their validators again.

Assigned fields are known by name. A list, set, dict or nested model that is changed in place leaves no trace. So a put
judges every value that can change so and that could be refused; a save, which knows what was stored, only those that
did change. Encoding refuses values of wrong types by itself, so a ``list[str]`` is judged by nothing else and costs
nothing here. A value that was not assigned is only judged: what its validators would make of it is not taken.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from dynamap_async.errors import EncodeError
from dynamap_async.models.alone import (
    declares_all,
    takes_all,
    validator_of_attributes,
    validator_of_fields,
    validator_of_some,
)
from dynamap_async.models.computed import Computed
from dynamap_async.models.computing import COMPUTES, reading
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.holding import IMMUTABLE, Holding
from dynamap_async.models.instances import give
from dynamap_async.models.items import ItemCodec
from dynamap_async.models.state import mark_validated, unvalidated
from dynamap_async.wire import WireItem

M = TypeVar("M", bound=BaseModel)

_KEPT: Final = 64
"""For how many sets of fields the compiled validators of one model are kept."""
_SHOWN: Final = 3
"""How many faults a message tells."""


class Validation(Generic[M]):
    """Validates the values of one model's instances that changed since they were validated."""

    def __init__(
        self, model: type[M], fields: Mapping[str, FieldPlan], codec: ItemCodec[M], computed: Computed | None
    ) -> None:
        """Prepare nothing: most instances are written as they were validated.

        Args:
            model: the class.
            fields: its fields, by name.
            codec: what encodes and decodes its items.
            computed: its computed keys, if it has any.
        """
        self._model = model
        self._fields = fields
        self._codec = codec
        self._computed = computed
        self._validators: dict[tuple[frozenset[str], bool], SchemaValidator] = {}

    @cached_property
    def _judges_whole(self) -> bool:
        """Whether the model has validators of its own, beside those of its fields."""
        decorators = self._model.__pydantic_decorators__
        return bool({*decorators.model_validators} - {COMPUTES} or decorators.root_validators)

    @cached_property
    def _declared(self) -> frozenset[str]:
        """The fields that are judged by what their types declare, and by no function."""
        return frozenset(name for name in self._fields if declares_all(self._model, name))

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """The fields whose values can change in place into some that encoding takes and reading refuses."""
        mutable = [name for name, field in self._fields.items() if field.holding is not Holding.FIXED]
        return tuple(name for name in mutable if self._judges_whole or not takes_all(self._model, name))

    @cached_property
    def _judged_by_code(self) -> tuple[str, ...]:
        """Those of them that functions judge."""
        return tuple(name for name in self.judged if self._judges_whole or name not in self._declared)

    @cached_property
    def _judge(self) -> SchemaValidator | None:
        """What judges the others as they are, in one call, at a tenth of the cost; None where there are none."""
        names = [name for name in self.judged if name not in self._judged_by_code]
        return validator_of_attributes(self._model, names) if names else None

    def before_put(self, item: M, use: str) -> None:
        """Validate what may have changed of an instance that is written as a whole.

        Args:
            item: the instance. What validation makes of assigned values becomes its own.
            use: what is done with it, such as ``written``, for messages.

        Raises:
            EncodeError: a value is refused; the error names the model, the key and each field.
            OperationError: the instance was read from a part of its item.
        """
        assigned = unvalidated(item, use)
        if assigned:
            self._validate(item, assigned, self.judged)
            mark_validated(item)
        elif self.judged:
            doubtful = self._judged_by_code
            if self._judge is not None:
                try:
                    self._judge.validate_python(item.__dict__, by_name=True, by_alias=False)
                except ValidationError:  # or they may be left out, and read back as a default that is never judged
                    doubtful = self.judged
            if doubtful:
                self._validate(item, assigned, doubtful)

    def before_save(self, item: M, use: str) -> None:
        """Validate what was assigned; arguments and errors are those of ``before_put``."""
        if assigned := unvalidated(item, use):
            self._validate(item, assigned, ())
            mark_validated(item)

    def changed(self, item: M, attributes: Collection[str]) -> None:
        """Validate what changed in place; errors are those of ``before_put``.

        Args:
            item: the instance.
            attributes: the stored names of what changed.
        """
        names = [name for name in self.judged if self._fields[name].stored in attributes]
        if names:
            self._validate(item, frozenset(), names)

    def _validate(self, item: M, assigned: frozenset[str], judged: Sequence[str]) -> None:
        values, extra = item.__dict__, item.__pydantic_extra__ or {}
        names = {name for name in assigned if name in values and name in self._fields}
        names.update(name for name in judged if name in values and not isinstance(values[name], IMMUTABLE))
        whole = self._judges_whole or not (names <= self._declared and assigned.isdisjoint(extra))
        if not (names or whole):
            return
        given, raw = self._given(values, names)
        if whole:
            others = {name: value for name, value in values.items() if name in self._fields and name not in names}
            given = {**others, **given, **extra}
        try:
            with nullcontext() if self._computed is None else reading():
                made = self._validator(frozenset(names), whole=whole).validate_python(
                    # What could not be encoded may name members of nested models by their aliases.
                    given,
                    by_name=True,
                    by_alias=None if raw else False,
                )
        except ValidationError as error:
            raise self._refused(item, error) from error
        if assigned:
            found, more = (made.__dict__, made.__pydantic_extra__) if whole else made[:2]
            self._take(item, {name: found[name] for name in found if name not in names - assigned}, assigned, raw)
            if extra and more:
                extra.update({name: more[name] for name in assigned & extra.keys()})

    def _given(self, values: Mapping[str, Any], names: Collection[str]) -> tuple[dict[str, Any], Collection[str]]:
        """Return what Pydantic validates of some fields, and the names of those that cannot be encoded as they are.

        It is what a read would give it. Values of fields that are judged by their types alone are the same either way.
        """
        given: dict[str, Any] = {}
        stored: WireItem = {}
        raw: list[str] = []
        for name in names:
            field = self._fields[name]
            attributes = None
            if not (field.holding is Holding.FIXED and name in self._declared):
                attributes = self._attribute(name, values[name])
                if attributes is None:
                    raw.append(name)  # Pydantic may make something of it that can be stored
            if attributes is None:
                given[name] = values[name]
            else:
                stored.update(attributes)
        if len(given) < len(names):
            decoded = self._codec.decoders.alone(stored)
            given.update({name: decoded[name] for name in names if name in decoded and name not in given})
        return given, raw

    def _attribute(self, name: str, value: Any) -> WireItem | None:
        """Return the attribute of a value, none if it is left out; None if the field has none, or cannot store it."""
        try:
            return self._codec.encoders.present({name: value}) if self._fields[name].is_stored else None
        except (EncodeError, RecursionError):
            return None

    def _take(self, item: M, made: Mapping[str, Any], assigned: frozenset[str], raw: Collection[str]) -> None:
        """Give an instance what validation made of its assigned values, and what the model's own validators set."""
        values = item.__dict__
        taken = {
            name: value
            for name, value in made.items()
            if value is not values.get(name)
            and (name not in assigned or name in raw or self._differs(name, values[name], value))
        }
        give(item, taken)
        if self._computed is not None and taken:
            vars(item).update(self._computed.after(vars(item), taken))

    def _differs(self, name: str, before: Any, after: Any) -> bool:
        """Return whether validation changed a value; one that it only copied stays the object that was assigned."""
        if self._fields[name].holding is Holding.FIXED:
            return type(before) is not type(after) or bool(before != after)
        return self._attribute(name, before) != self._attribute(name, after)

    def _validator(self, names: frozenset[str], *, whole: bool) -> SchemaValidator:
        """Return what validates some fields: with an instance made of all, or alone."""
        found = self._validators.get((names, whole))
        if found is None:
            if len(self._validators) >= _KEPT:
                self._validators.clear()
            make = validator_of_some if whole else validator_of_fields
            found = self._validators[names, whole] = make(self._model, names)
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
            f"{'; '.join(told)}. The {name} with {shown} was changed like this since it was validated, and could not "
            "be read back; nothing was written. Set a value that the field takes, or change what it takes."
        )
        refused.key = key
        return refused.at(*first["loc"], model=name)
