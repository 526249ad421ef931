"""``session.tables``: creates, describes, changes and deletes the tables of models."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import anyio

from dynamap_async.errors import (
    OperationError,
    RequestRejectedError,
    ResourceInUseError,
    ResourceNotFoundError,
    TableWaitTimeoutError,
)
from dynamap_async.executor import Executor
from dynamap_async.models import KeyValue, Model, Table, definition_of
from dynamap_async.operations import needs_own_table, own_table
from dynamap_async.planning import Context
from dynamap_async.schema import TableSchema, Throughput
from dynamap_async.tables.periods import check_period, table_in
from dynamap_async.tables.requests import (
    TableDescription,
    create_request,
    description_of,
    is_made,
    merged,
    table_request,
    throughput_request,
    ttl_request,
)
from dynamap_async.wire import Body

_FIRST_POLL_SECONDS: Final = 0.02
_LONGEST_POLL_SECONDS: Final = 5.0


class Tables:
    """The tables of a session; every table name gets the session's prefix."""

    def __init__(self, executor: Executor, context: Context) -> None:
        """Join what requests need; sessions make these.

        Args:
            executor: sends requests.
            context: what the session adds to each operation.
        """
        self._executor = executor
        self._prefix = context.table_prefix

    async def create(
        self,
        *models: type[Model] | Table,
        wait: bool = True,
        timeout_seconds: float = 300.0,
        throughput: Throughput | None = None,
        tags: Mapping[str, str] | None = None,
        period: KeyValue | None = None,
    ) -> None:
        """Create the tables of models, with their indexes, and turn on time to live where a model declares it.

        A table is on-demand unless it, or ``throughput``, says otherwise. Models with ``attr(autoincrement=True)`` or
        ``Unique`` also need the library's own table, ``dynamap`` behind the session's prefix: it is made, on-demand, if
        it does not exist.

        Args:
            models: models with a table, or tables; models that share one are created as one.
            wait: whether to wait until every table and index can be used. Time to live needs it.
            timeout_seconds: how long to wait for each table.
            throughput: provisioned capacity, instead of what the models declare.
            tags: tags of every table.
            period: a value of the field that tells the period, for models with one table per period.

        Raises:
            ResourceInUseError: a table of that name exists.
            LimitExceededError: too many tables are being created at once.
            TableWaitTimeoutError: a table was not ready in time.
            OperationError: ``wait=False`` for a model with time to live; a model has one table per period, and the
                period is missing, or none has; what is given is no model, or no throughput.

        Cost: one CreateTable per table, DescribeTable until it is active (none where CreateTable says so already), one
            UpdateTimeToLive where it is declared; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
        """
        _check_throughput(throughput)
        schemas = self._schemas(models, period)
        late = [schema.name for schema in schemas if schema.ttl_attribute is not None]
        if late and not wait:
            raise OperationError(
                f"{', '.join(late)}: time to live can be turned on only once the table is active; drop wait=False"
            )
        own = [own_table(self._prefix)] if any(map(_needs_own_table, models)) else []
        waiting: list[TableSchema] = []
        for schema in schemas:
            request = create_request(schema, throughput=throughput or schema.throughput, tags=tags or {})
            if not is_made(request, await self._executor.send(request)):
                waiting.append(schema)
        for schema in own:
            with suppress(ResourceInUseError):  # another model, or another process, made it
                await self._executor.send(create_request(schema, throughput=None, tags=tags or {}))
        if not wait:
            return
        for schema in (*waiting, *own):
            await self._until_active(schema.name, timeout_seconds)
        for schema in schemas:
            await begin_time_to_live(self._executor, schema)

    async def update_time_to_live(
        self, *models: type[Model] | Table, enabled: bool = True, period: KeyValue | None = None
    ) -> None:
        """Turn time to live on or off, on tables that exist; nothing is changed where it is so already.

        It takes DynamoDB up to an hour, which is not waited for. Meanwhile, and for the rest of that hour, it takes no
        other change of the same table.

        Args:
            models: models with a table; those that share one count as one.
            enabled: whether items are to be deleted after the time that their ``TimeToLive`` field says.
            period: as for ``create``.

        Raises:
            OperationError: no model of a table declares a ``TimeToLive``, or it is on for another attribute.
            RequestRejectedError: it was changed less than an hour ago, or the engine does not have it.
            ResourceNotFoundError: a table does not exist.

        Cost: one DescribeTimeToLive per table, and one UpdateTimeToLive where something changes; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTimeToLive.html
        """
        for schema in self._schemas(models, period):
            await update_time_to_live(self._executor, schema, enabled=enabled)

    async def update_throughput(
        self,
        *models: type[Model] | Table,
        throughput: Throughput | None,
        wait: bool = True,
        timeout_seconds: float = 300.0,
        period: KeyValue | None = None,
    ) -> None:
        """Give tables that exist, and each of their global indexes, a throughput; nothing is sent where they have it.

        DynamoDB raises a throughput as often as one likes, and lowers it 27 times a day at most: four times at first,
        and once more after each hour in which it was not lowered.

        Args:
            models: models with a table; those that share one count as one.
            throughput: the provisioned capacity; None makes the tables on-demand.
            wait: whether to wait until DynamoDB has changed every table and index; they can be used meanwhile.
            timeout_seconds: how long to wait for each table.
            period: as for ``create``.

        Raises:
            OperationError: what is given is no model, or no throughput.
            ResourceNotFoundError: a table does not exist.
            ResourceInUseError: a table is being created or changed.
            LimitExceededError: it was lowered too often.
            TableWaitTimeoutError: a table was not changed in time.

        Cost: one DescribeTable per table, one UpdateTable where something changes, and DescribeTable until it is done;
            no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
        """
        _check_throughput(throughput)
        names = [schema.name for schema in self._schemas(models, period)]
        changed: list[str] = []
        for name in names:
            described = await self._description(name)
            request = throughput_request(described, throughput)
            if request is not None:
                await self._executor.send(request)
                changed.append(name)
        if wait:
            for name in changed:
                await self._until_active(name, timeout_seconds)

    async def exists(self, model: type[Model] | Table, *, period: KeyValue | None = None) -> bool:
        """Return whether the model's table exists, in whatever status; that of a period where there is one for each.

        Args:
            model: the model, or the shared table.
            period: where the model has a table for each period: any value of the field that the period is made of.

        Cost: one DescribeTable; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
        """
        return await self._described(self._name(model, period)) is not None

    async def describe(self, model: type[Model] | Table, *, period: KeyValue | None = None) -> TableDescription:
        """Return what DynamoDB says of the model's table; that of a period where there is one for each.

        Args:
            model: the model, or the shared table.
            period: where the model has a table for each period: any value of the field that the period is made of.

        Raises:
            ResourceNotFoundError: the table does not exist.

        Cost: one DescribeTable and one DescribeTimeToLive; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
        """
        name = self._name(model, period)
        request = table_request("DescribeTable", name)
        answer = await self._executor.send(request)
        return description_of(request, answer, await describe_time_to_live(self._executor, name))

    async def delete(
        self,
        *models: type[Model] | Table,
        wait: bool = True,
        timeout_seconds: float = 300.0,
        period: KeyValue | None = None,
    ) -> None:
        """Delete the tables of models, with every item in them.

        Args:
            models: models with a table.
            wait: whether to wait until the tables are gone.
            timeout_seconds: how long to wait for each table.
            period: as for ``create``.

        Raises:
            ResourceNotFoundError: a table does not exist.
            ResourceInUseError: a table is being created or changed.
            TableWaitTimeoutError: a table was not gone in time.

        Cost: one DeleteTable per table, and DescribeTable until it is gone; no capacity units.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html
        """
        names = [schema.name for schema in self._schemas(models, period)]
        for name in names:
            await self._executor.send(table_request("DeleteTable", name, writes=True))
        if wait:
            for name in names:
                await self._until_gone(name, timeout_seconds)

    def _name(self, model: type[Model] | Table, period: KeyValue | None) -> str:
        _check_models((model,))
        check_period((model,), period)
        return _schema(model, "described", period).prefixed(self._prefix).name

    def _schemas(self, models: tuple[type[Model] | Table, ...], period: KeyValue | None) -> list[TableSchema]:
        _check_models(models)
        check_period(models, period)
        by_name: dict[str, list[TableSchema]] = {}
        for model in models:
            schema = _schema(model, "created or deleted", period).prefixed(self._prefix)
            by_name.setdefault(schema.name, []).append(schema)
        return [merged(schemas) for schemas in by_name.values()]

    async def _described(self, name: str) -> TableDescription | None:
        try:
            return await self._description(name)
        except ResourceNotFoundError:
            return None

    async def _description(self, name: str) -> TableDescription:
        request = table_request("DescribeTable", name)
        return description_of(request, await self._executor.send(request))

    async def _until_active(self, name: str, timeout_seconds: float) -> None:
        # DescribeTable may not know a new table for a moment: it is eventually consistent.
        status: str | None = None
        with anyio.move_on_after(timeout_seconds):
            delay = _FIRST_POLL_SECONDS
            while True:
                description = await self._described(name)
                if description is not None and description.is_active:
                    return
                status = None if description is None else description.status
                await anyio.sleep(delay)
                delay = min(delay * 2, _LONGEST_POLL_SECONDS)
        raise _timeout(name, status, timeout_seconds, "active, with all its indexes,")

    async def _until_gone(self, name: str, timeout_seconds: float) -> None:
        status: str | None = None
        with anyio.move_on_after(timeout_seconds):
            delay = _FIRST_POLL_SECONDS
            while (description := await self._described(name)) is not None:
                status = description.status
                await anyio.sleep(delay)
                delay = min(delay * 2, _LONGEST_POLL_SECONDS)
            return
        raise _timeout(name, status, timeout_seconds, "gone")


def _check_models(given: tuple[object, ...]) -> None:
    for each in given:
        if not isinstance(each, (type(Model), Table)):
            raise OperationError(
                f"{each!r} is neither a model nor a Table; give the class itself, and several one after the other: "
                "create(Tweet, Follow)"
            )


def _check_throughput(given: object) -> None:
    if given is not None and not isinstance(given, Throughput):
        raise OperationError(f"throughput={given!r} is not a Throughput; write Throughput(read=10, write=2)")


def _schema(given: type[Model] | Table, use: str, period: KeyValue | None) -> TableSchema:
    return given.schema if isinstance(given, Table) else table_in(definition_of(given), use, period)


def _needs_own_table(given: type[Model] | Table) -> bool:
    models = given.models.values() if isinstance(given, Table) else (given,)
    return any(needs_own_table(definition_of(model)) for model in models)


def _timeout(name: str, status: str | None, timeout_seconds: float, what: str) -> TableWaitTimeoutError:
    return TableWaitTimeoutError(
        f"the table {name} was not {what} within {timeout_seconds:g} s (last status: {status}); wait longer with "
        "timeout_seconds",
        table=name,
        status=status,
        timeout_seconds=timeout_seconds,
    )


logger: logging.Logger = logging.getLogger("dynamap_async")

_ON: Final = ("ENABLED", "ENABLING")


async def describe_time_to_live(executor: Executor, table: str) -> Body | None:
    """Return what DescribeTimeToLive says of a table; None where the engine does not know the operation."""
    try:
        return await executor.send(table_request("DescribeTimeToLive", table))
    except RequestRejectedError as error:
        if _is_unknown(error):
            return None
        raise


async def begin_time_to_live(executor: Executor, schema: TableSchema) -> None:
    """Turn time to live on for a table that was just made, if it declares it and the engine has it."""
    if schema.ttl_attribute is None:
        return
    try:
        await executor.send(ttl_request(schema.name, schema.ttl_attribute, enabled=True))
    except RequestRejectedError as error:
        if not _is_unknown(error):
            raise
        logger.warning("the engine has no time to live: it will not delete the expired items of %s", schema.name)


async def update_time_to_live(executor: Executor, schema: TableSchema, *, enabled: bool) -> None:
    """Turn time to live on or off for a table; nothing is changed where it is so already.

    Raises:
        OperationError: no field of the table's models says when an item expires, or it is on for another attribute.
        RequestRejectedError: it was changed less than an hour ago, or the engine does not have it.
    """
    wanted = schema.ttl_attribute
    if enabled and wanted is None:
        raise OperationError(
            f"no field of the models of {schema.name} says when an item expires; declare one, such as expires_at: "
            "TimeToLive[datetime | None] = attr(default=None)"
        )
    active = await _active(executor, schema.name)
    if enabled and active not in (None, wanted):
        raise OperationError(
            f"time to live is on for {active!r} in {schema.name}, and a table has it for one attribute; turn it off "
            "with update_time_to_live(..., enabled=False), wait an hour, and then turn it on"
        )
    attribute = wanted if enabled else active
    if attribute is None or (enabled and active == wanted):
        return
    try:
        await executor.send(ttl_request(schema.name, attribute, enabled=enabled))
    except RequestRejectedError as error:
        if await _active(executor, schema.name) == (attribute if enabled else None):
            return  # somebody else did the same in the meantime
        error.add_note("DynamoDB takes one change of a table's time to live per hour; try again later")
        raise


async def _active(executor: Executor, table: str) -> str | None:
    """Return the attribute that time to live is on for, or is being turned on for."""
    described = await describe_time_to_live(executor, table) or {}
    found: dict[str, str] = described.get("TimeToLiveDescription") or {}
    return found.get("AttributeName") if found.get("TimeToLiveStatus") in _ON else None


def _is_unknown(error: RequestRejectedError) -> bool:
    return error.service_code == "UnknownOperationException"
