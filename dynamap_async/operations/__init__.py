"""What is asked: one immutable value per operation, pure, one file per API operation."""

from dynamap_async.operations.base import Context, Operation, SingleRequest
from dynamap_async.operations.delete import Delete
from dynamap_async.operations.get import Find, Get
from dynamap_async.operations.plan import Plan
from dynamap_async.operations.put import Create, Put
from dynamap_async.operations.query import Count, Page, PagedOperation, Query, Refinable, Scan, selecting
from dynamap_async.operations.reading import Reading, ReadSpec

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
    "selecting",
]
