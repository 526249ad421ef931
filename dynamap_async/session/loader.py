"""Loaders: reads by key for one web request, each key once. See docs/how-to/graphql.md.

Invariant: a promise has at most one task, and only while somebody waits for it, who ends after it; a failure is never
kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Any, Final, Generic, Protocol, TypeVar

from dynamap_async.errors import (
    BatchError,
    DynamapError,
    EncodeError,
    ItemFailure,
    OperationError,
    SessionStateError,
)
from dynamap_async.executor import Account, innermost, own_instance, shielded
from dynamap_async.expressions import Condition, Expr, path_of
from dynamap_async.models import Index, Key, Model
from dynamap_async.operations import Find, Query
from dynamap_async.planning import checked_model
from dynamap_async.session.bulk import of_key, several
from dynamap_async.session.runner import Runner
from dynamap_async.turns import new_task

K_contra = TypeVar("K_contra", contravariant=True)
V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)
M = TypeVar("M", bound=Model)


class Source(Protocol[K_contra, V_co]):
    """Where a loader's values come from."""

    def ask(self, key: K_contra, /) -> tuple[Hashable, Callable[[], Coroutine[Any, Any, V_co]]]:
        """Return a name of the key, equal for equal keys, and the function that reads its value."""
        ...


class _Promise(Generic[V]):
    """The value of one key: there already, or being read by a task that ends when nobody waits for it."""

    def __init__(self, name: Hashable, read: Callable[[], Coroutine[Any, Any, V]]) -> None:
        self.name: Final = name
        self.waiting = 0
        self._read: Final = read
        self._task: asyncio.Task[V] | None = None
        self._payer: Account | None = None
        """Whose budget and time the task has: those of who began it."""

    @property
    def failed(self) -> bool:
        """Whether the reading ended in an error."""
        task = self._task
        return task is not None and task.done() and not task.cancelled() and task.exception() is not None

    def join(self) -> None:
        """Count one more waiter; the first begins the reading."""
        self.waiting += 1
        if self._task is None:
            self._begin()

    def _begin(self) -> asyncio.Task[V]:
        self._payer = innermost()
        self._task = new_task(self._read())
        return self._task

    def leave(self) -> asyncio.Task[V] | None:
        """Count one waiter less; the last cancels the reading, whose task is returned."""
        self.waiting -= 1
        if self._task is None or self._task.done() or self.waiting:
            return None
        self._task.cancel()
        return self._task

    async def value(self) -> V:
        """Wait for the value; a failure raises an exception instance of the caller's own."""
        while True:
            task, payer = self._task or self._begin(), self._payer
            await asyncio.wait((task,))
            error = None if task.cancelled() else task.exception()
            if not task.cancelled() and (error is None or not _limited(payer) or payer is innermost()):
                break
            if self._task is task:
                # A stranger cancelled it, or it may have failed for the budget or the time of another scope than ours;
                # and we still wait: it begins again, for all who do.
                self._task = None
        if error is None:
            return task.result()
        raise own_instance(error) if isinstance(error, Exception) else error

    async def outcome(self) -> V | Exception:
        """Wait for the value and return it, or the error; that of a closed session is raised."""
        try:
            return await self.value()
        except SessionStateError:
            raise
        except Exception as error:  # noqa: BLE001 - told to the caller in its key's place
            return error


class Loader(Generic[K_contra, V]):
    """Loads values by key, and remembers them: what GraphQL calls a DataLoader.

    Loads that wait at the same time travel together; a key that was loaded before, or is on its way, is not asked for
    again. Make one for each web request, by ``session.loader(...)``: it keeps what it has read until it is dropped, so
    it does not see what is written meanwhile, unless it is told by ``clear``.

    Several loads of one key give the same instance.
    """

    def __init__(self, source: Source[K_contra, V]) -> None:
        """Create a loader of a session.

        Args:
            source: where values come from.
        """
        self._source: Final = source
        self._promises: Final[dict[Hashable, _Promise[V]]] = {}

    async def load(self, key: K_contra, /) -> V:
        """Load the value of one key.

        Args:
            key: of a loader by key, the partition key's value, or a tuple of both values; of a loader ``by=`` a field,
                that field's value.

        Returns:
            The item, None where there is none; or, ``by=`` a field, the list of items.

        Raises:
            ServiceError: DynamoDB refused the read. It is not remembered: the next load reads again.
            TransportError: no answer came.
            EncodeError: the key has a wrong type.
            SessionStateError: the session is not open, or belongs to another event loop.

        Cost:
            That of ``Find``, or one Query; none for a key that was loaded before.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        promise = self._joined(key)
        try:
            return await promise.value()
        finally:
            broken_off = self._left(promise)
            if broken_off is not None:
                await _ended([broken_off])

    async def load_many(self, keys: Iterable[K_contra], /) -> list[V]:
        """Load the values of several keys.

        Args:
            keys: any number, each as ``load`` takes it.

        Returns:
            One value per key, in the order given.

        Raises:
            BatchError: some could not be loaded; ``results`` has all others.
            OperationError: these are no keys.
            SessionStateError: the session is not open, was closed, or belongs to another event loop.

        Cost:
            That of ``load`` for each distinct key that was not loaded before.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        wanted = list(several(keys, "keys"))
        outcomes = await self._outcomes(wanted)
        failures = [
            ItemFailure(at, wanted[at], each) for at, each in enumerate(outcomes) if isinstance(each, Exception)
        ]
        values: list[Any] = [None if isinstance(each, Exception) else each for each in outcomes]
        if failures:
            raise BatchError(failures, total=len(values), results=values)
        return values

    async def load_each(self, keys: Iterable[K_contra], /) -> list[V | Exception]:
        """Read the values of several keys for another loader: the ``load_fn`` of Strawberry, of aiodataloader and such.

        It has no memory, because that other loader has one.

        Args:
            keys: any number, each as ``load`` takes it.

        Returns:
            One entry per key, in the order given: the value, or the error with which its reading failed.

        Raises:
            OperationError: these are no keys.
            SessionStateError: the session is not open, was closed, or belongs to another event loop.

        Cost:
            That of ``load`` for each distinct key.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        return await Loader(self._source)._outcomes(list(several(keys, "keys")))  # noqa: SLF001 - another of the same class

    def prime(self, key: K_contra, value: V, /, *, force: bool = False) -> None:
        """Remember a value that the program has already, so that it is not read.

        Args:
            key: its key.
            value: what ``load`` is to return.
            force: whether it replaces what is remembered, or on its way; otherwise that stays.

        Raises:
            EncodeError: the key has a wrong type.
        """
        name, _ = self._source.ask(key)
        if force or name not in self._promises or self._promises[name].failed:
            self._promises[name] = _Promise(name, partial(_itself, value))

    def clear(self, key: K_contra, /) -> None:
        """Forget the value of a key, so that the next load reads it again; no error if there is none.

        Those who wait for it already get what is on its way.

        Args:
            key: as ``load`` takes it.

        Raises:
            EncodeError: the key has a wrong type.
        """
        self._promises.pop(self._source.ask(key)[0], None)

    def clear_all(self) -> None:
        """Forget all values, as ``clear`` does."""
        self._promises.clear()

    def _joined(self, key: K_contra) -> _Promise[V]:
        name, read = self._source.ask(key)
        promise = self._promises.get(name)
        if promise is None or promise.failed:
            promise = self._promises[name] = _Promise(name, read)
        promise.join()
        return promise

    def _left(self, promise: _Promise[V]) -> asyncio.Task[V] | None:
        broken_off = promise.leave()
        if (broken_off is not None or promise.failed) and self._promises.get(promise.name) is promise:
            del self._promises[promise.name]
        return broken_off

    async def _outcomes(self, keys: Sequence[K_contra]) -> list[V | Exception]:
        places: list[_Promise[V] | Exception] = [self._tried(key) for key in keys]
        try:
            # All are on their way now, so waiting for one after the other waits for the slowest.
            return [place if isinstance(place, Exception) else await place.outcome() for place in places]
        finally:
            left = [self._left(place) for place in places if not isinstance(place, Exception)]
            await _ended([task for task in left if task is not None])

    def _tried(self, key: K_contra) -> _Promise[V] | Exception:
        try:
            return self._joined(key)
        except DynamapError as error:  # of this key alone: it cannot be encoded
            return error


def _limited(payer: Account | None) -> bool:
    """Return whether a scope has a budget or a time, which others are not to fail for."""
    return payer is not None and (payer.limited or payer.deadline < inf)


async def _ended(broken_off: Sequence[asyncio.Task[Any]]) -> None:
    """Return when readings that were broken off have ended, so that nothing goes on behind the caller's back."""
    if broken_off:
        with shielded():
            await asyncio.wait(broken_off)
    for task in broken_off:
        if not task.cancelled():
            task.exception()  # nobody is there to be told


async def _itself(value: V) -> V:
    return value


def loader_of(
    runner: Runner,
    model: type[M],
    by: Expr[Any] | None,
    *,
    where: Condition | Sequence[Condition],
    index: Index[M] | None,
    descending: bool,
    limit: int | None,
    consistent_read: bool,
) -> Loader[Any, Any]:
    """Return a loader of items by their key, or of lists of items by a field; see ``Session.loader``."""
    checked_model(model)
    if by is None:
        if where != () or index is not None or descending or limit is not None:
            raise OperationError(
                f"a loader by key reads one {model.__name__} for each key; where=, index=, descending= and limit= are "
                f"for lists; add a field, as in by={model.__name__}.some_field"
            )
        return Loader(_ByKey(runner, model, consistent_read=consistent_read))
    query = Query(model).where(*([where] if isinstance(where, Condition) else where))
    query = query if index is None else query.index(index)
    query = query.descending() if descending else query
    query = query if limit is None else query.limit(limit)
    return Loader(_ByField(runner, query.consistent() if consistent_read else query, by))


class _ByKey(Generic[M]):
    """Items by their key."""

    def __init__(self, runner: Runner, model: type[M], *, consistent_read: bool) -> None:
        self._runner: Final = runner
        self._model: Final = model
        self._operation: Final = partial(Find[M], consistent_read=consistent_read)

    def ask(self, key: Key, /) -> tuple[Hashable, Callable[[], Coroutine[Any, Any, M | None]]]:
        find: Find[M] = of_key(self._operation, self._model, key)
        target = find.request(self._runner.context).target
        return None if target is None else target.identity, partial(self._runner.execute, find)


class _ByField(Generic[M]):
    """Lists of items by the value of a field: one query for each."""

    def __init__(self, runner: Runner, query: Query[M, M], by: Expr[Any]) -> None:
        self._runner: Final = runner
        self._query: Final = query
        self._by: Final = by
        self._path: Final = path_of(by)

    def ask(self, key: object, /) -> tuple[Hashable, Callable[[], Coroutine[Any, Any, list[M]]]]:
        if key is None and None in self._path.reads_as_none:  # to a query it means absence, of which no key is made
            raise EncodeError("no item has None as a key; load only keys that are not None").at(
                self._path.spelled, model=self._path.owner.__name__
            )
        query = self._query.where(self._by == key)
        try:
            hash(key)
        except TypeError:
            raise OperationError(f"{key!r} cannot be a key of a loader, because it is mutable") from None
        return (type(key), key), partial(self._runner.execute, query)
