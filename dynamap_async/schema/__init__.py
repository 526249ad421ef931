"""Keys, indexes, projections and tables, without Pydantic and without I/O."""

from __future__ import annotations

from dynamap_async.config import Throughput
from dynamap_async.schema.indexes import ALL, KEYS_ONLY, IndexKind, IndexSchema, Projection, include
from dynamap_async.schema.keys import KeyAttribute, KeySchema
from dynamap_async.schema.table import TableSchema

__all__ = [
    "ALL",
    "KEYS_ONLY",
    "IndexKind",
    "IndexSchema",
    "KeyAttribute",
    "KeySchema",
    "Projection",
    "TableSchema",
    "Throughput",
    "include",
]
