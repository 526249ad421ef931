"""A table as DynamoDB knows it: keys, indexes and time to live, without any model."""

from __future__ import annotations

from dataclasses import replace

from dynamap_async.config import Throughput
from dynamap_async.dataclass import dataclass
from dynamap_async.schema.indexes import IndexKind, IndexSchema
from dynamap_async.schema.keys import KeySchema
from dynamap_async.schema.on_demand import OnDemand
from dynamap_async.schema.table_settings import TableSettings
from dynamap_async.wire import KeyTag


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The declared form of one table."""

    name: str
    keys: KeySchema
    indexes: tuple[IndexSchema, ...] = ()
    ttl_attribute: str | None = None
    """Stored name of the attribute that holds the expiry time."""
    throughput: Throughput | None = None
    """Provisioned capacity; None makes an on-demand table."""
    settings: TableSettings = TableSettings()
    """What else it has."""

    def index(self, name: str) -> IndexSchema:
        """Return the index of that name; raises KeyError if there is none."""
        for index in self.indexes:
            if index.name == name:
                return index
        raise KeyError(name)

    @property
    def on_demand(self) -> OnDemand | None:
        """What bounds its throughput where it is declared to be on-demand; None where that is not said."""
        billing = self.settings.billing
        return billing if isinstance(billing, OnDemand) else None

    @property
    def local_indexes(self) -> tuple[IndexSchema, ...]:
        """The indexes that share the table's partition key."""
        return self.indexes_of(IndexKind.LOCAL)

    @property
    def global_indexes(self) -> tuple[IndexSchema, ...]:
        """The indexes with a partition key of their own."""
        return self.indexes_of(IndexKind.GLOBAL)

    def indexes_of(self, kind: IndexKind) -> tuple[IndexSchema, ...]:
        """Return the indexes of a kind."""
        return tuple(index for index in self.indexes if index.kind is kind)

    @property
    def attribute_types(self) -> dict[str, KeyTag]:
        """Stored name -> stored type of every attribute that is part of a key of the table or of an index."""
        schemas = (self.keys, *(index.keys for index in self.indexes))
        return {attribute.name: attribute.type for schema in schemas for attribute in schema.attributes}

    def projects(self, index: IndexSchema, attribute: str) -> bool:
        """Return whether the index holds the attribute."""
        return (
            index.projection.type == "ALL"
            or attribute in index.projection.attributes
            or attribute in index.keys.names
            or attribute in self.keys.names
        )

    def named(self, name: str) -> TableSchema:
        """Return the same table under another name."""
        return self if name == self.name else replace(self, name=name)
