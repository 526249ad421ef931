"""Keys of items: which attributes they are, how they compare, and into which partition they fall."""

import zlib
from base64 import b64decode
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from benchmarks.simulated.faults import invalid
from benchmarks.simulated.sizes import EXACT, Wire

Value = tuple[str, Any]
"""Type and comparable value of a key attribute."""
Key = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class KeySchema:
    """The names of a table's or an index's key attributes, partition key first."""

    names: tuple[str, ...]
    types: dict[str, str]
    """Name -> S, N or B."""

    def key(self, item: Wire) -> Key:
        """Return the key of an item, so that 1 and 1.0 are the same.

        Raises:
            ServiceError: an attribute is missing, or has another type.
        """
        values = []
        for name in self.names:
            value = item.get(name)
            if value is None:
                raise invalid(f"One of the required keys was not given a value: {name}")
            values.append(self.value(name, value))
        return tuple(values)

    def key_if_any(self, item: Wire) -> Key | None:
        """Return the key; None if the item lacks part of it, and so is not in the index."""
        return self.key(item) if all(name in item for name in self.names) else None

    def value(self, name: str, value: Wire) -> Value:
        """Return one value in comparable form."""
        ((tag, content),) = value.items()
        if tag != self.types[name]:
            raise invalid(f"Type mismatch for key {name} expected: {self.types[name]} actual: {tag}")
        if tag == "S":
            return tag, content
        return tag, Decimal(content) if tag == "N" else b64decode(content)

    def wire(self, item: Wire) -> dict[str, Any]:
        """Return the key attributes of an item, as they are stored."""
        return {name: item[name] for name in self.names}


def place(key: Key) -> int:
    """Return the hash that decides the partition."""
    tag, value = key[0]
    if tag == "N":
        value = format(EXACT.normalize(value), "f")
    return zlib.crc32(value if tag == "B" else value.encode())


def group_of(key: Key) -> str:
    """Return the beginning of a partition key's value, up to the first ``-``: who is counted together."""
    return str(key[0][1]).partition("-")[0]
