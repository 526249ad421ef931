"""An async data-access library for Amazon DynamoDB: Pydantic models, typed queries, one session.

Each name is imported from its home when it is used first: a program that only declares models does not wait for the
HTTP client. What opens a session and reads one item comes with ``Session``, and what finds credentials and endpoints
when a session opens that has to look for them. Writes, queries, transactions, tables, loaders and calls of many items
load what is theirs when they are used first; the integrations with web frameworks load it when the application starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dynamap_async.codec import EPOCH_MILLISECONDS, EPOCH_SECONDS, JSON_TEXT, StoredForm, time_text
    from dynamap_async.config import BatchPolicy, CapacityPolicy, Credentials, Priority, RetryPolicy
    from dynamap_async.errors import DynamapError
    from dynamap_async.events import (
        BatchSplit,
        ComputedAttributeDiffers,
        Event,
        HotPartition,
        InvalidItemsSkipped,
        LargeItemCollection,
        Observer,
        PaceChanged,
        RequestAnswered,
        RequestEnded,
        RequestHeldUp,
        RequestQueued,
        RequestRetried,
        RequestSent,
    )
    from dynamap_async.expressions import Change, Condition, Expr, path
    from dynamap_async.models import (
        BY_KEYS,
        UNMARKED,
        Attr,
        GlobalIndex,
        Index,
        Key,
        KeyValue,
        LocalIndex,
        Model,
        PartitionKey,
        Parts,
        Prefix,
        RoundTripWarning,
        Shards,
        SharedTableWarning,
        SortKey,
        Table,
        TimeToLive,
        Unique,
        Version,
        WriteKind,
        after_read,
        after_write,
        attr,
        before_write,
        computed_attr,
        template,
        to_wire,
    )
    from dynamap_async.models.model import fields  # there is a module models.fields, for which mypy would take it
    from dynamap_async.models.upgrades import StoredItem, downgrade, upgrade
    from dynamap_async.operations import (
        BatchExecuteStatement,
        Check,
        Collection,
        Create,
        Delete,
        ExactlyOnce,
        ExecuteTransaction,
        Find,
        Get,
        Old,
        Operation,
        Page,
        Put,
        Query,
        Refresh,
        Replace,
        Reserve,
        Save,
        Scan,
        Statement,
        TransactFind,
        TransactGet,
        TransactWrite,
        Update,
        WriteOptions,
    )
    from dynamap_async.planning import Grouped, InvalidItem, Plan, UnknownItem
    from dynamap_async.schema import (
        ALL,
        KEYS_ONLY,
        ContributorInsights,
        Encryption,
        OnDemand,
        Projection,
        Recovery,
        TableSettings,
        Throughput,
        include,
    )
    from dynamap_async.session import (
        Answers,
        Batch,
        BoundCollection,
        BoundCollectionScan,
        BoundExactlyOnce,
        BoundQuery,
        BoundScan,
        BoundStatement,
        BoundUpdate,
        ItemStream,
        Loader,
        Scope,
        SequentialRead,
        SequentialReads,
        SequentialReadsWarning,
        Session,
        Transaction,
        TransactionUpdate,
        UpgradePass,
        UpgradeReport,
    )
    from dynamap_async.statistics import BucketStatistics, OperationStatistics, Statistics
    from dynamap_async.streams import ItemChange, ItemChanges, StreamDescription, decode_changes
    from dynamap_async.streams.events import ChangesBehind, ChangesLost, ShardEnded, ShardOpened, StreamEvent
    from dynamap_async.usage import IndexUsage, OperationUsage, Usage

__version__ = "0.1.0"

__all__ = [
    "ALL",
    "BY_KEYS",
    "EPOCH_MILLISECONDS",
    "EPOCH_SECONDS",
    "JSON_TEXT",
    "KEYS_ONLY",
    "UNMARKED",
    "Answers",
    "Attr",
    "Batch",
    "BatchExecuteStatement",
    "BatchPolicy",
    "BatchSplit",
    "BoundCollection",
    "BoundCollectionScan",
    "BoundExactlyOnce",
    "BoundQuery",
    "BoundScan",
    "BoundStatement",
    "BoundUpdate",
    "BucketStatistics",
    "CapacityPolicy",
    "Change",
    "ChangesBehind",
    "ChangesLost",
    "Check",
    "Collection",
    "ComputedAttributeDiffers",
    "Condition",
    "ContributorInsights",
    "Create",
    "Credentials",
    "Delete",
    "DynamapError",
    "Encryption",
    "Event",
    "ExactlyOnce",
    "ExecuteTransaction",
    "Expr",
    "Find",
    "Get",
    "GlobalIndex",
    "Grouped",
    "HotPartition",
    "Index",
    "IndexUsage",
    "InvalidItem",
    "InvalidItemsSkipped",
    "ItemChange",
    "ItemChanges",
    "ItemStream",
    "Key",
    "KeyValue",
    "LargeItemCollection",
    "Loader",
    "LocalIndex",
    "Model",
    "Observer",
    "Old",
    "OnDemand",
    "Operation",
    "OperationStatistics",
    "OperationUsage",
    "PaceChanged",
    "Page",
    "PartitionKey",
    "Parts",
    "Plan",
    "Prefix",
    "Priority",
    "Projection",
    "Put",
    "Query",
    "Recovery",
    "Refresh",
    "Replace",
    "RequestAnswered",
    "RequestEnded",
    "RequestHeldUp",
    "RequestQueued",
    "RequestRetried",
    "RequestSent",
    "Reserve",
    "RetryPolicy",
    "RoundTripWarning",
    "Save",
    "Scan",
    "Scope",
    "SequentialRead",
    "SequentialReads",
    "SequentialReadsWarning",
    "Session",
    "ShardEnded",
    "ShardOpened",
    "Shards",
    "SharedTableWarning",
    "SortKey",
    "Statement",
    "Statistics",
    "StoredForm",
    "StoredItem",
    "StreamDescription",
    "StreamEvent",
    "Table",
    "TableSettings",
    "Throughput",
    "TimeToLive",
    "TransactFind",
    "TransactGet",
    "TransactWrite",
    "Transaction",
    "TransactionUpdate",
    "Unique",
    "UnknownItem",
    "Update",
    "UpgradePass",
    "UpgradeReport",
    "Usage",
    "Version",
    "WriteKind",
    "WriteOptions",
    "after_read",
    "after_write",
    "attr",
    "before_write",
    "computed_attr",
    "decode_changes",
    "downgrade",
    "fields",
    "include",
    "path",
    "template",
    "time_text",
    "to_wire",
    "upgrade",
]

_NAMES: Final = {
    "codec": "EPOCH_MILLISECONDS EPOCH_SECONDS JSON_TEXT StoredForm time_text",
    "config": "BatchPolicy CapacityPolicy Credentials Priority RetryPolicy",
    "errors": "DynamapError",
    "events": (
        "BatchSplit ComputedAttributeDiffers Event HotPartition InvalidItemsSkipped LargeItemCollection Observer "
        "PaceChanged RequestAnswered RequestEnded RequestHeldUp RequestQueued RequestRetried RequestSent"
    ),
    "expressions": "Change Condition Expr path",
    "models": (
        "BY_KEYS UNMARKED Attr GlobalIndex Index Key KeyValue LocalIndex Model PartitionKey Parts Prefix "
        "RoundTripWarning Shards SharedTableWarning SortKey Table TimeToLive Unique Version WriteKind "
        "after_read after_write attr before_write computed_attr fields template to_wire"
    ),
    "models.upgrades": "StoredItem downgrade upgrade",
    "operations": (
        "BatchExecuteStatement Check Collection Create Delete ExactlyOnce ExecuteTransaction Find Get Old Operation "
        "Page Put Query Refresh Replace Reserve Save Scan Statement TransactFind TransactGet TransactWrite Update "
        "WriteOptions"
    ),
    "planning": "Grouped InvalidItem Plan UnknownItem",
    "schema": (
        "ALL KEYS_ONLY ContributorInsights Encryption OnDemand Projection Recovery TableSettings Throughput include"
    ),
    "session": (
        "Answers Batch BoundCollection BoundCollectionScan BoundExactlyOnce BoundQuery BoundScan BoundStatement "
        "BoundUpdate ItemStream Loader Scope SequentialRead SequentialReads SequentialReadsWarning Session "
        "Transaction TransactionUpdate UpgradePass UpgradeReport"
    ),
    "statistics": "BucketStatistics OperationStatistics Statistics",
    "streams.events": "ChangesBehind ChangesLost ShardEnded ShardOpened StreamEvent",
    "streams": "ItemChange ItemChanges StreamDescription decode_changes",
    "usage": "IndexUsage OperationUsage Usage",
}
"""Home -> the names that are imported from it."""

_HOMES: Final = {name: home for home, names in _NAMES.items() for name in names.split()}

if not TYPE_CHECKING:  # checkers would take any name for one of these

    def __getattr__(name: str) -> Any:
        if name in _NAMES:
            return import_module(f"{__name__}.{name}")
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
