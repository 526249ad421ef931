"""Creation of what is missing: tables, global indexes, time to live. Nothing is deleted or changed.

Invariant: the table itself is the state, so any number of processes may do this at the same time, and one that was
killed is continued by the next. Nothing is asked for twice: what was asked for is waited for, whoever asked.
"""

from __future__ import annotations

from dynamap_async.errors import TableMismatchError
from dynamap_async.executor import Executor, gather_all
from dynamap_async.request import Request
from dynamap_async.schema import TableSchema
from dynamap_async.tables.asked_settings import ensure_insights, ensure_recovery
from dynamap_async.tables.comparison import NEVER_CHANGES, missing_indexes, unchangeable_differences
from dynamap_async.tables.descriptions import Descriptions
from dynamap_async.tables.requests import TableDescription, create_index_request
from dynamap_async.tables.table_changes import ChangeRequests, Refusal
from dynamap_async.tables.time_to_live import ensure_time_to_live


class MissingParts:
    """Creates what is missing of one table, and waits for it.

    Args:
        executor: sends requests.
        schema: the table as models declare it, with its full name.
        create: the request that makes it.
        with_indexes: whether indexes are made on a table that was there; without, it is only waited for.
    """

    def __init__(self, executor: Executor, schema: TableSchema, create: Request, *, with_indexes: bool) -> None:
        self._executor = executor
        self._descriptions = Descriptions(executor)
        self._schema = schema
        self._create = create
        self._with_indexes = with_indexes
        self._requests = ChangeRequests(executor)

    async def make(self, timeout_seconds: float) -> None:
        """Create what is missing, and wait until it can be used.

        Raises:
            TableMismatchError: the table is there, and is another.
            TableWaitTimeoutError: it was not ready in time.
            OperationError: time to live is on for another attribute.
            RequestRejectedError: time to live was changed less than an hour ago.
        """
        await self._descriptions.until(
            self._schema.name, self._step, what="there, with all its indexes,", timeout_seconds=timeout_seconds
        )
        await ensure_time_to_live(self._executor, self._schema)
        await ensure_recovery(self._executor, self._schema, timeout_seconds)
        await ensure_insights(self._executor, self._schema)

    async def _step(self, found: TableDescription | None) -> bool:
        """Request the next part that is missing, unless that was done; return whether nothing is missing."""
        if found is None:
            await self._ask(self._schema.name, self._create)
            return False
        if found.status == "DELETING":
            self._requests.forget()
            return False
        if not self._with_indexes:
            return found.is_active
        differences = unchangeable_differences(self._schema, found.schema)
        if differences:
            raise TableMismatchError(NEVER_CHANGES, differences=differences)
        missing = missing_indexes(self._schema, found.schema)
        if missing and found.is_active:  # one index at a time, and none while anything else changes
            await self._ask(missing[0].name, create_index_request(found.schema, missing[0], found.vector_keys))
        ready = found.status == "ACTIVE" and not missing
        return ready and all(found.index_is_ready(index.name) for index in self._schema.global_indexes)

    async def _ask(self, what: str, request: Request) -> None:
        async def passes(_: Refusal) -> bool:
            found = await self._descriptions.find(self._schema.name)
            return found is not None and what in found.index_statuses

        await self._requests.send(what, request, passes)


async def make_missing(
    executor: Executor, wanted: list[tuple[TableSchema, Request]], timeout_seconds: float, *, with_indexes: bool
) -> None:
    """Create what is missing of several tables at the same time.

    Args:
        wanted: each table as models declare it, with the request that creates it.
        timeout_seconds: how long each may take.
        with_indexes: whether indexes are made that a table lacks.
    """

    async def make(schema: TableSchema, request: Request) -> None:
        parts = MissingParts(executor, schema, request, with_indexes=with_indexes)
        await parts.make(timeout_seconds)

    await gather_all([make(schema, request) for schema, request in wanted])
