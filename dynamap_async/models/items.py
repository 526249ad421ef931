"""Items of one model: instances to wire form and back, a page at a time."""

from collections.abc import Mapping, Sequence
from types import GenericAlias
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from dynamap_async.codec import MISFITS, check_item, check_key_value, decode_any, encode_any
from dynamap_async.errors import DecodeError, EncodeError, ItemValidationError
from dynamap_async.models.fields import Absence, FieldPlan
from dynamap_async.schema import TableSchema
from dynamap_async.wire import AttributeValue, WireItem

M = TypeVar("M", bound=BaseModel)

_NULL: AttributeValue = {"NULL": True}
_SETS: Final[tuple[type[Any], ...]] = (set, frozenset)


class ItemCodec(Generic[M]):
    """Encodes and decodes the items of one model.

    A table of functions, then one validation of the whole page by Pydantic. An attribute whose stored form is not the
    expected one is decoded by its own type and left for Pydantic to judge.
    """

    def __init__(self, model: type[M], fields: Sequence[FieldPlan], table: TableSchema | None) -> None:
        self._model = model
        self._fields = tuple(fields)
        self._encoders = [(field.name, field.stored, field.converter.encode, field) for field in fields]
        self._decoders = {field.stored: (field.name, field.decode) for field in fields}
        self._empty_sets = frozenset(field.stored for field in fields if field.null_reads_as_empty_set)
        self._fill = [(field.name, field.stored) for field in fields if field.required and _reads_absent(field)]
        self._extras = model.model_config.get("extra") in ("allow", "forbid")
        self._keeps_extras = model.model_config.get("extra") == "allow"
        self._key_checks = _key_checks(table)
        self._page: TypeAdapter[list[M]] | None = None
        self._key_names = table.keys.names if table is not None else ()

    def encode(self, item: M) -> WireItem:
        """Return an instance in wire form, ready to be stored.

        Raises:
            EncodeError: a value cannot be stored; the error names the model and the field.
            ItemTooLargeError: the item is over 400 KB.
        """
        values = item.__dict__
        stored: WireItem = {}
        name = ""
        try:
            for name, attribute, encode, field in self._encoders:
                value = values[name]
                if value is None or (isinstance(value, _SETS) and not value and field.holds_set):
                    present = _stored_absent(field, value)
                    if present is not None:
                        stored[attribute] = present
                else:
                    stored[attribute] = encode(value)
            for attribute, check in self._key_checks:
                if attribute in stored:
                    name = self._decoders[attribute][0]
                    check_key_value(stored[attribute], check)
        except EncodeError as error:
            raise error.at(name, model=self._model.__name__) from error.__cause__
        except KeyError:
            raise EncodeError(
                "the instance has no value for this field; make it with the constructor, or set it", path=(name,)
            ).at(model=self._model.__name__) from None
        if self._keeps_extras:
            self._encode_extras(item, stored)
        check_item(stored, self._model.__name__)
        return stored

    def _encode_extras(self, item: M, stored: WireItem) -> None:
        for name, value in (item.__pydantic_extra__ or {}).items():
            if name in self._decoders:
                raise EncodeError(
                    f"the extra attribute has the stored name of the field {self._decoders[name][0]!r}", path=(name,)
                ).at(model=self._model.__name__)
            try:
                stored[name] = encode_any(value)
            except EncodeError as error:
                raise error.at(name, model=self._model.__name__) from error.__cause__

    def decode(self, items: Sequence[WireItem]) -> list[M]:
        """Return wire items as validated instances, in order.

        Raises:
            ItemValidationError: an item does not fit the model; the error carries those that do.
        """
        rows = [self._values(item) for item in items]
        if self._page is None:
            self._page = TypeAdapter(_list_of(self._model))
        try:
            page: list[M] = self._page.validator.validate_python(rows, by_name=True, by_alias=False)
        except ValidationError:
            return self._one_by_one(items, rows)
        return page

    def _values(self, item: WireItem) -> dict[str, Any]:
        """Return what Pydantic validates: field name -> value."""
        values: dict[str, Any] = {}
        decoders = self._decoders
        for attribute, stored in item.items():
            found = decoders.get(attribute)
            if found is None:
                if self._extras:
                    values[attribute] = decode_any(stored)
                continue
            name, decode = found
            try:
                values[name] = decode(stored)
            except MISFITS:
                values[name] = self._misfit(attribute, stored)
        for name, attribute in self._fill:
            if attribute not in item:
                values[name] = set() if attribute in self._empty_sets else None
        return values

    def _misfit(self, attribute: str, stored: AttributeValue) -> Any:
        if stored == _NULL:
            return set[Any]() if attribute in self._empty_sets else None
        try:
            return decode_any(stored)
        except DecodeError:
            return stored

    def _one_by_one(self, items: Sequence[WireItem], rows: Sequence[dict[str, Any]]) -> list[M]:
        validate = self._model.__pydantic_validator__.validate_python
        fitting: list[M] = []
        failures: list[ItemValidationError] = []
        for item, row in zip(items, rows, strict=True):
            try:
                fitting.append(validate(row, by_name=True, by_alias=False))
            except ValidationError as error:
                failures.append(self._failure(item, error))
        if not failures:
            return fitting
        raise ItemValidationError.of_call(failures, fitting)

    def _failure(self, item: WireItem, error: ValidationError) -> ItemValidationError:
        key: Mapping[str, Any] = {name: decode_any(item[name]) for name in self._key_names if name in item}
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
        return ItemValidationError(
            f"the stored item {dict(key)} does not fit {self._model.__name__}: {faults}",
            model=self._model.__name__,
            key=key,
            item=item,
            validation_error=error,
        )


def _list_of(model: type[Any]) -> Any:
    # Spelled out, because checkers take list[...] for an annotation, where a variable is no type.
    return GenericAlias(list, (model,))


def _reads_absent(field: FieldPlan) -> bool:
    return field.absence in (Absence.NONE, Absence.EMPTY_SET)


def _stored_absent(field: FieldPlan, value: object) -> AttributeValue | None:
    """Return how None or an empty set is stored; None where the attribute is left out.

    They are left out where absence reads back as the same value, so that sparse indexes just work.
    """
    if value is None:
        if not field.nullable:
            raise EncodeError(f"{field.converter.label} expected, got None")
        return None if field.absence is Absence.NONE else _NULL
    if field.absence is Absence.EMPTY_SET:
        return None
    # NULL reads back as an empty set unless it has to read back as None.
    return _NULL if field.null_reads_as_empty_set else {"L": []}


def _key_checks(table: TableSchema | None) -> list[tuple[str, Any]]:
    if table is None:
        return []
    checks: dict[tuple[str, str], None] = {}
    for keys in (table.keys, *(index.keys for index in table.indexes)):
        checks.update(dict.fromkeys((attribute.name, "partition") for attribute in keys.partition))
        checks.update(dict.fromkeys((attribute.name, "sort") for attribute in keys.sort))
    return list(checks)
