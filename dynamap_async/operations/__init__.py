"""What is asked: one immutable value per operation, pure, one file per API operation."""

from dynamap_async.operations.delete import Delete
from dynamap_async.operations.get import Find, Get
from dynamap_async.operations.operation import Context, Operation, SingleRequest, checked_model
from dynamap_async.operations.plan import Plan
from dynamap_async.operations.put import Create, Put
from dynamap_async.operations.query import Query, Scan
from dynamap_async.operations.reading import Reading, ReadSpec
from dynamap_async.operations.refining import Refinable, selecting
from dynamap_async.operations.results import Count, Page, PagedOperation
from dynamap_async.operations.write import Write

__all__ = [
    "Context",
    "Count",
    "Create",
    "Delete",
    "Find",
    "Get",
    "Operation",
    "Page",
    "PagedOperation",
    "Plan",
    "Put",
    "Query",
    "ReadSpec",
    "Reading",
    "Refinable",
    "Scan",
    "SingleRequest",
    "Write",
    "checked_model",
    "selecting",
]
