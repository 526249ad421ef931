"""The encoders of one model's fields: the values of an instance to attributes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from dynamap_async import codec
from dynamap_async.codec import Absence, FieldEncoding
from dynamap_async.errors import EncodeError
from dynamap_async.models.fields import FieldPlan
from dynamap_async.wire import AttributeValue, WireItem

if TYPE_CHECKING:
    from dynamap_async.codec import NativeEncode

_NULL: Final[AttributeValue] = {"NULL": True}
_SETS: Final[tuple[type[Any], ...]] = (set, frozenset)

Encode: TypeAlias = Callable[[Any], AttributeValue | None]
"""Value -> how it is stored, None where it is left out; raises EncodeError."""


class FieldEncoders:
    """Encodes the values of one model's fields."""

    def __init__(self, model: str, fields: Sequence[FieldPlan]) -> None:
        """Make the encoders of a model's fields.

        Args:
            model: the name of the class, for messages.
            fields: its fields.
        """
        self._model = model
        stored = [field for field in fields if field.is_stored]
        self._members = [(field.name, field.stored, _encoder(field)) for field in stored]
        self._encodings = [
            _encoding(field, encode) for field, (_, _, encode) in zip(stored, self._members, strict=True)
        ]

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[str, Encode]]:
        return {name: (stored, encode) for name, stored, encode in self._members}

    def native(self, *, marker: WireItem, kept: Collection[str]) -> NativeEncode | None:
        """Return the function that encodes all fields to JSON; see ``native_encoder``."""
        return codec.native_encoder(self._encodings, marker=marker, kept=kept)

    def encode(self, values: Mapping[str, Any]) -> WireItem:
        """Return the attributes of all fields.

        Raises:
            EncodeError: a value is missing or cannot be stored; the error names the model and the field.
        """
        return self._encoded(self._members, values)

    def _encoded(self, members: Sequence[tuple[str, str, Encode]], values: Mapping[str, Any]) -> WireItem:
        found: WireItem = {}
        name = ""
        try:
            for name, stored, encode in members:
                value = encode(values[name])
                if value is not None:
                    found[stored] = value
        except EncodeError as error:
            raise error.at(name, model=self._model) from error.__cause__
        except (KeyError, RecursionError) as error:
            raise self._unusable(values, name, error) from None
        return found

    def present(self, values: Mapping[str, Any]) -> WireItem:
        """Return the attributes of those fields that have a value.

        Raises:
            EncodeError: a value cannot be stored; the error names the model and the field.
        """
        return self._encoded([member for member in self._members if member[0] in values], values)

    def with_zoneless(self, values: Mapping[str, Any], texts: Callable[[str], Callable[[str], str | None]]) -> WireItem:
        """Return the attributes of those fields that have a value, of which some times may have no zone.

        Args:
            values: name -> value.
            texts: stored name of a field -> what gives the text of such a time as it may be stored; see ``ZONELESS``.

        Raises:
            EncodeError: a value cannot be stored; the error names the model and the field.
        """
        found: WireItem = {}
        for name, stored, _ in self._members:
            if name in values:
                token = codec.ZONELESS.set(texts(stored))
                try:
                    found.update(self.present({name: values[name]}))
                finally:
                    codec.ZONELESS.reset(token)
        return found

    def one(self, name: str, value: Any) -> WireItem:
        """Return the attribute of one field that is stored: none if it is left out.

        Raises:
            EncodeError: the value cannot be stored.
        """
        stored, encode = self._by_name[name]
        found = encode(value)
        return {} if found is None else {stored: found}

    def _unusable(self, values: Mapping[str, Any], name: str, error: Exception) -> Exception:
        if isinstance(error, RecursionError):
            problem = "the value contains itself, or is nested too deep; DynamoDB stores 32 levels"
        elif name in values:
            return error
        else:
            problem = "the instance has no value for this field; make it with the constructor, or set it"
        return EncodeError(problem).at(name, model=self._model)


def stored_empty(field: FieldPlan, value: object) -> AttributeValue | None:
    """Return how None or an empty set is stored; None where the attribute is left out.

    They are left out where absence reads back as the same value, so that sparse indexes just work.
    """
    if value is None:
        if not field.nullable:
            raise EncodeError(f"{field.converter.label} expected, got None")
        return None if field.absence is Absence.NONE else _NULL
    if field.set_type is None:
        return field.converter.encode(value)
    if field.absence is Absence.EMPTY_SET:
        return None
    # Where NULL has to read back as None, an empty list stands for the empty set.
    return _NULL if field.null_reads_as_empty_set else {"L": []}


def _encoding(field: FieldPlan, encode: Encode) -> FieldEncoding:
    """Return how a field is encoded together with all others."""
    may_be_left_out = encode is not field.converter.encode
    return FieldEncoding(
        field.name,
        field.stored,
        field.converter,
        encode if may_be_left_out else None,
        nullable=field.nullable and not field.holds_set,
        none=stored_empty(field, None) if field.nullable else None,
    )


def _encoder(field: FieldPlan) -> Encode:
    """Return the encoder of a field; None and empty sets are left out, or stored, as ``stored_empty`` says."""
    encode_value = field.converter.encode

    def encode_set(value: Any) -> AttributeValue | None:
        if value is None or (isinstance(value, _SETS) and not value):
            return stored_empty(field, cast("object", value))
        return encode_value(value)

    def encode_nullable(value: object) -> AttributeValue | None:
        return stored_empty(field, None) if value is None else encode_value(value)

    # A field without None and sets among its values needs no look at the value.
    encode = encode_set if field.holds_set else encode_nullable if field.nullable else encode_value
    return codec.unless_missing(encode) if field.absence is Absence.MISSING else encode
