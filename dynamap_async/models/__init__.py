"""Pydantic classes -> fields, keys and converters. Models do no I/O; the session does."""

from __future__ import annotations

from dynamap_async.models.annotations import bare, name_of, without_none
from dynamap_async.models.assigned import has_value
from dynamap_async.models.callers import warn_caller
from dynamap_async.models.compiler import RoundTripWarning
from dynamap_async.models.conversions import decoder_for, fits
from dynamap_async.models.definition import Definition, IndexMembers
from dynamap_async.models.encoders import stored_empty
from dynamap_async.models.fields import Absence, FieldPlan
from dynamap_async.models.hooks import AfterRead, BeforeWrite, Hooks, WriteKind, after_read, before_write
from dynamap_async.models.indexes import GlobalIndex, Index, LocalIndex
from dynamap_async.models.instances import give, take_over
from dynamap_async.models.items import faults_of
from dynamap_async.models.keys.computed import Computed
from dynamap_async.models.keys.key import Key, KeyValue, Parts, key_from_values
from dynamap_async.models.keys.periods import Calendar, Periods
from dynamap_async.models.keys.shards import Sharding
from dynamap_async.models.markers import Attr, PartitionKey, Role, Shards, SortKey, TimeToLive, Version, attr, template
from dynamap_async.models.model import Model, ModelMeta, definition_of, fields, to_wire
from dynamap_async.models.own_init import for_own_init
from dynamap_async.models.path_types import (
    drops_empty,
    is_frozen,
    must_be_there,
    start_number,
    validated,
    validated_members,
)
from dynamap_async.models.settings import closest
from dynamap_async.models.sharing.key_shapes import AttributeShape
from dynamap_async.models.sharing.kinds import Kinds, decode_mixed, kind_error
from dynamap_async.models.sharing.table import BY_KEYS, UNMARKED, ByKeys, Kind, Prefix, Table, Unmarked
from dynamap_async.models.state import forget, is_remembered, is_whole, remember
from dynamap_async.models.stored_values import REMOVED, Changes, Known, Removed, changed, changes, difference, known
from dynamap_async.models.uniques import Unique, UniqueFields, key_text

__all__ = [
    "BY_KEYS",
    "REMOVED",
    "UNMARKED",
    "Absence",
    "AfterRead",
    "Attr",
    "AttributeShape",
    "BeforeWrite",
    "ByKeys",
    "Calendar",
    "Changes",
    "Computed",
    "Definition",
    "FieldPlan",
    "GlobalIndex",
    "Hooks",
    "Index",
    "IndexMembers",
    "Key",
    "KeyValue",
    "Kind",
    "Kinds",
    "Known",
    "LocalIndex",
    "Model",
    "ModelMeta",
    "PartitionKey",
    "Parts",
    "Periods",
    "Prefix",
    "Removed",
    "Role",
    "RoundTripWarning",
    "Sharding",
    "Shards",
    "SortKey",
    "Table",
    "TimeToLive",
    "Unique",
    "UniqueFields",
    "Unmarked",
    "Version",
    "WriteKind",
    "after_read",
    "attr",
    "bare",
    "before_write",
    "changed",
    "changes",
    "closest",
    "decode_mixed",
    "decoder_for",
    "definition_of",
    "difference",
    "drops_empty",
    "faults_of",
    "fields",
    "fits",
    "for_own_init",
    "forget",
    "give",
    "has_value",
    "is_frozen",
    "is_remembered",
    "is_whole",
    "key_from_values",
    "key_text",
    "kind_error",
    "known",
    "must_be_there",
    "name_of",
    "remember",
    "start_number",
    "stored_empty",
    "take_over",
    "template",
    "to_wire",
    "validated",
    "validated_members",
    "warn_caller",
    "without_none",
]
