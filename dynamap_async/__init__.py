"""An async data-access library for Amazon DynamoDB: Pydantic models, typed queries, one session."""

from dynamap_async.codec import EPOCH_MILLISECONDS, EPOCH_SECONDS, JSON_TEXT, StoredForm
from dynamap_async.config import BatchPolicy, Credentials, RetryPolicy
from dynamap_async.errors import DynamapError
from dynamap_async.expressions import Condition, Expr, path
from dynamap_async.models import (
    Attr,
    GlobalIndex,
    Index,
    Key,
    KeyValue,
    LocalIndex,
    Model,
    PartitionKey,
    RoundTripWarning,
    SortKey,
    TimeToLive,
    Version,
    attr,
    fields,
)
from dynamap_async.operations import Create, Delete, Find, Get, Operation, Page, Plan, Put, Query, Scan
from dynamap_async.schema import ALL, KEYS_ONLY, Projection, Throughput, include
from dynamap_async.session import Answers, Batch, BoundQuery, ItemStream, Session

__version__ = "0.1.0"

__all__ = [
    "ALL",
    "EPOCH_MILLISECONDS",
    "EPOCH_SECONDS",
    "JSON_TEXT",
    "KEYS_ONLY",
    "Answers",
    "Attr",
    "Batch",
    "BatchPolicy",
    "BoundQuery",
    "Condition",
    "Create",
    "Credentials",
    "Delete",
    "DynamapError",
    "Expr",
    "Find",
    "Get",
    "GlobalIndex",
    "Index",
    "ItemStream",
    "Key",
    "KeyValue",
    "LocalIndex",
    "Model",
    "Operation",
    "Page",
    "PartitionKey",
    "Plan",
    "Projection",
    "Put",
    "Query",
    "RetryPolicy",
    "RoundTripWarning",
    "Scan",
    "Session",
    "SortKey",
    "StoredForm",
    "Throughput",
    "TimeToLive",
    "Version",
    "attr",
    "fields",
    "include",
    "path",
]
