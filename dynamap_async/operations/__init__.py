"""What is asked: one immutable value per operation, pure, one module for each family of API operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.operations.collection import Collection, collection_spec, with_unknown
    from dynamap_async.operations.counters import Reserve, counter_of
    from dynamap_async.operations.delete import Delete, Old
    from dynamap_async.operations.get import Find, Get, Refresh
    from dynamap_async.operations.library_table import needs_own_table, own_table
    from dynamap_async.operations.operation import Operation, SingleRequest
    from dynamap_async.operations.put import Create, Put
    from dynamap_async.operations.query import (
        Count,
        Page,
        PagedOperation,
        PageOf,
        Query,
        Reads,
        Refinable,
        Scan,
        Segmentable,
        reading_into,
        selecting,
    )
    from dynamap_async.operations.save import Replace, Save
    from dynamap_async.operations.statement import BatchExecuteStatement, ExecuteTransaction, Statement, Statements
    from dynamap_async.operations.transactions import (
        Check,
        ExactlyOnce,
        FindOf,
        GetOf,
        ThenGet,
        Transact,
        TransactFind,
        TransactGet,
        TransactWrite,
    )
    from dynamap_async.operations.updatable import Returning, Updatable, UpdateSpec, returning, update_spec
    from dynamap_async.operations.update import Update
    from dynamap_async.operations.write import Write
    from dynamap_async.operations.write_options import WriteOptions

__all__ = [
    "BatchExecuteStatement",
    "Check",
    "Collection",
    "Count",
    "Create",
    "Delete",
    "ExactlyOnce",
    "ExecuteTransaction",
    "Find",
    "FindOf",
    "Get",
    "GetOf",
    "Old",
    "Operation",
    "Page",
    "PageOf",
    "PagedOperation",
    "Put",
    "Query",
    "Reads",
    "Refinable",
    "Refresh",
    "Replace",
    "Reserve",
    "Returning",
    "Save",
    "Scan",
    "Segmentable",
    "SingleRequest",
    "Statement",
    "Statements",
    "ThenGet",
    "Transact",
    "TransactFind",
    "TransactGet",
    "TransactWrite",
    "Updatable",
    "Update",
    "UpdateSpec",
    "Write",
    "WriteOptions",
    "collection_spec",
    "counter_of",
    "needs_own_table",
    "own_table",
    "reading_into",
    "returning",
    "selecting",
    "update_spec",
    "with_unknown",
]

_HOMES: Final = {
    "collection": "Collection collection_spec with_unknown",
    "counters": "Reserve counter_of",
    "delete": "Delete Old",
    "get": "Find Get Refresh",
    "library_table": "needs_own_table own_table",
    "operation": "Operation SingleRequest",
    "put": "Create Put",
    "query": "Count Page PagedOperation PageOf Query Reads Refinable Scan Segmentable reading_into selecting",
    "save": "Replace Save",
    "statement": "BatchExecuteStatement ExecuteTransaction Statement Statements",
    "transactions": "Check ExactlyOnce FindOf GetOf ThenGet Transact TransactFind TransactGet TransactWrite",
    "updatable": "Returning Updatable UpdateSpec returning update_spec",
    "update": "Update",
    "write": "Write",
    "write_options": "WriteOptions",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
