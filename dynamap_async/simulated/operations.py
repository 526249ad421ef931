"""A simulated DynamoDB: the form of each request that it knows, and what carries it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf
from typing import Any, Final, TypeAlias

from dynamap_async.simulated import (
    control,
    items,
    partiql,
    reads,
    saved,
    settings,
    streams,
    table_changes,
    transactions,
    vector_search,
    wire,
)
from dynamap_async.simulated.constraints import Structure
from dynamap_async.simulated.errors import Refused
from dynamap_async.simulated.service import Service

Operation: TypeAlias = Callable[[Service, dict[str, Any]], dict[str, Any]]

OPERATIONS: Final[Mapping[str, tuple[Structure, Operation]]] = {
    "PutItem": (items.PUT_ITEM, items.put_item),
    "GetItem": (items.GET_ITEM, items.get_item),
    "UpdateItem": (items.UPDATE_ITEM, items.update_item),
    "DeleteItem": (items.DELETE_ITEM, items.delete_item),
    "BatchGetItem": (items.BATCH_GET_ITEM, items.batch_get_item),
    "BatchWriteItem": (items.BATCH_WRITE_ITEM, items.batch_write_item),
    "Query": (reads.QUERY, reads.query),
    "Scan": (reads.SCAN, reads.scan),
    "TransactWriteItems": (transactions.TRANSACT_WRITE_ITEMS, transactions.transact_write_items),
    "TransactGetItems": (transactions.TRANSACT_GET_ITEMS, transactions.transact_get_items),
    "ExecuteStatement": (partiql.EXECUTE_STATEMENT, partiql.execute_statement),
    "BatchExecuteStatement": (partiql.BATCH_EXECUTE_STATEMENT, partiql.batch_execute_statement),
    "ExecuteTransaction": (partiql.EXECUTE_TRANSACTION, partiql.execute_transaction),
    "CreateTable": (control.CREATE_TABLE, control.create_table),
    "DescribeTable": (control.DESCRIBE_TABLE, control.describe_table),
    "UpdateTable": (table_changes.UPDATE_TABLE, table_changes.update_table),
    "DeleteTable": (control.DELETE_TABLE, control.delete_table),
    "ListTables": (control.LIST_TABLES, control.list_tables),
    "DescribeLimits": (control.DESCRIBE_LIMITS, control.describe_limits),
    "DescribeEndpoints": (control.DESCRIBE_ENDPOINTS, control.describe_endpoints),
    "DescribeTimeToLive": (settings.DESCRIBE_TIME_TO_LIVE, settings.describe_time_to_live),
    "UpdateTimeToLive": (settings.UPDATE_TIME_TO_LIVE, settings.update_time_to_live),
    "TagResource": (settings.TAG_RESOURCE, settings.tag_resource),
    "UntagResource": (settings.UNTAG_RESOURCE, settings.untag_resource),
    "ListTagsOfResource": (settings.LIST_TAGS_OF_RESOURCE, settings.list_tags_of_resource),
    "DescribeContinuousBackups": (settings.DESCRIBE_CONTINUOUS_BACKUPS, settings.describe_continuous_backups),
    "UpdateContinuousBackups": (settings.UPDATE_CONTINUOUS_BACKUPS, settings.update_continuous_backups),
    "CreateBackup": (settings.CREATE_BACKUP, settings.create_backup),
    "DescribeBackup": (settings.DESCRIBE_BACKUP, settings.describe_backup),
    "DeleteBackup": (settings.DELETE_BACKUP, settings.delete_backup),
    "ListBackups": (settings.LIST_BACKUPS, settings.list_backups),
    "RestoreTableFromBackup": (settings.RESTORE_TABLE_FROM_BACKUP, settings.restore_table_from_backup),
    "RestoreTableToPointInTime": (settings.RESTORE_TABLE_TO_POINT_IN_TIME, settings.restore_table_to_point_in_time),
    "PutResourcePolicy": (settings.PUT_RESOURCE_POLICY, settings.put_resource_policy),
    "GetResourcePolicy": (settings.GET_RESOURCE_POLICY, settings.get_resource_policy),
    "DeleteResourcePolicy": (settings.DELETE_RESOURCE_POLICY, settings.delete_resource_policy),
    "DescribeKinesisStreamingDestination": (
        settings.DESCRIBE_KINESIS,
        settings.describe_kinesis_streaming_destination,
    ),
    "EnableKinesisStreamingDestination": (
        settings.CHANGE_KINESIS,
        partial(settings.change_kinesis_streaming_destination, enable=True),
    ),
    "DisableKinesisStreamingDestination": (
        settings.CHANGE_KINESIS,
        partial(settings.change_kinesis_streaming_destination, enable=False),
    ),
    "UpdateContributorInsights": (
        settings.UPDATE_CONTRIBUTOR_INSIGHTS,
        settings.update_contributor_insights,
    ),
    "DescribeContributorInsights": (
        settings.DESCRIBE_CONTRIBUTOR_INSIGHTS,
        settings.describe_contributor_insights,
    ),
    "ListContributorInsights": (settings.LIST_CONTRIBUTOR_INSIGHTS, settings.list_contributor_insights),
    "SearchVectors": (vector_search.SEARCH_VECTORS, vector_search.search_vectors),
    "ListStreams": (streams.LIST_STREAMS, streams.list_streams),
    "DescribeStream": (streams.DESCRIBE_STREAM, streams.describe_stream),
    "GetShardIterator": (streams.GET_SHARD_ITERATOR, streams.get_shard_iterator),
    "GetRecords": (streams.GET_RECORDS, streams.get_records),
}


class SimulatedDynamoDB(Service):
    """A DynamoDB in memory.

    Args:
        clock: what the time is, in seconds since the epoch.
        region: the region that its ARNs name.
        seed: decides what is drawn by chance.
        shards: how streams are cut into shards; None for one shard that stays.
        lag: how old what a read sees may be that is not consistent, in seconds; None for what is there now.
        expire: how many seconds after an item has expired it is deleted at the latest; None for never.
        capacity: by which rules what has no units is refused; None to refuse nothing for want of them.
        buckets: what exports write and imports read; None for nothing.
    """

    def execute(self, operation: str, body: bytes) -> tuple[int, bytes]:
        """Carry out one request, and return the status and the body of its answer.

        Args:
            operation: its name, such as ``GetItem``.
            body: its JSON.
        """
        try:
            shape, carry_out = OPERATIONS.get(operation) or _seldom(operation)
            request = wire.read(body)
            shape.admit(request)
            with self.turn:
                if self.began is None:
                    self.begin()
                if self.states.takes_time:
                    self.states.catch_up()
                    self.states.refuse_writes(operation, request, self.arn)
                if self.expiry is not None or self.jobs.waiting:
                    self.catch_up()
                return 200, wire.answer(carry_out(self, request))
        except Refused as refused:
            return refused.status, wire.write(refused.answer())

    def written(self) -> Iterator[bytes]:
        """Yield the parts of a text that has all tables and items, for ``read`` of another one."""
        with self.turn:
            self.states.finish()
            self.jobs.catch_up(inf)
            yield from saved.written(self)

    def read(self, text: bytes) -> None:
        """Take the tables and items of a text, before anything else is done.

        Args:
            text: what ``written`` gave.

        Raises:
            ValueError: it is something else, or damaged.
        """
        with self.turn:
            saved.read(self, text)


def _seldom(operation: str) -> tuple[Structure, Operation]:
    """Return an operation that most programs do not ask for.

    Raises:
        Refused: there is none of this name.
    """
    from dynamap_async.simulated.moving import OPERATIONS as MOVING  # few engines have buckets

    found = MOVING.get(operation)
    if found is not None:
        return found
    raise Refused("UnknownOperationException", f"the simulated DynamoDB does not know the operation {operation}")
