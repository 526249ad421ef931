"""Pydantic classes -> fields, keys and converters. Models do no I/O; the session does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names
from dynamap_async.models.model import Model, ModelMeta, definition_of, fields, no_model, to_wire

if TYPE_CHECKING:
    from dynamap_async.models.annotations import bare, name_of, without_none
    from dynamap_async.models.assigned import has_value
    from dynamap_async.models.callers import warn_caller
    from dynamap_async.models.compiler import RoundTripWarning
    from dynamap_async.models.conversions import decoder_for, fits
    from dynamap_async.models.definition import Definition, IndexMembers
    from dynamap_async.models.derived import DerivedField, computed_attr
    from dynamap_async.models.encoders import stored_empty
    from dynamap_async.models.fields import FieldPlan
    from dynamap_async.models.hooks import (
        AfterRead,
        AfterWrite,
        BeforeWrite,
        Hooks,
        WriteKind,
        after_read,
        after_write,
        before_write,
        compare_computed,
    )
    from dynamap_async.models.indexes import GlobalIndex, Index, LocalIndex
    from dynamap_async.models.instances import give, take_over
    from dynamap_async.models.items import faults_of
    from dynamap_async.models.keys.computed import Computed
    from dynamap_async.models.keys.key import Key, KeyValue, Parts, key_from_values
    from dynamap_async.models.keys.periods import Calendar, Periods
    from dynamap_async.models.keys.shards import Sharding
    from dynamap_async.models.markers import (
        Attr,
        PartitionKey,
        Role,
        Shards,
        SortKey,
        TimeToLive,
        Version,
        attr,
        template,
    )
    from dynamap_async.models.own_init import for_own_init
    from dynamap_async.models.path_types import (
        is_frozen,
        left_out_at,
        must_be_there,
        start_number,
        validated,
        validated_members,
    )
    from dynamap_async.models.same_table import SharedTableWarning
    from dynamap_async.models.sharing.key_shapes import AttributeShape
    from dynamap_async.models.sharing.kinds import Kinds, decode_mixed, kind_error
    from dynamap_async.models.sharing.table import BY_KEYS, UNMARKED, ByKeys, Kind, Prefix, Table, Unmarked
    from dynamap_async.models.state import forget, is_remembered, is_whole, remember, remember_texts
    from dynamap_async.models.stored_values import (
        REMOVED,
        Changes,
        Known,
        Removed,
        changed,
        changes,
        difference,
        key_of_item,
        known,
        older_item,
        stored_as_read,
        stored_otherwise,
    )
    from dynamap_async.models.uniques import Unique, UniqueFields, key_text

__all__ = [
    "BY_KEYS",
    "REMOVED",
    "UNMARKED",
    "AfterRead",
    "AfterWrite",
    "Attr",
    "AttributeShape",
    "BeforeWrite",
    "ByKeys",
    "Calendar",
    "Changes",
    "Computed",
    "Definition",
    "DerivedField",
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
    "SharedTableWarning",
    "SortKey",
    "Table",
    "TimeToLive",
    "Unique",
    "UniqueFields",
    "Unmarked",
    "Version",
    "WriteKind",
    "after_read",
    "after_write",
    "attr",
    "bare",
    "before_write",
    "changed",
    "changes",
    "compare_computed",
    "computed_attr",
    "decode_mixed",
    "decoder_for",
    "definition_of",
    "difference",
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
    "key_of_item",
    "key_text",
    "kind_error",
    "known",
    "left_out_at",
    "must_be_there",
    "name_of",
    "no_model",
    "older_item",
    "remember",
    "remember_texts",
    "start_number",
    "stored_as_read",
    "stored_empty",
    "stored_otherwise",
    "take_over",
    "template",
    "to_wire",
    "validated",
    "validated_members",
    "warn_caller",
    "without_none",
]

_HOMES: Final = {
    "annotations": "bare name_of without_none",
    "assigned": "has_value",
    "callers": "warn_caller",
    "compiler": "RoundTripWarning",
    "conversions": "decoder_for fits",
    "definition": "Definition IndexMembers",
    "derived": "DerivedField computed_attr",
    "encoders": "stored_empty",
    "fields": "FieldPlan",
    "hooks": "AfterRead AfterWrite BeforeWrite Hooks WriteKind after_read after_write before_write compare_computed",
    "indexes": "GlobalIndex Index LocalIndex",
    "instances": "give take_over",
    "items": "faults_of",
    "keys.computed": "Computed",
    "keys.key": "Key KeyValue Parts key_from_values",
    "keys.periods": "Calendar Periods",
    "keys.shards": "Sharding",
    "markers": "Attr PartitionKey Role Shards SortKey TimeToLive Version attr template",
    "own_init": "for_own_init",
    "path_types": "is_frozen left_out_at must_be_there start_number validated validated_members",
    "sharing.key_shapes": "AttributeShape",
    "sharing.kinds": "Kinds decode_mixed kind_error",
    "same_table": "SharedTableWarning",
    "sharing.table": "BY_KEYS UNMARKED ByKeys Kind Prefix Table Unmarked",
    "state": "forget is_remembered is_whole remember remember_texts",
    "stored_values": "REMOVED Changes Known Removed changed changes difference key_of_item known older_item "
    "stored_as_read stored_otherwise",
    "uniques": "Unique UniqueFields key_text",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
