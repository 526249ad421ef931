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
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator

from dynamap_async.errors import EncodeError
from dynamap_async.models.alone import field_schema, validator_of_some
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
        self._validators: dict[frozenset[str], SchemaValidator] = {}

    @cached_property
    def judged(self) -> tuple[str, ...]:
        """The fields whose values can change in place into some that encoding takes and reading refuses."""
        mutable = [name for name, field in self._fields.items() if field.holding is not Holding.FIXED]
        if _judges_whole(self._model):
            return tuple(mutable)
        return tuple(name for name in mutable if _may_refuse(self._model, name))

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
        if assigned or self.judged:
            self._validate(item, assigned, self.judged)
            if assigned:
                mark_validated(item)

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
        if not names and assigned.isdisjoint(extra):
            return
        stored, raw = self._encoded(values, names)
        decoded = self._codec.decoders.alone(stored)
        given = {name: value for name, value in values.items() if name in self._fields and name not in names}
        given.update({name: decoded[name] for name in names if name in decoded and name not in raw})
        try:
            with nullcontext() if self._computed is None else reading():
                # What was not encoded may name members of nested models by their aliases.
                made: M = self._validator(frozenset(names)).validate_python(
                    {**given, **raw, **extra}, by_name=True, by_alias=None if raw else False
                )
        except ValidationError as error:
            raise self._refused(item, error) from error
        if assigned:
            self._take(item, made, assigned, names - assigned, raw)

    def _encoded(self, values: Mapping[str, Any], names: Collection[str]) -> tuple[WireItem, dict[str, Any]]:
        """Return the attributes of some fields, and the values of those that have none or cannot be encoded."""
        found: WireItem = {}
        raw: dict[str, Any] = {}
        for name in names:
            attributes = self._attribute(name, values[name])
            if attributes is None:
                raw[name] = values[name]  # Pydantic may make something of it that can be stored
            else:
                found.update(attributes)
        return found, raw

    def _attribute(self, name: str, value: Any) -> WireItem | None:
        """Return the attribute of a value, none if it is left out; None if the field has none, or cannot store it."""
        try:
            return self._codec.encoders.present({name: value}) if self._fields[name].is_stored else None
        except (EncodeError, RecursionError):
            return None

    def _take(self, item: M, made: M, assigned: frozenset[str], judged: set[str], raw: Mapping[str, Any]) -> None:
        """Give an instance what validation made of its assigned values, and what the model's own validators set."""
        values = item.__dict__
        taken = {
            name: value
            for name, value in made.__dict__.items()
            if name not in judged
            and value is not values.get(name)
            and (name not in assigned or name in raw or self._differs(name, values[name], value))
        }
        give(item, taken)
        if self._computed is not None and taken:
            item.__dict__.update(self._computed.after(item.__dict__, taken))
        if (extra := item.__pydantic_extra__) and (more := made.__pydantic_extra__):
            extra.update({name: more[name] for name in assigned & extra.keys()})

    def _differs(self, name: str, before: Any, after: Any) -> bool:
        """Return whether validation changed a value; one that it only copied stays the object that was assigned."""
        if self._fields[name].holding is Holding.FIXED:
            return type(before) is not type(after) or bool(before != after)
        return self._attribute(name, before) != self._attribute(name, after)

    def _validator(self, names: frozenset[str]) -> SchemaValidator:
        """Return what validates some fields of an instance and takes the others as they are."""
        found = self._validators.get(names)
        if found is None:
            if len(self._validators) >= _KEPT:
                self._validators.clear()
            found = self._validators[names] = validator_of_some(self._model, names)
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


def _judges_whole(model: type[BaseModel]) -> bool:
    """Return whether a model has validators, or settings, that concern all of its fields."""
    decorators = model.__pydantic_decorators__
    own = [name for name in decorators.model_validators if name != COMPUTES]
    return bool(own or decorators.root_validators) or any(each.startswith("str_") for each in model.model_config)


def _may_refuse(model: type[BaseModel], name: str) -> bool:
    """Return whether Pydantic may refuse a value of a field that encoding takes; true where nobody knows."""
    found = field_schema(model, name)
    return found is None or not _is_lenient(found[0])


_LENIENT: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset((*more.split(), "type", "ref", "metadata", "serialization"))
    for kind, more in {
        "any": "",
        "bool": "",
        "bytes": "",
        "date": "",
        "datetime": "microseconds_precision",
        "decimal": "",
        "default": "schema default default_factory default_factory_takes_data validate_default copy_default",
        "definition-ref": "schema_ref",
        "definitions": "schema definitions",
        "dict": "keys_schema values_schema",
        "enum": "cls members sub_type missing",
        "float": "",
        "frozenset": "items_schema",
        "int": "",
        "list": "items_schema",
        "literal": "expected",
        "model": "cls config custom_init generic_origin root_model schema",
        "model-field": "schema validation_alias serialization_alias serialization_exclude frozen",
        "model-fields": "fields model_name computed_fields",
        "none": "",
        "nullable": "schema",
        "set": "items_schema",
        "str": "",
        "time": "microseconds_precision",
        "timedelta": "microseconds_precision",
        "tuple": "items_schema variadic_item_index",
        "union": "choices",
        "uuid": "",
    }.items()
}
"""The parts of Pydantic's schemas that refuse nothing but wrong types -> what such a part says.

Source: https://docs.pydantic.dev/latest/api/pydantic_core_schema/
"""
_PARTS: Final = ("schema", "definitions", "keys_schema", "values_schema", "items_schema", "fields", "choices")
_STRICTER: Final = ("str_", "strict", "allow_inf_nan")
"""How the names of settings begin that make fields refuse more."""


def _is_lenient(part: Any) -> bool:
    """Return whether a part of a schema refuses nothing but wrong types."""
    if isinstance(part, (list, tuple)):
        return all(_is_lenient(each) for each in cast("Sequence[Any]", part))
    schema = cast("Mapping[str, Any]", part)
    known = _LENIENT.get(schema["type"])
    if known is None or not known >= schema.keys() or schema.get("custom_init"):
        return False
    if any(name.startswith(_STRICTER) for name in schema.get("config") or ()):
        return False
    parts = [schema[name] for name in _PARTS if name in schema]
    return all(
        _is_lenient([*each.values()] if "type" not in each else each) if isinstance(each, dict) else _is_lenient(each)
        for each in parts
    )
