"""Keys of one model by the thousand: made of what programs give, and read from items, by functions made once.

What is said here agrees with ``Definition.key`` and ``identity_of``; it only takes a shorter way to the same. A bulk
read spends a third of its time on keys otherwise (benchmarks: batch_get).
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from dynamap_async.codec import KeyRole, check_key_value, fits_keys
from dynamap_async.errors import DynamapError, EncodeError
from dynamap_async.models.fields import FieldPlan
from dynamap_async.request import canonical, identity_of
from dynamap_async.schema import KeyAttribute
from dynamap_async.wire import AttributeValue, WireKey

Place = Callable[[Any], Hashable]
Identity = Callable[[str, Any], str]


class PlainKeys:
    """The keys of one model's items."""

    def __init__(
        self,
        attributes: Sequence[KeyAttribute],
        fields: Sequence[FieldPlan],
        key: Callable[[Sequence[Any]], WireKey],
        *,
        as_given: bool,
    ) -> None:
        """Make the functions.

        Args:
            attributes: those of the table's key.
            fields: the fields that they are, in the same order.
            key: makes the key of any values.
            as_given: whether the stored key is nothing else than the encoded values, one for each field.
        """
        self._key: Final = key
        self._encoders: Final = [(field.stored, _key_encoder(field, number)) for number, field in enumerate(fields)]
        self._names: Final = tuple(each.name for each in attributes)
        self.fields: Final = tuple(field.name for field in fields)
        """The names of the key's fields."""
        self._as_given: Final = as_given
        self.place: Final[Place] = _place(attributes)
        """Item or key in wire form -> what is equal for equal keys, and only for those. KeyError and others if it has
        no such key."""
        self.identity: Final[Identity] = _identity(attributes)
        """Full name of the table, and item or key in wire form -> the identity; see ``identity_of``."""

    def of(self, item: Mapping[str, AttributeValue]) -> WireKey:
        """Return the key of an item in wire form."""
        return {name: item[name] for name in self._names}

    def made(self, values: Sequence[Any]) -> WireKey | None:
        """Return the key of values; None where they make none."""
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
    """Return the encoder of a part of a key, which checks what it makes."""
    encode = field.converter.encode
    role: KeyRole = "sort" if number else "partition"
    if fits_keys(field.converter):
        return encode

    def encode_and_check(value: Any) -> AttributeValue:
        stored = encode(value)
        # So many characters have at most 1,024 bytes, which any part of a key may have.
        if not 0 < len(stored.get("S", "")) <= 256:
            check_key_value(stored, role)
        return stored

    return encode_and_check


def _place(attributes: Sequence[KeyAttribute]) -> Place:
    names = [each.name for each in attributes]
    types = [each.type for each in attributes]
    if types == ["S"]:
        [only] = names
        return lambda item: item[only]["S"]
    if types == ["S", "S"]:
        first, second = names
        return lambda item: (item[first]["S"], item[second]["S"])
    parts = [(each.name, each.type) for each in attributes]

    def of_any(item: Any) -> Hashable:
        return tuple([canonical(kind, item[name][kind]) for name, kind in parts])

    return of_any


def _identity(attributes: Sequence[KeyAttribute]) -> Identity:
    names = [each.name for each in attributes]
    if [each.type for each in attributes] == ["S", "S"]:
        first, second = names

        def of_texts(table: str, item: Any) -> str:
            partition, sort = item[first]["S"], item[second]["S"]
            return f"{table}\0{len(partition) + 1}:S{partition}\0{len(sort) + 1}:S{sort}"

        return of_texts
    return lambda table, item: identity_of(table, {name: item[name] for name in names})
