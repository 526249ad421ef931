"""Pydantic classes -> fields, keys and converters. Models do no I/O; the session does."""

from dynamap_async.models.compiler import RoundTripWarning
from dynamap_async.models.definition import Definition
from dynamap_async.models.fields import Absence, FieldPlan
from dynamap_async.models.hooks import AfterRead, BeforeWrite, Hooks, WriteKind, after_read, before_write
from dynamap_async.models.indexes import GlobalIndex, Index, LocalIndex
from dynamap_async.models.instances import give
from dynamap_async.models.keys import Key, KeyValue
from dynamap_async.models.markers import Attr, PartitionKey, Role, SortKey, TimeToLive, Version, attr
from dynamap_async.models.model import Model, ModelMeta, definition_of, fields

__all__ = [
    "Absence",
    "AfterRead",
    "Attr",
    "BeforeWrite",
    "Definition",
    "FieldPlan",
    "GlobalIndex",
    "Hooks",
    "Index",
    "Key",
    "KeyValue",
    "LocalIndex",
    "Model",
    "ModelMeta",
    "PartitionKey",
    "Role",
    "RoundTripWarning",
    "SortKey",
    "TimeToLive",
    "Version",
    "WriteKind",
    "after_read",
    "attr",
    "before_write",
    "definition_of",
    "fields",
    "give",
]
