"""What is asked: one immutable value per operation, pure, one file per API operation."""

from dynamap_async.operations.check import Check
from dynamap_async.operations.collection import Collection, collection_spec, with_unknown
from dynamap_async.operations.counters import Reserve, counter_of
from dynamap_async.operations.delete import Delete
from dynamap_async.operations.ends import Reads
from dynamap_async.operations.exactly_once import ExactlyOnce, ThenGet
from dynamap_async.operations.get import Find, Get
from dynamap_async.operations.old import Old
from dynamap_async.operations.operation import Operation, SingleRequest
from dynamap_async.operations.own_table import needs_own_table, own_table
from dynamap_async.operations.put import Create, Put
from dynamap_async.operations.query import Query, Scan
from dynamap_async.operations.refining import Refinable, Segmentable, reading_into, selecting
from dynamap_async.operations.refresh import Refresh
from dynamap_async.operations.replace import Replace
from dynamap_async.operations.results import Count, Page, PagedOperation
from dynamap_async.operations.save import Save
from dynamap_async.operations.statement import Statement
from dynamap_async.operations.statements import BatchExecuteStatement, ExecuteTransaction, Statements
from dynamap_async.operations.transact import Transact
from dynamap_async.operations.transact_get import FindOf, GetOf, TransactFind, TransactGet
from dynamap_async.operations.transact_write import TransactWrite
from dynamap_async.operations.update import Update
from dynamap_async.operations.updating import Returning, Updatable, UpdateSpec, returning, update_spec
from dynamap_async.operations.write import Write

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
