"""Secondary indexes as DynamoDB knows them, and what each of them holds."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from dynamap_async.config import Throughput
from dynamap_async.dataclass import dataclass
from dynamap_async.schema.keys import KeySchema
from dynamap_async.schema.on_demand import OnDemand

ProjectionType: TypeAlias = Literal["ALL", "KEYS_ONLY", "INCLUDE"]


@dataclass(frozen=True, slots=True)
class Projection:
    """Which attributes an index holds besides its own and the table's keys.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Projection.html
    """

    type: ProjectionType
    """``ALL``, ``KEYS_ONLY`` or ``INCLUDE``."""
    attributes: tuple[str, ...] = ()
    """The additional attributes of an INCLUDE projection."""

    def to_wire(self) -> dict[str, Any]:
        """Return the API's ``Projection`` object."""
        if self.type == "INCLUDE":
            return {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(self.attributes)}
        return {"ProjectionType": self.type}


ALL: Final = Projection("ALL")
"""The index holds every attribute."""

KEYS_ONLY: Final = Projection("KEYS_ONLY")
"""The index holds its own and the table's key attributes."""


def include(*fields: str) -> Projection:
    """Return a projection of the keys and some more attributes.

    Args:
        fields: names of the model's fields (not of stored attributes, where the two differ).
    """
    return Projection("INCLUDE", fields)


class IndexKind(Enum):
    """Local indexes share the table's partition key and capacity; global indexes have their own."""

    LOCAL = "local"
    GLOBAL = "global"

    @property
    def wire_name(self) -> str:
        """The member of CreateTable and DescribeTable that lists the indexes of the kind."""
        return f"{self.value.title()}SecondaryIndexes"

    @property
    def rank(self) -> int:
        """The order of preference among keys: the lowest is the best for a query; the table itself has 0."""
        return 1 if self is IndexKind.LOCAL else 2

    @property
    def shares_partition_key(self) -> bool:
        """Whether the partition key is that of the table."""
        return self is IndexKind.LOCAL

    @property
    def has_throughput(self) -> bool:
        """Whether an index of the kind has a capacity of its own."""
        return self is IndexKind.GLOBAL

    @property
    def has_status(self) -> bool:
        """Whether DynamoDB reports a status of each: indexes of this kind can be added to and deleted from a table."""
        return self is IndexKind.GLOBAL

    @property
    def reads_like_table(self) -> bool:
        """Whether reads may be strongly consistent, and fetch attributes that the index does not hold."""
        return self is IndexKind.LOCAL


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSchema:
    """One secondary index of a table."""

    name: str
    kind: IndexKind
    keys: KeySchema
    projection: Projection = ALL
    throughput: Throughput | None = None
    """Provisioned capacity of a global index; it counts only where the table is provisioned too."""
    on_demand: OnDemand | None = None
    """What bounds the throughput of a global index; it counts only where the table is on-demand."""
    replaces: str | None = None
    """The global index whose place it takes: that one is deleted once this one is built."""

    def to_wire(self, throughput: Throughput | None = None) -> dict[str, Any]:
        """Return the API's ``GlobalSecondaryIndex`` or ``LocalSecondaryIndex`` object.

        Args:
            throughput: the provisioned capacity of the table, which an index that declares none has too.
        """
        wire: dict[str, Any] = {
            "IndexName": self.name,
            "KeySchema": self.keys.to_wire(),
            "Projection": self.projection.to_wire(),
        }
        if throughput is not None and self.kind.has_throughput:
            wire["ProvisionedThroughput"] = (self.throughput or throughput).to_wire()
        elif self.on_demand is not None:
            wire |= self.on_demand.to_wire()
        return wire
