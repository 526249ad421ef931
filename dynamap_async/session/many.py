"""Many items in one call: the session's ``get_many``, ``each``, ``put_many``, ``delete_many`` and ``batch``."""

from collections.abc import AsyncIterable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar, overload

from dynamap_async.config import BatchPolicy
from dynamap_async.errors import OperationError
from dynamap_async.models import Key, Model
from dynamap_async.operations import Delete, Find, Put, SingleRequest
from dynamap_async.planning import checked_model
from dynamap_async.session.answers import Answers
from dynamap_async.session.batch import Batch, Progress
from dynamap_async.session.item_chunks import PlainDeletes, PlainDeletesByKey, PlainPuts, PlainWriting
from dynamap_async.session.key_chunks import keyed_reads
from dynamap_async.session.reading import ManyReads
from dynamap_async.session.runner import Runner

M = TypeVar("M", bound=Model)
K = TypeVar("K", bound=Key)
T = TypeVar("T")
OperationT = TypeVar("OperationT", bound=SingleRequest[Any])


class ManyItems:
    """What a session does with any number of items at once."""

    _runner: Runner
    _batching: BatchPolicy

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

        Cost: one BatchGetItem for each 100 distinct keys (a GetItem for one alone), up to 64 at a time; none for no
            keys; read units as ``Find``.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        subjects, operation = _reads(first, keys, consistent_read=consistent_read)
        keyed = None if keys is None else keyed_reads(first, self._runner, consistent=consistent_read)
        return await ManyReads(self._runner, self._batching).all(subjects, operation, keyed)

    @overload
    def each(self, model: type[M], keys: Iterable[K], /, *, consistent_read: bool = False) -> Answers[K, M | None]: ...
    @overload
    def each(self, finds: Iterable[Find[M]], /) -> Answers[Find[M], M | None]: ...
    def each(
        self, first: Any, keys: Iterable[Any] | None = None, /, *, consistent_read: bool = False
    ) -> Answers[Any, Any]:
        """Read any number of items and give them out as they arrive, as pairs of key and item (None where absent).

        Arguments and costs are those of ``get_many``; ``keys`` may be endless, and is read only as far as pairs are
        taken. See ``Answers``.

        Raises:
            OperationError: these are no keys, or no ``Find`` operations.
            SessionStateError: the session is not open.
        """
        subjects, operation = _reads(first, keys, consistent_read=consistent_read)
        keyed = None if keys is None else keyed_reads(first, self._runner, consistent=consistent_read)
        return Answers(self._runner, self._batching, subjects, operation, keyed)

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

        Cost: one BatchWriteItem for each 25 items, up to 64 at a time; write units as ``Put``.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        async with self.batch() as batch:
            put, plain = partial(Put, read_first=read_first), PlainWriting(self._runner, PlainPuts)
            await batch.write(several(items, "items"), put, progress, plain.of_instance)
        return batch.done

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

        Cost: one BatchWriteItem for each 25 items, up to 64 at a time; write units as ``Delete``.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
        """
        async with self.batch() as batch:
            delete = partial(Delete, read_first=read_first)
            if keys is None:
                plain = PlainWriting(self._runner, PlainDeletes).of_instance
                await batch.write(several(first, "items"), delete, progress, plain)
            else:
                model = checked_model(first)
                by_key = partial(PlainWriting(self._runner, PlainDeletesByKey).part, model=model)
                await batch.write(several(keys, "keys"), partial(of_key, delete, model), progress, by_key)
        return batch.done

    def batch(self) -> Batch:
        """Return a bulk load, to be used as ``async with session.batch() as batch``. See ``Batch``."""
        return Batch(self._runner, self._batching)


def _is_several(subjects: object) -> bool:
    return isinstance(subjects, Iterable | AsyncIterable) and not isinstance(subjects, str | bytes | Model)


def several(subjects: T, what: str) -> T:
    """Return an iterable of items or keys; an item and a text can be iterated over as well, and are not meant."""
    if not _is_several(subjects):
        raise OperationError(f"{subjects!r} is not an iterable of {what}; write [{subjects!r}] for one")
    return subjects


def of_key(operation: Callable[..., OperationT], model: type[Model], key: Any) -> OperationT:
    """Return the operation on the item with a key: one value, or a tuple of both."""
    values: tuple[Any, ...] = key if issubclass(type(key), tuple) else (key,)
    if not 1 <= len(values) <= 2:
        raise OperationError(f"{key!r} is not a key of {model.__name__}: write one value, or (partition, sort)")
    return operation(model, *values)


def _find_itself(find: SingleRequest[Any]) -> SingleRequest[Any]:
    if not issubclass(type(find), Find):
        raise OperationError(f"{find!r} is not a Find operation; write Find(Model, key), or give a model and keys")
    return find


def _reads(
    first: Any, keys: Iterable[Any] | None, *, consistent_read: bool
) -> tuple[Iterable[Any], Callable[[Any], SingleRequest[Any]]]:
    """Return what to read, and how each becomes an operation."""
    if keys is None:
        if isinstance(first, type):
            raise OperationError(f"the keys are missing: write ({first.__name__}, keys)")
        return several(first, "Find operations"), _find_itself

    def find(model: type[Model], *key: Any) -> SingleRequest[Any]:
        return Find(model, *key, consistent_read=consistent_read)

    return several(keys, "keys"), partial(of_key, find, checked_model(first))
