"""Key values as programs write them, and the keys made of them."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, Protocol, TypeAlias

from pydantic import SecretBytes, SecretStr

from dynamap_async.codec import KeyRole, check_key_value
from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.parts import Parts, key_values_of
from dynamap_async.wire import WireKey


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
        model: the model's name, for messages.
        fields: the key's fields, partition key first.
        values: one value for each.

    Raises:
        OperationError: there are too few or too many values.
        EncodeError: a value is of the wrong type, empty or too long.
    """
    values = key_values_of(model, fields, values)
    if len(values) != len(fields):
        shape = ", ".join(f"{field.name}: {field.converter.label}" for field in fields)
        raise OperationError(f"{model}'s key is ({shape}); got {', '.join(map(repr, values)) or 'nothing'}")
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
