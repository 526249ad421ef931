"""Key values as programs write them, and the keys made of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, Protocol, TypeAlias

from pydantic import SecretBytes, SecretStr

from dynamap_async.codec import KeyRole, check_key_value, encode_text, fits_keys
from dynamap_async.errors import DynamapError, EncodeError, OperationError
from dynamap_async.limits import SORT_KEY_BYTES
from dynamap_async.models.fields import FieldPlan
from dynamap_async.native import JSON_ITEM
from dynamap_async.request import canonical
from dynamap_async.schema import KeyAttribute
from dynamap_async.wire import AttributeValue, WireKey

_UNTOLD: Final = object()


class Parts:
    """The parts of a key, by field name, wherever a key value is taken: ``get(Store, Parts(country="GB", id=7))``.

    In place of the partition key's value alone it tells the whole key. Beside other values it tells the one in its
    place.

    Args:
        values: field name -> value, for all fields that the key is made of.
    """

    __slots__ = ("values",)

    def __init__(self, **values: Any) -> None:
        self.values: Mapping[str, Any] = values

    def __repr__(self) -> str:
        return f"Parts({', '.join(f'{name}={value!r}' for name, value in self.values.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parts) and self.values == other.values

    def __hash__(self) -> int:
        return hash(frozenset(self.values.items()))


def key_values_of(model: str, fields: Sequence[FieldPlan], values: Sequence[Any]) -> Sequence[Any]:
    """Return a value for each field of a key, some or all of which may be given by their parts.

    Args:
        model: the model's name, for messages.
        fields: the key's fields, partition key first.

    Raises:
        OperationError: a part is missing, or none of the key.
        EncodeError: a part does not fit.
    """
    if not any([isinstance(value, Parts) for value in values]):  # noqa: C419 - a list is faster, and this is hot
        return values
    if len(values) == 1 and isinstance(values[0], Parts):
        return _told(model, fields, values[0])
    if len(values) != len(fields):
        return values  # too many or too few: the caller says so
    return [
        _told(model, (field,), value)[0] if isinstance(value, Parts) else value
        for field, value in zip(fields, values, strict=True)
    ]


def _told(model: str, fields: Sequence[FieldPlan], parts: Parts) -> list[Any]:
    known = dict.fromkeys(name for field in fields for name in (*_names(field), field.name))
    unknown = [name for name in parts.values if name not in known]
    if unknown:
        raise OperationError(f"{unknown[0]!r} is not part of the key of {model}, which is made of {_listed(fields)}")
    found = [_value(model, field, parts.values) for field in fields]
    if any(value is _UNTOLD for value in found):
        told = ", ".join(name for name, value in parts.values.items() if value is not None) or "nothing"
        raise OperationError(f"the key of {model} is made of {_listed(fields)}; {parts!r} gives only {told}")
    return found


def _value(model: str, field: FieldPlan, values: Mapping[str, Any]) -> Any:
    if field.name in values:
        return values[field.name]
    if field.template is None or any(values.get(name) is None for name in field.template.names):
        return _UNTOLD
    try:
        return field.template.build(values)
    except EncodeError as error:
        raise error.at(model=model) from error.__cause__


def _names(field: FieldPlan) -> Iterable[str]:
    return (field.name,) if field.template is None else field.template.names


def _listed(fields: Sequence[FieldPlan]) -> str:
    return ", ".join(dict.fromkeys(name for field in fields for name in _names(field))) or fields[0].name


class Ordered(Protocol):
    """A value of a class whose instances have an order and a hash, as those of most types have that identify things."""

    def __lt__(self, other: Any, /) -> bool: ...
    def __hash__(self) -> int: ...


KeyValue: TypeAlias = Ordered | Enum | SecretStr | SecretBytes | Parts
"""A value of a key attribute, or the parts of a templated one. Neither None, nor a list or dict, is one."""

Key: TypeAlias = KeyValue | tuple[KeyValue, KeyValue]
"""A whole key: the partition key's value, or both values."""


def key_from_values(model: str, fields: Sequence[FieldPlan], values: Sequence[Any]) -> WireKey:
    """Return the wire key that the values make.

    Args:
        fields: the key's fields, partition key first.

    Raises:
        OperationError: there are too few or too many values.
        EncodeError: a value is of the wrong type, empty or too long.
    """
    values = key_values_of(model, fields, values)
    if len(values) != len(fields):
        shape = ", ".join(f"{field.name}: {field.converter.label}" for field in fields)
        raise OperationError(f"the key of {model} is ({shape}); got {', '.join(map(repr, values)) or 'nothing'}")
    key: WireKey = {}
    role: KeyRole = "partition"
    for field, value in zip(fields, values, strict=True):
        try:
            stored = key[field.stored] = field.converter.encode(value)
            check_key_value(stored, role)
        except EncodeError as error:
            raise error.at(field.name, model=model) from error.__cause__
        role = "sort"
    return key


HashableKey = Callable[[Any], Hashable]
Identity = Callable[[str, Any], str]


class PlainKeys:
    """The functions that return the keys of one model's items.

    Args:
        attributes: those of the table's key.
        fields: the fields that they are, in the same order.
        key: makes the key of any values.
        as_given: whether the stored key is nothing else than the encoded values, one for each field.
    """

    def __init__(
        self,
        attributes: Sequence[KeyAttribute],
        fields: Sequence[FieldPlan],
        key: Callable[[Sequence[Any]], WireKey],
        *,
        as_given: bool,
    ) -> None:
        self._key: Final = key
        self._encoders: Final = [(field.stored, _key_encoder(field, number)) for number, field in enumerate(fields)]
        self._names: Final = tuple(each.name for each in attributes)
        self.fields: Final = tuple(field.name for field in fields)
        """The names of the key's fields."""
        self._as_given: Final = as_given
        self.hashable: Final[HashableKey] = _hashable(attributes)
        """Item or key in wire form -> what is equal for equal keys, and only for those. KeyError and others if it has
        no such key."""
        self.identity: Final[Identity] = _identity(attributes)
        """Full name of the table, and item or key in wire form -> the identity; see ``identity_of``."""

    def of(self, item: Mapping[str, AttributeValue]) -> WireKey:
        """Return the key of an item in wire form."""
        return {name: item[name] for name in self._names}

    def made(self, values: Sequence[Any]) -> WireKey | None:
        """Return the key of values; None if they make none."""
        if not self._as_given or len(values) != len(self._encoders):
            return self._looked_at(values)
        try:
            if len(values) == 2:  # as most have, without a loop that takes a fifth of it (benchmarks: batch_get)
                (first, encode_first), (second, encode_second) = self._encoders
                return {first: encode_first(values[0]), second: encode_second(values[1])}
            return {name: encode(value) for (name, encode), value in zip(self._encoders, values, strict=True)}
        except EncodeError:
            return self._looked_at(values)

    def _looked_at(self, values: Sequence[Any]) -> WireKey | None:
        try:
            return self._key(values)
        except DynamapError:
            return None


def _key_encoder(field: FieldPlan, number: int) -> Callable[[Any], AttributeValue]:
    """Return the encoder of a part of a key, which checks its result."""
    encode = field.converter.encode
    role: KeyRole = "sort" if number else "partition"
    if fits_keys(field.converter):
        return encode
    is_text = encode is encode_text

    def encode_and_check(value: Any) -> AttributeValue:
        # ASCII of this length fits a sort key and a partition key, so the bytes need not be counted.
        if is_text and type(value) is str and 0 < len(value) <= SORT_KEY_BYTES and value.isascii():
            return {"S": value}
        stored = encode(value)
        check_key_value(stored, role)
        return stored

    return encode_and_check


def _hashable(attributes: Sequence[KeyAttribute]) -> HashableKey:
    names = [each.name for each in attributes]
    types = [each.type for each in attributes]
    if types == ["S"]:
        [only] = names
        return lambda item: item[only]["S"]
    if types == ["S", "S"]:
        first, second = pair = tuple(names)

        def of_texts(item: Any) -> Hashable:
            return item.texts(pair) if type(item) is JSON_ITEM else (item[first]["S"], item[second]["S"])

        return of_texts
    parts = [(each.name, each.type) for each in attributes]

    def of_any(item: Any) -> Hashable:
        # Canonical, because 1 and 1.0 are one key to DynamoDB.
        return tuple([canonical(kind, item[name][kind]) for name, kind in parts])

    return of_any


def _identity(attributes: Sequence[KeyAttribute]) -> Identity:
    names = [each.name for each in attributes]
    if [each.type for each in attributes] == ["S", "S"]:
        first, second = names

        def identity_of_texts(table: str, item: Any) -> str:
            partition, sort = item[first]["S"], item[second]["S"]
            # Each value with its length, as no separator keeps ("ab", "c") from ("a", "bc").
            return f"{table}\0{len(partition) + 1}:S{partition}\0{len(sort) + 1}:S{sort}"

        return identity_of_texts
    parts = [(each.name, each.type) for each in attributes]

    def identity_of_any(table: str, item: Any) -> str:
        identity = table
        for name, kind in parts:
            part = canonical(kind, item[name][kind])
            identity += f"\0{len(part)}:{part}"
        return identity

    return identity_of_any
