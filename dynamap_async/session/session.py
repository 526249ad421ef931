"""``Session``: each of its methods makes an operation, and has it executed."""

from __future__ import annotations  # aiobotocore, which the annotations name, is loaded when it is needed

import copy
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Never, Self, TypeVar, Unpack, overload

from dynamap_async import operations
from dynamap_async.codec import item_size
from dynamap_async.config import BatchPolicy, CapacityPolicy, Credentials, Priority, RetryPolicy
from dynamap_async.errors.habits import SESSION_NAMES, EnteredByAsyncWith, no_attribute
from dynamap_async.events import Observer
from dynamap_async.executor import Executor
from dynamap_async.models import AfterRead, AfterWrite, BeforeWrite, Index, Key, KeyValue, Model, Table
from dynamap_async.native import CODEC
from dynamap_async.operations import Find, Get, Operation
from dynamap_async.operations.get import READ_OPTIONS
from dynamap_async.operations.keywords import (
    NOT_GIVEN,
    makes_optional,
    no_key_keywords,
    no_query_keywords,
)
from dynamap_async.planning import Context, positive
from dynamap_async.planning import table_names as names_of_tables
from dynamap_async.session.conflicts import Conflicts
from dynamap_async.session.counter_numbers import Increment, Numbers
from dynamap_async.session.hooks import SessionHooks, comparison
from dynamap_async.session.runner import Runner
from dynamap_async.session.settings import (
    check_names_are_declared,
    check_settings,
    declared_limits,
    to_context,
    to_transport,
    to_write_back,
)
from dynamap_async.statistics import Statistics
from dynamap_async.transport import Connection, Transport
from dynamap_async.usage import Usage

if TYPE_CHECKING:
    from dynamap_async.expressions import Condition, Expr
    from dynamap_async.operations import FindOf, GetOf, Statement, Write, WriteOptions
    from dynamap_async.planning import UnknownItem
    from dynamap_async.session.bound_reads import BoundCollection, BoundCollectionScan, BoundQuery, BoundScan
    from dynamap_async.session.bound_statement import BoundStatement
    from dynamap_async.session.bound_writes import BoundUpdate
    from dynamap_async.session.bulk import Answers, Batch, ManyItems, Progress
    from dynamap_async.session.consumers import ConsumerOptions
    from dynamap_async.session.loader import Loader
    from dynamap_async.session.scope import Allowance, Scope
    from dynamap_async.session.transaction import Transaction
    from dynamap_async.session.upgrade_pass import UpgradePass
    from dynamap_async.session.write_back import WriteBack
    from dynamap_async.session.writes import Fence
    from dynamap_async.streams import ItemChanges, OnGap, Start, UnknownKinds
    from dynamap_async.streams.consumer import Consumer
    from dynamap_async.streams.following import Following
    from dynamap_async.tables import Tables
    from dynamap_async.transport import AioClient, AioConfig, AioSession

R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
T = TypeVar("T")
ItemT = TypeVar("ItemT")
K = TypeVar("K", bound=Key)
M = TypeVar("M", bound=Model)
MA = TypeVar("MA", bound=Model)
MB = TypeVar("MB", bound=Model)
MC = TypeVar("MC", bound=Model)
MD = TypeVar("MD", bound=Model)
ME = TypeVar("ME", bound=Model)
N = TypeVar("N", int, Decimal, float)


class Session(EnteredByAsyncWith):
    """A connection to DynamoDB, for any number of tasks of one event loop.

    Use it as ``async with Session(region="eu-west-1") as session``. It may be entered in one task and left in
    another. A session is used once; the models know nothing of it.
    """

    def __init__(  # noqa: PLR0913 - each setting is a keyword of its own
        self,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        profile: str | None = None,
        credentials: Credentials | None = None,
        aio_session: AioSession | None = None,
        aio_config: AioConfig | None = None,
        min_connections: int = 0,
        client: AioClient | None = None,
        streams_client: AioClient | None = None,
        transport: Transport | None = None,
        table_prefix: str = "",
        table_names: Mapping[str, str] | None = None,
        cursor_secret: str | bytes | None = None,
        batching: BatchPolicy | None = None,
        retry: RetryPolicy | None = None,
        capacity: CapacityPolicy | None = None,
        close_timeout_seconds: float = 5.0,
        observer: Observer | Sequence[Observer] = (),
        before_write: Iterable[BeforeWrite] = (),
        after_write: Iterable[AfterWrite] = (),
        after_read: Iterable[AfterRead] = (),
        clock: Callable[[], float] = time.time,
        upgrade_on_read: Literal["write"] | None = None,
    ) -> None:
        """Create a session; nothing is looked up or opened before it is entered.

        Args:
            region: the AWS region; otherwise the environment's or the profile's.
            endpoint_url: where to send to, such as a local engine; otherwise AWS's endpoint of the region.
            profile: the profile of AWS's configuration files.
            credentials: a fixed access key; otherwise aiobotocore's credential chain.
            aio_session: a session of aiobotocore to take credentials and configuration from.
            aio_config: aiobotocore's HTTP settings: pool size, timeouts, proxies, certificates.
            min_connections: how many connections are made when the session opens, so that the first requests do not
                wait for them.
            client: your own aiobotocore DynamoDB client to send through, with its retries turned off. It excludes
                all settings before it; the session does not close it.
            streams_client: the same for ``dynamodbstreams``, beside ``client``: streams are a service of their own.
            transport: another way to send, for tests.
            table_prefix: stands before every table name, as in ``shop-dev-``.
            table_names: the name that models declare -> the table's name in DynamoDB, for tables whose names follow no
                rule: ``{"users": "legacy_users"}``. No prefix is added to these.
            cursor_secret: signs cursors, so that a client cannot make one up; at least 16 bytes.
            batching: which single-item requests share a call.
            retry: how often and how fast failed requests are sent again.
            capacity: how fast capacity units are spent.
            close_timeout_seconds: how long closing waits for writes that are under way.
            observer: one or several functions that are told of each request's way as ``Event`` values.
            before_write: functions, async or plain, that get each item, and the kind of write, before it is written.
            after_write: functions that get each item, and the kind of write, after it was written.
            after_read: functions that get each item after it is read.
            clock: the time of day in epoch seconds, which decides what is expired; tests give another.
            upgrade_on_read: ``"write"`` stores items of older versions in the present one when they are read. Reads do
                not wait for that, and what cannot be stored at once is left to a later read.

        Raises:
            ConfigurationError: a setting is of a wrong type or cannot work, or two contradict each other.
        """
        check_settings(close_timeout_seconds, retry=retry, batching=batching, capacity=capacity)
        settings: dict[str, Any] = {"credentials": credentials, "aio_session": aio_session, "aio_config": aio_config}
        connection = Connection(
            region=region, endpoint_url=endpoint_url, profile=profile, min_connections=min_connections, **settings
        )
        self._batching = batching or BatchPolicy()
        policies: dict[str, Any] = {"retry": retry or RetryPolicy(), "batching": self._batching, "capacity": capacity}
        names = names_of_tables(table_prefix, table_names)
        declared = partial(declared_limits, names)
        chosen = to_transport(connection, client, streams_client, transport, policies["retry"])
        context = to_context(names, cursor_secret, clock, chosen)
        hooks = SessionHooks(before_write, after_write, after_read)
        write_back = to_write_back(upgrade_on_read, self._without_hooks)
        self._executor_over: Callable[[Transport], Executor] = partial(
            Executor, **policies, observer=observer, measure=item_size, declared=declared
        )
        self._close_timeout_seconds = close_timeout_seconds
        self._conflicts = Conflicts()
        self._send_through(chosen, context, hooks, write_back=write_back)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._transport!r} with {CODEC}>"

    if not TYPE_CHECKING:  # checkers would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise no_attribute("Session", name, SESSION_NAMES, dir(type(self)))

    def _send_through(
        self,
        transport: Transport,
        context: Context,
        hooks: SessionHooks,
        fence: Fence | None = None,
        write_back: WriteBack | None = None,
    ) -> None:
        self._transport = transport
        self._write_back = write_back
        if write_back is not None:
            hooks = hooks.with_read(write_back)
        self._executor = self._executor_over(transport)
        if self._executor.ledger.observed:
            hooks = hooks.comparing(comparison(self._executor.tell, context))
        self._numbers = Numbers(self._executor, context)
        self._use(Runner(self._executor, context, hooks, self._numbers, fence))

    def _like(self, transport: Transport, fence: Fence | None) -> Self:
        other = copy.copy(self)
        other.__dict__.pop("tables", None)  # those of this session go through its own transport
        hooks = self._runner.hooks
        if self._write_back is not None:  # it sends through this session's transport
            hooks = hooks.without_read(self._write_back)
        other._send_through(transport, self._runner.context, hooks, fence)  # noqa: SLF001 - a copy
        return other

    def _without_hooks(self) -> Runner:
        return self._runner.without_hooks()

    def _use(self, runner: Runner) -> None:
        self._runner = runner

    # A program that reads one item needs half of the package's own modules. What writes, queries, transactions, tables
    # and calls of many items need besides is loaded by the first of them (benchmarks: cold_start).

    @cached_property
    def tables(self) -> Tables:
        """Creates, describes and deletes tables."""
        from dynamap_async.tables import Tables

        return Tables(self._executor, self._runner.context)

    @property
    def _many(self) -> ManyItems:
        from dynamap_async.session.bulk import ManyItems

        return ManyItems(self._runner, self._batching)

    async def __aenter__(self) -> Self:
        """Open the session.

        Raises:
            ConfigurationError: the region or the credentials are missing, or ``table_names`` names a table that no
                model declares; or uvloop is older than 0.23, or requests cannot be sent in the tasks that the event
                loop's task factory makes.
            SessionStateError: it was opened before, or the event loop is not asyncio's.
        """
        check_names_are_declared(self._runner.context.tables)
        await self._executor.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the session: writes under way may end, reads fail with SessionClosedError, connections are released.

        Closing twice is no error.
        """
        if self._write_back is not None:
            self._write_back.stop()
        await self._executor.close(self._close_timeout_seconds)
        await self._numbers.ended()
        if self._write_back is not None:
            await self._write_back.ended()

    def without_hooks(self) -> Self:
        """Return this session once more, but running no hooks, neither its own nor the models'.

        It shares everything else: ``await session.without_hooks().put(item)``. It is not opened or closed itself.
        """
        other = copy.copy(self)
        other._use(self._runner.without_hooks())  # noqa: SLF001 - a copy of this object
        return other

    def statistics(self) -> Statistics:
        """Return what the session has done until now, as a value that does not change. Sends nothing.

        It can be asked at any time, also before the session is open and when it is closed.
        """
        return self._executor.statistics()

    @property
    def usage(self) -> Usage:
        """What the session has used until now, as a value that does not change. Sends nothing."""
        return self._executor.ledger.usage()

    @property
    def unscoped_usage(self) -> Usage:
        """The part of ``usage`` that was awaited outside of any scope."""
        return self._executor.ledger.own.usage()

    def scope(
        self,
        name: str,
        /,
        *,
        max_read_units: float | None = None,
        max_write_units: float | None = None,
        max_requests: int | None = None,
        timeout: float | None = None,
        priority: Priority | None = None,
    ) -> Scope:
        """Return a scope, for ``async with session.scope("GET /feed", max_read_units=50) as scope``.

        What is awaited inside of it, in tasks that are begun there too, is accounted for in ``scope.usage``, and is
        refused before it is sent where it would take more than the budget. What is not known before it is sent, such
        as the size of an item that is read, is settled by the answer: an answered request is never refused, and the
        next one is if the budget was overrun. Scopes can be nested; each request counts for all around it.

        Args:
            name: what errors call it, such as the name of a handler or a job.
            max_read_units: the most read units, from 0 up; None for any amount, as for the other limits.
            max_write_units: the most write units, from 0 up.
            max_requests: the most HTTP requests, repeated ones included. One that is shared with others counts.
            timeout: seconds after which what is awaited directly inside of it is cancelled. Such a scope is left in
                the task that entered it.
            priority: how urgent it is; by default like the scope around it, and interactive outside of any.

        Raises:
            ConfigurationError: a limit is no number, or is negative, or the priority is none.

        Cost:
            None of its own.
        """
        from dynamap_async.session.scope import Allowance, Scope

        allowance = Allowance(
            max_read_units=max_read_units,
            max_write_units=max_write_units,
            max_requests=max_requests,
            timeout=timeout,
            priority=priority,
        )
        return Scope(self._executor, name, allowance)

    async def execute(self, operation: Operation[R], /) -> R:
        """Carry out an operation and return its result; every other method is sugar for this one.

        Args:
            operation: what to do: ``Get(...)``, ``Put(...)``, ``Query(...)`` and so on. It may be executed any number
                of times.

        Raises:
            OperationError: it is no operation, or DynamoDB would refuse it.
            ServiceError: DynamoDB refused it.
            TransportError: no answer came; ``outcome`` tells whether it can have been carried out.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            That of the operation, which its class states.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Operations_Amazon_DynamoDB.html
        """
        return await self._runner.execute(operation)

    @makes_optional(1)
    async def get(
        self,
        model: type[M],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        consistent_read: bool = False,
        coalesce: bool = True,
        **fields: Never,
    ) -> M:
        """Read one item by its key; ItemNotFoundError if there is none. See ``Get``.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort: the sort key's value, where the table has one.
            consistent_read: whether all writes answered before must be seen.
            coalesce: whether the request may travel together with others, and be shared with equal ones.
            fields: nothing: the key is given by its position.

        Raises:
            ItemNotFoundError: there is none.
            ItemValidationError: the stored item does not fit the model.
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit the table's key.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One GetItem, or a part of a BatchGetItem with other reads that wait at the same time; half a read unit per
            4 KB of the item, a whole one with ``consistent_read``; the minimum for an absent item.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
        """
        if fields or partition is NOT_GIVEN:
            raise no_key_keywords("get", model, fields, READ_OPTIONS)
        return await self._runner.execute(
            Get(model, partition, sort, consistent_read=consistent_read, coalesce=coalesce)
        )

    @makes_optional(1)
    async def find(
        self,
        model: type[M],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        consistent_read: bool = False,
        coalesce: bool = True,
        **fields: Never,
    ) -> M | None:
        """Read one item by its key; None if there is none. See ``Find``.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort: the sort key's value, where the table has one.
            consistent_read: whether all writes answered before must be seen.
            coalesce: whether the request may travel together with others, and be shared with equal ones.
            fields: nothing: the key is given by its position.

        Raises:
            ItemValidationError: the stored item does not fit the model.
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit the table's key.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            As ``get``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
        """
        if fields or partition is NOT_GIVEN:
            raise no_key_keywords("find", model, fields, READ_OPTIONS)
        return await self._runner.execute(
            Find(model, partition, sort, consistent_read=consistent_read, coalesce=coalesce)
        )

    async def refresh(self, item: M, /) -> M:
        """Read an item again into the same instance; ItemNotFoundError if it is gone. See ``Refresh``.

        Args:
            item: the instance, which is returned; what was changed of it and not saved is lost.

        Raises:
            ItemNotFoundError: the item is gone.
            ItemValidationError: the stored item does not fit the model.
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: it is not an instance of a model, its model is frozen, or it was given another key since.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One GetItem; a read unit per 4 KB of the item.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
        """
        return await self._runner.execute(operations.Refresh(item))

    @overload
    async def put(self, item: M, /, *, where: Condition | None = None, read_first: bool = False) -> M: ...
    @overload
    async def put(self, item: M, /, *, where: Condition | None = None, returning: Literal["old"]) -> M | None: ...
    async def put(
        self,
        item: M,
        /,
        *,
        where: Condition | None = None,
        read_first: bool = False,
        returning: Literal["old"] | None = None,
        **fields: Never,
    ) -> M | None:
        """Write an item, replacing the stored one; ``where`` says what must hold of that one. See ``Put``.

        What the stored item holds beside the model's fields is not kept; ``save`` keeps it.

        Args:
            item: the model instance, which is returned.
            where: what must hold of the stored item.
            read_first: whether to read the stored item first, which a model with ``Unique`` needs.
            returning: ``"old"`` gives back the item that was replaced, None where there was none.
            fields: nothing: values are the item's.

        Raises:
            ConditionalCheckFailedError: ``where`` does not hold.
            VersionConflictError: the stored item has another version than the instance.
            UniqueViolationError: another item has one of its unique values.
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: it is not an instance of a model, or ``read_first`` is missing.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One PutItem, or without conditions a part of a BatchWriteItem with other writes that wait at the same time;
            one write unit per KB of the larger of the old and the new item, and the same for each index entry that
            changes. With unique values one TransactWriteItems of twice the units, and with ``read_first`` one GetItem.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
        """
        if returning is None:
            return await self._runner.execute(operations.Put(item, where=where, read_first=read_first, **fields))
        return await self._runner.execute(
            operations.Put(item, where=where, read_first=read_first, returning=returning, **fields)
        )

    async def create(self, item: M, /, *, where: Condition | None = None, **fields: Never) -> M:
        """Write an item that must not exist yet; ConditionalCheckFailedError if it does. See ``Create``.

        Args:
            item: the model instance, which is returned.
            where: what must hold besides.
            fields: nothing: values are the item's.

        Raises:
            ConditionalCheckFailedError: there is an item with this key.
            UniqueViolationError: another item has one of its unique values.
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: it is not an instance of a model.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One PutItem; one write unit per KB of the item, and the same for each index entry; a refused write is
            charged too. With unique values one TransactWriteItems of twice the units. A number of ``autoincrement``
            takes an UpdateItem more, shared by the items that wait for one.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
        """
        return await self._runner.execute(operations.Create(item, where=where, **fields))

    async def save(self, item: M, /, *, where: Condition | None = None, **fields: Never) -> M:
        """Write what changed of an item since it was read or written; nothing is sent if nothing did. See ``Save``.

        Args:
            item: the model instance, which is returned.
            where: what must hold of the stored item.
            fields: nothing: values are the item's.

        Raises:
            ItemNotFoundError: the item is gone.
            ConditionalCheckFailedError: ``where`` does not hold, or an item that is new to the session exists already.
            VersionConflictError: the stored item has another version than the instance.
            UniqueViolationError: another item has one of its unique values.
            EncodeError: a value cannot be stored.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: the item's key, or a frozen field, was changed; or the instance was read from a part of its
                item.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One UpdateItem; one write unit per KB of the larger of the old and the new item as a whole, and the same
            for each index entry that changes. None if nothing changed. An item that is new to the session: as
            ``create``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
        """
        return await self._runner.execute(operations.Save(item, where=where, **fields))

    async def replace(
        self, item: M, /, *, where: Condition | None = None, read_first: bool = False, **fields: Never
    ) -> M:
        """Write all of an item, whatever its stored version, and set the version past that one. See ``Replace``.

        Args:
            item: the model instance, which is returned.
            where: what must hold of the stored item.
            read_first: whether to read the stored item first, which a model with ``Unique`` needs.
            fields: nothing: values are the item's.

        Raises:
            ConditionalCheckFailedError: ``where`` does not hold.
            UniqueViolationError: another item has one of its unique values.
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: it is not an instance of a model, or ``read_first`` is missing.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One UpdateItem; one write unit per KB of the larger of the old and the new item, and the same for each
            index entry that changes.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
        """
        return await self._runner.execute(operations.Replace(item, where=where, read_first=read_first, **fields))

    @overload
    def update(self, item: M, /) -> BoundUpdate[M, M]: ...
    @overload
    def update(self, model: type[M], partition: KeyValue, sort: KeyValue | None = None, /) -> BoundUpdate[M, M]: ...
    def update(
        self, subject: Any, partition: KeyValue | None = None, sort: KeyValue | None = None, /, **fields: Any
    ) -> BoundUpdate[Any, Any]:
        """Begin an update of one item, named by an instance or by its key; await it when it says what to change.

        ``await session.update(Tweet, "ada", 7).set(Tweet.text, "hi").add(Tweet.likes, 1)`` gives the item as it is
        then. See ``Update``.

        Args:
            subject: the instance, or the model.
            partition: the partition key's value, after a model.
            sort: the sort key's value, where the table has one, after a model.
            fields: nothing: the key is given by its position, and ``set_fields`` takes names of fields.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit the table's key.

        Cost:
            None before it is awaited. Then one UpdateItem; one write unit per KB of the larger of the old and the new
            item, whatever is changed of it, and the same for each index entry that changes.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
        """
        from dynamap_async.session.bound_writes import BoundUpdate

        if fields:
            raise no_key_keywords("update", subject, fields)
        return BoundUpdate(self._runner, operations.update_spec(subject, partition, sort))

    @overload
    async def increment(
        self,
        model: type[Model],
        partition: KeyValue,
        field: Expr[N] | Expr[N | None],
        /,
        *,
        by: N | int = 1,
        upsert: bool = False,
    ) -> N: ...
    @overload
    async def increment(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue,
        field: Expr[N] | Expr[N | None],
        /,
        *,
        by: N | int = 1,
        upsert: bool = False,
    ) -> N: ...
    @makes_optional(1)
    async def increment(
        self,
        model: type[Model],
        partition: Any,
        /,
        *sort_and_field: Any,
        by: Any = 1,
        upsert: bool = False,
        **fields: Never,
    ) -> Any:
        """Add to a number of one item, and return what it is then.

        ``likes = await session.increment(Tweet, "ada", 7, Tweet.likes)``. Other fields move with it as in an update by
        key: the version is counted on, and ``on_update`` gives new values.

        Increments at the same time all count. One whose answer was lost is not sent again, because it might count
        twice; in a model with ``attr(write_id=True)`` it is recognised in the stored item, unless another writer has
        come since. ``session.update(...).add(...).exactly_once()`` is sent again, at twice the write units.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort_and_field: the sort key's value, where the table has one; then the field.
            by: what to add; negative numbers take away.
            upsert: whether to make the item where there is none.
            fields: nothing: the key and the field are given by their position.

        Raises:
            ItemNotFoundError: there is no such item.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; its outcome says whether the number may have been counted.
            ExpressionError: the field holds no number, or is another model's.
            EncodeError: the amount or a key value is of the wrong type.
            OperationError: the number of key values does not fit the table's key.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One UpdateItem; one write unit per KB of the item, and the same for each index entry that changes.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.AtomicCounters
        """
        if fields or partition is NOT_GIVEN:
            raise no_key_keywords("increment", model, fields, ("by", "upsert"))
        increment = Increment(model, partition, *sort_and_field, by=by, upsert=upsert)
        return increment.value(await self._runner.execute(increment.update), self._runner.context)

    async def reserve(self, model: type[Model], count: int, partition: KeyValue | None = None, /) -> range:
        """Take numbers from the counter of a model with ``attr(autoincrement=True)``, for items to be written later.

        ``numbers = await session.reserve(Ticket, 100)``, then ``session.create(Ticket(number=numbers[0], ...))``. It
        also moves the counter past numbers that were given by hand. See ``Reserve``.

        Args:
            model: a model with ``attr(autoincrement=True)``.
            count: how many numbers, from 1 up.
            partition: the partition key's value, where the sort key is numbered: each partition counts for itself.

        Raises:
            ModelDefinitionError: the model numbers nothing.
            OperationError: the count is no whole number from 1 on, or the partition is missing or superfluous.
            EncodeError: the partition key's value is of the wrong type.
            ResourceNotFoundError: the library's own table does not exist.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One UpdateItem on the library's own table, one write unit, however many numbers.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/WorkingWithItems.html#WorkingWithItems.AtomicCounters
        """
        return await self._runner.execute(operations.Reserve(model, count, partition))

    @overload
    async def delete(self, item: M, /, *, where: Condition | None = None, returning: Literal["old"]) -> M | None: ...
    @overload
    async def delete(
        self,
        model: type[M],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition | None = None,
        returning: Literal["old"],
    ) -> M | None: ...
    @overload
    async def delete(self, item: Model, /, **options: Unpack[WriteOptions]) -> None: ...
    @overload
    async def delete(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        **options: Unpack[WriteOptions],
    ) -> None: ...
    async def delete(
        self,
        target: Any,
        /,
        *key: Any,
        where: Condition | None = None,
        read_first: bool = False,
        returning: Literal["old"] | None = None,
        **fields: Any,
    ) -> Any:
        """Remove an item, given as an instance or as model and key; no error if it does not exist. See ``Delete``.

        Args:
            target: the instance, or the model.
            key: after a model, the partition key's value, and the sort key's where the table has one.
            where: what must hold of the stored item.
            read_first: whether to read the stored item first, which a model with ``Unique`` needs for a key, and for
                an instance that no session read or wrote.
            returning: ``"old"`` gives back the item that was removed, None where there was none.
            fields: nothing: the key is given by its position.

        Raises:
            ConditionalCheckFailedError: ``where`` does not hold.
            VersionConflictError: the stored item has another version than the instance.
            EncodeError: a key value is of the wrong type, empty or too long.
            ExpressionError: the condition is not about this model.
            OperationError: the number of key values does not fit the table's key, or ``read_first`` is missing.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One DeleteItem, or without conditions a part of a BatchWriteItem with other writes that wait at the same
            time; one write unit per KB of the item that was there, at least one. With unique values one
            TransactWriteItems of twice the units, and with ``read_first`` one GetItem.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
        """
        if returning is None:
            return await self.execute(operations.Delete(target, *key, where=where, read_first=read_first, **fields))
        return await self.execute(
            operations.Delete(target, *key, where=where, read_first=read_first, returning=returning, **fields)
        )

    async def retry_on_conflict(self, change: Callable[[], Awaitable[R]], /, *, attempts: int = 10) -> R:
        """Read, change and write, again and again until nobody else wrote in between; return what ``change`` returns.

        Only version conflicts are tried again, of single writes and of transactions. Tasks of one session that met a
        conflict on the same item take turns from then on, so that they do not keep each other from writing; where it is
        somebody else who writes, there is a random pause that doubles from 20 milliseconds to a second at most. A
        conflict whose outcome is unknown is raised at once, because the write may have been done. With
        ``attr(write_id=True)`` that is so only where another writer has come since; with ``ExactlyOnce(Save(item))``
        there is no such doubt.

        Args:
            change: called for each attempt; it must read the item itself, and is awaited.
            attempts: how many there are at most, from 1 up.

        Raises:
            VersionConflictError: that of the last attempt.
            TransactionCanceledError: the same, where ``change`` is a transaction.
            OperationError: ``attempts`` is less than 1.

        Cost:
            For each attempt what ``change`` does; a refused write is charged as if it had been done.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBMapper.OptimisticLocking.html
        """
        positive(attempts, "retry_on_conflict(attempts=...)")
        return await self._conflicts.retry(change, attempts)

    @overload
    def query(self, model: type[M], /) -> BoundQuery[M, M]: ...
    @overload
    def query(self, a: type[MA], b: type[MB], /) -> BoundCollection[MA | MB, MA | MB]: ...
    @overload
    def query(self, a: type[MA], b: type[MB], c: type[MC], /) -> BoundCollection[MA | MB | MC, MA | MB | MC]: ...
    @overload
    def query(
        self, a: type[MA], b: type[MB], c: type[MC], d: type[MD], /
    ) -> BoundCollection[MA | MB | MC | MD, MA | MB | MC | MD]: ...
    @overload
    def query(
        self, a: type[MA], b: type[MB], c: type[MC], d: type[MD], e: type[ME], /
    ) -> BoundCollection[MA | MB | MC | MD | ME, MA | MB | MC | MD | ME]: ...
    @overload
    def query(
        self,
        a: type[Model],
        b: type[Model],
        c: type[Model],
        d: type[Model],
        e: type[Model],
        f: type[Model],
        /,
        *more: type[Model],
    ) -> BoundCollection[Model, Model]: ...
    def query(self, *models: type[Model], **fields: Any) -> BoundQuery[Any, Any] | BoundCollection[Any, Any]:
        """Begin a query on a model's table or indexes, or on several models of a shared ``Table``.

        See ``Query`` and ``Collection``.

        Args:
            models: the model of the items; or two or more that share a ``Table``.
            fields: nothing: conditions follow, as in ``.where(Tweet.user_id == "ada")``.

        Raises:
            OperationError: it is no model, or the models share no ``Table``.

        Cost:
            None before it is awaited or iterated over. Then one Query request per page of up to 1 MB; half a read unit
            per 4 KB of all items evaluated (a whole unit with ``consistent``), rounded up per page. Whole items of an
            index that does not hold them are completed from the table: one BatchGetItem per 100 items, and the units
            of a ``get`` for each.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
        """
        from dynamap_async.session.bound_reads import BoundCollection, BoundQuery

        if fields:
            raise no_query_keywords("query", models, fields)
        if len(models) == 1:
            # Without [Any, Any], which costs as much as the rest of the line (benchmarks: query_100).
            query: BoundQuery[Any, Any] = BoundQuery(self._runner, operations.Query(models[0]).spec)
            return query
        return BoundCollection[Any, Any](self._runner, operations.collection_spec(models))

    @overload
    def scan(self, model: type[M], /) -> BoundScan[M, M]: ...
    @overload
    def scan(self, a: type[MA], b: type[MB], /) -> BoundCollectionScan[MA | MB, MA | MB]: ...
    @overload
    def scan(self, a: type[MA], b: type[MB], c: type[MC], /) -> BoundCollectionScan[MA | MB | MC, MA | MB | MC]: ...
    @overload
    def scan(
        self, a: type[MA], b: type[MB], c: type[MC], d: type[MD], /
    ) -> BoundCollectionScan[MA | MB | MC | MD, MA | MB | MC | MD]: ...
    @overload
    def scan(
        self, a: type[MA], b: type[MB], c: type[MC], d: type[MD], e: type[ME], /
    ) -> BoundCollectionScan[MA | MB | MC | MD | ME, MA | MB | MC | MD | ME]: ...
    @overload
    def scan(
        self,
        a: type[Model],
        b: type[Model],
        c: type[Model],
        d: type[Model],
        e: type[Model],
        f: type[Model],
        /,
        *more: type[Model],
    ) -> BoundCollectionScan[Model, Model]: ...
    def scan(self, *models: type[Model], **fields: Any) -> BoundScan[Any, Any] | BoundCollectionScan[Any, Any]:
        """Begin a scan of a model's whole table, or of an index; or of several models of a shared ``Table``.

        See ``Scan`` and ``BoundCollection``.

        Args:
            models: the model of the items; or two or more that share a ``Table``.
            fields: nothing: conditions follow, as in ``.where(Tweet.user_id == "ada")``.

        Raises:
            OperationError: it is no model, or the models share no ``Table``.

        Cost:
            None before it is awaited or iterated over. Then one Scan request per page of up to 1 MB; half a read unit
            per 4 KB of everything in the table or index (a whole unit with ``consistent``).

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
        """
        from dynamap_async.session.bound_reads import BoundCollectionScan, BoundScan

        if fields:
            raise no_query_keywords("scan", models, fields)
        if len(models) == 1:
            return BoundScan[Any, Any](self._runner, operations.Scan(models[0]).spec)
        return BoundCollectionScan[Any, Any](self._runner, operations.collection_spec(models, scan=True))

    def upgrade(
        self,
        model: type[Model],
        /,
        *,
        segments: int = 8,
        page_size: int | None = None,
        dry_run: bool = False,
        max_failures: int | None = 10,
        max_write_units: float | None = None,
        skip_expired: bool = False,
        verify: bool = True,
        checkpoint: str | None = None,
        name: str | None = None,
    ) -> UpgradePass:
        """Bring all stored items of a model to its present version. Await it for a report, or iterate over its reports.

        Each item is written only if it is as it was read; one that somebody else changed meanwhile is looked at again.
        So the pass can run beside everything else, be broken off anywhere, and run again: what is done costs no writes.
        Hooks do not run. Items that the model hides as expired stay as they are. See ``UpgradePass``.

        Args:
            model: a model with ``schema_version``; of a shared table, its subclasses are upgraded too.
            segments: how many parts of the table are read at the same time, from 1 to 1,000,000.
            page_size: how many items one request reads at the most, from 1 up; by default a page of 1 MB. There is a
                report, and a checkpoint, for each page.
            dry_run: whether nothing is written: the report tells what would be, and what could not.
            max_failures: after how many items that cannot be upgraded the pass stops, from 1 up; None for any number.
            max_write_units: the most write units that it may take, from 0 up; None for any number.
            skip_expired: whether items whose time to live has passed stay as they are: DynamoDB deletes them anyway.
            verify: whether items of older versions are counted at the end, by a consistent read of the table.
            checkpoint: ``report.checkpoint`` of an earlier pass, to go on from there; None for the beginning.
            name: keeps the place of the pass in the library's own table, ``dynamap``, which is made where it is
                missing, after every 1,000 items or 5 seconds. If the pass is killed, the next one of this name and as
                many segments goes on there; after its end, the next begins anew. 1 to 200 letters, digits, ``-``,
                ``_`` and ``.``.

        Raises:
            OperationError: the model has no versions, or one table per period; a number is out of range; there is no
                such name, or it is given with ``checkpoint`` or ``dry_run``; or nothing of the model expires.
            ConfigurationError: ``max_write_units`` is no such number.
            CursorError: the checkpoint is of another pass, or of another version.
            ItemsNotUpgradedError: some items could not be upgraded, or were written by older programs meanwhile;
                raised when it is awaited, as all that follow.
            ServiceError: DynamoDB refused to read a page.
            TransportError: no answer came to the request of a page.
            CapacityBudgetExceededError: it has taken ``max_write_units``, or a scope around it has no units left.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            None before it is awaited or iterated over. Then half a read unit per 4 KB of everything in the table, and a
            whole one with ``verify``; for each item that is behind one UpdateItem: a write unit per KB of the larger of
            the old and the new item, and the same for each index entry that changes. With ``name``, a write unit for
            each time that its place is stored.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html#Scan.ParallelScan
        """
        from dynamap_async.session.scope import Allowance
        from dynamap_async.session.upgrade_pass import UpgradePass

        return UpgradePass(
            self._runner,
            model,
            segments=segments,
            page_size=page_size,
            dry_run=dry_run,
            max_failures=max_failures,
            allowance=Allowance(max_write_units=max_write_units),
            skip_expired=skip_expired,
            verify=verify,
            checkpoint=checkpoint,
            name=name,
        )

    async def complete_since(self, model: type[Model], /) -> int | None:
        """Return the version that a pass has proved no stored item of a model to be behind of; None where none has.

        A pass with ``verify`` records it in the library's own table, ``dynamap``, if there is one. From then on
        ``explain()`` of this session warns of no older items, as if the model declared ``complete_since``.

        Args:
            model: a model with ``schema_version``; of a shared table, the least of its subclasses' versions.

        Raises:
            OperationError: it is no model.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One GetItem, or one for each subclass that shares the table; half a read unit each.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
        """
        from dynamap_async.session.upgrade_pass import recorded

        return await recorded(self._runner, model)

    @overload
    async def get_many(
        self, model: type[M], keys: Iterable[Key], /, *, consistent_read: bool = False
    ) -> list[M | None]: ...
    @overload
    async def get_many(self, finds: Iterable[Find[M]], /) -> list[M | None]: ...
    async def get_many(
        self, first: Any, keys: Iterable[Any] | None = None, /, *, consistent_read: bool = False
    ) -> list[Any]:
        """Read any number of items: by the keys of one model, or by ``Find`` operations on several.

        Args:
            first: the model, or the operations.
            keys: of a model: each the partition key's value, or a tuple of both values.
            consistent_read: whether all writes answered before must be seen; a ``Find`` has its own.

        Returns:
            One entry per key, in the order given, None where there is no item. Equal keys are asked for once; each
            place has an instance of its own.

        Raises:
            BatchError: some could not be read; ``results`` has all others.
            OperationError: these are no keys, or no ``Find`` operations.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One BatchGetItem for each 100 distinct keys (a GetItem for one alone), up to 64 at a time; none for no
            keys; read units as ``find``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        return await self._many.get(first, keys, consistent_read=consistent_read)

    @overload
    def each(self, model: type[M], keys: Iterable[K], /, *, consistent_read: bool = False) -> Answers[K, M | None]: ...
    @overload
    def each(self, finds: Iterable[Find[M]], /) -> Answers[Find[M], M | None]: ...
    def each(
        self, first: Any, keys: Iterable[Any] | None = None, /, *, consistent_read: bool = False
    ) -> Answers[Any, Any]:
        """Read any number of items and give them out as they arrive, as pairs of key and item (None where absent).

        See ``Answers``.

        Args:
            first: the model, or ``Find`` operations on several.
            keys: of a model: each the partition key's value, or a tuple of both values. They may be endless, and are
                read only as far as pairs are taken.
            consistent_read: whether all writes answered before must be seen; a ``Find`` has its own.

        Raises:
            OperationError: these are no keys, or no ``Find`` operations.
            SessionStateError: the session is not open.

        Cost:
            As ``get_many``, as far as pairs are taken.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        return self._many.each(first, keys, consistent_read=consistent_read)

    async def put_many(
        self,
        items: Iterable[Model] | AsyncIterable[Model],
        /,
        *,
        progress: Progress | None = None,
        read_first: bool = False,
    ) -> int:
        """Write any number of items, replacing stored ones, in bounded memory.

        Args:
            items: of any models. Of equal keys the later item stays.
            progress: called now and then with the number of items done, failed ones included.
            read_first: whether to read each stored item first, which a model with ``Unique`` needs; such items are
                written one by one, up to 64 at a time.

        Returns:
            How many were written: all.

        Raises:
            BatchError: some could not be written; it names each, and all others were written. An exception of
                ``items`` or ``progress`` ends the call as it ends a ``Batch``.
            OperationError: these are not several items.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One BatchWriteItem for each 25 items, up to 64 at a time; write units as ``put``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        return await self._many.put(items, progress, read_first=read_first)

    @overload
    async def delete_many(
        self,
        items: Iterable[Model] | AsyncIterable[Model],
        /,
        *,
        progress: Progress | None = None,
        read_first: bool = False,
    ) -> int: ...
    @overload
    async def delete_many(
        self,
        model: type[Model],
        keys: Iterable[Key] | AsyncIterable[Key],
        /,
        *,
        progress: Progress | None = None,
        read_first: bool = False,
    ) -> int: ...
    async def delete_many(
        self, first: Any, keys: Any = None, /, *, progress: Progress | None = None, read_first: bool = False
    ) -> int:
        """Remove any number of items, given as instances, or as a model and keys, in bounded memory.

        Args:
            first: the instances, or the model.
            keys: of a model: each the partition key's value, or a tuple of both values.
            progress: called now and then with the number of items done, failed ones included.
            read_first: whether to read each stored item first; see ``Delete``.

        Returns:
            How many are gone, those included that did not exist.

        Raises:
            BatchError: some could not be removed; it names each, and all others are gone.
            OperationError: these are not several items or keys.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One BatchWriteItem for each 25 items, up to 64 at a time; write units as ``delete``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        return await self._many.delete(first, keys, progress, read_first=read_first)

    def batch(self) -> Batch:
        """Return a bulk load, to be used as ``async with session.batch() as batch``. See ``Batch``.

        Raises:
            SessionStateError: the session is not open.

        Cost:
            One BatchWriteItem for each 25 items that are given to it, up to 64 at a time; write units as ``put`` and
            ``delete``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        return self._many.batch()

    @overload
    def loader(self, model: type[M], /, *, consistent_read: bool = False) -> Loader[Key, M | None]: ...
    @overload
    def loader(
        self,
        model: type[M],
        /,
        *,
        by: Expr[T],
        where: Condition | Sequence[Condition] = (),
        index: Index[M] | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent_read: bool = False,
    ) -> Loader[T, list[M]]: ...
    def loader(
        self,
        model: type[M],
        /,
        *,
        by: Expr[Any] | None = None,
        where: Condition | Sequence[Condition] = (),
        index: Index[M] | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent_read: bool = False,
    ) -> Loader[Any, Any]:
        """Return a new loader, for one web request: of items by their key, or ``by=`` a field that many items share.

        Args:
            model: the model of the items.
            by: the field whose value is the key; its table or an index must have it as partition key. Each key is then
                one Query, and its value a list.
            where: what else must hold of the items.
            index: the index to go through, whatever the planner would choose.
            descending: whether the sort key's largest value comes first.
            limit: at most how many items each key gives, from 1 up; without one, all.
            consistent_read: whether all writes answered before must be seen; indexes other than local ones cannot.

        Raises:
            OperationError: the settings contradict each other, or the service would refuse them.
            ExpressionError: ``by`` is no field.

        Cost:
            None by itself; see ``Loader.load``. Queries of different keys are under way at the same time, as many as
            the session has connections.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        from dynamap_async.session.loader import loader_of

        settings: dict[str, Any] = {"index": index, "descending": descending, "limit": limit}
        return loader_of(self._runner, model, by, where=where, **settings, consistent_read=consistent_read)

    @overload
    def consumer(self, a: type[MA], /, *, group: str, **options: Unpack[ConsumerOptions]) -> Consumer[MA]: ...
    @overload
    def consumer(
        self, a: type[MA], b: type[MB], /, *, group: str, **options: Unpack[ConsumerOptions]
    ) -> Consumer[MA | MB]: ...
    @overload
    def consumer(
        self, a: type[MA], b: type[MB], c: type[MC], /, *, group: str, **options: Unpack[ConsumerOptions]
    ) -> Consumer[MA | MB | MC]: ...
    @overload
    def consumer(
        self, a: type[Model] | Table, /, *more: type[Model], group: str, **options: Unpack[ConsumerOptions]
    ) -> Consumer[Any]: ...
    def consumer(
        self, /, *models: type[Model] | Table, group: str, **options: Unpack[ConsumerOptions]
    ) -> Consumer[Any]:
        """Return a worker that handles the changes of a table, together with the other workers of its group.

        Each change is handled at least once, those of one item in order. Nothing is sent before ``run``. Who has which
        shard, and how far it was handled, is kept in the library's own table, which is made if it is missing.

        Args:
            models: the model whose changes are wanted, or models that share a table, or that table. The table needs a
                stream: ``settings=TableSettings(stream="new-and-old")``.
            group: the name of the work, the same for all of its workers. Each group gets every change.
            options: where it begins, what becomes of failures, and how long a worker may be silent; see
                ``ConsumerOptions``.

        Raises:
            OperationError: the models are of several tables, or an option is none.

        Cost:
            None by itself; see ``Consumer.run``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
        """
        from dynamap_async.session.consumers import consumer_of

        return consumer_of(self._runner, models, self._close_timeout_seconds, self._own_table, group, options)

    async def _own_table(self) -> None:
        from dynamap_async.streams.checkpoints import ShardRecord

        await self.tables.ensure(ShardRecord)

    @overload
    def changes(
        self, a: type[MA], b: type[MB], /, *, start: Start = ..., **more: Unpack[Following]
    ) -> ItemChanges[MA | MB]: ...
    @overload
    def changes(
        self, a: type[MA], b: type[MB], c: type[MC], /, *, start: Start = ..., **more: Unpack[Following]
    ) -> ItemChanges[MA | MB | MC]: ...
    @overload
    def changes(
        self, /, *models: type[M], unknown: Literal["keep"], start: Start = ..., **more: Unpack[Following]
    ) -> ItemChanges[M | UnknownItem]: ...
    @overload
    def changes(self, /, *models: type[M], start: Start = ..., **more: Unpack[Following]) -> ItemChanges[M]: ...
    @overload
    def changes(
        self, table: Table, /, *, unknown: UnknownKinds = ..., start: Start = ..., **more: Unpack[Following]
    ) -> ItemChanges[Any]: ...
    def changes(
        self,
        /,
        *models: type[Model] | Table,
        start: Start = "oldest",
        unknown: UnknownKinds = "raise",
        on_gap: OnGap = "raise",
        stream: str | None = None,
        idle_seconds: float = 1.0,
        until_idle: bool = False,
    ) -> ItemChanges[Any]:
        """Return the changes of a table's items, for ``async with session.changes(Tweet) as changes``.

        ``async for change in changes`` gives one after the other, the changes of each item in order. The position is
        in memory: ``changes.checkpoint()`` tells it as text. The table needs a stream:
        ``TableSettings(stream="new-and-old")``.

        Args:
            models: the model of the table, or models that share it, or that table; of a shared table, changes of other
                models are left out.
            start: ``"oldest"`` for all that is kept, which is of the last 24 hours; ``"latest"`` for what comes from
                now on; an aware datetime; or a checkpoint, to go on from there.
            unknown: what an item of no known model becomes: ``"raise"`` raises when an image is looked at, ``"keep"``
                gives it as an ``UnknownItem``.
            on_gap: what becomes of a checkpoint or a time that is not kept any more: ``"raise"`` raises
                ChangesLostError, ``"oldest"`` goes on with the oldest change that is, and tells observers.
            stream: the ARN of the stream, also of another account; otherwise the table's latest stream.
            idle_seconds: where there is nothing new, each shard is looked at once in so many seconds, from 0.25 to 300.
            until_idle: whether the loop ends when nothing new has come for a few seconds.

        Raises:
            OperationError: an argument cannot be, or the models are of several tables.
            ModelDefinitionError: a model has no table.

        Cost:
            DescribeTable and DescribeStream when they are entered; DescribeStream each 30 seconds; GetRecords, per
            shard: up to five a second while there are changes, and one in ``idle_seconds`` while there are none.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html
        """
        from dynamap_async.streams import ChangeDecoder, ItemChanges

        decoder, context = ChangeDecoder(models, unknown), self._runner.context
        return ItemChanges(
            self._executor,
            decoder,
            table=context.tables.full(decoder.table),
            stream=stream,
            start=start,
            on_gap=on_gap,
            idle_seconds=idle_seconds,
            until_idle=until_idle,
            clock=context.clock,
        )

    def transaction(self, *, client_request_token: str | None = None) -> Transaction:
        """Return a transaction, to be used as ``async with session.transaction() as tx``. See ``Transaction``.

        Args:
            client_request_token: 1 to 36 characters that stand for this transaction: carried out again with the same
                token within ten minutes, it succeeds and writes nothing.

        Raises:
            OperationError: the token is empty or too long.
            SessionStateError: the session is not open.

        Cost:
            As ``transact_write``, at the end of the block.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        from dynamap_async.session.transaction import Transaction

        return Transaction(self._runner, client_request_token=client_request_token)

    async def transact_write(
        self, actions: Iterable[Write[Any]], /, *, client_request_token: str | None = None
    ) -> None:
        """Carry out ``Put``, ``Update``, ``Delete``, ``Check`` and other writes, all or none. See ``TransactWrite``.

        Args:
            actions: up to 100, in any order, each on another item; without any nothing is sent.
            client_request_token: 1 to 36 characters that stand for this transaction: carried out again with the same
                token within ten minutes, it succeeds and writes nothing.

        Raises:
            TransactionCanceledError: one of them could not be carried out, so none was; ``reasons`` tells why.
            OperationError: these are no writes, more than 100, two about one item, or over 4 MB together; or the
                token is empty or too long.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One TransactWriteItems; two write units per KB of each item, twice what the writes alone take, and the same
            for a check. A cancelled transaction is charged too.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        await self._runner.execute(operations.TransactWrite(actions, client_request_token=client_request_token))

    @overload
    async def transact_get(self, a: GetOf[MA], /) -> tuple[MA]: ...
    @overload
    async def transact_get(self, a: GetOf[MA], b: GetOf[MB], /) -> tuple[MA, MB]: ...
    @overload
    async def transact_get(self, a: GetOf[MA], b: GetOf[MB], c: GetOf[MC], /) -> tuple[MA, MB, MC]: ...
    @overload
    async def transact_get(
        self, a: GetOf[MA], b: GetOf[MB], c: GetOf[MC], d: GetOf[MD], /
    ) -> tuple[MA, MB, MC, MD]: ...
    @overload
    async def transact_get(
        self, a: GetOf[MA], b: GetOf[MB], c: GetOf[MC], d: GetOf[MD], e: GetOf[ME], /
    ) -> tuple[MA, MB, MC, MD, ME]: ...
    @overload
    async def transact_get(self, *gets: GetOf[MA]) -> tuple[MA, ...]: ...
    async def transact_get(self, *gets: Any) -> tuple[Any, ...]:
        """Read up to 100 items as they are at one moment; ItemNotFoundError if one is absent. See ``TransactGet``.

        Args:
            gets: each a ``Get``, or a tuple of a model and its key values.

        Returns:
            The items, in the order asked for.

        Raises:
            ItemNotFoundError: one of them is absent.
            TransactionCanceledError: they could not be read as of one moment.
            OperationError: these are no reads, or more than 100, or the number of key values does not fit.
            EncodeError: a key value is of the wrong type, empty or too long.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One TransactGetItems; two read units per 4 KB of each item, at least two.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
        """
        found: tuple[Any, ...] = await self._runner.execute(operations.TransactGet(*gets))
        return found

    @overload
    async def transact_find(self, a: FindOf[MA], /) -> tuple[MA | None]: ...
    @overload
    async def transact_find(self, a: FindOf[MA], b: FindOf[MB], /) -> tuple[MA | None, MB | None]: ...
    @overload
    async def transact_find(
        self, a: FindOf[MA], b: FindOf[MB], c: FindOf[MC], /
    ) -> tuple[MA | None, MB | None, MC | None]: ...
    @overload
    async def transact_find(
        self, a: FindOf[MA], b: FindOf[MB], c: FindOf[MC], d: FindOf[MD], /
    ) -> tuple[MA | None, MB | None, MC | None, MD | None]: ...
    @overload
    async def transact_find(
        self, a: FindOf[MA], b: FindOf[MB], c: FindOf[MC], d: FindOf[MD], e: FindOf[ME], /
    ) -> tuple[MA | None, MB | None, MC | None, MD | None, ME | None]: ...
    @overload
    async def transact_find(self, *finds: FindOf[MA]) -> tuple[MA | None, ...]: ...
    async def transact_find(self, *finds: Any) -> tuple[Any, ...]:
        """Read up to 100 items as they are at one moment; None for each that is absent. See ``TransactFind``.

        Args:
            finds: each a ``Find``, or a tuple of a model and its key values.

        Returns:
            The items, in the order asked for.

        Raises:
            TransactionCanceledError: they could not be read as of one moment.
            OperationError: these are no reads, or more than 100, or the number of key values does not fit.
            EncodeError: a key value is of the wrong type, empty or too long.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            As ``transact_get``.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
        """
        found: tuple[Any, ...] = await self._runner.execute(operations.TransactFind(*finds))
        return found

    @overload
    def execute_statement(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: type[M],
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> BoundStatement[M]: ...
    @overload
    def execute_statement(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: None = None,
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> BoundStatement[dict[str, Any]]: ...
    def execute_statement(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: Any = None,
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> BoundStatement[Any]:
        """Carry out a PartiQL statement: await it for a list, or iterate over it. See ``Statement``.

        Args:
            statement: the text, of up to 8,192 characters, which names the full table name: see ``table_name``.
            parameters: the values that stand for its question marks, in order.
            into: the model that items become; without it they are dicts of plain values.
            consistent_read: whether all writes answered before must be seen.
            limit: most items to give out, from 1 up.
            page_size: most items that one request evaluates, whether they fit or not; from 1 up.

        Raises:
            EncodeError: a parameter cannot be stored.
            OperationError: the text is empty or too long, or a number is below 1.
            DuplicateItemError: an INSERT found an item of the same key; raised when it is awaited.
            ConditionalCheckFailedError: the WHERE of an UPDATE or DELETE fits no item; raised when it is awaited.

        Cost:
            None before it is awaited or iterated over. Then one ExecuteStatement for each page of up to 1 MB; a SELECT
            without equality on the partition key reads, and pays for, the whole table.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
        """
        options: dict[str, Any] = {"consistent_read": consistent_read, "limit": limit, "page_size": page_size}
        made: Statement[Any] = operations.Statement(statement, parameters, into=into, **options)
        return self._runner.statements.bound(made)

    async def batch_execute_statement(self, statements: Iterable[Statement[ItemT]], /) -> list[ItemT | None]:
        """Carry out up to 25 statements in one call, each for itself. See ``BatchExecuteStatement``.

        Args:
            statements: each about one item; either all of them read, or all write.

        Returns:
            For each statement the item that it brought back, or None.

        Raises:
            BatchError: some failed; it names each, and carries the results of the others.
            OperationError: these are no statements, or more than 25, or reads among writes.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One BatchExecuteStatement; the units of each statement.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
        """
        return await self._runner.execute(operations.BatchExecuteStatement(statements))

    async def execute_transaction(
        self, statements: Iterable[Statement[ItemT]], /, *, client_request_token: str | None = None
    ) -> list[ItemT | None]:
        """Carry out up to 100 statements, all or none. See ``ExecuteTransaction``.

        Args:
            statements: SELECT statements, or INSERT, UPDATE, DELETE and EXISTS statements, each about another item.
            client_request_token: 1 to 36 characters that stand for this transaction: carried out again with the same
                token within ten minutes, it succeeds and writes nothing.

        Returns:
            For each statement the item that it brought back, or None.

        Raises:
            TransactionCanceledError: nothing was done; ``reasons`` tells for each statement what it met with.
            OperationError: these are no statements, or more than 100, or reads among writes; or the token is empty or
                too long.
            ServiceError: DynamoDB refused the request.
            TransportError: no answer came; ``outcome`` tells whether it can have been written.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            One ExecuteTransaction; twice the units of each statement. A cancelled transaction is charged too.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html
        """
        return await self._runner.execute(
            operations.ExecuteTransaction(statements, client_request_token=client_request_token)
        )

    def table_name(self, model: type[Model] | Table, /, *, period: KeyValue | None = None) -> str:
        """Return the name by which DynamoDB knows a model's table in this session, as statements have to spell it.

        Args:
            model: the model, or a shared ``Table``.
            period: where the model has one table per period, a value of the field that tells the period.

        Raises:
            ModelDefinitionError: the model has no table.
            OperationError: it is neither; the period is missing, or superfluous.
            EncodeError: the period is of the wrong type.
        """
        from dynamap_async.tables import check_period, schema_of

        check_period((model,), period)
        return self._runner.context.tables.full(schema_of(model, "named in a statement", period).name)

    @overload
    async def gather(self, a: Awaitable[A], /) -> tuple[A]: ...
    @overload
    async def gather(self, a: Awaitable[A], b: Awaitable[B], /) -> tuple[A, B]: ...
    @overload
    async def gather(self, a: Awaitable[A], b: Awaitable[B], c: Awaitable[C], /) -> tuple[A, B, C]: ...
    @overload
    async def gather(
        self, a: Awaitable[A], b: Awaitable[B], c: Awaitable[C], d: Awaitable[D], /
    ) -> tuple[A, B, C, D]: ...
    @overload
    async def gather(
        self, a: Awaitable[A], b: Awaitable[B], c: Awaitable[C], d: Awaitable[D], e: Awaitable[E], /
    ) -> tuple[A, B, C, D, E]: ...
    @overload
    async def gather(self, *awaitables: Awaitable[R]) -> tuple[R, ...]: ...
    async def gather(self, *awaitables: Awaitable[Any]) -> tuple[Any, ...]:
        """Await several queries and calls at the same time, and return their results in order.

        The first failure ends the others and is raised as itself; a cancellation ends all.

        Args:
            awaitables: queries, updates, calls of this session, and other awaitables.

        Raises:
            OperationError: one of them cannot be awaited.

        Cost:
            That of each; single-item requests share batch calls, and all share the session's connections.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-query-scan.html
        """
        from dynamap_async.executor import gather_all

        return tuple(await gather_all(awaitables))


def session_through(session: Session, transport: Transport, fence: Fence | None = None) -> Session:
    """Return a session like another one, with its settings, that sends through another transport; it is to be opened.

    Args:
        session: the session, which has to stay open where the transport needs it.
        transport: what to send through.
        fence: returns the check of a lease that goes with each write; None where none does.
    """
    return session._like(transport, fence)  # noqa: SLF001 - of this class


def transport_of(session: Session) -> Transport:
    """Return what a session sends through.

    Args:
        session: the session.
    """
    return session._transport  # noqa: SLF001 - of this class


def runner_of(session: Session) -> Runner:
    """Return what carries out a session's operations.

    Args:
        session: the session.
    """
    return session._runner  # noqa: SLF001 - of this class


def scope_of(session: Session, name: str, allowance: Allowance) -> Scope:
    """Return a scope of a size that was checked before, as for each of many web requests.

    Args:
        session: the session.
        name: what errors call it.
        allowance: what it may take.
    """
    from dynamap_async.session.scope import Scope

    return Scope(session._executor, name, allowance)  # noqa: SLF001 - as ``Session.scope`` does
