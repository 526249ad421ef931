"""Keys, indexes, projections and tables, without Pydantic and without I/O."""

from __future__ import annotations

from dynamap_async.config import Throughput
from dynamap_async.schema.indexes import ALL, KEYS_ONLY, IndexKind, IndexSchema, Projection, include
from dynamap_async.schema.keys import KeyAttribute, KeySchema
from dynamap_async.schema.on_demand import NEW_WARM, NO_MAXIMUM, OnDemand
from dynamap_async.schema.record_kinds import RecordKind
from dynamap_async.schema.table import (
    NAME_RULE,
    TABLE_RULE,
    TableSchema,
    check_attribute_names,
    check_schema,
    is_attribute_name,
    is_name,
    names_table,
)
from dynamap_async.schema.table_settings import (
    INSIGHTS_MODES,
    STREAM_VIEWS,
    TABLE_CLASSES,
    ContributorInsights,
    Encryption,
    InsightsMode,
    Recovery,
    StreamView,
    TableClass,
    TableSettings,
    check_tag_names,
    check_tags,
)

__all__ = [
    "ALL",
    "INSIGHTS_MODES",
    "KEYS_ONLY",
    "NAME_RULE",
    "NEW_WARM",
    "NO_MAXIMUM",
    "STREAM_VIEWS",
    "TABLE_CLASSES",
    "TABLE_RULE",
    "ContributorInsights",
    "Encryption",
    "IndexKind",
    "IndexSchema",
    "InsightsMode",
    "KeyAttribute",
    "KeySchema",
    "OnDemand",
    "Projection",
    "RecordKind",
    "Recovery",
    "StreamView",
    "TableClass",
    "TableSchema",
    "TableSettings",
    "Throughput",
    "check_attribute_names",
    "check_schema",
    "check_tag_names",
    "check_tags",
    "include",
    "is_attribute_name",
    "is_name",
    "names_table",
]
