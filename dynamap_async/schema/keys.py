"""Key attributes and key schemas: what identifies an item and what orders it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from dynamap_async.dataclass import dataclass
from dynamap_async.wire import AttributeValue, KeyTag, WireKey


@dataclass(frozen=True, slots=True)
class KeyAttribute:
    """One attribute of a key."""

    name: str
    """The stored attribute's name."""
    type: KeyTag
    """Its stored type; a key holds text, a number or binary data, nothing else."""


@dataclass(frozen=True)  # without slots, for what is worked out once
class KeySchema:
    """The partition and sort key of a table or an index.

    Tables and local indexes have one partition key attribute and at most one sort key attribute; a global index may
    have up to four of each.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.DesignPattern.MultiAttributeKeys.html
    """

    partition: tuple[KeyAttribute, ...]
    sort: tuple[KeyAttribute, ...] = ()

    @cached_property
    def attributes(self) -> tuple[KeyAttribute, ...]:
        """All key attributes, partition key first, in schema order."""
        return self.partition + self.sort

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The stored names of all key attributes, in schema order."""
        return tuple(attribute.name for attribute in self.attributes)

    def key_of(self, item: Mapping[str, AttributeValue]) -> WireKey:
        """Return the key attributes of a wire item; raises KeyError if one is absent."""
        return {name: item[name] for name in self.names}

    def to_wire(self) -> list[dict[str, str]]:
        """Return the API's ``KeySchema`` list: partition key (HASH) first, then sort key (RANGE)."""
        return [
            *({"AttributeName": attribute.name, "KeyType": "HASH"} for attribute in self.partition),
            *({"AttributeName": attribute.name, "KeyType": "RANGE"} for attribute in self.sort),
        ]

    @classmethod
    def from_wire(cls, schema: list[dict[str, str]], types: Mapping[str, Any]) -> KeySchema:
        """Read the API's ``KeySchema`` list, with the table's attribute types by name."""
        roles: dict[str, list[KeyAttribute]] = {"HASH": [], "RANGE": []}
        for element in schema:
            name = element["AttributeName"]
            roles[element["KeyType"]].append(KeyAttribute(name, types[name]))
        return cls(tuple(roles["HASH"]), tuple(roles["RANGE"]))
