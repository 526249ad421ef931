"""How queries are planned: from what is asked to requests, pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.planning.context import (
        Context,
        TableNames,
        checked_model,
        own_path,
        positive,
        stored_path,
        table_names,
    )
    from dynamap_async.planning.existence import is_expired, not_stored
    from dynamap_async.planning.periods import check_number_of_queries, with_missing_table_note
    from dynamap_async.planning.plan import Plan
    from dynamap_async.planning.plan_cache import plan_reading
    from dynamap_async.planning.read_spec import ReadSpec
    from dynamap_async.planning.reading import Reading, without_proved
    from dynamap_async.planning.result_items import (
        Grouped,
        Invalid,
        InvalidItem,
        Unknown,
        UnknownItem,
    )
    from dynamap_async.planning.shards import stored_condition, stored_conditions
    from dynamap_async.planning.shared_tables import (
        both_filters,
        check_written_by_key,
        checked_collection,
        own_conditions,
        own_kind_conditions,
        subclass_definitions,
    )

__all__ = [
    "Context",
    "Grouped",
    "Invalid",
    "InvalidItem",
    "Plan",
    "ReadSpec",
    "Reading",
    "TableNames",
    "Unknown",
    "UnknownItem",
    "both_filters",
    "check_number_of_queries",
    "check_written_by_key",
    "checked_collection",
    "checked_model",
    "is_expired",
    "not_stored",
    "own_conditions",
    "own_kind_conditions",
    "own_path",
    "plan_reading",
    "positive",
    "stored_condition",
    "stored_conditions",
    "stored_path",
    "subclass_definitions",
    "table_names",
    "with_missing_table_note",
    "without_proved",
]

_HOMES: Final = {
    "context": "Context TableNames checked_model own_path positive stored_path table_names",
    "existence": "is_expired not_stored",
    "periods": "check_number_of_queries with_missing_table_note",
    "plan": "Plan",
    "plan_cache": "plan_reading",
    "read_spec": "ReadSpec",
    "reading": "Reading without_proved",
    "result_items": "Grouped Invalid InvalidItem Unknown UnknownItem",
    "shards": "stored_condition stored_conditions",
    "shared_tables": "both_filters check_written_by_key checked_collection own_conditions own_kind_conditions "
    "subclass_definitions",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
