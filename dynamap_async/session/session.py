"""``Session``: one verb, ``execute``, and one-line sugar over it. Composition only."""

from __future__ import annotations  # aiobotocore, which the annotations name, is loaded when it is needed

import copy
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

from dynamap_async.codec import item_size
from dynamap_async.config import BatchPolicy, CapacityPolicy, Credentials, RetryPolicy
from dynamap_async.errors import ConfigurationError
from dynamap_async.events import Observer
from dynamap_async.executor import Executor, together
from dynamap_async.expressions import Condition
from dynamap_async.models import AfterRead, BeforeWrite, KeyValue, Model
from dynamap_async.operations import Create, Delete, Find, Get, Operation, Put
from dynamap_async.session.counting import Counting
from dynamap_async.session.declared import declared_limits
from dynamap_async.session.hooks import SessionHooks
from dynamap_async.session.loading import Loaders
from dynamap_async.session.many import ManyItems
from dynamap_async.session.queries import Queries
from dynamap_async.session.runner import Runner
from dynamap_async.session.saving import Saving
from dynamap_async.session.scope import Scopes
from dynamap_async.session.settings import check_settings, to_context
from dynamap_async.session.statements import Statements
from dynamap_async.session.transactions import Transactions
from dynamap_async.session.updates import Updates
from dynamap_async.statistics import Statistics
from dynamap_async.tables import Tables
from dynamap_async.transport import Connection, Transport, WireTransport

if TYPE_CHECKING:
    from dynamap_async.transport import AioClient, AioConfig, AioSession

R = TypeVar("R")
M = TypeVar("M", bound=Model)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")


class Session(Queries, ManyItems, Loaders, Transactions, Updates, Counting, Statements, Saving, Scopes):
    """A connection to DynamoDB, for any number of tasks of one event loop.

    Use it as ``async with Session(region="eu-west-1") as session``. It may be entered in one task and left in
    another. A session is used once; the models know nothing of it.
    """

    tables: Tables
    """Creates, describes and deletes tables."""

    def __init__(  # noqa: PLR0913 - each setting is a keyword of its own
        self,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        profile: str | None = None,
        credentials: Credentials | None = None,
        aio_session: AioSession | None = None,
        aio_config: AioConfig | None = None,
        client: AioClient | None = None,
        transport: Transport | None = None,
        table_prefix: str = "",
        cursor_secret: str | bytes | None = None,
        batching: BatchPolicy | None = None,
        retry: RetryPolicy | None = None,
        capacity: CapacityPolicy | None = None,
        close_timeout_seconds: float = 5.0,
        observer: Observer | Sequence[Observer] = (),
        before_write: Iterable[BeforeWrite] = (),
        after_read: Iterable[AfterRead] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Describe the session; nothing is looked up or opened before it is entered.

        Args:
            region: the AWS region; otherwise the environment's or the profile's.
            endpoint_url: where to send to, such as a local engine; otherwise AWS's endpoint of the region.
            profile: the profile of AWS's configuration files.
            credentials: a fixed access key; otherwise aiobotocore's credential chain.
            aio_session: a session of aiobotocore to take credentials and configuration from.
            aio_config: aiobotocore's HTTP settings: pool size, timeouts, proxies, certificates.
            client: your own aiobotocore DynamoDB client to send through, with its retries turned off. It excludes
                all settings before it; the session does not close it.
            transport: another way to send, for tests.
            table_prefix: stands before every table name, as in ``shop-dev-``.
            cursor_secret: signs cursors, so that a client cannot make one up; at least 16 bytes.
            batching: which single-item requests share a call.
            retry: how often and how fast failed requests are sent again.
            capacity: how fast capacity units are spent.
            close_timeout_seconds: how long closing waits for writes that are under way.
            observer: one or several functions that are told of each request's way as ``Event`` values.
            before_write: functions, async or plain, that get each item, and the kind of write, before it is written.
            after_read: functions that get each item after it is read.
            clock: the time of day in epoch seconds, which decides what is expired; tests give another.

        Raises:
            ConfigurationError: a setting is of a wrong type or cannot work, or two contradict each other.
        """
        check_settings(close_timeout_seconds, retry=retry, batching=batching, capacity=capacity)
        settings: dict[str, Any] = {"credentials": credentials, "aio_session": aio_session, "aio_config": aio_config}
        connection = Connection(region=region, endpoint_url=endpoint_url, profile=profile, **settings)
        self._batching = batching or BatchPolicy()
        policies: dict[str, Any] = {"retry": retry or RetryPolicy(), "batching": self._batching, "capacity": capacity}
        declared = partial(declared_limits, table_prefix)
        chosen = _transport(connection, client, transport, policies["retry"])
        self._executor = Executor(chosen, **policies, observer=observer, measure=item_size, declared=declared)
        context = to_context(table_prefix, cursor_secret, clock, chosen)
        self._runner = Runner(self._executor, context, SessionHooks(before_write, after_read))
        self._close_timeout_seconds = close_timeout_seconds
        self.tables = Tables(self._executor, self._runner.context)

    async def __aenter__(self) -> Self:
        """Open the session.

        Raises:
            ConfigurationError: the region or the credentials are missing.
            SessionStateError: it was opened before, or the event loop is not asyncio's.
        """
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
        await self._executor.close(self._close_timeout_seconds)
        await self._runner.writing.numbers.ended()

    def without_hooks(self) -> Self:
        """Return this session once more, but running no hooks, neither its own nor the models'.

        It shares everything else: ``await session.without_hooks().put(item)``. It is not opened or closed itself.
        """
        other = copy.copy(self)
        runner = self._runner.without_hooks()
        other._runner = runner  # noqa: SLF001 - a copy of this object
        return other

    def statistics(self) -> Statistics:
        """Return what the session has done until now, as a value that does not change. Sends nothing.

        It can be asked at any time, also before the session is open and when it is closed.
        """
        return self._executor.statistics()

    async def execute(self, operation: Operation[R], /) -> R:
        """Carry out an operation and return its result; every other method is sugar for this one.

        Raises:
            ServiceError: DynamoDB refused it.
            TransportError: no answer came; ``outcome`` tells whether it can have been carried out.
            SessionStateError: the session is not open, or belongs to another event loop.
        """
        return await self._runner.execute(operation)

    async def get(
        self,
        model: type[M],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        consistent_read: bool = False,
        coalesce: bool = True,
    ) -> M:
        """Read one item by its key; ItemNotFoundError if there is none. See ``Get``."""
        return await self._runner.execute(
            Get(model, partition, sort, consistent_read=consistent_read, coalesce=coalesce)
        )

    async def find(
        self,
        model: type[M],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        consistent_read: bool = False,
        coalesce: bool = True,
    ) -> M | None:
        """Read one item by its key; None if there is none. See ``Find``."""
        return await self._runner.execute(
            Find(model, partition, sort, consistent_read=consistent_read, coalesce=coalesce)
        )

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
    ) -> M | None:
        """Write an item, replacing the stored one; ``where`` says what must hold of that one. See ``Put``.

        ``returning="old"`` gives back the item that was replaced, None where there was none. See ``Put``.
        """
        if returning is None:
            return await self._runner.execute(Put(item, where=where, read_first=read_first))
        return await self._runner.execute(Put(item, where=where, read_first=read_first, returning=returning))

    async def create(self, item: M, /, *, where: Condition | None = None) -> M:
        """Write an item that must not exist yet; ConditionalCheckFailedError if it does. See ``Create``."""
        return await self._runner.execute(Create(item, where=where))

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
    async def delete(self, item: Model, /, *, where: Condition | None = None, read_first: bool = False) -> None: ...
    @overload
    async def delete(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition | None = None,
        read_first: bool = False,
    ) -> None: ...
    async def delete(
        self,
        target: Any,
        /,
        *key: Any,
        where: Condition | None = None,
        read_first: bool = False,
        returning: Literal["old"] | None = None,
    ) -> Any:
        """Remove an item, given as an instance or as model and key; no error if it does not exist. See ``Delete``.

        ``returning="old"`` gives back the item that was removed, None where there was none. See ``Delete``.
        """
        if returning is None:
            return await self.execute(Delete(target, *key, where=where, read_first=read_first))
        return await self.execute(Delete(target, *key, where=where, read_first=read_first, returning=returning))

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

        Cost: that of each; single-item requests share batch calls, and all share the session's connections.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-query-scan.html

        Raises:
            OperationError: one of them cannot be awaited.
        """
        return tuple(await together(awaitables))


def _transport(
    connection: Connection, client: AioClient | None, transport: Transport | None, retry: RetryPolicy
) -> Transport:
    given = [each for each in (client, transport) if each is not None]
    if given and (connection != Connection() or len(given) > 1):
        raise ConfigurationError(
            "client= and transport= bring their own connection: drop region, endpoint_url, profile, "
            "credentials, aio_session and aio_config, and give one of the two"
        )
    if client is not None:
        from dynamap_async.transport import ClientTransport  # its maker has loaded aiobotocore

        return ClientTransport(client)
    if transport is not None:
        return transport
    return WireTransport(connection, attempt_timeout_seconds=retry.attempt_timeout_seconds)
