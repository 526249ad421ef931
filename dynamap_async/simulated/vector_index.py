"""Vector indexes: what they have of an item, and which of their vectors are nearest to another. Every one is compared.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/VectorSearch.Requirements.html
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from dynamap_async.simulated import numbers, wire
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.values import Item, Value, key_bytes, size_of, text_size

Distance: TypeAlias = Literal["COSINE", "EUCLIDEAN", "DOT_PRODUCT"]
_LARGEST: Final = 3.4028235e38
_FLOAT_BYTES: Final = 4


def _dot(one: Iterable[float], other: Iterable[float]) -> float:
    total: float = sum(map(operator.mul, one, other))
    return total


_product: Callable[[Iterable[float], Iterable[float]], float] = getattr(math, "sumprod", _dot)  # from Python 3.12 on


class Attribute(NamedTuple):
    """An attribute of a search schema."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """What a vector index has of an item."""

    partition: bytes
    """Its partition key; the same for all where the index has none."""
    vector: array[float]
    length: float
    """The Euclidean length of the vector."""
    filters: tuple[Value | None, ...]
    text: bytes
    """The JSON of the attributes that are projected, without the vector."""
    size: int
    """What it weighs: a vector has four bytes for each of its numbers."""


@dataclass(slots=True)
class VectorChange:
    """What a write does to a vector index."""

    index: VectorIndex
    key: bytes
    """Where the item stands in the table."""
    old: VectorEntry | None
    new: VectorEntry | None

    def store(self) -> None:
        """Store it."""
        if self.old is not None:
            self.index.remove(self.key, self.old)
        if self.new is not None:
            self.index.add(self.key, self.new)

    @property
    def size(self) -> int:
        """How many bytes it writes; 0 if it changes nothing."""
        if self.old is None or self.new is None:
            return sum(each.size for each in (self.old, self.new) if each is not None)
        if self.old == self.new:
            return 0
        return self.new.size + (self.old.size if self.old.partition != self.new.partition else 0)


@dataclass(slots=True, eq=False)
class VectorIndex:
    """A vector index of a table."""

    name: str
    attribute: str
    dimensions: int
    distance: Distance
    hash: Attribute | None
    """Its partition key."""
    filters: tuple[Attribute, ...]
    attributes: frozenset[str] | None
    """The attributes of its entries, besides the vector; None for all."""
    entries: dict[bytes, VectorEntry] = field(default_factory=dict[bytes, VectorEntry])
    """Where the item stands in the table -> its entry."""
    partitions: dict[bytes, dict[bytes, VectorEntry]] = field(default_factory=dict[bytes, dict[bytes, VectorEntry]])
    size: int = 0
    """The bytes of all entries."""
    status: str = "ACTIVE"
    """As that of another index."""

    def become(self, status: str) -> None:
        """Change the status."""
        self.status = status

    @property
    def schema(self) -> tuple[Attribute, ...]:
        """The attributes that a search can name."""
        return self.filters if self.hash is None else (self.hash, *self.filters)

    def admit(self, item: Item) -> None:
        """Check an item that is to be stored.

        Raises:
            Refused: its vector has another length, or is none; or an attribute of the search schema has another type.
        """
        for part in self.schema:
            value = item.get(part.name)
            if value is not None and part.type not in value:
                [actual] = value
                raise self._wrong(f"Attribute '{part.name}' type mismatch. Expected: {part.type}, Actual: {actual}.")
        if self.hash is not None and (value := item.get(self.hash.name)) is not None and "" in value.values():
            kind = "string" if "S" in value else "binary"
            raise invalid(
                "One or more parameter values are not valid. A value specified for a secondary index key is not "
                f"supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. "
                f"IndexName: {self.name}, IndexKey: {self.hash.name}"
            )
        if (given := item.get(self.attribute)) is None:
            return
        elements = given.get("L")
        if elements is None:
            raise self._wrong(
                f"Invalid type for parameter {self.attribute}, Expected: 32-bit floating point number list"
            )
        if len(elements) != self.dimensions:
            raise self._wrong(
                f"Invalid size for parameter {self.attribute}, Expected: {self.dimensions}, Actual: {len(elements)}"
            )
        if vector_of(elements) is not None:
            return
        for number, element in enumerate(elements):
            if "N" not in element:
                [actual] = element
                raise self._wrong(
                    f"Invalid type for parameter {self.attribute}[{number}], Expected: 32-bit floating point number, "
                    f"Actual: {actual}."
                )
            if abs(float(element["N"])) > _LARGEST:
                raise self._wrong(
                    f"Invalid value for parameter {self.attribute}[{number}], Value: {element['N']} is outside valid "
                    "range [-3.4028235E38, 3.4028235E38]."
                )

    def _wrong(self, text: str) -> Refused:
        return invalid(f"One or more parameter values were invalid. {text} IndexName: {self.name}")

    def change(self, key: bytes, item: Item | None) -> VectorChange:
        """Return what a write does to the index.

        Args:
            key: where the item stands in the table.
            item: the new item; None if it is removed.
        """
        return VectorChange(self, key, self.entries.get(key), None if item is None else self._entry(item))

    def _entry(self, item: Item) -> VectorEntry | None:
        """Return what the index has of an item; None if it is left out."""
        elements = item.get(self.attribute, {}).get("L")
        if elements is None or any(part.type not in item.get(part.name, {part.type: ""}) for part in self.schema):
            return None
        if self.hash is not None and self.hash.name not in item:
            return None
        if (found := vector_of(elements)) is None or len(found) != self.dimensions:
            return None
        kept = {
            name: value
            for name, value in item.items()
            if name != self.attribute and (self.attributes is None or name in self.attributes)
        }
        size = text_size(self.attribute) + _FLOAT_BYTES * self.dimensions
        size += sum(text_size(name) + size_of(value) for name, value in kept.items())
        return VectorEntry(
            b"" if self.hash is None else key_bytes(item[self.hash.name]),
            found,
            math.sqrt(_product(found, found)),
            tuple(item.get(part.name) for part in self.filters),
            wire.write(kept),
            size,
        )

    def add(self, key: bytes, entry: VectorEntry) -> None:
        """Store an entry at a position that is free."""
        self.entries[key] = entry
        self.partitions.setdefault(entry.partition, {})[key] = entry
        self.size += entry.size

    def remove(self, key: bytes, entry: VectorEntry) -> None:
        """Remove an entry."""
        del self.entries[key]
        of_partition = self.partitions[entry.partition]
        del of_partition[key]
        if not of_partition:
            del self.partitions[entry.partition]
        self.size -= entry.size

    def nearest(self, near: array[float], count: int, wanted: Mapping[str, Value]) -> tuple[list[Found], int]:
        """Return the nearest entries, the best one first, and how many bytes were compared.

        Args:
            near: the vector.
            count: how many to return.
            wanted: attribute of the search schema -> its value; the partition key is there, if the index has one.
        """
        partition = b"" if self.hash is None else key_bytes(wanted[self.hash.name])
        places = [(at, wanted[part.name]) for at, part in enumerate(self.filters) if part.name in wanted]
        measure, length = _MEASURES[self.distance], math.sqrt(_product(near, near))
        looked_at, found = 0, list[tuple[float, bytes, VectorEntry]]()
        for key, entry in self.partitions.get(partition, {}).items():
            looked_at += entry.size
            if all(entry.filters[at] == value for at, value in places):
                found.append((measure(near, length, entry), key[8:], entry))  # without the hash of the key
        best = nsmallest(count, found, key=lambda each: each[:2])
        sign = -1.0 if self.distance == "DOT_PRODUCT" else 1.0
        return [Found(sign * far, entry) for far, _key, entry in best], looked_at


class Found(NamedTuple):
    """An entry, and its score."""

    score: float
    entry: VectorEntry


def vector_of(elements: Iterable[Any]) -> array[float] | None:
    """Return the vector that a list of values is; None if one of them is no number of 32 bits."""
    try:
        found = [float(element["N"]) for element in elements]
    except (KeyError, TypeError):
        return None
    return None if max(map(abs, found), default=0.0) > _LARGEST else array("f", found)


def written_vector(vector: array[float]) -> Value:
    """Return a vector as a value: each number has the shortest text that gives the same 32 bits."""
    return {"L": [{"N": _shortest(each)} for each in vector]}


def _shortest(number: float) -> str:
    for digits in (6, 7, 8):  # fewer digits are what six are without zeros
        text = f"{number:.{digits}g}"
        if array("f", [float(text)])[0] == number:
            return numbers.canonical(text)
    return numbers.canonical(f"{number:.9g}")


def _cosine(near: array[float], length: float, entry: VectorEntry) -> float:
    product = length * entry.length
    if not product:
        return 1.0  # a vector of zeros has no direction
    return min(2.0, max(0.0, 1.0 - _product(near, entry.vector) / product))


def _euclidean(near: array[float], length: float, entry: VectorEntry) -> float:  # noqa: ARG001 - as all measures
    return math.dist(near, entry.vector)


def _dot_product(near: array[float], length: float, entry: VectorEntry) -> float:  # noqa: ARG001 - as all measures
    return -_product(near, entry.vector)


_MEASURES: Final[Mapping[str, Callable[[array[float], float, VectorEntry], float]]] = {
    "COSINE": _cosine,
    "EUCLIDEAN": _euclidean,
    "DOT_PRODUCT": _dot_product,
}
"""How far a vector is from an entry: the less, the nearer."""
